/*
 * calls.c - what the driver's functions order: the table, by their numbers. Copies, sets and
 * frees have theirs in operations.def.
 *
 * A function that has no row and whose name isn't one of the harmless is taken to order all that
 * comes before it with all that comes after it. So rows are for those that order less, and for
 * those after which an operation may wait for what is submitted later.
 */
#include <string.h>

#include <cupti.h>

#include "agent/order.h"

#define IDS CUPTI_DRIVER_TRACE_CBID_SIZE

#define NAMED 1u /* the stream is a parameter */
#define MINE  2u /* the default stream is the calling thread's */
#define EVENT 4u
#define MADE  8u /* a pointer to the stream, or the event, that is made */

/* Some of the names are macros of cuda.h, so a name is pasted before it is handed on. */

#define ALONE(f, w)                                                                                \
	[CUPTI_DRIVER_TRACE_CBID_##f] = {                                                          \
		.way = AGENT_ORDER_##w,                                                            \
	}
#define OF_NAMED(id, params, w, more, field)                                                       \
	[id] = {.way = AGENT_ORDER_##w, .has = NAMED | (more), .stream = offsetof(params, field)}
/* Of functions that name a stream, and their twins whose default stream is the thread's. */
#define ON_STREAM(f, w, field)                                                                     \
	OF_NAMED(CUPTI_DRIVER_TRACE_CBID_##f, f##_params, w, 0, field),                            \
		OF_NAMED(CUPTI_DRIVER_TRACE_CBID_##f##_ptsz, f##_params, w, MINE, field)
#define ON_BOTH(f, w)                                                                              \
	[CUPTI_DRIVER_TRACE_CBID_##f] = {.way = AGENT_ORDER_##w,                                   \
					 .has = NAMED | EVENT,                                     \
					 .stream = offsetof(f##_params, hStream),                  \
					 .event = offsetof(f##_params, hEvent)},                   \
	[CUPTI_DRIVER_TRACE_CBID_##f##_ptsz] = {.way = AGENT_ORDER_##w,                            \
						.has = NAMED | MINE | EVENT,                       \
						.stream = offsetof(f##_params, hStream),           \
						.event = offsetof(f##_params, hEvent)}
#define ON_EVENT(f, w)                                                                             \
	[CUPTI_DRIVER_TRACE_CBID_##                                                                \
		f] = {.way = AGENT_ORDER_##w, .has = EVENT, .event = offsetof(f##_params, hEvent)}
/* A stream, or an event, is made or destroyed. */
#define OF_STREAM(f, w, more, field)                                                               \
	OF_NAMED(CUPTI_DRIVER_TRACE_CBID_##f, f##_params, w, more, field)
#define OF_EVENT(f, w, more, field)                                                                \
	[CUPTI_DRIVER_TRACE_CBID_##f] = {.way = AGENT_ORDER_##w,                                   \
					 .has = EVENT | (more),                                    \
					 .event = offsetof(f##_params, field)}

static const struct row {
	unsigned char way, has, stream, event; /* where they are in the parameters */
} rows[IDS] = {
	/* Launches: their operations are handed in by who hears of them. */
	ALONE(cuLaunchKernel, NOTHING),
	ALONE(cuLaunchKernel_ptsz, NOTHING),
	ALONE(cuLaunchKernelEx, NOTHING),
	ALONE(cuLaunchKernelEx_ptsz, NOTHING),
	ALONE(cuLaunchCooperativeKernel, NOTHING),
	ALONE(cuLaunchCooperativeKernel_ptsz, NOTHING),
	ON_STREAM(cuGraphLaunch, GRAPH, hStream),
	/* The host. */
	ALONE(cuCtxSynchronize, WAITS_ALL),
#if CUDA_VERSION >= 13000
	ALONE(cuCtxSynchronize_v2, WAITS_ALL),
#endif
	ON_STREAM(cuStreamSynchronize, WAITS_STREAM, hStream),
	ON_STREAM(cuStreamQuery, WAITS_STREAM, hStream),
	ON_EVENT(cuEventSynchronize, WAITS_EVENT),
	ON_EVENT(cuEventQuery, WAITS_EVENT),
	ON_STREAM(cuLaunchHostFunc, HOST_CALL, hStream),
	ON_STREAM(cuStreamAddCallback, HOST_CALL, hStream),
	/* What may wait for memory. */
	ON_STREAM(cuStreamWaitValue32, OPENS, stream),
	ON_STREAM(cuStreamWaitValue64, OPENS, stream),
	ON_STREAM(cuStreamBatchMemOp, OPENS, stream),
	ON_STREAM(cuStreamWaitValue32_v2, OPENS, stream),
	ON_STREAM(cuStreamWaitValue64_v2, OPENS, stream),
	ON_STREAM(cuStreamBatchMemOp_v2, OPENS, stream),
	ON_STREAM(cuWaitExternalSemaphoresAsync, OPENS, stream),
	/* Streams and events. */
	ON_BOTH(cuEventRecord, RECORD),
	ON_BOTH(cuEventRecordWithFlags, RECORD),
	ON_BOTH(cuStreamWaitEvent, WAIT),
	OF_STREAM(cuStreamCreate, STREAM_MADE, MADE, phStream),
	OF_STREAM(cuStreamCreateWithPriority, STREAM_MADE, MADE, phStream),
	OF_STREAM(cuStreamDestroy, STREAM_GONE, 0, hStream),
	OF_STREAM(cuStreamDestroy_v2, STREAM_GONE, 0, hStream),
	OF_EVENT(cuEventCreate, EVENT_MADE, MADE, phEvent),
	OF_EVENT(cuEventDestroy, EVENT_GONE, 0, hEvent),
	OF_EVENT(cuEventDestroy_v2, EVENT_GONE, 0, hEvent),
#define STREAM(f, bytes)                                                                           \
	OF_NAMED(CUPTI_DRIVER_TRACE_CBID_##f, f##_params, WORK, 0, hStream),                       \
		OF_NAMED(CUPTI_DRIVER_TRACE_CBID_##f##_ptsz, f##_params, WORK, MINE, hStream),
#define DEFAULT(f, w, bytes)                                                                       \
	[CUPTI_DRIVER_TRACE_CBID_##f] = {.way = AGENT_ORDER_##w},                                  \
	[CUPTI_DRIVER_TRACE_CBID_##f##_ptds] = {.way = AGENT_ORDER_##w, .has = MINE},
#include "agent/order/operations.def"
#undef STREAM
#undef DEFAULT
	/* Captures and graphs. */
	ON_STREAM(cuStreamBeginCapture, CAPTURE, hStream),
	ON_STREAM(cuStreamBeginCapture_v2, CAPTURE, hStream),
	ON_STREAM(cuStreamBeginCaptureToGraph, CAPTURE, hStream),
	ON_STREAM(cuStreamEndCapture, CAPTURED, hStream),
#if CUDA_VERSION >= 12020
	ALONE(cuGraphAddNode, GRAPH_OPENS), /* as its node is: look_closer */
#endif
#if CUDA_VERSION >= 12030
	ALONE(cuGraphAddNode_v2, GRAPH_OPENS),
#endif
	ALONE(cuGraphAddExternalSemaphoresWaitNode, GRAPH_OPENS),
	ALONE(cuGraphAddBatchMemOpNode, GRAPH_OPENS),
	ALONE(cuGraphAddEventRecordNode, GRAPH_EVENT),
	ALONE(cuGraphEventRecordNodeSetEvent, GRAPH_EVENT),
	ALONE(cuGraphExecEventRecordNodeSetEvent, GRAPH_EVENT),
};

/* Functions that order nothing: names begin so. */
static const char *const harmless[] = {"cuArray3DGet",
				       "cuArrayGet",
				       "cuGet",
				       "cuDeviceGet",
				       "cuDeviceTotalMem",
				       "cuDriverGet",
				       "cuInit",
				       "cuCtxGet",
				       "cuCtxSet",
				       "cuCtxPush",
				       "cuCtxPop",
				       "cuFuncGet",
				       "cuFuncSet",
				       "cuFuncIs",
				       "cuGraphAdd",
				       "cuGraphChild",
				       "cuGraphClone",
				       "cuGraphCreate",
				       "cuGraphDebug",
				       "cuGraphDestroy",
				       "cuGraphExec",
				       "cuGraphGet",
				       "cuGraphInstantiate",
				       "cuGraphKernel",
				       "cuGraphMemcpy",
				       "cuGraphMemset",
				       "cuGraphNode",
				       "cuGraphUpload",
				       "cuModuleGet",
				       "cuModuleLoad",
				       "cuLibraryGet",
				       "cuLibraryLoad",
				       "cuKernelGet",
				       "cuKernelSet",
				       "cuMipmappedArrayGet",
				       "cuPointerGet",
				       "cuOccupancy",
				       "cuMemGet",
				       "cuStreamGet",
				       "cuStreamIs",
				       "cuSurfObjectGet",
				       "cuTensorMap",
				       "cuTexObjectGet",
				       "cuThread",
				       "cuDevicePrimaryCtxRetain",
				       "cuDevicePrimaryCtxGet",
				       "cuParam",
				       "cuProfiler"};

static const char *const names[IDS] = {
#define CALL(f, params, ...) [CUPTI_DRIVER_TRACE_CBID_##f] = #f,
#define CALL_NOTHING(f)	     [CUPTI_DRIVER_TRACE_CBID_##f] = #f,
#include "agent/calls.inc"
#undef CALL
#undef CALL_NOTHING
};

bool agent_order_is_harmless(const char *name)
{
	for (size_t i = 0; i < sizeof(harmless) / sizeof(*harmless); i++)
		if (!strncmp(name, harmless[i], strlen(harmless[i])))
			return true;
	return false;
}

bool agent_order_wants(uint32_t id)
{
	if (id >= IDS || !names[id] || rows[id].way == AGENT_ORDER_NOTHING)
		return false;
	return rows[id].way != AGENT_ORDER_UNKNOWN || !agent_order_is_harmless(names[id]);
}

/* ---- parameters ---------------------------------------------------------------------------- */

/* Of a node that can be of any kind. */
static enum agent_order_way way_of_node(const CUgraphNodeParams *p)
{
	switch (p ? p->type : CU_GRAPH_NODE_TYPE_EMPTY) {
	case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		return AGENT_ORDER_GRAPH_OPENS;
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return AGENT_ORDER_GRAPH_EVENT;
	default:
		return AGENT_ORDER_NOTHING;
	}
}

/* Where the row doesn't say all. */
static void look_closer(uint32_t id, const void *params, struct agent_order_call *c)
{
	switch (id) {
#if CUDA_VERSION >= 13000
	case CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize_v2:
		c->context = ((const cuCtxSynchronize_v2_params *)params)->ctx;
		break;
#endif
	case CUPTI_DRIVER_TRACE_CBID_cuStreamCreate:
		c->is_apart =
			((const cuStreamCreate_params *)params)->Flags & CU_STREAM_NON_BLOCKING;
		break;
	case CUPTI_DRIVER_TRACE_CBID_cuStreamCreateWithPriority:
		c->is_apart = ((const cuStreamCreateWithPriority_params *)params)->flags &
			      CU_STREAM_NON_BLOCKING;
		break;
	case CUPTI_DRIVER_TRACE_CBID_cuEventRecordWithFlags:
	case CUPTI_DRIVER_TRACE_CBID_cuEventRecordWithFlags_ptsz:
		if (((const cuEventRecordWithFlags_params *)params)->flags &
		    CU_EVENT_RECORD_EXTERNAL)
			c->way = AGENT_ORDER_GRAPH_EVENT;
		break;
#if CUDA_VERSION >= 12020
	case CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode:
		c->way = way_of_node(((const cuGraphAddNode_params *)params)->nodeParams);
		break;
#endif
#if CUDA_VERSION >= 12030
	case CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode_v2:
		c->way = way_of_node(((const cuGraphAddNode_v2_params *)params)->nodeParams);
		break;
#endif
	default:
		break;
	}
}

/* A handle, or what the pointer to a new one points to. */
static void *handle_at(const struct row *r, const char *params, unsigned char offset)
{
	void *const *p = (void *const *)(const void *)(params + offset);

	if (!(r->has & MADE))
		return *p;
	return *p ? *(void **)*p : NULL;
}

void agent_order_read(uint32_t id, const void *params, struct agent_order_call *c)
{
	const struct row *r = &rows[id];

	*c = (struct agent_order_call){.way = (enum agent_order_way)r->way};
	if (r->has & NAMED)
		c->stream = handle_at(r, params, r->stream);
	if (r->has & EVENT)
		c->event = handle_at(r, params, r->event);
	if (!c->stream && (r->has & MINE))
		c->stream = CU_STREAM_PER_THREAD;
	if (params)
		look_closer(id, params, c);
}
