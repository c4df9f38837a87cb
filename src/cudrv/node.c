/*
 * node.c - nodes of graphs: adding, changing, querying. Payloads are made as by the runtime's entry
 * points (cudart/graph/payload.c); a node's context is the current one.
 * Misses: conditional nodes, semaphores, batches of memory operations.
 */
#include <stdlib.h>
#include <string.h>

#include "cudart/graph/graph.h"
#include "cudart/state/copy.h"
#include "cudart/state/memory.h"
#include "cudrv/drv.h"

/* ---- payloads ------------------------------------------------------------------------- */

/* `extra` of the first version, or the second's kernel in place of a function. */
static enum rt_error make_kernel(struct rt_payload *p, const CUDA_KERNEL_NODE_PARAMS *k)
{
	if (!k)
		return rt_payload_none(p);
	return rt_payload_kernel(
		p,
		(struct rt_launch){.func = k->func ? (const void *)k->func : (const void *)k->kern,
				   .grid = {k->gridDimX, k->gridDimY, k->gridDimZ},
				   .block = {k->blockDimX, k->blockDimY, k->blockDimZ},
				   .shared = k->sharedMemBytes,
				   .args = k->kernelParams,
				   .extra = k->extra});
}

static enum rt_error make_copy(struct rt_payload *p, const CUDA_MEMCPY3D *c)
{
	struct rt_copy_3d q;
	enum rt_error e = drv_copy_3d(c, &q);

	rt_payload_none(p);
	return e == RT_OK ? rt_payload_copy_3d(p, &q) : e;
}

static enum rt_error make_fill(struct rt_payload *p, const CUDA_MEMSET_NODE_PARAMS *f)
{
	struct rt_fill q;

	if (!f)
		return rt_payload_none(p);
	q = (struct rt_fill){drv_pointer(f->dst), f->pitch, f->width,
			     f->height,		  f->value, f->elementSize};
	return rt_payload_fill(p, &q);
}

static enum rt_error make_host(struct rt_payload *p, const CUDA_HOST_NODE_PARAMS *h)
{
	return h ? rt_payload_host(p, h->fn, h->userData) : rt_payload_none(p);
}

static enum rt_error make_alloc(struct rt_payload *p, const CUmemPoolProps *props, size_t bytes,
				CUdeviceptr *out)
{
	rt_payload_none(p);
	if (props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
	    props->handleTypes != CU_MEM_HANDLE_TYPE_NONE ||
	    props->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return rt_refuse_use("cuGraphAddMemAllocNode", "other than plain device memory");
	if (!rt_is_device(props->location.id))
		return RT_ERROR_INVALID_DEVICE;
	enum rt_error e = rt_graph_make_alloc(p, (unsigned)props->location.id, bytes);
	if (e == RT_OK)
		*out = (uintptr_t)p->address;
	return e;
}

static enum rt_error make_any(struct rt_payload *p, CUgraphNodeParams *a)
{
	rt_payload_none(p);
	if (!a)
		return RT_ERROR_INVALID_VALUE;
	switch ((int)a->type) {
	case CU_GRAPH_NODE_TYPE_EMPTY:
		return rt_payload_empty(p);
	case CU_GRAPH_NODE_TYPE_KERNEL: {
		const CUDA_KERNEL_NODE_PARAMS_v3 *q = &a->kernel;
		CUDA_KERNEL_NODE_PARAMS k = {.func = q->func,
					     .gridDimX = q->gridDimX,
					     .gridDimY = q->gridDimY,
					     .gridDimZ = q->gridDimZ,
					     .blockDimX = q->blockDimX,
					     .blockDimY = q->blockDimY,
					     .blockDimZ = q->blockDimZ,
					     .sharedMemBytes = q->sharedMemBytes,
					     .kernelParams = q->kernelParams,
					     .extra = q->extra,
					     .kern = q->kern};
		return make_kernel(p, &k);
	}
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return make_copy(p, &a->memcpy.copyParams);
	case CU_GRAPH_NODE_TYPE_MEMSET: {
		CUDA_MEMSET_NODE_PARAMS f = {.dst = a->memset.dst,
					     .pitch = a->memset.pitch,
					     .value = a->memset.value,
					     .elementSize = a->memset.elementSize,
					     .width = a->memset.width,
					     .height = a->memset.height};
		return make_fill(p, &f);
	}
	case CU_GRAPH_NODE_TYPE_HOST:
		return rt_payload_host(p, a->host.fn, a->host.userData);
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return rt_payload_child(p, a->graph.graph);
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return rt_payload_event(p, RT_NODE_WAIT, a->eventWait.event);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return rt_payload_event(p, RT_NODE_RECORD, a->eventRecord.event);
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		return make_alloc(p, &a->alloc.poolProps, a->alloc.bytesize, &a->alloc.dptr);
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		return rt_graph_make_free(p, drv_pointer(a->free.dptr));
	default:
		return rt_refuse_use("cuGraphAddNode", "such a node");
	}
}

/* ---- adding --------------------------------------------------------------------------- */

/* Entry points that add or change a node differ only in how its payload is made. */
#define ADD(...)                                                                                   \
	do {                                                                                       \
		struct rt_payload p;                                                               \
		DRV_ENTER();                                                                       \
		enum rt_error e = __VA_ARGS__;                                                     \
		return (CUresult)rt_node_add((rt_ref *)node, graph, (const rt_ref *)deps, ndeps,   \
					     &p, e);                                               \
	} while (0)
#define SET(exec, ...)                                                                             \
	do {                                                                                       \
		struct rt_payload p;                                                               \
		DRV_ENTER();                                                                       \
		enum rt_error e = __VA_ARGS__;                                                     \
		return (CUresult)rt_node_set(exec, node, &p, e);                                   \
	} while (0)
#define ADD_PARAMS CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t ndeps

/* The kernel's description of earlier versions: without the last two fields. */
static CUDA_KERNEL_NODE_PARAMS from_v1(const CUDA_KERNEL_NODE_PARAMS_v1 *k)
{
	return (CUDA_KERNEL_NODE_PARAMS){.func = k->func,
					 .gridDimX = k->gridDimX,
					 .gridDimY = k->gridDimY,
					 .gridDimZ = k->gridDimZ,
					 .blockDimX = k->blockDimX,
					 .blockDimY = k->blockDimY,
					 .blockDimZ = k->blockDimZ,
					 .sharedMemBytes = k->sharedMemBytes,
					 .kernelParams = k->kernelParams,
					 .extra = k->extra};
}

#undef cuGraphAddKernelNode
#undef cuGraphKernelNodeSetParams
#undef cuGraphExecKernelNodeSetParams
#undef cuGraphKernelNodeGetParams
#undef cuGraphAddNode
CUresult CUDAAPI cuGraphAddKernelNode(ADD_PARAMS, const CUDA_KERNEL_NODE_PARAMS_v1 *k);
CUresult CUDAAPI cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *k);
CUresult CUDAAPI cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
						const CUDA_KERNEL_NODE_PARAMS_v1 *k);
CUresult CUDAAPI cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *k);
CUresult CUDAAPI cuGraphAddNode(ADD_PARAMS, CUgraphNodeParams *params);

CUresult CUDAAPI cuGraphAddKernelNode(ADD_PARAMS, const CUDA_KERNEL_NODE_PARAMS_v1 *k)
{
	CUDA_KERNEL_NODE_PARAMS q;

	if (!k)
		return drv_bad();
	q = from_v1(k);
	ADD(make_kernel(&p, &q));
}

CUresult CUDAAPI cuGraphAddKernelNode_v2(ADD_PARAMS, const CUDA_KERNEL_NODE_PARAMS *k)
{
	ADD(make_kernel(&p, k));
}

CUresult CUDAAPI cuGraphAddMemcpyNode(ADD_PARAMS, const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
	(void)ctx;
	ADD(make_copy(&p, copyParams));
}

CUresult CUDAAPI cuGraphAddMemsetNode(ADD_PARAMS, const CUDA_MEMSET_NODE_PARAMS *params,
				      CUcontext ctx)
{
	(void)ctx;
	ADD(make_fill(&p, params));
}

CUresult CUDAAPI cuGraphAddHostNode(ADD_PARAMS, const CUDA_HOST_NODE_PARAMS *params)
{
	ADD(make_host(&p, params));
}

CUresult CUDAAPI cuGraphAddChildGraphNode(ADD_PARAMS, CUgraph childGraph)
{
	ADD(rt_payload_child(&p, childGraph));
}

CUresult CUDAAPI cuGraphAddEmptyNode(ADD_PARAMS)
{
	ADD(rt_payload_empty(&p));
}

CUresult CUDAAPI cuGraphAddEventRecordNode(ADD_PARAMS, CUevent event)
{
	ADD(rt_payload_event(&p, RT_NODE_RECORD, event));
}

CUresult CUDAAPI cuGraphAddEventWaitNode(ADD_PARAMS, CUevent event)
{
	ADD(rt_payload_event(&p, RT_NODE_WAIT, event));
}

CUresult CUDAAPI cuGraphAddMemAllocNode(ADD_PARAMS, CUDA_MEM_ALLOC_NODE_PARAMS *a)
{
	if (!a)
		return drv_bad();
	ADD(make_alloc(&p, &a->poolProps, a->bytesize, &a->dptr));
}

CUresult CUDAAPI cuGraphAddMemFreeNode(ADD_PARAMS, CUdeviceptr dptr)
{
	ADD(rt_graph_make_free(&p, drv_pointer(dptr)));
}

CUresult CUDAAPI cuGraphAddNode(ADD_PARAMS, CUgraphNodeParams *params)
{
	ADD(make_any(&p, params));
}

CUresult CUDAAPI cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps,
				   const CUgraphEdgeData *edges, size_t ndeps,
				   CUgraphNodeParams *params)
{
	(void)edges;
	ADD(make_any(&p, params));
}

/* ---- changing ------------------------------------------------------------------------- */

CUresult CUDAAPI cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *params)
{
	SET(NULL, make_any(&p, params));
}

CUresult CUDAAPI cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node,
					  CUgraphNodeParams *params)
{
	SET(exec, make_any(&p, params));
}

CUresult CUDAAPI cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *k)
{
	CUDA_KERNEL_NODE_PARAMS q;

	if (!k)
		return drv_bad();
	q = from_v1(k);
	SET(NULL, make_kernel(&p, &q));
}

CUresult CUDAAPI cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *k)
{
	SET(NULL, make_kernel(&p, k));
}

CUresult CUDAAPI cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
						const CUDA_KERNEL_NODE_PARAMS_v1 *k)
{
	CUDA_KERNEL_NODE_PARAMS q;

	if (!k)
		return drv_bad();
	q = from_v1(k);
	SET(exec, make_kernel(&p, &q));
}

CUresult CUDAAPI cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
						   const CUDA_KERNEL_NODE_PARAMS *k)
{
	SET(exec, make_kernel(&p, k));
}

CUresult CUDAAPI cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *params)
{
	SET(NULL, make_copy(&p, params));
}

CUresult CUDAAPI cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
						const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
	(void)ctx;
	SET(exec, make_copy(&p, copyParams));
}

CUresult CUDAAPI cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *params)
{
	SET(NULL, make_fill(&p, params));
}

CUresult CUDAAPI cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
						const CUDA_MEMSET_NODE_PARAMS *params,
						CUcontext ctx)
{
	(void)ctx;
	SET(exec, make_fill(&p, params));
}

CUresult CUDAAPI cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS *params)
{
	SET(NULL, make_host(&p, params));
}

CUresult CUDAAPI cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
					      const CUDA_HOST_NODE_PARAMS *params)
{
	SET(exec, make_host(&p, params));
}

CUresult CUDAAPI cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node,
						    CUgraph childGraph)
{
	SET(exec, rt_payload_child(&p, childGraph));
}

CUresult CUDAAPI cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event)
{
	SET(NULL, rt_payload_event(&p, RT_NODE_RECORD, event));
}

CUresult CUDAAPI cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event)
{
	SET(NULL, rt_payload_event(&p, RT_NODE_WAIT, event));
}

CUresult CUDAAPI cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node,
						    CUevent event)
{
	SET(exec, rt_payload_event(&p, RT_NODE_RECORD, event));
}

CUresult CUDAAPI cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event)
{
	SET(exec, rt_payload_event(&p, RT_NODE_WAIT, event));
}

/* ---- querying ------------------------------------------------------------------------- */

/* Begins and ends an entry point: the node of that type, with the lock held, or an error. */
#define FIND(handle, node_type, out)                                                               \
	DRV_ENTER();                                                                               \
	rt_lock();                                                                                 \
	struct rt_node *n = rt_node_find(handle);                                                  \
	if (!n || n->what.type != (node_type) || !(out)) {                                         \
		rt_unlock();                                                                       \
		return drv_bad();                                                                  \
	}
#define DONE(e)                                                                                    \
	rt_unlock();                                                                               \
	return (e)

CUresult CUDAAPI cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *out)
{
	FIND(node, RT_NODE_KERNEL, out);
	void **args = rt_node_args(n);
	const struct cpu_launch *l = &n->what.work.cpu.launch;
	*out = (CUDA_KERNEL_NODE_PARAMS){.func = (CUfunction)(void *)n->what.work.kern,
					 .gridDimX = l->grid[0],
					 .gridDimY = l->grid[1],
					 .gridDimZ = l->grid[2],
					 .blockDimX = l->block[0],
					 .blockDimY = l->block[1],
					 .blockDimZ = l->block[2],
					 .sharedMemBytes = (unsigned)l->shared_dyn,
					 .kernelParams = args};
	DONE(args ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult CUDAAPI cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *out)
{
	CUDA_KERNEL_NODE_PARAMS k;
	CUresult r = out ? cuGraphKernelNodeGetParams_v2(node, &k) : drv_bad();

	if (r == CUDA_SUCCESS)
		memcpy(out, &k, sizeof(*out)); /* the same fields, in front */
	return r;
}

static CUmemorytype type_at(uint64_t address)
{
	struct cpu_mem_info i;

	return cpu_mem_find(rt.m, address, &i) && i.kind != CPU_MEM_HOST ? CU_MEMORYTYPE_DEVICE
									 : CU_MEMORYTYPE_HOST;
}

CUresult CUDAAPI cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *out)
{
	FIND(node, RT_NODE_COPY, out);
	const struct cpu_copy *c = &n->what.work.cpu.copy;
	*out = (CUDA_MEMCPY3D){.srcMemoryType = type_at(c->src),
			       .srcHost = drv_pointer(c->src),
			       .srcDevice = c->src,
			       .srcPitch = c->src_pitch,
			       .srcHeight = c->src_pitch ? c->src_slice / c->src_pitch : 1,
			       .dstMemoryType = type_at(c->dst),
			       .dstHost = drv_pointer(c->dst),
			       .dstDevice = c->dst,
			       .dstPitch = c->dst_pitch,
			       .dstHeight = c->dst_pitch ? c->dst_slice / c->dst_pitch : 1,
			       .WidthInBytes = c->width,
			       .Height = c->height,
			       .Depth = c->depth};
	DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *out)
{
	FIND(node, RT_NODE_FILL, out);
	const struct cpu_fill *f = &n->what.work.cpu.fill;
	*out = (CUDA_MEMSET_NODE_PARAMS){.dst = f->dst,
					 .pitch = f->pitch,
					 .value = f->value,
					 .elementSize = f->size,
					 .width = f->width,
					 .height = f->height};
	DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *out)
{
	FIND(node, RT_NODE_HOST, out);
	*out = (CUDA_HOST_NODE_PARAMS){.fn = n->what.work.cpu.host.fn,
				       .userData = n->what.work.cpu.host.arg};
	DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *out)
{
	FIND(node, RT_NODE_GRAPH, out);
	*out = (CUgraph)(void *)n->what.child;
	DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent *out)
{
	FIND(node, RT_NODE_RECORD, out);
	*out = (CUevent)(uintptr_t)n->what.event;
	DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent *out)
{
	FIND(node, RT_NODE_WAIT, out);
	*out = (CUevent)(uintptr_t)n->what.event;
	DONE(CUDA_SUCCESS);
}

CUresult CUDAAPI cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *out)
{
	struct cpu_mem_info i = {0};
	size_t bytes;
	void *p;

	DRV_ENTER();
	if (!out)
		return drv_bad();
	enum rt_error e = rt_graph_memory_of(node, RT_NODE_ALLOC, &p, &bytes);
	if (e != RT_OK)
		return (CUresult)e;
	cpu_mem_find(rt.m, (uintptr_t)p, &i);
	memset(out, 0, sizeof(*out));
	out->poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
	out->poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	out->poolProps.location.id = (int)i.device;
	out->bytesize = bytes;
	out->dptr = (uintptr_t)p;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *dptr_out)
{
	size_t bytes;
	void *p;

	DRV_ENTER();
	if (!dptr_out)
		return drv_bad();
	enum rt_error e = rt_graph_memory_of(node, RT_NODE_FREE, &p, &bytes);
	if (e == RT_OK)
		*dptr_out = (uintptr_t)p;
	return (CUresult)e;
}

/* ---- attributes of kernel nodes ------------------------------------------------------- */

CUresult CUDAAPI cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID attr,
					       CUkernelNodeAttrValue *value_out)
{
	DRV_ENTER();
	return (CUresult)rt_node_attr_get(node, (int)attr, (union rt_attr *)value_out);
}

CUresult CUDAAPI cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID attr,
					       const CUkernelNodeAttrValue *value)
{
	DRV_ENTER();
	return (CUresult)rt_node_attr_set(node, (int)attr, (const union rt_attr *)value);
}

CUresult CUDAAPI cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src)
{
	DRV_ENTER();
	return (CUresult)rt_node_attr_copy(dst, src);
}
