/*
 * graphmem.c - entry points of the memory that graphs allocate.
 */
#include <string.h>

#include "cudart/api/api.h"
#include "cudart/graph/graph.h"

cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node,
					   struct cudaMemAllocNodeParams *params_out)
{
	void *p;
	size_t bytes;

	RT_ENTER();
	if (!params_out)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	enum rt_error e = rt_graph_memory_of(node, RT_NODE_ALLOC, &p, &bytes);
	if (e == RT_OK) {
		struct cpu_mem_info i = {0};
		cpu_mem_find(rt.m, (uintptr_t)p, &i);
		memset(params_out, 0, sizeof(*params_out));
		params_out->poolProps.allocType = cudaMemAllocationTypePinned;
		params_out->poolProps.location.type = cudaMemLocationTypeDevice;
		params_out->poolProps.location.id = (int)i.device;
		params_out->bytesize = bytes;
		params_out->dptr = p;
	}
	return rt_fail(e);
}

cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *dptr_out)
{
	size_t bytes;

	RT_ENTER();
	if (!dptr_out)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	return rt_fail(rt_graph_memory_of(node, RT_NODE_FREE, dptr_out, &bytes));
}

cudaError_t cudaDeviceGraphMemTrim(int device)
{
	RT_RETURN(rt_is_device(device) ? RT_OK : RT_ERROR_INVALID_DEVICE);
}

/* Used and reserved are the same here; the high marks are the present values. */
cudaError_t cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr,
					   void *value)
{
	RT_ENTER();
	if (!value || (unsigned)attr > cudaGraphMemAttrReservedMemHigh)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	if (!rt_is_device(device))
		return rt_fail(RT_ERROR_INVALID_DEVICE);
	uint64_t sum = rt_graph_memory_bytes((unsigned)device);
	memcpy(value, &sum, sizeof(sum));
	return cudaSuccess;
}

cudaError_t cudaDeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr,
					   void *value)
{
	bool is_high =
		attr == cudaGraphMemAttrUsedMemHigh || attr == cudaGraphMemAttrReservedMemHigh;

	RT_ENTER();
	if (!value || !is_high || *(const uint64_t *)value)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	return rt_fail(rt_is_device(device) ? RT_OK : RT_ERROR_INVALID_DEVICE);
}
