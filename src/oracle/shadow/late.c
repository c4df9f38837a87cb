/*
 * late.c - accesses of operations that reach the shadow late, or never.
 *
 * A copy, or a launch that is handed over as a whole, which starts after all that was done before,
 * and beside which nothing runs, races with nothing that is in the shadow. What it accessed is only
 * for later ones to meet. So its accesses are kept as they came, and go to the shadow when another
 * one comes that isn't kept likewise. Mostly none does: the next operation of the stream comes
 * after it, too, and then the host waits for both, so that nothing can race with them any more
 * (retire.c). Then they are dropped, and no cell was made.
 *
 * Misses nothing: the shadow gets the same accesses in the same order, with the same clocks. Kept
 * are weak accesses of operations only, with one host thread, while there is no fence.sc, none that
 * were forgotten (gone.c), and no write that takes effect late.
 * Costs: a comparison of clocks for each operation; 100 bytes for each access that is kept.
 */
#include "oracle/late.h"
#include "oracle/shadow.h"

#define MOST_ENDED 64u	      /* operations that nothing covers yet; then nothing is kept */
#define MOST_KEPT  (1u << 14) /* accesses */

void oracle_late_init(struct oracle *o)
{
	o->lates = base_calloc(1, sizeof(*o->lates));
}

/* ---- what an operation comes after ----------------------------------------------------------- */

/* Does it come after all operations that have ended? */
static bool is_after_all(const struct oracle_lates *x, const struct oracle_opn *p)
{
	for (size_t i = 0; i < x->ended.n; i++)
		if (!oracle_tree_covers(p->start->root[ORACLE_HB],
					x->ended.v[i]->end->root[ORACLE_HB]))
			return false;
	return x->ended.n < MOST_ENDED;
}

void oracle_late_started(struct oracle *o, struct oracle_opn *p)
{
	struct oracle_lates *x = o->lates;

	if (p->is_running)
		return;
	p->is_running = true;
	x->alone = !x->running && o->opt.is_one_host && is_after_all(x, p) ? p : NULL;
	x->running++;
}

void oracle_late_ended(struct oracle *o, struct oracle_opn *p)
{
	struct oracle_lates *x = o->lates;

	if (!p->is_running)
		return;
	x->running--;
	/* Who comes after it comes after all that it does. */
	if (x->alone == p)
		x->ended.n = 0;
	x->alone = NULL;
	if (x->ended.n < MOST_ENDED)
		base_vec_push(&x->ended, p);
}

static bool may_be_late(const struct oracle *o, uint32_t actor)
{
	const struct oracle_lates *x = o->lates;
	const struct oracle_opn *p = x->alone;

	return p && p->actor == actor && o->nhosts == 1 && p->nhost == x->nhost && !o->is_full &&
	       !o->opt.has_late_writes && !o->sc_logs && !o->gone && !x->is_flushing &&
	       o->nlate < MOST_KEPT;
}

/* ---- what is kept ---------------------------------------------------------------------------- */

static bool keep(struct oracle *o, struct oracle_late l)
{
	const struct oracle_thread *t = oracle_thread_of(o, l.actor);

	if (!t)
		return false;
	l.thread.clock = oracle_clock_ref(t->clock);
	l.thread.own = t->own;
	base_vec_push(&o->lates->kept, l);
	o->nlate++;
	return true;
}

bool oracle_late_range(struct oracle *o, uint32_t actor, const struct oracle_acc *acc,
		       uint64_t address, uint64_t bytes)
{
	if (!may_be_late(o, actor) || !bytes ||
	    !keep(o, (struct oracle_late){
			     .actor = actor, .acc = *acc, .address = address, .bytes = bytes}))
		return false;
	o->stats.accesses++;
	return true;
}

bool oracle_access_late(struct oracle *o, uint32_t actor, uint64_t address, uint64_t bytes,
			void (*make)(void *arg, uint32_t actor), void *arg)
{
	return may_be_late(o, actor) && keep(o, (struct oracle_late){.actor = actor,
								     .address = address,
								     .bytes = bytes,
								     .make = make,
								     .arg = arg});
}

static void drop(struct oracle *o, const struct oracle_late *l)
{
	oracle_clock_unref(&o->pool, l->thread.clock);
}

static void drop_all(struct oracle *o)
{
	for (size_t i = 0; i < o->lates->kept.n; i++)
		drop(o, &o->lates->kept.v[i]);
	o->lates->kept.n = o->nlate = 0;
}

void oracle_late_drop(struct oracle *o)
{
	drop_all(o);
	o->lates->ended.n = 0;
	o->lates->alone = NULL;
}

void oracle_late_free(struct oracle *o)
{
	drop_all(o);
	base_vec_free(&o->lates->kept);
	base_vec_free(&o->lates->ended);
	free(o->lates);
}

/* ---- the shadow gets it ---------------------------------------------------------------------- */

void oracle_flush_late(struct oracle *o)
{
	struct oracle_lates *x = o->lates;

	if (x->is_flushing)
		return;
	x->is_flushing = true;
	for (size_t i = 0; i < x->kept.n; i++) {
		struct oracle_late *l = x->current = &x->kept.v[i];
		if (l->make)
			l->make(l->arg, l->actor);
		else
			oracle_shadow_access(o, &l->thread, l->actor, &l->acc, l->address, l->bytes,
					     NULL);
	}
	x->current = NULL;
	drop_all(o);
	x->is_flushing = false;
}

void oracle_late_forget(struct oracle *o, uint64_t address, uint64_t bytes)
{
	struct oracle_lates *x = o->lates;
	bool has_more = false;
	size_t n = 0;

	for (size_t i = 0; i < x->kept.n; i++) {
		const struct oracle_late *l = &x->kept.v[i];
		bool is_inside = !l->make && l->address >= address &&
				 l->address - address + l->bytes <= bytes;
		has_more |= !is_inside && l->address < address + bytes &&
			    address < l->address + l->bytes;
		if (is_inside)
			drop(o, l);
		else
			x->kept.v[n++] = *l;
	}
	x->kept.n = o->nlate = n;
	if (has_more)
		oracle_flush_late(o);
}
