/*
 * smt_bits.c - two threads' values as bit-vectors for Z3: exact, and slower (smt.h).
 *
 * Every node becomes the operation of the same name; what integers can't say (and, or, xor, shifts
 * by unknowns) is at home here. The last resort for products of unknowns.
 */
#include "prove/solve/smt_impl.h"

Z3_ast prove_smt_bits_one(struct smt *s)
{
	return Z3_mk_unsigned_int(s->z, 1, Z3_mk_bv_sort(s->z, 1));
}

static Z3_ast number(struct smt *s, uint64_t v, unsigned w)
{
	return Z3_mk_unsigned_int64(s->z, v, Z3_mk_bv_sort(s->z, w));
}

static Z3_ast truth(struct smt *s, Z3_ast b)
{
	return Z3_mk_ite(s->z, b, prove_smt_bits_one(s), number(s, 0, 1));
}

static Z3_ast leaf(struct smt *s, const struct ex *v, unsigned t)
{
	uint64_t key;

	if (v->op == EX_CTR) {
		uint8_t c = s->q.counters[v->imm];
		bool is_ahead = (c == SMT_SECOND_AHEAD && t) || (c == SMT_FIRST_AHEAD && !t);
		key = (uint64_t)EX_CTR << 56 | v->imm << 8 | (c == SMT_FREE ? 1 + t : 0);
		Z3_ast r = prove_smt_bits_instance(s, key, v, t);
		return is_ahead ? Z3_mk_bvadd(s->z, r, number(s, 1, 64)) : r;
	}
	key = prove_smt_leaf_key(s, v, t);
	return prove_smt_bits_instance(s, key, v, t);
}

Z3_ast prove_smt_bits_instance(struct smt *s, uint64_t key, const struct ex *v, unsigned t)
{
	for (size_t i = 0; i < s->instances.n; i++)
		if (s->instances.v[i].key == key)
			return s->instances.v[i].bits;
	struct instance in = {.key = key};
	in.bits = Z3_mk_fresh_const(s->z, "b", Z3_mk_bv_sort(s->z, v->w));
	base_vec_push(&s->instances, in);
	bool is_counter = v->op == EX_CTR || v->op == EX_KEXIT;
	uint64_t hi = is_counter ? s->e->loops[v->imm].last : v->hi;
	if (hi < prove_ex_mask(v->w))
		prove_smt_hold(s, Z3_mk_bvule(s->z, in.bits, number(s, hi, v->w)));
	if (v->lo)
		prove_smt_hold(s, Z3_mk_bvule(s->z, number(s, v->lo, v->w), in.bits));
	if (v->op == EX_CTR)
		return in.bits;
	struct atom a = {v, t, in.bits};
	base_vec_push(&s->atoms, a);
	prove_smt_leaf_facts(s, v, t);
	return in.bits;
}

/* start + step * counter, held not to wrap where the contract says so. */
static Z3_ast induction(struct smt *s, const struct ex *v, unsigned t)
{
	Z3_ast i = prove_smt_bits(s, v->a[0], t), d = prove_smt_bits(s, v->a[1], t);
	Z3_ast zero = number(s, 0, 64), k = prove_smt_bits(s, v->a[2], t);
	/* "the iteration before" of the first one: there is none, the start stands in */
	k = Z3_mk_ite(s->z, Z3_mk_bvslt(s->z, k, zero), zero, k);
	Z3_ast low = v->w < 64 ? Z3_mk_extract(s->z, v->w - 1u, 0, k) : k;
	bool is_signed = v->imm == EX_IND_SIGNED;
	bool is_down = prove_ex_is_down(v->a[1]);
	Z3_ast p = Z3_mk_bvmul(s->z, d, low);

	if (v->imm == EX_IND_WRAPS || (is_down && !is_signed))
		return Z3_mk_bvadd(s->z, i, p);
	if (v->w < 64)
		prove_smt_hold(s, Z3_mk_bvult(s->z, k, number(s, 1ull << (v->w - is_signed), 64)));
	prove_smt_hold(s, Z3_mk_bvmul_no_overflow(s->z, d, low, is_signed));
	prove_smt_hold(s, Z3_mk_bvadd_no_overflow(s->z, i, p, is_signed));
	if (is_signed) {
		prove_smt_hold(s, Z3_mk_bvmul_no_underflow(s->z, d, low));
		prove_smt_hold(s, Z3_mk_bvadd_no_underflow(s->z, i, p));
	}
	return Z3_mk_bvadd(s->z, i, p);
}

/* PTX leaves division by zero undefined: any value. */
static Z3_ast divided(struct smt *s, const struct ex *v, Z3_ast by, Z3_ast result)
{
	if (v->a[1]->lo)
		return result;
	Z3_ast any = Z3_mk_fresh_const(s->z, "d", Z3_mk_bv_sort(s->z, v->w));
	return Z3_mk_ite(s->z, Z3_mk_eq(s->z, by, number(s, 0, v->w)), any, result);
}

/* v * 2^k, where the other factor is 2^k by a shift, perhaps a loop's in closed form, as a shift;
 * NULL: it isn't. */
static Z3_ast product_as_shift(struct smt *s, const struct ex *v, unsigned t)
{
	for (unsigned i = 0; i < 2 && v->op == EX_MUL; i++) {
		const struct ex *f = v->a[i]->op == EX_PHI ? prove_smt_closed(s, v->a[i]) : v->a[i];
		if (!f || f->op != EX_SHL || f->a[0]->op != EX_CONST || !f->a[0]->imm ||
		    f->a[0]->imm & (f->a[0]->imm - 1))
			continue;
		Z3_ast n = prove_smt_bits(s, f->a[1], t), x = prove_smt_bits(s, v->a[!i], t);
		unsigned first = (unsigned)__builtin_ctzll(f->a[0]->imm);
		x = Z3_mk_bvshl(s->z, x, number(s, first, v->w));
		return Z3_mk_bvshl(s->z, x, n);
	}
	return NULL;
}

static Z3_ast binary(struct smt *s, const struct ex *v, unsigned t)
{
	Z3_ast shift = product_as_shift(s, v, t);

	if (shift)
		return shift;
	Z3_ast a = prove_smt_bits(s, v->a[0], t), b = prove_smt_bits(s, v->a[1], t);

	/* clang-format off */
	switch ((enum ex_op)v->op) {
	case EX_ADD: return Z3_mk_bvadd(s->z, a, b);
	case EX_SUB: return Z3_mk_bvsub(s->z, a, b);
	case EX_MUL: return Z3_mk_bvmul(s->z, a, b);
	case EX_UDIV: return divided(s, v, b, Z3_mk_bvudiv(s->z, a, b));
	case EX_SDIV: return divided(s, v, b, Z3_mk_bvsdiv(s->z, a, b));
	case EX_UREM: return divided(s, v, b, Z3_mk_bvurem(s->z, a, b));
	case EX_SREM: return divided(s, v, b, Z3_mk_bvsrem(s->z, a, b));
	case EX_AND: return Z3_mk_bvand(s->z, a, b);
	case EX_OR: return Z3_mk_bvor(s->z, a, b);
	case EX_XOR: return Z3_mk_bvxor(s->z, a, b);
	case EX_SHL: return Z3_mk_bvshl(s->z, a, b);
	case EX_LSHR: return Z3_mk_bvlshr(s->z, a, b);
	case EX_ASHR: return Z3_mk_bvashr(s->z, a, b);
	case EX_EQ: return truth(s, Z3_mk_eq(s->z, a, b));
	case EX_ULT: return truth(s, Z3_mk_bvult(s->z, a, b));
	case EX_SLT: return truth(s, Z3_mk_bvslt(s->z, a, b));
	default: return leaf(s, v, t);
	}
	/* clang-format on */
}

/*
 * A thread's position in the grid, with a block size that isn't known: an unknown of its own
 * instead of a product, which bit-vectors are slow at. That positions are equal only where thread
 * and block are is added at the end. A model may be wrong then (is_loose).
 */
static Z3_ast position(struct smt *s, const struct ex *v, unsigned t, unsigned d)
{
	unsigned i = prove_smt_is_shared(s, v) ? 0 : t;

	if (!s->position[i][d]) {
		Z3_ast r = Z3_mk_fresh_const(s->z, "p", Z3_mk_bv_sort(s->z, v->w));
		prove_smt_hold(s, Z3_mk_bvule(s->z, r, number(s, INT32_MAX, v->w)));
		s->position[i][d] = r;
		s->is_loose = true;
	}
	return s->position[i][d];
}

static bool is_product(const struct ex *v)
{
	return v->op == EX_MUL && v->a[1]->op != EX_CONST;
}

void prove_smt_finish_bits(struct smt *s)
{
	for (unsigned d = 0; d < 3; d++) {
		const struct ex *tid =
			prove_ex_spec(s->e->pool, (enum prove_ex_spec)(EX_TID_X + d));
		const struct ex *cta =
			prove_ex_spec(s->e->pool, (enum prove_ex_spec)(EX_CTAID_X + d));
		Z3_ast *p[2] = {&s->position[0][d], &s->position[1][d]};
		if (!*p[0] && !*p[1])
			continue;
		for (unsigned t = 0; t < 2; t++) {
			if (!*p[t])
				continue;
			prove_smt_hold(s, Z3_mk_bvule(s->z, prove_smt_bits(s, tid, t), *p[t]));
			prove_smt_hold(s, Z3_mk_bvule(s->z, prove_smt_bits(s, cta, t), *p[t]));
		}
		if (!*p[0] || !*p[1])
			continue;
		Z3_ast same[2] = {
			Z3_mk_eq(s->z, prove_smt_bits(s, tid, 0), prove_smt_bits(s, tid, 1)),
			Z3_mk_eq(s->z, prove_smt_bits(s, cta, 0), prove_smt_bits(s, cta, 1)),
		};
		prove_smt_hold(
			s, Z3_mk_iff(s->z, Z3_mk_eq(s->z, *p[0], *p[1]), Z3_mk_and(s->z, 2, same)));
	}
}

static Z3_ast reversed(struct smt *s, Z3_ast x, unsigned w)
{
	Z3_ast r = Z3_mk_extract(s->z, 0, 0, x);

	for (unsigned i = 1; i < w; i++)
		r = Z3_mk_concat(s->z, r, Z3_mk_extract(s->z, i, i, x));
	return r;
}

static Z3_ast leading_zeros(struct smt *s, Z3_ast x, unsigned w)
{
	Z3_sort sort = Z3_get_sort(s->z, x);
	Z3_ast n = Z3_mk_unsigned_int64(s->z, w, sort);

	for (unsigned i = 0; i < w; i++)
		n = Z3_mk_ite(s->z,
			      Z3_mk_eq(s->z, Z3_mk_extract(s->z, i, i, x), prove_smt_bits_one(s)),
			      Z3_mk_unsigned_int64(s->z, w - 1 - i, sort), n);
	return n;
}

static Z3_ast fresh_bits(struct smt *s, const struct ex *v, unsigned t)
{
	unsigned d = s->q.is_exact ? 3 : prove_smt_position(s, v);

	if (d < 3 && (is_product(v->a[0]) || is_product(v->a[1])))
		return position(s, v, t, d);
	switch ((enum ex_op)v->op) {
	case EX_CONST:
		return number(s, v->imm, v->w);
	case EX_SPEC:
	case EX_PARAM:
	case EX_SYM:
	case EX_VAR:
	case EX_PHI:
	case EX_CTR:
	case EX_KEXIT:
	case EX_PURE:
	case EX_CLOAD:
		return leaf(s, v, t);
	case EX_NOT:
		return Z3_mk_bvnot(s->z, prove_smt_bits(s, v->a[0], t));
	case EX_BREV:
		return reversed(s, prove_smt_bits(s, v->a[0], t), v->w);
	case EX_CLZ:
		return leading_zeros(s, prove_smt_bits(s, v->a[0], t), v->w);
	case EX_ITE:
		return Z3_mk_ite(
			s->z, Z3_mk_eq(s->z, prove_smt_bits(s, v->a[0], t), prove_smt_bits_one(s)),
			prove_smt_bits(s, v->a[1], t), prove_smt_bits(s, v->a[2], t));
	case EX_ZEXT:
		return Z3_mk_zero_ext(s->z, (unsigned)v->w - v->a[0]->w,
				      prove_smt_bits(s, v->a[0], t));
	case EX_SEXT:
		return Z3_mk_sign_ext(s->z, (unsigned)v->w - v->a[0]->w,
				      prove_smt_bits(s, v->a[0], t));
	case EX_TRUNC:
		return Z3_mk_extract(s->z, v->w - 1u, 0, prove_smt_bits(s, v->a[0], t));
	case EX_IND:
		return induction(s, v, t);
	default:
		return binary(s, v, t);
	}
}

Z3_ast prove_smt_bits(struct smt *s, const struct ex *v, unsigned t)
{
	if (!prove_smt_memo(s, v, t)->bits) {
		Z3_ast r = fresh_bits(s, v, t);
		prove_smt_memo(s, v, t)->bits = r;
	}
	return prove_smt_memo(s, v, t)->bits;
}

void prove_smt_conflict_bits(struct smt *s, const struct ex *a, unsigned na, const struct ex *b,
			     unsigned nb, bool is_partial)
{
	Z3_ast x = prove_smt_bits(s, a, 0), y = prove_smt_bits(s, b, 1), either[2];

	either[0] = Z3_mk_bvult(s->z, Z3_mk_bvsub(s->z, x, y), number(s, nb, a->w));
	either[1] = Z3_mk_bvult(s->z, Z3_mk_bvsub(s->z, y, x), number(s, na, a->w));
	prove_smt_hold(s, Z3_mk_or(s->z, 2, either));
	if (is_partial && na == nb)
		prove_smt_hold(s, Z3_mk_not(s->z, Z3_mk_eq(s->z, x, y)));
}
