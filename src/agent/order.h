/*
 * order.h - what the driver's API orders: which operations of streams come before which.
 *
 * One piece for two listeners: unordered.c, in the agent, notes launches that nothing orders, and
 * judge/operations.c, in the library that stands in for the driver's, sends the judge what it can
 * compare. Each hears the program's calls in its own way and hands them in here, the launches too.
 * order/calls.c is the table of what the driver's functions order, order/order.c follows it.
 *
 * Where it isn't known what orders two operations, they are taken for ordered.
 */
#ifndef COLLIDER_AGENT_ORDER_H
#define COLLIDER_AGENT_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda.h>

#define AGENT_ORDER_STREAMS 64u /* with operations that aren't over, at a time */

/* What comes before something: of each stream, so many operations. */
struct agent_clock {
	uint32_t of[AGENT_ORDER_STREAMS];
	/* It may wait for what is submitted later, too: the stream for a value in memory. */
	bool is_open;
};

/* What a call of the driver orders. */
enum agent_order_way {
	AGENT_ORDER_UNKNOWN, /* all before it with all after it */
	AGENT_ORDER_NOTHING,
	AGENT_ORDER_WAITS_ALL, /* the host: for the context */
	AGENT_ORDER_WAITS_STREAM,
	AGENT_ORDER_WAITS_EVENT,
	AGENT_ORDER_HOST_CALL, /* host code goes on from there, on a thread of the driver's */
	AGENT_ORDER_OPENS,     /* what follows in the stream may wait for anything */
	AGENT_ORDER_RECORD,
	AGENT_ORDER_WAIT, /* a stream, for an event */
	AGENT_ORDER_WORK, /* a copy, a fill or a free in a stream */
	AGENT_ORDER_COPY, /* in the default stream, and the host waits for it */
	AGENT_ORDER_STREAM_MADE,
	AGENT_ORDER_STREAM_GONE,
	AGENT_ORDER_EVENT_MADE,
	AGENT_ORDER_EVENT_GONE,
	AGENT_ORDER_CAPTURE,
	AGENT_ORDER_CAPTURED,
	AGENT_ORDER_GRAPH,	 /* a graph is launched: the operations are its listener's */
	AGENT_ORDER_GRAPH_OPENS, /* a graph gets a node that may wait for anything */
	AGENT_ORDER_GRAPH_EVENT	 /* or one that records an event */
};

struct agent_order_call {
	enum agent_order_way way;
	bool is_apart;	 /* STREAM_MADE: not ordered with the legacy stream */
	CUstream stream; /* the default one: as the function's name says which */
	CUevent event;
	CUcontext context; /* that the call names, or the current one */
};

/* ---- order/calls.c ------------------------------------------------------ */

/* May the function order anything? id: its number, as CUPTI has it. */
bool agent_order_wants(uint32_t id);
/* By its name. */
bool agent_order_is_harmless(const char *name);
/* Fills in all, but the context only where the call names it. params: as CUPTI has them. What a
 * call makes is there after it. */
void agent_order_read(uint32_t id, const void *params, struct agent_order_call *c);

/* ---- order/events.c, for order.c ---------------------------------------- */

/* What the event comes after; zero: it was never recorded, so it orders nothing. NULL: it isn't
 * known. */
const struct agent_clock *agent_order_event(CUevent handle);
/* Without memory for it the event isn't known. */
void agent_order_event_set(CUevent handle, const struct agent_clock *clock);
void agent_order_event_drop(CUevent handle);
void agent_order_event_drop_all(void);

/* ---- order/order.c ------------------------------------------------------ */

/* Goes up when a handle may have another meaning. Atomic. */
extern uint32_t agent_order_changes __attribute__((visibility("hidden")));
static inline void agent_order_change(void)
{
	__atomic_fetch_add(&agent_order_changes, 1, __ATOMIC_RELEASE);
}

/* Before the driver has the call, and after it. An operation of WORK or COPY is to be submitted
 * between the two, or carried. */
void agent_order_begin(const struct agent_order_call *c);
void agent_order_end(const struct agent_order_call *c, bool is_good);

/* The last of some operations of a stream. */
struct agent_order {
	uint32_t stream, nth; /* numbered from 1; nth 0: nothing is known of its order */
	/* A launch that may begin before this operation of its stream has ended; 0: none. */
	uint32_t early;
	struct agent_clock before;
};
/* n operations of a stream, at once. */
void agent_order_submit(struct agent_order *o, CUstream s, CUcontext context, uint32_t n);
/* A launch; is_early: it may begin before the launch before it has ended. */
void agent_order_launch(struct agent_order *o, CUstream s, CUcontext context, bool is_early);

/* A node of a graph that is launched; before: indexes of nodes that it comes after, all smaller. */
struct agent_order_node {
	const uint32_t *before;
	uint32_t nbefore;
	struct agent_order order;
};
/* A graph's launch before this one. nth 0: there was none. */
struct agent_order_last {
	uint32_t stream, nth;
};
/* All nodes of a graph; it comes after its last launch, wherever that was. */
void agent_order_graph(struct agent_order_node *v, uint32_t n, CUstream s, CUcontext context,
		       struct agent_order_last *last);
/* What an operation changes that nothing is compared with. It holds for others like it until
 * agent_order_changes is another number; AGENT_ORDER_SUBMIT: it must be submitted. */
#define AGENT_ORDER_SUBMIT UINT32_MAX
uint32_t agent_order_effect(CUstream s, CUcontext context, bool is_opaque);
/* There was one, or some. Without a lock. */
void agent_order_pass(uint32_t effect);
/* It has something in the stream that nothing is compared with, but that orders others. */
void agent_order_carry(CUstream s, CUcontext context);
/* Is there an operation of another stream that doesn't come before? is_across: of another context,
 * too. */
bool agent_order_is_unordered(const struct agent_order *o, CUcontext context, bool is_across);
/* All that was submitted comes before what will be. */
void agent_order_all(void);
/* So many calls can't have been heard. Where that is news, it is the same, and what is submitted
 * may wait for anything until the host has waited for all. */
void agent_order_unheard(unsigned calls);
/* After fork, in the child. */
void agent_order_reset(void);

#endif
