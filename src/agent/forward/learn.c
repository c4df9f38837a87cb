/*
 * learn.c - writes the list of the driver's functions, at build time.
 *
 *     forward_learn libcuda.so|cuda.h exports.inc exports.map
 *
 * The toolkit's stub of the driver's library has the names of all functions that programs can be
 * linked with. Toolkits that pip installs have no stub: their header has nearly the same names, in
 * prototypes and in macros that choose a version. A driver may have others; for them there are
 * spare entries, whose names `collider run` fills in; names that it lacks are hidden then
 * (complete.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/forward/spare.h"

struct names {
	const char **v;
	size_t n;
	char *kept; /* what they point into, if that isn't the library */
};

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_function(const GElf_Sym *s)
{
	return s->st_shndx != SHN_UNDEF && GELF_ST_TYPE(s->st_info) == STT_FUNC &&
	       GELF_ST_BIND(s->st_info) != STB_LOCAL;
}

static bool add_section(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, struct names *names)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n = sh->sh_entsize ? sh->sh_size / sh->sh_entsize : 0;
	GElf_Sym s;

	names->v = calloc(n + 1, sizeof(*names->v));
	for (size_t i = 0; data && names->v && i < n; i++) {
		const char *name = gelf_getsym(data, (int)i, &s) && is_function(&s)
					   ? elf_strptr(elf, sh->sh_link, s.st_name)
					   : NULL;
		/* Not what the stub's own start is called. */
		if (name && !strncmp(name, "cu", 2))
			names->v[names->n++] = name;
	}
	if (names->v)
		qsort(names->v, names->n, sizeof(*names->v), by_name);
	return names->n > 0;
}

static bool read_names(Elf *elf, struct names *names)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_DYNSYM)
			return add_section(elf, scn, &sh, names);
	return false;
}

/* ---- a header ----------------------------------------------------------------------------- */

static bool is_word(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
	       (c >= 'a' && c <= 'z');
}

/* `at`: the room after the last name, which is moved on. */
static void add_name(struct names *names, char **at, const char *word, size_t n, const char *end)
{
	memcpy(*at, word, n);
	strcpy(*at + n, end);
	for (size_t i = 0; i < names->n; i++)
		if (!strcmp(names->v[i], *at))
			return;
	names->v[names->n++] = *at;
	*at += n + strlen(end) + 1;
}

/* Is the word one of cuda.h's functions: what a prototype declares, or a version of one? */
static bool is_declared(const char *word, size_t n, char next)
{
	bool is_version = n > 3 && word[n - 3] == '_' && word[n - 2] == 'v' && word[n - 1] >= '0' &&
			  word[n - 1] <= '9';

	return n > 3 && !strncmp(word, "cu", 2) && word[2] >= 'A' && word[2] <= 'Z' &&
	       (next == '(' || is_version);
}

/* `#define cuMemcpy __CUDA_API_PTDS(cuMemcpy)`: the functions for per-thread default streams. */
static bool read_header(const char *text, size_t size, struct names *names)
{
	static const char *const macros[][2] = {{"__CUDA_API_PTDS(", "_ptds"},
						{"__CUDA_API_PTSZ(", "_ptsz"}};

	/* A word of four letters gives two names, one of them five letters longer. */
	char *at = names->kept = malloc(4 * size + 64);
	names->v = calloc(size + 1, sizeof(*names->v));
	for (size_t i = 0; at && names->v && i < size; i++) {
		size_t n = 0;
		while (i + n < size && is_word(text[i + n]))
			n++;
		for (unsigned k = 0; k < 2 && n; k++) {
			size_t m = strlen(macros[k][0]), w = 0;
			if (i + m > size || memcmp(text + i, macros[k][0], m))
				continue;
			while (i + m + w < size && is_word(text[i + m + w]))
				w++;
			if (w > 3 && !strncmp(text + i + m, "cu", 2)) {
				add_name(names, &at, text + i + m, w, macros[k][1]);
				add_name(names, &at, text + i + m, w, "");
			}
		}
		if (n && is_declared(text + i, n, i + n < size ? text[i + n] : 0))
			add_name(names, &at, text + i, n, "");
		i += n;
	}
	if (names->v)
		qsort(names->v, names->n, sizeof(*names->v), by_name);
	return names->n > 100;
}

static bool read_text(int fd, struct names *names)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char *text = size > 0 ? malloc((size_t)size) : NULL;
	bool is_read = text && pread(fd, text, (size_t)size, 0) == size &&
		       read_header(text, (size_t)size, names);

	free(text);
	return is_read;
}

/* ---- the lists ---------------------------------------------------------------------------- */

static int write_list(const char *path, const struct names *names)
{
	FILE *out = fopen(path, "w");

	if (!out)
		return errno;
	fprintf(out, "/* Made by learn.c: the functions of the driver, and spare entries. */\n");
	for (size_t i = 0; i < names->n; i++)
		fprintf(out, "EXPORT(\"%s\", %zu)\n", names->v[i], i);
	for (unsigned i = 0; i < FORWARD_SPARES; i++)
		fprintf(out, "EXPORT(\"" FORWARD_SPARE_NAME "\", %zu)\n", i, names->n + i);
	return fclose(out) ? errno : 0;
}

static int write_map(const char *path, const struct names *names)
{
	FILE *out = fopen(path, "w");

	if (!out)
		return errno;
	fprintf(out, "# Made by learn.c: what the forwarded driver exports.\n{\n\tglobal:\n");
	for (size_t i = 0; i < names->n; i++)
		fprintf(out, "\t\t%s;\n", names->v[i]);
	fprintf(out, "\t\t" FORWARD_SPARE_START "*;\n\t\t__asan_default_options;\n"
		     "\t\t__collider_events_*;\n\t\tdlopen;\n"
		     "\tlocal:\n\t\t*;\n};\n");
	return fclose(out) ? errno : 0;
}

int main(int argc, char **argv)
{
	struct names names = {0};

	if (argc != 4) {
		fprintf(stderr, "usage: forward_learn libcuda.so|cuda.h exports.inc exports.map\n");
		return 64;
	}
	elf_version(EV_CURRENT);
	int fd = open(argv[1], O_RDONLY);
	Elf *elf = fd >= 0 ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
	bool is_elf = elf && elf_kind(elf) == ELF_K_ELF;
	if (fd < 0 || !(is_elf ? read_names(elf, &names) : read_text(fd, &names))) {
		fprintf(stderr, "%s: %s\n", argv[1],
			fd < 0 ? strerror(errno) : "no list of functions");
		return 66;
	}
	int err = write_list(argv[2], &names);
	if (!err)
		err = write_map(argv[3], &names);
	if (err)
		fprintf(stderr, "%s, %s: %s\n", argv[2], argv[3], strerror(err));
	free(names.v);
	free(names.kept);
	elf_end(elf);
	close(fd);
	return err ? 74 : 0;
}
