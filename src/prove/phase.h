/*
 * phase.h - private to src/prove: which accesses of one CTA no barrier keeps apart.
 */
#ifndef COLLIDER_PROVE_PHASE_H
#define COLLIDER_PROVE_PHASE_H

#include "prove/smt.h"

struct phases {
	struct ev *e;
	uint32_t words;
	bool *is_exit_split; /* by block: some threads end here while others meet a barrier again */
	uint64_t *leavers;   /* blocks whose accesses a thread may do as its last phase, alone */
	bool has_leavers;
};

/* Finds them, and barriers that only some threads may reach: those become problems. */
void phase_find(struct phases *p, struct ev *e);

/* Calls fn with the counters' relation (by loop) for each way in which thread 0 at block a and
 * thread 1 at block b of one CTA are in the same phase. */
typedef void phase_fn(const uint8_t *counters, bool is_exited, void *arg);
void phase_each(const struct phases *p, uint32_t a, uint32_t b, phase_fn *fn, void *arg);

#endif
