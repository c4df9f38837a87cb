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

#include <stdio.h>
#include <string.h>

/* ---- detectors ----------------------------------------------------------------------------- */

#define WEAK   RACE_SEES_WEAK
#define STRONG RACE_SEES_STRONG
#define GLOBAL RACE_SEES_GLOBAL
#define SHARED RACE_SEES_SHARED

#define HOLDS_REGISTERS RACE_HOLDS_REGISTERS
#define SEES_HOST	RACE_SEES_HOST
#define DEFAULT		RACE_DEFAULT
#define SLEEPS		RACE_SLEEPS
#define REPLAYS		RACE_REPLAYS
#define CAUSES		RACE_CAUSES
#define LENT		RACE_WORDS_LENT
#define BESIDE		RACE_WORDS_BESIDE
#define MACHINE		RACE_WORDS_MACHINE
#define PAST		RACE_WORDS_PAST
#define MODES		RACE_WORDS_MODES

/* clang-format off */
const struct race_detector race_detectors[RACE_DETECTORS] = {
#define DETECTOR(id, word, strength, space, trait, symbol, block, kept, pass) \
	[RACE_DETECTOR_##id] = {.name = #word,                                                     \
				.marker = symbol,                                                  \
				.strengths = strength,                                             \
				.spaces = space,                                                   \
				.traits = trait,                                                   \
				.keeps = RACE_KEEPS_##kept,                                       \
				.layout = RACE_BLOCK_##block,                                      \
				.block_bytes = sizeof(struct race_##block)},
#define JUDGE(id, word) [RACE_DETECTOR_##id] = {.name = #word},
#include "base/detectors.def"
};

const struct race_words race_words[RACE_WORDS_COUNT] = {
#define WORDS(id, tables, end, size, spare, in_scratch, bytes_mark, part_mark, trait) \
	[RACE_WORDS_##id] = {.detector = RACE_DETECTOR_##id,                                       \
			     .bytes = size,                                                        \
			     .pieces = spare,                                                      \
			     .tables_bytes = sizeof(struct tables),                                \
			     .stamps_at = offsetof(struct tables, sides),                          \
			     .stamps_end = offsetof(struct tables, end),                           \
			     .scratch = in_scratch,                                                \
			     .narrow = bytes_mark,                                                 \
			     .part = part_mark,                                                    \
			     .traits = trait},
#include "base/detectors.def"
};

#define DETECTOR(id, word, strength, space, trait, symbol, block, kept, pass) \
	_Static_assert(sizeof(struct race_##block) <= RACE_BLOCK_MAX, "the block of " #word);
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

const struct race_words *race_words_of(unsigned id)
{
	for (unsigned i = 0; i < RACE_WORDS_COUNT; i++)
		if ((unsigned)race_words[i].detector == id)
			return &race_words[i];
	return NULL;
}

enum race_words_id race_words_id(const struct race_words *w)
{
	return (enum race_words_id)(w - race_words);
}

unsigned race_detectors_with(unsigned trait)
{
	unsigned set = 0;

	for (unsigned i = 0; i < RACE_DETECTORS; i++)
		set |= race_detectors[i].traits & trait ? 1u << i : 0;
	return set;
}

unsigned race_detectors_with_words(void)
{
	unsigned set = 0;

	for (unsigned i = 0; i < RACE_WORDS_COUNT; i++)
		set |= 1u << race_words[i].detector;
	return set;
}

const char *race_detectors_text(unsigned set, char *out, size_t n)
{
	size_t at = 0;

	*out = 0;
	for (unsigned i = 0; i < RACE_DETECTORS && at < n; i++)
		if (set >> i & 1)
			at += (size_t)snprintf(out + at, n - at, "%s%s", at ? "," : "",
					       race_detectors[i].name);
	return out;
}

unsigned race_detector_marked(const char *symbol, size_t n)
{
	for (unsigned i = 0; i < RACE_DETECTORS_PUT; i++)
		if (strlen(race_detectors[i].marker) == n &&
		    !memcmp(race_detectors[i].marker, symbol, n))
			return 1u << i;
	return 0;
}

unsigned race_detector_lent(const char *symbol, size_t n)
{
	for (unsigned i = 0; i < RACE_WORDS_COUNT; i++)
		if (race_words[i].traits & RACE_WORDS_LENT && strlen(race_words[i].part) == n &&
		    !memcmp(race_words[i].part, symbol, n))
			return 1u << race_words[i].detector;
	return 0;
}

unsigned race_detectors_for(unsigned asked)
{
	unsigned set = 0;

	for (unsigned i = 0; i < RACE_WORDS_COUNT; i++)
		if (race_words[i].traits & RACE_WORDS_LENT &&
		    asked & race_detectors_with(RACE_CAUSES))
			set |= 1u << race_words[i].detector;
	return set & ~asked;
}

unsigned race_detectors_in(const char *text)
{
	unsigned set = 0;

	for (unsigned i = 0; i < RACE_DETECTORS_PUT; i++)
		set |= strstr(text, race_detectors[i].marker) ? 1u << i : 0;
	for (unsigned i = 0; i < RACE_WORDS_COUNT; i++)
		if (race_words[i].traits & RACE_WORDS_LENT && strstr(text, race_words[i].part))
			set &= ~(1u << race_words[i].detector);
	return set;
}

/* ---- counters and kinds --------------------------------------------------------------------- */

#define SAME(field) offsetof(struct race_results, field), sizeof(((struct race_results *)0)->field)

/* clang-format off */
const struct race_counter race_counters[RACE_COUNTERS_COUNT] = {
#define COUNTER(place, when, field, json, noun, means) \
	[RACE_COUNTER_##field] = {                                                                 \
		json, noun, SAME(field), RACE_IN_##place, RACE_WHEN_##when, false, means},
#define FLAG(place, field, json, means) \
	[RACE_COUNTER_##field] = {                                                                 \
		json, "", SAME(field), RACE_IN_##place, RACE_WHEN_FLAG, false, means},
#define EXACT(place, field, json, missing, means) \
	[RACE_COUNTER_##field] = {                                                                 \
		json, "", SAME(field), RACE_IN_##place, RACE_WHEN_EXACT, missing, means},
#include "race/counters.def"
};

const struct race_kind_row race_kinds[RACE_KIND_COUNT] = {
#define ONE false
#define TWO true
#define KIND(id, number, name, source, sides, cls, title, sentence) \
	[number] = {name, RACE_DETECTOR_##source, sides, RACE_CLASS_##cls, title, sentence},
#include "race/kinds.def"
};
/* clang-format on */

static bool is_kind(unsigned kind)
{
	return kind < RACE_KIND_COUNT && race_kinds[kind].name;
}

enum race_keeps race_keeps(unsigned kind)
{
	return is_kind(kind) ? race_detectors[race_kinds[kind].source].keeps : RACE_KEEPS_PAIR;
}

bool race_has_causes(unsigned kind)
{
	return is_kind(kind) && race_detectors[race_kinds[kind].source].traits & RACE_CAUSES;
}

bool race_knows_seeds(unsigned kind)
{
	for (unsigned i = 0; i < RACE_KIND_COUNT && is_kind(kind); i++)
		if (is_kind(i) && race_kinds[i].source == race_kinds[kind].source &&
		    race_kinds[i].cls == RACE_CLASS_SEED)
			return true;
	return false;
}

bool race_has_two_sides(unsigned kind)
{
	return is_kind(kind) && race_kinds[kind].has_two_sides;
}

bool race_is_kept_pair(unsigned kind)
{
	return race_has_two_sides(kind) && race_keeps(kind) != RACE_KEEPS_PAIR;
}

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
