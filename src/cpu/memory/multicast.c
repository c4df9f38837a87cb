/*
 * multicast.c - multicast addresses: each stands for a place in several memories.
 *
 * multimem (PTX ISA 9.7.9.15) accesses all of them; the ISA leaves open what other instructions do
 * there, and what multimem does elsewhere. Here an address of ordinary memory stands for itself.
 *
 * cudart/state/virtual.c fills the list for the driver's multicast objects. Memory without an
 * address (member 0) is accessed at the object's, which faults. Costs: a list, walked for each
 * lane.
 */
#include "cpu/virtual.h"
#include "cpu/memory/resolve.h"
#include "cpu/memory/space_map.h"

bool cpu_multicast_add(struct cpu_machine *m, uint64_t base, uint64_t bytes, uint64_t member)
{
	struct cpu_space *s = m->space;

	if (s->nmulticasts == SPACE_MULTICASTS)
		return false;
	s->multicasts[s->nmulticasts++] = (struct space_multicast){base, bytes, member};
	return true;
}

void cpu_multicast_clear(struct cpu_machine *m)
{
	m->space->nmulticasts = 0;
}

uint32_t cpu_multicast_lanes(const struct cpu_warp *w, uint32_t mask, const uint64_t addr[CPU_WARP],
			     unsigned k, uint64_t at[CPU_WARP])
{
	const struct cpu_space *s = w->grid->m->space;
	uint32_t found = 0;

	CPU_EACH_LANE (l, mask) {
		unsigned n = 0;
		for (unsigned i = 0; i < s->nmulticasts && !(found >> l & 1); i++) {
			const struct space_multicast *c = &s->multicasts[i];
			if (addr[l] - c->base >= c->bytes || n++ != k)
				continue;
			at[l] = c->member ? c->member + (addr[l] - c->base) : addr[l];
			found |= 1u << l;
		}
		if (n || k)
			continue;
		at[l] = addr[l];
		found |= 1u << l;
	}
	return found;
}
