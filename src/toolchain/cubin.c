/*
 * cubin.c - how many registers each function of a cubin uses.
 *
 * The section .nv.info is a list of attributes: format u8, attribute u8, then a u16 that is the
 * value (formats 1 to 3) or the size of what follows (format 4). EIATTR_REGCOUNT (0x2f) holds a
 * symbol index and a count, both u32. Seen in cubins of CUDA 11 to 13.
 */
#include "toolchain/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>
#include <unistd.h>

#define EIFMT_SVAL	4
#define EIATTR_REGCOUNT 0x2f

/* One .nv.info section; `symbols` may be NULL (then nothing is found). */
static void read_info(Elf *elf, Elf_Data *info, Elf_Scn *symbols, struct tool_reglist *out,
		      struct base_arena *a)
{
	GElf_Shdr shdr;
	Elf_Data *syms = symbols ? elf_getdata(symbols, NULL) : NULL;

	if (!syms || !gelf_getshdr(symbols, &shdr))
		return;
	const unsigned char *p = info->d_buf;
	for (size_t at = 0; at + 4 <= info->d_size;) {
		size_t size = (size_t)(p[at + 2] | p[at + 3] << 8);
		bool is_value = p[at] != EIFMT_SVAL;
		uint32_t word[2];
		if (is_value || p[at + 1] != EIATTR_REGCOUNT || size < 8 ||
		    at + 12 > info->d_size) {
			at += 4 + (is_value ? 0 : size);
			continue;
		}
		memcpy(word, p + at + 4, sizeof(word));
		at += 4 + size;
		GElf_Sym sym;
		if (!gelf_getsym(syms, (int)word[0], &sym))
			continue;
		const char *name = elf_strptr(elf, shdr.sh_link, sym.st_name);
		if (!name)
			continue;
		struct tool_regs r = {.name = base_strdup(a, name), .count = word[1]};
		base_vec_push(out, r);
	}
}

int tool_cubin_regs(const char *path, struct tool_reglist *out, struct base_arena *a)
{
	Elf_Scn *scn = NULL, *symbols = NULL;
	Elf_Data *info = NULL;
	size_t names;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return errno;
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	int err = elf && elf_kind(elf) == ELF_K_ELF && elf_getshdrstrndx(elf, &names) == 0 ? 0
											   : EINVAL;
	while (!err && (scn = elf_nextscn(elf, scn))) {
		GElf_Shdr shdr;
		if (!gelf_getshdr(scn, &shdr))
			continue;
		const char *name = elf_strptr(elf, names, shdr.sh_name);
		if (shdr.sh_type == SHT_SYMTAB)
			symbols = scn;
		else if (name && !strcmp(name, ".nv.info"))
			info = elf_rawdata(scn, NULL);
	}
	if (info && info->d_buf)
		read_info(elf, info, symbols, out, a);
	elf_end(elf);
	close(fd);
	return err;
}

unsigned tool_reglist_get(const struct tool_reglist *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++) {
		if (!strcmp(l->v[i].name, name))
			return l->v[i].count;
	}
	return 0;
}
