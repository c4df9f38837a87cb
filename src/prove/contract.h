/*
 * contract.h - private to src/prove: the launch contract, and whether any launch keeps to it.
 */
#ifndef COLLIDER_PROVE_CONTRACT_H
#define COLLIDER_PROVE_CONTRACT_H

#include "prove/names.h"
#include "prove/prove.h"

/* Called for each finding; text lives in the arena, at may be NULL. */
typedef void contract_fn(enum race_problem_kind kind, const struct ptx_stmt *at, const char *text,
			 void *arg);

struct contract {
	struct ev *e;
	struct smt *smt;
	const struct prove_options *o;
	struct base_arena *arena;
	struct names *names;
	struct race_proof_counts *counts;
	uint64_t deadline; /* of check_now_ms */
	unsigned rlimit;
	contract_fn *say;
	void *arg;
};

/*
 * The dimensions. Those that the kernel never reads are 1; the others have CUDA's limits, the
 * kernel's, or what the options say.
 */
void contract_find_launch(const struct ir *ir, const struct prove_options *o, const char *kernel,
			  struct ex_launch *l);
/* Dimensions of the options that no launch of this kernel can have are reported. True: none. */
bool contract_check_launch(struct contract *c, const struct ir *ir);
/* --param as assumptions. False: a value that its parameter can't hold was reported. */
bool contract_add_params(struct contract *c);
/* --assume. False: an expression that this kernel can't have was reported. */
bool contract_add_assumes(struct contract *c);
/* --launches: the launches of this kernel that were recorded. False: there is none. */
bool contract_add_launches(struct contract *c, const char *kernel);
/* Is there surely a launch that keeps to all assumptions? Reports nothing. */
bool contract_has_launch(struct contract *c);
/*
 * Reports assumptions that contradict each other or the launch, assumptions that never hold where
 * control reaches them, and accesses that only the assumptions keep from being reached. False: no
 * launch keeps to the contract, so nothing can be proven.
 */
bool contract_check(struct contract *c);

#endif
