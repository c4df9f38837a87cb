/*
 * smt_made.c - what a value is made of, which decides how it is encoded (smt.c).
 */
#include "prove/solve/smt_impl.h"

/*
 * blockIdx.d * blockDim.d, the same plus threadIdx.d, and gridDim.d * blockDim.d: by the contract
 * they stay below 2^31. (The first two are below the third.)
 */
bool prove_smt_is_in_contract(const struct smt *s, const struct ex *v)
{
	const struct ex *x = v->n == 2 ? v->a[0] : NULL, *y = v->n == 2 ? v->a[1] : NULL;

	if (v->w != 32 || !x || s->e->any_grid)
		return false;
	for (unsigned d = 0; d < 3; d++) {
		for (int turn = 0; turn < 2; turn++) {
			const struct ex *p = turn ? y : x, *q = turn ? x : y;
			if (v->op == EX_MUL && prove_ex_is_block_dim(s->e->pool, q, d) &&
			    (prove_ex_is_spec(p, EX_CTAID_X + d) ||
			     prove_ex_is_spec(p, EX_NCTAID_X + d)))
				return true;
			if (v->op == EX_ADD && prove_ex_is_spec(q, EX_TID_X + d) &&
			    p->op == EX_MUL &&
			    (prove_ex_is_spec(p->a[0], EX_CTAID_X + d) ||
			     prove_ex_is_spec(p->a[1], EX_CTAID_X + d)) &&
			    prove_smt_is_in_contract(s, p))
				return true;
		}
	}
	return false;
}

unsigned prove_smt_position(const struct smt *s, const struct ex *v)
{
	if (v->op != EX_ADD || !prove_smt_is_in_contract(s, v))
		return 3;
	for (unsigned d = 0; d < 3; d++)
		if (prove_ex_is_spec(v->a[0], EX_TID_X + d) ||
		    prove_ex_is_spec(v->a[1], EX_TID_X + d))
			return d;
	return 3;
}

/* A step made of the launch's dimensions alone is no negative number. */
bool prove_smt_is_of_launch(const struct ex *v)
{
	if (v->op == EX_SPEC || v->op == EX_CONST)
		return v->op == EX_SPEC || v->imm <= prove_ex_mask(v->w) >> 1;
	if (v->op != EX_MUL && v->op != EX_ZEXT && v->op != EX_SEXT)
		return false;
	for (uint32_t i = 0; i < v->n; i++)
		if (!prove_smt_is_of_launch(v->a[i]))
			return false;
	return true;
}

/* A step of 64 bits that comes from 32: a pointer that moves on by it doesn't come around. */
bool prove_smt_is_modest(const struct ex *v, unsigned depth)
{
	if (v->op == EX_CONST) {
		int64_t c = prove_ex_signed(v->imm, v->w);
		return c > -((int64_t)1 << 33) && c < (int64_t)1 << 33;
	}
	if (v->op == EX_ZEXT || v->op == EX_SEXT)
		return v->a[0]->w <= 32;
	if ((v->op != EX_ADD && v->op != EX_SUB && v->op != EX_MUL) || depth > 4)
		return false;
	bool has_number = v->a[1]->op == EX_CONST && v->a[1]->imm <= 65536;
	return prove_smt_is_modest(v->a[0], depth + 1) &&
	       (v->op == EX_MUL ? has_number : prove_smt_is_modest(v->a[1], depth + 1));
}
