/*
 * pipeline.c - what happens to a module, in order.
 */
#include "instrument/detector.h"

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

uint32_t inst_accesses_of(const struct ptx_func *f)
{
	uint32_t n = 0;

	ptx_each_stmt(f, s) n += is_access(s);
	return n;
}

/* ---- the passes over a function -------------------------------------------------------------- */

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
	[INST_PASS_SHUFFLE] = inst_shuffle_function,
	[INST_PASS_FRAME] = frame_function,
};

bool inst_function_pass(struct inst_ctx *cx, enum inst_pass pass)
{
	if (pass == cx->detector->pass)
		cx->detector->put_checks(cx);
	else
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

bool inst_leave_function(struct inst_ctx *cx, struct ptx_func *f, const char *why)
{
	if (inst_begin_function(cx, f))
		leave_function(cx, why);
	return true;
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
	uint32_t n = inst_accesses_of(f);
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

static bool begin_module(struct inst_ctx *cx)
{
	return cx->detector->begin_module(cx);
}

static bool end_module(struct inst_ctx *cx)
{
	return cx->detector->end_module(cx);
}

static bool (*const on_module[INST_PASSES])(struct inst_ctx *cx) = {
	[INST_PASS_CALLED] = inst_begin_called,
	[INST_PASS_RUNTIME] = begin_module,
	[INST_PASS_CHECKS] = end_module,
	[INST_PASS_SITES] = inst_add_sites,
};

static bool one_pass(struct inst_ctx *cx, enum inst_pass pass)
{
	return on_module[pass](cx) && pass_end(cx, pass, NULL);
}

/* Up to `last`: what is ours comes after it, or is marked as inserted. */
static bool each_function(struct inst_ctx *cx, const struct ptx_item *last)
{
	ptx_each_item(cx->m, it)
	{
		if (it->kind == PTX_ITEM_FUNC && !it->inserted && !it->func->is_proto &&
		    !inst_is_replaced(cx, it->func) && !cx->detector->function(cx, it->func))
			return false;
		if (it == last)
			break;
	}
	return true;
}

const struct inst_detector *const inst_detectors[RACE_DETECTORS_PUT] = {
#define DETECTOR(id, word, ...) [RACE_DETECTOR_##id] = &inst_detector_##word,
#include "base/detectors.def"
};

/* May a detector be without any function of the module? Another object that is linked to this one
 * shares its symbols. */
static bool may_have_none(const struct inst_ctx *cx)
{
	unsigned sharing = cx->lent ? cx->lent | race_detectors_with(RACE_CAUSES) : 0;

	return sharing >> cx->detector->id & 1 && !cx->opt->relocatable;
}

/* Takes back what the detector put in at the module's begin. What says which module has its checks
 * stays where it was asked for, with a mark that it needs no words. */
static void take_back(struct inst_ctx *cx, struct ptx_item *const *items, size_t n, bool was_marked)
{
	for (size_t i = 0; i < n; i++)
		ptx_remove_item(cx->m, items[i]);
	cx->is_host_marked = was_marked;
	if (cx->lent >> cx->detector->id & 1)
		return;
	cx->detector->put_block(cx, inst_first_code(cx->m));
	inst_add_mark(cx, inst_first_code(cx->m), race_words_of(cx->detector->id)->part);
}

/* All that one detector puts in. */
static bool run_detector(struct inst_ctx *cx, const struct inst_detector *d)
{
	const struct ptx_item *last = cx->m->last, *at = inst_first_code(cx->m);
	struct ptx_item *before = at ? at->prev : NULL;
	bool was_marked = cx->is_host_marked, is_good;
	BASE_VEC(struct ptx_item *) put = {0};

	cx->detector = d;
	race_sites_begin_detector(cx->sites);
	cx->is_followed = false;
	cx->ts = ptx_templates_read(cx->m, d->templates, cx->sink);
	is_good = cx->ts && one_pass(cx, INST_PASS_RUNTIME);
	for (struct ptx_item *it = before ? before->next : cx->m->first; it && it != at;
	     it = it->next)
		base_vec_push(&put, it);
	is_good = is_good && each_function(cx, last);
	if (is_good && !cx->is_followed && may_have_none(cx))
		take_back(cx, put.v, put.n, was_marked);
	else
		is_good = is_good && one_pass(cx, INST_PASS_CHECKS);
	base_vec_free(&put);
	return is_good;
}

/* What happens to a module, in this order: the detectors in that of their rows, between the steps
 * that all of them share. */
static int run_passes(struct inst_ctx *cx)
{
	struct ptx_module *m = cx->m;

	cx->module_ts = ptx_templates_read(m, inst_module_templates, cx->sink);
	if (!cx->module_ts || !inst_shuffle_begin(cx) || !inst_read_prune(cx) ||
	    !inst_begin_nap(cx))
		return BASE_EXIT_INTERNAL;
	inst_read_files(cx);
	if (!one_pass(cx, INST_PASS_CALLED))
		return BASE_EXIT_INTERNAL;
	ptx_raise_version(m, MIN_PTX_MAJOR, MIN_PTX_MINOR);
	if (m->sm >= INST_CLUSTER_SM)
		ptx_raise_version(m, CLUSTER_PTX_MAJOR, CLUSTER_PTX_MINOR);
	cx->hash = inst_late_opnd(cx, INST_LATE_HASH, 0, RACE_KIND_NONE);
	for (unsigned i = 0; i < RACE_DETECTORS_PUT; i++)
		if (cx->opt->sanitize & 1u << i && !run_detector(cx, inst_detectors[i]))
			return BASE_EXIT_INTERNAL;
	inst_drop_unused(cx); /* what it leaves is verified with the tables of sites */
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
	struct ptx_item *at = inst_first_code(cx->m);
	for (unsigned i = 0; i < RACE_DETECTORS_PUT; i++)
		if (cx->opt->sanitize & 1u << i)
			inst_detectors[i]->put_block(cx, at);
	return 0;
}

bool inst_is_sound(const struct ptx_module *m)
{
	struct base_sink sink = {0};
	bool is_bad = ptx_verify(m, &sink);

	base_sink_free(&sink);
	return !is_bad && ptx_has_its_version(m);
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
	struct inst_options both = *opt;
	cx.lent = opt->leaves_plain ? race_detectors_for(opt->sanitize) : 0;
	both.sanitize |= cx.lent;
	cx.opt = &both;
	cx.verifies = inst_verifies() && inst_is_sound(m);
	cx.sites = race_sites_new();
	rc = run_passes(&cx);
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
