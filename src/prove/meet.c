/*
 * meet.c - order that isn't a phase: barriers of some lanes, tickets, own copies (check.h).
 *
 * A barrier of the lanes in a constant mask, outside of loops and the only one with its mask, is
 * executed at most once by a thread. What a lane of the mask surely does before it comes before
 * what another lane of the mask does after it (PTX ISA 9.7.13.2); phases don't know that, as the
 * other lanes never come there.
 *
 * What an atomic addition gives back differs between threads when all that is written to its one
 * place in global memory is written by this very instruction, with an odd number, and it counts
 * fewer times than there are values: once by a thread, of which there are fewer, or in a loop, by
 * the contract. So do the answers of several instructions, each of which adds this number, as a
 * loop that is unrolled has them. The contract also says that no host code or other kernel writes
 * to it. In shared memory the threads of one block differ, and what else is written there may be in
 * other phases: before all of the additions, or after all; several instructions aren't compared.
 *
 * A thread's asynchronous copy and what it accesses itself meanwhile aren't ordered: one query
 * about one thread, in which loops that order copies are in one iteration, says that they don't
 * meet.
 *
 * Misses: masks that several barriers have or that a register holds (but for tiles, phase.c),
 * counters in shared memory that a loop with barriers sets again.
 */
#include "prove/check.h"

#include <string.h>

/* What a counter of 64 bits, whose answer is an index, stays below (the contract says so). */
#define MODEST (1ull << 48)

/* ---- lanes -------------------------------------------------------------------------------- */

static const struct ir_step *lanes_barrier(const struct ir *ir, uint32_t b)
{
	const struct ir_block *x = &ir->blocks.v[b];
	const struct ir_step *st = x->n ? &ir->steps.v[x->first + x->n - 1] : NULL;

	return st && x->is_reached && st->kind == IR_WARP_BARRIER ? st : NULL;
}

/* Is the barrier that ends block b the only one with its mask, which isn't that of all lanes? */
static bool is_alone(const struct check *c, uint32_t b)
{
	const struct ir *ir = c->e->ir;
	const struct ir_step *st = lanes_barrier(ir, b);

	if (!st || st->pred != IR_NONE || ir->blocks.v[b].loop != IR_NONE || !c->e->arg[b] ||
	    c->e->arg[b]->op != EX_CONST || c->e->arg[b]->imm == UINT32_MAX)
		return false;
	for (uint32_t o = 0; o < ir->blocks.n; o++) {
		if (o == b || !lanes_barrier(ir, o))
			continue;
		const struct ex *mask = c->e->arg[o];
		if (!mask || mask->op != EX_CONST || mask->imm == c->e->arg[b]->imm)
			return false;
	}
	return true;
}

bool prove_meet_has_lanes(const struct check *c)
{
	for (uint32_t b = 0; b < c->e->ir->blocks.n; b++)
		if (is_alone(c, b))
			return true;
	return false;
}

/* Does each way from block `from` to an end of the thread lead through b? */
static bool leads_through(const struct check *c, uint32_t from, uint32_t b)
{
	const struct ir *ir = c->e->ir;
	bool *seen = base_zalloc(c->arena, ir->blocks.n);
	BASE_VEC(uint32_t) todo = {0};
	bool is_kept = true;

	base_vec_push(&todo, from);
	seen[from] = true;
	while (todo.n && is_kept) {
		uint32_t x = todo.v[--todo.n];
		if (x == b)
			continue;
		is_kept = ir->blocks.v[x].end != IR_EXIT;
		for (uint32_t k = 0; k < ir->blocks.v[x].nsucc; k++) {
			uint32_t s = ir->blocks.v[x].succ[k];
			if (!seen[s])
				base_vec_push(&todo, s);
			seen[s] = true;
		}
	}
	base_vec_free(&todo);
	return is_kept;
}

/* The thread's lane is in the mask. */
static const struct ex *in_mask(struct check *c, uint64_t mask)
{
	struct ex_pool *p = c->pool;
	const struct ex *at = prove_ex_spec(p, EX_TID_Z);

	at = prove_ex_bin(p, EX_ADD, prove_ex_bin(p, EX_MUL, at, prove_ex_spec(p, EX_NTID_Y)),
			  prove_ex_spec(p, EX_TID_Y));
	at = prove_ex_bin(p, EX_ADD, prove_ex_bin(p, EX_MUL, at, prove_ex_spec(p, EX_NTID_X)),
			  prove_ex_spec(p, EX_TID_X));
	const struct ex *lane = prove_ex_bin(p, EX_AND, at, prove_ex_const(p, 32, 31));
	if (!(mask & (mask + 1))) /* the first ones: no shift */
		return prove_ex_bin(p, EX_ULT, lane,
				    prove_ex_const(p, 32, (uint64_t)__builtin_popcountll(mask)));
	return prove_ex_un(p, EX_TRUNC, 1,
			   prove_ex_bin(p, EX_LSHR, prove_ex_const(p, 32, mask), lane));
}

static bool is_between(const struct check *c, uint32_t before, uint32_t b, uint32_t behind)
{
	return behind != b && prove_ir_dominates(c->e->ir, b, behind) &&
	       leads_through(c, before, b);
}

static void hold_lanes(struct check *c)
{
	uint32_t x = c->pair.a->block, y = c->pair.b->block;

	for (uint32_t b = 0; b < c->e->ir->blocks.n; b++)
		if (is_alone(c, b) && (is_between(c, x, b, y) || is_between(c, y, b, x)))
			prove_smt_across(c->smt, in_mask(c, c->e->arg[b]->imm),
					 prove_ex_const(c->pool, 1, 1), false);
}

/* ---- tickets ------------------------------------------------------------------------------ */

/* Do all threads add fewer times than 2^32, n times each? The product of the dimensions stays below
 * 2^31 in each direction. */
static bool is_countable(const struct check *c, unsigned n)
{
	const uint32_t *m = c->pool->launch.max;
	uint64_t x = m[0] * (uint64_t)m[3];

	if (!c->o->all_launches && x > INT32_MAX)
		x = INT32_MAX;
	for (unsigned d = 1; d < 3; d++)
		if (__builtin_mul_overflow(x, m[d] * (uint64_t)m[3 + d], &x))
			return false;
	return x < UINT32_MAX / n;
}

static void note_meeting(const struct phase_case *way, void *arg)
{
	bool *is_met = arg;

	(void)way;
	*is_met = true;
}

bool meet_is_other_phase(const struct check *c, const struct ev_access *x,
			 const struct ev_access *at)
{
	const struct phases *p = &c->phases[IR_RANK_CTA];
	bool is_met = false;

	if (!at->is_shared || !p->is_used || x->root.kind != EV_ROOT_OBJECT || x->mem->is_async)
		return false;
	prove_phase_each(p, x->block, at->block, note_meeting, &is_met);
	prove_phase_each(p, at->block, x->block, note_meeting, &is_met);
	return !is_met;
}

bool meet_is_set_again(const struct check *c, const struct ev_access *at)
{
	const struct ir *ir = c->e->ir;

	for (uint32_t l = ir->blocks.v[at->block].loop; l != IR_NONE; l = ir->loops[l].parent)
		if (prove_ev_has_sync(ir, l))
			return true;
	return false;
}

/* Is the counter one for all threads that are asked about? Of a block: and its threads add to it in
 * one phase. */
static bool is_one_counter(const struct check *c, const struct ev_access *at)
{
	if (at->off->has_ctr || at->off->level < (at->is_shared ? EX_CTA : EX_GRID))
		return false;
	if (!at->is_shared)
		return at->root.kind == EV_ROOT_PARAM || at->root.kind == EV_ROOT_OBJECT ||
		       prove_ev_is_one_loaded(&at->root);
	return !meet_is_set_again(c, at) && at->root.kind == EV_ROOT_OBJECT &&
	       c->level.apart <= RACE_LEVEL_BLOCK;
}

/* What the addition adds, if that is one number; else NULL. */
static const struct ex *step_of(const struct check *c, const struct ir_access *mem)
{
	const struct ex *step = NULL;

	for (size_t i = 0; i < c->e->tickets.n; i++) {
		const struct ev_assume *t = &c->e->tickets.v[i];
		if (t->mem != mem)
			continue;
		if (!t->step || t->step->op != EX_CONST || (step && t->step != step))
			return NULL;
		step = t->step;
	}
	return step;
}

/* Another instruction that adds the same number to the same place, as a loop that is unrolled has
 * them. */
static bool adds_alike(const struct check *c, const struct ev_access *x, const struct ev_access *at)
{
	const struct ex *step = step_of(c, at->mem);

	return step && x->mem->rmw == IR_RMW_ADD && x->mem->bytes == at->mem->bytes &&
	       x->mem->scope == at->mem->scope && x->off == at->off &&
	       prove_ev_alias(&x->root, &at->root) == EV_SAME && step_of(c, x->mem) == step;
}

/* Is it another place of the counter's array? */
static bool is_beside(const struct ev_access *x, const struct ev_access *at)
{
	const struct ex *a = x->off, *b = at->off;

	return prove_ev_alias(&x->root, &at->root) == EV_SAME && !x->mem->is_range &&
	       !x->mem->is_bulk && !x->mem->is_row && !x->mem->is_collective && !x->is_late &&
	       a->op == EX_CONST && b->op == EX_CONST && a->w == b->w && a->imm < INT32_MAX &&
	       b->imm < INT32_MAX &&
	       (a->imm + x->mem->bytes <= b->imm || b->imm + at->mem->bytes <= a->imm);
}

/* Other instructions that add to a counter alike. */
struct alike {
	unsigned n;
	bool has_loop; /* one is in a loop */
};

/*
 * Is the counter of an addition written to by nothing else? Gives back its access, or NULL.
 * *alike: those that may add to it alike; NULL: none may.
 */
static const struct ev_access *own_counter(const struct check *c, const struct ir_access *mem,
					   struct alike *alike)
{
	const struct ev_access *at = NULL;

	for (size_t i = 0; i < c->e->accesses.n; i++)
		if (c->e->accesses.v[i].mem == mem)
			at = &c->e->accesses.v[i];
	if (!at || mem->rmw != IR_RMW_ADD || mem->bytes < 4 || c->o->may_alias ||
	    !is_one_counter(c, at) ||
	    mem->scope < (at->is_shared ? RACE_SCOPE_CTA : RACE_SCOPE_GPU))
		return NULL;
	for (size_t i = 0; i < c->e->accesses.n; i++) {
		const struct ev_access *x = &c->e->accesses.v[i];
		if (x == at || !(x->mem->kind & RACE_OP_WRITE))
			continue;
		/* the same addition elsewhere: its address is a choice */
		if (x->mem == at->mem)
			return NULL;
		if (prove_ev_alias(&x->root, &at->root) == EV_APART || is_beside(x, at) ||
		    meet_is_other_phase(c, x, at))
			continue;
		/* of a block's it isn't known that nothing is set between the two */
		if (!alike || at->is_shared || !adds_alike(c, x, at))
			return NULL;
		alike->n++;
		alike->has_loop |= c->e->ir->blocks.v[x->block].loop != IR_NONE;
	}
	return at;
}

/* Of 64 bits, and `step` doesn't look as if two numbers were in one word? */
static bool is_modest(const struct ex *v, const struct ex *step)
{
	return v->w == 64 && (step->op != EX_CONST || step->imm <= UINT32_MAX);
}

bool meet_overflows(struct check *c, const struct ev_access *at, const struct ev_assume *t)
{
	const struct ex *is_done = at->guard, *first = prove_ex_const(c->pool, 64, 0);
	const uint32_t *dim = c->pool->launch.dim;
	uint64_t threads = 1;

	if (!t->value || !t->step || t->step->op != EX_CONST || !t->step->imm)
		return false;
	for (uint32_t l = c->e->ir->blocks.v[at->block].loop; l != IR_NONE;
	     l = c->e->ir->loops[l].parent)
		is_done = prove_ex_replace(c->pool, is_done, c->e->loops[l].ctr, first);
	if (is_done->op != EX_CONST || !(is_done->imm & 1))
		return false;
	for (unsigned d = 0; d < (at->is_shared ? 3 : 6); d++)
		threads *= dim[d] ? dim[d] : 1;
	uint64_t most = is_modest(t->value, t->step) ? MODEST : prove_ex_mask(t->value->w);
	return threads - 1 > most / t->step->imm;
}

bool meet_has_own_counter(struct check *c, const struct ir_access *mem)
{
	const struct ev_access *at = c->e->may_wrap ? NULL : own_counter(c, mem, NULL);

	if (!at)
		return false;
	for (size_t i = 0; i < c->e->tickets.n; i++)
		if (c->e->tickets.v[i].mem == mem && meet_overflows(c, at, &c->e->tickets.v[i]))
			return false;
	c->assumed.has_counts = true;
	return true;
}

/* *has_loop: as the contract says how often a loop adds. */
static bool is_distinct(const struct check *c, const struct ev_assume *t, bool *has_loop)
{
	struct alike alike = {.has_loop = t->loop != IR_NONE};
	const struct ev_access *at = own_counter(c, t->mem, &alike);

	*has_loop = alike.has_loop;
	return at && t->value && t->step->op == EX_CONST && (t->step->imm & 1) &&
	       (!alike.has_loop || !c->e->may_wrap) &&
	       (t->mem->bytes == 8 || at->is_shared || is_countable(c, alike.n + 1));
}

void meet_hold_modest(struct check *c, const struct ex *guard, const struct ex *v,
		      const struct ex *step)
{
	if (!is_modest(v, step))
		return;
	const struct ex *end = prove_ex_const(c->pool, 64, MODEST);
	const struct ex *is = prove_ex_or(c->pool, prove_ex_not(c->pool, guard),
					  prove_ex_bin(c->pool, EX_ULT, v, end));

	for (unsigned k = 0; k < 2; k++)
		prove_smt_assert(c->smt, is, k);
	c->assumed.has_long = true;
}

static bool is_index(const struct check *c, const struct ex *v)
{
	return prove_ex_contains(c->pair.a->off, v) || prove_ex_contains(c->pair.b->off, v);
}

static bool is_on_way(const struct check *c, const struct ev_assume *t, const struct ev_access *a)
{
	return prove_ir_dominates(c->e->ir, t->block, a->block);
}

/* Do the answers of x, in one thread, and of y, in another, differ, as both add to one counter? */
static bool are_alike(struct check *c, const struct ev_assume *x, const struct ev_assume *y)
{
	struct alike alike = {.n = 0};
	bool has_loop, is_one = x == y;

	if (!is_distinct(c, x, &has_loop) || !is_distinct(c, y, &has_loop))
		return false;
	const struct ev_access *at = own_counter(c, y->mem, &alike);
	for (size_t k = 0; k < c->e->accesses.n && !at->is_shared; k++)
		is_one |= c->e->accesses.v[k].mem == x->mem &&
			  adds_alike(c, &c->e->accesses.v[k], at);
	c->assumed.has_counts |= is_one && has_loop;
	return is_one;
}

/* Two additions to one counter, on the ways to the one access and to the other: their answers
 * differ, too. */
static void hold_alike(struct check *c, const struct ev_assume *x)
{
	for (size_t i = 0; i < c->e->tickets.n; i++) {
		const struct ev_assume *y = &c->e->tickets.v[i];
		if (y == x || !is_on_way(c, y, c->pair.b) || !are_alike(c, x, y))
			continue;
		struct smt_claim first = {.when = x->guard, .place = x->value},
				 second = {.when = y->guard, .place = y->value};
		prove_smt_claims(c->smt, &first, &second);
	}
}

/* Is each part of the conjunction `part` one of g? */
static bool has_parts(const struct ex *g, const struct ex *part)
{
	if (part == g || (part->op == EX_CONST && (part->imm & 1)))
		return true;
	if (part->op == EX_AND && part->w == 1)
		return has_parts(g, part->a[0]) && has_parts(g, part->a[1]);
	return g->op == EX_AND && g->w == 1 &&
	       (has_parts(g->a[0], part) || has_parts(g->a[1], part));
}

/* Has the thread surely got this answer where it accesses? */
static bool is_given(const struct check *c, const struct ev_assume *t, const struct ev_access *a)
{
	return t->value && is_on_way(c, t, a) && has_parts(a->guard, t->guard);
}

/* Does g say that v is a number? */
static bool is_number(const struct ex *g, const struct ex *v, uint64_t *n)
{
	if (g->op == EX_AND && g->w == 1)
		return is_number(g->a[0], v, n) || is_number(g->a[1], v, n);
	if (g->op != EX_EQ || g->a[0] != v || g->a[1]->op != EX_CONST)
		return false;
	*n = g->a[1]->imm;
	return true;
}

bool meet_tickets_deny(struct check *c)
{
	uint64_t m, n;

	for (size_t i = 0; i < c->e->tickets.n; i++) {
		const struct ev_assume *x = &c->e->tickets.v[i];
		if (!is_given(c, x, c->pair.a) || !is_number(c->pair.a->guard, x->value, &m))
			continue;
		for (size_t k = 0; k < c->e->tickets.n; k++) {
			const struct ev_assume *y = &c->e->tickets.v[k];
			if (!is_given(c, y, c->pair.b) ||
			    !is_number(c->pair.b->guard, y->value, &n) || m != n ||
			    !are_alike(c, x, y))
				continue;
			return true;
		}
	}
	return false;
}

const struct ex *meet_same_ticket(struct check *c, const struct ex *off)
{
	for (size_t i = 0; i < c->e->tickets.n; i++) {
		const struct ev_assume *x = &c->e->tickets.v[i];
		if (!is_given(c, x, c->pair.a) || x->value->w > 32 ||
		    !prove_ex_contains(c->pair.a->off, x->value))
			continue;
		for (size_t k = 0; k < c->e->tickets.n; k++) {
			const struct ev_assume *y = &c->e->tickets.v[k];
			if (y != x && y->value && prove_ex_contains(off, y->value) &&
			    is_given(c, y, c->pair.b) && are_alike(c, x, y))
				return prove_ex_replace(c->pool, off, y->value, x->value);
		}
	}
	return off;
}

bool meet_is_ticket(struct check *c, const struct ex *v)
{
	while (v->op == EX_ZEXT || v->op == EX_SEXT)
		v = v->a[0];
	for (size_t i = 0; i < c->e->tickets.n && v->op == EX_VAR && v->w <= 32; i++) {
		const struct ev_assume *x = &c->e->tickets.v[i];
		if (x->value != v || !is_given(c, x, c->pair.a))
			continue;
		for (size_t k = 0; k < c->e->tickets.n; k++) {
			const struct ev_assume *y = &c->e->tickets.v[k];
			if (is_given(c, y, c->pair.b) && are_alike(c, x, y))
				return true;
		}
	}
	return false;
}

static void hold_tickets(struct check *c)
{
	bool has_loop;

	for (size_t i = 0; i < c->e->tickets.n; i++)
		if (is_on_way(c, &c->e->tickets.v[i], c->pair.a) &&
		    is_distinct(c, &c->e->tickets.v[i], &has_loop))
			hold_alike(c, &c->e->tickets.v[i]);
	for (size_t i = 0; i < c->e->tickets.n; i++) {
		const struct ev_assume *t = &c->e->tickets.v[i];
		if (!is_on_way(c, t, c->pair.a) || !is_on_way(c, t, c->pair.b))
			continue;
		bool is_used = t->value && t->step && is_index(c, t->value);
		if (is_distinct(c, t, &has_loop)) {
			prove_smt_across(c->smt, t->guard, t->value, false);
			c->assumed.has_counts |= has_loop;
			if (is_used)
				meet_hold_modest(c, t->guard, t->value, t->step);
		}
	}
}

void prove_meet_hold(struct check *c)
{
	if (c->has_lanes && c->level.apart == RACE_LEVEL_WARP)
		hold_lanes(c);
	hold_tickets(c);
	order_hold(c);
}

/* ---- copies that are under way ------------------------------------------------------------- */

/* The iteration of loop l that a condition names, or -1. */
static int64_t turn_of(const struct ex *g, const struct ex *ctr)
{
	if (g->op == EX_AND && g->w == 1) {
		int64_t n = turn_of(g->a[0], ctr);
		return n >= 0 ? n : turn_of(g->a[1], ctr);
	}
	if (g->op != EX_EQ)
		return -1;
	for (unsigned i = 0; i < 2; i++)
		if (g->a[i] == ctr && g->a[!i]->op == EX_CONST && g->a[!i]->imm < INT32_MAX)
			return (int64_t)g->a[!i]->imm;
	return -1;
}

static void put_turn(struct ex_pool *p, struct ev_access *a, const struct ex *ctr, int64_t n)
{
	const struct ex *k = prove_ex_const(p, ctr->w, (uint64_t)n);

	a->off = prove_ex_replace(p, a->off, ctr, k);
	a->guard = prove_ex_replace(p, a->guard, ctr, k);
}

/*
 * Where a condition of one says in which iteration of a loop it is, and the counters are related,
 * both get that number. False: one of them is in none that fits, so that they don't meet.
 */
static bool put_turns(struct check *c, const uint8_t *counters, struct ev_access *a,
		      struct ev_access *b)
{
	for (uint32_t l = 0; l < c->e->ir->nloops; l++) {
		const struct ex *ctr = c->e->loops[l].ctr;
		int64_t n = turn_of(a->guard, ctr), m = turn_of(b->guard, ctr);
		int64_t gap = (counters[l] == SMT_SECOND_AHEAD) - (counters[l] == SMT_FIRST_AHEAD);
		if (counters[l] == SMT_FREE || (n < 0 && m < 0))
			continue;
		n = n < 0 ? m - gap : n;
		m = m < 0 ? n + gap : m;
		if (n < 0 || m < 0 || m != n + gap)
			return false;
		put_turn(c->pool, a, ctr, n);
		put_turn(c->pool, b, ctr, m);
	}
	return true;
}

bool meet_late_is_apart(struct check *c, const uint8_t *counters)
{
	struct check_pair was = c->pair;
	struct ev_access a = *was.a, b = *was.b;

	if (!a.is_late && !b.is_late)
		return false;
	if (!put_turns(c, counters, &a, &b))
		return true;
	if (a.off == was.a->off && b.off == was.b->off)
		return false;
	c->pair.a = &a;
	c->pair.b = &b;
	bool is_apart = prove_quick_is_apart(c, counters);
	c->pair = was;
	return is_apart;
}

/* other: a loop in whose iterations the two differ, or IR_NONE. */
static bool are_elsewhere(struct check *c, const struct ev_touch *t, const uint8_t *counters,
			  uint32_t other, bool use_bits)
{
	struct smt_query q = {.is_same_cta = true, .is_alone = true, .counters = counters};
	struct ex_pool *p = c->pool;

	q.use_bits = use_bits;
	if (!check_limit(&q, CHECK_QUERY, c->deadline))
		return false;
	c->k->counts.queries++;
	prove_smt_begin(c->smt, &q);
	prove_hold_side(c, t->copy.guard, t->copy.block, 0);
	if (!t->own.step)
		return prove_smt_check(c->smt, NULL) == SMT_IMPOSSIBLE;
	prove_hold_side(c, t->own.guard, t->own.block, 1);
	if (other != IR_NONE)
		prove_smt_across(c->smt, prove_ex_const(p, 1, 1), c->e->loops[other].ctr, false);
	for (unsigned s = EX_TID_X; s <= EX_CTAID_Z; s++)
		prove_smt_across(c->smt, prove_ex_const(p, 1, 1),
				 prove_ex_spec(p, (enum prove_ex_spec)s), true);
	prove_smt_conflict(c->smt, t->copy.off, t->copy.mem->bytes, t->own.off, t->own.mem->bytes,
			   false);
	return prove_smt_check(c->smt, NULL) == SMT_IMPOSSIBLE;
}

/*
 * A copy that a thread does again and again without waiting: always to other bytes? Of each loop
 * that doesn't wait: in the same iteration of those around it, in others of this one.
 */
static bool are_all_elsewhere(struct check *c, const struct ev_touch *t, const uint8_t *counters)
{
	const struct ir *ir = c->e->ir;
	uint8_t *same = base_alloc(c->arena, ir->nloops + 1);

	for (uint32_t l = ir->blocks.v[t->own.block].loop; l != IR_NONE; l = ir->loops[l].parent) {
		if (counters[l] != SMT_FREE)
			continue;
		memcpy(same, counters, ir->nloops + 1);
		for (uint32_t k = ir->loops[l].parent; k != IR_NONE; k = ir->loops[k].parent)
			same[k] = SMT_SAME;
		if (!are_elsewhere(c, t, same, l, false) && !are_elsewhere(c, t, same, l, true))
			return false;
	}
	return true;
}

void prove_meet_own_copies(struct check *c)
{
	const struct ir *ir = c->e->ir;
	uint8_t *counters = base_zalloc(c->arena, ir->nloops + 1);
	/* in the arena: the pair keeps its address */
	struct ev_touch *t = BASE_NEW(c->arena, struct ev_touch);

	for (uint32_t l = 0; l < ir->nloops; l++)
		counters[l] = prove_ev_has_sync(ir, l) ? SMT_SAME : SMT_FREE;
	for (size_t i = 0; i < c->e->touches.n; i++) {
		*t = c->e->touches.v[i];
		if (t->own.step && !put_turns(c, counters, &t->copy, &t->own))
			continue;
		c->pair = (struct check_pair){.a = &t->copy, .b = &t->own};
		if (t->own.step && !prove_quick_may_alias(c))
			continue;
		if (!c->pair.is_forced && !c->pair.slot[0] &&
		    (t->is_again ? are_all_elsewhere(c, t, counters)
				 : (t->own.step && digits_are_apart(c, counters, true)) ||
					   are_elsewhere(c, t, counters, IR_NONE, false) ||
					   are_elsewhere(c, t, counters, IR_NONE, true)))
			continue;
		if (t->own.step)
			prove_show_own_copy(c, &t->copy, &t->own);
		const struct ptx_stmt *at = t->own.step ? t->own.step->at : t->copy.step->at;
		const char *what = t->copy.mem->matrix ? "matrix product" : "copy";
		prove_alarm_problem(
			RACE_PROBLEM_UNPROVEN, at,
			t->own.step ? base_printf(c->arena,
						  "an access while the thread's %s of PTX line %u "
						  "may be under way, perhaps to the same bytes",
						  what, t->copy.step->at->line)
				    : base_printf(c->arena,
						  "a %s that may be under way when the thread ends",
						  what),
			c);
		return;
	}
}
