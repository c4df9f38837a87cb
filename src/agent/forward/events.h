/*
 * events.h - inside src/agent/forward: what the program does with the driver, for the agent.
 *
 * The agent listens by three functions with the types of CUPTI's, which this library exports under
 * names of its own; what it is handed is CUPTI's, too (CUpti_CallbackData with the structures of
 * parameters). So the agent has one interface, whichever of the two it listens to.
 */
#ifndef COLLIDER_AGENT_FORWARD_EVENTS_H
#define COLLIDER_AGENT_FORWARD_EVENTS_H

#include <stdbool.h>

#include <cupti.h>

/* One call of a function that is listened to, on the stack of its thread. */
struct forward_call {
	CUpti_CallbackData data;
	uint64_t kept; /* what the listener's two halves share */
	CUresult result;
	uint32_t id;
	const void *caller; /* the return address */
	struct forward_call *outer;
	/* contexts.c */
	CUcontext primary;
	bool was_active;
};

/* contexts.c: contexts that are made and destroyed by this call, before and after it. */
void forward_contexts_before(struct forward_call *c);
void forward_contexts_after(struct forward_call *c);
/* Those functions, to be listened to: calls `add` for each. */
void forward_contexts_each(void (*add)(uint32_t id));
/* events.c, for contexts.c: CUPTI's callback of the domain of resources. */
void forward_resource(CUpti_CallbackIdResource id, CUcontext context, void *descriptor);

#endif
