/*
 * test_transfer.c - copies of the host that raced: from the file's chunk to the report.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "race/race.h"
#include "report/report.h"

#define TEXTS                                                                                      \
	"\0cudaMemcpyAsync_ptsz\0/nowhere/app\0main\0/nowhere/libcudart.so.13\0cudaMemcpyAsync"

struct chunk {
	struct race_transfer t;
	struct race_transfer_frame frames[2];
	char texts[sizeof(TEXTS)];
};

static struct chunk chunk_of(uint32_t kind, uint64_t bytes)
{
	struct chunk c = {.t = {.count = 3,
				.address = 0x7000,
				.at = 16,
				.bytes = bytes,
				.stream = 0x5555,
				.was = 1,
				.now = 2,
				.width = 4,
				.kind = kind,
				.api = 1,
				.nframes = 2,
				.strings = sizeof(TEXTS)},
			  .frames = {{.offset = 0x99, .module = 40, .symbol = 65},
				     {.offset = 0x1234, .module = 22, .symbol = 35}}};

	memcpy(c.texts, TEXTS, sizeof(TEXTS));
	return c;
}

static void a_chunk_becomes_a_finding(void **state)
{
	struct chunk c = chunk_of(RACE_KIND_CLOBBERED_READ, 4096);
	struct race_results r = {0};
	const struct race_finding *f;

	(void)state;
	assert_true(race_transfer_read(&r, &c, sizeof(c), 42));
	assert_int_equal(r.findings.n, 1);
	f = &r.findings.v[0];
	assert_int_equal(f->cls, RACE_CLASS_RACE);
	assert_int_equal(f->count, 3);
	assert_string_equal(f->func, "main");
	assert_string_equal(f->transfer->api, "cudaMemcpyAsync");
	assert_string_equal(f->transfer->module, "/nowhere/app");
	assert_int_equal(f->transfer->offset, 0x1234);
	assert_int_equal(f->seen[0].pid, 42);
	race_results_free(&r);
}

static void small_ones_are_only_possible(void **state)
{
	struct chunk c = chunk_of(RACE_KIND_LOST_UPDATE, 8);
	struct race_results r = {0};

	(void)state;
	assert_true(race_transfer_read(&r, &c, sizeof(c), 1));
	assert_int_equal(r.findings.v[0].cls, RACE_CLASS_POSSIBLE);
	race_results_free(&r);
}

static void damaged_chunks_are_refused(void **state)
{
	struct race_results r = {0};

	(void)state;
	struct chunk c = chunk_of(RACE_KIND_LOST_UPDATE, 64);
	for (size_t n = 0; n < offsetof(struct chunk, texts) + sizeof(TEXTS); n++)
		assert_false(race_transfer_read(&r, &c, n, 1));
	c = chunk_of(RACE_KIND_INTRA_WARP, 64);
	assert_false(race_transfer_read(&r, &c, sizeof(c), 1));
	c = chunk_of(RACE_KIND_LOST_UPDATE, 64);
	c.t.nframes = 0xffffffff;
	assert_false(race_transfer_read(&r, &c, sizeof(c), 1));
	c = chunk_of(RACE_KIND_LOST_UPDATE, 64);
	c.t.api = 0xffffff; /* strings outside are empty */
	c.frames[1].module = 0xffffff;
	assert_true(race_transfer_read(&r, &c, sizeof(c), 1));
	race_results_free(&r);
}

static char *render(const struct race_results *r, enum rep_format format)
{
	struct rep_options opt = {.format = format};
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	assert_non_null(f);
	assert_int_equal(rep_render(r, &opt, f), 0);
	fclose(f);
	return text;
}

static void both_formats_tell_it_and_json_comes_back(void **state)
{
	struct chunk c = chunk_of(RACE_KIND_LOST_UPDATE, 4096);
	struct race_transfer_counts counts = {.checked = 5, .bytes = 77, .skipped = {1, 0, 2}};
	struct race_results r = {.checked = 1}, back = {0};
	struct base_sink sink = {0};
	char *text, *json, *again;

	(void)state;
	assert_true(race_transfer_read(&r, &c, sizeof(c), 1));
	assert_true(race_transfer_counts_read(&r, &counts, sizeof(counts)));
	assert_false(race_transfer_counts_read(&r, &counts, sizeof(counts) - 1));
	text = render(&r, REP_TEXT);
	assert_non_null(strstr(text, "memory changed while the host's copy wrote it"));
	assert_non_null(strstr(text, "cudaMemcpyAsync of 4096 bytes on stream 0x5555"));
	assert_non_null(strstr(text, "/nowhere/app+0x1234"));
	assert_non_null(strstr(text, "byte 16 of 4,096"));
	assert_non_null(strstr(text, "1 copy or fill of the host: written into a graph"));
	assert_non_null(strstr(text, "2 copies or fills of the host: to or from pageable"));
	assert_null(strstr(text, "Thread (0,0,0)"));
	json = render(&r, REP_JSON);
	assert_int_equal(rep_json_parse("x", json, strlen(json), &back, &sink), 0);
	assert_int_equal(back.transfers.bytes, 77);
	assert_int_equal(back.transfers.skipped[RACE_TRANSFER_PAGEABLE], 2);
	again = render(&back, REP_JSON);
	assert_string_equal(json, again);
	free(text);
	free(json);
	free(again);
	base_sink_free(&sink);
	race_results_free(&r);
	race_results_free(&back);
}

/* The copy of place 7 beside a pair, of which place `place` does `way`: is it confirmed? */
static bool is_confirmed_by(uint32_t place, unsigned way)
{
	struct chunk c = chunk_of(RACE_KIND_CLOBBERED_READ, 4096);
	struct race_side sides[2] = {{.flags = RACE_SIDE_HOST | way, .ptx_line = place},
				     {.file = "a.cu", .line = 5}};
	struct race_finding pair = {.cls = RACE_CLASS_RACE, .sides = sides};
	struct race_results r = {0};
	size_t which;

	c.t.origin = 7;
	pair.met = (struct race_object){.memory = RACE_MEMORY_DEVICE, .base = 0x90000, .bytes = 64};
	assert_true(race_transfer_read(&r, &c, sizeof(c), 42));
	base_vec_push(&r.findings, pair);
	bool is_confirmed = !race_unconfirmed(&r, &which, 1);
	race_results_free(&r);
	return is_confirmed;
}

/* One line copies several buffers in turn; the pair names the first in which it was met. */
static void a_pair_in_another_buffer_confirms_a_copy(void **state)
{
	(void)state;
	assert_true(is_confirmed_by(7, RACE_SIDE_READS));
	assert_false(is_confirmed_by(7, RACE_SIDE_WRITES));
	assert_false(is_confirmed_by(8, RACE_SIDE_READS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pair_in_another_buffer_confirms_a_copy),
		cmocka_unit_test(a_chunk_becomes_a_finding),
		cmocka_unit_test(small_ones_are_only_possible),
		cmocka_unit_test(damaged_chunks_are_refused),
		cmocka_unit_test(both_formats_tell_it_and_json_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
