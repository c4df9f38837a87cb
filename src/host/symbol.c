/*
 * symbol.c - from a place in a program's file to function, file and line.
 *
 * The one reader of host code's line tables: for accesses of host code, and for the calls that
 * requested a copy (GPU code has its lines in the site tables). libdw reads the DWARF that the
 * compiler left (collider cc adds -g1). The compilation unit is found by testing for each one
 * whether it contains the address, since clang writes no .debug_aranges; findings are few. Without
 * DWARF the function still comes from the symbol table.
 *
 * Addresses are those after a call, so one less is looked up. Offsets count from where the loader
 * put the file's first page. Misses: debug information in other files (-gsplit-dwarf,
 * .gnu_debuglink). Costs: a file is opened once and kept until all is looked up.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/host.h"

#define INLINE_MAX 64

struct object {
	const char *path;
	int fd;
	Elf *elf;
	Dwarf *dwarf;
	uint64_t base; /* the first segment's address in the file, from the start of its page */
};

struct objects {
	struct race_results *r;
	BASE_VEC(struct object) v;
};

static void object_open(struct object *o)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct stat st;
	size_t n = 0;

	/* Names like linux-vdso.so.1 are not files; reading a pipe would block. */
	if (*o->path != '/' || stat(o->path, &st) || !S_ISREG(st.st_mode))
		return;
	elf_version(EV_CURRENT);
	o->fd = open(o->path, O_RDONLY | O_CLOEXEC);
	o->elf = o->fd >= 0 ? elf_begin(o->fd, ELF_C_READ, NULL) : NULL;
	if (!o->elf || elf_kind(o->elf) != ELF_K_ELF || elf_getphdrnum(o->elf, &n))
		return;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr ph;
		if (!gelf_getphdr(o->elf, (int)i, &ph) || ph.p_type != PT_LOAD)
			continue;
		o->base = ph.p_vaddr & ~(page - 1);
		break;
	}
	o->dwarf = dwarf_begin_elf(o->elf, DWARF_C_READ, NULL);
}

static const struct object *object_get(struct objects *all, const char *path)
{
	struct object o = {.path = path, .fd = -1};

	for (size_t i = 0; i < all->v.n; i++)
		if (!strcmp(all->v.v[i].path, path))
			return &all->v.v[i];
	object_open(&o);
	base_vec_push(&all->v, o);
	return &all->v.v[all->v.n - 1];
}

static void objects_close(struct objects *all)
{
	for (size_t i = 0; i < all->v.n; i++) {
		struct object *o = &all->v.v[i];
		if (o->dwarf)
			dwarf_end(o->dwarf);
		if (o->elf)
			elf_end(o->elf);
		if (o->fd >= 0)
			close(o->fd);
	}
	base_vec_free(&all->v);
}

static const char *copy(struct race_results *r, const char *s)
{
	return s ? race_text(&r->arena, s, strlen(s)) : "";
}

/* ---- function from the symbol table -------------------------------------------- */

static const char *symbol_at(const struct object *o, uint64_t address)
{
	Elf_Scn *scn = NULL;
	const char *best = NULL;

	while (o->elf && (scn = elf_nextscn(o->elf, scn))) {
		GElf_Shdr sh;
		Elf_Data *data;
		if (!gelf_getshdr(scn, &sh) ||
		    (sh.sh_type != SHT_SYMTAB && sh.sh_type != SHT_DYNSYM) || !sh.sh_entsize)
			continue;
		data = elf_getdata(scn, NULL);
		for (size_t i = 0; data && i < sh.sh_size / sh.sh_entsize; i++) {
			GElf_Sym s;
			if (gelf_getsym(data, (int)i, &s) && GELF_ST_TYPE(s.st_info) == STT_FUNC &&
			    s.st_value <= address && address < s.st_value + s.st_size)
				best = elf_strptr(o->elf, sh.sh_link, s.st_name);
		}
	}
	return best;
}

/* ---- DWARF ------------------------------------------------------------------------ */

static bool unit_find(const struct object *o, uint64_t address, Dwarf_Die *unit)
{
	Dwarf_Off at = 0, next;
	size_t header;

	while (o->dwarf && !dwarf_nextcu(o->dwarf, at, &next, &header, NULL, NULL, NULL)) {
		if (dwarf_offdie(o->dwarf, at + header, unit) && dwarf_haspc(unit, address) > 0)
			return true;
		at = next;
	}
	return false;
}

static const char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *linkage =
		dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attr));

	return linkage ? linkage : dwarf_diename(die);
}

static uint32_t number_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	Dwarf_Word v = 0;

	if (dwarf_formudata(dwarf_attr(die, name, &attr), &v))
		return 0;
	return (uint32_t)v;
}

/* The function and the chain of inlined calls around the address. */
static void function_fill(struct race_results *r, struct race_line *out, Dwarf_Die *unit,
			  uint64_t address)
{
	struct race_inlined chain[INLINE_MAX];
	Dwarf_Die *inner = NULL, *scopes = NULL;
	Dwarf_Files *files = NULL;
	size_t n = 0, nfiles = 0;
	/* dwarf_getscopes leaves the tree at the first inlined function for its definition. */
	int count = dwarf_getscopes(unit, address, &inner) > 0 ? dwarf_getscopes_die(inner, &scopes)
							       : 0;

	if (dwarf_getsrcfiles(unit, &files, &nfiles))
		nfiles = 0;
	for (int i = 0; i < count; i++) {
		int tag = dwarf_tag(&scopes[i]);
		if (tag == DW_TAG_subprogram) {
			out->func = copy(r, name_of(&scopes[i]));
			break;
		}
		if (tag != DW_TAG_inlined_subroutine || n == INLINE_MAX)
			continue;
		uint32_t file = number_of(&scopes[i], DW_AT_call_file);
		struct race_inlined *in = &chain[n++];
		in->func = copy(r, name_of(&scopes[i]));
		in->func_shown = race_demangle(&r->arena, in->func);
		in->file = copy(r, file < nfiles ? dwarf_filesrc(files, file, NULL, NULL) : NULL);
		in->line = number_of(&scopes[i], DW_AT_call_line);
		in->col = number_of(&scopes[i], DW_AT_call_column);
	}
	free(scopes);
	free(inner);
	out->inlined = base_alloc(&r->arena, n * sizeof(*chain));
	memcpy(out->inlined, chain, n * sizeof(*chain));
	out->ninlined = n;
}

/* What is known about the code before the address `offset`. */
static struct race_line line_find(struct objects *all, const char *path, uint64_t offset)
{
	struct race_line out = {.func = "", .file = ""};
	const struct object *o = object_get(all, path);
	uint64_t address = offset - 1 + o->base;
	struct race_results *r = all->r;
	Dwarf_Die unit;

	if (unit_find(o, address, &unit)) {
		Dwarf_Line *line = dwarf_getsrc_die(&unit, address);
		int number = 0, col = 0;
		function_fill(r, &out, &unit, address);
		out.file = copy(r, line ? dwarf_linesrc(line, NULL, NULL) : NULL);
		if (line && !dwarf_lineno(line, &number) && number > 0)
			out.line = (uint32_t)number;
		if (line && !dwarf_linecol(line, &col) && col > 0)
			out.col = (uint32_t)col;
	}
	if (!*out.func)
		out.func = copy(r, symbol_at(o, address));
	return out;
}

static void access_fill(struct objects *all, struct race_finding *f)
{
	struct race_line l = line_find(all, f->object, f->offset);

	f->func = l.func;
	f->func_shown = race_demangle(&all->r->arena, f->func);
	f->file = l.file;
	f->line = l.line;
	f->col = l.col;
	f->inlined = l.inlined;
	f->ninlined = l.ninlined;
}

static void calls_fill(struct objects *all, struct race_transfer_op *op)
{
	for (size_t i = 0; i < op->ncalls; i++) {
		struct race_call *c = &op->calls[i];
		if (!*c->module) /* a script's line is known */
			continue;
		struct race_line l = line_find(all, c->module, c->offset);
		if (!*l.func)
			l.func = c->at.func;
		c->at = l;
	}
}

static void transfer_fill(struct objects *all, struct race_finding *f)
{
	calls_fill(all, f->transfer);
	race_transfer_place(&all->r->arena, f);
}

/* A load or store of host code in a pair: its text ends with "at /path/of/file+0xOFFSET". */
static void side_fill(struct objects *all, struct race_side *s)
{
	const char *at = strstr(s->text, " at /"), *plus = at ? strrchr(at, '+') : NULL;

	if (!(s->flags & RACE_SIDE_HOST) || s->access == RACE_ACCESS_COPY || !plus)
		return;
	/* The address is that of the instruction, not after a call. */
	struct race_line l =
		line_find(all, base_strndup(&all->r->arena, at + 4, (size_t)(plus - at - 4)),
			  strtoull(plus + 1, NULL, 16) + 1);
	if (*l.func)
		s->func = l.func;
	s->func_shown = race_demangle(&all->r->arena, s->func);
	s->file = l.file;
	s->line = l.line;
	s->col = l.col;
	s->inlined = l.inlined;
	s->ninlined = l.ninlined;
}

/* ---------------------------------------------------------------------------------- */

void host_symbolise(struct race_results *r)
{
	struct objects all = {.r = r};

	for (size_t i = 0; i < r->findings.n; i++) {
		struct race_finding *f = &r->findings.v[i];
		if (f->transfer)
			transfer_fill(&all, f);
		else if (f->object && *f->object)
			access_fill(&all, f);
		for (unsigned k = 0; f->sides && k < 2; k++)
			side_fill(&all, &f->sides[k]);
	}
	for (size_t i = 0; i < r->origins.n; i++)
		calls_fill(&all, r->origins.v[i].op);
	for (size_t i = 0; r->findings.n && i < r->launched.n; i++)
		calls_fill(&all, r->launched.v[i]);
	race_origins_place(r);
	objects_close(&all);
}

/* ---- --host-filter ------------------------------------------------------------------ */

static bool is_match(const char *pattern, const char *name)
{
	return *name && base_glob(pattern, name);
}

/* Also by the name without its parameters: "f(int)" is f. */
static bool function_is_match(const char *pattern, const char *shown)
{
	char plain[512];
	size_t n = strcspn(shown, "(");

	if (n < sizeof(plain) && shown[n]) {
		memcpy(plain, shown, n);
		plain[n] = 0;
		if (is_match(pattern, plain))
			return true;
	}
	return is_match(pattern, shown);
}

static bool finding_is_match(const char *pattern, const struct race_finding *f)
{
	if (is_match(pattern, f->func) || function_is_match(pattern, f->func_shown) ||
	    (*f->file && base_glob_file(pattern, f->file)))
		return true;
	for (size_t i = 0; i < f->ninlined; i++)
		if (is_match(pattern, f->inlined[i].func) ||
		    function_is_match(pattern, f->inlined[i].func_shown))
			return true;
	return false;
}

size_t host_filter_findings(struct race_results *r, const char *patterns)
{
	size_t kept = 0, n = r->findings.n;
	struct base_arena a = {0};
	BASE_VEC(const char *) list = {0};

	for (const char *p = patterns; *p;) {
		size_t len = strcspn(p, ",");
		if (len)
			base_vec_push(&list, base_strndup(&a, p, len));
		p += len + (p[len] == ',');
	}
	for (size_t i = 0; i < n; i++) {
		const struct race_finding *f = &r->findings.v[i];
		bool is_wanted = !race_space_is_host(f->space);
		for (size_t j = 0; j < list.n && !is_wanted; j++)
			is_wanted = finding_is_match(list.v[j], f);
		if (is_wanted)
			r->findings.v[kept++] = *f;
	}
	r->findings.n = kept;
	base_vec_free(&list);
	base_arena_free(&a);
	return n - kept;
}
