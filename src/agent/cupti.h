/*
 * cupti.h - inside src/agent: what the agent listens to, for callback.c: CUPTI, or the library that
 * stands in for the driver's, which has the same three functions.
 */
#ifndef COLLIDER_AGENT_CUPTI_H
#define COLLIDER_AGENT_CUPTI_H

#include <stdbool.h>

#include <cupti.h>

struct agent_context;
struct agent_kernel;

struct agent_cupti {
	__typeof__(cuptiSubscribe) *subscribe;
	__typeof__(cuptiUnsubscribe) *unsubscribe;
	__typeof__(cuptiEnableCallback) *enable_callback;
};

/* The library that stands in for the driver's; false: it isn't in this process. */
bool agent_forward_find(struct agent_cupti *cupti);
/* Loads CUPTI, which stays; false: it wasn't found, or lacks a function. */
bool agent_cupti_find(struct agent_cupti *cupti);

/* callback.c: what is called, and the functions of which. Callbacks of launches and modules are
 * necessary, without which this is false; the other functions may be missing. */
void CUPTIAPI agent_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			     const void *data);
bool agent_enable(const struct agent_cupti *cupti, CUpti_SubscriberHandle sub);

/* driver.c: is a launch in this stream only written into a graph? The null stream can't be
 * captured. */
bool agent_is_captured(CUstream stream);
/* The default stream is that of the calling thread, where the function's name says so. */
CUstream agent_own_stream(CUstream stream, const CUpti_CallbackData *d);

/* quick.c: before and after a call of the driver's: true: it launches what this thread has launched
 * before and only counts, which is done. Such a launch, to be known from now on. */
bool agent_quick_call(uint32_t id, const void *data);
void agent_quick_note(const CUpti_CallbackData *d, CUfunction f, struct agent_context *c,
		      struct agent_kernel *k);

#endif
