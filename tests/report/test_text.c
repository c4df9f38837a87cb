/*
 * test_text.c - the text report against the files in golden/.
 *
 * COLLIDER_UPDATE_GOLDEN=1 writes the files instead; read the difference before
 * you commit it. Beside them: the four results can't be taken for each other.
 */
#include "fake.h"
#include "report/internal.h"

#include <stdlib.h>

/* A file with a finding of every kind; returns the table. */
static uint64_t all_kinds(struct fake *f)
{
	fake_open(f);
	uint64_t h = fake_table(f, NULL, NULL);
	struct race_region *g = fake_region(f, 0);
	struct race_record *r;

	r = fake_record(g, 0, h, SITE_READ, RACE_KIND_CLOBBERED_READ, 3);
	r->address = 0;
	r->was[0] = 0x3f800000;
	r->now[0] = 0;
	r = fake_record(g, 1, h, SITE_READ_SECOND, RACE_KIND_CLOBBERED_READ, RACE_MUTE_COUNT);
	r->was[0] = 0x40490fdb;
	r->now[0] = 0xbf000000;
	fake_record(g, 2, h, SITE_STORE, RACE_KIND_LOST_UPDATE, 1);
	r = fake_record(g, 3, h, SITE_STORE, RACE_KIND_INTRA_WARP, 9700);
	r->lanes = 0x8f;
	r = fake_record(g, 4, h, SITE_STORE, RACE_KIND_INTRA_WARP_SAME, 5);
	r->lanes = 0xffffffff;
	r = fake_record(g, 5, h, SITE_NC, RACE_KIND_NC_READ, 2);
	r->width = 1;
	r = fake_record(g, 6, h, SITE_SPECULATED, RACE_KIND_SPECULATED_READ, 6);
	r->width = 8;
	r = fake_record(g, 7, h, SITE_NO_LINE, RACE_KIND_LOST_UPDATE, 4);
	r->flags = RACE_REC_GENERIC;
	r->width = 16;
	r->was[1] = 1;
	r = fake_record(g, 8, h, SITE_VOLATILE, RACE_KIND_LOST_UPDATE, 4);
	r->width = 2;
	g->warp_checked = 50;
	g->host_launches = 3;
	fake_kernel(f, 1, 1, "_Z3sumPfPKfi");
	fake_kernel(f, 2, 0, "_Z5plainv");
	fake_chunk(f, RACE_CHUNK_NOTE, "lazy loading is off", 19);
	return h;
}

static void golden(const struct race_results *r, const struct rep_options *opt, const char *name)
{
	char path[512];
	char *want = NULL, *got = fake_render(r, opt);
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", GOLDEN_DIR, name);
	if (getenv("COLLIDER_UPDATE_GOLDEN"))
		assert_int_equal(base_write_file(path, got, strlen(got)), 0);
	assert_int_equal(base_read_file(path, &want, &n), 0);
	if (strcmp(want, got))
		fail_msg("%s differs; the report is now:\n%s", name, got);
	free(want);
	free(got);
}

static void every_kind(void **state)
{
	struct rep_options opt = {.source_prefix = GOLDEN_DIR};
	struct race_results r;
	struct fake f;

	(void)state;
	all_kinds(&f);
	fake_read(&f, &r);
	r.command = "./sum 4";
	golden(&r, &opt, "every_kind.txt");
	opt.format = REP_JSON;
	golden(&r, &opt, "every_kind.jsonl");
	race_results_free(&r);
	fake_close(&f);
}

/* Either side of an asynchronous copy has its own words. */
static void sides_of_a_copy(void **state)
{
	struct rep_options opt = {.no_source = true};
	struct race_results r;
	struct fake f;

	(void)state;
	fake_open(&f);
	uint64_t h = fake_table(&f, NULL, NULL);
	struct race_region *g = fake_region(&f, 0);
	fake_record(g, 0, h, SITE_COPY_FROM, RACE_KIND_CLOBBERED_READ, 3);
	fake_record(g, 1, h, SITE_COPY_TO, RACE_KIND_LOST_UPDATE, 4)->address = 0x40;
	fake_record(g, 2, h, SITE_COPY_TO, RACE_KIND_INTRA_WARP, 5)->lanes = 3;
	fake_read(&f, &r);
	r.command = "./copy";
	golden(&r, &opt, "copies.txt");
	race_results_free(&r);
	fake_close(&f);
}

static void put_host_find(struct fake *f, uint32_t kind, uint32_t space, uint64_t offset,
			  uint32_t is_volatile)
{
	struct {
		struct race_host_find find;
		char path[16];
	} c = {{.count = 3,
		.offset = offset,
		.address = 0x200000001000,
		.was = {0},
		.now = {42},
		.kind = kind,
		.width = 4,
		.bytes = 4,
		.space = space,
		.is_volatile = is_volatile,
		.thread = space == RACE_SPACE_PINNED},
	       "/opt/app"};

	fake_chunk(f, RACE_CHUNK_HOST_FIND, &c, sizeof(c));
}

/* Host code: with and without a line, read, write, volatile; what contradicts itself is counted. */
static void host_code(void **state)
{
	static struct race_host_area area = {.checked = 1234, .skipped = 1, .nlost = 2};
	struct rep_options opt = {.no_source = true, .verbose = true};
	struct race_results r;
	struct fake f;

	(void)state;
	fake_open(&f);
	fake_chunk(&f, RACE_CHUNK_HOST_AREA, &area, sizeof(area));
	put_host_find(&f, RACE_KIND_CLOBBERED_READ, RACE_SPACE_MANAGED, 0x1234, 0);
	put_host_find(&f, RACE_KIND_LOST_UPDATE, RACE_SPACE_PINNED, 0x1300, 0);
	put_host_find(&f, RACE_KIND_CLOBBERED_READ, RACE_SPACE_SYSTEM, 0x1400, 1);
	put_host_find(&f, RACE_KIND_NC_READ, RACE_SPACE_MANAGED, 0x1500, 0);
	put_host_find(&f, RACE_KIND_LOST_UPDATE, RACE_SPACE_GLOBAL, 0x1600, 0);
	fake_chunk(&f, RACE_CHUNK_HOST_FIND, "short", 5);
	fake_read(&f, &r);
	assert_int_equal(r.damaged, 3);
	r.command = "./app";
	/* As host_symbolise would. */
	r.findings.v[0].func = r.findings.v[0].func_shown = "main";
	r.findings.v[0].file = "src/app.c";
	r.findings.v[0].line = 9;
	golden(&r, &opt, "host.txt");
	opt.format = REP_JSON;
	golden(&r, &opt, "host.jsonl");
	assert_int_equal(rep_get_verdict(&r, &opt), REP_VERDICT_RACES);
	/* No kernel ran: what is checked of host code alone is no clean run. */
	r.findings.n = 0;
	assert_int_equal(rep_get_verdict(&r, &opt), REP_VERDICT_NOTHING);
	race_results_free(&r);
	fake_close(&f);
}

static void options_change_the_text(void **state)
{
	static const char rules[] = "# ours\nrace:bare\nrace:never\n";
	struct race_ignore ig = {.same_value = true, .possible = true};
	struct rep_options opt = {
		.verbose = true, .color = true, .no_source = true, .print_limit = 2, .ignore = &ig};
	struct base_sink sink = {0};
	struct race_results r;
	struct fake f;

	(void)state;
	assert_true(race_ignore_parse(&ig, "our.supp", rules, sizeof(rules) - 1, &sink));
	all_kinds(&f);
	fake_region(&f, 0)->exact = 0;
	f.head->sample = 8;
	fake_read(&f, &r);
	golden(&r, &opt, "options.txt");
	/* clobbered read, lost update, intra-warp; not bare, not equal values, not other classes */
	assert_int_equal(rep_exit_races(&r, &opt), 3);
	opt.ignore = NULL;
	assert_int_equal(rep_exit_races(&r, &opt), 5);
	race_results_free(&r);
	race_ignore_free(&ig);
	base_sink_free(&sink);
	fake_close(&f);
}

/* ---- the four results ------------------------------------------------------------- */

static void expect_result(struct fake *f, enum rep_verdict verdict, const char *says)
{
	static const char *const marks[] = {[REP_VERDICT_RACES] = " found",
					    [REP_VERDICT_OTHER] = "to look at",
					    [REP_VERDICT_CLEAN] = "no race seen",
					    [REP_VERDICT_NOTHING] = "NOTHING WAS CHECKED"};
	struct rep_options opt = {.no_source = true};
	struct race_results r;

	fake_read(f, &r);
	char *text = fake_render(&r, &opt);
	char *line = strstr(text, "\n======== ");
	assert_non_null(line);
	*strchr(line + 1, '\n') = 0;
	assert_int_equal(rep_get_verdict(&r, &opt), verdict);
	if (!strstr(line, says))
		fail_msg("expected '%s' in: %s", says, line);
	for (unsigned i = 0; i < BASE_COUNTOF(marks); i++)
		if ((strstr(line, marks[i]) != NULL) != (i == (unsigned)verdict))
			fail_msg("verdict %d must not read like %u: %s", verdict, i, line);
	free(text);
	race_results_free(&r);
}

static void results_are_distinct(void **state)
{
	struct fake f;

	(void)state;
	fake_open(&f);
	f.head->agent_state = RACE_AGENT_NONE;
	expect_result(&f, REP_VERDICT_NOTHING, "never started CUDA");
	f.head->agent_state = RACE_AGENT_NO_CUPTI;
	expect_result(&f, REP_VERDICT_NOTHING, "libcupti");
	f.head->agent_state = RACE_AGENT_BUSY;
	expect_result(&f, REP_VERDICT_NOTHING, "another tool");
	f.head->agent_state = RACE_AGENT_FAILED;
	expect_result(&f, REP_VERDICT_NOTHING, "could not work");
	f.head->agent_state = RACE_AGENT_ATTACHED;
	expect_result(&f, REP_VERDICT_NOTHING, "launched no kernel");
	f.head->failed_modules = 1;
	expect_result(&f, REP_VERDICT_NOTHING, "could not be loaded");
	f.head->failed_modules = 0;
	struct race_region *g = fake_region(&f, 0);
	g->checked = g->launches = g->modules = 0;
	g->host_launches_plain = 1;
	expect_result(&f, REP_VERDICT_NOTHING, "built with `collider nvcc`");
	uint64_t h = fake_table(&f, NULL, NULL);
	expect_result(&f, REP_VERDICT_NOTHING, "no instrumented kernel was launched");
	g->host_launches_plain = 0;
	g->launches = g->modules = 1;
	expect_result(&f, REP_VERDICT_NOTHING, "no access that Collider checks");
	g->exact = 0;
	expect_result(&f, REP_VERDICT_NOTHING, "ended while");
	g->checked = 1234567;
	expect_result(&f, REP_VERDICT_CLEAN, "at least 1,234,567 checked accesses");
	g->exact = 1;
	expect_result(&f, REP_VERDICT_CLEAN, "seen in 1,234,567 checked accesses");
	fake_record(g, 0, h, SITE_NC, RACE_KIND_NC_READ, 1);
	expect_result(&f, REP_VERDICT_OTHER, "no data race, but 1 finding");
	fake_record(g, 1, h, SITE_STORE, RACE_KIND_LOST_UPDATE, 1);
	expect_result(&f, REP_VERDICT_RACES, "1 data race found, and 1 other");
	/* Found, though the counters were never read. */
	g->checked = 0;
	g->exact = 0;
	expect_result(&f, REP_VERDICT_RACES, "1 data race");
	fake_close(&f);
}

/* What didn't fit is never "no race". */
static void lost_reports_are_no_clean_run(void **state)
{
	struct rep_options opt = {0};
	struct race_results r;
	struct fake f;

	(void)state;
	fake_open(&f);
	fake_region(&f, 0)->overflow = 5;
	fake_read(&f, &r);
	assert_int_equal(rep_get_verdict(&r, &opt), REP_VERDICT_OTHER);
	assert_int_equal(rep_exit_races(&r, &opt), 1);
	race_results_free(&r);
	fake_region(&f, 0)->overflow = 0;
	fake_read(&f, &r);
	assert_int_equal(rep_get_verdict(&r, &opt), REP_VERDICT_CLEAN);
	assert_int_equal(rep_exit_races(&r, &opt), 0);
	race_results_free(&r);
	fake_close(&f);
}

static void lines_group_and_sort(void **state)
{
	struct rep_options opt = {.no_source = true};
	struct race_results r;
	struct fake f;

	(void)state;
	all_kinds(&f);
	fake_read(&f, &r);
	assert_int_equal(r.findings.n, 9);
	char *text = fake_render(&r, &opt);
	/* two sites of line 4 are one entry with both counts and the wider access */
	assert_non_null(strstr(text, "1,048,579 or more"));
	assert_non_null(strstr(text, "load of 2 x 4 bytes, shared memory"));
	assert_null(strstr(text, "9. "));
	static const char *const order[] = {
		"1. DATA RACE: clobbered read",
		"2. DATA RACE: lost update",
		"3. DATA RACE: lost update",
		"4. DATA RACE: lost update within a warp",
		"5. DATA RACE: equal writes within a warp",
		"6. UNORDERED VOLATILE CONFLICT",
		"7. READ-ONLY LOAD",
		"8. POSSIBLE RACE",
	};
	const char *at = text;
	for (size_t i = 0; i < BASE_COUNTOF(order); i++) {
		at = strstr(at, order[i]);
		if (!at)
			fail_msg("'%s' is missing or out of order in:\n%s", order[i], text);
	}
	free(text);
	race_results_free(&r);
	fake_close(&f);
}

/* A record of a pair; `earlier`: the other side's site. */
static void pair_record(struct race_region *r, unsigned i, uint64_t table, uint32_t site,
			uint32_t earlier, enum race_kind kind)
{
	struct race_record *rec = fake_record(r, i, table, site, (uint16_t)kind, 1);

	rec->flags = RACE_REC_TWO_SIDES;
	rec->was[0] = rec->was[1] = 0;
	rec->now[0] = earlier + 1;
	rec->now[1] = 256u | 1ull << 16 | 1ull << 32;
}

/* What hirace and iguard find in one run: a pair of lines, whoever came first, is one finding: the
 * more certain one, else iguard's. */
static void pairs_of_history(void **state)
{
	static const struct {
		enum race_kind history, kind;
		uint32_t site, earlier;
		const char *title; /* of the one finding; NULL: there are two */
	} pairs[] = {
		{RACE_KIND_HISTORY, RACE_KIND_IGUARD_BLOCK, SITE_STORE, SITE_READ, "of one block"},
		{RACE_KIND_HISTORY, RACE_KIND_IGUARD_BLOCK, SITE_READ, SITE_STORE, "of one block"},
		{RACE_KIND_HISTORY, RACE_KIND_IGUARD_LOCKS, SITE_STORE, SITE_READ,
		 "different locks"},
		{RACE_KIND_HISTORY, RACE_KIND_IGUARD_POSSIBLE, SITE_STORE, SITE_READ, "DATA RACE"},
		{RACE_KIND_HISTORY_POSSIBLE, RACE_KIND_IGUARD_BLOCK, SITE_STORE, SITE_READ,
		 "DATA RACE"},
		{RACE_KIND_HISTORY_POSSIBLE, RACE_KIND_IGUARD_LOCK, SITE_STORE, SITE_READ,
		 "no lock in common"},
		/* one detector, at two places in memory */
		{RACE_KIND_HISTORY, RACE_KIND_HISTORY_POSSIBLE, SITE_READ, SITE_STORE, "DATA RACE"},
		{RACE_KIND_IGUARD_POSSIBLE, RACE_KIND_IGUARD_BLOCK, SITE_STORE, SITE_READ,
		 "of one block"},
		{RACE_KIND_HISTORY, RACE_KIND_HISTORY_POSSIBLE, SITE_STORE, SITE_SPECULATED, NULL},
		{RACE_KIND_HISTORY, RACE_KIND_IGUARD_BLOCK, SITE_STORE, SITE_SPECULATED, NULL}};

	(void)state;
	for (size_t i = 0; i < BASE_COUNTOF(pairs); i++) {
		struct rep_options opt = {.no_source = true};
		struct race_results r;
		struct fake f;

		fake_open(&f);
		struct race_region *region = fake_region(&f, 0);
		uint64_t table = fake_table(&f, NULL, NULL);
		pair_record(region, 0, table, SITE_STORE, SITE_READ, pairs[i].history);
		pair_record(region, 1, table, pairs[i].site, pairs[i].earlier, pairs[i].kind);
		fake_read(&f, &r);
		assert_int_equal(r.findings.n, 2);
		char *text = fake_render(&r, &opt);
		assert_int_equal(strstr(text, "2. ") == NULL, pairs[i].title != NULL);
		assert_non_null(strstr(text, "1. "));
		if (pairs[i].title && !strstr(text, pairs[i].title))
			fail_msg("'%s' is missing in:\n%s", pairs[i].title, text);
		free(text);
		race_results_free(&r);
		fake_close(&f);
	}
}

static void color_only_when_told(void **state)
{
	struct rep_options opt = {0};
	struct race_results r;
	struct fake f;

	(void)state;
	all_kinds(&f);
	fake_read(&f, &r);
	char *text = fake_render(&r, &opt);
	assert_null(strchr(text, '\033'));
	free(text);
	opt.color = true;
	text = fake_render(&r, &opt);
	assert_non_null(strchr(text, '\033'));
	free(text);
	race_results_free(&r);
	fake_close(&f);
}

/* One of anything is in the singular. */
static void counts_have_their_number(void **state)
{
	static const char *const words[][3] = {
		{"copy", "1 copy", "2 copies"},
		{"asynchronous copy", "1 asynchronous copy", "2 asynchronous copies"},
		{"fill", "1 fill", "2 fills"},
		{"access", "1 access", "2 accesses"},
		{"launch", "1 launch", "2 launches"},
		{"delay", "1 delay", "2 delays"},
		{"byte", "1 byte", "2 bytes"},
	};
	struct base_arena a = {0};

	(void)state;
	for (size_t i = 0; i < BASE_COUNTOF(words); i++) {
		assert_string_equal(rep_count(&a, 1, words[i][0]), words[i][1]);
		assert_string_equal(rep_count(&a, 2, words[i][0]), words[i][2]);
	}
	assert_string_equal(rep_count(&a, 0, "copy"), "0 copies");
	assert_string_equal(rep_count(&a, 1024, "byte"), "1,024 bytes");
	base_arena_free(&a);
}

/* Every count of a report, once as one and once as two. */
static void one_is_not_many(void **state)
{
	static const char *const one[] = {"1 kernel launch with instrumentation (1 launch in all)",
					  "1 access read again",
					  "1 copy or fill of the host, 1 byte of it read",
					  "1 store compared within its",
					  "1 access of host code",
					  "a thread's first 1 check,",
					  "1 tensor copy whose",
					  "1 launch: not instrumented",
					  "1 module without",
					  "1 CUDA context beyond",
					  "1 allocation not checked",
					  "1 record could",
					  "1 launch held back",
					  "1 launch never held back",
					  "1 copy or fill of the host: on the legacy"};
	static const char *const two[] = {
		"2 kernel launches with instrumentation (2 launches in all)",
		"2 accesses read again",
		"2 copies and fills of the host, 2 bytes of them read",
		"2 stores compared within their",
		"2 accesses of host code",
		"a thread's first 2 checks,",
		"2 tensor copies whose",
		"2 launches: not instrumented",
		"2 modules without",
		"2 CUDA contexts beyond",
		"2 allocations not checked",
		"2 records could",
		"2 launches held back",
		"2 launches never held back",
		"2 copies or fills of the host: on the legacy"};
	struct rep_options opt = {.no_source = true, .verbose = true};

	(void)state;
	for (uint64_t n = 1; n <= 2; n++) {
		struct race_results r = {.checked = n,
					 .warp_checked = n,
					 .launches = n,
					 .host_launches = n,
					 .host_launches_plain = n,
					 .plain_modules = n,
					 .unboxed = n,
					 .damaged = n,
					 .lost_contexts = n,
					 .dense = (uint32_t)n,
					 .has_host = true,
					 .host_checked = n,
					 .host_ranges_lost = n,
					 .transfers = {.checked = n,
						       .bytes = n,
						       .skipped[RACE_TRANSFER_NULL_STREAM] = n},
					 .holds = {.held = n, .skipped[RACE_HOLD_CAPTURED] = n}};
		race_gaps_find(&r);
		char *text = fake_render(&r, &opt);

		for (size_t i = 0; i < BASE_COUNTOF(one); i++)
			if (!strstr(text, n == 1 ? one[i] : two[i]))
				fail_msg("no '%s' in\n%s", n == 1 ? one[i] : two[i], text);
		assert_true(n == 2 || !strstr(text, " 1 accesses"));
		free(text);
		race_results_free(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_have_their_number),
		cmocka_unit_test(one_is_not_many),
		cmocka_unit_test(every_kind),
		cmocka_unit_test(sides_of_a_copy),
		cmocka_unit_test(host_code),
		cmocka_unit_test(options_change_the_text),
		cmocka_unit_test(results_are_distinct),
		cmocka_unit_test(lost_reports_are_no_clean_run),
		cmocka_unit_test(lines_group_and_sort),
		cmocka_unit_test(pairs_of_history),
		cmocka_unit_test(color_only_when_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
