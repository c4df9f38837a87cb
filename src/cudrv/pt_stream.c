/*
 * pt_stream.c - what runs on a stream: launches, events, host functions, capture, graphs; compiled
 * twice (drv.h).
 */
#include <string.h>

#include "cudart/graph/graph.h"
#include "cudart/state/capture.h"
#include "cudart/state/context.h"
#include "cudart/report/gap.h"
#include "cudrv/drv.h"

/* ---- launches ------------------------------------------------------------------------- */

CUresult CUDAAPI cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
				unsigned int gridDimZ, unsigned int blockDimX,
				unsigned int blockDimY, unsigned int blockDimZ,
				unsigned int sharedMemBytes, CUstream hStream, void **kernelParams,
				void **extra)
{
	struct rt_shape shape = {.is_cooperative = false};
	struct rt_launch l = {.func = f,
			      .grid = {gridDimX, gridDimY, gridDimZ},
			      .block = {blockDimX, blockDimY, blockDimZ},
			      .shared = sharedMemBytes,
			      .args = kernelParams,
			      .extra = extra};

	DRV_RETURN(rt_launch(&l, hStream, &shape, DRV_PER_THREAD));
}

CUresult CUDAAPI cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX,
					   unsigned int gridDimY, unsigned int gridDimZ,
					   unsigned int blockDimX, unsigned int blockDimY,
					   unsigned int blockDimZ, unsigned int sharedMemBytes,
					   CUstream hStream, void **kernelParams)
{
	struct rt_shape shape = {.is_cooperative = true};
	struct rt_launch l = {.func = f,
			      .grid = {gridDimX, gridDimY, gridDimZ},
			      .block = {blockDimX, blockDimY, blockDimZ},
			      .shared = sharedMemBytes,
			      .args = kernelParams};

	DRV_RETURN(rt_launch(&l, hStream, &shape, DRV_PER_THREAD));
}

CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **kernelParams,
				  void **extra)
{
	struct rt_shape shape;

	DRV_ENTER();
	if (!config)
		return drv_bad();
	enum rt_error e = drv_shape_read(config->attrs, config->numAttrs, &shape);
	struct rt_launch l = {.func = f,
			      .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
			      .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
			      .shared = config->sharedMemBytes,
			      .args = kernelParams,
			      .extra = extra};
	if (e == RT_OK)
		return (CUresult)rt_launch(&l, config->hStream, &shape, DRV_PER_THREAD);
	rt_images_lock();
	rt_gap_launch(rt_kern_find(f), e);
	rt_images_unlock();
	return (CUresult)e;
}

/* ---- host functions ------------------------------------------------------------------- */

CUresult CUDAAPI cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData)
{
	struct rt_work w = {.cpu = {.kind = CPU_WORK_HOST, .host = {fn, userData}}};

	DRV_RETURN(fn ? rt_stream_submit(hStream, DRV_PER_THREAD, &w, NULL)
		      : RT_ERROR_INVALID_VALUE);
}

static void run_callback(const struct rt_callback *c, enum rt_error e)
{
	((CUstreamCallback)c->fn)((CUstream)(uintptr_t)c->stream, (CUresult)e, c->arg);
}

CUresult CUDAAPI cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void *userData,
				     unsigned int flags)
{
	DRV_RETURN(rt_stream_callback((struct rt_callback){.run = run_callback,
							   .fn = (void (*)(void))callback,
							   .arg = userData,
							   .stream = hStream},
				      DRV_PER_THREAD, flags));
}

/* ---- waiting -------------------------------------------------------------------------- */

CUresult CUDAAPI cuStreamSynchronize(CUstream hStream)
{
	DRV_RETURN(rt_stream_synchronize(hStream, DRV_PER_THREAD));
}

CUresult CUDAAPI cuStreamQuery(CUstream hStream)
{
	DRV_RETURN(rt_stream_query(hStream, DRV_PER_THREAD));
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags)
{
	DRV_RETURN(rt_event_wait(hStream, DRV_PER_THREAD, hEvent, Flags));
}

CUresult CUDAAPI cuEventRecord(CUevent hEvent, CUstream hStream)
{
	DRV_RETURN(rt_event_record(hEvent, hStream, DRV_PER_THREAD, 0));
}

CUresult CUDAAPI cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags)
{
	DRV_RETURN(rt_event_record(hEvent, hStream, DRV_PER_THREAD, flags));
}

/* ---- what a stream is ----------------------------------------------------------------- */

/* Begins an entry point that queries a stream: finds it with the lock held. */
#define FIND(stream, out)                                                                          \
	struct rt_stream *s;                                                                       \
	DRV_ENTER();                                                                               \
	if (!(out))                                                                                \
		return drv_bad();                                                                  \
	rt_lock();                                                                                 \
	s = rt_stream_find(stream, DRV_PER_THREAD)

static CUresult found(const struct rt_stream *s)
{
	rt_unlock();
	return s ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult CUDAAPI cuStreamGetPriority(CUstream hStream, int *priority)
{
	FIND(hStream, priority);
	if (s)
		*priority = s->priority;
	return found(s);
}

CUresult CUDAAPI cuStreamGetFlags(CUstream hStream, unsigned int *flags)
{
	FIND(hStream, flags);
	if (s)
		*flags = s->flags;
	return found(s);
}

CUresult CUDAAPI cuStreamGetId(CUstream hStream, unsigned long long *streamId)
{
	FIND(hStream, streamId);
	if (s)
		*streamId = s->id;
	return found(s);
}

CUresult CUDAAPI cuStreamGetDevice(CUstream hStream, CUdevice *device)
{
	FIND(hStream, device);
	if (s)
		*device = (CUdevice)s->device;
	return found(s);
}

/* Of the streams of a device it isn't known here in which of its contexts they were made. */
static CUresult context_of(CUstream hStream, CUcontext *pctx)
{
	struct rt_context *c = rt_thread()->context;

	FIND(hStream, pctx);
	unsigned device = s ? s->device : 0;
	CUresult r = found(s);
	if (s && device != c->device)
		c = rt_context_primary(device);
	if (s)
		*pctx = (CUcontext)(void *)c;
	return r;
}

CUresult CUDAAPI cuStreamGetCtx(CUstream hStream, CUcontext *pctx)
{
	return context_of(hStream, pctx);
}

CUresult CUDAAPI cuStreamGetCtx_v2(CUstream hStream, CUcontext *pCtx, CUgreenCtx *pGreenCtx)
{
	if (pGreenCtx)
		*pGreenCtx = NULL;
	return context_of(hStream, pCtx);
}

CUresult CUDAAPI cuStreamAttachMemAsync(CUstream hStream, CUdeviceptr dptr, size_t length,
					unsigned int flags)
{
	FIND(hStream, dptr);
	(void)length; /* managed memory is the same for host and device */
	(void)flags;
	return found(s);
}

CUresult CUDAAPI cuStreamCopyAttributes(CUstream dst, CUstream src)
{
	DRV_RETURN(rt_stream_attr_copy(dst, src, DRV_PER_THREAD));
}

CUresult CUDAAPI cuStreamGetAttribute(CUstream hStream, CUstreamAttrID attr,
				      CUstreamAttrValue *value_out)
{
	DRV_RETURN(
		rt_stream_attr_get(hStream, DRV_PER_THREAD, (int)attr, (union rt_attr *)value_out));
}

CUresult CUDAAPI cuStreamSetAttribute(CUstream hStream, CUstreamAttrID attr,
				      const CUstreamAttrValue *value)
{
	DRV_RETURN(rt_stream_attr_set(hStream, DRV_PER_THREAD, (int)attr,
				      (const union rt_attr *)value));
}

/* ---- capture -------------------------------------------------------------------------- */

CUresult CUDAAPI cuStreamBeginCapture(CUstream hStream, CUstreamCaptureMode mode)
{
	DRV_RETURN(rt_capture_begin(hStream, DRV_PER_THREAD, NULL, NULL, 0,
				    (enum rt_capture_mode)mode));
}

CUresult CUDAAPI cuStreamBeginCaptureToGraph(CUstream hStream, CUgraph hGraph,
					     const CUgraphNode *dependencies,
					     const CUgraphEdgeData *dependencyData,
					     size_t numDependencies, CUstreamCaptureMode mode)
{
	(void)dependencyData;
	DRV_RETURN(hGraph ? rt_capture_begin(hStream, DRV_PER_THREAD,
					     (struct rt_graph *)(void *)hGraph,
					     (const rt_ref *)dependencies, numDependencies,
					     (enum rt_capture_mode)mode)
			  : RT_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuStreamEndCapture(CUstream hStream, CUgraph *phGraph)
{
	DRV_RETURN(rt_capture_end(hStream, DRV_PER_THREAD, (rt_ref *)phGraph));
}

static CUstreamCaptureStatus status(const struct rt_stream *s)
{
	if (!s->capture)
		return CU_STREAM_CAPTURE_STATUS_NONE;
	return s->capture->is_invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
				      : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

/* The stream with the lock held, or NULL and *e. */
static struct rt_stream *asked(CUstream hStream, enum rt_error *e)
{
	rt_lock();
	struct rt_stream *s = rt_stream_find(hStream, DRV_PER_THREAD);
	*e = s ? RT_OK : RT_ERROR_INVALID_RESOURCE_HANDLE;
	if (s && s->is_legacy)
		*e = rt_capture_check_legacy(s->device);
	return *e == RT_OK ? s : NULL;
}

CUresult CUDAAPI cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus *captureStatus)
{
	enum rt_error e;

	DRV_ENTER();
	if (!captureStatus)
		return drv_bad();
	const struct rt_stream *s = asked(hStream, &e);
	if (s)
		*captureStatus = status(s);
	rt_unlock();
	return (CUresult)e;
}

static CUresult capture_info(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
			     cuuint64_t *id_out, CUgraph *graph_out,
			     const CUgraphNode **dependencies_out, size_t *numDependencies_out)
{
	enum rt_error e;

	DRV_ENTER();
	if (!captureStatus_out)
		return drv_bad();
	const struct rt_stream *s = asked(hStream, &e);
	if (s)
		*captureStatus_out = status(s);
	if (s && s->capture && !s->capture->is_invalid) {
		if (id_out)
			*id_out = s->capture->id;
		if (graph_out)
			*graph_out = (CUgraph)(void *)s->capture->graph;
		if (dependencies_out)
			*dependencies_out = (const CUgraphNode *)s->front.v;
		if (numDependencies_out)
			*numDependencies_out = s->front.n;
	}
	rt_unlock();
	return (CUresult)e;
}

/* All edges are plain ones. */
CUresult CUDAAPI cuStreamGetCaptureInfo(CUstream hStream, CUstreamCaptureStatus *captureStatus_out,
					cuuint64_t *id_out, CUgraph *graph_out,
					const CUgraphNode **dependencies_out,
					const CUgraphEdgeData **edgeData_out,
					size_t *numDependencies_out)
{
	if (edgeData_out)
		*edgeData_out = NULL;
	return capture_info(hStream, captureStatus_out, id_out, graph_out, dependencies_out,
			    numDependencies_out);
}

CUresult CUDAAPI cuStreamUpdateCaptureDependencies(CUstream hStream, CUgraphNode *dependencies,
						   const CUgraphEdgeData *dependencyData,
						   size_t numDependencies, unsigned int flags)
{
	(void)dependencyData;
	DRV_RETURN(rt_capture_update(hStream, DRV_PER_THREAD, (const rt_ref *)dependencies,
				     numDependencies, flags));
}

/* ---- graphs --------------------------------------------------------------------------- */

CUresult CUDAAPI cuGraphInstantiateWithParams(CUgraphExec *phGraphExec, CUgraph hGraph,
					      CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	DRV_ENTER();
	if (!params)
		return drv_bad();
	enum rt_error e = rt_exec_new((rt_ref *)phGraphExec, hGraph, params->flags);
	params->hErrNode_out = NULL;
	params->result_out =
		e == RT_OK ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
	return (CUresult)e;
}

/* There is nothing to bring to the device. */
CUresult CUDAAPI cuGraphUpload(CUgraphExec hGraphExec, CUstream hStream)
{
	DRV_ENTER();
	rt_lock();
	bool is_good = rt_exec_find(hGraphExec) && rt_stream_find(hStream, DRV_PER_THREAD);
	rt_unlock();
	return is_good ? CUDA_SUCCESS : drv_bad();
}

CUresult CUDAAPI cuGraphLaunch(CUgraphExec hGraphExec, CUstream hStream)
{
	DRV_RETURN(rt_exec_launch(hGraphExec, hStream, DRV_PER_THREAD));
}

/* ---- names of earlier versions, for programs that were linked with them --------------- */

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define OLD(name) name##_ptsz
#else
#define OLD(name) name
#endif
#undef cuStreamBeginCapture
#undef cuStreamGetCaptureInfo
#undef cuStreamGetCaptureInfo_v2
#undef cuStreamUpdateCaptureDependencies

CUresult CUDAAPI OLD(cuStreamGetCaptureInfo)(CUstream s, CUstreamCaptureStatus *status_out,
					     cuuint64_t *id_out);
CUresult CUDAAPI OLD(cuStreamGetCaptureInfo_v2)(CUstream s, CUstreamCaptureStatus *status_out,
						cuuint64_t *id_out, CUgraph *graph_out,
						const CUgraphNode **dependencies_out,
						size_t *numDependencies_out);
CUresult CUDAAPI OLD(cuStreamUpdateCaptureDependencies)(CUstream s, CUgraphNode *dependencies,
							size_t numDependencies, unsigned flags);
CUresult CUDAAPI OLD(cuStreamBeginCapture)(CUstream s);

CUresult CUDAAPI OLD(cuStreamBeginCapture)(CUstream s)
{
	DRV_RETURN(rt_capture_begin(s, DRV_PER_THREAD, NULL, NULL, 0, RT_CAPTURE_GLOBAL));
}

CUresult CUDAAPI OLD(cuStreamGetCaptureInfo)(CUstream s, CUstreamCaptureStatus *status_out,
					     cuuint64_t *id_out)
{
	return capture_info(s, status_out, id_out, NULL, NULL, NULL);
}

CUresult CUDAAPI OLD(cuStreamGetCaptureInfo_v2)(CUstream s, CUstreamCaptureStatus *status_out,
						cuuint64_t *id_out, CUgraph *graph_out,
						const CUgraphNode **dependencies_out,
						size_t *numDependencies_out)
{
	return capture_info(s, status_out, id_out, graph_out, dependencies_out,
			    numDependencies_out);
}

CUresult CUDAAPI OLD(cuStreamUpdateCaptureDependencies)(CUstream s, CUgraphNode *dependencies,
							size_t numDependencies, unsigned flags)
{
	DRV_RETURN(rt_capture_update(s, DRV_PER_THREAD, (const rt_ref *)dependencies,
				     numDependencies, flags));
}
