/*
 * plain.c - launches that are left out of a run (--launch-count, --budget): what they put in doubt.
 *
 * Such a launch U makes no event, so that what it releases and acquires is not known. Another one,
 * C, may come after U by a flag that U has set, and so after all that came before U. A finding
 * about C is certain only if the API orders C before U, or after it (then C knows all that U
 * knows).
 * So a launch is doubtful that starts while there is a U whose end it doesn't know, or that runs
 * when a U starts; a copy or host code is while there is any U. A race with a doubtful side is
 * counted and not reported: it is a miss, and no false report.
 *
 * Costs: nothing while no launch is left out, then a look-up for each launch.
 */
#include "cpu/events/internal.h"

/* Forgets what the host has waited for. */
static void prune(struct cpu_events *x)
{
	size_t kept = 0;

	for (size_t i = 0; i < x->plains.n; i++) {
		uint64_t key = x->plains.v[i].key;
		if (oracle_has_op(x->o, key) && !oracle_host_knows(x->o, x->host, key))
			x->plains.v[kept++] = x->plains.v[i];
	}
	x->plains.n = kept;
}

void events_plain_start(struct cpu_events *x, const struct cpu_op *op)
{
	struct events_plain p = {op->id, op->work.stream, op->work.is_graph};
	size_t i = 0;

	x->has_plain = true;
	for (size_t k = 0; k < x->live.n; k++) {
		struct events_grid *g = events_grid_of(x, x->live.v[k]);
		if (g)
			g->is_doubtful = true;
	}
	/* Who knows the later launch of a stream knows those before it. */
	while (i < x->plains.n &&
	       (p.is_graph || x->plains.v[i].is_graph || x->plains.v[i].stream != p.stream))
		i++;
	if (i < x->plains.n)
		x->plains.v[i] = p;
	else
		base_vec_push(&x->plains, p);
	if (x->plains.n > 64)
		prune(x);
}

bool events_grid_is_doubtful(struct cpu_events *x, uint32_t actor)
{
	if (!x->plains.n)
		return false;
	prune(x);
	for (size_t i = 0; i < x->plains.n; i++) {
		if (!oracle_host_knows(x->o, actor, x->plains.v[i].key))
			return true;
	}
	return false;
}

void events_grid_ended(struct cpu_events *x, uint64_t id)
{
	for (size_t i = 0; id && i < x->live.n; i++) {
		if (x->live.v[i] == id) {
			x->live.v[i] = x->live.v[--x->live.n];
			return;
		}
	}
}

static bool is_side_doubtful(struct cpu_events *x, const struct oracle_side *s)
{
	const struct events_grid *g = events_grid_of(x, s->place.grid);

	if (s->place.device != RACE_HOST && g)
		return g->is_doubtful;
	prune(x);
	return x->plains.n != 0;
}

bool events_is_doubtful(struct cpu_events *x, const struct oracle_finding *f)
{
	if (!is_side_doubtful(x, &f->first) && !is_side_doubtful(x, &f->second))
		return false;
	x->nunreported++;
	return true;
}
