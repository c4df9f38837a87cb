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

#define CLUSTER_PTX_MAJOR 7
#define CLUSTER_PTX_MINOR 8

bool inst_verifies(void)
{
#ifdef COLLIDER_DEBUG
	return true;
#else
	return getenv("COLLIDER_VERIFY") != NULL;
#endif
}

bool inst_pass_end(struct ptx_module *m, enum inst_pass pass, struct ptx_func *f,
		   struct base_sink *sink)
{
	static const char *const names[] = {
		"none",
#define PASS(id, name, ...) name,
#include "base/passes.def"
	};
	unsigned n = f ? ptx_verify_func(m, f, sink) : ptx_verify(m, sink);

	if (!n)
		return true;
	base_report(sink, BASE_ERROR, m->file, (struct base_span){0, 0},
		    "found %u wrong instructions after pass %s: a defect of Collider", n,
		    names[pass]);
	return false;
}

/* What follows each pass: --dump, and the verifier. */
static bool pass_end(struct inst_ctx *cx, enum inst_pass pass, struct ptx_func *f)
{
	struct base_buf b = {0};

	if (cx->opt->dump == pass) {
		if (f)
			ptx_print_func(f, &b);
		else
			ptx_print(cx->m, &b);
		fwrite(b.p, 1, b.n, stderr);
		base_buf_free(&b);
	}
	return !cx->verifies || inst_pass_end(cx->m, pass, f, cx->sink);
}

static const struct inst_limit *find_limit(const struct inst_options *opt, const struct ptx_func *f)
{
	const struct ptx_str name = inst_name_of(f->name);

	for (size_t i = 0; i < opt->nlimits; i++)
		if (ptx_str_is(name, opt->limits[i].kernel))
			return &opt->limits[i];
	return NULL;
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
		if (ops[i].kind == PTX_OPND_SYM && ops[i].flags & PTX_OPND_LABEL &&
		    ops[i].label == l)
			return true;
	return false;
}

bool inst_is_target(const struct ptx_func *f, const struct ptx_label *l)
{
	for (const struct ptx_stmt *s = f->first; s; s = s->next)
		if ((s->kind == PTX_STMT_INST && is_used(s->ops, s->nops, l)) ||
		    (s->kind == PTX_STMT_TARGETS && is_used(s->targets, s->ntargets, l)))
			return true;
	return false;
}

/*
 * The compiler's debug sections delimit the body by a label on each side. These are moved around
 * all inserted code: a debugger finds no line, and no variable, for code outside of them, and drops
 * a line table that begins before the function. Labels that are the target of a branch stay.
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
	if (!begin || !end || inst_is_target(f, begin->label) || inst_is_target(f, end->label))
		return;
	ptx_remove(f, begin);
	ptx_insert_before(f, inst_body_start(f), begin);
	/* The outermost block of variables ends there, too. */
	while (end->prev && end->prev->kind == PTX_STMT_LABEL &&
	       !inst_is_target(f, end->prev->label))
		end = end->prev;
	for (struct ptx_stmt *next; end && end->kind == PTX_STMT_LABEL; end = next) {
		next = end->next;
		ptx_remove(f, end);
		ptx_insert_before(f, NULL, end);
		if (is_named(end, "$L__func_end"))
			break;
	}
}

/* A load or store of memory that threads may share. */
static bool is_access(const struct ptx_stmt *s)
{
	return s->kind == PTX_STMT_INST && (s->form->op == PTX_OP_LD || s->form->op == PTX_OP_ST) &&
	       (s->form->space == PTX_SPACE_GLOBAL || s->form->space == PTX_SPACE_SHARED ||
		s->form->space == PTX_SPACE_GENERIC);
}

static uint32_t accesses_of(const struct ptx_func *f)
{
	uint32_t n = 0;

	ptx_each_stmt(f, s) n += is_access(s);
	return n;
}

static bool is_large(const struct ptx_module *m)
{
	uint32_t n = 0;

	ptx_each_item(m, it) if (it->kind == PTX_ITEM_FUNC && !it->func->is_proto) n +=
		accesses_of(it->func);
	return n > INST_LARGE_MODULE;
}

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

/* ---- the passes over a function -------------------------------------------------------------- */

static void collide_function(struct inst_ctx *cx)
{
	inst_collide_function(cx, cx->plan);
	inst_forget_locs(cx);
	if (!cx->f->is_entry && cx->plan->ngroups)
		cx->shuffle_flags |= RACE_SHUFFLE_FOLLOWER;
}

static uint32_t statements_of(const struct ptx_func *f)
{
	uint32_t n = 0;

	ptx_each_stmt(f, s) n += s->kind == PTX_STMT_INST || s->kind == PTX_STMT_LABEL;
	return n;
}

/* As printed. */
static uint32_t lines_of(const struct ptx_func *f)
{
	uint32_t n = 0;

	for (const struct ptx_stmt *s = f->first; s; s = s->next)
		n++;
	return n;
}

static void say_size(const struct inst_ctx *cx)
{
	struct inst_size size = cx->size;

	if (!cx->opt->on_size)
		return;
	size.statements = statements_of(cx->f);
	size.lines_after = lines_of(cx->f);
	size.sites = cx->stats->sites - size.sites;
	size.groups = cx->stats->groups - size.groups;
	cx->opt->on_size(cx->opt->on_size_arg, &size);
}

static void put_maxnreg(struct inst_ctx *cx)
{
	if (cx->limit && cx->limit->maxnreg)
		cx->f->extra_attrs =
			inst_module_text(cx, "maxnreg", T(inst_num(cx->limit->maxnreg)));
}

static void frame_function(struct inst_ctx *cx)
{
	widen_debug_range(cx->f);
	put_maxnreg(cx);
	say_size(cx);
}

static void (*const on_function[INST_PASSES])(struct inst_ctx *cx) = {
	[INST_PASS_COLLIDE] = collide_function,	   [INST_PASS_SHUFFLE] = inst_shuffle_function,
	[INST_PASS_HIRACE] = inst_hirace_function, [INST_PASS_IGUARD] = inst_iguard_function,
	[INST_PASS_WATCH] = inst_watch_function,   [INST_PASS_FRAME] = frame_function,
};

bool inst_function_pass(struct inst_ctx *cx, enum inst_pass pass)
{
	on_function[pass](cx);
	return pass_end(cx, pass, cx->f);
}

/* The function stays as it was, for this reason. */
static void leave_function(struct inst_ctx *cx, const char *why)
{
	struct ptx_str text = {why, (uint32_t)strlen(why)};

	inst_unchecked(cx, text, RACE_WHY_KERNEL_AS_IT_WAS, true);
	put_maxnreg(cx);
}

/* By --kernel-name and the like: the option, or NULL. */
static const char *left_out_by(const struct inst_ctx *cx, const struct ptx_func *f)
{
	const struct ptx_str s = inst_name_of(f->name);
	const char *name = base_strndup(cx->m->arena, s.p, s.n);

	return inst_left_out(cx->opt, name, f->is_entry);
}

bool inst_is_left(const struct inst_ctx *cx, const struct ptx_func *f)
{
	const struct inst_limit *limit = find_limit(cx->opt, f);

	return (limit && limit->skip) || left_out_by(cx, f);
}

static bool is_left_out(struct inst_ctx *cx)
{
	const struct ptx_func *f = cx->f;
	const char *by = left_out_by(cx, f);

	if (!by)
		return false;
	uint32_t n = accesses_of(f);
	cx->stats->left_out++;
	cx->stats->left_out_accesses += n;
	leave_function(cx,
		       base_printf(cx->m->arena, "%u loads and stores not checked (%s)", n, by));
	return true;
}

bool inst_begin_function(struct inst_ctx *cx, struct ptx_func *f)
{
	const struct ptx_str name = inst_name_of(f->name);

	cx->f = f;
	cx->func_name = race_sites_string(cx->sites, name.p, name.n);
	cx->limit = find_limit(cx->opt, f);
	cx->size = (struct inst_size){.name = f->name,
				      .lines = lines_of(f),
				      .sites = cx->stats->sites,
				      .groups = cx->stats->groups};
	if (cx->limit && cx->limit->skip) {
		leave_function(cx, cx->limit->why);
		return false;
	}
	return !is_left_out(cx);
}

/* All passes of collide over one function, each verified. */
static bool one_function(struct inst_ctx *cx, struct ptx_func *f)
{
	struct inst_plan plan = {0};

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
	ptx_set_target(m, MIN_SM);
	return 0;
}

/* ---- the passes over a module ---------------------------------------------------------------- */

static bool (*const on_module[INST_PASSES])(struct inst_ctx *cx) = {
	[INST_PASS_CALLED] = inst_begin_called,
	[INST_PASS_RUNTIME] = inst_add_runtime,
	[INST_PASS_CHECKS] = inst_add_checks,
	[INST_PASS_SITES] = inst_add_sites,
};

static bool one_pass(struct inst_ctx *cx, enum inst_pass pass)
{
	return on_module[pass](cx) && pass_end(cx, pass, NULL);
}

bool inst_each_function(struct inst_ctx *cx, const struct ptx_item *last,
			bool (*instrument)(struct inst_ctx *cx, struct ptx_func *f))
{
	ptx_each_item(cx->m, it)
	{
		if (it->kind == PTX_ITEM_FUNC && !it->inserted && !it->func->is_proto &&
		    !inst_is_replaced(cx, it->func) && !instrument(cx, it->func))
			return false;
		if (it == last)
			break;
	}
	return true;
}

static int collide(struct inst_ctx *cx)
{
	struct ptx_module *m = cx->m;

	cx->ts = ptx_templates_read(m, inst_collide_templates, cx->sink);
	if (!cx->ts)
		return BASE_EXIT_INTERNAL;
	struct ptx_item *last =
		m->last; /* the report function comes first, but is not instrumented */
	if (!one_pass(cx, INST_PASS_RUNTIME))
		return BASE_EXIT_INTERNAL;
	cx->is_large = is_large(m);
	return inst_each_function(cx, last, one_function) && one_pass(cx, INST_PASS_CHECKS)
		       ? 0
		       : BASE_EXIT_INTERNAL;
}

/* What each detector does to a module, in the order in which several do it. */
static int (*const pipelines[RACE_DETECTORS_PUT])(struct inst_ctx *cx) = {
	[RACE_DETECTOR_COLLIDE] = collide,
	[RACE_DETECTOR_HIRACE] = inst_hirace,
	[RACE_DETECTOR_IGUARD] = inst_iguard,
	[RACE_DETECTOR_WATCH] = inst_watch,
};

/* Runs them, between the steps that all of them share. */
static int run_pipelines(struct inst_ctx *cx)
{
	struct ptx_module *m = cx->m;
	int rc = 0;

	cx->module_ts = ptx_templates_read(m, inst_module_templates, cx->sink);
	if (!cx->module_ts || !inst_shuffle_begin(cx) || !inst_read_prune(cx))
		return BASE_EXIT_INTERNAL;
	inst_read_files(cx);
	if (!one_pass(cx, INST_PASS_CALLED))
		return BASE_EXIT_INTERNAL;
	ptx_raise_version(m, MIN_PTX_MAJOR, MIN_PTX_MINOR);
	if (m->sm >= INST_CLUSTER_SM)
		ptx_raise_version(m, CLUSTER_PTX_MAJOR, CLUSTER_PTX_MINOR);
	cx->hash = inst_late_opnd(cx, INST_LATE_HASH, 0, RACE_KIND_NONE);
	for (unsigned i = 0; i < RACE_DETECTORS_PUT && !rc; i++)
		if (cx->opt->sanitize & 1u << i)
			rc = pipelines[i](cx);
	if (rc)
		return rc;
	return one_pass(cx, INST_PASS_SITES) ? 0 : BASE_EXIT_INTERNAL;
}

static bool is_shared_access(const struct ptx_stmt *s)
{
	const uint32_t effects = PTX_EFF_READ | PTX_EFF_WRITE | PTX_EFF_ATOMIC | PTX_EFF_ASYNC |
				 PTX_EFF_COLLECTIVE_MEM | PTX_EFF_DISCARD | PTX_EFF_UNKNOWN;

	if (s->kind != PTX_STMT_INST)
		return s->kind == PTX_STMT_RAW;
	if (!(s->form->effects & effects))
		return false;
	return s->form->effects & PTX_EFF_UNKNOWN ||
	       (s->form->space != PTX_SPACE_PARAM && s->form->space != PTX_SPACE_CONST &&
		s->form->space != PTX_SPACE_LOCAL);
}

static bool has_functions(const struct ptx_module *m)
{
	ptx_each_item(m, it) if (it->kind == PTX_ITEM_FUNC && !it->func->is_proto) return true;
	return false;
}

bool inst_is_idle(const struct ptx_module *m, bool is_relocatable)
{
	ptx_each_item(m, it)
	{
		if (it->kind != PTX_ITEM_FUNC || it->func->is_proto)
			continue;
		if (is_relocatable)
			return false;
		ptx_each_stmt(it->func, s) if (is_shared_access(s)) return false;
	}
	return true;
}

/* A module in which there is nothing to check. */
static int mark_idle(struct inst_ctx *cx)
{
	cx->stats->idle = true;
	if (!has_functions(cx->m))
		return 0;
	cx->module_ts = ptx_templates_read(cx->m, inst_module_templates, cx->sink);
	if (!cx->module_ts)
		return BASE_EXIT_INTERNAL;
	inst_add_blocks(cx);
	return 0;
}

bool inst_is_sound(const struct ptx_module *m)
{
	struct base_sink sink = {0};
	bool is_bad = ptx_verify(m, &sink);

	base_sink_free(&sink);
	return !is_bad;
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
	if (inst_is_idle(m, opt->relocatable))
		return mark_idle(&cx);
	cx.verifies = inst_verifies() && inst_is_sound(m);
	cx.sites = race_sites_new();
	rc = run_pipelines(&cx);
	race_sites_free(cx.sites);
	base_vec_free(&cx.files);
	base_vec_free(&cx.late);
	base_vec_free(&cx.checks);
	base_vec_free(&cx.order_names);
	base_vec_free(&cx.polls);
	base_vec_free(&cx.named);
	inst_end_called(&cx);
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
	if (!rc)
		ptx_print(m, out);
	base_arena_free(&arena);
	return rc;
}
