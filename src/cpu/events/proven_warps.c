/*
 * proven_warps.c - what the instructions of a proven launch access, noted by warp.
 *
 * Most warps execute an instruction once, or in a loop that goes through memory by one step, with
 * lanes that lie at one distance from each other. That is a few numbers for each warp and
 * instruction, which only the worker writes that executes the warp, one warp's after the other's:
 * no atomics, and no cache line for each row of elements that is touched. What doesn't go on as it
 * began becomes a note of what is accessed (proven_notes.c), and the next way begins.
 *
 * Such notes say the same as those, but not at once which threads access a byte. Where that is
 * needed, at the launch's end at the earliest, all are settled: they become notes of what is
 * accessed. Mostly it never is (shadow/late.c). Where there is no memory for that, and where what a
 * launch has written is undone, they are gone through as they are.
 *
 * Costs: 8 bytes for each warp and instruction, 20 in loops; where an array has less than a word
 * for every other thread there are none.
 */
#include "cpu/events/proven_run.h"

#include <stdlib.h>
#include <string.h>

static uint64_t warps_of(const struct cpu_proven_run *r)
{
	return r->nthreads / CPU_WARP;
}

static uint64_t way_bytes(const struct cpu_proven_run *r)
{
	return warps_of(r) * sizeof(struct proven_way);
}

static uint64_t loop_bytes(const struct cpu_proven_run *r)
{
	return warps_of(r) * sizeof(struct proven_loop);
}

/* Of a small array that many threads access notes of what is accessed are fewer. */
void proven_ways_make(const struct cpu_proven_run *r, struct proven_touch *t)
{
	uint64_t bytes = r->array[t->array].extent.bytes;

	if (way_bytes(r) <= bytes / 8 && (bytes >> t->shift) < INT32_MAX - 2)
		t->way = proven_room_take(way_bytes(r), true);
}

/* NULL: no memory. */
static struct proven_loop *loops_make(struct cpu_proven_run *r, struct proven_touch *t)
{
	struct proven_loop *all = __atomic_load_n(&t->loop, __ATOMIC_ACQUIRE);

	if (all)
		return all;
	pthread_mutex_lock(&r->lock);
	all = t->loop;
	if (!all) {
		all = proven_room_take(loop_bytes(r), true);
		__atomic_store_n(&t->loop, all, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&r->lock);
	return all;
}

/* What a warp has accessed; count 0: nothing. */
static struct proven_loop loop_of(const struct proven_touch *t, uint32_t warp)
{
	const struct proven_loop *all = __atomic_load_n(&t->loop, __ATOMIC_ACQUIRE);

	if (!t->way[warp].end || !all || !all[warp].count)
		return (struct proven_loop){0, 1, t->way[warp].end != 0};
	return all[warp];
}

/* Does the chunk lie as others of the way do? */
static bool is_alike(const struct proven_way *w, const struct proven_loop *l,
		     const struct proven_chunk *c)
{
	return c->first == w->first && c->end <= w->end &&
	       (c->apart == l->apart || c->end - c->first == 1);
}

/* Has the warp accessed the chunk? */
static bool has(const struct proven_way *w, const struct proven_loop *l,
		const struct proven_chunk *c)
{
	int32_t away = (int32_t)(c->element - w->element);
	uint32_t nth = 0;

	if (away) {
		if (!l->step || away % l->step || (away ^ l->step) < 0)
			return false;
		nth = (uint32_t)(away / l->step);
	}
	return nth < l->count && c->end <= (nth + 1 == l->count ? w->last : w->end);
}

/* Is the chunk where the loop's next turn would be? */
static bool is_next(const struct proven_way *w, const struct proven_loop *l,
		    const struct proven_chunk *c)
{
	int64_t away = (int64_t)c->element - w->element;

	return w->last == w->end && away && (l->count == 1 || away == (int64_t)l->step * l->count);
}

/* What the warp has accessed isn't noted here any more. */
static bool settle(struct cpu_proven_run *r, struct proven_touch *t, uint32_t warp, bool is_beside)
{
	struct proven_way *w = &t->way[warp];
	struct proven_loop l = loop_of(t, warp);
	struct proven_chunk c = {w->element, l.apart, w->first, w->end};

	for (uint32_t i = 0; i < l.count; i++, c.element += (uint32_t)l.step) {
		c.end = i + 1 == l.count ? w->last : w->end;
		if (!proven_note_chunk(r, t, &c, warp * CPU_WARP, is_beside))
			return false;
	}
	*w = (struct proven_way){0};
	return true;
}

bool proven_way_add(struct cpu_proven_run *r, struct proven_touch *t, const struct proven_chunk *c,
		    uint32_t thread, bool is_beside)
{
	uint32_t warp = thread / CPU_WARP;
	struct proven_way *w = &t->way[warp];
	struct proven_loop l = loop_of(t, warp), *loops;

	if (w->end && is_alike(w, &l, c)) {
		bool goes_on = is_next(w, &l, c);
		if (!goes_on && has(w, &l, c))
			return true;
		if (goes_on && (loops = loops_make(r, t)) != NULL) {
			w->last = (uint8_t)c->end;
			loops[warp] = (struct proven_loop){
				l.count == 1 ? (int32_t)(c->element - w->element) : l.step, l.apart,
				l.count + 1};
			return true;
		}
	}
	if (w->end && !settle(r, t, warp, is_beside))
		return false;
	loops = c->apart != 1 ? loops_make(r, t) : __atomic_load_n(&t->loop, __ATOMIC_ACQUIRE);
	if (c->apart != 1 && !loops)
		return false;
	if (loops)
		loops[warp] = (struct proven_loop){0, c->apart, 1};
	*w = (struct proven_way){c->element, (uint8_t)c->first, (uint8_t)c->end, (uint8_t)c->end};
	return true;
}

/* ---- the end ------------------------------------------------------------------------------ */

bool proven_settle(struct cpu_proven_run *r)
{
	for (uint32_t i = 0; i < r->proven.nsites; i++) {
		struct proven_touch *t = &r->touch[i];
		for (uint32_t warp = 0; t->way && warp < warps_of(r); warp++)
			if (t->way[warp].end && !settle(r, t, warp, false))
				return false;
	}
	return true;
}

static void each_of(const struct proven_touch *t, const struct proven_array *a,
		    const struct proven_chunk *c, proven_range_fn *fn, void *arg)
{
	uint64_t at = a->base + proven_at(a, t, c->element), bytes = 1ull << t->shift;

	if (c->apart == 1)
		fn(arg, t, at, (c->end - c->first) * bytes);
	for (unsigned l = c->first; l < c->end && c->apart != 1; l++)
		fn(arg, t, at + (uint64_t)((int64_t)(l - c->first) * c->apart) * bytes, bytes);
}

void proven_each_way(const struct cpu_proven_run *r, const struct proven_touch *t,
		     const struct proven_array *a, proven_range_fn *fn, void *arg)
{
	for (uint32_t warp = 0; t->way && warp < warps_of(r); warp++) {
		const struct proven_way *w = &t->way[warp];
		struct proven_loop l = loop_of(t, warp);
		struct proven_chunk c = {w->element, l.apart, w->first, w->end};
		for (uint32_t i = 0; i < l.count; i++, c.element += (uint32_t)l.step) {
			c.end = i + 1 == l.count ? w->last : w->end;
			each_of(t, a, &c, fn, arg);
		}
	}
}

void proven_ways_zero(const struct cpu_proven_run *r, struct proven_touch *t)
{
	if (t->way && proven_room_is_kept(way_bytes(r)))
		memset(t->way, 0, way_bytes(r));
	if (t->loop && proven_room_is_kept(loop_bytes(r)))
		memset(t->loop, 0, loop_bytes(r));
}

void proven_ways_free(const struct cpu_proven_run *r, struct proven_touch *t)
{
	proven_room_give(t->way, way_bytes(r), true);
	proven_room_give(t->loop, loop_bytes(r), true);
}

uint64_t proven_ways_bytes(const struct cpu_proven_run *r, const struct proven_touch *t)
{
	return (t->way ? way_bytes(r) : 0) + (t->loop ? loop_bytes(r) : 0);
}
