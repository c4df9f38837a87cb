/*
 * rooms.c - memory of ours on the GPU, where launches' memory is copied to.
 *
 * A room serves one launch at a time, and stays for others of its context.
 *
 * Costs: at most ROOM_MOST or a quarter of the memory that is free.
 */
#include <stdlib.h>

#include "agent/judge/judge.h"

#define ROOM_MOST  (2ull << 30)
#define ROOM_LEAST (1ull << 20)

/* All under the lock of code.c. */
static struct judge_room *rooms;
static uint64_t room_bytes;

void judge_room_put(struct judge_room *r)
{
	judge_code_lock();
	r->is_used = false;
	judge_code_unlock();
}

void judge_rooms_forget(CUcontext ctx)
{
	judge_code_lock();
	for (struct judge_room *r = rooms; r; r = r->next)
		if (!ctx || r->ctx == ctx) {
			if (r->ctx)
				room_bytes -= r->bytes;
			r->ctx = NULL;
		}
	judge_code_unlock();
}

static struct judge_room *room_make(CUcontext ctx, uint64_t need)
{
	const struct judge_driver *d = &judge_driver;
	uint64_t bytes = ROOM_LEAST;
	size_t available = 0, total = 0;
	struct judge_room *r;

	while (bytes < need)
		bytes *= 2;
	if (bytes > need + need / 4)
		bytes = (need + ROOM_LEAST - 1) / ROOM_LEAST * ROOM_LEAST;
	if (room_bytes + bytes > ROOM_MOST || d->mem_get_info(&available, &total) != CUDA_SUCCESS ||
	    bytes > available / 4 || !(r = calloc(1, sizeof(*r))))
		return NULL;
	r->ctx = ctx;
	r->bytes = bytes;
	if (d->mem_alloc(&r->at, bytes) != CUDA_SUCCESS ||
	    d->event_create(&r->event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) {
		free(r); /* memory without an event is the context's to free */
		return NULL;
	}
	room_bytes += bytes;
	r->next = rooms;
	rooms = r;
	return r;
}

struct judge_room *judge_room_get(CUcontext ctx, uint64_t need)
{
	struct judge_room *best = NULL;

	for (struct judge_room *r = rooms; r; r = r->next)
		if (r->ctx == ctx && !r->is_used && r->bytes >= need &&
		    (!best || r->bytes < best->bytes))
			best = r;
	if (!best)
		best = room_make(ctx, need);
	if (best)
		best->is_used = true;
	return best;
}
