/*
 * quick.c - pairs that need no solver: affine and mixed-radix offsets (check.h).
 *
 * An offset that is a sum of numbers times threadIdx and values that both threads share, none of
 * whose steps can wrap by its bounds, differs between two threads by a sum of the same numbers
 * times the difference of their positions. With one dimension that is looked at directly; with
 * several the numbers must be a mixed radix: each at least what the smaller ones can add up to. By
 * the contract blockIdx.d * blockDim.d + threadIdx.d is one position in the grid.
 *
 * Misses: everything that only a condition keeps apart; the solver is asked then.
 * Costs: linear in the two offsets, some microseconds.
 */
#include "prove/check.h"

#include <string.h>

#define MAX_TERMS 16

/* number * value; a position stands for dimension d of the thread, or of the thread in the grid. */
struct linear {
	int64_t constant;
	int64_t tid[3], gid[3];
	uint32_t n;
	struct {
		const struct ex *v;
		int64_t times;
	} term[MAX_TERMS];
	bool is_lost;
};

static bool is_spec(const struct ex *v, unsigned which)
{
	return v->op == EX_SPEC && v->imm == which;
}

static bool is_block_dim(const struct check *c, const struct ex *v, unsigned d)
{
	uint32_t fixed = c->pool->launch.dim[d];

	return is_spec(v, EX_NTID_X + d) || (fixed && v->op == EX_CONST && v->imm == fixed);
}

/* blockIdx.d * blockDim.d + threadIdx.d: which d, or 3. */
static unsigned position(const struct check *c, const struct ex *v)
{
	if (v->op != EX_ADD || v->w != 32 || c->o->all_launches)
		return 3;
	for (unsigned d = 0; d < 3; d++) {
		for (int turn = 0; turn < 4; turn++) {
			const struct ex *t = v->a[turn & 1], *m = v->a[!(turn & 1)];
			if (is_spec(t, EX_TID_X + d) && m->op == EX_MUL &&
			    is_spec(m->a[turn >> 1], EX_CTAID_X + d) &&
			    is_block_dim(c, m->a[!(turn >> 1)], d))
				return d;
		}
	}
	return 3;
}

/* The largest value: of a position in the grid by the contract, whatever its own bounds say. */
static uint64_t top_of(const struct check *c, const struct ex *v)
{
	const struct ex *x = v->op == EX_SEXT || v->op == EX_ZEXT ? v->a[0] : v;

	return position(c, x) < 3 ? INT32_MAX : v->hi;
}

static void add_term(struct linear *l, const struct ex *v, int64_t times)
{
	for (uint32_t i = 0; i < l->n; i++) {
		if (l->term[i].v == v) {
			l->is_lost |=
				__builtin_add_overflow(l->term[i].times, times, &l->term[i].times);
			return;
		}
	}
	if (l->n == MAX_TERMS) {
		l->is_lost = true;
		return;
	}
	l->term[l->n].v = v;
	l->term[l->n++].times = times;
}

static void flatten(const struct check *c, const struct ex *v, int64_t times, struct linear *l,
		    unsigned depth)
{
	uint64_t sum, m = ex_mask(v->w);
	unsigned d = position(c, v);
	int64_t k;

	if (depth > 40 || l->is_lost) {
		l->is_lost = true;
		return;
	}
	if (d < 3) {
		l->gid[d] += times;
		return;
	}
	switch ((enum ex_op)v->op) {
	case EX_CONST:
		if (v->imm > INT32_MAX || __builtin_mul_overflow((int64_t)v->imm, times, &k) ||
		    __builtin_add_overflow(l->constant, k, &l->constant))
			l->is_lost = true;
		return;
	case EX_SPEC:
		if (v->imm < EX_CTAID_X)
			l->tid[v->imm] += times;
		else
			add_term(l, v, times);
		return;
	case EX_ADD:
		if (__builtin_add_overflow(top_of(c, v->a[0]), top_of(c, v->a[1]), &sum) ||
		    sum > m) {
			add_term(l, v, times);
			return;
		}
		flatten(c, v->a[0], times, l, depth + 1);
		flatten(c, v->a[1], times, l, depth + 1);
		return;
	case EX_MUL:
		if (v->a[1]->op != EX_CONST || v->a[1]->imm > INT32_MAX ||
		    __builtin_mul_overflow(top_of(c, v->a[0]), v->a[1]->imm, &sum) || sum > m ||
		    __builtin_mul_overflow(times, (int64_t)v->a[1]->imm, &k)) {
			add_term(l, v, times);
			return;
		}
		flatten(c, v->a[0], k, l, depth + 1);
		return;
	case EX_ZEXT:
	case EX_SEXT:
		if (v->op == EX_SEXT && v->a[0]->hi > ex_mask(v->a[0]->w) >> 1 &&
		    position(c, v->a[0]) == 3)
			add_term(l, v, times);
		else
			flatten(c, v->a[0], times, l, depth + 1);
		return;
	default:
		add_term(l, v, times);
	}
}

/* Do both threads have the same value? As smt_is_shared. */
static bool is_shared(const struct check *c, const struct ex *v, const uint8_t *counters,
		      unsigned depth)
{
	if (v->level < (c->level <= RACE_LEVEL_BLOCK ? EX_CTA : EX_GRID) || depth > 20)
		return false;
	if (!v->has_ctr)
		return true;
	if (v->op == EX_CTR)
		return counters[v->imm] == SMT_SAME;
	for (uint32_t i = 0; i < v->n; i++)
		if (!is_shared(c, v->a[i], counters, depth + 1))
			return false;
	return true;
}

/* The same numbers times the same shared values, and the same numbers for each dimension. */
static bool is_alike(const struct check *c, const struct linear *a, const struct linear *b,
		     const uint8_t *counters)
{
	if (a->is_lost || b->is_lost || a->n != b->n ||
	    memcmp(a->tid, b->tid, sizeof(a->tid)) != 0 ||
	    memcmp(a->gid, b->gid, sizeof(a->gid)) != 0)
		return false;
	for (uint32_t i = 0; i < a->n; i++) {
		bool found = !a->term[i].times;
		for (uint32_t k = 0; k < b->n; k++)
			found |= a->term[i].v == b->term[k].v &&
				 a->term[i].times == b->term[k].times;
		if (!found || !is_shared(c, a->term[i].v, counters, 0))
			return false;
	}
	return true;
}

/* step * delta + gap, for delta other than 0 and at most `most` away from it: never a common byte?
 * */
static bool is_clear(int64_t step, int64_t gap, int64_t most, unsigned na, unsigned nb)
{
	int64_t near, d;

	if (!step || step > ((int64_t)1 << 40) || step < -((int64_t)1 << 40) ||
	    gap > ((int64_t)1 << 40) || gap < -((int64_t)1 << 40))
		return false;
	near = -gap / step;
	/* bytes are common for offsets from -na to nb: at most na + nb steps around the nearest */
	for (d = near - (int64_t)(na + nb) - 1; d <= near + (int64_t)(na + nb) + 1; d++) {
		int64_t at = step * d + gap;
		if (d && d >= -most && d <= most && at > -(int64_t)na && at < (int64_t)nb)
			return false;
	}
	return true;
}

bool quick_is_apart(struct check *c, const uint8_t *counters)
{
	const struct ex_launch *l = &c->pool->launch;
	struct linear a = {0}, b = {0};
	unsigned na = c->a->mem->bytes, nb = c->b->mem->bytes, dims = 0, which = 0;
	bool is_far = c->level >= RACE_LEVEL_CLUSTER;
	int64_t step[3], radix, width = na > nb ? na : nb;

	if (c->a->off->w != c->b->off->w)
		return false;
	flatten(c, c->a->off, 1, &a, 0);
	flatten(c, c->b->off, 1, &b, 0);
	if (!is_alike(c, &a, &b, counters))
		return false;
	for (unsigned d = 0; d < 3; d++) {
		bool varies = l->max[d] > 1 || (is_far && l->max[3 + d] > 1);
		/* of another block only the position in the grid counts */
		if (is_far && a.tid[d] && l->max[d] > 1)
			return false;
		step[d] = a.gid[d] + (is_far ? 0 : a.tid[d]);
		if (!varies)
			continue;
		if (step[d] <= 0)
			return false;
		which = d;
		dims++;
	}
	if (!dims)
		return false;
	if (dims == 1)
		return is_clear(step[which], a.constant - b.constant,
				is_far ? INT32_MAX : (int64_t)l->max[which], na, nb);
	if (a.constant != b.constant || is_far)
		return false;
	/* the smallest first; the largest need not be bounded */
	radix = width;
	for (unsigned done = 0, n = 0; n < dims; n++) {
		unsigned best = 3;
		for (unsigned d = 0; d < 3; d++)
			if (l->max[d] > 1 && !(done >> d & 1) &&
			    (best == 3 || step[d] < step[best]))
				best = d;
		if (step[best] < radix)
			return false;
		done |= 1u << best;
		if (step[best] > ((int64_t)1 << 40))
			return false;
		radix = step[best] * ((int64_t)l->max[best] - 1) + radix;
	}
	return true;
}
