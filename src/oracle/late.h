/*
 * late.h - accesses of operations that the shadow gets later, or never (shadow/late.c).
 */
#ifndef COLLIDER_ORACLE_LATE_H
#define COLLIDER_ORACLE_LATE_H

#include "oracle/types.h"

/* Accesses of an operation that the shadow doesn't have yet: one, or those that `make` makes. */
struct oracle_late {
	struct oracle_thread thread; /* its clock, held, and epoch when it accessed */
	uint32_t actor;
	struct oracle_acc acc;
	uint64_t address, bytes; /* of all of them */
	void (*make)(void *arg, uint32_t actor);
	void *arg;
};

struct oracle_lates {
	BASE_VEC(struct oracle_late) kept;   /* o->nlate of them */
	struct oracle_late *current;	     /* the one that goes to the shadow now */
	BASE_VEC(struct oracle_opn *) ended; /* who comes after these comes after all */
	struct oracle_opn *alone;	     /* comes after all that was done, and runs alone */
	uint64_t running, nhost;	     /* operations; accesses of the host thread so far */
	bool is_flushing;
};

/* Of a new oracle. */
void oracle_late_init(struct oracle *o);
/* The operation starts, with its clock; ends, with that. */
void oracle_late_started(struct oracle *o, struct oracle_opn *p);
void oracle_late_ended(struct oracle *o, struct oracle_opn *p);
/* The weak access is kept. False: it can't be. */
bool oracle_late_range(struct oracle *o, uint32_t actor, const struct oracle_acc *acc,
		       uint64_t address, uint64_t bytes);
/* The bytes lose their past. */
void oracle_late_forget(struct oracle *o, uint64_t address, uint64_t bytes);
/* Nothing can race with what was kept. */
void oracle_late_drop(struct oracle *o);
void oracle_late_free(struct oracle *o);

#endif
