/*
 * taken.c - whose address the text takes: the functions that a call through a pointer may lead to.
 *
 * A name in an initialiser (a virtual table), or an operand that names a function other than the
 * one that a call names. What calls name alone (constructors) no pointer leads to.
 */
#include "prove/ir.h"

struct search {
	struct ptx_str name;
	bool is_found;
};

static void look_at(const struct ptx_init *in, void *arg)
{
	struct search *s = arg;

	s->is_found |= in->sym.n && ptx_str_eq(in->sym, s->name);
}

static bool names_it(const struct ptx_opnd *o, struct ptx_str name)
{
	if (o->kind == PTX_OPND_SYM)
		return ptx_str_eq(o->text, name);
	bool has_parts = o->kind == PTX_OPND_ADDR || o->kind == PTX_OPND_VEC ||
			 o->kind == PTX_OPND_LIST || o->kind == PTX_OPND_PAIR;
	for (unsigned i = 0; has_parts && i < o->nsub; i++)
		if (names_it(&o->sub[i], name))
			return true;
	return false;
}

static bool takes(const struct ptx_func *f, struct ptx_str name)
{
	ptx_each_stmt(f, s)
	{
		bool is_call = s->kind == PTX_STMT_INST && s->form->op == PTX_OP_CALL;
		for (unsigned i = 0; i < s->nops && s->kind != PTX_STMT_LABEL; i++)
			if (!(is_call && s->ops[i].kind == PTX_OPND_SYM) &&
			    names_it(&s->ops[i], name))
				return true;
		if (s->kind == PTX_STMT_TARGETS) /* of calls through pointers */
			return true;
	}
	return false;
}

static bool is_taken(const struct ir *ir, struct ptx_str name)
{
	struct search s = {.name = name};
	struct base_sink quiet = {.errors = 0};

	ptx_each_item(ir->m, it)
	{
		struct ptx_str alias, of;
		uint64_t bytes;
		if (it->kind == PTX_ITEM_VAR && it->var->has_init &&
		    !ptx_each_init(ir->m, it->var, look_at, &s, &bytes, &quiet))
			s.is_found = true;
		if (it->kind == PTX_ITEM_ALIAS && ptx_read_alias(it, &alias, &of))
			s.is_found |= ptx_str_eq(of, name) || ptx_str_eq(alias, name);
		if (it->kind == PTX_ITEM_FUNC && !it->func->is_proto)
			s.is_found |= takes(it->func, name);
	}
	base_sink_free(&quiet);
	return s.is_found;
}

bool prove_ir_is_taken(struct ir *ir, const struct ptx_func *f)
{
	for (size_t i = 0; i < ir->taken.n; i++)
		if (ir->taken.v[i].f == f)
			return ir->taken.v[i].is_taken;
	struct ir_taken t = {.f = f, .is_taken = is_taken(ir, f->name)};
	base_vec_push(&ir->taken, t);
	return t.is_taken;
}
