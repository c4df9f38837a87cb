/*
 * jump.c - writes jumps into code, and lets the loader call us.
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

void entries_put_jump(void *p, const void *to)
{
	unsigned char code[ENTRIES_JUMP] = {0x48, 0xb8}; /* mov rax, to; jmp rax */

	memcpy(code + 2, &to, sizeof(to));
	code[10] = 0xff;
	code[11] = 0xe0;
	memcpy(p, code, sizeof(code));
}

/* Is this a function of nothing but a return, with room for a jump before the next one? Compilers
 * fill up to a multiple of 16 bytes, with nops of several forms. */
static bool is_empty_function(const unsigned char *p)
{
	static const unsigned char endbr[] = {0xf3, 0x0f, 0x1e, 0xfa}, nop[] = {0x0f, 0x1f};
	size_t at = memcmp(p, endbr, sizeof(endbr)) ? 0 : sizeof(endbr);

	if ((uintptr_t)p % 16 || p[at++] != 0xc3)
		return false;
	while (at < ENTRIES_JUMP) {
		size_t prefix = 0;
		while (p[at + prefix] == 0x66 || p[at + prefix] == 0x2e)
			prefix++;
		if (p[at + prefix] == 0x90 || p[at + prefix] == 0xcc)
			at += prefix + 1;
		else if (!memcmp(p + at + prefix, nop, sizeof(nop)))
			return at + prefix < 16; /* the last one: no function begins before 16 */
		else
			return false;
	}
	return true;
}

bool entries_listen(void (*seen)(void))
{
	unsigned char *p = (unsigned char *)_r_debug.r_brk;

	if (!p || !is_empty_function(p) || !entries_unlock(p, ENTRIES_JUMP))
		return false;
	void *to;
	memcpy(&to, &seen, sizeof(to));
	entries_put_jump(p, to);
	entries_lock(p, ENTRIES_JUMP);
	return true;
}
