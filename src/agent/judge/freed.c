/*
 * freed.c - memory that the program has given back in the order of a stream, so that the driver
 * still knows its address: it may be unmapped at any time, and a copy of it would be an error of
 * the program's.
 *
 * Misses: memory that is freed between our question and the copy, by another thread without order.
 * Costs: a look-up for each allocation of a launch that is taken.
 */
#include <pthread.h>
#include <stdlib.h>

#include "agent/table.h"

#include "agent/judge/judge.h"

struct freed {
	UT_hash_handle hh;
	CUdeviceptr at;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct freed *freed;

void judge_memory_freed(CUdeviceptr at)
{
	struct freed *f;

	pthread_mutex_lock(&lock);
	HASH_FIND(hh, freed, &at, sizeof(at), f);
	if (!f && (f = calloc(1, sizeof(*f)))) {
		f->at = at;
		AGENT_TABLE_ADD(freed, at, f);
	}
	if (!f)
		judge_set_off(); /* what is freed couldn't be recognised any more */
	pthread_mutex_unlock(&lock);
}

void judge_memory_got(CUdeviceptr at)
{
	struct freed *f;

	pthread_mutex_lock(&lock);
	HASH_FIND(hh, freed, &at, sizeof(at), f);
	if (f) {
		HASH_DEL(freed, f);
		free(f);
	}
	pthread_mutex_unlock(&lock);
}

bool judge_memory_is_freed(CUdeviceptr at)
{
	struct freed *f;

	pthread_mutex_lock(&lock);
	HASH_FIND(hh, freed, &at, sizeof(at), f);
	pthread_mutex_unlock(&lock);
	return f != NULL;
}
