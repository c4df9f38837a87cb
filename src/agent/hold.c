/*
 * hold.c - kernels of independent streams in another order: --shuffle-streams.
 *
 * Before a launch that race/shuffle/hold.h selects, a kernel of our own is launched into the same
 * stream: one thread that sleeps. What follows it in the stream, or waits for that, comes later;
 * all other streams continue. Only time passes, so whatever was ordered stays ordered, and a result
 * can only change if it depended on an accidental order.
 *
 * Never held back, and counted: the legacy stream, with which other streams are ordered implicitly;
 * streams that are captured; programmatic launches, which a kernel in between would order after
 * the end of their predecessor.
 *
 * Misses: kernels longer than the longest wait (17 ms) of one launch; graphs move as a whole.
 * Costs: off, one comparison for each launch; on, a launch for each of those held back, and their
 * time.
 */
#include <stdbool.h>
#include <stdlib.h>

/* Out of memory: the stream is never held back. */
#include "agent/table.h"

#include "agent/agent.h"

struct agent_holds {
	CUfunction kernel;
	struct race_holds *counts; /* in the shared file; atomic */
	uint32_t nstreams;
};

struct stream_key {
	const struct agent_holds *holds;
	CUstream stream;
};

struct stream {
	struct stream_key key;
	uint32_t number;
	uint64_t launches;
	UT_hash_handle hh;
};

static struct stream *streams; /* under the lock */

static void count(uint64_t *n)
{
	__atomic_fetch_add(n, 1, __ATOMIC_RELAXED);
}

/* How long this launch waits. */
static uint64_t draw(struct agent_holds *h, CUstream stream)
{
	struct stream_key key = {h, stream};
	uint64_t ns = 0;
	struct stream *s;

	agent_lock();
	HASH_FIND(hh, streams, &key, sizeof(key), s);
	if (!s && (s = calloc(1, sizeof(*s)))) {
		s->key = key;
		s->number = h->nstreams++;
		AGENT_TABLE_ADD(streams, key, s);
	}
	if (!s)
		AGENT_NO_MEMORY("a stream keeps its order");
	else
		ns = race_hold_ns(race_shm_get()->seed, s->number, s->launches++);
	agent_unlock();
	return ns;
}

/* ------------------------------------------------------------------------ */

struct agent_holds *agent_holds_new(struct race_region *region)
{
	struct agent_holds *h;
	CUmodule module;

	if (!(race_shm_get()->flags & RACE_RUN_STREAMS))
		return NULL;
	h = calloc(1, sizeof(*h));
	if (!h) {
		AGENT_NO_MEMORY("streams keep their order");
		return NULL;
	}
	if (agent_driver.module_load_data && agent_driver.module_get_function &&
	    agent_driver.launch_kernel &&
	    agent_driver.module_load_data(&module, agent_hold_ptx) == CUDA_SUCCESS &&
	    agent_driver.module_get_function(&h->kernel, module, "__collider_hold") ==
		    CUDA_SUCCESS) {
		h->counts = &region->holds;
		return h;
	}
	free(h);
	race_shm_note("the driver does not take the kernel of --shuffle-streams; streams keep "
		      "their order");
	return NULL;
}

void agent_hold(struct agent_holds *h, CUstream stream, enum race_hold_skip why)
{
	struct agent_guard g;
	CUresult r;
	uint64_t ns;

	if (!stream || stream == CU_STREAM_LEGACY)
		why = RACE_HOLD_NULL_STREAM;
	if (why != RACE_HOLD_SKIPS) {
		count(&h->counts->skipped[why]);
		return;
	}
	ns = draw(h, stream);
	if (!ns) {
		count(&h->counts->passed);
		return;
	}
	agent_enter(&g);
	r = agent_driver.launch_kernel(h->kernel, 1, 1, 1, 1, 1, 1, 0, stream, (void *[]){&ns},
				       NULL);
	agent_leave(&g);
	count(r == CUDA_SUCCESS ? &h->counts->held : &h->counts->skipped[RACE_HOLD_REFUSED]);
}

void agent_holds_reset(void)
{
	streams = NULL;
}
