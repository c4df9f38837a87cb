/*
 * follow.h - what used.c, loads.c and depends.c share: following the values of loads in doubt.
 */
#ifndef COLLIDER_CPU_EVENTS_FOLLOW_H
#define COLLIDER_CPU_EVENTS_FOLLOW_H

#include "cpu/events/internal.h"
#include "cpu/events/taint.h"
#include "flow/flow.h"

/* ---- depends.c ----------------------------------------------------------------------------- */

#define EVENTS_FROM 3u /* operands with a rule of their own */

#define EVENTS_BYTES 16u /* of a register */

/*
 * A register of the trace. One that is split has a slot for each of its bytes, others have one. Of
 * a read: from[] has, by slot of all that the statement writes, the slots of this register that it
 * depends on; `taken`, those that any result or effect does.
 */
struct events_reg {
	uint32_t slot; /* the first of the frame */
	uint8_t n;     /* slots */
	uint8_t at;    /* a read: operand from 0, EVENTS_FROM: another one */
	uint32_t reg;  /* its number in the trace */
	uint32_t taken, *from;
};

/* What a statement does with registers of the trace. */
struct events_step {
	const struct ptx_stmt *s;
	enum flow_rule rule;
	bool is_last, is_pure, is_test, is_bool[2];
	bool by_bytes;	/* some register is split, and what depends on what is tried by bytes */
	uint32_t live;	/* by_bytes: the live bytes of the only result */
	uint32_t guard; /* of the trace, or UINT32_MAX */
	uint32_t guard_slot;
	uint32_t nreads, nwrites, nslots; /* nslots: of all that is written */
	struct events_reg *reads, *writes;
};

/* Of a function, made with its sites (steps.c). */
struct events_follow {
	uint32_t nslots;
	uint32_t *slot;	   /* by number in the trace: its first; one more at the end */
	uint32_t *live;	   /* by number in the trace: its live bytes */
	uint32_t *step_of; /* by pc, plus 1 */
	struct events_step *steps;
};

/* Lanes, by operand from 0. */
struct events_lanes {
	uint32_t sure[EVENTS_FROM]; /* it holds values in doubt; then: the result depends on it */
	uint32_t may[EVENTS_FROM];  /* the result may depend on it, or not */
	uint32_t shared[3];	    /* 0 and 1, 0 and 2, 1 and 2 may hold a value of one load */
	bool is_same;		    /* 0 and 1 hold the same value */
};

/* Of lanes in `mask`; all but `may` is given. */
void events_depends(struct cpu_warp *w, const struct cpu_inst *in, const struct events_step *st,
		    uint32_t mask, struct events_lanes *x);

/* Bytes of an operand (from 1), from `first` on; n 0: all. */
struct events_tried {
	unsigned op, first, n;
};

/* hit[j]: lanes of `mask` in which byte j of the result changes when these bytes do. False: that
 * can't be tried. */
bool events_tried_bytes(struct cpu_warp *w, const struct cpu_inst *in, const struct events_step *st,
			struct events_tried t, uint32_t mask, uint32_t hit[EVENTS_BYTES]);

/* any: of `lanes` those in which the statement would leave another result if its guard were the
 * opposite; hit: the same of each byte. False: that can't be asked, as it has several results. */
bool events_guard_decides(struct cpu_warp *w, const struct cpu_inst *in,
			  const struct events_step *st, uint32_t lanes, uint32_t *any,
			  uint32_t hit[EVENTS_BYTES]);

/* ---- loads.c: executions of loads in doubt ------------------------------------------------- */

struct events_loads;

struct events_loads *events_loads_new(struct cpu_events *x); /* NULL: no memory */
void events_loads_free(struct events_loads *l);
struct taint_graph *events_graph(struct events_loads *l);
/* Lanes execute the load; `at`: their addresses. 0: no memory; else to be ended by
 * events_load_done when its leaves are made. */
uint32_t events_load_begin(struct events_loads *l, const struct cpu_warp *w,
			   const struct cpu_site *site, uint32_t mask, const uint64_t *at);
/* What lanes have of bytes of the load; 0: nothing. */
uint32_t events_load_leaf(struct events_loads *l, const struct cpu_site *site, uint32_t load,
			  uint32_t bytes, uint32_t mask);
void events_load_done(struct events_loads *l, uint32_t load);
bool events_load_is_used(struct events_loads *l, const struct oracle_side *load,
			 const struct events_sighting *seen);

#endif
