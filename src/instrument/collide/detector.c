/*
 * detector.c - detector `collide` as the pipeline sees it: what it puts into a module, and the
 * passes over a function. plan.c decides what is checked, collide.c carries it out.
 *
 * A large function checks by calls (call.c) of functions of check.cu; only those that are called
 * are put in, after all functions have been seen.
 */
#include "instrument/detector.h"
#include "instrument/collide/collide.h"

#include "device/device.h"

#include <string.h>

/* ---- a module -------------------------------------------------------------------------------- */

static void put_block(struct inst_ctx *cx, struct ptx_item *at)
{
	bool trap = cx->opt->trap;

	inst_choose_space(cx, sizeof(struct race_knobs));
	inst_add_knobs(cx, at, PTX_STR(RACE_KNOBS_SYMBOL), sizeof(struct race_knobs),
		       trap ? 1 : RACE_SAMPLE_NEVER, trap ? RACE_KNOB_TRAP : 0);
}

static bool is_large(const struct ptx_module *m)
{
	uint32_t n = 0;

	ptx_each_item(m, it) if (it->kind == PTX_ITEM_FUNC && !it->func->is_proto) n +=
		inst_accesses_of(it->func);
	return n > INST_LARGE_MODULE;
}

static bool has_tensor_copies(const struct ptx_module *m)
{
	ptx_each_item(m, it)
	{
		if (it->kind != PTX_ITEM_FUNC || it->func->is_proto)
			continue;
		ptx_each_stmt(it->func, s)
		{
			if (s->kind == PTX_STMT_INST &&
			    (s->form->op == PTX_OP_CP_ASYNC_BULK_TENSOR ||
			     s->form->op == PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR))
				return true;
		}
	}
	return false;
}

static void put_launched(struct inst_ctx *cx, struct ptx_item *at)
{
	int64_t n = 0;

	ptx_each_item(cx->m, it) if (it->kind == PTX_ITEM_FUNC && !it->func->is_proto) n +=
		it->func->is_entry;
	if (n)
		inst_add_raw(cx, at, inst_module_text(cx, "launched", T(inst_num(n))));
}

struct ptx_str inst_launched_at(const struct inst_ctx *cx)
{
	return inst_num(4 * ((int64_t)cx->nlaunched - 1));
}

/* Knobs, report functions, tables of numbers. */
static bool begin_module(struct inst_ctx *cx)
{
	struct ptx_item *at = inst_first_code(cx->m);

	put_block(cx, at);
	put_launched(cx, at);
	bool has_tensor = has_tensor_copies(cx->m);
	unsigned tables = inst_fragment_tables(cx->m);
	for (unsigned bytes = 2; bytes <= 8; bytes *= 2)
		if (tables & 1u << bytes)
			inst_add_raw(cx, at, inst_fragment_table(cx, bytes));
	if (!inst_add_functions(cx, at, race_device_report, race_device_report_size))
		return false;
	if (has_tensor)
		cx->tensor =
			inst_add_functions(cx, at, race_device_tensor, race_device_tensor_size);
	bool has_order = cx->reads_ids && !(cx->shuffle_flags & RACE_SHUFFLE_FIXED);
	if (has_order)
		cx->block =
			inst_add_functions(cx, at, race_device_shuffle, race_device_shuffle_size);
	cx->is_large = is_large(cx->m);
	return (!has_tensor || cx->tensor) && (!has_order || cx->block);
}

/* One of several functions of a text of ours, with the text's head, for ptx_parse. NULL: it isn't
 * there. */
static char *one_function_of(struct inst_ctx *cx, const char *ptx, const char *name, size_t *n)
{
	const char *body = ptx, *head = strchr(strstr(ptx, ".address_size"), '\n');

	/* A definition has its parameters after the name, a call has blanks before it. */
	while ((body = strstr(body, name)) != NULL && body[strlen(name)] != '(')
		body += strlen(name);
	if (!body)
		return NULL;
	const char *end = strstr(body, "\n}\n");
	while (body > ptx && body[-1] != '\n')
		body--;
	char *text = base_printf(cx->m->arena, "%.*s\n%.*s\n", (int)(head - ptx), ptx,
				 (int)(end + 3 - body), body);
	*n = strlen(text);
	return text;
}

void inst_want_check(struct inst_ctx *cx, const char *suffix)
{
	for (size_t i = 0; i < cx->checks.n; i++)
		if (strcmp(cx->checks.v[i], suffix) == 0)
			return;
	base_vec_push(&cx->checks, suffix);
}

/* The functions that large functions call to check, and those that they call. */
static bool end_module(struct inst_ctx *cx)
{
	struct ptx_item *at = cx->m->first;
	size_t n;

	if (!cx->has_calls)
		return true;
	while (at && (at->inserted || (at->kind != PTX_ITEM_VAR && at->kind != PTX_ITEM_FUNC)))
		at = at->next;
	if (!inst_add_functions(cx, at, race_device_check_cold, race_device_check_cold_size))
		return false;
	for (size_t i = 0; i < cx->checks.n; i++) {
		char *name = base_printf(cx->m->arena, "__collider_check%s", cx->checks.v[i]);
		char *text = one_function_of(cx, race_device_check, name, &n);
		if (!text)
			text = one_function_of(cx, race_device_check_ahead, name, &n);
		const struct ptx_func *f = text ? inst_add_functions(cx, at, text, n) : NULL;
		if (!f)
			return false;
		inst_put_hash(cx, f);
	}
	return true;
}

static void put_tables(struct inst_ctx *cx)
{
	inst_add_raw(cx, inst_first_code(cx->m), inst_shuffle_table(cx));
}

/* ---- a function ------------------------------------------------------------------------------ */

/* Would inlined checks make a large function's text longer than it may become? */
static bool grows_too_long(const struct inst_ctx *cx, const struct inst_plan *plan)
{
	uint32_t sites = 0;

	for (const struct inst_group *g = plan->first; g; g = g->next)
		for (const struct inst_access *a = g->first; a; a = a->next)
			sites++;
	return sites > INST_MANY_SITES && sites * INST_SITE_LINES > cx->size.lines;
}

/* Does the function have so many groups that they become calls? */
static bool checks_by_call(const struct inst_ctx *cx, const struct inst_plan *plan)
{
	int n = cx->opt->inline_groups;
	uint32_t most = cx->opt->relocatable ? INST_RDC_GROUPS : INST_INLINE_GROUPS;

	if (cx->is_large)
		most = INST_LARGE_GROUPS;
	if (n)
		most = n < 0 ? 0 : (uint32_t)n;
	if (cx->call_free || cx->no_calls)
		return false;
	return plan->ngroups > most || (!n && grows_too_long(cx, plan));
}

static void put_checks(struct inst_ctx *cx)
{
	inst_collide_function(cx, cx->plan);
	inst_forget_locs(cx);
	if (!cx->f->is_entry && cx->plan->ngroups)
		cx->shuffle_flags |= RACE_SHUFFLE_FOLLOWER;
}

/* All passes over one function, each verified. */
static bool one_function(struct inst_ctx *cx, struct ptx_func *f)
{
	struct inst_plan plan = {0};

	cx->nlaunched += f->is_entry;
	if (!inst_begin_function(cx, f)) {
		cx->shuffle_flags |= RACE_SHUFFLE_SKIPPED;
		return true;
	}
	/* A debugger that stops in the kernel shows line and variables without unwinding a call. */
	cx->call_free = cx->opt->call_free || cx->opt->trap || (cx->limit && cx->limit->call_free);
	/* Warps give registers to others: ptxas ignores setmaxnreg in kernels with calls whose
	 * registers it doesn't know. */
	cx->no_calls = (cx->limit && cx->limit->no_calls) || inst_has_op(f, PTX_OP_SETMAXNREG);
	cx->fl = flow_build(&cx->scratch, cx->m, f);
	inst_read_locs(cx);
	cx->waits = inst_find_waits(cx);
	cx->plan = &plan;
	inst_plan_function(cx, &plan);
	cx->by_call = checks_by_call(cx, &plan);
	cx->has_calls |= cx->by_call;
	cx->stats->by_call += cx->by_call;
	if (!inst_function_pass(cx, INST_PASS_COLLIDE) ||
	    !inst_function_pass(cx, INST_PASS_SHUFFLE) || !inst_function_pass(cx, INST_PASS_FRAME))
		return false;
	if (f->is_entry)
		cx->stats->kernels++;
	else
		cx->stats->functions++;
	cx->plan = NULL;
	base_arena_reset(&cx->scratch);
	return true;
}

const struct inst_detector inst_detector_collide = {
	.id = RACE_DETECTOR_COLLIDE,
	.pass = INST_PASS_COLLIDE,
	.templates = inst_collide_templates,
	.put_block = put_block,
	.begin_module = begin_module,
	.function = one_function,
	.put_checks = put_checks,
	.end_module = end_module,
	.put_tables = put_tables,
};
