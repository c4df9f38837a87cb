/*
 * pt_memory.c - stream-ordered entry points of memory; compiled twice
 * (internal.h).
 */
#include "cudart/api/api.h"
#include "cudart/state/memory.h"

cudaError_t cudaMallocAsync(void **devPtr, size_t size, cudaStream_t hStream)
{
	RT_RETURN(rt_pool_alloc(devPtr, size, NULL, hStream, RT_PER_THREAD));
}

cudaError_t cudaMallocFromPoolAsync(void **ptr, size_t size, cudaMemPool_t memPool,
				    cudaStream_t stream)
{
	if (!memPool) {
		RT_ENTER();
		return rt_fail(RT_ERROR_INVALID_VALUE);
	}
	RT_RETURN(rt_pool_alloc(ptr, size, memPool, stream, RT_PER_THREAD));
}

cudaError_t cudaFreeAsync(void *devPtr, cudaStream_t hStream)
{
	RT_RETURN(rt_pool_free(devPtr, hStream, RT_PER_THREAD));
}

cudaError_t cudaMemPrefetchAsync(const void *devPtr, size_t count, struct cudaMemLocation location,
				 unsigned int flags, cudaStream_t stream)
{
	RT_ENTER();
	if (flags || !rt_is_managed(devPtr, count))
		return rt_fail(RT_ERROR_INVALID_VALUE);
	if (location.type == cudaMemLocationTypeDevice &&
	    (location.id < 0 || (unsigned)location.id >= rt.ndevices))
		return rt_fail(RT_ERROR_INVALID_DEVICE);
	/* It takes its place in the stream and has no effect. */
	struct rt_work w = {.cpu = {.kind = CPU_WORK_EMPTY}};
	return rt_fail(rt_stream_submit(stream, RT_PER_THREAD, &w, NULL));
}

/* ---- batches of hints: each range is checked; they have no effect ------------------------- */

static cudaError_t hints(void **dptrs, const size_t *sizes, size_t count, unsigned long long flags,
			 cudaStream_t stream)
{
	RT_ENTER();
	if (!dptrs || !sizes || !count || flags)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	for (size_t i = 0; i < count; i++) {
		if (!rt_is_managed(dptrs[i], sizes[i]))
			return rt_fail(RT_ERROR_INVALID_VALUE);
	}
	struct rt_work w = {.cpu = {.kind = CPU_WORK_EMPTY}};
	return rt_fail(rt_stream_submit(stream, RT_PER_THREAD, &w, NULL));
}

cudaError_t cudaMemPrefetchBatchAsync(void **dptrs, size_t *sizes, size_t count,
				      struct cudaMemLocation *prefetchLocs, size_t *prefetchLocIdxs,
				      size_t numPrefetchLocs, unsigned long long flags,
				      cudaStream_t stream)
{
	if (!prefetchLocs || !prefetchLocIdxs || !numPrefetchLocs || numPrefetchLocs > count) {
		RT_ENTER();
		return rt_fail(RT_ERROR_INVALID_VALUE);
	}
	return hints(dptrs, sizes, count, flags, stream);
}
