/*
 * jump_aarch64.c - jumps of aarch64 that are written into code (inner.h).
 *
 * The loader's empty function is one instruction, and another function follows it at once. So it
 * becomes a jump of 128 MiB at most, to a page as near as that, from which a far jump leads on.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cudart/entries/inner.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define JUMP  16u
#define CALL  32u
#define RET   0xd65f03c0u
#define REACH (1l << 27) /* bytes that `b` reaches, either way */
#define APART 65536l	 /* the largest page */

const size_t entries_jump = JUMP;

void entries_put_jump(void *p, const void *to)
{
	static const uint32_t code[] = {0x58000050, 0xd61f0200}; /* ldr x16, .+8; br x16 */

	memcpy(p, code, sizeof(code));
	memcpy((char *)p + 8, &to, sizeof(to));
	__builtin___clear_cache((char *)p, (char *)p + JUMP);
}

void entries_put_call(void *p, const char *text, const void *to)
{
	/* ldr x0, .+16; ldr x16, .+20; br x16; nop */
	static const uint32_t code[] = {0x58000080, 0x580000b0, 0xd61f0200, 0xd503201f};

	memcpy(p, code, sizeof(code));
	memcpy((char *)p + 16, &text, sizeof(text));
	memcpy((char *)p + 24, &to, sizeof(to));
	__builtin___clear_cache((char *)p, (char *)p + CALL);
}

/* A page of code no farther than `b` reaches; NULL: there is no room. */
static unsigned char *near_page(const unsigned char *p)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
	uintptr_t here = (uintptr_t)p & ~(uintptr_t)(APART - 1);

	/* One page above, one below, two above, and so on. */
	for (long i = 2; i / 2 < REACH / APART; i++) {
		uintptr_t at = here + (uintptr_t)(i / 2 * (i % 2 ? -APART : APART));
		long got = syscall(SYS_mmap, at, JUMP, PROT_READ | PROT_WRITE, flags, -1, 0L);
		if ((uintptr_t)got == at)
			return (unsigned char *)at;
		/* A kernel that doesn't know the flag takes the address for a wish. */
		if (got > 0)
			syscall(SYS_munmap, got, JUMP);
	}
	return NULL;
}

bool entries_put_listener(unsigned char *p, const void *to)
{
	uint32_t word;

	memcpy(&word, p, sizeof(word));
	unsigned char *page = word == RET ? near_page(p) : NULL;
	if (!page)
		return false;
	entries_put_jump(page, to);
	entries_lock(page, JUMP);
	if (!entries_unlock(p, sizeof(word)))
		return false;
	word = 0x14000000u | ((uint32_t)((page - p) / 4) & 0x3ffffffu); /* b page */
	memcpy(p, &word, sizeof(word));
	__builtin___clear_cache((char *)p, (char *)p + sizeof(word));
	entries_lock(p, sizeof(word));
	return true;
}
