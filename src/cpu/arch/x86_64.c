/*
 * x86_64.c - arch.h on x86-64.
 */
#include "cpu/arch.h"

#include <cpuid.h>

bool cpu_arch_is_v3(void)
{
	unsigned a, b, c = 0, d, ext = 0;

	__builtin_cpu_init();
	__get_cpuid(1, &a, &b, &c, &d);
	__get_cpuid(0x80000001u, &a, &b, &ext, &d);
	/* what x86-64-v3 has beyond the names that every compiler knows here */
	bool has_rest = (c & bit_F16C) && (c & bit_MOVBE) && (ext & bit_LZCNT);
	return has_rest && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
	       __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

void cpu_arch_relax(void)
{
	__builtin_ia32_pause();
}

/* Compilers make a call of libatomic of their own builtin, unless all code is for processors that
 * have the instruction. */
bool cpu_arch_swap_128(void *p, uint64_t was[2], const uint64_t to[2])
{
	bool is_done;

	__asm__ volatile("lock cmpxchg16b %1"
			 : "=@ccz"(is_done), "+m"(*(char(*)[16])p), "+a"(was[0]), "+d"(was[1])
			 : "b"(to[0]), "c"(to[1])
			 : "memory");
	return is_done;
}
