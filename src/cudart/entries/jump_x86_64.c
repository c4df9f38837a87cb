/*
 * jump_x86_64.c - jumps of x86-64 that are written into code (inner.h).
 */
#include "cudart/entries/inner.h"

#include <string.h>

#define JUMP 12u

const size_t entries_jump = JUMP;

void entries_put_jump(void *p, const void *to)
{
	unsigned char code[JUMP] = {0x48, 0xb8}; /* mov rax, to; jmp rax */

	memcpy(code + 2, &to, sizeof(to));
	code[10] = 0xff;
	code[11] = 0xe0;
	memcpy(p, code, sizeof(code));
}

void entries_put_call(void *p, const char *text, const void *to)
{
	unsigned char *code = p;

	code[0] = 0x48, code[1] = 0xbf; /* mov rdi, text */
	memcpy(code + 2, &text, sizeof(text));
	entries_put_jump(code + 10, to);
}

/* Is this a function of nothing but a return, with room for a jump before the next one? Compilers
 * fill up to a multiple of 16 bytes, with nops of several forms. */
static bool is_empty_function(const unsigned char *p)
{
	static const unsigned char endbr[] = {0xf3, 0x0f, 0x1e, 0xfa}, nop[] = {0x0f, 0x1f};
	size_t at = memcmp(p, endbr, sizeof(endbr)) ? 0 : sizeof(endbr);

	if ((uintptr_t)p % 16 || p[at++] != 0xc3)
		return false;
	while (at < JUMP) {
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

bool entries_put_listener(unsigned char *p, const void *to)
{
	if (!is_empty_function(p) || !entries_unlock(p, JUMP))
		return false;
	entries_put_jump(p, to);
	entries_lock(p, JUMP);
	return true;
}
