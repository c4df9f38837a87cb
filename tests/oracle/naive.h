/*
 * naive.h - a second, literal reading of the PTX memory model, to judge the on-line oracle.
 *
 * Takes a whole list of oracle events (event.h) and says which pairs of accesses race, by
 * relations as matrices and their transitive closure. Actors are whatever numbers the list uses;
 * a list names the actors that it makes: GRID in `other` (the first; a multiple of 32), FORK in
 * `other`, HOST in `actor`, START of a copy in `other` (START of a grid: `actor`, `other` 0).
 */
#ifndef COLLIDER_TESTS_CPU_NAIVE_H
#define COLLIDER_TESTS_CPU_NAIVE_H

#include "event.h"

#define NAIVE_OPS    320u /* an event of a warp is one operation per lane */
#define NAIVE_EVENTS 128u

/* One pair; `first` acted earlier. Events count from 0. */
struct naive_pair {
	uint16_t first, second; /* events */
	uint32_t first_actor, second_actor;
	bool is_nc;	/* a read-only load of memory that its grid writes */
	bool is_hidden; /* ... which the oracle may have forgotten (oracle.h, at the end) */
	uint16_t x, y;	/* operations, of naive_judge's last list */
};

struct naive_result {
	bool is_too_long; /* over NAIVE_OPS operations or too many pairs, or an unknown actor: no
			     verdict */
	uint32_t npairs;
	struct naive_pair pairs[NAIVE_OPS * 16];
};

/* Not reentrant: the relations are static. */
void naive_judge(const struct list_event *e, size_t n, enum oracle_sc sc, struct naive_result *out);

/* The bytes that both access. */
void naive_bytes(const struct naive_pair *p, uint64_t *from, uint64_t *to);
/* Does it race there, even if what the byte's other accesses did in between orders the two: what
 * was overwritten, or read and then overwritten, is over? */
bool naive_is_open(const struct naive_pair *p, uint64_t byte);

#endif
