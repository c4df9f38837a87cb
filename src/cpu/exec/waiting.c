/*
 * waiting.c - the text of who waits at the barriers of a block, for a deadlock's report.
 */
#include "cpu/exec/barriers.h"

#include <stdio.h>
#include <string.h>

/* Of the threads that are left. */
static uint32_t threads_left(const struct cpu_cta *cta, uint32_t id, uint32_t *arrived)
{
	uint32_t left = 0;

	*arrived = 0;
	for (uint32_t i = 0; i < cta->nwarps; i++) {
		const struct cpu_warp *w = &cta->warps[i];
		left += cpu_popcount(cpu_alive(w));
		*arrived += cpu_popcount(cpu_lanes_at_barrier(w, id));
	}
	return left;
}

/* Lanes that wait for others of their warp. */
static int describe_part(const struct cpu_warp *w, char *text, size_t n)
{
	uint32_t used = cpu_wp(w)->used;

	CPU_EACH_LANE (i, used) {
		const struct cpu_split *s = &w->split[i];
		const struct ptx_stmt *st = s->func ? s->func->stmts[s->pc] : NULL;
		uint32_t others = s->members & ~w->exited & ~s->mask;
		if (s->state == CPU_SPLIT_BARRIER && s->aux & AUX_PART)
			others = cpu_alive(w) & ~cpu_lanes_at_barrier(w, s->aux);
		else if (s->state != CPU_SPLIT_GATHER)
			continue;
		return snprintf(text, n, "lanes 0x%x of warp %u wait for lanes 0x%x (PTX line %u)",
				s->mask, w->index, others, st ? st->line : 0);
	}
	return 0;
}

void cpu_barrier_describe(const struct cpu_cta *cta, char *text, size_t n)
{
	size_t at = 0;

	*text = 0;
	for (uint32_t i = 0; i < CPU_BARRIERS && at < n; i++) {
		const struct barrier *b = &cta->barriers->b[i];
		uint32_t arrived, left = threads_left(cta, i, &arrived);
		if (!b->is_open)
			continue;
		int m = snprintf(text + at, n - at, "%s%u of %u threads have arrived at barrier %u",
				 at ? ", " : "", b->expected ? b->arrived : arrived,
				 b->expected ? b->expected : left, i);
		at += m > 0 ? (size_t)m : 0;
	}
	if (cta->cluster->barrier->arrived && at < n) {
		int m = snprintf(text + at, n - at,
				 "%s%u of %u threads have arrived at the cluster's barrier",
				 at ? ", " : "", cta->cluster->barrier->arrived,
				 cta->grid->nthreads * cta->cluster->size -
					 cta->cluster->barrier->exited);
		at += m > 0 ? (size_t)m : 0;
	}
	for (uint32_t i = 0, m = 0; i < cta->nwarps && at + 2 < n && !m; i++) {
		size_t comma = at ? 2 : 0;
		m = (uint32_t)describe_part(&cta->warps[i], text + at + comma, n - at - comma);
		if (m && comma)
			memcpy(text + at, ", ", 2);
	}
}
