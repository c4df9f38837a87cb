/*
 * graph.c - graphs as data: creating, copying, edges, queries.
 *
 * Edge data (programmatic launches) is accepted and read back as default: here only the launch's
 * own attribute lets a kernel start early.
 */
#include <stdlib.h>
#include <string.h>

#include "cudart/graph/graph.h"

static uint64_t next_node = 1;

struct rt_graph *rt_graph_find(rt_ref g)
{
	return rt_handle_is(g, RT_GRAPH) ? (struct rt_graph *)g : NULL;
}

struct rt_node *rt_node_find(rt_ref n)
{
	return rt_handle_is(n, RT_NODE) ? (struct rt_node *)n : NULL;
}

/* ---- payloads ------------------------------------------------------------------------ */

void rt_payload_copy(struct rt_payload *to, const struct rt_payload *from)
{
	*to = *from;
	if (from->type == RT_NODE_KERNEL) {
		size_t n = from->work.param_bytes;
		void *block = base_malloc(n);
		if (n)
			memcpy(block, from->work.cpu.launch.params, n);
		to->work.cpu.launch.params = block;
	}
	if (from->memory)
		rt_graph_memory_get(from->memory);
	if (from->child) {
		to->child = rt_graph_clone(from->child);
		to->child->is_child = true;
	}
}

void rt_payload_free(struct rt_payload *p)
{
	if (p->type == RT_NODE_KERNEL)
		free((void *)(uintptr_t)p->work.cpu.launch.params);
	if (p->child)
		rt_graph_free(p->child);
	if (p->memory)
		rt_graph_memory_put(p->memory);
	memset(p, 0, sizeof(*p));
	p->type = RT_NODE_EMPTY;
}

/* ---- making and freeing ---------------------------------------------------------------- */

struct rt_graph *rt_graph_new(void)
{
	struct rt_graph *g = base_calloc(1, sizeof(*g));

	rt_handle_add(g, RT_GRAPH);
	return g;
}

struct rt_node *rt_node_new(struct rt_graph *g, const struct rt_payload *what)
{
	struct rt_node *n = base_calloc(1, sizeof(*n));

	n->graph = g;
	n->id = next_node++;
	n->what = *what;
	base_vec_push(&g->nodes, n);
	rt_handle_add(n, RT_NODE);
	return n;
}

static void node_free(struct rt_node *n)
{
	rt_handle_remove(n);
	rt_payload_free(&n->what);
	base_vec_free(&n->deps);
	free(n->args);
	free(n);
}

void rt_graph_free(struct rt_graph *g)
{
	for (size_t i = 0; i < g->nodes.n; i++)
		node_free(g->nodes.v[i]);
	base_vec_free(&g->nodes);
	for (size_t i = 0; i < g->objects.n; i++) {
		struct rt_graph_object *o = &g->objects.v[i];
		o->object->refs -= o->refs;
	}
	base_vec_free(&g->objects);
	rt_handle_remove(g);
	free(g);
}

void rt_node_depend(struct rt_node *n, struct rt_node *on)
{
	for (size_t i = 0; i < n->deps.n; i++) {
		if (n->deps.v[i] == on)
			return;
	}
	base_vec_push(&n->deps, on);
}

struct rt_graph *rt_graph_clone(const struct rt_graph *g)
{
	struct rt_graph *c = rt_graph_new();

	for (size_t i = 0; i < g->nodes.n; i++) {
		struct rt_payload p;
		g->nodes.v[i]->mark = i;
		rt_payload_copy(&p, &g->nodes.v[i]->what);
		struct rt_node *n = rt_node_new(c, &p);
		n->origin = g->nodes.v[i]->id;
		n->is_disabled = g->nodes.v[i]->is_disabled;
	}
	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct rt_node *from = g->nodes.v[i];
		for (size_t k = 0; k < from->deps.n; k++)
			base_vec_push(&c->nodes.v[i]->deps, c->nodes.v[from->deps.v[k]->mark]);
	}
	for (size_t i = 0; i < g->objects.n; i++) {
		base_vec_push(&c->objects, g->objects.v[i]);
		g->objects.v[i].object->refs += g->objects.v[i].refs;
	}
	return c;
}

/* Is everything that n depends on placed already (mark set)? */
static bool is_ready(const struct rt_node *n)
{
	for (size_t i = 0; i < n->deps.n; i++) {
		if (n->deps.v[i]->mark == SIZE_MAX)
			return false;
	}
	return true;
}

/* Rounds over the rest: one is enough when edges lead from earlier to later nodes, as they do in
 * captured graphs. */
static bool sort(struct rt_graph *g)
{
	struct rt_node **order = base_calloc(1, (g->nodes.n + 1) * sizeof(struct rt_node *));
	size_t n = 0, before;

	for (size_t i = 0; i < g->nodes.n; i++)
		g->nodes.v[i]->mark = SIZE_MAX;
	do {
		before = n;
		for (size_t i = 0; i < g->nodes.n; i++) {
			struct rt_node *x = g->nodes.v[i];
			if (x->mark != SIZE_MAX || !is_ready(x))
				continue;
			x->mark = n;
			order[n++] = x;
		}
	} while (n > before && n < g->nodes.n);
	bool is_good = n == g->nodes.n;
	if (is_good && n)
		memcpy(g->nodes.v, order, n * sizeof(struct rt_node *));
	free(order);
	return is_good;
}

bool rt_graph_sort(struct rt_graph *g)
{
	if (!sort(g))
		return false;
	for (size_t i = 0; i < g->nodes.n; i++) {
		struct rt_graph *child = g->nodes.v[i]->what.child;
		if (child && !rt_graph_sort(child))
			return false;
	}
	return true;
}

/* ---- public: graphs ------------------------------------------------------------------------ */

enum rt_error rt_graph_create(rt_ref *pGraph, unsigned int flags)
{
	if (!pGraph || flags)
		return RT_ERROR_INVALID_VALUE;
	rt_lock();
	*pGraph = (rt_ref)rt_graph_new();
	rt_unlock();
	return RT_OK;
}

enum rt_error rt_graph_destroy(rt_ref graph)
{
	enum rt_error e = RT_OK;

	rt_lock();
	struct rt_graph *g = rt_graph_find(graph);
	if (!g || g->is_child)
		e = RT_ERROR_INVALID_VALUE;
	else
		rt_graph_free(g);
	rt_unlock();
	rt_user_objects_sweep();
	rt_graph_memory_sweep();
	return e;
}

enum rt_error rt_graph_copy(rt_ref *pGraphClone, rt_ref originalGraph)
{
	enum rt_error e = RT_OK;

	rt_lock();
	const struct rt_graph *g = rt_graph_find(originalGraph);
	if (!g || !pGraphClone)
		e = RT_ERROR_INVALID_VALUE;
	else
		*pGraphClone = (rt_ref)rt_graph_clone(g);
	rt_unlock();
	return e;
}

enum rt_error rt_graph_node_find_in_clone(rt_ref *pNode, rt_ref originalNode, rt_ref clonedGraph)
{
	enum rt_error e = RT_ERROR_INVALID_VALUE;

	rt_lock();
	const struct rt_graph *g = rt_graph_find(clonedGraph);
	const struct rt_node *n = rt_node_find(originalNode);
	for (size_t i = 0; pNode && g && n && i < g->nodes.n; i++) {
		if (g->nodes.v[i]->origin == n->id) {
			*pNode = (rt_ref)g->nodes.v[i];
			e = RT_OK;
		}
	}
	rt_unlock();
	return e;
}

enum rt_error rt_graph_destroy_node(rt_ref node)
{
	rt_lock();
	struct rt_node *n = rt_node_find(node);
	struct rt_graph *g = n ? n->graph : NULL;
	size_t keep = 0;
	for (size_t i = 0; g && i < g->nodes.n; i++) {
		struct rt_node *x = g->nodes.v[i];
		if (x == n)
			continue;
		for (size_t k = 0; k < x->deps.n; k++) {
			if (x->deps.v[k] == n)
				x->deps.v[k--] = x->deps.v[--x->deps.n];
		}
		g->nodes.v[keep++] = x;
	}
	if (g) {
		g->nodes.n = keep;
		node_free(n);
	}
	rt_unlock();
	return n ? RT_OK : RT_ERROR_INVALID_VALUE;
}

/* ---- public: edges -------------------------------------------------------------------------- */

/* Both ends of edge i, nodes of one graph. */
static bool edge(rt_ref graph, rt_ref from, rt_ref to, struct rt_node **a, struct rt_node **b)
{
	const struct rt_graph *g = rt_graph_find(graph);

	*a = rt_node_find(from);
	*b = rt_node_find(to);
	return g && *a && *b && (*a)->graph == g && (*b)->graph == g && *a != *b;
}

static bool depends(const struct rt_node *n, const struct rt_node *on)
{
	for (size_t i = 0; i < n->deps.n; i++) {
		if (n->deps.v[i] == on)
			return true;
	}
	return false;
}

static enum rt_error change_edges(rt_ref graph, const rt_ref *from, const rt_ref *to, size_t n,
				  bool is_add)
{
	struct rt_node *a, *b;

	if (n && (!from || !to))
		return RT_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n; i++) {
		if (!edge(graph, from[i], to[i], &a, &b) || depends(b, a) == is_add)
			return RT_ERROR_INVALID_VALUE;
	}
	for (size_t i = 0; i < n; i++) {
		edge(graph, from[i], to[i], &a, &b);
		if (is_add) {
			rt_node_depend(b, a);
			continue;
		}
		for (size_t k = 0; k < b->deps.n; k++) {
			if (b->deps.v[k] == a)
				b->deps.v[k--] = b->deps.v[--b->deps.n];
		}
	}
	return RT_OK;
}

enum rt_error rt_graph_add_dependencies(rt_ref graph, const rt_ref *from, const rt_ref *to,
					size_t numDependencies)
{
	rt_lock();
	enum rt_error e = change_edges(graph, from, to, numDependencies, true);
	rt_unlock();
	return e;
}

enum rt_error rt_graph_remove_dependencies(rt_ref graph, const rt_ref *from, const rt_ref *to,
					   size_t numDependencies)
{
	rt_lock();
	enum rt_error e = change_edges(graph, from, to, numDependencies, false);
	rt_unlock();
	return e;
}

/* ---- public: lists --------------------------------------------------------------------------- */

/* Returns a list the way CUDA does: without `out` only the count; otherwise the rest of it is set
 * to NULL, and *n is how many were written. */
struct list {
	rt_ref *out, *out2;
	struct rt_edge *data;
	size_t cap, n;
};

static void list_add(struct list *l, struct rt_node *a, struct rt_node *b)
{
	size_t i = l->n++;

	if (i >= l->cap)
		return;
	if (l->out)
		l->out[i] = (rt_ref)a;
	if (l->out2)
		l->out2[i] = (rt_ref)b;
	if (l->data)
		memset(&l->data[i], 0, sizeof(l->data[i]));
}

static void list_end(struct list *l, size_t *n)
{
	for (size_t i = l->n; i < l->cap; i++) {
		if (l->out)
			l->out[i] = NULL;
		if (l->out2)
			l->out2[i] = NULL;
	}
	*n = l->out && l->n > l->cap ? l->cap : l->n;
}

static struct list list_begin(rt_ref *out, const size_t *n)
{
	return (struct list){.out = out, .cap = out ? *n : 0};
}

enum rt_error rt_graph_get_nodes(rt_ref graph, rt_ref *nodes, size_t *numNodes)
{
	rt_lock();
	const struct rt_graph *g = rt_graph_find(graph);
	if (g && numNodes) {
		struct list l = list_begin(nodes, numNodes);
		for (size_t i = 0; i < g->nodes.n; i++)
			list_add(&l, g->nodes.v[i], NULL);
		list_end(&l, numNodes);
	}
	rt_unlock();
	return g && numNodes ? RT_OK : RT_ERROR_INVALID_VALUE;
}

enum rt_error rt_graph_get_root_nodes(rt_ref graph, rt_ref *pRootNodes, size_t *pNumRootNodes)
{
	rt_lock();
	const struct rt_graph *g = rt_graph_find(graph);
	if (g && pNumRootNodes) {
		struct list l = list_begin(pRootNodes, pNumRootNodes);
		for (size_t i = 0; i < g->nodes.n; i++) {
			if (g->nodes.v[i]->deps.n == 0)
				list_add(&l, g->nodes.v[i], NULL);
		}
		list_end(&l, pNumRootNodes);
	}
	rt_unlock();
	return g && pNumRootNodes ? RT_OK : RT_ERROR_INVALID_VALUE;
}

enum rt_error rt_graph_get_edges(rt_ref graph, rt_ref *from, rt_ref *to, struct rt_edge *edgeData,
				 size_t *numEdges)
{
	rt_lock();
	const struct rt_graph *g = rt_graph_find(graph);
	bool is_good = g && numEdges && !from == !to;
	if (is_good) {
		struct list l = list_begin(from, numEdges);
		l.out2 = to;
		l.data = edgeData;
		for (size_t i = 0; i < g->nodes.n; i++) {
			struct rt_node *b = g->nodes.v[i];
			for (size_t k = 0; k < b->deps.n; k++)
				list_add(&l, b->deps.v[k], b);
		}
		list_end(&l, numEdges);
	}
	rt_unlock();
	return is_good ? RT_OK : RT_ERROR_INVALID_VALUE;
}

enum rt_error rt_graph_node_get_dependencies(rt_ref node, rt_ref *pDependencies,
					     struct rt_edge *edgeData, size_t *pNumDependencies)
{
	rt_lock();
	const struct rt_node *n = rt_node_find(node);
	if (n && pNumDependencies) {
		struct list l = list_begin(pDependencies, pNumDependencies);
		l.data = edgeData;
		for (size_t i = 0; i < n->deps.n; i++)
			list_add(&l, n->deps.v[i], NULL);
		list_end(&l, pNumDependencies);
	}
	rt_unlock();
	return n && pNumDependencies ? RT_OK : RT_ERROR_INVALID_VALUE;
}

enum rt_error rt_graph_node_get_dependent_nodes(rt_ref node, rt_ref *pDependentNodes,
						struct rt_edge *edgeData,
						size_t *pNumDependentNodes)
{
	rt_lock();
	const struct rt_node *n = rt_node_find(node);
	if (n && pNumDependentNodes) {
		struct list l = list_begin(pDependentNodes, pNumDependentNodes);
		l.data = edgeData;
		for (size_t i = 0; i < n->graph->nodes.n; i++) {
			if (depends(n->graph->nodes.v[i], n))
				list_add(&l, n->graph->nodes.v[i], NULL);
		}
		list_end(&l, pNumDependentNodes);
	}
	rt_unlock();
	return n && pNumDependentNodes ? RT_OK : RT_ERROR_INVALID_VALUE;
}

enum rt_error rt_graph_node_get_type(rt_ref node, enum rt_node_type *pType)
{
	rt_lock();
	const struct rt_node *n = rt_node_find(node);
	if (n && pType)
		*pType = n->what.type;
	rt_unlock();
	return n && pType ? RT_OK : RT_ERROR_INVALID_VALUE;
}
