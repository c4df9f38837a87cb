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

struct rt_event *rt_event_find(rt_ref e)
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

enum rt_error rt_event_set(rt_ref event, struct cpu_op *op)
{
	rt_lock();
	struct rt_event *e = rt_event_find(event);
	if (e)
		rt_event_take(e, op);
	rt_unlock();
	return e ? RT_OK : RT_ERROR_INVALID_RESOURCE_HANDLE;
}

void rt_event_push(struct rt_stream *s, struct rt_event *ev, enum rt_error *e)
{
	struct rt_work w = {.cpu = {.kind = CPU_WORK_EMPTY}};
	struct cpu_op *op = rt_stream_push(s, &w, NULL, e);

	if (op) {
		rt_event_take(ev, op);
		cpu_op_put(op);
	}
}

enum rt_error rt_event_record(rt_ref event, rt_ref stream, bool is_per_thread, unsigned flags)
{
	enum rt_error e = RT_OK;

	if (flags & ~(unsigned)RT_EVENT_EXTERNAL)
		return RT_ERROR_INVALID_VALUE;
	rt_lock();
	struct rt_stream *s = rt_stream_find(stream, is_per_thread);
	struct rt_event *ev = rt_event_find(event);
	if (!s || !ev || ev->device != s->device)
		e = RT_ERROR_INVALID_RESOURCE_HANDLE;
	else if (s->capture && flags & RT_EVENT_EXTERNAL)
		e = rt_capture_add_event(s, ev, true);
	else if (s->capture)
		rt_capture_record(s, ev);
	else if (flags & RT_EVENT_EXTERNAL)
		e = RT_ERROR_ILLEGAL_STATE;
	else if (s->is_legacy)
		e = rt_capture_check_legacy(s->device);
	if (e == RT_OK && !s->capture)
		rt_event_push(s, ev, &e);
	rt_unlock();
	return e;
}

/* The stream is not captured and the event's record wasn't. */
static void wait_plain(struct rt_stream *s, struct rt_event *ev, enum rt_error *e)
{
	struct rt_work w = {.cpu = {.kind = CPU_WORK_EMPTY}};
	struct rt_ops more = {.v = &ev->op, .n = 1};

	if (!ev->op)
		return; /* never recorded: nothing to wait for */
	if (s->is_legacy)
		*e = rt_capture_check_legacy(s->device);
	if (*e != RT_OK)
		return;
	struct cpu_op *op = rt_stream_push(s, &w, &more, e);
	if (op)
		cpu_op_put(op);
}

enum rt_error rt_event_wait(rt_ref stream, bool is_per_thread, rt_ref event, unsigned flags)
{
	enum rt_error e = RT_OK;

	if (flags & ~(unsigned)RT_EVENT_EXTERNAL)
		return RT_ERROR_INVALID_VALUE;
	rt_lock();
	struct rt_stream *s = rt_stream_find(stream, is_per_thread);
	struct rt_event *ev = rt_event_find(event);
	if (!s || !ev)
		e = RT_ERROR_INVALID_RESOURCE_HANDLE;
	else if (flags & RT_EVENT_EXTERNAL)
		e = s->capture ? rt_capture_add_event(s, ev, false) : RT_ERROR_ILLEGAL_STATE;
	else if (s->capture || ev->capture)
		e = rt_capture_wait(s, ev);
	else
		wait_plain(s, ev, &e);
	rt_unlock();
	return e;
}

/* ---- public ----------------------------------------------------------------------- */

enum rt_error rt_event_create(rt_ref *event, unsigned int flags)
{
	const unsigned known = RT_EVENT_BLOCKING | RT_EVENT_NO_TIMING | RT_EVENT_INTERPROCESS;

	if (!event || flags & ~known)
		return RT_ERROR_INVALID_VALUE;
	if (flags & RT_EVENT_INTERPROCESS)
		return rt_refuse_use("an event", "the flag for other processes");
	struct rt_event *e = calloc(1, sizeof(*e));
	if (!e)
		return RT_ERROR_MEMORY_ALLOCATION;
	e->flags = flags;
	e->device = rt_thread()->device;
	rt_lock();
	rt_handle_add(e, RT_EVENT);
	rt_unlock();
	*event = (rt_ref)e;
	return RT_OK;
}

enum rt_error rt_event_destroy(rt_ref event)
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
	return e ? RT_OK : RT_ERROR_INVALID_RESOURCE_HANDLE;
}

/* The event's operation with a reference (NULL: never recorded), for calls that wait or query. */
static enum rt_error take(rt_ref event, struct cpu_op **op, unsigned *device)
{
	enum rt_error e = RT_OK;

	*op = NULL;
	rt_lock();
	struct rt_event *ev = rt_event_find(event);
	if (!ev)
		e = RT_ERROR_INVALID_RESOURCE_HANDLE;
	else if (ev->capture) /* on an H100: the plain code, if the capture has ended */
		e = rt_capture_is_alive(ev->capture, ev->capture_id) ? RT_ERROR_CAPTURED_EVENT
								     : RT_ERROR_INVALID_VALUE;
	else if (ev->op)
		*op = cpu_op_get(ev->op);
	if (ev)
		*device = ev->device;
	if (e == RT_ERROR_CAPTURED_EVENT)
		rt_capture_spoil(ev->capture);
	rt_unlock();
	return e;
}

enum rt_error rt_event_query(rt_ref event)
{
	struct cpu_op *op;
	unsigned device;

	RT_UNSAFE();
	enum rt_error e = take(event, &op, &device);
	if (op) {
		bool is_done = cpu_op_query(op);
		cpu_op_put(op);
		e = rt_device_error(device);
		if (e == RT_OK && !is_done)
			e = RT_ERROR_NOT_READY;
	}
	return e;
}

enum rt_error rt_event_synchronize(rt_ref event)
{
	struct cpu_op *op;
	unsigned device;

	RT_UNSAFE();
	enum rt_error e = take(event, &op, &device);
	if (op)
		e = rt_op_finish(op, device);
	return e;
}

enum rt_error rt_event_elapsed_time(float *ms, rt_ref start, rt_ref end)
{
	enum rt_error e = RT_OK;

	if (!ms)
		return RT_ERROR_INVALID_VALUE;
	rt_lock();
	struct rt_event *a = rt_event_find(start), *b = rt_event_find(end);
	uint64_t ta = 0, tb = 0;
	if (!a || !b || !a->op || !b->op || (a->flags | b->flags) & RT_EVENT_NO_TIMING) {
		e = RT_ERROR_INVALID_RESOURCE_HANDLE;
	} else {
		ta = cpu_op_time(a->op);
		tb = cpu_op_time(b->op);
		if (!ta || !tb) {
			e = RT_ERROR_NOT_READY;
		} else { /* the same as querying whether they have ended */
			(void)cpu_op_query(a->op);
			(void)cpu_op_query(b->op);
		}
	}
	rt_unlock();
	if (e == RT_OK)
		*ms = (float)((double)(int64_t)(tb - ta) * 1e-6);
	return e;
}
