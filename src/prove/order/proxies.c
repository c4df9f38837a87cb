/*
 * proxies.c - fences between what threads write and what copies and products read (order.h).
 *
 * What ordinary accesses write reaches a bulk copy, or a matrix product, over fence.proxy.async
 * only (docs/soundness.md, "Proxies"). Barriers order the two as any others, which pairs.c asks
 * about. Here a fence is looked for: in the writing thread before anything else can hand the write
 * on, or in the thread that copies, since anything was handed on to it, or since a barrier that
 * comes after the write.
 *
 * Misses: fences of third threads; copies that complete on mbarriers, for which no barrier counts.
 */
#include "prove/order/order.h"

/* May the step hand on what the thread, or another one, has done? */
static bool hands_on(const struct ir_step *st)
{
	if (st->kind == IR_ACCESS)
		return st->mem->strength != RACE_WEAK || st->mem->is_volatile ||
		       st->mem->kind == RACE_OP_RMW;
	return st->kind == IR_BARRIER || st->kind == IR_WARP_BARRIER || st->kind == IR_UNKNOWN ||
	       (st->kind == IR_ORDER && st->imm != IR_FENCE_PROXY);
}

static bool is_fence(const struct ir_step *st, bool is_shared)
{
	return st->kind == IR_ORDER && st->imm == IR_FENCE_PROXY && st->pred == IR_NONE &&
	       (st->op == IR_GENERIC || st->op == (is_shared ? IR_SHARED : IR_GLOBAL));
}

static bool is_bulk(const struct ir_step *st)
{
	return st->kind == IR_ACCESS && st->mem->is_async && st->mem->group != IR_GROUP_COPY;
}

struct search {
	struct check *c;
	uint32_t write; /* the step */
	bool is_shared, is_back;
	bool *seen; /* by block */
	BASE_VEC(uint32_t) todo;
};

enum found { GOES_ON, FENCED, OPEN };

static enum found look_at(const struct search *s, uint32_t i)
{
	const struct ir_step *st = &s->c->e->ir->steps.v[i];

	if (is_fence(st, s->is_shared))
		return FENCED;
	return hands_on(st) || (s->is_back ? i == s->write : is_bulk(st)) ? OPEN : GOES_ON;
}

/* Is there a fence on each way from a place on, or back from it, before the write is handed on? */
static bool has_fence(struct search *s, struct order_at at)
{
	const struct ir *ir = s->c->e->ir;
	bool is_open = false, is_start = true;

	s->seen = BASE_NEWN(s->c->arena, bool, ir->blocks.n + 1);
	base_vec_push(&s->todo, at.block);
	while (s->todo.n && !is_open) {
		uint32_t n = s->todo.v[--s->todo.n];
		const struct ir_block *b = &ir->blocks.v[n];
		uint32_t lo = is_start && !s->is_back ? at.step + 1 : b->first;
		uint32_t hi = is_start && s->is_back ? at.step : b->first + b->n;
		enum found x = GOES_ON;
		is_start = false;
		for (uint32_t k = lo; k < hi && x == GOES_ON; k++)
			x = look_at(s, s->is_back ? hi - 1 - (k - lo) : k);
		is_open = x == OPEN;
		const uint32_t *next = s->is_back ? b->pred : b->succ;
		for (uint32_t k = 0; k < (s->is_back ? b->npred : b->nsucc) && x == GOES_ON; k++)
			if (!s->seen[next[k]] && ir->blocks.v[next[k]].is_reached) {
				s->seen[next[k]] = true;
				base_vec_push(&s->todo, next[k]);
			}
	}
	base_vec_free(&s->todo);
	return !is_open;
}

/* Do the two never touch a common byte, in one thread or in two of a block? */
static bool are_elsewhere(struct check *c, const struct ev_access *x, const struct ev_access *y)
{
	struct order_question q = {.guard = x->guard, .block = x->block, .bytes = {x, y}};

	c->pair = (struct check_pair){.a = x, .b = y};
	if (!prove_quick_may_alias(c))
		return true;
	if (!x->is_shared || c->pair.is_forced || c->pair.slot[0])
		return false;
	q.other = y->guard;
	q.other_block = y->block;
	q.are_two = true;
	if (!order_is_never(c, &q))
		return false;
	q.are_two = false;
	q.is_one = true;
	return order_is_never(c, &q);
}

bool proxies_are_fenced(struct check *c, const struct ev_access *write)
{
	struct search s = {.c = c, .write = write->index, .is_shared = write->is_shared};

	return has_fence(&s, order_of(write));
}

/*
 * Has the thread that copies surely come to a fence, which a barrier puts after the write? More
 * barriers may lie between that fence and the copy.
 */
static bool has_fence_between(struct check *c, const struct ev_access *write,
			      const struct ev_access *copy)
{
	const struct ir *ir = c->e->ir;

	for (uint32_t b = 0; b < ir->blocks.n; b++) {
		const struct ir_block *x = &ir->blocks.v[b];
		if (!x->is_reached || !prove_ir_dominates(ir, b, copy->block))
			continue;
		for (uint32_t i = x->first; i < x->first + x->n; i++) {
			struct order_at at = {b, i};
			if (is_fence(&ir->steps.v[i], write->is_shared) &&
			    (b != copy->block || i < copy->index) &&
			    order_leads_to(c, order_of(write), at, IR_NONE) &&
			    !order_leads_to(c, at, order_of(write), IR_NONE) &&
			    !order_may_meet(c, write, b))
				return true;
		}
	}
	return false;
}

static bool is_kept(struct check *c, const struct ev_access *write, const struct ev_access *copy)
{
	struct search s = {.c = c, .write = write->index, .is_shared = write->is_shared};
	bool is_fenced;

	/* barriers are the same steps for all, so that these are then in this order, too */
	if (!order_leads_to(c, order_of(write), order_of(copy), IR_NONE))
		return true;
	is_fenced = proxies_are_fenced(c, write);
	s.is_back = true;
	return is_fenced || has_fence(&s, order_of(copy)) || has_fence_between(c, write, copy) ||
	       are_elsewhere(c, write, copy);
}

/* As an alarm, whose launch can be run: true where there is one now. */
static bool raise_alarm(struct check *c, const struct ev_access *write,
			const struct ev_access *copy)
{
	static const bool level[RACE_LEVEL_GRID + 1] = {
		[RACE_LEVEL_THREAD] = true, [RACE_LEVEL_BLOCK] = true};
	size_t alarms = c->k->alarms.n;

	if (c->trial.is_on)
		return false;
	prove_pair_in_any_order(c, write, copy, level);
	if (c->k->alarms.n == alarms)
		return false;
	prove_nothing_is_proven(c);
	return true;
}

void proxies_check(struct check *c)
{
	const struct ev *e = c->e;

	for (size_t i = 0; i < e->accesses.n; i++)
		for (size_t k = 0; k < e->accesses.n; k++) {
			const struct ev_access *copy = &e->accesses.v[i], *x = &e->accesses.v[k];
			if (!is_bulk(copy->step) || copy->is_late || x->mem->is_async ||
			    x->mem->is_bulk || !(x->mem->kind & RACE_OP_WRITE) ||
			    is_kept(c, x, copy))
				continue;
			if (raise_alarm(c, x, copy))
				return;
			prove_alarm_problem(
				RACE_PROBLEM_UNPROVEN, x->step->at,
				base_printf(c->arena,
					    "no fence.proxy.async is seen between this "
					    "and the %s of PTX line %u",
					    copy->mem->matrix ? "matrix product" : "bulk copy",
					    copy->step->at->line),
				c);
			return;
		}
}
