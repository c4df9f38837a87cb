/*
 * waits.c - does a loop wait for what another block writes, by a weak load of global memory?
 *
 * Such a loop (`while (!*flag) __syncthreads();`) is a race, and never ends where blocks are
 * executed group after group (cpu/apart.c). Sought is a load in a loop whose address stays the same
 * in it, and whose value decides, with nothing else that changes there, whether the loop is left. A
 * loop over a row that reads its end each time isn't one: its counter changes. Loops that wait by
 * strong loads, or weak ones beside a fence, are for instrument/shuffle/waits.c.
 *
 * Misses: values that go through local memory, or through a called function. Taken for one, which
 * costs threads only: a bound that a loop reads again and compares with what stays.
 */
#include <string.h>

#include "flow/flow.h"

struct waits {
	struct flow *fl;
	uint8_t *state;	 /* by register */
	uint32_t *found; /* registers that have the loaded value in them */
	uint32_t n, depth, deep;
	bool is_steady; /* of the statement that is looked at */
};

enum { UNKNOWN, UNDER_WAY, STEADY, CHANGES, LOADED };

#define DEEP 200u /* steps from a register to what it is made of */

static bool is_steady(struct waits *w, uint32_t reg);

static uint32_t depth_of(const struct waits *w, const struct ptx_stmt *s)
{
	return s->mark < w->fl->nblocks ? w->fl->blocks[s->mark].loop : 0;
}

static void note_read(uint32_t reg, bool is_write, void *arg)
{
	struct waits *w = arg;

	if (!is_write && w->state[reg] != LOADED && !is_steady(w, reg))
		w->is_steady = false;
}

/* Does all that the statement reads stay the same in the loop, or come from the load? */
static bool reads_steady(struct waits *w, const struct ptx_stmt *s)
{
	bool before = w->is_steady;

	w->is_steady = true;
	ptx_each_reg(s, note_read, w);
	bool is = w->is_steady;
	w->is_steady = before;
	return is;
}

static bool is_steady(struct waits *w, uint32_t reg)
{
	const uint32_t others = PTX_EFF_ATOMIC | PTX_EFF_CALL | PTX_EFF_BARRIER |
				PTX_EFF_CONVERGENT | PTX_EFF_UNKNOWN;
	struct ptx_stmt *const *defs;
	uint32_t n = 0, inside = 0;

	if (w->state[reg] != UNKNOWN)
		return w->state[reg] == STEADY;
	w->state[reg] = UNDER_WAY;
	defs = flow_defs(w->fl, reg, &n);
	bool is = w->deep++ < DEEP;
	for (uint32_t i = 0; i < n && is; i++) {
		if (depth_of(w, defs[i]) < w->depth)
			continue;
		/* A counter, or one of several values. */
		is = ++inside == 1 && n == 1 && defs[i]->kind == PTX_STMT_INST &&
		     !(defs[i]->form->effects & others) && reads_steady(w, defs[i]);
	}
	w->deep--;
	w->state[reg] = is ? STEADY : CHANGES;
	return is;
}

static void note_loaded(uint32_t reg, bool is_write, void *arg)
{
	struct waits *w = arg;

	if (!is_write || w->state[reg] == LOADED)
		return;
	w->state[reg] = LOADED;
	w->found[w->n++] = reg;
}

static bool leaves_loop(const struct waits *w, const struct ptx_stmt *s)
{
	const struct flow_block *b = &w->fl->blocks[s->mark];

	for (uint32_t i = 0; i < b->nsucc; i++)
		if (w->fl->blocks[b->succ[i]].loop < b->loop)
			return true;
	return b->exits;
}

/* The statement reads the value. */
static bool decides(struct waits *w, const struct ptx_stmt *s)
{
	const uint32_t ends = PTX_EFF_BRANCH | PTX_EFF_EXIT;

	if (s->kind != PTX_STMT_INST || depth_of(w, s) < w->depth || !reads_steady(w, s))
		return false;
	if (s->form->effects & ends)
		return leaves_loop(w, s);
	if (s->form->effects & PTX_EFF_WRITE)
		return s->form->space == PTX_SPACE_SHARED; /* for the block's other threads */
	ptx_each_reg(s, note_loaded, w);
	return false;
}

static bool waits_for(struct waits *w, const struct ptx_stmt *load)
{
	memset(w->state, UNKNOWN, w->fl->f->nregs);
	w->n = 0;
	if (!reads_steady(w, load))
		return false;
	ptx_each_reg(load, note_loaded, w);
	for (uint32_t i = 0; i < w->n; i++) {
		uint32_t n = 0;
		struct ptx_stmt *const *uses = flow_uses(w->fl, w->found[i], &n);

		for (uint32_t k = 0; k < n; k++)
			if (decides(w, uses[k]))
				return true;
	}
	return false;
}

static bool is_load(const struct ptx_stmt *s)
{
	return s->kind == PTX_STMT_INST &&
	       (s->form->op == PTX_OP_LD || s->form->op == PTX_OP_LDU) &&
	       (s->form->space == PTX_SPACE_GLOBAL || s->form->space == PTX_SPACE_GENERIC);
}

bool flow_waits_weakly(struct flow *fl)
{
	struct waits w = {.fl = fl};

	ptx_each_stmt(fl->f, s)
	{
		if (!is_load(s) || !(w.depth = depth_of(&w, s)))
			continue;
		if (!w.state) {
			w.state = base_alloc(fl->arena, fl->f->nregs);
			w.found = base_alloc(fl->arena, fl->f->nregs * sizeof(*w.found));
		}
		if (waits_for(&w, s))
			return true;
	}
	return false;
}
