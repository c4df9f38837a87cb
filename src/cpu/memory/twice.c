/*
 * twice.c - memory that host code may access, mapped twice.
 *
 * With sees_host, managed and pinned memory lies in whole pages of its own: at the program's
 * address, which can be protected, and at a fixed distance from it, in a second reserved range,
 * for the machine.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* mremap */
#endif
#include "cpu/memory/space_map.h"

#include <string.h>
#include <sys/mman.h>

bool cpu_space_is_twice(const struct cpu_machine *m, const struct space_range *r)
{
	return m->alias && !r->is_registered &&
	       (r->kind == CPU_MEM_MANAGED || r->kind == CPU_MEM_HOST);
}

uint64_t cpu_twice_bytes(uint64_t bytes)
{
	return bytes ? (bytes + SPACE_PAGE - 1) & ~(SPACE_PAGE - 1) : SPACE_PAGE;
}

static void *at(uint64_t addr)
{
	return (void *)(uintptr_t)addr;
}

bool cpu_twice_map(struct cpu_machine *m, const struct space_range *r)
{
	uint64_t n = cpu_twice_bytes(r->end - r->base);
	void *p = mmap(at(r->base), n, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return false;
	(void)madvise(p, n, MADV_DONTDUMP);
	if (mremap(p, 0, n, MREMAP_MAYMOVE | MREMAP_FIXED, at(r->base + m->alias)) == MAP_FAILED)
		return false;
	return !m->space->is_protected || !mprotect(p, n, PROT_NONE);
}

void cpu_twice_unmap(struct cpu_machine *m, const struct space_range *r)
{
	uint64_t n = cpu_twice_bytes(r->end - r->base);
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;

	(void)!mmap(at(r->base), n, PROT_READ | PROT_WRITE, flags, -1, 0);
	(void)!mmap(at(r->base + m->alias), n, PROT_NONE, flags, -1, 0);
}

uint64_t cpu_space_twice(struct cpu_machine *m, uint64_t addr)
{
	struct space_range r;

	return m->alias && cpu_space_find(m->space, addr, &r) && cpu_space_is_twice(m, &r)
		       ? r.end - addr
		       : 0;
}

uint64_t cpu_space_machine(struct cpu_machine *m, uint64_t addr)
{
	return cpu_space_twice(m, addr) ? addr + m->alias : addr;
}

uint64_t cpu_mem_host(struct cpu_machine *m, uint64_t addr)
{
	return cpu_space_machine(m, addr);
}

uint64_t cpu_space_program(const struct cpu_machine *m, uint64_t addr)
{
	const struct cpu_space *s = m->space;
	bool is_there = m->alias && addr - m->alias - s->region < s->region_end - s->region;

	return is_there ? addr - m->alias : addr;
}

void cpu_space_region(const struct cpu_machine *m, uint64_t *first, uint64_t *last)
{
	*first = m->space->region;
	*last = m->space->region_end - 1;
}

void cpu_mem_region(const struct cpu_machine *m, uint64_t *first, uint64_t *bytes)
{
	*first = m->space->region;
	*bytes = m->space->region_end - m->space->region;
}

void cpu_space_protect(struct cpu_machine *m, bool is_on)
{
	struct cpu_space *s = m->space;

	pthread_mutex_lock(&s->lock);
	uint32_t n = atomic_load(&s->n);
	for (uint32_t i = 0; i < n && s->is_protected != is_on; i++)
		if (s->map[i].state == SPACE_LIVE && cpu_space_is_twice(m, &s->map[i]))
			(void)mprotect(at(s->map[i].base),
				       cpu_twice_bytes(s->map[i].end - s->map[i].base),
				       is_on ? PROT_NONE : PROT_READ | PROT_WRITE);
	s->is_protected = is_on;
	pthread_mutex_unlock(&s->lock);
}

bool cpu_space_protect_page(struct cpu_machine *m, uint64_t addr, bool is_on)
{
	struct cpu_space *s = m->space;
	uint64_t page = addr & ~(SPACE_PAGE - 1);

	pthread_mutex_lock(&s->lock);
	bool is_ok = cpu_space_twice(m, page) != 0;
	if (is_ok && (!is_on || s->is_protected))
		is_ok = !mprotect(at(page), SPACE_PAGE, is_on ? PROT_NONE : PROT_READ | PROT_WRITE);
	pthread_mutex_unlock(&s->lock);
	return is_ok;
}

void cpu_twice_part(struct cpu_machine *m)
{
	struct cpu_space *s = m->space;
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;

	for (uint32_t i = 0; m->alias && i < atomic_load(&s->n); i++) {
		const struct space_range *r = &s->map[i];
		uint64_t n = cpu_twice_bytes(r->end - r->base);
		if (r->state != SPACE_LIVE || !cpu_space_is_twice(m, r))
			continue;
		void *p = mmap(at(r->base), n, PROT_READ | PROT_WRITE, flags, -1, 0);
		if (p != MAP_FAILED)
			memcpy(p, at(r->base + m->alias), n);
	}
	m->alias = 0;
}

void cpu_twice_reserve(struct cpu_machine *m)
{
	struct cpu_space *s = m->space;
	uint64_t n = s->region_end - s->region;
	void *p = mmap(NULL, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return;
	(void)madvise(p, n, MADV_DONTDUMP);
	m->alias = (uint64_t)(uintptr_t)p - s->region;
}
