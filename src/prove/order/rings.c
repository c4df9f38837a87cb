/*
 * rings.c - which mbarriers an operation uses in turn, and how they are set up (mbarriers.c).
 *
 * An operation in iteration k is of the mbarrier at base + 8 * ((k + shift) % S): the first
 * iterations show base, shift and S, and the solver that it is so in all. One outside of loops at
 * such an mbarrier is of the ring, too: for the number that is the mbarrier's. Inits come before
 * all other operations by a barrier of the block.
 *
 * Misses: operations in loops within loops; mbarriers chosen by the thread, of several objects.
 */
#include "prove/order/rings.h"

/* ---- which mbarrier is it? ------------------------------------------------------------------- */

const struct ex *rings_counter(const struct check *c, uint32_t loop)
{
	return loop == IR_NONE ? prove_ex_const(c->pool, 64, 0) : c->e->loops[loop].ctr;
}

/* The iteration's number as v has it: a variable that counts from 0 by 1 and doesn't wrap. NULL:
 * there is none. */
static const struct ex *counted_in(const struct ex *v, const struct ex *ctr, unsigned depth)
{
	if (v->op == EX_IND && v->a[2] == ctr && v->imm != EX_IND_WRAPS && v->w >= 32 &&
	    v->a[0]->op == EX_CONST && !v->a[0]->imm && v->a[1]->op == EX_CONST &&
	    v->a[1]->imm == 1)
		return v;
	for (uint32_t i = 0; i < v->n && v->has_ctr && depth; i++) {
		const struct ex *x = counted_in(v->a[i], ctr, depth - 1);
		if (x)
			return x;
	}
	return NULL;
}

/* ... else the counter itself, which the solver needs more time to compare with. */
const struct ex *rings_counter_in(const struct check *c, const struct ex *v, uint32_t loop)
{
	const struct ex *k = loop == IR_NONE ? NULL : counted_in(v, rings_counter(c, loop), 12);

	return k ? k : rings_counter(c, loop);
}

uint32_t rings_loop_of(const struct check *c, const struct mbarriers *x, uint32_t block)
{
	uint32_t loop = order_outer_loop(c, block);

	for (uint32_t i = 0; i < x->nops; i++)
		if (x->op[i].loop == loop)
			return loop;
	return IR_NONE;
}

/* v in an iteration, if that is a number. */
bool rings_number_in(const struct check *c, const struct ex *v, uint32_t loop, uint64_t k,
		     uint64_t *out)
{
	const struct ex *ctr = rings_counter(c, loop);

	if (loop != IR_NONE)
		v = prove_ex_replace(c->pool, v, ctr, prove_ex_const(c->pool, ctr->w, k));
	*out = v->imm;
	return v->op == EX_CONST;
}

/* In all threads that do the operation: is x the same as y? */
bool rings_is_always(struct check *c, const struct op *o, const struct ex *x, const struct ex *y)
{
	struct order_question q = {.guard = o->m->guard, .block = o->m->block};

	q.denied[0] = prove_ex_bin(c->pool, EX_EQ, x, y);
	return x == y || order_is_never(c, &q);
}

/* Does the loop end only where the wait says that the phase is over? */
static bool is_spin(const struct check *c, const struct op *o, uint32_t loop)
{
	const struct ir *ir = c->e->ir;
	const struct ir_loop *l = &ir->loops[loop];
	const struct ex *no = prove_ex_const(c->pool, 1, 0);

	for (uint32_t i = 0; i < ir->nrpo; i++) {
		uint32_t b = ir->rpo[i];
		const struct ir_block *x = &ir->blocks.v[b];
		if (!prove_ir_in_loop(l, b))
			continue;
		if (x->end == IR_EXIT)
			return false;
		for (uint32_t k = 0; k < x->nsucc; k++) {
			if (prove_ir_in_loop(l, x->succ[k]))
				continue;
			const struct ex *leaves = prove_ev_edge(c->e, b, x->succ[k]);
			leaves = prove_ex_replace(c->pool, leaves, o->m->result, no);
			if (!prove_ir_dominates(ir, o->m->block, b) || leaves->op != EX_CONST ||
			    (leaves->imm & 1))
				return false;
		}
	}
	return true;
}

/* The loop whose iterations are counted. False: it is in loops within loops. */
bool rings_find_loop(const struct check *c, struct op *o)
{
	const struct ir *ir = c->e->ir;

	o->loop = ir->blocks.v[o->m->block].loop;
	o->spin = IR_NONE;
	if (rings_is_kind(o, IR_MBAR_WAIT) && o->loop != IR_NONE && is_spin(c, o, o->loop)) {
		o->spin = o->loop;
		o->loop = ir->loops[o->spin].parent;
	}
	return o->loop == IR_NONE ||
	       (ir->loops[o->loop].parent == IR_NONE && ir->loops[o->loop].latch != IR_NONE);
}

/* In narrow arithmetic where nothing wraps, as that is what v has, too. */
const struct ex *rings_number(struct check *c, const struct op *o, const struct ex *v)
{
	struct ex_pool *p = c->pool;
	const struct ex *k = rings_counter_in(c, v, o->loop), *top;

	if (!o->shift)
		return k;
	top = prove_ex_const(p, k->w, prove_ex_mask(k->w) - (uint64_t)o->shift);
	if (k->w < 64 &&
	    !rings_is_always(c, o, prove_ex_bin(p, EX_ULT, k, top), prove_ex_const(p, 1, 1)))
		k = prove_ex_un(p, EX_ZEXT, 64, k);
	return prove_ex_bin(p, EX_ADD, k, prove_ex_const(p, k->w, (uint64_t)o->shift));
}

/* base + 8 * ((k + shift) % stages), as wide as an offset. */
static const struct ex *place_of(struct check *c, const struct op *o, uint64_t base,
				 unsigned stages)
{
	struct ex_pool *p = c->pool;
	const struct ex *k = rings_number(c, o, o->m->off);

	k = prove_ex_bin(p, EX_UREM, k, prove_ex_const(p, k->w, stages));
	k = prove_ex_un(p, EX_TRUNC, 32, k);
	k = prove_ex_bin(p, EX_MUL, k, prove_ex_const(p, 32, 8));
	return prove_ex_bin(p, EX_ADD, k, prove_ex_const(p, 32, base));
}

/* The mbarriers that the operation uses in turn, as iterations from this one (0 or 1) on show:
 * `shift` is the one of iteration 0. False: they aren't. */
static bool find_turn_from(struct check *c, struct op *o, unsigned from, uint64_t *base,
			   unsigned *stages)
{
	uint64_t first, v, last;

	if (!rings_number_in(c, o->m->off, o->loop, from, &first))
		return false;
	*base = last = first;
	for (*stages = 1; *stages <= RINGS_MAX_STAGES && o->loop != IR_NONE; ++*stages) {
		if (!rings_number_in(c, o->m->off, o->loop, from + *stages, &v))
			return false;
		if (v == first)
			break;
		if (v != last + 8 && (*base != first || v > first))
			return false;
		*base = v < *base ? v : *base;
		last = v;
	}
	if (*stages > RINGS_MAX_STAGES || (*base != first && last + 8 != first) ||
	    (first - *base) % 8 || first - *base >= 8ull * *stages)
		return false;
	o->shift = (int)(((first - *base) / 8 + *stages - from) % *stages);
	return rings_is_always(c, o, o->m->off, place_of(c, o, *base, *stages));
}

/* Iteration 0 may be left out, and have a place that is none. */
static bool find_turn(struct check *c, struct op *o, uint64_t *base, unsigned *stages)
{
	return find_turn_from(c, o, 0, base, stages) ||
	       (o->loop != IR_NONE && find_turn_from(c, o, 1, base, stages));
}

/* One of a ring's mbarriers that is used outside of the ring's loops. */
static bool find_apart(const struct mbarriers *x, struct op *o, uint64_t at)
{
	for (o->ring = 0; o->loop == IR_NONE && o->ring < x->nrings; o->ring++) {
		const struct ring *r = &x->ring[o->ring];
		uint64_t from = at - r->base;
		if (!r->loop_ops || !prove_ev_same_root(&r->root, &o->m->root) || from % 8 ||
		    from >= 8ull * r->stages)
			continue;
		o->shift = (int)(from / 8);
		return true;
	}
	return false;
}

/* The ring of an operation that is no init; rings of other operations may not overlap it. */
bool rings_find(struct check *c, struct mbarriers *x, struct op *o)
{
	struct ring r = {.root = o->m->root};

	if (r.root.kind != EV_ROOT_OBJECT || !o->m->off)
		return false;
	if (rings_find_after(c, x, o))
		return true;
	if (!find_turn(c, o, &r.base, &r.stages))
		return false;
	if (find_apart(x, o, r.base))
		return true;
	for (o->ring = 0; o->ring < x->nrings; o->ring++) {
		const struct ring *y = &x->ring[o->ring];
		if (!prove_ev_same_root(&y->root, &r.root) ||
		    r.base >= y->base + 8ull * y->stages || y->base >= r.base + 8ull * r.stages)
			continue;
		if (y->base != r.base || y->stages != r.stages)
			return false;
		break;
	}
	if (o->ring == RINGS_MAX)
		return false;
	if (o->ring == x->nrings)
		x->ring[x->nrings++] = r;
	x->ring[o->ring].loop_ops += o->loop != IR_NONE;
	x->ring[o->ring].other_ops += o->loop == IR_NONE;
	return true;
}

/* ---- setting up ------------------------------------------------------------------------------ */

/* Is the init before all operations of the ring, by a barrier of the block? */
static bool comes_first(struct check *c, const struct mbarriers *x, const struct ring *r,
			const struct ev_mbar *init)
{
	struct ev_access a = {.guard = init->guard, .block = init->block};
	struct order_at from = {init->block, init->index};

	for (uint32_t i = 0; i < x->nops; i++) {
		const struct op *o = &x->op[i];
		if (&x->ring[o->ring] == r && (order_leads_to(c, rings_at(o), from, IR_NONE) ||
					       !order_leads_to(c, from, rings_at(o), IR_NONE) ||
					       order_may_meet(c, &a, o->m->block)))
			return false;
	}
	return true;
}

/* Is what an init sets up always in the ring (1), never (0), or is that not known (-1)? */
static int is_of_ring(struct check *c, const struct ring *r, const struct ev_mbar *m)
{
	struct order_question q = {.guard = m->guard, .block = m->block};
	const struct ex *at =
		prove_ex_bin(c->pool, EX_SUB, m->off, prove_ex_const(c->pool, 32, r->base));
	const struct ex *in =
		prove_ex_bin(c->pool, EX_ULT, at, prove_ex_const(c->pool, 32, 8ull * r->stages));

	if (!prove_ev_same_root(&r->root, &m->root))
		return 0;
	q.denied[0] = in;
	if (order_is_never(c, &q))
		return 1;
	q.denied[0] = prove_ex_not(c->pool, in);
	return order_is_never(c, &q) ? 0 : -1;
}

/* What an init says of the rings. False: it may be of any. */
bool rings_add_init(struct check *c, struct mbarriers *x, const struct ev_mbar *m)
{
	if (m->root.kind != EV_ROOT_OBJECT || !m->off || !m->arg || m->arg->op != EX_CONST)
		return false;
	for (uint32_t i = 0; i < x->nrings; i++) {
		struct ring *r = &x->ring[i];
		int is_in = is_of_ring(c, r, m);
		if (is_in < 0)
			return false;
		if (!is_in)
			continue;
		if ((r->count && r->count != m->arg->imm) || !comes_first(c, x, r, m))
			r->is_good = false;
		r->count = m->arg->imm;
	}
	return true;
}

/* May anything else write to the ring's bytes? */
bool rings_are_touched(struct check *c, const struct ring *r)
{
	for (size_t i = 0; i < c->e->accesses.n; i++) {
		const struct ev_access *a = &c->e->accesses.v[i];
		struct order_question q = {.guard = a->guard, .block = a->block};
		if (prove_ev_alias(&a->root, &r->root) == EV_APART)
			continue;
		if (!prove_ev_same_root(&a->root, &r->root) || a->off->w != 32)
			return true;
		const struct ex *end = prove_ex_bin(c->pool, EX_ADD, a->off,
						    prove_ex_const(c->pool, 32, a->mem->bytes));
		const struct ex *base = prove_ex_const(c->pool, 32, r->base);
		const struct ex *last = prove_ex_const(c->pool, 32, r->base + 8ull * r->stages - 1);
		q.denied[0] = prove_ex_or(
			c->pool, prove_ex_not(c->pool, prove_ex_bin(c->pool, EX_ULT, base, end)),
			prove_ex_bin(c->pool, EX_ULT, last, a->off));
		if (!order_is_never(c, &q))
			return true;
	}
	return false;
}

/* ---- setting up, as an access ---------------------------------------------------------------- */

struct both {
	struct check *c;
	const struct ev_mbar *x, *y;
	bool may_meet;
};

static void meet(const struct phase_case *way, void *arg)
{
	struct both *m = arg;
	const struct ev_mbar *x = m->x, *y = m->y;
	struct order_question q = {
		.guard = x->guard, .block = x->block, .are_two = true, .way = way};

	q.other = y->guard;
	q.other_block = y->block;
	if (x->off && y->off && prove_ev_same_root(&x->root, &y->root)) {
		q.value[0] = x->off;
		q.value[1] = y->off;
		q.are_same = true;
	}
	m->may_meet = m->may_meet || !order_is_never(m->c, &q);
}

/* May a thread use an mbarrier before its own init, or have a copy under way at its end? */
static bool is_used_before(const struct check *c, const struct ev_mbar *x, const struct ev_mbar *y)
{
	struct order_at from = {y->block, y->index}, to = {x->block, x->index};
	enum ir_mbar_kind use = y->mbar->kind;

	return use != IR_MBAR_INIT && use != IR_MBAR_INVAL &&
	       (x->mbar->kind == IR_MBAR_INIT || use == IR_MBAR_COPY) &&
	       order_leads_to(c, from, to, IR_NONE);
}

/* An operation on an mbarrier as an access to its word, which is 8 bytes. */
static void as_access(const struct ev_mbar *m, struct ir_access *mem, struct ev_access *a)
{
	bool is_set = m->mbar->kind == IR_MBAR_INIT || m->mbar->kind == IR_MBAR_INVAL;

	*mem = (struct ir_access){.kind = is_set ? RACE_OP_WRITE : RACE_OP_RMW,
				  .space = m->mbar->space,
				  .strength = is_set ? RACE_WEAK : RACE_RELAXED,
				  .scope = RACE_SCOPE_CTA,
				  .bytes = 8};
	*a = (struct ev_access){.step = m->step,
				.mem = mem,
				.block = m->block,
				.index = m->index,
				.root = m->root,
				.is_shared = true,
				.off = m->off,
				.guard = m->guard,
				.whole = m->off};
}

/* As an alarm, whose launch can be run: true where there is one now. Then nothing of the kernel
 * counts as proven, as its mbarriers may do anything. */
static bool raise_alarm(struct check *c, const struct ev_mbar *x, const struct ev_mbar *y)
{
	struct ir_access *mem = BASE_NEWN(c->arena, struct ir_access, 2);
	struct ev_access *a = BASE_NEWN(c->arena, struct ev_access, 2);
	size_t alarms = c->k->alarms.n;

	if (c->trial.is_on || !x->off || !y->off || y->mbar->kind == IR_MBAR_OTHER ||
	    x->root.kind != EV_ROOT_OBJECT || y->root.kind != EV_ROOT_OBJECT)
		return false;
	as_access(x, &mem[0], &a[0]);
	as_access(y, &mem[1], &a[1]);
	prove_one_pair(c, &a[0], &a[1]);
	if (c->k->alarms.n == alarms)
		return false;
	prove_nothing_is_proven(c);
	c->is_set_up_open = true;
	return true;
}

void mbarriers_set_up(struct check *c)
{
	for (size_t i = 0; i < c->e->mbars.n; i++)
		for (size_t k = 0; k < c->e->mbars.n; k++) {
			struct both m = {.c = c, .x = &c->e->mbars.v[i], .y = &c->e->mbars.v[k]};
			enum ir_mbar_kind x = m.x->mbar->kind, y = m.y->mbar->kind;
			bool is_asked = x == IR_MBAR_INIT || x == IR_MBAR_INVAL;
			bool is_other = (y == IR_MBAR_INIT || y == IR_MBAR_INVAL) && k < i;
			bool is_apart = m.x->off && m.y->off &&
					prove_ev_alias(&m.x->root, &m.y->root) == EV_APART;
			if (!is_asked || is_other || is_apart)
				continue;
			prove_phase_each(&c->phases[IR_RANK_CTA], m.x->block, m.y->block, meet, &m);
			if (m.may_meet && raise_alarm(c, m.x, m.y))
				return;
			m.may_meet |= is_used_before(c, m.x, m.y);
			if (!m.may_meet || c->k->alarms.n)
				continue;
			prove_alarm_problem(
				RACE_PROBLEM_UNPROVEN, m.x->step->at,
				base_printf(c->arena,
					    "no barrier is seen between this and the use "
					    "of the mbarrier in PTX line %u",
					    m.y->step->at->line),
				c);
			return;
		}
}
