/*
 * space.h - the look-up of allocations, inside src/cpu: space.c owns it.
 */
#ifndef COLLIDER_CPU_SPACE_H
#define COLLIDER_CPU_SPACE_H

#include "cpu/machine.h"

/* The live allocation with `addr` that device `device` may use, as base and end; false: none. */
bool cpu_space_range(struct cpu_machine *m, unsigned device, uint64_t addr, uint64_t *base,
		     uint64_t *end);
/* Says in `out` why the bytes at addr are no memory for the device: freed, behind an allocation,
 * another device's, the host's. */
void cpu_space_explain(struct cpu_machine *m, unsigned device, uint64_t addr, uint64_t bytes,
		       char *out, size_t size);

#endif
