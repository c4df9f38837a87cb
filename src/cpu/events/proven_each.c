/*
 * proven_each.c - what the instructions of a proven launch have accessed, by its notes, as bytes
 * side by side; and notes that are forgotten.
 *
 * Costs: one pass over the words that may have something.
 */
#include "cpu/events/proven_run.h"

#include <stdlib.h>
#include <string.h>

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

/* Calls fn for runs of rows. */
static void each_run(const struct proven_touch *t, const struct proven_array *a,
		     proven_range_fn *fn, void *arg)
{
	uint64_t from = 0, end = 0; /* elements of the run that is open */

	for (uint64_t i = t->row_lo; i <= t->row_hi; i++) {
		uint32_t row = i < t->row_hi ? t->row[i] : 0;
		uint64_t start = proven_start(t, i);
		if (row && from != end && start + proven_first(row) == end) {
			i = last_whole(t, i);
			end = proven_start(t, i) + proven_end(t->row[i]);
			continue;
		}
		if (from != end)
			fn(arg, t, a->base + proven_at(a, t, from), (end - from) << t->shift);
		if (!row) { /* the next one begins a run */
			from = end;
			i = next_noted(t, i + 1) - 1;
			continue;
		}
		from = start + proven_first(row);
		end = start + proven_end(row);
	}
}

/* Where there are other elements, too: rows as bytes. */
static void join_rows(struct proven_touch *t, const struct proven_array *a)
{
	for (uint64_t i = t->row_lo; i < t->row_hi; i++) {
		uint32_t row = t->row[i];
		uint64_t first = proven_start(t, i) + proven_first(row);
		if (row)
			proven_bytes_add(
				&t->done, proven_at(a, t, first),
				(uint64_t)(proven_end(row) - proven_first(row)) << t->shift, false);
	}
}

void proven_each(struct proven_touch *t, const struct proven_array *a, proven_range_fn *fn,
		 void *arg)
{
	const struct proven_bytes *b = &t->done;
	uint64_t from = UINT64_MAX; /* of the run that is open */
	uint64_t base = a->base;

	if (!t->is_made)
		return;
	if (!t->thread) {
		each_run(t, a, fn, arg);
		return;
	}
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
				continue;
			}
			if (!~(rest | (i ? UINT64_MAX << (PROVEN_WORD - i) : 0)))
				break;
			i += (unsigned)__builtin_ctzll(~rest);
			fn(arg, t, base + from, w * PROVEN_WORD + i - from);
			from = UINT64_MAX;
		}
	}
	if (from != UINT64_MAX)
		fn(arg, t, base + from, b->hi * PROVEN_WORD - from);
}

/* ---- the end of notes --------------------------------------------------------------------- */

/* Of the elements of which some byte is in a set's words [from, to). */
static void zero_threads(const struct proven_array *a, const struct proven_touch *t, uint64_t from,
			 uint64_t to)
{
	uint64_t first = proven_element(a, t, from * PROVEN_WORD), last = to * PROVEN_WORD - 1;

	last = proven_element(a, t, last < a->extent.bytes ? last : a->extent.bytes - 1);
	memset(&t->thread[first], 0, (last - first + 1) * sizeof(*t->thread));
}

/* What the launch has written there: it is less than all. */
static void zero(const struct proven_array *a, struct proven_touch *t)
{
	struct proven_bytes *b = &t->done;
	bool has_threads =
		t->thread && proven_room_is_kept(proven_elements(a, t) * sizeof(*t->thread));

	for (uint64_t w = b->lo, to; (w = next_other(b->bits, w, b->hi, 0)) < b->hi; w = to) {
		for (to = w; to < b->hi && b->bits[to]; to++)
			b->bits[to] = 0;
		if (has_threads)
			zero_threads(a, t, w, to);
	}
}

/* The n-th of so many parts of the rows. */
static void zero_rows(const struct proven_touch *t, uint64_t n, uint64_t parts)
{
	uint64_t rows = t->row_hi > t->row_lo ? t->row_hi - t->row_lo : 0;
	uint64_t from = t->row_lo + rows * n / parts, to = t->row_lo + rows * (n + 1) / parts;

	if (to > from)
		memset(&t->row[from], 0, (to - from) * sizeof(*t->row));
}

struct zeroes {
	const struct cpu_proven_run *r;
	uint64_t parts;
};

/* First the first part of each site, and so on: a worker gets about that part of all rows which it
 * has noted (parts.c). */
static void zero_part(void *arg, uint64_t item)
{
	const struct zeroes *z = arg;
	const struct cpu_proven_run *r = z->r;
	struct proven_touch *t = &r->touch[item % r->proven.nsites];
	uint64_t part = item / r->proven.nsites;

	if (!t->is_made)
		return;
	zero_rows(t, part, z->parts);
	if (part)
		return;
	zero(&r->array[t->array], t);
	proven_ways_zero(r, t);
}

static void zero_all(const struct cpu_proven_run *r, struct cpu_engine *e)
{
	struct zeroes z = {r, e ? e->nworkers : 1};
	uint64_t n = r->touch ? r->proven.nsites * z.parts : 0;

	if (e)
		cpu_workers_each(e, n, zero_part, &z);
	for (uint64_t i = 0; i < n && !e; i++)
		zero_part(&z, i);
}

/* Most of it is to make the notes' memory zero again. */
void proven_forget(struct cpu_proven_run *r, struct cpu_engine *e)
{
	uint32_t n = r->touch ? r->proven.nsites : 0;

	proven_drop_old(r);
	for (uint32_t i = 0; i < r->proven.nextents; i++)
		r->array[i].is_read_only = false;
	for (uint32_t i = 0; i < r->ncounts; i++)
		r->count[i].n = 0;
	zero_all(r, e);
	for (uint32_t i = 0; i < n; i++) {
		struct proven_touch *t = &r->touch[i];
		const struct proven_array *a = &r->array[t->array];
		if (!t->is_made)
			continue;
		proven_ways_free(r, t);
		proven_room_give(t->row, proven_rows(a, t) * sizeof(*t->row), true);
		if (t->thread)
			proven_room_give(t->thread, proven_elements(a, t) * sizeof(*t->thread),
					 true);
		proven_room_give(t->done.bits, t->done.words * sizeof(*t->done.bits), true);
		*t = (struct proven_touch){0};
	}
}
