/*
 * noted.c - notes launches, as the agent does: load_noted FOLDER CUBIN KERNEL DIMENSION*6 NUMBER...
 *
 * Of the kernel whose mangled name contains KERNEL, by the variable of the instrumented module; the
 * numbers are its parameters', one each. Fails where the module asks for no notes of it, and prints
 * which parameters are noted ("0x8").
 */
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "race/noted.h"

/* The variable's bytes in the file. */
static bool find(Elf *elf, const char *kernel, struct race_noted_kernel *out)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	GElf_Sym sym;

	while ((scn = elf_nextscn(elf, scn))) {
		Elf_Data *data = elf_getdata(scn, NULL);
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_SYMTAB)
			continue;
		for (int i = 0; data && gelf_getsym(data, i, &sym); i++) {
			const char *name = elf_strptr(elf, sh.sh_link, sym.st_name);
			if (!name || strncmp(name, RACE_NOTED, strlen(RACE_NOTED)) != 0 ||
			    !strstr(name, kernel))
				continue;
			Elf_Scn *of = elf_getscn(elf, sym.st_shndx);
			Elf_Data *bytes = of ? elf_rawdata(of, NULL) : NULL;
			if (!bytes || sym.st_value + sizeof(*out) > bytes->d_size)
				return false;
			memcpy(out, (const char *)bytes->d_buf + sym.st_value, sizeof(*out));
			return true;
		}
	}
	return false;
}

int main(int argc, char **argv)
{
	struct race_noted_kernel k;
	struct race_noted all;
	uint32_t dim[6];
	int numbers[RACE_NOTED_PARAMS];
	const void *params[RACE_NOTED_PARAMS] = {NULL};

	if (argc < 10 || argc > 10 + (int)RACE_NOTED_PARAMS || elf_version(EV_CURRENT) == EV_NONE)
		return 2;
	int fd = open(argv[2], O_RDONLY);
	Elf *elf = fd >= 0 ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
	if (!elf || !find(elf, argv[3], &k))
		return 1;
	for (int d = 0; d < 6; d++)
		dim[d] = (uint32_t)atoi(argv[4 + d]);
	for (int i = 10; i < argc; i++) {
		numbers[i - 10] = atoi(argv[i]);
		params[i - 10] = &numbers[i - 10];
	}
	printf("%#llx\n", (unsigned long long)k.scalars);
	if (!race_noted_read(argv[1], k.id, &all))
		race_noted_init(&all, k.id);
	race_noted_add(&all, dim, params, k.scalars);
	return race_noted_write(argv[1], &all) ? 0 : 1;
}
