/*
 * unused.c - functions that were put in and that nothing calls are taken out again.
 *
 * Assembled as an object a text costs all of its functions (toolchain/trial.c). PTX declares a
 * function before it is called, so one walk from the module's end has seen all calls of a function
 * when it comes to it.
 *
 * needs: everything.  keeps: what runs.  Misses: a function that only names itself.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "instrument/internal.h"

#include <stdlib.h>
#include <string.h>

struct own {
	struct ptx_str name;
	bool is_used;
};

struct owns {
	BASE_VEC(struct own) list; /* by name */
};

static int by_name(const void *a, const void *b)
{
	struct ptx_str x = ((const struct own *)a)->name, y = ((const struct own *)b)->name;
	int order = memcmp(x.p, y.p, x.n < y.n ? x.n : y.n);

	return order ? order : (x.n > y.n) - (x.n < y.n);
}

static struct own *find(const struct owns *o, struct ptx_str name)
{
	const struct own key = {.name = name};

	return o->list.n ? bsearch(&key, o->list.v, o->list.n, sizeof(key), by_name) : NULL;
}

static void use_operand(const struct owns *o, const struct ptx_opnd *op)
{
	if (op->kind == PTX_OPND_SYM && !(op->flags & PTX_OPND_VAR)) {
		struct own *x = find(o, op->text);
		if (x)
			x->is_used = true;
	}
	if (op->kind == PTX_OPND_ADDR || op->kind == PTX_OPND_VEC || op->kind == PTX_OPND_LIST ||
	    op->kind == PTX_OPND_PAIR)
		for (unsigned i = 0; i < op->nsub; i++)
			use_operand(o, &op->sub[i]);
}

/* A text that isn't read, however it names a function. */
static void use_text(const struct owns *o, struct ptx_str s)
{
	for (size_t i = 0; i < o->list.n && s.n; i++) {
		struct own *x = &o->list.v[i];
		x->is_used |= memmem(s.p, s.n, x->name.p, x->name.n) != NULL;
	}
}

static void use_function(const struct owns *o, const struct ptx_func *f)
{
	ptx_each_stmt(f, s)
	{
		if (s->kind == PTX_STMT_RAW)
			use_text(o, s->text);
		for (unsigned i = 0; s->kind == PTX_STMT_INST && i < s->nops; i++)
			use_operand(o, &s->ops[i]);
	}
}

static bool is_own(const struct ptx_item *it)
{
	return it->kind == PTX_ITEM_FUNC && it->inserted && !it->func->is_entry &&
	       !it->func->is_proto;
}

void inst_drop_unused(struct inst_ctx *cx)
{
	struct owns o = {0};

	ptx_each_item(cx->m, it)
	{
		if (is_own(it))
			base_vec_push(&o.list, ((struct own){.name = it->func->name}));
	}
	if (o.list.n)
		qsort(o.list.v, o.list.n, sizeof(o.list.v[0]), by_name);
	for (struct ptx_item *it = cx->m->last, *before; it; it = before) {
		before = it->prev;
		if (it->kind == PTX_ITEM_SECTION)
			continue;
		if (it->kind != PTX_ITEM_FUNC)
			use_text(&o, it->text);
		else if (is_own(it) && !find(&o, it->func->name)->is_used)
			ptx_remove_item(cx->m, it);
		else
			use_function(&o, it->func);
	}
	base_vec_free(&o.list);
}
