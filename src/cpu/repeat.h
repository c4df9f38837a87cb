/*
 * repeat.h - launches whose results are those of an earlier one: repeat.c, and the contents of
 * allocations that space.c numbers for it. With the engine's lock held.
 */
#ifndef COLLIDER_CPU_REPEAT_H
#define COLLIDER_CPU_REPEAT_H

#include "cpu/machine.h"

struct cpu_engine;

/* A kernel starts, its grid has been made. True: its results are there, it is not executed. */
bool cpu_repeat_start(struct cpu_engine *e, struct cpu_op *op);
/* It has ended. */
void cpu_repeat_end(struct cpu_engine *e, const struct cpu_op *op);
void cpu_repeats_init(struct cpu_engine *e);
void cpu_repeats_free(struct cpu_engine *e);
/* After fork, in the child; there are some. */
void cpu_repeats_forked(struct cpu_engine *e);
/* Nothing is left of what a module's kernels (NULL: all) have left. */
void cpu_repeats_forget(struct cpu_machine *m, const struct cpu_module *mod);

/* INSERTED: by inserted instructions, which leave the program's memory as it is. */
enum cpu_use { CPU_USE_READ, CPU_USE_STORE, CPU_USE_UPDATE, CPU_USE_INSERTED };
/* A launch uses the allocation with this address: called for the first time at least that it does
 * so in each of these ways. */
void cpu_repeat_use(struct cpu_machine *m, unsigned device, uint64_t addr, enum cpu_use use);
/* What runs can't be repeated: it asked for the time, raced, or has effects outside of memory. */
void cpu_repeat_spoil(struct cpu_machine *m);

/*
 * space.c. What an allocation holds has a number, which no other contents of any allocation have
 * had: a new one when it may have changed.
 */
struct cpu_space_view {
	uint64_t base, end, content;
	bool is_shared; /* host code may access it: its number means nothing */
};
/* The live allocation with `addr` that the device may use; false: none. */
bool cpu_space_view(struct cpu_machine *m, unsigned device, uint64_t addr,
		    struct cpu_space_view *v);
/* Gives that allocation, whichever device's it is, a new number and returns it. */
uint64_t cpu_space_new_content(struct cpu_machine *m, uint64_t addr);
/* It holds again what it held when it had this number. */
void cpu_space_set_content(struct cpu_machine *m, uint64_t addr, uint64_t content);

#endif
