/*
 * event.c - events: marks in streams, and time.
 *
 * A record is an empty operation at the end of a stream; the event keeps it.
 * Waiting for the event is a dependency on that operation, also across
 * devices. Times are the machine's own clock, so they are the same in each run with the same seed,
 * and say nothing about a GPU's speed.
 */
#include <stdlib.h>

#include "cudart/state/capture.h"
#include "cudart/state/internal.h"

struct rt_event *rt_event_find(cudaEvent_t e)
{
	return rt_handle_is(e, RT_EVENT) ? (struct rt_event *)e : NULL;
}

void rt_event_take(struct rt_event *e, struct cpu_op *op)
{
	struct cpu_op *old = e->op;

	e->op = op ? cpu_op_get(op) : NULL;
	e->capture = NULL;
	e->front.n = 0;
	if (old)
		cpu_op_put(old);
}

cudaError_t rt_event_set(cudaEvent_t event, struct cpu_op *op)
{
	rt_lock();
	struct rt_event *e = rt_event_find(event);
	if (e)
		rt_event_take(e, op);
	rt_unlock();
	return e ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

void rt_event_push(struct rt_stream *s, struct rt_event *ev, cudaError_t *e)
{
	struct rt_work w = {.cpu = {.kind = CPU_WORK_EMPTY}};
	struct cpu_op *op = rt_stream_push(s, &w, NULL, e);

	if (op) {
		rt_event_take(ev, op);
		cpu_op_put(op);
	}
}

cudaError_t rt_event_record(cudaEvent_t event, cudaStream_t stream, bool is_per_thread,
			    unsigned flags)
{
	cudaError_t e = cudaSuccess;

	if (flags & ~(unsigned)cudaEventRecordExternal)
		return cudaErrorInvalidValue;
	rt_lock();
	struct rt_stream *s = rt_stream_find(stream, is_per_thread);
	struct rt_event *ev = rt_event_find(event);
	if (!s || !ev || ev->device != s->device)
		e = cudaErrorInvalidResourceHandle;
	else if (s->capture && flags & cudaEventRecordExternal)
		e = rt_capture_add_event(s, ev, true);
	else if (s->capture)
		rt_capture_record(s, ev);
	else if (flags & cudaEventRecordExternal)
		e = cudaErrorIllegalState;
	else if (s->is_legacy)
		e = rt_capture_check_legacy(s->device);
	if (e == cudaSuccess && !s->capture)
		rt_event_push(s, ev, &e);
	rt_unlock();
	return e;
}

/* The stream is not captured and the event's record wasn't. */
static void wait_plain(struct rt_stream *s, struct rt_event *ev, cudaError_t *e)
{
	struct rt_work w = {.cpu = {.kind = CPU_WORK_EMPTY}};
	struct rt_ops more = {.v = &ev->op, .n = 1};

	if (!ev->op)
		return; /* never recorded: nothing to wait for */
	if (s->is_legacy)
		*e = rt_capture_check_legacy(s->device);
	if (*e != cudaSuccess)
		return;
	struct cpu_op *op = rt_stream_push(s, &w, &more, e);
	if (op)
		cpu_op_put(op);
}

cudaError_t rt_event_wait(cudaStream_t stream, bool is_per_thread, cudaEvent_t event,
			  unsigned flags)
{
	cudaError_t e = cudaSuccess;

	if (flags & ~(unsigned)cudaEventWaitExternal)
		return cudaErrorInvalidValue;
	rt_lock();
	struct rt_stream *s = rt_stream_find(stream, is_per_thread);
	struct rt_event *ev = rt_event_find(event);
	if (!s || !ev)
		e = cudaErrorInvalidResourceHandle;
	else if (flags & cudaEventWaitExternal)
		e = s->capture ? rt_capture_add_event(s, ev, false) : cudaErrorIllegalState;
	else if (s->capture || ev->capture)
		e = rt_capture_wait(s, ev);
	else
		wait_plain(s, ev, &e);
	rt_unlock();
	return e;
}

/* ---- public ----------------------------------------------------------------------- */

cudaError_t rt_event_create(cudaEvent_t *event, unsigned int flags)
{
	const unsigned known =
		cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;

	if (!event || flags & ~known)
		return cudaErrorInvalidValue;
	if (flags & cudaEventInterprocess)
		return rt_refuse_use("cudaEventCreateWithFlags", "cudaEventInterprocess");
	struct rt_event *e = calloc(1, sizeof(*e));
	if (!e)
		return cudaErrorMemoryAllocation;
	e->flags = flags;
	e->device = rt_thread()->device;
	rt_lock();
	rt_handle_add(e, RT_EVENT);
	rt_unlock();
	*event = (cudaEvent_t)e;
	return cudaSuccess;
}

cudaError_t rt_event_destroy(cudaEvent_t event)
{
	rt_lock();
	struct rt_event *e = rt_event_find(event);
	if (e) {
		rt_handle_remove(e);
		rt_event_take(e, NULL);
		base_vec_free(&e->front);
		free(e);
	}
	rt_unlock();
	return e ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

/* The event's operation with a reference (NULL: never recorded), for calls that wait or query. */
static cudaError_t take(cudaEvent_t event, struct cpu_op **op, unsigned *device)
{
	cudaError_t e = cudaSuccess;

	*op = NULL;
	rt_lock();
	struct rt_event *ev = rt_event_find(event);
	if (!ev)
		e = cudaErrorInvalidResourceHandle;
	else if (ev->capture) /* on an H100: the plain code, if the capture has ended */
		e = rt_capture_is_alive(ev->capture, ev->capture_id) ? cudaErrorCapturedEvent
								     : cudaErrorInvalidValue;
	else if (ev->op)
		*op = cpu_op_get(ev->op);
	if (ev)
		*device = ev->device;
	if (e == cudaErrorCapturedEvent)
		rt_capture_spoil(ev->capture);
	rt_unlock();
	return e;
}

cudaError_t rt_event_query(cudaEvent_t event)
{
	struct cpu_op *op;
	unsigned device;

	RT_UNSAFE();
	cudaError_t e = take(event, &op, &device);
	if (op) {
		bool is_done = cpu_op_query(op);
		cpu_op_put(op);
		e = rt_device_error(device);
		if (e == cudaSuccess && !is_done)
			e = cudaErrorNotReady;
	}
	return e;
}

cudaError_t rt_event_synchronize(cudaEvent_t event)
{
	struct cpu_op *op;
	unsigned device;

	RT_UNSAFE();
	cudaError_t e = take(event, &op, &device);
	if (op)
		e = rt_op_finish(op, device);
	return e;
}

cudaError_t rt_event_elapsed_time(float *ms, cudaEvent_t start, cudaEvent_t end)
{
	cudaError_t e = cudaSuccess;

	if (!ms)
		return cudaErrorInvalidValue;
	rt_lock();
	struct rt_event *a = rt_event_find(start), *b = rt_event_find(end);
	uint64_t ta = 0, tb = 0;
	if (!a || !b || !a->op || !b->op || (a->flags | b->flags) & cudaEventDisableTiming) {
		e = cudaErrorInvalidResourceHandle;
	} else {
		ta = cpu_op_time(a->op);
		tb = cpu_op_time(b->op);
		if (!ta || !tb) {
			e = cudaErrorNotReady;
		} else { /* the same as querying whether they have ended */
			(void)cpu_op_query(a->op);
			(void)cpu_op_query(b->op);
		}
	}
	rt_unlock();
	if (e == cudaSuccess)
		*ms = (float)((double)(int64_t)(tb - ta) * 1e-6);
	return e;
}
