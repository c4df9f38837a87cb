/*
 * aarch64.c - arch.h on aarch64, and cpu/jit.h, which has no machine code for it: everything is
 * interpreted.
 */
#include "cpu/arch.h"
#include "cpu/jit.h"

bool cpu_arch_is_v3(void)
{
	return false;
}

void cpu_arch_relax(void)
{
	__asm__ volatile("yield");
}

bool cpu_arch_swap_128(void *p, uint64_t was[2], const uint64_t to[2])
{
	unsigned __int128 from = (unsigned __int128)was[1] << 64 | was[0];
	unsigned __int128 next = (unsigned __int128)to[1] << 64 | to[0];
	/* The newer builtins would call libatomic. */
	unsigned __int128 now = __sync_val_compare_and_swap((unsigned __int128 *)p, from, next);

	was[0] = (uint64_t)now;
	was[1] = (uint64_t)(now >> 64);
	return now == from;
}

/* ---- cpu/jit.h ------------------------------------------------------------------------------- */

void cpu_jit_prepare(struct cpu_func *f, enum cpu_jit mode)
{
	(void)f, (void)mode;
}

void cpu_jit_now(struct cpu_func *f, enum cpu_jit mode)
{
	(void)f, (void)mode;
}

void cpu_jit_turn(const struct cpu_worker *k, struct cpu_func *f)
{
	(void)k, (void)f;
}

void cpu_jit_again(struct cpu_func *f)
{
	(void)f;
}

uint32_t cpu_jit_try(struct cpu_warp *w, struct cpu_func *f, uint32_t pc, uint32_t mask,
		     int32_t *left)
{
	(void)w, (void)f, (void)pc, (void)mask, (void)left;
	return 0;
}

void cpu_jit_free(struct cpu_func *f)
{
	(void)f;
}

void cpu_jit_forked(void)
{
}
