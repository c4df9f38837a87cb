/*
 * unequal.c - may threads of a block pass different numbers of barriers, with accesses before the
 * exit of one that passes fewer?
 *
 * No barrier orders these accesses with what the others do after the barriers that it never came
 * to. A detector that counts the barriers that each thread has passed takes the one for ordered
 * before the other, so it may miss their races; the kernel is judged in part, and says so. iguard
 * finds many of them all the same (exits.c).
 *
 * Asked are the branches that threads of a block may take differently: by the thread's number, by
 * what was loaded from different places, drawn by an atomic or returned by a function, or by what
 * was written in two ways after such a branch. If its ways meet again, their numbers of barriers
 * up to there are compared; if not, those up to the exits. A call of a function that waits at a
 * barrier counts as any number of them. Of lanes that exit before a __syncwarp() of others the same
 * is asked.
 *
 * Misses: values that threads load from one place at different times. Costs: a walk over the blocks
 * after each such branch; for numbers up to the exits, one walk for each barrier in the text.
 */
#include "instrument/internal.h"

#include <string.h>

#define PASSES 8
#define MANY   UINT32_MAX

struct unequal {
	struct inst_ctx *cx;
	bool *differs; /* by register */
	bool changed, is_found;
	/* By block: barriers in it, at least and at most; is there an access after the last one. */
	uint32_t *least, *most;
	bool *has_access, *is_open; /* at its end: no barrier since an access */
	bool *is_guarded;	    /* a barrier in it has a guard */
	bool *leaves;		    /* a function that it calls may end the thread */
	/* From a block's start to an exit: the most barriers, and the fewest on a way with an
	 * access after the last of them, where there was none before the block, and where there
	 * was one. */
	uint32_t *longest, *open_after[2];
	uint32_t *most_here, *open_here[2]; /* the same of one branch, to where its ways meet */
	uint32_t *stack;
	bool *is_seen;
	uint32_t nbarriers;
};

static uint32_t sum(uint32_t a, uint32_t b)
{
	return a == MANY || b == MANY ? MANY : a + b;
}

static uint32_t max(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static uint32_t min(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* ---- what differs from thread to thread ----------------------------------------------------- */

static bool names_thread(const struct ptx_opnd *o)
{
	static const char *const names[] = {"%tid", "%laneid", "%lanemask", "%warpid", "%clock"};

	return inst_names_special(o, names, BASE_COUNTOF(names));
}

/* After a branch that differs: of a register that is written elsewhere, too. */
static void write_either(uint32_t reg, bool is_write, void *arg)
{
	struct unequal *x = arg;
	uint32_t n;

	if (is_write && !x->differs[reg] && flow_defs(x->cx->fl, reg, &n) && n > 1)
		x->differs[reg] = x->changed = true;
}

/* Does it give each thread a value of its own? */
static bool draws(const struct ptx_form *fm)
{
	return fm->effects & (PTX_EFF_ATOMIC | PTX_EFF_CALL) || fm->op == PTX_OP_ELECT_SYNC;
}

/* Do threads of a block go different ways at its end? */
static bool is_parting(struct unequal *x, const struct flow_block *b)
{
	const struct ptx_stmt *s = b->last;

	return s->kind == PTX_STMT_INST && (b->nsucc > 1 || (b->exits && b->nsucc)) &&
	       ptx_reads_of(s, x->differs);
}

/* Calls what(x, block) for each that is reached from the branch before its ways meet. */
static void walk(struct unequal *x, const struct flow_block *b,
		 void (*what)(struct unequal *x, const struct flow_block *b))
{
	struct flow *fl = x->cx->fl;
	uint32_t n = 0, done = 0;

	for (const struct flow_block *at = b;; at = &fl->blocks[x->stack[done++]]) {
		for (uint32_t i = 0; i < at->nsucc; i++) {
			uint32_t to = at->succ[i];
			if (to == b->ipdom || x->is_seen[to])
				continue;
			x->is_seen[to] = true;
			x->stack[n++] = to;
		}
		if (done == n)
			break;
	}
	for (uint32_t i = 0; i < n; i++)
		x->is_seen[x->stack[i]] = false;
	for (uint32_t i = 0; i < n; i++)
		what(x, &fl->blocks[x->stack[i]]);
}

static void spread(struct unequal *x, const struct flow_block *b)
{
	for (struct ptx_stmt *s = b->first;; s = s->next) {
		if (s->kind == PTX_STMT_INST && !s->inserted)
			ptx_each_reg(s, write_either, x);
		if (s == b->last)
			break;
	}
}

static void find_registers(struct unequal *x)
{
	struct flow *fl = x->cx->fl;

	x->changed = true;
	for (unsigned i = 0; x->changed && i < PASSES; i++) {
		x->changed = false;
		ptx_each_stmt(x->cx->f, s)
		{
			/* What a reduction of the block gives is the same for all. */
			if (s->kind != PTX_STMT_INST || s->inserted || flow_is_block_barrier(s))
				continue;
			bool is = draws(s->form) || ptx_reads_of(s, x->differs);
			for (unsigned k = 0; k < s->nops && !is; k++)
				is = names_thread(&s->ops[k]);
			if (is)
				x->changed |= ptx_add_written(s, x->differs);
		}
		for (uint32_t k = 0; k < fl->nrpo; k++)
			if (is_parting(x, &fl->blocks[fl->rpo[k]]))
				walk(x, &fl->blocks[fl->rpo[k]], spread);
	}
}

/* ---- how many barriers ---------------------------------------------------------------------- */

static void find_blocks(struct unequal *x, const struct inst_events *ev, bool with_lanes)
{
	for (const struct inst_event *e = ev->first; e; e = e->next) {
		uint32_t b = e->stmt->mark;
		const struct inst_called *to =
			e->kind == INST_EVENT_CALL ? inst_callee(x->cx, e->stmt) : NULL;
		if (e->kind == INST_EVENT_BLOCK || (with_lanes && e->kind == INST_EVENT_WARP)) {
			x->nbarriers++;
			x->least[b] = sum(x->least[b], 1);
			x->most[b] = sum(x->most[b], 1);
			x->has_access[b] = false;
			x->is_guarded[b] |= e->stmt->pred != PTX_NO_REG;
		} else if (e->kind == INST_EVENT_ACCESS) {
			x->has_access[b] = true;
		} else if (to) {
			x->has_access[b] = true;
			if (to->all.has_barrier || (with_lanes && to->all.has_warp))
				x->most[b] = MANY;
			x->leaves[b] |= to->all.has_exit;
		}
	}
}

/* From a block's start to an exit. True: something is new. */
static bool look(struct unequal *x, const struct flow_block *b)
{
	bool leaves = b->exits || x->leaves[b->id], is_new;
	uint32_t longest = 0, open[2];
	bool was_open = x->is_open[b->id];

	x->is_open[b->id] |= x->has_access[b->id];
	for (uint32_t i = 0; i < b->npred && !x->least[b->id]; i++)
		x->is_open[b->id] |= x->is_open[b->pred[i]];
	for (uint32_t i = 0; i < b->nsucc; i++)
		longest = max(longest, x->longest[b->succ[i]]);
	longest = max(sum(longest, x->most[b->id]), x->longest[b->id]);
	longest = longest > x->nbarriers ? MANY : longest; /* a loop has one */
	is_new = longest != x->longest[b->id] || was_open != x->is_open[b->id];
	x->longest[b->id] = longest;
	for (unsigned k = 0; k < 2; k++) {
		bool is_open = x->has_access[b->id] || (k && !x->least[b->id]);
		open[k] = leaves && is_open ? 0 : MANY;
		for (uint32_t i = 0; i < b->nsucc; i++)
			open[k] = min(open[k], x->open_after[is_open][b->succ[i]]);
		open[k] = sum(open[k], x->least[b->id]);
		is_new |= open[k] != x->open_after[k][b->id];
		x->open_after[k][b->id] = open[k];
	}
	return is_new;
}

static void find_ways(struct unequal *x)
{
	struct flow *fl = x->cx->fl;
	bool is_new = true;

	while (is_new) {
		is_new = false;
		for (uint32_t i = fl->nrpo; i-- > 0;)
			is_new |= look(x, &fl->blocks[fl->rpo[i]]);
	}
}

/* ---- one branch ----------------------------------------------------------------------------- */

static void clear_way(struct unequal *x, const struct flow_block *b)
{
	x->most_here[b->id] = 0;
	x->open_here[0][b->id] = x->open_here[1][b->id] = MANY;
}

static void find_barriers(struct unequal *x, const struct flow_block *b)
{
	x->is_found |= x->most[b->id] != 0;
}

static void step_way(struct unequal *x, const struct flow_block *b)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < b->nsucc; i++)
		most = max(most, x->most_here[b->succ[i]]);
	most = sum(most, x->most[b->id]);
	most = most > x->nbarriers ? MANY : most;
	x->changed |= most != x->most_here[b->id];
	x->most_here[b->id] = most;
	for (unsigned k = 0; k < 2; k++) {
		bool is_open = x->has_access[b->id] || (k && !x->least[b->id]);
		uint32_t open = MANY;
		for (uint32_t i = 0; i < b->nsucc; i++)
			open = min(open, x->open_here[is_open][b->succ[i]]);
		open = sum(open, x->least[b->id]);
		x->changed |= open != x->open_here[k][b->id];
		x->open_here[k][b->id] = open;
	}
}

/* Has one way to where all meet again, with an access before an exit after that, fewer barriers
 * than another? */
static bool meets_unequal(struct unequal *x, const struct flow_block *b)
{
	const uint32_t *open = x->open_here[x->is_open[b->id]];

	x->is_found = false;
	walk(x, b, find_barriers);
	if (!x->is_found)
		return false;
	walk(x, b, clear_way);
	x->most_here[b->ipdom] = 0;
	for (unsigned k = 0; k < 2; k++)
		x->open_here[k][b->ipdom] = x->open_after[k][b->ipdom] == MANY ? MANY : 0;
	do {
		x->changed = false;
		walk(x, b, step_way);
	} while (x->changed);
	for (uint32_t i = 0; i < b->nsucc; i++)
		for (uint32_t k = 0; k < b->nsucc; k++)
			if (k != i && open[b->succ[i]] < x->most_here[b->succ[k]])
				return true;
	return false;
}

/* Has one way to an exit, with an access before it, fewer barriers than another? Way nsucc is a
 * guarded exit. Ways that part later are asked there. */
static bool leaves_unequal(const struct unequal *x, const struct flow_block *b)
{
	bool is_open = x->is_open[b->id];

	for (uint32_t i = 0; i < b->nsucc + b->exits; i++) {
		uint32_t fewest = i < b->nsucc ? x->open_after[is_open][b->succ[i]]
				  : is_open    ? 0
					       : MANY;
		for (uint32_t k = 0; k < b->nsucc; k++)
			if (k != i && fewest < x->longest[b->succ[k]])
				return true;
	}
	return false;
}

/* with_lanes: beside barriers of the block those of a warp; they are looked at before exits only,
 * as most branches around them part warps. */
static bool is_unequal(struct unequal *x, struct flow_block *b, bool with_lanes)
{
	if (x->is_guarded[b->id] && !with_lanes)
		return true;
	if (!is_parting(x, b))
		return false;
	return b->ipdom == UINT32_MAX ? leaves_unequal(x, b) : !with_lanes && meets_unequal(x, b);
}

static bool find(struct unequal *x, const struct inst_events *ev, bool with_lanes)
{
	struct flow *fl = x->cx->fl;
	const size_t numbers = fl->nblocks * sizeof(uint32_t);

	x->nbarriers = 0;
	memset(x->least, 0, numbers);
	memset(x->most, 0, numbers);
	memset(x->longest, 0, numbers);
	memset(x->has_access, 0, fl->nblocks * sizeof(bool));
	memset(x->is_open, 0, fl->nblocks * sizeof(bool));
	memset(x->open_after[0], 0xff, numbers);
	memset(x->open_after[1], 0xff, numbers);
	find_blocks(x, ev, with_lanes);
	find_ways(x);
	for (uint32_t i = 0; i < fl->nrpo; i++)
		if (is_unequal(x, &fl->blocks[fl->rpo[i]], with_lanes))
			return true;
	return false;
}

/* ------------------------------------------------------------------------ */

void inst_note_unequal(struct inst_ctx *cx, const struct inst_events *ev)
{
	struct base_arena *a = &cx->scratch;
	struct unequal x = {.cx = cx};
	uint32_t n = cx->fl->nblocks;

	if (!cx->f->is_entry || !(ev->has_barrier || ev->has_warp) || ev->is_unsure)
		return;
	x.differs = BASE_NEWN(a, bool, cx->f->nregs);
	x.least = BASE_NEWN(a, uint32_t, n);
	x.most = BASE_NEWN(a, uint32_t, n);
	x.longest = BASE_NEWN(a, uint32_t, n);
	x.most_here = BASE_NEWN(a, uint32_t, n);
	x.stack = BASE_NEWN(a, uint32_t, n);
	x.has_access = BASE_NEWN(a, bool, n);
	x.is_open = BASE_NEWN(a, bool, n);
	x.is_guarded = BASE_NEWN(a, bool, n);
	x.leaves = BASE_NEWN(a, bool, n);
	x.is_seen = BASE_NEWN(a, bool, n);
	for (unsigned k = 0; k < 2; k++) {
		x.open_after[k] = BASE_NEWN(a, uint32_t, n);
		x.open_here[k] = BASE_NEWN(a, uint32_t, n);
	}
	find_registers(&x);
	if (find(&x, ev, false) || (ev->has_warp && find(&x, ev, true)))
		inst_unchecked(cx,
			       PTX_STR("threads may pass different numbers of barriers: not all "
				       "races of one that exits earlier are seen"),
			       RACE_WHY_EXITS, true);
}
