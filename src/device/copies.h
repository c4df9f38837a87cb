/*
 * copies.h - part of hirace.cu and iguard.cu: a thread's cp.async (race/layout/copies.h).
 *
 *	dev_copy_note	at a copy: is there room for it? It is in the open group
 *	dev_copies	at commits and waits
 *
 * The includer defines DEV_COPY_DONE(me, state, table, at, words): the words of a copy that is
 * complete become those of a write by the thread, as it is now.
 *
 * Costs: 8 bytes of the thread's own memory stored and loaded, and a swap for each word.
 */
#ifndef COLLIDER_DEVICE_COPIES_H
#define COLLIDER_DEVICE_COPIES_H

DEV_FN bool dev_copy_note(struct race_copies *c, uint32_t at, uint32_t words)
{
	struct race_copy *p = &c->place[(c->first + c->n) % RACE_COPIES];

	if (c->n == RACE_COPIES)
		return false;
	p->at = at;
	p->is = RACE_COPY_IS(words, c->group);
	c->n++;
	return true;
}

/* op: the groups that are left, or RACE_COPIES_*. */
DEV_FN void dev_copies(uint64_t me, uint64_t state, uint64_t table, struct race_copies *c,
		       uint32_t op)
{
	if (op & RACE_COPIES_COMMIT) {
		c->group++;
		return;
	}
#pragma unroll 1
	while (c->n) {
		struct race_copy p = c->place[c->first];
		/* Groups that were committed since, with its own. */
		uint32_t since = (c->group << 3) - (p.is & ~7u);

		if (!(op & RACE_COPIES_ALL) && since >> 3 <= op)
			return;
		c->first = (c->first + 1u) % RACE_COPIES;
		c->n--;
		DEV_COPY_DONE(me, state, table, p.at, RACE_COPY_WORDS(p.is));
	}
}

#endif
