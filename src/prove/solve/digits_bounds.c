/*
 * digits_bounds.c - what values can be by the bounds of their parts and by guards (digits_impl.h).
 */
#include "prove/solve/digits_impl.h"

unsigned digits_position(const struct check *c, const struct ex *v)
{
	return c->o->all_launches ? DIMS : prove_ex_position(c->pool, v);
}

/* start + step * counter, by the last iteration; where it might wrap: any. */
static struct span span_of_steps(const struct check *c, const struct facts *f, const struct ex *v,
				 unsigned depth)
{
	struct span any = digits_whole(v->w), x, n;
	int64_t way;

	if (v->a[1]->op != EX_CONST)
		return any;
	x = digits_span(c, f, v->a[0], depth + 1);
	n = digits_span(c, f, v->a[2], depth + 1);
	if (n.lo < 0 || n.hi >= LIMIT ||
	    __builtin_mul_overflow(n.hi, prove_ex_signed(v->a[1]->imm, v->a[1]->w), &way) ||
	    way > LIMIT || way < -LIMIT)
		return any;
	if (digits_is_open(x))
		return any;
	x = (struct span){x.lo + (way < 0 ? way : 0), x.hi + (way > 0 ? way : 0)};
	return digits_is_inside(x, any) ? x : any;
}

bool digits_is_known(const struct check *c, const struct facts *f, const struct ex *v)
{
	struct span x = span_of_steps(c, f, v, 0), any = digits_whole(v->w);

	return x.lo > any.lo || x.hi < any.hi;
}

/* The bounds of a sum or product by those of its parts; where it might wrap: any. */
static struct span span_of_parts(const struct check *c, const struct facts *f, const struct ex *v,
				 unsigned depth)
{
	struct span any = digits_whole(v->w), x, y, r = any;

	if (v->op == EX_IND)
		return span_of_steps(c, f, v, depth);
	if (v->n != 2 && v->op != EX_SEXT && v->op != EX_ZEXT && v->op != EX_TRUNC)
		return any;
	x = digits_span(c, f, v->a[0], depth + 1);
	y = v->n == 2 ? digits_span(c, f, v->a[1], depth + 1) : x;
	switch ((enum ex_op)v->op) {
	case EX_SEXT:
		return x;
	case EX_ZEXT:
		return x.lo >= 0 ? x : any;
	case EX_TRUNC:
		return digits_is_inside(x, any) ? x : any;
	case EX_ADD:
		if (digits_is_open(x) || digits_is_open(y))
			return any;
		r = (struct span){x.lo + y.lo, x.hi + y.hi};
		break;
	case EX_SUB:
		if (digits_is_open(x) || digits_is_open(y))
			return any;
		r = (struct span){x.lo - y.hi, x.hi - y.lo};
		break;
	case EX_MUL:
		if (y.lo < 0 || x.lo < 0 || digits_is_open(x) || digits_is_open(y) ||
		    __builtin_mul_overflow(x.lo, y.lo, &r.lo) ||
		    __builtin_mul_overflow(x.hi, y.hi, &r.hi))
			return any;
		break;
	case EX_UDIV:
	case EX_SDIV:
		if (x.lo < 0 || y.lo <= 0)
			return any;
		r = (struct span){y.hi < LIMIT ? x.lo / y.hi : 0,
				  x.hi < LIMIT ? x.hi / y.lo : any.hi};
		break;
	case EX_UREM:
	case EX_SREM:
		if (x.lo < 0 || y.lo <= 0)
			return any;
		if (y.hi < LIMIT)
			y.hi--;
		r = (struct span){0, x.hi < y.hi ? x.hi : y.hi};
		break;
	default:
		return any;
	}
	return digits_is_inside(r, any) ? r : any;
}

bool digits_are_in_step(const struct ex *x, const struct ex *y, int64_t *gap)
{
	*gap = 0;
	if (x == y)
		return true;
	if (x->op != EX_IND || y->op != EX_IND || x->a[1] != y->a[1] || x->a[2] != y->a[2] ||
	    x->imm != EX_IND_SIGNED || y->imm != EX_IND_SIGNED || x->a[0]->op != EX_CONST ||
	    y->a[0]->op != EX_CONST || x->w != y->w)
		return false;
	*gap = prove_ex_signed(x->a[0]->imm, x->w) - prove_ex_signed(y->a[0]->imm, y->w);
	return true;
}

/*
 * Iterations before one that a loop is in, where it goes on as long as a value that moves by one
 * isn't a number: as many as lie between the two, if that is surely no way around.
 */
static int64_t turns_by(const struct check *c, const struct facts *f, const struct ex *g,
			const struct ex *ctr, unsigned depth)
{
	const struct ex *t = g->op == EX_NOT ? g->a[0] : NULL;

	if (g->op == EX_AND && g->w == 1 && depth < MAX_DEPTH) {
		int64_t x = turns_by(c, f, g->a[0], ctr, depth + 1),
			y = turns_by(c, f, g->a[1], ctr, depth + 1);
		return x < y ? x : y;
	}
	for (unsigned i = 0; t && t->op == EX_EQ && i < 2; i++) {
		const struct ex *v = t->a[i], *end = t->a[!i];
		int64_t more = 0;
		if (v->op == EX_ADD && v->a[1]->op == EX_CONST) {
			more = prove_ex_signed(v->a[1]->imm, v->w);
			v = v->a[0];
		}
		if (v->op != EX_IND || v->a[2] != ctr || v->a[1]->op != EX_CONST ||
		    end->op != EX_CONST)
			continue;
		int64_t step = prove_ex_signed(v->a[1]->imm, v->w);
		struct span from = digits_span(c, f, v->a[0], depth + 1), way;
		int64_t to = prove_ex_signed(end->imm, end->w);
		if (digits_is_open(from) || to < -LIMIT || to > LIMIT || more < -LIMIT ||
		    more > LIMIT)
			continue;
		to -= more;
		way = step < 0 ? (struct span){from.lo - to, from.hi - to}
			       : (struct span){to - from.hi, to - from.lo};
		if ((step == 1 || step == -1) && way.lo >= 0)
			return way.hi;
	}
	return LIMIT;
}

/* A loop's counter, or its last one. */
static struct span span_of_counter(const struct check *c, const struct facts *f, const struct ex *v,
				   unsigned depth)
{
	const struct ev_loop *l = &c->e->loops[v->imm];
	const struct facts none = {.n = 0};
	/* of another iteration of the loops around, what is known of this one says nothing */
	bool is_own = v == l->ctr || v == l->kexit;
	int64_t turns = turns_by(c, is_own ? f : &none, l->back, l->ctr, depth);

	return (struct span){0, l->last < (uint64_t)turns ? (int64_t)l->last : turns};
}

struct span digits_span(const struct check *c, const struct facts *f, const struct ex *v,
			unsigned depth)
{
	struct span r = digits_whole(v->w);

	if (v->op == EX_CONST) {
		int64_t n = prove_ex_signed(v->imm, v->w);
		n = n < -LIMIT ? -LIMIT : n > LIMIT ? LIMIT : n;
		return (struct span){n, n};
	}
	if (v->hi <= (uint64_t)r.hi)
		r = (struct span){(int64_t)v->lo, (int64_t)v->hi};
	if (digits_is_position(c, v))
		r = digits_both(r, (struct span){0, INT32_MAX});
	int64_t gap;
	for (unsigned i = 0; i < f->n; i++)
		if (digits_are_in_step(v, f->v[i].v, &gap))
			r = digits_both(r, digits_moved(f->v[i].in, gap));
	if ((v->op == EX_CTR || v->op == EX_KEXIT) && depth < MAX_DEPTH)
		r = digits_both(r, span_of_counter(c, f, v, depth + 1));
	if (v->op == EX_IND && v->imm == EX_IND_SIGNED && v->a[1]->op == EX_CONST &&
	    !prove_ex_is_down(v->a[1]) && depth < MAX_DEPTH) {
		int64_t from = digits_span(c, f, v->a[0], depth + 1).lo;
		r.lo = from > r.lo ? from : r.lo;
	}
	return depth < MAX_DEPTH ? digits_both(r, span_of_parts(c, f, v, depth)) : r;
}

static void note(struct facts *f, const struct ex *v, struct span in)
{
	if (f->n < MAX_FACTS && v->op != EX_CONST) {
		f->v[f->n].v = v;
		f->v[f->n++].in = in;
	}
}

void digits_learn(const struct check *c, struct facts *f, const struct ex *g, bool is_not,
		  unsigned depth)
{
	struct facts none = {.n = 0};

	if (depth > MAX_DEPTH)
		return;
	if (g->op == EX_NOT)
		digits_learn(c, f, g->a[0], !is_not, depth + 1);
	if (g->w == 1 && g->op == (is_not ? EX_OR : EX_AND)) {
		digits_learn(c, f, g->a[0], is_not, depth + 1);
		digits_learn(c, f, g->a[1], is_not, depth + 1);
	}
	if (g->op == EX_EQ && is_not && g->a[1]->op == EX_CONST) {
		struct span own = digits_span(c, f, g->a[0], 0);
		if (own.lo > -LIMIT && own.lo == prove_ex_signed(g->a[1]->imm, g->a[1]->w))
			note(f, g->a[0], (struct span){own.lo + 1, digits_whole(g->a[0]->w).hi});
		return;
	}
	if (g->op != EX_SLT && g->op != EX_ULT)
		return;
	struct span all = digits_whole(g->a[0]->w), x = digits_span(c, &none, g->a[0], 0),
		    y = digits_span(c, &none, g->a[1], 0), less = {y.lo, y.hi - (y.hi < LIMIT)},
		    more = {x.lo + (x.lo > -LIMIT), x.hi};
	if (g->op == EX_ULT) { /* neither is negative where the larger one isn't */
		if (!is_not && y.lo >= 0)
			note(f, g->a[0], (struct span){0, less.hi});
		if (is_not && x.lo >= 0)
			note(f, g->a[1], (struct span){0, x.hi});
		return;
	}
	note(f, g->a[0], is_not ? (struct span){y.lo, all.hi} : (struct span){all.lo, less.hi});
	note(f, g->a[1], is_not ? (struct span){all.lo, x.hi} : (struct span){more.lo, all.hi});
}

/* ---- loops ---------------------------------------------------------------------------------- */

/*
 * What v, in the iteration before, is less than this induction is in the iteration with that
 * counter: v is the induction itself, or what the loop makes of it, or a number more. NULL: v is
 * none.
 */
static const struct ex *induction(const struct ex *v, const struct ex *ctr, int64_t *less)
{
	const struct ex *ind = v, *more = NULL;

	if (v->op == EX_ADD) {
		unsigned i = v->a[0]->op == EX_IND && v->a[0]->a[2] == ctr ? 0 : 1;
		ind = v->a[i];
		more = v->a[!i];
	}
	if (ind->op != EX_IND || ind->a[2] != ctr)
		return NULL;
	*less = 0;
	if (more == ind->a[1])
		return ind;
	if (ind->a[1]->op != EX_CONST || (more && more->op != EX_CONST))
		return NULL;
	*less = prove_ex_signed(ind->a[1]->imm, ind->w) -
		(more ? prove_ex_signed(more->imm, more->w) : 0);
	return ind;
}

/* v is within bounds at the end of an iteration that goes on; so is what the next one begins with,
 * or it is the loop's start. */
static void note_next(const struct check *c, struct facts *f, const struct ex *ctr,
		      const struct ex *v, struct span in)
{
	const struct facts none = {.n = 0};
	int64_t less;
	const struct ex *ind = induction(v, ctr, &less);

	if (!ind)
		return;
	struct span from = digits_span(c, &none, ind->a[0], 0), all = digits_whole(ind->w);
	in = digits_moved(in, less);
	if (digits_is_inside(in, all))
		note(f, ind,
		     (struct span){in.lo < from.lo ? in.lo : from.lo,
				   in.hi > from.hi ? in.hi : from.hi});
}

static void learn_back(const struct check *c, struct facts *f, const struct ex *ctr,
		       const struct ex *back, unsigned depth)
{
	struct facts now = {.n = 0};

	if (depth < MAX_DEPTH && back->op == EX_AND && back->w == 1) {
		learn_back(c, f, ctr, back->a[0], depth + 1);
		learn_back(c, f, ctr, back->a[1], depth + 1);
		return;
	}
	digits_learn(c, &now, back, false, 0);
	for (unsigned i = 0; i < now.n; i++)
		note_next(c, f, ctr, now.v[i].v, now.v[i].in);
}

void digits_learn_loops(const struct check *c, struct facts *f, uint32_t block)
{
	const struct ir *ir = c->e->ir;

	for (uint32_t l = ir->blocks.v[block].loop; l != IR_NONE; l = ir->loops[l].parent)
		learn_back(c, f, c->e->loops[l].ctr, c->e->loops[l].back, 0);
}
