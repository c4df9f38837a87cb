/*
 * smt.h - private to src/prove: questions about two threads, put to Z3.
 *
 * A query is a conjunction over two threads of one launch. prove_smt_begin opens one,
 * prove_smt_assert adds a condition of a thread, prove_smt_conflict adds that two accesses touch a
 * common byte, prove_smt_check answers. Values are exact integers with an explicit quotient where
 * an operation may wrap; bit operations that have no such form make the answer SMT_MAYBE at best,
 * and the query is put again in bit-vectors.
 */
#ifndef COLLIDER_PROVE_SMT_H
#define COLLIDER_PROVE_SMT_H

#include "prove/eval.h"

enum smt_answer { SMT_IMPOSSIBLE, SMT_POSSIBLE, SMT_MAYBE, SMT_GAVE_UP };

/* How the counters of one loop relate in the two threads. */
enum smt_counter { SMT_FREE, SMT_SAME, SMT_SECOND_AHEAD, SMT_FIRST_AHEAD };

#define SMT_MAX_PARAMS	 64
#define SMT_MAX_CONTENTS 16

/* A launch and two threads of it, found by the solver. */
struct smt_model {
	uint32_t ntid[3], nctaid[3];
	uint32_t tid[2][3], ctaid[2][3];
	uint32_t nparams;
	struct {
		uint64_t off, value;
		uint32_t bytes;
	} param[SMT_MAX_PARAMS];
	/* What the threads load from arrays that the kernel doesn't write. */
	uint32_t ncontents;
	struct {
		uint64_t param, at, value; /* the pointer's place, byte in its array */
		uint32_t bytes;
	} content[SMT_MAX_CONTENTS];
};

/* Whether the two threads are of one warp; of interest within one CTA only. */
enum smt_warp { SMT_ANY_WARP, SMT_SAME_WARP, SMT_OTHER_WARP };

struct smt_query {
	bool is_same_cta;
	enum smt_warp warp;
	bool is_alone; /* about values only: the two threads may be one; the model is not used */
	bool is_one;   /* the two threads are one */
	const uint8_t *counters; /* enum smt_counter by loop */
	unsigned work_ms;	 /* the most that each check may take, of work.h's */
	bool use_bits;
	bool is_exact; /* bit-vectors without shortcuts: a model is one */
	bool is_hasty; /* any launch will do for the model */
};

/* Parameters that the pool has pinned get a value of theirs, in the model, too. */
void prove_smt_pin_model(struct smt_model *m, const struct ex_pool *p);

struct smt;
/* Starts Z3 (10 ms, mostly fresh pages) in a process whose children will need it. */
void prove_smt_warm(void);
/* Z3 itself is started by the first smt_begin. */
struct smt *prove_smt_open(struct ev *e);
void prove_smt_close(struct smt *s);
/* From now on answers are kept in a folder below this one (NULL: not), and taken from there.
 * `program` says which program made them. */
void prove_smt_keep_answers(struct smt *s, const char *folder, uint64_t program);
/* How many answers were taken from there. */
unsigned prove_smt_recalled(const struct smt *s);
void prove_smt_begin(struct smt *s, const struct smt_query *q);
/* `fact` (one bit wide) holds in thread t, 0 or 1. */
void prove_smt_assert(struct smt *s, const struct ex *fact, unsigned t);
/* Where `guard` holds in both threads, v is the same in both, or isn't. */
void prove_smt_across(struct smt *s, const struct ex *guard, const struct ex *v, bool is_equal);
/* No two threads have one place (and number; NULL: whatever that is) where theirs hold. */
struct smt_claim {
	const struct ex *when, *place, *number;
};
void prove_smt_claims(struct smt *s, const struct smt_claim *first, const struct smt_claim *second);
/* a in thread 0 is b in thread 1, or isn't. */
void prove_smt_same(struct smt *s, const struct ex *a, const struct ex *b, bool is_equal);
/* The opposite of a fact: v differs, and both threads come there. */
void prove_smt_differ(struct smt *s, const struct ex *guard, const struct ex *v);
/* Where both threads come to the assumption (IR_ASSUME_APART), their numbers are apart. */
void prove_smt_apart(struct smt *s, const struct ev_assume *as);
/* Where `guard` holds in both threads, each has other ones of the n numbers from v on (n > 0, as
 * signed); after the greatest number of v's width 0 comes. */
void prove_smt_intervals(struct smt *s, const struct ex *guard, const struct ex *v,
			 const struct ex *n);
/* The elements at the assumption's place are all different (IR_ASSUME_INJECTIVE), rise
 * (IR_ASSUME_SORTED) or are bounded (IR_ASSUME_WITHIN). It must live until smt_check. */
void prove_smt_elements(struct smt *s, const struct ev_assume *as);
/* The counter of a loop that thread t is in: 0 or more, and the iteration was reached. */
void prove_smt_in_loop(struct smt *s, uint32_t loop, unsigned t);
/* bytes at offset a of thread 0 and b of thread 1 overlap; is_partial: but aren't the same bytes.
 * */
void prove_smt_conflict(struct smt *s, const struct ex *a, unsigned na, const struct ex *b,
			unsigned nb, bool is_partial);
/* Different places (offset a of thread 0, b of thread 1), or different values there. */
void prove_smt_unequal(struct smt *s, const struct ex *a, const struct ex *va, const struct ex *b,
		       const struct ex *vb);
/* *m is the launch that was found, a small one if there is one; m is NULL where only the answer
 * counts, which saves up to three checks. */
enum smt_answer prove_smt_check(struct smt *s, struct smt_model *m);

#endif
