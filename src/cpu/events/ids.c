/*
 * ids.c - which strong write the bytes of memory come from, where that isn't the latest event.
 *
 * In the weak model a store takes effect later than its event, and a block's cache keeps old
 * bytes: a strong read may see another write than the latest event. So each strong write has a
 * number, which accompanies its bytes: here for memory, in model_weak.c for the caches. 0 stands
 * for a weak write, from which no strong read acquires anything; so stores that wait in a lane's
 * buffer, which are weak, need none. A number that no byte has any more is reported to the oracle
 * and reused.
 *
 * In the models sc and a1 strong accesses and the latest event agree, and none of this is used.
 * Costs: 160 bytes for 32 of memory that hold a strong write, 4 a live write. Everything here is
 * called with the engine's lock held.
 */
#include "cpu/events/internal.h"

#include <stdlib.h>
#include <string.h>

#define SECTOR 32u

struct id_sector {
	uint64_t key;  /* address / SECTOR */
	uint32_t used; /* bytes with a number */
	uint32_t id[SECTOR];
	UT_hash_handle hh;
};

struct events_ids {
	struct id_sector *sectors;
	BASE_VEC(uint32_t) refs; /* by number: bytes that have it, here and in caches */
	BASE_VEC(uint32_t) free;
};

bool events_ids_init(struct cpu_events *x)
{
	if (x->m->opt.model != CPU_MODEL_WEAK)
		return true;
	x->ids = calloc(1, sizeof(*x->ids));
	if (x->ids)
		base_vec_push(&x->ids->refs, 0);
	return x->ids != NULL;
}

bool cpu_ids_are_on(const struct cpu_events *x)
{
	return x && x->ids;
}

void events_ids_free(struct cpu_events *x)
{
	struct id_sector *s, *next;

	if (!x->ids)
		return;
	HASH_ITER(hh, x->ids->sectors, s, next)
	{
		HASH_DEL(x->ids->sectors, s);
		free(s);
	}
	base_vec_free(&x->ids->refs);
	base_vec_free(&x->ids->free);
	free(x->ids);
}

/* ---- numbers ------------------------------------------------------------------------------ */

uint32_t events_id_new(struct cpu_events *x)
{
	struct events_ids *d = x->ids;

	if (d->free.n)
		return d->free.v[--d->free.n];
	base_vec_push(&d->refs, 0);
	return (uint32_t)d->refs.n - 1;
}

/* A byte changes its number; the judge's lock isn't held. */
static void change(struct cpu_events *x, uint32_t *of, uint32_t id)
{
	struct events_ids *d = x->ids;
	uint32_t was = *of;

	if (was == id)
		return;
	*of = id;
	if (id)
		d->refs.v[id]++;
	if (!was || --d->refs.v[was])
		return;
	events_lock(x);
	oracle_drop_id(x->o, was);
	events_unlock(x);
	base_vec_push(&d->free, was);
}

void cpu_ids_assign(struct cpu_events *x, uint32_t *ids, uint32_t n, const uint32_t *from)
{
	for (uint32_t i = 0; i < n; i++)
		change(x, &ids[i], from ? from[i] : 0);
}

uint32_t cpu_ids_same(const uint32_t *ids, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		if (ids[i] != ids[0])
			return 0;
	return ids[0];
}

/* ---- memory ---------------------------------------------------------------------------------- */

static struct id_sector *sector_of(struct events_ids *d, uint64_t address, bool is_made)
{
	uint64_t key = address / SECTOR;
	struct id_sector *s;

	HASH_FIND(hh, d->sectors, &key, sizeof(key), s);
	if (s || !is_made)
		return s;
	s = base_calloc(1, sizeof(*s));
	s->key = key;
	HASH_ADD(hh, d->sectors, key, sizeof(s->key), s);
	return s;
}

void cpu_ids_get(struct cpu_events *x, const uint8_t *host, uint32_t n, uint32_t *out)
{
	struct id_sector *s = NULL;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t a = (uint64_t)(uintptr_t)host + i;
		if (!i || !(a % SECTOR))
			s = x->ids->sectors ? sector_of(x->ids, a, false) : NULL;
		out[i] = s ? s->id[a % SECTOR] : 0;
	}
}

static void put(struct cpu_events *x, uint64_t a, uint32_t id)
{
	struct id_sector *s = sector_of(x->ids, a, id != 0);

	if (!s)
		return;
	uint32_t *of = &s->id[a % SECTOR];
	s->used += id != 0;
	s->used -= *of != 0;
	change(x, of, id);
	if (s->used)
		return;
	HASH_DEL(x->ids->sectors, s);
	free(s);
}

void cpu_ids_put(struct cpu_events *x, const uint8_t *host, uint32_t n, const uint32_t *ids)
{
	for (uint32_t i = 0; i < n; i++)
		put(x, (uint64_t)(uintptr_t)host + i, ids[i]);
}

void cpu_ids_mark(struct cpu_events *x, const uint8_t *host, uint64_t n, uint32_t id)
{
	uint64_t a = (uint64_t)(uintptr_t)host;
	struct id_sector *s, *next;

	if (id || n / SECTOR <= HASH_COUNT(x->ids->sectors)) {
		for (uint64_t i = 0; i < n && (id || x->ids->sectors); i++)
			put(x, a + i, id);
		return;
	}
	HASH_ITER(hh, x->ids->sectors, s, next)
	{
		uint64_t first = s->key * SECTOR;
		/* put frees the sector with its last number. */
		for (uint32_t i = 0, used = s->used; i < SECTOR && used; i++) {
			if (first + i - a >= n)
				continue;
			used -= s->id[i] != 0;
			put(x, first + i, 0);
		}
	}
}

/* ---- strong accesses ------------------------------------------------------------------------- */

void events_strong(struct cpu_events *x, uint32_t actor, struct oracle_acc *acc, uint64_t address,
		   const uint32_t *ids, uint32_t id)
{
	bool is_write = acc->kind & RACE_OP_WRITE;

	if (acc->kind & RACE_OP_READ) {
		acc->saw = cpu_ids_same(ids, acc->bytes);
		acc->flags |= ORACLE_SAW;
		/* An RMW of the last bytes that have it. */
		if (is_write && acc->saw && x->ids->refs.v[acc->saw] == acc->bytes)
			acc->flags |= ORACLE_SAW_LAST;
	}
	acc->id = id;
	oracle_access(x->o, actor, acc, address);
}

#define BYTES_MAX 32u

void events_direct_units(struct cpu_events *x, uint32_t actor, struct oracle_acc *acc,
			 uint64_t address, uint64_t bytes)
{
	const uint8_t *host = (const uint8_t *)(uintptr_t)address;
	bool is_strong = acc->strength != RACE_WEAK && acc->bytes <= BYTES_MAX;
	uint32_t ids[BYTES_MAX], id = 0;

	if (acc->kind & RACE_OP_WRITE)
		events_wrote_piece(x, address, bytes);
	if (!x->ids || !is_strong) {
		oracle_access_units(x->o, actor, acc, address, bytes);
	} else {
		cpu_ids_get(x, host, acc->bytes, ids);
		if (acc->kind & RACE_OP_WRITE)
			id = events_id_new(x);
		events_strong(x, actor, acc, address, ids, id);
	}
	if (!x->ids || !(acc->kind & RACE_OP_WRITE))
		return;
	events_unlock(x);
	cpu_ids_mark(x, host, bytes, id);
	events_lock(x);
}

void events_direct(struct cpu_events *x, uint32_t actor, struct oracle_acc *acc, uint64_t address)
{
	events_direct_units(x, actor, acc, address, acc->bytes);
}
