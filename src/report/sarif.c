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
#include "base/json.h"
#include "report/form.h"

#include <string.h>

#define RESULTS_MAX 25000u
#define BYTES_MAX   ((size_t)60 << 20)
#define SCHEMA	    "https://json.schemastore.org/sarif-2.1.0.json"
#define VERSION	    "2.1.0"

static const char *const levels[] = {
	[REP_FORM_ERROR] = "error", [REP_FORM_WARNING] = "warning", [REP_FORM_NOTE] = "note"};

static void text_put(struct base_json *o, const char *key, const char *text)
{
	base_json_object(o, key);
	base_json_text(o, "text", text);
	base_json_object_end(o);
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

static void rule_put(struct base_json *o, const struct rep_form_item *it)
{
	static const char *const precision[] = {[REP_FORM_ERROR] = "very-high",
						[REP_FORM_WARNING] = "high",
						[REP_FORM_NOTE] = "medium"};

	base_json_object(o, NULL);
	base_json_text(o, "id", it->rule);
	text_put(o, "shortDescription", it->rule_title);
	text_put(o, "fullDescription", it->sentence);
	text_put(o, "help", *it->help ? it->help : it->sentence);
	base_json_object(o, "defaultConfiguration");
	base_json_text(o, "level", levels[it->level]);
	base_json_object_end(o);
	base_json_object(o, "properties");
	base_json_text(o, "precision", precision[it->level]);
	base_json_text(o, "problem.severity",
		       it->level == REP_FORM_NOTE ? "recommendation" : levels[it->level]);
	base_json_array(o, "tags");
	base_json_text(o, NULL, "concurrency");
	base_json_text(o, NULL, "cuda");
	base_json_array_end(o);
	base_json_object_end(o);
	base_json_object_end(o);
}

/* Of the first n findings. */
static void rules_put(struct base_json *o, struct rep_form *f, struct rules *rules, size_t n)
{
	for (size_t i = 0; i < n; i++)
		rule_index(rules, &f->items.v[i]);
	base_json_array(o, "rules");
	for (size_t i = 0; i < rules->v.n; i++)
		rule_put(o, rules->v.v[i]);
	base_json_array_end(o);
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
	for (;;) {
		size_t n = strspn(path, plain);
		base_buf_put(&out, path, n);
		path += n;
		if (!*path)
			break;
		base_buf_printf(&out, "%%%02X", (unsigned char)*path++);
	}
	const char *uri = base_strndup(a, out.n ? out.p : "", out.n);
	base_buf_free(&out);
	return uri;
}

/* As `key`, or as an element. id, message: 0, NULL: none. */
static void location_put(struct base_json *o, const char *key, struct rep_form *f,
			 const struct rep_form_side *s, unsigned id, const char *message)
{
	/* GitHub shows no result without a file: then the program stands in for it. */
	const char *file = *s->file ? s->file : *f->command ? f->command : "unknown";
	bool is_relative = *s->file ? s->is_relative : *file != '/';

	base_json_object(o, key);
	base_json_object(o, "physicalLocation");
	base_json_object(o, "artifactLocation");
	base_json_text(o, "uri", uri_of(&f->arena, file, is_relative));
	if (is_relative)
		base_json_text(o, "uriBaseId", "SRCROOT");
	base_json_object_end(o);
	base_json_object(o, "region");
	base_json_number(o, "startLine", s->line ? s->line : 1);
	if (s->line && s->col)
		base_json_number(o, "startColumn", s->col);
	base_json_object_end(o);
	base_json_object_end(o);
	if (*s->func) {
		base_json_array(o, "logicalLocations");
		base_json_object(o, NULL);
		base_json_text(o, "fullyQualifiedName", s->func);
		base_json_text(o, "kind", "function");
		base_json_object_end(o);
		base_json_array_end(o);
	}
	if (id)
		base_json_number(o, "id", id);
	if (message)
		text_put(o, "message", message);
	base_json_object_end(o);
}

static const char *side_text(struct rep_form *f, const struct rep_form_side *s)
{
	const char *thread = rep_form_thread(&f->arena, s);

	return base_printf(&f->arena, "%s%s%s", *s->access ? s->access : s->verb,
			   *thread ? " by " : "", thread);
}

static void flows_put(struct base_json *o, struct rep_form *f, const struct rep_form_item *it)
{
	base_json_array(o, "codeFlows");
	base_json_object(o, NULL);
	base_json_array(o, "threadFlows");
	for (unsigned i = 0; i < it->nsides; i++) {
		const struct rep_form_side *s = &it->side[i];
		base_json_object(o, NULL);
		base_json_text(o, "id", i ? "second" : "first");
		if (s->has_thread)
			text_put(o, "message", rep_form_thread(&f->arena, s));
		base_json_array(o, "locations");
		base_json_object(o, NULL);
		location_put(o, "location", f, s, 0, side_text(f, s));
		base_json_object_end(o);
		base_json_array_end(o);
		base_json_object_end(o);
	}
	base_json_array_end(o);
	base_json_object_end(o);
	base_json_array_end(o);
}

/* ---- results ---------------------------------------------------------------------------- */

static const char *message_of(struct rep_form *f, const struct rep_form_item *it)
{
	const char *text = base_printf(&f->arena, "%s: %s. %s", it->kind, it->line, it->sentence);

	if (*it->help)
		text = base_printf(&f->arena, "%s\nWhat usually helps: %s", text, it->help);
	return text;
}

static void result_put(struct base_json *o, struct rep_form *f, struct rules *rules,
		       const struct rep_form_item *it)
{
	bool is_known = !strcmp(it->ignored, race_ignored_name(RACE_IGNORED_KNOWN));

	base_json_object(o, NULL);
	base_json_text(o, "ruleId", it->rule);
	base_json_number(o, "ruleIndex", rule_index(rules, it));
	base_json_text(o, "level", levels[it->level]);
	text_put(o, "message", message_of(f, it));
	base_json_array(o, "locations");
	location_put(o, NULL, f, &it->side[0], 0, NULL);
	base_json_array_end(o);
	if (it->nsides > 1) {
		base_json_array(o, "relatedLocations");
		location_put(o, NULL, f, &it->side[1], 1, side_text(f, &it->side[1]));
		base_json_array_end(o);
	}
	flows_put(o, f, it);
	base_json_object(o, "partialFingerprints");
	base_json_text(o, "colliderFinding/v1",
		       base_printf(&f->arena, "%016llx", (unsigned long long)it->print));
	base_json_object_end(o);
	if (it->count && it->count < (uint64_t)INT32_MAX)
		base_json_number(o, "occurrenceCount", it->count);
	if (f->opt->known)
		base_json_text(o, "baselineState", is_known ? "unchanged" : "new");
	if (*it->ignored && !is_known) {
		base_json_array(o, "suppressions");
		base_json_object(o, NULL);
		base_json_text(o, "kind", "external");
		base_json_text(o, "justification", it->ignored);
		base_json_object_end(o);
		base_json_array_end(o);
	}
	base_json_object_end(o);
}

static void note_put(struct base_json *o, const char *level, const char *text)
{
	base_json_object(o, NULL);
	base_json_text(o, "level", level);
	text_put(o, "message", text);
	base_json_object_end(o);
}

static void invocation_put(struct base_json *o, struct rep_form *f, size_t left_out)
{
	base_json_array(o, "invocations");
	base_json_object(o, NULL);
	if (*f->command)
		base_json_text(o, "commandLine", f->command);
	base_json_bool(o, "executionSuccessful", f->is_complete);
	base_json_array(o, "toolExecutionNotifications");
	note_put(o, f->is_complete ? "note" : "warning", f->result);
	if (left_out)
		note_put(o, "warning",
			 base_printf(&f->arena, "%s left out: the file would be too large",
				     rep_count(&f->arena, left_out, "finding")));
	for (size_t i = 0; i < f->notes.n; i++)
		note_put(o, "note", f->notes.v[i]);
	base_json_array_end(o);
	base_json_object_end(o);
	base_json_array_end(o);
}

static void root_put(struct base_json *o, struct rep_form *f, const char *root)
{
	bool is_rooted = *root == '/', has_end = root[strlen(root) - 1] == '/';

	base_json_object(o, "originalUriBaseIds");
	base_json_object(o, "SRCROOT");
	root = has_end ? root : base_printf(&f->arena, "%s/", root);
	base_json_text(o, "uri", uri_of(&f->arena, root, !is_rooted));
	base_json_object_end(o);
	base_json_object_end(o);
}

/* With the first n results. */
static void run_put(struct base_json *o, struct rep_form *f, size_t n)
{
	struct rules rules = {0};

	base_json_object(o, NULL);
	base_json_object(o, "tool");
	base_json_object(o, "driver");
	base_json_text(o, "name", "Collider");
	base_json_text(o, "semanticVersion", COLLIDER_VERSION);
	rules_put(o, f, &rules, n);
	base_json_object_end(o);
	base_json_object_end(o);
	if (f->opt->source_root)
		root_put(o, f, f->opt->source_root);
	invocation_put(o, f, f->items.n - n);
	base_json_text(o, "columnKind", "utf16CodeUnits");
	base_json_array(o, "results");
	for (size_t i = 0; i < n; i++)
		result_put(o, f, &rules, &f->items.v[i]);
	base_json_array_end(o);
	base_json_object_end(o);
	base_vec_free(&rules.v);
}

static void sarif_put(struct base_buf *out, struct rep_form *f, size_t n)
{
	struct base_json o = {.out = out};

	base_json_object(&o, NULL);
	base_json_text(&o, "$schema", SCHEMA);
	base_json_text(&o, "version", VERSION);
	base_json_array(&o, "runs");
	run_put(&o, f, n);
	base_json_array_end(&o);
	base_json_object_end(&o);
}

void rep_sarif(struct base_buf *out, struct rep_form *f)
{
	size_t n = f->items.n < RESULTS_MAX ? f->items.n : RESULTS_MAX, before = out->n;

	sarif_put(out, f, n);
	while (n && out->n - before > BYTES_MAX) {
		n /= 2;
		out->n = before;
		sarif_put(out, f, n);
	}
	base_buf_puts(out, "\n");
}
