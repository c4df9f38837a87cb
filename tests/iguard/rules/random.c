/*
 * random.c - random executions, judged by iGUARD's rules and by the unbounded model.
 *
 *	random N SEED [order] [blind]
 *
 * Ten threads (three blocks; the first has a warp of three lanes and one of two) access three
 * locations, weakly and strongly, with scope .cta and wider, with barriers of blocks and warps;
 * `order` adds fences of both scopes, and strong reads, writes and read-modify-writes of two sync
 * locations. Both updates run and are compared. Demanded:
 *
 *  - what is called a data race is one by the model;
 *  - where an access races, and nothing was found at its location before, it is found now, at least
 *    as possible (missed: more than one in 100 is an error; it is none);
 *  - without `order` strong accesses are sums, whose result nobody uses, so only barriers order:
 *    then each race is found as a data race, and nothing else is found;
 *  - a pair that the model orders is never certain by its stamps.
 *
 * `blind` forgets to join stamps at barriers: then an ordered pair must come out as certain, else
 * the exit code is 1.
 */
#include "host.h"
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS	  10u
#define LOCATIONS 3u
#define SYNCS	  2u
#define BLOCK	  64u

static const uint32_t place[THREADS] = {0, 1, 2, 32, 33, 64, 65, 96, 128, 129};
static const uint32_t block_of[THREADS] = {0, 0, 0, 0, 0, 1, 1, 1, 2, 2};
static const uint32_t block_set[3] = {0x01f, 0x0e0, 0x300};
static const uint32_t warp_set[THREADS] = {0x07, 0x07, 0x07,  0x18,  0x18,
					   0x60, 0x60, 0x080, 0x300, 0x300};

struct world {
	struct model m;
	struct iguard_stamps stamps[THREADS];
	struct iguard_context context[THREADS];
	uint32_t number[THREADS];
	struct iguard_side side[SYNCS + LOCATIONS];
	struct iguard_entry entry[LOCATIONS], other[LOCATIONS];
	bool is_found[LOCATIONS], is_raced[LOCATIONS];
};

static uint64_t contexts[IGUARD_CONTEXTS], now[IGUARD_NOWS];
static bool has_order, is_blind;
static uint64_t rng;
static uint32_t launch;
static int failed;
static struct {
	uint64_t accesses, races, certain, possible, others, missed, unseen, pairs, sure;
} count;

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

/* The thread has synchronised: its context is another. */
static void renew(struct world *w, uint32_t t)
{
	struct iguard_context *c = &w->context[t];

	c->block_stamp = w->stamps[t].block.set.own.now;
	c->device_stamp = w->stamps[t].device.set.own.now;
	w->number[t] = iguard_intern(contexts, iguard_context_encode(*c));
	now[iguard_now_place(place[t])] = (uint64_t)place[t] << IGUARD_THREAD_AT |
					  (uint64_t)w->number[t] << IGUARD_CONTEXT_AT;
}

static void do_barrier(struct world *w, uint32_t set, bool is_block)
{
	struct iguard_stamps all;

	memset(&all, 0, sizeof(all));
	for (uint32_t t = 0; t < THREADS && !is_blind; t++)
		if (set >> t & 1)
			iguard_join_all(&all, &w->stamps[t]);
	for (uint32_t t = 0; t < THREADS; t++) {
		if (!(set >> t & 1))
			continue;
		iguard_join_all(&w->stamps[t], &all);
		if (is_block) {
			w->context[t].block_clock++;
			w->context[t].warp_clock = 0;
		} else {
			w->context[t].warp_clock++;
		}
		renew(w, t);
	}
	model_barrier(&w->m, set);
}

static struct iguard_op op_of(uint32_t t, uint32_t bit, bool is_wide, bool is_strict)
{
	struct iguard_op op = {block_of[t] + 1, bit, is_wide, is_strict};

	return op;
}

static void do_sync(struct world *w, uint32_t t)
{
	uint32_t s = draw(SYNCS), what = draw(3);
	bool is_write = what != 0, is_read = what != 1, is_strict = draw(2), is_wide = draw(3);
	struct iguard_stamps *a = &w->stamps[t];

	if (draw(3) == 0) {
		iguard_fence(a, is_wide);
		model_fence(&w->m, t, is_wide);
		renew(w, t);
		return;
	}
	if (is_write && is_strict) {
		iguard_release(a, is_wide);
		model_release(&w->m, t, s, is_wide);
	}
	if (is_read) {
		iguard_strong_read(a, &w->side[s], op_of(t, 0, is_wide, is_strict));
		model_strong_read(&w->m, t, s, is_wide, is_strict);
	}
	if (is_write) {
		iguard_strong_write(a, &w->side[s], op_of(t, 0, is_wide, is_strict));
		model_strong_write(&w->m, t, s, is_wide, is_read, 0);
	}
	renew(w, t);
}

static struct iguard_actor actor_of(struct world *w, uint32_t t)
{
	struct iguard_actor a = {.thread = place[t],
				 .block_first = block_of[t] * BLOCK,
				 .block_size = BLOCK,
				 .context = w->number[t],
				 .own = iguard_context_decode(iguard_context_encode(w->context[t])),
				 .block_acquired = w->stamps[t].block.set.own.acquired,
				 .device_acquired = w->stamps[t].device.set.own.acquired,
				 .read = w->stamps[t].block.set.own.read,
				 .contexts = contexts,
				 .now = now};

	return a;
}

/* Pairs: what the stamps say against the model. */
static void check_pairs(struct world *w, const struct model_access *b, uint32_t bit, uint64_t e)
{
	const struct iguard_stamps *s = &w->stamps[b->thread];

	for (size_t i = 0; i < w->m.n; i++) {
		const struct model_access *a = &w->m.accesses[i];
		bool is_across = block_of[a->thread] != block_of[b->thread], is_certain;

		if (a->location != b->location || !model_conflicts(&w->m, a, b->thread, b) ||
		    model_is_barred(&w->m, a, b->thread))
			continue;
		is_certain = is_across ? a->device_stamp >= s->device.set.own.acquired
				       : a->block_stamp >= s->block.set.own.acquired;
		if (a->is_strong && a->writes && s->block.set.own.read & bit)
			is_certain = false;
		if (model_is_ordered(&w->m, a, b->thread)) {
			if (is_certain)
				wrong("an ordered pair is certain", e);
			continue;
		}
		count.pairs++;
		count.sure += is_certain;
	}
}

static bool is_unbarred(const struct model *m, const struct model_access *b)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct model_access *a = &m->accesses[i];

		if (a->location == b->location && model_conflicts(m, a, b->thread, b) &&
		    !model_is_barred(m, a, b->thread))
			return true;
	}
	return false;
}

static void judge(struct world *w, const struct model_access *b, struct iguard_seen s, uint64_t e)
{
	bool is_race = model_races(&w->m, b), is_found = s.verdict >= IGUARD_LOCKED;
	uint32_t l = b->location;

	count.accesses++;
	count.races += is_race;
	count.certain += s.verdict == IGUARD_IS_RACE;
	count.possible += is_race && s.verdict == IGUARD_POSSIBLE;
	count.others += !is_race && s.verdict == IGUARD_POSSIBLE;
	if (s.verdict == IGUARD_IS_RACE && !is_race)
		wrong("a data race that is none", e);
	if (s.verdict == IGUARD_ASIDE)
		wrong("not judged", e);
	if (!has_order && is_found && !w->is_found[l] && !is_unbarred(&w->m, b))
		wrong("found where barriers order all", e);
	if (is_race && !w->is_found[l] && (has_order ? !is_found : s.verdict != IGUARD_IS_RACE))
		count.missed++;
	count.unseen += is_race && !is_found && !w->is_raced[l];
	w->is_found[l] |= is_found;
	w->is_raced[l] |= s.verdict == IGUARD_IS_RACE;
}

static void do_access(struct world *w, uint32_t t, uint64_t e)
{
	struct model_access b = {.thread = (uint8_t)t,
				 .writes = draw(3) == 0,
				 .is_strong = draw(3) == 0,
				 .location = (uint16_t)draw(LOCATIONS)};
	uint32_t l = b.location, s = SYNCS + l;
	uint32_t bit = iguard_read_bit((uint64_t)(uintptr_t)&w->entry[l]);
	struct iguard_actor me = actor_of(w, t);
	struct iguard_seen one, two;
	bool is_used = draw(2);

	if (!has_order && b.is_strong) {
		b.writes = true;
		is_used = false;
	}
	b.has_cta = b.is_strong && draw(2);
	struct iguard_access a = {b.writes, b.is_strong, b.has_cta, l + 1, bit};
	check_pairs(w, &b, bit, e);
	one = iguard_update_words(&w->entry[l], &me, &a);
	two = iguard_update_pair(&w->other[l], &me, &a);
	if (one.verdict != two.verdict || one.word != two.word ||
	    w->entry[l].writer != w->other[l].writer ||
	    w->entry[l].accessor != w->other[l].accessor)
		wrong("the two updates differ", e);
	judge(w, &b, one, e);
	struct model_access *kept = model_add(&w->m, &b);
	kept->block_stamp = w->stamps[t].block.set.own.now;
	kept->device_stamp = w->stamps[t].device.set.own.now;
	if (!b.is_strong)
		return;
	/* A strong access of data, too, is one of a sync location: reads, sums, read-modify-writes.
	 * */
	if (!b.writes || is_used) {
		iguard_strong_read(&w->stamps[t], &w->side[s], op_of(t, bit, !b.has_cta, false));
		model_strong_read(&w->m, t, s, !b.has_cta, false);
	}
	if (b.writes) {
		iguard_strong_write(&w->stamps[t], &w->side[s], op_of(t, bit, !b.has_cta, false));
		model_strong_write(&w->m, t, s, !b.has_cta, true, w->m.n);
	}
	renew(w, t);
}

static void do_step(struct world *w, uint64_t e)
{
	uint32_t t = draw(THREADS), what = draw(16);

	if (what == 0)
		do_barrier(w, block_set[block_of[t]], true);
	else if (what == 1)
		do_barrier(w, warp_set[t], false);
	else if (what < 7 && has_order)
		do_sync(w, t);
	else
		do_access(w, t, e);
}

static void run(uint64_t execution, uint64_t seed)
{
	static struct world w;
	uint32_t steps;

	memset(&w, 0, sizeof(w));
	rng = (seed * 0x9e3779b97f4a7c15ull) ^ (execution + 1) * 0xd6e8feb86659fd93ull;
	if (launch++ == IGUARD_LAUNCH_LAST || launch == 1) {
		memset(contexts, 0, sizeof(contexts));
		launch = 1;
	}
	model_begin(&w.m, THREADS, block_of);
	for (uint32_t t = 0; t < THREADS; t++) {
		w.context[t].launch = launch;
		renew(&w, t);
	}
	/* Stamps that are full, or nearly. */
	for (uint32_t t = 0; t < THREADS && has_order && execution % 4 == 0; t++)
		for (uint32_t n = draw(2) ? draw(5) + IGUARD_STAMP_FULL - 2u : 0; n; n--) {
			iguard_fence(&w.stamps[t], true);
			model_fence(&w.m, t, true);
			renew(&w, t);
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
		fprintf(stderr, "usage: random N SEED [order] [blind]\n");
		return 2;
	}
	for (int i = 3; i < argc; i++) {
		has_order |= !strcmp(argv[i], "order");
		is_blind |= !strcmp(argv[i], "blind");
	}
	for (uint64_t e = 0; e < n; e++)
		run(e, strtoull(argv[2], NULL, 10));
	printf("%llu accesses, %llu race; %llu data races found, %llu races possible, %llu "
	       "possible that are none\n%llu missed; %llu unseen behind possible ones\n"
	       "%llu racy pairs, %llu certain\n",
	       (unsigned long long)count.accesses, (unsigned long long)count.races,
	       (unsigned long long)count.certain, (unsigned long long)count.possible,
	       (unsigned long long)count.others, (unsigned long long)count.missed,
	       (unsigned long long)count.unseen, (unsigned long long)count.pairs,
	       (unsigned long long)count.sure);
	if (count.missed * 100 > count.races)
		wrong("more than one race in 100 missed", n);
	if (is_blind)
		return !failed;
	return failed || !count.races || count.races == count.accesses || !count.certain;
}
