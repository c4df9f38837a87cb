/*
 * block_table.c - a table in shared memory, one per block, beside a kernel's static variables.
 *
 * A detector that keeps data for each byte of shared memory gets a shared variable of its own for
 * it; a table elsewhere would need an entry for each resident block, and a way to release it. The
 * table is sized for the kernel's static variables; the kernel's first instructions fill it (the
 * detector's part), and a barrier of the block follows.
 *
 * It is inserted only where no launch is refused because of it: it must fit beside the program's
 * variables, and other detectors' tables, into the shared memory that every launch may have, and
 * the kernel must have no dynamic shared memory. Otherwise the accesses go unchecked, and the
 * footer reports that. The table can reduce how many blocks run at once.
 */
#include "instrument/internal.h"

#include <string.h>

#define SHARED_ROOM                                                                                \
	(48u << 10) /* of a block without opting in (CUDA C++ guide, compute capabilities) */
#define VARS_MAX 64u

struct vars {
	struct ptx_var *v[VARS_MAX];
	unsigned n;
	bool is_dynamic, is_lost; /* there is an unsized one; there are more than VARS_MAX */
};

static void note_operand(struct vars *vs, const struct ptx_opnd *o)
{
	if (o->kind == PTX_OPND_SYM && o->flags & PTX_OPND_VAR && o->var &&
	    o->var->space == PTX_SPACE_SHARED) {
		for (unsigned i = 0; i < vs->n; i++)
			if (vs->v[i] == o->var)
				return;
		if (o->var->is_unsized || !o->var->bytes || o->var->linkage & PTX_LINK_EXTERN)
			vs->is_dynamic = true;
		else if (vs->n < VARS_MAX)
			vs->v[vs->n++] = o->var;
		else
			vs->is_lost = true;
	}
	if (o->kind == PTX_OPND_ADDR || o->kind == PTX_OPND_VEC || o->kind == PTX_OPND_LIST)
		for (unsigned i = 0; i < o->nsub; i++)
			note_operand(vs, &o->sub[i]);
}

static bool has_dynamic(const struct ptx_module *m)
{
	ptx_each_item(m, it)
	{
		if (it->kind == PTX_ITEM_VAR && it->var->space == PTX_SPACE_SHARED &&
		    (it->var->is_unsized || !it->var->bytes))
			return true;
	}
	return false;
}

/* Those of one function. True: it calls others. */
static bool find_own_vars(const struct ptx_func *f, struct vars *vs)
{
	bool has_calls = false;

	ptx_each_stmt(f, s)
	{
		if (s->kind != PTX_STMT_INST || s->inserted)
			continue;
		has_calls |= (s->form->effects & PTX_EFF_CALL) != 0;
		for (unsigned i = 0; i < s->nops; i++)
			note_operand(vs, &s->ops[i]);
	}
	return has_calls;
}

/* Variables of functions that it calls are included where those are followed (called/called.c);
 * others lie outside of the table. Where one of those may use dynamic memory, launches have it. */
static void find_vars(struct inst_ctx *cx, struct vars *vs)
{
	bool has_calls = find_own_vars(cx->f, vs);

	for (const struct inst_called *c = NULL; (c = inst_next_callee(cx, c)) != NULL;)
		find_own_vars(c->variant, vs);
	vs->is_dynamic |= has_calls && has_dynamic(cx->m);
}

static uint64_t round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

bool inst_plan_block_table(struct inst_ctx *cx, struct inst_block_table *t,
			   inst_table_bytes_fn *bytes_for, bool arg)
{
	struct vars vs = {0};
	uint64_t tracked = 0, gaps = 0;

	find_vars(cx, &vs);
	t->nvars = 0;
	t->has_vars = vs.n || vs.is_dynamic || vs.is_lost;
	if (!vs.n || vs.is_dynamic || vs.is_lost)
		return false;
	for (unsigned i = 0; i < vs.n; i++) {
		uint64_t align = vs.v[i]->align ? vs.v[i]->align : 16;
		tracked = round_up(tracked, align) + vs.v[i]->bytes;
		if (align > 16 || vs.v[i]->bytes % 16)
			gaps = 16; /* in another order */
	}
	tracked = round_up(tracked, 16);
	t->tracked = (uint32_t)tracked;
	t->vars = BASE_NEWN(&cx->scratch, struct ptx_var *, vs.n);
	memcpy(t->vars, vs.v, vs.n * sizeof(vs.v[0]));
	uint32_t room = cx->opt->shared_room ? cx->opt->shared_room : SHARED_ROOM;
	uint64_t others = round_up(cx->f->table_bytes, 16);
	if (tracked > room || tracked + others + bytes_for(t->tracked, arg) + gaps > room)
		return false;
	t->bytes = bytes_for(t->tracked, arg);
	cx->f->table_bytes = (uint32_t)others + t->bytes;
	t->nvars = vs.n;
	return true;
}
