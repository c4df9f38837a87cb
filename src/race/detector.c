/*
 * detector.c - the rows of base/detectors.def (detector.h).
 */
#include "race/detector.h"
#include "race/record.h"

#include <string.h>

#define WEAK   RACE_SEES_WEAK
#define STRONG RACE_SEES_STRONG
#define GLOBAL RACE_SEES_GLOBAL
#define SHARED RACE_SEES_SHARED

/* clang-format off */
const struct race_detector race_detectors[RACE_DETECTORS] = {
#define DETECTOR(id, text, strength, space, symbol) \
	[RACE_DETECTOR_##id] = {.name = text, .marker = symbol, .strengths = strength, .spaces = space},
#define JUDGE(id, text) [RACE_DETECTOR_##id] = {.name = text},
#include "base/detectors.def"
};

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
