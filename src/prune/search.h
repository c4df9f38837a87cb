/*
 * search.h - private to src/prune: questions to prove, and what their answers leave without checks.
 */
#ifndef COLLIDER_PRUNE_SEARCH_H
#define COLLIDER_PRUNE_SEARCH_H

#include "instrument/instrument.h"
#include "prove/prove.h"
#include "toolchain/toolchain.h"

/* What is asked, and until when (base_now_ms; 0: LIMIT_MS (search.c) for each kernel and turn). */
struct prune_search {
	const struct tool_prover_job *j;
	struct inst_prunes *out;
	uint64_t end;
};

/* Of kernels that have alarms without it: what is tried, all at once. */
struct prune_assumes {
	BASE_VEC(struct prove_assume_of) each;
	BASE_VEC(const char *) names;
};

/* ---- search.c ---- */

/* Asks prove, of the kernels in o or of all that the job names. True: r is the caller's, who frees
 * it (race_proofs_free); false: no time was left, or the text can't be read. Where more time could
 * prove more, out->is_late says so. */
bool prune_prove(const struct prune_search *x, struct prove_options *o, struct race_proofs *r);
/* The same with an assumption for each kernel. False also where there is none. */
bool prune_prove_each(const struct prune_search *x, const struct prune_assumes *m,
		      struct race_proofs *r);
/* The kernel's entry, made where there is none: out's. */
struct inst_prune *prune_kernel_of(struct inst_prunes *out, const char *name);
/* Is each access proven, with each other one, and to stay in its shared variable? */
bool prune_is_free(const struct race_proof *proof);
/* is_conditional: only where the kernel's terms hold. */
void prune_add_sites(struct inst_prune *k, const struct race_proof *proof, bool wants_global,
		     bool is_conditional);
/* Where nothing else of the kernel needs a check: its accesses to global memory, each with its
 * pointer. */
void prune_add_whole(struct inst_prune *k, const struct race_proof *proof);

/* ---- terms.c ---- */

/* Adds what a proof takes for granted: its contract, the assumption ("": none), what keeps shared
 * memory in place. False: the kernel's entry can't test it, and k is left with a part of it. */
bool prune_add_terms(struct inst_prune *k, const struct race_proof *proof, const char *assume);
/* Dimensions that are fixed by the contract, and products below 2^31. False: too many. */
bool prune_add_contract(struct inst_prune *k, const struct race_proof *proof);
/* "a OP b && c OP d ..." False: not of that form; then nothing may be concluded from it. */
bool prune_add_assume(struct inst_prune *k, const char *text);
/* Is there something that keeps accesses to shared memory within their variables? */
bool prune_has_stays_if(const struct race_proof *proof);

#endif
