/*
 * memory.c - memory of this process at the addresses that it had on another machine.
 *
 * Two allocations may share a page of the system's, so what is mapped already is a list of hulls,
 * which is searched from its end: allocations come by rising addresses.
 *
 * Misses: addresses where this process has something of its own. A GPU's lie far from where the
 * system puts libraries; where they clash all the same, another process has other addresses.
 */
#include "judge/internal.h"

#include <sys/mman.h>

#define PAGE 4096ull

static bool map_new(uint64_t from, uint64_t to)
{
	void *want = (void *)(uintptr_t)from;
	void *p = mmap(want, to - from, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	if (p == want) {
		(void)madvise(p, to - from, MADV_DONTDUMP);
		return true;
	}
	if (p != MAP_FAILED)
		munmap(p, to - from);
	return false;
}

bool judge_map(struct judge_mapped *m, uint64_t addr, uint64_t bytes, uint64_t *clash)
{
	uint64_t from = addr & ~(PAGE - 1), to = (addr + bytes + PAGE - 1) & ~(PAGE - 1);

	for (size_t i = m->hulls.n; i-- > 0 && from < to;) {
		const struct judge_hull *h = &m->hulls.v[i];
		if (h->to <= from || h->from >= to)
			continue;
		/* Allocations don't overlap: the common page is the first one or the last. */
		if (h->from <= from)
			from = h->to < to ? h->to : to;
		else
			to = h->from;
	}
	if (from < to && !map_new(from, to)) {
		*clash = from;
		return false;
	}
	if (from < to)
		base_vec_push(&m->hulls, ((struct judge_hull){from, to}));
	return true;
}
