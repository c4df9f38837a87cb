/*
 * sites.c - copies the site tables of loaded modules to the shared file.
 *
 * CUPTI hands over the final cubin of each module, whatever it was loaded or
 * linked from. Each symbol __collider_sites_<hash> in it is one table (several
 * after -rdc linking). Reads the image only, calls no driver function: it runs
 * inside a resource callback. A table that does not parse is noted, not
 * copied: reports for it then show numbers in place of lines.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <string.h>

#include <gelf.h>
#include <libelf.h>

#include "base/base.h"

#include "agent/agent.h"

static void copy_symbol(Elf *elf, const GElf_Sym *sym, const char *name)
{
	Elf_Scn *scn = elf_getscn(elf, sym->st_shndx);
	Elf_Data *data = scn ? elf_rawdata(scn, NULL) : NULL;

	if (!data || !data->d_buf || sym->st_value > data->d_size)
		return;
	agent_lock(); /* two threads that load the same module */
	race_shm_sites(name, (const char *)data->d_buf + sym->st_value,
		       data->d_size - sym->st_value);
	agent_unlock();
}

static void copy_tables(Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	GElf_Sym sym;

	while ((scn = elf_nextscn(elf, scn))) {
		Elf_Data *data;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_SYMTAB)
			continue;
		data = elf_getdata(scn, NULL);
		for (int i = 0; data && gelf_getsym(data, i, &sym); i++) {
			const char *name = elf_strptr(elf, sh.sh_link, sym.st_name);

			if (name &&
			    strncmp(name, RACE_SITES_PREFIX, strlen(RACE_SITES_PREFIX)) == 0 &&
			    sym.st_shndx != SHN_UNDEF)
				copy_symbol(elf, &sym, name);
		}
	}
}

/* ------------------------------------------------------------------------ */

void agent_sites_collect(const void *image, size_t size)
{
	Elf *elf;

	if (!image || size < SELFMAG || memcmp(image, ELFMAG, SELFMAG) != 0)
		return;
	/* Most modules of a process carry no table: do not parse those. */
	if (!memmem(image, size, RACE_SITES_PREFIX, strlen(RACE_SITES_PREFIX)))
		return;
	if (elf_version(EV_CURRENT) == EV_NONE)
		return;
	elf = elf_memory((char *)(uintptr_t)image, size); /* libelf only reads it */
	if (!elf) {
		race_shm_note(
			"cannot read a module's symbols (%s); its races will be shown without "
			"lines",
			elf_errmsg(-1));
		return;
	}
	copy_tables(elf);
	elf_end(elf);
}
