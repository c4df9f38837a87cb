/*
 * contents.c - are the elements of an array in order, all different, how large (contents.h)?
 *
 * Order and difference are asked of as many first elements as have it: what follows is often not
 * in use. Elements that rise, or fall, are different without another look; others are kept in a
 * table until one comes again. Contents that were looked at before are known by a 64-bit hash. Of
 * one thread at a time.
 *
 * Misses: what holds of the elements that a kernel uses and of no first ones; bounds without those
 * that it doesn't use.
 * Costs: a pass over the array; 16 bytes for each element in the table, and some 20 ns.
 */
#include "race/contents.h"

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t element(const void *p, unsigned bytes, uint64_t i)
{
	uint32_t narrow;
	uint64_t wide;

	if (bytes == 8) {
		memcpy(&wide, (const char *)p + 8 * i, 8);
		return wide;
	}
	memcpy(&narrow, (const char *)p + 4 * i, 4);
	return (uint64_t)(int64_t)(int32_t)narrow;
}

/* How many first elements are each related so to the one before. */
enum relation { NOT_LESS, GREATER, LESS };

static uint64_t in_order(const void *p, unsigned bytes, uint64_t n, enum relation rel)
{
	uint64_t i;

	for (i = 1; i < n; i++) {
		int64_t a = (int64_t)element(p, bytes, i - 1), b = (int64_t)element(p, bytes, i);
		if (rel == NOT_LESS ? b < a : rel == GREATER ? b <= a : b >= a)
			break;
	}
	return i < n ? i : n;
}

/* ---- a table of numbers ------------------------------------------------------------------- */

struct table {
	uint64_t *slot; /* 0: empty */
	uint64_t size, used;
	bool has_zero;
};

static uint64_t *slot_of(const struct table *t, uint64_t v)
{
	uint64_t i = v * 0x9e3779b97f4a7c15ull;

	for (i = (i ^ i >> 32) & (t->size - 1); t->slot[i] && t->slot[i] != v;)
		i = (i + 1) & (t->size - 1);
	return &t->slot[i];
}

static void grow(struct table *t)
{
	struct table larger = {.size = t->size ? 2 * t->size : 256};

	larger.slot = base_calloc(larger.size, sizeof(*larger.slot));
	for (uint64_t i = 0; i < t->size; i++)
		if (t->slot[i])
			*slot_of(&larger, t->slot[i]) = t->slot[i];
	free(t->slot);
	t->slot = larger.slot;
	t->size = larger.size;
}

/* False: it was there. */
static bool add(struct table *t, uint64_t v)
{
	if (2 * t->used >= t->size)
		grow(t);
	uint64_t *slot = v ? slot_of(t, v) : NULL;
	if (slot ? *slot != 0 : t->has_zero)
		return false;
	if (slot)
		*slot = v;
	else
		t->has_zero = true;
	t->used++;
	return true;
}

/* How many of the first n elements are different, if the first `from` are. */
static uint64_t different(const void *p, unsigned bytes, uint64_t from, uint64_t n)
{
	struct table t = {0};
	uint64_t i = 0;

	while (i < n && add(&t, element(p, bytes, i)))
		i++;
	free(t.slot);
	return i > from ? i : from;
}

/* ---- what was looked at ------------------------------------------------------------------- */

#define MEMORY 64

static struct memory {
	uint64_t hash, n;
} memory[MEMORY];

static uint64_t hash_of(const void *p, unsigned bytes, uint64_t n)
{
	uint64_t h = BASE_FNV_INIT ^ (n * 16 + bytes);

	for (uint64_t i = 0; i < n; i++) {
		h = (h ^ element(p, bytes, i)) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 29;
	}
	return h ? h : 1;
}

static uint64_t injective(const void *p, unsigned bytes, uint64_t n, uint64_t *left)
{
	uint64_t up = in_order(p, bytes, n, GREATER), down = in_order(p, bytes, n, LESS);
	uint64_t from = up > down ? up : down;
	uint64_t most = n < RACE_CONTENTS_MOST ? n : RACE_CONTENTS_MOST;

	if (from >= most || *left < most)
		return from;
	uint64_t hash = hash_of(p, bytes, most);
	struct memory *m = &memory[hash % MEMORY];
	if (m->hash == hash)
		return m->n > from ? m->n : from;
	uint64_t all = different(p, bytes, from, most);
	*left -= all;
	*m = (struct memory){hash, all};
	return all;
}

static void find_bounds(const void *p, unsigned bytes, uint64_t n, int64_t *least, int64_t *most)
{
	*least = *most = (int64_t)element(p, bytes, 0);
	for (uint64_t i = 1; i < n; i++) {
		int64_t v = (int64_t)element(p, bytes, i);
		*least = v < *least ? v : *least;
		*most = v > *most ? v : *most;
	}
}

void race_contents_find(const void *p, uint64_t bytes, uint64_t *left, struct race_contents *out)
{
	memset(out, 0, sizeof(*out));
	for (unsigned s = 0; s < RACE_CONTENTS_SIZES; s++) {
		unsigned size = race_contents_bytes((enum race_contents_size)s);
		uint64_t n = (uintptr_t)p % size ? 0 : bytes / size;
		if (!n)
			continue;
		out->sorted[s] = in_order(p, size, n, NOT_LESS);
		out->injective[s] = injective(p, size, n, left);
		out->within[s] = n;
		find_bounds(p, size, n, &out->least[s], &out->most[s]);
	}
}

size_t race_contents_line(const struct race_contents *c, char *out)
{
	static const char *const names[] = {"sorted", "injective", "within"};
	const uint64_t *n[] = {c->sorted, c->injective, c->within};
	char *p = out;

	for (unsigned i = 0; i < BASE_COUNTOF(n); i++)
		p += sprintf(p, ",\"%s\":[%llu,%llu]", names[i],
			     (unsigned long long)n[i][RACE_CONTENTS_4],
			     (unsigned long long)n[i][RACE_CONTENTS_8]);
	p += sprintf(p, ",\"least\":[%lld,%lld],\"most\":[%lld,%lld]",
		     (long long)c->least[RACE_CONTENTS_4], (long long)c->least[RACE_CONTENTS_8],
		     (long long)c->most[RACE_CONTENTS_4], (long long)c->most[RACE_CONTENTS_8]);
	return (size_t)(p - out);
}
