/*
 * elf_symbol.c - the name of a function of host code that the dynamic linker doesn't know.
 *
 * Searches the file's full symbol table, which a stripped file lacks. Addresses are offsets from
 * where the file is loaded; for files linked to a fixed address that address is added.
 */
#include "cpu/events/internal.h"

#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

static const char *search(Elf *elf, uint64_t at)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;
		GElf_Sym sym;
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_SYMTAB)
			continue;
		Elf_Data *data = elf_getdata(scn, NULL);
		for (int i = 0; data && gelf_getsym(data, i, &sym); i++)
			if (GELF_ST_TYPE(sym.st_info) == STT_FUNC && at >= sym.st_value &&
			    at - sym.st_value < sym.st_size)
				return elf_strptr(elf, sh.sh_link, sym.st_name);
	}
	return NULL;
}

/* The address at which a file that isn't relocatable is linked. */
static uint64_t base_of(Elf *elf)
{
	GElf_Ehdr e;
	GElf_Phdr ph;

	if (!gelf_getehdr(elf, &e) || e.e_type != ET_EXEC)
		return 0;
	for (int i = 0; gelf_getphdr(elf, i, &ph); i++)
		if (ph.p_type == PT_LOAD)
			return ph.p_vaddr;
	return 0;
}

const char *cpu_elf_symbol(struct base_arena *a, const char *file, uint64_t offset)
{
	const char *found = NULL;
	int fd = open(file, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return "";
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf)
		found = search(elf, offset + base_of(elf));
	found = found ? base_strdup(a, found) : "";
	elf_end(elf);
	close(fd);
	return found;
}
