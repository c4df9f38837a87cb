/*
 * capture.c - stream capture: work becomes nodes of a graph.
 *
 * Streams take part in a capture by beginning it or by waiting for an event
 * recorded in it. The rules are those documented for cudaStreamBeginCapture: the origin stream ends
 * it, on the thread that began it (unless relaxed), after all others have been joined; what could
 * make the capture depend on work outside, or the legacy stream on the capture, is an error and
 * invalidates it.
 */
#include <stdlib.h>

#include "cudart/state/capture.h"
#include "cudart/graph/graph.h"

static struct rt_capture *captures;
static uint64_t next_id = 1;

bool rt_capture_is_alive(const struct rt_capture *c, uint64_t id)
{
	for (const struct rt_capture *x = captures; x; x = x->next) {
		if (x == c)
			return x->id == id;
	}
	return false;
}

void rt_capture_spoil(struct rt_capture *c)
{
	c->is_invalid = true;
}

cudaError_t rt_capture_refuse(struct rt_capture *c)
{
	rt_capture_spoil(c);
	return cudaErrorStreamCaptureUnsupported;
}

void rt_capture_forget_stream(struct rt_stream *s)
{
	struct rt_capture *c = s->capture;

	if (!c)
		return;
	for (size_t i = 0; i < c->streams.n; i++) {
		if (c->streams.v[i] == s)
			c->streams.v[i--] = c->streams.v[--c->streams.n];
	}
	for (size_t i = 0; i < s->front.n; i++)
		base_vec_push(&c->left, s->front.v[i]);
	s->front.n = 0;
	s->capture = NULL;
	if (c->origin == s)
		rt_capture_drop(c);
}

/* ---- what is forbidden during a capture
 * ------------------------------------------------------- */

cudaError_t rt_capture_check(void)
{
	const struct rt_thread *t = rt_thread();
	cudaError_t e = cudaSuccess;

	if (atomic_load(&rt.captures) == 0 || t->mode == cudaStreamCaptureModeRelaxed)
		return cudaSuccess;
	rt_lock();
	for (struct rt_capture *c = captures; c; c = c->next) {
		bool is_mine = c->thread == t && c->mode != cudaStreamCaptureModeRelaxed;
		bool is_global = c->mode == cudaStreamCaptureModeGlobal &&
				 t->mode == cudaStreamCaptureModeGlobal;
		if (is_mine || is_global) {
			rt_capture_spoil(c);
			e = cudaErrorStreamCaptureUnsupported;
		}
	}
	rt_unlock();
	return e;
}

cudaError_t rt_capture_check_legacy(unsigned device)
{
	cudaError_t e = cudaSuccess;

	for (struct rt_capture *c = captures; c; c = c->next) {
		for (size_t i = 0; i < c->streams.n; i++) {
			const struct rt_stream *s = c->streams.v[i];
			if (s->device == device && !(s->flags & cudaStreamNonBlocking)) {
				rt_capture_spoil(c);
				e = cudaErrorStreamCaptureImplicit;
			}
		}
	}
	return e;
}

/* ---- adding nodes ----------------------------------------------------------------------- */

cudaError_t rt_capture_add_payload(struct rt_stream *s, const struct rt_payload *p)
{
	struct rt_payload own;

	if (s->capture->is_invalid)
		return cudaErrorStreamCaptureInvalidated;
	rt_payload_copy(&own, p);
	struct rt_node *n = rt_node_new(s->capture->graph, &own);
	for (size_t i = 0; i < s->front.n; i++)
		rt_node_depend(n, s->front.v[i]);
	s->front.n = 0;
	base_vec_push(&s->front, n);
	return cudaSuccess;
}

cudaError_t rt_capture_add(struct rt_stream *s, const struct rt_work *w)
{
	static const enum cudaGraphNodeType types[] = {[CPU_WORK_EMPTY] = cudaGraphNodeTypeEmpty,
						       [CPU_WORK_KERNEL] = cudaGraphNodeTypeKernel,
						       [CPU_WORK_COPY] = cudaGraphNodeTypeMemcpy,
						       [CPU_WORK_FILL] = cudaGraphNodeTypeMemset,
						       [CPU_WORK_HOST] = cudaGraphNodeTypeHost};
	struct rt_payload p = {.work = *w};

	if (w->cpu.kind >= BASE_COUNTOF(types))
		return cudaErrorStreamCaptureUnsupported;
	p.type = types[w->cpu.kind];
	p.work.cpu.device = s->device;
	return rt_capture_add_payload(s, &p);
}

cudaError_t rt_capture_add_event(struct rt_stream *s, struct rt_event *event, bool is_record)
{
	struct rt_payload p = {.type = is_record ? cudaGraphNodeTypeEventRecord
						 : cudaGraphNodeTypeWaitEvent,
			       .event = (cudaEvent_t)event};

	p.work.cpu.device = s->device;
	return rt_capture_add_payload(s, &p);
}

/* ---- events ------------------------------------------------------------------------------- */

void rt_capture_record(struct rt_stream *s, struct rt_event *event)
{
	if (event->op)
		cpu_op_put(event->op);
	event->op = NULL;
	event->capture = s->capture;
	event->capture_id = s->capture->id;
	event->front.n = 0;
	for (size_t i = 0; i < s->front.n; i++)
		base_vec_push(&event->front, s->front.v[i]);
}

static void join(struct rt_stream *s, struct rt_node *n)
{
	for (size_t i = 0; i < s->front.n; i++) {
		if (s->front.v[i] == n)
			return;
	}
	base_vec_push(&s->front, n);
}

cudaError_t rt_capture_wait(struct rt_stream *s, struct rt_event *event)
{
	bool is_captured = event->capture && rt_capture_is_alive(event->capture, event->capture_id);

	if (!s->capture && !is_captured)
		return cudaErrorInvalidValue; /* recorded in a capture that has ended */
	if (!s->capture && s->is_legacy) {
		rt_capture_spoil(event->capture);
		return cudaErrorStreamCaptureImplicit;
	}
	if (s->capture && !event->op && !event->capture)
		return cudaSuccess; /* never recorded */
	if (s->capture && event->capture != s->capture) {
		rt_capture_spoil(s->capture);
		return is_captured ? cudaErrorStreamCaptureMerge : cudaErrorStreamCaptureIsolation;
	}
	if (event->capture->is_invalid)
		return cudaErrorStreamCaptureInvalidated;
	if (!s->capture) {
		s->capture = event->capture;
		s->front.n = 0;
		base_vec_push(&s->capture->streams, s);
	}
	for (size_t i = 0; i < event->front.n; i++)
		join(s, event->front.v[i]);
	return cudaSuccess;
}

/* ---- beginning ------------------------------------------------------------------------------ */

static cudaError_t set_front(struct rt_stream *s, const cudaGraphNode_t *deps, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct rt_node *x = rt_node_find(deps[i]);
		if (!x || x->graph != s->capture->graph)
			return cudaErrorInvalidValue;
	}
	for (size_t i = 0; i < n; i++)
		join(s, rt_node_find(deps[i]));
	return cudaSuccess;
}

static cudaError_t begin(struct rt_stream *s, struct rt_graph *graph, const cudaGraphNode_t *deps,
			 size_t ndeps, enum cudaStreamCaptureMode mode)
{
	if (s->capture)
		return cudaErrorIllegalState;
	if (s->is_legacy)
		return cudaErrorStreamCaptureUnsupported;
	struct rt_capture *c = calloc(1, sizeof(*c));
	if (!c)
		return cudaErrorMemoryAllocation;
	c->id = next_id++;
	c->is_own_graph = !graph;
	c->graph = graph ? graph : rt_graph_new();
	c->origin = s;
	c->mode = mode;
	c->thread = rt_thread();
	c->next = captures;
	captures = c;
	atomic_fetch_add(&rt.captures, 1);
	base_vec_push(&c->streams, s);
	s->capture = c;
	s->front.n = 0;
	cudaError_t e = set_front(s, deps, ndeps);
	if (e != cudaSuccess)
		rt_capture_drop(c);
	return e;
}

cudaError_t rt_capture_begin(cudaStream_t stream, bool is_per_thread, struct rt_graph *graph,
			     const cudaGraphNode_t *deps, size_t ndeps,
			     enum cudaStreamCaptureMode mode)
{
	cudaError_t e;

	if ((unsigned)mode > cudaStreamCaptureModeRelaxed || (ndeps && !deps))
		return cudaErrorInvalidValue;
	rt_lock();
	struct rt_stream *s = rt_stream_find(stream, is_per_thread);
	if (!s)
		e = cudaErrorInvalidResourceHandle;
	else if (graph && !rt_graph_find((cudaGraph_t)graph))
		e = cudaErrorInvalidValue;
	else
		e = begin(s, graph, deps, ndeps, mode);
	rt_unlock();
	return e;
}

/* ---- ending ---------------------------------------------------------------------------------- */

void rt_capture_drop(struct rt_capture *c)
{
	for (struct rt_capture **p = &captures; *p; p = &(*p)->next) {
		if (*p == c) {
			*p = c->next;
			break;
		}
	}
	atomic_fetch_sub(&rt.captures, 1);
	for (size_t i = 0; i < c->streams.n; i++) {
		c->streams.v[i]->capture = NULL;
		c->streams.v[i]->front.n = 0;
	}
	if (c->is_own_graph)
		rt_graph_free(c->graph);
	base_vec_free(&c->streams);
	base_vec_free(&c->left);
	free(c);
}

/* Marks the ancestors of the node, itself included, with 1. */
static void mark_ancestors(struct rt_node *n)
{
	BASE_VEC(struct rt_node *) todo = {0};

	base_vec_push(&todo, n);
	while (todo.n) {
		struct rt_node *x = todo.v[--todo.n];
		if (x->mark)
			continue;
		x->mark = 1;
		for (size_t i = 0; i < x->deps.n; i++)
			base_vec_push(&todo, x->deps.v[i]);
	}
	base_vec_free(&todo);
}

/* Has the origin waited for all that the other streams captured, including destroyed ones? */
static bool is_joined(const struct rt_capture *c)
{
	for (size_t i = 0; i < c->graph->nodes.n; i++)
		c->graph->nodes.v[i]->mark = 0;
	for (size_t i = 0; i < c->origin->front.n; i++)
		mark_ancestors(c->origin->front.v[i]);
	for (size_t i = 0; i < c->streams.n; i++) {
		const struct rt_stream *s = c->streams.v[i];
		for (size_t k = 0; k < s->front.n; k++) {
			if (!s->front.v[k]->mark)
				return false;
		}
	}
	for (size_t i = 0; i < c->left.n; i++) {
		if (!c->left.v[i]->mark)
			return false;
	}
	return true;
}

static cudaError_t end(struct rt_stream *s, struct rt_graph **out)
{
	struct rt_capture *c = s->capture;
	cudaError_t e = cudaSuccess;

	if (!c)
		return cudaErrorIllegalState;
	if (c->origin != s) {
		rt_capture_spoil(c);
		return cudaErrorStreamCaptureUnmatched;
	}
	if (c->mode != cudaStreamCaptureModeRelaxed && c->thread != rt_thread())
		return cudaErrorStreamCaptureWrongThread;
	if (c->is_invalid)
		e = cudaErrorStreamCaptureInvalidated;
	else if (!is_joined(c))
		e = cudaErrorStreamCaptureUnjoined;
	if (e == cudaSuccess) {
		*out = c->graph;
		c->is_own_graph = false;
	}
	rt_capture_drop(c);
	return e;
}

cudaError_t rt_capture_end(cudaStream_t stream, bool is_per_thread, cudaGraph_t *out)
{
	struct rt_graph *g = NULL;
	cudaError_t e;

	if (!out)
		return cudaErrorInvalidValue;
	rt_lock();
	struct rt_stream *s = rt_stream_find(stream, is_per_thread);
	e = s ? end(s, &g) : cudaErrorInvalidResourceHandle;
	rt_unlock();
	*out = (cudaGraph_t)g;
	return e;
}

cudaError_t rt_capture_update(cudaStream_t stream, bool is_per_thread, cudaGraphNode_t *deps,
			      size_t ndeps, unsigned flags)
{
	cudaError_t e;

	if (flags > cudaStreamSetCaptureDependencies || (ndeps && !deps))
		return cudaErrorInvalidValue;
	rt_lock();
	struct rt_stream *s = rt_stream_find(stream, is_per_thread);
	if (!s) {
		e = cudaErrorInvalidResourceHandle;
	} else if (!s->capture) {
		e = cudaErrorIllegalState;
	} else {
		if (flags == cudaStreamSetCaptureDependencies)
			s->front.n = 0;
		e = set_front(s, deps, ndeps);
	}
	rt_unlock();
	return e;
}

/* ---- public ---------------------------------------------------------------------------------- */

cudaError_t rt_thread_exchange_stream_capture_mode(enum cudaStreamCaptureMode *mode)
{
	struct rt_thread *t = rt_thread();

	if (!mode || (unsigned)*mode > cudaStreamCaptureModeRelaxed)
		return cudaErrorInvalidValue;
	enum cudaStreamCaptureMode old = t->mode;
	t->mode = *mode;
	*mode = old;
	return cudaSuccess;
}
