/*
 * pipeline.c - what happens to a module, in order.
 */
#include "instrument/internal.h"

#include "instrument/templates.h"

#include <stdlib.h>
#include <string.h>

#define MIN_SM	      70 /* independent thread scheduling, match, nanosleep, scoped loads */
#define MIN_PTX_MAJOR 6
#define MIN_PTX_MINOR 3 /* nanosleep */

#define CLUSTER_SM	  90 /* the registers about clusters */
#define CLUSTER_PTX_MAJOR 7
#define CLUSTER_PTX_MINOR 8

const struct inst_limit *inst_find_limit(const struct inst_options *opt, const struct ptx_func *f)
{
	for (size_t i = 0; i < opt->nlimits; i++)
		if (ptx_str_is(f->name, opt->limits[i].kernel))
			return &opt->limits[i];
	return NULL;
}

static void dump(const struct inst_ctx *cx, const char *pass)
{
	struct base_buf b = {0};

	if (!cx->opt->dump || strcmp(cx->opt->dump, pass) != 0)
		return;
	ptx_print(cx->m, &b);
	fwrite(b.p, 1, b.n, stderr);
	base_buf_free(&b);
}

static bool is_named(const struct ptx_stmt *s, const char *prefix)
{
	size_t n = strlen(prefix);

	return s->kind == PTX_STMT_LABEL && s->label->name.n >= n &&
	       memcmp(s->label->name.p, prefix, n) == 0;
}

static bool is_used(const struct ptx_opnd *ops, uint32_t n, const struct ptx_label *l)
{
	for (uint32_t i = 0; i < n; i++)
		if (ops[i].kind == PTX_OPND_LABEL && ops[i].label == l)
			return true;
	return false;
}

static bool is_target(const struct ptx_func *f, const struct ptx_label *l)
{
	for (const struct ptx_stmt *s = f->first; s; s = s->next)
		if ((s->kind == PTX_STMT_INST && is_used(s->ops, s->nops, l)) ||
		    (s->kind == PTX_STMT_TARGETS && is_used(s->targets, s->ntargets, l)))
			return true;
	return false;
}

/*
 * The compiler's debug sections name the body by a label on each side. They go round all that was
 * put in: a debugger takes no line, and no variable, of code outside, and drops a line table that
 * begins before the function. Nothing branches to these labels; one that something does branch to
 * stays.
 */
static void widen_debug_range(struct ptx_func *f)
{
	struct ptx_stmt *begin = NULL, *end = NULL;
	int depth = 0;

	for (struct ptx_stmt *s = f->first; s; s = s->next) {
		depth += (s->kind == PTX_STMT_OPEN) - (s->kind == PTX_STMT_CLOSE);
		if (depth == 0 && !begin && is_named(s, "$L__func_begin"))
			begin = s;
		if (depth == 0 && is_named(s, "$L__func_end"))
			end = s;
	}
	if (!begin || !end || is_target(f, begin->label) || is_target(f, end->label))
		return;
	ptx_remove(f, begin);
	ptx_insert_before(f, inst_body_start(f), begin);
	/* The outermost block of variables ends there, too. */
	while (end->prev && end->prev->kind == PTX_STMT_LABEL && !is_target(f, end->prev->label))
		end = end->prev;
	for (struct ptx_stmt *next; end && end->kind == PTX_STMT_LABEL; end = next) {
		next = end->next;
		ptx_remove(f, end);
		ptx_insert_before(f, NULL, end);
		if (is_named(end, "$L__func_end"))
			break;
	}
}

static bool is_large(const struct ptx_module *m)
{
	uint32_t n = 0;

	ptx_each_item(m, it)
	{
		if (it->kind != PTX_ITEM_FUNC || it->func->is_proto)
			continue;
		ptx_each_stmt(it->func, s) n +=
			s->kind == PTX_STMT_INST &&
			(s->form->op == PTX_OP_LD || s->form->op == PTX_OP_ST) &&
			(s->form->space == PTX_SPACE_GLOBAL || s->form->space == PTX_SPACE_SHARED ||
			 s->form->space == PTX_SPACE_GENERIC);
	}
	return n > INST_LARGE_MODULE;
}

/* Many groups: as calls. Under -rdc nvlink adds the registers of what is called to each kernel. */
static bool checks_by_call(const struct inst_ctx *cx, const struct inst_limit *lim,
			   const struct inst_plan *plan)
{
	int n = cx->opt->inline_groups;
	uint32_t most = cx->is_large ? INST_LARGE_GROUPS : INST_INLINE_GROUPS;

	if (n)
		most = n < 0 ? 0 : (uint32_t)n;

	return !cx->call_free && !cx->opt->relocatable && !(lim && lim->no_calls) &&
	       plan->ngroups > most;
}

void inst_end_function(struct inst_ctx *cx, const struct inst_limit *lim)
{
	struct ptx_func *f = cx->f;

	widen_debug_range(f);
	if (lim && lim->maxnreg && !f->extra_attrs.n)
		f->extra_attrs =
			(struct ptx_str){base_printf(cx->m->arena, ".maxnreg %u", lim->maxnreg), 0};
	if (f->extra_attrs.p)
		f->extra_attrs.n = (uint32_t)strlen(f->extra_attrs.p);
}

static void one_function(struct inst_ctx *cx, struct ptx_func *f)
{
	const struct inst_limit *lim = inst_find_limit(cx->opt, f);
	struct inst_plan plan = {0};

	cx->f = f;
	cx->func_name = race_sites_string(cx->sites, f->name.p, f->name.n);
	if (lim && lim->skip) {
		struct ptx_str why = {lim->why, (uint32_t)strlen(lim->why)};
		inst_unchecked(cx, why, RACE_WHY_KERNEL_AS_IT_WAS, true);
		cx->order_flags |= RACE_ORDER_SKIPPED;
		return;
	}
	/* A debugger that stops in the kernel shows line and variables without unwinding a call. */
	cx->call_free = cx->opt->call_free || cx->opt->trap || (lim && lim->call_free);
	cx->fl = flow_build(&cx->scratch, cx->m, f);
	inst_read_locs(cx);
	cx->waits = inst_find_waits(cx);
	inst_plan_function(cx, &plan);
	cx->by_call = checks_by_call(cx, lim, &plan);
	cx->has_calls |= cx->by_call;
	inst_collide_function(cx, &plan);
	inst_forget_locs(cx);
	if (!f->is_entry && plan.ngroups)
		cx->order_flags |= RACE_ORDER_FOLLOWER;
	inst_shuffle_function(cx);
	inst_end_function(cx, lim);
	if (f->is_entry)
		cx->stats->kernels++;
	else
		cx->stats->functions++;
	base_arena_reset(&cx->scratch);
}

static int check_target(struct ptx_module *m, const struct inst_options *opt,
			struct inst_stats *stats, struct base_sink *sink)
{
	if (m->address_size != 64) {
		base_report(sink, BASE_ERROR, m->file, (struct base_span){0, 0},
			    "found .address_size %u, expected 64", m->address_size);
		return BASE_EXIT_INPUT;
	}
	if (m->sm >= MIN_SM)
		return 0;
	if (!opt->raise_target) {
		stats->too_old = true;
		return 0;
	}
	m->sm = MIN_SM;
	m->sm_suffix = 0;
	m->target_text = m->debug ? PTX_STR("sm_70, debug") : PTX_STR("sm_70");
	return 0;
}

static int collide(struct inst_ctx *cx)
{
	struct ptx_module *m = cx->m;

	cx->ts = ptx_templates_read(m, "collide.ptxt", inst_collide_templates, cx->sink);
	if (!cx->ts)
		return BASE_EXIT_INTERNAL;
	struct ptx_item *last =
		m->last; /* the report function comes before, but isn't ours to do */
	if (!inst_add_runtime(cx))
		return BASE_EXIT_INTERNAL;
	cx->is_large = is_large(m);
	ptx_each_item(m, it)
	{
		if (it->kind == PTX_ITEM_FUNC && !it->inserted && !it->func->is_proto)
			one_function(cx, it->func);
		if (it == last)
			break;
	}
	if (!inst_add_checks(cx))
		return BASE_EXIT_INTERNAL;
	return 0;
}

/* What each detector does to a module, in the order in which several do it. */
static int (*const pipelines[RACE_DETECTORS_PUT])(struct inst_ctx *cx) = {
	[RACE_DETECTOR_COLLIDE] = collide,
	[RACE_DETECTOR_HIRACE] = inst_hirace,
};

static int run_pipelines(struct inst_ctx *cx)
{
	struct ptx_module *m = cx->m;
	int rc = 0;

	if (!inst_order_begin(cx))
		return BASE_EXIT_INTERNAL;
	inst_read_files(cx);
	for (unsigned i = 0; i < RACE_DETECTORS_PUT && !rc; i++) {
		if (!(cx->opt->sanitize & 1u << i))
			continue;
		rc = pipelines[i](cx);
		if (!rc)
			dump(cx, race_detectors[i].name);
	}
	if (rc)
		return rc;
	ptx_raise_version(m, MIN_PTX_MAJOR, MIN_PTX_MINOR);
	if (m->sm >= CLUSTER_SM)
		ptx_raise_version(m, CLUSTER_PTX_MAJOR, CLUSTER_PTX_MINOR);
	return inst_add_sites(cx) ? 0 : BASE_EXIT_INTERNAL;
}

int inst_run(struct ptx_module *m, const struct inst_options *opt, struct inst_stats *stats,
	     struct base_sink *sink)
{
	struct inst_ctx cx = {.m = m, .opt = opt, .stats = stats, .sink = sink};
	int rc = 0;

	memset(stats, 0, sizeof(*stats));
	if (!opt->sanitize)
		return 0;
	if (inst_detectors_of(m)) {
		stats->already = true;
		return 0;
	}
	rc = check_target(m, opt, stats, sink);
	if (rc || stats->too_old)
		return rc;
	cx.sites = race_sites_new();
	cx.hash = inst_late_opnd(&cx, INST_LATE_HASH, 0, RACE_KIND_NONE);
	rc = run_pipelines(&cx);
	race_sites_free(cx.sites);
	base_vec_free(&cx.files);
	base_vec_free(&cx.late);
	base_vec_free(&cx.checks);
	base_vec_free(&cx.order_names);
	base_vec_free(&cx.polls);
	base_arena_free(&cx.scratch);
	return rc;
}

int inst_text(const char *file, const char *text, size_t size, const struct inst_options *opt,
	      struct base_buf *out, struct inst_stats *stats, struct base_sink *sink)
{
	struct base_arena arena = {0};
	struct ptx_module *m = ptx_parse(&arena, file, text, size, sink);
	int rc = BASE_EXIT_INPUT;

	memset(stats, 0, sizeof(*stats));
	if (m && !sink->errors)
		rc = inst_run(m, opt, stats, sink);
#ifndef NDEBUG
	if (!rc && getenv("COLLIDER_VERIFY") && ptx_verify(m, sink))
		rc = BASE_EXIT_INTERNAL;
#endif
	if (!rc)
		ptx_print(m, out);
	base_arena_free(&arena);
	return rc;
}
