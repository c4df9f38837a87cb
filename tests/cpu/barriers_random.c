/*
 * barriers_random.c - random programs of barriers and exits, and a second judge with clocks.
 *
 *	barriers_random PROGRAMS [FIRST [hirace|iguard]]
 *	barriers_random --print NUMBER
 *
 * One block or a cluster of two. Each warp has steps of its own, or each half of a warp: accesses
 * by one lane, barriers of the block without a count (sync, red) or with one (arrive, sync, red),
 * barriers of the cluster, bar.warp.sync, mbarriers (arrive, arrive_drop, wait), and exits of warps
 * and half warps, before they arrive, between arrival and wait, and after it. In every third one
 * bulk copies from global to shared memory and proxy fences, too. The program is drawn in an order
 * in which it can run, and the second judge moves vector clocks along, by the table in
 * docs/cpu-device.md. What it knows holds in each schedule: a barrier is used again only
 * by warps that come after all arrivals of its last generation. Demanded is that
 *
 *   1. the program ends, and loads and reductions have the values that the judge knows;
 *   2. each pair of the oracle's, each data race of a detector's, is one of the judge's;
 *   3. each location that races has a pair; with a detector, in programs of which it follows all;
 *      a race with a thread that has exited may be missed where the program says so (exits.c).
 *
 * Every second program has no race. Every third one has only what hirace and iguard follow.
 */
#include "random_run.h"

#include <stdlib.h>
#include <string.h>

enum {
	BLOCKS = 2,
	WARPS = 4,
	HALVES = 2,
	EDGES = 2, /* lanes of a half that access memory: its first and last one */
	PER_BLOCK = WARPS * HALVES * EDGES,
	THREADS = BLOCKS * PER_BLOCK,
	UNITS = BLOCKS * WARPS * HALVES, /* what has steps of its own; a whole warp is the first */
	WORDS = 8,			 /* global */
	SHARED = 8,			 /* of each block */
	PLACES = WORDS + BLOCKS * SHARED,
	BARRIERS = 16,
	MBARRIERS = 3,
	COPIES = 8, /* of both blocks; each completes an mbarrier of its own */
	LINE = 4,   /* words of a copy */
	ACTORS = THREADS + COPIES,
	ACCESSES = 240,
	SLOTS = 1024, /* results */
	SEEDS = 2
};

/*
 * What is known of each thread and copy, and what of it a copy may rely on, by docs/soundness.md:
 * what a proxy fence has followed, and, for reads that a copy overwrites, what an arrival at an
 * mbarrier has.
 * loose: as if a barrier waited for threads that have exited, too, which is what hirace and iguard
 * take it for in kernels that are judged in part for it (docs/hirace.md).
 */
struct clock {
	uint32_t t[ACTORS], fenced[ACTORS], passed[ACTORS], loose[ACTORS];
};

/* ---- the program and its order -------------------------------------------------------------- */

static uint64_t state;
static unsigned nblocks, nwarps, last_lanes, nlabels, naccesses, nslots;
static bool is_racy, is_followed, has_copies;
static struct clock now[ACTORS];
static bool is_alive[THREADS];

static struct unit {
	struct base_buf text;
	unsigned lines, first; /* first: its line in the program */
	bool is_split, is_out;
} units[UNITS];

static struct access {
	unsigned thread, epoch, place, unit, line; /* thread: or copy */
	bool is_write, races, races_loosely, is_found;
} accesses[ACCESSES];
static bool pairs[ACCESSES][ACCESSES], before[ACCESSES][ACCESSES];
static unsigned ncopies;

/* A barrier of a block; sum: what arrivals have released in this generation; need: all arrivals of
 * the generations before. */
static struct barrier {
	unsigned expected, arrived; /* warps; 0: none is open */
	struct clock sum, need;
} barriers[BLOCKS][BARRIERS];

/* need: what must be known to arrive in the next phase; waited: to complete it. */
static struct mbarrier {
	unsigned first, count, phase;
	struct clock need, waited;
} mbarriers[BLOCKS][MBARRIERS];

static uint32_t written[PLACES];
static uint32_t expected[SLOTS];
static bool is_known[SLOTS];

static uint32_t draw(uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 33) % n;
}

static void join_part(uint32_t *a, const uint32_t *b)
{
	for (unsigned i = 0; i < ACTORS; i++)
		a[i] = a[i] > b[i] ? a[i] : b[i];
}

static void join(struct clock *a, const struct clock *b)
{
	join_part(a->t, b->t);
	join_part(a->fenced, b->fenced);
	join_part(a->passed, b->passed);
	join_part(a->loose, b->loose);
}

static bool is_before(const struct clock *a, const struct clock *b)
{
	for (unsigned i = 0; i < ACTORS; i++)
		if (a->t[i] > b->t[i])
			return false;
	return true;
}

/* ---- threads, warps, units ------------------------------------------------------------------ */

static unsigned thread_of(unsigned warp, unsigned half, unsigned edge)
{
	return (warp * HALVES + half) * EDGES + edge;
}

/* Warps are numbered through both blocks. */
static unsigned lanes_of(unsigned warp)
{
	return warp % WARPS + 1 == nwarps ? last_lanes : 32;
}

static bool is_half_alive(unsigned warp, unsigned half)
{
	return is_alive[thread_of(warp, half, 0)];
}

static bool is_warp_alive(unsigned warp)
{
	return is_half_alive(warp, 0) || is_half_alive(warp, 1);
}

static unsigned unit_of(unsigned t)
{
	unsigned half = t / EDGES;

	return units[half / HALVES * HALVES].is_split ? half : half / HALVES * HALVES;
}

static bool has_thread(unsigned unit, unsigned t)
{
	return is_alive[t] && unit_of(t) == unit;
}

/* The lanes that are left, as a mask. */
static uint32_t mask_of(unsigned warp)
{
	uint32_t high =
		lanes_of(warp) == 32 ? 0xffff0000u : ((1u << lanes_of(warp)) - 1) & ~0xffffu;

	return (is_half_alive(warp, 0) ? 0xffffu : 0) | (is_half_alive(warp, 1) ? high : 0);
}

static unsigned any_alive(void)
{
	unsigned t, n = nblocks * PER_BLOCK, tries = 0;

	do
		t = draw(n);
	while (!is_alive[t] && ++tries < 1000);
	return is_alive[t] ? t : THREADS;
}

/* The next thing that warp or thread does. */
static void step_thread(unsigned t)
{
	now[t].t[t]++;
	now[t].loose[t]++;
}

#define EACH_PLACE(t, warp)                                                                        \
	for (unsigned t = (warp)*HALVES * EDGES; t < ((warp) + 1) * HALVES * EDGES; t++)
#define EACH_THREAD(t, warp)                                                                       \
	for (unsigned t = (warp)*HALVES * EDGES; t < ((warp) + 1) * HALVES * EDGES; t++)           \
		if (is_alive[t])

/* What the warp's threads did that have exited. */
static void join_exited(struct clock *sum, unsigned warp)
{
	EACH_PLACE(t, warp)
	if (!is_alive[t])
		join_part(sum->loose, now[t].loose);
}

/* ---- text ----------------------------------------------------------------------------------- */

#define PUT(unit, ...) (base_buf_printf(&units[unit].text, __VA_ARGS__), units[unit].lines++)

static unsigned new_slot(bool is_sure, uint32_t value)
{
	if (nslots == SLOTS)
		exit(2);
	is_known[nslots] = is_sure;
	expected[nslots] = value;
	return nslots++;
}

/* Register %v of a thread becomes a result. */
static void put_result(unsigned t, bool is_sure, uint32_t value)
{
	PUT(unit_of(t), " @%%e%u st.global.u32 [%%o+%u], %%v;\n", t % 4,
	    4 * new_slot(is_sure, value));
}

/* In all units of the warp that are left. */
#define PUT_WARP(warp, ...)                                                                        \
	do {                                                                                       \
		for (unsigned h_ = 0; h_ < HALVES; h_++) {                                         \
			unsigned u_ = (warp)*HALVES + h_;                                          \
			if (h_ && !units[(warp)*HALVES].is_split)                                  \
				break;                                                             \
			if (!units[u_].is_out)                                                     \
				PUT(u_, __VA_ARGS__);                                              \
		}                                                                                  \
	} while (0)

/* Split warps need the forms that aren't aligned. */
static const char *spelled(unsigned warp, const char *aligned, const char *other)
{
	return units[warp * HALVES].is_split || draw(3) == 0 ? other : aligned;
}

/* ---- accesses ------------------------------------------------------------------------------- */

/* Does a come before b, which is about to be done by one of `now`? */
static bool is_ordered(const struct access *a, const struct access *b, const uint32_t *known)
{
	const struct clock *c = &now[b->thread];
	bool is_copy = b->thread >= THREADS, is_direct = c->t[a->thread] >= a->epoch;

	if (known == c->loose)
		return c->loose[a->thread] >= a->epoch;
	if (is_copy && a->thread < THREADS && a->is_write)
		is_direct = c->fenced[a->thread] >= a->epoch;
	else if (is_copy && a->thread < THREADS && b->place >= WORDS)
		is_direct = c->fenced[a->thread] >= a->epoch || c->passed[a->thread] >= a->epoch;
	/* What a copy has replaced is over, and what was written before a copy that read it. */
	for (unsigned i = 0; i < naccesses && !is_direct; i++) {
		const struct access *x = &accesses[i];
		is_direct = x->thread >= THREADS && x->place == a->place &&
			    before[a - accesses][i] && c->t[x->thread] >= x->epoch &&
			    (x->is_write || (a->is_write && b->is_write));
	}
	return is_direct;
}

static bool conflict(const struct access *a, const struct access *b)
{
	return a->place == b->place && a->thread != b->thread && (a->is_write || b->is_write);
}

static bool would_race(const struct access *b)
{
	bool races = false;

	for (unsigned i = 0; i < naccesses; i++)
		races |=
			conflict(&accesses[i], b) && !is_ordered(&accesses[i], b, now[b->thread].t);
	return races;
}

/* It is the next one of its thread. */
static void add_access(const struct access *x)
{
	struct access *b = &accesses[naccesses];

	*b = *x;
	for (unsigned i = 0; i < naccesses; i++) {
		struct access *a = &accesses[i];
		before[i][naccesses] = is_ordered(a, b, now[b->thread].t);
		if (!conflict(a, b) || before[i][naccesses])
			continue;
		pairs[i][naccesses] = pairs[naccesses][i] = true;
		a->races = b->races = true;
		if (!is_ordered(a, b, now[b->thread].loose))
			a->races_loosely = b->races_loosely = true;
	}
	step_thread(b->thread);
	b->epoch = now[b->thread].t[b->thread];
	naccesses++;
}

/* As the address in its space. */
static unsigned offset_of(unsigned place)
{
	return 4 * (place < WORDS ? place : (place - WORDS) % SHARED);
}

static void put_access(unsigned t, unsigned place, bool is_write)
{
	unsigned unit = unit_of(t);
	struct access a = {.thread = t, .place = place, .is_write = is_write, .unit = unit};
	const char *space = place < WORDS ? "global" : "shared";
	const char *base = place < WORDS ? "%g" : "%s";

	if (naccesses == ACCESSES || (would_race(&a) && !is_racy))
		return;
	a.line = units[unit].lines;
	add_access(&a);
	if (is_write) {
		written[place] = naccesses;
		PUT(unit, " @%%e%u st.%s.u32 [%s+%u], %u;\n", t % 4, space, base, offset_of(place),
		    written[place]);
		return;
	}
	PUT(unit, " @%%e%u ld.%s.u32 %%v, [%s+%u];\n", t % 4, space, base, offset_of(place));
	/* Shared memory holds anything at first. */
	put_result(t, !is_racy && (place < WORDS || written[place]), written[place]);
}

static void some_access(void)
{
	unsigned t = any_alive();

	for (unsigned tries = 0; t < THREADS && tries < 4; tries++) {
		unsigned was = naccesses, block = t / PER_BLOCK;
		unsigned place = draw(2) ? draw(WORDS) : WORDS + block * SHARED + draw(SHARED);
		put_access(t, place, draw(2));
		if (naccesses != was)
			return;
	}
}

/* ---- exits ---------------------------------------------------------------------------------- */

static void put_exit(unsigned t)
{
	unsigned unit = unit_of(t), warp = unit / HALVES, half = t / EDGES % HALVES;
	bool is_half = !units[unit].is_split && draw(2) && is_half_alive(warp, !half);

	if (is_half)
		PUT(unit, " @%%h%u exit;\n", half);
	else
		PUT(unit, " exit;\n");
	units[unit].is_out = !is_half;
	EACH_THREAD(k, warp)
	if (unit_of(k) == unit && (!is_half || k / EDGES % HALVES == half))
		is_alive[k] = false;
}

/* ---- barriers of a warp, a block, a cluster ------------------------------------------------- */

static void put_warp_sync(unsigned warp)
{
	struct clock sum = {.t = {0}};
	uint32_t mask = mask_of(warp);
	bool is_more = draw(2); /* lanes that have exited may be named */

	if (is_more)
		mask = lanes_of(warp) == 32 ? 0xffffffffu : (1u << lanes_of(warp)) - 1;
	PUT_WARP(warp, " bar.warp.sync 0x%x;\n", mask);
	if (is_more)
		join_exited(&sum, warp);
	EACH_THREAD(t, warp)
	join(&sum, &now[t]);
	EACH_THREAD(t, warp)
	{
		join(&now[t], &sum);
		step_thread(t);
	}
}

/* May the warp arrive: does it come after the last generation? */
static bool may_arrive(const struct barrier *b, unsigned warp)
{
	struct clock all = {.t = {0}};

	EACH_THREAD(t, warp)
	join(&all, &now[t]);
	return is_warp_alive(warp) && is_before(&b->need, &all);
}

static void arrive(struct barrier *b, unsigned warp)
{
	b->arrived++;
	EACH_THREAD(t, warp)
	{
		step_thread(t);
		join(&b->sum, &now[t]);
	}
}

static void complete(struct barrier *b, const bool *waits, unsigned first)
{
	for (unsigned w = first; w < first + nwarps; w++)
		EACH_THREAD(t, w)
	if (waits[w - first])
		join(&now[t], &b->sum);
	join(&b->need, &b->sum);
	b->sum = (struct clock){.t = {0}};
	b->expected = b->arrived = 0;
}

/* All of these warps wait, for each other and for those that have arrived: sync, or a reduction. */
static void put_wait(struct barrier *b, unsigned first, unsigned id, const bool *waits,
		     const char *count)
{
	unsigned red = b->arrived ? 0 : draw(6), odd = 0, all = 0;
	bool is_and = red == 2, is_popc = red == 1, is_or = red == 3;

	for (unsigned w = first; w < first + nwarps; w++) {
		if (!waits[w - first])
			continue;
		uint32_t mask = mask_of(w);
		odd += (unsigned)__builtin_popcount(mask & 0xaaaaaaaau);
		all += (unsigned)__builtin_popcount(mask);
	}
	for (unsigned w = first; w < first + nwarps; w++) {
		if (!waits[w - first])
			continue;
		arrive(b, w);
		if (is_popc) {
			PUT_WARP(w, " %s.u32 %%v, %u%s, %%odd;\n",
				 spelled(w, "bar.red.popc", "barrier.red.popc"), id, count);
			EACH_THREAD(t, w)
			put_result(t, true, odd);
		} else if (is_and || is_or) {
			PUT_WARP(w, " %s.%s.pred %%p, %u%s, %%odd;\n",
				 spelled(w, "bar.red", "barrier.red"), is_and ? "and" : "or", id,
				 count);
			PUT_WARP(w, " selp.u32 %%v, 1, 0, %%p;\n");
			EACH_THREAD(t, w)
			put_result(t, true, is_and ? odd == all : odd != 0);
		} else {
			PUT_WARP(w, " %s %u%s;\n", spelled(w, "bar.sync", "barrier.sync"), id,
				 count);
		}
	}
	complete(b, waits, first);
}

/* No count: all warps of the block that have not exited. */
static void put_block_barrier(unsigned block)
{
	unsigned id = is_followed ? 0 : draw(3), first = block * WARPS;
	struct barrier *b = &barriers[block][id];
	bool waits[WARPS], is_legal = !b->expected, is_any = false;

	for (unsigned w = 0; w < nwarps; w++) {
		waits[w] = is_warp_alive(first + w);
		is_any |= waits[w];
		is_legal &= !waits[w] || may_arrive(b, first + w);
	}
	if (!is_legal || !is_any)
		return;
	for (unsigned w = first; w < first + nwarps; w++)
		join_exited(&b->sum, w);
	put_wait(b, first, id, waits, "");
}

/* A count: some warps arrive and go on; those that wait come later, or never. */
static void put_counted(unsigned block)
{
	unsigned id = draw(BARRIERS), first = block * WARPS, may = 0;
	struct barrier *b = &barriers[block][id];
	bool waits[WARPS] = {false};
	char count[16];

	if (!b->expected) {
		unsigned n = 1 + draw(nwarps + 1), arrivals = draw(n + 1);
		for (unsigned w = first; w < first + nwarps; w++)
			may += may_arrive(b, w);
		if (!may || n > may + arrivals || (!arrivals && n > may))
			return;
		b->expected = n;
		/* The last to arrive waits: where it doesn't, the generation is another case. */
		for (unsigned i = 0; i < arrivals && b->arrived + 1 < n; i++) {
			unsigned w = first + draw(nwarps);
			if (!may_arrive(b, w))
				continue;
			PUT_WARP(w, " %s %u, %u;\n", spelled(w, "bar.arrive", "barrier.arrive"), id,
				 32 * n);
			arrive(b, w);
		}
		if (b->arrived || draw(2))
			return;
	}
	snprintf(count, sizeof(count), ", %u", 32 * b->expected);
	unsigned want = b->expected - b->arrived, from = draw(nwarps);
	for (unsigned i = 0; i < nwarps && want; i++) {
		unsigned w = (from + i) % nwarps;
		waits[w] = may_arrive(b, first + w);
		want -= waits[w];
	}
	if (!want)
		put_wait(b, first, id, waits, count);
	else if (!b->arrived)
		b->expected = 0;
}

/* All that are left arrive; something happens; those that are left then wait. */
static void some_step(bool has_cluster);

static void put_cluster_barrier(void)
{
	struct clock sum = {.t = {0}};

	for (unsigned w = 0; w < nblocks * WARPS; w++) {
		if (w % WARPS >= nwarps || !is_warp_alive(w))
			continue;
		bool is_relaxed = draw(4) == 0;
		PUT_WARP(w, " barrier.cluster.arrive%s%s;\n",
			 is_relaxed ? ".relaxed" : (draw(2) ? ".release" : ""),
			 spelled(w, ".aligned", ""));
		EACH_THREAD(t, w)
		{
			step_thread(t);
			if (!is_relaxed)
				join(&sum, &now[t]);
		}
	}
	for (unsigned n = draw(6); n; n--)
		some_step(false);
	for (unsigned w = 0; w < nblocks * WARPS; w++) {
		if (w % WARPS >= nwarps || !is_warp_alive(w))
			continue;
		PUT_WARP(w, " barrier.cluster.wait%s%s;\n", draw(2) ? ".acquire" : "",
			 spelled(w, ".aligned", ""));
		EACH_THREAD(t, w)
		join(&now[t], &sum);
	}
}

/* ---- mbarriers ------------------------------------------------------------------------------ */

/* One phase: as many arrivals as it counts, by any threads, then some units wait for it. */
static void put_phase(unsigned block)
{
	unsigned i = draw(MBARRIERS), by[8], n = 0, drops = 0;
	struct mbarrier *m = &mbarriers[block][i];
	const struct clock earlier = m->need;
	struct clock sum = {.t = {0}};

	for (unsigned tries = 0; tries < 40 && n < m->count; tries++) {
		unsigned t = block * PER_BLOCK + draw(PER_BLOCK);
		if (is_alive[t] && is_before(&m->need, &now[t]) &&
		    (n || is_before(&m->waited, &now[t])))
			by[n++] = t;
	}
	if (!m->count || n < m->count)
		return;
	for (unsigned k = 0; k < n; k++) {
		bool is_drop = draw(8) == 0;
		PUT(unit_of(by[k]), " @%%e%u mbarrier.arrive%s.shared.b64 %%st, [mb+%u];\n",
		    by[k] % 4, is_drop ? "_drop" : "", 8 * i);
		drops += is_drop;
		step_thread(by[k]);
		join(&sum, &now[by[k]]);
	}
	m->count -= drops;
	join(&m->need, &sum);
	for (unsigned u = block * WARPS * HALVES; u < (block + 1) * WARPS * HALVES; u++) {
		bool is_any = false, may = draw(2);
		for (unsigned t = 0; t < THREADS; t++) {
			is_any |= has_thread(u, t);
			/* While the phase before goes on, the wait would be over at once. */
			may &= !has_thread(u, t) || is_before(&earlier, &now[t]);
		}
		if (!is_any || !may)
			continue;
		PUT(u, "W%u:\n", nlabels);
		PUT(u, " mbarrier.t%s_wait.parity.shared.b64 %%p, [mb+%u], %u;\n",
		    draw(3) ? "ry" : "est", 8 * i, m->phase & 1);
		PUT(u, " @!%%p bra W%u;\n", nlabels++);
		for (unsigned t = 0; t < THREADS; t++) {
			if (!has_thread(u, t))
				continue;
			step_thread(t);
			join(&m->waited, &now[t]);
			join(&now[t], &sum);
			join_part(now[t].passed, sum.t);
		}
	}
	m->phase++;
}

/* ---- copies ---------------------------------------------------------------------------------- */

static void put_fence(unsigned unit)
{
	PUT(unit, " fence.proxy.async;\n");
	for (unsigned t = 0; t < THREADS; t++)
		if (has_thread(unit, t))
			join_part(now[t].fenced, now[t].t);
}

/* Some units of the block wait for what has arrived and for the copy. */
static void put_copy_waits(unsigned block, unsigned c, const struct clock *arrived,
			   const struct clock *copied)
{
	for (unsigned u = block * WARPS * HALVES; u < (block + 1) * WARPS * HALVES; u++) {
		bool is_any = false;
		for (unsigned t = 0; t < THREADS; t++)
			is_any |= has_thread(u, t);
		if (!is_any || draw(2))
			continue;
		PUT(u, "W%u:\n", nlabels);
		PUT(u, " mbarrier.try_wait.parity.shared.b64 %%p, [mb+%u], 0;\n",
		    8 * (MBARRIERS + c));
		PUT(u, " @!%%p bra W%u;\n", nlabels++);
		for (unsigned t = 0; t < THREADS; t++) {
			if (!has_thread(u, t))
				continue;
			join(&now[t], arrived);
			join_part(now[t].passed, arrived->t);
			join(&now[t], copied);
		}
	}
}

/* A line of global memory to one of shared memory. */
static void put_copy(unsigned t)
{
	unsigned block = t / PER_BLOCK, unit = unit_of(t), c = ncopies;
	unsigned from = draw(WORDS / LINE) * LINE;
	unsigned to = WORDS + block * SHARED + draw(SHARED / LINE) * LINE;
	struct access x = {.thread = THREADS + c, .unit = unit};
	bool races = false;

	if (c == COPIES || naccesses + 2 * LINE > ACCESSES)
		return;
	now[THREADS + c] = now[t];
	for (unsigned i = 0; i < 2 * LINE; i++) {
		x.place = i < LINE ? from + i : to + i - LINE;
		x.is_write = i >= LINE;
		races |= would_race(&x);
	}
	if (races && !is_racy)
		return;
	ncopies++;
	PUT(unit, " @%%e%u mbarrier.arrive.expect_tx.shared.b64 %%st, [mb+%u], %u;\n", t % 4,
	    8 * (MBARRIERS + c), 4 * LINE);
	step_thread(t);
	const struct clock arrived = now[t];
	now[THREADS + c] = now[t];
	x.line = units[unit].lines;
	PUT(unit,
	    " @%%e%u cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [words+%u], "
	    "[%%g+%u], %u, [mb+%u];\n",
	    t % 4, offset_of(to), offset_of(from), 4 * LINE, 8 * (MBARRIERS + c));
	for (unsigned i = 0; i < 2 * LINE; i++) {
		now[THREADS + c].t[THREADS + c] = now[THREADS + c].loose[THREADS + c] = 0;
		x.place = i < LINE ? from + i : to + i - LINE;
		x.is_write = i >= LINE;
		add_access(&x);
	}
	for (unsigned i = 0; i < LINE; i++)
		written[to + i] = written[from + i];
	struct clock copied = {.t = {0}};
	unsigned at = THREADS + c;
	copied.t[at] = copied.fenced[at] = copied.passed[at] = copied.loose[at] = 1;
	put_copy_waits(block, c, &arrived, &copied);
}

/* ---- a program ------------------------------------------------------------------------------ */

static void some_step(bool has_cluster)
{
	unsigned t = any_alive(), what = draw(100);

	if (t == THREADS)
		return;
	if (what < 6 && has_copies)
		put_fence(unit_of(t));
	else if (what < 12 && has_copies)
		put_copy(t);
	else if (what < 52)
		some_access();
	else if (what < 58)
		put_warp_sync(t / EDGES / HALVES);
	else if (what < 70)
		put_block_barrier(t / PER_BLOCK);
	else if (what < 75)
		put_exit(t);
	else if (is_followed)
		some_access();
	else if (what < 88)
		put_counted(t / PER_BLOCK);
	else if (what < 95)
		put_phase(t / PER_BLOCK);
	else if (has_cluster)
		put_cluster_barrier();
}

static void draw_program(uint64_t number)
{
	state = number * 0x9e3779b97f4a7c15ull + 1;
	for (unsigned i = 0; i < 8; i++)
		draw(2);
	is_racy = number & 1;
	is_followed = number % 3 == 0;
	has_copies = number % 3 == 1;
	nblocks = is_followed ? 1 : 1 + draw(2);
	nwarps = 1 + draw(WARPS);
	last_lanes = draw(3) ? 32 : draw(2) ? 28 : 20;
	naccesses = nslots = nlabels = ncopies = 0;
	memset(now, 0, sizeof(now));
	memset(is_alive, 0, sizeof(is_alive));
	memset(pairs, 0, sizeof(pairs));
	memset(before, 0, sizeof(before));
	memset(barriers, 0, sizeof(barriers));
	memset(mbarriers, 0, sizeof(mbarriers));
	memset(written, 0, sizeof(written));
	for (unsigned u = 0; u < UNITS; u++) {
		units[u].text.n = units[u].lines = 0;
		units[u].is_out = false;
		if (u % HALVES == 0)
			units[u].is_split = units[u + 1].is_split = !is_followed && draw(3) == 0;
	}
	for (unsigned t = 0; t < nblocks * PER_BLOCK; t++)
		is_alive[t] = t % PER_BLOCK / (HALVES * EDGES) < nwarps;
	for (unsigned b = 0; b < BLOCKS; b++)
		for (unsigned i = 0; i < MBARRIERS; i++)
			mbarriers[b][i].first = mbarriers[b][i].count = 1 + draw(4);
	for (unsigned n = 30 + draw(90); n; n--)
		some_step(true);
	for (unsigned t = 0; t < THREADS; t++)
		while (is_alive[t])
			put_exit(t);
}

static void print_program(struct base_buf *b)
{
	base_buf_printf(
		b,
		".version 8.0\n.target sm_90\n.address_size 64\n"
		".shared .align 8 .b8 mb[%u];\n.shared .align 16 .b8 words[%u];\n"
		".visible .entry k(.param .u64 g, .param .u64 o, .param .u32 c)\n{\n"
		" .reg .pred %%p, %%odd, %%e<4>, %%h<2>;\n .reg .b32 %%v, %%t, %%u, %%l, %%s;\n"
		" .reg .b64 %%g, %%o, %%st;\n ld.param.u64 %%g, [g];\n"
		" ld.param.u64 %%o, [o];\n mov.u32 %%s, words;\n mov.u32 %%t, %%tid.x;\n"
		" and.b32 %%l, %%t, 31;\n",
		8 * (MBARRIERS + COPIES), 4 * SHARED);
	if (!is_followed) {
		base_buf_puts(b, " setp.ne.u32 %p, %t, 0;\n @%p bra READY;\n");
		base_buf_puts(b, " mov.u32 %u, %cluster_ctarank;\n setp.ne.u32 %p, %u, 0;\n");
		for (unsigned i = 0; i < nblocks * MBARRIERS; i++)
			base_buf_printf(b, " @%sp mbarrier.init.shared.b64 [mb+%u], %u;\n",
					i < MBARRIERS ? "!%" : "%", 8 * (i % MBARRIERS),
					mbarriers[i / MBARRIERS][i % MBARRIERS].first);
		for (unsigned c = 0; c < ncopies; c++)
			base_buf_printf(b, " mbarrier.init.shared.b64 [mb+%u], 1;\n",
					8 * (MBARRIERS + c));
		if (draw(2))
			base_buf_puts(b, " fence.mbarrier_init.release.cluster;\n");
		base_buf_puts(b, "READY:\n");
	}
	base_buf_printf(b,
			" bar.sync 0;\n shr.u32 %%u, %%t, 4;\n mov.u32 %%v, %%cluster_ctarank;\n"
			" mad.lo.u32 %%u, %%v, %u, %%u;\n and.b32 %%v, %%t, 1;\n"
			" setp.ne.u32 %%odd, %%v, 0;\n setp.lt.u32 %%h0, %%l, 16;\n"
			" setp.ge.u32 %%h1, %%l, 16;\n setp.eq.u32 %%e0, %%l, 0;\n"
			" setp.eq.u32 %%e1, %%l, 15;\n setp.eq.u32 %%e2, %%l, 16;\n",
			WARPS * HALVES);
	for (unsigned u = 0; u < nblocks * WARPS * HALVES; u++) {
		if (u / HALVES % WARPS >= nwarps || (u % HALVES && !units[u].is_split))
			continue;
		base_buf_printf(b, " setp.eq.u32 %%p, %%u, %u;\n", u);
		if (!units[u].is_split)
			base_buf_printf(b, " setp.eq.or.u32 %%p, %%u, %u, %%p;\n", u + 1);
		base_buf_printf(b, " @%%p bra U%u;\n", u);
	}
	base_buf_puts(b, " exit;\n");
	for (unsigned u = 0; u < nblocks * WARPS * HALVES; u++) {
		if (!units[u].lines)
			continue;
		base_buf_printf(b, "U%u:\n setp.eq.u32 %%e3, %%l, %u;\n", u,
				lanes_of(u / HALVES) - 1);
		units[u].first = 1;
		for (size_t i = 0; i < b->n; i++)
			units[u].first += b->p[i] == '\n';
		base_buf_printf(b, "%.*s", (int)units[u].text.n, units[u].text.p);
	}
	base_buf_puts(b, "}\n");
}

/* ---- what was found ------------------------------------------------------------------------- */

static struct {
	unsigned races, possible, denied, missed, wrong, locations, followed, partial;
} total;

static unsigned line_of(unsigned i)
{
	return units[accesses[i].unit].first + accesses[i].line;
}

/* A pair names two statements, each of which may have accessed several words. */
static bool is_pair(uint32_t x, uint32_t y, bool is_certain)
{
	bool is = false;

	for (unsigned i = 0; i < naccesses; i++)
		for (unsigned k = 0; k < naccesses && line_of(i) == x; k++)
			if (line_of(k) == y && pairs[i][k]) {
				is = true;
				if (is_certain)
					accesses[i].is_found = accesses[k].is_found = true;
			}
	return is;
}

static void look_at_pairs(const struct random_run *r)
{
	for (unsigned i = 0; i < r->npairs; i++) {
		const struct race_pair *p = &r->pairs[i];
		if (!is_pair(p->side[0].ptx_line, p->side[1].ptx_line, !p->is_possible)) {
			printf("lines %u and %u don't race\n", p->side[0].ptx_line,
			       p->side[1].ptx_line);
			total.denied++;
			continue;
		}
		total.races++;
		total.possible += p->is_possible;
	}
}

static unsigned access_at(uint32_t line)
{
	for (unsigned i = 0; i < naccesses; i++)
		if (line_of(i) == line)
			return i;
	return ACCESSES;
}

static void look_at_records(const struct random_run *r)
{
	for (unsigned i = 0; i < RACE_SLOTS; i++) {
		uint32_t line = random_line(r, i);
		unsigned a = access_at(line);
		bool is_race = line && race_kinds[r->records[i].kind].cls < RACE_CLASS_POSSIBLE;
		if (!line)
			continue;
		total.races += is_race;
		total.possible += !is_race;
		if (is_race && (a == ACCESSES || !accesses[a].races)) {
			printf("line %u doesn't race\n", line);
			total.denied++;
		} else if (a !=
			   ACCESSES) { /* also where a mask of some lanes leaves it undecided */
			accesses[a].is_found = true;
		}
	}
}

/* Does the program say that a detector judges it in part, since threads exit before a barrier? */
static bool is_partial(const struct random_run *r)
{
	struct race_unchecked u;

	for (uint32_t i = 0; r->records && race_sites_get_unchecked(&r->sites, i, &u); i++)
		if (u.why == RACE_WHY_EXITS)
			return true;
	return false;
}

/* Does each location that races have a finding? */
static void look_for_missed(const struct random_run *r)
{
	bool is_loose = is_partial(r), is_demanded = !r->records || is_followed;

	for (unsigned place = 0; place < PLACES; place++) {
		bool races = false, is_found = false;
		for (unsigned i = 0; i < naccesses; i++) {
			races |= accesses[i].place == place &&
				 (is_loose ? accesses[i].races_loosely : accesses[i].races);
			is_found |= accesses[i].place == place && accesses[i].is_found;
		}
		total.locations += races;
		total.followed += races && is_demanded;
		if (races && !is_found && is_demanded) {
			printf("word %u races, and has no finding\n", place);
			total.missed++;
		}
	}
}

static void compare(const struct random_run *r, const uint32_t *results)
{
	unsigned was = total.wrong;

	for (unsigned i = 0; i < nslots; i++)
		total.wrong += is_known[i] && results[i] != expected[i];
	if (total.wrong != was)
		printf("%u results are wrong\n", total.wrong - was);
	for (unsigned i = 0; i < naccesses; i++)
		accesses[i].is_found = false;
	if (r->records)
		look_at_records(r);
	else
		look_at_pairs(r);
	total.partial += is_followed && is_partial(r);
	look_for_missed(r);
}

static bool one(uint64_t number, const char *detector)
{
	static struct random_run r;
	static uint32_t memory[WORDS + SLOTS];
	struct base_buf text = {0};
	unsigned bad = total.denied + total.missed + total.wrong;
	bool is_good = true;

	draw_program(number);
	print_program(&text);
	for (uint64_t seed = 0; seed < SEEDS && is_good; seed++) {
		memset(memory, 0, sizeof(memory));
		is_good = random_run(&r, &text,
				     &(struct random_launch){
					     .detector = detector,
					     .seed = number * SEEDS + seed,
					     .blocks = nblocks,
					     .threads = 32 * (nwarps - 1) + last_lanes,
					     .memory = memory,
					     .bytes = sizeof(memory),
					     .out = sizeof(*memory) * WORDS,
				     });
		if (is_good)
			compare(&r, memory + WORDS);
		random_run_end(&r);
		is_good = is_good && total.denied + total.missed + total.wrong == bad;
	}
	if (!is_good)
		printf("program %llu\n%.*s", (unsigned long long)number, (int)text.n, text.p);
	base_buf_free(&text);
	return is_good;
}

int main(int argc, char **argv)
{
	unsigned programs = argc > 1 ? (unsigned)atoi(argv[1]) : 100, failed = 0;
	uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	struct base_buf text = {0};

	if (argc == 3 && !strcmp(argv[1], "--print")) {
		draw_program(first);
		print_program(&text);
		printf("%.*s", (int)text.n, text.p);
		base_buf_free(&text);
		return 0;
	}
	for (uint64_t i = first; i < first + programs && failed < 5; i++)
		failed += !one(i, argc > 3 ? argv[3] : NULL);
	printf("%u programs: %u races found, %u possible or undecided; of %u locations that race "
	       "%u "
	       "are asked for: %u missed; %u denied, %u results wrong; %u runs in part\n",
	       programs, total.races, total.possible, total.locations, total.followed, total.missed,
	       total.denied, total.wrong, total.partial);
	for (unsigned u = 0; u < UNITS; u++)
		base_buf_free(&units[u].text);
	return failed || !total.races;
}
