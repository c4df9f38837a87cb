/*
 * nodes.c - the nodes of a graph and of its children, in an order in which they may run, and nodes
 * of ours that copy memory before one of them.
 *
 * A child graph's node becomes two that do nothing: all of the child comes after the first and
 * before the second.
 *
 * Misses: graphs that allocate memory, of which there can't be two; edges that don't wait for a
 * node's end (programmatic launches); more than MOST nodes.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/judge/judge.h"

#define MOST  512u
#define DEEP  8 /* child graphs in child graphs */
#define NONE  UINT32_MAX
#define EDGES (MOST * 16u)

/* One graph, while it is read. */
struct level {
	CUgraph graph;
	CUgraphNode nodes[MOST], from[EDGES], to[EDGES];
	size_t n, edges;
	unsigned open[MOST];  /* nodes that come before it and aren't in the list yet */
	uint32_t index[MOST]; /* in the list, of what comes after it */
};

static bool read_level(struct level *l, CUgraph g)
{
	const struct judge_graphs *d = &judge_graphs;

	l->graph = g;
	return d->get_nodes(g, NULL, &l->n) == CUDA_SUCCESS && l->n <= MOST &&
	       d->get_edges(g, NULL, NULL, &l->edges) == CUDA_SUCCESS && l->edges <= EDGES &&
	       (!l->n || d->get_nodes(g, l->nodes, &l->n) == CUDA_SUCCESS) &&
	       (!l->edges || d->get_edges(g, l->from, l->to, &l->edges) == CUDA_SUCCESS);
}

static size_t place_of(const struct level *l, CUgraphNode node)
{
	size_t i = 0;

	while (i < l->n && l->nodes[i] != node)
		i++;
	return i;
}

static bool add_edge(struct judge_nodes *n, uint32_t before)
{
	if (n->nedges == EDGES)
		return false;
	n->edges[n->nedges++] = before;
	n->v[n->n].nbefore++;
	return true;
}

/* Begins the next node, of which the edges follow. NULL: there are too many. */
static struct judge_node *begin(struct judge_nodes *n, CUgraph g, CUgraphNode node)
{
	struct judge_node *v = &n->v[n->n];

	if (n->n == MOST)
		return NULL;
	*v = (struct judge_node){.graph = g, .node = node, .before = n->edges + n->nedges};
	return v;
}

static bool add_edges(struct judge_nodes *n, const struct level *l, CUgraphNode node,
		      uint32_t parent)
{
	for (size_t i = 0; i < l->edges; i++)
		if (l->to[i] == node && !add_edge(n, l->index[place_of(l, l->from[i])]))
			return false;
	return n->v[n->n].nbefore || parent == NONE || add_edge(n, parent);
}

static struct race_judge_operation set_of(const CUDA_MEMSET_NODE_PARAMS *p)
{
	return (struct race_judge_operation){.kind = RACE_JUDGE_SET,
					     .dst = {p->dst, p->pitch, 0},
					     .bytes = p->width * p->elementSize,
					     .height = p->height,
					     .depth = 1};
}

/* False: there can't be a second graph like this. */
static bool describe(struct judge_node *v, CUgraphNodeType type)
{
	CUDA_MEMCPY3D copy = {0};
	CUDA_MEMSET_NODE_PARAMS set = {0};

	v->kind = JUDGE_NODE_OPAQUE;
	switch (type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		v->kind = JUDGE_NODE_KERNEL;
		break;
	case CU_GRAPH_NODE_TYPE_EMPTY:
		v->kind = JUDGE_NODE_NOTHING;
		break;
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		if (judge_graphs.get_copy(v->node, &copy) != CUDA_SUCCESS)
			break;
		v->kind = JUDGE_NODE_CALL;
		v->call = judge_copy_3d(&copy);
		break;
	case CU_GRAPH_NODE_TYPE_MEMSET:
		if (judge_graphs.get_set(v->node, &set) != CUDA_SUCCESS)
			break;
		v->kind = JUDGE_NODE_CALL;
		v->call = set_of(&set);
		break;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		return false;
	default:
		break;
	}
	return true;
}

static bool read_graph(struct judge_nodes *n, CUgraph g, uint32_t parent, int depth);

/* The node becomes a list's part. *last: what others come after. */
static bool add_child(struct judge_nodes *n, const struct level *l, CUgraphNode node,
		      uint32_t *last, int depth)
{
	uint32_t first = n->n;
	CUgraph child;

	/* (The first has its edges already.) */
	n->v[n->n++].node = NULL;
	if (judge_graphs.get_child(node, &child) != CUDA_SUCCESS ||
	    !read_graph(n, child, first, depth + 1) || !begin(n, l->graph, node))
		return false;
	for (uint32_t i = first, end = n->n; i < end; i++)
		if (!add_edge(n, i))
			return false;
	*last = n->n++;
	return true;
}

static bool add_node(struct judge_nodes *n, struct level *l, size_t i, uint32_t parent, int depth)
{
	struct judge_node *v = begin(n, l->graph, l->nodes[i]);
	CUgraphNodeType type;

	if (!v || !add_edges(n, l, l->nodes[i], parent) ||
	    judge_graphs.get_type(l->nodes[i], &type) != CUDA_SUCCESS)
		return false;
	if (type == CU_GRAPH_NODE_TYPE_GRAPH)
		return add_child(n, l, l->nodes[i], &l->index[i], depth);
	if (!describe(v, type))
		return false;
	n->is_opaque |= v->kind == JUDGE_NODE_OPAQUE;
	l->index[i] = n->n++;
	return true;
}

/* Each node when all before it are there. */
static bool add_level(struct judge_nodes *n, struct level *l, uint32_t parent, int depth)
{
	size_t done = 0, was = SIZE_MAX;

	for (size_t i = 0; i < l->edges; i++) {
		size_t to = place_of(l, l->to[i]);
		if (to == l->n || place_of(l, l->from[i]) == l->n)
			return false;
		l->open[to]++;
	}
	while (done < l->n && done != was) {
		was = done;
		for (size_t i = 0; i < l->n; i++) {
			if (l->open[i])
				continue;
			if (!add_node(n, l, i, parent, depth))
				return false;
			l->open[i] = NONE;
			done++;
			for (size_t k = 0; k < l->edges; k++)
				l->open[place_of(l, l->to[k])] -= l->from[k] == l->nodes[i];
		}
	}
	return done == l->n;
}

static bool read_graph(struct judge_nodes *n, CUgraph g, uint32_t parent, int depth)
{
	struct level *l = depth < DEEP ? calloc(1, sizeof(*l)) : NULL;
	bool is_good = l && read_level(l, g) && add_level(n, l, parent, depth);

	free(l);
	return is_good;
}

/* ------------------------------------------------------------------------ */

bool judge_nodes_read(struct judge_nodes *n, CUgraph g)
{
	*n = (struct judge_nodes){.v = calloc(MOST, sizeof(*n->v)),
				  .edges = calloc(EDGES, sizeof(*n->edges))};
	if (n->v && n->edges && read_graph(n, g, NONE, 0))
		return true;
	judge_nodes_free(n);
	return false;
}

void judge_nodes_free(struct judge_nodes *n)
{
	free(n->v);
	free(n->edges);
	memset(n, 0, sizeof(*n));
}

bool judge_nodes_copy(struct judge_nodes *n, CUdeviceptr to, CUdeviceptr from, uint64_t bytes)
{
	const CUDA_MEMCPY3D c = {.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
				 .srcDevice = from,
				 .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
				 .dstDevice = to,
				 .WidthInBytes = bytes,
				 .Height = 1,
				 .Depth = 1};
	const struct judge_node *v = &n->v[n->at];
	CUgraphNode before[MOST], made;
	size_t k = 0;

	for (uint32_t i = 0; i < v->nbefore && !n->last; i++) {
		const struct judge_node *b = &n->v[v->before[i]];
		if (b->node && b->graph == v->graph)
			before[k++] = b->node;
	}
	if (n->last)
		before[k++] = n->last;
	if (judge_graphs.add_copy(&made, v->graph, before, k, &c, n->ctx) != CUDA_SUCCESS ||
	    judge_graphs.add_edges(v->graph, &made, &v->node, 1) != CUDA_SUCCESS)
		return false;
	n->last = made;
	return true;
}
