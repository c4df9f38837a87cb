/*
 * traits.c - what a kernel may do, as its text and that of all functions that it can call say.
 *
 * Can its blocks run side by side (apart.c), may it learn from other kernels and they from it
 * (past.c)? What isn't known, as a call by pointer, may be anything. The text is read once.
 */
#include "cpu/load/load.h"
#include "flow/flow.h"

/* Can the instruction make blocks communicate, or does it access memory that they share in another
 * way than ld and st? */
static bool is_common(const struct ptx_form *f)
{
	const uint32_t access = PTX_EFF_READ | PTX_EFF_WRITE | PTX_EFF_ATOMIC;
	const uint32_t others =
		PTX_EFF_ASYNC | PTX_EFF_WAIT | PTX_EFF_DISCARD | PTX_EFF_SIDE | PTX_EFF_UNKNOWN;

	if (f->effects & others)
		return true;
	if (f->effects & PTX_EFF_FENCE)
		return f->scope != PTX_SCOPE_CTA;
	if (f->effects & PTX_EFF_BARRIER)
		return f->space != PTX_SPACE_NONE; /* an mbarrier */
	if (!(f->effects & access) || f->space == PTX_SPACE_SHARED || f->space == PTX_SPACE_LOCAL ||
	    f->space == PTX_SPACE_PARAM)
		return false;
	return (f->op != PTX_OP_LD && f->op != PTX_OP_LDU && f->op != PTX_OP_ST) ||
	       f->sem != PTX_SEM_WEAK || f->space == PTX_SPACE_SHARED_CLUSTER;
}

/* A red, or atom, that may be carried out later if nothing has its result: it has an effect each
 * time that it is executed, unlike an exchange of equal values. */
static bool is_update(const struct ptx_form *f)
{
	static const enum ptx_mod ops[] = {PTX_MOD_ADD, PTX_MOD_AND, PTX_MOD_OR,  PTX_MOD_XOR,
					   PTX_MOD_MIN, PTX_MOD_MAX, PTX_MOD_INC, PTX_MOD_DEC};

	if ((f->op != PTX_OP_RED && f->op != PTX_OP_ATOM) || f->sem != PTX_SEM_RELAXED ||
	    f->ntypes != 1 || f->has_unknown_mod || f->proxy != PTX_PROXY_GENERIC ||
	    f->width > sizeof(uint64_t))
		return false;
	for (size_t i = 0; i < BASE_COUNTOF(ops); i++)
		if (ptx_form_has(f, ops[i]))
			return true;
	return false;
}

/* Strong, but it doesn't order anything else. */
bool cpu_is_ordered(const struct ptx_form *f)
{
	return (f->op == PTX_OP_LD || f->op == PTX_OP_ST) &&
	       (f->sem == PTX_SEM_RELAXED || f->sem == PTX_SEM_VOLATILE) &&
	       (f->space == PTX_SPACE_GLOBAL || f->space == PTX_SPACE_GENERIC) &&
	       !f->has_unknown_mod && f->proxy == PTX_PROXY_GENERIC;
}

/* An atomic that groups may execute in their order (order.c), whoever has its result: it doesn't
 * order anything else. */
static bool may_be_in_order(const struct ptx_form *f)
{
	if (cpu_is_ordered(f))
		return true;
	return (f->op == PTX_OP_RED || f->op == PTX_OP_ATOM) && f->sem == PTX_SEM_RELAXED &&
	       !f->has_unknown_mod && f->proxy == PTX_PROXY_GENERIC &&
	       f->space != PTX_SPACE_SHARED_CLUSTER;
}

/* Does it leave the same in whatever order blocks come to it, if all are of one kind? */
static bool commutes(const struct ptx_form *f)
{
	enum ptx_type_class class = ptx_type_class((enum ptx_type)f->types[0]);

	return f->vec == 1 && !ptx_form_has(f, PTX_MOD_INC) && !ptx_form_has(f, PTX_MOD_DEC) &&
	       (class == PTX_CLASS_BITS || class == PTX_CLASS_UINT || class == PTX_CLASS_SINT);
}

/* What was found in the functions so far. is_found: blocks may communicate. */
struct common {
	struct cpu_traits *out;
	bool is_found, calls_system;
	unsigned nfuncs;
	const struct ptx_form *update;
};

static bool are_alike(const struct ptx_form *a, const struct ptx_form *b)
{
	for (unsigned i = 0; i < a->nmods; i++)
		if (i >= b->nmods || a->mods[i] != b->mods[i])
			return false;
	return a->nmods == b->nmods && a->types[0] == b->types[0];
}

/* Can a loop of it wait for a value in shared memory? */
static bool is_spin(const struct ptx_form *f)
{
	if (f->op == PTX_OP_ATOM)
		return ptx_form_has(f, PTX_MOD_CAS) || ptx_form_has(f, PTX_MOD_EXCH);
	return (f->effects & PTX_EFF_READ) && f->op != PTX_OP_RED && f->sem != PTX_SEM_WEAK &&
	       f->sem != PTX_SEM_NONE;
}

/* Loops that wait, and those that seem to: groups of blocks are executed one after another. */
static void note_waits(struct common *c, struct flow *fl)
{
	unsigned kinds = FLOW_WAIT_WEAK, is;

	if (c->out->has_order)
		kinds |= FLOW_WAIT_STRONG | FLOW_WAIT_STORED;
	is = flow_find_waits(fl, kinds, NULL, NULL, NULL);
	/* What is loaded strongly is mostly waited for, and mostly of blocks before. */
	if (c->out->has_strong)
		c->is_found |= (is & FLOW_WAIT_WEAK) != 0;
	else
		c->is_found |= (is & (FLOW_WAIT_WEAK | FLOW_WAIT_STRONG)) != 0;
	c->out->may_wait |= c->out->has_strong || (is & FLOW_WAIT_STORED);
}

/* Is the register %tid.x, and nothing else? */
static bool is_tid(struct flow *fl, const struct ptx_opnd *o)
{
	uint32_t n = 0;
	struct ptx_stmt *const *defs = o->kind == PTX_OPND_REG ? flow_defs(fl, o->reg, &n) : NULL;

	return n == 1 && defs[0]->form->op == PTX_OP_MOV && defs[0]->nops == 2 &&
	       defs[0]->ops[1].kind == PTX_OPND_SPECIAL &&
	       ptx_str_is(defs[0]->ops[1].text, "%tid.x");
}

/* Does the branch depend on whether %tid.x is 0? Which way it goes isn't looked at: what a ticket
 * seems to be must prove to be one. */
static bool asks_for_first(struct flow *fl, const struct ptx_stmt *branch)
{
	uint32_t n = 0;
	struct ptx_stmt *const *defs;

	if (branch->kind != PTX_STMT_INST || branch->pred == PTX_NO_REG)
		return false;
	defs = flow_defs(fl, branch->pred, &n);
	return n == 1 && defs[0]->form->op == PTX_OP_SETP && defs[0]->nops == 3 &&
	       defs[0]->ops[2].kind == PTX_OPND_INT && !defs[0]->ops[2].imm &&
	       is_tid(fl, &defs[0]->ops[1]);
}

/* An increment by one, by the first thread of a block, not in a loop (order.c). */
static bool is_ticket(struct flow *fl, const struct ptx_stmt *s)
{
	const struct ptx_form *f = s->form;
	uint32_t at = s->mark;

	if (f->op != PTX_OP_ATOM || !ptx_form_has(f, PTX_MOD_ADD) || f->vec != 1 || !commutes(f) ||
	    f->width < sizeof(uint32_t) || s->pred != PTX_NO_REG || s->nops != 3 ||
	    s->ops[2].kind != PTX_OPND_INT || s->ops[2].imm != 1 || fl->blocks[at].loop)
		return false;
	for (uint32_t b = 0; b < fl->nblocks; b++)
		if (b != at && fl->blocks[b].nsucc > 1 && flow_dominates(fl, b, at) &&
		    !flow_postdominates(fl, at, b) && asks_for_first(fl, fl->blocks[b].last))
			return true;
	return false;
}

static void note_common(struct load_func *lf, void *arg)
{
	struct common *c = arg;
	struct cpu_traits *out = c->out;
	struct base_arena scratch = {0};
	struct flow *fl = NULL;
	bool is_unknown = lf->why || lf->calls_heap || lf->calls_pointer;

	c->nfuncs++;
	out->weight += flow_weight(lf->f.ptx);
	c->is_found |= is_unknown;
	c->calls_system |= lf->calls_system;
	out->has_system |= is_unknown || lf->calls_system;
	out->may_order |= is_unknown;
	out->may_observe |= is_unknown;
	out->may_show |= is_unknown;
	ptx_each_stmt(lf->f.ptx, s)
	{
		if (s->kind != PTX_STMT_INST)
			continue;
		out->may_spin |= is_spin(s->form);
		if (!is_common(s->form))
			continue;
		c->is_found |= !is_update(s->form) && !may_be_in_order(s->form);
		if (!fl && s->form->op == PTX_OP_ATOM)
			fl = flow_build(&scratch, lf->part->m, lf->f.ptx);
		out->may_order |= flow_orders_kernels(s->form);
		out->may_observe |= flow_observes_kernels(fl, s);
		out->may_show |= flow_shows_kernels(s->form);
		out->has_system |=
			s->form->scope == PTX_SCOPE_SYS || s->form->effects & PTX_EFF_UNKNOWN;
		out->has_ordered_updates |=
			!commutes(s->form) || (c->update && !are_alike(c->update, s->form));
		out->has_order |= !is_update(s->form) ||
				  (s->form->op == PTX_OP_ATOM && flow_is_result_used(fl, s));
		out->has_strong |= cpu_is_ordered(s->form);
		if (!out->ticket && fl && is_ticket(fl, s) && flow_is_result_used(fl, s))
			out->ticket = s;
		out->has_narrow_updates |=
			flow_scope(s->form->sem, s->form->scope ? s->form->scope : PTX_SCOPE_GPU) <
			RACE_SCOPE_GPU;
		c->update = s->form;
	}
	if (!c->is_found && !fl)
		fl = flow_build(&scratch, lf->part->m, lf->f.ptx);
	if (!c->is_found)
		note_waits(c, fl);
	base_arena_free(&scratch);
}

void load_find_traits(struct cpu_module *mod, struct load_func *lf, struct cpu_traits *out)
{
	struct common c = {.out = out};

	*out = (struct cpu_traits){0};
	load_each_reached(mod, lf, note_common, &c);
	/* A loop of one function may wait for what another one's atomics return. */
	out->is_apart = !c.is_found && !(out->has_order && c.nfuncs > 1);
	out->has_updates = c.update != NULL;
	out->has_ordered_updates &= !out->has_order;
	out->has_calls = c.nfuncs > 1 || c.calls_system;
	out->may_observe |= out->may_order;
}
