/*
 * held.h - part of hirace.cu and iguard.cu: reads that are held until their value is used
 * (race/layout/held.h, instrument/doubt/doubt.c).
 *
 * The includer defines, with `p` the place of the read:
 *
 *	DEV_HELD_LOOK(me, state, table, at, what, p, way)	judges the read, stores nothing;
 *		true: it races for certain, and *p says with whom. p: NULL where there is no place
 *	DEV_HELD_CHECK(me, state, table, at, what)	judges and stores it as any other access
 *	DEV_HELD_RECORD(p)	reports what *p has
 *
 * Costs: nothing where no read is held.
 */
/* The address for nothing: the load's guard is false. */
DEV_FN bool dev_is_nothing(uint64_t at, uint64_t what)
{
	return at == (RACE_HELD_SPACE(what) == RACE_HELD_IN_SHARED ? 0xffffffffu : 0u);
}

/* The same access as a sure one. */
DEV_FN uint64_t dev_held_sure(uint64_t what)
{
	uint64_t words = what >> RACE_HELD_MAYBE_AT & 0xffu;

	return (what & ~(0xffull << RACE_HELD_MAYBE_AT)) | words << RACE_HELD_SURE_AT;
}

/* Its bit and, in the low half, what is live. */
DEV_FN uint64_t dev_hold(uint64_t me, uint64_t state, uint64_t table, uint64_t at, uint64_t what,
			 struct race_held *h)
{
	uint32_t room = ~h->taken & RACE_HELD_MASK, i = (uint32_t)__ffs((int)room) - 1u;
	struct race_held_place *p = room ? &h->place[i] : 0;

	if (p) {
		p->at = at;
		p->what = what;
		h->taken |= 1u << i;
		h->live |= 1u << i;
	}
	if (DEV_HELD_LOOK(me, state, table, at, what, p, RACE_HELD_FIRST) && p)
		h->live ^= 1u << i | 1u << (i + RACE_HELD);
	return (uint64_t)(p ? 1u << i : 0u) << 32 | h->live;
}

DEV_FN uint64_t dev_settle(uint64_t me, uint64_t state, uint64_t table, struct race_held *h,
			   uint32_t op)
{
	enum race_held_way way = op & RACE_HELD_AFTER ? RACE_HELD_LAST : RACE_HELD_AGAIN;
	uint32_t alive = op & RACE_HELD_MASK;

#pragma unroll 1
	for (uint32_t open = h->live & alive; open; open &= open - 1u) {
		uint32_t i = (uint32_t)__ffs((int)open) - 1u;
		struct race_held_place *p = &h->place[i];

		if (DEV_HELD_LOOK(me, state, table, p->at, p->what, p, way))
			h->live |= 1u << (i + RACE_HELD);
	}
	h->live &= alive << RACE_HELD;
	h->taken = h->live >> RACE_HELD;
	return h->live;
}

DEV_FN uint64_t dev_used(uint64_t me, uint64_t state, uint64_t table, struct race_held *h,
			 uint32_t mask)
{
#pragma unroll 1
	for (uint32_t left = mask & (h->live | h->live >> RACE_HELD); left; left &= left - 1u) {
		uint32_t i = (uint32_t)__ffs((int)left) - 1u;
		struct race_held_place *p = &h->place[i];

		if (h->live >> RACE_HELD >> i & 1u)
			DEV_HELD_RECORD(p);
		else
			DEV_HELD_CHECK(me, state, table, p->at, dev_held_sure(p->what));
		h->live &= ~(1u << i | 1u << (i + RACE_HELD));
	}
	return h->live;
}
