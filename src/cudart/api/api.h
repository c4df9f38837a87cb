/*
 * api.h - inside src/cudart/api: how an entry point begins and ends.
 *
 * An entry point translates: it looks whether the process and the device are well, calls what
 * state/ or graph/ have for it, and keeps the error as the thread's last one.
 *
 * Files named pt_*.c are compiled twice: as they are, and with CUDA_API_PER_THREAD_DEFAULT_STREAM,
 * with which the toolkit's header renames the entry points to *_ptsz and *_ptds. They contain only
 * entry points that have such a twin (the linker would complain about others), and resolve stream 0
 * with RT_PER_THREAD.
 */
#ifndef COLLIDER_CUDART_API_H
#define COLLIDER_CUDART_API_H

/* The public functions have default visibility in a library that hides everything else. */
#pragma GCC visibility push(default)
#include <cuda_runtime_api.h>
/* From <cuda_profiler_api.h>, which a toolkit installed from wheels lacks. */
cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);
#pragma GCC visibility pop

#include "cudart/state/internal.h"
#include "cudart/state/link.h"

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define RT_PER_THREAD true
#else
#define RT_PER_THREAD false
#endif

/* Keeps an error as the thread's last one (success and "not ready" aren't kept) and
 * returns it: every entry point ends with `return rt_fail(e)`. */
cudaError_t rt_fail(enum rt_error e);

/* Begins an entry point: leaves it with the error if the process or device is broken. */
#define RT_ENTER()                                                                                 \
	do {                                                                                       \
		enum rt_error enter_ = rt_enter();                                                 \
		if (enter_ != RT_OK)                                                               \
			return rt_fail(enter_);                                                    \
	} while (0)
/* A whole entry point: enters, and returns what the call of state/ or graph/ returns. */
#define RT_RETURN(...)                                                                             \
	do {                                                                                       \
		RT_ENTER();                                                                        \
		return rt_fail(__VA_ARGS__);                                                       \
	} while (0)
/* launch.c: what the attributes of a launch ask for. */
enum rt_error rt_shape_read(const cudaLaunchAttribute *attrs, unsigned n, struct rt_shape *out);

/* Of a dim3. */
#define RT_DIM(d)                                                                                  \
	{                                                                                          \
		(d).x, (d).y, (d).z                                                                \
	}

/* A copy as state/ knows it. */
static inline struct rt_copy_3d rt_copy_of(const struct cudaMemcpy3DParms *p)
{
	return (struct rt_copy_3d){
		.src = {p->srcArray,
			{p->srcPtr.ptr, p->srcPtr.pitch, p->srcPtr.xsize, p->srcPtr.ysize},
			{p->srcPos.x, p->srcPos.y, p->srcPos.z}},
		.dst = {p->dstArray,
			{p->dstPtr.ptr, p->dstPtr.pitch, p->dstPtr.xsize, p->dstPtr.ysize},
			{p->dstPos.x, p->dstPos.y, p->dstPos.z}},
		.extent = {p->extent.width, p->extent.height, p->extent.depth},
		.kind = (enum rt_copy_kind)p->kind};
}

static inline struct rt_format rt_format_of(const struct cudaChannelFormatDesc *d)
{
	return (struct rt_format){d->x, d->y, d->z, d->w, (enum rt_channel)d->f};
}

#endif
