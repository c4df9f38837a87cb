/*
 * graph.c - entry points of graphs as data.
 */
#include "cudart/api/api.h"
#include "cudart/graph/graph.h"

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
	RT_RETURN(rt_thread_exchange_stream_capture_mode(mode));
}

cudaError_t cudaGraphCreate(cudaGraph_t *pGraph, unsigned int flags)
{
	RT_RETURN(rt_graph_create(pGraph, flags));
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
	RT_RETURN(rt_graph_destroy(graph));
}

cudaError_t cudaGraphClone(cudaGraph_t *pGraphClone, cudaGraph_t originalGraph)
{
	RT_RETURN(rt_graph_copy(pGraphClone, originalGraph));
}

cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t *pNode, cudaGraphNode_t originalNode,
				     cudaGraph_t clonedGraph)
{
	RT_RETURN(rt_graph_node_find_in_clone(pNode, originalNode, clonedGraph));
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node)
{
	RT_RETURN(rt_graph_destroy_node(node));
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
				     const cudaGraphNode_t *to, const cudaGraphEdgeData *edgeData,
				     size_t numDependencies)
{
	RT_RETURN(rt_graph_add_dependencies(graph, from, to, edgeData, numDependencies));
}

cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
					const cudaGraphNode_t *to,
					const cudaGraphEdgeData *edgeData, size_t numDependencies)
{
	RT_RETURN(rt_graph_remove_dependencies(graph, from, to, edgeData, numDependencies));
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *numNodes)
{
	RT_RETURN(rt_graph_get_nodes(graph, nodes, numNodes));
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *pRootNodes,
				  size_t *pNumRootNodes)
{
	RT_RETURN(rt_graph_get_root_nodes(graph, pRootNodes, pNumRootNodes));
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
			      cudaGraphEdgeData *edgeData, size_t *numEdges)
{
	RT_RETURN(rt_graph_get_edges(graph, from, to, edgeData, numEdges));
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *pDependencies,
					 cudaGraphEdgeData *edgeData, size_t *pNumDependencies)
{
	RT_RETURN(rt_graph_node_get_dependencies(node, pDependencies, edgeData, pNumDependencies));
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *pDependentNodes,
					   cudaGraphEdgeData *edgeData, size_t *pNumDependentNodes)
{
	RT_RETURN(rt_graph_node_get_dependent_nodes(node, pDependentNodes, edgeData,
						    pNumDependentNodes));
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *pType)
{
	RT_RETURN(rt_graph_node_get_type(node, pType));
}
