/*
 * pt_memory.c - stream-ordered entry points of memory; compiled twice
 * (internal.h).
 */
#include "cudart/memory.h"

cudaError_t cudaMallocAsync(void **devPtr, size_t size, cudaStream_t hStream)
{
	return rt_pool_alloc(devPtr, size, NULL, hStream, RT_PER_THREAD);
}

cudaError_t cudaMallocFromPoolAsync(void **ptr, size_t size, cudaMemPool_t memPool,
				    cudaStream_t stream)
{
	if (!memPool) {
		RT_ENTER();
		return rt_fail(cudaErrorInvalidValue);
	}
	return rt_pool_alloc(ptr, size, memPool, stream, RT_PER_THREAD);
}

cudaError_t cudaFreeAsync(void *devPtr, cudaStream_t hStream)
{
	return rt_pool_free(devPtr, hStream, RT_PER_THREAD);
}

cudaError_t cudaMemPrefetchAsync(const void *devPtr, size_t count, struct cudaMemLocation location,
				 unsigned int flags, cudaStream_t stream)
{
	RT_ENTER();
	if (flags || !rt_is_managed(devPtr, count))
		return rt_fail(cudaErrorInvalidValue);
	if (location.type == cudaMemLocationTypeDevice &&
	    (location.id < 0 || (unsigned)location.id >= rt.ndevices))
		return rt_fail(cudaErrorInvalidDevice);
	/* It takes its place in the stream, and does nothing there. */
	struct rt_work w = {.cpu = {.kind = CPU_WORK_EMPTY}};
	return rt_fail(rt_stream_submit(stream, RT_PER_THREAD, &w, NULL));
}
