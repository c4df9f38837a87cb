/*
 * context.h - contexts, as the driver's API has them. Those of one device share its memory and
 * streams.
 */
#ifndef COLLIDER_CUDART_CONTEXT_H
#define COLLIDER_CUDART_CONTEXT_H

#include "cudart/state/internal.h"

/* Is never freed, so that a thread may still have it as its current one. */
struct rt_context {
	unsigned device, flags, version;
	uint64_t id;
	unsigned refs; /* of a primary one: retains; of another: 1 until it is destroyed */
	bool is_primary, is_runtime; /* the runtime holds one of the retains */
};

/* The device's primary context; its handle is known from the start. */
struct rt_context *rt_context_primary(unsigned device);
/* The context of a handle; NULL: none. Lock not held. */
struct rt_context *rt_context_find(rt_ref handle);
/* A context of its own, not current yet. */
struct rt_context *rt_context_new(unsigned device, unsigned flags);
/* Takes and drops a retain. With the last one of a device's contexts all that the device holds is
 * gone. False: there was none. */
void rt_context_retain(struct rt_context *c);
bool rt_context_release(struct rt_context *c);
/* cudaDeviceReset, cuDevicePrimaryCtxReset. */
void rt_context_reset(unsigned device);
/* Makes it the calling thread's current one, with its device; NULL: none is. */
void rt_context_set(struct rt_context *c);
/* The runtime was called: without a current context the thread gets its device's primary one. */
void rt_context_attach(void);

#endif
