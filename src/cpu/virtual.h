/*
 * virtual.h - device memory that the program maps itself, at addresses that it has reserved
 * (memory/space.c). The caller maps the pages; what touches is one range of memory.
 */
#ifndef COLLIDER_CPU_VIRTUAL_H
#define COLLIDER_CPU_VIRTUAL_H

#include "cpu/cpu.h"

/* Kernels and copies may access the bytes from now on; false: something else is there. */
bool cpu_mem_map(struct cpu_machine *m, unsigned device, uint64_t base, uint64_t bytes);
/* The opposite, of the same or other pieces. Nothing that accesses them may be under way. */
void cpu_mem_unmap(struct cpu_machine *m, uint64_t base, uint64_t bytes);
/* Counts memory of the device as used, or no more; false: it has not so much. */
bool cpu_mem_take(struct cpu_machine *m, unsigned device, uint64_t bytes);
void cpu_mem_give(struct cpu_machine *m, unsigned device, uint64_t bytes);

/* From now on addresses [base, base + bytes), at which no memory is, stand for the bytes at
 * `member`, too, in multimem. No kernel may run. False: there are too many. */
bool cpu_multicast_add(struct cpu_machine *m, uint64_t base, uint64_t bytes, uint64_t member);
/* Takes all of them away. No kernel may run. */
void cpu_multicast_clear(struct cpu_machine *m);

#endif
