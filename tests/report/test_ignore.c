/*
 * test_ignore.c - suppressions: what a line hides, and what it must not hide.
 */
#include "fake.h"

#include <stdlib.h>

static struct race_inlined chain[] = {
	{.func = "_Z6neighbPf", .func_shown = "neighb(float*)", .file = "src/sum.cu", .line = 10}};
static const struct race_finding sample = {.kind = RACE_KIND_LOST_UPDATE,
					   .cls = RACE_CLASS_RACE,
					   .func = "_ZN2ns3sumEPf",
					   .func_shown = "ns::sum(float*)",
					   .file = "/home/me/src/tile.cu",
					   .line = 12,
					   .inlined = chain,
					   .ninlined = 1};

static enum race_ignored test_line(const char *line)
{
	struct race_ignore ig = {0};
	struct base_sink sink = {0};
	size_t rule;

	assert_true(race_ignore_parse(&ig, "s.txt", line, strlen(line), &sink));
	assert_int_equal(ig.rules.n, 1);
	enum race_ignored got = race_ignore_test(&ig, &sample, &rule);
	assert_true((got == RACE_IGNORED_SUPPRESSED) == (rule == 0));
	race_ignore_free(&ig);
	base_sink_free(&sink);
	return got;
}

static void lines_hide_what_they_name(void **state)
{
	static const struct {
		const char *hides, *twin; /* the twin must not hide it */
	} cases[] = {
		{"race:ns::sum", "race:ns::sum2"},
		{"race:sum(*float", "race:sum(*double"},
		{"race:^ns::*)$", "race:^sum"},
		{"race:sum(float*)$", "race:ns::sum$"},
		{"race:_ZN2ns3sumEPf", "race:_ZN2ns3sumEPd"},
		{"race:neighb", "race:neighbour"},
		{"race:tile.cu", "race:file.cu"},
		{"race:src/tile.cu:12", "race:src/tile.cu:1"},
		{"race:tile.cu:12", "race:ile.cu:12"},
		{"race:src/*.cu:12", "race:src/*.cu:13"},
		{"race:sum.cu:10", "race:sum.cu:12"},
		{"lost-update:sum", "clobbered-read:sum"},
		{"kind:lost-update", "kind:intra-warp"},
		{"  race:sum  \r", "race:SUM"},
	};

	(void)state;
	for (size_t i = 0; i < BASE_COUNTOF(cases); i++) {
		if (test_line(cases[i].hides) != RACE_IGNORED_SUPPRESSED)
			fail_msg("'%s' must hide the finding", cases[i].hides);
		if (test_line(cases[i].twin) != RACE_IGNORED_NOT)
			fail_msg("'%s' must not hide the finding", cases[i].twin);
	}
}

static void bad_lines_are_told(void **state)
{
	static const struct {
		const char *text;
		unsigned line, col;
		const char *says;
	} cases[] = {
		{"race", 1, 1, "expected race:PATTERN"},
		{"# fine\n\n  rage:x\n", 3, 3, "found 'rage'"},
		{"kind:bad", 1, 6, "expected a kind"},
		{"race:\n", 1, 6, "expected a pattern"},
		{"race:a.cu:0", 1, 11, "expected a line number"},
	};

	(void)state;
	for (size_t i = 0; i < BASE_COUNTOF(cases); i++) {
		struct race_ignore ig = {0};
		struct base_sink sink = {0};
		assert_false(race_ignore_parse(&ig, "s.txt", cases[i].text, strlen(cases[i].text),
					       &sink));
		assert_int_equal(sink.errors, 1);
		assert_string_equal(sink.diags.v[0].file, "s.txt");
		assert_int_equal(sink.diags.v[0].at.line, cases[i].line);
		assert_int_equal(sink.diags.v[0].at.col, cases[i].col);
		assert_non_null(strstr(sink.diags.v[0].text, cases[i].says));
		race_ignore_free(&ig);
		base_sink_free(&sink);
	}
}

static void missing_file_is_told(void **state)
{
	struct race_ignore ig = {0};
	struct base_sink sink = {0};

	(void)state;
	assert_false(race_ignore_read(&ig, "/does/not/exist", &sink));
	assert_int_equal(sink.errors, 1);
	race_ignore_free(&ig);
	base_sink_free(&sink);
}

static void same_value_and_possible_are_choices(void **state)
{
	struct race_finding same = sample, maybe = sample;
	struct race_ignore on = {.same_value = true, .possible = true}, off = {0};
	size_t rule;

	(void)state;
	same.kind = RACE_KIND_INTRA_WARP_SAME;
	maybe.kind = RACE_KIND_SPECULATED_READ;
	maybe.cls = RACE_CLASS_POSSIBLE;
	assert_int_equal(race_ignore_test(&on, &same, &rule), RACE_IGNORED_SAME_VALUE);
	assert_int_equal(race_ignore_test(&on, &maybe, &rule), RACE_IGNORED_POSSIBLE);
	assert_int_equal(race_ignore_test(&on, &sample, &rule), RACE_IGNORED_NOT);
	maybe.kind = RACE_KIND_HISTORY_POSSIBLE;
	maybe.cls = race_classify(maybe.kind, 0, 0);
	assert_int_equal(maybe.cls, RACE_CLASS_UNDECIDED);
	on.undecided = true;
	assert_int_equal(race_ignore_test(&on, &maybe, &rule), RACE_IGNORED_UNDECIDED);
	assert_int_equal(race_ignore_test(&off, &maybe, &rule), RACE_IGNORED_NOT);
	maybe.kind = RACE_KIND_SPECULATED_READ;
	maybe.cls = RACE_CLASS_POSSIBLE;
	assert_int_equal(race_ignore_test(&off, &same, &rule), RACE_IGNORED_NOT);
	assert_int_equal(race_ignore_test(&off, &maybe, &rule), RACE_IGNORED_NOT);
	assert_int_equal(race_ignore_test(NULL, &same, &rule), RACE_IGNORED_NOT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_hide_what_they_name),
		cmocka_unit_test(bad_lines_are_told),
		cmocka_unit_test(missing_file_is_told),
		cmocka_unit_test(same_value_and_possible_are_choices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
