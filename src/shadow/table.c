/*
 * table.c - the two tables: as generated, and as published.
 *
 * The published one is the generated one with the entries of corrections.def put back, so each fact
 * stands once; tests/shadow compares it with the published file.
 */
#include "shadow/shadow.h"

#include "shadow/hirace_table.h"

#include <string.h>

static const uint8_t generated[SHADOW_TABLE_SIZE] = SHADOW_TABLE_ENTRIES;

#define CORRECTION(s, a, y, r, p, text)                                                            \
	{SHADOW_##s, SHADOW_##a, SHADOW_SYNC_##y, SHADOW_##r, SHADOW_##p, text},
const struct shadow_correction shadow_corrections[] = {
#include "shadow/corrections.def"
};
#undef CORRECTION
_Static_assert(BASE_COUNTOF(shadow_corrections) == SHADOW_CORRECTIONS, "rows of corrections.def");

static const struct {
	const char *name, *histories;
} states[SHADOW_STATES] = {
#define STATE(id, name, histories) {name, histories},
#include "shadow/states.def"
#undef STATE
};

const uint8_t *shadow_table(enum shadow_variant variant)
{
	static uint8_t published[SHADOW_TABLE_SIZE];
	static bool is_made;

	if (variant == SHADOW_CORRECTED)
		return generated;
	if (!is_made) {
		for (uint32_t i = 0; i < SHADOW_TABLE_SIZE; i++)
			published[i] = generated[i] & SHADOW_NEXT;
		for (uint32_t i = 0; i < SHADOW_CORRECTIONS; i++) {
			const struct shadow_correction *c = &shadow_corrections[i];
			published[shadow_entry(c->state, c->access, c->sync, c->relation)] =
				c->published;
		}
		is_made = true;
	}
	return published;
}

const char *shadow_state_name(uint32_t state)
{
	return state < SHADOW_STATES ? states[state].name : NULL;
}

const char *shadow_state_histories(uint32_t state)
{
	return state < SHADOW_STATES ? states[state].histories : NULL;
}

const char *shadow_access_name(uint32_t access)
{
	static const char *const names[] = {"R", "W", "BA", "GA"};

	return access < SHADOW_ACCESSES ? names[access] : NULL;
}

const char *shadow_sync_name(uint32_t sync)
{
	static const char *const names[] = {"U", "W", "B"};

	return sync < SHADOW_SYNCS ? names[sync] : NULL;
}

const char *shadow_relation_name(uint32_t relation)
{
	static const char *const names[] = {"S", "W", "B", "G"};

	return relation < SHADOW_RELATIONS ? names[relation] : NULL;
}
