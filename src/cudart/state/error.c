/*
 * error.c - names and texts of error codes.
 *
 * Programs compare and print them, so they are CUDA's own (errors.def).
 */
#include <stddef.h>

#include "cudart/state/internal.h"

static const struct rt_error_text texts[] = {
#define E(code, number, runtime, driver, text) {code, runtime, driver, text},
#include "cudart/state/errors.def"
#undef E
};

const struct rt_error_text *rt_error_text(int number)
{
	for (size_t i = 0; i < BASE_COUNTOF(texts); i++) {
		if ((int)texts[i].code == number)
			return &texts[i];
	}
	return NULL;
}
