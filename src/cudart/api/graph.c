/*
 * graph.c - entry points of graphs as data.
 */
#include "cudart/api/api.h"
#include "cudart/graph/graph.h"

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
	RT_RETURN(rt_thread_exchange_stream_capture_mode((enum rt_capture_mode *)mode));
}

cudaError_t cudaGraphCreate(cudaGraph_t *pGraph, unsigned int flags)
{
	RT_RETURN(rt_graph_create((rt_ref *)pGraph, flags));
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
	RT_RETURN(rt_graph_destroy(graph));
}

cudaError_t cudaGraphClone(cudaGraph_t *pGraphClone, cudaGraph_t originalGraph)
{
	RT_RETURN(rt_graph_copy((rt_ref *)pGraphClone, originalGraph));
}

cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t *pNode, cudaGraphNode_t originalNode,
				     cudaGraph_t clonedGraph)
{
	RT_RETURN(rt_graph_node_find_in_clone((rt_ref *)pNode, originalNode, clonedGraph));
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node)
{
	RT_RETURN(rt_graph_destroy_node(node));
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
				     const cudaGraphNode_t *to, const cudaGraphEdgeData *edgeData,
				     size_t numDependencies)
{
	(void)edgeData;
	RT_RETURN(rt_graph_add_dependencies(graph, (const rt_ref *)from, (const rt_ref *)to,
					    numDependencies));
}

cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
					const cudaGraphNode_t *to,
					const cudaGraphEdgeData *edgeData, size_t numDependencies)
{
	(void)edgeData;
	RT_RETURN(rt_graph_remove_dependencies(graph, (const rt_ref *)from, (const rt_ref *)to,
					       numDependencies));
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *numNodes)
{
	RT_RETURN(rt_graph_get_nodes(graph, (rt_ref *)nodes, numNodes));
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *pRootNodes,
				  size_t *pNumRootNodes)
{
	RT_RETURN(rt_graph_get_root_nodes(graph, (rt_ref *)pRootNodes, pNumRootNodes));
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
			      cudaGraphEdgeData *edgeData, size_t *numEdges)
{
	RT_RETURN(rt_graph_get_edges(graph, (rt_ref *)from, (rt_ref *)to,
				     (struct rt_edge *)edgeData, numEdges));
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *pDependencies,
					 cudaGraphEdgeData *edgeData, size_t *pNumDependencies)
{
	RT_RETURN(rt_graph_node_get_dependencies(node, (rt_ref *)pDependencies,
						 (struct rt_edge *)edgeData, pNumDependencies));
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *pDependentNodes,
					   cudaGraphEdgeData *edgeData, size_t *pNumDependentNodes)
{
	RT_RETURN(rt_graph_node_get_dependent_nodes(
		node, (rt_ref *)pDependentNodes, (struct rt_edge *)edgeData, pNumDependentNodes));
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *pType)
{
	RT_RETURN(rt_graph_node_get_type(node, (enum rt_node_type *)pType));
}
