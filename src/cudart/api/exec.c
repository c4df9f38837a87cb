/*
 * exec.c - entry points of executable graphs; launches: pt_graph.c.
 */
#include "cudart/api/api.h"
#include "cudart/graph/graph.h"

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
				 unsigned long long flags)
{
	RT_RETURN(rt_exec_new((rt_ref *)pGraphExec, graph, flags));
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
					  unsigned long long flags)
{
	RT_RETURN(rt_exec_new((rt_ref *)pGraphExec, graph, flags));
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graphExec)
{
	RT_RETURN(rt_graph_exec_destroy(graphExec));
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t graphExec, unsigned long long *flags)
{
	RT_RETURN(rt_graph_exec_get_flags(graphExec, flags));
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t hGraphExec, cudaGraph_t hGraph,
				cudaGraphExecUpdateResultInfo *resultInfo)
{
	enum rt_update why;
	rt_ref node;

	RT_ENTER();
	enum rt_error e = rt_graph_exec_update(hGraphExec, hGraph, &why, &node);
	if (resultInfo)
		*resultInfo = (cudaGraphExecUpdateResultInfo){
			.result = (enum cudaGraphExecUpdateResult)why,
			.errorNode = (cudaGraphNode_t)(uintptr_t)node};
	return rt_fail(e);
}

cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
				    unsigned int isEnabled)
{
	RT_RETURN(rt_graph_node_set_enabled(hGraphExec, hNode, isEnabled));
}

cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
				    unsigned int *isEnabled)
{
	RT_RETURN(rt_graph_node_get_enabled(hGraphExec, hNode, isEnabled));
}
