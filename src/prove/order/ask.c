/*
 * ask.c - does one thing surely come before another: in a thread, or by the block's barriers
 * (order.h)?
 *
 * Most questions are put to the solver as "never": no two threads of a launch do this and that. So
 * an answer that the solver doesn't give in its limits is "perhaps", which orders nothing.
 *
 * Misses: what a block does in several ways, one of which orders and another doesn't need to.
 * Costs: some milliseconds a question.
 */
#include "prove/order/order.h"

/* ---- where things lie ------------------------------------------------------------------------ */

struct order_at order_place(const struct ir *ir, uint32_t step)
{
	for (uint32_t i = 0; i < ir->nrpo; i++) {
		const struct ir_block *b = &ir->blocks.v[ir->rpo[i]];
		if (step >= b->first && step - b->first < b->n)
			return (struct order_at){ir->rpo[i], step};
	}
	return (struct order_at){IR_NONE, step};
}

bool order_leads_to(const struct check *c, struct order_at x, struct order_at y, uint32_t but)
{
	const struct ir *ir = c->e->ir;
	bool *seen = base_zalloc(c->arena, ir->blocks.n + 1);
	BASE_VEC(uint32_t) todo = {0};

	if (x.block == y.block && x.step < y.step)
		return true;
	if (but != IR_NONE)
		seen[but] = true;
	base_vec_push(&todo, x.block);
	while (todo.n) {
		const struct ir_block *b = &ir->blocks.v[todo.v[--todo.n]];
		for (uint32_t k = 0; k < b->nsucc; k++) {
			if (b->succ[k] == y.block) {
				base_vec_free(&todo);
				return true;
			}
			if (!seen[b->succ[k]])
				base_vec_push(&todo, b->succ[k]);
			seen[b->succ[k]] = true;
		}
	}
	base_vec_free(&todo);
	return false;
}

/* The block that surely leads to b, as far up as there is one. */
static uint32_t origin_of(const struct check *c, uint32_t b)
{
	const struct ir *ir = c->e->ir;
	uint32_t d = b;

	while (ir->blocks.v[d].rpo) {
		uint32_t up = ir->blocks.v[d].idom, p = ir->blocks.v[up].ipdom;
		while (p != IR_NONE && p != d)
			p = ir->blocks.v[p].ipdom;
		if (p != d)
			break;
		d = up;
	}
	return d;
}

bool order_reaches_gpu(uint64_t scope)
{
	return scope == RACE_SCOPE_GPU || scope == RACE_SCOPE_SYS;
}

void order_each_fence(struct check *c, order_fence_fn *fn, void *arg)
{
	const struct ir *ir = c->e->ir;

	for (uint32_t i = 0; i < ir->nrpo; i++) {
		const struct ir_block *b = &ir->blocks.v[ir->rpo[i]];
		for (uint32_t k = b->first; k < b->first + b->n; k++)
			if (ir->steps.v[k].kind == IR_ORDER && ir->steps.v[k].imm > IR_FENCE &&
			    order_reaches_gpu(ir->steps.v[k].imm - IR_FENCE))
				fn(c, (struct order_at){ir->rpo[i], k}, arg);
	}
}

/* ---- questions ------------------------------------------------------------------------------- */

/* Thread 0 of the block, in all dimensions. */
static const struct ex *first_thread(struct check *c)
{
	struct ex_pool *p = c->pool;
	const struct ex *all = prove_ex_const(p, 1, 1);

	for (unsigned d = 0; d < 3; d++)
		all = prove_ex_and(
			p, all,
			prove_ex_bin(p, EX_EQ, prove_ex_spec(p, (enum prove_ex_spec)(EX_TID_X + d)),
				     prove_ex_const(p, 32, 0)));
	return all;
}

static bool is_never_once(struct check *c, const struct order_question *q, bool use_bits)
{
	struct smt_query s = {.is_same_cta = !q->are_apart, .use_bits = use_bits, .warp = q->warp};

	if (!check_limit(&s, use_bits ? CHECK_BETTER : CHECK_QUERY, c->deadline))
		return false;
	s.is_alone = !q->are_two && !q->are_apart;
	s.counters = q->way ? q->way->counters : base_zalloc(c->arena, c->e->ir->nloops + 1);
	c->k->counts.queries++;
	prove_smt_begin(c->smt, &s);
	if (q->guard)
		prove_hold_side(c, q->guard, q->block, 0);
	if (q->other)
		prove_hold_side(c, q->other, q->other_block, 1);
	if (q->is_first)
		prove_smt_assert(c->smt, first_thread(c), 1);
	for (unsigned d = EX_TID_X; d <= EX_CTAID_Z && q->is_one; d++)
		prove_smt_across(c->smt, prove_ex_const(c->pool, 1, 1),
				 prove_ex_spec(c->pool, (enum prove_ex_spec)d), true);
	for (unsigned t = 0; t < 2; t++)
		if (q->denied[t])
			prove_smt_assert(c->smt, prove_ex_not(c->pool, q->denied[t]), t);
	if (q->value[0])
		prove_smt_same(c->smt, q->value[0], q->value[1], q->are_same);
	if (q->bytes[0])
		prove_smt_conflict(c->smt, q->bytes[0]->off, q->bytes[0]->mem->bytes,
				   q->bytes[1]->off, q->bytes[1]->mem->bytes, false);
	for (uint32_t i = 0; q->links && i < q->links->n; i++)
		prove_smt_same(c->smt, order_loaded(c, q->links->v[i].get),
			       q->links->v[i].set->value, true);
	return prove_smt_check(c->smt, NULL) == SMT_IMPOSSIBLE;
}

bool order_is_never(struct check *c, const struct order_question *q)
{
	return is_never_once(c, q, false) || is_never_once(c, q, true);
}

/*
 * In the same iteration of one loop, by their conditions: as in `if (first && take())`, where both
 * ways meet before the branch.
 */
static bool comes_by_guard(struct check *c, struct order_at x, struct order_at y)
{
	const struct ir *ir = c->e->ir;
	uint32_t l = ir->blocks.v[x.block].loop;
	uint32_t header = l == IR_NONE ? IR_NONE : ir->loops[l].header;
	struct order_question q = {.guard = c->e->guard[y.block], .block = y.block};

	q.denied[0] = c->e->guard[x.block];
	return l == ir->blocks.v[y.block].loop && x.block != header && y.block != header &&
	       order_leads_to(c, x, y, header) && !order_leads_to(c, y, x, header) &&
	       order_is_never(c, &q);
}

bool order_comes_first(struct check *c, struct order_at x, struct order_at y)
{
	if (x.block == y.block)
		return x.step < y.step;
	return prove_ir_dominates(c->e->ir, x.block, y.block) || comes_by_guard(c, x, y);
}

struct pair_of {
	struct check *c;
	const struct ev_access *a;
	uint32_t block; /* the other comes there */
	bool may_meet;
};

static void meet(const struct phase_case *way, void *arg)
{
	struct pair_of *p = arg;
	struct order_question q = {
		.guard = p->a->guard, .block = p->a->block, .are_two = true, .way = way};

	q.other = p->c->e->guard[p->block];
	q.other_block = p->block;
	p->may_meet = p->may_meet || !order_is_never(p->c, &q);
}

bool order_may_meet(struct check *c, const struct ev_access *a, uint32_t block)
{
	struct pair_of p = {.c = c, .a = a, .block = block};

	prove_phase_each(&c->phases[IR_RANK_CTA], a->block, block, meet, &p);
	return p.may_meet;
}

bool order_is_one_thread(struct check *c, const struct ex *guard, uint32_t block)
{
	struct order_question q = {.guard = guard, .block = block, .are_two = true};

	q.other = guard;
	q.other_block = block;
	return c->e->ir->blocks.v[block].loop == IR_NONE && order_is_never(c, &q);
}

bool order_is_surely_done(struct check *c, const struct ev_access *by, uint32_t block)
{
	struct order_question q = {.guard = by->guard, .block = by->block, .is_first = true};

	q.denied[1] = c->e->guard[origin_of(c, block)];
	return c->e->ir->blocks.v[block].loop == IR_NONE && order_is_never(c, &q);
}

/* ---- accesses -------------------------------------------------------------------------------- */

const struct ex *order_loaded(struct check *c, const struct ev_access *a)
{
	return a->loaded ? a->loaded
			 : prove_ev_fresh_load(c->e, a->block, a->index, 8u * a->mem->bytes);
}

const struct ev_access *order_access_of(const struct check *c, const struct ir_access *mem)
{
	const struct ev_access *found = NULL;

	for (size_t i = 0; i < c->e->accesses.n; i++) {
		if (c->e->accesses.v[i].mem != mem)
			continue;
		if (found)
			return NULL;
		found = &c->e->accesses.v[i];
	}
	return found;
}

const struct ev_assume *order_ticket_of(const struct check *c, const struct ir_access *mem)
{
	for (size_t i = 0; i < c->e->tickets.n; i++)
		if (c->e->tickets.v[i].mem == mem)
			return &c->e->tickets.v[i];
	return NULL;
}

bool order_is_poll(const struct check *c, const struct ev_access *x)
{
	const struct ev_assume *t = order_ticket_of(c, x->mem);

	return x->mem->kind == RACE_OP_READ ||
	       (t && t->mem->rmw == IR_RMW_ADD && t->step->op == EX_CONST && !t->step->imm);
}

bool order_is_whole(const struct check *c, const struct ev_access *a)
{
	return a->guard == c->e->guard[a->block];
}

bool order_is_strong(const struct check *c, const struct ev_access *a)
{
	return !a->is_shared && order_is_whole(c, a) &&
	       (a->root.kind == EV_ROOT_PARAM || a->root.kind == EV_ROOT_OBJECT) &&
	       (a->mem->bytes == 4 || a->mem->bytes == 8) && order_reaches_gpu(a->mem->scope) &&
	       a->mem->strength != RACE_WEAK;
}

/* Is a's last byte surely before b's first one? The offsets of one root are as wide. */
static bool ends_before(const struct ev_access *a, const struct ev_access *b)
{
	return a->off->hi < b->off->lo && b->off->lo - a->off->hi >= a->mem->bytes;
}

/* May some thread's a access a byte that some thread's b does: of its block, or of another? */
static bool may_meet_byte(struct check *c, const struct ev_access *a, const struct ev_access *b)
{
	struct order_question q = {.guard = a->guard, .block = a->block, .bytes = {a, b}};

	q.other = b->guard;
	q.other_block = b->block;
	if (a->off->w != b->off->w || !order_is_never(c, &q))
		return true;
	q.are_apart = true;
	return !a->is_shared && !order_is_never(c, &q);
}

bool order_may_touch(struct check *c, const struct ev_access *a, const struct ev_access *b)
{
	struct check_pair was = c->pair;

	c->pair = (struct check_pair){.a = a, .b = b};
	bool may = prove_quick_may_alias(c);
	bool is_one =
		prove_ev_same_root(&a->root, &b->root) && !c->pair.is_forced && !c->pair.slot[0];
	c->pair = was;
	/* members of one variable */
	return may &&
	       !(is_one && (ends_before(a, b) || ends_before(b, a) || !may_meet_byte(c, a, b)));
}

/* ---- links ----------------------------------------------------------------------------------- */

/* Is the shared variable set by one thread, the first one, before all that read it? */
static bool is_link(struct check *c, const struct ev_access *set, const struct ev_access *get)
{
	if (!set->value || set->off->op != EX_CONST || set->off != get->off ||
	    set->mem->bytes != get->mem->bytes || set->value->w != 8u * set->mem->bytes ||
	    !prove_ev_same_root(&set->root, &get->root) || set->root.kind != EV_ROOT_OBJECT ||
	    set->mem->is_async || get->mem->is_async || !order_is_whole(c, set))
		return false;
	for (size_t i = 0; i < c->e->accesses.n; i++) {
		const struct ev_access *x = &c->e->accesses.v[i];
		bool is_other = x->off->op == EX_CONST &&
				prove_ev_same_root(&x->root, &set->root) &&
				x->off->w == set->off->w &&
				(x->off->imm >= set->off->imm + set->mem->bytes ||
				 set->off->imm >= x->off->imm + x->mem->bytes);
		if (x != set && x->mem->kind != RACE_OP_READ && !is_other &&
		    order_may_touch(c, set, x))
			return false;
	}
	return order_is_one_thread(c, set->guard, set->block) &&
	       !order_leads_to(c, order_of(get), order_of(set), IR_NONE) &&
	       order_is_surely_done(c, get, set->block) && !order_may_meet(c, get, set->block);
}

void order_find_links(struct check *c, struct order_links *out)
{
	const struct ev *e = c->e;

	for (size_t i = 0; i < e->accesses.n; i++)
		for (size_t k = 0; k < e->accesses.n && out->n < ORDER_MAX_LINKS; k++) {
			const struct ev_access *x = &e->accesses.v[i], *y = &e->accesses.v[k];
			if (x->is_shared && x->mem->kind == RACE_OP_WRITE && y->is_shared &&
			    y->mem->kind == RACE_OP_READ && is_link(c, x, y))
				out->v[out->n++] = (struct order_link){x, y};
		}
}

/* ---- before, after --------------------------------------------------------------------------- */

/* The loops that the read lies in were left. */
static const struct ex *left_loops(struct check *c, uint32_t from, uint32_t to)
{
	const struct ex *all = prove_ex_const(c->pool, 1, 1);
	const struct ir *ir = c->e->ir;

	for (uint32_t l = ir->blocks.v[from].loop;
	     l != IR_NONE && !prove_ir_in_loop(&ir->loops[l], to); l = ir->loops[l].parent)
		all = prove_ex_and(
			c->pool, all,
			prove_ev_leave(c->e, c->e->loops[l].leave, ir->loops[l].header, to));
	return all;
}

const struct ex *order_guard_after(struct check *c, const struct order_seen *s,
				   const struct ev_access *b)
{
	return prove_ex_and(c->pool, b->guard, left_loops(c, s->read->block, b->block));
}

bool order_is_after_own(struct check *c, const struct order_seen *s, const struct ev_access *b)
{
	struct order_question q = {.block = b->block};

	q.guard = order_guard_after(c, s, b);
	q.denied[0] = prove_ev_leave(c->e, s->holds, s->fence.block, b->block);
	return order_comes_first(c, s->fence, order_of(b)) && order_is_never(c, &q);
}

bool order_is_after_first(struct check *c, const struct order_seen *s,
			  const struct order_links *links, const struct ev_access *b)
{
	uint32_t at = s->fence.block;
	struct order_question q = {
		.guard = b->guard, .block = b->block, .is_first = true, .links = links};

	if (order_leads_to(c, order_of(b), s->fence, IR_NONE) || !order_is_surely_done(c, b, at) ||
	    order_may_meet(c, b, at))
		return false;
	q.other = prove_ex_and(c->pool, c->e->guard[at], left_loops(c, s->read->block, at));
	q.other_block = at;
	q.denied[1] = s->holds;
	return order_is_never(c, &q);
}

#define MAX_FENCES 16

struct releases {
	const struct ev_access *sent;
	struct order_at v[MAX_FENCES];
	uint32_t n;
};

static void add_release(struct check *c, struct order_at fence, void *arg)
{
	struct releases *r = arg;

	if (r->n < MAX_FENCES && order_comes_first(c, fence, order_of(r->sent)))
		r->v[r->n++] = fence;
}

bool order_is_before(struct check *c, const struct ev_access *sent, const struct ev_access *a)
{
	struct releases r = {.sent = sent};

	if (a == sent)
		return true;
	if (a->mem->is_async)
		return false;
	if (race_is_release((enum race_strength)sent->mem->strength))
		r.v[r.n++] = order_of(sent);
	order_each_fence(c, add_release, &r);
	for (uint32_t i = 0; i < r.n; i++)
		if (!order_leads_to(c, r.v[i], order_of(a), IR_NONE) &&
		    !order_may_meet(c, a, r.v[i].block))
			return true;
	return false;
}
