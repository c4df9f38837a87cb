/*
 * proven_run.h - a launch that is proven, between its accesses (proven.c), the notes of these, by
 * warps (proven_warps.c) and by what is accessed (proven_notes.c, proven_each.c), in memory that is
 * kept for later launches (proven_room.c), and what the oracle and findings get of it
 * (proven_sides.c).
 */
#ifndef COLLIDER_CPU_EVENTS_PROVEN_RUN_H
#define COLLIDER_CPU_EVENTS_PROVEN_RUN_H

#include <pthread.h>

#include "cpu/events/internal.h"

#define PROVEN_STEP 1024u /* words */
#define PROVEN_WORD 64u	  /* bytes of an array for which a word has bits */
#define PROVEN_PART 1024u /* bytes of an array that are kept at once before they are written */

/* Is a PROVEN_PART of an array kept? */
enum proven_kept { PROVEN_NOT_KEPT, PROVEN_BEING_KEPT, PROVEN_KEPT };

/* Bytes of an array, as a set. Workers add to it at the same time: by atomics, where something is
 * missing. */
struct proven_bytes {
	uint64_t *bits;	 /* NULL: none */
	uint64_t lo, hi; /* words that may have bits, in steps of PROVEN_STEP */
	uint64_t words;	 /* all */
};

struct proven_array {
	struct cpu_extent extent;
	uint64_t base;	     /* of the machine's address */
	uint64_t generation; /* of the allocation */
	/* What the array was when the launch began, where `kept` says so by PROVEN_PART; NULL: the
	 * launch hasn't written there. Of other bytes there than it has written it may be garbage,
	 * where something else writes them meanwhile. */
	uint8_t *old, *kept; /* kept: enum proven_kept */
	bool is_read_only;   /* some load expects that the launch doesn't write there */
};

/* Elements that lanes [first, end) of a warp access with an instruction: `apart` from one to the
 * next, the first of them at `element`. Of one lane `apart` means nothing. */
struct proven_chunk {
	uint32_t element;
	int32_t apart;
	unsigned first, end;
};

/* What a warp has accessed with an instruction, so far (proven_warps.c): such elements; and, as the
 * loop says, at `step` from there, `count` times in all, the last time by lanes [first, last). */
struct proven_way {
	uint32_t element;
	uint8_t first, end, last; /* end 0: nothing */
};
struct proven_loop {
	int32_t step, apart;
	uint32_t count; /* 0: once, side by side */
};

/*
 * What one instruction has accessed. An element is what a thread accesses at once. Lanes that lie
 * side by side, those of a warp or each 16 or 8 of it, as the first access has them, access a row
 * of elements, or a part of it, where others do nothing. A word has which part, and by which
 * threads; for all other elements a set of bytes says whether any did.
 */
struct proven_touch {
	/* By row, proven_word(); 0: none. The first row has the elements before `skew`. NULL: there
	 * are none. */
	uint32_t *row;
	uint64_t row_lo, row_hi; /* that may have been accessed, in steps of PROVEN_STEP */
	/* By element from the array's first, of all others UINT32_MAX - the least thread; NULL:
	 * there are none. */
	uint32_t *thread;
	struct proven_bytes done; /* ... and which these are; at the launch's end of rows, too */
	/* By warp: what isn't noted above. NULL: there are none. */
	struct proven_way *way;
	struct proven_loop *loop;
	uint32_t pc, array;
	/* When the launch has ended: */
	const struct cpu_site *site;
	uint8_t shift; /* log2 of an element's bytes */
	uint8_t wide;  /* log2 of a row's elements */
	uint8_t skew;
	bool is_made; /* something was accessed */
	bool is_write;
	bool is_update; /* a relaxed atomic */
	uint8_t scope;	/* enum race_scope */
};

/* Accesses of warps that a worker has noted. */
struct proven_count {
	_Alignas(CPU_LINES) uint64_t n;
};

struct cpu_proven_run {
	struct cpu_proven proven;
	struct proven_array array[CPU_EXTENTS];
	struct proven_touch *touch; /* by site of the proof */
	struct proven_count *count; /* by worker */
	uint32_t ncounts;
	uint32_t *first; /* by instruction, into the kernel's sites; nsites: none */
	uint32_t *nth;	 /* by instruction: which of the body */
	uint32_t ninsts;
	uint32_t block_threads; /* of a block's warps */
	uint32_t nthreads;	/* of all blocks' */
	uint8_t stride;		/* log2 of what lies between two blocks' actors; has_judges */
	struct cpu_kernel *checked;
	struct cpu_events *events; /* when the launch has ended */
	/* Of the machine's allocations, when they were looked at last. */
	_Atomic uint64_t version;
	_Atomic bool has_left;
	bool has_judges;      /* judges.c: it isn't proven */
	pthread_mutex_t lock; /* while an instruction's or an array's room is made */
};

static inline uint64_t proven_element(const struct proven_array *a, const struct proven_touch *t,
				      uint64_t at)
{
	return ((a->extent.base + at) >> t->shift) - (a->extent.base >> t->shift);
}

/* Where an element is in the array. */
static inline uint64_t proven_at(const struct proven_array *a, const struct proven_touch *t,
				 uint64_t element)
{
	return (((a->extent.base >> t->shift) + element) << t->shift) - a->extent.base;
}

/* A row's word has the thread of lane 0, counted down in rows, its first lane, and that after the
 * last. In 32 bits: a stencil's words are as much memory as its arrays, and miss the caches. */
#define PROVEN_ROWS    ((1u << 22) - 1)
#define PROVEN_THREADS (PROVEN_ROWS << 5) /* a launch has less */
static inline uint32_t proven_word(const struct proven_touch *t, uint32_t thread, unsigned first,
				   unsigned end)
{
	return (PROVEN_ROWS - (thread >> t->wide)) << 10 | first << 5 | (end - 1);
}
/* No thread of the launch: the word is 0. */
static inline uint32_t proven_thread(const struct proven_touch *t, uint32_t word)
{
	return (PROVEN_ROWS - (word >> 10)) << t->wide;
}
static inline unsigned proven_first(uint32_t word)
{
	return word >> 5 & 31;
}
static inline unsigned proven_end(uint32_t word)
{
	return (word & 31) + (word != 0);
}

static inline bool proven_is_whole(const struct proven_touch *t, uint32_t word)
{
	return (word & 1023) == (1u << t->wide) - 1;
}

/* Of all, and a few more. */
static inline uint64_t proven_elements(const struct proven_array *a, const struct proven_touch *t)
{
	return (a->extent.bytes >> t->shift) + 2;
}

static inline uint64_t proven_rows(const struct proven_array *a, const struct proven_touch *t)
{
	return (proven_elements(a, t) >> t->wide) + 3;
}

/* An element's row, and its place there. */
static inline uint32_t *proven_row(const struct proven_touch *t, uint64_t element, unsigned *lane)
{
	uint64_t at = element + (1u << t->wide) - t->skew;

	*lane = (unsigned)(at & ((1u << t->wide) - 1));
	return &t->row[at >> t->wide];
}

/* The first element of the row. */
static inline uint64_t proven_start(const struct proven_touch *t, uint64_t row)
{
	return (row << t->wide) + t->skew - (1u << t->wide);
}

/* Has the instruction accessed the byte? Here and below: notes of warps have been settled. */
static inline bool proven_has(const struct proven_array *a, const struct proven_touch *t,
			      uint64_t at)
{
	const uint64_t *bits = t->done.bits;
	unsigned lane = 0;
	uint32_t row = t->row ? *proven_row(t, proven_element(a, t, at), &lane) : 0;

	return (lane >= proven_first(row) && lane < proven_end(row)) ||
	       (bits && bits[at / PROVEN_WORD] >> at % PROVEN_WORD & 1);
}

/* The least thread that accessed the element. */
static inline uint32_t proven_least(const struct proven_touch *t, uint64_t element)
{
	unsigned lane = 0;
	uint32_t row = t->row ? *proven_row(t, element, &lane) : 0;
	bool is_of_row = lane >= proven_first(row) && lane < proven_end(row);
	uint32_t of_row = is_of_row ? proven_thread(t, row) + lane : UINT32_MAX;
	uint32_t own = t->thread ? UINT32_MAX - t->thread[element] : UINT32_MAX;

	return own < of_row ? own : of_row;
}

/* What lanes access, `bytes` each. */
struct proven_lanes {
	const uint64_t *addr;
	uint32_t mask, bytes;
	bool is_row; /* one after the other, none left out, and side by side */
};

/* proven_notes.c. Lanes are about to access the site's array. False: there is no memory for it. */
bool proven_note(struct cpu_warp *w, uint32_t pc, uint32_t site, const struct cpu_acc *acc,
		 const struct proven_lanes *lanes);
/* The same of all lanes, of one element, or side by side from there on; often. False: nothing was
 * noted. */
bool proven_note_warp(struct cpu_warp *w, uint32_t site, uint64_t at, bool is_one);
/* The same of a warp's lanes, of which `thread` is lane 0's. */
bool proven_note_chunk(struct cpu_proven_run *r, struct proven_touch *t,
		       const struct proven_chunk *c, uint32_t thread, bool is_beside);
void proven_bytes_add(struct proven_bytes *b, uint64_t at, uint64_t n, bool is_beside);
/* What stores are about to overwrite isn't needed any more. */
void proven_drop_old(struct cpu_proven_run *r);
/* proven_each.c. */
typedef void proven_range_fn(void *arg, const struct proven_touch *t, uint64_t address,
			     uint64_t bytes);
/* Calls fn for all that an instruction has accessed, side by side, addresses being the
 * machine's. No worker notes anything meanwhile, and notes of warps have been settled. */
void proven_each(struct proven_touch *t, const struct proven_array *a, proven_range_fn *fn,
		 void *arg);
/* Nothing has been accessed. e: its workers help (cpu_workers_each); NULL: they are busy, or it
 * isn't the thread that works. */
void proven_forget(struct cpu_proven_run *r, struct cpu_engine *e);
/* proven_warps.c. From now on there are notes of warps, t->way, where these are worth it. */
void proven_ways_make(const struct cpu_proven_run *r, struct proven_touch *t);
/* The same as proven_note_chunk(), where the warp has accessed something before, or elements apart.
 * False: there is no memory for it. */
bool proven_way_add(struct cpu_proven_run *r, struct proven_touch *t, const struct proven_chunk *c,
		    uint32_t thread, bool is_beside);
/* All notes of warps become notes of what is accessed. No worker notes anything meanwhile. False:
 * there is no memory for it, and some are as they were. */
bool proven_settle(struct cpu_proven_run *r);
/* Calls fn for what notes of warps say, as proven_each() does for all others; in no order, and some
 * of it several times. Needs no memory. */
void proven_each_way(const struct cpu_proven_run *r, const struct proven_touch *t,
		     const struct proven_array *a, proven_range_fn *fn, void *arg);
void proven_ways_zero(const struct cpu_proven_run *r, struct proven_touch *t);
void proven_ways_free(const struct cpu_proven_run *r, struct proven_touch *t);
uint64_t proven_ways_bytes(const struct cpu_proven_run *r, const struct proven_touch *t);
/* proven_room.c. Memory as large as that, zeroed or as it comes; NULL: there is none. Who gives it
 * back has zeroed it again, if it was and if it is kept. Thread-safe. */
void *proven_room_take(uint64_t bytes, bool is_zero);
bool proven_room_is_kept(uint64_t bytes);
void proven_room_give(void *p, uint64_t bytes, bool is_zero);
/* proven.c. NULL: no memory, or it isn't as `p` has it, whose sites are freed then. */
struct cpu_proven_run *proven_run_new(const struct cpu_op *op, const struct cpu_proven *p);
void proven_run_free(struct cpu_proven_run *r, struct cpu_engine *e);

#endif
