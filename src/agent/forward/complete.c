/*
 * complete.c - gives the forwarded library exactly the functions that the machine's driver
 * exports.
 *
 * Our library has been linked with those of the toolkit's list, and with spare entries. In a copy
 * of it what the driver lacks is taken out of the symbol table, and what it has beyond the list
 * gets a spare entry: its name is written over the spare one, and the hash table, whose size
 * stays, is filled again. So a program finds a function exactly if it would find it without us,
 * by the linker as by dlsym, whatever the driver's version.
 *
 * Misses: exports that are no functions (the driver has some that only a debugger reads in the
 * file). Costs: some milliseconds at the start of a run.
 */
#include "agent/forward/complete.h"
#include "agent/forward/spare.h"
#include "base/base.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A library's dynamic symbols, in a file of `size` bytes. */
struct table {
	char *file;
	size_t size;
	Elf64_Sym *v;
	size_t n;
	char *names;
	size_t names_size;
	uint32_t *hash; /* DT_HASH's, or NULL */
	size_t hash_words;
	bool has_versions;
};

static const Elf64_Shdr *section(const struct table *t, const Elf64_Ehdr *e, size_t i)
{
	const Elf64_Shdr *s =
		(const Elf64_Shdr *)(const void *)(t->file + e->e_shoff + i * sizeof(*s));

	if (s->sh_type != SHT_NOBITS &&
	    (s->sh_offset > t->size || s->sh_size > t->size - s->sh_offset))
		return NULL;
	return s;
}

extern const Elf64_Ehdr own __asm__("__ehdr_start") __attribute__((visibility("hidden")));

/* Finds the parts; false: it is no library of this machine's kind. */
static bool find_parts(struct table *t)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)(const void *)t->file;

	if (t->size < sizeof(*e) || memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 ||
	    e->e_ident[EI_CLASS] != ELFCLASS64 || e->e_machine != own.e_machine ||
	    e->e_shentsize != sizeof(Elf64_Shdr) || e->e_shoff > t->size ||
	    (size_t)e->e_shnum * sizeof(Elf64_Shdr) > t->size - e->e_shoff)
		return false;
	for (size_t i = 0; i < e->e_shnum; i++) {
		const Elf64_Shdr *s = section(t, e, i), *names;
		if (!s)
			return false;
		if (s->sh_type == SHT_HASH) {
			t->hash = (uint32_t *)(void *)(t->file + s->sh_offset);
			t->hash_words = s->sh_size / sizeof(uint32_t);
		}
		t->has_versions |= s->sh_type == SHT_GNU_verdef;
		if (s->sh_type != SHT_DYNSYM || s->sh_link >= e->e_shnum)
			continue;
		names = section(t, e, s->sh_link);
		if (!names || !names->sh_size || t->file[names->sh_offset + names->sh_size - 1])
			return false;
		t->v = (Elf64_Sym *)(void *)(t->file + s->sh_offset);
		t->n = s->sh_size / sizeof(Elf64_Sym);
		t->names = t->file + names->sh_offset;
		t->names_size = names->sh_size;
	}
	return t->v != NULL;
}

/* Maps it: what is written to it stays in memory. */
static bool table_open(struct table *t, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	memset(t, 0, sizeof(*t));
	if (fd < 0 || fstat(fd, &st) != 0 || st.st_size <= 0) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	t->size = (size_t)st.st_size;
	t->file = mmap(NULL, t->size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	close(fd);
	if (t->file == MAP_FAILED)
		t->file = NULL;
	return t->file && find_parts(t);
}

static void table_close(struct table *t)
{
	if (t->file)
		munmap(t->file, t->size);
	t->file = NULL;
}

/* The name of an exported function, or NULL. The loader's own kind begin with an underscore, and so
 * do ours (events.c); dlopen is ours, too. */
static char *function_name(const struct table *t, const Elf64_Sym *s)
{
	unsigned bind = ELF64_ST_BIND(s->st_info);
	char *name = t->names + (s->st_name < t->names_size ? s->st_name : 0);

	if (s->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(s->st_info) != STT_FUNC || bind == STB_LOCAL)
		return NULL;
	return *name && *name != '_' && strcmp(name, "dlopen") != 0 ? name : NULL;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

struct list {
	char **v;
	size_t n;
};

static bool list_functions(const struct table *t, struct list *l)
{
	l->n = 0;
	l->v = calloc(t->n + 1, sizeof(*l->v));
	for (size_t i = 0; l->v && i < t->n; i++) {
		char *name = function_name(t, &t->v[i]);
		if (name)
			l->v[l->n++] = name;
	}
	if (l->v)
		qsort(l->v, l->n, sizeof(*l->v), by_name);
	return l->v != NULL;
}

static bool has(const struct list *l, char *name)
{
	return bsearch(&name, l->v, l->n, sizeof(*l->v), by_name) != NULL;
}

static void hide(Elf64_Sym *s)
{
	s->st_shndx = SHN_UNDEF;
	s->st_value = 0;
	s->st_info = ELF64_ST_INFO(STB_WEAK, STT_NOTYPE);
}

static bool is_spare(const char *name)
{
	return !strncmp(name, FORWARD_SPARE_START, strlen(FORWARD_SPARE_START));
}

static uint32_t hash_of(const char *name)
{
	uint32_t h = 0, high;

	for (; *name; name++) {
		h = (h << 4) + (unsigned char)*name;
		high = h & 0xf0000000u;
		h ^= high >> 24;
		h &= ~high;
	}
	return h;
}

static bool hash_again(struct table *t)
{
	uint32_t nbuckets = t->hash[0], *buckets = t->hash + 2, *chains = buckets + nbuckets;

	if (!nbuckets || t->hash[1] != t->n || 2 + (size_t)nbuckets + t->n > t->hash_words)
		return false;
	memset(buckets, 0, (nbuckets + t->n) * sizeof(*buckets));
	for (uint32_t i = 1; i < t->n; i++) {
		if (t->v[i].st_name >= t->names_size)
			return false;
		uint32_t at = hash_of(t->names + t->v[i].st_name) % nbuckets;
		chains[i] = buckets[at];
		buckets[at] = i;
	}
	return true;
}

/* The next symbol of ours that has a spare name, or NULL. */
static Elf64_Sym *next_spare(struct table *t, size_t *at)
{
	for (; *at < t->n; (*at)++) {
		char *name = function_name(t, &t->v[*at]);
		if (name && is_spare(name))
			return &t->v[(*at)++];
	}
	return NULL;
}

static const char *change(struct table *ours, const struct list *theirs)
{
	struct list before;
	size_t at = 0;

	if (!list_functions(ours, &before))
		return "no memory";
	const char *why = NULL;
	for (size_t i = 0; i < theirs->n && !why; i++) {
		if (has(&before, theirs->v[i]))
			continue;
		Elf64_Sym *s = next_spare(ours, &at);
		if (!s || strlen(theirs->v[i]) >= FORWARD_NAME_MAX)
			why = s ? "it has a function with a long name"
				: "it has many more functions than the toolkit knows";
		else
			strcpy(ours->names + s->st_name, theirs->v[i]);
	}
	free(before.v); /* its names have changed */
	for (size_t i = 0; i < ours->n && !why; i++) {
		char *name = function_name(ours, &ours->v[i]);
		if (name && !has(theirs, name))
			hide(&ours->v[i]);
	}
	return why || hash_again(ours) ? why : "the library is not as it was built";
}

const char *forward_complete(const char *ours, const char *real, const char *to)
{
	struct table mine = {0}, theirs = {0};
	struct list names = {0};
	const char *why = NULL;

	if (!table_open(&mine, ours) || !mine.hash)
		why = "the library is not as it was built";
	else if (!table_open(&theirs, real) || !list_functions(&theirs, &names))
		why = "the driver's library can't be read";
	else if (theirs.has_versions)
		why = "the driver's functions have versions";
	if (!why)
		why = change(&mine, &names);
	if (!why)
		why = base_write_file(to, mine.file, mine.size) ? "its copy can't be written"
								: NULL;
	free(names.v);
	table_close(&theirs);
	table_close(&mine);
	return why;
}
