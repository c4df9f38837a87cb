/*
 * advice.c - the usual correction of a race of two accesses.
 *
 * Tried in the order of what a programmer can do: wait for a copy, order launches, make an update
 * atomic, then the narrowest barrier that includes both threads. Words only: nothing here changes a
 * verdict. If a scope is too narrow, the wider one follows from the two threads' places.
 */
#include "report/internal.h"

#include <string.h>

static unsigned flags_of(const struct race_finding *f)
{
	return f->sides[0].flags | f->sides[1].flags;
}

static bool is_shared(const struct race_finding *f)
{
	return f->met.memory == RACE_MEMORY_SHARED || f->sides[0].space == RACE_SPACE_SHARED ||
	       f->sides[0].space == RACE_SPACE_SHARED_CLUSTER;
}

/* Are both sides on one line, with the same kind of access? */
static bool is_same_place(const struct race_finding *f)
{
	const struct race_side *a = &f->sides[0], *b = &f->sides[1];

	return a->line == b->line && a->col == b->col && !strcmp(a->file, b->file) &&
	       !strcmp(a->func, b->func) && (a->line || !strcmp(a->text, b->text));
}

enum rep_distance rep_pair_distance(const struct race_finding *f)
{
	const struct race_side *a = &f->sides[0], *b = &f->sides[1];

	if (flags_of(f) & RACE_SIDE_HOST || a->device != b->device)
		return REP_FAR;
	if (a->grid != b->grid)
		return REP_DEVICE;
	if (memcmp(a->block, b->block, sizeof(a->block)))
		return a->cluster == b->cluster ? REP_CLUSTER : REP_GRID;
	return a->warp == b->warp ? REP_WARP : REP_BLOCK;
}

/* ---- scopes and sizes -------------------------------------------------------------------- */

static const char *scope_fix(struct base_arena *a, const struct race_finding *f)
{
	const struct race_side *s = f->sides;
	enum race_scope need = RACE_SCOPE_GPU;
	const char *where = "in another block", *how;

	switch (rep_pair_distance(f)) {
	case REP_WARP:
	case REP_BLOCK:
		need = RACE_SCOPE_CTA;
		where = "in the same block";
		break;
	case REP_CLUSTER:
		need = RACE_SCOPE_CLUSTER;
		where = "in another block of the cluster";
		break;
	case REP_GRID:
		break;
	case REP_DEVICE:
		where = "in another launch on the same device";
		break;
	case REP_FAR:
		need = RACE_SCOPE_SYS;
		where = "on another device, or the host's";
		break;
	}
	bool is_small[2] = {s[0].scope < need, s[1].scope < need};
	const char *which = is_small[0] && is_small[1] ? "both accesses"
			    : is_small[1]	       ? "the second access"
						       : "the first access";
	switch (need) {
	case RACE_SCOPE_SYS:
		how = "cuda::thread_scope_system, atomicAdd_system() and the like, "
		      "__threadfence_system()";
		break;
	case RACE_SCOPE_CLUSTER:
		how = "cuda::thread_scope_cluster (or _device), not ..._block(); in PTX "
		      ".cluster";
		break;
	default:
		how = "cuda::thread_scope_device, atomicAdd() instead of atomicAdd_block(),\n"
		      "__threadfence() instead of __threadfence_block()";
		break;
	}
	return base_printf(a, "the other thread is %s: give %s scope .%s\n(%s).", where, which,
			   rep_scope_name(need), how);
}

static const char *size_fix(struct base_arena *a, const struct race_finding *f)
{
	const struct race_side *s = f->sides;

	if (s[0].bytes == s[1].bytes)
		return base_printf(a,
				   "both access %u bytes, but not the same ones: let them begin at "
				   "one address,\n"
				   "or order the two accesses as plain ones are.",
				   s[0].bytes);
	return base_printf(a,
			   "one accesses %u bytes, the other %u: access the location with one type "
			   "everywhere,\n"
			   "or order the two accesses as plain ones are.",
			   s[0].bytes, s[1].bytes);
}

/* ---- copies, launches ---------------------------------------------------------------------- */

static const char *proxy_fix(const struct race_finding *f)
{
	if (f->sides[0].proxy == RACE_PROXY_TENSORMAP || f->sides[1].proxy == RACE_PROXY_TENSORMAP)
		return "fence.proxy.tensormap (cuda::ptx::fence_proxy_tensormap_generic) between "
		       "changing\n"
		       "the tensor map and using it: .release by the one, .acquire by the other.";
	return "fence.proxy.async (cuda::ptx::fence_proxy_async) between the ordinary access and "
	       "the\n"
	       "bulk or tensor copy, in the thread that made the ordinary access, before the "
	       "barrier.";
}

static const char *async_fix(const struct race_finding *f)
{
	const struct race_side *c = &f->sides[f->sides[0].flags & RACE_SIDE_ASYNC ? 0 : 1];
	bool is_read = !(c->flags & RACE_SIDE_WRITES);

	if (strstr(c->text, "mbarrier::complete_tx") || strstr(c->text, "st.async") ||
	    strstr(c->text, "red.async"))
		return is_read ? "wait on the copy's mbarrier (mbarrier.try_wait, "
				 "cuda::barrier::wait) before\n"
				 "what it reads is written again."
			       : "wait on the copy's mbarrier (mbarrier.try_wait, "
				 "cuda::barrier::wait), for the\n"
				 "phase it completes, in every thread that uses what it wrote.";
	if (c->proxy == RACE_PROXY_ASYNC)
		return is_read ? "cp.async.bulk.commit_group, then cp.async.bulk.wait_group.read 0 "
				 "in the thread\n"
				 "that issued the copy, before what it reads is written again\n"
				 "(then __syncthreads(), if another thread writes)."
			       : "cp.async.bulk.commit_group, then cp.async.bulk.wait_group 0 in "
				 "the thread that\n"
				 "issued the copy (without .read, which waits for its source "
				 "only), "
				 "then\n"
				 "__syncthreads() before other threads use what it wrote.";
	return is_read ? "cp.async.wait_group or wait_all (cuda::pipeline's consumer_wait) in the "
			 "thread that\n"
			 "issued the copy, before what it reads is written again."
		       : "cp.async.wait_group or wait_all (__pipeline_wait_prior, consumer_wait) "
			 "in the thread\n"
			 "that issued the copy, then __syncthreads() before other threads use "
			 "what it wrote.";
}

/* Both are nodes of CUDA graphs, in which events of streams order nothing. */
static bool is_in_graph(const struct race_finding *f)
{
	return f->sides[0].flags & f->sides[1].flags & RACE_SIDE_GRAPH;
}

static const char *graph_fix(void)
{
	return "an edge between the two nodes of the graph (cudaGraphAddDependencies()). While a "
	       "stream is\n"
	       "captured, cudaStreamWaitEvent() makes the edge. Two launches of graphs: into one "
	       "stream.";
}

static const char *host_fix(const struct race_finding *f)
{
	if (flags_of(f) & RACE_SIDE_FREES)
		return "free it in the stream that uses it last, or let the stream of "
		       "cudaFreeAsync() wait for\n"
		       "that one: cudaEventRecord() after the last use and cudaStreamWaitEvent() "
		       "before the free.";
	if (is_in_graph(f))
		return graph_fix();
	if (f->sides[0].flags & f->sides[1].flags & RACE_SIDE_HOST)
		return "put both into one stream, or let one stream wait for the other with\n"
		       "cudaEventRecord() and cudaStreamWaitEvent().";
	return "put the copy into the kernel's stream, or wait with cudaStreamSynchronize() or\n"
	       "an event before the memory is used again.";
}

static const char *launch_fix(const struct race_finding *f)
{
	if (f->sides[0].device != f->sides[1].device)
		return "the devices' streams need an order: cudaEventRecord() after the one "
		       "launch and\n"
		       "cudaStreamWaitEvent() before the other, or wait on the host between the "
		       "two.";
	if (is_in_graph(f))
		return graph_fix();
	return "launch both into one stream, or let one stream wait for the other with\n"
	       "cudaEventRecord() and cudaStreamWaitEvent().";
}

/* ---- within one launch ----------------------------------------------------------------------- */

/* The function that does an update in one atomic step; NULL: none does. */
static const char *atomic_of(enum race_update u)
{
	static const char *const functions[] = {
		[RACE_UPDATE_ADD] = "atomicAdd()", [RACE_UPDATE_MIN] = "atomicMin()",
		[RACE_UPDATE_MAX] = "atomicMax()", [RACE_UPDATE_AND] = "atomicAnd()",
		[RACE_UPDATE_OR] = "atomicOr()",   [RACE_UPDATE_XOR] = "atomicXor()",
	};

	return u < BASE_COUNTOF(functions) ? functions[u] : NULL;
}

const char *rep_atomic_of(enum race_update u)
{
	return atomic_of(u) ? atomic_of(u) : "a loop with atomicCAS()";
}

/* The pair of `x += 1` in two threads. */
static const char *update_fix(struct base_arena *a, const struct race_finding *f)
{
	enum race_update u = f->sides[0].update;
	const char *local = rep_pair_distance(f) <= REP_BLOCK && is_shared(f)
				    ? "\n(atomicAdd_block() and the like are enough within a block)"
				    : "";

	if (u != f->sides[1].update)
		u = RACE_UPDATE_OTHER;
	if (!atomic_of(u))
		return "let one atomic step do the whole update: a loop with atomicCAS(), or "
		       "give each\n"
		       "thread its own element. A barrier doesn't help: both threads update at "
		       "once.";
	return base_printf(a,
			   "%s instead of the load and the store; it returns the old value%s.\n"
			   "A barrier doesn't help: both threads update the element in the same "
			   "step.",
			   atomic_of(u), local);
}

/* One side is atomic (or volatile), the other a plain access. */
static const char *half_strong_fix(const struct race_finding *f)
{
	const struct race_side *plain = &f->sides[f->sides[0].strength == RACE_WEAK ? 0 : 1];
	const struct race_side *strong = &f->sides[plain == &f->sides[0] ? 1 : 0];

	if (strong->flags & RACE_SIDE_MBARRIER)
		return "after initialising an mbarrier: __syncthreads() (for a cluster "
		       "fence.mbarrier_init\n"
		       "and cluster.sync(); for copies fence.proxy.async) before other threads "
		       "use it.";
	if (!(plain->flags & RACE_SIDE_WRITES))
		return "make the plain load atomic, too: cuda::atomic_ref<T>(x).load(relaxed); "
		       "if it must\n"
		       "see the final value, a barrier (or a second kernel) before it.";
	return "make the plain store atomic, too (atomicExch(), cuda::atomic_ref<T>(x).store()); "
	       "if it\n"
	       "initialises the location, a barrier (or a launch of its own) between the two.";
}

static const char *same_store_fix(const struct race_finding *f)
{
	if (rep_pair_distance(f) <= REP_BLOCK && is_shared(f))
		return "let one thread write (if (threadIdx.x == 0)) and put __syncthreads() "
		       "after it;\n"
		       "or look at the index: each thread should have an element of its own.";
	return "look at the index: each thread should write an element of its own; else let one\n"
	       "thread write, or use an atomic (atomicMax(), atomicExch(), ...).";
}

static const char *order_fix(const struct race_finding *f)
{
	bool is_write = f->sides[0].flags & f->sides[1].flags & RACE_SIDE_WRITES;

	switch (rep_pair_distance(f)) {
	case REP_WARP:
		/* The pair that is shown is the first one; others may be of two warps. */
		if (f->count > 1)
			return "__syncthreads() between the two; where only the lanes of one warp "
			       "exchange\n"
			       "here, __syncwarp() is enough: they are not in lockstep. Shuffles "
			       "and "
			       "votes\n"
			       "order no memory.";
		return "__syncwarp() between the two (lanes of a warp are not in lockstep);\n"
		       "shuffles and votes order no memory.";
	case REP_BLOCK:
		return "__syncthreads() between the two (in a loop: one after writing and one "
		       "after reading).";
	default:
		break;
	}
	if (is_shared(f))
		return "cluster.sync() between the two.";
	if (is_write)
		return "different blocks write one element: give each block its own part, put the "
		       "second\n"
		       "write into a later kernel, or let an atomic decide.";
	return "no barrier reaches another block: split the kernel in two, or launch it with\n"
	       "cudaLaunchCooperativeKernel() and use grid.sync(). To wait for one block: the "
	       "writer\n"
	       "__threadfence() and then an atomic flag, the reader the flag and then "
	       "__threadfence().";
}

static bool is_host_code(const struct race_finding *f)
{
	for (unsigned i = 0; i < 2; i++)
		if (f->sides[i].flags & RACE_SIDE_HOST && f->sides[i].access != RACE_ACCESS_COPY)
			return true;
	return false;
}

static const char *unordered_fix(struct base_arena *a, const struct race_finding *f)
{
	const struct race_side *s = f->sides;

	if (flags_of(f) & RACE_SIDE_ASYNC)
		return async_fix(f);
	if (is_host_code(f))
		return "wait for the launch with cudaStreamSynchronize() or an event before host "
		       "code uses\n"
		       "the memory, or launch after it has; flags between the two need "
		       "cuda::atomic_ref of\n"
		       "system scope.";
	if (flags_of(f) & RACE_SIDE_HOST)
		return host_fix(f);
	if (s[0].grid != s[1].grid)
		return launch_fix(f);
	if (s[0].update && s[1].update)
		return update_fix(a, f);
	if ((s[0].strength == RACE_WEAK) != (s[1].strength == RACE_WEAK))
		return half_strong_fix(f);
	if (s[0].flags & s[1].flags & RACE_SIDE_WRITES && is_same_place(f))
		return same_store_fix(f);
	return order_fix(f);
}

const char *rep_pair_fix(struct base_arena *a, const struct race_finding *f)
{
	/* Whether the value is used or not: only one atomic step corrects it. */
	if (f->kind == RACE_KIND_UNORDERED && f->sides[0].grid == f->sides[1].grid &&
	    f->sides[0].update && f->sides[1].update)
		return update_fix(a, f);
	if (f->kind == RACE_KIND_HISTORY_POSSIBLE || f->kind == RACE_KIND_GUARD_POSSIBLE)
		return base_printf(a,
				   "check whether a lock, a flag or another barrier orders them in "
				   "every run; if not:\n%s",
				   unordered_fix(a, f));
	if (f->kind == RACE_KIND_WATCH_POSSIBLE || f->kind == RACE_KIND_HISTORY_INVENTED ||
	    f->kind == RACE_KIND_GUARD_INVENTED ||
	    (f->cls == RACE_CLASS_POSSIBLE && f->kind < RACE_KIND_HISTORY))
		return "check whether the value is used on some path; building with\n"
		       "`collider nvcc --keep-races` removes invented loads.";
	switch (f->kind) {
	case RACE_KIND_SCOPE:
	case RACE_KIND_GUARD_ATOMIC:
	case RACE_KIND_GUARD_PAIR:
		return scope_fix(a, f);
	case RACE_KIND_MIXED_SIZE:
		return size_fix(a, f);
	case RACE_KIND_PROXY:
		return proxy_fix(f);
	case RACE_KIND_READ_ONLY:
		if (rep_is_texture(f))
			return "read it with a plain load, or write it in an earlier launch; a "
			       "barrier or fence\n"
			       "within the launch doesn't help.";
		return race_kinds[f->kind].fix;
	case RACE_KIND_BARRIER_COUNT:
	case RACE_KIND_WATCH_READ_ONLY:
	case RACE_KIND_GUARD_WARP:
	case RACE_KIND_GUARD_BLOCK:
	case RACE_KIND_GUARD_LOCK:
	case RACE_KIND_GUARD_LOCKS:
	case RACE_KIND_GUARD_FENCE:
	case RACE_KIND_GUARD_RELEASE:
	case RACE_KIND_GUARD_ACQUIRE:
		return race_kinds[f->kind].fix;
	default:
		return unordered_fix(a, f);
	}
}
