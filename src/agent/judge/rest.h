/*
 * rest.h - launches that the judge doesn't want: the way of nearly all (rest.c).
 *
 * Each thread remembers what it has launched of late and what such a launch orders, a line of cache
 * each. The next one like it is compared with that line, and no more is done: 75 instructions, two
 * lines of data (that one, and the number of changes), four of code; with an effect on the API's
 * order, two stores into a third.
 */
#ifndef COLLIDER_AGENT_JUDGE_REST_H
#define COLLIDER_AGENT_JUDGE_REST_H

#include "agent/forward/forward.h"
#include "agent/order.h"

#define JUDGE_RESTS 16u

/* Of grid and block, and the shared memory. */
struct judge_rest_dims {
	uint32_t gx, gy, gz, bx, by, bz, shared;
};

struct judge_rest {
	const void *handle;
	CUstream stream;
	CUcontext context; /* NULL: whatever it is */
	struct judge_rest_dims dims;
	uint32_t changes; /* agent_order_changes, when it was found out */
	uint32_t effect;  /* on the API's order */
	uint16_t n, most; /* launches that haven't been counted, and when it is looked again */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct judge_rest) == 64, "one line");

extern __thread struct judge_rest judge_rests[JUDGE_RESTS] __attribute__((visibility("hidden")));

static inline struct judge_rest *judge_rest_of(const void *handle, uint32_t gx)
{
	uint64_t h = ((uint64_t)(uintptr_t)handle >> 4 ^ gx) * 0x9e3779b97f4a7c15u;

	return &judge_rests[h >> 60];
}

/* What is known of launches like this one; NULL: it must be looked at. */
static inline struct judge_rest *judge_rest_find(const void *handle, CUstream stream,
						 struct judge_rest_dims d)
{
	struct judge_rest *r = judge_rest_of(handle, d.gx);

	if (r->handle != handle || r->stream != stream || r->n == r->most || r->dims.gx != d.gx ||
	    r->dims.gy != d.gy || r->dims.gz != d.gz || r->dims.bx != d.bx || r->dims.by != d.by ||
	    r->dims.bz != d.bz || r->dims.shared != d.shared ||
	    r->changes != __atomic_load_n(&agent_order_changes, __ATOMIC_ACQUIRE))
		return NULL;
	return r;
}

#endif
