/*
 * random.c - random executions, judged by Algorithm 1 and by the unbounded model.
 *
 *	random N SEED [masks] [releases] [blind]
 *
 * Eight threads (two blocks; one has a warp of four lanes and one of two) access three locations in
 * a random order, with barriers of blocks and warps; `masks` adds partial masks, `releases` strong
 * reads, writes and read-modify-writes of two sync locations and fences. Demanded:
 *
 *  - what is called a data race is one (model.h), in the whole order;
 *  - where an access races and nothing was found at its location before, it is found now: as a data
 *    race if there are neither masks nor releases, else at least as possible;
 *  - a strong load that races is at least possible, too;
 *  - races that stay unseen because their location was possible before are less than one in 30;
 *  - of pairs: one that the whole order orders is never certain by its stamps.
 *
 * Counts are printed, those of the stamps in two ways: as in release.h, and with one number: T is
 * raised at barriers, too, and a pair is certain if the earlier T is at least the later. `blind`
 * forgets to join at barriers: then an ordered pair must come out as certain, else the exit code
 * is 1.
 */
#include "host.h"
#include "model.h"
#include "rows.h"
#include "hirace/hirace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS	  8u
#define LOCATIONS 3u
#define SYNCS	  2u

uint32_t host_overlapping;

/* Threads 0 to 3, and 4 and 5, are warps of block 0; 6 and 7 are block 1. */
static const uint32_t place[THREADS] = {0, 1, 2, 3, 32, 33, 64, 65};
static const uint32_t block_of[THREADS] = {0, 0, 0, 0, 0, 0, 1, 1};
static const uint32_t warp_set[THREADS] = {0x0f, 0x0f, 0x0f, 0x0f, 0x30, 0x30, 0xc0, 0xc0};

struct world {
	struct model m;
	struct hirace_actor actor[THREADS];
	struct race_lane lanes[4];	    /* of the warp with partial masks */
	struct race_stamps raised[THREADS]; /* the other way to count */
	struct hirace_side l[SYNCS + LOCATIONS], l_raised[SYNCS + LOCATIONS];
	uint64_t word[LOCATIONS];
	bool is_found[LOCATIONS], is_raced[LOCATIONS];
	bool is_observed[LOCATIONS]; /* marked: a strong read has read it */
};

static bool has_masks, has_releases, is_blind;
static uint64_t rng;
static struct {
	uint64_t accesses, races, certain, possible, possible_others, pairs, pairs_certain,
		pairs_raised, unseen, strong, strong_others;
} count;
static int failed;

static uint32_t draw(uint32_t below)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (uint32_t)((rng >> 32) * below >> 32);
}

static void wrong(const char *what, uint64_t execution)
{
	if (!is_blind && failed < 10)
		printf("execution %llu: %s\n", (unsigned long long)execution, what);
	failed++;
}

static void do_barrier(struct world *w, uint32_t set, bool is_block)
{
	struct race_stamps now = host_none, raised = host_none;
	bool has_rows = has_masks && !is_block && !(set & ~0x0fu);

	for (uint32_t t = 0; t < THREADS; t++)
		if (set >> t & 1) {
			race_stamps_join(&now, &w->actor[t].stamps);
			race_stamps_join(&raised, &w->raised[t]);
		}
	if (is_blind)
		now = host_none;
	if (has_rows)
		rows_sync(w->lanes, 4, set);
	for (uint32_t t = 0; t < THREADS; t++) {
		struct hirace_actor *a = &w->actor[t];

		if (is_block && t < 4 && set & 1)
			race_lane_begin(&w->lanes[t], 0);
		if (has_rows && t < 4) {
			a->lanes = &w->lanes[t];
			a->warp_clock = w->lanes[t].seen[t];
		}
		if (!(set >> t & 1))
			continue;
		if (is_block)
			hirace_on_block_barrier(a, &now);
		else if (has_rows)
			race_stamps_join(&a->stamps, &now);
		else
			hirace_on_full_mask(a, &now);
		w->raised[t] = raised;
		w->raised[t].own.now++;
	}
	model_barrier(&w->m, set);
}

static void do_sync(struct world *w, uint32_t t)
{
	uint32_t s = draw(SYNCS), what = draw(3);
	struct race_stamps *a = &w->actor[t].stamps, *r = &w->raised[t];
	bool is_write = what != 0, is_read = what != 1, is_strict = draw(2);

	if (draw(3) == 0) {
		hirace_fence(a);
		hirace_fence(r);
		model_fence(&w->m, t);
		return;
	}
	if (is_write && is_strict) {
		race_stamps_release(a, true);
		race_stamps_release(r, true);
		model_release(&w->m, t);
	}
	/* A read-modify-write reads before it writes. */
	if (is_read) {
		hirace_strong_read(a, &w->l[s], 0, is_strict);
		hirace_strong_read(r, &w->l_raised[s], 0, is_strict);
		model_strong_read(&w->m, t, s, is_strict);
	}
	if (is_write) {
		hirace_strong_write(a, &w->l[s]);
		hirace_strong_write(r, &w->l_raised[s]);
		model_strong_write(&w->m, t, s, is_read);
	}
}

/* All locations share a bit of the set; those that were never read strongly don't ask for it. */
#define SHARED_BIT 1u

static uint32_t bit_of(const struct world *w, uint32_t location)
{
	return w->is_observed[location] ? SHARED_BIT : 0;
}

static void check_pairs(struct world *w, uint32_t t, uint32_t location, uint32_t kind, uint64_t e)
{
	uint32_t bit = bit_of(w, location);

	for (size_t i = 0; i < w->m.n; i++) {
		const struct model_access *a = &w->m.accesses[i];
		bool is_certain, is_raised;

		if (a->location != location || !model_conflicts(&w->m, a, t, kind) ||
		    model_is_barred(&w->m, a, t))
			continue;
		is_certain = hirace_is_unordered(a->stamp & 0xffff, bit, &w->actor[t].stamps);
		is_raised =
			a->stamp >> 16 >= w->raised[t].own.now && !(w->raised[t].own.read & bit);
		if (model_is_ordered(&w->m, a, t)) {
			if (is_certain || is_raised)
				wrong("an ordered pair is certain", e);
			continue;
		}
		count.pairs++;
		count.pairs_certain += is_certain;
		count.pairs_raised += is_raised;
	}
}

/* A strong read of a location of accesses, or an atomic whose result is used. */
static void do_observe(struct world *w, uint32_t t, uint32_t location)
{
	uint32_t s = SYNCS + location;

	w->is_observed[location] = true;
	model_observe(&w->m, t, location);
	model_strong_read(&w->m, t, s, false);
	hirace_strong_read(&w->actor[t].stamps, &w->l[s], SHARED_BIT, false);
	hirace_strong_read(&w->raised[t], &w->l_raised[s], SHARED_BIT, false);
}

/* A strong load of device scope: it races with weak writes, and with atomics of a block's scope. */
static void do_strong_load(struct world *w, uint32_t t, uint32_t location, uint64_t e)
{
	enum hirace_verdict v;
	bool is_race = false;
	uint64_t was;

	for (size_t i = 0; i < w->m.n; i++) {
		const struct model_access *a = &w->m.accesses[i];

		if (a->location == location && a->kind != HIRACE_R &&
		    model_conflicts(&w->m, a, t, HIRACE_GA) && !model_is_ordered(&w->m, a, t))
			is_race = true;
	}
	v = hirace_check_strong_read(&w->word[location], hirace_table(HIRACE_CORRECTED),
				     &w->actor[t], HIRACE_GA, &was);
	if (is_race && v == HIRACE_NO_RACE && !w->is_found[location])
		wrong("a race of a strong load that isn't possible", e);
	count.strong += is_race && v == HIRACE_POSSIBLE;
	count.strong_others += !is_race && v == HIRACE_POSSIBLE;
	do_observe(w, t, location);
}

/* What an atomic access is besides. */
static void do_atomic(struct world *w, uint32_t t, uint32_t location)
{
	uint32_t s = SYNCS + location;
	bool is_used = draw(2);

	if (is_used)
		do_observe(w, t, location);
	hirace_strong_write(&w->actor[t].stamps, &w->l[s]);
	hirace_strong_write(&w->raised[t], &w->l_raised[s]);
	model_strong_write(&w->m, t, s, true);
}

static void do_access(struct world *w, uint32_t t, uint64_t e)
{
	/* Mostly reads, mostly one location: else all races at once. */
	uint32_t location = draw(LOCATIONS), kind = draw(2) ? HIRACE_R : draw(HIRACE_ACCESSES);
	bool is_race = model_races(&w->m, t, location, kind);
	bool is_plain = !has_masks && !has_releases;
	struct hirace_actor *a = &w->actor[t];
	enum hirace_verdict v;
	struct hirace_seen seen;

	check_pairs(w, t, location, kind, e);
	v = hirace_access_at(&w->word[location], bit_of(w, location),
			     hirace_table(HIRACE_CORRECTED), a, kind, HIRACE_STORE, &seen);
	count.accesses++;
	count.races += is_race;
	count.certain += v == HIRACE_IS_RACE;
	count.possible += is_race && v == HIRACE_POSSIBLE;
	count.possible_others += !is_race && v == HIRACE_POSSIBLE;
	if (v == HIRACE_IS_RACE && !is_race)
		wrong("a data race that is none", e);
	if (v == HIRACE_ASIDE || (is_plain && v == HIRACE_POSSIBLE))
		wrong("not judged", e);
	if (is_race && v == HIRACE_NO_RACE && !w->is_found[location])
		wrong("a race that isn't found", e);
	count.unseen += is_race && v == HIRACE_NO_RACE && !w->is_raced[location];
	w->is_found[location] |= v != HIRACE_NO_RACE;
	w->is_raced[location] |= v == HIRACE_IS_RACE;
	model_add(&w->m, t, location, kind)->stamp = a->stamps.own.now | w->raised[t].own.now << 16;
	if (has_releases && kind >= HIRACE_BA)
		do_atomic(w, t, location);
}

static void do_step(struct world *w, uint64_t e)
{
	uint32_t t = draw(THREADS), what = draw(16);

	if (what == 0) {
		do_barrier(w, block_of[t] ? 0xc0 : 0x3f, true);
	} else if (what == 1) {
		do_barrier(w, warp_set[t], false);
	} else if (what == 2 && has_masks) {
		uint32_t set = draw(16);
		if (set)
			do_barrier(w, set, false);
	} else if (what == 3 && has_releases) {
		do_strong_load(w, t, draw(LOCATIONS), e);
	} else if (what < 9 && has_releases) {
		do_sync(w, t);
	} else {
		do_access(w, t, e);
	}
}

static void run(uint64_t execution, uint64_t seed)
{
	struct world w = {0};
	uint32_t steps;

	rng = (seed * 0x9e3779b97f4a7c15ull) ^ (execution + 1) * 0xd6e8feb86659fd93ull;
	model_begin(&w.m, THREADS, block_of);
	for (uint32_t t = 0; t < THREADS; t++) {
		w.actor[t].thread = place[t];
		w.actor[t].block_first = block_of[t] * 64;
		w.actor[t].block_size = 64;
		w.actor[t].launch = 1;
		w.actor[t].thread_bits = 10;
	}
	steps = 10 + draw(50);
	while (steps--)
		do_step(&w, execution);
	model_end(&w.m);
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 2 ? strtoull(argv[1], NULL, 10) : 0;

	if (!n) {
		fprintf(stderr, "usage: random N SEED [masks] [releases] [blind]\n");
		return 2;
	}
	for (int i = 3; i < argc; i++) {
		has_masks |= !strcmp(argv[i], "masks");
		has_releases |= !strcmp(argv[i], "releases");
		is_blind |= !strcmp(argv[i], "blind");
	}
	for (uint64_t e = 0; e < n; e++)
		run(e, strtoull(argv[2], NULL, 10));
	printf("%llu accesses, %llu race; %llu data races found, %llu races possible, %llu "
	       "possible "
	       "that are none; %llu unseen behind possible ones\n",
	       (unsigned long long)count.accesses, (unsigned long long)count.races,
	       (unsigned long long)count.certain, (unsigned long long)count.possible,
	       (unsigned long long)count.possible_others, (unsigned long long)count.unseen);
	printf("%llu racy pairs, %llu certain; %llu with one number\n",
	       (unsigned long long)count.pairs, (unsigned long long)count.pairs_certain,
	       (unsigned long long)count.pairs_raised);
	printf("%llu races of strong loads possible, %llu possible that are none\n",
	       (unsigned long long)count.strong, (unsigned long long)count.strong_others);
	if (count.unseen * 30 > count.races)
		wrong("too many races unseen behind possible ones", n);
	if (is_blind)
		return !failed;
	/* Nothing raced, or everything: nothing was tested. */
	return failed || !count.races || count.races == count.accesses || !count.certain;
}
