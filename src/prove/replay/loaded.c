/*
 * loaded.c - pointers that a replayed thread reads from memory (replay.h).
 *
 * What memory holds is unknown to a replay. A pointer that all threads read from one place which
 * the kernel doesn't write is one array's, whatever it is: a module variable that the host has set,
 * a member of a structure behind a parameter. It gets a number of its own, as a parameter's pointer
 * has one, so that threads which meet in that array are seen to meet. Other places hold other
 * numbers: of two arrays that may be one nothing is found.
 *
 * Misses: pointers in registers that are written in several places, and those that different
 * threads or iterations read from different places.
 * Costs: nothing where there is no such array.
 */
#include "prove/replay/replay_impl.h"

#define FIRST	 0x8000u /* beyond all parameters */
#define MOST	 0x4000u
#define BASE_BIT 46

void prove_replay_find_loaded(struct run *r)
{
	const struct ev *e = r->e;
	BASE_VEC(const struct ex *) bases = {0};

	r->loaded = BASE_NEWN(&r->arena, uint32_t, e->ir->steps.n + 1);
	for (size_t i = 0; i < e->accesses.n && bases.n < MOST; i++) {
		const struct ev_root *x = &e->accesses.v[i].root;
		if (prove_ev_is_one_loaded(x) && (!bases.n || bases.v[bases.n - 1] != x->base))
			base_vec_push(&bases, x->base);
	}
	for (size_t i = 0; i < e->accesses.n && bases.n; i++) {
		const struct ev_access *x = &e->accesses.v[i];
		uint32_t to = x->step->dst;
		if (x->mem->kind != RACE_OP_READ || x->mem->bytes != 8 || to == IR_NONE ||
		    x->step->pred != IR_NONE || e->cell_of_reg[to] != IR_NONE)
			continue;
		for (size_t k = 0; k < bases.n && !r->loaded[x->index]; k++)
			r->loaded[x->index] = bases.v[k] == e->val[to] ? (uint32_t)k + 1 : 0;
	}
	base_vec_free(&bases);
}

struct value prove_replay_loaded(const struct run *r, uint32_t step)
{
	uint32_t n = r->is_every ? 0 : r->loaded[step];

	return (struct value){n ? 1ull << 63 | (uint64_t)(FIRST + n) << BASE_BIT : 0, n > 0};
}
