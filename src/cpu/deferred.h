/*
 * deferred.h - updates of global memory that are carried out in the order of groups (deferred.c).
 *
 * For launches on several workers whose updates don't leave the same in any order.
 */
#ifndef COLLIDER_CPU_DEFERRED_H
#define COLLIDER_CPU_DEFERRED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cpu_engine;
struct cpu_deferreds;

/* An element that an atomic without a result updates: `what` is its own (exec/atomic.c); or, if
 * that is NULL, what a strong store stores there, in so many bytes. */
struct cpu_update {
	uint8_t *to;
	const void *what;
	uint64_t value;
	uint32_t bytes;
};

/* For the engine's workers; NULL: no memory. The caller frees it. */
struct cpu_deferreds *cpu_deferreds_new(struct cpu_engine *e);
void cpu_deferreds_free(struct cpu_deferreds *ds);
/* A launch begins, whose first group has that number, or it has ended: nothing is left of earlier
 * ones. No worker executes. */
void cpu_deferreds_start(struct cpu_deferreds *ds, uint64_t first);
struct cpu_deferred *cpu_deferred_of(struct cpu_deferreds *ds, unsigned worker);

/* The worker begins the group with these numbers, of all before `end`; and it has executed all. */
void cpu_deferred_begin(struct cpu_deferred *d, uint64_t first, uint64_t end);
void cpu_deferred_end(struct cpu_deferred *d);
/* By a thread of its group. */
void cpu_deferred_add(struct cpu_deferred *d, struct cpu_update u);

/* Have all groups before the worker's been carried out? What its own has then is, too. */
bool cpu_deferred_is_next(struct cpu_deferred *d);

/* exec/atomic.c: carries them out, in this order. */
void cpu_updates_do(const struct cpu_update *u, size_t n);

#endif
