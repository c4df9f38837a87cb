/*
 * proven_notes.c - what the instructions of a proven launch access, as they do: sets of bytes, rows
 * of elements and their threads, and what was there before stores (proven_run.h); and all of it
 * again, side by side.
 *
 * Several workers note at the same time: by atomics, where something is missing; one alone needs
 * none. Costs: proven.c.
 */
#include "cpu/arch.h"
#include "flow/flow.h"
#include "cpu/events/proven_run.h"

#include <stdlib.h>
#include <string.h>

#define WORD	  PROVEN_WORD
#define LINE_ROWS (64 / sizeof(uint32_t)) /* words of rows in a cache line */

static bool bytes_make(struct proven_bytes *b, const struct cpu_extent *e)
{
	b->words = e->bytes / WORD + 1;
	b->bits = proven_room_take(b->words * sizeof(*b->bits), true);
	b->lo = UINT64_MAX;
	return b->bits != NULL;
}

/* The first of the words [w, end) that isn't as that; at least end: there is none. */
static uint64_t next_other(const uint64_t *v, uint64_t w, uint64_t end, uint64_t that)
{
	while (w + 4 <= end &&
	       !((v[w] ^ that) | (v[w + 1] ^ that) | (v[w + 2] ^ that) | (v[w + 3] ^ that)))
		w += 4;
	while (w < end && v[w] == that)
		w++;
	return w;
}

/* The bits of [at, at + n) that the word has. */
static uint64_t bits_of(uint64_t word, uint64_t at, uint64_t n)
{
	uint64_t lo = at > word * WORD ? at - word * WORD : 0, end = at + n - word * WORD;

	return (end >= WORD ? UINT64_MAX : (1ull << end) - 1) & UINT64_MAX << lo;
}

/* a: the lower end (what is added lowers it) or the upper one. */
static void move_end(uint64_t *a, uint64_t to, bool is_upper)
{
	uint64_t now = __atomic_load_n(a, __ATOMIC_RELAXED);

	while ((is_upper ? now < to : now > to) &&
	       !__atomic_compare_exchange_n(a, &now, to, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* In large steps: workers that go through an array would change them at each access. */
static void move_ends(uint64_t *lo, uint64_t *hi, uint64_t first, uint64_t last, uint64_t all)
{
	uint64_t end = (last / PROVEN_STEP + 1) * PROVEN_STEP;

	move_end(lo, first / PROVEN_STEP * PROVEN_STEP, false);
	move_end(hi, end < all ? end : all, true);
}

/* Puts bits into a word. */
static inline void put(uint64_t *word, uint64_t bits, bool is_beside)
{
	if (!is_beside)
		*word |= bits;
	else if (bits & ~__atomic_load_n(word, __ATOMIC_RELAXED))
		__atomic_fetch_or(word, bits, __ATOMIC_RELAXED);
}

static void set(struct proven_bytes *b, uint64_t at, uint64_t n, bool is_beside)
{
	uint64_t word = at / WORD, last = (at + n - 1) / WORD;

	move_ends(&b->lo, &b->hi, word, last, b->words);
	for (; word <= last; word++)
		put(&b->bits[word], bits_of(word, at, n), is_beside);
}

/* ---- what stores overwrite --------------------------------------------------------------- */

static uint64_t parts_of(const struct proven_array *a)
{
	return a->extent.bytes / PROVEN_PART + 1;
}

static bool old_make(struct proven_array *a)
{
	if (!a->old)
		a->old = proven_room_take(a->extent.bytes, false);
	if (a->old && !a->kept)
		a->kept = proven_room_take(parts_of(a), true);
	return a->kept != NULL;
}

/* Who comes first does it, others wait. */
__attribute__((noinline)) static void keep_part(struct proven_array *a, uint64_t part)
{
	uint64_t at = part * PROVEN_PART, rest = a->extent.bytes - at;
	uint8_t was = PROVEN_NOT_KEPT;

	if (__atomic_compare_exchange_n(&a->kept[part], &was, PROVEN_BEING_KEPT, false,
					__ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
		memcpy(a->old + at, (const uint8_t *)(uintptr_t)a->base + at,
		       rest < PROVEN_PART ? rest : PROVEN_PART);
		__atomic_store_n(&a->kept[part], PROVEN_KEPT, __ATOMIC_RELEASE);
	}
	while (__atomic_load_n(&a->kept[part], __ATOMIC_ACQUIRE) != PROVEN_KEPT)
		cpu_arch_relax();
}

/* Bytes that are about to be written: what the launch found there is kept. Whoever of it writes to
 * the part first keeps all of it before. */
static inline void save(struct proven_array *a, uint64_t at, uint64_t n)
{
	for (uint64_t part = at / PROVEN_PART; part <= (at + n - 1) / PROVEN_PART; part++)
		if (__atomic_load_n(&a->kept[part], __ATOMIC_ACQUIRE) != PROVEN_KEPT)
			keep_part(a, part);
}

void proven_drop_old(struct cpu_proven_run *r)
{
	for (uint32_t i = 0; i < r->proven.nextents; i++) {
		struct proven_array *a = &r->array[i];
		uint64_t parts = parts_of(a);
		if (a->kept)
			memset(a->kept, PROVEN_NOT_KEPT, parts);
		proven_room_give(a->kept, parts, true);
		proven_room_give(a->old, a->extent.bytes, false);
		a->old = a->kept = NULL;
	}
}

/* ---- notes ------------------------------------------------------------------------------- */

/* How lanes lie: log2 of how many are side by side, 0: anyhow; which take part; and where lane 0
 * is, or would be. */
struct shape {
	unsigned wide, first, end;
	uint64_t base;
};

/* The lanes of a whole warp, not all side by side. */
static unsigned width_of(const uint64_t *addr, uint32_t bytes)
{
	for (unsigned wide = 4; wide >= 3; wide--) {
		unsigned low = (1u << wide) - 1;
		uint64_t differ = 0;
		for (unsigned l = 0; l < CPU_WARP; l++)
			differ |= addr[l] ^ (addr[l & ~low] + (uint64_t)(l & low) * bytes);
		if (!differ)
			return wide;
	}
	return 0;
}

static struct shape shape_of(const struct proven_lanes *a, const struct proven_touch *t)
{
	unsigned first = (unsigned)__builtin_ctz(a->mask),
		 end = 32u - (unsigned)__builtin_clz(a->mask);
	struct shape s = {0, first, end, a->addr[first] - (uint64_t)first * a->bytes};

	if (a->is_row)
		s.wide = 5;
	/* Only rows of a warp are kept: shorter ones are asked for in vain. */
	else if (a->mask == UINT32_MAX &&
		 !(__atomic_load_n(&t->row, __ATOMIC_ACQUIRE) && t->wide == 5))
		s.wide = width_of(a->addr, a->bytes);
	return s;
}

static uint64_t elements_of(const struct proven_array *a, const struct proven_touch *t)
{
	return (a->extent.bytes >> t->shift) + 2;
}

static uint64_t rows_of(const struct proven_array *a, const struct proven_touch *t)
{
	return (elements_of(a, t) >> t->wide) + 3;
}

/* What the first access is. Lock held. */
static bool make_rows(struct cpu_proven_run *r, struct proven_touch *t, const struct cpu_acc *acc,
		      uint32_t pc, const struct shape *s, uint32_t bytes)
{
	struct proven_array *a = &r->array[t->array];

	t->pc = pc;
	t->shift = (uint8_t)__builtin_ctz(bytes);
	t->wide = (uint8_t)(s->wide && r->nthreads < PROVEN_ROWS << s->wide ? s->wide : 5);
	t->is_write = acc->kind != CPU_ACC_LOAD;
	t->is_update = acc->kind == CPU_ACC_ATOMIC;
	t->scope = (uint8_t)flow_scope(acc->sem, acc->scope);
	a->is_read_only |= acc->is_nc;
	t->skew = (uint8_t)(proven_element(a, t, s->base - a->extent.base) & ((1u << t->wide) - 1));
	t->row_lo = UINT64_MAX;
	if (t->is_write && !old_make(a))
		return false;
	uint32_t *row = proven_room_take(rows_of(a, t) * sizeof(*row), true);
	__atomic_store_n(&t->row, row, __ATOMIC_RELEASE);
	return row != NULL;
}

static bool touch_make(struct cpu_proven_run *r, uint32_t site, const struct cpu_acc *acc,
		       uint32_t pc, const struct shape *s, uint32_t bytes)
{
	struct proven_touch *t = &r->touch[site];
	bool is_made = true;

	if (__atomic_load_n(&t->row, __ATOMIC_ACQUIRE))
		return true;
	pthread_mutex_lock(&r->lock);
	if (!t->row) {
		t->array = r->proven.site[site].extent;
		is_made = make_rows(r, t, acc, pc, s, bytes);
	}
	pthread_mutex_unlock(&r->lock);
	return is_made;
}

/* Of the threads that access an element the least is kept: whoever comes first. Here elements side
 * by side, of threads from that one on. */
static void put_threads(uint32_t *at, uint32_t n, uint32_t thread, bool is_beside)
{
	uint32_t to = UINT32_MAX - thread;

	for (uint32_t l = 0; l < n && !is_beside; l++)
		at[l] = at[l] < to - l ? to - l : at[l];
	for (uint32_t l = 0; l < n && is_beside; l++) {
		uint32_t now = __atomic_load_n(&at[l], __ATOMIC_RELAXED);
		while (now < to - l &&
		       !__atomic_compare_exchange_n(&at[l], &now, to - l, true, __ATOMIC_RELEASE,
						    __ATOMIC_RELAXED))
			;
	}
}

/* By element; NULL: there is no memory for it. */
static uint32_t *threads_make(struct cpu_proven_run *r, const struct proven_array *a,
			      struct proven_touch *t)
{
	uint32_t *all = __atomic_load_n(&t->thread, __ATOMIC_ACQUIRE);

	if (all)
		return all;
	pthread_mutex_lock(&r->lock);
	all = t->thread;
	if (!all && bytes_make(&t->done, &a->extent)) {
		all = proven_room_take(elements_of(a, t) * sizeof(*all), true);
		__atomic_store_n(&t->thread, all, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&r->lock);
	return all;
}

/* Notes elements side by side, of threads from that one on. False: there is no memory for it. */
static bool note_elements(struct cpu_proven_run *r, struct proven_array *a, struct proven_touch *t,
			  uint64_t at, uint32_t n, uint32_t thread, bool is_beside)
{
	uint32_t *all = threads_make(r, a, t);
	uint64_t element = proven_element(a, t, at);

	if (!all)
		return false;
	if (t->is_write)
		save(a, at, (uint64_t)n << t->shift);
	set(&t->done, at, (uint64_t)n << t->shift, is_beside);
	put_threads(&all[element], n, thread, is_beside);
	return true;
}

/* The same of a row's lanes [first, end), of which lane 0 would be at `at`. False: they lie across
 * rows, or other threads had others of the row; nothing was noted. Who sees a row that is noted may
 * write to it: what was there has been kept by then. */
static inline bool note_row(struct cpu_proven_run *r, struct proven_touch *t, uint64_t at,
			    uint32_t thread, unsigned first, unsigned end, bool is_beside)
{
	struct proven_array *a = &r->array[t->array];
	unsigned lane;
	uint32_t *row = proven_row(t, proven_element(a, t, at), &lane);

	if (lane)
		return false;
	uint32_t now = __atomic_load_n(row, __ATOMIC_ACQUIRE);
	uint64_t i = (uint64_t)(row - t->row);
	do {
		uint32_t by = proven_thread(t, now);
		unsigned from = proven_first(now), until = proven_end(now);
		/* Often an instruction has been there, by threads that aren't after these. */
		if (by <= thread && from <= first && until >= end)
			return true;
		if (now && (by < thread || first > from || end < until))
			return false;
		/* The next rows are often this worker's, too. Their words' cache line is another
		 * one's, or of the thread that cleared it: it comes meanwhile, to be written. */
		__builtin_prefetch(row + LINE_ROWS, 1);
		if (t->is_write)
			save(a, at + ((uint64_t)first << t->shift),
			     (uint64_t)(end - first) << t->shift);
		move_ends(&t->row_lo, &t->row_hi, i, i, rows_of(a, t));
		if (!is_beside)
			*row = proven_word(t, thread, first, end);
	} while (is_beside &&
		 !__atomic_compare_exchange_n(row, &now, proven_word(t, thread, first, end), true,
					      __ATOMIC_RELEASE, __ATOMIC_ACQUIRE));
	return true;
}

/* The number of the warp's first thread in the launch. */
static uint32_t thread_of(const struct cpu_proven_run *r, const struct cpu_warp *w)
{
	uint32_t n = events_actor(w);

	if (!r->has_judges)
		return n;
	n -= w->cta->events->actor;
	return (n >> r->stride) * r->block_threads + (n & ((1u << r->stride) - 1));
}

/* Lanes that lie anyhow. False: there is no memory for it. */
static bool note_lanes(struct cpu_warp *w, struct proven_array *a, struct proven_touch *t,
		       uint32_t mask, const uint64_t *addr, uint32_t thread)
{
	uint64_t first = 0, bytes = 1ull << t->shift, least = a->extent.base >> t->shift;
	uint32_t n = 0, from = 0; /* lanes side by side from `from` on */
	unsigned shift = t->shift;
	uint32_t *all = threads_make(w->grid->proven, a, t);

	if (!all)
		return false;
	CPU_EACH_LANE (l, mask) {
		/* An element that many gather is mostly noted, for a thread before this one; then
		 * what was there has been kept, too. */
		uint64_t element = (addr[l] >> shift) - least; /* proven_element() */
		if (__atomic_load_n(&all[element], __ATOMIC_ACQUIRE) >= UINT32_MAX - thread - l)
			continue;
		if (n && l == from + n && addr[l] == first + n * bytes) {
			n++;
			continue;
		}
		/* One element by many lanes has the first one's thread. */
		if (n == 1 && addr[l] == first)
			continue;
		if (n && !note_elements(w->grid->proven, a, t, first - a->extent.base, n,
					thread + from, w->worker->is_beside))
			return false;
		first = addr[l];
		from = l;
		n = 1;
	}
	return !n || note_elements(w->grid->proven, a, t, first - a->extent.base, n, thread + from,
				   w->worker->is_beside);
}

bool proven_note(struct cpu_warp *w, uint32_t pc, uint32_t site, const struct cpu_acc *acc,
		 const struct proven_lanes *lanes)
{
	struct cpu_proven_run *r = w->grid->proven;
	struct proven_touch *t = &r->touch[site];
	struct proven_array *a = &r->array[r->proven.site[site].extent];
	uint32_t thread = thread_of(r, w), per;
	struct shape s = shape_of(lanes, t);
	const uint64_t *addr = lanes->addr;
	uint64_t base = a->extent.base;
	bool is_beside = w->worker->is_beside;

	if (!touch_make(r, site, acc, pc, &s, lanes->bytes))
		return false;
	if (t->wide == 5 && s.wide == 5)
		return note_row(r, t, s.base - base, thread, s.first, s.end, is_beside) ||
		       note_elements(r, a, t, addr[s.first] - base, s.end - s.first,
				     thread + s.first, is_beside);
	if (lanes->mask != UINT32_MAX || s.wide < t->wide)
		return note_lanes(w, a, t, lanes->mask, addr, thread);
	per = 1u << t->wide;
	for (uint32_t l = 0; l < CPU_WARP; l += per)
		if (!note_row(r, t, addr[l] - base, thread + l, 0, per, is_beside) &&
		    !note_elements(r, a, t, addr[l] - base, per, thread + l, is_beside))
			return false;
	return true;
}

bool proven_note_warp(struct cpu_warp *w, uint32_t site, uint64_t at, bool is_one)
{
	struct cpu_proven_run *r = w->grid->proven;
	struct proven_touch *t = &r->touch[site];
	uint32_t n = is_one ? 1 : CPU_WARP, thread = thread_of(r, w);

	return __atomic_load_n(&t->row, __ATOMIC_ACQUIRE) && t->wide == 5 &&
	       ((!is_one && note_row(r, t, at, thread, 0, CPU_WARP, w->worker->is_beside)) ||
		note_elements(r, &r->array[t->array], t, at, n, thread, w->worker->is_beside));
}

/* ---- the end of notes --------------------------------------------------------------------- */

/* Of the elements of which some byte is in a set's words [from, to). */
static void zero_threads(const struct proven_array *a, const struct proven_touch *t, uint64_t from,
			 uint64_t to)
{
	uint64_t first = proven_element(a, t, from * WORD), last = to * WORD - 1;

	last = proven_element(a, t, last < a->extent.bytes ? last : a->extent.bytes - 1);
	memset(&t->thread[first], 0, (last - first + 1) * sizeof(*t->thread));
}

/* What the launch has written there: it is less than all. */
static void zero(const struct proven_array *a, struct proven_touch *t)
{
	struct proven_bytes *b = &t->done;
	bool has_threads = t->thread && proven_room_is_kept(elements_of(a, t) * sizeof(*t->thread));

	if (t->row_hi > t->row_lo)
		memset(&t->row[t->row_lo], 0, (t->row_hi - t->row_lo) * sizeof(*t->row));
	for (uint64_t w = b->lo, to; (w = next_other(b->bits, w, b->hi, 0)) < b->hi; w = to) {
		for (to = w; to < b->hi && b->bits[to]; to++)
			b->bits[to] = 0;
		if (has_threads)
			zero_threads(a, t, w, to);
	}
}

void proven_each_site(struct cpu_proven_run *r, struct cpu_engine *e, proven_site_fn *fn)
{
	uint32_t n = r->touch ? r->proven.nsites : 0;

	if (e)
		cpu_workers_each(e, n, fn, r);
	for (uint32_t i = 0; i < n && !e; i++)
		fn(r, i);
}

static void zero_site(void *arg, uint64_t site)
{
	const struct cpu_proven_run *r = arg;
	struct proven_touch *t = &r->touch[site];

	if (t->row)
		zero(&r->array[t->array], t);
}

/* Most of it is to make the notes' memory zero again. */
void proven_forget(struct cpu_proven_run *r, struct cpu_engine *e)
{
	uint32_t n = r->touch ? r->proven.nsites : 0;

	proven_drop_old(r);
	for (uint32_t i = 0; i < r->proven.nextents; i++)
		r->array[i].is_read_only = false;
	proven_each_site(r, e, zero_site);
	for (uint32_t i = 0; i < n; i++) {
		struct proven_touch *t = &r->touch[i];
		const struct proven_array *a = &r->array[t->array];
		if (!t->row)
			continue;
		proven_room_give(t->row, rows_of(a, t) * sizeof(*t->row), true);
		if (t->thread)
			proven_room_give(t->thread, elements_of(a, t) * sizeof(*t->thread), true);
		proven_room_give(t->done.bits, t->done.words * sizeof(*t->done.bits), true);
		*t = (struct proven_touch){0};
	}
}

/* ---- what was noted ---------------------------------------------------------------------- */

/* The last of the rows from that one on that follow one another whole. One thread goes through all
 * rows of a launch when it has ended, while others wait. */
static uint64_t last_whole(const struct proven_touch *t, uint64_t i)
{
	if (!proven_is_whole(t, t->row[i]))
		return i;
	while (i + 1 < t->row_hi && proven_is_whole(t, t->row[i + 1]))
		i++;
	return i;
}

/* The first row from that one on of which something was accessed; row_hi: none. Of a loop's body
 * that is there several times each instruction has a few rows only of each array. */
static uint64_t next_noted(const struct proven_touch *t, uint64_t i)
{
	const uint32_t *r = t->row;
	uint64_t end = t->row_hi;

	while (i + 8 <= end &&
	       !(r[i] | r[i + 1] | r[i + 2] | r[i + 3] | r[i + 4] | r[i + 5] | r[i + 6] | r[i + 7]))
		i += 8;
	while (i < end && !r[i])
		i++;
	return i;
}

/* Calls fn for runs of rows; returns how many there are. */
static uint64_t each_run(const struct proven_touch *t, const struct proven_array *a,
			 proven_range_fn *fn, void *arg)
{
	uint64_t n = 0, from = 0, end = 0; /* elements of the run that is open */

	for (uint64_t i = t->row_lo; i <= t->row_hi; i++) {
		uint32_t row = i < t->row_hi ? t->row[i] : 0;
		uint64_t start = proven_start(t, i);
		if (row && from != end && start + proven_first(row) == end) {
			i = last_whole(t, i);
			end = proven_start(t, i) + proven_end(t->row[i]);
			continue;
		}
		if (fn && from != end)
			fn(arg, t, a->base + proven_at(a, t, from), (end - from) << t->shift);
		n += from != end;
		if (!row) { /* the next one begins a run */
			from = end;
			i = next_noted(t, i + 1) - 1;
			continue;
		}
		from = start + proven_first(row);
		end = start + proven_end(row);
	}
	return n;
}

/* Where there are other elements, too: rows as bytes. */
static void join_rows(struct proven_touch *t, const struct proven_array *a)
{
	for (uint64_t i = t->row_lo; i < t->row_hi; i++) {
		uint32_t row = t->row[i];
		uint64_t first = proven_start(t, i) + proven_first(row);
		if (row)
			set(&t->done, proven_at(a, t, first),
			    (uint64_t)(proven_end(row) - proven_first(row)) << t->shift, false);
	}
}

uint64_t proven_each(struct proven_touch *t, const struct proven_array *a, proven_range_fn *fn,
		     void *arg)
{
	const struct proven_bytes *b = &t->done;
	uint64_t from = UINT64_MAX; /* of the run that is open */
	uint64_t n = 0, base = a->base;

	if (!t->row)
		return 0;
	if (!t->thread)
		return each_run(t, a, fn, arg);
	join_rows(t, a);
	for (uint64_t w = b->lo; w < b->hi; w++) {
		w = next_other(b->bits, w, b->hi, from == UINT64_MAX ? 0 : UINT64_MAX);
		for (unsigned i = 0; w < b->hi && i < PROVEN_WORD;) {
			uint64_t rest = b->bits[w] >> i;
			if (from == UINT64_MAX) {
				if (!rest)
					break;
				i += (unsigned)__builtin_ctzll(rest);
				from = w * PROVEN_WORD + i;
				n++;
				continue;
			}
			if (!~(rest | (i ? UINT64_MAX << (PROVEN_WORD - i) : 0)))
				break;
			i += (unsigned)__builtin_ctzll(~rest);
			if (fn)
				fn(arg, t, base + from, w * PROVEN_WORD + i - from);
			from = UINT64_MAX;
		}
	}
	if (from != UINT64_MAX && fn)
		fn(arg, t, base + from, b->hi * PROVEN_WORD - from);
	return n;
}
