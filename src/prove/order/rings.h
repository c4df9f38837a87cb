/*
 * rings.h - private to src/prove/order: a kernel's mbarriers, as rings of stages (mbarriers.c).
 */
#ifndef COLLIDER_PROVE_ORDER_RINGS_H
#define COLLIDER_PROVE_ORDER_RINGS_H

#include "prove/order/order.h"

#define RINGS_MAX_OPS	 24
#define RINGS_MAX	 8
#define RINGS_MAX_STAGES 16
#define RINGS_NEVER	 (1 << 20)

struct op {
	const struct ev_mbar *m;
	uint32_t ring;
	uint32_t loop; /* whose iterations are counted, or IR_NONE */
	/* It is for number k + shift of its ring in iteration k; outside of loops for this one. */
	int shift;
	/* An arrival that follows this loop, or IR_NONE: k is the iteration that leaves it. */
	uint32_t after;
	/* Of a wait. */
	int lag;
	uint32_t spin; /* it is repeated in this loop until the phase is over; or IR_NONE */
	const struct ex *often; /* in threads of which this holds it is in each iteration */
};

struct ring {
	struct ev_root root;
	uint64_t base; /* offset of the first mbarrier */
	unsigned stages;
	uint64_t count;		      /* arrivals of a phase; 0: not known */
	uint64_t lo;		      /* of WINDOW, WARPS */
	uint32_t loop_ops, other_ops; /* the latter: none in loops, the ring is used once */
	int shift;		      /* of the arrivals in loops */
	enum {
		NOT_COUNTED,
		ONE,	/* one thread arrives */
		WINDOW, /* threads lo ... lo + count - 1 of the block */
		WARPS	/* one thread of each warp from thread lo on */
	} who;
	bool is_good;
	/* Arrivals here for number i are before those at that ring for i + follows[]. */
	int follows[RINGS_MAX];
};

struct mbarriers {
	struct op op[RINGS_MAX_OPS];
	uint32_t nops;
	struct ring ring[RINGS_MAX];
	uint32_t nrings;
};

static inline struct order_at rings_at(const struct op *o)
{
	return (struct order_at){o->m->block, o->m->index};
}

static inline bool rings_is_kind(const struct op *o, enum ir_mbar_kind kind)
{
	return o->m->mbar->kind == kind;
}

static inline int rings_least(int a, int b)
{
	return a < b ? a : b;
}

static inline int rings_sum(int a, int b)
{
	return a >= RINGS_NEVER || b >= RINGS_NEVER ? RINGS_NEVER : a + b;
}

static inline bool rings_is_in(const struct check *c, uint32_t loop, uint32_t block)
{
	return loop != IR_NONE && prove_ir_in_loop(&c->e->ir->loops[loop], block);
}

/* The threads that do an operation. */
static inline struct order_who rings_who(const struct op *o)
{
	return (struct order_who){o->m->guard, o->m->block};
}

/* Is it in front of the loop whose iterations use the ring, or a wait that follows it? */
static inline bool rings_is_apart(const struct mbarriers *x, const struct op *o)
{
	return o->loop == IR_NONE && o->after == IR_NONE && x->ring[o->ring].loop_ops;
}

/* Is operation i an arrival at the ring? */
static inline bool rings_is_arrival(const struct mbarriers *x, uint32_t i, const struct ring *r)
{
	enum ir_mbar_kind kind = x->op[i].m->mbar->kind;

	return (kind == IR_MBAR_ARRIVE || kind == IR_MBAR_ARRIVE_ASYNC) &&
	       &x->ring[x->op[i].ring] == r;
}

/* ---- rings.c ---- */

/* The number of the iteration that is counted, 64 bits wide; 0 outside of loops. */
const struct ex *rings_counter(const struct check *c, uint32_t loop);
/* ... as v has it: a variable that counts from 0 by 1 and doesn't wrap; or the counter itself,
 * which the solver needs more time to compare with. */
const struct ex *rings_counter_in(const struct check *c, const struct ex *v, uint32_t loop);
/* The operation's number k + shift, of the iteration's number k that v has; shift is 0 or more. */
const struct ex *rings_number(struct check *c, const struct op *o, const struct ex *v);
/* The loop around a block whose iterations are counted; IR_NONE: what is done there is iteration 0,
 * as often as that is. */
uint32_t rings_loop_of(const struct check *c, const struct mbarriers *x, uint32_t block);
/* v in an iteration, if that is a number. */
bool rings_number_in(const struct check *c, const struct ex *v, uint32_t loop, uint64_t k,
		     uint64_t *out);
/* In all threads that do the operation: is x the same as y? */
bool rings_is_always(struct check *c, const struct op *o, const struct ex *x, const struct ex *y);
/* The loop whose iterations are counted for an operation. False: it is in loops within loops. */
bool rings_find_loop(const struct check *c, struct op *o);
/* The ring of an operation that is no init, after rings_find_loop; those in loops first. Rings of
 * other operations may not overlap it. */
bool rings_find(struct check *c, struct mbarriers *x, struct op *o);
/* What an init says of the rings. False: it may be of any. */
bool rings_add_init(struct check *c, struct mbarriers *x, const struct ev_mbar *m);
/* May anything else write to the ring's bytes? */
bool rings_are_touched(struct check *c, const struct ring *r);

/* ---- tails.c ---- */

/* Is the operation an arrival that follows the loop whose arrivals are its ring's? Finds which. */
bool rings_find_after(struct check *c, const struct mbarriers *x, struct op *o);
/* With the ring's shift known: is its number greater than the loop's? Finds it. */
bool rings_number_after(struct check *c, const struct mbarriers *x, struct op *o);
/* As rings_heard, at such an arrival, of number k less the result. */
int rings_heard_after(struct check *c, const struct mbarriers *x, const struct ring *r,
		      const struct op *o);

/* ---- tried.c ---- */

/* Puts each wait together with its first try, where it is repeated only if that failed. */
void rings_join_tries(struct check *c, struct mbarriers *x);

/* ---- mbarriers.c ---- */

/* Do two different threads of a block never do the two? */
bool rings_is_one_thread(struct check *c, const struct order_who *x, const struct order_who *y,
			 enum smt_warp warp);
/* A thread that comes to a place in iteration k, where `guard` lets it, has waited for arrivals at
 * a ring up to which number? That is k less the result. RINGS_NEVER: that isn't known. */
int rings_heard(struct check *c, const struct mbarriers *x, const struct ring *r,
		struct order_at to, const struct ex *guard);
/*
 * A thread that comes to a place, where `guard` lets it, has waited: in the same iteration (0), the
 * one before it (1), or that isn't known.
 */
int rings_waited(struct check *c, const struct mbarriers *x, const struct op *o, struct order_at to,
		 const struct ex *guard);
/* Of a wait in a loop that is ahead: has each thread that comes to a place, where `guard` lets it,
 * waited for the first numbers in front of the loop? */
bool rings_has_front(struct check *c, const struct mbarriers *x, const struct op *o,
		     struct order_at to, const struct ex *guard);

#endif
