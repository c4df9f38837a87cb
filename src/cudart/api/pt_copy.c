/*
 * pt_copy.c - entry points that copy and fill; compiled twice (internal.h).
 */
#include <string.h>

#include "cudart/api/api.h"
#include "cudart/state/copy.h"

/* The bodies: make the work, submit it on the stream (synchronous calls: the default one). */
static struct rt_call sync_call(void)
{
	return (struct rt_call){NULL, RT_PER_THREAD, false};
}

static struct rt_call async_call(cudaStream_t s)
{
	return (struct rt_call){s, RT_PER_THREAD, true};
}

/* ---- copies ------------------------------------------------------------------------- */

cudaError_t cudaMemcpy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind)
{
	RT_RETURN(rt_copy(dst, src, count, (enum rt_copy_kind)kind, NULL, RT_PER_THREAD, false));
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
			    cudaStream_t stream)
{
	RT_RETURN(rt_copy(dst, src, count, (enum rt_copy_kind)kind, stream, RT_PER_THREAD, true));
}

static cudaError_t copy_2d(struct rt_rows dst, struct rt_rows src, size_t width, size_t height,
			   enum cudaMemcpyKind kind, struct rt_call call)
{
	struct rt_work w;

	RT_ENTER();
	enum rt_error e = rt_copy_make_2d(&w, dst, src, width, height, (enum rt_copy_kind)kind);
	if (e == RT_OK)
		e = rt_copy_submit(&w, call);
	return rt_fail(e);
}

cudaError_t cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
			 size_t height, enum cudaMemcpyKind kind)
{
	return copy_2d((struct rt_rows){dst, dpitch}, (struct rt_rows){src, spitch}, width, height,
		       kind, sync_call());
}

cudaError_t cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch,
			      size_t width, size_t height, enum cudaMemcpyKind kind,
			      cudaStream_t stream)
{
	return copy_2d((struct rt_rows){dst, dpitch}, (struct rt_rows){src, spitch}, width, height,
		       kind, async_call(stream));
}

static cudaError_t copy_3d(const struct cudaMemcpy3DParms *p, struct rt_call call)
{
	struct rt_work w;

	RT_ENTER();
	if (!p)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	enum rt_error e = rt_copy_make_3d(&w, rt_copy_of(p));
	if (e == RT_OK)
		e = rt_copy_submit(&w, call);
	return rt_fail(e);
}

cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *p)
{
	return copy_3d(p, sync_call());
}

cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream)
{
	return copy_3d(p, async_call(stream));
}

/* Addresses say which device they belong to; its numbers are only checked. */
static cudaError_t copy_3d_peer(const struct cudaMemcpy3DPeerParms *p, struct rt_call call)
{
	RT_ENTER();
	if (!p)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	if (p->srcDevice < 0 || (unsigned)p->srcDevice >= rt.ndevices || p->dstDevice < 0 ||
	    (unsigned)p->dstDevice >= rt.ndevices)
		return rt_fail(RT_ERROR_INVALID_DEVICE);
	struct cudaMemcpy3DParms q = {.srcArray = p->srcArray,
				      .srcPos = p->srcPos,
				      .srcPtr = p->srcPtr,
				      .dstArray = p->dstArray,
				      .dstPos = p->dstPos,
				      .dstPtr = p->dstPtr,
				      .extent = p->extent,
				      .kind = cudaMemcpyDefault};
	return copy_3d(&q, call);
}

cudaError_t cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *p)
{
	return copy_3d_peer(p, sync_call());
}

cudaError_t cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream)
{
	return copy_3d_peer(p, async_call(stream));
}

/* The copies of a batch may run in any order; here they run in this one. */
cudaError_t cudaMemcpyBatchAsync(void *const *dsts, const void *const *srcs, const size_t *sizes,
				 size_t count, struct cudaMemcpyAttributes *attrs,
				 size_t *attrsIdxs, size_t numAttrs, cudaStream_t stream)
{
	enum rt_error e = RT_OK;

	RT_ENTER();
	if (!dsts || !srcs || !sizes || !count || !attrs || !attrsIdxs || !numAttrs ||
	    numAttrs > count || attrsIdxs[0] != 0)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	if (!stream || stream == cudaStreamLegacy || stream == cudaStreamPerThread)
		return rt_fail(RT_ERROR_INVALID_RESOURCE_HANDLE);
	for (size_t i = 0; i < count && e == RT_OK; i++)
		e = rt_copy(dsts[i], srcs[i], sizes[i], RT_BY_ADDRESS, stream, RT_PER_THREAD, true);
	return rt_fail(e);
}

/* ---- fills ---------------------------------------------------------------------------- */

static cudaError_t fill(struct rt_pitched p, int value, struct rt_extent extent,
			struct rt_call call)
{
	struct rt_work w;

	RT_ENTER();
	enum rt_error e = rt_fill_make(&w, p, (unsigned)value, 1, extent);
	if (e == RT_OK)
		e = rt_fill_submit(&w, call);
	return rt_fail(e);
}

static struct rt_pitched pitched(void *p, size_t pitch, size_t width, size_t height)
{
	return (struct rt_pitched){p, pitch, width, height};
}

static struct rt_extent extent_2d(size_t width, size_t height)
{
	return (struct rt_extent){width, height, 1};
}

cudaError_t cudaMemset(void *devPtr, int value, size_t count)
{
	return fill(pitched(devPtr, count, count, 1), value, extent_2d(count, 1), sync_call());
}

cudaError_t cudaMemsetAsync(void *devPtr, int value, size_t count, cudaStream_t stream)
{
	return fill(pitched(devPtr, count, count, 1), value, extent_2d(count, 1),
		    async_call(stream));
}

cudaError_t cudaMemset2D(void *devPtr, size_t pitch, int value, size_t width, size_t height)
{
	return fill(pitched(devPtr, pitch, width, height), value, extent_2d(width, height),
		    sync_call());
}

cudaError_t cudaMemset2DAsync(void *devPtr, size_t pitch, int value, size_t width, size_t height,
			      cudaStream_t stream)
{
	return fill(pitched(devPtr, pitch, width, height), value, extent_2d(width, height),
		    async_call(stream));
}

static cudaError_t fill_3d(struct cudaPitchedPtr p, int value, struct cudaExtent extent,
			   struct rt_call call)
{
	return fill((struct rt_pitched){p.ptr, p.pitch, p.xsize, p.ysize}, value,
		    (struct rt_extent){extent.width, extent.height, extent.depth}, call);
}

cudaError_t cudaMemset3D(struct cudaPitchedPtr pitchedDevPtr, int value, struct cudaExtent extent)
{
	return fill_3d(pitchedDevPtr, value, extent, sync_call());
}

cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr pitchedDevPtr, int value,
			      struct cudaExtent extent, cudaStream_t stream)
{
	return fill_3d(pitchedDevPtr, value, extent, async_call(stream));
}
