/*
 * oracle.c - what the oracle has found and done, as the shared file has it (collider.c).
 *
 * A pair is written when the oracle reports it, the counts after each batch of work; what it could
 * not see is a note.
 */
#include <string.h>

#include "cudart/report/collider.h"
#include "race/file/pair.h"
#include "race/file/shm_write.h"
#include "race/race.h"

static struct race_oracle *oracle; /* in the shared file; NULL: there is none */

/* The count lies first in a pair. */
_Static_assert(offsetof(struct race_pair, count) == 0, "where the count is");

static struct race_pair *write_pair(void *arg, const struct race_pair *pair, size_t bytes)
{
	static bool is_full;
	void *at = race_shm_chunk(RACE_CHUNK_PAIR, 0, pair, bytes, NULL, 0);

	(void)arg;
	for (unsigned i = 0; at && i < 2; i++) {
		const struct race_pair_side *s = &pair->side[i];
		if (s->flags & RACE_SIDE_HOST && s->access == RACE_ACCESS_COPY)
			rt_origin_report(s->ptx_line);
		rt_origin_report(s->launch);
	}
	if (!at && !is_full)
		race_shm_note("the shared file is full; more races were found than are shown");
	is_full = is_full || !at;
	return at;
}

void rt_oracle_start(void)
{
	struct race_oracle o = {.is_execution = rt.options.oracle == CPU_ORACLE_EXECUTION};

	if (rt.options.oracle == CPU_ORACLE_OFF)
		return;
	oracle = race_shm_chunk(RACE_CHUNK_ORACLE, 0, &o, sizeof(o), NULL, 0);
	cpu_on_pair(rt.m, write_pair, NULL);
}

static const char *why_blind(const struct cpu_oracle_stats *s)
{
	if (s->has_handlers)
		return "host code was not watched, as the program has a handler of SIGSEGV or "
		       "SIGTRAP: its loads and stores of managed and pinned memory were not judged "
		       "(--host-accesses watches them all the same)";
	if (s->is_host_dear)
		return "host code was watched for its first accesses to managed and pinned memory "
		       "only, since each costs a signal (--host-accesses watches all)";
	return "host code could not be watched, or not in full (docs/soundness.md): its loads and "
	       "stores were not judged";
}

void rt_oracle_update(void)
{
	static bool is_blind, is_full, has_left, is_coarse;
	struct cpu_oracle_stats s;

	if (!oracle)
		return;
	cpu_get_oracle_stats(rt.m, &s);
	rt_collider_patterns(s.patterns);
	oracle->accesses = s.accesses;
	oracle->kernel_accesses = s.accesses - s.host_accesses - s.op_accesses;
	oracle->words = s.words;
	oracle->shadow_bytes = s.shadow_bytes;
	oracle->clock_bytes = s.clock_bytes;
	oracle->dropped = s.dropped;
	oracle->raced_out = s.raced_out;
	oracle->actors = s.actors;
	oracle->host_accesses = s.host_accesses;
	/* (What the default leaves out by itself is said, and is no gap.) */
	oracle->has_shared = s.has_shared && !s.is_host_dear;
	oracle->running = s.running;
	if (rt.options.sees_host) {
		oracle->registered = s.registered;
		oracle->registered_bytes = s.registered_bytes;
	}
	if (rt.options.sees_host && !s.sees_host && !is_blind)
		(s.is_host_dear ? race_shm_note("%s", why_blind(&s))
				: race_shm_gap_note(RACE_GAP_HOST, "%s", why_blind(&s)));
	is_blind = is_blind || !s.sees_host;
	if (s.has_ranges_left && !has_left)
		race_shm_gap_note(RACE_GAP_BUDGET,
				  "copies, fills and frees of the host were judged for half of the "
				  "time of --budget: later ones were not");
	has_left = s.has_ranges_left;
	if (s.unreported && !oracle->unreported)
		race_shm_gap_note(RACE_GAP_LAUNCHES,
				  "races of launches that ran beside others that were left out, or "
				  "were not ordered with them, were not reported: what orders them "
				  "is unknown");
	oracle->unreported = s.unreported;
	oracle->sees_host = s.sees_host;
	if (s.is_sc_coarse && !is_coarse)
		race_shm_gap_note(
			RACE_GAP_FORGOTTEN,
			"so many fence.sc's (__threadfence) had to be placed after others that the "
			"oracle took the later ones in the order in which they ran: races "
			"between accesses on their two sides may be missing");
	is_coarse = s.is_sc_coarse;
	if (s.is_full && !is_full)
		race_shm_note(rt.options.steps_aside
				      ? "the oracle is full (too many threads, copies and "
					"operations, or no memory) and stepped aside: what the "
					"program did after that was checked without it"
				      : "the oracle is full: too many threads or no memory; what "
					"the program did after that was not judged");
	is_full = s.is_full;
	oracle->is_full = s.is_full && !rt.options.steps_aside;
	oracle->is_aside = s.is_full && rt.options.steps_aside;
}

void rt_oracle_launched(int more)
{
	if (oracle)
		__atomic_fetch_add(&oracle->launches, (uint32_t)more, __ATOMIC_RELAXED);
}

bool rt_oracle_is_on(void)
{
	return oracle != NULL;
}
