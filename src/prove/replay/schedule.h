/*
 * schedule.h - private to src/prove/replay: all threads of a block in one schedule (schedule.c),
 * and what their barriers, mbarriers and copies order (waits.c).
 *
 * Who knows of whom is kept in vector clocks: one number for each thread, which counts its
 * releases, and one for each asynchronous copy, 1 where it is known to be done.
 */
#ifndef COLLIDER_PROVE_REPLAY_SCHEDULE_H
#define COLLIDER_PROVE_REPLAY_SCHEDULE_H

#include "prove/replay/replay_impl.h"

#define SCHEDULE_COPIES	   512 /* at most in one schedule */
#define SCHEDULE_MBARRIERS 64
#define SCHEDULE_EVENTS	   4096

enum lane_state {
	LANE_RUNS,
	LANE_POLLS,    /* an mbarrier said no, or it is others' turn */
	LANE_CTA,      /* waits at a barrier of the block */
	LANE_WARP,     /* ... of its warp */
	LANE_MEETS,    /* ... for a shuffle or vote, which makes nothing known */
	LANE_NUMBER,   /* ... of some warps */
	LANE_TOGETHER, /* until all of its warp, or warpgroup, have come to the same step */
	LANE_ENDED,
	LANE_LOST /* what it does next isn't known: nothing more, as if others were faster */
};

/* One thread of the block. */
struct lane {
	struct thread t;
	struct value *reg;
	unsigned char *mem, *mem_known;
	uint32_t *clock;
	uint32_t tid[3];
	uint32_t block, step; /* what comes next: at a barrier, what follows it */
	enum lane_state state;
	/* LANE_CTA, LANE_NUMBER: which barrier; LANE_WARP, LANE_MEETS: its lanes;
	 * LANE_TOGETHER: who it is. */
	uint32_t number;
	/* LANE_CTA: the count that it gives, or 0; LANE_TOGETHER: how many; LANE_MEETS: what. */
	uint32_t threads;
	uint32_t polled;	    /* the step of the last wait that said no */
	uint32_t groups[IR_GROUPS]; /* that it has made, by family */
	uint32_t ncopies;	    /* bulk copies of the instruction that it is in */
};

/* A copy, or its one half: it accesses its bytes at any time from its issue until it is done. */
struct copy {
	uint32_t lane, group;
	const struct ir_access *mem;
	uint64_t bytes;
	uint32_t mbarrier; /* that it completes on; IR_NONE: none */
	bool is_done;
};

struct mbarrier {
	uint64_t addr;
	uint64_t count, pending; /* arrivals of a phase; that are missing of this one */
	int64_t bytes;		 /* that are expected and not yet there */
	uint64_t phase;
	/* Known to whoever arrived so far; and when the last phase was complete. */
	uint32_t *coming, *done;
};

/* A numbered barrier: one generation of it. */
struct number {
	uint32_t *known;  /* of its arrivals */
	uint32_t arrived; /* threads of warps that came as a whole */
	uint32_t threads; /* that it waits for */
	uint32_t *came;	  /* of each warp that hasn't come as a whole: lanes */
	uint32_t *step;	  /* ... and where */
};

/* An instance of one of the two accesses. */
struct shot {
	uint32_t lane, copy; /* copy: IR_NONE: the thread itself */
	uint32_t epoch, turn;
	uint64_t addr, bytes;
	/* Of a matrix: its units that are accessed, from addr on. NULL: all bytes are. */
	const uint32_t *unit;
	uint32_t nunits;
	struct event ev;
};

struct schedule {
	struct run *r;
	const uint32_t *ctaid;
	struct lane *lane;
	uint32_t nlanes, width; /* numbers of a clock */
	struct copy copy[SCHEDULE_COPIES];
	uint32_t ncopies;
	struct mbarrier mbarrier[SCHEDULE_MBARRIERS];
	uint32_t nmbarriers;
	uint32_t *strong; /* what all strong operations so far have made known */
	struct number number[IR_NUMBERS];
	struct shot *shot;
	uint32_t nshots;
	/* LATE: copies are done when nothing else goes on; SOON: at once; TURNS: at once, and
	 * threads take turns at each operation on an mbarrier. */
	enum schedule_kind { SCHEDULE_LATE, SCHEDULE_SOON, SCHEDULE_TURNS, SCHEDULE_KINDS } kind;
	bool has_moved;		  /* something has changed in this round */
	bool is_over;		  /* what happens from here on isn't known */
	const struct shot *x, *y; /* the race that was found: of access a, of access b */
	uint64_t byte;		  /* ... and where */
};

/* ---- waits.c ---- */

void schedule_learn(struct schedule *s, uint32_t *to, const uint32_t *from);
/* The thread makes all that it knows known in a clock; what it does later isn't. */
void schedule_release(struct schedule *s, struct lane *l, uint32_t *to);
/* A step that orders, or may wait. */
void schedule_mbarrier(struct schedule *s, struct lane *l, const struct ir_step *st);
void schedule_numbered(struct schedule *s, struct lane *l, const struct ir_step *st);
void schedule_groups(struct schedule *s, struct lane *l, const struct ir_step *st);
/* Has a thread come to where it goes on with so many only? */
void schedule_together(struct schedule *s, struct lane *l, uint32_t threads);
/* ... or to a shuffle or vote (prove_replay_meets)? */
void schedule_meets(struct schedule *s, struct lane *l, uint64_t whom);
/* A copy that begins; IR_NONE: there are too many. */
uint32_t schedule_copy(struct schedule *s, struct lane *l, const struct ir_access *mem);
/* Lets threads go on that wait at barriers which are complete. */
void schedule_open_barriers(struct schedule *s);
/* The oldest copy that something waits for is done. False: there is none. */
bool schedule_finish_copy(struct schedule *s);

#endif
