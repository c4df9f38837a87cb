/*
 * invented.c - is a load the programmer's, or did the compiler invent it?
 *
 * nvcc moves loads above their condition, turns them into selects and widens neighbours to a
 * vector: such a load may race formally although no thread of the source reads there. An element
 * counts as read if every path from the load really uses its value (flow_demand), or if the thread
 * comes to such a use before it loads again; a race of any other one is only possible.
 *
 * To observe uses, the load and the statements that use it get another handler. Uses under a
 * predicate (selp), by branches and warp operations, and those of vectors are not watched: their
 * races stay possible.
 *
 * For an instrumented function the analysis ignores insertions: those statements are removed from
 * the list of instructions while it runs.
 * Costs: one flow analysis of each function that is judged; a look-up for each execution of such a
 * load and its uses, a bit for each thread.
 */
#include "cpu/judge/judge.h"
#include "flow/flow.h"

#include <stdlib.h>

struct hidden {
	BASE_VEC(struct ptx_stmt *) stmts;
};

static void hide_inserted(const struct cpu_func *f, struct hidden *h)
{
	for (uint32_t pc = 0; pc < f->ninsts; pc++) {
		struct ptx_stmt *s = f->stmts[pc];
		if (!s || s->kind != PTX_STMT_INST || !(f->code[pc].flags & CPU_I_INSERTED))
			continue;
		s->kind = PTX_STMT_PRAGMA;
		base_vec_push(&h->stmts, s);
	}
}

static void show_hidden(struct hidden *h)
{
	for (size_t i = 0; i < h->stmts.n; i++)
		h->stmts.v[i]->kind = PTX_STMT_INST;
	base_vec_free(&h->stmts);
}

static bool is_weak_load(const struct ptx_stmt *s)
{
	return (s->form->op == PTX_OP_LD || s->form->op == PTX_OP_LDU) &&
	       s->form->space != PTX_SPACE_PARAM && s->form->space != PTX_SPACE_CONST &&
	       s->form->space != PTX_SPACE_LOCAL &&
	       (s->form->sem == PTX_SEM_WEAK || s->form->sem == PTX_SEM_NONE) && s->nops;
}

/* ---- uses ------------------------------------------------------------------------------------ */

/* An instruction with our handler: a load, or a use of some. */
struct judge_note {
	const struct cpu_inst *in;
	cpu_exec *fn;			  /* its own handler */
	struct cpu_site *load;		  /* NULL: none */
	BASE_VEC(struct cpu_site *) uses; /* loads whose value it uses */
	uint64_t *used;			  /* a load: bits by actor, since it last loaded */
	size_t words;
	UT_hash_handle hh;
};

/* A race of a load whose value its thread may still use. */
struct judge_pending {
	struct {
		uint64_t actor;
		const struct cpu_site *load;
	} key;
	struct judge_pair *pair;
	UT_hash_handle hh;
};

static struct judge_note *note_of(struct cpu_judge *x, const struct cpu_inst *in)
{
	struct judge_note *n;

	HASH_FIND_PTR(x->notes, &in, n);
	return n;
}

static struct judge_pending *pending_of(struct cpu_judge *x, const struct cpu_site *load,
					uint32_t actor)
{
	struct judge_pending key = {.key = {actor, load}}, *p;

	HASH_FIND(hh, x->pending, &key.key, sizeof(key.key), p);
	return p;
}

static void pending_drop(struct cpu_judge *x, struct judge_pending *p)
{
	HASH_DEL(x->pending, p);
	free(p);
}

static void has_loaded(struct cpu_judge *x, struct judge_note *n, uint32_t actor)
{
	struct judge_pending *p = pending_of(x, n->load, actor);

	if (actor / 64 < n->words)
		n->used[actor / 64] &= ~(1ull << actor % 64);
	if (p)
		pending_drop(x, p);
}

static void has_used(struct cpu_judge *x, struct cpu_site *load, uint32_t actor)
{
	struct judge_note *n = note_of(x, &load->func->code[load->pc]);
	struct judge_pending *p = pending_of(x, load, actor);

	if (n && actor / 64 >= n->words) {
		size_t words = actor / 64 + 64;
		uint64_t *bits = realloc(n->used, words * sizeof(*bits));
		if (!bits)
			return;
		memset(bits + n->words, 0, (words - n->words) * sizeof(*bits));
		n->used = bits;
		n->words = words;
	}
	if (n)
		n->used[actor / 64] |= 1ull << actor % 64;
	if (p) {
		judge_pair_sure(p->pair);
		pending_drop(x, p);
	}
}

static enum cpu_step exec_noted(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	struct cpu_judge *x = cpu_judge_of(w);

	judge_lock(x);
	struct judge_note *n = note_of(x, in);
	CPU_EACH_LANE (l, mask) {
		for (size_t i = 0; i < n->uses.n; i++)
			has_used(x, n->uses.v[i], judge_actor(w) + l);
		if (n->load)
			has_loaded(x, n, judge_actor(w) + l);
	}
	cpu_exec *fn = n->fn;
	judge_unlock(x);
	return fn(w, in, mask);
}

static struct judge_note *note_add(struct cpu_judge *x, struct cpu_inst *in)
{
	struct judge_note *n = note_of(x, in);

	if (n)
		return n;
	n = base_calloc(1, sizeof(*n));
	n->in = in;
	n->fn = in->fn;
	in->fn = exec_noted;
	HASH_ADD_PTR(x->notes, in, n);
	return n;
}

/* The engine recognises some instructions by their handlers: those keep them. */
static bool can_be_noted(const struct ptx_stmt *s)
{
	const uint32_t known = PTX_EFF_BRANCH | PTX_EFF_CALL | PTX_EFF_EXIT | PTX_EFF_CONVERGENT |
			       PTX_EFF_WARP_SYNC | PTX_EFF_BARRIER;

	return !(s->form->effects & known);
}

static void judge_uses(struct cpu_judge *x, struct cpu_site *s, const struct flow_demand_info *info)
{
	const struct cpu_func *f = s->func;

	note_add(x, &f->code[s->pc])->load = s;
	for (uint32_t i = 0; i < info->nuses; i++)
		for (uint32_t pc = 0; pc < f->ninsts; pc++) {
			if (f->stmts[pc] != info->uses[i] || !can_be_noted(info->uses[i]))
				continue;
			base_vec_push(&note_add(x, &f->code[pc])->uses, s);
			break;
		}
	s->is_noted = true;
}

bool judge_is_used(struct cpu_judge *x, const struct cpu_site *s, uint32_t actor,
		   struct judge_pair *pair)
{
	struct judge_note *n = s->is_noted && s->func ? note_of(x, &s->func->code[s->pc]) : NULL;
	struct judge_pending *p;

	if (!n)
		return false;
	if (actor / 64 < n->words && n->used[actor / 64] >> actor % 64 & 1)
		return true;
	p = pending_of(x, s, actor);
	if (!p) {
		p = calloc(1, sizeof(*p));
		if (!p)
			return false;
		p->key.actor = actor;
		p->key.load = s;
		HASH_ADD(hh, x->pending, key, sizeof(p->key), p);
	}
	p->pair = pair;
	return false;
}

void judge_notes_drop(struct cpu_judge *x, const struct cpu_func *f)
{
	struct judge_note *n, *next;

	HASH_ITER(hh, x->notes, n, next)
	{
		if (f && (n->in < f->code || n->in >= f->code + f->ninsts))
			continue;
		HASH_DEL(x->notes, n);
		base_vec_free(&n->uses);
		free(n->used);
		free(n);
	}
}

void judge_invented_free(struct cpu_judge *x)
{
	struct judge_pending *p, *next;

	judge_notes_drop(x, NULL);
	HASH_ITER(hh, x->pending, p, next)
	{
		pending_drop(x, p);
	}
}

/* ---- the load -------------------------------------------------------------------------------- */

static uint8_t invented_of(struct flow *fl, const struct ptx_stmt *s, struct flow_demand_info *info)
{
	const struct ptx_opnd *to = &s->ops[0];
	const struct ptx_opnd *elem = to->kind == PTX_OPND_VEC ? to->sub : to;
	unsigned n = to->kind == PTX_OPND_VEC ? to->nsub : 1;
	uint8_t mask = 0;

	for (unsigned i = 0; i < n && i < 8; i++) {
		info->demand = FLOW_DEMAND_DEAD; /* the element goes to _ */
		if (elem[i].kind == PTX_OPND_REG)
			flow_demand(fl, s, elem[i].reg, info);
		mask |= (uint8_t)((info->demand != FLOW_DEMAND_SURE) << i);
	}
	if (n > 1)
		info->nuses = 0;
	return mask;
}

void judge_invented_find(struct cpu_judge *x, struct cpu_func *f)
{
	struct base_arena arena = {0};
	struct hidden h = {0};

	hide_inserted(f, &h);
	struct flow *fl = flow_build(&arena, f->part, f->ptx);
	for (uint32_t pc = 0; pc < f->ninsts; pc++) {
		const struct ptx_stmt *s = f->stmts[pc];
		struct flow_demand_info info = {0};
		if (!s || s->kind != PTX_STMT_INST || !is_weak_load(s) ||
		    (pc && f->stmts[pc - 1] == s))
			continue;
		uint8_t mask = invented_of(fl, s, &info);
		if (!mask)
			continue;
		struct cpu_site *site = judge_site_new(x, f, pc);
		site->invented = mask;
		if (info.nuses)
			judge_uses(x, site, &info);
	}
	show_hidden(&h);
	base_arena_free(&arena);
}
