/*
 * maps.c - tensor maps, by their 128 bytes: what cuTensorMapEncodeTiled, ...Im2col or ...Im2colWide
 * was asked for.
 *
 * Only the driver understands a map, and a program may copy it wherever it likes: into parameters,
 * constant or global memory. So the judge is sent all that were made, before a launch that was made
 * after them, and finds their bytes in what it reads (judge/maps.c). Here parameters are searched,
 * for the tensors that a launch can reach.
 *
 * Misses: maps that kernels change, and those that copies of bytes have changed.
 * Costs: an entry for each map that was made, RACE_JUDGE_MAPS at once; older ones are forgotten.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "agent/table.h"

#include "agent/judge/judge.h"

struct map {
	UT_hash_handle hh;
	uint8_t bytes[RACE_JUDGE_MAP_BYTES];
	struct race_judge_map m;
	bool is_sent;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct map *maps; /* in the order in which they were made */
static uint32_t unsent;
static CUdeviceptr last[JUDGE_TENSORS]; /* tensors of the last ones, a ring */
static uint32_t made;

static void forget(void)
{
	struct map *m, *next;

	HASH_ITER(hh, maps, m, next)
	{
		HASH_DEL(maps, m);
		free(m);
	}
	unsent = 0;
}

static void note_tensor(CUdeviceptr at)
{
	for (uint32_t i = 0; i < JUDGE_TENSORS; i++)
		if (last[i] == at)
			return;
	last[made++ % JUDGE_TENSORS] = at;
}

void judge_map_add(const void *bytes, const struct race_judge_map *desc)
{
	struct map *m;

	pthread_mutex_lock(&lock);
	note_tensor(desc->address);
	HASH_FIND(hh, maps, bytes, RACE_JUDGE_MAP_BYTES, m);
	if (!m && HASH_COUNT(maps) >= RACE_JUDGE_MAPS)
		forget();
	if (!m && (m = calloc(1, sizeof(*m)))) {
		memcpy(m->bytes, bytes, RACE_JUDGE_MAP_BYTES);
		m->m = *desc;
		unsent++;
		AGENT_TABLE_ADD(maps, bytes, m);
	}
	pthread_mutex_unlock(&lock);
}

uint32_t judge_maps_find(const uint8_t *params, uint32_t bytes, CUdeviceptr *out)
{
	uint32_t n = 0;
	struct map *m;

	pthread_mutex_lock(&lock);
	for (uint32_t at = 0; maps && at + RACE_JUDGE_MAP_BYTES <= bytes && n < JUDGE_TENSORS;
	     at += RACE_JUDGE_MAP_ALIGN) {
		HASH_FIND(hh, maps, params + at, RACE_JUDGE_MAP_BYTES, m);
		if (m)
			out[n++] = m->m.address;
	}
	pthread_mutex_unlock(&lock);
	return n;
}

uint32_t judge_maps_last(CUdeviceptr *out)
{
	pthread_mutex_lock(&lock);
	uint32_t n = made < JUDGE_TENSORS ? made : JUDGE_TENSORS;
	memcpy(out, last, n * sizeof(*out));
	pthread_mutex_unlock(&lock);
	return n;
}

/* Copies of what is to be sent: the program needn't wait for a socket. NULL: nothing, or there is
 * no memory. */
static struct map *take_unsent(uint32_t *n)
{
	struct map *m, *next, *copies = NULL;

	*n = 0;
	pthread_mutex_lock(&lock);
	if (unsent)
		copies = malloc(unsent * sizeof(*copies));
	HASH_ITER(hh, maps, m, next)
	{
		if (!copies || m->is_sent)
			continue;
		copies[(*n)++] = *m;
		m->is_sent = true;
	}
	unsent -= *n;
	pthread_mutex_unlock(&lock);
	return copies;
}

bool judge_maps_send(int fd)
{
	uint32_t n;
	struct map *m = take_unsent(&n);
	bool is_good = true;

	for (uint32_t i = 0; i < n && is_good; i++)
		is_good = race_judge_send(fd, RACE_JUDGE_MAP, 0, &m[i].m, sizeof(m[i].m),
					  m[i].bytes, sizeof(m[i].bytes));
	free(m);
	return is_good;
}
