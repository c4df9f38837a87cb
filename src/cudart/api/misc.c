/*
 * misc.c - entry points without a place elsewhere: profiler marks, channel
 * descriptions.
 */
#include "cudart/api/api.h"
#include "cudart/state/internal.h"

/* There is nothing to profile: the machine's clock is not a GPU's. */
cudaError_t cudaProfilerStart(void)
{
	RT_ENTER();
	return cudaSuccess;
}

cudaError_t cudaProfilerStop(void)
{
	RT_ENTER();
	return cudaSuccess;
}

/* Needs no device. */
struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
						   enum cudaChannelFormatKind f)
{
	return (struct cudaChannelFormatDesc){x, y, z, w, f};
}
