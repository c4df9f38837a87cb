/*
 * run.c - all threads of a block of known size, executed with letters (ranks.h).
 *
 * Thread and block have numbers; what is loaded from global memory, and whatever isn't modelled, is
 * a letter: a new value of its own. So registers and shared memory hold expressions of letters,
 * after a scan sums. Threads run one by one from one place where they wait to the next: a barrier
 * of the block, one of a warp's lanes, or an exchange between lanes. At a branch on a letter a
 * thread goes both ways up to where they meet again, and has values that are choices after it.
 *
 * A thread sees what others have written before a barrier. What it reads otherwise is a new letter.
 * Where one writes what another has read or written and no barrier is between the two, the run is
 * worth nothing: a flag, say, may order them the other way round than they were run.
 *
 * Misses: loops that go on by a letter, waits in branches on one, copies that are under way,
 * matrices, mbarriers, blocks of open size.
 * Costs: each thread's steps, 0.1 us each.
 */
#include "prove/ranks/ranks.h"

#include <string.h>

#define MAX_BYTES (96u << 20) /* of registers and stacks */
#define MAX_STEPS (3u << 20)
#define MAX_DEPTH 12
#define FIRST_VAR (1ull << 62) /* numbers of other values are below */
#define NO_END	  UINT32_MAX

enum outcome { CAME, WAITS, LOST };

const struct ex *ranks_fresh(struct ranks *r, unsigned w)
{
	return prove_ex_leaf(r->c->pool, EX_VAR, w, FIRST_VAR | r->nvars++, EX_THREAD,
			     prove_ex_full(w), EX_NO_ARGS);
}

/* ---- values -------------------------------------------------------------------------------- */

static const struct ex *read_reg(struct ranks *r, struct ranks_thread *t, uint32_t reg)
{
	if (!t->reg[reg])
		t->reg[reg] = ranks_fresh(r, r->c->e->ir->width.v[reg]);
	return t->reg[reg];
}

static const struct ex *special(const struct ranks *r, const struct ranks_thread *t, uint64_t which)
{
	struct ex_pool *p = r->c->pool;

	return which <= EX_TID_Z ? prove_ex_const(p, 32, t->tid[which])
				 : prove_ex_spec(p, (enum prove_ex_spec)which);
}

static const struct ex *value_of(struct ranks *r, struct ranks_thread *t, const struct ir_step *st)
{
	struct ex_pool *p = r->c->pool;
	const struct ex *x[3] = {NULL, NULL, NULL}, *bits;
	uint32_t n = 0;

	for (; n < 3 && st->src[n] != IR_NONE && st->kind != IR_VAR; n++)
		x[n] = read_reg(r, t, st->src[n]);
	switch ((enum ir_kind)st->kind) {
	case IR_CONST:
		return prove_ex_const(p, st->w, st->imm);
	case IR_SPEC:
		return special(r, t, st->imm);
	case IR_ADDR:
		return prove_ex_leaf(p, EX_SYM, st->w, st->imm, EX_GRID, prove_ex_full(st->w),
				     EX_NO_ARGS);
	case IR_COPY:
		return x[0];
	case IR_IS_IN:
		return prove_ev_is_in(r->c->e, x[0], (enum ir_space)st->imm);
	case IR_PURE:
		bits = st->at && st->at->form->op == PTX_OP_POPC && n == 1
			       ? ranks_count_bits(r, x[0])
			       : NULL;
		return bits && bits->w == st->w ? bits
						: prove_ex_leaf(p, EX_PURE, st->w, st->imm, EX_GRID,
								prove_ex_full(st->w),
								(struct ex_args){.n = n, .a = x});
	case IR_VALUE:
		return st->op == EX_ITE ? prove_ex_ite(p, x[0], x[1], x[2])
		       : n == 1		? prove_ex_un(p, (enum ex_op)st->op, st->w, x[0])
					: prove_ex_bin(p, (enum ex_op)st->op, x[0], x[1]);
	default:
		return NULL;
	}
}

/* What the thread's latest atomic operation took of a counter, if it added to one. */
static void note_ticket(struct ranks *r, struct ranks_thread *t, const struct ir_step *st)
{
	struct ranks_ticket x = {.mem = st->mem, .addr = t->atomic};

	if (st->mem->rmw != IR_RMW_ADD || st->src[0] == IR_NONE || !t->atomic)
		return;
	x.answer = read_reg(r, t, st->src[0]);
	x.count = read_reg(r, t, st->src[1]);
	base_vec_push(&r->tickets, x);
}

/* Does a thread wait here for others? */
static bool is_wait(struct ranks *r, struct ranks_thread *t, const struct ir_step *st)
{
	if (st->kind == IR_WARP_BARRIER) {
		const struct ex *mask = read_reg(r, t, st->src[0]);
		return st->pred == IR_NONE && mask->op == EX_CONST && mask->imm == UINT32_MAX;
	}
	return st->kind == IR_BARRIER || (st->kind == IR_VAR && st->imm);
}

/* False: it isn't modelled. */
static bool do_step(struct ranks *r, struct ranks_thread *t, uint32_t step)
{
	const struct ir_step *st = &r->c->e->ir->steps.v[step];

	if (!r->left--)
		return false;
	switch ((enum ir_kind)st->kind) {
	case IR_ACCESS:
		return ranks_access(r, t, step);
	case IR_ASSUME:
		if (st->imm == IR_ASSUME_TICKET)
			note_ticket(r, t, st);
		return true;
	case IR_UNKNOWN:
	case IR_ENDLESS:
	case IR_COMMIT:
	case IR_WAIT:
	case IR_TOGETHER:
		return false;
	default:
		if (st->mbar)
			return false;
		if (st->dst != IR_NONE)
			t->reg[st->dst] = value_of(r, t, st);
		return true;
	}
}

/* ---- ways ---------------------------------------------------------------------------------- */

static uint32_t own_bytes(const struct ranks *r)
{
	return r->c->e->ncells - r->c->e->nregcells;
}

static struct ranks_aside put_aside(struct ranks *r, const struct ranks_thread *t)
{
	size_t regs = r->c->e->ir->width.n * sizeof(*t->reg), own = own_bytes(r) * sizeof(*t->own);
	struct ranks_aside x;

	if (r->nspare) {
		x = r->spare[--r->nspare];
	} else {
		x.reg = base_alloc(r->c->arena, regs + 1);
		x.own = base_alloc(r->c->arena, own + 1);
	}
	memcpy(x.reg, t->reg, regs);
	memcpy(x.own, t->own, own);
	return x;
}

static void give_back(struct ranks *r, struct ranks_aside x)
{
	if (r->nspare < RANKS_MAX_SPARE)
		r->spare[r->nspare++] = x;
}

static void swap(struct ranks_thread *t, struct ranks_aside *x)
{
	struct ranks_aside was = {t->reg, t->own};

	t->reg = x->reg;
	t->own = x->own;
	*x = was;
}

/* The condition that a value of 0 or 1 is; NULL: it is none, or not known as one. */
static const struct ex *flag_of(struct ranks *r, const struct ex *v)
{
	struct ex_pool *p = r->c->pool;

	if (v->w == 1 || v->hi > 1)
		return NULL;
	if (v->op == EX_CONST)
		return prove_ex_const(p, 1, v->imm);
	if (v->op != EX_ITE || v->a[1]->op != EX_CONST || v->a[2]->op != EX_CONST)
		return NULL;
	return v->a[1]->imm ? v->a[0] : prove_ex_not(p, v->a[0]);
}

static const struct ex *either(struct ranks *r, const struct ex *cond, const struct ex *a,
			       const struct ex *b)
{
	const struct ex *p = a && b && a != b && a->w == b->w ? flag_of(r, a) : NULL;
	const struct ex *q = p ? flag_of(r, b) : NULL;

	if (q) /* a flag that is put in several steps stays one condition */
		return prove_ex_un(r->c->pool, EX_ZEXT, a->w, prove_ex_ite(r->c->pool, cond, p, q));
	return a == b ? a : a && b && a->w == b->w ? prove_ex_ite(r->c->pool, cond, a, b) : NULL;
}

/* What the thread has where cond holds is in x, what it has else is its own. */
static void join(struct ranks *r, struct ranks_thread *t, const struct ex *cond,
		 const struct ranks_aside *x)
{
	for (size_t i = 0; i < r->c->e->ir->width.n; i++)
		t->reg[i] = either(r, cond, x->reg[i], t->reg[i]);
	for (uint32_t i = 0; i < own_bytes(r); i++) {
		if (t->own[i].at == x->own[i].at)
			t->own[i].v = either(r, cond, x->own[i].v, t->own[i].v);
		else
			t->own[i] = (struct ev_cell){NULL, 0};
	}
}

static enum outcome go(struct ranks *r, struct ranks_thread *t, uint32_t until, unsigned depth);

/* Goes the way from block `to` under a condition, up to `until`. */
static enum outcome go_under(struct ranks *r, struct ranks_thread *t, uint32_t to,
			     const struct ex *cond, uint32_t until, unsigned depth)
{
	const struct ex *was = t->here;
	enum outcome x = CAME;

	t->here = prove_ex_and(r->c->pool, was, cond);
	t->block = to;
	t->step = r->c->e->ir->blocks.v[to].first;
	if (t->here->op != EX_CONST || t->here->imm)
		x = go(r, t, until, depth + 1);
	t->here = was;
	return x;
}

/* Does the way from block b lead to the thread's end and nowhere else, with nothing on it? */
static bool leads_to_end(const struct ir *ir, uint32_t b)
{
	for (unsigned i = 0; i < 8; i++) {
		const struct ir_block *x = &ir->blocks.v[b];
		for (uint32_t k = x->first; k < x->first + x->n; k++) {
			const struct ir_step *st = &ir->steps.v[k];
			if (st->dst == IR_NONE || st->kind == IR_ACCESS ||
			    (st->kind == IR_VAR && st->imm))
				return false;
		}
		if (x->end == IR_EXIT || x->end == IR_TRAP)
			return true;
		if (x->end != IR_JUMP)
			return false;
		b = x->succ[0];
	}
	return false;
}

/* The thread may end on one side of a branch: it goes on where it doesn't. */
static enum outcome part(struct ranks *r, struct ranks_thread *t, uint32_t b, const struct ex *cond,
			 unsigned side)
{
	const struct ir_block *x = &r->c->e->ir->blocks.v[b];
	const struct ex *stays = side ? cond : prove_ex_not(r->c->pool, cond);
	struct ranks_aside save = put_aside(r, t);
	enum outcome o = go_under(r, t, x->succ[side], prove_ex_not(r->c->pool, stays), NO_END, 0);

	swap(t, &save);
	give_back(r, save);
	if (r->phase >= 64)
		return LOST;
	t->may_end |= 1ull << r->phase;
	t->state = RANKS_RUNS;
	t->here = prove_ex_and(r->c->pool, t->here, stays);
	t->block = x->succ[!side];
	t->step = r->c->e->ir->blocks.v[t->block].first;
	return o;
}

/* A branch on a letter: both ways, up to where they meet. */
static enum outcome go_both(struct ranks *r, struct ranks_thread *t, uint32_t b,
			    const struct ex *cond, unsigned depth)
{
	const struct ir *ir = r->c->e->ir;
	const struct ir_block *x = &ir->blocks.v[b];

	if (x->end != IR_BRANCH || depth > MAX_DEPTH)
		return LOST;
	for (unsigned side = 0; side < 2 && !depth; side++)
		if (leads_to_end(ir, x->succ[side]))
			return part(r, t, b, cond, side);
	if (x->ipdom == IR_NONE)
		return LOST;
	uint64_t cost = (ir->width.n + own_bytes(r)) / 16;
	if (r->left < cost)
		return LOST;
	r->left -= cost;
	struct ranks_aside other = put_aside(r, t);
	if (go_under(r, t, x->succ[0], cond, x->ipdom, depth) != CAME)
		return LOST;
	swap(t, &other);
	if (go_under(r, t, x->succ[1], prove_ex_not(r->c->pool, cond), x->ipdom, depth) != CAME)
		return LOST;
	join(r, t, cond, &other);
	give_back(r, other);
	t->block = x->ipdom;
	t->step = ir->blocks.v[x->ipdom].first;
	return CAME;
}

/* From the end of block b on. */
static enum outcome leave(struct ranks *r, struct ranks_thread *t, uint32_t b, unsigned depth)
{
	const struct ir_block *x = &r->c->e->ir->blocks.v[b];
	uint32_t to = x->nsucc ? x->succ[0] : IR_NONE;

	if (x->end == IR_EXIT || x->end == IR_TRAP) {
		t->state = RANKS_ENDED;
		return CAME;
	}
	if (x->end == IR_BRANCH || x->end == IR_SWITCH) {
		const struct ex *cond = read_reg(r, t, x->cond);
		if (x->is_cond_not)
			cond = prove_ex_not(r->c->pool, cond);
		if (cond->op != EX_CONST)
			return x->succ[0] == x->succ[1] ? LOST : go_both(r, t, b, cond, depth);
		if (x->end == IR_SWITCH && cond->imm >= x->nsucc)
			return LOST;
		to = x->end == IR_SWITCH ? x->succ[cond->imm] : x->succ[!(cond->imm & 1)];
	}
	if (to == IR_NONE)
		return LOST;
	t->block = to;
	t->step = r->c->e->ir->blocks.v[to].first;
	return CAME;
}

/* Until it waits, ends, or comes to the beginning of block `until`, where it must not wait. */
static enum outcome go(struct ranks *r, struct ranks_thread *t, uint32_t until, unsigned depth)
{
	const struct ir *ir = r->c->e->ir;
	bool is_way = depth > 0;

	for (;;) {
		const struct ir_block *x = &ir->blocks.v[t->block];
		if (is_way && t->block == until && t->step == x->first)
			return CAME;
		for (; t->step < x->first + x->n; t->step++) {
			if (is_wait(r, t, &ir->steps.v[t->step]))
				return is_way ? LOST : WAITS;
			if (!do_step(r, t, t->step))
				return LOST;
		}
		if (leave(r, t, t->block, depth) != CAME)
			return LOST;
		if (t->state == RANKS_ENDED)
			return is_way && until != NO_END ? LOST : CAME;
	}
}

/* ---- the block ----------------------------------------------------------------------------- */

static bool advance(struct ranks *r, struct ranks_thread *t)
{
	t->state = RANKS_RUNS;
	switch (go(r, t, NO_END, 0)) {
	case CAME:
		t->end = r->phase;
		return true;
	case WAITS:
		t->state = RANKS_WAITS;
		return true;
	default:
		return false;
	}
}

static void release(struct ranks *r, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		struct ranks_thread *t = &r->thread[i];
		if (t->state != RANKS_WAITS)
			continue;
		t->state = RANKS_RUNS;
		t->step++;
	}
}

/* The step at which all threads from..to wait that haven't ended; IR_NONE: at several, or all have
 * ended. */
static uint32_t common_wait(const struct ranks *r, uint32_t from, uint32_t to)
{
	uint32_t at = IR_NONE;

	for (uint32_t i = from; i < to; i++) {
		const struct ranks_thread *t = &r->thread[i];
		if (t->state == RANKS_ENDED)
			continue;
		if (at != IR_NONE && t->step != at)
			return IR_NONE;
		at = t->step;
	}
	return at;
}

/* A warp whose lanes wait for each other goes on. False: they wait for the block, or are lost. */
static bool pass_warp(struct ranks *r, uint32_t w)
{
	uint32_t from = w * RANKS_LANES, to = from + RANKS_LANES < r->n ? from + RANKS_LANES : r->n;
	uint32_t at = common_wait(r, from, to);
	const struct ir_step *st = at == IR_NONE ? NULL : &r->c->e->ir->steps.v[at];

	if (!st || st->kind == IR_BARRIER)
		return false;
	if (st->kind == IR_WARP_BARRIER)
		r->turn[w]++;
	else if (!ranks_exchange(r, w, at))
		return false;
	release(r, from, to);
	return true;
}

/* All threads wait or have ended: who goes on? False: none can. */
static bool pass(struct ranks *r)
{
	bool is_any = false;

	for (uint32_t w = 0; w * RANKS_LANES < r->n; w++)
		is_any |= pass_warp(r, w);
	if (is_any)
		return true;
	uint32_t at = common_wait(r, 0, r->n);
	if (at == IR_NONE || r->c->e->ir->steps.v[at].kind != IR_BARRIER)
		return false;
	r->phase++;
	release(r, 0, r->n);
	return true;
}

static bool open_threads(struct ranks *r)
{
	const struct ev *e = r->c->e;
	const uint32_t *dim = r->c->pool->launch.dim;
	uint64_t n = (uint64_t)dim[0] * dim[1] * dim[2];
	size_t regs = e->ir->width.n * sizeof(*r->thread->reg);
	size_t own = own_bytes(r) * sizeof(*r->thread->own);

	if (!n || n > RANKS_MAX_THREADS || n * (regs + own) > MAX_BYTES)
		return false;
	r->n = (uint32_t)n;
	r->left = MAX_STEPS;
	r->phase = 1; /* what nothing has written yet is from before */
	r->thread = BASE_NEWN(r->c->arena, struct ranks_thread, n);
	r->turn = BASE_NEWN(r->c->arena, uint32_t, n / RANKS_LANES + 1);
	r->object = BASE_NEWN(r->c->arena, struct ranks_object, e->ir->objects.n + 1);
	for (uint32_t i = 0; i < r->n; i++) {
		struct ranks_thread *t = &r->thread[i];
		t->number = i;
		t->tid[0] = i % dim[0];
		t->tid[1] = i / dim[0] % dim[1];
		t->tid[2] = i / dim[0] / dim[1];
		t->reg = base_zalloc(r->c->arena, regs + 1);
		t->own = base_zalloc(r->c->arena, own + 1);
		t->here = prove_ex_const(r->c->pool, 1, 1);
		t->end = UINT32_MAX;
		t->step = e->ir->blocks.v[0].first;
	}
	return true;
}

void ranks_run(struct ranks *r)
{
	bool is_over = false;

	if (!open_threads(r))
		return;
	while (!is_over) {
		is_over = true;
		for (uint32_t i = 0; i < r->n; i++) {
			if (r->thread[i].state == RANKS_RUNS && !advance(r, &r->thread[i]))
				return;
			is_over &= r->thread[i].state == RANKS_ENDED;
		}
		if ((!is_over && !pass(r)) || r->is_torn || prove_now_ms() >= r->end)
			return;
	}
	r->is_run = true;
}
