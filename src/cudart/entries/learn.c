/*
 * learn.c - writes known.inc from the toolkit's static runtime, at build time.
 *
 *     entries_learn libcudart_static.a known.inc
 *
 * A piece of code may not touch an address that the linker fills in, nor an instruction that it may
 * rewrite for one (up to three bytes before it), and stands once in the section. Pieces are taken
 * from all over it. An archive of another form gives an empty list: then no program is recognised
 * by its code.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cudart/entries/known.h"

#define BEFORE 4u
#define AFTER  8u

struct object {
	const unsigned char *code;
	size_t n, index;	 /* of the section */
	unsigned char *is_fixed; /* by the linker: one for each byte */
};

static Elf_Data *section_data(Elf *elf, size_t index, GElf_Shdr *sh)
{
	Elf_Scn *scn = elf_getscn(elf, index);

	return scn && gelf_getshdr(scn, sh) ? elf_getdata(scn, NULL) : NULL;
}

/* The section that holds most functions of the runtime: the one of this function. */
static bool find_code(Elf *elf, Elf_Data *symbols, const GElf_Shdr *sh, struct object *o)
{
	GElf_Shdr code;
	GElf_Sym s;

	for (size_t i = 0; i < sh->sh_size / sh->sh_entsize; i++) {
		if (!gelf_getsym(symbols, (int)i, &s) || GELF_ST_TYPE(s.st_info) != STT_FUNC)
			continue;
		const char *name = elf_strptr(elf, sh->sh_link, s.st_name);
		if (!name || strcmp(name, "__cudaRegisterFatBinary"))
			continue;
		Elf_Data *d = section_data(elf, s.st_shndx, &code);
		*o = (struct object){.index = s.st_shndx};
		if (d && d->d_buf) {
			o->code = d->d_buf;
			o->n = d->d_size;
		}
		return o->code != NULL;
	}
	return false;
}

static void mark_fixed(Elf *elf, struct object *o)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	GElf_Rela r;

	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_RELA || sh.sh_info != o->index)
			continue;
		Elf_Data *d = elf_getdata(scn, NULL);
		for (size_t i = 0; d && i < sh.sh_size / sh.sh_entsize; i++) {
			if (!gelf_getrela(d, (int)i, &r))
				continue;
			size_t from = r.r_offset < BEFORE ? 0 : r.r_offset - BEFORE;
			for (size_t k = from; k < r.r_offset + AFTER && k < o->n; k++)
				o->is_fixed[k] = 1;
		}
	}
}

static bool is_piece(const struct object *o, size_t at)
{
	if (at + ENTRIES_PIECE > o->n || memchr(o->is_fixed + at, 1, ENTRIES_PIECE))
		return false;
	for (size_t k = 0; k + ENTRIES_PIECE <= o->n; k++)
		if (k != at && !memcmp(o->code + k, o->code + at, ENTRIES_PIECE))
			return false;
	return true;
}

static unsigned write_pieces(const struct object *o, FILE *out)
{
	unsigned n = 0;

	for (unsigned part = 0; part < ENTRIES_PIECES; part++) {
		size_t at = o->n / ENTRIES_PIECES * part, end = at + o->n / ENTRIES_PIECES;
		while (at < end && !is_piece(o, at))
			at++;
		if (at >= end)
			continue;
		fprintf(out, "PIECE(%zu", at);
		for (unsigned i = 0; i < ENTRIES_PIECE; i++)
			fprintf(out, ", 0x%02x", o->code[at + i]);
		fprintf(out, ")\n");
		n++;
	}
	return n;
}

static void write_functions(Elf *elf, Elf_Data *symbols, const GElf_Shdr *sh,
			    const struct object *o, FILE *out)
{
	GElf_Sym s;

	for (size_t i = 0; i < sh->sh_size / sh->sh_entsize; i++) {
		if (!gelf_getsym(symbols, (int)i, &s) || GELF_ST_TYPE(s.st_info) != STT_FUNC ||
		    s.st_shndx != o->index)
			continue;
		const char *name = elf_strptr(elf, sh->sh_link, s.st_name);
		if (name && (!strncmp(name, "cuda", 4) || !strncmp(name, "__cuda", 6)))
			fprintf(out, "FUNCTION(\"%s\", %zu, %zu)\n", name, (size_t)s.st_value,
				(size_t)s.st_size);
	}
}

/* Returns whether the member is the runtime; then it has been written. */
static bool learn(Elf *elf, FILE *out)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	struct object o;

	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_SYMTAB || !sh.sh_entsize)
			continue;
		Elf_Data *symbols = elf_getdata(scn, NULL);
		if (!symbols || !find_code(elf, symbols, &sh, &o))
			continue;
		o.is_fixed = calloc(o.n, 1);
		if (!o.is_fixed)
			return false;
		mark_fixed(elf, &o);
		if (write_pieces(&o, out) >= ENTRIES_PIECES / 2)
			write_functions(elf, symbols, &sh, &o, out);
		free(o.is_fixed);
		return true;
	}
	return false;
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: entries_learn libcudart_static.a known.inc\n");
		return 64;
	}
	FILE *out = fopen(argv[2], "w");
	if (!out) {
		fprintf(stderr, "%s: %s\n", argv[2], strerror(errno));
		return 74;
	}
	fprintf(out, "/* Made by learn.c. Functions of the static runtime, and pieces of its code. "
		     "*/\n");
	elf_version(EV_CURRENT);
	int fd = open(argv[1], O_RDONLY);
	Elf *archive = fd >= 0 ? elf_begin(fd, ELF_C_READ, NULL) : NULL, *member;
	Elf_Cmd cmd = ELF_C_READ;
	bool is_done = false;
	while (!is_done && archive && (member = elf_begin(fd, cmd, archive))) {
		is_done = elf_kind(member) == ELF_K_ELF && learn(member, out);
		cmd = elf_next(member);
		elf_end(member);
	}
	if (archive)
		elf_end(archive);
	if (fd >= 0)
		close(fd);
	return fclose(out) ? 74 : 0;
}
