/*
 * node.c - entry points that add nodes to graphs and change what they do.
 *
 * Every entry point makes a payload from the caller's description (make_*), then puts it into a new
 * node, an existing one, or the executable graph's copy of one (graph/payload.c).
 * Conditional nodes and semaphores are refused by name.
 */
#include "cudart/api/api.h"
#include "cudart/graph/graph.h"
#include "cudart/state/copy.h"

/* ---- payloads --------------------------------------------------------------------------- */

static enum rt_error make_kernel(struct rt_payload *p, const struct cudaKernelNodeParams *k)
{
	if (!k)
		return rt_payload_none(p);
	return rt_payload_kernel(p, (struct rt_launch){.func = k->func,
						       .grid = RT_DIM(k->gridDim),
						       .block = RT_DIM(k->blockDim),
						       .shared = k->sharedMemBytes,
						       .args = k->kernelParams,
						       .extra = k->extra});
}

static enum rt_error make_copy(struct rt_payload *p, const struct cudaMemcpy3DParms *c)
{
	struct rt_copy_3d q;

	if (!c)
		return rt_payload_none(p);
	q = rt_copy_of(c);
	return rt_payload_copy_3d(p, &q);
}

static enum rt_error make_copy_1d(struct rt_payload *p, void *dst, const void *src, size_t count,
				  enum cudaMemcpyKind kind)
{
	return rt_payload_copy_1d(p, dst, src, count, (enum rt_copy_kind)kind);
}

/* One side is a variable of the program. */
static enum rt_error symbol_at(const void *symbol, size_t count, size_t offset, void **addr)
{
	uint64_t base, bytes;
	enum rt_error e = rt_symbol_find(symbol, rt_thread()->device, &base, &bytes);

	if (e != RT_OK)
		return e;
	if (offset > bytes || count > bytes - offset)
		return RT_ERROR_INVALID_VALUE;
	*addr = (void *)(uintptr_t)(base + offset);
	return RT_OK;
}

static enum rt_error make_to_symbol(struct rt_payload *p, const void *symbol, const void *src,
				    size_t count, size_t offset, enum cudaMemcpyKind kind)
{
	void *dst = NULL;
	enum rt_error e = symbol_at(symbol, count, offset, &dst);

	rt_payload_none(p);
	return e == RT_OK ? make_copy_1d(p, dst, src, count, kind) : e;
}

static enum rt_error make_from_symbol(struct rt_payload *p, void *dst, const void *symbol,
				      size_t count, size_t offset, enum cudaMemcpyKind kind)
{
	void *src = NULL;
	enum rt_error e = symbol_at(symbol, count, offset, &src);

	rt_payload_none(p);
	return e == RT_OK ? make_copy_1d(p, dst, src, count, kind) : e;
}

static enum rt_error make_fill(struct rt_payload *p, const struct cudaMemsetParams *f)
{
	struct rt_fill q;

	if (!f)
		return rt_payload_none(p);
	q = (struct rt_fill){f->dst, f->pitch, f->width, f->height, f->value, f->elementSize};
	return rt_payload_fill(p, &q);
}

static enum rt_error make_host(struct rt_payload *p, const struct cudaHostNodeParams *h)
{
	return h ? rt_payload_host(p, h->fn, h->userData) : rt_payload_none(p);
}

/* Plain memory of a device only. */
static enum rt_error make_alloc(struct rt_payload *p, const struct cudaMemPoolProps *props,
				size_t bytes, void **out)
{
	rt_payload_none(p);
	if (props->allocType != cudaMemAllocationTypePinned ||
	    props->handleTypes != cudaMemHandleTypeNone ||
	    props->location.type != cudaMemLocationTypeDevice)
		return rt_refuse_use("cudaGraphAddMemAllocNode", "other than plain device memory");
	if (!rt_is_device(props->location.id))
		return RT_ERROR_INVALID_DEVICE;
	enum rt_error e = rt_graph_make_alloc(p, (unsigned)props->location.id, bytes);
	if (e == RT_OK)
		*out = p->address;
	return e;
}

static enum rt_error make_any(struct rt_payload *p, struct cudaGraphNodeParams *a)
{
	rt_payload_none(p);
	if (!a)
		return RT_ERROR_INVALID_VALUE;
	switch (a->type) {
	case cudaGraphNodeTypeEmpty:
		return rt_payload_empty(p);
	case cudaGraphNodeTypeKernel: {
		struct cudaKernelNodeParams k = {a->kernel.func,	 a->kernel.gridDim,
						 a->kernel.blockDim,	 a->kernel.sharedMemBytes,
						 a->kernel.kernelParams, a->kernel.extra};
		return make_kernel(p, &k);
	}
	case cudaGraphNodeTypeMemcpy:
		return make_copy(p, &a->memcpy.copyParams);
	case cudaGraphNodeTypeMemset: {
		struct cudaMemsetParams f = {.dst = a->memset.dst,
					     .pitch = a->memset.pitch,
					     .value = a->memset.value,
					     .elementSize = a->memset.elementSize,
					     .width = a->memset.width,
					     .height = a->memset.height};
		return make_fill(p, &f);
	}
	case cudaGraphNodeTypeHost:
		return rt_payload_host(p, a->host.fn, a->host.userData);
	case cudaGraphNodeTypeGraph:
		return rt_payload_child(p, a->graph.graph);
	case cudaGraphNodeTypeWaitEvent:
		return rt_payload_event(p, RT_NODE_WAIT, a->eventWait.event);
	case cudaGraphNodeTypeEventRecord:
		return rt_payload_event(p, RT_NODE_RECORD, a->eventRecord.event);
	case cudaGraphNodeTypeConditional:
		return rt_refuse_use("cudaGraphAddNode", "a conditional node");
	case cudaGraphNodeTypeMemAlloc:
		return make_alloc(p, &a->alloc.poolProps, a->alloc.bytesize, &a->alloc.dptr);
	case cudaGraphNodeTypeMemFree:
		return rt_graph_make_free(p, a->free.dptr);
	case cudaGraphNodeTypeExtSemaphoreSignal:
	case cudaGraphNodeTypeExtSemaphoreWait:
		return rt_refuse_use("cudaGraphAddNode", "an external semaphore");
	default:
		return RT_ERROR_INVALID_VALUE;
	}
}

static enum rt_error make_alloc_node(struct rt_payload *p, struct cudaMemAllocNodeParams *a)
{
	return a ? make_alloc(p, &a->poolProps, a->bytesize, &a->dptr) : rt_payload_none(p);
}

static cudaError_t add(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *deps,
		       size_t n, struct rt_payload *p, enum rt_error e)
{
	return rt_fail(rt_node_add((rt_ref *)out, graph, (const rt_ref *)deps, n, p, e));
}

static cudaError_t set(cudaGraphExec_t exec, cudaGraphNode_t node, struct rt_payload *p,
		       enum rt_error e)
{
	return rt_fail(rt_node_set(exec, node, p, e));
}

/* ---- public: adding -------------------------------------------------------------------------- */

cudaError_t cudaGraphAddNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
			     const cudaGraphNode_t *pDependencies,
			     const cudaGraphEdgeData *dependencyData, size_t numDependencies,
			     struct cudaGraphNodeParams *nodeParams)
{
	struct rt_payload p;

	RT_ENTER();
	(void)dependencyData;
	enum rt_error e = make_any(&p, nodeParams);
	return add(pGraphNode, graph, pDependencies, numDependencies, &p, e);
}

/* Entry points that add a node differ only in how its payload is made. */
#define ADD(...)                                                                                   \
	do {                                                                                       \
		struct rt_payload p;                                                               \
		RT_ENTER();                                                                        \
		enum rt_error e = __VA_ARGS__;                                                     \
		return add(pGraphNode, graph, pDependencies, numDependencies, &p, e);              \
	} while (0)
#define ADD_PARAMS                                                                                 \
	cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,      \
		size_t numDependencies

cudaError_t cudaGraphAddEmptyNode(ADD_PARAMS)
{
	ADD(rt_payload_empty(&p));
}

cudaError_t cudaGraphAddKernelNode(ADD_PARAMS, const struct cudaKernelNodeParams *pNodeParams)
{
	ADD(make_kernel(&p, pNodeParams));
}

cudaError_t cudaGraphAddMemcpyNode(ADD_PARAMS, const struct cudaMemcpy3DParms *pCopyParams)
{
	ADD(make_copy(&p, pCopyParams));
}

cudaError_t cudaGraphAddMemcpyNode1D(ADD_PARAMS, void *dst, const void *src, size_t count,
				     enum cudaMemcpyKind kind)
{
	ADD(make_copy_1d(&p, dst, src, count, kind));
}

cudaError_t cudaGraphAddMemcpyNodeToSymbol(ADD_PARAMS, const void *symbol, const void *src,
					   size_t count, size_t offset, enum cudaMemcpyKind kind)
{
	ADD(make_to_symbol(&p, symbol, src, count, offset, kind));
}

cudaError_t cudaGraphAddMemcpyNodeFromSymbol(ADD_PARAMS, void *dst, const void *symbol,
					     size_t count, size_t offset, enum cudaMemcpyKind kind)
{
	ADD(make_from_symbol(&p, dst, symbol, count, offset, kind));
}

cudaError_t cudaGraphAddMemsetNode(ADD_PARAMS, const struct cudaMemsetParams *pMemsetParams)
{
	ADD(make_fill(&p, pMemsetParams));
}

cudaError_t cudaGraphAddHostNode(ADD_PARAMS, const struct cudaHostNodeParams *pNodeParams)
{
	ADD(make_host(&p, pNodeParams));
}

cudaError_t cudaGraphAddChildGraphNode(ADD_PARAMS, cudaGraph_t childGraph)
{
	ADD(rt_payload_child(&p, childGraph));
}

cudaError_t cudaGraphAddEventRecordNode(ADD_PARAMS, cudaEvent_t event)
{
	ADD(rt_payload_event(&p, RT_NODE_RECORD, event));
}

cudaError_t cudaGraphAddEventWaitNode(ADD_PARAMS, cudaEvent_t event)
{
	ADD(rt_payload_event(&p, RT_NODE_WAIT, event));
}

cudaError_t cudaGraphAddMemAllocNode(ADD_PARAMS, struct cudaMemAllocNodeParams *nodeParams)
{
	ADD(make_alloc_node(&p, nodeParams));
}

cudaError_t cudaGraphAddMemFreeNode(ADD_PARAMS, void *dptr)
{
	ADD(rt_graph_make_free(&p, dptr));
}

/* ---- public: changing ------------------------------------------------------------------------ */

#define SET(exec, ...)                                                                             \
	do {                                                                                       \
		struct rt_payload p;                                                               \
		RT_ENTER();                                                                        \
		enum rt_error e = __VA_ARGS__;                                                     \
		return set(exec, node, &p, e);                                                     \
	} while (0)

cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *nodeParams)
{
	SET(NULL, make_any(&p, nodeParams));
}

cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t graphExec, cudaGraphNode_t node,
				       struct cudaGraphNodeParams *nodeParams)
{
	SET(graphExec, make_any(&p, nodeParams));
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
					 const struct cudaKernelNodeParams *pNodeParams)
{
	SET(NULL, make_kernel(&p, pNodeParams));
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
					     const struct cudaKernelNodeParams *pNodeParams)
{
	SET(hGraphExec, make_kernel(&p, pNodeParams));
}

cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node,
					 const struct cudaMemcpy3DParms *pNodeParams)
{
	SET(NULL, make_copy(&p, pNodeParams));
}

cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
					     const struct cudaMemcpy3DParms *pNodeParams)
{
	SET(hGraphExec, make_copy(&p, pNodeParams));
}

cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *dst, const void *src,
					   size_t count, enum cudaMemcpyKind kind)
{
	SET(NULL, make_copy_1d(&p, dst, src, count, kind));
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
					       void *dst, const void *src, size_t count,
					       enum cudaMemcpyKind kind)
{
	SET(hGraphExec, make_copy_1d(&p, dst, src, count, kind));
}

cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void *symbol,
						 const void *src, size_t count, size_t offset,
						 enum cudaMemcpyKind kind)
{
	SET(NULL, make_to_symbol(&p, symbol, src, count, offset, kind));
}

cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t hGraphExec,
						     cudaGraphNode_t node, const void *symbol,
						     const void *src, size_t count, size_t offset,
						     enum cudaMemcpyKind kind)
{
	SET(hGraphExec, make_to_symbol(&p, symbol, src, count, offset, kind));
}

cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void *dst,
						   const void *symbol, size_t count, size_t offset,
						   enum cudaMemcpyKind kind)
{
	SET(NULL, make_from_symbol(&p, dst, symbol, count, offset, kind));
}

cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t hGraphExec,
						       cudaGraphNode_t node, void *dst,
						       const void *symbol, size_t count,
						       size_t offset, enum cudaMemcpyKind kind)
{
	SET(hGraphExec, make_from_symbol(&p, dst, symbol, count, offset, kind));
}

cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node,
					 const struct cudaMemsetParams *pNodeParams)
{
	SET(NULL, make_fill(&p, pNodeParams));
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
					     const struct cudaMemsetParams *pNodeParams)
{
	SET(hGraphExec, make_fill(&p, pNodeParams));
}

cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node,
				       const struct cudaHostNodeParams *pNodeParams)
{
	SET(NULL, make_host(&p, pNodeParams));
}

cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
					   const struct cudaHostNodeParams *pNodeParams)
{
	SET(hGraphExec, make_host(&p, pNodeParams));
}

cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
						 cudaGraph_t childGraph)
{
	SET(hGraphExec, rt_payload_child(&p, childGraph));
}

cudaError_t cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event)
{
	SET(NULL, rt_payload_event(&p, RT_NODE_RECORD, event));
}

cudaError_t cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event)
{
	SET(NULL, rt_payload_event(&p, RT_NODE_WAIT, event));
}

cudaError_t cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
						 cudaEvent_t event)
{
	SET(hGraphExec, rt_payload_event(&p, RT_NODE_RECORD, event));
}

cudaError_t cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
					       cudaEvent_t event)
{
	SET(hGraphExec, rt_payload_event(&p, RT_NODE_WAIT, event));
}
