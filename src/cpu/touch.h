/*
 * touch.h - which words of global memory the blocks on each worker access (touch.c).
 *
 * Addresses are the machine's. A word has four bytes. Each worker notes for itself, without locks;
 * before its first store to a page what is there is kept, so that all stores can be undone.
 */
#ifndef COLLIDER_CPU_TOUCH_H
#define COLLIDER_CPU_TOUCH_H

#include "cpu/machine.h"

#define TOUCH_PAGE  4096u
#define TOUCH_WORDS (TOUCH_PAGE / 4)
#define TOUCH_MASKS (TOUCH_WORDS / 64) /* a bit for each word */

/* UPDATE: atomics that leave the same in whatever order they come, whose results no thread has, or
 * those, and strong accesses, that come in the order of groups. TICKET: counters of which each
 * block takes one (order.c). */
enum touch_kind { TOUCH_READ, TOUCH_WRITE, TOUCH_UPDATE, TOUCH_TICKET, TOUCH_KINDS };

struct cpu_touches;

/* A page's words as a worker has accessed them. */
struct cpu_touch_bits {
	uint64_t bits[TOUCH_KINDS][TOUCH_MASKS];
};

/* One worker's, in cache lines of its own. Pages are numbered from the first of the memory on. */
struct cpu_touch {
	_Alignas(CPU_LINES) uint64_t base; /* of that memory */
	uint64_t bytes;
	uint64_t alias; /* machine.h: the same memory once more, so much further on */
	uint8_t *seen;	/* by page: a bit for each kind of access that there has been */
	struct cpu_touch_bits *page; /* of other kinds there is nothing */
	struct cpu_touches *all;
	BASE_VEC(uint32_t) pages; /* that have been seen */
	_Atomic uint32_t nkept;	  /* pages that it has kept in this launch */
	bool is_old;		  /* what it has is an earlier launch's */
};

/* For so many workers. NULL: no memory. */
struct cpu_touches *cpu_touches_new(struct cpu_machine *m, unsigned workers);
void cpu_touches_free(struct cpu_touches *ts);
struct cpu_touch *cpu_touch_of(struct cpu_touches *ts, unsigned worker);
/* Has one worker changed a word that another one has accessed, not both by updates? are_deferred:
 * or has any accessed a word otherwise that is updated? Or one of a ticket? Also if there were
 * accesses that can't be followed. Here and in the next ones no worker executes.
 * Begins to look, in so many parts; then workers look at each of them, in any order; then there is
 * the answer. */
uint64_t cpu_touches_begin_look(struct cpu_touches *ts, bool are_deferred);
void cpu_touches_look(struct cpu_touches *ts, uint64_t part);
bool cpu_touches_meet(const struct cpu_touches *ts);
/* Puts back what was in all words that have been changed. */
void cpu_touches_undo(struct cpu_touches *ts);
/* The launch has ended; each worker that takes part in the next one calls cpu_touch_clear first. */
void cpu_touches_end(struct cpu_touches *ts);
void cpu_touch_clear(struct cpu_touch *t);
/* What these bytes of a ticket, which the worker has noted, were when the launch began. False: that
 * isn't known. */
bool cpu_touch_before(const struct cpu_touch *t, uint64_t host, void *to, unsigned bytes);
/* More is kept than a launch may cost, or cannot be followed. Thread-safe. */
bool cpu_touches_are_full(const struct cpu_touches *ts);

/* Do the lanes, `bytes` each, lie side by side, none of them left out? mask is not 0. */
static inline bool cpu_are_row(const uint64_t addr[CPU_WARP], uint32_t mask, uint32_t bytes)
{
	unsigned first = (unsigned)__builtin_ctz(mask), end = 32u - (unsigned)__builtin_clz(mask);
	uint64_t want = addr[first], differ = 0;
	unsigned l = first;

	if ((mask >> first) & ((mask >> first) + 1))
		return false;
	if (end - first > 1 && addr[first + 1] != want + bytes)
		return false;
	for (; l + 4 <= end; l += 4, want += 4ull * bytes)
		differ |= (addr[l] ^ want) | (addr[l + 1] ^ (want + bytes)) |
			  (addr[l + 2] ^ (want + 2ull * bytes)) |
			  (addr[l + 3] ^ (want + 3ull * bytes));
	for (; l < end; l++, want += bytes)
		differ |= addr[l] ^ want;
	return !differ;
}

/* The worker is about to access [host, host + bytes), which is memory. */
void cpu_touch_bytes(struct cpu_touch *t, uint64_t host, uint64_t bytes, enum touch_kind kind);
/* The same for addresses of the program, which may be anything: of what lanes access, `bytes` each,
 * that which isn't global memory is left out: a fault, or shared memory and the like. */
void cpu_touch_run(struct cpu_touch *t, const struct cpu_warp *w, uint64_t addr, uint64_t n,
		   uint32_t bytes, enum touch_kind kind);
/* ... where lanes lie anyhow. */
void cpu_touch_lanes(struct cpu_touch *t, const struct cpu_warp *w, uint32_t mask,
		     const uint64_t addr[CPU_WARP], uint32_t bytes, enum touch_kind kind);

/* The bytes from the first of the machine's memory on; at least t->bytes: it is other memory. */
static inline uint64_t cpu_touch_at(const struct cpu_touch *t, uint64_t host)
{
	uint64_t at = host - t->base;

	return at < t->bytes ? at : at - t->alias;
}

static inline bool cpu_touch_has(const struct cpu_touch *t, uint64_t at, enum touch_kind kind)
{
	return t->seen[at / TOUCH_PAGE] >> kind & 1;
}

/* Notes `bytes` from `at` on, if that is in one page, which has been seen so. */
static inline bool cpu_touch_again(struct cpu_touch *t, uint64_t at, uint64_t bytes,
				   enum touch_kind kind)
{
	uint64_t first = at % TOUCH_PAGE / 4, n = (at % 4 + bytes + 3) / 4, shift = first % 64;

	if (at >= t->bytes || n > 64 || first + n > TOUCH_WORDS || !cpu_touch_has(t, at, kind))
		return false;
	uint64_t words = UINT64_MAX >> (64 - n);
	uint64_t *to = &t->page[at / TOUCH_PAGE].bits[kind][first / 64];
	to[0] |= words << shift;
	if (shift + n > 64)
		to[1] |= words >> (64 - shift);
	return true;
}

/* As cpu_touch_bytes, quickly where the page has been seen. */
static inline void cpu_touch_row(struct cpu_touch *t, uint64_t host, uint64_t bytes,
				 enum touch_kind kind)
{
	if (!cpu_touch_again(t, cpu_touch_at(t, host), bytes, kind))
		cpu_touch_bytes(t, host, bytes, kind);
}

#endif
