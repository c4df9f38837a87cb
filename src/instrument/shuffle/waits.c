/*
 * waits.c - does a loop wait for another block? Those kernels are not shuffled by default.
 *
 * A loop waits when what a strong load (or an atomic that changes nothing by itself) of global
 * memory returns decides whether the loop ends: the value reaches, through registers or through the
 * branches that choose between them, the condition of an exit. A weak load counts if the loop also
 * contains a fence or a sleep, which a mere search would not. So do atomics, except for those that
 * make progress by themselves: a ticket (addition of a non-zero value) and a compare-and-swap
 * against what the loop has just read. If the dependence passes through the thread's stack or
 * shared memory, any strong load in the loop is enough. Accesses to shared memory and scopes within
 * the cluster don't count: clusters are moved as a whole. A loop that calls a function with a
 * strong load counts, too.
 *
 * Loops are the natural loops of all backward edges; what waits by recursion, or by a weak load
 * alone (a race), is missed. Costs: linear in the loop's blocks for each loop, and once more for
 * each of its branches that the value has to do with; where that is more than STEPS and 64 for each
 * block of the function, all further loops count as waiting.
 */
#include "instrument/internal.h"

#include <string.h>

#define STEPS (1u << 20)

struct loop_walk {
	struct inst_ctx *cx;
	uint32_t head;
	bool *in;	  /* by block */
	uint32_t *blocks; /* those of the loop */
	uint32_t nblocks;
	uint32_t *set; /* registers that are wanted */
	uint32_t nset;
	bool *has_choosers; /* by block: want_choosers has been there */
	uint64_t left;	    /* steps */
	bool *wanted;	    /* by register: its value decides */
	uint32_t *todo;	    /* registers, a stack */
	uint32_t ntodo;
	bool has_pause; /* a fence or a sleep */
	bool has_wait;	/* something that waits_on, wherever its value goes */
	bool is_lost;	/* the value went through memory */
};

static bool is_inst(const struct ptx_stmt *s)
{
	return s->kind == PTX_STMT_INST && !s->inserted;
}

static void want(uint32_t reg, bool is_write, void *arg)
{
	struct loop_walk *w = arg;

	if (is_write || reg == PTX_NO_REG || w->wanted[reg])
		return;
	w->wanted[reg] = true;
	w->set[w->nset++] = reg;
	w->todo[w->ntodo++] = reg;
}

/* Memory that another cluster can write, in a scope that reaches it. */
static bool is_far(struct inst_ctx *cx, const struct ptx_stmt *s)
{
	const struct ptx_form *fm = s->form;

	if (fm->space != PTX_SPACE_GLOBAL && fm->space != PTX_SPACE_GENERIC)
		return false;
	if (fm->scope == PTX_SCOPE_CTA || fm->scope == PTX_SCOPE_CLUSTER)
		return false;
	enum flow_origin o = flow_address_origin(cx->fl, s);
	return o != FLOW_ORIGIN_PRIVATE && o != FLOW_ORIGIN_SHARED && o != FLOW_ORIGIN_CONST;
}

#define TRACE_DEPTH 8

struct trace {
	struct loop_walk *w;
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
	struct ptx_stmt *const *defs = flow_defs(t->w->cx->fl, reg, &n);
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

static bool is_read_in_loop(struct loop_walk *w, const struct ptx_opnd *op)
{
	struct trace t = {.w = w};

	if (op->kind == PTX_OPND_REG)
		trace_read(op->reg, false, &t);
	return t.is_found;
}

/* An atomic that finds another value in the next iteration because of this one. */
static bool gets_on(struct loop_walk *w, const struct ptx_stmt *s)
{
	const struct ptx_form *fm = s->form;
	bool is_add = ptx_form_has(fm, PTX_MOD_ADD) || ptx_form_has(fm, PTX_MOD_INC) ||
		      ptx_form_has(fm, PTX_MOD_DEC);

	if (is_add && s->nops > 2)
		return s->ops[2].kind != PTX_OPND_INT || s->ops[2].imm != 0;
	return ptx_form_has(fm, PTX_MOD_CAS) && s->nops > 3 && is_read_in_loop(w, &s->ops[2]);
}

static bool waits_on(struct loop_walk *w, const struct ptx_stmt *s)
{
	const struct ptx_form *fm = s->form;

	if (!(fm->effects & PTX_EFF_READ) || !is_far(w->cx, s))
		return false;
	if (fm->effects & PTX_EFF_ATOMIC)
		return !gets_on(w, s);
	if (fm->effects & (PTX_EFF_WRITE | PTX_EFF_ASYNC))
		return false;
	return fm->sem != PTX_SEM_WEAK || w->has_pause;
}

static void spend(struct loop_walk *w, uint32_t steps)
{
	w->left -= steps < w->left ? steps : w->left;
}

/* The branches of the loop that choose whether `block` runs. */
static void want_choosers(struct loop_walk *w, uint32_t block)
{
	const struct flow *fl = w->cx->fl;

	if (w->has_choosers[block])
		return;
	w->has_choosers[block] = true;
	spend(w, w->nblocks);
	for (uint32_t i = 0; i < w->nblocks; i++) {
		uint32_t b = w->blocks[i];
		const struct ptx_stmt *s = fl->blocks[b].last;
		if (fl->blocks[b].nsucc > 1 && b != block && is_inst(s) &&
		    flow_dominates(fl, b, block) && !flow_postdominates(fl, block, b))
			ptx_each_reg(s, want, w);
	}
}

/* Follows the values that decide, backwards through the loop. */
static bool decides_by_waiting(struct loop_walk *w)
{
	while (w->ntodo && w->left) {
		uint32_t n, reg = w->todo[--w->ntodo];
		struct ptx_stmt *const *defs = flow_defs(w->cx->fl, reg, &n);

		spend(w, n);
		for (uint32_t i = 0; i < n; i++) {
			struct ptx_stmt *s = defs[i];
			if (!w->in[s->mark] || !is_inst(s))
				continue;
			if (waits_on(w, s))
				return true;
			w->is_lost |= (s->form->effects & PTX_EFF_READ) &&
				      s->form->space != PTX_SPACE_PARAM &&
				      s->form->space != PTX_SPACE_CONST;
			ptx_each_reg(s, want, w);
			want_choosers(w, s->mark);
		}
	}
	return !w->left || (w->is_lost && w->has_wait);
}

/* The statements of a block that may leave the loop. */
static void want_exits(struct loop_walk *w, const struct flow_block *b)
{
	bool leaves = b->exits;

	for (uint32_t i = 0; i < b->nsucc; i++)
		leaves |= !w->in[b->succ[i]];
	if (leaves && is_inst(b->last))
		ptx_each_reg(b->last, want, w);
}

static void enter(struct loop_walk *w, uint32_t block)
{
	w->in[block] = true;
	w->blocks[w->nblocks++] = block;
}

/* Everything from which the backward edge's source is reached without passing the head. */
static void fill(struct loop_walk *w, uint32_t from, uint32_t *stack)
{
	const struct flow *fl = w->cx->fl;
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

/* A function of the program, not one of the device's own (vprintf, malloc, ...)? NULL if not. */
static const struct ptx_func *find_function(struct inst_ctx *cx, struct ptx_str name,
					    bool *is_known)
{
	static const char *const system[] = {"vprintf", "malloc", "free", "__assertfail"};

	*is_known = false;
	for (size_t i = 0; i < BASE_COUNTOF(system); i++)
		*is_known |= ptx_str_is(name, system[i]);
	if (name.n > 4 && memcmp(name.p, "cuda", 4) == 0)
		*is_known = true;
	return inst_function_of(cx, name);
}

static bool call_waits(struct loop_walk *w, const struct ptx_stmt *s)
{
	int at = ptx_find_role(s, PTX_ROLE_LABEL);
	bool is_system = false;
	const struct ptx_func *f = NULL;

	if (at >= 0 && s->ops[at].kind == PTX_OPND_SYM) {
		f = find_function(w->cx, inst_name_of(s->ops[at].text), &is_system);
		if (is_system && !f)
			return false;
	}
	if (!f)
		w->cx->shuffle_flags |= RACE_SHUFFLE_CALLS;
	return (w->cx->shuffle_flags & RACE_SHUFFLE_STRONG) != 0;
}

static bool loop_waits(struct loop_walk *w)
{
	const struct flow *fl = w->cx->fl;
	bool waits = false;

	for (uint32_t i = 0; i < w->nset; i++)
		w->wanted[w->set[i]] = false;
	w->nset = w->ntodo = 0;
	w->has_pause = w->has_wait = w->is_lost = false;
	for (uint32_t i = 0; i < w->nblocks; i++) {
		uint32_t b = w->blocks[i];
		want_exits(w, &fl->blocks[b]);
		for (const struct ptx_stmt *s = fl->blocks[b].first;; s = s->next) {
			if (is_inst(s)) {
				w->has_pause |=
					(s->form->effects & (PTX_EFF_FENCE | PTX_EFF_SLEEP)) != 0;
				w->has_wait |= s->form->sem != PTX_SEM_WEAK && waits_on(w, s);
				if (s->form->effects & PTX_EFF_CALL)
					waits |= call_waits(w, s);
			}
			if (s == fl->blocks[b].last)
				break;
		}
	}
	return decides_by_waiting(w) || waits;
}

static void add_poll(struct inst_ctx *cx, struct ptx_stmt *at)
{
	for (size_t i = 0; i < cx->polls.n; i++)
		if (cx->polls.v[i] == at)
			return;
	base_vec_push(&cx->polls, at);
}

bool inst_find_waits(struct inst_ctx *cx)
{
	const struct flow *fl = cx->fl;
	struct loop_walk w = {.cx = cx, .left = STEPS + 64ull * fl->nblocks};
	uint32_t *stack = BASE_NEWN(&cx->scratch, uint32_t, fl->nblocks);

	cx->polls.n = 0;
	w.in = BASE_NEWN(&cx->scratch, bool, fl->nblocks);
	w.has_choosers = BASE_NEWN(&cx->scratch, bool, fl->nblocks);
	w.blocks = BASE_NEWN(&cx->scratch, uint32_t, fl->nblocks);
	w.set = BASE_NEWN(&cx->scratch, uint32_t, cx->f->nregs + 1u);
	w.wanted = BASE_NEWN(&cx->scratch, bool, cx->f->nregs + 1u);
	w.todo = BASE_NEWN(&cx->scratch, uint32_t, cx->f->nregs + 1u);
	for (uint32_t t = 0; t < fl->nblocks; t++) {
		const struct flow_block *b = &fl->blocks[t];
		for (uint32_t i = 0; i < b->nsucc; i++) {
			const struct flow_block *h = &fl->blocks[b->succ[i]];
			if (b->rpo == UINT32_MAX || h->rpo > b->rpo)
				continue;
			w.head = b->succ[i];
			if (w.left)
				fill(&w, t, stack);
			if (!w.left || loop_waits(&w))
				add_poll(cx, h->first);
		}
	}
	return cx->polls.n > 0;
}

bool inst_is_strong_function(const struct ptx_func *f)
{
	ptx_each_stmt(f, s)
	{
		const struct ptx_form *fm = s->form;
		if (is_inst(s) && (fm->effects & PTX_EFF_READ) && fm->sem != PTX_SEM_WEAK &&
		    fm->sem != PTX_SEM_NONE && fm->scope != PTX_SCOPE_CTA &&
		    fm->scope != PTX_SCOPE_CLUSTER &&
		    (fm->space == PTX_SPACE_GLOBAL || fm->space == PTX_SPACE_GENERIC))
			return true;
	}
	return false;
}
