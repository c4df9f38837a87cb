/*
 * noted.h - what all launches of a kernel had in common so far, which a later proof may take for
 * granted (prune/prune.c) where it finds none without.
 *
 * A file for each kernel, beside the code that was instrumented as a program loaded it: dimensions
 * and scalars of 32 bits, or bounds where they differ; never a pointer. The agent writes
 * it where something changes (agent/proven.c), whole or not at all. It is a guess about launches to
 * come and no more: what is proven with it is tested at each launch (race/plain.h), so a wrong one
 * costs checks.
 *
 * Misses: scalars of other sizes, negative ones, members of structures; two processes that write at
 * once, of which one's launches are forgotten.
 */
#ifndef COLLIDER_RACE_NOTED_H
#define COLLIDER_RACE_NOTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A variable of the module, named by this and a kernel that isn't proven: struct race_noted_kernel.
 */
#define RACE_NOTED	  "__collider_noted_"
#define RACE_NOTED_PARAMS 64u

struct race_noted_kernel {
	uint64_t id;	  /* race_noted_id's */
	uint64_t scalars; /* bit i: parameter i is an integer of 32 bits */
};

/* Equal where it was the same in all launches. A bound is moved to a power of two, or one less, at
 * once, so that a counter doesn't change it at each launch. */
struct race_noted_bounds {
	uint32_t least, most;
};

struct race_noted {
	uint64_t magic, id;
	uint64_t has_launch;
	struct race_noted_bounds dim[6]; /* blockDim x y z, gridDim x y z */
	uint64_t scalars; /* bit i: parameter i was known, and not negative, in all launches */
	struct race_noted_bounds scalar[RACE_NOTED_PARAMS];
	uint64_t sum; /* of what is before it */
};

/* Of a kernel of a module whose text has that hash. */
uint64_t race_noted_id(uint64_t text, const char *name, size_t n);
/* Nothing yet. */
void race_noted_init(struct race_noted *all, uint64_t id);
/* One more launch; params: the places of its parameters, or NULL. Has it changed anything? */
bool race_noted_add(struct race_noted *all, const uint32_t dim[6], const void *const *params,
		    uint64_t scalars);
/* False: there is none, or it is damaged. */
bool race_noted_read(const char *folder, uint64_t id, struct race_noted *all);
bool race_noted_write(const char *folder, struct race_noted *all);

#endif
