/*
 * paired.c - accesses of one block that two numbered barriers order, which warps use in turns: a
 * producer and a consumer in loops (order.h).
 *
 * Each thread that takes part executes the two numbers strictly in turns: once each in an iteration
 * of its loop, perhaps one of them before the loop. Say operation 0, 1, 2, ...: even ones are of
 * one number, odd ones of the other. No more threads take part than both numbers count, by whole
 * warps. Of two operations that follow each other in a thread one waits.
 *
 * Then operation k of all threads is one completion of its barrier: no thread comes to a number
 * again before that is complete. Suppose that one does, for the first time, with operation k + 2
 * where k isn't complete. It didn't wait at k, so it waited at k + 1, which was complete: each
 * thread that takes part had come there, and to k before.
 *
 * So what a thread does before its operation n is ordered before what another one does after it
 * waited at operation n or a later one (PTX ISA 8.9, 9.7.13.1). In iteration i of its loop a thread
 * is between operations that are 2 * i and a number: whether one of two accesses is before the
 * other, in whatever iterations they are, is arithmetic.
 *
 * Nothing of this rests on what memory holds.
 *
 * The threads of one loop may be of two kinds: where a branch that goes the same way in all
 * iterations leads to what one of them does.
 *
 * Misses: numbers in registers, more than two (stages), loops within loops, accesses after a loop.
 * Costs: some queries for each pair of numbers.
 */
#include "prove/order/order.h"

#define MAX_ROLES 4
#define MAX_STEPS 16

/* A step of one of the two numbers. */
struct op {
	struct order_at at;
	uint64_t number;
	bool is_wait, is_known; /* known: it is of a role */
};

/* Threads of one loop, or those of them that come to one side of a branch. */
struct role {
	uint32_t loop;
	uint32_t side;	      /* where that side begins; the header: all threads */
	struct order_who who; /* at the one block that leads into the loop */

	const struct op *op[2]; /* in each iteration */
	const struct op *ahead; /* before the loop, or NULL */
};

struct paired {
	struct op op[MAX_STEPS];
	uint32_t nops;
	uint64_t threads; /* that both numbers count */
	struct role role[MAX_ROLES];
	uint32_t nroles;
};

/* Of an access in a role's loop, or before all loops (role NULL); or neither, is_known false. */
struct place {
	const struct role *role;
	bool is_known;
	int next; /* the operation after it, less 2 for each iteration before */
	int wait; /* the last one before it at which the thread surely waited; so, too */
};

/* ---- what there is --------------------------------------------------------------------------- */

/* All steps of two numbers. False: they aren't of one kind. */
static bool find_ops(const struct check *c, uint64_t x, uint64_t y, struct paired *p)
{
	const struct ir *ir = c->e->ir;

	for (uint32_t i = 0; i < ir->nrpo; i++) {
		const struct ir_block *b = &ir->blocks.v[ir->rpo[i]];
		for (uint32_t s = b->first; s < b->first + b->n; s++) {
			const struct ir_step *st = &ir->steps.v[s];
			uint64_t n = st->imm - IR_PARTIAL;
			if (!ir_is_partial(st) || (n != x && n != y && n != IR_NUMBERS))
				continue;
			if (n == IR_NUMBERS || p->nops == MAX_STEPS || !st->threads ||
			    st->threads % 32 || (p->nops && st->threads != p->threads))
				return false;
			p->threads = st->threads;
			p->op[p->nops++] = (struct op){.at = {ir->rpo[i], s},
						       .number = n,
						       .is_wait = !named_is_arrival(st)};
		}
	}
	return p->nops > 0;
}

/* The only block outside of the loop that leads to its header, or IR_NONE. */
static uint32_t start_of(const struct ir *ir, const struct ir_loop *l)
{
	const struct ir_block *h = &ir->blocks.v[l->header];
	uint32_t from = IR_NONE;

	for (uint32_t k = 0; k < h->npred; k++) {
		if (prove_ir_in_loop(l, h->pred[k]))
			continue;
		if (from != IR_NONE)
			return IR_NONE;
		from = h->pred[k];
	}
	return from != IR_NONE && ir->blocks.v[from].nsucc == 1 ? from : IR_NONE;
}

/* Do the threads of a block that are in the loop leave it in one iteration: at branches to which
 * each of them comes in each iteration, and which go one way? */
static bool is_left_together(const struct check *c, const struct ir_loop *l)
{
	const struct ir *ir = c->e->ir;

	for (uint32_t i = 0; i < ir->nrpo; i++) {
		uint32_t b = ir->rpo[i];
		const struct ir_block *x = &ir->blocks.v[b];
		if (!prove_ir_in_loop(l, b))
			continue;
		for (uint32_t k = 0; k < x->nsucc; k++)
			if (!prove_ir_in_loop(l, x->succ[k]) &&
			    (!c->e->cond[b] || c->e->cond[b]->level < EX_CTA ||
			     ir->blocks.v[l->header].loop != x->loop ||
			     !prove_ir_dominates(ir, b, l->latch)))
				return false;
	}
	return true;
}

/* Is it a value of the thread, whatever the iteration? */
static bool is_fixed(const struct ex *v, unsigned depth)
{
	bool is = v && depth && !v->has_ctr && !v->is_approx && v->op != EX_PHI &&
		  v->op != EX_VAR && v->op != EX_PURE && v->op != EX_KEXIT && v->op != EX_IND;

	for (uint32_t i = 0; is && i < v->n; i++)
		is = is_fixed(v->a[i], depth - 1);
	return is;
}

/* Where the side of a branch begins on which a block of the loop is; the header: on no side. */
static uint32_t side_of(const struct ir *ir, const struct ir_loop *l, uint32_t block)
{
	uint32_t at = block;

	if (prove_ir_dominates(ir, block, l->latch))
		return l->header;
	while (!prove_ir_dominates(ir, ir->blocks.v[at].idom, l->latch))
		at = ir->blocks.v[at].idom;
	return at;
}

/* The threads of the loop that come to the side in each iteration. False: some do in some only. */
static bool find_who(struct check *c, const struct ir_loop *l, struct role *r)
{
	const struct ir *ir = c->e->ir;
	const struct ir_block *s = &ir->blocks.v[r->side];
	uint32_t start = start_of(ir, l);

	if (start == IR_NONE)
		return false;
	r->who = named_who(c, start);
	if (r->side == l->header)
		return true;
	if (s->npred != 1)
		return false;
	const struct ir_block *b = &ir->blocks.v[s->pred[0]];
	const struct ex *cond = c->e->cond[s->pred[0]];
	if (b->end != IR_BRANCH || b->succ[0] == b->succ[1] || b->loop != s->loop ||
	    !prove_ir_dominates(ir, s->pred[0], l->latch) || !is_fixed(cond, 16))
		return false;
	if (b->succ[1] == r->side)
		cond = prove_ex_not(c->pool, cond);
	r->who.guard = prove_ex_and(c->pool, r->who.guard, cond);
	return true;
}

/* Does each thread that comes to the side do the operation before the iteration is over? */
static bool is_surely_done(const struct check *c, const struct ir_loop *l, uint32_t side,
			   const struct op *o)
{
	struct order_at from = {side, 0}, to = {l->latch, UINT32_MAX};

	if (side == l->header)
		return prove_ir_dominates(c->e->ir, o->at.block, l->latch);
	return o->at.block == side || !order_leads_to(c, from, to, o->at.block);
}

/* A role of the loop, with one operation of each number in each iteration. */
static bool add_role(struct check *c, struct paired *p, uint32_t loop, uint32_t side)
{
	const struct ir *ir = c->e->ir;
	const struct ir_loop *l = &ir->loops[loop];
	struct role r = {.loop = loop, .side = side};
	uint32_t n = 0;

	if (p->nroles == MAX_ROLES || !is_left_together(c, l) || !find_who(c, l, &r))
		return false;
	for (uint32_t i = 0; i < p->nops; i++) {
		struct op *o = &p->op[i];
		if (ir->blocks.v[o->at.block].loop != loop || side_of(ir, l, o->at.block) != side)
			continue;
		if (n == 2 || !is_surely_done(c, l, side, o))
			return false;
		r.op[n++] = o;
		o->is_known = true;
	}
	if (n < 2 || r.op[0]->number == r.op[1]->number)
		return false;
	bool is_turned = r.op[0]->at.block == r.op[1]->at.block
				 ? r.op[0]->at.step > r.op[1]->at.step
				 : prove_ir_dominates(ir, r.op[1]->at.block, r.op[0]->at.block);
	if (is_turned) {
		const struct op *o = r.op[0];
		r.op[0] = r.op[1];
		r.op[1] = o;
	}
	if (r.op[0]->at.block != r.op[1]->at.block &&
	    !prove_ir_dominates(ir, r.op[0]->at.block, r.op[1]->at.block))
		return false;
	p->role[p->nroles++] = r;
	return true;
}

/* Does the operation come before the role's loop, in each thread of it? */
static bool is_ahead(struct check *c, const struct role *r, const struct op *o)
{
	struct order_question q = {.guard = r->who.guard, .block = r->who.block};
	struct order_at to = {r->who.block, UINT32_MAX};

	q.denied[0] = c->e->guard[o->at.block];
	return order_leads_to(c, o->at, to, IR_NONE) && !order_leads_to(c, to, o->at, IR_NONE) &&
	       (prove_ir_dominates(c->e->ir, o->at.block, r->who.block) || order_is_never(c, &q));
}

/* Operations before the loops, each of whole roles. */
static bool find_ahead(struct check *c, struct paired *p)
{
	for (uint32_t i = 0; i < p->nops; i++) {
		struct op *o = &p->op[i];
		if (o->is_known)
			continue;
		struct order_who w = named_who(c, o->at.block);
		if (c->e->ir->blocks.v[o->at.block].loop != IR_NONE || !named_is_by_warps(c, &w))
			return false;
		for (uint32_t k = 0; k < p->nroles; k++) {
			struct role *r = &p->role[k];
			if (is_ahead(c, r, o)) {
				if (r->ahead)
					return false;
				r->ahead = o;
				o->is_known = true;
			} else if (!named_is_never_both(c, &w, &r->who)) {
				return false;
			}
		}
		if (!o->is_known)
			return false;
	}
	return true;
}

/* Do all threads go through the numbers in one order, and wait at one of two that follow? */
static bool is_in_turns(const struct paired *p)
{
	uint64_t even = p->role[0].ahead ? p->role[0].ahead->number : p->role[0].op[0]->number;

	for (uint32_t k = 0; k < p->nroles; k++) {
		const struct role *r = &p->role[k];
		const struct op *o = r->ahead;
		bool waits[2] = {r->op[0]->is_wait, r->op[1]->is_wait};
		if ((o ? o->number : r->op[0]->number) != even || (o && r->op[0]->number == even) ||
		    !(waits[0] || waits[1]) || (o && !o->is_wait && (!waits[0] || waits[1])))
			return false;
	}
	return true;
}

/* Do no more threads take part than are counted, by whole warps and each in one role? */
static bool is_counted(struct check *c, const struct paired *p)
{
	bool is_window = false;

	for (uint32_t k = 0; k < p->nroles; k++) {
		if (!named_is_by_warps(c, &p->role[k].who))
			return false;
		for (uint32_t m = 0; m < k; m++)
			if (!named_is_never_both(c, &p->role[m].who, &p->role[k].who))
				return false;
	}
	for (uint64_t lo = 0; lo < MAX_BLOCK_THREADS && !is_window; lo += 32) {
		is_window = true;
		for (uint32_t k = 0; k < p->nroles && is_window; k++)
			is_window = named_is_among(c, &p->role[k].who, lo, lo + p->threads);
		for (uint32_t i = 0; i < p->nops && is_window; i++) {
			struct order_who w = named_who(c, p->op[i].at.block);
			if (c->e->ir->blocks.v[w.block].loop == IR_NONE)
				is_window = named_is_among(c, &w, lo, lo + p->threads);
		}
	}
	return is_window;
}

static bool find_pair(struct check *c, uint64_t x, uint64_t y, struct paired *p)
{
	const struct ir *ir = c->e->ir;

	*p = (struct paired){0};
	if (!find_ops(c, x, y, p))
		return false;
	for (uint32_t i = 0; i < p->nops; i++) {
		uint32_t b = p->op[i].at.block, l = ir->blocks.v[b].loop;
		if (l == IR_NONE || p->op[i].is_known)
			continue;
		const struct ir_loop *of = &ir->loops[l];
		if (of->parent != IR_NONE || of->latch == IR_NONE ||
		    !add_role(c, p, l, side_of(ir, of, b)))
			return false;
	}
	return p->nroles && find_ahead(c, p) && is_in_turns(p) && is_counted(c, p);
}

struct paired *paired_look(struct check *c)
{
	struct paired *p = BASE_NEW(c->arena, struct paired);
	const struct ir *ir = c->e->ir;
	bool has[IR_NUMBERS + 1] = {false};

	for (size_t s = 0; s < ir->steps.n; s++) {
		const struct ir_step *st = &ir->steps.v[s];
		if (ir_is_partial(st))
			has[st->imm - IR_PARTIAL] = true;
	}
	for (uint64_t x = 0; x < IR_NUMBERS; x++)
		for (uint64_t y = x + 1; y < IR_NUMBERS; y++)
			if (has[x] && has[y] && find_pair(c, x, y, p))
				return p;
	return NULL;
}

/* ---- where an access is ---------------------------------------------------------------------- */

static struct place place_in(struct check *c, const struct role *r, const struct ev_access *a)
{
	uint32_t header = c->e->ir->loops[r->loop].header;
	int at = r->ahead != NULL, sure = 0, perhaps = 0;

	for (unsigned i = 0; i < 2; i++) {
		sure += order_comes_first(c, r->op[i]->at, order_of(a));
		perhaps += order_leads_to(c, r->op[i]->at, order_of(a), header);
	}
	struct place x = {.role = r, .is_known = true, .next = at + perhaps};
	x.wait = sure == 2 && r->op[1]->is_wait	 ? at + 1
		 : sure > 0 && r->op[0]->is_wait ? at
		 : r->op[1]->is_wait		 ? at - 1
						 : at - 2;
	return x;
}

/* Before all loops, in threads that take part? */
static struct place place_ahead(struct check *c, const struct paired *p, const struct ev_access *a)
{
	struct place x = {.is_known = true, .wait = -1};
	struct order_question q = {.guard = a->guard, .block = a->block};

	q.denied[0] = prove_ex_const(c->pool, 1, 0);
	for (uint32_t k = 0; k < p->nroles; k++) {
		const struct role *r = &p->role[k];
		for (unsigned i = 0; i < 2; i++)
			x.is_known &= !order_leads_to(c, r->op[i]->at, order_of(a), IR_NONE);
		x.next = r->ahead ? 1 : x.next;
		q.denied[0] = prove_ex_or(c->pool, q.denied[0], r->who.guard);
	}
	x.is_known = x.is_known && order_is_never(c, &q);
	return x;
}

static struct place place_of(struct check *c, const struct paired *p, const struct ev_access *a)
{
	bool is_inside = false;

	for (uint32_t k = 0; k < p->nroles; k++) {
		const struct role *r = &p->role[k];
		if (!prove_ir_in_loop(&c->e->ir->loops[r->loop], a->block))
			continue;
		is_inside = true;
		if (prove_ir_dominates(c->e->ir, r->side, a->block))
			return place_in(c, r, a);
	}
	return is_inside ? (struct place){0} : place_ahead(c, p, a);
}

static int half(int n) /* rounded down */
{
	return (n - (n & 1)) / 2;
}

bool paired_order(struct check *c, const struct paired *p)
{
	if (c->level.apart > RACE_LEVEL_BLOCK)
		return false;
	struct place a = place_of(c, p, c->pair.a), b = place_of(c, p, c->pair.b);
	if (!a.is_known || !b.is_known || (!a.role && !b.role))
		return false;
	/* the one before the loops is before what the other does, from its first iteration on */
	if (!a.role)
		return a.next <= b.wait;
	if (!b.role)
		return b.next <= a.wait;
	/* so many iterations may a be ahead where it is before b, and is it where it is after b */
	return half(b.wait - a.next) + 1 >= half(b.next - a.wait + 1);
}
