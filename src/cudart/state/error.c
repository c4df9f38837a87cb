/*
 * error.c - names and texts of error codes, and each thread's last error.
 *
 * Programs compare and print the texts, so they are CUDA's own (errors.def). A
 * sticky fault of a device is not kept here: rt_enter reports it again at
 * every call, and cudaGetLastError doesn't clear it.
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

cudaError_t rt_fail(cudaError_t e)
{
	if (e != cudaSuccess && e != cudaErrorNotReady)
		rt_thread()->last = e;
	return e;
}

/* The fault of the current device, otherwise the thread's last error. */
static cudaError_t current(void)
{
	struct rt_thread *t = rt_thread();
	cudaError_t e = cudaSuccess;

	/* Querying errors must not start a device that the program never used. */
	if (rt.m)
		e = rt_enter();
	return e == cudaSuccess ? t->last : e;
}

/* ---- public --------------------------------------------------------------- */

const char *cudaGetErrorName(cudaError_t error)
{
	const struct error_text *t = find(error);

	return t ? t->name : "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
	const struct error_text *t = find(error);

	return t ? t->text : "unrecognized error code";
}

cudaError_t cudaGetLastError(void)
{
	cudaError_t e = current();

	rt_thread()->last = cudaSuccess;
	return e;
}

cudaError_t cudaPeekAtLastError(void)
{
	return current();
}
