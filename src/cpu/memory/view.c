/*
 * view.c - what the machine asks of an address: whose allocation it is, and why it is none.
 *
 * Costs: the look-up of space.c. A page that the machine was not given yet is asked for (pages.h).
 */
#include "cpu/memory/space_map.h"
#include "cpu/pages.h"
#include "cpu/repeat.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static bool may_use(const struct cpu_space *s, unsigned device, const struct space_range *r)
{
	bool is_private = r->kind == CPU_MEM_DEVICE || r->kind == CPU_MEM_MODULE;

	return !is_private || r->device == device ||
	       atomic_load_explicit(&s->peer[device * s->ndevices + r->device],
				    memory_order_relaxed);
}

bool cpu_space_range(struct cpu_machine *m, unsigned device, uint64_t addr, uint64_t *base,
		     uint64_t *end)
{
	struct space_range r;

	bool is_there = cpu_space_find(m->space, addr, &r);

	if (!is_there && cpu_pages_are_on(m) && cpu_pages_missing(m, addr))
		is_there = cpu_space_find(m->space, addr, &r);
	if (!is_there || !may_use(m->space, device, &r))
		return false;
	*base = r.base;
	*end = r.end;
	return true;
}

bool cpu_space_view(struct cpu_machine *m, unsigned device, uint64_t addr, struct cpu_space_view *v)
{
	struct space_range r;

	if (!cpu_space_find(m->space, addr, &r) || !may_use(m->space, device, &r))
		return false;
	*v = (struct cpu_space_view){r.base, r.end, r.content,
				     r.kind == CPU_MEM_MANAGED || r.kind == CPU_MEM_HOST};
	return true;
}

bool cpu_space_is_freed(struct cpu_machine *m, uint64_t addr)
{
	struct space_range r, next;

	return cpu_space_around(m->space, addr, &r, &next) && addr < r.end &&
	       r.state == SPACE_FREED;
}

static bool is_multicast(const struct cpu_space *s, uint64_t addr)
{
	for (unsigned i = 0; i < s->nmulticasts; i++)
		if (addr - s->multicasts[i].base < s->multicasts[i].bytes)
			return true;
	return false;
}

/* What the program gave us is no allocation. */
static const char *name_of(const struct space_range *r)
{
	static const char *const names[] = {"device allocation", "managed allocation",
					    "pinned host allocation", "module allocation"};

	return r->is_registered ? "registered host memory" : names[r->kind];
}

void cpu_space_explain(struct cpu_machine *m, unsigned device, uint64_t addr, uint64_t bytes,
		       char *out, size_t size)
{
	struct cpu_space *s = m->space;
	struct space_range r = {0}, next;
	unsigned char in_core;
	bool has = cpu_space_around(s, addr, &r, &next);

	if (has && addr < r.end && r.state == SPACE_LIVE && !may_use(s, device, &r))
		snprintf(out, size, "memory of device %u, to which device %u has no peer access",
			 r.device, device);
	else if (is_multicast(s, addr))
		snprintf(out, size,
			 "a multicast object's address, for multimem alone, and where all that is "
			 "bound to it is mapped, too");
	else if (has && addr < r.end && r.state == SPACE_FREED)
		snprintf(out, size, "memory freed: allocation of %llu bytes, offset %llu",
			 (unsigned long long)(r.end - r.base), (unsigned long long)(addr - r.base));
	else if (has && addr < r.end && addr + bytes > r.end)
		snprintf(out, size, "%llu bytes at offset %llu cross the end of %s of %llu bytes",
			 (unsigned long long)bytes, (unsigned long long)(addr - r.base),
			 name_of(&r), (unsigned long long)(r.end - r.base));
	else if (has && addr - r.end < r.end - r.base + CPU_SPACE_ALIGN && addr < s->region_end)
		snprintf(out, size, "%llu bytes past the end of %s of %llu bytes%s",
			 (unsigned long long)(addr - r.end), name_of(&r),
			 (unsigned long long)(r.end - r.base),
			 r.state == SPACE_FREED ? " (freed)" : "");
	else if (next.base != UINT64_MAX && next.base - addr <= CPU_SPACE_ALIGN)
		snprintf(out, size, "%llu bytes before %s of %llu bytes",
			 (unsigned long long)(next.base - addr), name_of(&next),
			 (unsigned long long)(next.end - next.base));
	else if (addr < SPACE_PAGE)
		snprintf(out, size, "null pointer");
	else if (!(addr >= s->region && addr < s->region_end) && addr < 1ull << 47 &&
		 mincore((void *)(uintptr_t)(addr & ~(SPACE_PAGE - 1)), 1, &in_core) == 0)
		snprintf(out, size, "host memory, which the device cannot use (not registered)");
	else
		snprintf(out, size, "no memory is allocated there");
}
