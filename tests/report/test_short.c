/*
 * test_short.c - how long reports are: a report of each kind, as golden/kinds.txt has it, and one
 * of many findings.
 */
#include "fake.h"

#include "report/internal.h"

#include <stdlib.h>

static struct race_inlined call = {.func = "_Z6helperi",
				   .func_shown = "helper(int)",
				   .file = "src/sum.cu",
				   .line = 16,
				   .col = 9};

static struct race_side side_of(uint32_t line, bool is_write, const char *text)
{
	return (struct race_side){.func = "_Z3sumPf",
				  .func_shown = "sum(float*)",
				  .kernel = "sum(float*)",
				  .file = line ? "src/sum.cu" : "",
				  .line = line,
				  .col = 3,
				  .inlined = &call,
				  .ninlined = line ? 1 : 0,
				  .access = is_write ? RACE_ACCESS_STORE : RACE_ACCESS_LOAD,
				  .space = RACE_SPACE_GLOBAL,
				  .width = 4,
				  .vec = 1,
				  .bytes = 4,
				  .text = text,
				  .thread = {is_write, 0, 0},
				  .strength = RACE_RELAXED,
				  .scope = RACE_SCOPE_CTA,
				  .flags = is_write ? RACE_SIDE_WRITES : RACE_SIDE_READS,
				  .launched = {.func = "main", .file = "src/sum.cu", .line = 20},
				  .launched_shown = "main"};
}

static void add(struct race_results *r, enum race_kind kind, struct race_side *sides)
{
	struct race_finding f = {.kind = kind,
				 .cls = race_classify(kind, 0, 0),
				 .func = sides[0].func,
				 .func_shown = sides[0].func_shown,
				 .file = sides[0].file,
				 .line = sides[0].line,
				 .module = "",
				 .target = "",
				 .sides = sides,
				 .met = {.name = ""},
				 .apart = 7,
				 .count = 7};
	struct race_finding_site site = {.text = sides[0].text, .count = 7};

	race_site_count(&r->arena, &f, &site);
	base_vec_push(&r->findings, f);
}

/* Lines of a finding in a report, the empty one behind it included; 0: there is none. */
static unsigned lines_of(const char *text, unsigned number)
{
	char head[16];
	unsigned n = 0;

	snprintf(head, sizeof(head), "\n%u. ", number);
	const char *p = strstr(text, head);
	if (!p)
		return 0;
	for (p++; *p && *p != '\n'; p = strchr(p, '\n') + 1)
		n++;
	return n + 1;
}

static size_t lines_in(const char *text)
{
	size_t n = 0;

	for (; (text = strchr(text, '\n')); text++)
		n++;
	return n;
}

/* What a run of one kernel leaves: one that the oracle has judged, or one that was checked. */
static void basis_set(struct race_results *r, bool is_judged)
{
	const struct race_context device = {.device_name = "Collider CPU device"};

	base_vec_push(&r->contexts, device);
	r->command = "./sum 4";
	r->has_oracle = is_judged;
	r->judged_launches = 1;
	r->judged = r->checked = 1234;
	r->actors = 64;
	r->launches = r->host_launches = 1;
}

/* A finding of one side is of one of these; values, and lanes where the kind has them. */
static void add_one_sided(struct race_results *r, enum race_kind kind)
{
	struct race_side s = side_of(11, kind != RACE_KIND_CLOBBERED_READ, "");

	add(r, kind, &s);
	struct race_finding *f = &r->findings.v[0];
	f->sides = NULL;
	f->access = kind == RACE_KIND_CLOBBERED_READ || kind == RACE_KIND_SPECULATED_READ
			    ? RACE_ACCESS_LOAD
		    : kind == RACE_KIND_NC_READ ? RACE_ACCESS_NC_LOAD
						: RACE_ACCESS_STORE;
	f->space = RACE_SPACE_GLOBAL;
	f->width = 4;
	f->vec = 1;
	f->col = 3;
	f->inlined = &call;
	f->ninlined = 1;
	f->first =
		(struct race_first){.address = 0x200000000040, .width = 4, .was = {3}, .now = {7}};
	if (kind == RACE_KIND_INTRA_WARP || kind == RACE_KIND_INTRA_WARP_SAME)
		f->first.lanes = 0x8f;
}

/* With source, calls and a launch, by short names of files and by long ones. */
static void a_report_has_20_lines(void **state)
{
	struct rep_options opt = {.source_prefix = GOLDEN_DIR};
	struct base_buf all = {0};
	char *want = NULL;
	size_t n;

	(void)state;
	for (unsigned k = 1; k < RACE_KIND_COUNT; k++) {
		struct race_results r = {0};
		struct race_side s[2] = {side_of(9, false, ""), side_of(11, true, "")};

		basis_set(&r, race_kinds[k].source == RACE_DETECTOR_ORACLE);
		if (k < RACE_KIND_UNORDERED)
			add_one_sided(&r, (enum race_kind)k);
		else
			add(&r, (enum race_kind)k, s);
		char *got = fake_render(&r, &opt);
		if (lines_of(got, 1) < 5 || lines_in(got) > 20)
			fail_msg("%zu lines in\n%s", lines_in(got), got);
		base_buf_printf(&all, "%s\n", got);
		free(got);
		race_results_free(&r);
	}
	if (getenv("COLLIDER_UPDATE_GOLDEN"))
		assert_int_equal(base_write_file(GOLDEN_DIR "/kinds.txt", all.p, all.n), 0);
	assert_int_equal(base_read_file(GOLDEN_DIR "/kinds.txt", &want, &n), 0);
	assert_int_equal(n, all.n);
	assert_memory_equal(want, all.p, n);
	free(want);
	base_buf_free(&all);
}

/* Two accesses of one place share a line, in which only what differs is said twice. */
static void one_place_is_one_line(void **state)
{
	static const char *const want[] = {
		("    load of 4 bytes RACES WITH store of 4 bytes, global memory (relaxed, scope "
		 "cta) at src/sum.cu:11:3 in helper(int)\n      inlined at src/sum.cu:16:9"),
		("    load of 4 bytes, global memory (relaxed, scope gpu) RACES WITH store of 4 "
		 "bytes, global memory (relaxed, scope cta) at src/sum.cu:11:3 in"),
		("    RACES WITH store of 4 bytes, global memory (relaxed, scope cta) at "
		 "src/sum.cu:11:4 in")};
	struct rep_options opt = {.no_source = true};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct race_results r = {0};
		struct race_side s[2] = {side_of(11, false, ""), side_of(11, true, "")};

		s[0].scope = i == 1 ? RACE_SCOPE_GPU : RACE_SCOPE_CTA;
		s[1].col += i == 2;
		add(&r, RACE_KIND_UNORDERED, s);
		char *got = fake_render(&r, &opt);
		if (!strstr(got, want[i]))
			fail_msg("no '%s' in\n%s", want[i], got);
		free(got);
		race_results_free(&r);
	}
}

static void sixty_have_700_lines(void **state)
{
	static struct race_side s[60][2];
	struct rep_options opt = {.source_prefix = GOLDEN_DIR};
	struct race_results r = {0};

	(void)state;
	for (uint32_t i = 0; i < 60; i++) {
		s[i][0] = side_of(5 + i % 15, false, "");
		s[i][1] = side_of(i < 8 ? 11 : 100 + i, true, "");
		add(&r, (enum race_kind)(RACE_KIND_UNORDERED + i % 4), s[i]);
	}
	char *got = fake_render(&r, &opt);
	for (unsigned i = 1; i <= 60; i++)
		assert_in_range(lines_of(got, i), 5, 20);
	assert_int_equal(lines_of(got, 61), 0);
	assert_in_range(lines_in(got), 60, 700);
	free(got);
	race_results_free(&r);
}

/* Without lines, what differs in registers and offsets only is one: a loop's iterations. So it is
 * in a compiler's text, which is its own source. */
static void expect_one_loop(const char *file)
{
	static struct race_side s[18][2];
	static char text[18][64];
	struct rep_options opt = {.no_source = true};
	struct race_results r = {0};

	for (uint32_t i = 0; i < 18; i++) {
		const char *op = i < 9 ? "st.global.f32" : "st.global.u32";
		snprintf(text[i], sizeof(text[i]),
			 i % 9 ? "%s [%%rd%u+%u], %%f1;" : "%s [%%rd%u], %%f1;", op, i, i * 4);
		s[i][0] = side_of(file ? 20 : 0, false, "ld.global.f32 %f1, [%rd1];");
		s[i][1] = side_of(file ? 21 + i : 0, true, text[i]);
		for (unsigned k = 0; file && k < 2; k++) {
			s[i][k].file = file;
			s[i][k].ninlined = 0;
		}
		add(&r, RACE_KIND_UNORDERED, s[i]);
	}
	char *got = fake_render(&r, &opt);
	assert_non_null(strstr(got, "Occurrences  : 63"));
	assert_true(lines_of(got, 2) > 0);
	assert_int_equal(lines_of(got, 3), 0);
	free(got);
	race_results_free(&r);
}

static void a_loop_without_lines_is_one(void **state)
{
	(void)state;
	expect_one_loop(NULL);
	expect_one_loop("/home/me/.cache/collider/text/sum-0123abcd.ptx");
}

/* Lines that a programmer wrote are places, in PTX too. */
static void lines_of_ptx_are_places(void **state)
{
	struct race_side s[2][2];
	struct rep_options opt = {.no_source = true};
	struct race_results r = {0};

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		s[i][0] = side_of(20, false, "ld.global.f32 %f1, [%rd1];");
		s[i][1] = side_of(21 + i, true, "st.global.f32 [%rd1], %f1;");
		s[i][0].file = s[i][1].file = "src/sum.ptx";
		s[i][0].ninlined = s[i][1].ninlined = 0;
		add(&r, RACE_KIND_UNORDERED, s[i]);
	}
	char *got = fake_render(&r, &opt);
	assert_true(lines_of(got, 2) > 0);
	free(got);
	race_results_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_report_has_20_lines),
		cmocka_unit_test(one_place_is_one_line),
		cmocka_unit_test(sixty_have_700_lines),
		cmocka_unit_test(a_loop_without_lines_is_one),
		cmocka_unit_test(lines_of_ptx_are_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
