/*
 * proven_room.c - memory for what proven launches note, kept for later ones.
 *
 * A program launches its kernels again and again, and each launch's notes are about as large as the
 * arrays that it accesses. Memory that goes back to the system comes page by page, zeroed by the
 * kernel under a lock of the process, while several workers wait for it. So it is kept here, by
 * size: who gives a room has zeroed what it has written, which is less.
 *
 * Costs: up to KEPT_BYTES that are not in use.
 */
#include "cpu/events/proven_run.h"

#include <stdlib.h>
#include <string.h>

#define KEPT_BYTES (128ull << 20)
#define KEPT_ROOMS 256u
#define LARGEST	   (KEPT_BYTES / 4)

struct room {
	void *p;
	uint64_t bytes;
	bool is_zero;
};

/* Of the process; the last given is the last. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct room kept[KEPT_ROOMS];
static unsigned nkept;
static uint64_t kept_bytes;

/* With the lock. */
static void *remove_at(unsigned i)
{
	void *p = kept[i].p;

	kept_bytes -= kept[i].bytes;
	nkept--;
	memmove(&kept[i], &kept[i + 1], (nkept - i) * sizeof(kept[0]));
	return p;
}

void *proven_room_take(uint64_t bytes, bool is_zero)
{
	void *p = NULL;

	pthread_mutex_lock(&lock);
	for (unsigned i = nkept; i-- > 0 && !p;)
		if (kept[i].bytes == bytes && kept[i].is_zero == is_zero)
			p = remove_at(i);
	pthread_mutex_unlock(&lock);
	if (p)
		return p;
	return is_zero ? calloc(1, bytes) : malloc(bytes);
}

bool proven_room_is_kept(uint64_t bytes)
{
	return bytes <= LARGEST;
}

void proven_room_give(void *p, uint64_t bytes, bool is_zero)
{
	if (!p || !proven_room_is_kept(bytes)) {
		free(p);
		return;
	}
	pthread_mutex_lock(&lock);
	while (kept_bytes + bytes > KEPT_BYTES || nkept == KEPT_ROOMS)
		free(remove_at(0));
	kept[nkept++] = (struct room){p, bytes, is_zero};
	kept_bytes += bytes;
	pthread_mutex_unlock(&lock);
}
