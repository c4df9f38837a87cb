/*
 * error.c - names and texts of error codes.
 *
 * Programs compare and print the texts, so they are CUDA's own (errors.def).
 */
#include <stddef.h>

#include "cudart/state/internal.h"

struct error_text {
	cudaError_t code;
	const char *name, *text;
};

static const struct error_text texts[] = {
#define E(code, text) {code, #code, text},
#include "cudart/state/errors.def"
#undef E
};

static const struct error_text *find(cudaError_t e)
{
	for (size_t i = 0; i < BASE_COUNTOF(texts); i++) {
		if (texts[i].code == e)
			return &texts[i];
	}
	return NULL;
}

const char *rt_error_name(cudaError_t e)
{
	const struct error_text *t = find(e);

	return t ? t->name : NULL;
}

const char *rt_error_text(cudaError_t e)
{
	const struct error_text *t = find(e);

	return t ? t->text : NULL;
}
