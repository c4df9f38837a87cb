/*
 * arch.h - inside src/cpu: what the CPU device asks of the processor that it runs on.
 *
 * Each kind of processor has a file in arch/, which CMakeLists.txt chooses: x86_64.c, aarch64.c.
 * Only x86-64 has machine code for runs (jit/), and host code whose accesses to protected memory
 * are seen (arch/x86.h, events/host_signal.c). The arithmetic (alu/) is C for any processor: for
 * AVX2 some of it is written by hand, for others the compiler chooses the vectors.
 */
#ifndef COLLIDER_CPU_ARCH_H
#define COLLIDER_CPU_ARCH_H

#include <stdbool.h>
#include <stdint.h>

/* Can this processor execute what is compiled for x86-64-v3 (AVX2, FMA and the rest)? */
bool cpu_arch_is_v3(void);

/* A moment's pause of a thread that looks at a word until another thread changes it. */
void cpu_arch_relax(void);

/* The cache line of p is about to be written: it comes meanwhile, from another processor's cache
 * if need be. p may be anything. */
static inline void cpu_arch_fetch(const void *p)
{
#ifdef __x86_64__
	/* Compilers make a prefetch to read of their builtin, unless they know the processor. */
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)p));
#else
	__builtin_prefetch(p, 1);
#endif
}

/* Compare and swap of 16 bytes at p, a multiple of 16, sequentially consistent: `was` becomes what
 * was there. Returns whether that was equal, so that `to` has been written. */
bool cpu_arch_swap_128(void *p, uint64_t was[2], const uint64_t to[2]);

#endif
