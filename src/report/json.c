/*
 * json.c - the report as JSON lines, which is also the format it is saved in.
 *
 * One object per line (docs/report-format.md): header, findings, what was not
 * checked, kernels, notes, summary last, so that a file without its summary can be recognised as
 * incomplete. 64-bit values that need every bit (addresses, hashes, values) are hexadecimal
 * strings; counts are numbers, exact below 2^53. Ignored findings are written too, marked, and
 * matched against the rules again when read.
 */
#include "report/internal.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void line_put(struct base_buf *out, cJSON *o)
{
	char *text = cJSON_PrintUnformatted(o);

	if (text) {
		base_buf_puts(out, text);
		base_buf_puts(out, "\n");
	}
	cJSON_free(text);
	cJSON_Delete(o);
}

static cJSON *line_new(const char *type)
{
	cJSON *o = cJSON_CreateObject();

	cJSON_AddStringToObject(o, "type", type);
	return o;
}

/* cJSON numbers are doubles and print as such; counts are written digit by digit. */
static void count_put(cJSON *o, const char *key, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, n);
	cJSON_AddRawToObject(o, key, text);
}

static void hex_put(cJSON *o, const char *key, uint64_t high, uint64_t low)
{
	char text[40];

	if (high)
		snprintf(text, sizeof(text), "0x%" PRIx64 "%016" PRIx64, high, low);
	else
		snprintf(text, sizeof(text), "0x%" PRIx64, low);
	cJSON_AddStringToObject(o, key, text);
}

static void place_put(cJSON *o, const char *func, const char *func_shown, const char *file,
		      uint32_t line, uint32_t col)
{
	cJSON_AddStringToObject(o, "function", func_shown);
	cJSON_AddStringToObject(o, "function_mangled", func);
	cJSON_AddStringToObject(o, "file", file);
	count_put(o, "line", line);
	count_put(o, "column", col);
}

static void dim_put(cJSON *o, const char *key, const uint32_t dim[3])
{
	cJSON *v = cJSON_AddArrayToObject(o, key);

	for (int i = 0; i < 3; i++)
		cJSON_AddItemToArray(v, cJSON_CreateNumber((double)dim[i]));
}

static void context_put(cJSON *o, const struct race_context *c)
{
	count_put(o, "pid", c->pid);
	count_put(o, "context", c->context);
	cJSON_AddNumberToObject(o, "device", c->device);
	cJSON_AddStringToObject(o, "device_name", c->device_name);
}

static void contexts_put(cJSON *o, const char *key, const struct race_context *c, size_t n)
{
	cJSON *v = cJSON_AddArrayToObject(o, key);

	for (size_t i = 0; i < n; i++) {
		cJSON *e = cJSON_CreateObject();
		context_put(e, &c[i]);
		cJSON_AddItemToArray(v, e);
	}
}

static void first_put(cJSON *parent, const struct race_finding *f)
{
	const struct race_first *first = &f->first;
	cJSON *o = cJSON_AddObjectToObject(parent, "first");

	dim_put(o, "thread", first->thread);
	dim_put(o, "block", first->block);
	hex_put(o, "address", 0, first->address);
	cJSON_AddBoolToObject(o, "address_is_generic", first->is_generic);
	count_put(o, "width", first->width);
	hex_put(o, "was", first->was[1], first->was[0]);
	hex_put(o, "now", first->now[1], first->now[0]);
	hex_put(o, "lanes", 0, first->lanes);
	count_put(o, "grid", first->grid);
	count_put(o, "sm", first->sm);
}

static void sites_put(cJSON *parent, const struct race_finding *f)
{
	cJSON *v = cJSON_AddArrayToObject(parent, "sites");

	for (size_t i = 0; i < f->nsites; i++) {
		cJSON *o = cJSON_CreateObject();
		hex_put(o, "table", 0, f->sites[i].table);
		count_put(o, "site", f->sites[i].site);
		count_put(o, "ptx_line", f->sites[i].ptx_line);
		cJSON_AddStringToObject(o, "ptx", f->sites[i].text);
		count_put(o, "count", f->sites[i].count);
		cJSON_AddItemToArray(v, o);
	}
}

static void inlined_put(cJSON *o, const struct race_inlined *in, size_t n)
{
	cJSON *chain = cJSON_AddArrayToObject(o, "inlined_at");

	for (size_t i = 0; i < n; i++) {
		cJSON *c = cJSON_CreateObject();
		place_put(c, in[i].func, in[i].func_shown, in[i].file, in[i].line, in[i].col);
		if (in[i].is_unsure)
			cJSON_AddBoolToObject(c, "unsure", true);
		cJSON_AddItemToArray(chain, c);
	}
}

static void side_put(cJSON *parent, const char *key, const struct race_side *s)
{
	cJSON *o = cJSON_AddObjectToObject(parent, key);

	place_put(o, s->func, s->func_shown, s->file, s->line, s->col);
	inlined_put(o, s->inlined, s->ninlined);
	cJSON_AddStringToObject(o, "kernel", s->kernel);
	if (*s->launched.func || s->launched.line)
		place_put(cJSON_AddObjectToObject(o, "launched"), s->launched.func,
			  s->launched_shown, s->launched.file, s->launched.line, s->launched.col);
	cJSON_AddStringToObject(o, "access", race_access_name(s->access));
	cJSON_AddStringToObject(o, "space", race_space_name(s->space));
	count_put(o, "width", s->width);
	count_put(o, "vector", s->vec);
	count_put(o, "bytes", s->bytes);
	cJSON_AddStringToObject(o, "strength", rep_strength_name(s->strength));
	cJSON_AddStringToObject(o, "scope", rep_scope_name(s->scope));
	cJSON_AddStringToObject(o, "proxy", rep_proxy_name(s->proxy));
	cJSON_AddBoolToObject(o, "reads", (s->flags & RACE_SIDE_READS) != 0);
	cJSON_AddBoolToObject(o, "writes", (s->flags & RACE_SIDE_WRITES) != 0);
	cJSON_AddBoolToObject(o, "volatile", (s->flags & RACE_SIDE_VOLATILE) != 0);
	cJSON_AddBoolToObject(o, "async", (s->flags & RACE_SIDE_ASYNC) != 0);
	cJSON_AddBoolToObject(o, "host", (s->flags & RACE_SIDE_HOST) != 0);
	cJSON_AddBoolToObject(o, "graph", (s->flags & RACE_SIDE_GRAPH) != 0);
	cJSON_AddBoolToObject(o, "frees", (s->flags & RACE_SIDE_FREES) != 0);
	cJSON_AddBoolToObject(o, "mbarrier", (s->flags & RACE_SIDE_MBARRIER) != 0);
	if (s->flags & RACE_SIDE_SOME)
		cJSON_AddBoolToObject(o, "some_thread", true);
	dim_put(o, "thread", s->thread);
	dim_put(o, "block", s->block);
	hex_put(o, "address", 0, s->address);
	cJSON_AddNumberToObject(o, "device", s->device);
	count_put(o, "grid", s->grid);
	count_put(o, "cluster", s->cluster);
	count_put(o, "warp", s->warp);
	cJSON_AddStringToObject(o, "update", race_update_name(s->update));
	if (s->stream)
		count_put(o, "stream", s->stream - 1u);
	cJSON_AddBoolToObject(o, "line_is_near", s->is_near);
	cJSON_AddStringToObject(o, "ptx", s->text);
	count_put(o, "ptx_line", s->ptx_line);
}

static void object_put(cJSON *parent, const struct race_finding *f)
{
	cJSON *o = cJSON_AddObjectToObject(parent, "memory");

	cJSON_AddStringToObject(o, "kind", race_memory_name(f->met.memory));
	cJSON_AddStringToObject(o, "name", f->met.name);
	hex_put(o, "base", 0, f->met.base);
	count_put(o, "bytes", f->met.bytes);
	dim_put(o, "block", f->met.owner);
}

static void transfer_put(cJSON *parent, const struct race_transfer_op *h)
{
	cJSON *o = cJSON_AddObjectToObject(parent, "transfer");

	cJSON_AddStringToObject(o, "api", h->api);
	cJSON_AddStringToObject(o, "module", h->module);
	hex_put(o, "offset", 0, h->offset);
	hex_put(o, "stream", 0, h->stream);
	count_put(o, "bytes", h->bytes);
	count_put(o, "at", h->at);
	count_put(o, "origin", h->origin);
}

static void transfers_put(cJSON *parent, const struct race_transfer_counts *c)
{
	uint64_t any = c->checked | c->lost;

	for (unsigned i = 0; i < RACE_TRANSFER_SKIPS; i++)
		any |= c->skipped[i];
	if (!any)
		return;
	cJSON *o = cJSON_AddObjectToObject(parent, "transfers");
	count_put(o, "checked", c->checked);
	count_put(o, "bytes", c->bytes);
	for (unsigned i = 0; i < RACE_TRANSFER_SKIPS; i++)
		count_put(o, race_transfer_skip_name(i), c->skipped[i]);
	count_put(o, "lost", c->lost);
}

static void holds_put(cJSON *parent, const struct race_holds *h)
{
	uint64_t any = h->held | h->passed;

	for (unsigned i = 0; i < RACE_HOLD_SKIPS; i++)
		any |= h->skipped[i];
	if (!any)
		return;
	cJSON *o = cJSON_AddObjectToObject(parent, "streams");
	count_put(o, "held", h->held);
	count_put(o, "passed", h->passed);
	for (unsigned i = 0; i < RACE_HOLD_SKIPS; i++)
		count_put(o, race_hold_skip_name(i), h->skipped[i]);
}

/* Where the same finding is in several functions. */
static void functions_put(cJSON *o, const struct rep_entry *e)
{
	cJSON *v = e->nfunctions > 1 ? cJSON_AddArrayToObject(o, "functions") : NULL;

	for (size_t i = 0; v && i < e->nfunctions && i < REP_FUNCTIONS; i++)
		cJSON_AddItemToArray(v, cJSON_CreateString(e->functions[i]));
}

static void also_put(cJSON *o, const struct race_finding *f)
{
	cJSON *v = f->nalso ? cJSON_AddArrayToObject(o, "also") : NULL;

	for (size_t i = 0; i < f->nalso; i++) {
		cJSON *c = cJSON_CreateObject();
		cJSON_AddStringToObject(c, "kind", race_kind_name(f->also[i].kind));
		count_put(c, "count", f->also[i].count);
		cJSON_AddItemToArray(v, c);
	}
}

/* An array of the names of the bits. */
static void bits_put(cJSON *o, const char *key, uint32_t bits, const char *(*name)(unsigned))
{
	cJSON *v = bits ? cJSON_AddArrayToObject(o, key) : NULL;

	for (unsigned i = 0; v && bits >> i; i++)
		if (bits >> i & 1)
			cJSON_AddItemToArray(v, cJSON_CreateString(name(i)));
}

static void launchers_put(cJSON *o, const struct race_finding *f)
{
	cJSON *v = f->nlaunched ? cJSON_AddArrayToObject(o, "launched") : NULL;
	struct base_arena a = {0};

	for (size_t i = 0; i < f->nlaunched; i++) {
		const struct race_line *l = &f->launched[i];
		cJSON *c = cJSON_CreateObject();
		place_put(c, l->func, race_demangle(&a, l->func), l->file, l->line, l->col);
		cJSON_AddItemToArray(v, c);
	}
	base_arena_free(&a);
}

static void advice_put(cJSON *o, const struct race_finding *f)
{
	struct base_arena a = {0};

	cJSON_AddStringToObject(o, "advice", race_advice(&a, f));
	base_arena_free(&a);
}

static void finding_put(struct base_buf *out, const struct rep_entry *e)
{
	const struct race_finding *f = &e->f;
	cJSON *o = line_new("finding");
	char print[17];

	cJSON_AddStringToObject(o, "class", race_class_name(f->cls));
	cJSON_AddStringToObject(o, "kind", race_kind_name(f->kind));
	cJSON_AddBoolToObject(o, "counts", f->cls == RACE_CLASS_RACE && !e->ignored);
	cJSON_AddStringToObject(o, "ignored", race_ignored_name(e->ignored));
	if (f->is_same_value)
		cJSON_AddBoolToObject(o, "same_value", true);
	if (f->judged)
		cJSON_AddStringToObject(o, "judged", f->judged);
	if (f->may)
		cJSON_AddStringToObject(o, "may_order", race_may_name(f->may));
	place_put(o, f->func, f->func_shown, f->file, f->line, f->col);
	inlined_put(o, f->inlined, f->ninlined);
	functions_put(o, e);
	launchers_put(o, f);
	cJSON_AddStringToObject(o, "access", race_access_name(f->access));
	cJSON_AddStringToObject(o, "space", race_space_name(f->space));
	count_put(o, "width", f->width);
	count_put(o, "vector", f->vec);
	cJSON_AddBoolToObject(o, "volatile", f->is_volatile);
	cJSON_AddBoolToObject(o, "line_is_near", f->is_near);
	cJSON_AddStringToObject(o, "update", race_update_name(f->update));
	cJSON_AddStringToObject(o, "module", f->module);
	cJSON_AddStringToObject(o, "target", f->target);
	count_put(o, "count", f->count);
	cJSON_AddBoolToObject(o, "count_is_lower_bound", f->is_muted);
	snprintf(print, sizeof(print), "%016" PRIx64, f->print);
	cJSON_AddStringToObject(o, "fingerprint", print);
	also_put(o, f);
	bits_put(o, "missing", f->missing, race_missing_name);
	bits_put(o, "apart", f->apart, race_apart_name);
	advice_put(o, f);
	first_put(o, f);
	if (f->sides) {
		object_put(o, f);
		side_put(o, "side", &f->sides[0]);
		side_put(o, "second", &f->sides[1]);
	}
	if (f->transfer)
		transfer_put(o, f->transfer);
	sites_put(o, f);
	contexts_put(o, "seen", f->seen, f->nseen);
	line_put(out, o);
}

static void header_put(struct base_buf *out, const struct race_results *r)
{
	cJSON *o = line_new("header");

	cJSON_AddStringToObject(o, "schema", REP_SCHEMA);
	cJSON_AddNumberToObject(o, "version", REP_SCHEMA_VERSION);
	cJSON_AddStringToObject(o, "command", r->command ? r->command : "");
	cJSON_AddStringToObject(o, "agent", race_agent_name(r->agent_state));
	count_put(o, "runs", r->runs ? r->runs : 1);
	count_put(o, "rdelay", r->rdelay);
	count_put(o, "wdelay", r->wdelay);
	count_put(o, "sample", r->sample);
	count_put(o, "dense", r->dense);
	count_put(o, "seed", r->seed);
	contexts_put(o, "contexts", r->contexts.v, r->contexts.n);
	line_put(out, o);
}

static void lists_put(struct base_buf *out, const struct race_results *r)
{
	for (size_t i = 0; i < r->skips.n; i++) {
		const struct race_skip *s = &r->skips.v[i];
		cJSON *o = line_new("unchecked");
		cJSON_AddStringToObject(o, "why", race_why_name(s->why));
		cJSON_AddStringToObject(o, "what", s->what);
		cJSON_AddStringToObject(o, "function", s->func_shown);
		cJSON_AddStringToObject(o, "function_mangled", s->func);
		count_put(o, "instructions", s->count);
		line_put(out, o);
	}
	for (size_t i = 0; i < r->kernels.n; i++) {
		const struct race_kernel *k = &r->kernels.v[i];
		cJSON *o = line_new("kernel");
		cJSON_AddStringToObject(o, "function", k->name_shown);
		cJSON_AddStringToObject(o, "function_mangled", k->name);
		cJSON_AddBoolToObject(o, "instrumented", k->is_instrumented);
		count_put(o, "launches", k->launches);
		line_put(out, o);
	}
	for (size_t i = 0; i < r->gaps.n; i++) {
		const struct race_gap *g = &r->gaps.v[i];
		cJSON *o = line_new("gap");
		cJSON_AddStringToObject(o, "why", race_gap_rows[g->why].name);
		cJSON_AddStringToObject(o, "function", g->kernel_shown);
		cJSON_AddStringToObject(o, "function_mangled", g->kernel);
		cJSON_AddStringToObject(o, "what", g->what);
		count_put(o, "count", g->count);
		count_put(o, "of", g->of);
		line_put(out, o);
	}
	for (size_t i = 0; i < r->plain.n; i++) {
		cJSON *o = line_new("plain");
		cJSON_AddStringToObject(o, "name", r->plain.v[i]);
		line_put(out, o);
	}
	for (size_t i = 0; i < r->notes.n; i++) {
		cJSON *o = line_new("note");
		cJSON_AddStringToObject(o, "text", r->notes.v[i]);
		line_put(out, o);
	}
}

/* What stopped a device. */
static void stops_put(struct base_buf *out, const struct race_results *r)
{
	for (size_t i = 0; i < r->stops.n; i++) {
		const struct race_stop *s = &r->stops.v[i];
		cJSON *o = line_new("fault");
		cJSON_AddStringToObject(o, "text", s->text);
		cJSON_AddStringToObject(o, "function_mangled", s->func);
		count_put(o, "ptx_line", s->ptx_line);
		cJSON_AddNumberToObject(o, "device", s->device);
		line_put(out, o);
	}
}

/* The rows of counters.def at a place, in their order. */
static void counters_put(cJSON *o, const struct race_results *r, enum race_counter_place place)
{
	for (unsigned i = 0; i < RACE_COUNTERS_COUNT; i++) {
		const struct race_counter *c = &race_counters[i];
		uint64_t n = race_counter_get(r, (enum race_counter_id)i);

		if (c->place != place || (c->when == RACE_WHEN_NONZERO && !n) ||
		    (c->when == RACE_WHEN_HOST && !r->has_host))
			continue;
		if (c->when == RACE_WHEN_FLAG || c->when == RACE_WHEN_EXACT)
			cJSON_AddBoolToObject(o, c->json, (n != 0) == (c->when == RACE_WHEN_FLAG));
		else
			count_put(o, c->json, n);
	}
}

static void oracle_put(cJSON *parent, const struct race_results *r)
{
	cJSON *o = cJSON_AddObjectToObject(parent, "oracle");

	counters_put(o, r, RACE_IN_ORACLE);
	cJSON_AddStringToObject(o, "fence_sc", r->is_sc_execution ? "execution" : "program");
}

static void summary_put(struct base_buf *out, struct rep_view *v)
{
	static const char *const verdicts[] = {
		[REP_VERDICT_RACES] = "races",
		[REP_VERDICT_OTHER] = "other-findings",
		[REP_VERDICT_CLEAN] = "no-race-seen",
		[REP_VERDICT_NOTHING] = "nothing-checked",
	};
	const struct race_results *r = v->r;
	cJSON *o = line_new("summary");

	cJSON_AddStringToObject(o, "verdict", verdicts[v->verdict]);
	cJSON_AddStringToObject(o, "text", rep_result_sentence(v));
	cJSON_AddStringToObject(o, "completeness", rep_completeness_name(v));
	if (v->reason && *v->reason)
		cJSON_AddStringToObject(o, "reason", v->reason);
	count_put(o, "kernel_accesses", race_kernel_accesses(r));
	count_put(o, "races", v->races);
	count_put(o, "other_findings", v->others);
	count_put(o, "suppressed", v->ignored[RACE_IGNORED_SUPPRESSED]);
	count_put(o, "ignored_same_value", v->ignored[RACE_IGNORED_SAME_VALUE]);
	count_put(o, "ignored_possible", v->ignored[RACE_IGNORED_POSSIBLE]);
	if (v->ignored[RACE_IGNORED_UNDECIDED])
		count_put(o, "undecided", v->ignored[RACE_IGNORED_UNDECIDED]);
	if (v->opt->known)
		count_put(o, "known", v->ignored[RACE_IGNORED_KNOWN]);
	counters_put(o, r, RACE_IN_SUMMARY);
	count_put(o, "cuda_error", r->cuda_error);
	transfers_put(o, &r->transfers);
	holds_put(o, &r->holds);
	if (r->has_oracle)
		oracle_put(o, r);
	cJSON *unused = cJSON_AddArrayToObject(o, "unused_suppressions");
	const struct race_ignore *ig = v->opt->ignore;
	for (size_t i = 0; ig && i < ig->rules.n; i++)
		if (!v->hits[i])
			cJSON_AddItemToArray(unused, cJSON_CreateString(ig->rules.v[i].text));
	line_put(out, o);
}

void rep_json(struct base_buf *out, struct rep_view *v)
{
	rep_prints_make(v);
	header_put(out, v->r);
	for (size_t i = 0; i < v->entries.n; i++)
		finding_put(out, &v->entries.v[i]);
	stops_put(out, v->r);
	lists_put(out, v->r);
	summary_put(out, v);
}
