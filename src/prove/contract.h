/*
 * contract.h - private to src/prove: the launch contract, and whether any launch keeps to it.
 */
#ifndef COLLIDER_PROVE_CONTRACT_H
#define COLLIDER_PROVE_CONTRACT_H

#include "prove/prove.h"
#include "prove/smt.h"

/* Called for each finding; text lives in the arena, at may be NULL. */
typedef void contract_fn(enum prove_problem_kind kind, const struct ptx_stmt *at, const char *text,
			 void *arg);

struct contract {
	struct ev *e;
	struct smt *smt;
	const struct prove_options *o;
	struct base_arena *arena;
	struct prove_counts *counts;
	uint64_t deadline; /* now_ms of the caller's clock: CLOCK_MONOTONIC */
	unsigned rlimit;
	contract_fn *say;
	void *arg;
};

/*
 * The dimensions. Those that the kernel never reads are 1; the others have CUDA's limits, the
 * kernel's, or what the options say.
 */
void contract_find_launch(const struct ir *ir, const struct prove_options *o, struct ex_launch *l);
/* Dimensions of the options that no launch of this kernel can have are reported. True: none. */
bool contract_check_launch(struct contract *c, const struct ir *ir);
/* --param as assumptions. False: a value that its parameter can't hold was reported. */
bool contract_add_params(struct contract *c);
/*
 * Reports assumptions that contradict each other or the launch, assumptions that never hold where
 * control reaches them, and accesses that only the assumptions keep from being reached. False: no
 * launch keeps to the contract, so nothing can be proven.
 */
bool contract_check(struct contract *c);

#endif
