/*
 * node.c - nodes of graphs: adding them, querying and changing what they do.
 *
 * Every entry point makes a payload from the caller's description (make_*,
 * without the lock: kernels may have to be loaded), then puts it into a new
 * node, an existing one, or the executable graph's copy of one (enum rt_place).
 * Conditional nodes and semaphores are refused by name.
 */
#include <stdlib.h>
#include <string.h>

#include "cudart/api/api.h"
#include "cudart/state/copy.h"
#include "cudart/graph/graph.h"

/* ---- payloads --------------------------------------------------------------------------- */

static cudaError_t make_kernel(struct rt_payload *p, const struct cudaKernelNodeParams *k)
{
	*p = (struct rt_payload){.type = cudaGraphNodeTypeKernel};
	if (!k || !k->func)
		return cudaErrorInvalidValue;
	unsigned device = rt_thread()->device;
	struct rt_launch l = {.func = k->func,
			      .device = device,
			      .grid = k->gridDim,
			      .block = k->blockDim,
			      .shared = k->sharedMemBytes,
			      .args = k->kernelParams,
			      .extra = k->extra};
	cudaError_t e = rt_launch_prepare(&l, &p->work);
	p->work.func = k->func;
	p->work.cpu.device = device;
	return e;
}

static cudaError_t made_copy(struct rt_payload *p, cudaError_t e)
{
	enum rt_end dst, src;
	const struct cpu_copy *c = &p->work.cpu.copy;

	p->type = cudaGraphNodeTypeMemcpy;
	p->work.cpu.device = rt_thread()->device;
	p->work.cpu.origin = rt_origin();
	if (e == cudaSuccess && c->width && c->height && c->depth)
		e = rt_copy_check(&p->work, &dst, &src);
	return e;
}

static cudaError_t make_copy(struct rt_payload *p, const struct cudaMemcpy3DParms *c)
{
	*p = (struct rt_payload){.type = cudaGraphNodeTypeMemcpy};
	return c ? made_copy(p, rt_copy_make_3d(&p->work, c)) : cudaErrorInvalidValue;
}

static cudaError_t make_copy_1d(struct rt_payload *p, void *dst, const void *src, size_t count,
				enum cudaMemcpyKind kind)
{
	*p = (struct rt_payload){.type = cudaGraphNodeTypeMemcpy};
	return made_copy(p, rt_copy_make_1d(&p->work, dst, src, count, kind));
}

/* One side is a variable of the program. */
static cudaError_t symbol_at(const void *symbol, size_t count, size_t offset, void **addr)
{
	uint64_t base, bytes;
	cudaError_t e = rt_symbol_find(symbol, rt_thread()->device, &base, &bytes);

	if (e != cudaSuccess)
		return e;
	if (offset > bytes || count > bytes - offset)
		return cudaErrorInvalidValue;
	*addr = (void *)(uintptr_t)(base + offset);
	return cudaSuccess;
}

static cudaError_t make_to_symbol(struct rt_payload *p, const void *symbol, const void *src,
				  size_t count, size_t offset, enum cudaMemcpyKind kind)
{
	void *dst = NULL;
	cudaError_t e = symbol_at(symbol, count, offset, &dst);

	*p = (struct rt_payload){.type = cudaGraphNodeTypeMemcpy};
	return e == cudaSuccess ? make_copy_1d(p, dst, src, count, kind) : e;
}

static cudaError_t make_from_symbol(struct rt_payload *p, void *dst, const void *symbol,
				    size_t count, size_t offset, enum cudaMemcpyKind kind)
{
	void *src = NULL;
	cudaError_t e = symbol_at(symbol, count, offset, &src);

	*p = (struct rt_payload){.type = cudaGraphNodeTypeMemcpy};
	return e == cudaSuccess ? make_copy_1d(p, dst, src, count, kind) : e;
}

static cudaError_t make_fill(struct rt_payload *p, const struct cudaMemsetParams *f)
{
	enum rt_end dst;

	*p = (struct rt_payload){.type = cudaGraphNodeTypeMemset};
	if (!f)
		return cudaErrorInvalidValue;
	struct cudaPitchedPtr at = {f->dst, f->pitch, f->width * f->elementSize, f->height};
	struct cudaExtent extent = {f->width, f->height, 1};
	cudaError_t e = rt_fill_make(&p->work, at, f->value, f->elementSize, extent);
	p->type = cudaGraphNodeTypeMemset;
	p->work.cpu.device = rt_thread()->device;
	p->work.cpu.origin = rt_origin();
	return e == cudaSuccess ? rt_fill_check(&p->work, &dst) : e;
}

static cudaError_t make_host(struct rt_payload *p, const struct cudaHostNodeParams *h)
{
	*p = (struct rt_payload){.type = cudaGraphNodeTypeHost};
	if (!h || !h->fn)
		return cudaErrorInvalidValue;
	p->work.cpu = (struct cpu_work){.kind = CPU_WORK_HOST, .host = {h->fn, h->userData}};
	p->work.cpu.device = rt_thread()->device;
	return cudaSuccess;
}

static cudaError_t make_event(struct rt_payload *p, enum cudaGraphNodeType type, cudaEvent_t event)
{
	*p = (struct rt_payload){.type = type, .event = event};
	p->work.cpu.device = rt_thread()->device;
	rt_lock();
	bool is_good = rt_event_find(event);
	rt_unlock();
	return is_good ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

static cudaError_t make_child(struct rt_payload *p, cudaGraph_t child)
{
	*p = (struct rt_payload){.type = cudaGraphNodeTypeGraph};
	p->work.cpu.device = rt_thread()->device;
	rt_lock();
	const struct rt_graph *g = rt_graph_find(child);
	if (g) {
		p->child = rt_graph_clone(g);
		p->child->is_child = true;
	}
	rt_unlock();
	return g ? cudaSuccess : cudaErrorInvalidValue;
}

static cudaError_t make_alloc(struct rt_payload *p, struct cudaGraphNodeParams *a)
{
	struct cudaMemAllocNodeParams m = {.poolProps = a->alloc.poolProps,
					   .accessDescs = a->alloc.accessDescs,
					   .accessDescCount = a->alloc.accessDescCount,
					   .bytesize = a->alloc.bytesize};
	cudaError_t e = rt_graph_make_alloc(p, &m);

	a->alloc.dptr = m.dptr;
	return e;
}

static cudaError_t make_any(struct rt_payload *p, struct cudaGraphNodeParams *a)
{
	*p = (struct rt_payload){.type = cudaGraphNodeTypeEmpty};
	p->work.cpu.device = rt_thread()->device;
	if (!a)
		return cudaErrorInvalidValue;
	switch (a->type) {
	case cudaGraphNodeTypeEmpty:
		return cudaSuccess;
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
	case cudaGraphNodeTypeHost: {
		struct cudaHostNodeParams h = {a->host.fn, a->host.userData};
		return make_host(p, &h);
	}
	case cudaGraphNodeTypeGraph:
		return make_child(p, a->graph.graph);
	case cudaGraphNodeTypeWaitEvent:
		return make_event(p, a->type, a->eventWait.event);
	case cudaGraphNodeTypeEventRecord:
		return make_event(p, a->type, a->eventRecord.event);
	case cudaGraphNodeTypeConditional:
		return rt_refuse_use("cudaGraphAddNode", "a conditional node");
	case cudaGraphNodeTypeMemAlloc:
		return make_alloc(p, a);
	case cudaGraphNodeTypeMemFree:
		return rt_graph_make_free(p, a->free.dptr);
	case cudaGraphNodeTypeExtSemaphoreSignal:
	case cudaGraphNodeTypeExtSemaphoreWait:
		return rt_refuse_use("cudaGraphAddNode", "an external semaphore");
	default:
		return cudaErrorInvalidValue;
	}
}

/* ---- places ---------------------------------------------------------------------------------- */

static void drop(struct rt_payload *p)
{
	rt_lock();
	rt_payload_free(p);
	rt_unlock();
}

/* A new node after `deps`. `e` is the result of making the payload, which this function then
 * owns. */
static cudaError_t add(cudaGraphNode_t *out, cudaGraph_t graph, const cudaGraphNode_t *deps,
		       size_t n, struct rt_payload *p, cudaError_t e)
{
	if (e == cudaSuccess && (!out || (n && !deps)))
		e = cudaErrorInvalidValue;
	if (e != cudaSuccess) {
		drop(p);
		return rt_fail(e);
	}
	rt_lock();
	struct rt_graph *g = rt_graph_find(graph);
	bool is_good = g;
	for (size_t i = 0; i < n && is_good; i++) {
		const struct rt_node *d = rt_node_find(deps[i]);
		is_good = d && d->graph == g;
	}
	if (is_good) {
		struct rt_node *node = rt_node_new(g, p);
		for (size_t i = 0; i < n; i++)
			rt_node_depend(node, rt_node_find(deps[i]));
		*out = (cudaGraphNode_t)node;
	} else {
		rt_payload_free(p);
	}
	rt_unlock();
	return rt_fail(is_good ? cudaSuccess : cudaErrorInvalidValue);
}

/* Into a node of the graph (exec NULL) or of an executable one. */
static cudaError_t set(cudaGraphExec_t exec, cudaGraphNode_t node, struct rt_payload *p,
		       cudaError_t e)
{
	if (e != cudaSuccess) {
		drop(p);
		return rt_fail(e);
	}
	rt_lock();
	struct rt_node *n = rt_node_find(node);
	struct rt_exec *x = exec ? rt_exec_find(exec) : NULL;
	if (exec)
		n = n && x ? rt_exec_node(x, n) : NULL;
	bool is_good = n && n->what.type == p->type;
	if (is_good && n->what.type == cudaGraphNodeTypeKernel) {
		/* Attributes that were set are kept. */
		p->work.cpu.launch.is_cooperative = n->what.work.cpu.launch.is_cooperative;
		p->work.cpu.launch.is_programmatic = n->what.work.cpu.launch.is_programmatic;
		memcpy(p->work.cpu.launch.cluster, n->what.work.cpu.launch.cluster,
		       sizeof(p->work.cpu.launch.cluster));
	}
	if (is_good && exec && p->child && p->child->nodes.n != n->what.child->nodes.n)
		is_good = false;
	if (is_good && exec && p->child && !rt_graph_sort(p->child))
		is_good = false;
	if (is_good) {
		rt_payload_free(&n->what);
		n->what = *p;
	} else {
		rt_payload_free(p);
	}
	rt_unlock();
	return rt_fail(is_good ? cudaSuccess : cudaErrorInvalidValue);
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
	cudaError_t e = make_any(&p, nodeParams);
	return add(pGraphNode, graph, pDependencies, numDependencies, &p, e);
}

/* Entry points that add a node differ only in how its payload is made. */
#define ADD(...)                                                                                   \
	do {                                                                                       \
		struct rt_payload p;                                                               \
		RT_ENTER();                                                                        \
		cudaError_t e = __VA_ARGS__;                                                       \
		return add(pGraphNode, graph, pDependencies, numDependencies, &p, e);              \
	} while (0)
#define ADD_PARAMS                                                                                 \
	cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,      \
		size_t numDependencies

cudaError_t cudaGraphAddEmptyNode(ADD_PARAMS)
{
	struct cudaGraphNodeParams empty = {.type = cudaGraphNodeTypeEmpty};

	ADD(make_any(&p, &empty));
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
	ADD(make_child(&p, childGraph));
}

cudaError_t cudaGraphAddEventRecordNode(ADD_PARAMS, cudaEvent_t event)
{
	ADD(make_event(&p, cudaGraphNodeTypeEventRecord, event));
}

cudaError_t cudaGraphAddEventWaitNode(ADD_PARAMS, cudaEvent_t event)
{
	ADD(make_event(&p, cudaGraphNodeTypeWaitEvent, event));
}

cudaError_t cudaGraphAddMemAllocNode(ADD_PARAMS, struct cudaMemAllocNodeParams *nodeParams)
{
	ADD(rt_graph_make_alloc(&p, nodeParams));
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
		cudaError_t e = __VA_ARGS__;                                                       \
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
	SET(hGraphExec, make_child(&p, childGraph));
}

cudaError_t cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event)
{
	SET(NULL, make_event(&p, cudaGraphNodeTypeEventRecord, event));
}

cudaError_t cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event)
{
	SET(NULL, make_event(&p, cudaGraphNodeTypeWaitEvent, event));
}

cudaError_t cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
						 cudaEvent_t event)
{
	SET(hGraphExec, make_event(&p, cudaGraphNodeTypeEventRecord, event));
}

cudaError_t cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
					       cudaEvent_t event)
{
	SET(hGraphExec, make_event(&p, cudaGraphNodeTypeWaitEvent, event));
}
