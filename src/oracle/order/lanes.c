/*
 * lanes.c - what the lanes of a warp do together: they learn the same, start and wait for copies.
 *
 * Lanes that know the same share one clock and learn as one. A copy has two epochs: 1 for its
 * reads, 2 for its writes; one that a warp starts as a whole (a matrix product) knows what each of
 * its lanes has done.
 */
#include "oracle/types.h"

void oracle_lanes_from(uint32_t *warp, uint32_t *mask)
{
	if (*mask)
		return;
	*mask = 1u << (*warp & 31);
	*warp &= ~31u;
}

/* The threads of a grid's warp, side by side; NULL: they must be looked up one by one. */
struct oracle_thread *oracle_threads_of(struct oracle *o, uint32_t warp)
{
	struct oracle_thread *t = oracle_thread_of(o, warp);

	return t && o->last->is_grid ? t : NULL;
}

/* The lanes that have the same epochs as the first one. Lanes without threads join a whole warp, so
 * that it is one value. */
struct oracle_part oracle_same_epoch(struct oracle *o, uint32_t warp, uint32_t lanes)
{
	struct oracle_thread *first = oracle_threads_of(o, warp);
	struct oracle_part p = {.warp = warp};

	ORACLE_EACH (l, lanes) {
		struct oracle_thread *t = oracle_thread_at(o, first, warp, l);
		uint32_t own = t ? t->own : 0, fence = t ? t->fence : 0;
		if (!p.mask) {
			p.epoch = own;
			p.fence = fence;
		}
		if (own == p.epoch && fence == p.fence)
			p.mask |= 1u << l;
	}
	if ((p.mask | oracle_absent_lanes(o, warp)) == UINT32_MAX)
		p.mask = UINT32_MAX;
	return p;
}

/* Adds the epochs of a part to a clock that the caller owns. */
void oracle_raise_part(struct oracle *o, struct oracle_clock *c, const struct oracle_part *p)
{
	oracle_tree_raise_mask(&o->pool, &c->root[ORACLE_HB], p->warp, p->mask, p->epoch);
	oracle_tree_raise_mask(&o->pool, &c->root[ORACLE_FENCES], p->warp, p->mask, p->fence);
}

/* Each lane joins c; lanes with the same clock before have the same one after. */
void oracle_lanes_join(struct oracle *o, uint32_t warp, uint32_t mask, struct oracle_clock *c,
		       uint32_t own)
{
	struct oracle_thread *first = oracle_threads_of(o, warp);
	struct oracle_clock *from = NULL, *to = NULL;

	ORACLE_EACH (l, mask) {
		struct oracle_thread *t = oracle_thread_at(o, first, warp, l);
		if (!t)
			continue;
		if (from && t->clock == from) {
			oracle_clock_unref(&o->pool, t->clock);
			t->clock = oracle_clock_ref(to);
		} else {
			oracle_clock_unref(&o->pool, from);
			from = oracle_clock_ref(t->clock);
			oracle_clock_join(&o->pool, &t->clock, c);
			to = t->clock;
		}
		if (t->own < own)
			t->own = own;
	}
	oracle_clock_unref(&o->pool, from);
}

void oracle_lanes_meet(struct oracle *o, uint32_t warp, uint32_t mask)
{
	struct oracle_clock *c = oracle_clock_ref(o->zero), *last = NULL;
	struct oracle_part part[ORACLE_LANES];
	uint32_t n = 0, max = 0;

	oracle_lanes_from(&warp, &mask);
	struct oracle_thread *first = oracle_threads_of(o, warp);
	ORACLE_EACH (l, mask) {
		struct oracle_thread *t = oracle_thread_at(o, first, warp, l);
		if (t && t->clock != last)
			oracle_clock_join(&o->pool, &c, last = t->clock);
	}
	for (uint32_t left = mask; left; left &= ~part[n++].mask) {
		part[n] = oracle_same_epoch(o, warp, left);
		max = part[n].epoch > max ? part[n].epoch : max;
	}
	for (uint32_t i = 0; i < n; i++)
		oracle_raise_part(o, oracle_clock_own(&o->pool, &c), &part[i]);
	/* It contains all that any of them knew. */
	ORACLE_EACH (k, mask) {
		struct oracle_thread *t = oracle_thread_at(o, first, warp, k);
		if (!t)
			continue;
		oracle_clock_unref(&o->pool, t->clock);
		t->clock = oracle_clock_ref(c);
		if (t->own <= max)
			t->own = max + 1;
	}
	oracle_clock_unref(&o->pool, c);
}

/* ---- copies ---------------------------------------------------------------------------------- */

uint32_t oracle_fork(struct oracle *o, uint32_t issuer)
{
	struct oracle_thread *t = oracle_thread_of(o, issuer);
	struct oracle_clock *c = NULL;

	o->stats.events++;
	if (!t)
		return ORACLE_NO_ACTOR;
	struct oracle_pub pub = oracle_publish(o, t, issuer);
	oracle_learn(o, &c, &pub);
	oracle_clock_unref(&o->pool, pub.clock);
	return oracle_misc_new(o, ORACLE_MISC_PSEUDO, issuer, c);
}

uint32_t oracle_fork_lanes(struct oracle *o, uint32_t warp, uint32_t mask)
{
	struct oracle_clock *c = oracle_clock_ref(o->zero), *last = NULL;
	struct oracle_thread *first = oracle_threads_of(o, warp);

	o->stats.events++;
	ORACLE_EACH (l, mask) {
		struct oracle_thread *t = oracle_thread_at(o, first, warp, l);
		if (t && t->clock != last)
			oracle_clock_join(&o->pool, &c, last = t->clock);
	}
	for (uint32_t left = mask; left;) {
		struct oracle_part part = oracle_same_epoch(o, warp, left);
		oracle_raise_part(o, oracle_clock_own(&o->pool, &c), &part);
		left &= ~part.mask;
	}
	ORACLE_EACH (k, mask) {
		struct oracle_thread *t = oracle_thread_at(o, first, warp, k);
		if (t)
			t->own++;
	}
	uint32_t actor =
		oracle_misc_new(o, ORACLE_MISC_PSEUDO, warp + (uint32_t)__builtin_ctz(mask), c);
	struct oracle_misc *m = oracle_misc_of(o, actor);
	if (m)
		m->is_of_warp = true;
	return actor;
}

uint32_t oracle_collect(struct oracle *o, uint32_t issuer)
{
	uint32_t actor = oracle_misc_new(o, ORACLE_MISC_PSEUDO, issuer, oracle_clock_ref(o->zero));
	struct oracle_misc *m = oracle_misc_of(o, actor);

	o->stats.events++;
	if (m)
		m->is_collector = true;
	return actor;
}

/* What the pseudo-thread did, as a clock; what a collector has joined. */
static struct oracle_clock *copy_clock(struct oracle *o, struct oracle_clock *of, uint32_t pseudo,
				       enum oracle_join what)
{
	const struct oracle_misc *m = oracle_misc_of(o, pseudo);

	if (m->is_collector) {
		oracle_clock_join(&o->pool, &of, m->thread.clock);
		return of;
	}
	uint32_t epoch = what == ORACLE_JOIN_READ ? ORACLE_PSEUDO_READ : ORACLE_PSEUDO_WRITE;
	struct oracle_clock *c = oracle_clock_own(&o->pool, &of);

	oracle_tree_raise(&o->pool, &c->root[ORACLE_HB], pseudo, epoch);
	for (unsigned k = ORACLE_CROSS; k < ORACLE_ROOTS; k++)
		oracle_tree_raise(&o->pool, &c->root[k], pseudo, epoch);
	oracle_forced_by(o, &of, pseudo, what == ORACLE_JOIN_READ);
	return of;
}

/* It does nothing more. */
static void copy_ended(struct oracle *o, struct oracle_misc *m, enum oracle_join what)
{
	if (what != ORACLE_JOIN_ALL || m->is_collector)
		return;
	oracle_clock_unref(&o->pool, m->thread.clock);
	m->thread.clock = NULL;
}

void oracle_join(struct oracle *o, uint32_t actor, uint32_t pseudo, enum oracle_join what)
{
	struct oracle_thread *t = oracle_thread_of(o, actor);
	struct oracle_misc *m = oracle_misc_of(o, pseudo);

	o->stats.events++;
	if (!t || !m)
		return;
	t->clock = copy_clock(o, t->clock, pseudo, what);
	copy_ended(o, m, what);
}

void oracle_join_lanes(struct oracle *o, uint32_t warp, uint32_t mask, const uint32_t *pseudo,
		       uint32_t n)
{
	struct oracle_clock *c = oracle_clock_ref(o->zero);

	o->stats.events++;
	for (uint32_t i = 0; i < n; i++) {
		struct oracle_misc *m = oracle_misc_of(o, pseudo[i]);
		if (!m)
			continue;
		c = copy_clock(o, c, pseudo[i], ORACLE_JOIN_ALL);
		copy_ended(o, m, ORACLE_JOIN_ALL);
	}
	oracle_lanes_join(o, warp, mask, c, 0);
	oracle_clock_unref(&o->pool, c);
}
