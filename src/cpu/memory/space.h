/*
 * space.h - the look-up of allocations, inside src/cpu: space.c owns it.
 */
#ifndef COLLIDER_CPU_SPACE_H
#define COLLIDER_CPU_SPACE_H

#include "cpu/machine.h"

/* What every allocation is aligned to. */
#define CPU_SPACE_ALIGN 512u

/* The live allocation with `addr` that device `device` may use, as base and end; false: none. */
bool cpu_space_range(struct cpu_machine *m, unsigned device, uint64_t addr, uint64_t *base,
		     uint64_t *end);
/*
 * Memory that host code may access (managed, pinned) is mapped twice when sees_host is on: the
 * program's addresses can be protected, the machine uses others. From the program's address to the
 * machine's and back; the same for all other memory.
 */
uint64_t cpu_space_machine(struct cpu_machine *m, uint64_t addr);
uint64_t cpu_space_program(const struct cpu_machine *m, uint64_t addr);
/* The range that all of the machine's memory lies in, by the program's addresses. */
void cpu_space_region(const struct cpu_machine *m, uint64_t *first, uint64_t *last);
/* Protects what is mapped twice, or lets the program at it: all of it, or the pages of one access
 * (false: addr is no such memory). */
void cpu_space_protect(struct cpu_machine *m, bool is_on);
bool cpu_space_protect_page(struct cpu_machine *m, uint64_t addr, bool is_on);
/* Bytes from addr on that lie in the same allocation that is mapped twice; 0: none. */
uint64_t cpu_space_twice(struct cpu_machine *m, uint64_t addr);

/* Says in `out` why the bytes at addr are no memory for the device: freed, after an allocation,
 * another device's, the host's. */
void cpu_space_explain(struct cpu_machine *m, unsigned device, uint64_t addr, uint64_t bytes,
		       char *out, size_t size);

/* An allocation for malloc in kernels: not counted as the device's used memory, and freed only by
 * cpu_space_heap_free, which gives its size; false: addr is no start of such a one. */
void *cpu_space_heap_alloc(struct cpu_machine *m, unsigned device, uint64_t bytes);
bool cpu_space_heap_free(struct cpu_machine *m, uint64_t addr, uint64_t *bytes);
/* Frees all of them on a device. */
void cpu_space_heap_clear(struct cpu_machine *m, unsigned device);

/* syscalls.c: after fork, in the child. */
void cpu_heap_forked(struct cpu_machine *m);

/* Is it memory that was freed, and not allocated since? */
bool cpu_space_is_freed(struct cpu_machine *m, uint64_t addr);

#endif
