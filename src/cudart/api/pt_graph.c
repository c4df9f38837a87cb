/*
 * pt_graph.c - entry points of stream capture and graph launches that know a
 * default stream of each thread; compiled twice (internal.h).
 */
#include "cudart/api/api.h"
#include "cudart/state/capture.h"
#include "cudart/graph/graph.h"

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
	RT_RETURN(
		rt_capture_begin(stream, RT_PER_THREAD, NULL, NULL, 0, (enum rt_capture_mode)mode));
}

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
					  const cudaGraphNode_t *dependencies,
					  const cudaGraphEdgeData *dependencyData,
					  size_t numDependencies, enum cudaStreamCaptureMode mode)
{
	(void)dependencyData;
	if (!graph) {
		RT_ENTER();
		return rt_fail(RT_ERROR_INVALID_VALUE);
	}
	RT_RETURN(rt_capture_begin(stream, RT_PER_THREAD, (struct rt_graph *)graph,
				   (const rt_ref *)dependencies, numDependencies,
				   (enum rt_capture_mode)mode));
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *pGraph)
{
	RT_RETURN(rt_capture_end(stream, RT_PER_THREAD, (rt_ref *)pGraph));
}

static enum cudaStreamCaptureStatus status(const struct rt_stream *s)
{
	if (!s->capture)
		return cudaStreamCaptureStatusNone;
	return s->capture->is_invalid ? cudaStreamCaptureStatusInvalidated
				      : cudaStreamCaptureStatusActive;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *pCaptureStatus)
{
	enum rt_error e = RT_OK;

	RT_ENTER();
	if (!pCaptureStatus)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	rt_lock();
	const struct rt_stream *s = rt_stream_find(stream, RT_PER_THREAD);
	if (!s)
		e = RT_ERROR_INVALID_RESOURCE_HANDLE;
	else if (s->is_legacy)
		e = rt_capture_check_legacy(s->device);
	if (e == RT_OK)
		*pCaptureStatus = status(s);
	rt_unlock();
	return rt_fail(e);
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream,
				     enum cudaStreamCaptureStatus *captureStatus_out,
				     unsigned long long *id_out, cudaGraph_t *graph_out,
				     const cudaGraphNode_t **dependencies_out,
				     const cudaGraphEdgeData **edgeData_out,
				     size_t *numDependencies_out)
{
	enum rt_error e = RT_OK;

	RT_ENTER();
	if (!captureStatus_out)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	rt_lock();
	struct rt_stream *s = rt_stream_find(stream, RT_PER_THREAD);
	if (!s)
		e = RT_ERROR_INVALID_RESOURCE_HANDLE;
	else if (s->is_legacy)
		e = rt_capture_check_legacy(s->device);
	if (e == RT_OK) {
		*captureStatus_out = status(s);
		if (s->capture && !s->capture->is_invalid) {
			if (id_out)
				*id_out = s->capture->id;
			if (graph_out)
				*graph_out = (cudaGraph_t)s->capture->graph;
			if (dependencies_out)
				*dependencies_out = (const cudaGraphNode_t *)s->front.v;
			if (edgeData_out)
				*edgeData_out = NULL; /* all edges are plain ones */
			if (numDependencies_out)
				*numDependencies_out = s->front.n;
		}
	}
	rt_unlock();
	return rt_fail(e);
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *dependencies,
						const cudaGraphEdgeData *dependencyData,
						size_t numDependencies, unsigned int flags)
{
	(void)dependencyData;
	RT_RETURN(rt_capture_update(stream, RT_PER_THREAD, (const rt_ref *)dependencies,
				    numDependencies, flags));
}

cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
					   cudaGraphInstantiateParams *instantiateParams)
{
	RT_ENTER();
	if (!instantiateParams)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	enum rt_error e = rt_exec_new((rt_ref *)pGraphExec, graph, instantiateParams->flags);
	instantiateParams->errNode_out = NULL;
	instantiateParams->result_out =
		e == RT_OK ? cudaGraphInstantiateSuccess : cudaGraphInstantiateError;
	return rt_fail(e);
}

/* There is nothing to bring to the device. */
cudaError_t cudaGraphUpload(cudaGraphExec_t graphExec, cudaStream_t stream)
{
	RT_ENTER();
	rt_lock();
	bool is_good = rt_exec_find(graphExec) && rt_stream_find(stream, RT_PER_THREAD);
	rt_unlock();
	return rt_fail(is_good ? RT_OK : RT_ERROR_INVALID_VALUE);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream)
{
	RT_RETURN(rt_exec_launch(graphExec, stream, RT_PER_THREAD));
}
