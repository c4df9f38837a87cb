/*
 * bounds.c - the least and the largest number that a new value can be under the contract (expr.h).
 */
#include "prove/eval.h"

static void bounds_of_spec(struct ex *k, const struct ex_launch *l)
{
	unsigned i = (unsigned)k->imm;

	if (i < EX_NTID_X) { /* tid, ctaid: below the dimension's bound */
		unsigned d = i < EX_CTAID_X ? i : i - EX_CTAID_X + 3;
		k->hi = l->max[d] - 1;
		k->level = i < EX_CTAID_X ? EX_THREAD : EX_CTA;
	} else {
		k->lo = 1;
		k->hi = l->max[i - EX_NTID_X];
	}
}

static void bounds_of_binary(struct ex *k, const struct ex *x, const struct ex *y)
{
	uint64_t m = prove_ex_mask(k->w), v;

	switch ((enum ex_op)k->op) {
	case EX_ADD:
		if (!__builtin_add_overflow(x->hi, y->hi, &v) && v <= m) {
			k->lo = x->lo + y->lo;
			k->hi = v;
		}
		break;
	case EX_SUB:
		if (x->lo >= y->hi) {
			k->lo = x->lo - y->hi;
			k->hi = x->hi - y->lo;
		}
		break;
	case EX_MUL:
		if (!__builtin_mul_overflow(x->hi, y->hi, &v) && v <= m) {
			k->lo = x->lo * y->lo;
			k->hi = v;
		}
		break;
	case EX_UDIV:
		k->hi = y->lo ? x->hi / y->lo : m;
		k->lo = y->lo ? x->lo / y->hi : 0;
		break;
	case EX_UREM: /* by zero: anything */
		if (y->lo)
			k->hi = y->hi - 1 < x->hi ? y->hi - 1 : x->hi;
		break;
	case EX_AND:
		k->hi = x->hi < y->hi ? x->hi : y->hi;
		break;
	case EX_OR:
	case EX_XOR:
		v = x->hi | y->hi;
		k->hi = v ? UINT64_MAX >> __builtin_clzll(v) : 0;
		break;
	case EX_LSHR:
		k->hi = x->hi;
		break;
	default:
		break;
	}
}

#define MAX_DEPTH  6
#define MAX_VALUES 1024

/* What v comes to where threadIdx.d is x. False: it rests on something else, too. */
static bool compute(const struct ex *v, unsigned d, uint64_t x, unsigned depth, uint64_t *out)
{
	uint64_t a = 0, b = 0;

	*out = v->op == EX_CONST ? v->imm : x;
	if (v->op == EX_CONST || prove_ex_is_spec(v, EX_TID_X + d))
		return true;
	return v->op >= EX_ADD && v->n && v->n <= 2 && depth < MAX_DEPTH &&
	       compute(v->a[0], d, x, depth + 1, &a) &&
	       (v->n == 1 || compute(v->a[1], d, x, depth + 1, &b)) &&
	       prove_ex_fold((enum ex_op)v->op, v->w, v->a[0]->w, a, b, out);
}

/* A difference by one position in a block, as t * 2 - t / 32 * 63: all that it can be. */
static void bounds_of_difference(const struct ex_pool *p, struct ex *k, const struct ex *x,
				 const struct ex *y)
{
	uint64_t a, b, lo = UINT64_MAX, hi = 0;

	for (unsigned d = 0; d < 3; d++) {
		bool is_all = p->launch.max[d] > 1 && p->launch.max[d] <= MAX_VALUES;
		for (uint64_t i = 0; is_all && i < p->launch.max[d]; i++) {
			is_all = compute(x, d, i, 0, &a) && compute(y, d, i, 0, &b);
			a = (a - b) & prove_ex_mask(k->w);
			lo = a < lo ? a : lo;
			hi = a > hi ? a : hi;
		}
		if (is_all) {
			k->lo = lo;
			k->hi = hi;
			return;
		}
	}
}

/* The pointer among the terms of an address. False: there are two, or what is added to it may be
 * negative or wrap. */
static bool find_pointer(const struct ex *v, const struct ex **pointer, uint64_t *most)
{
	if (v->op == EX_ADD)
		return find_pointer(v->a[0], pointer, most) && find_pointer(v->a[1], pointer, most);
	if (v->op == EX_PARAM && v->w == 64 && v->hi == UINT64_MAX) {
		bool is_first = !*pointer;
		*pointer = v;
		return is_first;
	}
	*most += v->hi;
	return v->hi < 1ull << 48 && *most < 1ull << 48;
}

static void bounds_of_load(struct ex_pool *p, struct ex *k, const struct ex *addr)
{
	const struct ex *pointer = NULL;
	uint64_t most = 0;

	if (!p->nheld || !find_pointer(addr, &pointer, &most) || !pointer)
		return;
	for (uint32_t i = 0; i < p->nheld; i++) {
		if (p->held[i].param != pointer->imm || p->held[i].w != k->w)
			continue;
		k->lo = p->held[i].lo;
		k->hi = p->held[i].hi;
		p->held[i].is_used = true;
	}
}

void prove_ex_find_bounds(struct ex_pool *p, struct ex *k, const struct ex *const *a)
{
	uint64_t half = prove_ex_mask(k->w) >> 1;

	switch ((enum ex_op)k->op) {
	case EX_CLZ:
		k->hi = k->w;
		break;
	case EX_CONST:
		k->lo = k->hi = k->imm;
		break;
	case EX_SPEC:
		bounds_of_spec(k, &p->launch);
		break;
	case EX_CLOAD:
		bounds_of_load(p, k, a[0]);
		break;
	case EX_ZEXT:
		k->lo = a[0]->lo;
		k->hi = a[0]->hi;
		break;
	case EX_SEXT:
		if (a[0]->hi <= prove_ex_mask(a[0]->w) >> 1) {
			k->lo = a[0]->lo;
			k->hi = a[0]->hi;
		}
		break;
	case EX_TRUNC:
		if (a[0]->hi <= prove_ex_mask(k->w)) {
			k->lo = a[0]->lo;
			k->hi = a[0]->hi;
		}
		break;
	case EX_ITE:
		k->lo = a[1]->lo < a[2]->lo ? a[1]->lo : a[2]->lo;
		k->hi = a[1]->hi > a[2]->hi ? a[1]->hi : a[2]->hi;
		break;
	case EX_ASHR:
		if (a[0]->hi <= half)
			k->hi = a[0]->hi;
		break;
	case EX_IND: /* nothing is below the start when a step of 0 or more doesn't wrap */
		if (k->imm == EX_IND_UNSIGNED && a[1]->hi <= half)
			k->lo = a[0]->lo;
		if (k->imm == EX_IND_SIGNED && a[0]->hi <= half && a[1]->hi <= half) {
			k->lo = a[0]->lo;
			k->hi = half;
		}
		break;
	case EX_SDIV:
	case EX_SREM:
		if (a[0]->hi <= half && a[1]->hi <= half && a[1]->lo)
			k->hi = k->op == EX_SDIV	  ? a[0]->hi / a[1]->lo
				: a[1]->hi - 1 < a[0]->hi ? a[1]->hi - 1
							  : a[0]->hi;
		break;
	default:
		if (k->n == 2)
			bounds_of_binary(k, a[0], a[1]);
		if (k->op == EX_SUB && a[0]->lo < a[1]->hi && !a[0]->level && !a[1]->level)
			bounds_of_difference(p, k, a[0], a[1]);
		break;
	}
}

/* A loop that goes on while x isn't b, where x moves by 1 or -1: the iterations that it has after
 * the first one are no more than lie between the two, as x comes to b before it wraps. */
static const struct ex *ends_by(struct ex_pool *p, const struct ex *c, const struct ex *ctr)
{
	const struct ex *t = c->op == EX_NOT ? c->a[0] : NULL;

	if (c->op == EX_AND && c->w == 1)
		return prove_ex_and(p, ends_by(p, c->a[0], ctr), ends_by(p, c->a[1], ctr));
	for (unsigned i = 0; t && t->op == EX_EQ && i < 2; i++) {
		const struct ex *v = t->a[i], *b = t->a[!i], *start = v;
		if (v->op == EX_ADD && v->a[1]->op == EX_CONST)
			v = v->a[0];
		if (v->op != EX_IND || v->a[2] != ctr || v->a[1]->op != EX_CONST ||
		    b->op != EX_CONST)
			continue;
		bool is_down = v->a[1]->imm == prove_ex_mask(v->w);
		if (!is_down && v->a[1]->imm != 1)
			continue;
		start = start == v ? v->a[0] : prove_ex_bin(p, EX_ADD, v->a[0], start->a[1]);
		const struct ex *way = is_down ? prove_ex_bin(p, EX_SUB, start, b)
					       : prove_ex_bin(p, EX_SUB, b, start);
		way = v->w < ctr->w ? prove_ex_un(p, EX_ZEXT, ctr->w, way) : way;
		return way->w == ctr->w ? prove_ex_not(p, prove_ex_bin(p, EX_ULT, way, ctr))
					: prove_ex_const(p, 1, 1);
	}
	return prove_ex_const(p, 1, 1);
}

const struct ex *prove_ev_ends_by(struct ev *e, uint32_t loop)
{
	return ends_by(e->pool, e->loops[loop].back, e->loops[loop].ctr);
}
