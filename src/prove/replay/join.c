/*
 * join.c - a thread that branches on an unknown value goes on where the ways meet again (replay.h).
 *
 * The blocks between the branch and its nearest post-dominator are looked at each time that a
 * thread comes to the branch: every register that they define and every byte of private memory
 * that they may store to is unknown after them. Addresses in them are computed from what doesn't
 * change there; a store through an address that isn't known takes the whole object along.
 *
 * Whatever way the thread takes, it comes to that post-dominator: a loop between the two is left
 * some time, as a thread that makes no progress has no meaning in CUDA C++. So blocks in which
 * something waits or may order (barriers, fences, strong or volatile accesses) end the replay, as
 * do assumptions, and in lockstep the alarm's own accesses. An access of the alarm that is on the
 * way is one of which it isn't known whether it happens.
 *
 * Misses: ways that end the thread.
 * Costs: the steps between, at most MAX_TURNS times.
 */
#include "prove/replay/replay_impl.h"

#include <string.h>

#define MAX_TURNS 8

struct detour {
	bool is_open; /* something else than values and plain accesses */
	bool has_pair;
	uint32_t n;
	uint32_t block[]; /* in reverse post-order */
};

static bool is_plain(const struct run *r, uint32_t i)
{
	const struct ir_step *st = &r->e->ir->steps.v[i];

	switch ((enum ir_kind)st->kind) {
	case IR_ACCESS:
		return st->mem->kind != RACE_OP_RMW && st->mem->strength == RACE_WEAK &&
		       !st->mem->is_volatile && !st->mem->is_async && !st->mem->is_bulk;
	case IR_BARRIER:
	case IR_WARP_BARRIER:
	case IR_ORDER:
	case IR_COMMIT:
	case IR_WAIT:
	case IR_TOGETHER:
	case IR_UNKNOWN:
	case IR_ENDLESS:
		return false;
	case IR_ASSUME:
		return st->imm == IR_ASSUME_TICKET;
	default:
		return true;
	}
}

static struct detour *find_detour(struct run *r, uint32_t b)
{
	const struct ir *ir = r->e->ir;
	uint32_t to = ir->blocks.v[b].ipdom;
	struct detour *d = base_zalloc(&r->arena, sizeof(*d) + ir->blocks.n * sizeof(d->block[0]));
	bool *seen = base_zalloc(&r->arena, ir->blocks.n);
	BASE_VEC(uint32_t) todo = {0};

	d->is_open = to == IR_NONE;
	base_vec_push(&todo, b);
	while (todo.n && !d->is_open) {
		const struct ir_block *x = &ir->blocks.v[todo.v[--todo.n]];
		d->is_open |= x->end == IR_EXIT || x->end == IR_TRAP;
		for (uint32_t k = 0; k < x->nsucc; k++) {
			uint32_t s = x->succ[k];
			if (s != to && !seen[s])
				base_vec_push(&todo, s);
			seen[s] |= s != to;
		}
	}
	base_vec_free(&todo);
	for (uint32_t i = 0; i < ir->nrpo; i++) {
		const struct ir_block *x = &ir->blocks.v[ir->rpo[i]];
		if (!seen[ir->rpo[i]])
			continue;
		d->block[d->n++] = ir->rpo[i];
		for (uint32_t k = x->first; k < x->first + x->n; k++) {
			d->is_open |= !is_plain(r, k);
			d->has_pair |= k == r->a->index || k == r->b->index;
		}
	}
	return d;
}

/* A store between the two makes its bytes unknown. True: some of them were known. */
static bool blur_store(struct run *r, uint32_t i)
{
	const struct ir_step *st = &r->e->ir->steps.v[i];
	uint32_t o = prove_ev_private_of(r->e, i);
	struct value a = r->reg[st->src[0]];
	uint64_t at = 0, from = 0, to = r->mem_bytes;
	bool was = false;

	if (st->mem->kind == RACE_OP_READ || o == IR_NONE)
		return false;
	if (o != EV_SEVERAL) {
		uint64_t size = r->e->ir->objects.v[o].bytes;
		bool is_exact =
			a.known &&
			prove_replay_private_object(r, a.v + (uint64_t)st->mem->off, &at) == o &&
			at + st->mem->bytes <= size;
		from = r->object_at[o] + (is_exact ? at : 0);
		to = from + (is_exact ? st->mem->bytes : size);
	}
	for (uint64_t k = from; k < to; k++) {
		was |= r->mem_known[k];
		r->mem_known[k] = 0;
	}
	return was;
}

static struct value load(const struct run *r, const struct ir_step *st)
{
	struct value a = r->reg[st->src[0]], v = {0, false};

	return a.known && st->mem->kind == RACE_OP_READ && st->pred == IR_NONE
		       ? prove_replay_load(r, a.v + (uint64_t)st->mem->off, st->mem->bytes)
		       : v;
}

/* The steps between once: what doesn't change there gets its value, and stores forget. Values that
 * are defined in several places stay unknown. True: a store forgot something. */
static bool look_through(struct run *r, const struct detour *d, struct place at)
{
	const struct ir *ir = r->e->ir;
	bool changed = false;

	for (uint32_t b = 0; b < d->n; b++) {
		const struct ir_block *x = &ir->blocks.v[d->block[b]];
		for (uint32_t i = x->first; i < x->first + x->n; i++) {
			const struct ir_step *st = &ir->steps.v[i];
			bool is_single = st->dst != IR_NONE && ir->ndefs[st->dst] == 1;
			r->budget -= r->budget > 0;
			if (st->kind == IR_ACCESS)
				changed |= blur_store(r, i);
			if (st->kind == IR_ACCESS && is_single)
				r->reg[st->dst] = load(r, st);
			else if (st->kind != IR_ASSUME && is_single)
				prove_replay_do_value(r, st, at.tid, at.ctaid);
		}
	}
	return changed;
}

static void forget_registers(struct run *r, const struct detour *d)
{
	const struct ir *ir = r->e->ir;

	for (uint32_t b = 0; b < d->n; b++) {
		const struct ir_block *x = &ir->blocks.v[d->block[b]];
		for (uint32_t i = x->first; i < x->first + x->n; i++)
			if (ir->steps.v[i].dst != IR_NONE)
				r->reg[ir->steps.v[i].dst].known = false;
	}
}

uint32_t prove_replay_join(struct run *r, struct thread *t, uint32_t b, struct place at)
{
	struct detour *d = r->detour[b] ? r->detour[b] : (r->detour[b] = find_detour(r, b));
	unsigned turn = 0;

	if (d->is_open || (d->has_pair && r->p->is_lockstep)) {
		t->is_lost = true;
		return IR_NONE;
	}
	t->is_vague |= d->has_pair;
	do
		forget_registers(r, d);
	while (look_through(r, d, at) && ++turn < MAX_TURNS);
	if (turn == MAX_TURNS) {
		forget_registers(r, d);
		memset(r->mem_known, 0, r->mem_bytes);
	}
	return r->e->ir->blocks.v[b].ipdom;
}
