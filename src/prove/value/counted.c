/*
 * counted.c - how many bits a mask has that is made of the lane alone (popc; eval.h).
 *
 * The rank in a tile of 16 is popc(0xffff << (lane & ~15) & lanes below): what that comes to in
 * each of the 32 lanes is tried, and if it is lane % k, lane / k or one number, it is that.
 *
 * Misses: masks that a vote or a match gives (ranks/lanes.c has those); ranks of other forms.
 * Costs: 32 replacements for each popc of a mask with a lane.
 */
#include "prove/eval.h"

#define LANES	  32
#define MAX_DEPTH 12

/* The lane's number in v: x % 32, or a threadIdx that is less than 32; NULL: there is none. */
static const struct ex *find_lane(const struct ex *v, unsigned depth)
{
	const struct ex *lane = NULL;

	if (v->level != EX_THREAD || depth > MAX_DEPTH)
		return NULL;
	if ((v->op == EX_UREM && v->a[1]->op == EX_CONST && v->a[1]->imm == LANES) ||
	    (v->op == EX_SPEC && v->hi < LANES))
		return v;
	for (uint32_t i = 0; i < v->n && !lane; i++)
		lane = find_lane(v->a[i], depth + 1);
	return lane;
}

const struct ex *prove_ev_count_bits(struct ex_pool *p, const struct ex *mask)
{
	const struct ex *lane = find_lane(mask, 0);
	unsigned count[LANES];
	bool is_one = true;

	for (unsigned i = 0; lane && i < LANES; i++) {
		const struct ex *m = prove_ex_replace(p, mask, lane, prove_ex_const(p, lane->w, i));
		if (m->op != EX_CONST)
			return NULL;
		count[i] = (unsigned)__builtin_popcountll(m->imm);
		is_one &= count[i] == count[0];
	}
	if (!lane)
		return NULL;
	if (is_one)
		return prove_ex_const(p, 32, count[0]);
	for (unsigned k = 2; k <= LANES; k *= 2) {
		bool is_rest = true, is_quotient = true;
		for (unsigned i = 0; i < LANES; i++) {
			is_rest &= count[i] == i % k;
			is_quotient &= count[i] == i / k;
		}
		if (is_rest || is_quotient)
			return prove_ex_bin(
				p, is_rest ? EX_UREM : EX_UDIV,
				prove_ex_un(p, lane->w < 32 ? EX_ZEXT : EX_TRUNC, 32, lane),
				prove_ex_const(p, 32, k));
	}
	return NULL;
}
