/*
 * space_map.h - the map of allocations: what space.c, view.c and twice.c share.
 */
#ifndef COLLIDER_CPU_SPACE_MAP_H
#define COLLIDER_CPU_SPACE_MAP_H

#include <pthread.h>

#include "cpu/memory/space.h"

#define SPACE_PAGE 4096ull

enum space_state { SPACE_LIVE, SPACE_FREED };

/* One range, never overlapping another; read by threads that hold no lock. */
struct space_range {
	uint64_t base, end; /* end: of the program's bytes */
	uint64_t limit;	    /* of end of what is taken from the region; others begin above */
	uint64_t generation;
	uint64_t freed;	  /* number of the free that ended it */
	uint64_t content; /* number of what it holds (repeat.c) */
	uint8_t state, kind;
	uint8_t is_registered; /* the program's own memory */
	uint8_t is_heap : 1;   /* by malloc of a kernel */
	uint8_t is_placed : 1; /* another machine's, at its address there */
	uint8_t is_mapped : 1; /* virtual.h; is_placed, too */
	uint32_t device;
};
_Static_assert(sizeof(struct space_range) == 56, "the price in space.c");

#define SPACE_MULTICASTS 32u

/* multicast.c: [base, base + bytes) stands for `member` and on, beside what others say. */
struct space_multicast {
	uint64_t base, bytes, member;
};

struct cpu_space {
	pthread_mutex_t lock;
	_Atomic uint64_t *version; /* in struct cpu_machine, where readers have it at hand */
	struct space_range *map;   /* SPACE_MAX, pages allocated on access */
	_Atomic uint32_t n;
	uint64_t region, region_end, top; /* top: nothing was allocated above it yet */
	uint64_t generation, freed, nkept, contents;
	unsigned ndevices;
	bool is_protected; /* what is mapped twice */
	uint64_t *used;
	uint64_t total;
	_Atomic uint8_t *peer; /* [device * ndevices + peer] */
	struct space_multicast multicasts[SPACE_MULTICASTS];
	unsigned nmulticasts;
};

/* The last range that starts at or before addr, and the one after it; false: none such. */
bool cpu_space_around(const struct cpu_space *s, uint64_t addr, struct space_range *before,
		      struct space_range *after);
/* space.c: the live allocation that holds addr; false: there is none. Needs no lock. */
bool cpu_space_find(const struct cpu_space *s, uint64_t addr, struct space_range *r);

/* What changes the map, in space.c. The lock is taken by the first and held by the next ones. */
void cpu_space_begin_change(struct cpu_space *s);
void cpu_space_end_change(struct cpu_space *s);
/* The index of the first range whose base is above addr. */
uint32_t cpu_space_upper(const struct cpu_space *s, uint64_t addr);
void cpu_space_insert(struct cpu_space *s, const struct space_range *r);
void cpu_space_erase(struct cpu_space *s, uint32_t i);
/* A range of memory that isn't the machine's own; false: something is there. Takes the lock. */
bool cpu_space_insert_other(struct cpu_machine *m, struct space_range r);

/* ---- twice.c ------------------------------------------------------------------ */

/* Is the range mapped twice, and how many bytes are its pages? */
bool cpu_space_is_twice(const struct cpu_machine *m, const struct space_range *r);
uint64_t cpu_twice_bytes(uint64_t bytes);
/* Sets m->alias, or leaves it 0. */
void cpu_twice_reserve(struct cpu_machine *m);
bool cpu_twice_map(struct cpu_machine *m, const struct space_range *r);
/* Back to plain memory, with nothing in it. */
void cpu_twice_unmap(struct cpu_machine *m, const struct space_range *r);
/* In a forked child the program's memory is its own again. */
void cpu_twice_part(struct cpu_machine *m);

#endif
