/*
 * loop.c - values that a loop carries from one iteration to the next (eval.h).
 *
 * A cell that the body leaves as it found it plus a step that is the same in every iteration is an
 * induction: start + step * counter. Any other one is a function of the counter that isn't known
 * (EX_PHI) with a level, bounds, and the pair (start, next) from which the queries draw facts.
 * Everything is guessed first and checked at the end of the turn: a wrong guess is taken back and
 * the kernel evaluated anew (prove_ev_run).
 *
 * Its low bits may be one alone, as those of an int that is kept in 64 bits and gets a step of
 * size_t: the bits above are unknown then, or widen it.
 *
 * One that is multiplied or divided by a power of two in each iteration keeps its leaf, which the
 * integers need for their facts, and has a closed form beside it for the bit-vectors: the start
 * shifted by a multiple of the counter.
 *
 * One that moves until it is something, and stays there, is one of both (stop.c).
 *
 * One that is set anew from an induction is that one, or its low bits (twin.c).
 *
 * One that comes back to its start after a few iterations is a choice by the counter's remainder
 * (cycle.c).
 *
 * The last iteration's number is one where the loop ends for the same number whatever the rest: a
 * loop around it has an induction then, whose step is a multiple.
 *
 * An induction that a comparison of the loop's exit bounds doesn't wrap before the exit, by the
 * launch contract; with a step of 1 and a strict comparison that is a fact.
 */
#include "prove/eval.h"

#define MAX_WIDENED	   4
#define TURNS_BEFORE_GUESS 2
#define MAX_TRIPS	   64
#define MAX_STOP_FAILURES  3
#define MAX_TRIP_CHANGES   7 /* what ends it may not have settled */

static bool is_byte(const struct ev *e, uint32_t cell)
{
	return cell >= e->nregcells;
}

bool prove_ev_changes_page(const struct ev *e, uint32_t loop, uint32_t page)
{
	for (uint32_t c = page * EV_PAGE; c < (page + 1) * EV_PAGE && c < e->ncells; c++)
		if (prove_ev_phi_of(e, loop, c))
			return true;
	return false;
}

/* The counters that a value made in `loop` depends on, innermost first. */
static uint32_t counters(const struct ev *e, uint32_t loop, const struct ex **a)
{
	uint32_t n = 0;

	for (; loop != IR_NONE && n < 8; loop = e->ir->loops[loop].parent)
		a[n++] = e->loops[loop].ctr;
	return n;
}

static unsigned reg_width(const struct ev *e, uint32_t cell)
{
	return is_byte(e, cell) ? 8 : e->ir->width.v[e->reg_of_cell[cell]];
}

#define HIGH_BITS (1ull << 62) /* identities of what lies above an induction's bits */

static const struct ex *low_of(struct ev *e, const struct ex *v, const struct ev_phi *p)
{
	return prove_ev_low_bits(e, v, p->step->w);
}

/* The induction that p is, or that its low bits are. */
static const struct ex *solved(struct ev *e, uint64_t id, const struct ev_phi *p,
			       struct ex_args counters, uint32_t loop)
{
	struct ex_pool *pool = e->pool;
	unsigned w = p->init->w, n = p->step->w;
	const struct ex *low = prove_ex_ind(pool, (enum prove_ex_ind)p->kind, low_of(e, p->init, p),
					    p->step, e->loops[loop].ctr);

	if (w == n || p->widening)
		return prove_ex_un(pool, w == n ? EX_TRUNC : (enum ex_op)p->widening, w, low);
	const struct ex *high = prove_ex_leaf(pool, EX_VAR, w - n, HIGH_BITS | id, EX_THREAD,
					      prove_ex_full(w - n), counters);
	high = prove_ex_bin(pool, EX_MUL, prove_ex_un(pool, EX_ZEXT, w, high),
			    prove_ex_const(pool, w, 1ull << n));
	return prove_ex_bin(pool, EX_ADD, prove_ex_un(pool, EX_ZEXT, w, low), high);
}

struct ev_cell prove_ev_header_cell(struct ev *e, uint32_t loop, uint32_t cell, struct ev_cell init)
{
	struct ev_phi *p = prove_ev_phi_of(e, loop, cell);
	const struct ex *a[8];

	if (!p)
		return init;
	if (p->is_null || (!init.v && is_byte(e, cell)))
		return (struct ev_cell){NULL, 0};
	unsigned w = init.v ? init.v->w : reg_width(e, cell);
	if (init.at) { /* a byte inside a value: the first byte decides */
		struct ev_phi *b = prove_ev_phi_of(e, loop, cell - init.at);
		if (init.at > cell || !b || !b->leaf || b->leaf->w != w || b->is_null) {
			p->is_null = true;
			return (struct ev_cell){NULL, 0};
		}
		return (struct ev_cell){b->leaf, init.at};
	}
	p->init = init.v;
	if (p->nring && init.v == (p->lead ? p->lead : p->ring[0])) {
		p->leaf = prove_ev_ring_value(e, loop, p);
	} else if (p->stop && init.v && init.v->w == p->stop->w) {
		prove_ev_stopped(e, loop, cell, p,
				 (struct ex_args){.n = counters(e, loop, a), .a = a});
	} else if (p->twin && init.v && init.v == prove_ev_twin_value(e, p, p->twin->a[0], w)) {
		p->leaf = prove_ev_twin_value(e, p, p->twin, w);
	} else if (p->is_solved && init.v && init.v->w >= p->step->w) {
		p->leaf = solved(e, (uint64_t)loop * e->ncells + cell, p,
				 (struct ex_args){.n = counters(e, loop, a), .a = a}, loop);
	} else {
		uint32_t n = counters(e, loop, a);
		if (p->turns <= TURNS_BEFORE_GUESS || p->range.hi > prove_ex_mask(w))
			p->range = prove_ex_full(w);
		struct ex_range r = p->range;
		p->leaf = prove_ex_leaf(e->pool, EX_PHI, w, (uint64_t)loop * e->ncells + cell,
					(enum ex_level)p->level, r,
					(struct ex_args){n, a, p->closed != NULL});
	}
	return (struct ev_cell){p->leaf, 0};
}

const struct ex *prove_ev_difference(struct ev *e, const struct ex *v, const struct ex *phi)
{
	const struct ex *d;

	if (v == phi)
		return prove_ex_const(e->pool, v->w, 0);
	if (v->op != EX_ADD && v->op != EX_SUB)
		return NULL;
	d = prove_ev_difference(e, v->a[0], phi);
	if (d)
		return prove_ex_bin(e->pool, (enum ex_op)v->op, d, v->a[1]);
	d = v->op == EX_ADD ? prove_ev_difference(e, v->a[1], phi) : NULL;
	return d ? prove_ex_bin(e->pool, EX_ADD, d, v->a[0]) : NULL;
}

struct bound {
	enum prove_ex_ind kind;
	/* The comparison itself keeps a step of 1 from wrapping; is of another value beside it. */
	bool is_sure, is_next;
};

/* Is x the counter, its next value, or the counter plus a constant, perhaps widened? */
static bool is_counter(const struct ex *x, const struct ex *v, const struct ex *next,
		       bool is_signed, struct bound *out)
{
	out->kind = is_signed ? EX_IND_SIGNED : EX_IND_UNSIGNED;
	out->is_sure = x == v;
	while ((x->op == EX_SEXT || x->op == EX_ZEXT) && x != v && x != next) {
		out->kind = x->op == EX_SEXT ? EX_IND_SIGNED : EX_IND_UNSIGNED;
		x = x->a[0];
	}
	out->is_next = x != v;
	return x == v || x == next || (x->op == EX_ADD && x->a[1]->op == EX_CONST && x->a[0] == v);
}

/*
 * Does "the loop goes on" hold the counter below (is_down: above) something? Only terms that must
 * all hold count; the comparison's type says what doesn't wrap.
 */
static bool bounded_by(const struct ex *c, const struct ex *v, const struct ex *next, bool is_down,
		       struct bound *out)
{
	bool is_not = c->op == EX_NOT;
	const struct ex *t = is_not ? c->a[0] : c;

	if (!is_not && c->op == EX_AND && c->w == 1)
		return bounded_by(c->a[0], v, next, is_down, out) ||
		       bounded_by(c->a[1], v, next, is_down, out);
	if (t->op != EX_ULT && t->op != EX_SLT)
		return false;
	/* v < b and !(b < v) hold it below, b < v and !(v < b) above */
	if (!is_counter(t->a[is_down != is_not], v, next, t->op == EX_SLT, out)) {
		out->kind = EX_IND_WRAPS;
		return false;
	}
	out->is_sure &= !is_not;
	return true;
}

/* Guesses that the value's low w bits are an induction. */
static bool try_solve_low(struct ev *e, uint32_t loop, struct ev_phi *p, const struct ex *next,
			  unsigned w)
{
	const struct ex *low = prove_ev_low_bits(e, p->leaf, w);
	next = prove_ev_low_bits(e, next, w);
	const struct ex *step = prove_ev_difference(e, next, low);
	struct bound bound = {EX_IND_WRAPS, false, false};
	if (!step || prove_ex_contains(step, e->loops[loop].ctr))
		return false;
	bool is_down = prove_ex_is_down(step);
	bool is_one =
		step->op == EX_CONST && (step->imm == 1 || step->imm == prove_ex_mask(step->w));
	if (bounded_by(e->loops[loop].back, low, next, is_down, &bound)) {
		bool is_fact = is_one && bound.is_sure;
		if (!is_fact && e->may_wrap)
			bound.kind = EX_IND_WRAPS;
		else
			e->loops[loop].is_assumed |= !is_fact;
		e->loops[loop].tested = bound.is_next ? p : e->loops[loop].tested;
	}
	p->is_solved = true;
	p->step = step;
	p->kind = (uint8_t)bound.kind;
	return true;
}

static bool is_widened(struct ev *e, const struct ex *v, unsigned from, enum ex_op op)
{
	const struct ex *low = prove_ev_low_bits(e, v, from);

	return v == prove_ex_un(e->pool, op, v->w, low);
}

/* The same of all of it, or of half of it and so on. */
static bool try_solve(struct ev *e, uint32_t loop, struct ev_phi *p, const struct ex *next)
{
	static const uint8_t widenings[] = {EX_ZEXT, EX_SEXT};

	unsigned w = next->w;

	if (!p->init || p->init->w != w)
		return false;
	for (bool is_first = true; is_first || w >= 8; w /= 2, is_first = false) {
		if (!try_solve_low(e, loop, p, next, w))
			continue;
		p->widening = 0;
		for (unsigned i = 0; i < BASE_COUNTOF(widenings) && w < next->w; i++)
			if (is_widened(e, p->init, w, (enum ex_op)widenings[i]) &&
			    is_widened(e, next, w, (enum ex_op)widenings[i]))
				p->widening = widenings[i];
		return true;
	}
	return false;
}

/* Does an iteration still make of it what was guessed? */
static bool keeps_step(struct ev *e, const struct ev_phi *p, const struct ex *next)
{
	return prove_ev_difference(e, low_of(e, next, p), low_of(e, p->leaf, p)) == p->step &&
	       (!p->widening || is_widened(e, next, p->step->w, (enum ex_op)p->widening));
}

/* Guesses that the value is an induction until it comes to an end. */
static bool try_stop(struct ev *e, uint32_t loop, struct ev_phi *p, const struct ex *next)
{
	const struct ex *end, *moved, *step;

	if (p->stop_failures == MAX_STOP_FAILURES || p->leaf->op != EX_PHI || !p->init ||
	    p->init->w != next->w || !prove_ev_find_stop(e, loop, p->leaf, next, &end, &moved))
		return false;
	step = prove_ev_difference(e, moved, p->leaf);
	if (!step || prove_ex_contains(step, e->loops[loop].ctr))
		return false;
	p->stop = end;
	p->step = step;
	return true;
}

/* Is what an iteration makes of the value the end, or what moves, one step on? */
static bool keeps_stop(struct ev *e, const struct ev_phi *p, const struct ex *next)
{
	const struct ex *moving = p->moving, *step = p->step;

	if (next->op == EX_ITE && next->a[2] == p->stop) {
		moving = prove_ev_under(e, moving, next->a[0]);
		step = prove_ev_under(e, step, next->a[0]);
		next = prove_ev_under(e, next->a[1], next->a[0]);
	}
	return next == p->stop || prove_ev_difference(e, next, moving) == step;
}

uint64_t prove_ev_bound_of(const struct ex *c, const struct ex *v, unsigned depth)
{
	if (depth > 40)
		return UINT64_MAX;
	if ((c->op == EX_ULT || c->op == EX_SLT) && c->a[0] == v && c->a[1]->hi)
		return c->op == EX_SLT && c->a[1]->hi > prove_ex_mask(v->w) >> 1 ? UINT64_MAX
										 : c->a[1]->hi - 1;
	if (c->op == EX_NOT && (c->a[0]->op == EX_ULT || c->a[0]->op == EX_SLT) &&
	    c->a[0]->a[1] == v && c->a[0]->a[0]->hi <= prove_ex_mask(v->w) >> 1)
		return c->a[0]->a[0]->hi; /* !(bound < v) */
	if (c->op == EX_AND && c->w == 1) {
		uint64_t x = prove_ev_bound_of(c->a[0], v, depth + 1),
			 y = prove_ev_bound_of(c->a[1], v, depth + 1);
		return x < y ? x : y;
	}
	return UINT64_MAX;
}

/* Bounds that hold by themselves: values that only shrink, or grow by factors below a bound. */
static struct ex_range range_of(const struct ev *e, uint32_t loop, const struct ev_phi *p,
				const struct ex *next)
{
	const struct ex *v = p->leaf, *x = p->init;
	struct ex_range r = prove_ex_full(v->w);
	uint64_t half = prove_ex_mask(v->w) >> 1;

	if (!x || !next || next->w != v->w)
		return r;
	bool shrinks = next->n && next->a[0] == v &&
		       (next->op == EX_LSHR || next->op == EX_AND ||
			((next->op == EX_UDIV || next->op == EX_UREM) && next->a[1]->lo));
	bool shrinks_signed =
		next->n == 2 && next->a[0] == v && x->hi <= half &&
		(next->op == EX_ASHR || (next->op == EX_SDIV && next->a[1]->op == EX_CONST &&
					 next->a[1]->imm <= half && next->a[1]->imm));
	if (shrinks || shrinks_signed)
		r.hi = x->hi;
	if (next->op == EX_MUL && next->a[0] == v && next->a[1]->op == EX_CONST && x->hi <= half) {
		uint64_t b = prove_ev_bound_of(e->loops[loop].back, v, 0), c = next->a[1]->imm, top;
		if (b <= half && c && !__builtin_mul_overflow(b, c, &top) && top <= half) {
			r.lo = x->lo;
			r.hi = top > x->hi ? top : x->hi;
		}
	}
	return r;
}

/* init shifted by `by` bits in each iteration; by the width or more is as much as it can be. */
static const struct ex *shifted(struct ev *e, enum ex_op op, const struct ex *init, unsigned by,
				const struct ex *ctr)
{
	struct ex_pool *p = e->pool;
	const struct ex *n = prove_ex_bin(p, EX_MUL, ctr, prove_ex_const(p, ctr->w, by));
	const struct ex *most = prove_ex_const(p, init->w, init->w);
	const struct ex *is_small =
		prove_ex_bin(p, EX_ULT, ctr, prove_ex_const(p, ctr->w, init->w));

	return prove_ex_bin(p, op, init,
			    prove_ex_ite(p, is_small, prove_ex_un(p, EX_TRUNC, init->w, n), most));
}

/* The value that is times or shifted by 2^k in each iteration, as a function of the counter. */
static const struct ex *closed_form(struct ev *e, uint32_t loop, const struct ev_phi *p,
				    const struct ex *next)
{
	static const struct {
		uint8_t op, closed;
	} forms[] = {{EX_MUL, EX_SHL}, {EX_UDIV, EX_LSHR}, {EX_ASHR, EX_ASHR}};

	if (!next || !p->init || next->n != 2 || next->a[0] != p->leaf || p->init->w != next->w ||
	    next->w < 8 || next->a[1]->op != EX_CONST)
		return NULL;
	uint64_t c = next->a[1]->imm;
	for (size_t i = 0; i < BASE_COUNTOF(forms); i++) {
		if (next->op != forms[i].op)
			continue;
		if (next->op != EX_ASHR && (!c || c & (c - 1)))
			return NULL;
		unsigned by = next->op == EX_ASHR ? (unsigned)c : (unsigned)__builtin_ctzll(c);
		return by && by < next->w ? shifted(e, (enum ex_op)forms[i].closed, p->init, by,
						    e->loops[loop].ctr)
					  : NULL;
	}
	return NULL;
}

static bool is_within(struct ex_range r, struct ex_range outer)
{
	return r.lo >= outer.lo && r.hi <= outer.hi;
}

/*
 * The bounds are guessed to be the start's, and widened to what an iteration makes of them until
 * they hold; where that takes too long, those that hold by themselves remain. Not in the first
 * turns: a narrow guess would make constants of the comparisons that bound inductions.
 */
static void check_range(struct ev *e, uint32_t loop, struct ev_phi *p, const struct ex *next)
{
	struct ex_range own = range_of(e, loop, p, next), r = prove_ex_full(p->leaf->w);

	if (next && p->init && next->w == p->leaf->w && p->init->w == p->leaf->w) {
		r.lo = next->lo < p->init->lo ? next->lo : p->init->lo;
		r.hi = next->hi > p->init->hi ? next->hi : p->init->hi;
	}
	if (p->turns <= TURNS_BEFORE_GUESS) {
		p->range = p->init ? (struct ex_range){p->init->lo, p->init->hi} : r;
		p->turns++;
		e->is_changed = true;
		return;
	}
	if (is_within(r, p->range) || is_within(own, p->range))
		return;
	if (p->turns < TURNS_BEFORE_GUESS + MAX_WIDENED) {
		p->range.lo = r.lo < p->range.lo ? r.lo : p->range.lo;
		p->range.hi = r.hi > p->range.hi ? r.hi : p->range.hi;
	} else {
		p->range = p->turns < TURNS_BEFORE_GUESS + 2 * MAX_WIDENED
				   ? own
				   : prove_ex_full(p->leaf->w);
	}
	if (p->turns < 250)
		p->turns++;
	e->is_changed = true;
}

static void check_unsolved(struct ev *e, uint32_t loop, struct ev_phi *p, const struct ex *next)
{
	uint8_t level = EX_THREAD;

	if (next && p->init && next->w == p->leaf->w)
		level = next->level < p->init->level ? next->level : p->init->level;
	p->next = next;
	if (level < p->level) {
		p->level = level;
		e->is_changed = true;
	}
	const struct ex *closed = closed_form(e, loop, p, next);
	if (closed != p->closed) {
		p->closed = closed;
		e->is_changed = true;
	}
	check_range(e, loop, p, next);
}

static void check_cell(struct ev *e, uint32_t loop, uint32_t cell, struct ev_cell head,
		       struct ev_cell next)
{
	struct ev_phi *p = prove_ev_phi_of(e, loop, cell);

	if (!p) {
		if (head.v == next.v && (head.at == next.at || !head.v))
			return;
		p = BASE_NEW(e->arena, struct ev_phi);
		p->level = EX_GRID;
		e->phi[(size_t)loop * e->ncells + cell] = p;
		e->is_changed = true;
		return;
	}
	if (!head.v)
		return;
	bool fits = next.v && next.at == head.at && next.v->w == head.v->w;
	if (is_byte(e, cell) && !fits) {
		p->is_null = true;
		e->is_changed = true;
		return;
	}
	if (head.at)
		return;
	if (p->nring) {
		if (fits && prove_ev_keeps_ring(e, loop, p, next.v))
			return;
		p->nring = 0;
		p->ring_failures++;
		e->is_changed = true;
	} else if (p->stop) {
		if (fits && p->leaf->op == EX_ITE && p->leaf->a[1] == p->moving &&
		    keeps_stop(e, p, next.v)) {
			uint32_t was = p->moves;
			p->moves = prove_ev_count_moves(e, p, next.v);
			e->is_changed |= p->moves != was;
			if (p->moves == was || !was)
				return;
		}
		p->stop = NULL;
		p->moves = 0;
		p->stop_failures++;
		e->is_changed = true;
	} else if (p->twin) {
		if (fits && p->leaf == prove_ev_twin_value(e, p, p->twin, p->leaf->w) &&
		    prove_ev_keeps_twin(e, p, p->twin, next.v))
			return;
		p->twin = NULL;
		p->twin_failures++;
		e->is_changed = true;
	} else if (p->is_solved) {
		if (fits && keeps_step(e, p, next.v))
			return;
		p->is_solved = false;
		p->is_failed = true;
		e->is_changed = true;
	} else if (!p->is_failed && fits && try_solve(e, loop, p, next.v)) {
		e->is_changed = true;
	} else if (fits &&
		   (prove_ev_try_twin(e, loop, p, next.v) || try_stop(e, loop, p, next.v))) {
		e->is_changed = true;
	} else if (p->ring_failures < EV_MAX_RING_FAILURES && fits &&
		   prove_ev_try_ring(e, loop, p, next.v)) {
		e->is_changed = true;
	} else {
		check_unsolved(e, loop, p, fits ? next.v : NULL);
	}
}

/* Whether the loop goes on in iteration n, with the closed forms put in. */
static const struct ex *goes_on(struct ev *e, uint32_t loop, uint64_t n)
{
	const struct ex *at = prove_ex_const(e->pool, 64, n), *c = e->loops[loop].back;

	for (uint32_t i = 0; i < e->ncells; i++) {
		const struct ev_phi *p = prove_ev_phi_of(e, loop, i);
		if (p && p->closed && p->leaf && p->leaf->op == EX_PHI &&
		    prove_ex_contains(c, p->leaf))
			c = prove_ex_replace(
				e->pool, c, p->leaf,
				prove_ex_replace(e->pool, p->closed, e->loops[loop].ctr, at));
	}
	return prove_ex_replace(e->pool, c, e->loops[loop].ctr, at);
}

/*
 * The iteration after which "the loop goes on" fails, where it says that x isn't b and x moves in
 * constant steps onto it, as in a loop that was unrolled: 784, 780, ... down to 0. Or
 * EV_MAX_COUNTER.
 */
static uint64_t end_of(const struct ex *c, const struct ex *ctr)
{
	const struct ex *t = c->op == EX_NOT ? c->a[0] : NULL;

	if (c->op == EX_AND && c->w == 1) {
		uint64_t x = end_of(c->a[0], ctr), y = end_of(c->a[1], ctr);
		return x < y ? x : y;
	}
	for (unsigned i = 0; t && t->op == EX_EQ && i < 2; i++) {
		const struct ex *v = t->a[i], *b = t->a[!i];
		uint64_t more = 0, mask = prove_ex_mask(v->w);
		if (v->op == EX_ADD && v->a[1]->op == EX_CONST) {
			more = v->a[1]->imm;
			v = v->a[0];
		}
		if (v->op != EX_IND || v->a[2] != ctr || v->a[0]->op != EX_CONST ||
		    v->a[1]->op != EX_CONST || b->op != EX_CONST || !v->a[1]->imm)
			continue;
		uint64_t way = (b->imm - v->a[0]->imm - more) & mask, step = v->a[1]->imm;
		if (step > mask >> 1) {
			step = (0 - step) & mask;
			way = (0 - way) & mask;
		}
		/* the first time around: before it comes to b it doesn't wrap */
		if (!(way % step))
			return way / step;
	}
	return EV_MAX_COUNTER;
}

static uint8_t trips_of(struct ev *e, uint32_t loop)
{
	const struct ev_loop *l = &e->loops[loop];

	for (uint64_t n = 0; n < MAX_TRIPS; n++) {
		const struct ex *at = prove_ex_const(e->pool, 64, n);
		const struct ex *back = prove_ex_replace(e->pool, l->back, l->ctr, at);
		const struct ex *leave = prove_ex_replace(e->pool, l->leave, l->ctr, at);
		if (back->op != EX_CONST || leave->op != EX_CONST || back->imm == leave->imm)
			return 0;
		if (leave->imm & 1)
			return (uint8_t)(n + 1);
	}
	return 0;
}

/* What the loops around carry may be inductions, now that this one ends for a number. */
static void try_again(struct ev *e, uint32_t loop)
{
	for (uint32_t l = e->ir->loops[loop].parent; l != IR_NONE; l = e->ir->loops[l].parent)
		for (uint32_t i = 0; i < e->ncells; i++) {
			struct ev_phi *p = prove_ev_phi_of(e, l, i);
			if (p)
				p->is_failed = false;
		}
}

void prove_ev_count_trips(struct ev *e, uint32_t loop)
{
	struct ev_loop *l = &e->loops[loop];
	uint8_t trips = l->changes < MAX_TRIP_CHANGES ? trips_of(e, loop) : 0;

	if (trips == l->trips)
		return;
	l->trips = trips;
	l->changes++;
	e->is_changed = true;
	if (trips)
		try_again(e, loop);
}

void prove_ev_bound_counter(struct ev *e, uint32_t loop)
{
	bool has_closed = false;

	e->loops[loop].last = end_of(e->loops[loop].back, e->loops[loop].ctr);
	if (e->loops[loop].trips) {
		e->loops[loop].last = e->loops[loop].trips - 1u;
		return;
	}
	for (uint32_t i = 0; i < e->ncells; i++)
		has_closed |= prove_ev_phi_of(e, loop, i) && prove_ev_phi_of(e, loop, i)->closed &&
			      !prove_ev_phi_of(e, loop, i)->is_solved;
	/* shifted by 64 bits it is what it will always be */
	for (uint64_t n = 0; n < 64 && has_closed; n++) {
		const struct ex *c = goes_on(e, loop, n);
		if (c->op != EX_CONST)
			return;
		if (!(c->imm & 1)) {
			if (n < e->loops[loop].last)
				e->loops[loop].last = n;
			return;
		}
	}
}

/* Do all ways around the loop leave this page as its header has it? */
static bool keeps_page(const struct ev *e, uint32_t loop, uint32_t page)
{
	const struct ir_loop *l = &e->ir->loops[loop];
	const struct ir_block *h = &e->ir->blocks.v[l->header];

	for (uint32_t k = 0; k < h->npred; k++)
		if (prove_ir_in_loop(l, h->pred[k]) &&
		    e->out[h->pred[k]].page[page] != e->in[l->header].page[page])
			return false;
	return !prove_ev_changes_page(e, loop, page);
}

void prove_ev_check_loop(struct ev *e, uint32_t loop)
{
	const struct ir_loop *l = &e->ir->loops[loop];
	const struct ir_block *h = &e->ir->blocks.v[l->header];

	for (uint32_t c = 0; c < e->ncells; c++) {
		struct ev_cell next = {NULL, 0};
		bool first = true;
		if (c % EV_PAGE == 0 && keeps_page(e, loop, c / EV_PAGE)) {
			c += EV_PAGE - 1;
			continue;
		}
		for (uint32_t k = 0; k < h->npred; k++) {
			if (!prove_ir_in_loop(l, h->pred[k]))
				continue;
			struct ev_cell v = prove_ev_cell(&e->out[h->pred[k]], c);
			v.v = prove_ev_leave(e, v.v, h->pred[k], l->header);
			if (!first && (v.v != next.v || v.at != next.at))
				v.v = NULL; /* several ways around that differ */
			next = v;
			first = false;
		}
		check_cell(e, loop, c, prove_ev_cell(&e->in[l->header], c), next);
	}
}
