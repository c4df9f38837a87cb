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
#include "report/json_get.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
		return rep_json_finding(s, o);
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
