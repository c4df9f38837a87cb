/*
 * touch.c - words of global memory that workers access while they execute blocks of one launch
 * beside each other.
 *
 * A launch whose blocks don't communicate leaves the same memory in whatever order they run, unless
 * one block writes what another accesses: a race. (All may update a word by one kind of atomics
 * that commute, whose results no thread has; what reads or writes it, too, meets them.) Then the
 * result depends on the order, and the launch must be repeated in one that is fixed. Blocks of one
 * worker run in their order anyhow, so it is enough to compare what workers have accessed, once, at
 * the launch's end, and only in pages that several of them have seen.
 *
 * All of it is tables by page over the machine's memory, reserved as a whole: pages of the host are
 * taken where they are touched, and given back when a launch has left many. Other memory
 * (cudaHostRegister) isn't followed: a launch that accesses it is repeated by one worker.
 *
 * Misses: a store that is narrower than a word counts as one to all of it, which only repeats a
 * launch in vain. Costs: a few instructions for a row of lanes whose page has been seen; 385 bytes
 * for each page and worker, and a copy of each page that is written; reserved for each worker, a
 * tenth of the region of addresses.
 */
#include "cpu/touch.h"
#include "base/base.h"
#include "cpu/repeat.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MOST_PAGES    (1u << 18) /* that are kept in a launch: 1 GiB */
#define MOST_RESIDENT (1u << 16) /* of the host's, between launches: 256 MiB */
#define MOST_WORKERS  250u
#define LEAST_BYTES   (1ull << 30)

/* By page: which worker has seen it. */
#define SEEN_BY_SEVERAL UINT8_MAX
/* By page: is what it held kept? TWICE: memory that is mapped twice. */
enum { NOT_KEPT, BEING_KEPT, KEPT, KEPT_TWICE };

/* Bytes of other memory before a store. */
struct other {
	uint64_t host, bytes;
	uint8_t *old;
};

struct cpu_touches {
	struct cpu_machine *m;
	unsigned workers;
	uint64_t bytes;	       /* that the tables are about */
	_Atomic uint8_t *seen; /* 0: no worker, its number, SEEN_BY_SEVERAL */
	_Atomic uint8_t *kept;
	uint8_t *old;  /* what pages held when the launch began */
	uint8_t *held; /* by page: has `old` one of the host's, from this launch or before? */
	_Atomic uint32_t npages, nheld;
	_Atomic bool has_other;
	pthread_mutex_t lock; /* of: */
	BASE_VEC(struct other) others;
	struct cpu_touch touch[];
};

/* ---- life ---------------------------------------------------------------------------------- */

static void *reserve(uint64_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	/* Huge pages would take 2 MiB for each page that is touched. */
	(void)madvise(p, bytes, MADV_DONTDUMP);
	(void)madvise(p, bytes, MADV_NOHUGEPAGE);
	return p;
}

static void unreserve(void *p, uint64_t bytes)
{
	if (p)
		munmap(p, bytes);
}

static void unmap_all(struct cpu_touches *ts)
{
	uint64_t pages = ts->bytes / TOUCH_PAGE;

	unreserve((void *)ts->seen, pages);
	unreserve((void *)ts->kept, pages);
	unreserve(ts->old, ts->bytes);
	unreserve(ts->held, pages);
	ts->seen = ts->kept = NULL;
	ts->old = ts->held = NULL;
	for (unsigned i = 0; i < ts->workers; i++) {
		struct cpu_touch *t = &ts->touch[i];
		unreserve(t->seen, pages);
		unreserve(t->page, pages * sizeof(*t->page));
		t->seen = NULL;
		t->page = NULL;
	}
}

static bool map_all(struct cpu_touches *ts, uint64_t bytes)
{
	uint64_t pages = bytes / TOUCH_PAGE;
	bool has_all;

	ts->bytes = bytes;
	ts->seen = reserve(pages);
	ts->kept = reserve(pages);
	ts->old = reserve(bytes);
	ts->held = reserve(pages);
	has_all = ts->seen && ts->kept && ts->old && ts->held;
	for (unsigned i = 0; has_all && i < ts->workers; i++) {
		struct cpu_touch *t = &ts->touch[i];
		t->bytes = bytes;
		t->seen = reserve(pages);
		t->page = reserve(pages * sizeof(*t->page));
		has_all = t->seen && t->page;
	}
	if (!has_all)
		unmap_all(ts);
	return has_all;
}

struct cpu_touches *cpu_touches_new(struct cpu_machine *m, unsigned workers)
{
	struct cpu_touches *ts = calloc(1, sizeof(*ts) + workers * sizeof(ts->touch[0]));
	uint64_t first, bytes;

	if (!ts || workers > MOST_WORKERS) {
		free(ts);
		return NULL;
	}
	cpu_mem_region(m, &first, &bytes);
	ts->m = m;
	ts->workers = workers;
	for (unsigned i = 0; i < workers; i++)
		ts->touch[i] = (struct cpu_touch){
			.base = first, .alias = m->alias, .all = ts, .number = (uint8_t)(i + 1)};
	/* Memory is handed out from the region's start on, so that less does, too. */
	for (; bytes >= LEAST_BYTES && !map_all(ts, bytes); bytes /= 2)
		;
	if (!ts->old) {
		free(ts);
		return NULL;
	}
	pthread_mutex_init(&ts->lock, NULL);
	return ts;
}

static void forget_others(struct cpu_touches *ts)
{
	for (size_t i = 0; i < ts->others.n; i++)
		free(ts->others.v[i].old);
	ts->others.n = 0;
	atomic_store(&ts->has_other, false);
}

void cpu_touches_end(struct cpu_touches *ts)
{
	for (unsigned i = 0; i < ts->workers; i++) {
		struct cpu_touch *t = &ts->touch[i];
		for (size_t k = 0; k < t->pages.n && !t->is_old; k++) {
			atomic_store_explicit(&ts->seen[t->pages.v[k]], 0, memory_order_relaxed);
			atomic_store_explicit(&ts->kept[t->pages.v[k]], NOT_KEPT,
					      memory_order_relaxed);
		}
		t->is_old = true;
	}
	if (atomic_load(&ts->nheld) > MOST_RESIDENT) {
		(void)madvise(ts->old, ts->bytes, MADV_DONTNEED);
		(void)madvise(ts->held, ts->bytes / TOUCH_PAGE, MADV_DONTNEED);
		atomic_store(&ts->nheld, 0);
	}
	forget_others(ts);
	atomic_store(&ts->npages, 0);
}

void cpu_touch_clear(struct cpu_touch *t)
{
	uint64_t pages = t->bytes / TOUCH_PAGE;

	for (size_t i = 0; i < t->pages.n; i++)
		t->seen[t->pages.v[i]] = TOUCH_NOT_SEEN;
	if (t->pages.n > MOST_RESIDENT)
		(void)madvise(t->page, pages * sizeof(*t->page), MADV_DONTNEED);
	else
		for (size_t i = 0; i < t->pages.n; i++)
			t->page[t->pages.v[i]] = (struct cpu_touch_bits){0};
	t->pages.n = 0;
	t->is_old = false;
}

void cpu_touches_free(struct cpu_touches *ts)
{
	if (!ts)
		return;
	forget_others(ts);
	base_vec_free(&ts->others);
	for (unsigned i = 0; i < ts->workers; i++)
		base_vec_free(&ts->touch[i].pages);
	unmap_all(ts);
	pthread_mutex_destroy(&ts->lock);
	free(ts);
}

struct cpu_touch *cpu_touch_of(struct cpu_touches *ts, unsigned worker)
{
	return &ts->touch[worker];
}

bool cpu_touches_are_full(const struct cpu_touches *ts)
{
	return atomic_load_explicit(&ts->npages, memory_order_relaxed) > MOST_PAGES ||
	       atomic_load_explicit(&ts->has_other, memory_order_relaxed);
}

/* ---- while workers execute ------------------------------------------------------------------- */

static void *host_page(const struct cpu_touch *t, uint64_t page, bool is_alias)
{
	return (void *)(uintptr_t)(t->base + page * TOUCH_PAGE + (is_alias ? t->alias : 0));
}

/* Whichever worker writes the page comes here first, so what is there is what the launch found. */
static void keep(struct cpu_touch *t, uint64_t page, bool is_alias)
{
	struct cpu_touches *ts = t->all;
	uint8_t was = NOT_KEPT;

	if (atomic_compare_exchange_strong(&ts->kept[page], &was, BEING_KEPT)) {
		memcpy(ts->old + page * TOUCH_PAGE, host_page(t, page, is_alias), TOUCH_PAGE);
		atomic_store(&ts->kept[page], is_alias ? KEPT_TWICE : KEPT);
		atomic_fetch_add(&ts->npages, 1);
		atomic_fetch_add(&ts->nheld, !ts->held[page]);
		ts->held[page] = 1;
	}
	while (atomic_load(&ts->kept[page]) == BEING_KEPT)
		;
}

static void see_page(struct cpu_touch *t, uint64_t page, enum touch_kind kind, bool is_alias)
{
	uint8_t by = 0;

	if (!t->seen[page]) {
		t->seen[page] = TOUCH_SEEN;
		base_vec_push(&t->pages, (uint32_t)page);
		if (!atomic_compare_exchange_strong(&t->all->seen[page], &by, t->number))
			atomic_store(&t->all->seen[page], SEEN_BY_SEVERAL);
	}
	if (kind != TOUCH_READ && t->seen[page] != TOUCH_CHANGED) {
		keep(t, page, is_alias);
		t->seen[page] = TOUCH_CHANGED;
	}
}

/* It is to be repeated; until the worker has stopped, too, what it overwrites is kept. */
static void note_other(struct cpu_touches *ts, uint64_t host, uint64_t bytes, enum touch_kind kind)
{
	struct other o = {host, bytes, NULL};

	atomic_store(&ts->has_other, true);
	if (kind == TOUCH_READ)
		return;
	o.old = base_malloc(bytes);
	pthread_mutex_lock(&ts->lock);
	memcpy(o.old, (const void *)(uintptr_t)host, bytes);
	base_vec_push(&ts->others, o);
	pthread_mutex_unlock(&ts->lock);
}

static void set_bits(uint64_t *bits, uint64_t first, uint64_t n)
{
	for (uint64_t end = first + n; first < end;) {
		uint64_t shift = first % 64,
			 k = 64 - shift < end - first ? 64 - shift : end - first;
		bits[first / 64] |= UINT64_MAX >> (64 - k) << shift;
		first += k;
	}
}

void cpu_touch_bytes(struct cpu_touch *t, uint64_t host, uint64_t bytes, enum touch_kind kind)
{
	uint64_t at = cpu_touch_at(t, host), word = at / 4, end = (at + bytes + 3) / 4;
	bool is_alias = host - t->base >= t->bytes;

	if (at >= t->bytes || bytes > t->bytes - at) {
		note_other(t->all, host, bytes, kind);
		return;
	}
	while (word < end) {
		uint64_t page = word / TOUCH_WORDS, first = word % TOUCH_WORDS;
		uint64_t n = TOUCH_WORDS - first < end - word ? TOUCH_WORDS - first : end - word;
		see_page(t, page, kind, is_alias);
		set_bits(t->page[page].bits[kind], first, n);
		word += n;
	}
}

/* [addr, addr + n) of the program. False: it isn't all global memory. */
static bool touch_whole(struct cpu_touch *t, const struct cpu_warp *w, uint64_t addr, uint64_t n,
			enum touch_kind kind)
{
	struct cpu_machine *m = t->all->m;
	uint64_t host = m->alias ? cpu_mem_host(m, addr) : addr;
	uint64_t at = cpu_touch_at(t, host);
	bool is_known =
		at < t->bytes && at % TOUCH_PAGE + n <= TOUCH_PAGE && cpu_touch_has(t, at, kind);
	struct cpu_space_view v;

	if (!is_known && (!cpu_space_view(m, w->grid->device, addr, &v) || n > v.end - addr))
		return false;
	cpu_touch_row(t, host, n, kind);
	return true;
}

void cpu_touch_run(struct cpu_touch *t, const struct cpu_warp *w, uint64_t addr, uint64_t n,
		   uint32_t bytes, enum touch_kind kind)
{
	if (n && !touch_whole(t, w, addr, n, kind) && n > bytes)
		for (uint64_t i = 0; i < n; i += bytes)
			(void)touch_whole(t, w, addr + i, bytes, kind);
}

/* As cpu_touch_run, mostly in a page that has been seen. */
static inline void touch_near(struct cpu_touch *t, const struct cpu_warp *w, uint64_t addr,
			      uint64_t n, uint32_t bytes, enum touch_kind kind)
{
	if (t->alias || !cpu_touch_again(t, addr - t->base, n, kind))
		cpu_touch_run(t, w, addr, n, bytes, kind);
}

void cpu_touch_lanes(struct cpu_touch *t, const struct cpu_warp *w, uint32_t mask,
		     const uint64_t addr[CPU_WARP], uint32_t bytes, enum touch_kind kind)
{
	uint64_t lo = 0, n = 0, differ = ~mask;

	for (unsigned l = 0; l < CPU_WARP; l++)
		differ |= addr[l] ^ (addr[0] + (uint64_t)l * bytes);
	if (!differ) {
		touch_near(t, w, addr[0], (uint64_t)bytes * CPU_WARP, bytes, kind);
		return;
	}
	/* Lanes that adjoin are one run. */
	CPU_EACH_LANE (l, mask) {
		if (n && addr[l] - lo <= n) {
			uint64_t end = addr[l] - lo + bytes;
			n = end > n ? end : n;
			continue;
		}
		if (n)
			touch_near(t, w, lo, n, bytes, kind);
		lo = addr[l];
		n = bytes;
	}
	if (n)
		touch_near(t, w, lo, n, bytes, kind);
}

/* ---- when they have ended -------------------------------------------------------------------- */

/* Of the words of a page: those that some worker, and several, have written or updated; those that
 * one has read, or accessed without writing it, or read without updating it. */
struct accesses {
	uint64_t written[TOUCH_MASKS], updated[TOUCH_MASKS];
	uint64_t written_twice[TOUCH_MASKS], updated_twice[TOUCH_MASKS];
	uint64_t read[TOUCH_MASKS], not_written[TOUCH_MASKS], not_updated[TOUCH_MASKS];
};

static void add_accesses(struct accesses *a, const struct cpu_touch_bits *b)
{
	for (unsigned k = 0; k < TOUCH_MASKS; k++) {
		uint64_t read = b->bits[TOUCH_READ][k], stored = b->bits[TOUCH_WRITE][k];
		uint64_t mine = b->bits[TOUCH_UPDATE][k];
		a->written_twice[k] |= a->written[k] & stored;
		a->written[k] |= stored;
		a->updated_twice[k] |= a->updated[k] & mine;
		a->updated[k] |= mine;
		a->read[k] |= read;
		a->not_written[k] |= (read | mine) & ~stored;
		a->not_updated[k] |= read & ~mine;
	}
}

/* In a page that several workers have seen. One thread looks at it while all others wait, and what
 * workers have noted lies in other caches: once is enough. */
static bool meet_in(const struct cpu_touches *ts, uint32_t page, bool are_deferred)
{
	struct accesses a = {0};
	uint64_t all = 0;

	for (unsigned i = 0; i < ts->workers; i++) {
		const struct cpu_touch *t = &ts->touch[i];
		if (!t->is_old && t->seen[page])
			add_accesses(&a, &t->page[page]);
	}
	/* Who accesses a word that it hasn't written, where one is written, isn't the one. */
	for (unsigned k = 0; k < TOUCH_MASKS; k++) {
		all |= a.written_twice[k] | (a.written[k] & a.not_written[k]) |
		       (a.updated[k] & a.not_updated[k]) | (a.updated_twice[k] & a.read[k]);
		if (are_deferred)
			all |= a.updated[k] & (a.read[k] | a.written[k]);
	}
	return all != 0;
}

bool cpu_touches_meet(struct cpu_touches *ts, bool are_deferred)
{
	/* It can't be seen. A short launch ends before a worker asks cpu_touches_are_full. */
	if (atomic_load(&ts->has_other))
		return true;
	for (unsigned i = 0; i < ts->workers; i++) {
		const struct cpu_touch *t = &ts->touch[i];
		for (size_t k = 0; k < t->pages.n && !t->is_old; k++) {
			uint32_t page = t->pages.v[k];
			uint8_t by = atomic_load_explicit(&ts->seen[page], memory_order_relaxed);
			if (atomic_load_explicit(&ts->kept[page], memory_order_relaxed) ==
				    NOT_KEPT ||
			    (by != SEEN_BY_SEVERAL && !(are_deferred && by == t->number)))
				continue;
			if (meet_in(ts, page, are_deferred))
				return true;
			/* Once for all workers. */
			atomic_store_explicit(&ts->seen[page], t->number, memory_order_relaxed);
		}
	}
	return false;
}

static void undo_page(const struct cpu_touches *ts, const struct cpu_touch *t, uint32_t page)
{
	const uint32_t *old = (const void *)(ts->old + (uint64_t)page * TOUCH_PAGE);
	const struct cpu_touch_bits *b = &t->page[page];
	uint32_t *to = host_page(t, page, atomic_load(&ts->kept[page]) == KEPT_TWICE);

	for (unsigned k = 0; k < TOUCH_WORDS; k++)
		if ((b->bits[TOUCH_WRITE][k / 64] | b->bits[TOUCH_UPDATE][k / 64]) >> k % 64 & 1)
			to[k] = old[k];
}

void cpu_touches_undo(struct cpu_touches *ts)
{
	for (unsigned i = 0; i < ts->workers; i++) {
		const struct cpu_touch *t = &ts->touch[i];
		for (size_t k = 0; k < t->pages.n && !t->is_old; k++)
			if (t->seen[t->pages.v[k]] == TOUCH_CHANGED)
				undo_page(ts, t, t->pages.v[k]);
	}
	/* The last one first: of bytes that are there twice the oldest remain. */
	for (size_t i = ts->others.n; i-- > 0;) {
		const struct other *o = &ts->others.v[i];
		memcpy((void *)(uintptr_t)o->host, o->old, o->bytes);
	}
}
