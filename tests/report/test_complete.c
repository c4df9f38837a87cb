/*
 * test_complete.c - the completeness verdict: complete, partial with its reasons, or nothing.
 */
#include "fake.h"
#include "race/file/pair.h"
#include "race/file/shm_write.h"

#include <stdlib.h>

/* The completeness of the file, and texts that its report has and has not (NULL: any). */
static void expect(struct fake *f, enum race_completeness want, const char *has, const char *hasnt)
{
	struct rep_options opt = {.no_source = true};
	struct race_results r;

	fake_read(f, &r);
	char *text = fake_render(&r, &opt);
	if (race_completeness(&r) != want)
		fail_msg("completeness %d, expected %d: %s", race_completeness(&r), want, text);
	if (has && !strstr(text, has))
		fail_msg("expected '%s' in: %s", has, text);
	if (hasnt && strstr(text, hasnt))
		fail_msg("found '%s' in: %s", hasnt, text);
	assert_int_equal(strstr(text, "\nComplete: ") != NULL, want == RACE_COMPLETE);
	assert_int_equal(strstr(text, "\nPARTIAL: ") != NULL, want == RACE_PARTIAL);
	assert_int_equal(strstr(text, "\nNOTHING was checked") != NULL, want == RACE_NOTHING);
	free(text);
	race_results_free(&r);
}

static void put_gap(struct fake *f, uint32_t why, const char *kernel, const char *what, uint64_t n)
{
	struct {
		struct race_gap_count c;
		char text[256];
	} g = {.c = {.count = n, .why = why, .what = (uint32_t)strlen(kernel) + 1}};

	strcpy(g.text, kernel);
	strcpy(g.text + g.c.what, what);
	fake_chunk(f, RACE_CHUNK_GAP, &g, sizeof(g.c) + g.c.what + strlen(what) + 1);
}

/* A table with one instruction that has no check, in `func`. */
static void put_skip(struct fake *f, const char *func, uint32_t why)
{
	struct race_site_builder *b = race_sites_new();
	uint64_t hash;
	size_t size;
	void *bytes;

	race_sites_unchecked(b, race_sites_string(b, "red.async", 9), why,
			     race_sites_string(b, func, strlen(func)), 1);
	assert_true(race_sites_finish(b, "a.cu", "sm_90", &bytes, &size, &hash));
	race_sites_free(b);
	fake_chunk(f, RACE_CHUNK_SITES, bytes, size)->hash = hash;
	free(bytes);
}

static void kernels_without_checks(void **state)
{
	struct fake f;

	(void)state;
	fake_open(&f);
	expect(&f, RACE_NOTHING, "launched no kernel", "Complete");
	fake_region(&f, 0);
	fake_kernel(&f, 1, 1, "_Z3runv");
	expect(&f, RACE_COMPLETE, "seen in 1,000 checked accesses\n", "PARTIAL");
	fake_kernel(&f, 0, 0, "_Z4idlev");
	expect(&f, RACE_COMPLETE, NULL, "idle");
	fake_kernel(&f, 2, 0, "_Z5plainv");
	expect(&f, RACE_PARTIAL, "  kernel plain(), 2 launches: not instrumented\n", NULL);
	fake_close(&f);
}

/* Instructions without a check count in kernels that ran, and in functions that kernels call. */
static void instructions_without_checks(void **state)
{
	static const struct {
		const char *func;
		uint32_t why;
		bool is_partial;
	} cases[] = {{"_Z3runv", RACE_WHY_UNSUPPORTED, true},
		     {"_Z4idlev", RACE_WHY_UNSUPPORTED, false},
		     {"_Z4idlev", RACE_WHY_UNSUPPORTED | RACE_WHY_CALLED, true},
		     {"_Z3runv", RACE_WHY_UNKNOWN_OPCODE, true},
		     {"_Z3runv", RACE_WHY_KERNEL_AS_IT_WAS, true},
		     {"_Z4idlev", RACE_WHY_KERNEL_AS_IT_WAS, false},
		     {"_Z3runv", RACE_WHY_ORDERS, true},
		     {"_Z3runv", RACE_WHY_LOOKED_AT, true},
		     {"_Z4idlev", RACE_WHY_LOOKED_AT, false},
		     {"_Z3runv", RACE_WHY_NOT_ASKED, true},
		     {"_Z3runv", RACE_WHY_PROVEN_GLOBAL, true},
		     {"_Z3runv", RACE_WHY_PRIVATE, false},
		     {"_Z3runv", RACE_WHY_DEAD, false},
		     {"_Z3runv", RACE_WHY_STRONG, false},
		     {"_Z3runv", RACE_WHY_PROVEN, false},
		     {"_Z3runv", RACE_WHY_UNDISTURBED, false}};

	struct race_oracle o = {.accesses = 9, .kernel_accesses = 7, .launches = 1};
	struct fake f;

	(void)state;
	fake_open(&f);
	fake_region(&f, 0);
	for (size_t i = 0; i < BASE_COUNTOF(cases); i++) {
		f.head->heap_used = 0;
		fake_kernel(&f, 1, 1, "_Z3runv");
		put_skip(&f, cases[i].func, cases[i].why);
		expect(&f, cases[i].is_partial ? RACE_PARTIAL : RACE_COMPLETE, NULL, NULL);
		/* The oracle judges all accesses; what options leave out, and pairs of launches,
		 * stay gaps. */
		uint32_t why = cases[i].why & ~RACE_WHY_CALLED;
		bool stays = why == RACE_WHY_NOT_ASKED || why == RACE_WHY_PROVEN_GLOBAL;
		fake_chunk(&f, RACE_CHUNK_ORACLE, &o, sizeof(o));
		expect(&f, stays ? RACE_PARTIAL : RACE_COMPLETE, "seen in 7 judged accesses", NULL);
	}
	fake_close(&f);
}

static void host_copies_do_not_count(void **state)
{
	struct race_oracle o = {.accesses = 42, .actors = 3};
	struct race_region *g;
	struct fake f;

	(void)state;
	fake_open(&f);
	g = fake_region(&f, 0);
	g->checked = g->launches = g->host_launches = 0;
	struct race_oracle *in = (void *)(fake_chunk(&f, RACE_CHUNK_ORACLE, &o, sizeof(o)) + 1);
	expect(&f, RACE_NOTHING, "NOTHING WAS CHECKED: the program launched no kernel", "no race");
	in->launches = 1;
	expect(&f, RACE_NOTHING, "no kernel ran that accesses memory", "no race");
	put_skip(&f, "_Z3runv", RACE_WHY_NOT_ASKED);
	fake_kernel(&f, 1, 1, "_Z3runv");
	expect(&f, RACE_NOTHING, "no kernel ran that accesses what --variable asks for", "no race");
	put_gap(&f, RACE_GAP_REFUSED, "_Z3badv", "no such thing here", 2);
	expect(&f, RACE_NOTHING,
	       "NOTHING WAS CHECKED: kernel bad(), 2 launches: the device can't run it: no such",
	       "no race");
	in->kernel_accesses = 5;
	expect(&f, RACE_PARTIAL, "no race seen in 5 judged accesses; PARTIAL: kernel bad() refused",
	       NULL);
	fake_close(&f);
}

static void counters_are_reasons(void **state)
{
	struct race_oracle o = {.accesses = 9, .kernel_accesses = 7, .launches = 1};
	struct race_oracle *in;
	struct race_region *g;
	struct fake f;

	(void)state;
	fake_open(&f);
	g = fake_region(&f, 0);
	f.head->dense = 64; /* the default's own */
	expect(&f, RACE_COMPLETE, "Complete: every access", NULL);
	/* More checks than one thread makes surely: some may have been left out. */
	g->checked = 65;
	expect(&f, RACE_COMPLETE,
	       " was checked, in long loops and repeated launches ever more rarely\n", NULL);
	g->checked = 64;
	expect(&f, RACE_COMPLETE, " was checked\n", "rarely");
	f.head->dense = 0; /* --dense=0 */
	g->checked = 65;
	expect(&f, RACE_COMPLETE, " was checked\n", "rarely");
	f.head->dense = 64;
	f.head->sample = 4;
	expect(&f, RACE_PARTIAL, "  one execution in 4 was checked (--rate)\n", NULL);
	f.head->sample = 1;
	f.head->sites = 12;
	expect(&f, RACE_PARTIAL, "  12 sites were chosen to be checked (--sample)\n", NULL);
	f.head->sites = UINT32_MAX; /* --coverage alone */
	g->accesses_aside = 3;
	expect(&f, RACE_PARTIAL,
	       "  3 accesses of memory without history words, or beyond 64 copies of a thread\n",
	       NULL);
	g->accesses_aside = 0;
	g->watch_lost = 1;
	expect(&f, RACE_PARTIAL, "  1 hit whose other side", NULL);
	g->watch_lost = 0;
	g->watch_busy = 9; /* its own thinning */
	expect(&f, RACE_COMPLETE, NULL, NULL);
	g->exact = 0;
	expect(&f, RACE_PARTIAL, "; PARTIAL: the program ended while kernels were at work\n", NULL);
	g->exact = 1;
	g->error = 700;
	expect(&f, RACE_PARTIAL, "CUDA error 700 ended a context", NULL);
	g->error = 0;

	f.head->sample = 4;
	in = (void *)(fake_chunk(&f, RACE_CHUNK_ORACLE, &o, sizeof(o)) + 1);
	expect(&f, RACE_COMPLETE, NULL, NULL);
	in->is_aside = 1;
	expect(&f, RACE_PARTIAL, "the oracle was full", NULL);
	in->is_aside = 0;
	in->dropped = 2;
	expect(&f, RACE_PARTIAL, "2 accesses forgotten", NULL);
	in->dropped = 0;
	in->has_shared = 1;
	expect(&f, RACE_PARTIAL, "loads and stores of host code were not judged", NULL);
	in->sees_host = 1;
	expect(&f, RACE_COMPLETE, NULL, NULL);
	fake_close(&f);
}

static void chosen_launches(void **state)
{
	struct {
		struct race_kernel_count k;
		char name[8];
	} c = {{.count = 9, .instrumented = 1, .started = 9, .checked = 9}, "scan"};
	struct race_kernel_count *k;
	struct fake f;

	(void)state;
	fake_open(&f);
	fake_region(&f, 0);
	k = (void *)(fake_chunk(&f, RACE_CHUNK_KERNEL, &c, sizeof(c.k) + 4) + 1);
	expect(&f, RACE_COMPLETE, NULL, NULL);
	k->checked = 6;
	k->why = RACE_LEFT_SKIP;
	expect(&f, RACE_PARTIAL, "  kernel scan, 3 of 9 launches: --launch-skip\n", NULL);
	k->why |= RACE_LEFT_BUDGET;
	expect(&f, RACE_PARTIAL, "  kernel scan, 3 of 9 launches: no time was left (--budget)\n",
	       NULL);
	k->why = 0;
	k->checked = 9;
	k->cuts = 1;
	expect(&f, RACE_PARTIAL, "  kernel scan, 1 of 9 launches: judged in part (--budget)\n",
	       NULL);
	fake_close(&f);
}

/* The time was over before a thread had accessed anything: that is the reason, not the kernel. */
static void no_time_at_all(void **state)
{
	struct race_oracle o = {.accesses = 41, .launches = 1};
	struct {
		struct race_kernel_count k;
		char name[8];
	} c = {{.count = 3, .instrumented = 1, .started = 3, .checked = 3}, "scan"};
	struct fake f;

	(void)state;
	fake_open(&f);
	struct race_region *g = fake_region(&f, 0);
	g->checked = g->launches = g->host_launches = 0;
	struct race_kernel_count *k =
		(void *)(fake_chunk(&f, RACE_CHUNK_KERNEL, &c, sizeof(c.k) + 4) + 1);
	fake_chunk(&f, RACE_CHUNK_ORACLE, &o, sizeof(o));
	expect(&f, RACE_NOTHING, "NOTHING WAS CHECKED: no kernel ran that accesses memory",
	       "budget");
	k->cuts = 1;
	expect(&f, RACE_NOTHING,
	       "NOTHING WAS CHECKED: kernel scan, 1 of 3 launches: judged in part (--budget)",
	       "accesses memory");
	fake_close(&f);
}

static void damaged_gaps_are_counted(void **state)
{
	struct {
		struct race_gap_count c;
		char text[8];
	} g = {.c = {.count = 1, .why = RACE_GAPS, .what = 2}, .text = "k\0why"};
	struct race_results r;
	struct fake f;

	(void)state;
	fake_open(&f);
	fake_chunk(&f, RACE_CHUNK_GAP, &g, sizeof(g.c) + 6); /* no such reason */
	g.c.why = RACE_GAP_REFUSED;
	fake_chunk(&f, RACE_CHUNK_GAP, &g, sizeof(g.c) + 5); /* not terminated */
	g.c.what = 6;
	fake_chunk(&f, RACE_CHUNK_GAP, &g, sizeof(g.c) + 6); /* outside */
	g.c.what = 1;
	fake_chunk(&f, RACE_CHUNK_GAP, &g, sizeof(g.c) + 6); /* in the kernel's name */
	fake_chunk(&f, RACE_CHUNK_GAP, &g, sizeof(g.c));
	fake_chunk(&f, RACE_CHUNK_GAP, &g, 3);
	g.c.what = 2;
	fake_chunk(&f, RACE_CHUNK_GAP, &g, sizeof(g.c) + 6); /* a good one, twice */
	fake_chunk(&f, RACE_CHUNK_GAP, &g, sizeof(g.c) + 6);
	fake_read(&f, &r);
	assert_int_equal(r.damaged, 6);
	assert_int_equal(r.gaps.n, 2); /* and the damage itself */
	assert_int_equal(r.gaps.v[0].count, 2);
	assert_string_equal(r.gaps.v[0].kernel, "k");
	assert_string_equal(r.gaps.v[0].what, "why");
	race_results_free(&r);
	fake_close(&f);
}

/* ---- saved reports --------------------------------------------------------------------------- */

static char *saved(struct fake *f)
{
	struct rep_options opt = {.format = REP_JSON};
	struct race_results r;

	fake_read(f, &r);
	char *text = fake_render(&r, &opt);
	race_results_free(&r);
	return text;
}

static void parse(struct race_results *r, const char *text, const char *warning)
{
	struct base_sink sink = {0};

	assert_int_equal(rep_json_parse("a.jsonl", text, strlen(text), r, &sink), 0);
	assert_int_equal(sink.diags.n, warning != NULL);
	if (warning && !strstr(sink.diags.v[0].text, warning))
		fail_msg("expected '%s': %s", warning, sink.diags.v[0].text);
	base_sink_free(&sink);
}

/* What the detectors passed over has the judge's word beside it, in text and in what is saved: of
 * the launch of which it judged the most. */
static void gaps_have_the_judges_word(void **state)
{
	struct {
		struct race_beside_kernel b;
		char name[16];
	} k = {.b = {4, 32}, .name = "_Z3runv"};
	static const char says[] = "run(), 1 unchecked instruction: red.async (beside the GPU 8 of "
				   "32 blocks were judged)\n";
	struct rep_options opt = {.no_source = true};
	struct race_results r = {0};
	struct fake f;

	(void)state;
	fake_open(&f);
	fake_region(&f, 0);
	fake_kernel(&f, 1, 1, "_Z3runv");
	put_skip(&f, "_Z3runv", RACE_WHY_UNSUPPORTED);
	expect(&f, RACE_PARTIAL, "kernel run()", "beside the GPU");
	strcpy(k.name, "_Z3notv");
	fake_chunk(&f, RACE_CHUNK_BESIDE_KERNEL, &k, sizeof(k.b) + 8);
	expect(&f, RACE_PARTIAL, "kernel run()", "beside the GPU");
	strcpy(k.name, "_Z3runv");
	fake_chunk(&f, RACE_CHUNK_BESIDE_KERNEL, &k, sizeof(k.b) + 8);
	k.b.blocks = 8;
	fake_chunk(&f, RACE_CHUNK_BESIDE_KERNEL, &k, sizeof(k.b) + 8);
	k.b.blocks = 2;
	fake_chunk(&f, RACE_CHUNK_BESIDE_KERNEL, &k, sizeof(k.b) + 8);
	expect(&f, RACE_PARTIAL, says, NULL);
	char *whole = saved(&f);
	parse(&r, whole, NULL);
	parse(&r, whole, NULL);
	char *text = fake_render(&r, &opt);
	assert_non_null(strstr(text, "(beside the GPU 8 of 32 blocks were judged)\n"));
	free(text);
	free(whole);
	race_results_free(&r);
	/* A name that doesn't end. */
	fake_chunk(&f, RACE_CHUNK_BESIDE_KERNEL, &k, sizeof(k.b) + 7);
	expect(&f, RACE_PARTIAL, "1 record could not be read", NULL);
	fake_close(&f);
}

static void reports_are_read_back(void **state)
{
	struct rep_options opt = {.no_source = true};
	struct race_results r = {0};
	struct fake f, empty;

	(void)state;
	fake_open(&f);
	fake_region(&f, 0);
	fake_open(&empty);
	char *whole = saved(&f), *nothing = saved(&empty);
	put_gap(&f, RACE_GAP_REFUSED, "_Z3badv", "no such thing here", 2);
	f.head->sample = 4;
	char *part = saved(&f);

	parse(&r, whole, NULL);
	assert_int_equal(race_completeness(&r), RACE_COMPLETE);
	parse(&r, part, NULL);
	parse(&r, part, NULL);
	assert_int_equal(race_completeness(&r), RACE_PARTIAL);
	assert_int_equal(r.gaps.n, 2);
	assert_int_equal(r.gaps.v[0].why, RACE_GAP_REFUSED);
	assert_int_equal(r.gaps.v[0].count, 4);
	race_results_free(&r);

	/* A run that checked nothing stays one, alone and among others. */
	parse(&r, nothing, NULL);
	assert_int_equal(race_completeness(&r), RACE_NOTHING);
	char *text = fake_render(&r, &opt);
	assert_non_null(strstr(text, "NOTHING WAS CHECKED: the program launched no kernel"));
	free(text);
	parse(&r, whole, NULL);
	assert_int_equal(race_completeness(&r), RACE_PARTIAL);
	text = fake_render(&r, &opt);
	assert_non_null(strstr(text, "1 of 2 runs: nothing was checked in a run\n"));
	free(text);
	race_results_free(&r);

	/* Cut off, and with a line of a type that isn't known. */
	*strstr(whole, "{\"type\":\"summary\"") = 0;
	parse(&r, whole, "without its summary");
	text = fake_render(&r, &opt);
	assert_non_null(strstr(text, "NOTHING WAS CHECKED: a.jsonl ends without its summary"));
	free(text);
	race_results_free(&r);
	char *odd = malloc(strlen(part) + 64);
	sprintf(odd, "%.*s{\"type\":\"novelty\"}\n%s", (int)(strchr(part, '\n') + 1 - part), part,
		strchr(part, '\n') + 1);
	parse(&r, odd, "a line of type 'novelty'");
	text = fake_render(&r, &opt);
	assert_non_null(strstr(text, "a.jsonl has lines of type 'novelty'"));
	free(text);
	free(odd);
	race_results_free(&r);
	free(whole);
	free(nothing);
	free(part);
	fake_close(&empty);
	fake_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_without_checks),
		cmocka_unit_test(instructions_without_checks),
		cmocka_unit_test(host_copies_do_not_count),
		cmocka_unit_test(counters_are_reasons),
		cmocka_unit_test(chosen_launches),
		cmocka_unit_test(no_time_at_all),
		cmocka_unit_test(damaged_gaps_are_counted),
		cmocka_unit_test(gaps_have_the_judges_word),
		cmocka_unit_test(reports_are_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
