/*
 * smt_impl.h - what smt.c (integers), smt_bits.c (bit-vectors) and smt_query.c share.
 */
#ifndef COLLIDER_PROVE_SOLVE_SMT_IMPL_H
#define COLLIDER_PROVE_SOLVE_SMT_IMPL_H

#include "prove/smt.h"
#include "prove/work.h"

#include <z3.h>

typedef __int128 wide;

/* An integer term and bounds that it surely keeps. */
struct term {
	Z3_ast t;
	wide lo, hi;
};

/* What has been made of a node for one thread. v: congruent; u, s: in the range of its type. */
struct memo {
	struct term v, u, s;
	Z3_ast b;	   /* of width 1 */
	Z3_ast bits;	   /* smt_bits.c */
	uint8_t is_shared; /* 0: not asked, 1: no, 2: by both threads */
};

#define MEMO_PAGE  16u /* nodes */
#define MEMO_BYTES (2 * MEMO_PAGE * sizeof(struct memo))

#define MAX_PRODUCTS   512
#define MAX_THRESHOLDS 6

struct product {
	struct term a, b, r;
};

struct division {
	struct term n, d, q, r;
};

/* A leaf's unknown, found again by what it depends on. */
struct instance {
	uint64_t key;
	struct term t;
	Z3_ast bits;
};

/* A leaf of the model: its node, thread, term. */
struct atom {
	const struct ex *v;
	unsigned t;
	Z3_ast ast;
};

/* Names a query: two hashes of all that its answer depends on, and how much that was. */
struct smt_key {
	uint64_t name, check, bytes;
};

/* Answers that are kept (smt_model.c). */
struct smt_store {
	const char *folder; /* NULL: nothing is kept */
	uint64_t program;
	unsigned recalled;
	uint32_t *place; /* of an unknown, by its number in Z3's context */
	uint64_t nplaces;
	uint32_t nseen;
};

struct smt {
	struct ev *e;
	Z3_context z;
	Z3_solver solver;
	Z3_sort integer;
	struct smt_query q;
	struct memo **memo; /* [node / MEMO_PAGE][node % MEMO_PAGE][thread]; pages, or NULL */
	uint32_t nmemo;	    /* pages that there may be */
	struct product products[MAX_PRODUCTS];
	struct division divisions[MAX_PRODUCTS];
	uint32_t nproducts, ndivisions;
	wide threshold[MAX_THRESHOLDS]; /* numbers that unknowns are compared with */
	uint32_t nthresholds;
	Z3_ast position[2][3]; /* smt_bits.c: in the grid, by thread and dimension */
	BASE_VEC(struct instance) instances;
	BASE_VEC(struct atom) atoms;
	BASE_VEC(struct {
		const struct ex *fact;
		unsigned t;
	})
	queue; /* facts of leaves, to assert */
	BASE_VEC(const struct ev_assume *) elements;
	size_t nloads;	/* atoms among which loads were compared */
	unsigned depth; /* of facts about leaves of facts */
	unsigned nqueries;
	unsigned limit;	       /* that the solver has, of Z3's measure of work; 0: none */
	BASE_VEC(Z3_ast) held; /* what was asserted, as it was: Z3 may show it rewritten */
	bool is_loose;
	struct smt_store store;
};

/* Z3 keeps every term of a context; a new context every so often keeps memory flat. */
#define SMT_QUERIES_PER_CONTEXT 100

/* smt_check.c */
/* Is an error what a check that was cut off leaves? */
bool prove_smt_is_expected(Z3_error_code code);
/* Z3's answer, within q.work_ms. */
Z3_lbool prove_smt_solve(struct smt *s);
/* A state to go back to. False: there is none, as the last check was cut off. */
bool prove_smt_push(struct smt *s);
/* Of the last check, which found that there is one. NULL: it was interrupted before it was made. */
Z3_model prove_smt_get_model(struct smt *s);
/* smt_loads.c: what is known of each two loads among the atoms; new atoms may come up meanwhile. */
void prove_smt_learn_loads(struct smt *s);

/* smt_query.c */
Z3_ast prove_smt_truth(struct smt *s, const struct ex *fact, unsigned t);
/* a of thread t is b of thread u; is less, as signed numbers of one width. */
Z3_ast prove_smt_equal(struct smt *s, const struct ex *a, unsigned t, const struct ex *b,
		       unsigned u);
Z3_ast prove_smt_is_less(struct smt *s, const struct ex *x, unsigned t, const struct ex *y,
			 unsigned u);
struct memo *prove_smt_memo(struct smt *s, const struct ex *v, unsigned t);
/* smt_memo.c: of the one thread, though both may have one. */
struct memo *prove_smt_memo_at(struct smt *s, const struct ex *v, unsigned t);
void prove_smt_memo_clear(struct smt *s);
void prove_smt_memo_free(struct smt *s);
bool prove_smt_is_shared(struct smt *s, const struct ex *v);
/* Which unknown a leaf is: equal keys are one unknown. */
uint64_t prove_smt_leaf_key(struct smt *s, const struct ex *v, unsigned t);
struct term prove_smt_leaf(struct smt *s, const struct ex *v, unsigned t);
/* The integer unknown of a key, made when it is new. */
struct term prove_smt_instance(struct smt *s, uint64_t key, wide lo, wide hi);
/* The closed form of a value that a loop carries (EX_PHI) for its counters, or NULL. */
const struct ex *prove_smt_closed(struct smt *s, const struct ex *v);
void prove_smt_leaf_facts(struct smt *s, const struct ex *v, unsigned t);
/* smt.c */
Z3_ast prove_smt_number(struct smt *s, wide v);
Z3_ast prove_smt_sum(struct smt *s, Z3_ast a, Z3_ast b);
void prove_smt_hold(struct smt *s, Z3_ast fact);
struct term prove_smt_unknown(struct smt *s, wide lo, wide hi);
struct term prove_smt_product(struct smt *s, struct term a, struct term b);
struct term prove_smt_value(struct smt *s, const struct ex *v, unsigned t);
struct term prove_smt_unsigned(struct smt *s, const struct ex *v, unsigned t);
struct term prove_smt_signed(struct smt *s, const struct ex *v, unsigned t);
Z3_ast prove_smt_bool(struct smt *s, const struct ex *v, unsigned t);
void prove_smt_conflict_integer(struct smt *s, const struct ex *a, unsigned na, const struct ex *b,
				unsigned nb, bool is_partial);
void prove_smt_finish_integer(struct smt *s);
/* smt_made.c */
/* A product or sum of positions that the contract keeps below 2^31? */
bool prove_smt_is_in_contract(const struct smt *s, const struct ex *v);
/* Is a step made of the launch's dimensions alone, so that it is no negative number? */
bool prove_smt_is_of_launch(const struct ex *v);
/* A step of 64 bits that comes from 32? A pointer that moves on by it does not come around. */
bool prove_smt_is_modest(const struct ex *v, unsigned depth);
/* blockIdx.d * blockDim.d + threadIdx.d, which the contract keeps below 2^31: d; else 3. */
unsigned prove_smt_position(const struct smt *s, const struct ex *v);
/*
 * smt_model.c: the answer that was kept for the query as it stands, with its model in *m (NULL:
 * none is wanted); *k names it then for smt_keep. False: there is none.
 */
bool prove_smt_recall(struct smt *s, struct smt_key *k, enum smt_answer *x, struct smt_model *m);
/* Keeps an answer, where it may be kept. Fails silently. */
void prove_smt_keep(struct smt *s, const struct smt_key *k, enum smt_answer x,
		    const struct smt_model *m);
/* smt_model.c: the launch that the latest check found, a small one if there is one. False: it has
 * no model (prove_smt_get_model). */
bool prove_smt_read_model(struct smt *s, struct smt_model *m);
/* smt_bits.c */
Z3_ast prove_smt_bits_one(struct smt *s);
Z3_ast prove_smt_bits_instance(struct smt *s, uint64_t key, const struct ex *v, unsigned t);
Z3_ast prove_smt_bits(struct smt *s, const struct ex *v, unsigned t);
/* What is known of the two threads' positions. */
void prove_smt_finish_bits(struct smt *s);
void prove_smt_conflict_bits(struct smt *s, const struct ex *a, unsigned na, const struct ex *b,
			     unsigned nb, bool is_partial);

#endif
