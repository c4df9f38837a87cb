/*
 * api.h - inside src/cudart/api: how an entry point begins and ends.
 *
 * An entry point translates: it looks whether the process and the device are well, calls what
 * state/ or graph/ have for it, and keeps the error as the thread's last one.
 */
#ifndef COLLIDER_CUDART_API_H
#define COLLIDER_CUDART_API_H

#include "cudart/state/internal.h"
#include "cudart/state/link.h"

/* Keeps an error as the thread's last one (cudaSuccess and cudaErrorNotReady aren't kept) and
 * returns it: every entry point ends with `return rt_fail(e)`. */
cudaError_t rt_fail(cudaError_t e);

/* Begins an entry point: leaves it with the error if the process or device is broken. */
#define RT_ENTER()                                                                                 \
	do {                                                                                       \
		cudaError_t enter_ = rt_enter();                                                   \
		if (enter_ != cudaSuccess)                                                         \
			return rt_fail(enter_);                                                    \
	} while (0)
/* A whole entry point: enters, and returns what the call of state/ or graph/ returns. */
#define RT_RETURN(...)                                                                             \
	do {                                                                                       \
		RT_ENTER();                                                                        \
		return rt_fail(__VA_ARGS__);                                                       \
	} while (0)
/* The same for calls that are not allowed while a stream is captured (allocation and the like). */
#define RT_ENTER_UNSAFE()                                                                          \
	do {                                                                                       \
		cudaError_t enter_ = rt_enter();                                                   \
		if (enter_ == cudaSuccess)                                                         \
			enter_ = rt_capture_check();                                               \
		if (enter_ != cudaSuccess)                                                         \
			return rt_fail(enter_);                                                    \
	} while (0)

/* launch.c: what the attributes of a launch ask for. */
cudaError_t rt_shape_read(const cudaLaunchAttribute *attrs, unsigned n, struct rt_shape *out);

#endif
