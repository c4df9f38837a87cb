/*
 * own_report.c - the last word when the program was not started by `collider run`.
 *
 * Then nobody else reads the shared file, so the agent says what is in it: one
 * line with the sums. The full report needs the site tables and the renderers
 * of src/report; this is the one place to call them from.
 */
#include <inttypes.h>

#include "agent/agent.h"

static const struct race_region *region_at(const struct race_shm *shm, uint32_t i)
{
	return (const struct race_region *)(const void *)((const char *)shm + RACE_SHM_REGION0) + i;
}

/* ------------------------------------------------------------------------ */

void agent_own_report(const struct race_shm *shm)
{
	uint32_t n = shm->nregions < RACE_REGIONS ? shm->nregions : RACE_REGIONS;
	uint64_t checked = 0, races = 0, plain = 0, all = 0;
	bool is_exact = true;

	for (uint32_t i = 0; i < n; i++) {
		const struct race_region *r = region_at(shm, i);

		checked += r->checked;
		all += r->host_launches;
		plain += r->host_launches_plain;
		is_exact = is_exact && r->exact;
		for (uint32_t s = 0; s < RACE_SLOTS; s++)
			races += r->records[s].valid == RACE_RECORD_VALID;
	}
	if (!n)
		return;
	agent_say("%" PRIu64 " race(s) seen in %s%" PRIu64 " checked accesses, %" PRIu64
		  " of %" PRIu64 " launches instrumented; `collider run` shows them line by line",
		  races, is_exact ? "" : "at least ", checked, all - plain, all);
}
