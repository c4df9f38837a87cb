/*
 * cycle.c - values of a loop that go around: buffers that are exchanged, stages (loop.c).
 *
 * One that comes back to its start after a few iterations (stage = (stage + 1) % 3) is a choice by
 * the counter's remainder, its ring. So is one that goes around from its second value on (a stage
 * that is -1 before the first iteration): in the first iteration it is its start, its lead. A ring
 * is guessed from the first iterations, and checked at the end of each turn for all of them.
 *
 * Misses: more than EV_MAX_RING values.
 */
#include "prove/eval.h"

static const struct ex *remainder_of(struct ev *e, uint32_t loop, unsigned n)
{
	const struct ex *ctr = e->loops[loop].ctr;

	return prove_ex_bin(e->pool, EX_UREM, ctr, prove_ex_const(e->pool, ctr->w, n));
}

const struct ex *prove_ev_ring_value(struct ev *e, uint32_t loop, const struct ev_phi *p)
{
	const struct ex *v = p->ring[p->nring - 1], *r = remainder_of(e, loop, p->nring);

	for (unsigned i = p->nring - 1u; i-- > 0;)
		v = prove_ex_ite(e->pool,
				 prove_ex_bin(e->pool, EX_EQ, r, prove_ex_const(e->pool, r->w, i)),
				 p->ring[i], v);
	return p->lead ? prove_ex_ite(e->pool,
				      prove_ex_bin(e->pool, EX_EQ, r->a[0],
						   prove_ex_const(e->pool, r->a[0]->w, 0)),
				      p->lead, v)
		       : v;
}

static bool is_const(const struct ex *v, uint64_t imm)
{
	return v->op == EX_CONST && v->imm == imm;
}

/* Does it count from 0 by 1, without wrapping, as numbers that `op` compares? */
static bool is_counted(const struct ex *v, const struct ex *ctr, enum ex_op op)
{
	bool is_kept = v->imm != EX_IND_WRAPS &&
		       (op == EX_EQ || v->imm == (op == EX_SLT ? EX_IND_SIGNED : EX_IND_UNSIGNED));

	return v == ctr || (v->op == EX_IND && v->a[2] == ctr && is_kept && is_const(v->a[0], 0) &&
			    is_const(v->a[1], 1));
}

/* Is it asked whether this is the first iteration, or that it isn't? */
static bool is_of_first(const struct ex *v, const struct ex *ctr)
{
	if (v->op == EX_EQ)
		return is_const(v->a[1], 0) && is_counted(v->a[0], ctr, EX_EQ);
	return (v->op == EX_SLT || v->op == EX_ULT) && is_const(v->a[0], 0) &&
	       is_counted(v->a[1], ctr, (enum ex_op)v->op);
}

/* Is a counter among what a leaf depends on? Those are mostly counters themselves, a few. */
static bool rests_on(const struct ex *leaf, const struct ex *ctr)
{
	for (uint32_t i = 0; i < leaf->n && leaf->has_ctr; i++)
		if (leaf->a[i] == ctr || (leaf->a[i]->n && prove_ex_contains(leaf->a[i], ctr)))
			return true;
	return leaf == ctr;
}

/* What comes_back asks of each node once: values share most of theirs. */
struct back {
	const struct ex *ctr, *own; /* own: not asked about, or NULL */
	unsigned n;		    /* 0: some divisor */
	bool has_lead;
	unsigned char *seen; /* by id, from the counter's on: it does */
};

static bool node_comes_back(const struct back *b, const struct ex *v)
{
	if (v->op == EX_UREM && v->a[0] == b->ctr && v->a[1]->op == EX_CONST && v->a[1]->imm)
		return b->n % v->a[1]->imm == 0;
	if (v == b->own || (b->has_lead && is_of_first(v, b->ctr)))
		return true;
	if (v->op == EX_PHI || v->op == EX_VAR || v->op == EX_KEXIT || v == b->ctr)
		return !rests_on(v, b->ctr);
	/* What was made before the counter doesn't have it. */
	if (!v->has_ctr || v->id < b->ctr->id || b->seen[v->id - b->ctr->id])
		return true;
	for (uint32_t i = 0; i < v->n; i++)
		if (!node_comes_back(b, v->a[i]))
			return false;
	b->seen[v->id - b->ctr->id] = 1;
	return true;
}

static bool all_comes_back(struct back b, const struct ex *v)
{
	struct base_arena tmp = {0};

	if (v->has_ctr && v->id >= b.ctr->id)
		b.seen = base_zalloc(&tmp, v->id - b.ctr->id + 1u);
	bool r = node_comes_back(&b, v);
	base_arena_free(&tmp);
	return r;
}

/* Does v depend on the counter by nothing but remainders, of divisors of n? (Other rings.) With a
 * lead it may do something else in the first iteration. */
static bool comes_back(const struct ex *v, const struct ex *ctr, unsigned n, bool has_lead)
{
	return all_comes_back((struct back){.ctr = ctr, .n = n, .has_lead = has_lead}, v);
}

static const struct ex *in_iteration(struct ev *e, const struct ex *v, const struct ex *ctr,
				     uint64_t n)
{
	return prove_ex_replace(e->pool, v, ctr, prove_ex_const(e->pool, ctr->w, n));
}

/* The same with a lead: iterations n to 2n - 1 stand for all but the first. */
static bool keeps_lead(struct ev *e, const struct ev_phi *p, const struct ex *next,
		       const struct ex *ctr)
{
	if (p->init != p->lead || !comes_back(next, ctr, p->nring, true) ||
	    in_iteration(e, next, ctr, 0) != p->ring[1 % p->nring])
		return false;
	for (unsigned i = 0; i < p->nring; i++)
		if (in_iteration(e, next, ctr, p->nring + i) != p->ring[(i + 1) % p->nring])
			return false;
	return true;
}

/* Is what an iteration makes of the value the ring's next one, in each place of the ring? */
bool prove_ev_keeps_ring(struct ev *e, uint32_t loop, const struct ev_phi *p, const struct ex *next)
{
	const struct ex *r = remainder_of(e, loop, p->nring), *ctr = e->loops[loop].ctr;
	bool is_back = comes_back(next, ctr, p->nring, false);

	if (p->lead)
		return keeps_lead(e, p, next, ctr);
	for (unsigned i = 0; i < p->nring; i++) {
		const struct ex *x =
			prove_ex_replace(e->pool, next, r, prove_ex_const(e->pool, r->w, i));
		if (is_back)
			x = in_iteration(e, x, ctr, i);
		if (x != p->ring[(i + 1) % p->nring])
			return false;
	}
	return p->init == p->ring[0];
}

/* From the second value on it goes around: the ring begins with the last of them, which is what the
 * counter's multiples have. */
static bool find_lead(struct ev *e, struct ev_phi *p, const struct ex *next, const struct ex *ctr)
{
	const struct ex *v[EV_MAX_RING + 1] = {p->init};

	for (unsigned n = 0; n < EV_MAX_RING; n++)
		v[n + 1] = in_iteration(e, prove_ex_replace(e->pool, next, p->leaf, v[n]), ctr, n);
	for (unsigned n = 2; n <= EV_MAX_RING; n++) {
		bool goes_around = true;
		for (unsigned i = 0; i < n && goes_around; i++) {
			const struct ex *x = prove_ex_replace(e->pool, next, p->leaf, v[1 + i]);
			goes_around = comes_back(x, ctr, n, true) &&
				      in_iteration(e, x, ctr, n + 1 + i) == v[1 + (i + 1) % n];
		}
		if (!goes_around)
			continue;
		p->nring = (uint8_t)n;
		p->lead = p->init;
		p->ring[0] = v[n];
		for (unsigned i = 1; i < n; i++)
			p->ring[i] = v[i];
		return true;
	}
	return false;
}

/* The value is made of itself, and of others that have a ring: what is it in the next iterations?
 * As a phase, that changes whenever the stage is the first one again. */
static bool find_own_ring(struct ev *e, uint32_t loop, struct ev_phi *p, const struct ex *next)
{
	const struct ex *v = p->init, *ctr = e->loops[loop].ctr;

	/* what is unknown anew in each iteration, as most values are, doesn't come back */
	if (!all_comes_back((struct back){.ctr = ctr, .own = p->leaf, .has_lead = true}, next))
		return false;
	p->lead = NULL;
	for (unsigned n = 0; n < EV_MAX_RING; n++) {
		p->ring[n] = v;
		v = in_iteration(e, prove_ex_replace(e->pool, next, p->leaf, v), ctr, n);
		const struct ex *other = prove_ex_replace(e->pool, next, p->leaf, p->init);
		if (prove_ex_contains(v, ctr) || v->op == EX_PHI)
			return false;
		if (v == p->init && comes_back(other, ctr, n + 1, false)) {
			p->nring = (uint8_t)(n + 1);
			return n > 0;
		}
	}
	return find_lead(e, p, next, ctr);
}

/* The value becomes another cell's, that one a third's, until this one comes back. All of them get
 * their rings at once: what holds of one rests on the others. */
static bool find_exchange(struct ev *e, uint32_t loop, struct ev_phi *p, const struct ex *next)
{
	struct ev_phi *member[EV_MAX_RING + 1] = {p};
	unsigned n = 0;

	do {
		struct ev_phi *to = NULL;
		if (n == EV_MAX_RING || !member[n]->init || member[n]->init->w != p->init->w)
			return false;
		for (uint32_t c = 0; c < e->ncells && !to; c++) {
			struct ev_phi *x = prove_ev_phi_of(e, loop, c);
			if (x && !x->is_null && x->leaf == next)
				to = x;
		}
		if (!to || to->is_solved || to->nring ||
		    to->ring_failures >= EV_MAX_RING_FAILURES || !to->next)
			return false;
		next = to->next;
		member[++n] = to;
	} while (member[n] != p);
	for (unsigned i = 0; i < n && n > 1; i++) {
		member[i]->nring = (uint8_t)n;
		member[i]->lead = NULL;
		for (unsigned k = 0; k < n; k++)
			member[i]->ring[k] = member[(i + k) % n]->init;
	}
	return n > 1;
}

bool prove_ev_try_ring(struct ev *e, uint32_t loop, struct ev_phi *p, const struct ex *next)
{
	p->next = next;
	if (!p->init || p->leaf->op != EX_PHI || p->init->w != next->w ||
	    (!find_own_ring(e, loop, p, next) && !find_exchange(e, loop, p, next))) {
		p->nring = 0;
		return false;
	}
	return true;
}
