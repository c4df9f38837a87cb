/*
 * pt_stream.c - entry points of streams and events that know a default stream
 * of each thread; compiled twice (internal.h).
 */
#include <string.h>

#include "cudart/api/api.h"
#include "cudart/state/capture.h"
#include "cudart/state/internal.h"

/* ---- waiting ------------------------------------------------------------------ */

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
	RT_RETURN(rt_stream_synchronize(stream, RT_PER_THREAD));
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
	RT_RETURN(rt_stream_query(stream, RT_PER_THREAD));
}

/* ---- events ---------------------------------------------------------------------- */

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	RT_RETURN(rt_event_record(event, stream, RT_PER_THREAD, cudaEventRecordDefault));
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags)
{
	RT_RETURN(rt_event_record(event, stream, RT_PER_THREAD, flags));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
	RT_RETURN(rt_event_wait(stream, RT_PER_THREAD, event, flags));
}

/* ---- host functions ----------------------------------------------------------------- */

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *userData)
{
	RT_ENTER();
	if (!fn)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	struct rt_work w = {.cpu = {.kind = CPU_WORK_HOST, .host = {fn, userData}}};
	return rt_fail(rt_stream_submit(stream, RT_PER_THREAD, &w, NULL));
}

static void run_callback(const struct rt_callback *c, enum rt_error e)
{
	((cudaStreamCallback_t)c->fn)((cudaStream_t)(uintptr_t)c->stream, (cudaError_t)e, c->arg);
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
				  void *userData, unsigned int flags)
{
	RT_RETURN(rt_stream_callback((struct rt_callback){.run = run_callback,
							  .fn = (void (*)(void))callback,
							  .arg = userData,
							  .stream = stream},
				     RT_PER_THREAD, flags));
}

/* ---- what a stream is ------------------------------------------------------------------ */

/* Begins an entry point that queries a stream: finds it with the lock held. */
#define FIND(stream, out)                                                                          \
	struct rt_stream *s;                                                                       \
	RT_ENTER();                                                                                \
	if (!(out))                                                                                \
		return rt_fail(RT_ERROR_INVALID_VALUE);                                            \
	rt_lock();                                                                                 \
	s = rt_stream_find(stream, RT_PER_THREAD)

static cudaError_t found(const struct rt_stream *s)
{
	rt_unlock();
	return rt_fail(s ? RT_OK : RT_ERROR_INVALID_RESOURCE_HANDLE);
}

cudaError_t cudaStreamGetFlags(cudaStream_t hStream, unsigned int *flags)
{
	FIND(hStream, flags);
	if (s)
		*flags = s->flags;
	return found(s);
}

cudaError_t cudaStreamGetPriority(cudaStream_t hStream, int *priority)
{
	FIND(hStream, priority);
	if (s)
		*priority = s->priority;
	return found(s);
}

cudaError_t cudaStreamGetId(cudaStream_t hStream, unsigned long long *streamId)
{
	FIND(hStream, streamId);
	if (s)
		*streamId = s->id;
	return found(s);
}

cudaError_t cudaStreamGetDevice(cudaStream_t hStream, int *device)
{
	FIND(hStream, device);
	if (s)
		*device = (int)s->device;
	return found(s);
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *devPtr, size_t length,
				     unsigned int flags)
{
	FIND(stream, devPtr);
	(void)length; /* managed memory is the same for host and device */
	(void)flags;
	return found(s);
}

/* ---- attributes --------------------------------------------------------------------------- */

cudaError_t cudaStreamCopyAttributes(cudaStream_t dst, cudaStream_t src)
{
	RT_RETURN(rt_stream_attr_copy(dst, src, RT_PER_THREAD));
}

cudaError_t cudaStreamGetAttribute(cudaStream_t hStream, cudaStreamAttrID attr,
				   cudaStreamAttrValue *value_out)
{
	RT_RETURN(
		rt_stream_attr_get(hStream, RT_PER_THREAD, (int)attr, (union rt_attr *)value_out));
}

cudaError_t cudaStreamSetAttribute(cudaStream_t hStream, cudaStreamAttrID attr,
				   const cudaStreamAttrValue *value)
{
	RT_RETURN(rt_stream_attr_set(hStream, RT_PER_THREAD, (int)attr,
				     (const union rt_attr *)value));
}
