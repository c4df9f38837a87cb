/*
 * json_read.c - reads saved JSON lines back, to show, convert and merge them.
 *
 * Counts are summed over files; equal findings become one when they are grouped
 * for display (group.c), so that nothing here needs to know which are equal.
 * The schema may grow within a version: lines of a type that this version doesn't know are passed
 * over, which a warning and the report say.
 * A wrong type or a missing key of a known line reads as 0 or "", what isn't JSON is an error with
 * its line.
 */
#include "report/internal.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct saved {
	const char *path;
	struct race_results *r;
	struct base_sink *sink;
	uint32_t line;
	bool has_header, has_summary;
};

static const char *str_get(struct saved *s, const cJSON *o, const char *key)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);

	return cJSON_IsString(v) ? race_text(&s->r->arena, v->valuestring, strlen(v->valuestring))
				 : "";
}

static uint64_t count_get(const cJSON *o, const char *key)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
	double d = cJSON_IsNumber(v) ? v->valuedouble : 0;

	/* The bound is 2^64 as a double; NaN compares false. */
	return d > 0 && d < 18446744073709551616.0 ? (uint64_t)d : 0;
}

static uint32_t small_get(const cJSON *o, const char *key)
{
	uint64_t n = count_get(o, key);

	return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static bool bool_get(const cJSON *o, const char *key)
{
	return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, key));
}

/* "0x..." of up to 32 digits. */
static void hex_get(const cJSON *o, const char *key, uint64_t *high, uint64_t *low)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
	const char *p = cJSON_IsString(v) ? v->valuestring : "";

	*high = *low = 0;
	if (strncmp(p, "0x", 2))
		return;
	for (p += 2; *p; p++) {
		unsigned c = (unsigned char)*p, digit;
		if (c >= '0' && c <= '9')
			digit = c - '0';
		else if (c >= 'a' && c <= 'f')
			digit = c - 'a' + 10;
		else
			return;
		*high = *high << 4 | *low >> 60;
		*low = *low << 4 | digit;
	}
}

static uint64_t hex_get64(const cJSON *o, const char *key)
{
	uint64_t high, low;

	hex_get(o, key, &high, &low);
	return low;
}

static void dim_get(const cJSON *o, const char *key, uint32_t dim[3])
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);

	for (int i = 0; i < 3; i++) {
		const cJSON *e = cJSON_GetArrayItem(v, i);
		double d = cJSON_IsNumber(e) ? e->valuedouble : 0;
		dim[i] = d > 0 && d <= UINT32_MAX ? (uint32_t)d : 0;
	}
}

static void context_get(struct saved *s, const cJSON *o, struct race_context *c)
{
	const cJSON *device = cJSON_GetObjectItemCaseSensitive(o, "device");

	c->pid = small_get(o, "pid");
	c->context = small_get(o, "context");
	c->device = cJSON_IsNumber(device) ? device->valueint : 0;
	c->device_name = str_get(s, o, "device_name");
}

/* ---- findings ---------------------------------------------------------------------- */

static void first_get(const cJSON *o, struct race_first *f)
{
	dim_get(o, "thread", f->thread);
	dim_get(o, "block", f->block);
	f->address = hex_get64(o, "address");
	f->is_generic = bool_get(o, "address_is_generic");
	f->width = small_get(o, "width");
	hex_get(o, "was", &f->was[1], &f->was[0]);
	hex_get(o, "now", &f->now[1], &f->now[0]);
	f->lanes = (uint32_t)hex_get64(o, "lanes");
	f->grid = count_get(o, "grid");
	f->sm = small_get(o, "sm");
}

/* Returns the chain; its length goes to *count. */
static struct race_inlined *inlined_get(struct saved *s, const cJSON *list, size_t *count)
{
	int n = cJSON_GetArraySize(list);
	struct race_inlined *all = BASE_NEWN(&s->r->arena, struct race_inlined, n);
	const cJSON *o;

	*count = 0;
	cJSON_ArrayForEach(o, list)
	{
		struct race_inlined *in = &all[(*count)++];
		in->func = str_get(s, o, "function_mangled");
		in->func_shown = str_get(s, o, "function");
		in->file = str_get(s, o, "file");
		in->line = small_get(o, "line");
		in->col = small_get(o, "column");
		in->is_unsure = bool_get(o, "unsure");
	}
	return all;
}

/* The functions that have the finding; NULL: its own alone. */
static const char **functions_get(struct saved *s, const cJSON *list, size_t *count)
{
	int n = cJSON_GetArraySize(list);
	const char **all = n ? BASE_NEWN(&s->r->arena, const char *, n) : NULL;
	const cJSON *o;

	*count = 0;
	cJSON_ArrayForEach(o, list)
	{
		const char *name = cJSON_IsString(o) ? o->valuestring : "";
		all[(*count)++] = race_text(&s->r->arena, name, strlen(name));
	}
	return all;
}

/* The number of a name that `name_of` gives; 0 for others. */
static unsigned name_get(struct saved *s, const cJSON *o, const char *key,
			 const char *(*name_of)(unsigned), unsigned n)
{
	const char *name = str_get(s, o, key);

	for (unsigned i = 0; i < n; i++)
		if (!strcmp(name, name_of(i)))
			return i;
	return 0;
}

static const char *strength_name(unsigned i)
{
	return rep_strength_name((enum race_strength)i);
}

static const char *scope_name(unsigned i)
{
	return rep_scope_name((enum race_scope)i);
}

static const char *proxy_name(unsigned i)
{
	return rep_proxy_name((enum race_proxy)i);
}

static void call_get(struct saved *s, const cJSON *o, struct race_line *l)
{
	*l = (struct race_line){.func = str_get(s, o, "function_mangled"),
				.file = str_get(s, o, "file"),
				.line = small_get(o, "line"),
				.col = small_get(o, "column")};
}

static void side_get(struct saved *s, const cJSON *o, struct race_side *d)
{
	static const struct {
		const char *key;
		unsigned flag;
	} flags[] = {{"reads", RACE_SIDE_READS},       {"writes", RACE_SIDE_WRITES},
		     {"volatile", RACE_SIDE_VOLATILE}, {"async", RACE_SIDE_ASYNC},
		     {"some_thread", RACE_SIDE_SOME},  {"host", RACE_SIDE_HOST},
		     {"mbarrier", RACE_SIDE_MBARRIER}, {"graph", RACE_SIDE_GRAPH},
		     {"frees", RACE_SIDE_FREES}};
	const cJSON *device = cJSON_GetObjectItemCaseSensitive(o, "device");

	d->func = str_get(s, o, "function_mangled");
	d->func_shown = str_get(s, o, "function");
	d->file = str_get(s, o, "file");
	d->line = small_get(o, "line");
	d->col = small_get(o, "column");
	d->inlined =
		inlined_get(s, cJSON_GetObjectItemCaseSensitive(o, "inlined_at"), &d->ninlined);
	d->kernel = str_get(s, o, "kernel");
	const cJSON *at = cJSON_GetObjectItemCaseSensitive(o, "launched");
	call_get(s, at, &d->launched);
	d->launched_shown = str_get(s, at, "function");
	d->access = (enum race_access)race_access_parse(str_get(s, o, "access"));
	d->space = (enum race_space)race_space_parse(str_get(s, o, "space"));
	d->width = small_get(o, "width");
	d->vec = small_get(o, "vector");
	d->bytes = small_get(o, "bytes");
	d->strength = (enum race_strength)name_get(s, o, "strength", strength_name, RACE_SC + 1u);
	d->scope = (enum race_scope)name_get(s, o, "scope", scope_name, RACE_SCOPE_SYS + 1u);
	d->proxy = (enum race_proxy)name_get(s, o, "proxy", proxy_name, RACE_PROXY_TEXTURE + 1u);
	for (size_t i = 0; i < BASE_COUNTOF(flags); i++)
		d->flags |= bool_get(o, flags[i].key) ? flags[i].flag : 0;
	dim_get(o, "thread", d->thread);
	dim_get(o, "block", d->block);
	d->address = hex_get64(o, "address");
	d->device = cJSON_IsNumber(device) ? device->valueint : 0;
	d->grid = count_get(o, "grid");
	d->cluster = small_get(o, "cluster");
	d->warp = small_get(o, "warp");
	d->update = (enum race_update)race_update_parse(str_get(s, o, "update"));
	if (cJSON_GetObjectItemCaseSensitive(o, "stream"))
		d->stream = small_get(o, "stream") + 1u;
	d->is_near = bool_get(o, "line_is_near");
	d->text = str_get(s, o, "ptx");
	d->ptx_line = small_get(o, "ptx_line");
}

static void object_get(struct saved *s, const cJSON *o, struct race_object *d)
{
	d->memory = (enum race_memory)race_memory_parse(str_get(s, o, "kind"));
	d->name = str_get(s, o, "name");
	d->base = hex_get64(o, "base");
	d->bytes = count_get(o, "bytes");
	dim_get(o, "block", d->owner);
}

static struct race_transfer_op *transfer_get(struct saved *s, const cJSON *o)
{
	struct race_transfer_op *h;

	if (!cJSON_IsObject(o))
		return NULL;
	h = BASE_NEW(&s->r->arena, struct race_transfer_op);
	h->api = str_get(s, o, "api");
	h->module = str_get(s, o, "module");
	h->offset = hex_get64(o, "offset");
	h->stream = hex_get64(o, "stream");
	h->bytes = count_get(o, "bytes");
	h->at = count_get(o, "at");
	h->origin = small_get(o, "origin");
	return h;
}

static uint32_t bits_get(const cJSON *o, const char *key, uint32_t (*bit)(const char *name))
{
	const cJSON *e;
	uint32_t bits = 0;

	cJSON_ArrayForEach(e, cJSON_GetObjectItemCaseSensitive(o, key))
	{
		bits |= cJSON_IsString(e) ? bit(e->valuestring) : 0;
	}
	return bits;
}

static bool finding_get(struct saved *s, const cJSON *o)
{
	struct race_finding f = {0};
	const cJSON *e;

	f.kind = (enum race_kind)race_kind_parse(str_get(s, o, "kind"));
	f.cls = (enum race_class)race_class_parse(str_get(s, o, "class"));
	if (!f.kind || !f.cls) {
		base_report(s->sink, BASE_ERROR, s->path, (struct base_span){s->line, 1},
			    "found a finding of kind '%s' and class '%s', expected ones of "
			    "version %d",
			    str_get(s, o, "kind"), str_get(s, o, "class"), REP_SCHEMA_VERSION);
		return false;
	}
	f.func = str_get(s, o, "function_mangled");
	f.func_shown = str_get(s, o, "function");
	f.file = str_get(s, o, "file");
	f.line = small_get(o, "line");
	f.col = small_get(o, "column");
	f.inlined = inlined_get(s, cJSON_GetObjectItemCaseSensitive(o, "inlined_at"), &f.ninlined);
	f.functions =
		functions_get(s, cJSON_GetObjectItemCaseSensitive(o, "functions"), &f.nfunctions);
	const cJSON *calls = cJSON_GetObjectItemCaseSensitive(o, "launched");
	f.launched = BASE_NEWN(&s->r->arena, struct race_line, cJSON_GetArraySize(calls) + 1);
	cJSON_ArrayForEach(e, calls)
	{
		call_get(s, e, &f.launched[f.nlaunched++]);
	}
	f.access = (enum race_access)race_access_parse(str_get(s, o, "access"));
	f.space = (enum race_space)race_space_parse(str_get(s, o, "space"));
	f.width = small_get(o, "width");
	f.vec = small_get(o, "vector");
	f.is_volatile = bool_get(o, "volatile");
	f.is_near = bool_get(o, "line_is_near");
	f.update = (enum race_update)race_update_parse(str_get(s, o, "update"));
	f.is_same_value = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, "same_value"));
	f.judged = *str_get(s, o, "judged") ? str_get(s, o, "judged") : NULL;
	if (cJSON_HasObjectItem(o, "may_order"))
		f.may = (enum race_may)race_may_parse(str_get(s, o, "may_order"));
	f.module = str_get(s, o, "module");
	f.target = str_get(s, o, "target");
	f.count = count_get(o, "count");
	f.print = strtoull(str_get(s, o, "fingerprint"), NULL, 16);
	const cJSON *also = cJSON_GetObjectItemCaseSensitive(o, "also");
	f.also = BASE_NEWN(&s->r->arena, struct race_also, cJSON_GetArraySize(also) + 1);
	cJSON_ArrayForEach(e, also)
	{
		f.also[f.nalso].kind = (enum race_kind)race_kind_parse(str_get(s, e, "kind"));
		f.also[f.nalso++].count = count_get(e, "count");
	}
	f.missing = bits_get(o, "missing", race_missing_bit);
	f.apart = bits_get(o, "apart", race_apart_bit);
	f.is_muted = bool_get(o, "count_is_lower_bound");
	first_get(cJSON_GetObjectItemCaseSensitive(o, "first"), &f.first);
	if (race_has_two_sides(f.kind)) {
		f.sides = BASE_NEWN(&s->r->arena, struct race_side, 2);
		object_get(s, cJSON_GetObjectItemCaseSensitive(o, "memory"), &f.met);
		side_get(s, cJSON_GetObjectItemCaseSensitive(o, "side"), &f.sides[0]);
		side_get(s, cJSON_GetObjectItemCaseSensitive(o, "second"), &f.sides[1]);
	}
	f.transfer = transfer_get(s, cJSON_GetObjectItemCaseSensitive(o, "transfer"));
	cJSON_ArrayForEach(e, cJSON_GetObjectItemCaseSensitive(o, "sites"))
	{
		struct race_finding_site site = {.table = hex_get64(e, "table"),
						 .site = small_get(e, "site"),
						 .ptx_line = small_get(e, "ptx_line"),
						 .text = str_get(s, e, "ptx"),
						 .count = count_get(e, "count")};
		race_site_count(&s->r->arena, &f, &site);
	}
	cJSON_ArrayForEach(e, cJSON_GetObjectItemCaseSensitive(o, "seen"))
	{
		struct race_context c;
		context_get(s, e, &c);
		race_seen_add(&s->r->arena, &f, &c);
	}
	base_vec_push(&s->r->findings, f);
	return true;
}

/* ---- the other lines ----------------------------------------------------------------- */

static void note_cut_off(struct saved *s)
{
	struct race_gap g = {.why = RACE_GAP_CUT_OFF, .kernel = ""};

	base_report(s->sink, BASE_WARNING, s->path, (struct base_span){s->line, 1},
		    "the report ends without its summary: it is taken as far as it goes");
	g.what = base_printf(&s->r->arena, "%s ends without its summary", s->path);
	race_gap_add(s->r, &g);
	s->r->is_inexact = true;
}

static void note_unknown(struct saved *s, const char *type)
{
	struct race_gap g = {.why = RACE_GAP_OTHER, .kernel = ""};

	g.what = base_printf(&s->r->arena,
			     "%s has lines of type '%.40s', which this version doesn't know",
			     s->path, type);
	if (!race_gap_has(s->r, &g))
		base_report(s->sink, BASE_WARNING, s->path, (struct base_span){s->line, 1},
			    "found a line of type '%.40s', which this version doesn't know: all "
			    "such lines are passed over",
			    type);
	race_gap_add(s->r, &g);
}

static bool header_get(struct saved *s, const cJSON *o)
{
	struct race_results *r = s->r;
	const cJSON *e;
	uint64_t version = count_get(o, "version");

	if (strcmp(str_get(s, o, "schema"), REP_SCHEMA) || !version) {
		base_report(s->sink, BASE_ERROR, s->path, (struct base_span){s->line, 1},
			    "found another kind of JSON, expected a saved report "
			    "(\"schema\":\"" REP_SCHEMA "\")");
		return false;
	}
	if (version > REP_SCHEMA_VERSION) {
		base_report(s->sink, BASE_ERROR, s->path, (struct base_span){s->line, 1},
			    "found a report of version %llu, expected at most %d",
			    (unsigned long long)version, REP_SCHEMA_VERSION);
		return false;
	}
	const char *command = str_get(s, o, "command");
	if (r->command && *r->command && strcmp(r->command, command))
		r->command = base_printf(&r->arena, "%s; %s", r->command, command);
	else
		r->command = command;
	unsigned agent = race_agent_parse(str_get(s, o, "agent"));
	/* The state of a run that worked is that of the merged report; otherwise the last state
	 * is. */
	if (r->agent_state != RACE_AGENT_ATTACHED)
		r->agent_state = (enum race_agent_state)agent;
	r->runs += small_get(o, "runs");
	uint32_t sample = small_get(o, "sample");
	if (sample > r->sample)
		r->sample = sample;
	r->rdelay = small_get(o, "rdelay");
	r->wdelay = small_get(o, "wdelay");
	r->dense = small_get(o, "dense");
	r->seed = small_get(o, "seed");
	cJSON_ArrayForEach(e, cJSON_GetObjectItemCaseSensitive(o, "contexts"))
	{
		struct race_context c;
		context_get(s, e, &c);
		race_context_add(r, &c);
	}
	/* Each of several joined reports has its own summary. */
	if (s->has_header && !s->has_summary)
		note_cut_off(s);
	s->has_header = true;
	s->has_summary = false;
	return true;
}

static void skip_get(struct saved *s, const cJSON *o)
{
	struct race_skip skip = {.what = str_get(s, o, "what"),
				 .func = str_get(s, o, "function_mangled"),
				 .func_shown = str_get(s, o, "function"),
				 .count = count_get(o, "instructions")};

	skip.why = (enum race_unchecked_why)race_why_parse(str_get(s, o, "why"));
	/* The instructions of a program that ran twice count once. */
	for (size_t i = 0; i < s->r->skips.n; i++) {
		struct race_skip *old = &s->r->skips.v[i];
		if (old->why == skip.why && !strcmp(old->what, skip.what) &&
		    !strcmp(old->func, skip.func)) {
			old->count = old->count > skip.count ? old->count : skip.count;
			return;
		}
	}
	race_skip_add(s->r, &skip);
}

/* The rows of counters.def at a place. */
static void counters_get(struct race_results *r, const cJSON *o, enum race_counter_place place)
{
	for (unsigned i = 0; i < RACE_COUNTERS_COUNT; i++) {
		const struct race_counter *c = &race_counters[i];
		const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, c->json);
		uint64_t n;

		if (c->place != place)
			continue;
		if (c->when == RACE_WHEN_EXACT)
			n = (c->missing && !cJSON_IsTrue(v)) || (!c->missing && cJSON_IsFalse(v));
		else if (c->when == RACE_WHEN_FLAG)
			n = bool_get(o, c->json);
		else if (c->bytes == sizeof(uint32_t))
			n = small_get(o, c->json);
		else
			n = count_get(o, c->json);
		race_counter_add(r, (enum race_counter_id)i, n);
	}
}

static void oracle_get(struct race_results *r, const cJSON *o)
{
	if (!cJSON_IsObject(o))
		return;
	r->has_oracle = true;
	counters_get(r, o, RACE_IN_ORACLE);
	/* Older versions counted all accesses alike. */
	if (!cJSON_HasObjectItem(o, "judged_of_kernels"))
		r->judged_kernels += count_get(o, "judged");
	const cJSON *sc = cJSON_GetObjectItemCaseSensitive(o, "fence_sc");
	r->is_sc_execution =
		r->is_sc_execution || (cJSON_IsString(sc) && !strcmp(sc->valuestring, "execution"));
}

static void transfers_get(struct race_results *r, const cJSON *o)
{
	struct race_transfer_counts c = {.checked = count_get(o, "checked"),
					 .bytes = count_get(o, "bytes"),
					 .lost = count_get(o, "lost")};

	for (unsigned i = 0; i < RACE_TRANSFER_SKIPS; i++)
		c.skipped[i] = count_get(o, race_transfer_skip_name(i));
	race_transfer_counts_add(&r->transfers, &c);
}

static void holds_get(struct race_results *r, const cJSON *o)
{
	struct race_holds h = {.held = count_get(o, "held"), .passed = count_get(o, "passed")};

	for (unsigned i = 0; i < RACE_HOLD_SKIPS; i++)
		h.skipped[i] = count_get(o, race_hold_skip_name(i));
	race_holds_add(&r->holds, &h);
}

static void summary_get(struct saved *s, const cJSON *o)
{
	struct race_results *r = s->r;

	oracle_get(r, cJSON_GetObjectItemCaseSensitive(o, "oracle"));
	transfers_get(r, cJSON_GetObjectItemCaseSensitive(o, "transfers"));
	holds_get(r, cJSON_GetObjectItemCaseSensitive(o, "streams"));

	r->has_host = r->has_host || cJSON_HasObjectItem(o, "host_checked");
	counters_get(r, o, RACE_IN_SUMMARY);
	if (!r->cuda_error)
		r->cuda_error = small_get(o, "cuda_error");
	if (!strcmp(str_get(s, o, "completeness"), "nothing")) {
		r->empty_runs++;
		r->why_nothing = str_get(s, o, "reason");
	} else if (!cJSON_HasObjectItem(o, "completeness")) {
		race_gaps_find(r); /* of an older version */
	}
	s->has_summary = true;
}

static void gap_get(struct saved *s, const cJSON *o)
{
	struct race_gap g = {.why = race_gap_parse(str_get(s, o, "why")),
			     .kernel = str_get(s, o, "function_mangled"),
			     .what = str_get(s, o, "what"),
			     .count = count_get(o, "count"),
			     .of = count_get(o, "of")};

	if (!g.why) {
		g.why = RACE_GAP_OTHER;
		g.what = *g.what ? g.what : str_get(s, o, "why");
	}
	race_gap_add(s->r, &g);
}

static bool line_get(struct saved *s, const cJSON *o)
{
	const char *type = str_get(s, o, "type");

	if (!s->has_header && strcmp(type, "header")) {
		base_report(s->sink, BASE_ERROR, s->path, (struct base_span){s->line, 1},
			    "found no report header, expected {\"type\":\"header\",...} first");
		return false;
	}
	/* Files joined with `cat` are several reports, each with its own header. */
	if (!strcmp(type, "header"))
		return header_get(s, o);
	if (!strcmp(type, "finding"))
		return finding_get(s, o);
	if (!strcmp(type, "unchecked")) {
		skip_get(s, o);
	} else if (!strcmp(type, "kernel")) {
		struct race_kernel k = {.name = str_get(s, o, "function_mangled"),
					.name_shown = str_get(s, o, "function"),
					.launches = count_get(o, "launches"),
					.is_instrumented = bool_get(o, "instrumented")};
		race_kernel_add(s->r, &k);
	} else if (!strcmp(type, "plain")) {
		const char *name = str_get(s, o, "name");
		race_plain_add(s->r, name, strlen(name));
	} else if (!strcmp(type, "fault")) {
		const cJSON *device = cJSON_GetObjectItemCaseSensitive(o, "device");
		struct race_stop stop = {.text = str_get(s, o, "text"),
					 .func = str_get(s, o, "function_mangled"),
					 .ptx_line = small_get(o, "ptx_line"),
					 .device = cJSON_IsNumber(device) ? device->valueint : 0};
		base_vec_push(&s->r->stops, stop);
	} else if (!strcmp(type, "note")) {
		const char *text = str_get(s, o, "text");
		race_note_add(s->r, text, strlen(text));
	} else if (!strcmp(type, "gap")) {
		gap_get(s, o);
	} else if (!strcmp(type, "summary")) {
		summary_get(s, o);
	} else {
		note_unknown(s, type);
	}
	return true;
}

int rep_json_parse(const char *path, const char *text, size_t n, struct race_results *r,
		   struct base_sink *sink)
{
	struct saved s = {.path = path, .r = r, .sink = sink};
	const char *p = text, *end = text + n;

	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p)), *stop = nl ? nl : end;
		const char *start = p;
		p = nl ? nl + 1 : end;
		s.line++;
		while (start < stop && (*start == ' ' || *start == '\t' || *start == '\r'))
			start++;
		if (start == stop)
			continue;
		cJSON *o = cJSON_ParseWithLength(start, (size_t)(stop - start));
		if (!cJSON_IsObject(o)) {
			cJSON_Delete(o);
			/* A writer that was killed leaves half a line at the end. */
			if (!nl && s.has_header)
				break;
			base_report(sink, BASE_ERROR, path, (struct base_span){s.line, 1},
				    "found '%.20s', expected one JSON object per line",
				    race_text(&r->arena, start, (size_t)(stop - start)));
			return BASE_EXIT_INPUT;
		}
		bool is_ok = line_get(&s, o);
		cJSON_Delete(o);
		if (!is_ok)
			return BASE_EXIT_INPUT;
	}
	if (!s.has_header) {
		base_report(sink, BASE_ERROR, path, (struct base_span){1, 1},
			    "found an empty file, expected a saved report");
		return BASE_EXIT_INPUT;
	}
	if (!s.has_summary)
		note_cut_off(&s);
	race_gaps_join(r);
	return 0;
}

int rep_json_read(const char *path, struct race_results *r, struct base_sink *sink)
{
	char *text;
	size_t n;
	int err = base_read_file(path, &text, &n);

	if (err) {
		base_report(sink, BASE_ERROR, path, (struct base_span){0, 0},
			    "the report can't be read: %s", strerror(err));
		return BASE_EXIT_INPUT;
	}
	err = rep_json_parse(path, text, n, r, sink);
	free(text);
	return err;
}
