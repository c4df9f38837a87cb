/*
 * strong.c - lists of strong accesses: whether a new one can race with any of them, and which of
 * them are needed no longer.
 *
 * Strong accesses of the same bytes, or each of a half or byte of the word, that are of one device
 * (scope gpu and wider) or block are uniform: none of them races with another.
 *
 * A strong access is kept until nothing can race with it that doesn't race with another one. Of a
 * thread's accesses in one chain, and of its strong reads, the last one is enough. A write that
 * nothing can read any more is represented by a later one of its thread if every thread that has
 * seen the later one has seen it, too; so one that nothing has seen represents all before it. The
 * last few are looked at when one is added, all of them each time the list has doubled. Costs: two
 * walks for each doubling, and a sort if the first has dropped less than a quarter.
 */
#include "oracle/shadow/last.h"
#include "oracle/shadow.h"

#define SERIAL_BITS 39 /* of a chain's number: a run makes no more */

/* By warp, then chain; the last one of each comes first. */
static void sort_chains(struct oracle_list *l)
{
	struct oracle_key *key = base_malloc(l->n * sizeof(*key));
	struct oracle_rec *was = base_malloc(l->n * sizeof(*was));

	_Static_assert(ORACLE_MAX_ACTORS / 32 <= 1ull << (64 - SERIAL_BITS), "a warp fits");
	for (uint32_t i = 0; i < l->n; i++) {
		const struct oracle_rec *r = &l->v[i];
		key[i].high = (uint64_t)(r->actor >> 5) << SERIAL_BITS |
			      (r->chain ? r->chain->serial : 0);
		key[i].low = ~((uint64_t)r->epoch << 32 | r->pos);
		key[i].at = i;
		was[i] = *r;
	}
	oracle_sort(key, l->n);
	for (uint32_t i = 0; i < l->n; i++)
		l->v[i] = was[key[i].at];
	free(was);
	free(key);
}

/* Are two strong accesses of the same bytes morally strong with the same others? */
static bool is_as_strong(const struct oracle *o, uint32_t a, uint32_t b)
{
	const struct oracle_site *x = oracle_site_at(o, a), *y = oracle_site_at(o, b);

	return x->a.bytes == y->a.bytes && x->a.scope == y->a.scope && x->a.proxy == y->a.proxy &&
	       !((x->a.flags | y->a.flags) & ORACLE_NC);
}

/* ... and with the same observers? */
static bool is_alike(const struct oracle *o, const struct oracle_rec *a, const struct oracle_rec *b)
{
	const struct oracle_site *x = oracle_site_at(o, a->site), *y = oracle_site_at(o, b->site);

	return a->bytes == b->bytes && a->offset == b->offset && a->chain == b->chain &&
	       x->a.bytes == y->a.bytes && x->a.scope == y->a.scope && x->a.proxy == y->a.proxy &&
	       x->a.flags == y->a.flags &&
	       (x->a.kind == RACE_OP_READ) == (y->a.kind == RACE_OP_READ);
}

/* Of a thread's RMWs in one chain, and of its strong reads, the last one is enough. */
static uint32_t compact_chains(struct oracle *o, struct oracle_list *l)
{
	uint32_t covered = 0;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < l->n; i++) {
		struct oracle_rec *r = &l->v[i], *prev = kept ? &l->v[kept - 1] : NULL;
		if (!prev || (prev->actor & ~31u) != (r->actor & ~31u) || !is_alike(o, prev, r))
			covered = 0;
		if (!(oracle_rec_lanes(r) & ~covered)) {
			oracle_rec_drop(o, r);
			continue;
		}
		covered |= oracle_rec_lanes(r);
		l->v[kept++] = *r;
	}
	return kept;
}

/* Does y, later and by the same thread, represent r? Both are closed writes, or reads. */
static bool stands_for(const struct oracle *o, const struct oracle_rec *y,
		       const struct oracle_rec *r)
{
	if (y->epoch < r->epoch || y->bytes != r->bytes || y->offset != r->offset ||
	    !is_as_strong(o, y->site, r->site))
		return false;
	return !r->chain || oracle_chain_covers(r->chain, r->pos, y->chain, y->pos);
}

#define FETCH_AHEAD 8u

/* Drops a thread's reads, and its closed writes, that a later one represents. `open`: the chain of
 * a write that is being added, which can be read from now on; or NULL. */
static uint32_t compact_threads(struct oracle *o, struct oracle_list *l,
				const struct oracle_chain *open)
{
	struct oracle_lasts last = oracle_lasts_new(l->n);
	uint32_t at = l->n, *y;

	for (uint32_t i = l->n; i-- > 0;) {
		struct oracle_rec r = l->v[i];
		if (i >= FETCH_AHEAD)
			__builtin_prefetch(l->v[i - FETCH_AHEAD].chain);
		if (!r.mask && !(r.chain && (r.chain->live || r.chain == open))) {
			y = oracle_last_of(&last, r.actor, !r.chain);
			if (*y != UINT32_MAX && stands_for(o, &l->v[*y], &r)) {
				oracle_rec_drop(o, &r);
				continue;
			}
			*y = at - 1;
		}
		l->v[--at] = r;
	}
	free(last.v);
	memmove(l->v, l->v + at, (l->n - at) * sizeof(l->v[0]));
	return l->n - at;
}

void oracle_strong_compact(const struct oracle_now *n, struct oracle_list *l)
{
	uint32_t before = l->n;

	if (l->n < oracle_compact_from(n->o) || l->n < l->compact_at)
		return;
	oracle_list_touch(n->o, l);
	oracle_spent_unknown(l);
	l->n = compact_threads(n->o, l, n->chain);
	if (l->n > before - before / 4) {
		sort_chains(l);
		l->n = compact_chains(n->o, l);
	}
	l->compact_at = l->n * 2;
}

#define LOOK_BACK 4u

/* Is x, by the same actor and as strong, no longer needed beside the new strong access? */
static bool is_replaced(const struct oracle_now *n, const struct oracle_rec *r,
			struct oracle_rec **closed)
{
	if (r->mask || r->actor != n->actor || r->bytes != n->mask ||
	    r->offset != oracle_offset_of(n))
		return false;
	const struct oracle_site *x = oracle_site_at(n->o, r->site);
	if (!is_as_strong(n->o, r->site, n->site))
		return false;
	/* A thread that has seen a write is after it, not after a read before it. */
	if (x->a.kind == RACE_OP_READ)
		return !n->chain;
	if (!n->chain)
		return false;
	if (r->chain == n->chain)
		return true;
	if (r->chain->live)
		return false;
	/* Neither can be read any more: the later one represents an earlier one if every thread
	 * that has seen it has seen the other. */
	struct oracle_rec *later = *closed;
	if (later && oracle_chain_covers(r->chain, r->pos, later->chain, later->pos))
		return true;
	*closed = (struct oracle_rec *)(uintptr_t)r;
	return false;
}

static void prune(const struct oracle_now *n, struct oracle_list *l)
{
	uint32_t low = l->n > LOOK_BACK ? l->n - LOOK_BACK : 0;
	struct oracle_rec *closed = NULL;

	for (uint32_t i = l->n; i-- > low;) {
		struct oracle_rec *r = &l->v[i];
		if (!is_replaced(n, r, &closed))
			continue;
		oracle_spent_removed(l, i);
		oracle_rec_drop(n->o, r);
		memmove(r, r + 1, (l->n - i - 1) * sizeof(*r));
		l->n--;
		if (closed)
			closed--;
	}
}

/* ---- uniform lists ------------------------------------------------------------------------- */

/* May the access be in a list that is characterised by the place of its accesses? */
static bool is_of_place(const struct oracle_now *n)
{
	return n->acc->strength != RACE_WEAK && n->acc->proxy == RACE_PROXY_GENERIC &&
	       !(n->acc->flags & ORACLE_NC);
}

bool oracle_is_in_place(const struct oracle_now *n, const struct oracle_ext *e)
{
	if (e->same_place & ORACLE_PLACE_BLOCK)
		return e->same_place == oracle_place_key(n->o, n->actor, RACE_SCOPE_CTA);
	return n->acc->scope >= RACE_SCOPE_GPU && e->same_place == n->place;
}

/* Two strong accesses of as many bytes with one such address access the same bytes or have none in
 * common: the word's, of one that lies in its place as an array of halves or bytes does (packed
 * types are accessed element by element). */
static uint64_t same_address_of(const struct oracle_now *n)
{
	uint32_t bytes = n->acc->bytes;

	return bytes < 4 && !(bytes & (bytes - 1)) && !(n->address & (bytes - 1)) ? n->word
										  : n->address;
}

bool oracle_is_uniform_strong(const struct oracle_now *n, const struct oracle_ext *e)
{
	if (e->same_bytes != n->acc->bytes || e->same_address != same_address_of(n) ||
	    !is_of_place(n))
		return false;
	return (e->are_sys && n->acc->scope == RACE_SCOPE_SYS) || oracle_is_in_place(n, e);
}

void oracle_strong_begin(const struct oracle_now *n, struct oracle_ext *e)
{
	struct oracle_list *l = e->list[ORACLE_STRONG];

	if (l)
		prune(n, l);
	if ((!l || !l->n) && is_of_place(n) && n->place) {
		e->same_bytes = n->acc->bytes & INT32_MAX;
		e->same_address = same_address_of(n);
		e->same_place = n->place;
		e->are_sys = n->acc->scope == RACE_SCOPE_SYS;
	} else if (!oracle_is_uniform_strong(n, e)) {
		e->same_bytes = 0;
	} else {
		if (!oracle_is_in_place(n, e))
			e->same_place = 0;
		e->are_sys &= n->acc->scope == RACE_SCOPE_SYS;
	}
}
