/*
 * transfer.h - copies and fills that the host asked for: those that raced, and what was checked.
 *
 * Written by the agent and the CPU device into the shared file. A chunk RACE_CHUNK_TRANSFER holds
 * one struct race_transfer, its frames and its strings (offsets from the start of the strings,
 * NUL-terminated, offset 0 being ""). `count` lies first and is kept up to date in the file. A
 * chunk RACE_CHUNK_TRANSFERS holds the struct race_transfer_counts of one process, kept up to date.
 */
#ifndef COLLIDER_RACE_FILE_TRANSFER_H
#define COLLIDER_RACE_FILE_TRANSFER_H

#include "race/record.h"

#define RACE_TRANSFER_FRAMES 32u

/* A copy of at most this many bytes may be a flag between a running kernel and the host, which is
 * outside the memory model, but intended: it is reported as possible only. */
#define RACE_TRANSFER_FLAG_BYTES 8u

/* Of a frame's offset: the frame is one of a script, module its file, the offset its line. */
#define RACE_FRAME_SCRIPT (1ull << 63)

/* A return address in the program, the innermost first. */
struct race_transfer_frame {
	uint64_t offset; /* from where the module was loaded; or RACE_FRAME_SCRIPT */
	uint32_t module; /* string: its path */
	uint32_t symbol; /* string: the exported function, "" = unknown */
};

struct race_transfer {
	uint64_t count;	   /* sightings */
	uint64_t address;  /* of the first byte that changed, in the first sighting */
	uint64_t at;	   /* the same, from the start of what was copied */
	uint64_t bytes;	   /* of the whole operation */
	uint64_t stream;   /* the program's handle or number */
	uint64_t was, now; /* up to 8 bytes from that byte on */
	uint32_t width;	   /* how many of them */
	uint32_t kind; /* RACE_KIND_CLOBBERED_READ: its source changed, _LOST_UPDATE: its result */
	uint32_t origin;  /* number of the place in the program; 0: unknown */
	uint32_t context; /* as in race_region */
	int32_t device;
	uint32_t api;	  /* string: "cudaMemcpyAsync" */
	uint32_t nframes; /* struct race_transfer_frame after this */
	uint32_t strings; /* bytes of strings after the frames */
};

/* Why an operation was not checked. */
enum race_transfer_skip {
	RACE_TRANSFER_CAPTURED,	   /* only written into a graph */
	RACE_TRANSFER_NULL_STREAM, /* the legacy stream, which all others wait for */
	RACE_TRANSFER_PAGEABLE,	   /* the call itself waits, so nothing can be enqueued after it */
	RACE_TRANSFER_SHAPE,	   /* rows, slices, arrays, other contexts */
	RACE_TRANSFER_BUSY,	   /* no buffer was free */
	RACE_TRANSFER_SAMPLED,	   /* not drawn */
	RACE_TRANSFER_UNFINISHED,  /* begun, but not complete when the program ended */
	RACE_TRANSFER_SKIPS
};

struct race_transfer_counts {
	uint64_t checked, bytes; /* operations, bytes that were read again */
	uint64_t skipped[RACE_TRANSFER_SKIPS];
	uint64_t lost; /* findings that the shared file had no room for */
};

RACE_STATIC_ASSERT(sizeof(struct race_transfer_frame) == 16, "frame layout");
RACE_STATIC_ASSERT(sizeof(struct race_transfer) == 88, "host layout");
RACE_STATIC_ASSERT(sizeof(struct race_transfer_counts) == 80, "counts layout");

#endif
