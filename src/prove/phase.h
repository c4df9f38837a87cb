/*
 * phase.h - private to src/prove: which accesses no barrier keeps apart.
 */
#ifndef COLLIDER_PROVE_PHASE_H
#define COLLIDER_PROVE_PHASE_H

#include "prove/smt.h"

struct phases {
	struct ev *e;
	enum ir_rank rank; /* barriers of this rank and above count */
	bool is_used; /* there are such barriers, and all threads concerned execute them alike */
	uint32_t words;
	bool *ends, *behind; /* by block: ends in a barrier, begins after one */
	bool *is_alive;	     /* by block: a barrier is reachable from its start */
	bool *has_barrier;   /* by loop */
	uint32_t *heads;     /* by block: the loop that begins with it, or IR_NONE */
	/* by loop that runs its body once at least: the block whose branch, in the first iteration,
	 * doesn't leave it; or IR_NONE */
	uint32_t *entry;
	const struct ex *mask; /* rank IR_RANK_WARP: of the lanes whose barriers count; NULL: all */
	const bool *is_uniform; /* by block: its branch goes one way in a warp (CTA); grids: NULL */
	bool *is_exit_split; /* by block: some threads end here while others meet a barrier again */
	uint32_t *skipped;   /* ... by block: the barrier that they miss */
	uint32_t *divided; /* by block: its branch leads some threads to this barrier, or IR_NONE */
	uint64_t *leavers; /* blocks whose accesses a thread may do as its last phase, alone */
	bool has_leavers;
};

/*
 * Finds them among the threads that barriers of a rank order: of a warp, a CTA, the grid. Barriers
 * that only some of them may reach make p->is_used false.
 */
void prove_phase_find(struct phases *p, struct ev *e, enum ir_rank rank, const bool *is_uniform);
/* Such barriers become problems. */
void prove_phase_say_divergent(const struct phases *p);
/* The mask that all barriers of lanes have, where it is one value of the thread (the tiles of
 * cooperative groups), or NULL. */
const struct ex *prove_phase_tile(const struct ev *e);

/* Where in a loop that only one of the two threads is in its iteration must be. */
enum phase_edge {
	PHASE_ANYWHERE,
	PHASE_FIRST = 1,
	PHASE_LAST = 2, /* the last iteration, or the one that leaves before its end */
	PHASE_FIRST_OR_LAST = 3
};

/* One way in which the two threads are in the same phase. */
struct phase_case {
	const uint8_t *counters; /* by loop: enum smt_counter */
	const uint8_t *edges;	 /* by loop: enum phase_edge */
	bool is_exited;		 /* one of them has ended */
	/* by thread: blocks whose barrier would order the two, so that in its iteration it doesn't
	 * come there */
	const uint32_t *skipped[2];
	uint32_t nskipped[2];
};

/* Calls fn for each way in which thread 0 at block a and thread 1 at block b, whom the rank's
 * barriers order, are in the same phase. */
typedef void phase_fn(const struct phase_case *way, void *arg);
void prove_phase_each(const struct phases *p, uint32_t a, uint32_t b, phase_fn *fn, void *arg);

#endif
