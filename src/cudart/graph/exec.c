/*
 * exec.c - executable graphs: instantiate, launch, update.
 *
 * A launch turns nodes into operations in topological order; those without an
 * edge between them may run at the same time, in an order drawn by seed. One empty operation comes
 * before all and one after all, so a launch of n nodes costs n + 2 operations. The next launch of
 * the same graph waits for the previous one.
 */
#include <stdlib.h>
#include <string.h>

#include "cudart/state/capture.h"
#include "cudart/graph/graph.h"

struct rt_exec *rt_exec_find(rt_ref e)
{
	return rt_handle_is(e, RT_EXEC) ? (struct rt_exec *)e : NULL;
}

static struct rt_node *find_origin(const struct rt_graph *g, uint64_t id)
{
	for (size_t i = 0; i < g->nodes.n; i++) {
		struct rt_node *n = g->nodes.v[i];
		if (n->origin == id)
			return n;
		struct rt_node *in = n->what.child ? find_origin(n->what.child, id) : NULL;
		if (in)
			return in;
	}
	return NULL;
}

struct rt_node *rt_exec_node(struct rt_exec *x, const struct rt_node *node)
{
	return find_origin(x->graph, node->id);
}

/* ---- making ---------------------------------------------------------------------------- */

enum rt_error rt_exec_new(rt_ref *out, rt_ref graph, unsigned long long flags)
{
	const unsigned long long known =
		RT_INSTANTIATE_AUTO_FREE | RT_INSTANTIATE_UPLOAD | RT_INSTANTIATE_PRIORITY;
	enum rt_error e = RT_OK;

	if (!out)
		return RT_ERROR_INVALID_VALUE;
	if (flags & RT_INSTANTIATE_DEVICE)
		return rt_refuse_use("an executable graph", "launches from the device");
	if (flags & ~known)
		return RT_ERROR_INVALID_VALUE;
	struct rt_exec *x = calloc(1, sizeof(*x));
	if (!x)
		return RT_ERROR_MEMORY_ALLOCATION;
	rt_lock();
	const struct rt_graph *g = rt_graph_find(graph);
	if (g) {
		x->graph = rt_graph_clone(g);
		x->graph->is_child = true;
		x->flags = flags;
	}
	if (!g || !rt_graph_sort(x->graph)) {
		e = RT_ERROR_INVALID_VALUE;
		if (g)
			rt_graph_free(x->graph);
		free(x);
	} else {
		rt_handle_add(x, RT_EXEC);
		*out = (rt_ref)x;
	}
	rt_unlock();
	return e;
}

enum rt_error rt_graph_exec_destroy(rt_ref graphExec)
{
	rt_lock();
	struct rt_exec *x = rt_exec_find(graphExec);
	if (x) {
		rt_handle_remove(x);
		rt_graph_free(x->graph);
		if (x->last)
			cpu_op_put(x->last);
		free(x);
	}
	rt_unlock();
	rt_user_objects_sweep();
	rt_graph_memory_sweep();
	return x ? RT_OK : RT_ERROR_INVALID_VALUE;
}

enum rt_error rt_graph_exec_get_flags(rt_ref graphExec, unsigned long long *flags)
{
	rt_lock();
	const struct rt_exec *x = rt_exec_find(graphExec);
	if (x && flags)
		*flags = x->flags;
	rt_unlock();
	return x && flags ? RT_OK : RT_ERROR_INVALID_VALUE;
}

/* ---- launching ---------------------------------------------------------------------------- */

static const struct rt_work empty = {.cpu = {.kind = CPU_WORK_EMPTY}};

static struct cpu_op *launch_graph(struct rt_stream *s, struct rt_graph *g, struct cpu_op *start,
				   enum rt_error *e);

/* The operation of one node after `deps`; NULL and *e on failure. */
static struct cpu_op *launch_node(struct rt_stream *s, struct rt_node *n, struct rt_ops *deps,
				  enum rt_error *e)
{
	unsigned device = n->what.work.cpu.device;
	struct rt_event *ev = NULL;
	struct cpu_op *op;

	if (n->is_disabled)
		return rt_op_submit(s, device, &empty, deps, e);
	n->what.work.cpu.is_graph = true;
	switch (n->what.type) {
	case RT_NODE_KERNEL:
	case RT_NODE_COPY:
	case RT_NODE_FILL:
	case RT_NODE_HOST:
		return rt_op_submit(s, device, &n->what.work, deps, e);
	case RT_NODE_GRAPH:
		op = rt_op_submit(s, device, &empty, deps, e);
		if (!op)
			return NULL;
		struct cpu_op *end = launch_graph(s, n->what.child, op, e);
		cpu_op_put(op);
		return end;
	case RT_NODE_RECORD:
	case RT_NODE_WAIT:
		ev = rt_event_find(n->what.event);
		if (!ev) {
			*e = RT_ERROR_INVALID_RESOURCE_HANDLE;
			return NULL;
		}
		if (n->what.type == RT_NODE_WAIT && ev->op)
			base_vec_push(deps, ev->op);
		op = rt_op_submit(s, device, &empty, deps, e);
		if (op && n->what.type == RT_NODE_RECORD)
			rt_event_take(ev, op);
		return op;
	default:
		return rt_op_submit(s, device, &empty, deps, e);
	}
}

/* All nodes after `start`; returns the operation that ends after all of them. What was submitted
 * before a failure runs, as with a kernel that CUDA refuses in the middle of a graph. */
static struct cpu_op *launch_graph(struct rt_stream *s, struct rt_graph *g, struct cpu_op *start,
				   enum rt_error *e)
{
	struct rt_ops deps = {0}, all = {0};

	base_vec_push(&all, start);
	for (size_t i = 0; i < g->nodes.n && *e == RT_OK; i++) {
		struct rt_node *n = g->nodes.v[i];
		deps.n = 0;
		for (size_t k = 0; k < n->deps.n; k++)
			base_vec_push(&deps, n->deps.v[k]->op);
		if (n->deps.n == 0)
			base_vec_push(&deps, start);
		n->op = launch_node(s, n, &deps, e);
		if (n->op)
			base_vec_push(&all, n->op);
	}
	enum rt_error end_error = RT_OK;
	struct cpu_op *end = rt_op_submit(s, s->device, &empty, &all, &end_error);
	for (size_t i = 0; i < g->nodes.n; i++) {
		if (g->nodes.v[i]->op)
			cpu_op_put(g->nodes.v[i]->op);
		g->nodes.v[i]->op = NULL;
	}
	base_vec_free(&deps);
	base_vec_free(&all);
	return end;
}

static enum rt_error launch(struct rt_stream *s, struct rt_exec *x)
{
	struct rt_ops deps = {0};
	enum rt_error e = RT_OK;

	if (s->is_legacy)
		e = rt_capture_check_legacy(s->device);
	if (e != RT_OK)
		return e;
	rt_stream_deps(s, &deps);
	if (x->last)
		base_vec_push(&deps, x->last);
	struct cpu_op *start = rt_op_submit(s, s->device, &empty, &deps, &e);
	base_vec_free(&deps);
	if (!start)
		return e;
	struct cpu_op *end = launch_graph(s, x->graph, start, &e);
	cpu_op_put(start);
	if (end) {
		rt_stream_set_last(s, end);
		if (x->last)
			cpu_op_put(x->last);
		x->last = end;
	}
	return e;
}

enum rt_error rt_exec_launch(rt_ref exec, rt_ref stream, bool is_per_thread)
{
	enum rt_error e;

	rt_lock();
	struct rt_stream *s = rt_stream_find(stream, is_per_thread);
	struct rt_exec *x = rt_exec_find(exec);
	if (!s)
		e = RT_ERROR_INVALID_RESOURCE_HANDLE;
	else if (!x)
		e = RT_ERROR_INVALID_VALUE;
	else
		e = s->capture ? rt_capture_refuse(s->capture) : launch(s, x);
	rt_unlock();
	return e;
}

/* ---- updating ------------------------------------------------------------------------------- */

/* Both sorted. NULL, or the node of b that has another type or other edges. */
static struct rt_node *differs(const struct rt_graph *a, const struct rt_graph *b,
			       enum rt_update *why)
{
	for (size_t i = 0; i < a->nodes.n; i++) {
		struct rt_node *x = a->nodes.v[i], *y = b->nodes.v[i];
		*why = RT_UPDATE_NODE_TYPE;
		if (x->what.type != y->what.type)
			return y;
		*why = RT_UPDATE_TOPOLOGY;
		if (x->deps.n != y->deps.n)
			return y;
		for (size_t k = 0; k < x->deps.n; k++) {
			if (x->deps.v[k]->mark != y->deps.v[k]->mark)
				return y;
		}
		bool has_child = x->what.child && y->what.child;
		if (has_child && (x->what.child->nodes.n != y->what.child->nodes.n ||
				  differs(x->what.child, y->what.child, why)))
			return y;
	}
	*why = RT_UPDATE_OK;
	return NULL;
}

static void take_payloads(struct rt_graph *a, struct rt_graph *b)
{
	for (size_t i = 0; i < a->nodes.n; i++) {
		struct rt_payload *x = &a->nodes.v[i]->what, *y = &b->nodes.v[i]->what;
		if (x->child) { /* nodes of the child keep what they were made from */
			take_payloads(x->child, y->child);
			continue;
		}
		struct rt_payload old = *x;
		*x = *y;
		*y = old;
	}
}

enum rt_error rt_graph_exec_update(rt_ref hGraphExec, rt_ref hGraph, enum rt_update *result,
				   rt_ref *node)
{
	enum rt_update why = RT_UPDATE_ERROR;
	uint64_t bad = 0;

	rt_lock();
	struct rt_exec *x = rt_exec_find(hGraphExec);
	struct rt_graph *g = rt_graph_find(hGraph);
	if (x && g) {
		struct rt_graph *c = rt_graph_clone(g);
		c->is_child = true;
		if (!rt_graph_sort(c) || c->nodes.n != x->graph->nodes.n) {
			why = RT_UPDATE_TOPOLOGY;
		} else {
			rt_graph_sort(x->graph); /* marks */
			const struct rt_node *n = differs(x->graph, c, &why);
			bad = n ? n->origin : 0;
		}
		if (why == RT_UPDATE_OK)
			take_payloads(x->graph, c);
		rt_graph_free(c);
	}
	*result = why;
	*node = NULL;
	for (size_t i = 0; bad && i < g->nodes.n; i++) {
		if (g->nodes.v[i]->id == bad)
			*node = g->nodes.v[i];
	}
	rt_unlock();
	if (!x || !g)
		return RT_ERROR_INVALID_VALUE;
	return why == RT_UPDATE_OK ? RT_OK : RT_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

/* The node of the executable graph for one of the graph it was made from. Lock held. */
static struct rt_node *find(rt_ref exec, rt_ref node)
{
	struct rt_exec *x = rt_exec_find(exec);
	const struct rt_node *n = rt_node_find(node);

	return x && n ? rt_exec_node(x, n) : NULL;
}

enum rt_error rt_graph_node_set_enabled(rt_ref hGraphExec, rt_ref hNode, unsigned int isEnabled)
{
	rt_lock();
	struct rt_node *n = find(hGraphExec, hNode);
	bool is_good = n && (n->what.type == RT_NODE_KERNEL || n->what.type == RT_NODE_COPY ||
			     n->what.type == RT_NODE_FILL);
	if (is_good)
		n->is_disabled = !isEnabled;
	rt_unlock();
	return is_good ? RT_OK : RT_ERROR_INVALID_VALUE;
}

enum rt_error rt_graph_node_get_enabled(rt_ref hGraphExec, rt_ref hNode, unsigned int *isEnabled)
{
	rt_lock();
	const struct rt_node *n = find(hGraphExec, hNode);
	if (n && isEnabled)
		*isEnabled = !n->is_disabled;
	rt_unlock();
	return n && isEnabled ? RT_OK : RT_ERROR_INVALID_VALUE;
}
