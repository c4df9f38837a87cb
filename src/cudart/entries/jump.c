/*
 * jump.c - lets the loader call us, and makes code writable (jump_*.c write it).
 *
 * The loader calls an empty function after each change of the list of loaded objects, for debuggers
 * (r_debug.r_brk of link.h). At its first call for a new object that is mapped, but not yet
 * relocated, and none of its constructors has run. A jump to our function takes the place of the
 * empty one. Debuggers of today don't need it: they use the loader's probes.
 *
 * Costs: a call each time the program opens or closes a library.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cudart/entries/inner.h"

#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096ul

static bool protect(void *p, size_t n, int how)
{
	uintptr_t from = (uintptr_t)p & ~(PAGE - 1),
		  to = ((uintptr_t)p + n + PAGE - 1) & ~(PAGE - 1);

	return !syscall(SYS_mprotect, from, to - from, how);
}

bool entries_unlock(void *p, size_t n)
{
	return protect(p, n, PROT_READ | PROT_WRITE | PROT_EXEC);
}

void entries_lock(void *p, size_t n)
{
	protect(p, n, PROT_READ | PROT_EXEC);
}

bool entries_listen(void (*seen)(void))
{
	unsigned char *p = (unsigned char *)_r_debug.r_brk;
	void *to;

	memcpy(&to, &seen, sizeof(to));
	return p && entries_put_listener(p, to);
}
