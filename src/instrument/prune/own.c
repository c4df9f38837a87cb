/*
 * own.c - arrays of a kernel of which each thread has its own part in a launch: what is accessed
 * there needs no check.
 *
 * All accesses by a pointer that the kernel is given are weak loads and stores at one index, which
 * no two threads have in common where a launch keeps to some bounds (flow/own.c). The agent looks
 * at those, and whether another pointer leads to the same allocation (agent/proven.c). So each
 * access of the kernel must be by such a pointer, and is tested to stay in its allocation.
 *
 * needs: part.c has found all writes. Misses: atomics, more indices than one, what flow/own.c
 * misses. Costs: as part.c, for reads of other arrays, too; no solver.
 */
#include "instrument/launches.h"

#include "flow/flow.h"

/* ---- the accesses ---------------------------------------------------------------------------- */

/* Is each access to global memory a read or write by a pointer of the kernel? */
static bool are_known(struct inst_ctx *cx)
{
	struct race_plain_pointer p;

	ptx_each_stmt(cx->f, s)
	{
		if (s->kind != PTX_STMT_INST || s->inserted || !inst_is_global(cx, s))
			continue;
		enum inst_effect e = inst_effect_of(cx, s);
		if ((e != INST_EFFECT_READS && e != INST_EFFECT_WRITES) ||
		    !inst_find_pointer(cx, s, &p))
			return false;
	}
	return true;
}

/* Is it one of the kernel's accesses by parameter `index`? */
static bool is_by(struct inst_ctx *cx, const struct ptx_stmt *s, uint32_t index)
{
	struct race_plain_pointer p;

	return s->kind == PTX_STMT_INST && !s->inserted && inst_is_global(cx, s) &&
	       inst_find_pointer(cx, s, &p) && p.index == index;
}

/* All accesses by the pointer as one; false: they are of several indices. */
static bool join_accesses(struct inst_ctx *cx, uint32_t index, struct flow_own *all)
{
	struct flow_own own;
	bool is_first = true;

	ptx_each_stmt(cx->f, s)
	{
		if (!is_by(cx, s, index))
			continue;
		bool is_plain = s->form->sem == PTX_SEM_WEAK &&
				(s->form->op == PTX_OP_LD || s->form->op == PTX_OP_ST);
		if (!is_plain || !flow_own_address(cx->fl, s, &own) || own.param != index ||
		    (!is_first && !flow_own_join(all, &own)))
			return false;
		if (is_first)
			*all = own;
		is_first = false;
	}
	return !is_first;
}

/* ---- terms ----------------------------------------------------------------------------------- */

static struct race_plain_number number_of(const struct flow_factor *f)
{
	static const uint64_t kinds[] = {[FLOW_FACTOR_CONST] = RACE_PLAIN_CONST,
					 [FLOW_FACTOR_DIM] = RACE_PLAIN_DIM,
					 [FLOW_FACTOR_PARAM] = RACE_PLAIN_PARAM};

	return (struct race_plain_number){kinds[f->kind], f->n};
}

static bool add_term(struct inst_launches *l, const struct flow_bound *b, uint32_t pointer)
{
	if (l->nown == RACE_PLAIN_OWN_TERMS)
		return false;
	l->own[l->nown++] =
		(struct race_plain_own){{RACE_PLAIN_LE, 0, number_of(&b->a), number_of(&b->b),
					 number_of(&b->c), number_of(&b->d)},
					pointer};
	return true;
}

/* ---- the arrays ------------------------------------------------------------------------------ */

/* Has each thread its own part of what the pointer leads to? Then nothing of it is checked. */
static bool add_own(struct inst_ctx *cx, struct inst_launches *l, struct race_plain_pointer p)
{
	struct flow_bound bound[FLOW_BOUNDS];
	struct inst_launches was = *l;
	struct flow_own own;
	uint32_t array, n = join_accesses(cx, p.index, &own) ? flow_own_bounds(&own, bound) : 0;
	bool ok = n && inst_add_array(l, p, RACE_PLAIN_OWN, &array);

	for (uint32_t i = 0; i < n && ok; i++)
		ok = add_term(l, &bound[i], array);
	if (!ok) {
		*l = was;
		return false;
	}
	ptx_each_stmt(cx->f, s)
	{
		if (is_by(cx, s, p.index))
			inst_add_part(cx, l, s, array, false);
	}
	return true;
}

/* ======================================================================== */

bool inst_plan_own(struct inst_ctx *cx, struct inst_launches *l)
{
	struct inst_launches was = *l;
	bool is_any = false;

	if (!are_known(cx))
		return false;
	for (uint32_t i = 0; i < was.narrays; i++)
		if (was.array[i].uses & RACE_PLAIN_WRITTEN)
			is_any |= add_own(cx, l, was.array[i]);
	/* No read may leave its array for one of which threads have parts. */
	if (is_any && inst_test_all(cx, l, INST_EFFECT_READS, RACE_PLAIN_TESTED))
		return true;
	*l = was;
	return false;
}
