/*
 * graph.c - graphs as data, executable graphs, user objects; launches and capture: pt_stream.c.
 *
 * The suffixed names differ in what they say of edges, which are all plain ones here.
 */
#include <string.h>

#include "cudart/graph/graph.h"
#include "cudrv/drv.h"

/* ---- graphs --------------------------------------------------------------------------- */

CUresult CUDAAPI cuGraphCreate(CUgraph *phGraph, unsigned int flags)
{
	DRV_RETURN(rt_graph_create((rt_ref *)phGraph, flags));
}

CUresult CUDAAPI cuGraphDestroy(CUgraph hGraph)
{
	DRV_RETURN(rt_graph_destroy(hGraph));
}

CUresult CUDAAPI cuGraphClone(CUgraph *phGraphClone, CUgraph originalGraph)
{
	DRV_RETURN(rt_graph_copy((rt_ref *)phGraphClone, originalGraph));
}

CUresult CUDAAPI cuGraphNodeFindInClone(CUgraphNode *phNode, CUgraphNode hOriginalNode,
					CUgraph hClonedGraph)
{
	DRV_RETURN(rt_graph_node_find_in_clone((rt_ref *)phNode, hOriginalNode, hClonedGraph));
}

CUresult CUDAAPI cuGraphDestroyNode(CUgraphNode hNode)
{
	DRV_RETURN(rt_graph_destroy_node(hNode));
}

CUresult CUDAAPI cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType *type)
{
	DRV_RETURN(rt_graph_node_get_type(hNode, (enum rt_node_type *)type));
}

CUresult CUDAAPI cuGraphGetNodes(CUgraph hGraph, CUgraphNode *nodes, size_t *numNodes)
{
	DRV_RETURN(rt_graph_get_nodes(hGraph, (rt_ref *)nodes, numNodes));
}

CUresult CUDAAPI cuGraphGetRootNodes(CUgraph hGraph, CUgraphNode *rootNodes, size_t *numRootNodes)
{
	DRV_RETURN(rt_graph_get_root_nodes(hGraph, (rt_ref *)rootNodes, numRootNodes));
}

/* ---- edges ---------------------------------------------------------------------------- */

#undef cuGraphGetEdges
#undef cuGraphNodeGetDependencies
#undef cuGraphNodeGetDependentNodes
#undef cuGraphAddDependencies
#undef cuGraphRemoveDependencies
CUresult CUDAAPI cuGraphGetEdges(CUgraph g, CUgraphNode *from, CUgraphNode *to, size_t *n);
CUresult CUDAAPI cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *deps, size_t *n);
CUresult CUDAAPI cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *nodes, size_t *n);
CUresult CUDAAPI cuGraphAddDependencies(CUgraph g, const CUgraphNode *from, const CUgraphNode *to,
					size_t n);
CUresult CUDAAPI cuGraphRemoveDependencies(CUgraph g, const CUgraphNode *from,
					   const CUgraphNode *to, size_t n);

CUresult CUDAAPI cuGraphGetEdges(CUgraph g, CUgraphNode *from, CUgraphNode *to, size_t *n)
{
	DRV_RETURN(rt_graph_get_edges(g, (rt_ref *)from, (rt_ref *)to, NULL, n));
}

CUresult CUDAAPI cuGraphGetEdges_v2(CUgraph g, CUgraphNode *from, CUgraphNode *to,
				    CUgraphEdgeData *edgeData, size_t *n)
{
	DRV_RETURN(
		rt_graph_get_edges(g, (rt_ref *)from, (rt_ref *)to, (struct rt_edge *)edgeData, n));
}

CUresult CUDAAPI cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *deps, size_t *n)
{
	DRV_RETURN(rt_graph_node_get_dependencies(node, (rt_ref *)deps, NULL, n));
}

CUresult CUDAAPI cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *deps,
					       CUgraphEdgeData *edgeData, size_t *n)
{
	DRV_RETURN(rt_graph_node_get_dependencies(node, (rt_ref *)deps, (struct rt_edge *)edgeData,
						  n));
}

CUresult CUDAAPI cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *nodes, size_t *n)
{
	DRV_RETURN(rt_graph_node_get_dependent_nodes(node, (rt_ref *)nodes, NULL, n));
}

CUresult CUDAAPI cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *nodes,
						 CUgraphEdgeData *edgeData, size_t *n)
{
	DRV_RETURN(rt_graph_node_get_dependent_nodes(node, (rt_ref *)nodes,
						     (struct rt_edge *)edgeData, n));
}

CUresult CUDAAPI cuGraphAddDependencies(CUgraph g, const CUgraphNode *from, const CUgraphNode *to,
					size_t n)
{
	DRV_RETURN(rt_graph_add_dependencies(g, (const rt_ref *)from, (const rt_ref *)to, n));
}

CUresult CUDAAPI cuGraphAddDependencies_v2(CUgraph g, const CUgraphNode *from,
					   const CUgraphNode *to, const CUgraphEdgeData *edgeData,
					   size_t n)
{
	(void)edgeData;
	DRV_RETURN(rt_graph_add_dependencies(g, (const rt_ref *)from, (const rt_ref *)to, n));
}

CUresult CUDAAPI cuGraphRemoveDependencies(CUgraph g, const CUgraphNode *from,
					   const CUgraphNode *to, size_t n)
{
	DRV_RETURN(rt_graph_remove_dependencies(g, (const rt_ref *)from, (const rt_ref *)to, n));
}

CUresult CUDAAPI cuGraphRemoveDependencies_v2(CUgraph g, const CUgraphNode *from,
					      const CUgraphNode *to,
					      const CUgraphEdgeData *edgeData, size_t n)
{
	(void)edgeData;
	DRV_RETURN(rt_graph_remove_dependencies(g, (const rt_ref *)from, (const rt_ref *)to, n));
}

/* ---- executable graphs ---------------------------------------------------------------- */

CUresult CUDAAPI cuGraphInstantiateWithFlags(CUgraphExec *phGraphExec, CUgraph hGraph,
					     unsigned long long flags)
{
	DRV_RETURN(rt_exec_new((rt_ref *)phGraphExec, hGraph, flags));
}

#undef cuGraphInstantiate
CUresult CUDAAPI cuGraphInstantiate(CUgraphExec *exec, CUgraph g, CUgraphNode *error, char *log,
				    size_t room);
CUresult CUDAAPI cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph g, CUgraphNode *error, char *log,
				       size_t room);

static CUresult instantiate(CUgraphExec *exec, CUgraph g, CUgraphNode *error, char *log,
			    size_t room)
{
	if (error)
		*error = NULL;
	if (log && room)
		*log = 0;
	DRV_RETURN(rt_exec_new((rt_ref *)exec, g, 0));
}

CUresult CUDAAPI cuGraphInstantiate(CUgraphExec *exec, CUgraph g, CUgraphNode *error, char *log,
				    size_t room)
{
	return instantiate(exec, g, error, log, room);
}

CUresult CUDAAPI cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph g, CUgraphNode *error, char *log,
				       size_t room)
{
	return instantiate(exec, g, error, log, room);
}

CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec hGraphExec)
{
	DRV_RETURN(rt_graph_exec_destroy(hGraphExec));
}

CUresult CUDAAPI cuGraphExecGetFlags(CUgraphExec hGraphExec, cuuint64_t *flags)
{
	unsigned long long f = 0;

	DRV_ENTER();
	enum rt_error e = flags ? rt_graph_exec_get_flags(hGraphExec, &f) : RT_ERROR_INVALID_VALUE;
	if (e == RT_OK)
		*flags = f;
	return (CUresult)e;
}

#undef cuGraphExecUpdate
CUresult CUDAAPI cuGraphExecUpdate(CUgraphExec exec, CUgraph g, CUgraphNode *error,
				   CUgraphExecUpdateResult *result);

CUresult CUDAAPI cuGraphExecUpdate(CUgraphExec exec, CUgraph g, CUgraphNode *error,
				   CUgraphExecUpdateResult *result)
{
	enum rt_update why;
	rt_ref node;

	DRV_ENTER();
	enum rt_error e = rt_graph_exec_update(exec, g, &why, &node);
	if (error)
		*error = (CUgraphNode)(uintptr_t)node;
	if (result)
		*result = (CUgraphExecUpdateResult)why;
	return (CUresult)e;
}

CUresult CUDAAPI cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph g,
				      CUgraphExecUpdateResultInfo *resultInfo)
{
	enum rt_update why;
	rt_ref node;

	DRV_ENTER();
	enum rt_error e = rt_graph_exec_update(exec, g, &why, &node);
	if (resultInfo)
		*resultInfo =
			(CUgraphExecUpdateResultInfo){.result = (CUgraphExecUpdateResult)why,
						      .errorNode = (CUgraphNode)(uintptr_t)node};
	return (CUresult)e;
}

CUresult CUDAAPI cuGraphNodeSetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode,
				       unsigned int isEnabled)
{
	DRV_RETURN(rt_graph_node_set_enabled(hGraphExec, hNode, isEnabled));
}

CUresult CUDAAPI cuGraphNodeGetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode,
				       unsigned int *isEnabled)
{
	DRV_RETURN(rt_graph_node_get_enabled(hGraphExec, hNode, isEnabled));
}

/* ---- user objects --------------------------------------------------------------------- */

CUresult CUDAAPI cuUserObjectCreate(CUuserObject *object_out, void *ptr, CUhostFn destroy,
				    unsigned int initialRefcount, unsigned int flags)
{
	DRV_RETURN(
		rt_user_object_create((rt_ref *)object_out, ptr, destroy, initialRefcount, flags));
}

CUresult CUDAAPI cuUserObjectRetain(CUuserObject object, unsigned int count)
{
	DRV_RETURN(rt_user_object_retain(object, count));
}

CUresult CUDAAPI cuUserObjectRelease(CUuserObject object, unsigned int count)
{
	DRV_RETURN(rt_user_object_release(object, count));
}

CUresult CUDAAPI cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count,
					 unsigned int flags)
{
	DRV_RETURN(rt_graph_retain_user_object(graph, object, count, flags));
}

CUresult CUDAAPI cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int count)
{
	DRV_RETURN(rt_graph_release_user_object(graph, object, count));
}

/* ---- memory of graphs ----------------------------------------------------------------- */

CUresult CUDAAPI cuDeviceGraphMemTrim(CUdevice device)
{
	DRV_ENTER_ANY();
	return rt_is_device(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

/* Used and reserved are the same here; the high marks are the present values. */
CUresult CUDAAPI cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr,
					      void *value)
{
	DRV_ENTER_ANY();
	if (!value || (unsigned)attr > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
		return drv_bad();
	if (!rt_is_device(device))
		return CUDA_ERROR_INVALID_DEVICE;
	uint64_t sum = rt_graph_memory_bytes((unsigned)device);
	memcpy(value, &sum, sizeof(sum));
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr,
					      void *value)
{
	bool is_high = attr == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH ||
		       attr == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;

	DRV_ENTER_ANY();
	if (!value || !is_high || *(const uint64_t *)value)
		return drv_bad();
	return rt_is_device(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
