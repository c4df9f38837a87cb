/*
 * maps.c - tensor maps, by their 128 bytes: what cuTensorMapEncodeTiled, ...Im2col or ...Im2colWide
 * was asked for.
 *
 * Only the driver understands a map, and a program may copy it wherever it likes; so launches are
 * searched for the bytes of those that were made.
 *
 * Misses: maps in constant and global memory; those that kernels change.
 * Costs: an entry for each map that was made, MOST at once; older ones are forgotten then.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "agent/table.h"

#include "agent/judge/judge.h"

#define MOST  4096u
#define ALIGN 64u /* of a map */

struct map {
	UT_hash_handle hh;
	uint8_t bytes[RACE_JUDGE_MAP_BYTES];
	struct race_judge_map m;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct map *maps;

static void forget(void)
{
	struct map *m, *next;

	HASH_ITER(hh, maps, m, next)
	{
		HASH_DEL(maps, m);
		free(m);
	}
}

void judge_map_add(const void *bytes, const struct race_judge_map *desc)
{
	struct map *m;

	pthread_mutex_lock(&lock);
	HASH_FIND(hh, maps, bytes, RACE_JUDGE_MAP_BYTES, m);
	if (!m && HASH_COUNT(maps) >= MOST)
		forget();
	if (m) {
		m->m = *desc;
	} else if ((m = calloc(1, sizeof(*m)))) {
		memcpy(m->bytes, bytes, RACE_JUDGE_MAP_BYTES);
		m->m = *desc;
		AGENT_TABLE_ADD(maps, bytes, m);
	}
	pthread_mutex_unlock(&lock);
}

uint32_t judge_maps_find(const uint8_t *params, uint32_t bytes, struct race_judge_map *out)
{
	uint32_t n = 0;
	struct map *m;

	pthread_mutex_lock(&lock);
	for (uint32_t at = 0; maps && at + RACE_JUDGE_MAP_BYTES <= bytes; at += ALIGN) {
		HASH_FIND(hh, maps, params + at, RACE_JUDGE_MAP_BYTES, m);
		if (!m || n == RACE_JUDGE_MAPS)
			continue;
		out[n] = m->m;
		out[n++].offset = at;
	}
	pthread_mutex_unlock(&lock);
	return n;
}
