/*
 * meets.c - lanes that wait for others of their warp, at barriers of lanes, shuffles and votes: do
 * they come? (replay.h)
 *
 * A lane waits for those of its mask that haven't ended (docs/cpu-device.md, "What barriers wait
 * for"), at any instruction that does the same with that mask. What each thread of a CTA waits for
 * is noted as it runs alone; then all go on as far as they let each other. A thread that can't be
 * followed never comes. Who comes to a barrier of the CTA, and to which, judge.c asks; here all
 * that haven't ended must come to one. A numbered one is one of the whole warp here.
 *
 * Misses: masks that aren't known; elect.sync, and shuffles and votes under a predicate, are none.
 * Costs: each thread of the CTA as far as the event, or, where they differ, to its end.
 */
#include "prove/replay/replay_impl.h"

#include <string.h>

#define OF_CTA	 (1ull << 63)
#define NO_LANES (1ull << 62) /* of a mask of none */
#define NUMBERED (1ull << 61)

bool prove_replay_is_warps(const struct ir_step *st)
{
	return st->kind == IR_WARP_BARRIER ||
	       (st->kind == IR_VAR && st->src[2] != IR_NONE && ir_waits_for_lanes(st->at));
}

bool prove_replay_meets(const struct run *r, uint32_t i, uint64_t *whom)
{
	const struct ir_step *st = &r->e->ir->steps.v[i];
	bool is_barrier = st->kind == IR_WARP_BARRIER;

	if (st->kind == IR_BARRIER || ir_is_partial(st)) {
		*whom = st->kind == IR_BARRIER ? OF_CTA : NUMBERED | st->imm << 32 | UINT32_MAX;
		return true;
	}
	if (!prove_replay_is_warps(st))
		return false;
	struct value mask = r->reg[st->src[is_barrier ? 0 : 2]], guard = {1, true};
	if (is_barrier && st->pred != IR_NONE) {
		guard = r->reg[st->pred];
		guard.v ^= st->is_pred_not;
	}
	if (guard.known && !(guard.v & 1))
		return false;
	uint64_t does = is_barrier ? 0 : 8ull * (1 + (uint64_t)st->at->form->op) + st->imm;
	*whom = mask.known && guard.known ? does << 32 | (uint32_t)mask.v : NO_LANES;
	return true;
}

void prove_replay_note_meeting(struct thread *t, uint64_t whom)
{
	if (t->meets && t->nmeets == MAX_MEETS)
		t->is_lost = true;
	else if (t->meets)
		t->meets[t->nmeets] = whom;
	t->nmeets += !t->is_lost;
}

/* A thread of the CTA: what it waits for, and how much of that it has passed. */
struct way {
	uint64_t *meets;
	uint32_t n, at;
	bool is_open; /* what follows isn't known */
};

static bool has_ended(const struct way *w)
{
	return w->at == w->n && !w->is_open;
}

static bool waits(const struct way *w, uint64_t whom)
{
	return w->at < w->n && w->meets[w->at] == whom;
}

/* Lane i of a warp of n, and all that it waits for, go on if they are there. */
static bool go_on(struct way *warp, uint32_t n, uint32_t i)
{
	uint64_t whom = warp[i].at < warp[i].n ? warp[i].meets[warp[i].at] : OF_CTA;

	if (whom == OF_CTA || !(whom >> i & 1))
		return false;
	for (uint32_t k = 0; k < n; k++)
		if (whom >> k & 1 && !has_ended(&warp[k]) && !waits(&warp[k], whom))
			return false;
	for (uint32_t k = 0; k < n; k++)
		warp[k].at += whom >> k & 1 && waits(&warp[k], whom);
	return true;
}

static bool pass_barrier(struct way *w, uint32_t n)
{
	bool has_some = false;

	for (uint32_t i = 0; i < n; i++) {
		if (!has_ended(&w[i]) && !waits(&w[i], OF_CTA))
			return false;
		has_some |= waits(&w[i], OF_CTA);
	}
	for (uint32_t i = 0; i < n; i++)
		w[i].at += waits(&w[i], OF_CTA);
	return has_some;
}

/* Does thread `who` of n pass its first `goal` ones? */
static bool passes(struct way *w, uint32_t n, uint32_t who, uint32_t goal)
{
	bool has_moved = true;

	while (has_moved && w[who].at < goal) {
		has_moved = false;
		for (uint32_t i = 0; i < n; i++) {
			uint32_t first = i / 32 * 32;
			while (go_on(&w[first], n - first < 32 ? n - first : 32, i % 32))
				has_moved = true;
		}
		has_moved |= pass_barrier(w, n);
	}
	return w[who].at >= goal;
}

/* The ways of all threads of a CTA, as far as the first `until` of each; 0: to its end. */
static struct way *find_ways(struct run *r, const uint32_t *ctaid, uint32_t n, uint32_t until)
{
	struct thread *t = base_alloc(&r->arena, sizeof(*t));
	uint64_t *meets = base_alloc(&r->arena, MAX_MEETS * sizeof(*meets));
	struct way *w = BASE_NEWN(&r->arena, struct way, n);
	const uint32_t *dim = r->m->ntid;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t tid[3] = {i % dim[0], i / dim[0] % dim[1], i / dim[0] / dim[1]};
		memset(t, 0, sizeof(*t));
		t->meets = meets;
		t->until_meets = until;
		prove_replay_run_thread(r, t, tid, ctaid, IR_RANK_CTA, UINT32_MAX);
		w[i].n = t->nmeets;
		w[i].is_open = t->is_lost || t->is_trapped || (until && t->nmeets >= until);
		w[i].meets = BASE_NEWN(&r->arena, uint64_t, t->nmeets + 1);
		memcpy(w[i].meets, meets, t->nmeets * sizeof(*meets));
	}
	return w;
}

bool prove_replay_comes(struct run *r, const uint32_t *tid, const uint32_t *ctaid,
			const struct event *x)
{
	const uint32_t *dim = r->m->ntid;
	uint32_t n = dim[0] * dim[1] * dim[2], who = (tid[2] * dim[1] + tid[1]) * dim[0] + tid[0];

	if (!x->nmeets)
		return true;
	return passes(find_ways(r, ctaid, n, x->nmeets), n, who, x->nmeets) ||
	       passes(find_ways(r, ctaid, n, 0), n, who, x->nmeets);
}
