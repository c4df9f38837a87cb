/*
 * test_pair.c - findings of the oracle: from chunks to text and JSON lines and back, and --verify.
 *
 * COLLIDER_UPDATE_GOLDEN=1 writes golden/pairs.* instead of comparing.
 */
#include "fake.h"

#include "race/pair.h"

#include <stdlib.h>

static const char words[] =
	"\0_Z3sumPfPKfi\0src/sum.cu\0st.global.f32 [%rd1], %f1;\0copy on stream 3\0_Z6helperi";
enum { FUNC = 1, FILE_NAME = 14, TEXT = 25, HOST_TEXT = 52, HELPER = 69 };

struct chunk {
	struct race_pair pair;
	struct race_frame frame;
	char strings[sizeof(words)];
};

static struct chunk pair_of(uint32_t kind)
{
	struct chunk c = {.pair = {.count = 7,
				   .address = 0x7f0000001000,
				   .kind = kind,
				   .nframes = 1,
				   .strings = sizeof(words)}};

	for (unsigned i = 0; i < 2; i++)
		c.pair.side[i] =
			(struct race_pair_side){.address = 0x7f0000001000,
						.grid = 1,
						.func = FUNC,
						.file = FILE_NAME,
						.text = TEXT,
						.kernel = FUNC,
						.line = i ? 11 : 9,
						.col = 3,
						.ptx_line = 40 + i,
						.bytes = 4,
						.thread = {32 * i, 0, 0},
						.block = {2, 0, 0},
						.access = i ? RACE_ACCESS_STORE : RACE_ACCESS_LOAD,
						.space = RACE_SPACE_GLOBAL,
						.width = 4,
						.vec = 1,
						.flags = i ? RACE_SIDE_WRITES : RACE_SIDE_READS};
	c.frame = (struct race_frame){.func = HELPER, .file = FILE_NAME, .line = 16, .col = 9};
	memcpy(c.strings, words, sizeof(words));
	return c;
}

static void put(struct fake *f, const struct chunk *c)
{
	fake_chunk(f, RACE_CHUNK_PAIR, c, offsetof(struct chunk, strings) + sizeof(words));
}

/* One of each kind, and the sides that have words of their own. */
static void all_pairs(struct fake *f)
{
	struct race_oracle o = {.accesses = 12345,
				.words = 100,
				.shadow_bytes = 3200,
				.clock_bytes = 640,
				.actors = 1024,
				.launches = 2};
	struct chunk c;

	fake_open(f);
	f->head->sample = RACE_SAMPLE_NEVER;
	fake_chunk(f, RACE_CHUNK_ORACLE, &o, sizeof(o));
	c = pair_of(RACE_KIND_UNORDERED);
	c.pair.side[0].nframes = 1;
	put(f, &c);
	c = pair_of(RACE_KIND_SCOPE);
	c.pair.side[0].strength = c.pair.side[1].strength = RACE_RELAXED;
	c.pair.side[0].scope = RACE_SCOPE_CTA;
	c.pair.side[1].scope = RACE_SCOPE_GPU;
	c.pair.side[1].block[0] = 3;
	put(f, &c);
	put(f, &(struct chunk){0});
	c = pair_of(RACE_KIND_MIXED_SIZE);
	put(f, &c);
	c = pair_of(RACE_KIND_PROXY);
	c.pair.side[1].access = RACE_ACCESS_COPY;
	c.pair.side[1].proxy = RACE_PROXY_ASYNC;
	c.pair.side[1].flags |= RACE_SIDE_ASYNC;
	put(f, &c);
	c = pair_of(RACE_KIND_READ_ONLY);
	c.pair.side[0].access = RACE_ACCESS_NC_LOAD;
	put(f, &c);
	c = pair_of(RACE_KIND_UNORDERED);
	c.pair.side[1] = (struct race_pair_side){.address = 0x7f0000001000,
						 .text = HOST_TEXT,
						 .access = RACE_ACCESS_COPY,
						 .space = RACE_SPACE_GLOBAL,
						 .flags = RACE_SIDE_HOST | RACE_SIDE_WRITES};
	put(f, &c);
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

static void pairs_as_text(void **state)
{
	struct rep_options opt = {.source_prefix = GOLDEN_DIR};
	struct race_results r;
	struct fake f;

	(void)state;
	all_pairs(&f);
	fake_read(&f, &r);
	assert_int_equal(r.damaged, 1); /* the empty chunk */
	assert_int_equal(rep_get_verdict(&r, &opt), REP_VERDICT_RACES);
	golden(&r, &opt, "pairs.txt");
	opt.format = REP_JSON;
	golden(&r, &opt, "pairs.jsonl");
	race_results_free(&r);
	fake_close(&f);
}

/* Read back, a saved report gives the same report. */
static void pairs_survive_saving(void **state)
{
	struct rep_options json = {.format = REP_JSON}, text = {0};
	struct race_results r, again = {0};
	struct base_sink sink = {0};
	struct fake f;

	(void)state;
	all_pairs(&f);
	fake_read(&f, &r);
	char *saved = fake_render(&r, &json);
	assert_int_equal(rep_json_parse("saved", saved, strlen(saved), &again, &sink), 0);
	char *want = fake_render(&r, &text), *got = fake_render(&again, &text);
	assert_string_equal(got, want);
	free(want);
	free(got);
	free(saved);
	race_results_free(&r);
	race_results_free(&again);
	fake_close(&f);
}

/* Nothing raced: clean because accesses were judged, not because none was re-read. */
static void judged_and_clean(void **state)
{
	struct race_oracle o = {.accesses = 5, .actors = 32, .launches = 1};
	struct rep_options opt = {0};
	struct race_results r;
	struct fake f;

	(void)state;
	fake_open(&f);
	fake_chunk(&f, RACE_CHUNK_ORACLE, &o, sizeof(o));
	fake_read(&f, &r);
	assert_int_equal(rep_get_verdict(&r, &opt), REP_VERDICT_CLEAN);
	race_results_free(&r);
	fake_close(&f);
}

/* Offsets and sizes that point outside of the chunk. */
static void damaged_pairs(void **state)
{
	struct chunk c = pair_of(RACE_KIND_UNORDERED);
	struct race_results r = {0};
	size_t n = offsetof(struct chunk, strings) + sizeof(words);

	(void)state;
	assert_false(race_pair_read(&r, &c, sizeof(c.pair) - 1));
	c.pair.strings = UINT32_MAX;
	assert_false(race_pair_read(&r, &c, n));
	c.pair.strings = sizeof(words);
	c.pair.nframes = UINT32_MAX;
	assert_false(race_pair_read(&r, &c, n));
	c.pair.nframes = 1;
	c.pair.kind = RACE_KIND_CLOBBERED_READ;
	assert_false(race_pair_read(&r, &c, n));
	c.pair.kind = RACE_KIND_UNORDERED;
	c.pair.side[0].file = UINT32_MAX;
	c.pair.side[0].frame = UINT32_MAX;
	c.pair.side[0].nframes = 2;
	assert_true(race_pair_read(&r, &c, n));
	assert_string_equal(r.findings.v[0].file, "");
	assert_int_equal(r.findings.v[0].ninlined, 0);
	race_results_free(&r);
}

/* A finding of collide is confirmed by a pair with a side on its line, on either side. */
static void verify_lines(void **state)
{
	struct race_results r;
	struct fake f;
	size_t which;

	(void)state;
	fake_open(&f);
	uint64_t h = fake_table(&f, NULL, NULL);
	struct race_region *g = fake_region(&f, 0);
	struct chunk c = pair_of(RACE_KIND_UNORDERED);
	fake_record(g, 0, h, SITE_STORE, RACE_KIND_LOST_UPDATE, 1);
	fake_read(&f, &r);
	assert_int_equal(race_unconfirmed(&r, &which, 1), 1);
	assert_int_equal(which, 0);
	race_results_free(&r);
	put(&f, &c);
	fake_read(&f, &r);
	for (size_t i = 0; i < r.findings.n; i++) /* the table has the file's name its own way */
		if (!r.findings.v[i].sides)
			r.findings.v[i].file = "src/sum.cu";
	assert_int_equal(race_unconfirmed(&r, &which, 1), 0);
	for (size_t i = 0; i < r.findings.n; i++)
		if (!r.findings.v[i].sides)
			r.findings.v[i].line = 12;
	assert_int_equal(race_unconfirmed(&r, &which, 1), 1);
	race_results_free(&r);
	fake_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_as_text),    cmocka_unit_test(pairs_survive_saving),
		cmocka_unit_test(judged_and_clean), cmocka_unit_test(damaged_pairs),
		cmocka_unit_test(verify_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
