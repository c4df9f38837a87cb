/*
 * event.c - entry points of events; those that know a default stream of each thread: pt_stream.c.
 */
#include "cudart/api/api.h"

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
	RT_RETURN(rt_event_create((rt_ref *)event, flags));
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
	RT_RETURN(rt_event_create((rt_ref *)event, cudaEventDefault));
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
	RT_RETURN(rt_event_destroy(event));
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
	RT_RETURN(rt_event_query(event));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
	RT_RETURN(rt_event_synchronize(event));
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
	RT_RETURN(rt_event_elapsed_time(ms, start, end));
}
