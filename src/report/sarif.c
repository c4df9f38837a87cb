/*
 * sarif.c - the report as SARIF 2.1.0, as GitHub's code scanning takes it.
 *
 * Each kind of finding is a rule with a help text. A finding's own place is its location, the
 * other side a related one; both threads are thread flows of one code flow. Paths below
 * --source-root are relative to SRCROOT. partialFingerprints has the print of form.c, which stays
 * when lines move. GitHub refuses more than 25,000 results of a run and more than 10 MB gzipped,
 * and shows 5,000: the surest come first, what is beyond either limit is left out, and a
 * notification counts it. Such text gzips to less than a sixth (measured: a fortieth), so its own
 * size is what is looked at.
 *
 * Costs: the text is made once more, with half of the results, for each time that it is too large.
 */
#include "report/form.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#define RESULTS_MAX 25000u
#define BYTES_MAX   ((size_t)60 << 20)
#define RESULT	    4096 /* bytes of most results, at most */
#define SCHEMA	    "https://json.schemastore.org/sarif-2.1.0.json"
#define VERSION	    "2.1.0"

static const char *const levels[] = {
	[REP_FORM_ERROR] = "error", [REP_FORM_WARNING] = "warning", [REP_FORM_NOTE] = "note"};

static void text_put(cJSON *o, const char *key, const char *text)
{
	cJSON_AddStringToObject(cJSON_AddObjectToObject(o, key), "text", text);
}

/* ---- rules ----------------------------------------------------------------------------- */

struct rules {
	BASE_VEC(const struct rep_form_item *) v;
};

static size_t rule_index(struct rules *r, const struct rep_form_item *it)
{
	for (size_t i = 0; i < r->v.n; i++)
		if (!strcmp(r->v.v[i]->rule, it->rule))
			return i;
	base_vec_push(&r->v, it);
	return r->v.n - 1;
}

static void rule_put(cJSON *list, const struct rep_form_item *it)
{
	static const char *const precision[] = {[REP_FORM_ERROR] = "very-high",
						[REP_FORM_WARNING] = "high",
						[REP_FORM_NOTE] = "medium"};
	cJSON *o = cJSON_CreateObject(), *p;

	cJSON_AddItemToArray(list, o);
	cJSON_AddStringToObject(o, "id", it->rule);
	text_put(o, "shortDescription", it->rule_title);
	text_put(o, "fullDescription", it->sentence);
	text_put(o, "help", *it->help ? it->help : it->sentence);
	p = cJSON_AddObjectToObject(o, "defaultConfiguration");
	cJSON_AddStringToObject(p, "level", levels[it->level]);
	p = cJSON_AddObjectToObject(o, "properties");
	cJSON_AddStringToObject(p, "precision", precision[it->level]);
	cJSON_AddStringToObject(p, "problem.severity",
				it->level == REP_FORM_NOTE ? "recommendation" : levels[it->level]);
	cJSON *tags = cJSON_AddArrayToObject(p, "tags");
	cJSON_AddItemToArray(tags, cJSON_CreateString("concurrency"));
	cJSON_AddItemToArray(tags, cJSON_CreateString("cuda"));
}

/* ---- places ---------------------------------------------------------------------------- */

/* RFC 3986: what isn't allowed in a path is escaped. */
static const char *uri_of(struct base_arena *a, const char *path, bool is_relative)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789-._~/!$&'()*+,;=@";
	struct base_buf out = {0};

	if (!is_relative)
		base_buf_puts(&out, "file://");
	for (; *path; path++) {
		if (strchr(plain, *path))
			base_buf_put(&out, path, 1);
		else
			base_buf_printf(&out, "%%%02X", (unsigned char)*path);
	}
	const char *uri = base_strndup(a, out.n ? out.p : "", out.n);
	base_buf_free(&out);
	return uri;
}

static cJSON *location_new(struct rep_form *f, const struct rep_form_side *s)
{
	/* GitHub shows no result without a file: then the program stands in for it. */
	const char *file = *s->file ? s->file : *f->command ? f->command : "unknown";
	bool is_relative = *s->file ? s->is_relative : *file != '/';
	cJSON *o = cJSON_CreateObject();
	cJSON *physical = cJSON_AddObjectToObject(o, "physicalLocation");
	cJSON *artifact = cJSON_AddObjectToObject(physical, "artifactLocation");

	cJSON_AddStringToObject(artifact, "uri", uri_of(&f->arena, file, is_relative));
	if (is_relative)
		cJSON_AddStringToObject(artifact, "uriBaseId", "SRCROOT");
	cJSON *region = cJSON_AddObjectToObject(physical, "region");
	cJSON_AddNumberToObject(region, "startLine", s->line ? s->line : 1);
	if (s->line && s->col)
		cJSON_AddNumberToObject(region, "startColumn", s->col);
	if (*s->func) {
		cJSON *l = cJSON_CreateObject();
		cJSON_AddItemToArray(cJSON_AddArrayToObject(o, "logicalLocations"), l);
		cJSON_AddStringToObject(l, "fullyQualifiedName", s->func);
		cJSON_AddStringToObject(l, "kind", "function");
	}
	return o;
}

static const char *side_text(struct rep_form *f, const struct rep_form_side *s)
{
	const char *thread = rep_form_thread(&f->arena, s);

	return base_printf(&f->arena, "%s%s%s", *s->access ? s->access : s->verb,
			   *thread ? " by " : "", thread);
}

static void flows_put(cJSON *o, struct rep_form *f, const struct rep_form_item *it)
{
	cJSON *flow = cJSON_CreateObject();

	cJSON_AddItemToArray(cJSON_AddArrayToObject(o, "codeFlows"), flow);
	cJSON *threads = cJSON_AddArrayToObject(flow, "threadFlows");
	for (unsigned i = 0; i < it->nsides; i++) {
		const struct rep_form_side *s = &it->side[i];
		cJSON *t = cJSON_CreateObject(), *step = cJSON_CreateObject();
		cJSON_AddItemToArray(threads, t);
		cJSON_AddStringToObject(t, "id", i ? "second" : "first");
		if (s->has_thread)
			text_put(t, "message", rep_form_thread(&f->arena, s));
		cJSON_AddItemToArray(cJSON_AddArrayToObject(t, "locations"), step);
		cJSON *l = location_new(f, s);
		text_put(l, "message", side_text(f, s));
		cJSON_AddItemToObject(step, "location", l);
	}
}

/* ---- results ---------------------------------------------------------------------------- */

static const char *message_of(struct rep_form *f, const struct rep_form_item *it)
{
	const char *text = base_printf(&f->arena, "%s: %s. %s", it->kind, it->line, it->sentence);

	if (*it->help)
		text = base_printf(&f->arena, "%s\nWhat usually helps: %s", text, it->help);
	return text;
}

static cJSON *result_new(struct rep_form *f, struct rules *rules, const struct rep_form_item *it)
{
	cJSON *o = cJSON_CreateObject(), *p;
	bool is_known = !strcmp(it->ignored, race_ignored_name(RACE_IGNORED_KNOWN));

	cJSON_AddStringToObject(o, "ruleId", it->rule);
	cJSON_AddNumberToObject(o, "ruleIndex", (double)rule_index(rules, it));
	cJSON_AddStringToObject(o, "level", levels[it->level]);
	text_put(o, "message", message_of(f, it));
	cJSON_AddItemToArray(cJSON_AddArrayToObject(o, "locations"), location_new(f, &it->side[0]));
	if (it->nsides > 1) {
		cJSON *l = location_new(f, &it->side[1]);
		cJSON_AddNumberToObject(l, "id", 1);
		text_put(l, "message", side_text(f, &it->side[1]));
		cJSON_AddItemToArray(cJSON_AddArrayToObject(o, "relatedLocations"), l);
	}
	flows_put(o, f, it);
	p = cJSON_AddObjectToObject(o, "partialFingerprints");
	cJSON_AddStringToObject(p, "colliderFinding/v1",
				base_printf(&f->arena, "%016llx", (unsigned long long)it->print));
	if (it->count && it->count < (uint64_t)INT32_MAX)
		cJSON_AddNumberToObject(o, "occurrenceCount", (double)it->count);
	if (f->opt->known)
		cJSON_AddStringToObject(o, "baselineState", is_known ? "unchanged" : "new");
	if (*it->ignored && !is_known) {
		p = cJSON_CreateObject();
		cJSON_AddItemToArray(cJSON_AddArrayToObject(o, "suppressions"), p);
		cJSON_AddStringToObject(p, "kind", "external");
		cJSON_AddStringToObject(p, "justification", it->ignored);
	}
	return o;
}

/* The first n, as an array. One tree for all of them would be five times as large as the text. */
static void results_put(struct base_buf *out, struct rep_form *f, struct rules *rules, size_t n)
{
	base_buf_puts(out, "[");
	for (size_t i = 0; i < n; i++) {
		cJSON *o = result_new(f, rules, &f->items.v[i]);
		char *text = cJSON_PrintBuffered(o, RESULT, false);
		base_buf_puts(out, i ? "," : "");
		base_buf_puts(out, text ? text : "{}");
		cJSON_free(text);
		rep_trees_drop(o);
	}
	base_buf_puts(out, "]");
}

static void note_put(cJSON *list, const char *level, const char *text)
{
	cJSON *o = cJSON_CreateObject();

	cJSON_AddItemToArray(list, o);
	cJSON_AddStringToObject(o, "level", level);
	text_put(o, "message", text);
}

static void invocation_put(cJSON *run, struct rep_form *f, size_t left_out)
{
	cJSON *o = cJSON_CreateObject();

	cJSON_AddItemToArray(cJSON_AddArrayToObject(run, "invocations"), o);
	if (*f->command)
		cJSON_AddStringToObject(o, "commandLine", f->command);
	cJSON_AddBoolToObject(o, "executionSuccessful", f->is_complete);
	cJSON *list = cJSON_AddArrayToObject(o, "toolExecutionNotifications");
	note_put(list, f->is_complete ? "note" : "warning", f->result);
	if (left_out)
		note_put(list, "warning",
			 base_printf(&f->arena, "%s left out: the file would be too large",
				     rep_count(&f->arena, left_out, "finding")));
	for (size_t i = 0; i < f->notes.n; i++)
		note_put(list, "note", f->notes.v[i]);
}

/* With the first n results. */
static char *sarif_of(struct rep_form *f, size_t n)
{
	struct rules rules = {0};
	struct base_buf results = {0};

	results_put(&results, f, &rules, n);
	cJSON *o = cJSON_CreateObject(), *run = cJSON_CreateObject();
	cJSON_AddStringToObject(o, "$schema", SCHEMA);
	cJSON_AddStringToObject(o, "version", VERSION);
	cJSON_AddItemToArray(cJSON_AddArrayToObject(o, "runs"), run);
	cJSON *driver = cJSON_AddObjectToObject(cJSON_AddObjectToObject(run, "tool"), "driver");
	cJSON_AddStringToObject(driver, "name", "Collider");
	cJSON_AddStringToObject(driver, "semanticVersion", COLLIDER_VERSION);
	cJSON *list = cJSON_AddArrayToObject(driver, "rules");
	if (f->opt->source_root) {
		const char *root = f->opt->source_root;
		bool is_rooted = *root == '/', has_end = root[strlen(root) - 1] == '/';
		cJSON *base = cJSON_AddObjectToObject(
			cJSON_AddObjectToObject(run, "originalUriBaseIds"), "SRCROOT");
		cJSON_AddStringToObject(base, "uri",
					uri_of(&f->arena,
					       has_end ? root : base_printf(&f->arena, "%s/", root),
					       !is_rooted));
	}
	invocation_put(run, f, f->items.n - n);
	cJSON_AddStringToObject(run, "columnKind", "utf16CodeUnits");
	cJSON_AddRawToObject(run, "results", results.p);
	for (size_t i = 0; i < rules.v.n; i++)
		rule_put(list, rules.v.v[i]);
	char *text = cJSON_PrintUnformatted(o);
	cJSON_Delete(o);
	base_buf_free(&results);
	base_vec_free(&rules.v);
	return text;
}

void rep_sarif(struct base_buf *out, struct rep_form *f)
{
	size_t n = f->items.n < RESULTS_MAX ? f->items.n : RESULTS_MAX;

	rep_trees_begin();
	char *text = sarif_of(f, n);

	while (text && n && strlen(text) > BYTES_MAX) {
		cJSON_free(text);
		n /= 2;
		text = sarif_of(f, n);
	}
	if (text) {
		base_buf_puts(out, text);
		base_buf_puts(out, "\n");
	}
	cJSON_free(text);
	rep_trees_end();
}
