/*
 * virtual.c - ranges of memory that the program has mapped itself, outside of the machine's own.
 *
 * Mappings of one device that touch are one range, as accesses may cross from one to the next;
 * unmapping cuts. Costs: as an allocation (space.c).
 */
#include "cpu/virtual.h"
#include "cpu/events.h"
#include "cpu/memory/space_map.h"
#include "cpu/past.h"

/* Range i and the next one become one, if they touch and are of one kind. Lock held. */
static void join(struct cpu_space *s, uint32_t i)
{
	struct space_range *a = &s->map[i], *b = a + 1;

	if (i + 1 >= atomic_load(&s->n) || !a->is_mapped || !b->is_mapped || a->end != b->base ||
	    a->device != b->device)
		return;
	a->end = a->limit = b->end;
	a->content = ++s->contents;
	cpu_space_erase(s, i + 1);
}

bool cpu_mem_map(struct cpu_machine *m, unsigned device, uint64_t base, uint64_t bytes)
{
	struct cpu_space *s = m->space;
	struct space_range r = {.base = base,
				.end = base + bytes,
				.kind = CPU_MEM_DEVICE,
				.device = device,
				.is_placed = 1,
				.is_mapped = 1};

	if (device >= s->ndevices || !cpu_space_insert_other(m, r))
		return false;
	cpu_event_forget(m, base, bytes);
	cpu_past_forget(m, base, bytes);
	cpu_space_begin_change(s);
	uint32_t i = cpu_space_upper(s, base) - 1;
	join(s, i);
	if (i)
		join(s, i - 1);
	cpu_space_end_change(s);
	return true;
}

void cpu_mem_unmap(struct cpu_machine *m, uint64_t base, uint64_t bytes)
{
	struct cpu_space *s = m->space;
	uint64_t end = base + bytes;

	cpu_space_begin_change(s);
	while (base < end) {
		uint32_t i = cpu_space_upper(s, base), n = atomic_load(&s->n);
		struct space_range *r = i ? &s->map[i - 1] : NULL;
		if (!r || !r->is_mapped || r->end <= base) {
			base = i < n ? s->map[i].base : end; /* a hole */
			continue;
		}
		struct space_range rest = *r;
		uint64_t to = r->end < end ? r->end : end;
		rest.base = to;
		r->end = r->limit = base;
		r->content = rest.content = ++s->contents;
		if (r->base == base)
			cpu_space_erase(s, i - 1);
		if (rest.base < rest.end)
			cpu_space_insert(s, &rest);
		base = to;
	}
	cpu_space_end_change(s);
}

bool cpu_mem_take(struct cpu_machine *m, unsigned device, uint64_t bytes)
{
	struct cpu_space *s = m->space;

	pthread_mutex_lock(&s->lock);
	bool has = device < s->ndevices && bytes <= s->total - s->used[device];
	if (has)
		s->used[device] += bytes;
	pthread_mutex_unlock(&s->lock);
	return has;
}

void cpu_mem_give(struct cpu_machine *m, unsigned device, uint64_t bytes)
{
	pthread_mutex_lock(&m->space->lock);
	m->space->used[device] -= bytes;
	pthread_mutex_unlock(&m->space->lock);
}
