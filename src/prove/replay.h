/*
 * replay.h - private to src/prove: a model run on numbers before an alarm leaves.
 */
#ifndef COLLIDER_PROVE_REPLAY_H
#define COLLIDER_PROVE_REPLAY_H

#include "prove/smt.h"

enum replay_answer {
	REPLAY_RACES, /* both accesses happen, in one phase, on a common byte, and nothing orders */
	REPLAY_ORDERED, /* they happen; something may order them, named by `why` */
	REPLAY_UNSURE,	/* depends on something that isn't modelled */
	REPLAY_DENIES	/* they don't meet with this launch */
};

struct replay_meeting {
	uint64_t offset[2]; /* from the object's start */
	uint32_t phase[2];  /* barriers before */
	const char *why;    /* static text */
};

/* Runs all threads of the CTAs involved as far as the two accesses (steps' indexes) need. */
enum replay_answer replay_run(struct ev *e, const struct smt_model *m, bool is_same_cta,
			      const struct ev_access *a, const struct ev_access *b,
			      struct replay_meeting *out);

/*
 * Runs every thread of the launch (of a few blocks) and looks for any two threads whose accesses a
 * and b meet; replays the first ones found. For loops whose values the solver can only guess. True:
 * they race, and *m names the threads.
 */
bool replay_search(struct ev *e, struct smt_model *m, bool is_same_cta, const struct ev_access *a,
		   const struct ev_access *b, struct replay_meeting *out);

#endif
