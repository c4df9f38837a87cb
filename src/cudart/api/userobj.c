/*
 * userobj.c - entry points of user objects.
 */
#include "cudart/api/api.h"
#include "cudart/graph/graph.h"

cudaError_t cudaUserObjectCreate(cudaUserObject_t *object_out, void *ptr, cudaHostFn_t destroy,
				 unsigned int initialRefcount, unsigned int flags)
{
	RT_RETURN(
		rt_user_object_create((rt_ref *)object_out, ptr, destroy, initialRefcount, flags));
}

cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned int count)
{
	RT_RETURN(rt_user_object_retain(object, count));
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned int count)
{
	RT_RETURN(rt_user_object_release(object, count));
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object,
				      unsigned int count, unsigned int flags)
{
	RT_RETURN(rt_graph_retain_user_object(graph, object, count, flags));
}

cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object,
				       unsigned int count)
{
	RT_RETURN(rt_graph_release_user_object(graph, object, count));
}
