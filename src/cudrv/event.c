/*
 * event.c - events, and streams as objects; what runs on a stream: pt_stream.c.
 */
#include "cudart/state/capture.h"
#include "cudart/graph/graph.h"
#include "cudrv/drv.h"

CUresult CUDAAPI cuStreamCreate(CUstream *phStream, unsigned int Flags)
{
	DRV_RETURN(rt_stream_create((rt_ref *)phStream, Flags, 0));
}

CUresult CUDAAPI cuStreamCreateWithPriority(CUstream *phStream, unsigned int flags, int priority)
{
	DRV_RETURN(rt_stream_create((rt_ref *)phStream, flags, priority));
}

CUresult CUDAAPI cuStreamDestroy(CUstream hStream)
{
	DRV_RETURN(rt_stream_destroy(hStream));
}

CUresult CUDAAPI cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	DRV_RETURN(rt_thread_exchange_stream_capture_mode((enum rt_capture_mode *)mode));
}

CUresult CUDAAPI cuEventCreate(CUevent *phEvent, unsigned int Flags)
{
	DRV_RETURN(rt_event_create((rt_ref *)phEvent, Flags));
}

CUresult CUDAAPI cuEventDestroy(CUevent hEvent)
{
	DRV_RETURN(rt_event_destroy(hEvent));
}

CUresult CUDAAPI cuEventQuery(CUevent hEvent)
{
	DRV_RETURN(rt_event_query(hEvent));
}

CUresult CUDAAPI cuEventSynchronize(CUevent hEvent)
{
	DRV_RETURN(rt_event_synchronize(hEvent));
}

#undef cuEventElapsedTime
CUresult CUDAAPI cuEventElapsedTime(float *ms, CUevent hStart, CUevent hEnd);

CUresult CUDAAPI cuEventElapsedTime(float *ms, CUevent hStart, CUevent hEnd)
{
	DRV_RETURN(rt_event_elapsed_time(ms, hStart, hEnd));
}

CUresult CUDAAPI cuEventElapsedTime_v2(float *ms, CUevent hStart, CUevent hEnd)
{
	DRV_RETURN(rt_event_elapsed_time(ms, hStart, hEnd));
}
