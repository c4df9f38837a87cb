/*
 * test_fatbin.c - fat binaries: those that nvcc writes in each mode of compression, those made
 * here to show which PTX is chosen, and damaged ones.
 *
 *   test_fatbin FILE...: fat binaries of one source, in several modes
 *
 * All input lies before a page that can't be read, so that one byte too many is a crash.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "base/base.h"
#include "image/fatbin.h"

#define PAGE   4096u
#define ROUNDS 4000

static char **files;
static int nfiles;

/* ---- input before a guard page ------------------------------------------------------ */

static char *guarded;
static size_t guarded_room;

static char *place(const void *data, size_t n)
{
	size_t room = (n + PAGE - 1) / PAGE * PAGE;

	if (room > guarded_room) {
		guarded = mmap(NULL, room + PAGE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		assert_true(guarded != MAP_FAILED);
		assert_int_equal(mprotect(guarded + room, PAGE, PROT_NONE), 0);
		guarded_room = room;
	}
	char *at = guarded + guarded_room - n;
	if (n)
		memcpy(at, data, n);
	return at;
}

/* ---- fat binaries made here ----------------------------------------------------------- */

struct image {
	char p[8192];
	size_t n;
};

static void put(struct image *im, size_t at, uint64_t v, size_t n)
{
	memcpy(im->p + at, &v, n);
}

static void begin(struct image *im)
{
	memset(im, 0, sizeof(*im));
	put(im, 0, FATBIN_MAGIC, 4);
	put(im, 4, 1, 2);
	put(im, 6, 16, 2);
	im->n = 16;
}

static void add(struct image *im, unsigned kind, unsigned sm, const char *text)
{
	size_t bytes = (strlen(text) + 8) & ~(size_t)7;

	put(im, im->n, kind, 2);
	put(im, im->n + 4, 64, 4);
	put(im, im->n + 8, bytes, 8);
	put(im, im->n + 28, sm, 4);
	put(im, im->n + 40, 0x11, 8);
	memcpy(im->p + im->n + 64, text, strlen(text));
	im->n += 64 + bytes;
	put(im, 8, im->n - 16, 8);
}

static enum fatbin_result read_image(const struct image *im, struct fatbin_ptx *out)
{
	const char *why;

	return fatbin_read(place(im->p, im->n), im->n, 90, out, &why);
}

#define PTX(sm) "//\n// made by hand\n.version 8.0\n.target sm_" sm ", debug\n.address_size 64\n"

static void highest_target_is_chosen(void **state)
{
	struct fatbin_ptx ptx;
	struct image im;

	(void)state;
	begin(&im);
	add(&im, 1, 80, PTX("80"));
	add(&im, 1, 90, PTX("90"));
	add(&im, 1, 75, PTX("75"));
	assert_int_equal(read_image(&im, &ptx), FATBIN_FOUND);
	assert_int_equal(ptx.sm, 90);
	assert_int_equal(ptx.suffix, 0);
	assert_int_equal(strlen(ptx.text), ptx.size);
	free(ptx.text);
}

static void own_suffix_is_better_than_none(void **state)
{
	struct fatbin_ptx ptx;
	struct image im;

	(void)state;
	begin(&im);
	add(&im, 1, 90, PTX("90"));
	add(&im, 1, 90, PTX("90a"));
	add(&im, 1, 100, PTX("100a"));
	add(&im, 2, 90, "\177ELF");
	assert_int_equal(read_image(&im, &ptx), FATBIN_FOUND);
	assert_int_equal(ptx.sm, 90);
	assert_int_equal(ptx.suffix, 'a');
	free(ptx.text);
}

/* Where nothing fits, the nearest of the newer ones: what it has in common with the device runs. */
static void newer_targets_are_a_last_resort(void **state)
{
	struct fatbin_ptx ptx;
	struct image im;

	(void)state;
	begin(&im);
	add(&im, 1, 121, PTX("121"));
	add(&im, 1, 100, PTX("100a"));
	assert_int_equal(read_image(&im, &ptx), FATBIN_FOUND);
	assert_int_equal(ptx.sm, 100);
	free(ptx.text);
	add(&im, 1, 100, PTX("100"));
	assert_int_equal(read_image(&im, &ptx), FATBIN_FOUND);
	assert_int_equal(ptx.sm, 100);
	assert_int_equal(ptx.suffix, 0);
	free(ptx.text);
	add(&im, 1, 75, PTX("75"));
	assert_int_equal(read_image(&im, &ptx), FATBIN_FOUND);
	assert_int_equal(ptx.sm, 75);
	free(ptx.text);
}

static void other_targets_are_not_chosen(void **state)
{
	struct fatbin_ptx ptx;
	struct image im;

	(void)state;
	begin(&im);
	assert_int_equal(read_image(&im, &ptx), FATBIN_NO_PTX);
	add(&im, 2, 90, "\177ELF");
	assert_int_equal(read_image(&im, &ptx), FATBIN_NO_PTX);
	assert_null(ptx.text);
	add(&im, 1, 100, PTX("100"));
	add(&im, 1, 89, PTX("89a")); /* another architecture's own code */
	add(&im, 1, 80, PTX("80"));
	assert_int_equal(read_image(&im, &ptx), FATBIN_FOUND);
	assert_int_equal(ptx.sm, 80);
	free(ptx.text);
}

static void damage_is_told(void **state)
{
	struct fatbin_ptx ptx;
	struct image im;
	const char *why = NULL;

	(void)state;
	assert_int_equal(fatbin_read(place("", 0), 0, 90, &ptx, &why), FATBIN_DAMAGED);
	assert_string_equal(why, "no fat binary");
	begin(&im);
	add(&im, 1, 90, PTX("90"));
	im.n--; /* cut off */
	assert_int_equal(read_image(&im, &ptx), FATBIN_DAMAGED);
	im.n++;
	put(&im, 16 + 40, 0x8011, 8); /* said to be zstd, and isn't */
	put(&im, 16 + 56, 100, 8);
	assert_int_equal(read_image(&im, &ptx), FATBIN_DAMAGED);
	put(&im, 16 + 56, UINT64_MAX - 3, 8);
	assert_int_equal(read_image(&im, &ptx), FATBIN_DAMAGED);
	put(&im, 16 + 40, 0x2011, 8); /* LZ4 */
	put(&im, 16 + 56, 100, 8);
	assert_int_equal(read_image(&im, &ptx), FATBIN_DAMAGED);
}

/* ---- what nvcc writes ------------------------------------------------------------------ */

static void every_compression_gives_the_same_text(void **state)
{
	char *first = NULL;

	(void)state;
	assert_true(nfiles >= 2);
	for (int i = 0; i < nfiles; i++) {
		struct fatbin_ptx ptx;
		const char *why;
		char *data;
		size_t n;
		assert_int_equal(base_read_file(files[i], &data, &n), 0);
		assert_int_equal(fatbin_size(data), n);
		assert_int_equal(fatbin_read(place(data, n), n, 90, &ptx, &why), FATBIN_FOUND);
		assert_int_equal(ptx.sm, 90);
		char *text = ptx.text + strspn(ptx.text, "\n");
		assert_non_null(strstr(text, ".entry"));
		if (!first)
			first = strdup(text);
		assert_string_equal(text, first);
		free(ptx.text);
		free(data);
	}
	free(first);
}

static uint64_t next_random(uint64_t *s)
{
	uint64_t z = (*s += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* Changes up to 4 places, mostly in the headers, and cuts the end off now and then. */
static size_t damage(char *p, size_t n, uint64_t *s)
{
	unsigned changes = 1 + (unsigned)(next_random(s) % 4);

	for (unsigned i = 0; i < changes; i++) {
		size_t at = next_random(s) % (next_random(s) % 4 ? (n < 180 ? n : 180) : n);
		if (next_random(s) % 3)
			p[at] = (char)next_random(s);
		else
			p[at] = (char)(next_random(s) & 1 ? 0xff : 0);
	}
	return next_random(s) % 4 ? n : next_random(s) % (n + 1);
}

static void damaged_files_do_no_harm(void **state)
{
	unsigned count[3] = {0};
	uint64_t seed = 7;

	(void)state;
	for (int i = 0; i < nfiles; i++) {
		char *data;
		size_t n;
		assert_int_equal(base_read_file(files[i], &data, &n), 0);
		char *copy = malloc(n);
		assert_non_null(copy);
		for (int r = 0; r < ROUNDS; r++) {
			struct fatbin_ptx ptx;
			const char *why = NULL;
			memcpy(copy, data, n);
			size_t left = damage(copy, n, &seed);
			enum fatbin_result got =
				fatbin_read(place(copy, left), left, 90, &ptx, &why);
			count[got]++;
			if (got == FATBIN_FOUND)
				assert_int_equal(ptx.text[ptx.size], 0);
			else
				assert_null(ptx.text);
			free(ptx.text);
		}
		free(copy);
		free(data);
	}
	/* The damage reaches all three answers, or this has shown nothing. */
	for (int i = 0; i < 3; i++)
		assert_true(count[i] > 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(highest_target_is_chosen),
		cmocka_unit_test(own_suffix_is_better_than_none),
		cmocka_unit_test(newer_targets_are_a_last_resort),
		cmocka_unit_test(other_targets_are_not_chosen),
		cmocka_unit_test(damage_is_told),
		cmocka_unit_test(every_compression_gives_the_same_text),
		cmocka_unit_test(damaged_files_do_no_harm),
	};

	files = argv + 1;
	nfiles = argc - 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
