/*
 * fake.h - a shared file in memory, as an agent would leave it, and a small table.
 */
#ifndef FAKE_H
#define FAKE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "race/site/site_build.h"
#include "report/report.h"

#define FAKE_HEAP ((size_t)1 << 20)

struct fake {
	unsigned char *map;
	size_t bytes;
	struct race_shm *head;
};

/* Sites of fake_table, all of golden/src/sum.cu. */
enum {
	SITE_READ,	  /* line 9, clobbered, in an inlined function */
	SITE_READ_SECOND, /* the same line, unrolled and wider */
	SITE_STORE,	  /* line 11 */
	SITE_SPECULATED,  /* line 13 */
	SITE_NC,	  /* line 15 */
	SITE_NO_LINE,	  /* without -lineinfo */
	SITE_VOLATILE,	  /* line 16 */
	SITE_COPY_FROM,	  /* line 11: the source of an asynchronous copy */
	SITE_COPY_TO,	  /* and its destination */
	SITE_COUNT
};

/* An empty file of an agent that attached. */
void fake_open(struct fake *f);
void fake_close(struct fake *f);
/* Region i, opened with its counters set to "one launch, 1,000 accesses, exact". */
struct race_region *fake_region(struct fake *f, unsigned i);
/* Appends a chunk. */
struct race_chunk *fake_chunk(struct fake *f, uint32_t kind, const void *payload, size_t n);
/* The counter of a kernel. */
void fake_kernel(struct fake *f, uint64_t launches, uint32_t instrumented, const char *name);
/* Builds the table and, with f, puts it into the file; returns its hash. The blob is malloc'd
 * into *blob when that isn't NULL. */
uint64_t fake_table(struct fake *f, void **blob, size_t *n);
/* A valid record in slot i. */
struct race_record *fake_record(struct race_region *r, unsigned i, uint64_t table, uint32_t site,
				uint16_t kind, uint64_t count);
/* Renders into malloc'd text. */
char *fake_render(const struct race_results *r, const struct rep_options *opt);
/* Two read results of the file. */
void fake_read(const struct fake *f, struct race_results *r);

#endif
