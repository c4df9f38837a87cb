/*
 * form_singles.c - sets of readers of one word, each a single lane: packed reads.
 *
 * Words that lanes read here and there have many such readers, and adding to them waits for
 * memory. A set becomes one of masks (form_readers.c) when a lane joins others, or what reads is no
 * lane. Costs: 8 bytes a reader; pieces of memory double, so that few of each word are left behind.
 */
#include "oracle/shadow/row.h"

#include <stddef.h>

#define ACTOR(p)     ((p) >> ORACLE_ACTOR_SHIFT)
#define DOUBLE_UP_TO 512u				/* bytes */
#define REST	     ((1ull << ORACLE_ACTOR_SHIFT) - 1) /* epoch, site */

size_t oracle_set_bytes(uint32_t cap, bool is_packed)
{
	size_t bytes = sizeof(struct oracle_readers) +
		       cap * (is_packed ? sizeof(uint64_t) : sizeof(struct oracle_reader));

	if (is_packed && bytes <= DOUBLE_UP_TO)
		bytes = (size_t)2 << (31 - __builtin_clz((uint32_t)bytes - 1));
	return bytes;
}

static void set_grow(struct oracle *o, struct oracle_cell *c, uint32_t cap)
{
	struct oracle_readers *s = oracle_set_of(c->r);

	s = oracle_mem_resize(o, s, oracle_set_bytes(s->cap, true), oracle_set_bytes(cap, true));
	s->cap = cap;
	c->r = (uintptr_t)s;
}

static int by_actor(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a >> ORACLE_EPOCH_SHIFT;
	uint64_t y = *(const uint64_t *)b >> ORACLE_EPOCH_SHIFT;

	return x < y ? -1 : x > y;
}

static bool is_alike_nc(const struct oracle_now *n, uint64_t a, uint64_t b)
{
	return oracle_is_nc_site(n, oracle_packed_site(a)) ==
	       oracle_is_nc_site(n, oracle_packed_site(b));
}

/* As that of masks (form_readers.c). */
static void set_compact(struct oracle_now *n, struct oracle_readers *s)
{
	uint64_t *v = oracle_singles_of(s);
	uint32_t kept = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t actor = oracle_packed_actor(v[i]);
		if (!oracle_row_knows(n, actor, oracle_packed_epoch(v[i])) ||
		    !oracle_row_may_replace(n, actor, oracle_packed_site(v[i])))
			v[kept++] = v[i];
	}
	s->n = kept;
	if (s->n < oracle_sort_from(n->o))
		return;
	qsort(v, s->n, sizeof(v[0]), by_actor);
	kept = 0;
	for (uint32_t i = 0; i < s->n; i++)
		if (i + 1 == s->n || ACTOR(v[i]) != ACTOR(v[i + 1]) ||
		    !is_alike_nc(n, v[i], v[i + 1]))
			v[kept++] = v[i];
	s->n = kept;
}

static void set_push(struct oracle_now *n, struct oracle_cell *c, uint64_t p)
{
	struct oracle_readers *s = oracle_set_of(c->r);

	if (s->n == s->cap) {
		set_compact(n, s);
		oracle_set_limit(n, s);
		if (s->n == s->cap)
			set_grow(n->o, c, oracle_set_next_cap(s->cap));
		s = oracle_set_of(c->r);
	} else {
		oracle_set_limit(n, s);
	}
	s->has_nc |= (n->acc->flags & ORACLE_NC) != 0;
	oracle_singles_of(s)[s->n++] = p;
}

/* Of one epoch and site: are both of one warp, or of the same lane of neighbouring ones? */
static bool can_join(uint64_t a, uint64_t b)
{
	uint64_t x = ACTOR(a), y = ACTOR(b);

	return x >> 5 == y >> 5 || x + ORACLE_LANES == y || y + ORACLE_LANES == x;
}

/* The lane, some of whose reads are among those from `first` on, has read there again. true: it is
 * there. */
static bool leave_earlier(struct oracle_now *n, struct oracle_readers *s, uint32_t first,
			  uint64_t p)
{
	uint64_t *v = oracle_singles_of(s);

	for (uint32_t i = s->n; i-- > first;) {
		if (v[i] == p)
			return true;
		if (ACTOR(v[i]) != ACTOR(p) || !is_alike_nc(n, v[i], p))
			continue;
		memmove(&v[i], &v[i + 1], (s->n - i - 1) * sizeof(v[0]));
		s->n--;
	}
	return false;
}

bool oracle_singles_add(struct oracle_now *n, struct oracle_cell *c, uint64_t p)
{
	struct oracle_readers *s = oracle_set_of(c->r);
	const uint64_t *v = oracle_singles_of(s);
	uint32_t first = oracle_set_look_from(n->o, s);
	bool is_there = false;

	for (uint32_t i = first; i < s->n; i++) {
		is_there |= ACTOR(v[i]) == ACTOR(p);
		if (!((v[i] ^ p) & REST) && v[i] != p && can_join(v[i], p))
			return false;
	}
	if (is_there && leave_earlier(n, s, first, p))
		return true;
	if (s == n->known)
		n->known = NULL;
	set_push(n, c, p);
	return true;
}

uint64_t oracle_single_of(const struct oracle_reader *r)
{
	if (!r->is_mask || r->warps || r->at & (r->at - 1))
		return 0;
	return oracle_pack(r->actor + (uint32_t)__builtin_ctz(r->at), r->epoch, r->site);
}

bool oracle_singles_make(struct oracle_now *n, struct oracle_cell *c,
			 const struct oracle_reader r[2])
{
	uint64_t a = oracle_single_of(&r[0]), b = oracle_single_of(&r[1]);
	struct oracle_readers *s;

	if (!a || !b || (!((a ^ b) & REST) && can_join(a, b)))
		return false;
	s = oracle_mem_new(n->o, oracle_set_bytes(2, true));
	s->refs = 1;
	s->n = s->cap = 2;
	s->is_single = s->is_packed = 1;
	oracle_singles_of(s)[0] = a;
	oracle_singles_of(s)[1] = b;
	c->r = (uintptr_t)s;
	return true;
}

bool oracle_singles_pack(struct oracle_now *n, struct oracle_cell *c)
{
	struct oracle_readers *old = oracle_set_of(c->r), *s;

	for (uint32_t i = 0; i < old->n; i++)
		if (!oracle_single_of(&old->v[i]))
			return false;
	s = oracle_mem_new(n->o, oracle_set_bytes(old->cap, true));
	s->refs = 1;
	s->n = old->n;
	s->cap = old->cap;
	s->has_nc = old->has_nc & 1;
	s->is_single = s->is_packed = 1;
	for (uint32_t i = 0; i < old->n; i++)
		oracle_singles_of(s)[i] = oracle_single_of(&old->v[i]);
	n->known = old == n->known ? NULL : n->known;
	oracle_readers_unref(n->o, old, 1);
	c->r = (uintptr_t)s;
	return true;
}

struct oracle_readers *oracle_singles_copy(struct oracle *o, const struct oracle_readers *old)
{
	size_t bytes = oracle_set_bytes(old->cap, true);

	return memcpy(oracle_mem_new(o, bytes), old, bytes);
}

bool oracle_singles_are_alike(struct oracle_now *n, const struct oracle_row *row,
			      const struct oracle_readers *s, uint32_t word,
			      const struct oracle_repeat **pair)
{
	uint32_t hot = ORACLE_NO_SITE, me = oracle_row_actor(row, word);

	*pair = NULL;
	for (uint32_t i = 0; i < s->n; i++) {
		uint64_t p = oracle_single_at(s, i);
		uint32_t actor = oracle_packed_actor(p), b = row->site;
		uint32_t a = n->o->families.v[oracle_packed_site(p)];
		if (a == hot || actor == me || oracle_row_knows(n, actor, oracle_packed_epoch(p)))
			continue;
		if (*pair || !oracle_is_repeated(n->o, a, b, ORACLE_HOT, ORACLE_RACE))
			return false;
		hot = a;
		*pair = oracle_repeat_at(n->o, &a, &b, ORACLE_RACE);
	}
	return true;
}

struct oracle_readers *oracle_singles_unpack(struct oracle *o, struct oracle_cell *c)
{
	struct oracle_readers *old = oracle_set_of(c->r);
	struct oracle_readers *s = oracle_mem_new(o, oracle_set_bytes(old->cap, false));

	s->refs = 1;
	s->n = old->n;
	s->cap = old->cap;
	s->has_nc = old->has_nc & 1;
	s->is_single = 1;
	for (uint32_t i = 0; i < old->n; i++)
		s->v[i] = oracle_reader_at(old, i);
	oracle_readers_unref(o, old, 1);
	c->r = (uintptr_t)s;
	return s;
}
