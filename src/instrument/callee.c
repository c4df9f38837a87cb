/*
 * callee.c - what functions do that a call reaches: synchronise, end the thread, launch kernels.
 *
 * The functions of a module are looked up by name in a sorted list, made at the first question, and
 * what was found out about one is kept with it: a module may have as many calls as functions, and
 * each is asked about.
 * Misses: recursion, and calls more than CALL_DEPTH deep, count as anything.
 * Costs: a walk over each function that is called, as a rule once.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "instrument/internal.h"

#include <stdlib.h>
#include <string.h>

#define CALL_DEPTH 16

/* Functions of the system that order nothing between threads. The heap's `free` isn't among them:
 * what one thread frees another one's malloc may return, ordered after it. */
static bool is_quiet_system(struct ptx_str name)
{
	static const char *const quiet[] = {"vprintf", "malloc", "__assertfail"};

	for (size_t i = 0; i < BASE_COUNTOF(quiet); i++)
		if (ptx_str_is(name, quiet[i]))
			return true;
	return false;
}

/* ---- functions by name ---------------------------------------------------------------------- */

static int compare(struct ptx_str a, struct ptx_str b)
{
	int order = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);

	return order ? order : (a.n > b.n) - (a.n < b.n);
}

/* Of equal names the one first in the module is first. */
static int by_name(const void *a, const void *b)
{
	const struct inst_named *x = a, *y = b;
	int order = compare(x->f->name, y->f->name);

	return order ? order : (x->at > y->at) - (x->at < y->at);
}

static void list_functions(struct inst_ctx *cx)
{
	uint32_t at = 0;

	ptx_each_item(cx->m, it)
	{
		struct inst_named x = {.f = it->func, .at = at};
		if (it->kind != PTX_ITEM_FUNC || it->func->is_proto)
			continue;
		base_vec_push(&cx->named, x);
		at++;
	}
	if (cx->named.n)
		qsort(cx->named.v, cx->named.n, sizeof(cx->named.v[0]), by_name);
	cx->are_named = true;
}

static struct inst_named *named_of(struct inst_ctx *cx, struct ptx_str name)
{
	size_t from = 0, to;

	if (!cx->are_named)
		list_functions(cx);
	for (to = cx->named.n; from < to;) {
		size_t mid = (from + to) / 2;
		if (compare(cx->named.v[mid].f->name, name) < 0)
			from = mid + 1;
		else
			to = mid;
	}
	return from < cx->named.n && ptx_str_eq(cx->named.v[from].f->name, name)
		       ? &cx->named.v[from]
		       : NULL;
}

const struct ptx_func *inst_function_of(struct inst_ctx *cx, struct ptx_str name)
{
	const struct inst_named *x = named_of(cx, name);

	return x ? x->f : NULL;
}

static int by_called_name(const void *a, const void *b)
{
	const struct inst_called_name *x = a, *y = b;
	int order = compare(x->name, y->name);

	return order ? order : (x->at > y->at) - (x->at < y->at);
}

void inst_name_called(struct inst_ctx *cx)
{
	for (uint32_t i = 0; i < cx->called.n; i++) {
		struct inst_called_name x = {cx->called.v[i].f->name, i};
		base_vec_push(&cx->called_names, x);
	}
	if (cx->called_names.n)
		qsort(cx->called_names.v, cx->called_names.n, sizeof(cx->called_names.v[0]),
		      by_called_name);
}

struct inst_called *inst_find_called(const struct inst_ctx *cx, struct ptx_str name)
{
	size_t from = 0, to = cx->called_names.n;

	while (from < to) {
		size_t mid = (from + to) / 2;
		if (compare(cx->called_names.v[mid].name, name) < 0)
			from = mid + 1;
		else
			to = mid;
	}
	if (from == cx->called_names.n || !ptx_str_eq(cx->called_names.v[from].name, name))
		return NULL;
	return &cx->called.v[cx->called_names.v[from].at];
}

/* ---- what a function does -------------------------------------------------------------------- */

/* The name of the called function, as the program has it; n is 0 if it is called through a
 * register. */
static struct ptx_str callee_of(const struct ptx_stmt *s)
{
	for (unsigned i = 0; i < s->nops; i++)
		if (ptx_stmt_role(s, i) == PTX_ROLE_LABEL && s->ops[i].kind == PTX_OPND_SYM)
			return inst_name_of(s->ops[i].text);
	return PTX_STR("");
}

bool inst_is_strong(const struct ptx_form *fm)
{
	return fm->effects & (PTX_EFF_READ | PTX_EFF_WRITE) && fm->sem != PTX_SEM_WEAK &&
	       fm->sem != PTX_SEM_NONE;
}

bool inst_is_of_dependents(const struct ptx_form *fm)
{
	return fm->op == PTX_OP_GRIDDEPCONTROL_WAIT ||
	       fm->op == PTX_OP_GRIDDEPCONTROL_LAUNCH_DEPENDENTS;
}

static bool is_of_copies(const struct ptx_form *fm)
{
	return fm->op == PTX_OP_CP_ASYNC || fm->op == PTX_OP_CP_ASYNC_COMMIT_GROUP ||
	       fm->op == PTX_OP_CP_ASYNC_WAIT_GROUP || fm->op == PTX_OP_CP_ASYNC_WAIT_ALL ||
	       fm->op == PTX_OP_CP_ASYNC_MBARRIER_ARRIVE;
}

static void join(struct inst_callee *to, struct inst_callee more)
{
	to->is_quiet &= more.is_quiet;
	to->only_returns &= more.only_returns;
	to->no_copies &= more.no_copies;
}

static bool says_anything(struct inst_callee x)
{
	return x.is_quiet || x.only_returns || x.no_copies;
}

/* What one instruction does, except for a call. */
static struct inst_callee of_inst(const struct ptx_form *fm)
{
	const uint32_t loud = PTX_EFF_BARRIER | PTX_EFF_FENCE | PTX_EFF_WAIT | PTX_EFF_WARP_SYNC |
			      PTX_EFF_UNKNOWN;

	return (struct inst_callee){
		.is_quiet = !inst_is_strong(fm) && !(fm->effects & loud),
		.only_returns = fm->op != PTX_OP_EXIT && !inst_is_of_dependents(fm),
		.no_copies = !(fm->effects & PTX_EFF_UNKNOWN) && !is_of_copies(fm),
	};
}

static struct inst_callee of_name(struct inst_ctx *cx, struct ptx_str name, unsigned depth,
				  bool *is_cut);

/* The function, with all that it calls. *is_cut: not all of it was looked at. */
static struct inst_callee of_function(struct inst_ctx *cx, const struct ptx_func *f, unsigned depth,
				      bool *is_cut)
{
	struct inst_callee all = {true, true, true};

	ptx_each_stmt(f, s)
	{
		struct inst_callee one = {false, false, false};
		if (s->kind == PTX_STMT_INST && s->inserted)
			continue;
		if (s->kind != PTX_STMT_INST && s->kind != PTX_STMT_RAW)
			continue;
		if (s->kind == PTX_STMT_INST)
			one = of_inst(s->form);
		join(&all, one);
		if (s->kind == PTX_STMT_INST && s->form->effects & PTX_EFF_CALL &&
		    says_anything(all))
			join(&all, of_name(cx, callee_of(s), depth, is_cut));
		if (!says_anything(all))
			break;
	}
	return all;
}

static struct inst_callee of_name(struct inst_ctx *cx, struct ptx_str name, unsigned depth,
				  bool *is_cut)
{
	bool is_cut_here = false;
	struct inst_callee found;
	struct inst_named *x;

	if (race_is_inserted_name(name.p, name.n) || is_quiet_system(name))
		return (struct inst_callee){true, true, true};
	x = named_of(cx, name);
	if (x && x->is_known)
		return x->does;
	if (x && depth < CALL_DEPTH) {
		found = of_function(cx, x->f, depth + 1, &is_cut_here);
		x->is_known = !is_cut_here;
		x->does = found;
		*is_cut |= is_cut_here;
		return found;
	}
	*is_cut |= x != NULL;
	return (struct inst_callee){false, false, false};
}

struct inst_callee inst_callee_of(struct inst_ctx *cx, const struct ptx_stmt *s)
{
	bool is_cut = false;

	return of_name(cx, callee_of(s), 0, &is_cut);
}

/* ---- launches -------------------------------------------------------------------------------- */

static bool launches(const struct ptx_module *m)
{
	static const char *const parts[] = {"cudaCDP", "cudaLaunchDevice", "cudaGraphLaunch"};

	ptx_each_item(m, it)
	{
		if (it->kind != PTX_ITEM_FUNC || it->inserted)
			continue;
		struct ptx_str name = it->func->name;
		for (size_t i = 0; i < BASE_COUNTOF(parts); i++)
			if (memmem(name.p, name.n, parts[i], strlen(parts[i])))
				return true;
	}
	return false;
}

bool inst_may_launch(struct inst_ctx *cx)
{
	if (cx->may_launch == INST_UNKNOWN)
		cx->may_launch = launches(cx->m) ? INST_YES : INST_NO;
	return cx->may_launch == INST_YES;
}
