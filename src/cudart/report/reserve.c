/*
 * reserve.c - address space for the tables of detectors that keep a history (history.c).
 *
 * As much is reserved as the machine's memory may need; pages come when they are touched.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sys/mman.h>

#include "cudart/report/collider.h"

void *rt_reserve(uint64_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	/* Entries are accessed sparsely. */
	(void)madvise(p, bytes, MADV_NOHUGEPAGE);
	if (cpu_mem_register_ours(rt.m, p, bytes))
		return p;
	munmap(p, bytes);
	return NULL;
}

void rt_clear(void *p, uint64_t bytes)
{
	if (p)
		(void)madvise(p, bytes, MADV_DONTNEED);
}
