/*
 * verify.c - checks what every pass must keep of the IR, and what executes or analyses it must
 * be able to count on: text that fails is refused by ptxas, too.
 *
 * Per function: guards are predicates, registers are numbered and typed,
 * branch targets are defined, and each instruction has as many operands as its
 * row in isa.def allows, of the kinds their roles need. Register classes:
 * predicates stay out of data and addresses, and a result of an instruction
 * with one type is as wide as that type, as are the sources of arithmetic, moves and comparisons.
 *
 * Inserted arguments of calls are stored in the block of their call.
 *
 * Inserted instructions must have a form of isa_forms.def: types, modifiers, their order, the
 * target and the version. What a front end wrote may have other forms, even unknown ones: they are
 * left to ptxas.
 *
 * Misses: literal ranges, vectors' lengths but those of loads and stores, and everything about
 * unknown opcodes but their registers and labels. ptxas checks those. Costs one pass, no memory;
 * some microseconds for each form of ours.
 */
#include "ptx/ptx.h"
#include "ptx/forms.h"

#include <string.h>

struct check {
	const struct ptx_module *m;
	const struct ptx_func *f;
	const struct ptx_stmt *s;
	struct base_sink *sink;
	unsigned problems;
	bool is_ours;		       /* the whole function was inserted */
	const struct ptx_stmt *stored; /* the first argument stored for a call to come */
};

#define PROBLEM(c, ...)                                                                            \
	do {                                                                                       \
		(c)->problems++;                                                                   \
		base_report((c)->sink, BASE_ERROR, (c)->m->file,                                   \
			    (struct base_span){(c)->s->line, (c)->s->col}, __VA_ARGS__);           \
	} while (0)

#define STR(s) (int)(s).n, (s).p

static enum ptx_type type_of(const struct check *c, const struct ptx_opnd *o)
{
	return o->reg < c->f->nregs ? (enum ptx_type)c->f->reg_type[o->reg] : PTX_TYPE_NONE;
}

/* Registers in `o`: declared; in an address also of an address's class. */
static void check_regs(struct check *c, const struct ptx_opnd *o, bool in_addr)
{
	switch ((enum ptx_opnd_kind)o->kind) {
	case PTX_OPND_REG:
		if (o->reg >= c->f->nregs || type_of(c, o) == PTX_TYPE_NONE)
			PROBLEM(c, "found register '%.*s' (number %u), expected a declared one",
				STR(o->text), (unsigned)o->reg);
		else if (in_addr && type_of(c, o) == PTX_TYPE_PRED)
			PROBLEM(c, "found predicate '%.*s' in an address", STR(o->text));
		break;
	case PTX_OPND_ADDR:
	case PTX_OPND_VEC:
	case PTX_OPND_LIST:
	case PTX_OPND_PAIR:
		for (unsigned i = 0; i < o->nsub; i++)
			check_regs(c, &o->sub[i], in_addr || o->kind == PTX_OPND_ADDR);
		break;
	default:
		break;
	}
}

/* The letter of operand i in the row's roles, markers skipped, the last one repeating. */
static char role_letter(const char *roles, unsigned i)
{
	char last = 0;

	for (; *roles; roles++) {
		if (*roles == '?' || *roles == '*')
			continue;
		last = *roles;
		if (i-- == 0)
			break;
	}
	return last;
}

static bool is_data(const struct ptx_opnd *o)
{
	return o->kind == PTX_OPND_REG || o->kind == PTX_OPND_VEC || o->kind == PTX_OPND_PAIR ||
	       o->kind == PTX_OPND_SINK;
}

static bool form_has_type(const struct ptx_form *f, enum ptx_type t)
{
	for (unsigned i = 0; i < f->ntypes; i++)
		if (f->types[i] == t)
			return true;
	return false;
}

/* Kind and class of a written operand. */
static void check_dst(struct check *c, const struct ptx_opnd *o, char letter)
{
	const struct ptx_form *f = c->s->form;

	if (!is_data(o)) {
		PROBLEM(c, "found '%.*s' as result of '%.*s', expected a register", STR(o->text),
			STR(f->text));
		return;
	}
	if (o->kind == PTX_OPND_PAIR && o->nsub > 0)
		o = &o->sub[0];
	if (o->kind != PTX_OPND_REG || type_of(c, o) == PTX_TYPE_NONE)
		return;
	bool is_pred = type_of(c, o) == PTX_TYPE_PRED;
	bool wants_pred = letter == 'Q' || form_has_type(f, PTX_TYPE_PRED);
	if (is_pred != wants_pred) {
		PROBLEM(c, "found '%.*s' as result of '%.*s', expected %s register", STR(o->text),
			STR(f->text), wants_pred ? "a predicate" : "no predicate");
		return;
	}
	/* One type and no wider product: the result has its width. */
	if (letter != 'D' || f->effects || f->ntypes != 1 || ptx_form_has(f, PTX_MOD_WIDE))
		return;
	unsigned want = ptx_type_bytes((enum ptx_type)f->types[0]);
	unsigned have = ptx_type_bytes(type_of(c, o));
	if (want && have != want && !o->comp)
		PROBLEM(c, "found '%.*s' of %u bytes as result of '%.*s', expected %u",
			STR(o->text), have, STR(f->text), want);
}

/* A loaded or stored register holds at least one element. */
static void check_mem_data(struct check *c, const struct ptx_opnd *o)
{
	const struct ptx_form *f = c->s->form;

	if (o->kind == PTX_OPND_VEC) {
		for (unsigned i = 0; i < o->nsub; i++)
			check_mem_data(c, &o->sub[i]);
		return;
	}
	if (o->kind != PTX_OPND_REG || type_of(c, o) == PTX_TYPE_NONE || o->comp)
		return;
	if (ptx_type_bytes(type_of(c, o)) < f->width)
		PROBLEM(c, "found '%.*s' of %u bytes in '%.*s', expected at least %u", STR(o->text),
			ptx_type_bytes(type_of(c, o)), STR(f->text), f->width);
}

static void check_label(struct check *c, const struct ptx_opnd *o)
{
	if (o->kind != PTX_OPND_SYM || !(o->flags & PTX_OPND_LABEL) || !o->label)
		PROBLEM(c, "found '%.*s', expected a label", STR(o->text));
	else if (!o->label->at)
		PROBLEM(c, "label '%.*s' is not defined", STR(o->label->name));
}

static void check_role(struct check *c, unsigned i)
{
	const struct ptx_opnd *o = &c->s->ops[i];
	const struct ptx_form *f = c->s->form;
	char letter = role_letter(ptx_op_info(f->op)->roles, i);

	switch (ptx_form_role(f, i)) {
	case PTX_ROLE_DST:
		check_dst(c, o, letter);
		break;
	case PTX_ROLE_INOUT:
		if (!is_data(o))
			PROBLEM(c, "found '%.*s' in '%.*s', expected registers", STR(o->text),
				STR(f->text));
		break;
	case PTX_ROLE_ADDR:
	case PTX_ROLE_ADDR_R:
	case PTX_ROLE_ADDR_W:
	case PTX_ROLE_MBAR:
		if (o->kind != PTX_OPND_ADDR)
			PROBLEM(c, "found '%.*s' in '%.*s', expected an address in brackets",
				STR(o->text), STR(f->text));
		break;
	case PTX_ROLE_LABEL:
		check_label(c, o);
		break;
	case PTX_ROLE_SRC:
		if (o->kind == PTX_OPND_LIST || o->kind == PTX_OPND_SINK)
			PROBLEM(c, "found '%.*s' in '%.*s', expected a value", STR(o->text),
				STR(f->text));
		break;
	default:
		break;
	}
}

/* Loads and stores proper: the data operand is wide enough. */
static void check_memory(struct check *c)
{
	const struct ptx_form *f = c->s->form;
	uint32_t odd = PTX_EFF_ASYNC | PTX_EFF_COLLECTIVE_MEM | PTX_EFF_UNKNOWN;

	if (!(f->effects & (PTX_EFF_READ | PTX_EFF_WRITE)) || (f->effects & odd))
		return;
	if (f->proxy != PTX_PROXY_GENERIC || f->ntypes != 1)
		return;
	for (unsigned i = 0; i < 2 && i < c->s->nops; i++) {
		const struct ptx_opnd *o = &c->s->ops[i];
		if (ptx_form_role(f, i) != PTX_ROLE_DST && ptx_form_role(f, i) != PTX_ROLE_SRC)
			continue;
		if (o->kind == PTX_OPND_VEC && o->nsub != (f->vec ? f->vec : 1))
			PROBLEM(c, "found %u registers in braces in '%.*s', expected %u",
				(unsigned)o->nsub, STR(f->text), f->vec ? f->vec : 1u);
		check_mem_data(c, o);
	}
}

/* Opcodes whose sources, up to the last one named, are as wide as their one type. */
static unsigned exact_sources(enum ptx_op op)
{
	switch (op) {
	case PTX_OP_ADD:
	case PTX_OP_SUB:
	case PTX_OP_MUL:
	case PTX_OP_MAD: /* the third one of mad.wide is as wide as its result */
	case PTX_OP_DIV:
	case PTX_OP_REM:
	case PTX_OP_MIN:
	case PTX_OP_MAX:
	case PTX_OP_AND:
	case PTX_OP_OR:
	case PTX_OP_XOR:
	case PTX_OP_SETP:
	case PTX_OP_SELP: /* the third one is a predicate */
		return 2;
	case PTX_OP_MOV:
	case PTX_OP_NOT:
	case PTX_OP_NEG:
	case PTX_OP_ABS:
	case PTX_OP_POPC:
	case PTX_OP_CLZ:
	case PTX_OP_BREV:
	case PTX_OP_SHL: /* the second one has 32 bits */
	case PTX_OP_SHR:
		return 1;
	default:
		return 0;
	}
}

static void check_sources(struct check *c)
{
	const struct ptx_form *f = c->s->form;
	unsigned n = f->ntypes == 1 ? exact_sources(f->op) : 0;

	for (unsigned i = 1; i <= n && i < c->s->nops; i++) {
		const struct ptx_opnd *o = &c->s->ops[i];
		enum ptx_type want = (enum ptx_type)f->types[0], have;
		if (o->kind != PTX_OPND_REG || o->comp)
			continue;
		have = type_of(c, o);
		bool is_pred = have == PTX_TYPE_PRED;
		if (have != PTX_TYPE_NONE && (is_pred != (want == PTX_TYPE_PRED) ||
					      (!is_pred && ptx_type_bytes(want) &&
					       ptx_type_bytes(have) != ptx_type_bytes(want))))
			PROBLEM(c, "found '%.*s' in '%.*s', expected a register of %u bytes",
				STR(o->text), STR(f->text), ptx_type_bytes(want));
	}
	if (f->op == PTX_OP_SELP && c->s->nops > 3 && c->s->ops[3].kind == PTX_OPND_REG &&
	    type_of(c, &c->s->ops[3]) != PTX_TYPE_PRED)
		PROBLEM(c, "found '%.*s' in '%.*s', expected a predicate", STR(c->s->ops[3].text),
			STR(f->text));
	if ((f->op == PTX_OP_SHL || f->op == PTX_OP_SHR) && c->s->nops > 2 &&
	    c->s->ops[2].kind == PTX_OPND_REG && ptx_type_bytes(type_of(c, &c->s->ops[2])) != 4)
		PROBLEM(c, "found '%.*s' in '%.*s', expected a register of 4 bytes",
			STR(c->s->ops[2].text), STR(f->text));
}

/* Is it a parameter of the function? */
static bool is_param(const struct ptx_func *f, const struct ptx_str *name)
{
	const struct ptx_param *lists[2] = {f->params, f->rets};

	for (unsigned i = 0; i < 2; i++)
		for (const struct ptx_param *p = lists[i]; p; p = p->next)
			if (p->name.n == name->n && !memcmp(p->name.p, name->p, name->n))
				return true;
	return false;
}

/* Parameters of functions are registers: nothing is before them. (What reaches beyond their end is
 * undefined, and accepted.) Those of kernels are memory. */
static void check_param(struct check *c, const struct ptx_opnd *o)
{
	if (c->s->form->space == PTX_SPACE_PARAM && o->kind == PTX_OPND_ADDR && o->nsub &&
	    o->off < 0 && o->sub[0].kind == PTX_OPND_SYM && !c->f->is_entry &&
	    is_param(c->f, &o->sub[0].text))
		PROBLEM(c, "found an offset of %lld bytes to '%.*s', expected none below 0",
			(long long)o->off, STR(o->sub[0].text));
}

/* Does the table have the form, for the module's target and version? Each form is checked once. */
static bool is_legal(struct check *c)
{
	const struct ptx_form *f = c->s->form;

	if (f->legal == PTX_LEGAL_UNASKED)
		/* Forms are not const in memory (forms.h). */
		((struct ptx_form *)(uintptr_t)f)->legal =
			ptx_form_legal(f, c->m->sm, c->m->sm_suffix,
				       10 * c->m->ver_major + c->m->ver_minor)
				? PTX_LEGAL_YES
				: PTX_LEGAL_NO;
	return f->legal == PTX_LEGAL_YES;
}

static void check_inst(struct check *c)
{
	const struct ptx_stmt *s = c->s;
	unsigned min, max;

	if (s->pred != PTX_NO_REG &&
	    (s->pred >= c->f->nregs || c->f->reg_type[s->pred] != PTX_TYPE_PRED))
		PROBLEM(c, "the guard of '%.*s' is no predicate register", STR(s->form->text));
	for (unsigned i = 0; i < s->nops; i++)
		check_regs(c, &s->ops[i], false);
	if (((s->inserted && !s->is_copy) || c->is_ours) && !is_legal(c))
		PROBLEM(c, "found '%.*s', expected a form of isa.def for sm_%u%.1s, PTX %u.%u",
			STR(s->form->text), c->m->sm, &c->m->sm_suffix, c->m->ver_major,
			c->m->ver_minor);
	if (s->form->effects & (PTX_EFF_UNKNOWN | PTX_EFF_CALL))
		return;
	ptx_op_arity(s->form->op, &min, &max);
	if (s->nops < min || s->nops > max) {
		if (min == max)
			PROBLEM(c, "found %u operands of '%.*s', expected %u", (unsigned)s->nops,
				STR(s->form->text), min);
		else
			PROBLEM(c, "found %u operands of '%.*s', expected %u to %u",
				(unsigned)s->nops, STR(s->form->text), min, max);
		return;
	}
	for (unsigned i = 0; i < s->nops; i++)
		check_role(c, i);
	for (unsigned i = 0; i < s->nops; i++)
		check_param(c, &s->ops[i]);
	check_memory(c);
	check_sources(c);
}

/*
 * An argument that a pass stores must be stored in the block of its call: ptxas gives it the
 * register of the first call that follows in the text, also where a branch leads to another one.
 */
static void check_argument(struct check *c)
{
	const struct ptx_stmt *s = c->s;
	bool is_inst = s->kind == PTX_STMT_INST;

	if (is_inst && s->form->effects & PTX_EFF_CALL) {
		c->stored = NULL;
	} else if (is_inst && s->inserted && s->form->op == PTX_OP_ST &&
		   s->form->space == PTX_SPACE_PARAM) {
		if (!c->stored)
			c->stored = s;
	} else if (c->stored && (s->kind == PTX_STMT_LABEL ||
				 (is_inst && s->form->effects & (PTX_EFF_BRANCH | PTX_EFF_EXIT)))) {
		c->s = c->stored;
		PROBLEM(c, "found the argument of a call in another block, expected it beside the "
			   "call");
		c->s = s;
		c->stored = NULL;
	}
}

static void check_func(struct check *c)
{
	const struct ptx_stmt *prev = NULL;

	c->stored = NULL;

	ptx_each_stmt(c->f, s)
	{
		c->s = s;
		if (s->prev != prev)
			PROBLEM(c, "the statement list is broken here");
		prev = s;
		check_argument(c);
		if (s->kind == PTX_STMT_INST)
			check_inst(c);
		else if (s->kind == PTX_STMT_LABEL && (!s->label || s->label->at != s))
			PROBLEM(c, "a label statement is not where its label says");
		for (unsigned i = 0; s->kind == PTX_STMT_TARGETS && i < s->ntargets; i++)
			if (s->targets[i].kind == PTX_OPND_SYM &&
			    s->targets[i].flags & PTX_OPND_LABEL && s->targets[i].label &&
			    !s->targets[i].label->at)
				PROBLEM(c, "label '%.*s' is not defined", STR(s->targets[i].text));
	}
}

/* ---- public ------------------------------------------------------------- */

unsigned ptx_verify(const struct ptx_module *m, struct base_sink *sink)
{
	struct check c = {.m = m, .sink = sink};

	ptx_each_item(m, it)
	{
		if (it->kind != PTX_ITEM_FUNC || it->func->is_proto)
			continue;
		c.f = it->func;
		c.is_ours = it->inserted;
		check_func(&c);
	}
	return c.problems;
}

unsigned ptx_verify_func(const struct ptx_module *m, const struct ptx_func *f,
			 struct base_sink *sink)
{
	struct check c = {.m = m, .f = f, .sink = sink};

	check_func(&c);
	return c.problems;
}

bool ptx_has_its_version(const struct ptx_module *m)
{
	unsigned version = 10 * m->ver_major + m->ver_minor;

	ptx_each_item(m, it)
	{
		if (it->kind != PTX_ITEM_FUNC || it->func->is_proto || it->inserted)
			continue;
		ptx_each_stmt(it->func, s)
		{
			const struct ptx_op_info *op =
				s->kind == PTX_STMT_INST ? ptx_op_info(s->form->op) : NULL;
			if (op && !s->inserted && (op->version > version || op->sm > m->sm))
				return false;
		}
	}
	return true;
}
