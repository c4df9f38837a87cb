/*
 * waits.c - does a loop wait for what another block writes to global memory?
 *
 * Looked at are the natural loops of all backward edges. What decides whether a loop is left is
 * followed backwards from the conditions of its exits, in two ways.
 *
 * Strong: a strong load (or an atomic that changes nothing by itself) of global memory decides. Its
 * value reaches the condition through registers, or through the branches that choose between
 * them. A weak load counts if the loop also contains a fence or a sleep, which a mere search would
 * not. So do atomics, except for those that make progress by themselves: a ticket (addition of a
 * non-zero value) and a compare-and-swap against what the loop has just read. If the dependence
 * passes through the thread's stack or shared memory, any strong load in the loop is enough.
 * Accesses to shared memory and scopes within the cluster don't count. A loop that calls a function
 * which may load strongly counts, too, if the caller says so.
 *
 * Stored: the same where the dependence passes through nothing but weak loads of global memory: the
 * end of a row or a queue, which is loaded again in each turn as atomics beside it may change it,
 * mostly. That it is what an atomic returned, which the loop stored there, can't be excluded: who
 * takes such a loop for one that doesn't wait must go on somehow where it does.
 *
 * Weak: `while (!*flag) __syncthreads();` is a race, and never ends where blocks are executed group
 * after group. A load decides whose address stays the same in the loop, with nothing else that
 * changes there: the end of a row that is read each time isn't one, as the row's counter changes.
 * The value may come by way of shared or local memory that the loop stores it to, or from a called
 * function whose arguments stay the same.
 *
 * Misses: recursion; a function that reads another flag in each of its calls. Taken for one: a
 * bound that a loop reads again and compares with what stays. Costs: linear in the loop's
 * statements for each loop, and once more its blocks for each branch that the value has to do with;
 * where that is more than STEPS and 64 for each block of the function, all further loops count as
 * waiting.
 */
#include <string.h>

#include "flow/flow.h"

#define STEPS	    (1u << 20)
#define TRACE_DEPTH 8
#define DEEP	    200u /* steps from a register to what it is made of */

/* What a register is in the loop, for weak loads, and where it comes from. */
enum {
	UNKNOWN,
	UNDER_WAY = 1,
	CHANGES = 2,
	STEADY = 4,
	LOADED = 8,  /* from global memory */
	LOST = 16,   /* from shared or local memory */
	CALLED = 32, /* from a function */
};

struct walk {
	struct flow *fl;
	const struct flow_wait_calls *calls;
	uint64_t left; /* steps */
	uint32_t head;
	bool *in;	  /* by block */
	uint32_t *blocks; /* those of the loop */
	uint32_t nblocks;
	/* strong */
	uint32_t *set; /* registers that are wanted */
	uint32_t nset;
	bool *has_choosers; /* by block: want_choosers has been there */
	bool *wanted;	    /* by register: its value decides */
	uint32_t *todo;	    /* registers, a stack */
	uint32_t ntodo;
	bool has_pause; /* a fence or a sleep */
	bool has_wait;	/* something that waits_on, wherever its value goes */
	bool is_lost;	/* the value went through memory */
	bool is_stored; /* ... through global memory only, weakly */
	/* weak */
	uint8_t *state; /* by register */
	uint32_t *seen; /* those with a state */
	uint32_t nseen, deep;
	unsigned what; /* of the registers that are looked at */
	bool has_weak; /* a weak load, or a call */
};

static bool is_inst(const struct ptx_stmt *s)
{
	return s->kind == PTX_STMT_INST && !s->inserted;
}

static void spend(struct walk *w, uint32_t steps)
{
	w->left -= steps < w->left ? steps : w->left;
}

/* A branch that chooses whether `block` runs. */
static bool is_chooser(const struct walk *w, uint32_t b, uint32_t block)
{
	const struct flow *fl = w->fl;

	return fl->blocks[b].nsucc > 1 && b != block && is_inst(fl->blocks[b].last) &&
	       flow_dominates(fl, b, block) && !flow_postdominates(fl, block, b);
}

static bool may_leave(const struct walk *w, const struct flow_block *b)
{
	bool leaves = b->exits;

	for (uint32_t i = 0; i < b->nsucc; i++)
		leaves |= !w->in[b->succ[i]];
	return leaves && is_inst(b->last);
}

/* ---- strong ------------------------------------------------------------------------------- */

static void want(uint32_t reg, bool is_write, void *arg)
{
	struct walk *w = arg;

	if (is_write || reg == PTX_NO_REG || w->wanted[reg])
		return;
	w->wanted[reg] = true;
	w->set[w->nset++] = reg;
	w->todo[w->ntodo++] = reg;
}

static bool is_global(struct flow *fl, const struct ptx_stmt *s)
{
	if (s->form->space != PTX_SPACE_GLOBAL && s->form->space != PTX_SPACE_GENERIC)
		return false;
	enum flow_origin o = flow_address_origin(fl, s);
	return o != FLOW_ORIGIN_PRIVATE && o != FLOW_ORIGIN_SHARED && o != FLOW_ORIGIN_CONST;
}

/* Memory that another cluster can write, in a scope that reaches it. */
static bool is_far(struct flow *fl, const struct ptx_stmt *s)
{
	const struct ptx_form *fm = s->form;

	return fm->scope != PTX_SCOPE_CTA && fm->scope != PTX_SCOPE_CLUSTER && is_global(fl, s);
}

struct trace {
	struct walk *w;
	unsigned depth;
	bool is_found;
};

/* Does the register hold what the loop has read from memory (through copies and arithmetic)? */
static void trace_read(uint32_t reg, bool is_write, void *arg)
{
	struct trace *t = arg;
	uint32_t n;

	if (is_write || t->is_found || t->depth == TRACE_DEPTH)
		return;
	struct ptx_stmt *const *defs = flow_defs(t->w->fl, reg, &n);
	t->depth++;
	for (uint32_t i = 0; i < n && !t->is_found; i++) {
		if (!t->w->in[defs[i]->mark] || !is_inst(defs[i]))
			continue;
		if (defs[i]->form->effects & PTX_EFF_READ)
			t->is_found = true;
		else
			ptx_each_reg(defs[i], trace_read, t);
	}
	t->depth--;
}

static bool is_read_in_loop(struct walk *w, const struct ptx_opnd *op)
{
	struct trace t = {.w = w};

	if (op->kind == PTX_OPND_REG)
		trace_read(op->reg, false, &t);
	return t.is_found;
}

/* An atomic that finds another value in the next iteration because of this one. */
static bool gets_on(struct walk *w, const struct ptx_stmt *s)
{
	const struct ptx_form *fm = s->form;
	bool is_add = ptx_form_has(fm, PTX_MOD_ADD) || ptx_form_has(fm, PTX_MOD_INC) ||
		      ptx_form_has(fm, PTX_MOD_DEC);

	if (is_add && s->nops > 2)
		return s->ops[2].kind != PTX_OPND_INT || s->ops[2].imm != 0;
	return ptx_form_has(fm, PTX_MOD_CAS) && s->nops > 3 && is_read_in_loop(w, &s->ops[2]);
}

static bool waits_on(struct walk *w, const struct ptx_stmt *s)
{
	const struct ptx_form *fm = s->form;

	if (!(fm->effects & PTX_EFF_READ) || !is_far(w->fl, s))
		return false;
	if (fm->effects & PTX_EFF_ATOMIC)
		return !gets_on(w, s);
	if (fm->effects & (PTX_EFF_WRITE | PTX_EFF_ASYNC))
		return false;
	return fm->sem != PTX_SEM_WEAK || w->has_pause;
}

static void want_choosers(struct walk *w, uint32_t block)
{
	if (w->has_choosers[block])
		return;
	w->has_choosers[block] = true;
	spend(w, w->nblocks);
	for (uint32_t i = 0; i < w->nblocks; i++)
		if (is_chooser(w, w->blocks[i], block))
			ptx_each_reg(w->fl->blocks[w->blocks[i]].last, want, w);
}

static void note_memory(struct walk *w, const struct ptx_stmt *s)
{
	const struct ptx_form *fm = s->form;
	bool is_weak = (fm->op == PTX_OP_LD || fm->op == PTX_OP_LDU) && fm->sem == PTX_SEM_WEAK;

	if (!(fm->effects & PTX_EFF_READ) || fm->space == PTX_SPACE_PARAM ||
	    fm->space == PTX_SPACE_CONST)
		return;
	if (is_weak && is_global(w->fl, s))
		w->is_stored = true;
	else
		w->is_lost = true;
}

/* Follows the values that decide, backwards through the loop. */
static unsigned waits_strongly(struct walk *w)
{
	for (uint32_t i = 0; i < w->nblocks; i++) {
		const struct flow_block *b = &w->fl->blocks[w->blocks[i]];
		if (may_leave(w, b))
			ptx_each_reg(b->last, want, w);
	}
	while (w->ntodo && w->left) {
		uint32_t n, reg = w->todo[--w->ntodo];
		struct ptx_stmt *const *defs = flow_defs(w->fl, reg, &n);

		spend(w, n);
		for (uint32_t i = 0; i < n; i++) {
			struct ptx_stmt *s = defs[i];
			if (!w->in[s->mark] || !is_inst(s))
				continue;
			if (waits_on(w, s))
				return FLOW_WAIT_STRONG;
			note_memory(w, s);
			ptx_each_reg(s, want, w);
			want_choosers(w, s->mark);
		}
	}
	if (!w->left || (w->is_lost && w->has_wait))
		return FLOW_WAIT_STRONG;
	return w->is_stored && w->has_wait ? FLOW_WAIT_STORED : 0;
}

/* ---- weak --------------------------------------------------------------------------------- */

static unsigned what_is(struct walk *w, uint32_t reg);

static void note_read(uint32_t reg, bool is_write, void *arg)
{
	struct walk *w = arg;

	if (!is_write && reg != PTX_NO_REG)
		w->what |= what_is(w, reg);
}

/* What the statement reads, as a whole. */
static unsigned what_reads(struct walk *w, const struct ptx_stmt *s)
{
	unsigned before = w->what, is;

	w->what = STEADY;
	ptx_each_reg(s, note_read, w);
	is = w->what;
	w->what = before;
	return is & (CHANGES | UNDER_WAY) ? CHANGES : is;
}

static bool is_own_param(const struct walk *w, const struct ptx_stmt *s)
{
	const struct ptx_func *f = w->fl->f;
	const struct ptx_opnd *at = ptx_address(s);

	for (uint32_t i = 0; at && i < f->nparams; i++)
		if (ptx_str_eq(f->params[i].name, at->text))
			return true;
	return false;
}

/* What the statement adds to what it reads. */
static unsigned what_makes(struct walk *w, const struct ptx_stmt *s)
{
	const struct ptx_form *fm = s->form;

	if (!is_inst(s) || (fm->effects & (PTX_EFF_ATOMIC | PTX_EFF_UNKNOWN)))
		return CHANGES;
	if (fm->effects & PTX_EFF_CALL)
		return CALLED;
	if (!(fm->effects & PTX_EFF_READ) || fm->space == PTX_SPACE_CONST)
		return 0;
	if (fm->space == PTX_SPACE_PARAM)
		return is_own_param(w, s) ? 0 : CALLED;
	if (!is_global(w->fl, s))
		return LOST;
	if (fm->op != PTX_OP_LD && fm->op != PTX_OP_LDU)
		return CHANGES;
	return fm->sem == PTX_SEM_WEAK ? LOADED : 0;
}

/* The branches that choose whether the block runs. */
static unsigned what_chooses(struct walk *w, uint32_t block)
{
	unsigned is = 0;

	spend(w, w->nblocks);
	for (uint32_t i = 0; i < w->nblocks; i++)
		if (is_chooser(w, w->blocks[i], block))
			is |= what_reads(w, w->fl->blocks[w->blocks[i]].last);
	return is;
}

static unsigned what_is(struct walk *w, uint32_t reg)
{
	struct ptx_stmt *const *defs;
	unsigned is = STEADY;
	uint32_t n = 0;

	if (w->state[reg] != UNKNOWN)
		return w->state[reg];
	w->state[reg] = UNDER_WAY;
	w->seen[w->nseen++] = reg;
	defs = flow_defs(w->fl, reg, &n);
	spend(w, n + 1);
	w->deep++;
	for (uint32_t i = 0; i < n && !(is & CHANGES); i++) {
		if (!w->in[defs[i]->mark])
			continue;
		is |= w->deep > DEEP || !w->left ? CHANGES : what_makes(w, defs[i]);
		if (!(is & CHANGES))
			is |= what_reads(w, defs[i]);
		if (!(is & CHANGES) && n > 1)
			is |= what_chooses(w, defs[i]->mark);
	}
	w->deep--;
	w->state[reg] = (uint8_t)(is & CHANGES ? CHANGES : is);
	return w->state[reg];
}

/* Does a statement of the loop do that? */
static bool any(struct walk *w, bool (*does)(struct walk *, const struct ptx_stmt *))
{
	for (uint32_t i = 0; i < w->nblocks; i++) {
		const struct flow_block *b = &w->fl->blocks[w->blocks[i]];
		for (const struct ptx_stmt *s = b->first;; s = s->next) {
			if (is_inst(s) && does(w, s))
				return true;
			if (s == b->last)
				break;
		}
	}
	return false;
}

/* It stores what has been loaded, for the block's other threads or for later. */
static bool passes_on(struct walk *w, const struct ptx_stmt *s)
{
	const struct ptx_form *fm = s->form;

	return (fm->effects & PTX_EFF_WRITE) && !(fm->effects & (PTX_EFF_ATOMIC | PTX_EFF_READ)) &&
	       fm->space != PTX_SPACE_PARAM && !is_global(w->fl, s) && (what_reads(w, s) & LOADED);
}

static bool is_changing_argument(struct walk *w, const struct ptx_stmt *s)
{
	return (s->form->effects & PTX_EFF_WRITE) && s->form->space == PTX_SPACE_PARAM &&
	       (what_reads(w, s) & CHANGES);
}

static bool waits_weakly(struct walk *w)
{
	for (uint32_t i = 0; i < w->nblocks; i++) {
		const struct flow_block *b = &w->fl->blocks[w->blocks[i]];
		unsigned is = may_leave(w, b) ? what_reads(w, b->last) : CHANGES;

		if (is & CHANGES)
			continue;
		if ((is & LOADED) || ((is & LOST) && any(w, passes_on)) ||
		    ((is & CALLED) && !any(w, is_changing_argument)))
			return true;
	}
	return !w->left;
}

/* ---- loops -------------------------------------------------------------------------------- */

static void enter(struct walk *w, uint32_t block)
{
	w->in[block] = true;
	w->blocks[w->nblocks++] = block;
}

/* Everything from which the backward edge's source is reached without passing the head. */
static void fill(struct walk *w, uint32_t from, uint32_t *stack)
{
	const struct flow *fl = w->fl;
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->nblocks; i++)
		w->in[w->blocks[i]] = w->has_choosers[w->blocks[i]] = false;
	w->nblocks = 0;
	enter(w, w->head);
	if (!w->in[from]) {
		enter(w, from);
		stack[n++] = from;
	}
	while (n) {
		const struct flow_block *b = &fl->blocks[stack[--n]];
		for (uint32_t i = 0; i < b->npred; i++)
			if (!w->in[b->pred[i]] && fl->blocks[b->pred[i]].rpo != UINT32_MAX) {
				enter(w, b->pred[i]);
				stack[n++] = b->pred[i];
			}
	}
	spend(w, w->nblocks);
}

static bool note_pause(struct walk *w, const struct ptx_stmt *s)
{
	w->has_pause |= (s->form->effects & (PTX_EFF_FENCE | PTX_EFF_SLEEP)) != 0;
	return false;
}

/* What may make the loop one that waits. True: a function that it calls. */
static bool note_wait(struct walk *w, const struct ptx_stmt *s)
{
	bool is_call = (s->form->effects & PTX_EFF_CALL) != 0;

	w->has_wait |= s->form->sem != PTX_SEM_WEAK && waits_on(w, s);
	w->has_weak |= is_call || s->form->op == PTX_OP_LD || s->form->op == PTX_OP_LDU;
	return is_call && w->calls && w->calls->waits(s, w->calls->arg);
}

static unsigned loop_waits(struct walk *w, unsigned kinds)
{
	unsigned found = 0;

	for (uint32_t i = 0; i < w->nset; i++)
		w->wanted[w->set[i]] = false;
	for (uint32_t i = 0; i < w->nseen; i++)
		w->state[w->seen[i]] = UNKNOWN;
	w->nset = w->ntodo = w->nseen = 0;
	w->has_pause = w->has_wait = w->is_lost = w->is_stored = w->has_weak = false;
	(void)any(w, note_pause);
	if (any(w, note_wait))
		found |= kinds & FLOW_WAIT_STRONG;
	if ((kinds & (FLOW_WAIT_STRONG | FLOW_WAIT_STORED)) && !found)
		found |= waits_strongly(w) & kinds;
	if ((kinds & FLOW_WAIT_WEAK) && w->has_weak && waits_weakly(w))
		found |= FLOW_WAIT_WEAK;
	return found;
}

static void open_walk(struct walk *w)
{
	struct base_arena *arena = w->fl->arena;
	size_t nregs = w->fl->f->nregs + 1u;

	w->in = BASE_NEWN(arena, bool, w->fl->nblocks);
	w->has_choosers = BASE_NEWN(arena, bool, w->fl->nblocks);
	w->blocks = BASE_NEWN(arena, uint32_t, w->fl->nblocks);
	w->set = BASE_NEWN(arena, uint32_t, nregs);
	w->wanted = BASE_NEWN(arena, bool, nregs);
	w->todo = BASE_NEWN(arena, uint32_t, nregs);
	w->state = BASE_NEWN(arena, uint8_t, nregs);
	w->seen = BASE_NEWN(arena, uint32_t, nregs);
}

unsigned flow_find_waits(struct flow *fl, unsigned kinds, const struct flow_wait_calls *calls,
			 flow_on_wait *found, void *arg)
{
	struct walk w = {.fl = fl, .calls = calls, .left = STEPS + 64ull * fl->nblocks};
	uint32_t *stack = NULL;
	unsigned all = 0;

	for (uint32_t t = 0; t < fl->nblocks; t++) {
		const struct flow_block *b = &fl->blocks[t];
		for (uint32_t i = 0; i < b->nsucc; i++) {
			const struct flow_block *h = &fl->blocks[b->succ[i]];
			unsigned is = kinds;
			if (b->rpo == UINT32_MAX || h->rpo > b->rpo)
				continue;
			if (!stack) {
				open_walk(&w);
				stack = BASE_NEWN(fl->arena, uint32_t, fl->nblocks);
			}
			w.head = b->succ[i];
			if (w.left) {
				fill(&w, t, stack);
				is = loop_waits(&w, kinds);
			}
			all |= is;
			if (is && found)
				found(h->first, arg);
		}
	}
	return all;
}
