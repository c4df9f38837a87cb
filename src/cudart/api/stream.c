/*
 * stream.c - entry points that make and destroy streams; the others: pt_stream.c.
 */
#include "cudart/api/api.h"

cudaError_t cudaStreamCreate(cudaStream_t *pStream)
{
	RT_RETURN(rt_stream_create((rt_ref *)pStream, cudaStreamDefault, 0));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *pStream, unsigned int flags)
{
	RT_RETURN(rt_stream_create((rt_ref *)pStream, flags, 0));
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *pStream, unsigned int flags, int priority)
{
	RT_RETURN(rt_stream_create((rt_ref *)pStream, flags, priority));
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
	RT_RETURN(rt_stream_destroy(stream));
}
