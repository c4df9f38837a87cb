/*
 * tables.c - the rows of base/detectors.def, counters.def and kinds.def as arrays, and their
 * look-up.
 */
#include "race/detector.h"
#include "race/layout/iguard.h"
#include "race/layout/watch.h"
#include "race/race.h"
#include "race/record.h"
#include "race/layout/history.h"

#include <string.h>

/* ---- detectors ----------------------------------------------------------------------------- */

#define WEAK   RACE_SEES_WEAK
#define STRONG RACE_SEES_STRONG
#define GLOBAL RACE_SEES_GLOBAL
#define SHARED RACE_SEES_SHARED

/* clang-format off */
const struct race_detector race_detectors[RACE_DETECTORS] = {
#define DETECTOR(id, text, strength, space, symbol, block) \
	[RACE_DETECTOR_##id] = {.name = text,                                                      \
				.marker = symbol,                                                  \
				.strengths = strength,                                             \
				.spaces = space,                                                   \
				.block_bytes = sizeof(struct race_##block)},
#define JUDGE(id, text) [RACE_DETECTOR_##id] = {.name = text},
#include "base/detectors.def"
};

#define DETECTOR(id, text, strength, space, symbol, block) \
	_Static_assert(sizeof(struct race_##block) <= RACE_BLOCK_MAX, "the block of " text);
#define JUDGE(id, ...) \
	_Static_assert((int)RACE_DETECTOR_##id >= (int)RACE_DETECTORS_PUT, "DETECTOR rows first");
#include "base/detectors.def"
/* clang-format on */

_Static_assert(RACE_DETECTORS <= 32, "sets are bits of an unsigned");

bool race_is_inserted_name(const char *name, size_t n)
{
	static const char *const prefixes[] = {RACE_REG_PREFIX, RACE_LABEL_PREFIX,
					       RACE_SYMBOL_PREFIX};

	/* The usual name is a register of the program. */
	if (n < sizeof(RACE_LABEL_PREFIX) || (name[0] == '%' && name[1] != 'c'))
		return false;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (n >= strlen(prefixes[i]) && !memcmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

const char *race_called_name(const char *name, size_t n)
{
	const size_t prefix = sizeof(RACE_CALLED_PREFIX) - 1;

	return n > prefix && !memcmp(name, RACE_CALLED_PREFIX, prefix) ? name + prefix : NULL;
}

unsigned race_detector_marked(const char *symbol, size_t n)
{
	for (unsigned i = 0; i < RACE_DETECTORS_PUT; i++)
		if (strlen(race_detectors[i].marker) == n &&
		    !memcmp(race_detectors[i].marker, symbol, n))
			return 1u << i;
	return 0;
}

unsigned race_detectors_in(const char *text)
{
	unsigned set = 0;

	for (unsigned i = 0; i < RACE_DETECTORS_PUT; i++)
		set |= strstr(text, race_detectors[i].marker) ? 1u << i : 0;
	return set;
}

/* ---- counters and kinds --------------------------------------------------------------------- */

#define SAME(field) offsetof(struct race_results, field), sizeof(((struct race_results *)0)->field)

/* clang-format off */
const struct race_counter race_counters[RACE_COUNTERS_COUNT] = {
#define COUNTER(place, when, field, json, noun) \
	[RACE_COUNTER_##field] = {                                                                 \
		json, noun, SAME(field), RACE_IN_##place, RACE_WHEN_##when, false},
#define FLAG(place, field, json) \
	[RACE_COUNTER_##field] = {json, "", SAME(field), RACE_IN_##place, RACE_WHEN_FLAG, false},
#define EXACT(place, field, json, missing) \
	[RACE_COUNTER_##field] = {json, "", SAME(field), RACE_IN_##place, RACE_WHEN_EXACT, missing},
#include "race/counters.def"
};

const struct race_kind_row race_kinds[RACE_KIND_COUNT] = {
#define KIND(id, number, name, cls, title, sentence) \
	[number] = {name, RACE_CLASS_##cls, title, sentence},
#include "race/kinds.def"
};
/* clang-format on */

uint64_t race_counter_get(const struct race_results *r, enum race_counter_id id)
{
	const struct race_counter *c = &race_counters[id];
	const char *at = (const char *)r + c->at;

	if (c->bytes == sizeof(uint64_t))
		return *(const uint64_t *)(const void *)at;
	return c->bytes == sizeof(uint32_t) ? *(const uint32_t *)(const void *)at
					    : *(const bool *)(const void *)at;
}

void race_counter_add(struct race_results *r, enum race_counter_id id, uint64_t n)
{
	const struct race_counter *c = &race_counters[id];
	char *at = (char *)r + c->at;

	if (c->bytes == sizeof(uint64_t))
		*(uint64_t *)(void *)at += n;
	else if (c->bytes == sizeof(uint32_t))
		*(uint32_t *)(void *)at += (uint32_t)n;
	else
		*(bool *)(void *)at |= n != 0;
}
