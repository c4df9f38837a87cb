/*
 * walk.c - finds a statement's operands by role instead of by opcode.
 *
 * Roles come from the form (isa.def), by position. A call is the exception:
 * its roles depend on the position of the callee, the first operand that is not a
 * parenthesised list: "call (ret), f, (args), proto".
 *
 * An instruction that the table does not know reads and may write every
 * register it names outside an address; the guard is only read.
 */
#include "ptx/ptx.h"

static unsigned callee_index(const struct ptx_stmt *s)
{
	unsigned i = 0;

	while (i < s->nops && s->ops[i].kind == PTX_OPND_LIST)
		i++;
	return i;
}

enum ptx_role ptx_stmt_role(const struct ptx_stmt *s, unsigned i)
{
	if (s->kind != PTX_STMT_INST || i >= s->nops)
		return PTX_ROLE_NONE;
	if (s->form->effects & PTX_EFF_CALL)
		return s->ops[i].kind == PTX_OPND_LIST ? PTX_ROLE_PARAMS : PTX_ROLE_LABEL;
	return ptx_form_role(s->form, i);
}

struct visit {
	ptx_reg_fn *fn;
	void *arg;
	bool is_write;
};

/* Registers inside an address are operands of the address computation: read, whatever the role. */
static void visit_opnd(const struct visit *v, const struct ptx_opnd *o, bool in_addr)
{
	switch ((enum ptx_opnd_kind)o->kind) {
	case PTX_OPND_REG:
		if (!in_addr || !v->is_write)
			v->fn(o->reg, v->is_write, v->arg);
		break;
	case PTX_OPND_ADDR:
		for (unsigned i = 0; i < o->nsub; i++)
			visit_opnd(v, &o->sub[i], true);
		break;
	case PTX_OPND_VEC:
	case PTX_OPND_LIST:
	case PTX_OPND_PAIR:
		for (unsigned i = 0; i < o->nsub; i++)
			visit_opnd(v, &o->sub[i], in_addr);
		break;
	default:
		break;
	}
}

/* Whether the operand's own registers are read (or written) by the statement. */
static bool is_touched(const struct ptx_stmt *s, unsigned i, bool is_write)
{
	enum ptx_role role = ptx_stmt_role(s, i);

	if (s->form->op == PTX_OP_UNKNOWN)
		return true;
	if (role == PTX_ROLE_PARAMS)
		return (i < callee_index(s)) == is_write;
	if (role == PTX_ROLE_INOUT)
		return true;
	return (role == PTX_ROLE_DST) == is_write;
}

/* ---- public ------------------------------------------------------------- */

void ptx_each_reg(const struct ptx_stmt *s, ptx_reg_fn *fn, void *arg)
{
	if (s->kind != PTX_STMT_INST)
		return;
	if (s->pred != PTX_NO_REG)
		fn(s->pred, false, arg);
	for (int is_write = 0; is_write < 2; is_write++) {
		struct visit v = {fn, arg, is_write};
		for (unsigned i = 0; i < s->nops; i++)
			if (s->ops[i].kind == PTX_OPND_ADDR || is_touched(s, i, is_write))
				visit_opnd(&v, &s->ops[i], false);
	}
}

/* is: one of them is read; one was added. */
struct set {
	const bool *of;
	bool *to;
	bool is;
};

static void look_in(uint32_t reg, bool is_write, void *arg)
{
	struct set *x = arg;

	x->is |= !is_write && x->of[reg];
}

static void add_to(uint32_t reg, bool is_write, void *arg)
{
	struct set *x = arg;

	if (is_write && !x->to[reg])
		x->to[reg] = x->is = true;
}

bool ptx_reads_of(const struct ptx_stmt *s, const bool *set)
{
	struct set x = {.of = set};

	ptx_each_reg(s, look_in, &x);
	return x.is;
}

bool ptx_add_written(const struct ptx_stmt *s, bool *set)
{
	struct set x = {.to = set};

	ptx_each_reg(s, add_to, &x);
	return x.is;
}

int ptx_find_role(const struct ptx_stmt *s, enum ptx_role role)
{
	for (unsigned i = 0; s->kind == PTX_STMT_INST && i < s->nops; i++)
		if (ptx_stmt_role(s, i) == role)
			return (int)i;
	return -1;
}

struct ptx_opnd *ptx_address(const struct ptx_stmt *s)
{
	for (unsigned i = 0; s->kind == PTX_STMT_INST && i < s->nops; i++) {
		enum ptx_role role = ptx_stmt_role(s, i);
		if (role == PTX_ROLE_ADDR || role == PTX_ROLE_ADDR_R || role == PTX_ROLE_ADDR_W)
			return &s->ops[i];
	}
	return NULL;
}

struct ptx_label *ptx_target(const struct ptx_stmt *s)
{
	if (s->kind != PTX_STMT_INST || s->form->op != PTX_OP_BRA || !s->nops)
		return NULL;
	/* A variable of that name is none. */
	return s->ops[0].kind == PTX_OPND_SYM && s->ops[0].flags & PTX_OPND_LABEL ? s->ops[0].label
										  : NULL;
}

static bool has_line(const struct ptx_stmt *s)
{
	return s && s->kind == PTX_STMT_INST && s->loc && s->loc->line;
}

#define NEAR 256 /* statements: what is farther away says nothing about this one */

const struct ptx_loc *ptx_near_loc(const struct ptx_stmt *s)
{
	const struct ptx_stmt *before = s, *after = s;

	if (s->loc && s->loc->line)
		return s->loc;
	/* In text without lines each site would look through all of its function. */
	for (unsigned i = 0; i < NEAR && (before || after); i++) {
		if (has_line(before))
			return before->loc;
		if (has_line(after))
			return after->loc;
		before = before ? before->prev : NULL;
		after = after ? after->next : NULL;
	}
	return s->loc;
}

const struct ptx_loc *ptx_outer_loc(const struct ptx_func *f, const struct ptx_loc *l,
				    bool *is_unsure)
{
	const struct ptx_loc *last = NULL, *found = NULL;

	ptx_each_stmt(f, s)
	{
		const struct ptx_loc *o = s->loc;
		if (!o || o == last || o == l || !o->in_line)
			continue;
		last = o;
		if (o->file != l->in_file || o->line != l->in_line || o->col != l->in_col)
			continue;
		if (found && (o->in_file != found->in_file || o->in_line != found->in_line ||
			      o->in_col != found->in_col))
			*is_unsure = true;
		found = found ? found : o;
	}
	return found;
}

struct ptx_str ptx_file_name(const struct ptx_module *m, uint32_t id)
{
	ptx_each_item(m, it)
	{
		if (it->kind == PTX_ITEM_FILE && it->file_id == id)
			return it->file_name;
	}
	return PTX_STR("");
}

bool ptx_opnd_is_workspace(const struct ptx_opnd *o)
{
	return o->kind == PTX_OPND_SPECIAL &&
	       (ptx_str_is(o->text, "%envreg1") || ptx_str_is(o->text, "%envreg2"));
}
