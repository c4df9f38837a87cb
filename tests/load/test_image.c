/*
 * test_image.c - which text of an image is taken, and entries of kept code (src/image).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <lz4.h>
#include <zstd.h>

#include "agent/load/load.h"
#include "base/base.h"
#include "image/choose.h"
#include "image/kept.h"
#include "race/record.h"

#define HEADER 16u
#define ENTRY  64u

/* An ELF file of nothing but its head, which has the number, and the name of a table of sites after
 * `names` bytes, if that isn't 0. */
static uint64_t make_elf(char *to, unsigned sm, size_t names)
{
	const Elf64_Ehdr elf = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64},
				.e_flags = sm,
				.e_shoff = sizeof(elf),
				.e_shentsize = sizeof(Elf64_Shdr)};

	memcpy(to, &elf, sizeof(elf));
	if (names)
		memcpy(to + names, RACE_SITES_PREFIX, sizeof(RACE_SITES_PREFIX));
	return names ? names + sizeof(RACE_SITES_PREFIX) : sizeof(elf);
}

/* That file with a table of sites, packed: 'z' by zstd, 'l' by LZ4; upper case: without tables. */
static uint64_t pack_elf(char *to, char how, unsigned sm, char head[ENTRY])
{
	static char elf[2048];
	bool is_zstd = how == 'z' || how == 'Z';
	uint64_t n = make_elf(elf, sm, how >= 'a' ? 1000 : 0);
	uint64_t flags = is_zstd ? FATBIN_FLAG_ZSTD : FATBIN_FLAG_LZ4;
	uint32_t packed = is_zstd ? (uint32_t)ZSTD_compress(to, 200, elf, n, 3)
				  : (uint32_t)LZ4_compress_default(elf, to, (int)n, 200);

	assert_in_range(packed, 1, 200);
	memcpy(head + 16, &packed, sizeof(packed));
	memcpy(head + 40, &flags, sizeof(flags));
	memcpy(head + 56, &n, sizeof(n));
	return packed;
}

/* "p90": PTX for sm_90; "c90a": machine code for sm_90a; "e90": the same as an ELF file; "z90",
 * "l90", "Z90", "L90": that one packed; separated by blanks. */
static void make_entry(struct base_buf *b, const char *what, size_t n)
{
	char suffix = what[n - 1] >= 'a' ? what[n - 1] : 0, text[200], head[ENTRY] = {0};
	unsigned sm = (unsigned)strtoul(what + 1, NULL, 10);
	bool is_text = *what == 'p';
	uint16_t kind = is_text ? 1 : 2;
	uint32_t header = ENTRY;
	uint64_t flags = suffix == 'a' ? FATBIN_FLAG_ARCH : suffix == 'f' ? FATBIN_FLAG_FAMILY : 0;
	uint64_t size;

	snprintf(text, sizeof(text), ".version 9.0\n.target sm_%u%.1s\n.address_size 64\n", sm,
		 suffix ? &suffix : "");
	if (!is_text)
		snprintf(text, sizeof(text), "code %.*s", (int)n, what);
	size = strlen(text) + 1;
	memcpy(head + 40, &flags, sizeof(flags));
	if (*what == 'e')
		size = make_elf(text, sm, 0);
	else if (strchr("zlZL", *what))
		size = pack_elf(text, *what, sm, head);
	memcpy(head, &kind, sizeof(kind));
	memcpy(head + 4, &header, sizeof(header));
	memcpy(head + 8, &size, sizeof(size));
	memcpy(head + 28, &sm, sizeof(sm));
	base_buf_put(b, head, sizeof(head));
	base_buf_put(b, text, size);
}

static void make_image(struct base_buf *b, const char *entries)
{
	char head[HEADER] = {0};
	uint32_t magic = FATBIN_MAGIC;
	uint16_t bytes = HEADER;
	uint64_t size;

	b->n = 0;
	base_buf_put(b, head, sizeof(head));
	while (*entries) {
		size_t n = strcspn(entries, " ");
		make_entry(b, entries, n);
		entries += n + (entries[n] == ' ');
	}
	size = b->n - HEADER;
	memcpy(b->p, &magic, sizeof(magic));
	memcpy(b->p + 6, &bytes, sizeof(bytes));
	memcpy(b->p + 8, &size, sizeof(size));
}

/* What is taken: "90a" and, with machine code beside it, "90a+"; "none", "other", "damaged". */
static void choose(const char *entries, unsigned device, bool is_any, char got[32])
{
	struct base_buf b = {0};
	struct image_text t;
	char suffix[2] = {0};

	make_image(&b, entries);
	switch (image_choose(b.p, b.n, device, is_any, &t)) {
	case IMAGE_TEXT:
		suffix[0] = t.suffix;
		snprintf(got, 32, "%u%s%s", t.sm, suffix, t.code ? "+" : "");
		break;
	case IMAGE_NONE:
		snprintf(got, 32, "none");
		break;
	case IMAGE_OTHER:
		snprintf(got, 32, "other");
		assert_non_null(strstr(t.why, "--any-ptx"));
		break;
	case IMAGE_DAMAGED:
		snprintf(got, 32, "damaged");
		break;
	}
	image_text_free(&t);
	base_buf_free(&b);
}

static void test_choose(void **state)
{
	static const struct {
		const char *entries;
		unsigned device;
		const char *want, *any; /* any: with --any-ptx */
	} cases[] = {
		/* What nvcc embeds by default; then beside others. */
		{"c90 p90", 90, "90+", "90+"},
		{"c80 p80 c90 p90", 90, "90+", "90+"},
		{"c80 p80 c90 p90", 86, "80+", "80+"},
		/* Text for more than one architecture: that of the machine code. */
		{"c80 p90 p80 p75", 86, "80+", "80+"},
		{"c90 p80", 90, "other", "90"},
		{"c90 p80", 86, "86", "86"},
		{"c80 p80 c90", 90, "other", "90"},
		/* Machine code of another major version doesn't run; then the text does. */
		{"c80 p80", 90, "90", "90"},
		{"c90 p90", 80, "none", "none"},
		{"c90", 90, "none", "none"},
		/* For one version only: another program than without the letter. */
		{"c90a p90a", 90, "90a+", "90a+"},
		{"c90a p90", 90, "other", "90"},
		{"c90 p90a", 90, "other", "90a"},
		{"c90a p90a c90 p90", 90, "90a+", "90a+"},
		{"p90a", 100, "none", "none"},
		{"p90a p80", 100, "100", "100"},
		{"c100f p100f", 103, "100f+", "100f+"},
		{"c100f p100f", 120, "none", "none"},
		{"p75 p80 p86", 90, "90", "90"},
		{"", 90, "none", "none"},
	};
	char got[32];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		choose(cases[i].entries, cases[i].device, false, got);
		if (strcmp(got, cases[i].want))
			fail_msg("%s on %u: %s, expected %s", cases[i].entries, cases[i].device,
				 got, cases[i].want);
		choose(cases[i].entries, cases[i].device, true, got);
		if (strcmp(got, cases[i].any))
			fail_msg("%s on %u, any: %s, expected %s", cases[i].entries,
				 cases[i].device, got, cases[i].any);
	}
}

/* Cut off anywhere and with every byte of a header changed: an answer, and no byte beyond it. */
static void test_damaged(void **state)
{
	struct base_buf b = {0};
	struct image_text t;

	(void)state;
	make_image(&b, "c90 p90");
	for (size_t n = 0; n < b.n; n++) {
		char *copy = malloc(n + 1);
		memcpy(copy, b.p, n);
		enum image_choice c = image_choose(copy, n, 90, false, &t);
		assert_true(c == IMAGE_DAMAGED || c == IMAGE_NONE);
		image_text_free(&t);
		free(copy);
	}
	for (size_t i = 4; i < HEADER + ENTRY; i++) {
		char *copy = malloc(b.n);
		memcpy(copy, b.p, b.n);
		copy[i] = (char)(copy[i] ^ 0x7f);
		(void)image_choose(copy, b.n, 90, false, &t);
		image_text_free(&t);
		free(copy);
	}
	base_buf_free(&b);
}

static void test_text(void **state)
{
	static const char text[] = "// made by hand\n.version 8.0\n.target sm_80\n";
	struct image_text t;

	(void)state;
	assert_int_equal(image_choose(text, sizeof(text), 90, false, &t), IMAGE_TEXT);
	assert_int_equal(t.sm, 90);
	image_text_free(&t);
	assert_int_equal(image_choose(text, sizeof(text), 75, false, &t), IMAGE_NONE);
	image_text_free(&t);
	assert_int_equal(image_choose("no text", 8, 90, false, &t), IMAGE_NONE);
	image_text_free(&t);
}

static int put(const char *path, const struct base_buf *b, size_t n)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(b->p, 1, n, f), n);
	fclose(f);
	return open(path, O_RDONLY);
}

/* The version of the machine code that is found in an image; 0: none. */
static unsigned code_in(const void *image, size_t size, unsigned sm)
{
	const struct load_image im = {.data = image, .size = size};
	struct load_other found = {0};
	Elf64_Ehdr elf = {0};

	if (!load_find_code(&im, sm, &found))
		return 0;
	assert_true(found.ncode >= sizeof(elf));
	memcpy(&elf, found.code, sizeof(elf));
	free(found.unpacked);
	return elf.e_flags;
}

static void test_code(void **state)
{
	struct base_buf b = {0};

	(void)state;
	make_image(&b, "e80 c90 e86 e90 p90");
	const struct fatbin_wrapper w = {FATBIN_WRAPPER_MAGIC, 1, b.p, NULL};
	assert_int_equal(code_in(b.p, 0, 90), 90);
	assert_int_equal(code_in(b.p, 0, 89), 86);
	assert_int_equal(code_in(b.p, 0, 80), 80);
	assert_int_equal(code_in(b.p, 0, 75), 0);
	assert_int_equal(code_in(b.p, 0, 100), 0);
	assert_int_equal(code_in(&w, 0, 90), 90);
	/* The file alone; cut off; text. */
	const char *elf = b.p + HEADER + ENTRY;
	assert_int_equal(code_in(elf, 0, 90), 80);
	assert_int_equal(code_in(elf, sizeof(Elf64_Ehdr), 90), 80);
	assert_int_equal(code_in(elf, sizeof(Elf64_Ehdr) - 1, 90), 0);
	make_image(&b, "p90 c90");
	assert_int_equal(code_in(b.p, 0, 90), 0);
	assert_int_equal(code_in(b.p + HEADER + ENTRY, 0, 90), 0);
	/* Packed, it is unpacked if it has tables. */
	make_image(&b, "z90 l86 e80");
	assert_int_equal(code_in(b.p, 0, 90), 90);
	assert_int_equal(code_in(b.p, 0, 86), 86);
	assert_int_equal(code_in(b.p, 0, 80), 80);
	make_image(&b, "e80 Z90 L86");
	assert_int_equal(code_in(b.p, 0, 90), 0);
	assert_int_equal(code_in(b.p, 0, 86), 0);
	/* Damaged. */
	make_image(&b, "z90");
	memset(b.p + HEADER + ENTRY, 0, 8);
	assert_int_equal(code_in(b.p, 0, 90), 0);
	make_image(&b, "l90");
	memset(b.p + HEADER + ENTRY, 255, 8);
	assert_int_equal(code_in(b.p, 0, 90), 0);
	base_buf_free(&b);
}

static void test_kept(void **state)
{
	char folder[] = "/tmp/collider-test-XXXXXX", path[64];
	struct base_buf b = {0};
	size_t size;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/a", folder);
	image_kept_make(&b, IMAGE_REPLACED, 32, "one line\n", "the code", 8);
	int fd = put(path, &b, b.n);
	const struct image_kept *k = image_kept_map(fd, &size);
	assert_non_null(k);
	assert_int_equal(k->outcome, IMAGE_REPLACED);
	assert_memory_equal((const char *)k + image_kept_code_at(k->said), "the code", 8);
	assert_memory_equal(k + 1, "one line\n", 9);
	close(fd);
	for (size_t n = 0; n < b.n; n++) {
		fd = put(path, &b, n);
		assert_null(image_kept_map(fd, &size));
		close(fd);
	}
	for (size_t i = 0; i < b.n; i++) {
		b.p[i] ^= 1;
		fd = put(path, &b, b.n);
		assert_null(image_kept_map(fd, &size));
		close(fd);
		b.p[i] ^= 1;
	}
	unlink(path);
	rmdir(folder);
	base_buf_free(&b);
}

/* What was used longest ago goes first. */
static void test_trim(void **state)
{
	char folder[] = "/tmp/collider-test-XXXXXX", path[64];
	struct base_buf b = {0};

	(void)state;
	assert_non_null(mkdtemp(folder));
	base_buf_put(&b, "0123456789", 10);
	for (int i = 0; i < 8; i++) {
		const struct timespec used[2] = {{1000 + (i ^ 1), 0}, {1000 + (i ^ 1), 0}};
		snprintf(path, sizeof(path), "%s/%d", folder, i);
		close(put(path, &b, b.n));
		utimensat(AT_FDCWD, path, used, 0);
	}
	image_kept_trim(folder, 80);
	snprintf(path, sizeof(path), "%s/1", folder);
	assert_int_equal(access(path, F_OK), 0);
	image_kept_trim(folder, 79); /* to three quarters: six remain */
	for (int i = 0; i < 8; i++) {
		snprintf(path, sizeof(path), "%s/%d", folder, i);
		assert_int_equal(access(path, F_OK) == 0, (i ^ 1) >= 2);
		unlink(path);
	}
	rmdir(folder);
	base_buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_choose), cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_text),   cmocka_unit_test(test_code),
		cmocka_unit_test(test_kept),   cmocka_unit_test(test_trim),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
