/*
 * model_weak.c - store buffers and a cache per block, so that a missing fence shows as a value.
 *
 * A weak store of a lane goes to the lane's buffer; from there, at random or by
 * a release, to the block: into the cache as a dirty byte (global), or to
 * memory (shared). Dirty bytes go to memory at random or by a release of a scope
 * wider than the block. A weak load takes the lane's own pending stores, then the cache,
 * which it fills by sectors of 32 bytes; clean copies are dropped at random, and all of them by an
 * acquire of a scope wider than the block. Strong accesses work at the level of
 * their scope: .cta in the cache, wider ones in memory; what the lane and
 * its block had pending for those bytes goes there first.
 *
 * Why this changes nothing for race-free programs: a write that happens before a read of another
 * block has been released beyond its block (all dirty bytes are written, the lane's own and those
 * that others released to it), and the reader's block has dropped its copies since; within a block
 * the cache is shared. When accesses are judged, each byte is accompanied by the number of the
 * strong write that it comes from (events/ids.c).
 * Misses: reordering of loads; stores to another block's shared memory are never delayed.
 * Costs: about 1 us for an access of a warp; 100 bytes a sector, at most 512 a block.
 */
#include "cpu/memory/model.h"
#include "cpu/events.h"

#include <stdlib.h>
#include <string.h>

#define SECTOR	    32u
#define MAX_SECTORS 512u

#include "base/table.h"

struct cpu_sector {
	_Alignas(SECTOR) uint8_t data[SECTOR];
	uint64_t host;	       /* its first byte */
	uint64_t epoch;	       /* clean bytes are valid while it equals the cache's */
	uint32_t valid, dirty; /* a bit per byte; dirty ones are valid */
	uint32_t index;	       /* in l1->sectors */
	uint32_t *ids;	       /* numbers of strong writes, or NULL: there are none */
	UT_hash_handle hh;
};

/* ---- sectors ----------------------------------------------------------------------- */

static uint32_t bits(const uint8_t *host, uint64_t bytes)
{
	return (bytes >= SECTOR ? UINT32_MAX : (1u << bytes) - 1) << ((uintptr_t)host % SECTOR);
}

static void swap_places(struct cpu_l1 *l1, uint32_t i, uint32_t j)
{
	struct cpu_sector *a = l1->sectors[i], *b = l1->sectors[j];

	l1->sectors[i] = b;
	l1->sectors[j] = a;
	b->index = i;
	a->index = j;
}

static void set_dirty(struct cpu_l1 *l1, struct cpu_sector *s, uint32_t dirty)
{
	if (dirty && !s->dirty)
		swap_places(l1, s->index, l1->ndirty++);
	else if (!dirty && s->dirty)
		swap_places(l1, s->index, --l1->ndirty);
	s->dirty = dirty;
}

/* The bytes of `which` go to memory. Runs of them are copied as aligned words where they are. */
static void write_back(struct cpu_l1 *l1, struct cpu_sector *s, uint32_t which)
{
	uint8_t *host = (uint8_t *)(uintptr_t)s->host;

	which &= s->dirty;
	for (uint32_t at = 0, n; at < SECTOR; at += n) {
		for (n = 8; n > 1; n >>= 1)
			if (at % n == 0 && (which >> at & ((1u << n) - 1)) == (1u << n) - 1)
				break;
		if (which >> at & 1u)
			cpu_copy_out(host + at, s->data + at, n);
		if (l1->events && which >> at & 1u && s->ids)
			cpu_ids_put(l1->events, host + at, n, s->ids + at);
		else if (l1->events && which >> at & 1u)
			cpu_ids_mark(l1->events, host + at, n, 0);
	}
	set_dirty(l1, s, s->dirty & ~which);
}

static void free_ids(struct cpu_l1 *l1, struct cpu_sector *s)
{
	if (s->ids)
		cpu_ids_assign(l1->events, s->ids, SECTOR, NULL);
	free(s->ids);
	s->ids = NULL;
}

static void drop(struct cpu_l1 *l1, struct cpu_sector *s)
{
	write_back(l1, s, UINT32_MAX);
	free_ids(l1, s);
	swap_places(l1, s->index, l1->nsectors - 1);
	l1->nsectors--;
	HASH_DEL(l1->table, s);
	free(s);
}

static struct cpu_sector *find(struct cpu_l1 *l1, const uint8_t *host)
{
	uint64_t key = (uintptr_t)host & ~(uint64_t)(SECTOR - 1);
	struct cpu_sector *s;

	HASH_FIND(hh, l1->table, &key, sizeof(key), s);
	if (s && s->epoch != l1->epoch) {
		s->valid = s->dirty;
		s->epoch = l1->epoch;
	}
	return s;
}

/* The sector of a host address; made when it isn't there. NULL: out of memory. */
static struct cpu_sector *get(struct cpu_l1 *l1, const uint8_t *host)
{
	struct cpu_sector *s = find(l1, host);

	if (s)
		return s;
	if (!l1->sectors)
		l1->sectors = calloc(MAX_SECTORS, sizeof(struct cpu_sector *));
	if (!l1->sectors)
		return NULL;
	if (l1->nsectors == MAX_SECTORS)
		drop(l1, l1->sectors[base_random_below(&l1->rng, MAX_SECTORS)]);
	s = aligned_alloc(SECTOR, (sizeof(*s) + SECTOR - 1) / SECTOR * SECTOR);
	if (!s)
		return NULL;
	memset(s, 0, sizeof(*s));
	s->host = (uintptr_t)host & ~(uint64_t)(SECTOR - 1);
	s->epoch = l1->epoch;
	s->index = l1->nsectors;
	l1->sectors[l1->nsectors++] = s;
	HASH_ADD(hh, l1->table, host, sizeof(s->host), s);
	return s;
}

/* The numbers of the bytes of a sector; made where there are none. */
static uint32_t *ids_of(struct cpu_sector *s)
{
	if (!s->ids)
		s->ids = base_calloc(SECTOR, sizeof(*s->ids));
	return s->ids;
}

/* With bytes from memory come their numbers. */
static void fill_ids(struct cpu_l1 *l1, struct cpu_sector *s)
{
	uint32_t ids[SECTOR];
	uint32_t any = 0;

	cpu_ids_get(l1->events, (const uint8_t *)(uintptr_t)s->host, SECTOR, ids);
	for (uint32_t i = 0; i < SECTOR; i++)
		any |= ids[i];
	if (!any && !s->ids)
		return;
	for (uint32_t i = 0; i < SECTOR; i++)
		if (!(s->valid >> i & 1u))
			cpu_ids_assign(l1->events, &ids_of(s)[i], 1, &ids[i]);
}

/* Bytes that aren't valid come from memory, all of them if one of `need` is missing. A sector never
 * crosses a page, so reading around the access is harmless, though not to AddressSanitizer. */
__attribute__((no_sanitize("address"))) static void fill(struct cpu_l1 *l1, struct cpu_sector *s,
							 uint32_t need)
{
	const uint64_t *host = (const uint64_t *)(uintptr_t)s->host;

	if (!(need & ~s->valid))
		return;
	for (uint32_t i = 0; i < SECTOR / 8; i++) {
		uint64_t v = __atomic_load_n(&host[i], __ATOMIC_RELAXED);
		for (uint32_t b = 0; b < 8; b++)
			if (!(s->valid >> (i * 8 + b) & 1u))
				s->data[i * 8 + b] = (uint8_t)(v >> b * 8);
	}
	if (l1->events)
		fill_ids(l1, s);
	s->valid = UINT32_MAX;
}

void cpu_weak_clean(struct cpu_l1 *l1, const uint8_t *host, uint64_t bytes, bool is_drop)
{
	const uint8_t *end = host + bytes;

	if (!l1->nsectors || !bytes)
		return;
	if (bytes > SECTOR * 8) {
		for (uint32_t i = l1->nsectors; i-- > 0;) {
			struct cpu_sector *s = l1->sectors[i];
			if (cpu_overlaps(host, bytes, (uint8_t *)(uintptr_t)s->host, SECTOR)) {
				write_back(l1, s, UINT32_MAX);
				if (is_drop)
					s->valid = s->dirty;
			}
		}
		return;
	}
	for (const uint8_t *p = host, *next; p < end; p = next) {
		next = (const uint8_t *)(((uintptr_t)p | (SECTOR - 1)) + 1);
		struct cpu_sector *s = find(l1, p);
		uint32_t part = bits(p, (uint64_t)((next < end ? next : end) - p));
		if (!s)
			continue;
		write_back(l1, s, part);
		if (is_drop)
			s->valid &= ~part;
	}
}

void cpu_weak_flush(struct cpu_l1 *l1)
{
	while (l1->ndirty)
		write_back(l1, l1->sectors[l1->ndirty - 1], UINT32_MAX);
}

void cpu_weak_free(struct cpu_l1 *l1)
{
	cpu_weak_flush(l1);
	HASH_CLEAR(hh, l1->table);
	for (uint32_t i = 0; i < l1->nsectors; i++) {
		free_ids(l1, l1->sectors[i]);
		free(l1->sectors[i]);
	}
	free(l1->sectors);
}

/* ---- the block's level ---------------------------------------------------------------- */

void cpu_weak_ids(struct cpu_l1 *l1, bool is_cached, const uint8_t *host, uint32_t bytes,
		  uint32_t *ids)
{
	struct cpu_sector *s = is_cached ? find(l1, host) : NULL;

	if (!s)
		cpu_ids_get(l1->events, host, bytes, ids);
	else if (s->ids)
		memcpy(ids, s->ids + (uintptr_t)host % SECTOR, bytes * sizeof(*ids));
	else
		memset(ids, 0, bytes * sizeof(*ids));
}

void cpu_weak_mark(struct cpu_l1 *l1, bool is_cached, const uint8_t *host, uint32_t bytes,
		   uint32_t id)
{
	struct cpu_sector *s = is_cached ? find(l1, host) : NULL;

	if (!s) {
		cpu_ids_mark(l1->events, host, bytes, id);
		return;
	}
	for (uint32_t i = 0; (id || s->ids) && i < bytes; i++)
		cpu_ids_assign(l1->events, &ids_of(s)[(uintptr_t)host % SECTOR + i], 1, &id);
}

/* `id`: the number of a strong write, or 0. */
static void write_block(struct cpu_l1 *l1, enum cpu_place place, uint8_t *host, uint32_t bytes,
			const void *data, uint32_t id)
{
	struct cpu_sector *s = place == CPU_PLACE_GLOBAL ? get(l1, host) : NULL;

	if (l1->events)
		cpu_weak_mark(l1, s != NULL, host, bytes, id);
	if (!s) {
		cpu_copy_out(host, data, bytes);
		return;
	}
	memcpy(s->data + (uintptr_t)host % SECTOR, data, bytes);
	s->valid |= bits(host, bytes);
	set_dirty(l1, s, s->dirty | bits(host, bytes));
}

static void read_block(struct cpu_l1 *l1, enum cpu_place place, const uint8_t *host, uint32_t bytes,
		       void *out)
{
	struct cpu_sector *s = place == CPU_PLACE_GLOBAL ? get(l1, host) : NULL;

	if (!s) {
		cpu_copy_in(out, host, bytes);
		return;
	}
	fill(l1, s, bits(host, bytes));
	memcpy(out, s->data + (uintptr_t)host % SECTOR, bytes);
}

/* ---- the lane's buffer ------------------------------------------------------------------ */

static void drain(struct cpu_warp *w, unsigned lane, uint32_t i)
{
	struct cpu_pending p = cpu_lane_state(w, lane)->e[i];

	cpu_pending_remove(w, lane, i);
	write_block(w->cta->l1, (enum cpu_place)p.place, p.host, p.bytes, p.data, 0);
}

static void drain_overlapping(struct cpu_warp *w, unsigned lane, const uint8_t *host,
			      uint64_t bytes)
{
	struct cpu_lane_state *s = cpu_lane_state(w, lane);

	for (uint32_t i = s->n; i-- > 0;)
		if (cpu_overlaps(host, bytes, s->e[i].host, s->e[i].bytes))
			drain(w, lane, i);
}

static bool is_weak_access(const struct cpu_acc *acc)
{
	return acc->sem == PTX_SEM_WEAK || acc->sem == PTX_SEM_NONE;
}

static bool is_wide(enum ptx_scope scope)
{
	return scope != PTX_SCOPE_CTA;
}

void cpu_weak_load(struct cpu_warp *w, bool is_inserted, const struct cpu_acc *acc,
		   const struct cpu_elem *e, void *out)
{
	const uint8_t *host = e->host;
	uint32_t bytes = e->bytes;
	struct cpu_lane_state *s = cpu_lane_state(w, e->lane);
	struct cpu_l1 *l1 = w->cta->l1;

	if (is_weak_access(acc)) {
		read_block(l1, e->place, host, bytes, out);
		for (uint32_t i = 0; i < s->n; i++)
			cpu_pending_overlay(&s->e[i], host, bytes, out);
		return;
	}
	drain_overlapping(w, e->lane, host, bytes);
	if (e->place == CPU_PLACE_GLOBAL && is_wide((enum ptx_scope)acc->scope)) {
		/* A re-read by the instrumentation doesn't change what the user's loads will
		 * find. */
		cpu_weak_clean(l1, host, bytes, !is_inserted);
		cpu_copy_in(out, host, bytes);
		if (l1->events)
			cpu_ids_get(l1->events, host, bytes, l1->ids);
		return;
	}
	read_block(l1, e->place, host, bytes, out);
	if (l1->events)
		cpu_weak_ids(l1, e->place == CPU_PLACE_GLOBAL, host, bytes, l1->ids);
}

/* Whether the bytes are of the block's own shared memory: another block's may end before. */
static bool may_wait(const struct cpu_warp *w, enum cpu_place place, const uint8_t *host)
{
	return place == CPU_PLACE_GLOBAL || cpu_is_shared_of(w->cta, host);
}

void cpu_weak_store(struct cpu_warp *w, const struct cpu_acc *acc, const struct cpu_elem *e,
		    const void *data)
{
	uint8_t *host = e->host;
	uint32_t bytes = e->bytes;
	struct cpu_lane_state *s = cpu_lane_state(w, e->lane);
	struct cpu_l1 *l1 = w->cta->l1;

	if (is_weak_access(acc) && may_wait(w, e->place, host)) {
		for (uint32_t i = 0; i < s->n; i++)
			if (s->e[i].host == host && s->e[i].bytes == bytes) {
				memcpy(s->e[i].data, data, bytes);
				return;
			}
		drain_overlapping(w, e->lane, host, bytes);
		if (s->n == CPU_PENDING)
			drain(w, e->lane, base_random_below(&l1->rng, CPU_PENDING));
		cpu_pending_add(w, e, data);
		return;
	}
	drain_overlapping(w, e->lane, host, bytes);
	if (e->place == CPU_PLACE_GLOBAL && is_wide((enum ptx_scope)acc->scope)) {
		cpu_weak_clean(l1, host, bytes, true);
		cpu_copy_out(host, data, bytes);
		if (l1->events)
			cpu_ids_mark(l1->events, host, bytes, l1->id);
		return;
	}
	write_block(l1, e->place, host, bytes, data, l1->id);
}

uint8_t *cpu_weak_atomic(struct cpu_warp *w, unsigned lane, enum ptx_scope scope,
			 enum cpu_place place, uint8_t *host, uint32_t bytes)
{
	struct cpu_l1 *l1 = w->cta->l1;
	struct cpu_sector *s;

	drain_overlapping(w, lane, host, bytes);
	if (place != CPU_PLACE_GLOBAL)
		return host;
	if (is_wide(scope) || !(s = get(l1, host))) {
		cpu_weak_clean(l1, host, bytes, true);
		return host;
	}
	/* An atomic of the block's scope is one among its threads only. */
	fill(l1, s, bits(host, bytes));
	return s->data + (uintptr_t)host % SECTOR;
}

void cpu_weak_atomic_wrote(struct cpu_l1 *l1, const uint8_t *host, uint32_t bytes)
{
	struct cpu_sector *s = find(l1, host);

	if (s)
		set_dirty(l1, s, s->dirty | bits(host, bytes));
}

/* ---- synchronisation ---------------------------------------------------------------------- */

void cpu_weak_release(struct cpu_warp *w, uint32_t mask, enum ptx_scope scope)
{
	uint32_t lanes = w->cta->l1->busy[w->index] & mask;

	CPU_EACH_LANE (l, lanes) {
		while (cpu_lane_state(w, l)->n)
			drain(w, l, 0);
	}
	if (is_wide(scope))
		cpu_weak_flush(w->cta->l1);
}

void cpu_weak_acquire(struct cpu_warp *w, enum ptx_scope scope)
{
	if (is_wide(scope))
		w->cta->l1->epoch++;
}

void cpu_weak_bypass(struct cpu_warp *w, unsigned lane, uint8_t *host, uint64_t bytes)
{
	drain_overlapping(w, lane, host, bytes);
	cpu_weak_clean(w->cta->l1, host, bytes, true);
}

void cpu_weak_tick(struct cpu_warp *w)
{
	struct cpu_l1 *l1 = w->cta->l1;
	uint64_t r = base_random(&l1->rng);
	uint32_t busy = l1->busy[w->index];

	if (busy && !(r & 7)) {
		uint32_t skip = base_random_below(&l1->rng, (uint32_t)__builtin_popcount(busy));
		while (skip--)
			busy &= busy - 1;
		unsigned lane = (unsigned)__builtin_ctz(busy);
		drain(w, lane, base_random_below(&l1->rng, cpu_lane_state(w, lane)->n));
	}
	r >>= 8;
	if (l1->ndirty && !(r & 15))
		write_back(l1, l1->sectors[base_random_below(&l1->rng, l1->ndirty)], UINT32_MAX);
	r >>= 8;
	if (l1->nsectors > l1->ndirty && !(r & 15))
		drop(l1, l1->sectors[l1->ndirty +
				     base_random_below(&l1->rng, l1->nsectors - l1->ndirty)]);
}
