/*
 * exits.c - may a thread of a kernel leave before a barrier that others wait at, with accesses
 * since its last barrier?
 *
 * A thread's exit lets barriers of the block complete, and orders nothing: such accesses race with
 * what the others do after the barrier. A detector that orders by the barriers that a thread has
 * passed must ask whether the earlier one came there. It asks where a branch goes by the thread's
 * number one way to an exit without a barrier, and the other way to a barrier, and accesses come
 * before the exit. Where that can't be asked, or is not enough, the kernel is judged in part
 * (unequal.c).
 *
 * Misses: branches on what was loaded; barriers and exits in functions that are called. Costs:
 * linear, but for chains of registers against the text's order: PASSES at most.
 */
#include "instrument/internal.h"

#include <string.h>

#define PASSES 8

struct exits {
	struct inst_ctx *cx;
	bool *of_thread; /* by register: computed from the thread's number */
	bool changed;
	/* By block. open: an access has no barrier after it, at the block's end; leaves: from its
	 * start there is a way out without a barrier; touches: one with an access; waits: one to a
	 * barrier. */
	bool *has_barrier, *has_access, *open, *leaves, *touches, *waits;
};

bool inst_names_special(const struct ptx_opnd *o, const char *const *names, size_t n)
{
	if (o->kind == PTX_OPND_SPECIAL)
		for (size_t i = 0; i < n; i++)
			if (o->text.n >= strlen(names[i]) &&
			    !memcmp(o->text.p, names[i], strlen(names[i])))
				return true;
	for (unsigned i = 0; i < o->nsub; i++)
		if (inst_names_special(&o->sub[i], names, n))
			return true;
	return false;
}

static bool names_thread(const struct ptx_opnd *o)
{
	static const char *const names[] = {"%tid", "%laneid", "%lanemask"};

	return inst_names_special(o, names, BASE_COUNTOF(names));
}

static void find_registers(struct exits *x)
{
	for (unsigned i = 0; i == 0 || (x->changed && i < PASSES); i++) {
		x->changed = false;
		ptx_each_stmt(x->cx->f, s)
		{
			if (s->kind != PTX_STMT_INST || s->inserted ||
			    s->form->effects & (PTX_EFF_READ | PTX_EFF_CALL))
				continue;
			bool is_of_thread = ptx_reads_of(s, x->of_thread);
			for (unsigned k = 0; k < s->nops; k++)
				is_of_thread |= names_thread(&s->ops[k]);
			if (is_of_thread)
				x->changed |= ptx_add_written(s, x->of_thread);
		}
	}
}

/* One block by its neighbours; was anything new? */
static bool look(struct exits *x, struct flow_block *b)
{
	bool open = x->open[b->id], leaves = x->leaves[b->id], waits = x->waits[b->id];
	bool touches = x->touches[b->id];

	for (uint32_t i = 0; i < b->npred && !x->has_barrier[b->id]; i++)
		open |= x->open[b->pred[i]];
	leaves |= b->exits && !x->has_barrier[b->id];
	waits |= x->has_barrier[b->id];
	for (uint32_t i = 0; i < b->nsucc; i++) {
		leaves |= x->leaves[b->succ[i]] && !x->has_barrier[b->id];
		touches |= x->touches[b->succ[i]] && !x->has_barrier[b->id];
		waits |= x->waits[b->succ[i]];
	}
	touches |= leaves && x->has_access[b->id];
	bool is_new = open != x->open[b->id] || leaves != x->leaves[b->id] ||
		      touches != x->touches[b->id] || waits != x->waits[b->id];
	x->open[b->id] = open;
	x->leaves[b->id] = leaves;
	x->touches[b->id] = touches;
	x->waits[b->id] = waits;
	return is_new;
}

static void find_ways(struct exits *x, const struct inst_events *ev)
{
	struct flow *fl = x->cx->fl;
	bool is_new = true;

	for (const struct inst_event *e = ev->first; e; e = e->next) {
		bool is_barrier = e->kind == INST_EVENT_BLOCK;
		x->has_barrier[e->stmt->mark] |= is_barrier;
		x->has_access[e->stmt->mark] |= e->kind == INST_EVENT_ACCESS;
		if (is_barrier || e->kind == INST_EVENT_ACCESS)
			x->open[e->stmt->mark] = !is_barrier;
	}
	while (is_new) {
		is_new = false;
		for (uint32_t i = 0; i < fl->nrpo; i++)
			is_new |= look(x, &fl->blocks[fl->rpo[i]]);
		for (uint32_t i = fl->nrpo; i-- > 0;)
			is_new |= look(x, &fl->blocks[fl->rpo[i]]);
	}
}

/* Some threads leave here, or after it, while others go on to a barrier. */
static bool parts(const struct exits *x, const struct flow_block *b)
{
	const struct ptx_stmt *s = b->last;
	bool leaves = inst_leaves(s), waits = false;
	bool has_access = x->open[b->id];

	if (s->kind != PTX_STMT_INST || s->pred == PTX_NO_REG || !x->of_thread[s->pred])
		return false;
	for (uint32_t i = 0; i < b->nsucc; i++) {
		leaves |= x->leaves[b->succ[i]];
		has_access |= x->touches[b->succ[i]];
		waits |= x->waits[b->succ[i]];
	}
	return leaves && waits && has_access;
}

/* ------------------------------------------------------------------------ */

bool inst_parts_at_exits(struct inst_ctx *cx, const struct inst_events *ev)
{
	struct base_arena *a = cx->m->arena;
	struct exits x = {.cx = cx};
	uint32_t n = cx->fl->nblocks;

	if (!cx->f->is_entry || !ev->has_barrier || ev->is_unsure)
		return false;
	x.has_barrier = BASE_NEWN(a, bool, n);
	x.has_access = BASE_NEWN(a, bool, n);
	x.open = BASE_NEWN(a, bool, n);
	x.leaves = BASE_NEWN(a, bool, n);
	x.touches = BASE_NEWN(a, bool, n);
	x.waits = BASE_NEWN(a, bool, n);
	x.of_thread = BASE_NEWN(a, bool, cx->f->nregs);
	find_registers(&x);
	find_ways(&x, ev);
	for (uint32_t i = 0; i < cx->fl->nrpo; i++)
		if (parts(&x, &cx->fl->blocks[cx->fl->rpo[i]]))
			return true;
	return false;
}
