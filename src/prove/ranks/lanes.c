/*
 * lanes.c - what the lanes of a warp give each other in a run with letters (ranks.h).
 *
 * All lanes of the warp that haven't ended wait at one shuffle or vote. A shuffle from a lane that
 * may have ended, or that its mask may leave out, gives a new letter. A vote is a letter whose bits
 * are known, so that masks of it and their counts are sums of conditions.
 */
#include "prove/ranks/ranks.h"

#define MAX_DEPTH 16

/* PTX ISA 9.7.9, shfl.sync: which lane's value `lane` gets. */
static uint32_t source_of(uint64_t kind, uint32_t c, uint32_t lane, uint32_t b)
{
	uint32_t segment = c >> 8 & 31, j;
	uint32_t most = (lane & segment) | (c & 31 & ~segment), least = lane & segment;

	b &= 31;
	switch ((enum ir_lanes)kind) {
	case IR_LANES_UP:
		return lane >= b && lane - b >= most ? lane - b : lane;
	case IR_LANES_DOWN:
		j = lane + b;
		break;
	case IR_LANES_XOR:
		j = lane ^ b;
		break;
	default:
		j = least | (b & ~segment);
		break;
	}
	return j <= most ? j : lane;
}

/* A lane that surely takes part: it hasn't ended, and the mask, a number, names it. */
static bool is_there(const struct ranks *r, const struct ranks_thread *t, uint32_t step)
{
	const struct ex *mask = t->reg[r->c->e->ir->steps.v[step].src[2]];

	return t->state == RANKS_WAITS && t->here->op == EX_CONST && mask && mask->op == EX_CONST &&
	       mask->imm >> (t->number % RANKS_LANES) & 1;
}

static const struct ex *operand(struct ranks *r, struct ranks_thread *t, uint32_t reg)
{
	if (!t->reg[reg])
		t->reg[reg] = ranks_fresh(r, r->c->e->ir->width.v[reg]);
	return t->reg[reg];
}

/* Of a mask that is the same number in all lanes that wait; false: it isn't. */
static bool find_mask(struct ranks *r, uint32_t from, uint32_t to, uint32_t reg, uint32_t *mask)
{
	const struct ex *m = NULL;

	for (uint32_t i = from; i < to; i++) {
		const struct ex *v = r->thread[i].reg[reg];
		if (r->thread[i].state != RANKS_WAITS)
			continue;
		if (!v || v->op != EX_CONST || (m && v != m))
			return false;
		m = v;
	}
	*mask = m ? (uint32_t)m->imm : 0;
	return m != NULL;
}

static const struct ex *vote(struct ranks *r, uint32_t from, uint32_t to, const struct ir_step *st)
{
	struct ranks_vote x = {.v = ranks_fresh(r, 32)};
	uint32_t mask;

	if (!find_mask(r, from, to, st->src[2], &mask))
		return NULL;
	for (uint32_t i = 0; i < RANKS_LANES; i++) {
		struct ranks_thread *t = from + i < to ? &r->thread[from + i] : NULL;
		x.bit[i] = prove_ex_const(r->c->pool, 1, 0);
		if (t && t->state == RANKS_WAITS && mask >> i & 1)
			x.bit[i] = prove_ex_and(r->c->pool, t->here, operand(r, t, st->src[0]));
	}
	base_vec_push(&r->votes, x);
	return x.v;
}

bool ranks_exchange(struct ranks *r, uint32_t warp, uint32_t step)
{
	const struct ir_step *st = &r->c->e->ir->steps.v[step];
	uint32_t from = warp * RANKS_LANES;
	uint32_t to = from + RANKS_LANES < r->n ? from + RANKS_LANES : r->n;
	bool is_vote = st->imm == IR_LANES_VOTE;
	const struct ex *got[RANKS_LANES] = {NULL};
	const struct ex *all = is_vote ? vote(r, from, to, st) : NULL;

	for (uint32_t i = from; i < to && !is_vote; i++) {
		struct ranks_thread *t = &r->thread[i];
		if (t->state != RANKS_WAITS || !is_there(r, t, step))
			continue;
		const struct ex *b = operand(r, t, st->src[1]);
		uint32_t c = (uint32_t)(t->reg[st->src[2]]->imm >> 32), j = to;
		if (b->op == EX_CONST)
			j = from + source_of(st->imm, c, i - from, (uint32_t)b->imm);
		if (j < to && is_there(r, &r->thread[j], step))
			got[i - from] = operand(r, &r->thread[j], st->src[0]);
	}
	for (uint32_t i = from; i < to; i++)
		if (r->thread[i].state == RANKS_WAITS)
			r->thread[i].reg[st->dst] = is_vote ? all : got[i - from];
	return true;
}

/* ---- bits ------------------------------------------------------------------------------------ */

static const struct ranks_vote *find_vote(const struct ranks *r, const struct ex *v)
{
	for (size_t i = r->votes.n; i-- > 0;)
		if (r->votes.v[i].v == v)
			return &r->votes.v[i];
	return NULL;
}

/* The bits of v, of 32: votes, numbers, and what is made of them bit by bit. */
static bool find_bits(struct ranks *r, const struct ex *v, const struct ex **bit, unsigned depth)
{
	struct ex_pool *p = r->c->pool;
	const struct ranks_vote *x = v->op == EX_VAR ? find_vote(r, v) : NULL;
	const struct ex *other[RANKS_LANES], *no = prove_ex_const(p, 1, 0);
	uint64_t k = v->n == 2 && v->a[1]->op == EX_CONST ? v->a[1]->imm : 0;
	unsigned shift = k && !(k & (k - 1)) ? (unsigned)__builtin_ctzll(k) : RANKS_LANES;

	if (v->w != RANKS_LANES || depth > MAX_DEPTH)
		return false;
	if (v->op == EX_CONST || x) {
		for (unsigned i = 0; i < RANKS_LANES; i++)
			bit[i] = x ? x->bit[i] : prove_ex_const(p, 1, v->imm >> i & 1);
		return true;
	}
	switch ((enum ex_op)v->op) {
	case EX_AND:
	case EX_OR:
	case EX_XOR:
		if (!find_bits(r, v->a[0], bit, depth + 1) ||
		    !find_bits(r, v->a[1], other, depth + 1))
			return false;
		for (unsigned i = 0; i < RANKS_LANES; i++)
			bit[i] = prove_ex_bin(p, (enum ex_op)v->op, bit[i], other[i]);
		return true;
	case EX_NOT:
		if (!find_bits(r, v->a[0], bit, depth + 1))
			return false;
		for (unsigned i = 0; i < RANKS_LANES; i++)
			bit[i] = prove_ex_not(p, bit[i]);
		return true;
	case EX_UREM: /* the lowest bits */
	case EX_UDIV: /* a shift to the right */
		if (shift == RANKS_LANES || !find_bits(r, v->a[0], other, depth + 1))
			return false;
		for (unsigned i = 0; i < RANKS_LANES; i++)
			bit[i] = v->op == EX_UREM	   ? i < shift ? other[i] : no
				 : i + shift < RANKS_LANES ? other[i + shift]
							   : no;
		return true;
	default:
		return false;
	}
}

const struct ex *ranks_count_bits(struct ranks *r, const struct ex *v)
{
	struct ex_pool *p = r->c->pool;
	const struct ex *bit[RANKS_LANES], *sum = prove_ex_const(p, 32, 0);

	if (!find_bits(r, v, bit, 0))
		return NULL;
	for (unsigned i = 0; i < RANKS_LANES; i++)
		sum = prove_ex_bin(p, EX_ADD, sum, prove_ex_un(p, EX_ZEXT, 32, bit[i]));
	return sum;
}
