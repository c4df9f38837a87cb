/*
 * flags.c - accesses of different blocks that a counter orders: tickets, barriers made by hand
 * (check.h).
 *
 * A counter that holds 0 before the launch and to which each block adds one at most once, by one
 * thread, says how many blocks have come. A thread that reads as many as there are blocks (the last
 * ticket, gridDim - 1, or the end of a loop that waits for gridDim) reads after all additions. So
 * what a block surely does before a fence of the thread that adds (PTX ISA 8.9: a release pattern)
 * is ordered before what lies after a fence of the thread that read (an acquire pattern). "Before"
 * and "after" are the thread's own order, or that of the block's barriers. What the reading thread
 * found out may pass through a shared variable that it alone writes, before a barrier.
 *
 * What is found rests on what the counter holds at first: the contract says so, and nothing is
 * proven with it that a check at run time would be left out for (prove_options.any_contents).
 *
 * Misses: flags that one block sets for one other (look-back), counters that are used twice, locks,
 * blocks in more than one free dimension.
 * Costs: some queries for each access of a kernel that has such a counter, once.
 */
#include "prove/check.h"

#include <string.h>

#define MAX_WAITS  8
#define MAX_LINKS  8
#define MAX_FENCES 16

/* A shared variable that one thread sets and all read after a barrier. */
struct link {
	const struct ev_access *set, *get;
};

/* `read` finds that all blocks have added to the counter (`arrival`), and a fence follows it. */
struct wait {
	const struct ev_assume *arrival;
	const struct ev_access *counter, *read;
	const struct ex *value; /* what was read, as it is seen at the fence */
	bool is_ticket;		/* the last one of all, which one block gets */
	uint32_t fence;		/* step, in block: or the read itself */
	uint32_t block;
	uint8_t *before, *behind; /* by access: 0 not asked, 1 no, 2 yes */
};

struct flags {
	struct wait wait[MAX_WAITS];
	uint32_t nwaits;
	struct link link[MAX_LINKS];
	uint32_t nlinks;
	const struct ex *blocks; /* how many there are, of 32 bits */
};

/* ---- where things lie ------------------------------------------------------------------------ */

static uint32_t block_of(const struct ir *ir, uint32_t step)
{
	for (uint32_t i = 0; i < ir->nrpo; i++) {
		const struct ir_block *b = &ir->blocks.v[ir->rpo[i]];
		if (step >= b->first && step - b->first < b->n)
			return ir->rpo[i];
	}
	return IR_NONE;
}

/* May control come from after step x of block xb to step y of block yb? */
static bool leads_to(const struct check *c, uint32_t xb, uint32_t x, uint32_t yb, uint32_t y)
{
	const struct ir *ir = c->e->ir;
	bool *seen = base_zalloc(c->arena, ir->blocks.n + 1);
	BASE_VEC(uint32_t) todo = {0};

	if (xb == yb && x < y)
		return true;
	base_vec_push(&todo, xb);
	while (todo.n) {
		const struct ir_block *b = &ir->blocks.v[todo.v[--todo.n]];
		for (uint32_t k = 0; k < b->nsucc; k++) {
			if (!seen[b->succ[k]])
				base_vec_push(&todo, b->succ[k]);
			seen[b->succ[k]] = true;
		}
	}
	base_vec_free(&todo);
	return seen[yb];
}

/* Has each thread that comes to step y of yb done step x of xb? */
static bool comes_first(const struct check *c, uint32_t xb, uint32_t x, uint32_t yb, uint32_t y)
{
	return xb == yb ? x < y : prove_ir_dominates(c->e->ir, xb, yb);
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

/* ---- questions about one block --------------------------------------------------------------- */

/* Two threads of one block, or one of which two things are said. */
struct question {
	const struct ev_access *at; /* thread 0 does it; NULL: nothing is said of it */
	const struct ex *guard;	    /* ... or comes to `block` */
	uint32_t block;
	const struct ex *other; /* holds of thread 1, which comes to other_block; NULL: none */
	uint32_t other_block;
	const struct ex *denied[2]; /* is false of thread 0, of thread 1 */
	bool is_first;		    /* thread 1 is the block's first one */
	bool are_two;
	const struct flags *links;
	const struct phase_case *way;
};

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

static const struct ex *loaded(struct check *c, const struct ev_access *a)
{
	return prove_ev_fresh_load(c->e, a->block, a->index, 8u * a->mem->bytes);
}

static bool is_never_once(struct check *c, const struct question *q, bool use_bits)
{
	uint64_t now = prove_now_ms();
	struct smt_query s = {.is_same_cta = true, .is_alone = !q->are_two, .use_bits = use_bits};
	struct smt_model m;

	if (now >= c->deadline)
		return false;
	s.counters = q->way ? q->way->counters : base_zalloc(c->arena, c->e->ir->nloops + 1);
	s.rlimit = use_bits ? CHECK_RLIMIT_BETTER : CHECK_RLIMIT_INTEGERS;
	prove_limit_time(&s, c->deadline - now);
	c->k->counts.queries++;
	prove_smt_begin(c->smt, &s);
	if (q->guard)
		prove_hold_side(c, q->guard, q->block, 0);
	if (q->other)
		prove_hold_side(c, q->other, q->other_block, 1);
	if (q->is_first)
		prove_smt_assert(c->smt, first_thread(c), 1);
	for (unsigned t = 0; t < 2; t++)
		if (q->denied[t])
			prove_smt_assert(c->smt, prove_ex_not(c->pool, q->denied[t]), t);
	for (uint32_t i = 0; q->links && i < q->links->nlinks; i++)
		prove_smt_same(c->smt, loaded(c, q->links->link[i].get),
			       q->links->link[i].set->value, true);
	return prove_smt_check(c->smt, &m) == SMT_IMPOSSIBLE;
}

static bool is_never(struct check *c, const struct question *q)
{
	return is_never_once(c, q, false) || is_never_once(c, q, true);
}

struct pair_of {
	struct check *c;
	const struct ev_access *a; /* or what comes to `block` */
	const struct ex *guard;
	uint32_t block;
	bool may_meet;
};

static void meet(const struct phase_case *way, void *arg)
{
	struct pair_of *p = arg;
	struct question q = {.guard = p->a->guard, .block = p->a->block, .are_two = true};

	q.other = p->guard;
	q.other_block = p->block;
	q.way = way;
	p->may_meet = p->may_meet || !is_never(p->c, &q);
}

/*
 * May two threads of a block do the access and come to the block without a barrier between the two?
 * Where not, and control leads from one to the other only, barriers order them so.
 */
static bool may_meet(struct check *c, const struct ev_access *a, uint32_t block)
{
	struct pair_of p = {.c = c, .a = a, .guard = c->e->guard[block], .block = block};

	prove_phase_each(&c->phases[IR_RANK_CTA], a->block, block, meet, &p);
	return p.may_meet;
}

/* Do all threads of a block that come there have one number: is it one thread? */
static bool is_one_thread(struct check *c, const struct ex *guard, uint32_t block)
{
	struct question q = {.guard = guard, .block = block, .are_two = true};

	q.other = guard;
	q.other_block = block;
	return c->e->ir->blocks.v[block].loop == IR_NONE && is_never(c, &q);
}

/* Does the block's first thread come to `block` whenever some thread does the access? */
static bool is_surely_done(struct check *c, const struct ev_access *by, uint32_t block)
{
	struct question q = {.guard = by->guard, .block = by->block, .is_first = true};

	q.denied[1] = c->e->guard[origin_of(c, block)];
	return c->e->ir->blocks.v[block].loop == IR_NONE && is_never(c, &q);
}

/* ---- the counter ----------------------------------------------------------------------------- */

/* How many blocks there are, where that doesn't come around in 32 bits. */
static const struct ex *number_of_blocks(struct check *c)
{
	const uint32_t *most = c->pool->launch.max + 3;
	struct ex_pool *p = c->pool;
	const struct ex *n = prove_ex_const(p, 32, 1);
	uint64_t all = 1;

	for (unsigned d = 0; d < 3; d++) {
		if (__builtin_mul_overflow(all, most[d], &all) || all > INT32_MAX)
			return NULL;
		if (most[d] > 1)
			n = prove_ex_bin(p, EX_MUL, n,
					 prove_ex_spec(p, (enum prove_ex_spec)(EX_NCTAID_X + d)));
	}
	return n;
}

static bool reaches_gpu(uint64_t scope)
{
	return scope == RACE_SCOPE_GPU || scope == RACE_SCOPE_SYS;
}

/* No condition of its own beside that of its block. */
static bool is_whole(const struct check *c, const struct ev_access *a)
{
	return a->guard == c->e->guard[a->block];
}

static bool is_place(const struct check *c, const struct ev_access *a)
{
	return !a->is_shared && is_whole(c, a) && a->off->level == EX_GRID && !a->off->has_ctr &&
	       (a->root.kind == EV_ROOT_PARAM || a->root.kind == EV_ROOT_OBJECT) &&
	       (a->mem->bytes == 4 || a->mem->bytes == 8) && reaches_gpu(a->mem->scope) &&
	       a->mem->strength != RACE_WEAK;
}

static bool is_same_place(const struct ev_access *a, const struct ev_access *b)
{
	return prove_ev_same_root(&a->root, &b->root) && a->off == b->off &&
	       a->mem->bytes == b->mem->bytes;
}

/* The access of an atomic, if it is one. */
static const struct ev_access *access_of(const struct check *c, const struct ir_access *mem)
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

static const struct ev_assume *ticket_of(const struct check *c, const struct ir_access *mem)
{
	for (size_t i = 0; i < c->e->tickets.n; i++)
		if (c->e->tickets.v[i].mem == mem)
			return &c->e->tickets.v[i];
	return NULL;
}

static const struct ex *fit(struct check *c, const struct ex *n, unsigned w)
{
	return w > n->w ? prove_ex_un(c->pool, EX_ZEXT, w, n) : n;
}

/* Does it count the blocks: one more by each? */
static bool counts_blocks(struct check *c, const struct flags *f, const struct ev_assume *t)
{
	const struct ex *n = fit(c, f->blocks, t->step->w);
	const struct ex *last = prove_ex_bin(c->pool, EX_SUB, n, prove_ex_const(c->pool, n->w, 1));
	struct question q = {
		.denied[0] = prove_ex_not(c->pool, prove_ex_bin(c->pool, EX_ULT, t->step, last))};

	if (t->mem->rmw == IR_RMW_ADD)
		return t->step->op == EX_CONST && t->step->imm == 1;
	return t->mem->rmw == IR_RMW_INC && t->step->level == EX_GRID && !t->step->has_ctr &&
	       is_never(c, &q);
}

/* Reads the counter and leaves it as it is. */
static bool is_poll(const struct check *c, const struct ev_access *x)
{
	const struct ev_assume *t = ticket_of(c, x->mem);

	return x->mem->kind == RACE_OP_READ ||
	       (t && t->mem->rmw == IR_RMW_ADD && t->step->op == EX_CONST && !t->step->imm);
}

static bool may_touch(struct check *c, const struct ev_access *a, const struct ev_access *b)
{
	struct check_pair was = c->pair;

	c->pair = (struct check_pair){.a = a, .b = b};
	bool may = prove_quick_may_alias(c);
	c->pair = was;
	return may;
}

static bool is_after(struct check *c, const struct flags *f, struct wait *w,
		     const struct ev_access *b);

/* Do only the blocks' additions change it, until the last block has its ticket? */
static bool is_counter(struct check *c, const struct flags *f, struct wait *w)
{
	for (size_t i = 0; i < c->e->accesses.n; i++) {
		const struct ev_access *x = &c->e->accesses.v[i];
		if (x == w->counter || is_poll(c, x) || !may_touch(c, w->counter, x))
			continue;
		if (!w->is_ticket || x->mem->is_async || !is_after(c, f, w, x))
			return false;
	}
	return true;
}

/* ---- before, after -------------------------------------------------------------------------- */

/* The loops that the read lies in were left by thread t. */
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

/* Was it that all blocks have come? No ticket is greater than the last one. */
static const struct ex *is_complete(struct check *c, const struct flags *f, const struct wait *w,
				    const struct ex *value)
{
	const struct ex *n = fit(c, f->blocks, value->w);

	if (w->is_ticket)
		n = prove_ex_bin(c->pool, EX_SUB, n, prove_ex_const(c->pool, n->w, 1));
	return prove_ex_not(c->pool, prove_ex_bin(c->pool, EX_ULT, value, n));
}

/* The thread itself read and fenced before b. */
static bool is_after_own(struct check *c, const struct flags *f, const struct wait *w,
			 const struct ev_access *b)
{
	struct question q = {.block = b->block};
	const struct ex *v = prove_ev_leave(c->e, w->value, w->block, b->block);

	q.guard = prove_ex_and(c->pool, b->guard, left_loops(c, w->read->block, b->block));
	q.denied[0] = is_complete(c, f, w, v);
	return comes_first(c, w->block, w->fence, b->block, b->index) && is_never(c, &q);
}

/* The block's first thread did, and a barrier lies between. */
static bool is_after_first(struct check *c, const struct flags *f, const struct wait *w,
			   const struct ev_access *b)
{
	struct question q = {.guard = b->guard, .block = b->block, .is_first = true, .links = f};

	if (leads_to(c, b->block, b->index, w->block, w->fence) ||
	    !is_surely_done(c, b, w->block) || may_meet(c, b, w->block))
		return false;
	q.other = prove_ex_and(c->pool, c->e->guard[w->block],
			       left_loops(c, w->read->block, w->block));
	q.other_block = w->block;
	q.denied[1] = is_complete(c, f, w, w->value);
	return is_never(c, &q);
}

static bool is_after(struct check *c, const struct flags *f, struct wait *w,
		     const struct ev_access *b)
{
	uint8_t *known = &w->behind[b - c->e->accesses.v];

	if (*known)
		return *known == 2;
	bool is = is_after_own(c, f, w, b) || is_after_first(c, f, w, b);
	if (!c->trial.is_on) /* else it may rest on one more assumption */
		*known = is ? 2 : 1;
	return is;
}

/* Steps at which the thread that adds releases what is before them. */
static uint32_t releases_of(const struct check *c, const struct wait *w, uint32_t *out)
{
	const struct ir *ir = c->e->ir;
	const struct ev_access *t = w->counter;
	uint32_t n = 0;

	if (race_is_release((enum race_strength)t->mem->strength))
		out[n++] = t->index;
	for (uint32_t i = 0; i < ir->nrpo; i++) {
		const struct ir_block *b = &ir->blocks.v[ir->rpo[i]];
		for (uint32_t k = b->first; k < b->first + b->n && n < MAX_FENCES; k++)
			if (ir->steps.v[k].kind == IR_ORDER && ir->steps.v[k].imm > IR_FENCE &&
			    reaches_gpu(ir->steps.v[k].imm - IR_FENCE) &&
			    comes_first(c, ir->rpo[i], k, t->block, t->index))
				out[n++] = k;
	}
	return n;
}

/* Is all that a block does of `a` released by its addition? */
static bool is_before(struct check *c, struct wait *w, const struct ev_access *a)
{
	uint8_t *known = &w->before[a - c->e->accesses.v];
	uint32_t step[MAX_FENCES], n;
	bool is = a == w->counter;

	if (*known)
		return *known == 2;
	n = a->mem->is_async ? 0 : releases_of(c, w, step);
	for (uint32_t i = 0; i < n && !is; i++) {
		uint32_t b = block_of(c->e->ir, step[i]);
		is = b != IR_NONE && !leads_to(c, b, step[i], a->block, a->index) &&
		     !may_meet(c, a, b);
	}
	if (!c->trial.is_on)
		*known = is ? 2 : 1;
	return is;
}

/* ---- what there is --------------------------------------------------------------------------- */

/* Is the shared variable set by one thread, the first one, before all that read it? */
static bool is_link(struct check *c, const struct ev_access *set, const struct ev_access *get)
{
	if (!set->value || set->off->op != EX_CONST || set->off != get->off ||
	    set->mem->bytes != get->mem->bytes || set->value->w != 8u * set->mem->bytes ||
	    !prove_ev_same_root(&set->root, &get->root) || set->root.kind != EV_ROOT_OBJECT ||
	    set->mem->is_async || get->mem->is_async || !is_whole(c, set))
		return false;
	for (size_t i = 0; i < c->e->accesses.n; i++) {
		const struct ev_access *x = &c->e->accesses.v[i];
		bool is_other = x->off->op == EX_CONST &&
				prove_ev_same_root(&x->root, &set->root) &&
				x->off->w == set->off->w &&
				(x->off->imm >= set->off->imm + set->mem->bytes ||
				 set->off->imm >= x->off->imm + x->mem->bytes);
		if (x != set && x->mem->kind != RACE_OP_READ && !is_other && may_touch(c, set, x))
			return false;
	}
	return is_one_thread(c, set->guard, set->block) &&
	       !leads_to(c, get->block, get->index, set->block, set->index) &&
	       is_surely_done(c, get, set->block) && !may_meet(c, get, set->block);
}

static void find_links(struct check *c, struct flags *f)
{
	const struct ev *e = c->e;

	for (size_t i = 0; i < e->accesses.n; i++)
		for (size_t k = 0; k < e->accesses.n && f->nlinks < MAX_LINKS; k++) {
			const struct ev_access *x = &e->accesses.v[i], *y = &e->accesses.v[k];
			if (x->is_shared && x->mem->kind == RACE_OP_WRITE && y->is_shared &&
			    y->mem->kind == RACE_OP_READ && is_link(c, x, y))
				f->link[f->nlinks++] = (struct link){x, y};
		}
}

static void add_wait(struct check *c, struct flags *f, struct wait w)
{
	size_t n = c->e->accesses.n + 1;

	w.before = base_zalloc(c->arena, n);
	w.behind = base_zalloc(c->arena, n);
	w.value = prove_ev_leave(c->e, w.value, w.read->block, w.block);
	if (f->nwaits < MAX_WAITS && is_counter(c, f, &w))
		f->wait[f->nwaits++] = w;
}

/* Each fence after a read of the counter. */
static void add_fences(struct check *c, struct flags *f, struct wait w)
{
	const struct ir *ir = c->e->ir;

	if (race_is_acquire((enum race_strength)w.read->mem->strength)) {
		w.block = w.read->block;
		w.fence = w.read->index;
		add_wait(c, f, w);
	}
	for (uint32_t i = 0; i < ir->nrpo; i++) {
		const struct ir_block *b = &ir->blocks.v[ir->rpo[i]];
		for (uint32_t k = b->first; k < b->first + b->n; k++) {
			if (ir->steps.v[k].kind != IR_ORDER || ir->steps.v[k].imm <= IR_FENCE ||
			    !reaches_gpu(ir->steps.v[k].imm - IR_FENCE) ||
			    !comes_first(c, w.read->block, w.read->index, ir->rpo[i], k))
				continue;
			w.block = ir->rpo[i];
			w.fence = k;
			add_wait(c, f, w);
		}
	}
}

static void find_waits(struct check *c, struct flags *f, const struct ev_assume *t)
{
	const struct ev *e = c->e;
	struct wait w = {.arrival = t, .counter = access_of(c, t->mem)};

	if (!w.counter || !is_place(c, w.counter) || t->loop != IR_NONE || !t->step ||
	    !counts_blocks(c, f, t) || !is_one_thread(c, w.counter->guard, w.counter->block))
		return;
	for (size_t i = 0; i < e->accesses.n; i++) {
		const struct ev_assume *poll;
		w.read = &e->accesses.v[i];
		if (!(w.read->mem->kind & RACE_OP_READ) || !is_place(c, w.read) ||
		    !is_same_place(w.read, w.counter))
			continue;
		w.is_ticket = w.read == w.counter;
		poll = ticket_of(c, w.read->mem);
		if (!w.is_ticket && !is_poll(c, w.read))
			continue;
		w.value = w.read->mem->kind == RACE_OP_READ ? loaded(c, w.read)
			  : poll			    ? poll->value
							    : NULL;
		if (w.value)
			add_fences(c, f, w);
	}
}

static struct flags *find_flags(struct check *c)
{
	struct flags *f = BASE_NEW(c->arena, struct flags);
	size_t n = 0;

	f->blocks = number_of_blocks(c);
	for (size_t i = 0; i < c->e->tickets.n; i++)
		n += c->e->tickets.v[i].loop == IR_NONE;
	if (!f->blocks || !n)
		return f;
	find_links(c, f);
	for (size_t i = 0; i < c->e->tickets.n; i++)
		find_waits(c, f, &c->e->tickets.v[i]);
	return f;
}

/* In all launches whose counter holds 0 at first: is one before and the other after, or can't two
 * blocks do both? */
static bool is_ordered_by(struct check *c, const struct flags *f, struct wait *w)
{
	const struct ev_access *a = c->pair.a, *b = c->pair.b;

	if (a->is_late || b->is_late)
		return false;
	bool is_a = is_after(c, f, w, a), is_b = is_after(c, f, w, b);
	return (is_a && is_b && w->is_ticket) || (is_b && is_before(c, w, a)) ||
	       (is_a && is_before(c, w, b));
}

void flags_find(struct check *c)
{
	if (!c->o->any_contents && !c->o->all_launches && !c->o->may_alias)
		c->flags = find_flags(c);
}

bool flags_are_ordered(struct check *c)
{
	if (c->level.apart < RACE_LEVEL_CLUSTER || !c->flags)
		return false;
	for (uint32_t i = 0; i < c->flags->nwaits; i++) {
		struct wait *w = &c->flags->wait[i];
		if (!is_ordered_by(c, c->flags, w))
			continue;
		for (unsigned k = 0; k < CHECK_COUNTERS; k++) {
			if (!c->assumed.counter[k])
				c->assumed.counter[k] = w->counter;
			if (is_same_place(c->assumed.counter[k], w->counter))
				break;
		}
		return true;
	}
	return false;
}
