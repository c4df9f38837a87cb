/*
 * no_memory.c - a preloaded library that lets the Nth allocation of a library of ours fail.
 *
 * NO_MEMORY_IN=NAME: a part of that library's name; it may be loaded later. NO_MEMORY=N: its Nth
 * allocation. NO_MEMORY=N+: that one and all after it, until the library has given back the
 * address space that it holds in reserve (base/memory.c; the agent has none), as it would be where
 * memory has ended. Allocations of the program itself and of the C library aren't counted.
 * NO_MEMORY_COUNT=FILE: the number of allocations goes there at exit.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RESERVE ((size_t)64 << 20)

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);

static uintptr_t first, last; /* of the library's code */
static unsigned long wanted;
static bool is_lasting;
static _Atomic bool is_released;
static atomic_ulong count;

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *name = getenv("NO_MEMORY_IN");

	(void)size;
	(void)arg;
	if (!name || !strstr(info->dlpi_name, name))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		first = info->dlpi_addr + p->p_vaddr;
		last = first + p->p_memsz;
	}
	return 1;
}

static void tell(void)
{
	const char *path = getenv("NO_MEMORY_COUNT");
	FILE *f = path ? fopen(path, "w") : NULL;

	if (!f)
		return;
	fprintf(f, "%lu\n", atomic_load(&count));
	fclose(f);
}

__attribute__((constructor)) static void start(void)
{
	const char *text = getenv("NO_MEMORY");
	char *end;

	wanted = text ? strtoul(text, &end, 10) : 0;
	is_lasting = text && *end == '+';
	atexit(tell);
	dl_iterate_phdr(look, NULL);
}

static bool fails(const void *caller)
{
	uintptr_t at = (uintptr_t)caller;

	if (at < first || at >= last)
		return false;
	unsigned long n = atomic_fetch_add(&count, 1) + 1;
	bool is_now =
		n == wanted || (is_lasting && wanted && n > wanted && !atomic_load(&is_released));
	if (is_now)
		errno = ENOMEM;
	return is_now;
}

void *malloc(size_t n)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(p, n);
}

void *aligned_alloc(size_t align, size_t n)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_memalign(align, n);
}

void *dlopen(const char *file, int mode)
{
	void *(*next)(const char *, int);
	void *p = dlsym(RTLD_NEXT, "dlopen");

	memcpy(&next, &p, sizeof(next));
	p = next(file, mode);
	if (!last)
		dl_iterate_phdr(look, NULL);
	return p;
}

int munmap(void *p, size_t n)
{
	if (n == RESERVE)
		atomic_store(&is_released, true);
	return (int)syscall(SYS_munmap, p, n);
}
