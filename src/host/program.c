/*
 * program.c - what a program's file shows about how it reaches the GPU.
 *
 * When no CUDA call came from a program, the reason is often in its file: which CUDA library it
 * needs, and whether it contains GPU code. The file is looked for as execvp does.
 * Misses: what a program loads while it runs, what a script starts. Costs: the section headers are
 * read.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/host.h"

static int open_program(const char *name)
{
	const char *path = getenv("PATH");
	char file[PATH_MAX];

	if (strchr(name, '/') || !path)
		return open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	while (*path) {
		size_t n = strcspn(path, ":");
		int len = snprintf(file, sizeof(file), "%.*s/%s", (int)n, path, name);
		if (len > 0 && (size_t)len < sizeof(file) && !access(file, X_OK))
			return open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		path += n + (path[n] == ':');
	}
	return -1;
}

static bool starts(const char *s, const char *with)
{
	return s && !strncmp(s, with, strlen(with));
}

static void needed_read(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, struct host_program *out)
{
	Elf_Data *data = elf_getdata(scn, NULL);

	for (size_t i = 0; data && sh->sh_entsize && i < sh->sh_size / sh->sh_entsize; i++) {
		GElf_Dyn d;
		if (!gelf_getdyn(data, (int)i, &d) || d.d_tag != DT_NEEDED)
			continue;
		const char *name = elf_strptr(elf, sh->sh_link, d.d_un.d_val);
		out->links_runtime |= starts(name, "libcudart.so");
		out->links_driver |= starts(name, "libcuda.so");
		if (name && race_kernel_library(name))
			snprintf(out->library, sizeof(out->library), "%s", name);
	}
}

/* What it imports: cudaMalloc is the runtime's, cuInit the driver's. */
static void imports_read(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, struct host_program *out)
{
	Elf_Data *data = elf_getdata(scn, NULL);

	for (size_t i = 0; data && sh->sh_entsize && i < sh->sh_size / sh->sh_entsize; i++) {
		GElf_Sym s;
		if (!gelf_getsym(data, (int)i, &s))
			continue;
		const char *name = elf_strptr(elf, sh->sh_link, s.st_name);
		if (!name || s.st_shndx != SHN_UNDEF)
			continue;
		out->calls_runtime |= starts(name, "cuda");
	}
}

void host_program_read(const char *name, struct host_program *out)
{
	int fd = open_program(name);
	struct stat st;
	Elf_Scn *scn = NULL;
	Elf *elf = NULL;
	size_t names;

	*out = (struct host_program){0};
	elf_version(EV_CURRENT);
	bool is_file = fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode);
	out->is_setuid = is_file && st.st_mode & (S_ISUID | S_ISGID);
	if (is_file)
		elf = elf_begin(fd, ELF_C_READ, NULL);
	out->is_elf = elf && elf_kind(elf) == ELF_K_ELF && !elf_getshdrstrndx(elf, &names);
	while (out->is_elf && (scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;
		if (!gelf_getshdr(scn, &sh))
			continue;
		if (sh.sh_type == SHT_DYNAMIC)
			needed_read(elf, scn, &sh, out);
		if (sh.sh_type == SHT_DYNSYM)
			imports_read(elf, scn, &sh, out);
		out->has_gpu_code |= starts(elf_strptr(elf, names, sh.sh_name), ".nv_fatbin");
	}
	if (elf)
		elf_end(elf);
	if (fd >= 0)
		close(fd);
}
