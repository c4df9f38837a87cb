/*
 * file.c - the symbols of an object file, read with system calls only.
 *
 * A file may be damaged or be written while it is read: each table is checked to lie in the file,
 * and a file that doesn't fit is one without symbols. Costs: a file's header, and its tables where
 * asked for.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cudart/entries/inner.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_inside(const struct entries_file *f, uint64_t at, uint64_t n)
{
	return at <= f->n && n <= f->n - at;
}

/* Sanitizers replace open and mmap by functions that need their own start: system calls, then. */
static void *map_file(const char *path, size_t *n)
{
	struct stat st;
	long p = -1, fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return NULL;
	/* The C library's stat is the kernel's on this machine. */
	if (!syscall(SYS_fstat, fd, &st) && S_ISREG(st.st_mode) &&
	    (size_t)st.st_size >= sizeof(Elf64_Ehdr)) {
		*n = (size_t)st.st_size;
		p = syscall(SYS_mmap, NULL, *n, PROT_READ, MAP_PRIVATE, fd, 0L);
	}
	syscall(SYS_close, fd);
	return p < 0 && p > -4096 ? NULL : (void *)p;
}

static void find_sections(struct entries_file *f, const Elf64_Ehdr *e)
{
	if (e->e_shentsize != sizeof(Elf64_Shdr) || e->e_shoff % _Alignof(Elf64_Shdr) ||
	    !is_inside(f, e->e_shoff, (uint64_t)e->e_shnum * sizeof(Elf64_Shdr)))
		return;
	f->sections = (const Elf64_Shdr *)(const void *)(f->p + e->e_shoff);
	f->nsections = e->e_shnum;
	if (e->e_shstrndx < e->e_shnum) {
		const Elf64_Shdr *s = &f->sections[e->e_shstrndx];
		if (s->sh_type == SHT_STRTAB && s->sh_size &&
		    is_inside(f, s->sh_offset, s->sh_size))
			f->names = s;
	}
}

extern const Elf64_Ehdr own __asm__("__ehdr_start") __attribute__((visibility("hidden")));

bool entries_file_open(struct entries_file *f, const char *path)
{
	*f = (struct entries_file){0};
	f->p = map_file(path, &f->n);
	if (!f->p)
		return false;
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)(const void *)f->p;
	if (memcmp(e->e_ident, ELFMAG, SELFMAG) || e->e_ident[EI_CLASS] != ELFCLASS64 ||
	    e->e_machine != own.e_machine || e->e_phentsize != sizeof(Elf64_Phdr) ||
	    e->e_phoff % _Alignof(Elf64_Phdr) ||
	    !is_inside(f, e->e_phoff, (uint64_t)e->e_phnum * sizeof(Elf64_Phdr))) {
		entries_file_close(f);
		return false;
	}
	f->segments = (const Elf64_Phdr *)(const void *)(f->p + e->e_phoff);
	f->nsegments = e->e_phnum;
	find_sections(f, e);
	return true;
}

void entries_file_close(struct entries_file *f)
{
	if (f->p)
		syscall(SYS_munmap, f->p, f->n);
	f->p = NULL;
}

/* The text at an offset of a table of names; NULL: outside, or without an end. */
static const char *name_at(const struct entries_file *f, const Elf64_Shdr *names, uint64_t at)
{
	const char *s = (const char *)f->p + names->sh_offset + at;

	return at < names->sh_size && memchr(s, 0, names->sh_size - at) ? s : NULL;
}

bool entries_file_has_section(const struct entries_file *f, const char *name)
{
	for (size_t i = 0; f->names && i < f->nsections; i++) {
		const char *is = name_at(f, f->names, f->sections[i].sh_name);
		if (is && !strcmp(is, name))
			return true;
	}
	return false;
}

/* The names of a table of symbols; NULL: there is something wrong with it. */
static const Elf64_Shdr *names_of(const struct entries_file *f, const Elf64_Shdr *symbols)
{
	if (symbols->sh_entsize != sizeof(Elf64_Sym) || symbols->sh_offset % _Alignof(Elf64_Sym) ||
	    symbols->sh_link >= f->nsections || !is_inside(f, symbols->sh_offset, symbols->sh_size))
		return NULL;
	const Elf64_Shdr *names = &f->sections[symbols->sh_link];
	return is_inside(f, names->sh_offset, names->sh_size) ? names : NULL;
}

bool entries_file_mentions(const struct entries_file *f, const Elf64_Shdr *symbols,
			   const char *name)
{
	const Elf64_Shdr *names = names_of(f, symbols);

	return names && memmem(f->p + names->sh_offset, names->sh_size, name, strlen(name) + 1);
}

void entries_file_functions(const struct entries_file *f, const Elf64_Shdr *symbols,
			    bool (*visit)(void *ctx, const char *name, uint64_t at, uint64_t bytes),
			    void *ctx)
{
	const Elf64_Shdr *names = names_of(f, symbols);
	const Elf64_Sym *s = (const Elf64_Sym *)(const void *)(f->p + symbols->sh_offset);

	if (!names)
		return;
	for (size_t i = 0; i < symbols->sh_size / sizeof(*s); i++) {
		if (ELF64_ST_TYPE(s[i].st_info) != STT_FUNC || s[i].st_shndx == SHN_UNDEF ||
		    !s[i].st_value)
			continue;
		const char *name = name_at(f, names, s[i].st_name);
		if (!name || (strncmp(name, "cuda", 4) && strncmp(name, "__cuda", 6)))
			continue;
		if (!visit(ctx, name, s[i].st_value, s[i].st_size))
			return;
	}
}

bool entries_file_is_code(const struct entries_file *f, uint64_t at, uint64_t n)
{
	for (size_t i = 0; i < f->nsegments; i++) {
		const Elf64_Phdr *p = &f->segments[i];
		if (p->p_type == PT_LOAD && p->p_flags & PF_X && at >= p->p_vaddr &&
		    at - p->p_vaddr <= p->p_filesz && n <= p->p_filesz - (at - p->p_vaddr))
			return true;
	}
	return false;
}
