/*
 * allocated.c - the program's latest allocations, for launches that find pointers in memory.
 *
 * What such a launch reaches isn't known before it runs: a grouped product reads its matrices'
 * addresses from an array, and may be launched once. So all that the program has allocated is
 * copied for it, the latest first, as long as that is little.
 *
 * Misses: memory of the host, managed memory, mappings (cuMemMap), allocations that more than
 * JUDGE_ALLOCATIONS others followed, and what doesn't fit.
 * Costs: a lock and a few stores for each allocation.
 */
#include <pthread.h>

#include "agent/forward/forward.h"
#include "agent/judge/judge.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct judge_allocation last[JUDGE_ALLOCATIONS]; /* a ring */
static uint32_t made;

void judge_allocated(CUdeviceptr at, uint64_t bytes)
{
	pthread_mutex_lock(&lock);
	last[made++ % JUDGE_ALLOCATIONS] = (struct judge_allocation){at, bytes, forward_current()};
	pthread_mutex_unlock(&lock);
}

uint32_t judge_allocations(CUcontext ctx, struct judge_allocation *out)
{
	uint32_t n = 0;

	pthread_mutex_lock(&lock);
	for (uint32_t i = 1; i <= JUDGE_ALLOCATIONS && i <= made; i++)
		if (last[(made - i) % JUDGE_ALLOCATIONS].ctx == ctx)
			out[n++] = last[(made - i) % JUDGE_ALLOCATIONS];
	pthread_mutex_unlock(&lock);
	return n;
}
