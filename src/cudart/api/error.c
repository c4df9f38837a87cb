/*
 * error.c - names and texts of error codes, and each thread's last error.
 *
 * A sticky fault of a device is not kept here: rt_enter reports it again at every call, and
 * cudaGetLastError doesn't clear it.
 */
#include "cudart/api/api.h"

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
	const char *name = rt_error_name(error);

	return name ? name : "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
	const char *text = rt_error_text(error);

	return text ? text : "unrecognized error code";
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
