/*
 * host_area.c - the table of memory that host and device share, and which accesses may race in it.
 *
 * Kept in the shared file, where the host half of the same process reads it at each access that
 * passes the filter. Entering or removing a range moves the ones after it and makes the map of
 * pages again: fine for a program's allocations, of which RACE_HOST_RANGES have room (others are
 * counted in nlost). A range that overlaps an older one replaces it: the older one was freed
 * without our notice.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "race/file/host.h"
#include "race/file/shm_write.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* taken under all others */
static struct race_host_area *area;

/* Sets the filter to what is known now. Lock held. */
static void filter_set(struct race_host_area *a)
{
	bool is_on = a->busy && (a->is_all || a->nranges);
	uint64_t lo = a->is_all ? 0 : a->all_lo;

	if (!is_on || lo != __atomic_load_n(&a->lo, __ATOMIC_RELAXED))
		__atomic_store_n(&a->span, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&a->lo, lo, __ATOMIC_RELEASE);
	if (is_on)
		__atomic_store_n(&a->span, a->is_all ? UINT64_MAX : a->all_span, __ATOMIC_RELEASE);
}

static struct race_mirror *mirror_at(uint64_t offset)
{
	return (void *)((char *)race_shm_get() + offset);
}

/* Lock held. */
static void map_copy(const struct race_host_area *a, struct race_mirror *m)
{
	for (size_t i = 0; i < RACE_HOST_PAGES / 64; i++)
		__atomic_store_n(&m->map[i], a->map[i], __ATOMIC_RELAXED);
}

/* Bounds and map from the ranges. Lock held. */
static void summary_set(struct race_host_area *a)
{
	uint64_t map[RACE_HOST_PAGES / 64] = {0};

	for (uint32_t i = 0; i < a->nranges; i++) {
		uint64_t first = a->ranges[i].base >> RACE_HOST_PAGE;
		uint64_t last = (a->ranges[i].end - 1) >> RACE_HOST_PAGE;
		if (last - first >= RACE_HOST_PAGES)
			last = first + RACE_HOST_PAGES - 1;
		for (uint64_t p = first; p <= last; p++)
			map[p % RACE_HOST_PAGES / 64] |= 1ull << (p % 64);
	}
	for (size_t i = 0; i < RACE_HOST_PAGES / 64; i++)
		__atomic_store_n(&a->map[i], a->is_all ? ~0ull : map[i], __ATOMIC_RELAXED);
	for (unsigned i = 0; i < RACE_MIRRORS; i++)
		if (a->mirror[i])
			map_copy(a, mirror_at(a->mirror[i]));
	a->all_lo = a->nranges ? a->ranges[0].base : 0;
	a->all_span = a->nranges ? a->ranges[a->nranges - 1].end - a->all_lo : 0;
	filter_set(a);
}

/* Index of the first range that ends after the address. */
static uint32_t range_find(const struct race_host_area *a, uint64_t address, uint32_t n)
{
	uint32_t low = 0, high = n;

	while (low < high) {
		uint32_t mid = (low + high) / 2;
		if (__atomic_load_n(&a->ranges[mid].end, __ATOMIC_RELAXED) > address)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

static void seq_step(struct race_host_area *a)
{
	__atomic_store_n(&a->seq, a->seq + 1, __ATOMIC_SEQ_CST);
}

/* Removes ranges [i, j). Lock held, seq odd. */
static void cut(struct race_host_area *a, uint32_t i, uint32_t j)
{
	memmove(&a->ranges[i], &a->ranges[j], (a->nranges - j) * sizeof(a->ranges[0]));
	a->nranges -= j - i;
}

/* ------------------------------------------------------------------------ */

static struct race_host_area *find(void)
{
	size_t bytes = 0;
	void *p = race_shm_find(RACE_CHUNK_HOST_AREA, (uint64_t)getpid(), &bytes);

	return bytes >= sizeof(struct race_host_area) ? p : NULL;
}

struct race_host_area *race_host_make(void)
{
	const struct race_shm *shm = race_shm_get();
	static const struct race_host_area empty;
	struct race_host_area *a = shm ? find() : NULL;

	if (!a && shm) {
		a = race_shm_chunk(RACE_CHUNK_HOST_AREA, (uint64_t)getpid(), &empty, sizeof(empty),
				   NULL, 0);
		if (a && shm->flags & RACE_RUN_HOST_ALL) {
			a->is_all = 1;
			memset(a->map, 0xff, sizeof(a->map));
		}
	}
	return a;
}

struct race_host_area *race_host_get(void)
{
	static uint64_t seen; /* of the heap, when there was no area yet */
	struct race_host_area *a = __atomic_load_n(&area, __ATOMIC_ACQUIRE);
	const struct race_shm *shm = race_shm_get();
	uint64_t used = shm ? __atomic_load_n(&shm->heap_used, __ATOMIC_RELAXED) : 0;

	if (a || used == __atomic_load_n(&seen, __ATOMIC_RELAXED))
		return a;
	a = find();
	__atomic_store_n(&seen, used, __ATOMIC_RELAXED);
	__atomic_store_n(&area, a, __ATOMIC_RELEASE);
	return a;
}

void race_host_forget(void)
{
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	area = NULL;
}

void race_host_add(uint64_t base, uint64_t bytes, unsigned space)
{
	struct race_host_area *a = race_host_get();
	uint32_t i, j;

	if (!a || !bytes || base + bytes < base)
		return;
	pthread_mutex_lock(&lock);
	i = range_find(a, base, a->nranges);
	for (j = i; j < a->nranges && a->ranges[j].base < base + bytes; j++)
		;
	seq_step(a);
	cut(a, i, j);
	if (a->nranges == RACE_HOST_RANGES) {
		a->nlost++;
	} else {
		memmove(&a->ranges[i + 1], &a->ranges[i], (a->nranges - i) * sizeof(a->ranges[0]));
		a->ranges[i] = (struct race_host_range){base, base + bytes, space};
		a->nranges++;
	}
	summary_set(a);
	seq_step(a);
	pthread_mutex_unlock(&lock);
}

void race_host_remove(uint64_t base)
{
	struct race_host_area *a = race_host_get();

	if (!a)
		return;
	pthread_mutex_lock(&lock);
	uint32_t i = range_find(a, base, a->nranges);
	if (i < a->nranges && a->ranges[i].base == base) {
		seq_step(a);
		cut(a, i, i + 1);
		summary_set(a);
		seq_step(a);
	}
	pthread_mutex_unlock(&lock);
}

void race_host_busy(unsigned device, bool is_busy)
{
	struct race_host_area *a = race_host_get();
	uint32_t bit = 1u << (device & 31);

	if (!a || ((__atomic_load_n(&a->busy, __ATOMIC_RELAXED) & bit) != 0) == is_busy)
		return;
	pthread_mutex_lock(&lock);
	a->busy = is_busy ? a->busy | bit : a->busy & ~bit;
	filter_set(a);
	pthread_mutex_unlock(&lock);
}

struct race_mirror *race_host_mirror(void)
{
	struct race_host_area *a = race_host_get();
	uint64_t at, page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct race_mirror *m = NULL;
	unsigned i = 0;
	char *room;

	if (!a)
		return NULL;
	pthread_mutex_lock(&lock);
	while (i < RACE_MIRRORS && a->mirror[i])
		i++;
	room = i < RACE_MIRRORS ? race_shm_chunk(RACE_CHUNK_MIRROR, (uint64_t)getpid(), NULL,
						 sizeof(*m) + page, NULL, 0)
				: NULL;
	if (room) {
		at = (uint64_t)(room - (char *)race_shm_get());
		at = (at + page - 1) / page * page;
		m = mirror_at(at);
		map_copy(a, m);
		__atomic_store_n(&a->mirror[i], at, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
	return m;
}

void race_host_mirror_end(struct race_mirror *m)
{
	struct race_host_area *a = race_host_get();

	if (!a || !m)
		return;
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < RACE_MIRRORS; i++)
		if (a->mirror[i] && mirror_at(a->mirror[i]) == m)
			__atomic_store_n(&a->mirror[i], 0, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
}

bool race_host_lookup(const struct race_host_area *a, uint64_t address, struct race_host_range *out)
{
	/* A few tries: while the table changes, an access goes unchecked rather than wait. */
	for (int tries = 0; tries < 4; tries++) {
		uint32_t seq = __atomic_load_n(&a->seq, __ATOMIC_ACQUIRE);
		uint32_t n = __atomic_load_n(&a->nranges, __ATOMIC_RELAXED);
		uint32_t i;

		if (seq & 1 || n > RACE_HOST_RANGES)
			continue;
		i = range_find(a, address, n);
		if (i < n)
			memcpy(out, &a->ranges[i], sizeof(*out));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&a->seq, __ATOMIC_RELAXED) == seq)
			return i < n && out->base <= address && address < out->end;
	}
	return false;
}
