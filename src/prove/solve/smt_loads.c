/*
 * smt_loads.c - loads from memory that the kernel doesn't write, in a query (smt.h).
 *
 * One place has one value. What is assumed of an array's elements (all different, sorted, bounded)
 * holds of the loads that a query mentions, and of each two of them.
 *
 * Misses: pairs of a query that mentions more than MAX_LOADS loads.
 */
#include "prove/solve/smt_impl.h"

void prove_smt_elements(struct smt *s, const struct ev_assume *as)
{
	base_vec_push(&s->elements, as);
}

/* Offset x of thread t lies among the assumption's elements. */
static Z3_ast is_element(struct smt *s, const struct ev_assume *as, const struct ex *x, unsigned t)
{
	struct ex_pool *p = s->e->pool;
	const struct ex *at = prove_ex_bin(p, EX_SUB, x, as->off);
	const struct ex *end = prove_ex_bin(p, EX_MUL, as->count, prove_ex_const(p, 64, as->bytes));
	const struct ex *fits =
		as->count->hi <= UINT64_MAX / as->bytes
			? prove_ex_const(p, 1, 1)
			: prove_ex_bin(p, EX_ULT, as->count,
				       prove_ex_const(p, 64, UINT64_MAX / as->bytes));

	return prove_smt_truth(s, prove_ex_and(p, fits, prove_ex_bin(p, EX_ULT, at, end)), t);
}

/*
 * Loads x of thread t and y of thread u from memory that the kernel doesn't write: the same address
 * has the same value; another element of an injective array another one, a later one of a sorted
 * array none that is less.
 */
static void relate_loads(struct smt *s, const struct ex *x, unsigned t, const struct ex *y,
			 unsigned u)
{
	struct ev *e = s->e;
	struct ev_root rx = prove_ev_find_root(e, x->a[0], IR_GENERIC);
	struct ev_root ry = prove_ev_find_root(e, y->a[0], IR_GENERIC);

	if (x->w != y->w || !prove_ev_same_root(&rx, &ry) || rx.kind == EV_ROOT_UNKNOWN ||
	    (rx.kind == EV_ROOT_LOADED && rx.base->level < EX_GRID))
		return;
	const struct ex *ox = prove_ev_offset(e, x->a[0], &rx),
			*oy = prove_ev_offset(e, y->a[0], &ry);
	if (ox->w != oy->w)
		return;
	Z3_ast place = prove_smt_equal(s, ox, t, oy, u), value = prove_smt_equal(s, x, t, y, u);
	prove_smt_hold(s, Z3_mk_implies(s->z, place, value));
	for (size_t i = 0; i < s->elements.n; i++) {
		const struct ev_assume *as = s->elements.v[i];
		if (!prove_ev_same_root(&as->root, &rx) || 8 * as->bytes != x->w || !as->bytes ||
		    as->off->w != ox->w)
			continue;
		if (as->kind == IR_ASSUME_WITHIN)
			continue;
		bool is_sorted = as->kind == IR_ASSUME_SORTED;
		Z3_ast all[3] = {is_element(s, as, ox, t), is_element(s, as, oy, u),
				 is_sorted ? prove_smt_is_less(s, ox, t, oy, u)
					   : Z3_mk_not(s->z, place)};
		Z3_ast denied = is_sorted ? prove_smt_is_less(s, y, u, x, t) : value;
		prove_smt_hold(
			s, Z3_mk_implies(s->z, Z3_mk_and(s->z, 3, all), Z3_mk_not(s->z, denied)));
		if (!is_sorted)
			continue;
		all[2] = prove_smt_is_less(s, oy, u, ox, t);
		denied = prove_smt_is_less(s, x, t, y, u);
		prove_smt_hold(
			s, Z3_mk_implies(s->z, Z3_mk_and(s->z, 3, all), Z3_mk_not(s->z, denied)));
	}
}

/* Bounds of what x of thread t loads. */
static void bound_load(struct smt *s, const struct ex *x, unsigned t)
{
	struct ex_pool *p = s->e->pool;
	struct ev_root r = prove_ev_find_root(s->e, x->a[0], IR_GENERIC);

	for (size_t i = 0; i < s->elements.n; i++) {
		const struct ev_assume *as = s->elements.v[i];
		if (as->kind != IR_ASSUME_WITHIN || 8 * as->bytes != x->w ||
		    !prove_ev_same_root(&as->root, &r))
			continue;
		const struct ex *off = prove_ev_offset(s->e, x->a[0], &r);
		if (as->off->w != off->w)
			continue;
		const struct ex *is_in =
			prove_ex_and(p, prove_ex_not(p, prove_ex_bin(p, EX_SLT, x, as->value)),
				     prove_ex_not(p, prove_ex_bin(p, EX_SLT, as->step, x)));
		prove_smt_hold(s, Z3_mk_implies(s->z, is_element(s, as, off, t),
						prove_smt_truth(s, is_in, t)));
	}
}

#define MAX_LOADS 24

void prove_smt_learn_loads(struct smt *s)
{
	for (size_t i = s->nloads; i < s->atoms.n && i < 400; i++) {
		unsigned n = 0;
		if (s->atoms.v[i].v->op != EX_CLOAD)
			continue;
		bound_load(s, s->atoms.v[i].v, s->atoms.v[i].t);
		for (size_t k = 0; k <= i && n < MAX_LOADS; k++) {
			struct atom a = s->atoms.v[i], b = s->atoms.v[k];
			if (b.v->op != EX_CLOAD)
				continue;
			n++;
			/* a load that both threads share has an atom of one of them only */
			if (i != k)
				relate_loads(s, a.v, a.t, b.v, b.t);
		}
	}
	s->nloads = s->atoms.n;
}
