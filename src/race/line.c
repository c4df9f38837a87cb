/*
 * line.c - from an address in the program's host code to function and source line.
 *
 * The function is looked up in the symbol tables, the line in .debug_line (DWARF 2 to 5, section
 * 6.2), whose programs are run one after the other until a row covers the address: no other debug
 * section is needed, nor a library for them. Nothing in the file is trusted: each read is checked
 * against the section's end, and what makes no sense ends its program.
 *
 * Misses: split and compressed-by-other-means debug information, inlined calls (the line is that
 * of the innermost code). Costs: a pass over .debug_line for each address, at the end of a run.
 */
#include "race/race.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The numbers of DWARF that a line program needs. */
enum {
	FORM_BLOCK2 = 3,
	FORM_BLOCK4 = 4,
	FORM_DATA2 = 5,
	FORM_DATA4 = 6,
	FORM_DATA8 = 7,
	FORM_STRING = 8,
	FORM_BLOCK = 9,
	FORM_BLOCK1 = 10,
	FORM_DATA1 = 11,
	FORM_STRP = 14,
	FORM_UDATA = 15,
	FORM_DATA16 = 30,
	FORM_LINE_STRP = 31
};
enum { LNCT_PATH = 1, LNCT_DIRECTORY = 2 };
enum {
	LNS_COPY = 1,
	LNS_ADVANCE_PC = 2,
	LNS_ADVANCE_LINE = 3,
	LNS_SET_FILE = 4,
	LNS_CONST_ADD_PC = 8,
	LNS_FIXED_ADVANCE_PC = 9
};
enum { LNE_END_SEQUENCE = 1, LNE_SET_ADDRESS = 2 };

#define FORMATS_MAX 8u

struct bytes {
	const unsigned char *p, *end;
	bool is_bad;
};

struct image {
	Elf *elf;
	struct bytes line, line_str, str;
};

/* ---- reading ----------------------------------------------------------------------- */

static uint64_t get(struct bytes *b, unsigned n)
{
	uint64_t x = 0;

	if ((size_t)(b->end - b->p) < n) {
		b->is_bad = true;
		b->p = b->end;
		return 0;
	}
	memcpy(&x, b->p, n); /* little-endian, as all machines with CUDA are */
	b->p += n;
	return x;
}

static uint64_t get_leb(struct bytes *b, bool is_signed)
{
	uint64_t x = 0;
	unsigned shift = 0, byte;

	do {
		byte = (unsigned)get(b, 1);
		if (shift < 64)
			x |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && !b->is_bad);
	if (is_signed && shift < 64 && byte & 0x40)
		x |= ~0ull << shift;
	return x;
}

static const char *get_string(struct bytes *b)
{
	const char *s = (const char *)b->p;
	const unsigned char *nul = memchr(b->p, 0, (size_t)(b->end - b->p));

	if (!nul) {
		b->is_bad = true;
		b->p = b->end;
		return "";
	}
	b->p = nul + 1;
	return s;
}

static const char *string_at(const struct bytes *section, uint64_t at)
{
	struct bytes b = *section;

	if (at >= (uint64_t)(b.end - b.p))
		return "";
	b.p += at;
	return get_string(&b);
}

static void pass(struct bytes *b, uint64_t n)
{
	if (n > (uint64_t)(b->end - b->p)) {
		b->is_bad = true;
		n = (uint64_t)(b->end - b->p);
	}
	b->p += n;
}

/* ---- one line program's header -------------------------------------------------------- */

struct program {
	const struct image *im;
	struct bytes code;
	unsigned version, offset_bytes;
	unsigned min_inst, line_range, opcode_base;
	int line_base;
	unsigned char lengths[256]; /* operands of the standard opcodes */
	struct bytes dirs, files;   /* the tables' entries */
	uint64_t ndirs, nfiles;
	uint64_t dir_formats[FORMATS_MAX][2], file_formats[FORMATS_MAX][2];
	unsigned ndir_formats, nfile_formats;
};

/* A value of version 5's tables: a string, a number, or passed over. */
static void get_form(const struct program *pr, struct bytes *b, uint64_t form, const char **text,
		     uint64_t *number)
{
	*text = "";
	*number = 0;
	switch (form) {
	case FORM_STRING:
		*text = get_string(b);
		break;
	case FORM_LINE_STRP:
		*text = string_at(&pr->im->line_str, get(b, pr->offset_bytes));
		break;
	case FORM_STRP:
		*text = string_at(&pr->im->str, get(b, pr->offset_bytes));
		break;
	case FORM_UDATA:
		*number = get_leb(b, false);
		break;
	case FORM_DATA1:
		*number = get(b, 1);
		break;
	case FORM_DATA2:
		*number = get(b, 2);
		break;
	case FORM_DATA4:
		*number = get(b, 4);
		break;
	case FORM_DATA8:
		*number = get(b, 8);
		break;
	case FORM_DATA16:
		pass(b, 16);
		break;
	case FORM_BLOCK:
		pass(b, get_leb(b, false));
		break;
	case FORM_BLOCK1:
		pass(b, get(b, 1));
		break;
	case FORM_BLOCK2:
		pass(b, get(b, 2));
		break;
	case FORM_BLOCK4:
		pass(b, get(b, 4));
		break;
	default:
		b->is_bad = true;
	}
}

/* Entry `index` of a version 5 table. */
static const char *entry_5(const struct program *pr, struct bytes b, uint64_t n,
			   const uint64_t formats[][2], unsigned nformats, uint64_t index,
			   uint64_t *dir)
{
	const char *name = "";

	*dir = 0;
	for (uint64_t i = 0; i <= index && i < n && !b.is_bad; i++) {
		for (unsigned f = 0; f < nformats; f++) {
			const char *text;
			uint64_t number;
			get_form(pr, &b, formats[f][1], &text, &number);
			if (formats[f][0] == LNCT_PATH)
				name = text;
			else if (formats[f][0] == LNCT_DIRECTORY)
				*dir = number;
		}
		if (i < index)
			name = "";
	}
	return b.is_bad ? "" : name;
}

/* Entry `index`, from 1, of an older table. */
static const char *entry_2(struct bytes b, bool is_dir, uint64_t index, uint64_t *dir)
{
	*dir = 0;
	for (uint64_t i = 1; !b.is_bad && b.p < b.end && *b.p; i++) {
		const char *name = get_string(&b);
		if (!is_dir) {
			*dir = get_leb(&b, false);
			get_leb(&b, false);
			get_leb(&b, false);
		}
		if (i == index)
			return name;
	}
	return "";
}

static const char *file_of(struct base_arena *a, const struct program *pr, uint64_t index)
{
	const char *name, *folder;
	uint64_t dir, none;

	if (pr->version >= 5) {
		name = entry_5(pr, pr->files, pr->nfiles, pr->file_formats, pr->nfile_formats,
			       index, &dir);
		folder = entry_5(pr, pr->dirs, pr->ndirs, pr->dir_formats, pr->ndir_formats, dir,
				 &none);
		if (dir == 0)
			folder =
				""; /* where the compiler ran: names are told as it was given them */
	} else {
		name = entry_2(pr->files, false, index, &dir);
		folder = dir ? entry_2(pr->dirs, true, dir, &none) : "";
	}
	if (*name == '/' || !*folder)
		return race_text(a, name, strlen(name));
	folder = base_printf(a, "%s/%s", folder, name);
	return race_text(a, folder, strlen(folder));
}

static unsigned get_formats(struct bytes *b, uint64_t formats[][2])
{
	unsigned n = (unsigned)get(b, 1);

	for (unsigned i = 0; i < n; i++) {
		uint64_t what = get_leb(b, false), form = get_leb(b, false);
		if (i < FORMATS_MAX) {
			formats[i][0] = what;
			formats[i][1] = form;
		}
	}
	if (n > FORMATS_MAX)
		b->is_bad = true;
	return n;
}

static void skip_entries(const struct program *pr, struct bytes *b, uint64_t n,
			 const uint64_t formats[][2], unsigned nformats)
{
	const char *text;
	uint64_t number;

	for (uint64_t i = 0; i < n && nformats && !b->is_bad; i++)
		for (unsigned f = 0; f < nformats; f++)
			get_form(pr, b, formats[f][1], &text, &number);
}

static void get_tables(struct program *pr, struct bytes *b)
{
	if (pr->version >= 5) {
		pr->ndir_formats = get_formats(b, pr->dir_formats);
		pr->ndirs = get_leb(b, false);
		pr->dirs = *b;
		skip_entries(pr, b, pr->ndirs, pr->dir_formats, pr->ndir_formats);
		pr->nfile_formats = get_formats(b, pr->file_formats);
		pr->nfiles = get_leb(b, false);
		pr->files = *b;
		return;
	}
	pr->dirs = *b;
	while (!b->is_bad && b->p < b->end && *b->p)
		get_string(b);
	pass(b, 1);
	pr->files = *b;
}

/* The next program of the section. False: there is none, or it can't be read; `section` is behind
 * it all the same. */
static bool next_program(struct bytes *section, struct program *pr)
{
	uint64_t length = get(section, 4);
	struct bytes unit;

	pr->offset_bytes = 4;
	if (length == 0xffffffff) {
		pr->offset_bytes = 8;
		length = get(section, 8);
	}
	unit = *section;
	pass(section, length);
	if (section->is_bad)
		return false;
	unit.end = section->p;
	pr->version = (unsigned)get(&unit, 2);
	if (pr->version < 2 || pr->version > 5)
		return false;
	if (pr->version >= 5)
		pass(&unit, 2); /* sizes of an address (8) and of a segment selector (0) */
	length = get(&unit, pr->offset_bytes);
	pr->code = unit;
	pass(&pr->code, length);
	pr->min_inst = (unsigned)get(&unit, 1);
	if (pr->version >= 4)
		pass(&unit, 1); /* operations in a long instruction word */
	pass(&unit, 1);
	pr->line_base = (signed char)get(&unit, 1);
	pr->line_range = (unsigned)get(&unit, 1);
	pr->opcode_base = (unsigned)get(&unit, 1);
	for (unsigned i = 1; i < pr->opcode_base; i++)
		pr->lengths[i] = (unsigned char)get(&unit, 1);
	get_tables(pr, &unit);
	return !unit.is_bad && !pr->code.is_bad && pr->line_range;
}

/* ---- running it ------------------------------------------------------------------------ */

struct row {
	uint64_t address, file, line;
	bool is_valid; /* there is a row of this sequence before */
};

/* A new row at r: does the one before it cover the address? */
static bool covers(const struct row *last, const struct row *r, uint64_t address)
{
	return last->is_valid && last->address <= address && address < r->address && last->line;
}

/* Runs the program until a row covers the address. */
static bool run(struct program *pr, uint64_t address, struct row *found)
{
	struct row r = {.file = 1, .line = 1}, last = {0};
	struct bytes *b = &pr->code;

	while (b->p < b->end && !b->is_bad) {
		unsigned op = (unsigned)get(b, 1);
		bool is_row = false, is_end = false;

		if (op >= pr->opcode_base) {
			op -= pr->opcode_base;
			r.address += (uint64_t)(op / pr->line_range) * pr->min_inst;
			r.line += (uint64_t)(int64_t)(pr->line_base + (int)(op % pr->line_range));
			is_row = true;
		} else if (op == 0) {
			uint64_t n = get_leb(b, false);
			struct bytes ext = *b;
			pass(b, n);
			unsigned what = (unsigned)get(&ext, 1);
			is_end = is_row = what == LNE_END_SEQUENCE;
			if (what == LNE_SET_ADDRESS)
				r.address = get(&ext, 8);
		} else if (op == LNS_COPY) {
			is_row = true;
		} else if (op == LNS_ADVANCE_PC) {
			r.address += get_leb(b, false) * pr->min_inst;
		} else if (op == LNS_ADVANCE_LINE) {
			r.line += get_leb(b, true);
		} else if (op == LNS_SET_FILE) {
			r.file = get_leb(b, false);
		} else if (op == LNS_CONST_ADD_PC) {
			r.address +=
				(uint64_t)((255 - pr->opcode_base) / pr->line_range) * pr->min_inst;
		} else if (op == LNS_FIXED_ADVANCE_PC) {
			r.address += get(b, 2);
		} else {
			for (unsigned i = 0; i < pr->lengths[op]; i++)
				get_leb(b, false);
		}
		if (!is_row)
			continue;
		if (covers(&last, &r, address)) {
			*found = last;
			return true;
		}
		last = r;
		last.is_valid = !is_end;
		if (is_end)
			r = (struct row){.file = 1, .line = 1};
	}
	return false;
}

/* ---- the file ---------------------------------------------------------------------------- */

static void take_section(struct image *im, Elf_Scn *scn, const char *name)
{
	static const char prefix[] = ".debug_";
	struct bytes *to = NULL;
	GElf_Shdr sh;
	Elf_Data *d;

	if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
		return;
	name += sizeof(prefix) - 1;
	if (!strcmp(name, "line"))
		to = &im->line;
	else if (!strcmp(name, "line_str"))
		to = &im->line_str;
	else if (!strcmp(name, "str"))
		to = &im->str;
	if (!to || !gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS)
		return;
	if (sh.sh_flags & SHF_COMPRESSED && elf_compress(scn, 0, 0) < 0)
		return;
	d = elf_getdata(scn, NULL);
	if (d && d->d_buf)
		*to = (struct bytes){d->d_buf, (const unsigned char *)d->d_buf + d->d_size, false};
}

/* The function whose symbol covers the address; "" when there is none. */
static void take_symbol(struct base_arena *a, Elf *elf, Elf_Scn *scn, uint64_t address,
			struct race_line *out)
{
	Elf_Data *d = elf_getdata(scn, NULL);
	GElf_Shdr sh;
	GElf_Sym sym;

	if (!d || !gelf_getshdr(scn, &sh))
		return;
	for (int i = 0; gelf_getsym(d, i, &sym); i++) {
		if (GELF_ST_TYPE(sym.st_info) != STT_FUNC || address < sym.st_value ||
		    address - sym.st_value >= sym.st_size)
			continue;
		const char *name = elf_strptr(elf, sh.sh_link, sym.st_name);
		if (name)
			out->func = race_text(a, name, strlen(name));
		return;
	}
}

/* Addresses in the file are those in memory less where it was loaded, plus where it wants to be. */
static uint64_t first_address(Elf *elf)
{
	uint64_t lowest = UINT64_MAX;
	size_t n = 0;
	GElf_Phdr ph;

	if (elf_getphdrnum(elf, &n) != 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_LOAD &&
		    (ph.p_vaddr & ~4095ull) < lowest)
			lowest = ph.p_vaddr & ~4095ull;
	return lowest == UINT64_MAX ? 0 : lowest;
}

static void look(struct base_arena *a, struct image *im, uint64_t offset, struct race_line *out)
{
	uint64_t address = offset + first_address(im->elf);
	Elf_Scn *scn = NULL;
	struct program pr;
	GElf_Shdr sh;
	struct row r;
	size_t names;

	if (elf_getshdrstrndx(im->elf, &names) != 0)
		return;
	while ((scn = elf_nextscn(im->elf, scn))) {
		if (!gelf_getshdr(scn, &sh))
			continue;
		const char *name = elf_strptr(im->elf, names, sh.sh_name);
		if (sh.sh_type == SHT_SYMTAB || (sh.sh_type == SHT_DYNSYM && !*out->func))
			take_symbol(a, im->elf, scn, address, out);
		else if (name)
			take_section(im, scn, name);
	}
	while (im->line.p < im->line.end && !im->line.is_bad) {
		memset(&pr, 0, sizeof(pr));
		pr.im = im;
		if (!next_program(&im->line, &pr) || !run(&pr, address, &r))
			continue;
		out->line = r.line > UINT32_MAX ? 0 : (uint32_t)r.line;
		out->file = file_of(a, &pr, r.file);
		return;
	}
}

/* ------------------------------------------------------------------------------------------- */

void race_line_find(struct base_arena *a, const char *path, uint64_t offset, struct race_line *out)
{
	struct image im = {0};
	struct stat st;
	int fd;

	*out = (struct race_line){"", "", 0};
	if (*path != '/' || stat(path, &st) != 0 || !S_ISREG(st.st_mode))
		return;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (elf_version(EV_CURRENT) != EV_NONE)
		im.elf = elf_begin(fd, ELF_C_READ, NULL);
	if (im.elf && elf_kind(im.elf) == ELF_K_ELF && gelf_getclass(im.elf) == ELFCLASS64)
		look(a, &im, offset, out);
	if (im.elf)
		elf_end(im.elf);
	close(fd);
}
