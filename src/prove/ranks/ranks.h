/*
 * ranks.h - private to src/prove/ranks: a block run with letters for what isn't known.
 */
#ifndef COLLIDER_PROVE_RANKS_H
#define COLLIDER_PROVE_RANKS_H

#include "prove/check.h"

#define RANKS_LANES	  32
#define RANKS_MAX_THREADS 1024

/* When a thread, or any of a warp, did something: after so many barriers of its block and warp. */
struct ranks_when {
	uint32_t thread; /* or RANKS_ANYBODY: several */
	uint32_t warp;	 /* or RANKS_ANYBODY */
	uint32_t phase, turn;
};

/* One byte of shared memory: byte `at` of a value, or anything (NULL). */
struct ranks_byte {
	const struct ex *v;
	uint32_t at;
	uint32_t wiped; /* it holds while the object was wiped so often */
	struct ranks_when written, read, read_before; /* the latest reader, and others */
};
#define RANKS_ANYBODY UINT32_MAX

struct ranks_object {
	struct ranks_byte *byte; /* NULL: never used */
	uint64_t n;
	uint32_t wiped, wiped_in; /* how often all became unknown; the latest phase of it */
	struct ranks_when read;	  /* ... and at a known place */
};

enum ranks_state { RANKS_RUNS, RANKS_WAITS, RANKS_ENDED };

struct ranks_thread {
	enum ranks_state state;
	uint32_t number, tid[3];
	uint32_t block, step;	 /* what it does next */
	const struct ex **reg;	 /* NULL: anything */
	struct ev_cell *own;	 /* bytes of its stack */
	const struct ex *here;	 /* it comes to this place where this holds */
	const struct ex *atomic; /* the address of its latest atomic operation */
	uint32_t end;		 /* the phase in which it ends */
	uint64_t may_end;	 /* bits of phases in which it may have */
};

/* Registers and stack of a thread, put aside. */
#define RANKS_MAX_SPARE 16
struct ranks_aside {
	const struct ex **reg;
	struct ev_cell *own;
};

/* An access: where this thread does it, and when. */
struct ranks_touch {
	uint32_t step, thread, phase;
	const struct ex *addr, *guard;
};

/* An addition to a counter, which gave back `answer` and took all up to answer + count. */
struct ranks_ticket {
	const struct ir_access *mem;
	const struct ex *answer, *addr, *count;
};

/* What a vote gave: one bit for each lane. */
struct ranks_vote {
	const struct ex *v, *bit[RANKS_LANES];
};

struct ranks {
	struct check *c;
	bool is_run;	       /* all threads came to their end */
	bool is_torn;	       /* threads met that no barrier orders: the run is worth nothing */
	uint32_t n;	       /* threads */
	uint32_t phase, *turn; /* turn: by warp */
	uint64_t nvars, left;  /* steps that may still be taken */
	uint64_t left_ms, end; /* of work, for all questions; when this one has to end */
	uint64_t sums_left;    /* values that may still be taken apart in this question */
	struct base_arena tmp; /* of a question */
	struct ranks_thread *thread;
	struct ranks_object *object; /* by number */
	uint32_t nspare;
	struct ranks_aside spare[RANKS_MAX_SPARE];
	BASE_VEC(struct ranks_touch) touches;
	BASE_VEC(struct ranks_ticket) tickets;
	BASE_VEC(struct ranks_vote) votes;
	const struct ir_access *counter; /* that is known to count up */
};

/* run.c: runs the block; r->is_run says whether it came to its end. */
void ranks_run(struct ranks *r);
const struct ex *ranks_fresh(struct ranks *r, unsigned w);
/* cells.c: a load or store of a thread. False: the run is worth nothing. */
bool ranks_access(struct ranks *r, struct ranks_thread *t, uint32_t step);
/* Of an address. */
struct ev_root ranks_root(const struct ranks *r, const struct ex *addr, enum ir_space space);
const struct ex *ranks_offset(struct ranks *r, const struct ex *addr, const struct ev_root *root);
/* lanes.c: what the lanes of a warp that wait at one step give each other. False: some lane is
 * elsewhere. */
bool ranks_exchange(struct ranks *r, uint32_t warp, uint32_t step);
/* The number of bits that are set, as a sum; NULL: v isn't made of votes. */
const struct ex *ranks_count_bits(struct ranks *r, const struct ex *v);

/*
 * sum.c: a number and numbers times letters. What is equal modulo 2^64 is one sum; the letters are
 * values of which bounds are known.
 */
struct sum_term {
	const struct ex *v;
	int64_t times;
};
struct sum {
	int64_t constant;
	uint32_t n;
	struct sum_term *term; /* by v's number */
};
/* What holds where an access happens: values of one bit, and which they have. */
#define SUM_MAX_FACTS 16
struct sum_facts {
	uint32_t n;
	struct {
		const struct ex *v;
		bool is_true;
	} fact[SUM_MAX_FACTS];
};
/* Adds that a condition holds, or doesn't. False: that is never so. */
bool sum_add_fact(struct sum_facts *f, const struct ex *cond, bool is_true);
/* Does a condition hold under the facts? 1, 0, or -1: that isn't known. */
int sum_decide(struct ranks *r, const struct sum_facts *f, const struct ex *cond, unsigned depth);
/* Of v, modulo 2^width(v). *choice, unless NULL: a condition by which v is one sum or another, to
 * be made a fact; else such a value is a letter. */
struct sum sum_of(struct ranks *r, const struct sum_facts *f, const struct ex *v,
		  const struct ex **choice);
/* x + times * y */
struct sum sum_add(struct ranks *r, const struct sum *x, const struct sum *y, int64_t times);
struct sum sum_of_letter(struct ranks *r, const struct ex *v);
/* The least and the largest that it can be. False: they are too large to say. */
struct sum_range {
	int64_t lo, hi;
};
bool sum_range(const struct sum *s, struct sum_range *out);
/* How often v is in it. */
int64_t sum_times(const struct sum *s, const struct ex *v);
/* What an addition to a counter adds. False: that isn't known, or may be negative. */
bool ranks_find_count(struct ranks *r, const struct ranks_ticket *t, struct sum *count);
/* Does each addition to the counter, whether its thread stores anything or not, count up? */
bool ranks_counts_up(struct ranks *r, const struct ir_access *counter);

#endif
