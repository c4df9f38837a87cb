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
#include "report/keys.h"

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

static const char *text_at(struct saved *s, const cJSON *o, const char *key)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);

	return cJSON_IsString(v) ? race_text(&s->r->arena, v->valuestring, strlen(v->valuestring))
				 : "";
}

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
	uint64_t version = rep_number_get(cJSON_GetObjectItemCaseSensitive(o, "version"));

	if (strcmp(text_at(s, o, "schema"), REP_SCHEMA) || !version) {
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
	struct race_results h = {0};
	rep_keys_get(&r->arena, o, &rep_header_object, &h);
	if (r->command && *r->command && strcmp(r->command, h.command))
		r->command = base_printf(&r->arena, "%s; %s", r->command, h.command);
	else
		r->command = h.command;
	/* The state of a run that worked is that of the merged report; otherwise the last state
	 * is. */
	if (r->agent_state != RACE_AGENT_ATTACHED)
		r->agent_state = h.agent_state;
	r->runs += h.runs;
	r->sample = h.sample > r->sample ? h.sample : r->sample;
	r->rdelay = h.rdelay;
	r->wdelay = h.wdelay;
	r->dense = h.dense;
	r->seed = h.seed;
	for (size_t i = 0; i < h.contexts.n; i++)
		race_context_add(r, &h.contexts.v[i]);
	/* Each of several joined reports has its own summary. */
	if (s->has_header && !s->has_summary)
		note_cut_off(s);
	s->has_header = true;
	s->has_summary = false;
	return true;
}

/* A finding; false: it isn't one of this version. */
static bool finding_get(struct saved *s, const cJSON *o)
{
	struct base_arena *a = &s->r->arena;
	struct rep_entry e = {.f = {.kind = RACE_KIND_NONE}};
	struct race_finding *f = &e.f;

	rep_keys_get(a, o, &rep_finding_object, &e);
	if (!f->kind || !f->cls) {
		base_report(s->sink, BASE_ERROR, s->path, (struct base_span){s->line, 1},
			    "found a finding of kind '%s' and class '%s', expected ones of "
			    "version %d",
			    text_at(s, o, "kind"), text_at(s, o, "class"), REP_SCHEMA_VERSION);
		return false;
	}
	if (!race_has_two_sides(f->kind))
		f->sides = NULL;
	/* Equal ones count once. */
	struct race_finding all = *f;
	f->nsites = f->nseen = 0;
	for (size_t i = 0; i < all.nsites; i++)
		race_site_count(a, f, &all.sites[i]);
	for (size_t i = 0; i < all.nseen; i++)
		race_seen_add(a, f, &all.seen[i]);
	base_vec_push(&s->r->findings, *f);
	return true;
}

static void skip_get(struct saved *s, const cJSON *o)
{
	struct race_skip skip = {0};

	rep_keys_get(&s->r->arena, o, &rep_unchecked_object, &skip);
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

static void counters_add(struct race_results *r, const struct race_results *t,
			 enum race_counter_place place)
{
	for (unsigned i = 0; i < RACE_COUNTERS_COUNT; i++)
		if (race_counters[i].place == place)
			race_counter_add(r, (enum race_counter_id)i,
					 race_counter_get(t, (enum race_counter_id)i));
}

static void oracle_add(struct race_results *r, const struct race_results *t, const cJSON *o)
{
	if (!cJSON_IsObject(o))
		return;
	r->has_oracle = true;
	counters_add(r, t, RACE_IN_ORACLE);
	/* Older versions counted all accesses alike. */
	if (!cJSON_HasObjectItem(o, "judged_of_kernels"))
		r->judged_kernels += t->judged;
	r->is_sc_execution = r->is_sc_execution || t->is_sc_execution;
}

static void summary_get(struct saved *s, const cJSON *o)
{
	struct race_results *r = s->r, t = {0};

	rep_keys_get(&r->arena, o, &rep_totals_object, &t);
	oracle_add(r, &t, cJSON_GetObjectItemCaseSensitive(o, "oracle"));
	race_transfer_counts_add(&r->transfers, &t.transfers);
	race_holds_add(&r->holds, &t.holds);
	r->has_host = r->has_host || cJSON_HasObjectItem(o, "host_checked");
	counters_add(r, &t, RACE_IN_SUMMARY);
	if (!r->cuda_error)
		r->cuda_error = t.cuda_error;
	if (!strcmp(text_at(s, o, "completeness"), rep_completeness_name(RACE_NOTHING))) {
		r->empty_runs++;
		r->why_nothing = text_at(s, o, "reason");
	} else if (!cJSON_HasObjectItem(o, "completeness")) {
		race_gaps_find(r); /* of an older version */
	}
	s->has_summary = true;
}

static void gap_get(struct saved *s, const cJSON *o)
{
	struct race_gap g = {0};

	rep_keys_get(&s->r->arena, o, &rep_gap_object, &g);
	if (!g.why) {
		g.why = RACE_GAP_OTHER;
		g.what = *g.what ? g.what : text_at(s, o, "why");
	}
	race_gap_add(s->r, &g);
}

static bool line_get(struct saved *s, const cJSON *o)
{
	const char *type = text_at(s, o, "type"), *text = "";
	struct base_arena *a = &s->r->arena;

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
		struct race_kernel k = {0};
		rep_keys_get(a, o, &rep_kernel_object, &k);
		race_kernel_add(s->r, &k);
	} else if (!strcmp(type, "plain")) {
		rep_keys_get(a, o, &rep_plain_object, &text);
		race_plain_add(s->r, text, strlen(text));
	} else if (!strcmp(type, "fault")) {
		struct race_stop stop = {0};
		rep_keys_get(a, o, &rep_fault_object, &stop);
		base_vec_push(&s->r->stops, stop);
	} else if (!strcmp(type, "note")) {
		rep_keys_get(a, o, &rep_note_object, &text);
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

static int parse(const char *path, const char *text, size_t n, struct race_results *r,
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
		rep_trees_drop(o);
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

int rep_json_parse(const char *path, const char *text, size_t n, struct race_results *r,
		   struct base_sink *sink)
{
	rep_trees_begin();
	int err = parse(path, text, n, r, sink);
	rep_trees_end();
	return err;
}

int rep_json_read(const char *path, struct race_results *r, struct base_sink *sink)
{
	char *text;
	size_t n;
	int err = rep_file_read(path, &text, &n);

	if (err) {
		base_report(sink, BASE_ERROR, path, (struct base_span){0, 0},
			    "the report can't be read: %s", base_file_error(err));
		return BASE_EXIT_INPUT;
	}
	err = rep_json_parse(path, text, n, r, sink);
	free(text);
	return err;
}
