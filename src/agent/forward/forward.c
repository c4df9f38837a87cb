/*
 * forward.c - the first call: opens the driver and fills the table that all functions jump by.
 *
 * Once the table is filled nothing of ours is left on the way of a call but the jump, until the
 * agent listens to a function (events.c). What the
 * driver lacks answers that there is no such function (CUDA_ERROR_NOT_SUPPORTED); `collider run`
 * has taken such names out of the copy that it preloads (complete.c). Without a driver every call
 * answers that there is no device, as a stub would.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/forward/forward.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static __thread bool is_opening; /* the driver's own start calls us */
static struct forward_symbols own, real;
static bool has_driver;
static const char *opened;

/* The driver's functions by address, and ours. */
#define FUNCTIONS 2048
static struct function {
	const void *real;
	void *entry;
} functions[FUNCTIONS];
static size_t nfunctions;

static CUresult no_driver(void)
{
	return CUDA_ERROR_NO_DEVICE;
}

static CUresult no_function(void)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

static void *real_by_name(const char *name)
{
	const char *its;

	if (!has_driver)
		return NULL;
	if (real.hash)
		return forward_symbols_find(&real, name);
	for (size_t i = 0; i < real.n; i++) {
		void *at = forward_symbols_at(&real, i, &its);
		if (at && !strcmp(its, name))
			return at;
	}
	return NULL;
}

/* Once: what a place has been given stays. */
static void set(void **slot, void *to)
{
	const char *now = *slot;

	if (now >= forward_lazy && now < forward_lazy_end)
		__atomic_store_n(slot, to, __ATOMIC_RELEASE);
}

static void set_by_name(const char *name, void *to)
{
	void *entry = forward_symbols_find(&own, name);
	void **slot = entry ? forward_slot(entry) : NULL;

	if (slot)
		set(slot, to);
}

static void find_hooked(const struct forward_hook *h)
{
	for (; h->name; h++)
		*h->real = real_by_name(h->name);
}

/* Those functions that the driver has. All must have been found by then: another thread may be on
 * its way through them. */
static void put_hooks(const struct forward_hook *h)
{
	for (; h->name; h++)
		if (*h->real)
			set_by_name(h->name, h->ours);
}

static int by_address(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t)((const struct function *)a)->real;
	uintptr_t y = (uintptr_t)((const struct function *)b)->real;

	return (x > y) - (x < y);
}

/* The same in front of other hooks, which they call. */
static void put_first(const struct forward_hook *h)
{
	for (; h->name; h++) {
		void *entry = *h->real ? forward_symbols_find(&own, h->name) : NULL;
		void **slot = entry ? forward_slot(entry) : NULL;
		const char *now = slot ? *slot : NULL;
		if (!slot)
			continue;
		if (now < forward_lazy || now >= forward_lazy_end)
			*h->real = *slot;
		__atomic_store_n(slot, h->ours, __ATOMIC_RELEASE);
	}
}

static void put_driver(void)
{
	const char *name;

	for (size_t i = 0; i < real.n; i++) {
		void *to = forward_symbols_at(&real, i, &name);
		void *entry = to ? forward_symbols_find(&own, name) : NULL;
		if (!entry || !forward_slot(entry))
			continue;
		set_by_name(name, to);
		if (nfunctions < FUNCTIONS)
			functions[nfunctions++] = (struct function){to, entry};
	}
	qsort(functions, nfunctions, sizeof(*functions), by_address);
}

void forward_each(void (*fn)(const char *name, void **slot))
{
	const char *name;

	for (size_t i = 0; i < real.n; i++) {
		void *entry = forward_symbols_at(&real, i, &name) ? forward_symbols_find(&own, name)
								  : NULL;
		if (entry && forward_slot(entry))
			fn(name, forward_slot(entry));
	}
}

static void put_rest(void)
{
	void *to = has_driver ? (void *)no_function : (void *)no_driver;

	for (void **slot = forward_table; slot < forward_table_end; slot++)
		set(slot, to);
}

static bool open_own(void)
{
	struct link_map *map = NULL;
	Dl_info info;

	return dladdr1(forward_table, &info, (void **)&map, RTLD_DL_LINKMAP) && map &&
	       forward_symbols_open(&own, map) && own.hash;
}

static void start(void)
{
	struct link_map *map = NULL;
	void *lib = open_own() ? forward_open() : NULL;

	has_driver =
		lib && dlinfo(lib, RTLD_DI_LINKMAP, &map) == 0 && forward_symbols_open(&real, map);
	if (has_driver) {
		opened = map->l_name;
		find_hooked(forward_lookup_hooks);
		find_hooked(forward_start_hooks);
		find_hooked(forward_load_hooks);
		find_hooked(forward_judge_hooks);
		find_hooked(forward_record_hooks);
		put_hooks(forward_lookup_hooks);
		put_hooks(forward_start_hooks);
		put_hooks(forward_load_hooks);
		if (forward_has_judge())
			put_hooks(forward_judge_hooks);
		if (forward_has_record())
			put_first(forward_record_hooks);
		put_driver();
	}
	put_rest();
	if (has_driver && forward_has_judge())
		forward_judge_listen();
}

void forward_at_start(void)
{
	/* The driver's start, run by us, must not wait for us. */
	if (is_opening)
		return;
	is_opening = true;
	pthread_once(&once, start);
	is_opening = false;
}

void *forward_resolve(size_t place)
{
	forward_at_start();
	return is_opening ? (void *)no_driver : forward_table[place];
}

void *forward_find(const char *name)
{
	forward_at_start();
	return real_by_name(name);
}

void **forward_place(const char *name)
{
	void *entry = real_by_name(name) ? forward_symbols_find(&own, name) : NULL;

	return entry ? forward_slot(entry) : NULL;
}

void *forward_entry(const void *to)
{
	const struct function key = {to, NULL};
	const struct function *f =
		bsearch(&key, functions, nfunctions, sizeof(*functions), by_address);

	return f ? f->entry : NULL;
}

bool forward_is_open(void)
{
	return has_driver;
}

const char *forward_opened(void)
{
	return opened;
}
