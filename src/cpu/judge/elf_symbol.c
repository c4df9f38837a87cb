/*
 * elf_symbol.c - the name of a function of host code that the dynamic linker doesn't know.
 *
 * The file's table of all symbols is searched, which a stripped one hasn't. Addresses are offsets
 * from where the file is loaded, so what is linked to a fixed address is taken by that address.
 */
#include "cpu/judge/judge.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#if __SIZEOF_POINTER__ == 8

static const Elf64_Shdr *section(const char *text, size_t size, const Elf64_Ehdr *e, uint32_t i)
{
	const Elf64_Shdr *s;

	if (e->e_shentsize != sizeof(*s) || i >= e->e_shnum || e->e_shoff > size ||
	    (size - e->e_shoff) / sizeof(*s) < e->e_shnum)
		return NULL;
	s = (const Elf64_Shdr *)(const void *)(text + e->e_shoff) + i;
	return s->sh_offset <= size && s->sh_size <= size - s->sh_offset ? s : NULL;
}

static const char *search(const char *text, size_t size, const Elf64_Ehdr *e, uint64_t at)
{
	for (uint32_t i = 0; i < e->e_shnum; i++) {
		const Elf64_Shdr *s = section(text, size, e, i);
		if (!s || s->sh_type != SHT_SYMTAB)
			continue;
		const Elf64_Shdr *names = section(text, size, e, s->sh_link);
		const Elf64_Sym *sym = (const Elf64_Sym *)(const void *)(text + s->sh_offset);
		for (size_t k = 0; names && k < s->sh_size / sizeof(*sym); k++)
			if (ELF64_ST_TYPE(sym[k].st_info) == STT_FUNC && at >= sym[k].st_value &&
			    at - sym[k].st_value < sym[k].st_size &&
			    sym[k].st_name < names->sh_size &&
			    memchr(text + names->sh_offset + sym[k].st_name, 0,
				   names->sh_size - sym[k].st_name))
				return text + names->sh_offset + sym[k].st_name;
	}
	return NULL;
}

/* Where a file that isn't relocatable wants to be. */
static uint64_t base_of(const char *text, size_t size, const Elf64_Ehdr *e)
{
	const Elf64_Phdr *p = (const Elf64_Phdr *)(const void *)(text + e->e_phoff);

	if (e->e_type != ET_EXEC || e->e_phentsize != sizeof(*p) || e->e_phoff > size ||
	    (size - e->e_phoff) / sizeof(*p) < e->e_phnum)
		return 0;
	for (uint32_t i = 0; i < e->e_phnum; i++)
		if (p[i].p_type == PT_LOAD)
			return p[i].p_vaddr;
	return 0;
}

const char *cpu_elf_symbol(struct base_arena *a, const char *file, uint64_t offset)
{
	const char *found = NULL;
	char *text;
	size_t size;

	if (base_read_file(file, &text, &size))
		return "";
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)(const void *)text;
	if (size >= sizeof(*e) && !memcmp(text, ELFMAG, SELFMAG) &&
	    e->e_ident[EI_CLASS] == ELFCLASS64)
		found = search(text, size, e, offset + base_of(text, size, e));
	found = found ? base_strdup(a, found) : "";
	free(text);
	return found;
}

#else

const char *cpu_elf_symbol(struct base_arena *a, const char *file, uint64_t offset)
{
	(void)a, (void)file, (void)offset;
	return "";
}

#endif
