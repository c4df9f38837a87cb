/*
 * test_site.c - site tables: what is built is read back, what is damaged is refused.
 */
#include "fake.h"

#include <stdlib.h>
#include <zstd.h>

/* Reads everything that there is, and beyond. */
static void walk(const struct race_sites *t)
{
	struct race_site s;
	struct race_frame f;
	struct race_unchecked u;
	size_t bytes = 0;

	for (uint32_t i = 0; race_sites_get(t, i, &s); i++)
		bytes += strlen(race_sites_text(t, s.func)) + strlen(race_sites_text(t, s.text)) +
			 strlen(race_sites_text(t, s.file));
	for (uint32_t i = 0; race_sites_get_frame(t, i, &f); i++)
		bytes += strlen(race_sites_text(t, f.func)) + strlen(race_sites_text(t, f.file));
	for (uint32_t i = 0; race_sites_get_unchecked(t, i, &u); i++)
		bytes += strlen(race_sites_text(t, u.what)) + strlen(race_sites_text(t, u.func));
	assert_true(bytes < SIZE_MAX);
	assert_false(race_sites_get(t, UINT32_MAX, &s));
	assert_string_equal(race_sites_text(t, UINT32_MAX), "");
}

static void table_is_read_back(void **state)
{
	struct race_sites t;
	struct race_site s;
	struct race_frame f;
	struct race_unchecked u;
	void *blob;
	size_t n;
	uint64_t hash = fake_table(NULL, &blob, &n);

	(void)state;
	assert_int_equal(n % 8, 0);
	assert_null(race_sites_decode(blob, n, &t));
	assert_true(t.h.hash == hash);
	assert_int_equal(t.h.nsites, SITE_COUNT);
	assert_true(race_sites_get(&t, SITE_READ_SECOND, &s));
	assert_string_equal(race_sites_text(&t, s.func), "_Z3sumPfPKfi");
	assert_string_equal(race_sites_text(&t, s.text), "ld.shared.v2.f32 {%f3, %f4}, [%r2+8];");
	assert_int_equal(s.vec, 2);
	assert_true(race_sites_get_frame(&t, s.frame - 1, &f));
	assert_string_equal(race_sites_text(&t, f.func), "_Z6neighbPf");
	assert_true(race_sites_get_unchecked(&t, 2, &u));
	assert_string_equal(race_sites_text(&t, u.func), "_Z3bigPi");
	assert_string_equal(race_sites_text(&t, t.h.target), "sm_90");
	walk(&t);
	race_sites_close(&t);
	free(blob);
}

static void equal_calls_give_equal_bytes(void **state)
{
	void *a, *b;
	size_t na, nb;

	(void)state;
	assert_true(fake_table(NULL, &a, &na) == fake_table(NULL, &b, &nb));
	assert_int_equal(na, nb);
	assert_memory_equal(a, b, na);
	free(a);
	free(b);
}

static void strings_and_frames_are_entered_once(void **state)
{
	struct race_site_builder *b = race_sites_new();
	struct race_frame f = {.func = 1, .line = 2}, g = {.func = 1, .line = 3};

	(void)state;
	assert_int_equal(race_sites_string(b, NULL, 0), 0);
	assert_int_equal(race_sites_string(b, "", 0), 0);
	uint32_t x = race_sites_string(b, "abc", 3);
	assert_int_equal(race_sites_string(b, "abcd", 3), x);
	assert_int_equal(race_sites_string(b, "abc\0d", 5), x);
	assert_int_not_equal(race_sites_string(b, "abcd", 4), x);
	assert_int_equal(race_sites_frame(b, &f), 1);
	assert_int_equal(race_sites_frame(b, &g), 2);
	assert_int_equal(race_sites_frame(b, &f), 1);
	race_sites_free(b);
}

static void detectors_count_the_same_instructions_once(void **state)
{
	struct race_site_builder *b = race_sites_new();
	struct race_sites t;
	struct race_unchecked u;
	uint64_t hash;
	void *blob;
	size_t n;
	uint32_t f = race_sites_string(b, "f", 1), g = race_sites_string(b, "g", 1);

	(void)state;
	race_sites_begin_detector(b);
	race_sites_unchecked(b, 0, RACE_WHY_PROVEN, f, 2);
	race_sites_unchecked(b, 0, RACE_WHY_PROVEN, f, 1);
	race_sites_begin_detector(b);
	race_sites_unchecked(b, 0, RACE_WHY_PROVEN, f, 1);
	race_sites_unchecked(b, 0, RACE_WHY_PROVEN, f, 3);
	race_sites_unchecked(b, 0, RACE_WHY_PROVEN, g, 1);
	assert_true(race_sites_finish(b, NULL, NULL, &blob, &n, &hash));
	assert_null(race_sites_decode(blob, n, &t));
	assert_true(race_sites_get_unchecked(&t, 0, &u));
	assert_int_equal(u.count, 4);
	assert_true(race_sites_get_unchecked(&t, 1, &u));
	assert_int_equal(u.count, 1);
	race_sites_close(&t);
	free(blob);
	race_sites_free(b);
}

static void empty_table_is_valid(void **state)
{
	struct race_site_builder *b = race_sites_new();
	struct race_sites t;
	uint64_t hash;
	void *blob;
	size_t n;

	(void)state;
	assert_true(race_sites_finish(b, NULL, NULL, &blob, &n, &hash));
	assert_null(race_sites_decode(blob, n, &t));
	walk(&t);
	race_sites_close(&t);
	free(blob);
	race_sites_free(b);
}

static void many_sites_are_read_back(void **state)
{
	struct race_site_builder *b = race_sites_new();
	struct race_site s = {.access = RACE_ACCESS_LOAD};
	struct race_sites t;
	uint64_t hash;
	char text[32];
	void *blob;
	size_t n;

	(void)state;
	for (uint32_t i = 0; i < 100000; i++) {
		int len = snprintf(text, sizeof(text), "ld.f32 %%f%u;", i);
		s.text = race_sites_string(b, text, (size_t)len);
		s.line = i;
		race_sites_add(b, &s);
	}
	assert_int_equal(race_sites_count(b), 100000);
	assert_true(race_sites_finish(b, "m", "sm_90", &blob, &n, &hash));
	race_sites_free(b);
	assert_null(race_sites_decode(blob, n, &t));
	assert_true(race_sites_get(&t, 99999, &s));
	assert_string_equal(race_sites_text(&t, s.text), "ld.f32 %f99999;");
	race_sites_close(&t);
	free(blob);
}

static uint32_t next_random(uint32_t *x)
{
	*x = *x * 1664525u + 1013904223u;
	return *x >> 8;
}

static void flipped_bytes_are_refused(void **state)
{
	struct race_sites t;
	uint32_t x = 1;
	void *blob;
	size_t n;

	(void)state;
	fake_table(NULL, &blob, &n);
	unsigned char *bad = malloc(n);
	uint32_t stored = ((struct race_site_blob *)blob)->stored_bytes;
	for (int i = 0; i < 5000; i++) {
		memcpy(bad, blob, n);
		size_t at = next_random(&x) % (sizeof(struct race_site_blob) + stored);
		bad[at] = (unsigned char)(bad[at] ^ (1 + next_random(&x) % 255));
		/* A zstd frame has bits that say nothing: then the table is whole. */
		if (race_sites_decode(bad, n, &t))
			continue;
		walk(&t);
		race_sites_close(&t);
	}
	for (size_t cut = 0; cut < sizeof(struct race_site_blob) + stored; cut++)
		assert_non_null(race_sites_decode(blob, cut, &t));
	free(bad);
	free(blob);
}

/* The hash is no secret: a damaged image with a right hash must not hurt either. */
static void hostile_images_are_safe(void **state)
{
	struct race_sites good, t;
	uint32_t x = 7;
	void *blob;
	size_t n;
	unsigned accepted = 0;

	(void)state;
	fake_table(NULL, &blob, &n);
	assert_null(race_sites_decode(blob, n, &good));
	size_t raw = good.size, head = sizeof(struct race_site_blob);
	unsigned char *bad = malloc(head + raw);
	for (int i = 0; i < 20000; i++) {
		struct race_site_blob b = {.magic = RACE_SITE_MAGIC,
					   .version = RACE_SITE_VERSION,
					   .raw_bytes = (uint32_t)raw,
					   .stored_bytes = (uint32_t)raw};
		memcpy(bad + head, good.image, raw);
		size_t range = i % 2 ? sizeof(struct race_site_header) : raw;
		for (unsigned k = 0; k < 1 + (unsigned)i % 4; k++)
			bad[head + 16 + next_random(&x) % (range - 16)] =
				(unsigned char)next_random(&x);
		memset(bad + head + 8, 0, 8);
		b.hash = base_hash(bad + head, raw, BASE_FNV_INIT);
		memcpy(bad + head + 8, &b.hash, 8);
		memcpy(bad, &b, sizeof(b));
		if (race_sites_decode(bad, head + raw, &t))
			continue;
		accepted++;
		walk(&t);
		race_sites_close(&t);
	}
	assert_true(accepted > 100); /* else the getters were never tried */
	race_sites_close(&good);
	free(bad);
	free(blob);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_is_read_back),
		cmocka_unit_test(equal_calls_give_equal_bytes),
		cmocka_unit_test(strings_and_frames_are_entered_once),
		cmocka_unit_test(detectors_count_the_same_instructions_once),
		cmocka_unit_test(empty_table_is_valid),
		cmocka_unit_test(many_sites_are_read_back),
		cmocka_unit_test(flipped_bytes_are_refused),
		cmocka_unit_test(hostile_images_are_safe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
