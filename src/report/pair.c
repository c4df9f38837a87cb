/*
 * pair.c - the phrases for two accesses that raced, as the oracle tells them.
 *
 * What was seen, why it is a race, and what usually helps, by kind, space, distance of the two
 * threads and what the accesses are.
 */
#include "report/internal.h"

#include <string.h>

static bool is_async(const struct race_finding *f)
{
	return (f->sides[0].flags | f->sides[1].flags) & RACE_SIDE_ASYNC;
}

static bool is_host(const struct race_finding *f)
{
	return (f->sides[0].flags | f->sides[1].flags) & RACE_SIDE_HOST;
}

static bool is_host_code(const struct race_finding *f)
{
	for (unsigned i = 0; i < 2; i++)
		if (f->sides[i].flags & RACE_SIDE_HOST && f->sides[i].access != RACE_ACCESS_COPY)
			return true;
	return false;
}

static bool is_same_grid(const struct race_finding *f)
{
	return f->sides[0].grid == f->sides[1].grid;
}

static bool is_same_block(const struct race_finding *f)
{
	return is_same_grid(f) &&
	       !memcmp(f->sides[0].block, f->sides[1].block, sizeof(f->sides[0].block));
}

/* The two threads lie in one warp, as far as the block's shape along x tells. */
static bool is_same_warp(const struct race_finding *f)
{
	const uint32_t *a = f->sides[0].thread, *b = f->sides[1].thread;

	return is_same_block(f) && a[0] / 32 == b[0] / 32 && a[1] == b[1] && a[2] == b[2];
}

const char *rep_scope_name(enum race_scope s)
{
	static const char *const names[] = {"none", "cta", "cluster", "gpu", "sys"};

	return (unsigned)s < BASE_COUNTOF(names) ? names[s] : "unknown";
}

const char *rep_strength_name(enum race_strength s)
{
	static const char *const names[] = {"weak",    "relaxed", "acquire",
					    "release", "acq_rel", "sc"};

	return (unsigned)s < BASE_COUNTOF(names) ? names[s] : "unknown";
}

const char *rep_proxy_name(enum race_proxy p)
{
	static const char *const names[] = {"generic", "async", "tensormap", "texture"};

	return (unsigned)p < BASE_COUNTOF(names) ? names[p] : "unknown";
}

const char *rep_pair_title(const struct race_finding *f)
{
	switch (f->kind) {
	case RACE_KIND_SCOPE:
		return "scope too small";
	case RACE_KIND_MIXED_SIZE:
		return "strong accesses of different size";
	case RACE_KIND_PROXY:
		return "no proxy fence between the two";
	case RACE_KIND_READ_ONLY:
		return "read-only load of memory that the same launch writes";
	case RACE_KIND_BARRIER_COUNT:
		return "different counts at one barrier";
	default:
		if (is_async(f))
			return "asynchronous copy that was not waited for";
		return f->sides[0].flags & RACE_SIDE_READS ? "unordered read and write"
							   : "unordered writes";
	}
}

const char *rep_pair_sentence(const struct race_finding *f)
{
	switch (f->kind) {
	case RACE_KIND_SCOPE:
		return "Both accesses are strong, but the scope of one doesn't include the other's "
		       "thread:\n"
		       "to each other they are like weak ones, and nothing else orders them.";
	case RACE_KIND_MIXED_SIZE:
		return "Both accesses are strong, but they don't access exactly the same bytes, "
		       "and\n"
		       "nothing else orders them: atomicity holds for one size only.";
	case RACE_KIND_PROXY:
		return "The two accesses are ordered, but go to memory by different ways "
		       "(proxies):\n"
		       "without a proxy fence the later one may miss what the earlier one did.";
	case RACE_KIND_READ_ONLY:
		return "This thread READ through the read-only path (ld.global.nc: __ldg, const\n"
		       "__restrict__), and a thread of the same launch WRITES the same memory.";
	case RACE_KIND_BARRIER_COUNT:
		return "Threads that meet at one barrier expect different numbers of threads.";
	default:
		if (is_async(f))
			return "An asynchronous copy is a thread of its own; nothing orders what "
			       "it "
			       "does\n"
			       "with the other access: its completion was not waited for, or not "
			       "by "
			       "this thread.";
		if (!is_same_grid(f))
			return "The two accesses are in different launches or operations, and "
			       "nothing\n"
			       "(stream order, event, synchronisation) lets one wait for the "
			       "other.";
		return "Nothing orders these two accesses to the same memory: in another schedule\n"
		       "each of them may come first, or the compiler may tear or move them.";
	}
}

static const char *scope_fix(const struct race_finding *f)
{
	if (!is_same_grid(f))
		return "use .sys scope (cuda::thread_scope_system, atomicAdd_system) on both "
		       "sides.";
	return "use device scope on both sides: atomicAdd() instead of atomicAdd_block(),\n"
	       "cuda::thread_scope_device, __threadfence() instead of __threadfence_block().";
}

static const char *unordered_fix(const struct race_finding *f)
{
	bool is_shared = f->space == RACE_SPACE_SHARED || f->space == RACE_SPACE_SHARED_CLUSTER;

	if (is_async(f))
		return "wait for the copy (cp.async.wait_group, cuda::pipeline, barrier.wait) in "
		       "the\n"
		       "thread that issued it, and then __syncthreads() before others use the "
		       "data.";
	if (is_host_code(f))
		return "wait for the launch with cudaStreamSynchronize() or an event before host "
		       "code uses\n"
		       "the memory, or launch after it has; flags between the two need "
		       "cuda::atomic_ref of\n"
		       "system scope.";
	if (is_host(f))
		return "put the copy into the same stream, or wait with cudaStreamSynchronize() "
		       "or\n"
		       "an event before the memory is used again.";
	if (!is_same_grid(f))
		return "launch both into one stream, or let one stream wait for the other with\n"
		       "cudaEventRecord() and cudaStreamWaitEvent().";
	if (is_same_warp(f))
		return "__syncwarp() between the two (lanes of a warp are not in lockstep);\n"
		       "shuffles and votes order no memory.";
	if (is_same_block(f))
		return "__syncthreads() between the two; if one of them is an atomic, make both "
		       "atomic.";
	if (is_shared)
		return "cluster.sync() between the two.";
	return "between blocks: a flag is raised with __threadfence() before it and read with\n"
	       "__threadfence() behind it (or cuda::atomic_ref with release and acquire); else\n"
	       "split the kernel in two, or make both accesses atomic.";
}

const char *rep_pair_fix(const struct race_finding *f)
{
	switch (f->kind) {
	case RACE_KIND_SCOPE:
		return scope_fix(f);
	case RACE_KIND_MIXED_SIZE:
		return "access the location with one size everywhere, or order the accesses.";
	case RACE_KIND_PROXY:
		return "fence.proxy.async (cuda::ptx::fence_proxy_async) between the ordinary "
		       "access "
		       "and the\n"
		       "bulk or tensor copy, in the thread that made the ordinary access.";
	case RACE_KIND_READ_ONLY:
		return "take __restrict__ or __ldg() off memory that is written while the kernel\n"
		       "runs, then order the accesses as usual.";
	case RACE_KIND_BARRIER_COUNT:
		return "give one thread count per barrier and use, the same in all threads.";
	default:
		return unordered_fix(f);
	}
}

/* "relaxed, scope gpu" */
const char *rep_side_order(struct base_arena *a, const struct race_side *s)
{
	const char *proxy = "";

	if (s->proxy != RACE_PROXY_GENERIC)
		proxy = base_printf(a, ", %s proxy", rep_proxy_name(s->proxy));
	if (s->strength == RACE_WEAK)
		return base_printf(a, "weak%s", proxy);
	return base_printf(a, "%s%s, scope %s%s", s->flags & RACE_SIDE_VOLATILE ? "volatile: " : "",
			   rep_strength_name(s->strength), rep_scope_name(s->scope), proxy);
}
