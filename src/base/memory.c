/*
 * memory.c - what happens when there is no memory: the one policy of all rooms.
 *
 * Tools print a message and end with BASE_EXIT_INTERNAL. A user's process must not be ended by us:
 * a reserve is held there (base_reserve), which is returned to the system at the first allocation
 * that fails. Work in progress completes with it; the part that holds the reserve is notified,
 * accepts no new work (the boundary of its API tests base_is_short) and states in the report what
 * went unchecked. So an allocation never fails in the middle of a change, and no lock or half-made
 * structure is left behind. A later call may get the reserve again (base_rearm) and go on.
 *
 * Misses: a call that needs more than the reserve while no other memory is left; the process ends
 * as in a tool.
 * Costs: address space for the reserve; its pages are never touched.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/base.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *reserve;
static size_t reserve_bytes;
static void (*on_short)(void);
static _Atomic bool is_short;
static bool is_quiet;

static void *map_reserve(void)
{
	void *p = mmap(NULL, reserve_bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void base_reserve(size_t bytes, void (*when_short)(void))
{
	pthread_mutex_lock(&lock);
	reserve_bytes = bytes;
	on_short = when_short;
	reserve = map_reserve();
	pthread_mutex_unlock(&lock);
}

bool base_is_short(void)
{
	return atomic_load_explicit(&is_short, memory_order_relaxed);
}

bool base_rearm(void)
{
	pthread_mutex_lock(&lock);
	if (!reserve)
		reserve = map_reserve();
	bool is_good = reserve != NULL;
	if (is_good)
		atomic_store(&is_short, false);
	pthread_mutex_unlock(&lock);
	return is_good;
}

/* Releases the reserve; the caller tries again. Doesn't return if there is none. */
static void give_way(size_t wanted)
{
	pthread_mutex_lock(&lock);
	void *p = reserve;
	bool was_short = atomic_exchange(&is_short, true);
	reserve = NULL;
	pthread_mutex_unlock(&lock);
	if (p)
		munmap(p, reserve_bytes);
	if (p && !was_short && on_short)
		on_short();
	/* If another thread has just released the reserve, the caller tries again, too. */
	if (p || was_short)
		return;
	base_out_of_memory(wanted);
}

void base_out_of_memory(size_t wanted)
{
	fprintf(stderr, "collider: out of memory (wanted %zu more bytes)\n", wanted);
	if (is_quiet)
		_exit(BASE_EXIT_INTERNAL);
	exit(BASE_EXIT_INTERNAL);
}

void base_end_quietly(void)
{
	is_quiet = true;
}

#define TRIES 3

void *base_aligned(size_t align, size_t bytes)
{
	for (int i = 0; i < TRIES; i++) {
		void *p = align ? aligned_alloc(align, bytes) : malloc(bytes ? bytes : 1);
		if (p)
			return p;
		give_way(bytes);
	}
	base_out_of_memory(bytes);
}

void *base_malloc(size_t bytes)
{
	return base_aligned(0, bytes);
}

void *base_calloc(size_t n, size_t size)
{
	for (int i = 0; i < TRIES; i++) {
		void *p = calloc(n ? n : 1, size ? size : 1);
		if (p)
			return p;
		give_way(n * size);
	}
	base_out_of_memory(n * size);
}

void *base_realloc(void *old, size_t bytes)
{
	for (int i = 0; i < TRIES; i++) {
		void *p = realloc(old, bytes ? bytes : 1);
		if (p)
			return p;
		give_way(bytes);
	}
	base_out_of_memory(bytes);
}
