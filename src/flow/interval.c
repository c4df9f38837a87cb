/*
 * interval.c - loads of shared memory that barriers of the block keep apart from every write.
 *
 * A block's barriers cut what its threads do into intervals. Two accesses of different threads
 * race only within one interval, if all threads pass the same barriers in the same order. That is
 * shown first: a branch matters if its condition may differ between threads and both ways lead to
 * a barrier. Between such a branch and the statement where its ways meet again (the
 * post-dominator) no barrier may be. A register is the same in all threads, at the same step, if
 * all its definitions are, and none stands between such a branch and its end; so loop counters may
 * decide how often a barrier is passed.
 *
 * Then an interval is what can be reached from the function's entry, or from a barrier, without
 * another barrier. A load is undisturbed if none of the intervals that have it has a write to
 * shared memory, at whatever address: an index outside of its array hides nothing.
 *
 * A thread that leaves before others reach a barrier takes no part in it. So it must not have
 * accessed shared memory.
 *
 * Misses: kernels with calls, asynchronous copies, shared memory of other blocks, barriers of a
 * part of the block; conditions that were loaded from memory. Costs: for each barrier a walk over
 * the statements of its interval.
 */
#include "flow/priv.h"

#include <stdlib.h>
#include <string.h>

struct intervals {
	struct flow *fl;
	uint8_t *uniform; /* by register: the same in all threads that are at the same step */
	bool *is_apart;	  /* by block: not all threads come here at the same step */
	bool *is_parted;  /* by block: the branch at its end has been looked at */
	bool *waits;	  /* by block: a barrier of the block can be reached from its start */
	bool *touches;	  /* by block: an access of shared memory can be */
	bool *is_touched; /* by block: one may have been before its end */
	bool *reached;	  /* by block, for one walk */
	uint32_t *queue;
};

bool flow_is_block_barrier(const struct ptx_stmt *s)
{
	if (s->kind != PTX_STMT_INST)
		return false;
	switch (s->form->op) {
	case PTX_OP_BAR_SYNC:
	case PTX_OP_BARRIER_SYNC:
		return s->nops == 1;
	case PTX_OP_BAR_RED:
	case PTX_OP_BARRIER_RED:
		return s->nops == 3;
	default:
		return false;
	}
}

static bool is_own(const struct ptx_stmt *s)
{
	return s->kind == PTX_STMT_INST && !s->inserted;
}

static bool is_barrier(const struct ptx_stmt *s)
{
	return is_own(s) && flow_is_block_barrier(s);
}

/* ---- what the analysis can't follow --------------------------------------------------------- */

static bool is_partial_barrier(const struct ptx_stmt *s)
{
	switch (s->form->op) {
	case PTX_OP_BAR_ARRIVE:
	case PTX_OP_BARRIER_ARRIVE:
		return true;
	case PTX_OP_BAR_SYNC:
	case PTX_OP_BARRIER_SYNC:
	case PTX_OP_BAR_RED:
	case PTX_OP_BARRIER_RED:
		return !flow_is_block_barrier(s);
	default:
		return false;
	}
}

/* Functions of the system that access no shared memory of the program and synchronise nothing. */
static bool is_harmless_call(const struct ptx_stmt *s)
{
	for (unsigned i = 0; i < s->nops; i++)
		if (ptx_stmt_role(s, i) == PTX_ROLE_LABEL && s->ops[i].kind == PTX_OPND_SYM)
			return ptx_str_is(s->ops[i].text, "vprintf") ||
			       ptx_str_is(s->ops[i].text, "__assertfail");
	return false;
}

static bool is_followed(const struct ptx_stmt *s)
{
	const struct ptx_form *fm = s->form;

	if (fm->effects & (PTX_EFF_UNKNOWN | PTX_EFF_ASYNC) || is_partial_barrier(s))
		return false;
	if (fm->effects & PTX_EFF_CALL)
		return is_harmless_call(s);
	return fm->op != PTX_OP_MAPA && fm->space != PTX_SPACE_SHARED_CLUSTER &&
	       fm->space2 != PTX_SPACE_SHARED_CLUSTER;
}

/* Is all of the kernel known, with at least one barrier? */
static bool is_known(const struct flow *fl)
{
	bool has_barrier = false;

	if (!fl->f->is_entry)
		return false;
	ptx_each_stmt(fl->f, s)
	{
		if (s->kind == PTX_STMT_RAW || (is_own(s) && !is_followed(s)))
			return false;
		has_barrier |= is_barrier(s);
	}
	return has_barrier;
}

/* ---- do all threads pass the same barriers? ------------------------------------------------- */

/* May the statement access shared memory in one of these ways (PTX_EFF_*)? */
static bool may_touch(struct flow *fl, const struct ptx_stmt *s, uint32_t effects)
{
	if (!is_own(s) || !(s->form->effects & effects))
		return false;
	if (s->form->space == PTX_SPACE_SHARED)
		return true;
	if (s->form->space != PTX_SPACE_GENERIC)
		return false;
	enum flow_origin o = flow_address_origin(fl, s);
	return o != FLOW_ORIGIN_PRIVATE && o != FLOW_ORIGIN_GLOBAL && o != FLOW_ORIGIN_CONST;
}

/* Marks in x->reached what can be reached from block b, itself included, without entering `end`. */
static void reach(struct intervals *x, uint32_t b, uint32_t end)
{
	uint32_t n = 0;

	if (b == end || x->reached[b])
		return;
	x->queue[n++] = b;
	x->reached[b] = true;
	while (n) {
		const struct flow_block *bl = &x->fl->blocks[x->queue[--n]];
		for (uint32_t i = 0; i < bl->nsucc; i++) {
			if (bl->succ[i] == end || x->reached[bl->succ[i]])
				continue;
			x->reached[bl->succ[i]] = true;
			x->queue[n++] = bl->succ[i];
		}
	}
}

static void forget_reached(struct intervals *x)
{
	memset(x->reached, 0, sizeof(*x->reached) * x->fl->nblocks);
}

#define ANY_ACCESS (PTX_EFF_READ | PTX_EFF_WRITE)

static bool has_in(struct intervals *x, const struct flow_block *b, uint32_t effects)
{
	const struct flow_priv *pr = x->fl->priv;

	for (uint32_t i = pr->start[b->id]; i < pr->start[b->id + 1]; i++)
		if (effects ? may_touch(x->fl, pr->stmt[i], effects) : is_barrier(pr->stmt[i]))
			return true;
	return false;
}

/* From which blocks can an access with these effects be reached (0: a barrier)? */
static void find_ahead(struct intervals *x, uint32_t effects, bool *ahead)
{
	bool is_changed = true;

	for (uint32_t b = 0; b < x->fl->nblocks; b++)
		ahead[b] = has_in(x, &x->fl->blocks[b], effects);
	while (is_changed) {
		is_changed = false;
		for (uint32_t i = x->fl->nrpo; i-- > 0;) {
			const struct flow_block *bl = &x->fl->blocks[x->fl->rpo[i]];
			for (uint32_t k = 0; k < bl->nsucc && !ahead[bl->id]; k++)
				is_changed |= ahead[bl->id] = ahead[bl->succ[k]];
		}
	}
}

/* Which blocks may a thread come to, or be in, that has accessed shared memory? */
static void find_touched(struct intervals *x)
{
	forget_reached(x);
	for (uint32_t b = 0; b < x->fl->nblocks; b++)
		if (has_in(x, &x->fl->blocks[b], ANY_ACCESS))
			reach(x, b, FLOW_NONE);
	memcpy(x->is_touched, x->reached, sizeof(*x->reached) * x->fl->nblocks);
}

static bool is_guard_same(const struct intervals *x, const struct ptx_stmt *s)
{
	return s->pred == PTX_NO_REG || (s->pred < x->fl->priv->nregs && x->uniform[s->pred]);
}

/* Do all threads that are at this block's end go on the same way? */
static bool is_way_same(const struct intervals *x, const struct flow_block *b)
{
	const struct ptx_stmt *s = b->last;

	if (!s || s->kind != PTX_STMT_INST || !(s->form->effects & (PTX_EFF_BRANCH | PTX_EFF_EXIT)))
		return true;
	if (!is_guard_same(x, s))
		return false;
	for (unsigned i = 0; i < s->nops; i++)
		if (ptx_stmt_role(s, i) == PTX_ROLE_SRC &&
		    !flow_is_same_operand(x->fl, x->uniform, FLOW_AMONG_THREADS, &s->ops[i]))
			return false;
	return true;
}

/* The branch at the end of b parts threads: which blocks do they pass before they meet? */
static bool part_at(struct intervals *x, const struct flow_block *b)
{
	uint32_t ways = 0;
	bool is_changed = false;

	for (uint32_t i = 0; i < b->nsucc; i++)
		ways += x->waits[b->succ[i]];
	if (ways < 2 || x->is_parted[b->id])
		return false;
	x->is_parted[b->id] = true;
	forget_reached(x);
	for (uint32_t i = 0; i < b->nsucc; i++)
		reach(x, b->succ[i], b->ipdom);
	for (uint32_t i = 0; i < x->fl->nblocks; i++) {
		is_changed |= x->reached[i] && !x->is_apart[i];
		x->is_apart[i] |= x->reached[i];
	}
	return is_changed;
}

struct change {
	struct intervals *x;
	bool any;
};

static void mark_different(uint32_t reg, bool is_write, void *arg)
{
	struct change *c = arg;

	if (!is_write || reg >= c->x->fl->priv->nregs || !c->x->uniform[reg])
		return;
	c->x->uniform[reg] = 0;
	c->any = true;
}

/* The result of a barrier's reduction is one for all. */
static bool is_result_same(const struct intervals *x, const struct ptx_stmt *s)
{
	if (x->is_apart[s->mark] || !is_guard_same(x, s))
		return false;
	return flow_is_block_barrier(s) ||
	       flow_is_same_result(x->fl, x->uniform, FLOW_AMONG_THREADS, s);
}

/* From all registers the same and all blocks together to what stays so. */
static void find_apart(struct intervals *x)
{
	const struct flow_priv *pr = x->fl->priv;
	struct change c = {x, true};

	while (c.any) {
		c.any = false;
		for (uint32_t i = 0; i < pr->nstmts; i++)
			if (pr->stmt[i]->kind == PTX_STMT_INST && !is_result_same(x, pr->stmt[i]))
				ptx_each_reg(pr->stmt[i], mark_different, &c);
		for (uint32_t b = 0; b < x->fl->nblocks; b++)
			if (!is_way_same(x, &x->fl->blocks[b]))
				c.any |= part_at(x, &x->fl->blocks[b]);
	}
}

/* Does a thread leave at block b's end, or behind it, while others go on to a barrier, that may
 * have accessed shared memory by then? */
static bool leaves_accesses(const struct intervals *x, const struct flow_block *b)
{
	bool leaves = b->exits, stays = false, touches = x->is_touched[b->id];

	for (uint32_t i = 0; i < b->nsucc; i++) {
		bool waits = x->waits[b->succ[i]];
		leaves |= !waits;
		stays |= waits;
		touches |= !waits && x->touches[b->succ[i]];
	}
	return leaves && stays && touches && !is_way_same(x, b);
}

static bool is_barrier_same(const struct intervals *x, const struct ptx_stmt *s)
{
	unsigned number = s->nops == 1 ? 0 : 1;

	return !x->is_apart[s->mark] && is_guard_same(x, s) &&
	       flow_is_same_operand(x->fl, x->uniform, FLOW_AMONG_THREADS, &s->ops[number]);
}

static bool are_barriers_same(struct intervals *x)
{
	const struct flow_priv *pr = x->fl->priv;

	find_ahead(x, 0, x->waits);
	find_ahead(x, ANY_ACCESS, x->touches);
	find_touched(x);
	find_apart(x);
	for (uint32_t i = 0; i < pr->nstmts; i++)
		if (is_barrier(pr->stmt[i]) && !is_barrier_same(x, pr->stmt[i]))
			return false;
	for (uint32_t b = 0; b < x->fl->nblocks; b++)
		if (leaves_accesses(x, &x->fl->blocks[b]))
			return false;
	return true;
}

/* ---- the intervals ------------------------------------------------------------------------- */

/* A guarded barrier ends no interval: it isn't always passed. */
static bool ends_interval(const struct ptx_stmt *s)
{
	return is_barrier(s) && s->pred == PTX_NO_REG;
}

/* Looks at the statements of block b from place `at`: is the block's end in the interval? */
static bool walk_block(struct intervals *x, uint32_t b, uint32_t at, bool disturbs, bool *has_write)
{
	struct flow_priv *pr = x->fl->priv;

	for (; at < pr->start[b + 1]; at++) {
		const struct ptx_stmt *s = pr->stmt[at];
		if (ends_interval(s))
			return false;
		*has_write |= may_touch(x->fl, s, PTX_EFF_WRITE);
		if (disturbs)
			pr->undisturbed[at] = false;
	}
	return true;
}

/* The interval that begins in block b, at place `at`. disturbs: marks what is in it; else only asks
 * for a write. */
static bool walk_interval(struct intervals *x, uint32_t b, uint32_t at, bool disturbs)
{
	bool has_write = false;
	uint32_t n = 0;

	forget_reached(x);
	for (;;) {
		const struct flow_block *bl = &x->fl->blocks[b];
		bool goes_on = walk_block(x, b, at, disturbs, &has_write);
		for (uint32_t i = 0; goes_on && i < bl->nsucc; i++) {
			if (x->reached[bl->succ[i]])
				continue;
			x->reached[bl->succ[i]] = true;
			x->queue[n++] = bl->succ[i];
		}
		if (!n)
			return has_write;
		b = x->queue[--n];
		at = x->fl->priv->start[b];
	}
}

static void judge_interval(struct intervals *x, uint32_t b, uint32_t at)
{
	if (walk_interval(x, b, at, false))
		walk_interval(x, b, at, true);
}

static void find_undisturbed(struct intervals *x)
{
	struct flow_priv *pr = x->fl->priv;

	for (uint32_t i = 0; i < pr->nstmts; i++)
		pr->undisturbed[i] = may_touch(x->fl, pr->stmt[i], PTX_EFF_READ) &&
				     !(pr->stmt[i]->form->effects & PTX_EFF_WRITE);
	judge_interval(x, 0, 0);
	for (uint32_t i = 0; i < pr->nstmts; i++)
		if (ends_interval(pr->stmt[i]))
			judge_interval(x, pr->stmt[i]->mark, i + 1);
}

static void need_intervals(struct flow *fl)
{
	struct flow_priv *pr = fl->priv;
	struct intervals x = {.fl = fl};

	if (pr->undisturbed)
		return;
	flow_need_defuse(fl);
	pr->undisturbed = BASE_NEWN(fl->arena, bool, pr->nstmts + 1u);
	if (!is_known(fl))
		return;
	x.uniform = base_malloc(pr->nregs + 1u);
	for (uint32_t i = 0; i < pr->nregs; i++) /* a register without definition has any value */
		x.uniform[i] = pr->def_off[i] < pr->def_off[i + 1];
	x.is_apart = base_calloc(fl->nblocks, sizeof(*x.is_apart));
	x.is_parted = base_calloc(fl->nblocks, sizeof(*x.is_parted));
	x.waits = base_calloc(fl->nblocks, sizeof(*x.waits));
	x.touches = base_calloc(fl->nblocks, sizeof(*x.touches));
	x.is_touched = base_calloc(fl->nblocks, sizeof(*x.is_touched));
	x.reached = base_calloc(fl->nblocks, sizeof(*x.reached));
	x.queue = base_malloc(sizeof(*x.queue) * (fl->nblocks + 1u));
	if (are_barriers_same(&x))
		find_undisturbed(&x);
	free(x.uniform);
	free(x.is_apart);
	free(x.is_parted);
	free(x.waits);
	free(x.touches);
	free(x.is_touched);
	free(x.reached);
	free(x.queue);
}

/* ======================================================================== */

bool flow_is_undisturbed(struct flow *fl, const struct ptx_stmt *load)
{
	need_intervals(fl);
	uint32_t at = flow_place(fl, load);
	return at != FLOW_NONE && fl->priv->undisturbed[at];
}
