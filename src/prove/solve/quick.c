/*
 * quick.c - pairs that need no solver: affine and mixed-radix offsets (check.h).
 *
 * An offset that is a sum of numbers times threadIdx and values that both threads share, none of
 * whose steps can wrap by its bounds, differs between two threads by a sum of the same numbers
 * times the difference of their positions. With one dimension that is looked at directly; with
 * several the numbers must be a mixed radix: each at least what the smaller ones can add up to. By
 * the contract blockIdx.d * blockDim.d + threadIdx.d is one position in the grid.
 *
 * Machine arithmetic is exact modulo any power of two up to its width, so that wrapping, sign
 * extension and the order of additions don't matter there. Modulo M, terms with a multiple of M
 * vanish, even where the two threads have different values (the iterations of a loop that moves on
 * by whole planes). If what is left are values that both threads share, and positions of thread and
 * block with a mixed radix that fits into M, two different threads never touch a common byte. A
 * value of which each thread has its own is one more digit, where it is bounded: the counter of a
 * loop by the condition of the access.
 *
 * Misses: everything that only a condition keeps apart, residues that differ by a constant,
 * dimensions that the launch leaves open in a residue; the solver is asked then.
 * Costs: linear in the two offsets, at most 33 times, some microseconds.
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

/* A position in the grid: of which dimension, or 3. */
static unsigned position(const struct check *c, const struct ex *v)
{
	return c->o->all_launches ? 3 : prove_ex_position(c->pool, v);
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
	uint64_t sum, m = prove_ex_mask(v->w);
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
		if (v->op == EX_SEXT && v->a[0]->hi > prove_ex_mask(v->a[0]->w) >> 1 &&
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
	if (v->level < (c->level.apart <= RACE_LEVEL_BLOCK ? EX_CTA : EX_GRID) || depth > 20)
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

bool quick_is_shared(const struct check *c, const struct ex *v, const uint8_t *counters)
{
	return is_shared(c, v, counters, 0);
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

static bool is_apart_in_numbers(const struct check *c, const uint8_t *counters)
{
	const struct ex_launch *l = &c->pool->launch;
	struct linear a = {0}, b = {0};
	unsigned na = c->pair.a->mem->bytes, nb = c->pair.b->mem->bytes, dims = 0, which = 0;
	bool is_far = c->level.apart >= RACE_LEVEL_CLUSTER;
	int64_t step[3], radix, width = na > nb ? na : nb;

	if (c->pair.a->off->w != c->pair.b->off->w)
		return false;
	flatten(c, c->pair.a->off, 1, &a, 0);
	flatten(c, c->pair.b->off, 1, &b, 0);
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

/* ---- residues ----------------------------------------------------------------------------- */

#define RESIDUE_TERMS 24
#define RESIDUE_BITS  32

/* Position d of the thread (0 to 2), of its block (3 to 5). */
#define DIGITS 6

struct residue {
	unsigned bits; /* the sum is exact modulo 2^bits */
	uint64_t constant, digit[DIGITS];
	uint32_t n;
	struct {
		const struct ex *v;
		uint64_t times;
	} term[RESIDUE_TERMS];
	bool is_lost;
};

static unsigned zeros(uint64_t v)
{
	return v ? (unsigned)__builtin_ctzll(v) : 64;
}

static void add_residue(struct residue *r, const struct ex *v, uint64_t times)
{
	for (uint32_t i = 0; i < r->n; i++) {
		if (r->term[i].v == v) {
			r->term[i].times += times;
			return;
		}
	}
	if (r->n == RESIDUE_TERMS) {
		r->is_lost = true;
		return;
	}
	r->term[r->n].v = v;
	r->term[r->n++].times = times;
}

static void take_apart(struct residue *r, const struct ex *v, uint64_t times, unsigned depth)
{
	unsigned exact = v->w + zeros(times);

	if (depth > 60 || r->is_lost) {
		r->is_lost = true;
		return;
	}
	if (exact < r->bits)
		r->bits = exact;
	switch ((enum ex_op)v->op) {
	case EX_CONST:
		r->constant += v->imm * times;
		return;
	case EX_SPEC:
		if (v->imm <= EX_TID_Z)
			r->digit[v->imm - EX_TID_X] += times;
		else if (v->imm >= EX_CTAID_X && v->imm <= EX_CTAID_Z)
			r->digit[3 + v->imm - EX_CTAID_X] += times;
		else
			add_residue(r, v, times);
		return;
	case EX_ADD:
		take_apart(r, v->a[0], times, depth + 1);
		take_apart(r, v->a[1], times, depth + 1);
		return;
	case EX_SUB:
		take_apart(r, v->a[0], times, depth + 1);
		take_apart(r, v->a[1], 0 - times, depth + 1);
		return;
	case EX_MUL:
		if (v->a[1]->op == EX_CONST)
			take_apart(r, v->a[0], times * v->a[1]->imm, depth + 1);
		else
			add_residue(r, v, times);
		return;
	case EX_SHL:
		if (v->a[1]->op == EX_CONST && v->a[1]->imm < 64)
			take_apart(r, v->a[0], times << v->a[1]->imm, depth + 1);
		else
			add_residue(r, v, times);
		return;
	case EX_ZEXT:
	case EX_SEXT:
	case EX_TRUNC:
		take_apart(r, v->a[0], times, depth + 1);
		return;
	case EX_IND:
		if (v->a[1]->op != EX_CONST) {
			add_residue(r, v, times);
			return;
		}
		take_apart(r, v->a[0], times, depth + 1);
		add_residue(r, v->a[2], times * v->a[1]->imm);
		return;
	default:
		add_residue(r, v, times);
	}
}

static uint64_t times_of(const struct residue *r, const struct ex *v)
{
	for (uint32_t i = 0; i < r->n; i++)
		if (r->term[i].v == v)
			return r->term[i].times;
	return 0;
}

/* A number of which each thread has its own, times a step. */
struct digit {
	uint64_t step, most;
	bool is_done;
};

struct digits {
	struct digit v[DIGITS + RESIDUE_TERMS];
	unsigned n;
};

/* The largest counter with which c holds, where a conjunction says so: start + step * k < bound,
 * with a start and steps that don't wrap. */
static uint64_t counter_below(const struct ex *c, const struct ex *ctr, unsigned depth)
{
	bool is_not = c->op == EX_NOT;
	const struct ex *t = is_not ? c->a[0] : c;

	if (depth > 40)
		return UINT64_MAX;
	if (c->op == EX_AND && c->w == 1) {
		uint64_t x = counter_below(c->a[0], ctr, depth + 1);
		uint64_t y = counter_below(c->a[1], ctr, depth + 1);
		return x < y ? x : y;
	}
	if (t->op != EX_ULT && t->op != EX_SLT)
		return UINT64_MAX;
	/* v < bound, or !(bound < v) */
	const struct ex *v = t->a[is_not], *bound = t->a[!is_not];
	uint64_t half = prove_ex_mask(v->w) >> 1, most = bound->hi - !is_not;
	bool is_unsigned = t->op == EX_ULT;
	while (v->op == EX_SEXT || v->op == EX_ZEXT) {
		is_unsigned = v->op == EX_ZEXT;
		half = prove_ex_mask(v->a[0]->w) >> 1;
		v = v->a[0];
	}
	/* signed ones that only rise from 0 or more are alike in both comparisons */
	bool is_kept = v->op == EX_IND && v->a[2] == ctr &&
		       (v->imm == EX_IND_SIGNED || (v->imm == EX_IND_UNSIGNED && is_unsigned)) &&
		       v->a[1]->op == EX_CONST && v->a[1]->imm && v->a[1]->imm <= half &&
		       v->a[0]->hi <= half && v->a[0]->lo <= most;
	if (!is_kept || (!is_not && !bound->hi) ||
	    (t->op == EX_SLT && bound->hi > prove_ex_mask(bound->w) >> 1))
		return UINT64_MAX;
	return (most - v->a[0]->lo) / v->a[1]->imm;
}

/* How far the values of a term in two threads may lie apart. */
static uint64_t spread_of(const struct check *c, const struct ex *v)
{
	if (v->op == EX_CTR) {
		uint64_t x = counter_below(c->pair.a->guard, v, 0),
			 y = counter_below(c->pair.b->guard, v, 0);
		return x > y ? x : y;
	}
	return v->hi - v->lo;
}

/*
 * Modulo the mask + 1: each term vanishes, or comes the same number of times in both. Terms that
 * aren't one value in both threads become digits.
 */
static bool has_same_terms(const struct check *c, const struct residue *a, const struct residue *b,
			   const uint8_t *counters, uint64_t mask, struct digits *out)
{
	for (uint32_t i = 0; i < a->n; i++) {
		const struct ex *v = a->term[i].v;
		uint64_t x = a->term[i].times & mask, y = times_of(b, v) & mask;
		if (x != y)
			return false;
		if (x && !is_shared(c, v, counters, 0))
			out->v[out->n++] = (struct digit){.step = x, .most = spread_of(c, v)};
	}
	for (uint32_t i = 0; i < b->n; i++)
		if ((b->term[i].times & mask) && !(times_of(a, b->term[i].v) & mask))
			return false;
	return true;
}

/*
 * Do the digits make different sums modulo 2^bits, further apart than an access is wide? The
 * smallest number comes first, each must be at least what the smaller ones add up to, and one more
 * access must fit between the largest sum and M.
 */
static bool has_radix(struct digits *d, unsigned bits, uint64_t width)
{
	uint64_t mask = prove_ex_mask(bits), radix = width;

	for (unsigned n = 0; n < d->n; n++) {
		struct digit *best = NULL;
		for (unsigned i = 0; i < d->n; i++) {
			struct digit *x = &d->v[i];
			if (!n && x->step > mask - x->step + 1) /* down as well as up */
				x->step = mask - x->step + 1;
			if (!x->is_done && (!best || x->step < best->step))
				best = x;
		}
		if (best->step < radix || best->most > (mask - radix + 1) / best->step)
			return false;
		radix += best->step * best->most;
		best->is_done = true;
	}
	return true;
}

/* The positions that differ between the two threads. False: there is none, or one doesn't count. */
static bool add_positions(const struct check *c, const struct residue *r, uint64_t mask,
			  struct digits *out)
{
	const struct ex_launch *l = &c->pool->launch;
	bool is_far = c->level.apart >= RACE_LEVEL_CLUSTER, found = false;

	for (unsigned d = 0; d < DIGITS; d++) {
		if (l->max[d] <= 1 || (d >= 3 && !is_far))
			continue;
		if (!(r->digit[d] & mask))
			return false;
		out->v[out->n++] = (struct digit){r->digit[d] & mask, l->max[d] - 1, false};
		found = true;
	}
	return found;
}

static bool is_apart_in_residue(const struct check *c, const uint8_t *counters)
{
	struct residue a = {.bits = RESIDUE_BITS}, b = {.bits = RESIDUE_BITS};
	uint64_t na = c->pair.a->mem->bytes, nb = c->pair.b->mem->bytes;

	take_apart(&a, c->pair.a->off, 1, 0);
	take_apart(&b, c->pair.b->off, 1, 0);
	if (a.is_lost || b.is_lost)
		return false;
	for (unsigned bits = a.bits < b.bits ? a.bits : b.bits; bits > 1; bits--) {
		uint64_t mask = prove_ex_mask(bits);
		bool is_alike = (a.constant & mask) == (b.constant & mask);
		for (unsigned d = 0; d < DIGITS && is_alike; d++)
			is_alike = (a.digit[d] & mask) == (b.digit[d] & mask);
		struct digits d = {.n = 0};
		if (is_alike && add_positions(c, &a, mask, &d) &&
		    has_same_terms(c, &a, &b, counters, mask, &d) &&
		    has_radix(&d, bits, na > nb ? na : nb))
			return true;
	}
	return false;
}

bool prove_quick_is_apart(struct check *c, const uint8_t *counters)
{
	return is_apart_in_numbers(c, counters) || is_apart_in_residue(c, counters) ||
	       linear_is_apart(c, counters) || digits_are_apart(c, counters, false);
}

/* ---- roots --------------------------------------------------------------------------------- */

/* The arrays of two parameters don't overlap: a part of the contract. */
static void assume_disjoint(struct check *c, uint64_t x, uint64_t y)
{
	uint64_t low = x < y ? x : y, high = x < y ? y : x;

	for (unsigned i = 0; i < c->assumed.ndisjoint; i++)
		if (c->assumed.disjoint[i][0] == low && c->assumed.disjoint[i][1] == high)
			return;
	if (c->assumed.ndisjoint == CHECK_DISJOINT) {
		c->assumed.has_others_disjoint = true;
		return;
	}
	c->assumed.disjoint[c->assumed.ndisjoint][0] = low;
	c->assumed.disjoint[c->assumed.ndisjoint++][1] = high;
}

/* By the contract the arrays of two pointers, or a variable and such an array, are apart. */
static void note_apart(struct check *c, const struct ev_root *x, const struct ev_root *y)
{
	if (x->kind == EV_ROOT_LOADED || y->kind == EV_ROOT_LOADED)
		c->assumed.has_slots_disjoint = true;
	else if (x->kind == EV_ROOT_PARAM && y->kind == EV_ROOT_PARAM)
		assume_disjoint(c, x->id, y->id);
	else
		c->assumed.has_others_disjoint |= x->kind != y->kind;
}

/* May another pointer lead to memory that malloc gave? Its address may have been stored. */
static bool may_be_new(const struct ev *e, const struct ev_root *r)
{
	if (r->kind == EV_ROOT_UNKNOWN)
		return r->id != IR_SHARED;
	return r->kind == EV_ROOT_LOADED && !r->slot &&
	       (e->is_new_known || prove_ev_is_generic(e, r));
}

/* One of the pair accesses memory that malloc gave. */
static bool may_alias_new(struct check *c, const struct ev_root *x, const struct ev_root *y)
{
	struct check_pair *p = &c->pair;

	p->is_forced = true;
	if (!x->is_new || !y->is_new)
		return may_be_new(c->e, x->is_new ? y : x);
	p->is_new = x->base->level < EX_GRID && y->base->level < EX_GRID;
	return x->base->level != EX_THREAD || y->base->level != EX_THREAD;
}

bool prove_quick_may_at_level(struct check *c)
{
	bool is_far = c->level.apart >= RACE_LEVEL_CLUSTER;

	if (c->pair.is_of_block && !is_far)
		c->pair.is_forced = false;
	return !c->pair.is_new || !is_far;
}

bool prove_quick_may_alias(struct check *c)
{
	struct check_pair *p = &c->pair;
	const struct ev_access *a = p->a, *b = p->b;
	const struct ev_root *x = &a->root, *y = &b->root;
	bool is_alike = a->off->w == b->off->w;

	/* a loaded pointer is one place only if it is the same in all threads and iterations */
	if (x->kind != EV_ROOT_UNKNOWN && prove_ev_same_root(x, y) && is_alike &&
	    (x->kind != EV_ROOT_LOADED || (x->base->level == EX_GRID && !x->base->has_ctr)))
		return true;
	p->is_of_block = prove_ev_same_root(x, y) && is_alike && x->kind == EV_ROOT_LOADED &&
			 !x->slot && x->base->level >= EX_CTA && !x->base->has_ctr;
	if (p->is_of_block) {
		p->is_new = x->is_new;
		p->is_forced = true; /* prove_quick_may_at_level */
		return true;
	}
	if (x->is_new || y->is_new)
		return may_alias_new(c, x, y);
	if (a->is_shared != b->is_shared && !prove_ev_is_generic(c->e, x) &&
	    !prove_ev_is_generic(c->e, y))
		return false;
	switch (prove_ev_alias(x, y)) {
	case EV_APART:
		p->is_forced = c->o->may_alias && !a->is_shared && !b->is_shared &&
			       (x->kind != EV_ROOT_OBJECT || y->kind != EV_ROOT_OBJECT);
		if (!p->is_forced && !a->is_shared && !b->is_shared)
			note_apart(c, x, y);
		return p->is_forced;
	case EV_BY_SLOT:
		p->slot[0] = x->slot;
		p->slot[1] = y->slot;
		p->are_slots_apart = x->is_apart && y->is_apart && !c->o->may_alias;
		c->assumed.has_slots_disjoint |= p->are_slots_apart;
		p->is_forced = !is_alike;
		return true;
	default:
		p->is_forced = true;
		return true;
	}
}
