/*
 * host.h - what the host half (src/host) and the two devices share.
 *
 * The host half is linked into the program; it makes one area in the shared file for each process
 * (a chunk RACE_CHUNK_HOST_AREA). The agent and the CPU device find it there, enter the memory
 * that host and device share, and say whether device work is in flight. An access of host code
 * compares its address with `lo` and `span`; span is 0 while nothing could race, so that the
 * comparison is then the whole cost. What the host half finds goes into chunks
 * RACE_CHUNK_HOST_FIND.
 *
 * One writer of the ranges (race_host_* below, under a lock), any number of readers, which watch
 * `seq`. A process that has no host half has no area: the functions do nothing then.
 */
#ifndef COLLIDER_RACE_FILE_HOST_H
#define COLLIDER_RACE_FILE_HOST_H

#include <stdbool.h>
#include <stddef.h>

#include "race/layout/mirror.h"
#include "race/site/site.h"

#define RACE_HOST_RANGES 4096u

struct race_host_range {
	uint64_t base, end;
	uint64_t space; /* enum race_space */
};

struct race_host_area {
	/* The filter: an access may race when address - lo < span. */
	uint64_t lo, span;
	/* Watchpoints of kernels, one for each context: where its struct race_mirror is in the
	 * file; 0: none. */
	uint64_t mirror[RACE_MIRRORS];
	uint64_t padding[10]; /* what follows is written often, by other threads */
	uint64_t checked;     /* accesses that were read again */
	uint64_t skipped;     /* findings for which there was no room */
	uint64_t padding2[14];
	uint64_t all_lo, all_span; /* the filter while work is in flight */
	uint32_t busy;		   /* devices with work in flight, a bit each */
	uint32_t is_all;	   /* every address is checked: the ranges only name the memory */
	uint32_t seq;		   /* odd while the ranges change */
	uint32_t nranges;	   /* sorted, without overlap */
	uint32_t nlost;		   /* ranges for which there was no room */
	uint32_t reserved[3];
	uint64_t map[RACE_HOST_PAGES / 64];
	struct race_host_range ranges[RACE_HOST_RANGES];
};

/* After it lies the path of the program or library, NUL-terminated. Of RACE_KIND_WATCH the other
 * side is a kernel's, as layout/mirror.h has it, and there are no values. */
struct race_host_find {
	uint64_t count;	 /* sightings; kept up to date in the file */
	uint64_t offset; /* of the instruction after the check, from the start of the object */
	uint64_t address;
	uint64_t was[2], now[2];
	uint32_t kind;	/* RACE_KIND_CLOBBERED_READ, RACE_KIND_LOST_UPDATE or RACE_KIND_WATCH */
	uint32_t width; /* bytes compared */
	uint32_t bytes; /* bytes of the whole access */
	uint32_t space; /* enum race_space */
	uint32_t is_volatile;
	uint32_t thread; /* 0: the main one; others in the order of their first check */
	uint32_t is_write;
	uint32_t reserved;
	uint64_t table, grid, half, block, shape;
};

RACE_STATIC_ASSERT(sizeof(struct race_host_range) == 24, "range layout");
RACE_STATIC_ASSERT(sizeof(struct race_host_find) == 128, "find layout");

static inline bool race_space_is_host(unsigned space)
{
	return space >= RACE_SPACE_MANAGED && space <= RACE_SPACE_SYSTEM;
}

/* ---- host_area.c; needs race_shm_open ------------------------------------- */

/* This process's area, created if there is none (for the host half). NULL: no file, or no room. */
struct race_host_area *race_host_make(void);
/* The same, for the devices: NULL when the program has no host half. Found once, then cheap. */
struct race_host_area *race_host_get(void);
/* Memory that host and device share comes and goes. `space` is an enum race_space. */
void race_host_add(uint64_t base, uint64_t bytes, unsigned space);
void race_host_remove(uint64_t base);
/* Is work of this device (a bit number below 32) in flight? */
void race_host_busy(unsigned device, bool is_busy);
/* Watchpoints of a context's kernels for host code to see: whole pages of this process's mapping of
 * the file. NULL: there is no host half, or no room. To be ended with the context, and where it may
 * have been stopped, since its watchpoints stay set then. */
struct race_mirror *race_host_mirror(void);
void race_host_mirror_end(struct race_mirror *m);
/* After fork, in the child: the area is the parent's. */
void race_host_forget(void);

/* The range of the address, false: none. Any thread. */
bool race_host_lookup(const struct race_host_area *a, uint64_t address,
		      struct race_host_range *out);

static inline bool race_host_on_page(const struct race_host_area *a, uint64_t address)
{
	uint64_t page = address >> RACE_HOST_PAGE & (RACE_HOST_PAGES - 1);

	return __atomic_load_n(&a->map[page / 64], __ATOMIC_RELAXED) >> (page % 64) & 1;
}

#endif
