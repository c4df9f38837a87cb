/*
 * test_entries.c - the reader of object files in src/cudart/entries, on files that are cut short
 * and damaged: it reads nothing outside of them. (The file is mapped: what lies behind its last
 * page can't be read.)
 *
 *     test_entries FILE, one with symbols
 */
#include "cudart/entries/inner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned functions, mentions;

static bool count(void *ctx, const char *name, uint64_t at, uint64_t bytes)
{
	struct entries_file *f = ctx;

	functions += strlen(name) > 0;
	(void)entries_file_is_code(f, at, bytes);
	return true;
}

static void read_all(const char *path)
{
	struct entries_file f;

	functions = mentions = 0;
	if (!entries_file_open(&f, path))
		return;
	(void)entries_file_has_section(&f, ".nvFatBinSegment");
	for (size_t i = 0; i < f.nsections; i++) {
		mentions += entries_file_mentions(&f, &f.sections[i], "cudaTestFunction");
		if (f.sections[i].sh_type == SHT_SYMTAB)
			entries_file_functions(&f, &f.sections[i], count, &f);
	}
	(void)entries_known(&f, count, &f);
	entries_file_close(&f);
}

static void put(const char *path, const void *p, size_t n)
{
	FILE *out = fopen(path, "wb");

	if (!out || fwrite(p, 1, n, out) != n || fclose(out))
		exit(1);
}

int cudaTestFunction(void);
int cudaTestFunction(void)
{
	return 7;
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/test_entries.XXXXXX";
	unsigned char *p = malloc(1 << 24), *copy = malloc(1 << 24);
	FILE *in = fopen(argv[argc - 1], "rb");
	size_t n = in ? fread(p, 1, 1 << 24, in) : 0;
	uint32_t r = 1;
	int fd = mkstemp(path);

	if (fd < 0 || !n)
		return 1;
	read_all(argv[argc - 1]);
	if (functions != 1 || !mentions) {
		printf("%u functions, %u tables that mention one\n", functions, mentions);
		return 1;
	}
	for (size_t cut = 0; cut < n; cut += cut < 4096 ? 61 : n / 97) {
		put(path, p, cut);
		read_all(path);
	}
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)(const void *)p;
	for (unsigned i = 0; i < 600; i++) {
		memcpy(copy, p, n);
		for (unsigned k = 0; k < 3; k++) {
			r = r * 1664525u + 1013904223u;
			/* In the header, or in the tables of segments and sections. */
			size_t base = i % 3 == 0 ? 0 : i % 3 == 1 ? e->e_phoff : e->e_shoff;
			size_t at = base + (r >> 8) % (i % 3 == 0 ? 64 : 64 * 12);
			if (at < n)
				copy[at] = (unsigned char)(r >> 24);
		}
		put(path, copy, n);
		read_all(path);
	}
	close(fd);
	unlink(path);
	free(p);
	free(copy);
	fclose(in);
	return 0;
}
