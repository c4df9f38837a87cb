/*
 * text.c - what a look at a kernel's text says, without its graph: may a proof stand for all of its
 * checks, and how much does a thread of it do, roughly.
 *
 * Misses: how often a loop goes round: LOOP times, as a guess.
 * Costs: two walks over the text; marks stay as they are, so a text that runs may be asked about.
 */
#include "flow/flow.h"

#include "base/table.h"

#include <stdlib.h>

/* What a whole kernel may have: its loads and stores are looked at one by one. */
#define ALLOWED_EFFECTS                                                                            \
	(PTX_EFF_READ | PTX_EFF_WRITE | PTX_EFF_CONVERGENT | PTX_EFF_BRANCH | PTX_EFF_EXIT |       \
	 PTX_EFF_NONTEMPORAL | PTX_EFF_PREFETCH | PTX_EFF_SLEEP | PTX_EFF_WARP_SYNC)

/* A barrier of all threads, whose count can't be another one elsewhere. */
static bool is_barrier_of_all(const struct ptx_stmt *s)
{
	enum ptx_op op = s->form->op;

	return (op == PTX_OP_BAR_SYNC || op == PTX_OP_BARRIER_SYNC) && s->nops == 1;
}

const char *flow_why_checked(const struct ptx_stmt *s)
{
	uint32_t effects = s->form->effects;
	enum ptx_op op = s->form->op;

	if (effects & PTX_EFF_CALL)
		return "it calls functions";
	if (effects & PTX_EFF_ATOMIC)
		return "it has atomics";
	if (effects & PTX_EFF_FENCE)
		return "it has fences";
	if (is_barrier_of_all(s))
		return NULL;
	if (effects & (PTX_EFF_READ | PTX_EFF_WRITE) && op != PTX_OP_LD && op != PTX_OP_ST)
		return "it accesses memory otherwise than by loads and stores";
	if (effects & (PTX_EFF_READ | PTX_EFF_WRITE) && flow_strength(s->form->sem) != RACE_WEAK)
		return "it has volatile or strong accesses";
	return effects & ~(uint32_t)ALLOWED_EFFECTS
		       ? "it has asynchronous or other operations, or barriers of some threads"
		       : NULL;
}

/* ---- how much a thread does ---------------------------------------------------------------- */

#define LOOP  8u
#define DEPTH 2u /* deeper loops count as this deep ones */

/* A label that the walk has come by, and the last branch back to it. */
struct seen {
	const struct ptx_label *label;
	uint32_t at, end;
	UT_hash_handle hh;
};

/* Notes where loops end. Returns the number of statements. */
static uint32_t find_ends(const struct ptx_func *f, struct seen **seen)
{
	uint32_t n = 0;

	ptx_each_stmt(f, s)
	{
		const struct ptx_label *to = s->kind == PTX_STMT_INST ? ptx_target(s) : NULL;
		struct seen *one = NULL;
		if (to)
			HASH_FIND_PTR(*seen, &to, one);
		if (one)
			one->end = n;
		if (s->kind == PTX_STMT_LABEL) {
			one = base_calloc(1, sizeof(*one));
			*one = (struct seen){.label = s->label, .at = n};
			HASH_ADD_KEYPTR(hh, *seen, &one->label, sizeof(one->label), one);
		}
		n++;
	}
	return n;
}

uint64_t flow_weight(const struct ptx_func *f)
{
	struct seen *seen = NULL, *one, *next;
	uint32_t n = find_ends(f, &seen), i = 0, depth = 0;
	int32_t *step = base_calloc(n + 2, sizeof(*step)); /* of the depth, at a statement */
	uint64_t weight = 0;

	HASH_ITER(hh, seen, one, next)
	{
		if (one->end) {
			step[one->at]++;
			step[one->end + 1]--;
		}
		HASH_DEL(seen, one);
		free(one);
	}
	ptx_each_stmt(f, s)
	{
		depth += (uint32_t)step[i++];
		uint64_t times = 1;
		for (unsigned d = 0; d < depth && d < DEPTH; d++)
			times *= LOOP;
		weight += s->kind == PTX_STMT_INST ? times : 0;
	}
	free(step);
	return weight;
}
