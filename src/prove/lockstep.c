/*
 * lockstep.c - alarms that are none if the lanes of a warp execute in step (check.h).
 *
 * After all pairs. The pairs of the alarms are asked about again, in lockstep; those that are
 * proven then become one alarm, which says what it needs.
 *
 * Costs: at most a third of the time that is left.
 */
#include "prove/check.h"

struct lockstep {
	struct check *c;
	bool *is_needed, *is_asked; /* by alarm */
};

static bool is_of(const struct race_alarm *al, const struct ev_access *a, const struct ev_access *b)
{
	return al->side[0].ptx_line == a->step->at->line &&
	       al->side[1].ptx_line == b->step->at->line;
}

static bool is_needed(const struct race_alarm *al, void *arg)
{
	struct lockstep *x = arg;

	return x->is_needed[al - x->c->k->alarms.v];
}

/* Asks about the alarms' pairs again, in lockstep: those that still fail don't need it alone. */
static void try_lockstep(struct lockstep *x)
{
	struct check *c = x->c;
	const struct ev *e = c->e;

	for (size_t i = 0; i < e->accesses.n; i++) {
		for (size_t k = i; k < e->accesses.n; k++) {
			const struct ev_access *a = &e->accesses.v[i], *b = &e->accesses.v[k];
			bool has = false;
			for (size_t n = 0; n < c->k->alarms.n; n++) {
				bool is_its = is_of(&c->k->alarms.v[n], a, b);
				x->is_asked[n] |= is_its;
				has |= x->is_needed[n] && is_its;
			}
			if (!has || prove_one_pair(c, a, b))
				continue;
			for (size_t n = 0; n < c->k->alarms.n; n++)
				x->is_needed[n] &= !is_of(&c->k->alarms.v[n], a, b);
		}
	}
}

void check_lockstep(struct check *c)
{
	struct prove_options own = *c->o;
	const struct prove_options *was = c->o;
	struct race_proof_counts counts = c->k->counts;
	struct lockstep x = {.c = c};
	uint64_t now = prove_now_ms(), end = c->deadline;

	if (own.is_lockstep || !c->k->alarms.n || c->has_unordered)
		return;
	x.is_needed = BASE_NEWN(c->arena, bool, c->k->alarms.n);
	x.is_asked = BASE_NEWN(c->arena, bool, c->k->alarms.n);
	for (size_t i = 0; i < c->k->alarms.n; i++)
		x.is_needed[i] = c->k->alarms.v[i].level <= RACE_LEVEL_BLOCK &&
				 c->k->alarms.v[i].cls != RACE_CLASS_READ_ONLY &&
				 !c->k->alarms.v[i].is_benign;
	own.is_lockstep = true;
	own.level[RACE_LEVEL_CLUSTER] = own.level[RACE_LEVEL_GRID] = false;
	c->o = &own;
	c->deadline = now < end ? now + (end - now) / 3 : now;
	c->trial.is_on = true;
	try_lockstep(&x);
	/* an mbarrier's set-up is no pair of accesses */
	for (size_t i = 0; i < c->k->alarms.n; i++)
		x.is_needed[i] &= x.is_asked[i];
	c->trial.is_on = false;
	c->deadline = end;
	c->o = was;
	uint32_t queries = c->k->counts.queries;
	c->k->counts = counts;
	c->k->counts.queries = queries;
	alarm_merge(c, is_needed, &x);
}
