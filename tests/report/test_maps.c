/*
 * test_maps.c - tensor maps: which boxes are plain, and how kernels find them.
 */
#include "race/file/maps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const uint64_t dims[5] = {64, 32, 8, 4, 2};
static const uint64_t strides[4] = {256, 8192, 65536, 262144};
static const uint32_t box[5] = {32, 8, 1, 1, 1};
static const uint32_t ones[5] = {1, 1, 1, 1, 1};

/* 2D, 32-bit words, rows of 128 bytes. */
static struct race_map_request plain(void)
{
	return (struct race_map_request){
		.address = 0x7f0000001000,
		.type = 2,
		.rank = 2,
		.dims = dims,
		.strides = strides,
		.box = box,
		.element_strides = ones,
	};
}

static void plain_boxes_are_taken(void **state)
{
	struct race_map_request q = plain();
	struct race_box b;

	(void)state;
	assert_true(race_box_make(&b, &q));
	assert_int_equal(b.address, 0x7f0000001000);
	assert_int_equal(b.elem, 4);
	assert_int_equal(b.rank, 2);
	assert_int_equal(b.count[1], 8);
	assert_int_equal(b.count[2], 1);
	assert_int_equal(b.dims[1], 32);
	assert_int_equal(b.dims[4], 1);
	assert_int_equal(b.strides[0], 256);
	q.swizzle = 3; /* rows as wide as the swizzle's */
	assert_true(race_box_make(&b, &q));
	assert_int_equal(b.swizzle, 3);
	q.rank = 5;
	assert_true(race_box_make(&b, &q));
}

static void other_boxes_are_not(void **state)
{
	static const uint32_t two[5] = {1, 2, 1, 1, 1}, odd[5] = {3, 8, 1, 1, 1};
	static const uint64_t slanted[4] = {264, 8192, 65536, 262144};
	struct race_map_request q;
	struct race_box b;

	(void)state;
#define NOT(change)                                                                                \
	do {                                                                                       \
		q = plain();                                                                       \
		change;                                                                            \
		assert_false(race_box_make(&b, &q));                                               \
	} while (0)
	NOT(q.swizzle = 2); /* rows wider than it */
	NOT(q.swizzle = 4); /* atoms of more than 16 bytes */
	NOT(q.interleave = 1);
	NOT(q.element_strides = two);
	NOT(q.type = 10); /* flushes denormals: not a plain copy */
	NOT(q.type = 13); /* packed */
	NOT(q.rank = 0);
	NOT(q.rank = 6);
	NOT(q.box = odd); /* rows that are not words of 16 bytes */
	NOT(q.strides = slanted);
	NOT(q.address += 8);
}

/* As find_map of src/device/collide/tensor.cu. */
static const struct race_map *find(const struct race_maps *t, const uint64_t *words)
{
	uint64_t h = 0;

	for (uint32_t i = 0; i < RACE_MAP_WORDS; i++)
		h = race_map_mix(h, words[i]);
	h = race_map_key(h);
	for (uint32_t i = 0; i < RACE_MAP_PROBES; i++) {
		uint32_t at = ((uint32_t)h + i) % RACE_MAPS;
		if (!t->keys[at])
			return NULL;
		if (t->keys[at] == h && !memcmp(t->maps[at].words, words, 128))
			return &t->maps[at];
	}
	return NULL;
}

static struct race_region *new_region(void)
{
	struct race_region *r = aligned_alloc(4096, sizeof(*r));

	assert_non_null(r);
	memset(r, 0, sizeof(*r));
	r->pid = (uint32_t)getpid();
	return r;
}

static void maps_reach_all_regions(void **state)
{
	struct race_region *before = new_region(), *after = new_region(), *others = new_region();
	uint64_t words[RACE_MAP_WORDS] = {1, 2, 3}, changed[RACE_MAP_WORDS];
	struct race_map_request q = plain();

	(void)state;
	others->pid = before->pid + 1; /* of before a fork */
	race_maps_attach(before);
	race_maps_attach(others);
	race_map_record(words, &q);
	race_maps_attach(after);
	assert_non_null(find(&before->maps, words));
	assert_non_null(find(&after->maps, words));
	assert_null(find(&others->maps, words));
	assert_int_equal(find(&after->maps, words)->box.count[0], 32);
	memcpy(changed, words, sizeof(changed));
	changed[15] ^= 1;
	assert_null(find(&after->maps, changed)); /* as if a kernel had replaced a field */
	q.interleave = 1;
	race_map_record(changed, &q);
	assert_null(find(&after->maps, changed));
}

/* More maps than there is room for: those that are there stay right, the others aren't found. */
static void a_full_table_stays_right(void **state)
{
	struct race_region *r = new_region();
	struct race_map_request q = plain();
	uint32_t found = 0;

	(void)state;
	race_maps_attach(r);
	for (uint64_t i = 1; i <= 2 * RACE_MAPS; i++) {
		uint64_t words[RACE_MAP_WORDS] = {i << 20};
		q.address = i << 20;
		race_map_record(words, &q);
	}
	for (uint64_t i = 1; i <= 2 * RACE_MAPS; i++) {
		uint64_t words[RACE_MAP_WORDS] = {i << 20};
		const struct race_map *m = find(&r->maps, words);
		if (m)
			assert_int_equal(m->box.address, i << 20);
		found += m != NULL;
	}
	assert_in_range(found, RACE_MAPS * 3 / 4, RACE_MAPS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_boxes_are_taken),
		cmocka_unit_test(other_boxes_are_not),
		cmocka_unit_test(maps_reach_all_regions),
		cmocka_unit_test(a_full_table_stays_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
