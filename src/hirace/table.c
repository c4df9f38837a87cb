/*
 * table.c - the two tables: as generated, and as published.
 *
 * The published one is the generated one with the entries of corrections.def put back, so each fact
 * stands once; tests/hirace/rules compares it with the published file.
 */
#include "hirace/hirace.h"

#include "hirace/hirace_table.h"

#include <string.h>

static const uint8_t generated[HIRACE_TABLE_SIZE] = HIRACE_TABLE_ENTRIES;

#define CORRECTION(s, a, y, r, p, text)                                                            \
	{HIRACE_##s, HIRACE_##a, HIRACE_SYNC_##y, HIRACE_##r, HIRACE_##p, text},
const struct hirace_correction hirace_corrections[] = {
#include "hirace/corrections.def"
};
#undef CORRECTION
_Static_assert(BASE_COUNTOF(hirace_corrections) == HIRACE_CORRECTIONS, "rows of corrections.def");

static const struct {
	const char *name, *histories;
} states[HIRACE_STATES] = {
#define STATE(id, name, histories) {name, histories},
#include "hirace/states.def"
#undef STATE
};

const uint8_t *hirace_table(enum hirace_variant variant)
{
	static uint8_t published[HIRACE_TABLE_SIZE];
	static bool is_made;

	if (variant == HIRACE_CORRECTED)
		return generated;
	if (!is_made) {
		for (uint32_t i = 0; i < HIRACE_TABLE_SIZE; i++)
			published[i] = generated[i] & HIRACE_NEXT;
		for (uint32_t i = 0; i < HIRACE_CORRECTIONS; i++) {
			const struct hirace_correction *c = &hirace_corrections[i];
			published[hirace_entry(c->state, c->access, c->sync, c->relation)] =
				c->published;
		}
		is_made = true;
	}
	return published;
}

const char *hirace_state_name(uint32_t state)
{
	return state < HIRACE_STATES ? states[state].name : NULL;
}

const char *hirace_state_histories(uint32_t state)
{
	return state < HIRACE_STATES ? states[state].histories : NULL;
}

const char *hirace_access_name(uint32_t access)
{
	static const char *const names[] = {"R", "W", "BA", "GA"};

	return access < HIRACE_ACCESSES ? names[access] : NULL;
}

const char *hirace_sync_name(uint32_t sync)
{
	static const char *const names[] = {"U", "W", "B"};

	return sync < HIRACE_SYNCS ? names[sync] : NULL;
}

const char *hirace_relation_name(uint32_t relation)
{
	static const char *const names[] = {"S", "W", "B", "G"};

	return relation < HIRACE_RELATIONS ? names[relation] : NULL;
}
