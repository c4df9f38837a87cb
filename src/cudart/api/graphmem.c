/*
 * graphmem.c - entry points of the memory that graphs allocate.
 */
#include "cudart/api/api.h"
#include "cudart/graph/graph.h"

cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node,
					   struct cudaMemAllocNodeParams *params_out)
{
	RT_RETURN(rt_graph_mem_alloc_node_get_params(node, params_out));
}

cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *dptr_out)
{
	RT_RETURN(rt_graph_mem_free_node_get_params(node, dptr_out));
}

cudaError_t cudaDeviceGraphMemTrim(int device)
{
	RT_RETURN(rt_device_graph_mem_trim(device));
}

cudaError_t cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr,
					   void *value)
{
	RT_RETURN(rt_device_get_graph_mem_attribute(device, attr, value));
}

cudaError_t cudaDeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr,
					   void *value)
{
	RT_RETURN(rt_device_set_graph_mem_attribute(device, attr, value));
}
