/*
 * replay.h - private to src/prove: a model run on numbers before an alarm leaves.
 */
#ifndef COLLIDER_PROVE_REPLAY_H
#define COLLIDER_PROVE_REPLAY_H

#include "prove/smt.h"
#include "race/proof/proof.h"

enum replay_answer {
	REPLAY_RACES, /* both accesses happen, in one phase, on a common byte, and nothing orders */
	REPLAY_ORDERED, /* they happen; something may order them, named by `why` */
	REPLAY_UNSURE,	/* depends on something that isn't modelled */
	REPLAY_DENIES	/* they don't meet with this launch */
};

/* Registers and bytes of a thread's own memory whose values are wanted at an access. */
struct replay_watch {
	uint32_t n;
	struct {
		uint32_t reg;	 /* or IR_NONE: bytes at `off` of an object */
		uint32_t object; /* index */
		uint64_t off;
		unsigned bytes;
	} what[RACE_ALARM_VARS];
};

/* Why: what was found is none of the contract. */
#define REPLAY_LEAVES                                                                              \
	"by the contract there is no such launch: a thread of it is outside of an array of known " \
	"size"

struct replay_meeting {
	uint64_t offset[2]; /* from the object's start */
	uint32_t phase[2];  /* barriers before */
	const char *why;    /* static text */
	bool is_cut;	    /* with more steps another answer is possible */
	bool is_no_launch;  /* the model's numbers are none of a launch and of two such threads */
	uint32_t order;	    /* REPLAY_ORDERED: step that may order them, or IR_NONE */
	uint64_t value[2][RACE_ALARM_VARS];
	bool is_known[2][RACE_ALARM_VARS];
};

/* What is replayed: two accesses (steps' indexes) of threads so far apart. */
struct replay_pair {
	const struct ev_access *a, *b;
	enum race_level level;
	bool is_split;	   /* threads of one warp and of different ones are asked about apart */
	bool use_warp;	   /* barriers of whole warps order lanes; else they may do so */
	bool use_grid;	   /* there are barriers of the grid */
	bool is_alike;	   /* all threads of a block pass the same barriers to their ends, surely */
	bool is_lockstep;  /* the lanes of a warp meet at one instruction only */
	bool is_in_step;   /* by the contract lanes of a warp execute in step, the pair's or not */
	bool is_partial;   /* the same bytes are no conflict: morally strong */
	bool in_any_order; /* what orders the two doesn't count: a read-only load */
	uint64_t *budget;  /* steps that may be run, counted down; NULL: what is usual */
	bool is_long;	   /* more steps than usual */
	bool is_copy;	   /* one is an asynchronous copy that may last: only a schedule shows it */
	const struct replay_watch *watch[2];
};

/* Runs all threads of the CTAs involved as far as the two accesses need. */
enum replay_answer prove_replay_run(struct ev *e, const struct smt_model *m,
				    const struct replay_pair *p, struct replay_meeting *out);

/*
 * Runs every thread of the launch (of a few blocks) and looks for any two threads whose accesses a
 * and b meet; replays the first ones found. For loops whose values the solver can only guess. True:
 * they race, and *m names the threads.
 */
bool prove_replay_search(struct ev *e, struct smt_model *m, const struct replay_pair *p,
			 struct replay_meeting *out);

/*
 * Runs all threads of the launch's first block in two schedules, with asynchronous copies and
 * mbarriers as they are, until a and b of any two threads (of the pair's level; THREAD: of one) are
 * unordered by happens-before. True: they race, and *m names the threads. Of threads of different
 * blocks nothing is found.
 */
bool prove_replay_schedule(struct ev *e, struct smt_model *m, const struct replay_pair *p,
			   struct replay_meeting *out);

/*
 * Of a kernel in blocks of known size: a step at which the first thread of a block of each launch,
 * or the last one in some dimensions, is outside of its variable; IR_NONE: none is known. What
 * parameters, other threads' values and the grid decide is unknown.
 */
uint32_t prove_replay_find_leave(struct ev *e, bool has_alarms);

#endif
