/*
 * proven_notes.c - what the instructions of a proven launch access, as they do: by warp where that
 * is a few numbers (proven_warps.c), else sets of bytes, rows of elements and their threads; and
 * what was there before stores (proven_run.h). What it comes to: proven_each.c.
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

void proven_bytes_add(struct proven_bytes *b, uint64_t at, uint64_t n, bool is_beside)
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

/* Does the launch still run? Then what it overwrites has to be kept. */
static inline bool has_old(const struct proven_array *a, const struct proven_touch *t)
{
	return t->is_write && a->kept;
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

/* Are the lanes of a whole warp side by side, `per` each? */
static bool are_parts(const uint64_t *addr, uint32_t bytes, unsigned per)
{
	for (unsigned l = 0; l < CPU_WARP; l += per) {
		uint64_t want = addr[l], differ = 0;
		for (unsigned i = 1; i < per; i++) {
			want += bytes;
			differ |= addr[l + i] ^ want;
		}
		if (differ)
			return false;
	}
	return true;
}

/* Which parts of a whole warp, not all of it, lie side by side. Where rows have been made, those of
 * a row are asked for alone, and those of a warp in vain. */
static unsigned width_of(const struct proven_lanes *a, const struct proven_touch *t)
{
	if (__atomic_load_n(&t->is_made, __ATOMIC_ACQUIRE))
		return t->wide < 5 && are_parts(a->addr, a->bytes, 1u << t->wide) ? t->wide : 0;
	for (unsigned wide = 4; wide >= 3; wide--)
		if (are_parts(a->addr, a->bytes, 1u << wide))
			return wide;
	return 0;
}

static struct shape shape_of(const struct proven_lanes *a, const struct proven_touch *t)
{
	unsigned first = (unsigned)__builtin_ctz(a->mask),
		 end = 32u - (unsigned)__builtin_clz(a->mask);
	struct shape s = {0, first, end, a->addr[first] - (uint64_t)first * a->bytes};

	if (a->is_row)
		s.wide = 5;
	else if (a->mask == UINT32_MAX)
		s.wide = width_of(a, t);
	return s;
}

/* What the first access is. Lock held. */
static bool make_first(struct cpu_proven_run *r, struct proven_touch *t, const struct cpu_acc *acc,
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
	proven_ways_make(r, t);
	__atomic_store_n(&t->is_made, true, __ATOMIC_RELEASE);
	return true;
}

static bool touch_make(struct cpu_proven_run *r, uint32_t site, const struct cpu_acc *acc,
		       uint32_t pc, const struct proven_lanes *lanes)
{
	struct proven_touch *t = &r->touch[site];
	bool is_made = true;

	if (__atomic_load_n(&t->is_made, __ATOMIC_ACQUIRE))
		return true;
	struct shape s = shape_of(lanes, t);
	pthread_mutex_lock(&r->lock);
	if (!t->is_made) {
		t->array = r->proven.site[site].extent;
		is_made = make_first(r, t, acc, pc, &s, lanes->bytes);
	}
	pthread_mutex_unlock(&r->lock);
	return is_made;
}

/* By row; NULL: there is no memory for it. */
static uint32_t *rows_make(struct cpu_proven_run *r, const struct proven_array *a,
			   struct proven_touch *t)
{
	uint32_t *all = __atomic_load_n(&t->row, __ATOMIC_ACQUIRE);

	if (all)
		return all;
	pthread_mutex_lock(&r->lock);
	if (!t->row)
		__atomic_store_n(&t->row, proven_room_take(proven_rows(a, t) * sizeof(*all), true),
				 __ATOMIC_RELEASE);
	pthread_mutex_unlock(&r->lock);
	return t->row;
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
	if (!all && (t->done.bits || bytes_make(&t->done, &a->extent))) {
		all = proven_room_take(proven_elements(a, t) * sizeof(*all), true);
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
	if (has_old(a, t))
		save(a, at, (uint64_t)n << t->shift);
	proven_bytes_add(&t->done, at, (uint64_t)n << t->shift, is_beside);
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

	if (!rows_make(r, a, t))
		return false;
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
		cpu_arch_fetch(row + LINE_ROWS);
		if (has_old(a, t))
			save(a, at + ((uint64_t)first << t->shift),
			     (uint64_t)(end - first) << t->shift);
		move_ends(&t->row_lo, &t->row_hi, i, i, proven_rows(a, t));
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

/* An element that many gather is mostly noted, for a thread before this one; then what was there
 * has been kept, too. The other lanes. `least`: the array's first element. */
static uint32_t new_lanes(const uint32_t *all, uint32_t mask, const uint64_t *addr,
			  const struct proven_touch *t, uint64_t least, uint32_t thread)
{
	unsigned first = (unsigned)__builtin_ctz(mask), end = 32u - (unsigned)__builtin_clz(mask);
	unsigned shift = t->shift;
	uint32_t new = 0;

	if ((mask >> first) & ((mask >> first) + 1)) {
		CPU_EACH_LANE (l, mask)
			new |= (uint32_t)(__atomic_load_n(&all[(addr[l] >> shift) - least],
							  __ATOMIC_ACQUIRE) <
					  UINT32_MAX - thread - l)
			       << l;
		return new;
	}
	for (unsigned l = first; l < end; l++)
		new |= (uint32_t)(__atomic_load_n(&all[(addr[l] >> shift) - least],
						  __ATOMIC_ACQUIRE) < UINT32_MAX - thread - l)
		       << l;
	return new;
}

/* Lanes that lie anyhow. False: there is no memory for it. */
static bool note_lanes(struct cpu_warp *w, struct proven_array *a, struct proven_touch *t,
		       uint32_t mask, const uint64_t *addr, uint32_t thread)
{
	uint64_t first = 0, bytes = 1ull << t->shift, least = a->extent.base >> t->shift;
	uint32_t n = 0, from = 0; /* lanes side by side from `from` on */
	uint32_t *all = threads_make(w->grid->proven, a, t);

	if (!all)
		return false;
	CPU_EACH_LANE (l, new_lanes(all, mask, addr, t, least, thread)) {
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

bool proven_note_chunk(struct cpu_proven_run *r, struct proven_touch *t,
		       const struct proven_chunk *c, uint32_t thread, bool is_beside)
{
	struct proven_array *a = &r->array[t->array];
	uint64_t at = proven_at(a, t, c->element), apart = (uint64_t)c->apart << t->shift;
	uint32_t first = c->first, end = c->end, per = 1u << t->wide, n = end - first;
	bool are_all = true;

	if (c->apart == 1 && t->wide == 5)
		return note_row(r, t, at - ((uint64_t)first << t->shift), thread, first, end,
				is_beside) ||
		       note_elements(r, a, t, at, n, thread + first, is_beside);
	if (c->apart == 1 && n < CPU_WARP)
		return note_elements(r, a, t, at, n, thread + first, is_beside);
	if (c->apart == 1) {
		for (uint32_t l = 0; l < n && are_all; l += per, at += (uint64_t)per << t->shift)
			are_all = note_row(r, t, at, thread + l, 0, per, is_beside) ||
				  note_elements(r, a, t, at, per, thread + l, is_beside);
		return are_all;
	}
	for (uint32_t l = first; l < end && are_all; l++, at += apart)
		are_all = note_elements(r, a, t, at, 1, thread + l, is_beside);
	return are_all;
}

/* ---- accesses ---------------------------------------------------------------------------- */

/* What stores of the chunk overwrite. */
static inline void save_chunk(struct proven_array *a, const struct proven_touch *t,
			      const struct proven_chunk *c)
{
	uint64_t at = proven_at(a, t, c->element), bytes = 1ull << t->shift;

	if (c->apart == 1) {
		save(a, at, (uint64_t)(c->end - c->first) << t->shift);
		return;
	}
	for (unsigned l = c->first; l < c->end; l++, at += (uint64_t)c->apart << t->shift)
		save(a, at, bytes);
}

/* Where there are notes of warps. */
static inline bool note_way(struct cpu_proven_run *r, struct proven_touch *t,
			    const struct proven_chunk *c, uint32_t thread, bool is_beside)
{
	struct proven_way *w = &t->way[thread / CPU_WARP];

	if (t->is_write)
		save_chunk(&r->array[t->array], t, c);
	if (w->end || c->apart != 1)
		return proven_way_add(r, t, c, thread, is_beside);
	*w = (struct proven_way){c->element, (uint8_t)c->first, (uint8_t)c->end, (uint8_t)c->end};
	return true;
}

/* Lanes at one distance from each other, or all at one place. False: they aren't. */
static bool find_chunk(const struct proven_array *a, const struct proven_touch *t,
		       const struct proven_lanes *lanes, struct proven_chunk *c)
{
	const uint64_t *addr = lanes->addr;
	unsigned first = (unsigned)__builtin_ctz(lanes->mask),
		 end = 32u - (unsigned)__builtin_clz(lanes->mask);

	*c = (struct proven_chunk){(uint32_t)proven_element(a, t, addr[first] - a->extent.base), 1,
				   first, end};
	if (lanes->is_row)
		return true;
	if ((lanes->mask >> first) & ((lanes->mask >> first) + 1))
		return false;
	/* Not a row: there are two lanes at least. */
	uint64_t apart = addr[first + 1] - addr[first], differ = 0;
	for (unsigned l = first + 1; l < end; l++)
		differ |= (addr[l] - addr[l - 1]) ^ apart;
	if (!apart)
		c->end = first + 1;
	else
		c->apart = (int32_t)((int64_t)apart >> t->shift);
	return !differ;
}

static inline void count(struct cpu_proven_run *r, const struct cpu_warp *w)
{
	r->count[w->worker - w->worker->m->engine->workers].n++;
}

bool proven_note(struct cpu_warp *w, uint32_t pc, uint32_t site, const struct cpu_acc *acc,
		 const struct proven_lanes *lanes)
{
	struct cpu_proven_run *r = w->grid->proven;
	struct proven_touch *t = &r->touch[site];
	struct proven_array *a = &r->array[r->proven.site[site].extent];
	uint32_t thread = thread_of(r, w), per;
	const uint64_t *addr = lanes->addr;
	struct proven_chunk c;
	uint64_t base = a->extent.base;
	bool is_beside = w->worker->is_beside;

	if (!touch_make(r, site, acc, pc, lanes))
		return false;
	count(r, w);
	if (t->way && find_chunk(a, t, lanes, &c))
		return note_way(r, t, &c, thread, is_beside);
	struct shape s = shape_of(lanes, t);
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
	const struct proven_array *a = &r->array[r->proven.site[site].extent];
	uint32_t thread = thread_of(r, w);

	if (!__atomic_load_n(&t->is_made, __ATOMIC_ACQUIRE) || (!t->way && t->wide != 5))
		return false;
	const struct proven_chunk c = {(uint32_t)proven_element(a, t, at), 1, 0,
				       is_one ? 1 : CPU_WARP};
	if (!(t->way ? note_way(r, t, &c, thread, w->worker->is_beside)
		     : proven_note_chunk(r, t, &c, thread, w->worker->is_beside)))
		return false;
	count(r, w);
	return true;
}
