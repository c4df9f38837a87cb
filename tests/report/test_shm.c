/*
 * test_shm.c - the shared file: whole, half-written, cut off, overwritten.
 */
#include "fake.h"

#include <stdlib.h>

static void records_become_findings(void **state)
{
	struct race_results r;
	struct fake f;

	(void)state;
	fake_open(&f);
	uint64_t h = fake_table(&f, NULL, NULL);
	struct race_region *g = fake_region(&f, 0);
	fake_record(g, 5, h, SITE_READ, RACE_KIND_CLOBBERED_READ, 8);
	g->counts[5] = 11; /* the snapshot is newer than the record */
	fake_read(&f, &r);
	assert_int_equal(r.findings.n, 1);
	const struct race_finding *x = &r.findings.v[0];
	assert_int_equal(x->count, 11);
	assert_int_equal(x->cls, RACE_CLASS_RACE);
	assert_string_equal(x->func, "_Z3sumPfPKfi");
	assert_string_equal(x->func_shown, "sum(float*, float const*, int)");
	assert_string_equal(x->file, "src/sum.cu");
	assert_int_equal(x->line, 4);
	assert_int_equal(x->ninlined, 1);
	assert_int_equal(x->first.thread[1], 24);
	assert_int_equal(r.checked, 1000);
	assert_int_equal(r.tables, 1);
	assert_int_equal(r.damaged, 0);
	assert_false(r.is_inexact);
	race_results_free(&r);
	fake_close(&f);
}

/* A module with two stores of shared memory and one of global memory. */
static uint64_t stores_table(struct fake *f, uint16_t flags)
{
	struct race_site_builder *b = race_sites_new();
	struct race_site s = {.func = race_sites_string(b, "kernel", 6),
			      .file = race_sites_string(b, "k.py", 4),
			      .line = 3,
			      .access = RACE_ACCESS_STORE,
			      .space = RACE_SPACE_SHARED,
			      .width = 4,
			      .vec = 1};
	uint64_t hash;
	size_t size;
	void *bytes;

	race_sites_add(b, &s);
	s.line = 4;
	race_sites_add(b, &s);
	s.line = 5;
	s.space = RACE_SPACE_GLOBAL;
	race_sites_add(b, &s);
	race_sites_flags(b, flags);
	assert_true(race_sites_finish(b, "k.py", "sm_90", &bytes, &size, &hash));
	race_sites_free(b);
	fake_chunk(f, RACE_CHUNK_SITES, bytes, size)->hash = hash;
	free(bytes);
	return hash;
}

/* The class of a pair of stores that watch, hirace or iguard has found. */
static enum race_class class_of_stores(uint16_t flags, enum race_kind kind, uint32_t site,
				       uint32_t earlier)
{
	struct race_results r;
	struct fake f;

	fake_open(&f);
	uint64_t h = stores_table(&f, flags);
	struct race_record *rec = fake_record(fake_region(&f, 0), 0, h, site, (uint16_t)kind, 1);
	rec->flags = RACE_REC_TWO_SIDES;
	rec->was[0] = kind == RACE_KIND_WATCH ? h : 0;
	rec->was[1] = 0;
	rec->now[0] = earlier + 1;
	rec->now[1] = 256u | 1ull << 16 | 1ull << 32;
	fake_read(&f, &r);
	assert_int_equal(r.findings.n, 1);
	enum race_class cls = r.findings.v[0].cls;
	assert_int_equal(r.findings.v[0].may == RACE_MAY_COPY, cls == RACE_CLASS_UNDECIDED);
	race_results_free(&r);
	fake_close(&f);
	return cls;
}

/* Detectors without values: one store of a tensor compiler may have stored equal copies. */
static void copies_of_an_element_are_undecided(void **state)
{
	static const enum race_kind kinds[] = {RACE_KIND_WATCH, RACE_KIND_HISTORY,
					       RACE_KIND_IGUARD_BLOCK};

	(void)state;
	for (size_t i = 0; i < BASE_COUNTOF(kinds); i++) {
		assert_int_equal(class_of_stores(RACE_SITES_TILES, kinds[i], 0, 0),
				 RACE_CLASS_UNDECIDED);
		/* two stores; of global memory; of another compiler's module */
		assert_int_equal(class_of_stores(RACE_SITES_TILES, kinds[i], 0, 1),
				 RACE_CLASS_RACE);
		assert_int_equal(class_of_stores(RACE_SITES_TILES, kinds[i], 2, 2),
				 RACE_CLASS_RACE);
		assert_int_equal(class_of_stores(0, kinds[i], 0, 0), RACE_CLASS_RACE);
	}
}

static void half_written_is_passed_over(void **state)
{
	struct race_results r;
	struct fake f;

	(void)state;
	fake_open(&f);
	uint64_t h = fake_table(&f, NULL, NULL);
	struct race_region *g = fake_region(&f, 0);
	fake_record(g, 0, h, SITE_READ, RACE_KIND_CLOBBERED_READ, 8)->valid = 0;
	fake_chunk(&f, RACE_CHUNK_NOTE, "not yet", 7)->bytes = 0;
	fake_chunk(&f, RACE_CHUNK_NOTE, "whole", 5);
	g->exact = 0;
	fake_read(&f, &r);
	assert_int_equal(r.findings.n, 0);
	assert_int_equal(r.notes.n, 1);
	assert_string_equal(r.notes.v[0], "whole");
	assert_true(r.is_inexact);
	assert_int_equal(r.damaged, 0);
	race_results_free(&r);
	fake_close(&f);
}

static void contexts_are_merged(void **state)
{
	struct race_results r;
	struct fake f;

	(void)state;
	fake_open(&f);
	uint64_t h = fake_table(&f, NULL, NULL);
	fake_table(&f, NULL, NULL); /* a second context brings its copy */
	for (unsigned i = 0; i < 2; i++)
		fake_record(fake_region(&f, i), i, h, SITE_STORE, RACE_KIND_LOST_UPDATE, 10);
	/* never merged: another kind at the same site */
	fake_record(fake_region(&f, 1), 9, h, SITE_STORE, RACE_KIND_INTRA_WARP, 1);
	fake_read(&f, &r);
	assert_int_equal(r.findings.n, 2);
	assert_int_equal(r.findings.v[0].count, 20);
	assert_int_equal(r.findings.v[0].nseen, 2);
	assert_int_equal(r.findings.v[1].count, 1);
	assert_int_equal(r.tables, 1);
	assert_int_equal(r.checked, 2000);
	race_results_free(&r);
	fake_close(&f);
}

static void muted_counts_say_so(void **state)
{
	struct race_results r;
	struct fake f;

	(void)state;
	fake_open(&f);
	uint64_t h = fake_table(&f, NULL, NULL);
	struct race_region *g = fake_region(&f, 0);
	fake_record(g, 0, h, SITE_STORE, RACE_KIND_LOST_UPDATE, RACE_MUTE_COUNT);
	fake_record(g, 1, h, SITE_READ, RACE_KIND_CLOBBERED_READ, RACE_MUTE_COUNT - 1);
	fake_read(&f, &r);
	assert_true(r.findings.v[0].is_muted);
	assert_false(r.findings.v[1].is_muted);
	race_results_free(&r);
	fake_close(&f);
}

static void class_follows_the_model(void **state)
{
	(void)state;
	assert_int_equal(race_classify(RACE_KIND_SPECULATED_READ, 0, 0), RACE_CLASS_POSSIBLE);
	assert_int_equal(race_classify(RACE_KIND_SPECULATED_READ, RACE_REC_USED, 0),
			 RACE_CLASS_RACE);
	assert_int_equal(race_classify(RACE_KIND_NC_READ, 0, 0), RACE_CLASS_READ_ONLY);
	assert_int_equal(race_classify(RACE_KIND_INTRA_WARP_SAME, 0, 0), RACE_CLASS_RACE);
	assert_int_equal(race_classify(RACE_KIND_LOST_UPDATE, 0, RACE_SITE_VOLATILE),
			 RACE_CLASS_VOLATILE);
}

static void used_in_one_context_is_a_race(void **state)
{
	struct race_results r;
	struct fake f;

	(void)state;
	fake_open(&f);
	uint64_t h = fake_table(&f, NULL, NULL);
	for (unsigned i = 0; i < 2; i++)
		fake_record(fake_region(&f, i), 0, h, SITE_SPECULATED, RACE_KIND_SPECULATED_READ, 1)
			->flags = i ? RACE_REC_USED : 0;
	fake_read(&f, &r);
	assert_int_equal(r.findings.n, 1);
	assert_int_equal(r.findings.v[0].cls, RACE_CLASS_RACE);
	race_results_free(&r);
	fake_close(&f);
}

static void race_without_its_table_is_kept(void **state)
{
	struct race_results r;
	struct fake f;

	(void)state;
	fake_open(&f);
	fake_record(fake_region(&f, 0), 0, 0x1234, 3, RACE_KIND_LOST_UPDATE, 4);
	fake_record(fake_region(&f, 0), 1, fake_table(&f, NULL, NULL), 999, RACE_KIND_LOST_UPDATE,
		    4);
	fake_read(&f, &r);
	assert_int_equal(r.findings.n, 2);
	assert_string_equal(r.findings.v[0].file, "");
	assert_int_equal(r.damaged, 2);
	struct rep_options opt = {0};
	assert_int_equal(rep_exit_races(&r, &opt), 2);
	race_results_free(&r);
	fake_close(&f);
}

static void other_files_are_refused(void **state)
{
	struct race_results r = {0};
	struct fake f;

	(void)state;
	fake_open(&f);
	assert_int_equal(race_shm_read(f.map, 8, &r), BASE_EXIT_INPUT);
	f.head->version++;
	assert_int_equal(race_shm_read(f.map, f.bytes, &r), BASE_EXIT_INPUT);
	f.head->version--;
	f.head->magic++;
	assert_int_equal(race_shm_read(f.map, f.bytes, &r), BASE_EXIT_INPUT);
	race_results_free(&r);
	fake_close(&f);
}

static void cut_off_files_are_read_as_far_as_they_go(void **state)
{
	static const size_t cuts[] = {sizeof(struct race_shm),
				      4096,
				      5000,
				      RACE_SHM_REGION0 + sizeof(struct race_region) - 1,
				      RACE_SHM_REGION0 + sizeof(struct race_region),
				      RACE_SHM_HEAP,
				      RACE_SHM_HEAP + 40};
	struct fake f;

	(void)state;
	fake_open(&f);
	uint64_t h = fake_table(&f, NULL, NULL);
	fake_record(fake_region(&f, 0), 0, h, SITE_READ, RACE_KIND_CLOBBERED_READ, 1);
	for (size_t i = 0; i < BASE_COUNTOF(cuts); i++) {
		struct race_results r = {0};
		unsigned char *copy = malloc(cuts[i]); /* so that ASan sees the end */
		memcpy(copy, f.map, cuts[i]);
		assert_int_equal(race_shm_read(copy, cuts[i], &r), 0);
		assert_int_equal(r.findings.n, i >= 4);
		assert_true(r.damaged > 0);
		race_results_free(&r);
		free(copy);
	}
	fake_close(&f);
}

/* A program's stray stores hit the mapping: the report may be wrong, the reader must live. */
static void stray_stores_are_survived(void **state)
{
	struct rep_options opt = {0};
	uint32_t x = 99;

	(void)state;
	struct fake f;
	fake_open(&f);
	uint64_t h = fake_table(&f, NULL, NULL);
	struct race_region *g = fake_region(&f, 0);
	for (uint16_t k = 1; k < RACE_KIND_COUNT; k++)
		fake_record(g, k, h, k, k, k);
	fake_kernel(&f, 1, 1, "_Z3sumPfPKfi");
	fake_chunk(&f, RACE_CHUNK_PLAIN, "libfoo.so", 9);
	const size_t heads[][2] = {{12, 128},
				   {RACE_SHM_REGION0, 160},
				   {RACE_SHM_REGION0 + offsetof(struct race_region, records), 1024},
				   {RACE_SHM_HEAP, f.head->heap_used}};
	for (int i = 0; i < 1000; i++) {
		size_t at[4];
		unsigned char old[4];
		for (int k = 0; k < 4; k++) {
			const size_t *where = heads[(x = x * 1664525u + 1013904223u) >> 30];
			x = x * 1664525u + 1013904223u;
			at[k] = where[0] + (x >> 8) % where[1];
			old[k] = f.map[at[k]];
			f.map[at[k]] = (unsigned char)(x >> 3);
		}
		struct race_results r = {0};
		if (race_shm_read(f.map, f.bytes, &r) == 0) {
			char *text = fake_render(&r, &opt);
			assert_non_null(strstr(text, "COLLIDER REPORT"));
			free(text);
		}
		race_results_free(&r);
		for (int k = 4; k-- > 0;)
			f.map[at[k]] = old[k];
	}
	fake_close(&f);
}

static void text_is_cleaned(void **state)
{
	struct base_arena a = {0};
	static const char bad[] = "a\033[31m\xff\xc3\xa9\xe2\x82\n";

	(void)state;
	assert_string_equal(race_text(&a, bad, sizeof(bad) - 1), "a [31m?\xc3\xa9?? ");
	assert_string_equal(race_text(&a, "in\0side", 7), "in");
	assert_string_equal(race_demangle(&a, "f"), "f");
	assert_string_equal(race_demangle(&a, "_Znonsense"), "_Znonsense");
	base_arena_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_become_findings),
		cmocka_unit_test(half_written_is_passed_over),
		cmocka_unit_test(contexts_are_merged),
		cmocka_unit_test(muted_counts_say_so),
		cmocka_unit_test(class_follows_the_model),
		cmocka_unit_test(used_in_one_context_is_a_race),
		cmocka_unit_test(race_without_its_table_is_kept),
		cmocka_unit_test(other_files_are_refused),
		cmocka_unit_test(cut_off_files_are_read_as_far_as_they_go),
		cmocka_unit_test(copies_of_an_element_are_undecided),
		cmocka_unit_test(stray_stores_are_survived),
		cmocka_unit_test(text_is_cleaned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
