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
#define TOUCH_WAYS  1024u

struct cpu_touch_page;
struct cpu_touches;

/* A page's words as a worker has accessed them. */
struct cpu_touch_bits {
	uint64_t page;			    /* address / TOUCH_PAGE */
	uint64_t bits[2][TOUCH_WORDS / 64]; /* read, written */
	bool is_saved;			    /* it may be written */
};

/* One worker's. */
struct cpu_touch {
	struct cpu_touch_bits *way[TOUCH_WAYS]; /* those used last, by page */
	struct cpu_touch_page *pages;		/* all, by number */
	struct cpu_touches *all;
};

/* For so many workers. NULL: no memory. */
struct cpu_touches *cpu_touches_new(struct cpu_machine *m, unsigned workers);
void cpu_touches_free(struct cpu_touches *ts);
struct cpu_touch *cpu_touch_of(struct cpu_touches *ts, unsigned worker);
/* Nothing has been accessed. Here and below no worker executes. */
void cpu_touches_clear(struct cpu_touches *ts);
/* Has one worker written a word that another one has accessed? */
bool cpu_touches_meet(struct cpu_touches *ts);
/* Puts back what was in all words that have been written. */
void cpu_touches_undo(struct cpu_touches *ts);
/* More is kept than a launch may cost. Thread-safe. */
bool cpu_touches_are_full(const struct cpu_touches *ts);

/* The worker is about to access [host, host + bytes), which is memory. */
void cpu_touch_bytes(struct cpu_touch *t, uint64_t host, uint64_t bytes, bool is_write);
/* Its lanes are about to access `bytes` each, at addresses of the program, which may be anything:
 * what isn't global memory is left out. */
void cpu_touch_lanes(struct cpu_touch *t, const struct cpu_warp *w, uint32_t mask,
		     const uint64_t addr[CPU_WARP], uint32_t bytes, bool is_write);

/* As cpu_touch_bytes, where the page is at hand. */
static inline void cpu_touch_row(struct cpu_touch *t, uint64_t host, uint64_t bytes, bool is_write)
{
	uint64_t page = host / TOUCH_PAGE, first = host % TOUCH_PAGE / 4;
	uint64_t n = (host % 4 + bytes + 3) / 4, shift = first % 64;
	struct cpu_touch_bits *p = t->way[page % TOUCH_WAYS];

	if (!p || p->page != page || n > 64 || first + n > TOUCH_WORDS ||
	    (is_write && !p->is_saved)) {
		cpu_touch_bytes(t, host, bytes, is_write);
		return;
	}
	uint64_t words = UINT64_MAX >> (64 - n), *to = &p->bits[is_write][first / 64];
	to[0] |= words << shift;
	if (shift + n > 64)
		to[1] |= words >> (64 - shift);
}

#endif
