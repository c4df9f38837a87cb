/*
 * nodeinfo.c - what a graph node does, as the program described it.
 *
 * Descriptions are rebuilt from the work: a 1D copy reads back as a 3D one of
 * height 1, a kernel's parameters as pointers into the node's own block, valid
 * until the node is changed or destroyed.
 */
#include <stdlib.h>
#include <string.h>

#include "cudart/api/api.h"
#include "cudart/graph/graph.h"
#include "cudart/state/link.h"

/* Begins and ends an entry point: the node of that type, with the lock held, or an error. */
#define FIND(handle, node_type, out)                                                               \
	RT_ENTER();                                                                                \
	rt_lock();                                                                                 \
	struct rt_node *n = rt_node_find(handle);                                                  \
	if (!n || n->what.type != (node_type) || !(out)) {                                         \
		rt_unlock();                                                                       \
		return rt_fail(RT_ERROR_INVALID_VALUE);                                            \
	}
#define DONE(e)                                                                                    \
	rt_unlock();                                                                               \
	return rt_fail(e)

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node,
					 struct cudaKernelNodeParams *pNodeParams)
{
	FIND(node, RT_NODE_KERNEL, pNodeParams);
	const struct cpu_launch *l = &n->what.work.cpu.launch;
	void **args = rt_node_args(n);
	/* nvcc's code launches by cudaKernel_t; programs know the host function. */
	const struct rt_kern *kern = n->what.work.kern;
	const void *func = kern && kern->host ? kern->host : n->what.work.func;
	*pNodeParams =
		(struct cudaKernelNodeParams){.func = (void *)(uintptr_t)func,
					      .gridDim = {l->grid[0], l->grid[1], l->grid[2]},
					      .blockDim = {l->block[0], l->block[1], l->block[2]},
					      .sharedMemBytes = (unsigned)l->shared_dyn,
					      .kernelParams = args};
	DONE(args ? RT_OK : RT_ERROR_MEMORY_ALLOCATION);
}

cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node,
					 struct cudaMemcpy3DParms *pNodeParams)
{
	FIND(node, RT_NODE_COPY, pNodeParams);
	const struct cpu_copy *c = &n->what.work.cpu.copy;
	*pNodeParams = (struct cudaMemcpy3DParms){
		.srcPtr = {(void *)(uintptr_t)c->src, c->src_pitch, c->width,
			   c->src_pitch ? c->src_slice / c->src_pitch : 1},
		.dstPtr = {(void *)(uintptr_t)c->dst, c->dst_pitch, c->width,
			   c->dst_pitch ? c->dst_slice / c->dst_pitch : 1},
		.extent = {c->width, c->height, c->depth},
		.kind = (enum cudaMemcpyKind)n->what.work.copy_kind};
	DONE(RT_OK);
}

cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, struct cudaMemsetParams *pNodeParams)
{
	FIND(node, RT_NODE_FILL, pNodeParams);
	const struct cpu_fill *f = &n->what.work.cpu.fill;
	*pNodeParams = (struct cudaMemsetParams){.dst = (void *)(uintptr_t)f->dst,
						 .pitch = f->pitch,
						 .value = f->value,
						 .elementSize = f->size,
						 .width = f->width,
						 .height = f->height};
	DONE(RT_OK);
}

cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, struct cudaHostNodeParams *pNodeParams)
{
	FIND(node, RT_NODE_HOST, pNodeParams);
	pNodeParams->fn = n->what.work.cpu.host.fn;
	pNodeParams->userData = n->what.work.cpu.host.arg;
	DONE(RT_OK);
}

cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *pGraph)
{
	FIND(node, RT_NODE_GRAPH, pGraph);
	*pGraph = (cudaGraph_t)n->what.child;
	DONE(RT_OK);
}

cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event_out)
{
	FIND(node, RT_NODE_RECORD, event_out);
	*event_out = (cudaEvent_t)(uintptr_t)n->what.event;
	DONE(RT_OK);
}

cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event_out)
{
	FIND(node, RT_NODE_WAIT, event_out);
	*event_out = (cudaEvent_t)(uintptr_t)n->what.event;
	DONE(RT_OK);
}

/* ---- attributes of kernel nodes ------------------------------------------------------------ */

cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t hNode, cudaKernelNodeAttrID attr,
					    cudaKernelNodeAttrValue *value_out)
{
	RT_RETURN(rt_node_attr_get(hNode, (int)attr, (union rt_attr *)value_out));
}

cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t hNode, cudaKernelNodeAttrID attr,
					    const cudaKernelNodeAttrValue *value)
{
	RT_RETURN(rt_node_attr_set(hNode, (int)attr, (const union rt_attr *)value));
}

cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t hDst, cudaGraphNode_t hSrc)
{
	RT_RETURN(rt_node_attr_copy(hDst, hSrc));
}
