/*
 * maps.c - records the tensor maps that a program makes, for its kernels.
 *
 * The process keeps one table; each region of it (a CUDA context, a device of
 * the CPU device) has a copy that kernels read, brought up to date when a map is
 * made and when a region is claimed. A map is made before the launch that uses it.
 *
 * Misses: more than RACE_MAPS different maps, and the maps that box.h excludes; copies by such maps
 * are counted at run time. Costs: 132 KiB for each region that is used.
 */
#include "race/file/maps.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

/* The numbers of cuda.h. */
enum { TYPE_PLAIN_END = 10, SWIZZLE_END = 4, MAX_BOX = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* an innermost one */
static struct race_maps own;
static struct race_region *regions[RACE_REGIONS];
static uint32_t nregions;

static bool is_plain(const struct race_map_request *q)
{
	if (q->rank < 1 || q->rank > RACE_MAP_RANK || q->type >= TYPE_PLAIN_END || q->interleave ||
	    q->swizzle >= SWIZZLE_END || !q->address || q->address % 16)
		return false;
	for (uint32_t i = 0; i < q->rank; i++)
		if (q->element_strides[i] != 1 || !q->box[i] || q->box[i] > MAX_BOX)
			return false;
	for (uint32_t i = 0; i + 1 < q->rank; i++)
		if (q->strides[i] % 16)
			return false;
	return true;
}

bool race_box_make(struct race_box *b, const struct race_map_request *q)
{
	/* By CUtensorMapDataType: u8 u16 u32 s32 u64 s64 f16 f32 f64 bf16. */
	static const uint8_t bytes[TYPE_PLAIN_END] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2};

	if (!is_plain(q))
		return false;
	memset(b, 0, sizeof(*b));
	b->address = q->address;
	b->elem = bytes[q->type];
	b->rank = (uint8_t)q->rank;
	b->swizzle = (uint8_t)q->swizzle;
	for (uint32_t i = 0; i < RACE_MAP_RANK; i++) {
		b->dims[i] = i < q->rank ? q->dims[i] : 1;
		b->count[i] = (uint16_t)(i < q->rank ? q->box[i] : 1);
		if (i + 1 < q->rank)
			b->strides[i] = q->strides[i];
	}
	uint32_t inner = b->count[0] * (uint32_t)b->elem;
	return inner % 16 == 0 && (!b->swizzle || inner == 16u << b->swizzle);
}

static void put(struct race_maps *t, uint64_t key, const struct race_map *m)
{
	for (uint32_t i = 0; i < RACE_MAP_PROBES; i++) {
		uint32_t at = ((uint32_t)key + i) % RACE_MAPS;

		if (t->keys[at] == key && !memcmp(t->maps[at].words, m->words, sizeof(m->words)))
			return;
		if (t->keys[at])
			continue;
		t->maps[at] = *m;
		__atomic_store_n(&t->keys[at], key, __ATOMIC_RELEASE);
		return;
	}
}

void race_map_record(const void *map, const struct race_map_request *q)
{
	struct race_map m;
	uint64_t h = 0;

	if (!race_box_make(&m.box, q))
		return;
	memcpy(m.words, map, sizeof(m.words));
	for (uint32_t i = 0; i < RACE_MAP_WORDS; i++)
		h = race_map_mix(h, m.words[i]);
	pthread_mutex_lock(&lock);
	put(&own, race_map_key(h), &m);
	for (uint32_t i = 0; i < nregions; i++)
		if (regions[i]->pid == (uint32_t)getpid()) /* not those of before a fork */
			put(&regions[i]->maps, race_map_key(h), &m);
	pthread_mutex_unlock(&lock);
}

void race_maps_attach(struct race_region *region)
{
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < RACE_MAPS; i++)
		if (own.keys[i])
			put(&region->maps, own.keys[i], &own.maps[i]);
	if (nregions < RACE_REGIONS)
		regions[nregions++] = region;
	pthread_mutex_unlock(&lock);
}
