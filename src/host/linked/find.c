/*
 * find.c - writes a race that was seen into the shared file.
 *
 * One record for each place in the code and kind, with the first sighting; later ones count. (Of a
 * watchpoint that was met also for each place in the kernel.) The
 * place is an offset into the program's or library's file, which `collider run` turns into a line
 * (symbol.c): nothing is looked up in the program but the name of that file. There is room for
 * HOST_FINDS places; others are counted as lost.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <limits.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "host/linked/runtime.h"
#include "race/layout/watch.h"
#include "race/file/shm_write.h"

#define HOST_FINDS 1024u
#define TAKEN	   ((struct race_host_find *)-1)

static struct slot {
	uint64_t key; /* 0: free */
	struct race_host_find *find;
} slots[HOST_FINDS];

/* The program's own file has no useful name for the loader. */
static size_t object_path(const Dl_info *info, char out[PATH_MAX])
{
	Dl_info program;
	void *headers;
	unsigned long at = getauxval(AT_PHDR);
	ssize_t n;

	memcpy(&headers, &at, sizeof(headers));
	if (headers && dladdr(headers, &program) && program.dli_fbase == info->dli_fbase) {
		n = readlink("/proc/self/exe", out, PATH_MAX - 1);
		if (n > 0) {
			out[n] = 0;
			return (size_t)n + 1;
		}
	}
	n = (ssize_t)strnlen(info->dli_fname, PATH_MAX - 1);
	memcpy(out, info->dli_fname, (size_t)n);
	out[n] = 0;
	return (size_t)n + 1;
}

static struct race_host_find *record(const struct host_sighting *s)
{
	struct race_host_find f = {
		.count = 0,
		.offset = (uint64_t)(uintptr_t)s->pc,
		.address = s->address,
		.was = {s->was[0], s->was[1]},
		.now = {s->now[0], s->now[1]},
		.kind = s->kind,
		.width = s->width,
		.bytes = s->bytes,
		.space = s->space,
		.is_volatile = s->is_volatile,
		.thread = s->thread,
		.is_write = s->is_write,
	};
	char path[PATH_MAX] = "";
	size_t n = 1;
	Dl_info info;

	if (s->other) {
		f.table = s->other->table;
		f.grid = s->other->grid;
		f.half = s->other->half;
		f.block = s->other->block;
		f.shape = s->other->shape;
	}
	if (dladdr(s->pc, &info) && info.dli_fname) {
		f.offset -= (uint64_t)(uintptr_t)info.dli_fbase;
		n = object_path(&info, path);
	}
	return race_shm_chunk(RACE_CHUNK_HOST_FIND, 0, &f, sizeof(f), path, n);
}

/* ------------------------------------------------------------------------ */

void host_find(const struct host_sighting *s)
{
	uint64_t at = (uint64_t)(uintptr_t)s->pc, key;

	if (s->other) /* one record for each place of the other side */
		at += s->other->table + RACE_WATCH_HALF_SITE(s->other->half);
	key = race_slot_key(at, s->space, s->kind);

	for (uint32_t i = 0; i < HOST_FINDS; i++) {
		struct slot *slot = &slots[(key + i) % HOST_FINDS];
		struct race_host_find *f = NULL;
		uint64_t old = 0;
		bool is_new = __atomic_compare_exchange_n(&slot->key, &old, key, 0,
							  __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
		if (!is_new && old != key)
			continue;
		if (is_new) {
			f = record(s);
			__atomic_store_n(&slot->find, f ? f : TAKEN, __ATOMIC_RELEASE);
		} else {
			/* NULL: another thread is writing it; this sighting is not counted. */
			f = __atomic_load_n(&slot->find, __ATOMIC_ACQUIRE);
		}
		if (f && f != TAKEN)
			__atomic_fetch_add(&f->count, 1, __ATOMIC_RELAXED);
		else if (is_new || f == TAKEN)
			__atomic_fetch_add(&host_state.area->skipped, 1, __ATOMIC_RELAXED);
		return;
	}
	__atomic_fetch_add(&host_state.area->skipped, 1, __ATOMIC_RELAXED);
}
