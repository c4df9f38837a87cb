/*
 * test_json.c - JSON lines: the schema, the way there and back, merging, bad input.
 */
#include "fake.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

static char *json_of(const struct race_results *r)
{
	struct rep_options opt = {.format = REP_JSON};

	return fake_render(r, &opt);
}

/* A file with two findings, one of them in two contexts. */
static char *saved_report(void)
{
	struct race_results r;
	struct fake f;

	fake_open(&f);
	uint64_t h = fake_table(&f, NULL, NULL);
	for (unsigned i = 0; i < 2; i++)
		fake_record(fake_region(&f, i), 0, h, SITE_READ, RACE_KIND_CLOBBERED_READ, 10);
	struct race_record *rec =
		fake_record(fake_region(&f, 0), 1, h, SITE_NO_LINE, RACE_KIND_LOST_UPDATE, 2);
	rec->address = 0xfedcba9876543210;
	rec->was[0] = 0x8000000000000001;
	rec->was[1] = 0x0123456789abcdef;
	rec->width = 16;
	fake_read(&f, &r);
	r.command = "./app \"x\"";
	char *text = json_of(&r);
	race_results_free(&r);
	fake_close(&f);
	return text;
}

static int parse(const char *text, struct race_results *r, struct base_sink *sink)
{
	return rep_json_parse("saved.jsonl", text, strlen(text), r, sink);
}

static void has(const cJSON *o, const char *key, int type)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);

	if (!v)
		fail_msg("key '%s' is missing", key);
	if (type == cJSON_False ? !cJSON_IsBool(v) : (v->type & 0xff) != type)
		fail_msg("key '%s' has the wrong type", key);
}

static void finding_has_its_keys(const cJSON *o)
{
	static const char *const strings[] = {
		"class", "kind",   "ignored", "function", "function_mangled",
		"file",	 "access", "space",   "module",	  "target"};
	static const char *const numbers[] = {"line", "column", "width", "vector", "count"};
	static const char *const arrays[] = {"inlined_at", "sites", "seen"};

	for (size_t i = 0; i < BASE_COUNTOF(strings); i++)
		has(o, strings[i], cJSON_String);
	for (size_t i = 0; i < BASE_COUNTOF(numbers); i++)
		has(o, numbers[i], cJSON_Number);
	for (size_t i = 0; i < BASE_COUNTOF(arrays); i++)
		has(o, arrays[i], cJSON_Array);
	has(o, "counts", cJSON_False);
	has(o, "count_is_lower_bound", cJSON_False);
	const cJSON *first = cJSON_GetObjectItem(o, "first");
	has(first, "address", cJSON_String);
	has(first, "was", cJSON_String);
	has(first, "thread", cJSON_Array);
}

static void lines_follow_the_schema(void **state)
{
	char *text = saved_report(), *save = NULL;
	unsigned n = 0, findings = 0;
	const char *last = "";

	(void)state;
	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save), n++) {
		cJSON *o = cJSON_Parse(l);
		assert_true(cJSON_IsObject(o));
		const char *type = cJSON_GetStringValue(cJSON_GetObjectItem(o, "type"));
		assert_non_null(type);
		if (n == 0) {
			assert_string_equal(type, "header");
			assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(o, "schema")),
					    "collider-report");
			has(o, "version", cJSON_Number);
			assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(o, "command")),
					    "./app \"x\"");
		}
		if (!strcmp(type, "finding")) {
			finding_has_its_keys(o);
			findings++;
		}
		last = !strcmp(type, "summary") ? "summary" : "";
		if (*last) {
			has(o, "verdict", cJSON_String);
			has(o, "counters_exact", cJSON_False);
			has(o, "checked", cJSON_Number);
		}
		cJSON_Delete(o);
	}
	assert_int_equal(findings, 2);
	assert_string_equal(last, "summary");
	free(text);
}

static void there_and_back_is_the_same(void **state)
{
	struct race_results r = {0};
	struct base_sink sink = {0};
	char *text = saved_report();

	(void)state;
	assert_int_equal(parse(text, &r, &sink), 0);
	assert_int_equal(sink.warnings, 0);
	char *again = json_of(&r);
	assert_string_equal(text, again);
	free(again);
	free(text);
	race_results_free(&r);
	base_sink_free(&sink);
}

static void merging_sums_counts(void **state)
{
	struct race_results one = {0}, two = {0};
	struct base_sink sink = {0};
	char *text = saved_report();

	(void)state;
	assert_int_equal(parse(text, &one, &sink), 0);
	assert_int_equal(parse(text, &two, &sink), 0);
	assert_int_equal(parse(text, &two, &sink), 0);
	struct rep_options opt = {.no_source = true};
	assert_int_equal(rep_exit_races(&one, &opt), 2);
	assert_int_equal(rep_exit_races(&two, &opt), 2);
	assert_int_equal(two.checked, 2 * one.checked);
	assert_int_equal(two.runs, 2);
	assert_int_equal(two.skips.n, one.skips.n);
	assert_int_equal(two.skips.v[0].count, one.skips.v[0].count);
	char *shown = fake_render(&two, &opt);
	assert_non_null(strstr(shown, "Occurrences  : 40"));
	assert_non_null(strstr(shown, "Occurrences  : 4 "));
	assert_non_null(strstr(shown, "Merged  : 2 runs"));
	free(shown);
	free(text);
	race_results_free(&one);
	race_results_free(&two);
	base_sink_free(&sink);
}

static void cut_off_report_is_taken_with_a_warning(void **state)
{
	struct race_results r = {0};
	struct base_sink sink = {0};
	char *text = saved_report();

	(void)state;
	char *summary = strstr(text, "{\"type\":\"summary\"");
	summary[20] = 0;
	assert_int_equal(parse(text, &r, &sink), 0);
	assert_int_equal(sink.warnings, 1);
	assert_int_equal(r.findings.n, 2);
	assert_true(r.is_inexact);
	free(text);
	race_results_free(&r);
	base_sink_free(&sink);
}

static void bad_input_is_told_with_its_line(void **state)
{
	static const struct {
		const char *text;
		unsigned line;
		const char *says;
	} cases[] = {
		{"", 1, "empty file"},
		{"hello\n", 1, "expected one JSON object per line"},
		{"{}\n", 1, "no report header"},
		{"{\"type\":\"header\",\"schema\":\"other\",\"version\":1}\n", 1, "another kind"},
		{"{\"type\":\"header\",\"schema\":\"collider-report\",\"version\":2}\n", 1,
		 "version 2"},
		{"{\"type\":\"header\",\"schema\":\"collider-report\",\"version\":1}\n\n[1]\n", 3,
		 "one JSON object"},
		{"{\"type\":\"header\",\"schema\":\"collider-report\",\"version\":1}\n"
		 "{\"type\":\"finding\",\"kind\":\"odd\"}\n",
		 2, "kind 'odd'"},
	};

	(void)state;
	for (size_t i = 0; i < BASE_COUNTOF(cases); i++) {
		struct race_results r = {0};
		struct base_sink sink = {0};
		assert_int_equal(parse(cases[i].text, &r, &sink), BASE_EXIT_INPUT);
		assert_int_equal(sink.errors, 1);
		assert_int_equal(sink.diags.v[0].at.line, cases[i].line);
		if (!strstr(sink.diags.v[0].text, cases[i].says))
			fail_msg("expected '%s' in: %s", cases[i].says, sink.diags.v[0].text);
		race_results_free(&r);
		base_sink_free(&sink);
	}
}

static void unknown_lines_are_passed_over(void **state)
{
	static const char text[] =
		"{\"type\":\"header\",\"schema\":\"collider-report\",\"version\":1}\n"
		"{\"type\":\"from-the-future\",\"x\":[1,2]}\n"
		"{\"type\":\"summary\",\"checked\":7,\"counters_exact\":true}\n";
	struct race_results r = {0};
	struct base_sink sink = {0};

	(void)state;
	assert_int_equal(parse(text, &r, &sink), 0);
	assert_int_equal(r.checked, 7);
	assert_false(r.is_inexact);
	race_results_free(&r);
	base_sink_free(&sink);
}

static void flipped_bytes_are_survived(void **state)
{
	char *text = saved_report();
	size_t n = strlen(text);
	uint32_t x = 3;
	struct rep_options opt = {0};

	(void)state;
	for (int i = 0; i < 2000; i++) {
		struct race_results r = {0};
		struct base_sink sink = {0};
		x = x * 1664525u + 1013904223u;
		size_t at = (x >> 8) % n;
		char old = text[at];
		x = x * 1664525u + 1013904223u;
		text[at] = (char)(x >> 16);
		if (rep_json_parse("x", text, n, &r, &sink) == 0)
			free(fake_render(&r, &opt));
		text[at] = old;
		race_results_free(&r);
		base_sink_free(&sink);
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_follow_the_schema),
		cmocka_unit_test(there_and_back_is_the_same),
		cmocka_unit_test(merging_sums_counts),
		cmocka_unit_test(cut_off_report_is_taken_with_a_warning),
		cmocka_unit_test(bad_input_is_told_with_its_line),
		cmocka_unit_test(unknown_lines_are_passed_over),
		cmocka_unit_test(flipped_bytes_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
