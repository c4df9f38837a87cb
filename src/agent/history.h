/*
 * history.h - inside src/agent: the words of a detector in one context, for history.c and pool.c.
 */
#ifndef COLLIDER_AGENT_HISTORY_H
#define COLLIDER_AGENT_HISTORY_H

#include "agent/agent.h"
#include "race/layout/iguard.h"
#include "race/layout/history.h"

#define MIB	      (1ull << 20)
#define GRAIN	      (2 * MIB) /* of mappings; every GPU's granularity divides it */
#define SPARE_PAGES   64u
#define KEEP_FREE     (256 * MIB) /* of the card's memory, for the program */
#define SWEEP_FROM    (RACE_HISTORY_LAUNCHES / 2u)
#define SWEEP_EVERY   32u /* launches between two tries */
#define SWEEP_WAIT_US 200000u
#define CLEAR_WAIT_US 50000u
#define MOMENT_US     50u
#define LAUNCH_WAIT_S 2
#define LARGE_REQUEST (32 * MIB) /* smaller ones find room in what is kept free */
#define PART_BITS     (RACE_HISTORY_ADDRESS_BITS - 8u)
#define PARTS	      RACE_HISTORY_PARTS
#define PART_BYTES    (RACE_HISTORY_PIECES * 8u / PARTS)
#define SHORT_TIMES   8u /* as many pages of bytes when they ran short */
#define POOL_CHUNKS   4096u
#define LOW_PARTS     4u /* memory of pools lies there */

/* Address space with memory behind its first `mapped` bytes. */
struct area {
	CUdeviceptr at;
	uint64_t room, mapped;
};

/* A pool: its words, what lies beside them, and how many units have memory. */
struct pool {
	struct area words, beside; /* beside.room 0: there is none */
	uint64_t unit;		   /* bytes of words */
	uint64_t limit;		   /* units that the device may take */
	uint64_t used;		   /* taken, when last looked at */
	size_t counts_at;	   /* of its struct race_history_pool in the tables */
};

struct chunk {
	CUmemGenericAllocationHandle handle;
	struct area *area;
	uint64_t bytes;
};

struct agent_history {
	struct agent_history *next; /* the other one of its context, or NULL */
	/* Release stamps are cleared when nothing runs; what comes after them in the tables is
	 * cleared by a sweep. */
	const struct race_words *kind;
	CUcontext context;
	CUstream stream;
	CUdevice device;
	CUdeviceptr tables;
	CUdeviceptr directory;
	CUdeviceptr pages;
	uint64_t pages_room;
	struct pool words, bytes;
	uint32_t parts[PARTS / 32]; /* with memory of their own */
	struct chunk chunks[POOL_CHUNKS];
	uint32_t nchunks;
	uint32_t epochs; /* launches of graphs; atomic */
	bool is_blind;
	bool has_machine; /* in the tables: --hirace */
	bool is_scratch_tried;
	bool was_busy;	     /* the last launch that was to clear stamps found no idle context */
	CUdeviceptr scratch; /* RACE_SCRATCH_*, or 0; atomic */
	uint64_t scratch_heads;
	uint32_t *ordered;  /* in the shared file: the device set it */
	uint32_t *short_of; /* not 0: a pool had nothing left; in the region */

	/* Under the agent's lock. */
	uint64_t pieces;     /* of the program's allocations, so far */
	uint64_t *seen;	     /* a bit for each */
	uint64_t contexts;   /* taken, when last looked at */
	uint64_t since;	     /* launches since the last sweep */
	uint64_t tried;	     /* `since` at the last try */
	uint32_t launching;  /* calls under way that launch */
	bool is_busy;	     /* a thread changes the pools; launches wait */
	bool is_capped;	     /* memory is short: they don't grow */
	uint32_t unseen;     /* RACE_HISTORY_*_ORDERS */
	uint32_t unseen_set; /* what the tables have */
};

/* ---- pool.c: memory behind the pools; all inside a guard ------------------------------- */

CUresult agent_pool_fill(struct agent_history *h, CUdeviceptr at, uint64_t bytes);
CUresult agent_pool_write(struct agent_history *h, CUdeviceptr at, const void *p, size_t bytes);
CUresult agent_pool_read(const struct agent_history *h, void *p, CUdeviceptr at, size_t bytes);
uint64_t agent_pool_free_bytes(void);
/* Address space and the first memory; `what` names the call that failed. */
CUresult agent_pool_build(struct agent_history *h, CUdeviceptr ordered, const char **what);
/* Words for shared memory without a table of its own; and all of them free again. */
CUresult agent_pool_build_scratch(struct agent_history *h, const char **what);
CUresult agent_pool_free_scratch(struct agent_history *h);
/* Sets the directory's own parts to 0. */
CUresult agent_pool_clear_directory(struct agent_history *h);
/* So many units more, or as many as the card has memory for; the limit follows what came. */
void agent_pool_grow(struct agent_history *h, struct pool *p, uint64_t units);
/* Gives memory back until `bytes` are free; swept, the context idle. */
void agent_pool_shrink(struct agent_history *h, uint64_t bytes);

#endif
