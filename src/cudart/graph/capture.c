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

enum rt_error rt_capture_refuse(struct rt_capture *c)
{
	rt_capture_spoil(c);
	return RT_ERROR_STREAM_CAPTURE_UNSUPPORTED;
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

/* ---- what is forbidden during a capture ----------------------------------------------------- */

enum rt_error rt_capture_check(void)
{
	const struct rt_thread *t = rt_thread();
	enum rt_error e = RT_OK;

	if (atomic_load(&rt.captures) == 0 || t->mode == RT_CAPTURE_RELAXED)
		return RT_OK;
	rt_lock();
	for (struct rt_capture *c = captures; c; c = c->next) {
		bool is_mine = c->thread == t && c->mode != RT_CAPTURE_RELAXED;
		bool is_global = c->mode == RT_CAPTURE_GLOBAL && t->mode == RT_CAPTURE_GLOBAL;
		if (is_mine || is_global) {
			rt_capture_spoil(c);
			e = RT_ERROR_STREAM_CAPTURE_UNSUPPORTED;
		}
	}
	rt_unlock();
	return e;
}

enum rt_error rt_capture_check_legacy(unsigned device)
{
	enum rt_error e = RT_OK;

	for (struct rt_capture *c = captures; c; c = c->next) {
		for (size_t i = 0; i < c->streams.n; i++) {
			const struct rt_stream *s = c->streams.v[i];
			if (s->device == device && !(s->flags & RT_STREAM_NON_BLOCKING)) {
				rt_capture_spoil(c);
				e = RT_ERROR_STREAM_CAPTURE_IMPLICIT;
			}
		}
	}
	return e;
}

/* ---- adding nodes ----------------------------------------------------------------------- */

enum rt_error rt_capture_add_payload(struct rt_stream *s, const struct rt_payload *p)
{
	struct rt_payload own;

	if (s->capture->is_invalid)
		return RT_ERROR_STREAM_CAPTURE_INVALIDATED;
	rt_payload_copy(&own, p);
	struct rt_node *n = rt_node_new(s->capture->graph, &own);
	for (size_t i = 0; i < s->front.n; i++)
		rt_node_depend(n, s->front.v[i]);
	s->front.n = 0;
	base_vec_push(&s->front, n);
	return RT_OK;
}

enum rt_error rt_capture_add(struct rt_stream *s, const struct rt_work *w)
{
	static const enum rt_node_type types[] = {[CPU_WORK_EMPTY] = RT_NODE_EMPTY,
						  [CPU_WORK_KERNEL] = RT_NODE_KERNEL,
						  [CPU_WORK_COPY] = RT_NODE_COPY,
						  [CPU_WORK_FILL] = RT_NODE_FILL,
						  [CPU_WORK_HOST] = RT_NODE_HOST};
	struct rt_payload p = {.work = *w};

	if (w->cpu.kind >= BASE_COUNTOF(types))
		return RT_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	p.type = types[w->cpu.kind];
	p.work.cpu.device = s->device;
	return rt_capture_add_payload(s, &p);
}

enum rt_error rt_capture_add_event(struct rt_stream *s, struct rt_event *event, bool is_record)
{
	struct rt_payload p = {.type = is_record ? RT_NODE_RECORD : RT_NODE_WAIT,
			       .event = (rt_ref)event};

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

enum rt_error rt_capture_wait(struct rt_stream *s, struct rt_event *event)
{
	bool is_captured = event->capture && rt_capture_is_alive(event->capture, event->capture_id);

	if (!s->capture && !is_captured)
		return RT_ERROR_INVALID_VALUE; /* recorded in a capture that has ended */
	if (!s->capture && s->is_legacy) {
		rt_capture_spoil(event->capture);
		return RT_ERROR_STREAM_CAPTURE_IMPLICIT;
	}
	if (s->capture && !event->op && !event->capture)
		return RT_OK; /* never recorded */
	if (s->capture && event->capture != s->capture) {
		rt_capture_spoil(s->capture);
		return is_captured ? RT_ERROR_STREAM_CAPTURE_MERGE
				   : RT_ERROR_STREAM_CAPTURE_ISOLATION;
	}
	if (event->capture->is_invalid)
		return RT_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (!s->capture) {
		s->capture = event->capture;
		s->front.n = 0;
		base_vec_push(&s->capture->streams, s);
	}
	for (size_t i = 0; i < event->front.n; i++)
		join(s, event->front.v[i]);
	return RT_OK;
}

/* ---- beginning ------------------------------------------------------------------------------ */

static enum rt_error set_front(struct rt_stream *s, const rt_ref *deps, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct rt_node *x = rt_node_find(deps[i]);
		if (!x || x->graph != s->capture->graph)
			return RT_ERROR_INVALID_VALUE;
	}
	for (size_t i = 0; i < n; i++)
		join(s, rt_node_find(deps[i]));
	return RT_OK;
}

static enum rt_error begin(struct rt_stream *s, struct rt_graph *graph, const rt_ref *deps,
			   size_t ndeps, enum rt_capture_mode mode)
{
	if (s->capture)
		return RT_ERROR_ILLEGAL_STATE;
	if (s->is_legacy)
		return RT_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	struct rt_capture *c = calloc(1, sizeof(*c));
	if (!c)
		return RT_ERROR_MEMORY_ALLOCATION;
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
	enum rt_error e = set_front(s, deps, ndeps);
	if (e != RT_OK)
		rt_capture_drop(c);
	return e;
}

enum rt_error rt_capture_begin(rt_ref stream, bool is_per_thread, struct rt_graph *graph,
			       const rt_ref *deps, size_t ndeps, enum rt_capture_mode mode)
{
	enum rt_error e;

	if ((unsigned)mode > RT_CAPTURE_RELAXED || (ndeps && !deps))
		return RT_ERROR_INVALID_VALUE;
	rt_lock();
	struct rt_stream *s = rt_stream_find(stream, is_per_thread);
	if (!s)
		e = RT_ERROR_INVALID_RESOURCE_HANDLE;
	else if (graph && !rt_graph_find((rt_ref)graph))
		e = RT_ERROR_INVALID_VALUE;
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

static enum rt_error end(struct rt_stream *s, struct rt_graph **out)
{
	struct rt_capture *c = s->capture;
	enum rt_error e = RT_OK;

	if (!c)
		return RT_ERROR_ILLEGAL_STATE;
	if (c->origin != s) {
		rt_capture_spoil(c);
		return RT_ERROR_STREAM_CAPTURE_UNMATCHED;
	}
	if (c->mode != RT_CAPTURE_RELAXED && c->thread != rt_thread())
		return RT_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	if (c->is_invalid)
		e = RT_ERROR_STREAM_CAPTURE_INVALIDATED;
	else if (!is_joined(c))
		e = RT_ERROR_STREAM_CAPTURE_UNJOINED;
	if (e == RT_OK) {
		*out = c->graph;
		c->is_own_graph = false;
	}
	rt_capture_drop(c);
	return e;
}

enum rt_error rt_capture_end(rt_ref stream, bool is_per_thread, rt_ref *out)
{
	struct rt_graph *g = NULL;
	enum rt_error e;

	if (!out)
		return RT_ERROR_INVALID_VALUE;
	rt_lock();
	struct rt_stream *s = rt_stream_find(stream, is_per_thread);
	e = s ? end(s, &g) : RT_ERROR_INVALID_RESOURCE_HANDLE;
	rt_unlock();
	*out = (rt_ref)g;
	return e;
}

enum rt_error rt_capture_update(rt_ref stream, bool is_per_thread, const rt_ref *deps, size_t ndeps,
				unsigned flags)
{
	enum rt_error e;

	if (flags > RT_CAPTURE_SET_DEPENDENCIES || (ndeps && !deps))
		return RT_ERROR_INVALID_VALUE;
	rt_lock();
	struct rt_stream *s = rt_stream_find(stream, is_per_thread);
	if (!s) {
		e = RT_ERROR_INVALID_RESOURCE_HANDLE;
	} else if (!s->capture) {
		e = RT_ERROR_ILLEGAL_STATE;
	} else {
		if (flags == RT_CAPTURE_SET_DEPENDENCIES)
			s->front.n = 0;
		e = set_front(s, deps, ndeps);
	}
	rt_unlock();
	return e;
}

/* ---- public ---------------------------------------------------------------------------------- */

enum rt_error rt_thread_exchange_stream_capture_mode(enum rt_capture_mode *mode)
{
	struct rt_thread *t = rt_thread();

	if (!mode || (unsigned)*mode > RT_CAPTURE_RELAXED)
		return RT_ERROR_INVALID_VALUE;
	enum rt_capture_mode old = t->mode;
	t->mode = *mode;
	*mode = old;
	return RT_OK;
}
