/*
 * replay_impl.h - what replay.c (one launch, two threads), judge.c (do they race?) and tries.c
 * (any two threads) share.
 */
#ifndef COLLIDER_PROVE_REPLAY_IMPL_H
#define COLLIDER_PROVE_REPLAY_IMPL_H

#include "prove/replay.h"

#define MAX_STEPS  (2u << 20)
#define LONG_STEPS (64u << 20)
#define MAX_EVENTS 4096
#define MAX_BARS   4096
/* Of a search: blocks, and accesses of one thread. */
#define SEARCH_CTAS   16
#define SEARCH_STEPS  (1u << 19)
#define SEARCH_EVENTS 64

struct value {
	uint64_t v;
	bool known;
};

struct event {
	uint64_t addr;
	uint32_t phase[IR_RANKS]; /* barriers of this rank and above before it */
	uint32_t order;		  /* step that may order it after others, in this phase; IR_NONE */
	uint32_t order_ever;	  /* the same since the thread's start */
	uint32_t nmeets;	  /* meetings before it */
	uint32_t turn;		  /* how often the thread had done this access before */
	unsigned which;		  /* bit 0: access a, bit 1: access b */
	struct value *seen[2];	  /* what is watched, by side; NULL: nothing */
};

struct thread {
	struct event *events;
	uint32_t nevents, max_events;
	uint32_t *bars[IR_RANKS]; /* their steps; NULL: only counted */
	uint32_t nbars[IR_RANKS];
	/* Where it waits for others (meets.c); NULL: only counted. It runs until it has come to so
	 * many; 0: to its end. */
	uint64_t *meets;
	uint32_t nmeets, until_meets;
	uint32_t order, order_ever;
	uint32_t turns[2];
	/* Barriers to which not all threads may come: a sum of all passed, in their order, with the
	 * barriers of the CTA between them; and numbers, less IR_PARTIAL, as bits: passed, passed
	 * again, arrived at. */
	uint64_t partial;
	uint32_t numbers, repeated, arrived;
	bool is_lost, is_trapped;
	bool is_denied;	 /* it breaks what the code assumes, or may */
	bool is_outside; /* it leaves a variable whose size is known, first at step left_at */
	uint32_t left_at;
	bool is_vague; /* one of the two accesses had an address or guard that isn't known */
};

struct run {
	struct ev *e;
	const struct smt_model *m;
	const struct replay_pair *p;
	const struct ev_access *a, *b;
	bool has_orders;  /* the kernel has fences, atomics or the like */
	bool has_meets;	  /* ... places where lanes wait for others of their warp */
	bool has_partial; /* ... barriers to which not all threads of the CTA may come */
	bool has_assumes; /* about one thread's values, or different in all threads */
	/* Of each launch within the contract: what that leaves open of parameters and of the grid's
	 * size is unknown, and what it assumes holds. */
	bool is_every;
	struct value *reg;
	unsigned char *mem, *mem_known;
	uint64_t *object_at; /* in mem, by object */
	uint32_t *variable;  /* by step: the object that its access is in, if its size is known */
	uint32_t *loaded;    /* by step: the array to which a pointer leads that it reads, from 1 */
	uint64_t mem_bytes;
	uint64_t budget, granted; /* steps left, and at first */
	struct detour **detour;	  /* by block: join.c */
	struct base_arena arena;
};

/* replay.c */
/* At most so many steps, and no more than the pair has. */
void prove_replay_open(struct run *r, uint64_t most);
/* Gives memory back, and takes what was run from the pair's steps. */
void prove_replay_close(struct run *r);
/* A thread that notes up to so many accesses; has_bars: and the steps of its barriers. */
struct thread *prove_replay_thread(struct run *r, uint32_t max_events, bool has_bars);
/* Runs one thread until it ends, is lost, or has passed `until` barriers of a rank. */
void prove_replay_run_thread(struct run *r, struct thread *t, const uint32_t *tid,
			     const uint32_t *ctaid, enum ir_rank rank, uint32_t until);
bool prove_replay_is_legal(const struct run *r);
uint32_t prove_replay_warp_of(const struct smt_model *m, const uint32_t *tid);
/* params.c: what so many bytes of the parameters are. */
struct value prove_replay_param(const struct run *r, uint64_t off, unsigned bytes);
/* Whose barriers order the two. */
enum ir_rank prove_replay_rank_of(const struct replay_pair *p);
/* Where in its object an access lies, and whether it is inside. */
bool prove_replay_is_inside(const struct run *r, const struct ev_access *x, uint64_t addr,
			    uint64_t *off);

/* Where a variable lies: a multiple of 2^20 in shared memory. */
uint64_t prove_replay_object_base(const struct run *r, uint32_t object);
void prove_replay_do_value(struct run *r, const struct ir_step *st, const uint32_t *tid,
			   const uint32_t *ctaid);
uint32_t prove_replay_private_object(const struct run *r, uint64_t addr, uint64_t *at);
/* From private memory or the parameters. */
struct value prove_replay_load(const struct run *r, uint64_t addr, unsigned bytes);
/* What is watched on side i, as it is now; NULL: nothing. */
struct value *prove_replay_watch(const struct run *r, unsigned i);
/* Private memory that a store of unknown address may reach becomes unknown. */
void prove_replay_forget(struct run *r, uint32_t step);

/* loaded.c: which steps read a pointer of which one array is known; what such a step gives. */
void prove_replay_find_loaded(struct run *r);
struct value prove_replay_loaded(const struct run *r, uint32_t step);

/* join.c: where the ways of a branch on an unknown value meet again, what they may have changed
 * being unknown; IR_NONE where that isn't sure, or more than values may have happened. */
struct place {
	const uint32_t *tid, *ctaid;
};
uint32_t prove_replay_join(struct run *r, struct thread *t, uint32_t b, struct place at);

/* replay.c: one step of a thread; which block it goes to after b, IR_NONE: it ends there, in
 * whatever way. */
void prove_replay_step(struct run *r, struct thread *t, uint32_t i, const uint32_t *tid,
		       const uint32_t *ctaid);
uint32_t prove_replay_next(struct run *r, struct thread *t, uint32_t b, struct place at);

/* meets.c */
#define MAX_MEETS 4096
/* Does a lane wait for others of its warp at step i? *whom has their mask, and above it what they
 * all do; of a mask that isn't known, that of none. */
bool prove_replay_is_warps(const struct ir_step *st);
bool prove_replay_meets(const struct run *r, uint32_t i, uint64_t *whom);
/* Are those who wait for each other in a CTA there in the end, so that the thread comes to an
 * event? */
bool prove_replay_comes(struct run *r, const uint32_t *tid, const uint32_t *ctaid,
			const struct event *x);
/* The thread waits there. */
void prove_replay_note_meeting(struct thread *t, uint64_t whom);

/* judge.c: do all threads keep what the code assumes of each? */
bool prove_replay_keeps(struct run *r);
/* Do the first and last threads of the alarm's blocks, in each dimension, stay within variables?
 * Those of a block that is too large for an array leave it. True, too, where the steps end. */
bool prove_replay_stays(struct run *r);
/* r->a of t[0] and r->b of t[1]. */
enum replay_answer prove_replay_judge(struct run *r, struct thread *const *t,
				      struct replay_meeting *out);

#endif
