/*
 * maps.c - the acquiring half of the tensormap proxy's fence, which names one map.
 *
 * A thread's fence takes what the thread knows to be released (ORACLE_TMAP_RELEASED) to the
 * readings of that map which come after it. So each map that a fence has named keeps its fences:
 * who, when, and what was released for that thread then. A reading looks up those that it comes
 * after, and has their sum as its crossings (ORACLE_CROSS_TMAP, else the ends of launches and
 * copies alone) while it is checked.
 *
 * Misses: of a thread's fences of one map the oldest are joined, as if what the later one knew had
 * been known at the earlier one; after MOST fences of other threads the map needs none any more.
 * Costs: a reading of a map that was named walks its fences.
 */
#include "oracle/types.h"

#define RECENT 4u    /* of the fences of one thread of one map: so many are kept apart */
#define MOST   4096u /* fences of one map */

/* Of lanes of one warp, in one epoch, for which the same was released. */
struct fence {
	uint32_t warp, mask, epoch;
	uint64_t released; /* a tree, held */
};

struct oracle_map {
	uint64_t address;
	BASE_VEC(struct fence) fences; /* the oldest first */
	bool is_free;		       /* too many fences: it needs none */
	UT_hash_handle hh;
};

static struct oracle_map *map_at(struct oracle *o, uint64_t address)
{
	struct oracle_map *m;

	HASH_FIND(hh, o->maps, &address, sizeof(address), m);
	return m;
}

static void fence_drop(struct oracle *o, struct oracle_map *m, size_t i)
{
	oracle_tree_unref(&o->pool, m->fences.v[i].released);
	memmove(&m->fences.v[i], &m->fences.v[i + 1],
		(m->fences.n - i - 1) * sizeof(m->fences.v[0]));
	m->fences.n--;
}

/* Joins the actor's two oldest, where it has RECENT of them. */
static void make_room(struct oracle *o, struct oracle_map *m, uint32_t actor)
{
	size_t at[RECENT];
	unsigned n = 0;

	for (size_t i = 0; i < m->fences.n && n < RECENT; i++)
		if (m->fences.v[i].warp == actor / ORACLE_LANES &&
		    m->fences.v[i].mask >> actor % ORACLE_LANES & 1)
			at[n++] = i;
	if (n < RECENT)
		return;
	m->fences.v[at[0]].mask |= m->fences.v[at[1]].mask;
	oracle_tree_join(&o->pool, &m->fences.v[at[0]].released, m->fences.v[at[1]].released);
	fence_drop(o, m, at[1]);
}

static void map_clear(struct oracle *o, struct oracle_map *m)
{
	for (size_t i = 0; i < m->fences.n; i++)
		oracle_tree_unref(&o->pool, m->fences.v[i].released);
	base_vec_free(&m->fences);
}

void oracle_map_acquire(struct oracle *o, const struct oracle_thread *t, uint32_t actor,
			uint64_t address)
{
	struct oracle_map *m = map_at(o, address);

	if (!m) {
		m = base_calloc(1, sizeof(*m));
		m->address = address;
		HASH_ADD(hh, o->maps, address, sizeof(m->address), m);
	}
	if (m->is_free)
		return;
	struct fence *last = m->fences.n ? &m->fences.v[m->fences.n - 1] : NULL;
	struct fence f = {.warp = actor / ORACLE_LANES,
			  .mask = 1u << actor % ORACLE_LANES,
			  .epoch = t->own,
			  .released = t->clock->root[ORACLE_TMAP_RELEASED]};
	if (last && last->warp == f.warp && last->epoch == f.epoch &&
	    last->released == f.released && !(last->mask & f.mask)) {
		last->mask |= f.mask;
		return;
	}
	make_room(o, m, actor);
	oracle_tree_ref(f.released);
	base_vec_push(&m->fences, f);
	if (m->fences.n <= MOST)
		return;
	map_clear(o, m);
	m->is_free = true;
}

/* Does a thread with this clock come after it? */
static bool comes_after(uint64_t hb, uint32_t actor, const struct fence *f)
{
	uint32_t first = f->warp * ORACLE_LANES;

	if (actor - first < ORACLE_LANES && f->mask >> (actor - first) & 1)
		return true;
	ORACLE_EACH (l, f->mask)
		if (oracle_tree_get(hb, first + l) >= f->epoch)
			return true;
	return false;
}

bool oracle_map_begin(struct oracle *o, struct oracle_thread *t, uint32_t actor, uint64_t address,
		      uint64_t *was)
{
	const struct oracle_map *m = o->maps ? map_at(o, address) : NULL;

	if (!m)
		return false;
	*was = oracle_tree_ref(t->clock->root[ORACLE_CROSS_TMAP]);
	uint64_t *root = oracle_clock_own(&o->pool, &t->clock)->root, hb = root[ORACLE_HB];
	if (m->is_free)
		oracle_tree_join(&o->pool, &root[ORACLE_CROSS_TMAP], hb);
	for (size_t i = 0; i < m->fences.n; i++) {
		if (comes_after(hb, actor, &m->fences.v[i]))
			oracle_tree_join(&o->pool, &root[ORACLE_CROSS_TMAP],
					 m->fences.v[i].released);
	}
	return true;
}

void oracle_map_end(struct oracle *o, struct oracle_thread *t, uint64_t was)
{
	uint64_t *root = oracle_clock_own(&o->pool, &t->clock)->root;

	oracle_tree_unref(&o->pool, root[ORACLE_CROSS_TMAP]);
	root[ORACLE_CROSS_TMAP] = was;
}

void oracle_maps_free(struct oracle *o)
{
	struct oracle_map *m, *tmp;

	HASH_ITER(hh, o->maps, m, tmp)
	{
		HASH_DEL(o->maps, m);
		map_clear(o, m);
		free(m);
	}
}
