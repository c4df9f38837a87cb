/*
 * error.c - names and texts of error codes, and each thread's last error.
 *
 * A sticky fault of a device is not kept here: rt_enter reports it again at every call, and
 * cudaGetLastError doesn't clear it.
 */
#include "cudart/api/api.h"

cudaError_t rt_fail(enum rt_error e)
{
	if (e != RT_OK && e != RT_ERROR_NOT_READY)
		rt_thread()->last = e;
	return (cudaError_t)e;
}

/* The fault of the current device, otherwise the thread's last error. */
static enum rt_error current(void)
{
	struct rt_thread *t = rt_thread();
	enum rt_error e = RT_OK;

	/* Querying errors must not start a device that the program never used. */
	if (rt.m)
		e = rt_enter();
	return e == RT_OK ? t->last : e;
}

/* ---- public --------------------------------------------------------------- */

const char *cudaGetErrorName(cudaError_t error)
{
	const struct rt_error_text *t = rt_error_text((int)error);

	return t ? t->runtime : "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
	const struct rt_error_text *t = rt_error_text((int)error);

	return t ? t->text : "unrecognized error code";
}

cudaError_t cudaGetLastError(void)
{
	enum rt_error e = current();

	rt_thread()->last = RT_OK;
	return (cudaError_t)e;
}

cudaError_t cudaPeekAtLastError(void)
{
	return (cudaError_t)current();
}
