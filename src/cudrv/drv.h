/*
 * drv.h - inside src/cudrv: how an entry point of the driver begins and ends.
 *
 *   context.c, device.c   contexts, devices            module.c, link.c   code
 *   func.c, launch.c      kernels                      memory.c, pool.c, array.c  memory
 *   pt_copy.c             copies and fills             pt_stream.c, event.c       streams
 *   graph.c, node.c       graphs                       proc.c, refused.c  functions by name
 *
 * An entry point translates, as in cudart/api, but keeps no last error and needs a current context.
 * Errors, handles and most flags have the runtime's numbers (check.c).
 *
 * Files named pt_*.c are compiled twice: as they are, and with CUDA_API_PER_THREAD_DEFAULT_STREAM,
 * with which the toolkit's header renames the entry points to *_ptsz and *_ptds.
 */
#ifndef COLLIDER_CUDRV_DRV_H
#define COLLIDER_CUDRV_DRV_H

#include <cuda.h>

#include "cudart/state/link.h"
#include "cudrv/cudrv.h"

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define DRV_PER_THREAD true
#else
#define DRV_PER_THREAD false
#endif

/* May a call of the driver be made now: cuInit was called, in this process. The second needs a
 * current context, too, whose device has no fault. */
enum rt_error drv_enter_any(void);
enum rt_error drv_enter(void);

#define DRV_ENTER_BY(enter)                                                                        \
	do {                                                                                       \
		enum rt_error enter_ = enter();                                                    \
		if (enter_ != RT_OK)                                                               \
			return (CUresult)enter_;                                                   \
	} while (0)
#define DRV_ENTER_ANY() DRV_ENTER_BY(drv_enter_any)
#define DRV_ENTER()	DRV_ENTER_BY(drv_enter)
/* A whole entry point. */
#define DRV_RETURN(...)                                                                            \
	do {                                                                                       \
		DRV_ENTER();                                                                       \
		return (CUresult)(__VA_ARGS__);                                                    \
	} while (0)

static inline CUresult drv_bad(void)
{
	return CUDA_ERROR_INVALID_VALUE;
}

static inline void *drv_pointer(CUdeviceptr p)
{
	return (void *)(uintptr_t)p;
}

/* launch.c: the attributes of a launch. */
enum rt_error drv_shape_read(const CUlaunchAttribute *attrs, unsigned n, struct rt_shape *out);
/* memory.c: the copy of a description. */
struct rt_copy_3d;
enum rt_error drv_copy_2d(const CUDA_MEMCPY2D *c, struct rt_copy_3d *out);
enum rt_error drv_copy_3d(const CUDA_MEMCPY3D *c, struct rt_copy_3d *out);

/* array.c: a format of arrays and textures; false: they don't have it here. */
bool drv_format(CUarray_format f, unsigned channels, struct rt_format *out);

#endif
