/*
 * retire.c - forgetting what nothing can race with any more.
 *
 * When the only host thread knows the end of every operation that it has submitted, all that was
 * done is ordered before all that will be: clocks, records, fences and operations start afresh. So
 * a program that launches thousands of kernels and waits from time to time needs memory only for
 * those between two waits. Numbers of actors are not reused: other parts keep them.
 * Misses: nothing is forgotten while host threads are distinguished, nor before a wait: a launch
 * costs about 2 KB until then. Costs: a pass over the pages that were accessed since the last time.
 */
#include "oracle/late.h"

/* Does the host thread know the end of all operations? Those that are known are not tested
 * again. */
static bool knows_all(struct oracle *o, uint32_t host)
{
	struct oracle_opn *p = o->unknown ? o->unknown : o->ops;

	while (p && oracle_host_knows(o, host, p->key))
		p = p->hh.next;
	o->unknown = p;
	return !p;
}

/* Was every actor part of an operation that has ended? */
static bool is_all_ended(struct oracle *o, const struct oracle_clock *host)
{
	for (size_t i = 0; i < o->groups.n; i++) {
		const struct oracle_group *g = o->groups.v[i];
		if (g->is_grid && !g->is_ended)
			return false;
		for (uint32_t k = g->retired; !g->is_grid && k < g->n; k++)
			if ((g->misc[k].kind == ORACLE_MISC_PSEUDO ||
			     g->misc[k].kind == ORACLE_MISC_INIT) &&
			    oracle_tree_get(host->root[ORACLE_HB], g->first + k) <
				    ORACLE_PSEUDO_WRITE)
				return false;
	}
	return true;
}

static void misc_retire(struct oracle *o, struct oracle_misc *m)
{
	bool is_host = m->kind == ORACLE_MISC_HOST;

	oracle_clock_unref(&o->pool, m->thread.clock);
	oracle_pends_free(o, m->thread.pends);
	oracle_forced_drop(o, m);
	m->thread.clock = is_host ? oracle_clock_ref(o->zero) : NULL;
	m->thread.pends = NULL;
	/* No copy whose order depends on the end of some operation. */
	if (!is_host)
		m->kind = ORACLE_MISC_OP;
}

/* Of the actors outside of grids the only host thread stays, and their group while it has room. */
static bool is_kept(struct oracle *o, struct oracle_group *g, uint32_t host)
{
	if (g->is_grid)
		return false;
	if (host - g->first < g->retired)
		misc_retire(o, &g->misc[host - g->first]);
	for (; g->retired < g->n; g->retired++)
		misc_retire(o, &g->misc[g->retired]);
	return host - g->first < g->n || g == o->misc;
}

static void groups_retire(struct oracle *o, uint32_t host)
{
	size_t kept = 0;

	for (size_t i = 0; i < o->groups.n; i++) {
		if (is_kept(o, o->groups.v[i], host))
			o->groups.v[kept++] = o->groups.v[i];
		else
			oracle_group_free(o, o->groups.v[i]);
	}
	o->groups.n = kept;
	o->last = NULL;
	memset(o->near, 0, sizeof(o->near));
}

void oracle_retire(struct oracle *o, uint32_t host)
{
	const struct oracle_thread *t = oracle_thread_of(o, host);
	struct oracle_name *x, *tmp;

	if (!o->opt.is_one_host || o->nhosts != 1 || o->nopen || !o->ops || !t ||
	    !knows_all(o, host) || !is_all_ended(o, t->clock))
		return;
	if (o->pool.bytes > o->clock_peak)
		o->clock_peak = o->pool.bytes;
	oracle_late_drop(o);
	HASH_ITER(hh, o->named, x, tmp)
	oracle_drop_id(o, x->id);
	oracle_shadow_retire(o);
	oracle_sync_free(o);
	oracle_sc_free(o);
	oracle_maps_free(o);
	oracle_sites_free(o);
	oracle_memos_free(&o->pool);
	oracle_known_logs_free(o);
	groups_retire(o, host);
}
