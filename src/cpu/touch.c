/*
 * touch.c - words of global memory that workers access while they execute blocks of one launch
 * beside each other.
 *
 * A launch whose blocks don't communicate leaves the same memory in whatever order they run, unless
 * one block writes what another accesses: a race. (All may update a word by one kind of atomics
 * that commute, whose results no thread has; what reads or writes it, too, meets them.) Then the
 * result depends on the order, and the launch must be repeated in one that is fixed. Blocks of one
 * worker run in their order anyhow, so it is enough to compare what workers have accessed, once, at
 * the launch's end, and only in pages that several of them have seen. All workers do that, each for
 * some pages: it would take one thread, for which all others wait, as long as the launch.
 *
 * What a worker notes, no other one looks at until then, and pages whose bytes are kept have the
 * launch's number: between launches nothing need be cleared but by each worker for itself.
 *
 * All of it is tables by page over the machine's memory, reserved as a whole: pages of the host are
 * taken where they are touched, and given back when a launch has left many. Other memory
 * (cudaHostRegister) isn't followed: a launch that accesses it is repeated by one worker.
 *
 * Misses: a store that is narrower than a word counts as one to all of it, which only repeats a
 * launch in vain. Costs: a few instructions for a row of lanes whose page has been seen; 513 bytes
 * for each page and worker, and a copy of each page that is written; reserved for each worker, a
 * tenth of the region of addresses.
 */
#include "cpu/touch.h"
#include "base/base.h"
#include "cpu/arch.h"
#include "cpu/repeat.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MOST_PAGES    (1u << 18)   /* that are kept in a launch: 1 GiB */
#define MOST_RESIDENT (1u << 16)   /* of the host's, between launches: 256 MiB */
#define LEAST_BYTES   (1ull << 26) /* where there are few addresses (an emulator), not none */
#define PART	      32u /* pages of all workers that one looks at, at once: some 10 µs */

/* By page: is what it held kept? TWICE: memory that is mapped twice. The launch's number is above
 * these bits: other numbers mean NOT_KEPT. */
enum { NOT_KEPT, BEING_KEPT, KEPT, KEPT_TWICE, STATES };
#define MOST_LAUNCHES (UINT32_MAX / STATES)

/* Bytes of other memory before a store. */
struct other {
	uint64_t host, bytes;
	uint8_t *old;
};

struct cpu_touches {
	struct cpu_machine *m;
	unsigned workers;
	uint64_t bytes; /* that the tables are about */
	_Atomic uint32_t *kept;
	uint32_t launch; /* its number */
	uint8_t *old;	 /* what pages held when the launch began */
	uint8_t *held;	 /* by page: has `old` one of the host's, from this launch or before? */
	_Atomic uint32_t nheld;
	_Atomic bool has_other;
	/* While it is looked for words on which workers meet: */
	bool are_deferred;
	_Atomic bool is_met;
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

	unreserve((void *)ts->kept, pages * sizeof(*ts->kept));
	unreserve(ts->old, ts->bytes);
	unreserve(ts->held, pages);
	ts->kept = NULL;
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
	ts->kept = reserve(pages * sizeof(*ts->kept));
	ts->old = reserve(bytes);
	ts->held = reserve(pages);
	has_all = ts->kept && ts->old && ts->held;
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
	/* sizeof is a multiple of the alignment. */
	size_t size = sizeof(struct cpu_touches) + workers * sizeof(struct cpu_touch);
	struct cpu_touches *ts = aligned_alloc(_Alignof(struct cpu_touches), size);
	uint64_t first, bytes;

	if (!ts)
		return NULL;
	memset(ts, 0, size);
	cpu_mem_region(m, &first, &bytes);
	ts->m = m;
	ts->workers = workers;
	ts->launch = 1;
	for (unsigned i = 0; i < workers; i++)
		ts->touch[i] = (struct cpu_touch){.base = first, .alias = m->alias, .all = ts};
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
	for (unsigned i = 0; i < ts->workers; i++)
		ts->touch[i].is_old = true;
	if (ts->launch++ == MOST_LAUNCHES) {
		(void)madvise((void *)ts->kept, ts->bytes / TOUCH_PAGE * sizeof(*ts->kept),
			      MADV_DONTNEED);
		ts->launch = 1;
	}
	if (atomic_load(&ts->nheld) > MOST_RESIDENT) {
		(void)madvise(ts->old, ts->bytes, MADV_DONTNEED);
		(void)madvise(ts->held, ts->bytes / TOUCH_PAGE, MADV_DONTNEED);
		atomic_store(&ts->nheld, 0);
	}
	forget_others(ts);
}

static void clear_page(struct cpu_touch *t, uint32_t page)
{
	for (unsigned kind = 0; kind < TOUCH_KINDS; kind++)
		if (t->seen[page] >> kind & 1)
			memset(t->page[page].bits[kind], 0, sizeof(t->page[page].bits[kind]));
}

void cpu_touch_clear(struct cpu_touch *t)
{
	uint64_t pages = t->bytes / TOUCH_PAGE;
	bool has_many = t->pages.n > MOST_RESIDENT;

	if (has_many)
		(void)madvise(t->page, pages * sizeof(*t->page), MADV_DONTNEED);
	for (size_t i = 0; i < t->pages.n; i++) {
		if (!has_many)
			clear_page(t, t->pages.v[i]);
		t->seen[t->pages.v[i]] = 0;
	}
	t->pages.n = 0;
	t->is_old = false;
	atomic_store_explicit(&t->nkept, 0, memory_order_relaxed);
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
	uint64_t n = 0;

	for (unsigned i = 0; i < ts->workers; i++)
		n += atomic_load_explicit(&ts->touch[i].nkept, memory_order_relaxed);
	return n > MOST_PAGES || atomic_load_explicit(&ts->has_other, memory_order_relaxed);
}

/* ---- while workers execute ------------------------------------------------------------------- */

static void *host_page(const struct cpu_touch *t, uint64_t page, bool is_alias)
{
	return (void *)(uintptr_t)(t->base + page * TOUCH_PAGE + (is_alias ? t->alias : 0));
}

/* Of this launch. */
static unsigned kept_state(const struct cpu_touches *ts, uint64_t page)
{
	uint32_t is = atomic_load(&ts->kept[page]);

	return is / STATES == ts->launch ? is % STATES : NOT_KEPT;
}

static void keep_page(struct cpu_touch *t, uint64_t page, bool is_alias)
{
	struct cpu_touches *ts = t->all;

	memcpy(ts->old + page * TOUCH_PAGE, host_page(t, page, is_alias), TOUCH_PAGE);
	atomic_store_explicit(&t->nkept, t->nkept + 1, memory_order_relaxed);
	if (ts->held[page])
		return;
	ts->held[page] = 1;
	atomic_fetch_add(&ts->nheld, 1);
}

/* Whichever worker writes the page comes here first, so what is there is what the launch found. */
static void keep(struct cpu_touch *t, uint64_t page, bool is_alias)
{
	struct cpu_touches *ts = t->all;
	uint32_t was = atomic_load(&ts->kept[page]), is = ts->launch * STATES;

	if (was / STATES != ts->launch &&
	    atomic_compare_exchange_strong(&ts->kept[page], &was, is + BEING_KEPT)) {
		keep_page(t, page, is_alias);
		atomic_store(&ts->kept[page], is + (is_alias ? KEPT_TWICE : KEPT));
	}
	while (kept_state(ts, page) == BEING_KEPT)
		cpu_arch_relax();
}

static void see_page(struct cpu_touch *t, uint64_t page, enum touch_kind kind, bool is_alias)
{
	if (t->seen[page] >> kind & 1)
		return;
	if (!t->seen[page])
		base_vec_push(&t->pages, (uint32_t)page);
	if (kind != TOUCH_READ)
		keep(t, page, is_alias);
	t->seen[page] |= (uint8_t)(1u << kind);
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

bool cpu_touch_before(const struct cpu_touch *t, uint64_t host, void *to, unsigned bytes)
{
	uint64_t at = cpu_touch_at(t, host);

	if (at >= t->bytes || bytes > t->bytes - at || !cpu_touch_has(t, at, TOUCH_TICKET))
		return false;
	memcpy(to, t->all->old + at, bytes);
	return true;
}

void cpu_touch_lanes(struct cpu_touch *t, const struct cpu_warp *w, uint32_t mask,
		     const uint64_t addr[CPU_WARP], uint32_t bytes, enum touch_kind kind)
{
	uint64_t lo = 0, n = 0;

	if (mask && cpu_are_row(addr, mask, bytes)) {
		touch_near(t, w, addr[__builtin_ctz(mask)],
			   (uint64_t)bytes * (unsigned)__builtin_popcount(mask), bytes, kind);
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
	uint64_t tickets[TOUCH_MASKS];
};

static const uint64_t *masks(const struct cpu_touch *t, uint32_t page, enum touch_kind kind)
{
	static const uint64_t none[TOUCH_MASKS];

	return t->seen[page] >> kind & 1 ? t->page[page].bits[kind] : none;
}

static void add_accesses(struct accesses *a, const struct cpu_touch *t, uint32_t page)
{
	const uint64_t *reads = masks(t, page, TOUCH_READ), *writes = masks(t, page, TOUCH_WRITE);
	const uint64_t *updates = masks(t, page, TOUCH_UPDATE);
	const uint64_t *tickets = masks(t, page, TOUCH_TICKET);

	for (unsigned k = 0; k < TOUCH_MASKS; k++) {
		uint64_t read = reads[k], stored = writes[k], mine = updates[k];
		a->written_twice[k] |= a->written[k] & stored;
		a->written[k] |= stored;
		a->updated_twice[k] |= a->updated[k] & mine;
		a->updated[k] |= mine;
		a->read[k] |= read;
		a->not_written[k] |= (read | mine) & ~stored;
		a->not_updated[k] |= read & ~mine;
		a->tickets[k] |= tickets[k];
	}
}

static bool has_seen(const struct cpu_touch *t, uint32_t page)
{
	return !t->is_old && t->seen[page];
}

/* In a page that several workers have seen, or one that updates are deferred to. What others have
 * noted lies in their caches: once is enough. */
static bool meet_in(const struct cpu_touches *ts, uint32_t page)
{
	struct accesses a = {0};
	uint64_t all = 0;

	for (unsigned i = 0; i < ts->workers; i++)
		if (has_seen(&ts->touch[i], page))
			add_accesses(&a, &ts->touch[i], page);
	/* Who accesses a word that it hasn't written, where one is written, isn't the one. */
	for (unsigned k = 0; k < TOUCH_MASKS; k++) {
		all |= a.written_twice[k] | (a.written[k] & a.not_written[k]) |
		       (a.updated[k] & a.not_updated[k]) | (a.updated_twice[k] & a.read[k]);
		all |= a.tickets[k] & (a.read[k] | a.written[k] | a.updated[k]);
		if (ts->are_deferred)
			all |= a.updated[k] & (a.read[k] | a.written[k]);
	}
	return all != 0;
}

/* Of the workers that have seen a page the first one's list is where it is looked at. */
static bool is_worth_a_look(const struct cpu_touches *ts, unsigned worker, uint32_t page)
{
	uint8_t ordered = 1u << TOUCH_TICKET;
	bool is_shared = false;

	ordered |= (uint8_t)(ts->are_deferred << TOUCH_UPDATE);
	if (kept_state(ts, page) == NOT_KEPT)
		return false;
	for (unsigned i = 0; i < worker; i++)
		if (has_seen(&ts->touch[i], page))
			return false;
	for (unsigned i = worker + 1; i < ts->workers && !is_shared; i++)
		is_shared = has_seen(&ts->touch[i], page);
	return is_shared || (ts->touch[worker].seen[page] & ordered);
}

uint64_t cpu_touches_begin_look(struct cpu_touches *ts, bool are_deferred)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < ts->workers; i++)
		n += ts->touch[i].is_old ? 0 : ts->touch[i].pages.n;
	ts->are_deferred = are_deferred;
	/* Other memory can't be seen. A short launch ends before a worker asks
	 * cpu_touches_are_full. */
	atomic_store(&ts->is_met, atomic_load(&ts->has_other));
	return (n + PART - 1) / PART;
}

void cpu_touches_look(struct cpu_touches *ts, uint64_t part)
{
	uint64_t from = part * PART,
		 end = from + PART; /* of all workers' pages, one after another */

	for (unsigned i = 0; i < ts->workers && end; i++) {
		const struct cpu_touch *t = &ts->touch[i];
		uint64_t n = t->is_old ? 0 : t->pages.n, until = n < end ? n : end;
		for (; from < until && !atomic_load_explicit(&ts->is_met, memory_order_relaxed);
		     from++)
			if (is_worth_a_look(ts, i, t->pages.v[from]) &&
			    meet_in(ts, t->pages.v[from]))
				atomic_store(&ts->is_met, true);
		from = from > n ? from - n : 0;
		end -= until;
	}
}

bool cpu_touches_meet(const struct cpu_touches *ts)
{
	return atomic_load(&ts->is_met);
}

static void undo_page(const struct cpu_touches *ts, const struct cpu_touch *t, uint32_t page)
{
	const uint32_t *old = (const void *)(ts->old + (uint64_t)page * TOUCH_PAGE);
	const uint64_t *writes = masks(t, page, TOUCH_WRITE);
	const uint64_t *updates = masks(t, page, TOUCH_UPDATE);
	const uint64_t *tickets = masks(t, page, TOUCH_TICKET);
	uint32_t *to = host_page(t, page, kept_state(ts, page) == KEPT_TWICE);

	for (unsigned k = 0; k < TOUCH_WORDS; k++)
		if ((writes[k / 64] | updates[k / 64] | tickets[k / 64]) >> k % 64 & 1)
			to[k] = old[k];
}

void cpu_touches_undo(struct cpu_touches *ts)
{
	for (unsigned i = 0; i < ts->workers; i++) {
		const struct cpu_touch *t = &ts->touch[i];
		for (size_t k = 0; k < t->pages.n && !t->is_old; k++)
			if (t->seen[t->pages.v[k]] & ~(1u << TOUCH_READ))
				undo_page(ts, t, t->pages.v[k]);
	}
	/* The last one first: of bytes that are there twice the oldest remain. */
	for (size_t i = ts->others.n; i-- > 0;) {
		const struct other *o = &ts->others.v[i];
		memcpy((void *)(uintptr_t)o->host, o->old, o->bytes);
	}
}
