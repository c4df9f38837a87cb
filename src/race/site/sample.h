/*
 * sample.h - which sites a run checks under --sample=N, and which were ever checked.
 *
 * The sites of a basic block that are checked together are a group, which is what can be switched.
 * A group's *number* for a run is a hash of (table, first site, seed); a module gets a limit, and
 * its groups with numbers below it are checked. The limit is the least that covers N sites, of all
 * that are known: those of the modules that are loaded, and of the coverage file. An execution that
 * the draw of collide.ptxt skips computes the number, in cold code, so sampling costs nothing when
 * it is off; a checked group marks its place in a map. SuperCollider 7.3 does it by JIT.
 */
#ifndef COLLIDER_RACE_SITE_SAMPLE_H
#define COLLIDER_RACE_SITE_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>

#include "race/shuffle/blocks.h"

#define RACE_SAMPLE_LIMIT_ALL 0x7ffffffeu

/* The key in the code of a group. */
RACE_FN uint64_t race_sample_key(uint64_t table, uint32_t site)
{
	return race_slot_key(table, site, RACE_KIND_NONE);
}

/* Below 2^31. */
RACE_FN uint32_t race_sample_number(uint64_t key, uint32_t seed)
{
	return race_shuffle_mix((uint32_t)key ^ seed) >> 1;
}

RACE_FN uint32_t race_sample_place(uint64_t key)
{
	return (uint32_t)(key >> 32) & (RACE_COVER - 1u);
}

/* Groups of which some are to be chosen. Zeroed at the start. */
struct race_sample {
	struct race_sample_group {
		uint32_t number, sites;
	} * groups; /* malloc'd */
	size_t n, cap;
};

/* Adds the groups of a table with `nsites` sites; leads[i]: site i is the first of a group. */
void race_sample_add(struct race_sample *s, uint64_t table, const unsigned char *leads,
		     uint32_t nsites, uint32_t seed);
/* The limit that takes at least `sites` sites (all, when there are no more). Sorts. */
uint32_t race_sample_limit(struct race_sample *s, uint32_t sites);
void race_sample_free(struct race_sample *s);

#endif
