/*
 * touch.c - words of global memory that workers access while they execute blocks of one launch
 * beside each other.
 *
 * A launch whose blocks don't communicate leaves the same memory in whatever order they run, unless
 * one block writes what another accesses: a race. Then the result depends on the order, and the
 * launch must be repeated in one that is fixed. Blocks of one worker run in their order anyhow, so
 * it is enough to compare what workers have accessed, once, at the launch's end.
 *
 * Misses: a store that is narrower than a word counts as one to all of it, which only repeats a
 * launch in vain. Costs: a few instructions for a row of lanes whose page is at hand; 330 bytes for
 * each page and worker, and a copy of each page that is written, until the launch ends.
 */
#include "cpu/touch.h"
#include "base/base.h"
#include "base/table.h"
#include "cpu/repeat.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define SHARDS	   64u
#define MOST_PAGES (1u << 18) /* that are kept: 1 GiB */

struct cpu_touch_page {
	struct cpu_touch_bits b; /* first */
	UT_hash_handle hh;
};

/* What a page held when the launch began. */
struct saved {
	uint64_t page;
	uint64_t written[TOUCH_WORDS / 64]; /* by any worker */
	UT_hash_handle hh;
	uint32_t old[TOUCH_WORDS];
};

struct shard {
	pthread_mutex_t lock;
	struct saved *saved;
};

struct cpu_touches {
	struct cpu_machine *m;
	unsigned workers;
	_Atomic uint32_t npages;
	struct shard shard[SHARDS];
	struct cpu_touch touch[];
};

/* ---- life ---------------------------------------------------------------------------------- */

struct cpu_touches *cpu_touches_new(struct cpu_machine *m, unsigned workers)
{
	struct cpu_touches *ts = calloc(1, sizeof(*ts) + workers * sizeof(ts->touch[0]));

	if (!ts)
		return NULL;
	ts->m = m;
	ts->workers = workers;
	for (unsigned i = 0; i < workers; i++)
		ts->touch[i].all = ts;
	for (unsigned i = 0; i < SHARDS; i++)
		pthread_mutex_init(&ts->shard[i].lock, NULL);
	return ts;
}

void cpu_touches_clear(struct cpu_touches *ts)
{
	for (unsigned i = 0; i < ts->workers; i++) {
		struct cpu_touch *t = &ts->touch[i];
		struct cpu_touch_page *p, *next;
		HASH_ITER(hh, t->pages, p, next)
		{
			HASH_DEL(t->pages, p);
			free(p);
		}
		memset(t->way, 0, sizeof(t->way));
	}
	for (unsigned i = 0; i < SHARDS; i++) {
		struct saved *s, *next;
		HASH_ITER(hh, ts->shard[i].saved, s, next)
		{
			HASH_DEL(ts->shard[i].saved, s);
			free(s);
		}
	}
	atomic_store(&ts->npages, 0);
}

void cpu_touches_free(struct cpu_touches *ts)
{
	if (!ts)
		return;
	cpu_touches_clear(ts);
	for (unsigned i = 0; i < SHARDS; i++)
		pthread_mutex_destroy(&ts->shard[i].lock);
	free(ts);
}

struct cpu_touch *cpu_touch_of(struct cpu_touches *ts, unsigned worker)
{
	return &ts->touch[worker];
}

bool cpu_touches_are_full(const struct cpu_touches *ts)
{
	return atomic_load_explicit(&ts->npages, memory_order_relaxed) > MOST_PAGES;
}

/* ---- while workers execute ------------------------------------------------------------------- */

static struct shard *shard_of(struct cpu_touches *ts, uint64_t page)
{
	return &ts->shard[page % SHARDS];
}

static struct saved *find_saved(struct shard *sh, uint64_t page)
{
	struct saved *s;

	HASH_FIND(hh, sh->saved, &page, sizeof(page), s);
	return s;
}

/* Whoever writes the page comes here first, so what is there is what the launch found. */
static void save(struct cpu_touches *ts, struct cpu_touch_bits *b)
{
	struct shard *sh = shard_of(ts, b->page);

	pthread_mutex_lock(&sh->lock);
	struct saved *s = find_saved(sh, b->page);
	if (!s) {
		s = base_calloc(1, sizeof(*s));
		s->page = b->page;
		memcpy(s->old, (const void *)(uintptr_t)(b->page * TOUCH_PAGE), TOUCH_PAGE);
		HASH_ADD(hh, sh->saved, page, sizeof(s->page), s);
		atomic_fetch_add(&ts->npages, 1);
	}
	pthread_mutex_unlock(&sh->lock);
	b->is_saved = true;
}

/* The worker's bits of a page; NULL: it has none. */
static struct cpu_touch_bits *find_bits(struct cpu_touch *t, uint64_t page)
{
	struct cpu_touch_bits *b = t->way[page % TOUCH_WAYS];
	struct cpu_touch_page *p;

	if (b && b->page == page)
		return b;
	HASH_FIND(hh, t->pages, &page, sizeof(page), p);
	return p ? (t->way[page % TOUCH_WAYS] = &p->b) : NULL;
}

/* The same; of a page that is memory. */
static struct cpu_touch_bits *get_bits(struct cpu_touch *t, uint64_t page, bool is_write)
{
	struct cpu_touch_bits *b = find_bits(t, page);

	if (!b) {
		struct cpu_touch_page *p = base_calloc(1, sizeof(*p));
		b = &p->b;
		b->page = page;
		HASH_ADD(hh, t->pages, b.page, sizeof(b->page), p);
		t->way[page % TOUCH_WAYS] = b;
	}
	if (is_write && !b->is_saved)
		save(t->all, b);
	return b;
}

void cpu_touch_bytes(struct cpu_touch *t, uint64_t host, uint64_t bytes, bool is_write)
{
	uint64_t word = host / 4, end = (host + bytes + 3) / 4;

	while (word < end) {
		uint64_t page = word / TOUCH_WORDS, first = word % TOUCH_WORDS;
		uint64_t n = TOUCH_WORDS - first < end - word ? TOUCH_WORDS - first : end - word;
		uint64_t *bits = get_bits(t, page, is_write)->bits[is_write];
		for (uint64_t i = first; i < first + n; i++)
			bits[i / 64] |= 1ull << i % 64;
		word += n;
	}
}

void cpu_touch_lanes(struct cpu_touch *t, const struct cpu_warp *w, uint32_t mask,
		     const uint64_t addr[CPU_WARP], uint32_t bytes, bool is_write)
{
	struct cpu_machine *m = t->all->m;

	CPU_EACH_LANE (l, mask) {
		uint64_t at = m->alias ? cpu_mem_host(m, addr[l]) : addr[l];
		struct cpu_touch_bits *b = t->way[at / TOUCH_PAGE % TOUCH_WAYS];
		bool is_known = b && b->page == at / TOUCH_PAGE && (!is_write || b->is_saved);
		struct cpu_space_view v;
		/* An access of anything else is a fault, or of shared memory and the like. */
		if (!is_known &&
		    (!cpu_space_view(m, w->grid->device, addr[l], &v) || bytes > v.end - addr[l]))
			continue;
		cpu_touch_row(t, at, bytes, is_write);
	}
}

/* ---- when they have ended -------------------------------------------------------------------- */

bool cpu_touches_meet(struct cpu_touches *ts)
{
	uint64_t both = 0;

	for (unsigned i = 0; i < ts->workers; i++)
		for (struct cpu_touch_page *p = ts->touch[i].pages; p; p = p->hh.next) {
			if (!p->b.is_saved)
				continue;
			struct saved *s = find_saved(shard_of(ts, p->b.page), p->b.page);
			for (unsigned k = 0; k < TOUCH_WORDS / 64; k++) {
				both |= s->written[k] & p->b.bits[1][k];
				s->written[k] |= p->b.bits[1][k];
			}
		}
	for (unsigned i = 0; i < ts->workers; i++)
		for (struct cpu_touch_page *p = ts->touch[i].pages; p && !both; p = p->hh.next) {
			struct saved *s = find_saved(shard_of(ts, p->b.page), p->b.page);
			for (unsigned k = 0; s && k < TOUCH_WORDS / 64; k++)
				both |= s->written[k] & ~p->b.bits[1][k] & p->b.bits[0][k];
		}
	return both != 0;
}

void cpu_touches_undo(struct cpu_touches *ts)
{
	for (unsigned i = 0; i < ts->workers; i++)
		for (struct cpu_touch_page *p = ts->touch[i].pages; p; p = p->hh.next) {
			if (!p->b.is_saved)
				continue;
			const struct saved *s = find_saved(shard_of(ts, p->b.page), p->b.page);
			uint32_t *to = (uint32_t *)(uintptr_t)(p->b.page * TOUCH_PAGE);
			for (unsigned k = 0; k < TOUCH_WORDS; k++)
				if (p->b.bits[1][k / 64] >> k % 64 & 1)
					to[k] = s->old[k];
		}
}
