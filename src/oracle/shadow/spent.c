/*
 * spent.c - accesses that have raced so often that they are no longer compared with others.
 *
 * If all accesses to a hot word were compared with each other, the cost would be the square of
 * their number. So a record that has raced 256 times, or once in a pair of lines sighted 1,000
 * times, is spent: only instructions of a line that has not raced with its own look at it. What it
 * misses: the later races of the spent records that are not kept, see oracle_has_others; gone.c
 * finds out whether there may be any in a new pair of lines. Costs: a
 * comparison for each spent record of the word, at most two for each line and part of the word.
 */
#include "oracle/shadow.h"

/* Of each line two spent records stay, of different blocks or warps if there are: what is ordered
 * after the one may race with the other. */
#define SPENT_KEPT 2u

/* Are both of one line, and alike otherwise? */
static bool is_family(const struct oracle *o, uint32_t a, uint32_t b)
{
	return a == b || o->families.v[a] == o->families.v[b];
}

bool oracle_are_hot(const struct oracle_now *n, const struct oracle_list *l)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (!is_family(n->o, l->v[i].site, n->site) || !oracle_is_spent(&l->v[i]))
			return false;
	return oracle_is_repeated(n->o, n->site, n->site, ORACLE_HOT, ORACLE_RACE);
}

/* May the record b be forgotten for a, as they are of one instruction and the same bytes? */
static bool is_one_of(const struct oracle *o, const struct oracle_rec *a,
		      const struct oracle_rec *b)
{
	return a->offset == b->offset && !(b->bytes & ~a->bytes) && is_family(o, a->site, b->site);
}

bool oracle_has_others(const struct oracle *o, const struct oracle_list *l, uint32_t kept,
		       uint32_t i)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < kept; k++)
		n += is_one_of(o, &l->v[k], &l->v[i]);
	for (uint32_t k = i + 1; k < l->n && n < SPENT_KEPT; k++)
		n += is_one_of(o, &l->v[k], &l->v[i]);
	return n >= SPENT_KEPT;
}

bool oracle_is_pair_known(const struct oracle_now *n, const struct oracle_site *x)
{
	bool is_weak = x->a.strength == RACE_WEAK || n->acc->strength == RACE_WEAK;

	return oracle_is_repeated(n->o, x->index, n->site, 1,
				  is_weak ? ORACLE_RACE : ORACLE_RACE_SCOPE);
}

static void remember_spent(struct oracle_list *l, uint32_t key)
{
	for (unsigned i = 0; i < 2; i++)
		if (l->spent_for[i] >> 4 == key >> 4) {
			l->spent_for[i] |= key;
			return;
		}
	l->spent_for[1] = l->spent_for[0];
	l->spent_for[0] = key;
}

bool oracle_are_spent_now(const struct oracle_now *n, struct oracle_list *l)
{
	uint32_t known = ORACLE_NO_SITE; /* the family found last */

	if (l->spent.n < l->n && l->spent.n <= ORACLE_SPENT_PLACES)
		return false;
	for (uint32_t i = 0; i < l->n; i++) {
		const struct oracle_rec *r = &l->v[i];
		uint32_t family = n->o->families.v[r->site];
		if (!oracle_is_spent(r))
			return false;
		if (family == known || !(r->bytes & n->mask))
			continue;
		if (!oracle_is_pair_known(n, oracle_site_at(n->o, r->site)))
			return false;
		known = family;
	}
	remember_spent(l, oracle_spent_key(n));
	return true;
}

void oracle_spent_removed(struct oracle_list *l, uint32_t at)
{
	uint32_t kept = 0;

	if (l->spent.n > ORACLE_SPENT_PLACES) {
		oracle_spent_unknown(l);
		return;
	}
	for (uint32_t i = 0; i < l->spent.n; i++) {
		uint16_t old = l->spent.at[i];
		if (old != at)
			l->spent.at[kept++] = (uint16_t)(old - (old > at));
	}
	l->spent.n = (uint16_t)kept;
}

/* Makes the list of the spent records' places, if it isn't known. False: there are many. */
static bool find_places(struct oracle_list *l)
{
	if (l->spent.n == ORACLE_SPENT_UNKNOWN) {
		l->spent.n = 0;
		for (uint32_t i = 0; i < l->n && l->spent.n != ORACLE_SPENT_MANY; i++)
			if (oracle_is_spent(&l->v[i]))
				oracle_spent_note(l, i);
	}
	return l->spent.n <= ORACLE_SPENT_PLACES;
}

static uint32_t distance(uint32_t a, uint32_t b)
{
	return a > b ? a - b : b - a;
}

/* The spent record of the access's line, bytes and offset whose actor has the nearest number, the
 * last of them. *count: how many there are. */
static struct oracle_rec *nearest(const struct oracle_now *n, struct oracle_list *l,
				  uint32_t *count)
{
	bool are_few = find_places(l);
	struct oracle_rec *near = NULL;
	uint32_t least = UINT32_MAX, end = are_few ? l->spent.n : l->n;
	int8_t offset = oracle_offset_of(n);

	*count = 0;
	for (uint32_t i = 0; i < end; i++) {
		struct oracle_rec *r = &l->v[are_few ? l->spent.at[i] : i];
		if (r->bytes != n->mask || !oracle_is_spent(r) || r->offset != offset ||
		    n->o->families.v[r->site] != n->family)
			continue;
		++*count;
		uint32_t far = distance(r->actor, n->actor);
		near = far <= least ? r : near;
		least = far <= least ? far : least;
	}
	return near;
}

bool oracle_replace_spent(const struct oracle_now *n, struct oracle_list *l)
{
	uint32_t count = 0;
	struct oracle_rec *near = l && l->has_spent ? nearest(n, l, &count) : NULL;

	if (count < SPENT_KEPT)
		return false;
	n->o->stats.raced_out++;
	oracle_gone_rec(n, near);
	oracle_list_touch(n->o, l);
	if (n->chain)
		n->chain->refs++;
	oracle_rec_drop(n->o, near);
	oracle_rec_set(n, near);
	near->raced = ORACLE_RACED_MAX;
	return true;
}
