/*
 * follow.h - what used.c, loads.c and depends.c share: following the values of loads in doubt.
 */
#ifndef COLLIDER_CPU_JUDGE_FOLLOW_H
#define COLLIDER_CPU_JUDGE_FOLLOW_H

#include "cpu/judge/judge.h"
#include "cpu/judge/taint.h"

/* ---- depends.c ----------------------------------------------------------------------------- */

#define JUDGE_FROM 3u /* operands with a rule of their own */

/* By which rule the result depends on operands 1 to 3. */
enum judge_rule {
	JUDGE_NEVER,  /* not known */
	JUDGE_ANY,    /* on each operand */
	JUDGE_SELECT, /* on the one that operand 3 takes, and on that */
	JUDGE_SIGN,   /* on operand 3 only: slct */
	JUDGE_AND,    /* predicates: on one where the other is true */
	JUDGE_OR,     /* predicates: where it is false */
	JUDGE_BITS,   /* and, or, min, max: where the other operand doesn't decide alone */
	JUDGE_TRY,    /* on those whose change changes the result */
	JUDGE_JOIN    /* setp.and with operand 3: where that doesn't decide alone */
};

struct judge_reg {
	uint32_t reg; /* its number in the trace */
	uint8_t at;   /* a read: operand from 0, JUDGE_FROM: another one; else the element */
};

/* What a statement does with registers of the trace. */
struct judge_step {
	const struct ptx_stmt *s;
	enum judge_rule rule;
	bool is_last, is_pure, is_test, is_bool[2];
	bool is_packing, is_parting; /* mov of two halves to a register, or of a register to two */
	bool keeps_halves;	     /* moves the whole register */
	bool takes_low;		     /* of two halves: a conversion to half the width */
	uint32_t guard;		     /* or UINT32_MAX */
	uint32_t nreads, nwrites;
	struct judge_reg *reads, *writes;
};

enum judge_rule judge_rule_of(const struct ptx_stmt *s);
/*
 * lanes[i]: those for which operand i + 1 holds values in doubt; of them those of `mask` in which
 * the result depends on it are left. is_same: operands 1 and 2 hold the same value.
 */
void judge_depends(struct cpu_warp *w, const struct cpu_inst *in, const struct judge_step *st,
		   bool is_same, uint32_t mask, uint32_t lanes[JUDGE_FROM]);

/* Lanes in which the statement would leave another result if its guard were the opposite; none if
 * it has several results. */
uint32_t judge_guard_decides(struct cpu_warp *w, const struct cpu_inst *in,
			     const struct judge_step *st, uint32_t lanes);

/* ---- loads.c: executions of loads in doubt ------------------------------------------------- */

struct judge_loads;

struct judge_loads *judge_loads_new(struct cpu_judge *x); /* NULL: no memory */
void judge_loads_free(struct judge_loads *l);
struct taint_graph *judge_graph(struct judge_loads *l);
/* Lanes execute the load; `at`: their addresses. 0: no memory; else to be ended by
 * judge_load_done when its leaves are made. */
uint32_t judge_load_begin(struct judge_loads *l, const struct cpu_warp *w,
			  const struct cpu_site *site, uint32_t mask, const uint64_t *at);
uint32_t judge_load_leaf(struct judge_loads *l, uint32_t load, uint32_t elem, uint32_t mask);
void judge_load_done(struct judge_loads *l, uint32_t load);
bool judge_load_is_used(struct judge_loads *l, const struct oracle_side *load,
			const struct judge_sighting *seen);

#endif
