/*
 * graph.h - CUDA graphs: nodes, their payloads, executable graphs.
 *
 * A node is a payload (what to do) and the nodes it depends on. An executable
 * graph is a copy of the graph with its nodes in topological order. Copies
 * remember the id of the node they were made from, by which cudaGraphExec...
 * and cudaGraphNodeFindInClone find them. Everything with the lock held unless
 * it says otherwise.
 */
#ifndef COLLIDER_CUDART_GRAPH_H
#define COLLIDER_CUDART_GRAPH_H

#include "cudart/state/internal.h"

struct rt_graph;
struct rt_graph_memory;

/* Owned by the node that holds it. */
struct rt_payload {
	enum rt_node_type type;
	struct rt_work work; /* launch.params is malloc'd; cpu.device is where it runs */
	rt_ref event;
	struct rt_graph *child;
	struct rt_graph_memory *memory; /* MEM_ALLOC; a reference */
	void *address;			/* MEM_ALLOC, MEM_FREE */
};

struct rt_node {
	struct rt_graph *graph;
	uint64_t id, origin;
	struct rt_payload what;
	bool is_disabled; /* of executable graphs: does nothing, but orders */
	BASE_VEC(struct rt_node *) deps;
	size_t mark;	   /* scratch: place in an order */
	struct cpu_op *op; /* while the graph is being launched */
	void **args;	   /* rt_node_args */
};

struct rt_user_object {
	void (*destroy)(void *arg);
	void *arg;
	unsigned refs;
};

struct rt_graph_object {
	struct rt_user_object *object;
	unsigned refs;
};

struct rt_graph {
	BASE_VEC(struct rt_node *) nodes;
	BASE_VEC(struct rt_graph_object) objects;
	bool is_child; /* owned by a node */
};

struct rt_exec {
	struct rt_graph *graph; /* nodes in topological order */
	struct cpu_op *last;	/* end of the newest launch: launches don't overlap */
	unsigned long long flags;
};

/* ---- graph.c ------------------------------------------------------------------- */

struct rt_graph *rt_graph_find(rt_ref g);
struct rt_node *rt_node_find(rt_ref n);
/* The graph is a handle then. */
struct rt_graph *rt_graph_new(void);
void rt_graph_free(struct rt_graph *g);
/* A deep copy. */
struct rt_graph *rt_graph_clone(const struct rt_graph *g);
/* Sorts g's nodes so that each comes after those it depends on, otherwise in the order of creation,
 * and also those of its child graphs; false: there is a cycle. */
bool rt_graph_sort(struct rt_graph *g);
/* Takes ownership of the payload. */
struct rt_node *rt_node_new(struct rt_graph *g, const struct rt_payload *what);
/* Pointers to the parameters of a kernel node, valid until it is changed; NULL: out of memory. */
void **rt_node_args(struct rt_node *n);
/* No edge twice. */
void rt_node_depend(struct rt_node *n, struct rt_node *on);
/* A copy with memory of its own. */
void rt_payload_copy(struct rt_payload *to, const struct rt_payload *from);
void rt_payload_free(struct rt_payload *p);

/* ---- payload.c: lock not held ----------------------------------------------------- */

/* Rows of elements. */
struct rt_fill {
	void *dst;
	size_t pitch, width, height;
	unsigned value, size;
};

/* Nothing yet, to be freed like any other; an invalid value. */
enum rt_error rt_payload_none(struct rt_payload *p);
enum rt_error rt_payload_empty(struct rt_payload *p);
/* On the current device. */
enum rt_error rt_payload_kernel(struct rt_payload *p, struct rt_launch l);
enum rt_error rt_payload_copy_3d(struct rt_payload *p, const struct rt_copy_3d *c);
enum rt_error rt_payload_copy_1d(struct rt_payload *p, void *dst, const void *src, size_t count,
				 enum rt_copy_kind kind);
enum rt_error rt_payload_fill(struct rt_payload *p, const struct rt_fill *f);
enum rt_error rt_payload_host(struct rt_payload *p, void (*fn)(void *arg), void *arg);
enum rt_error rt_payload_event(struct rt_payload *p, enum rt_node_type type, rt_ref event);
enum rt_error rt_payload_child(struct rt_payload *p, rt_ref child);
/* A new node after `deps`. `e` is the result of making the payload, which this function then
 * owns. */
enum rt_error rt_node_add(rt_ref *out, rt_ref graph, const rt_ref *deps, size_t n,
			  struct rt_payload *p, enum rt_error e);
/* The same into a node of the graph (exec NULL) or of an executable one. */
enum rt_error rt_node_set(rt_ref exec, rt_ref node, struct rt_payload *p, enum rt_error e);

/* ---- attr.c: lock not held ------------------------------------------------------ */

enum rt_error rt_node_attr_get(rt_ref node, int id, union rt_attr *out);
enum rt_error rt_node_attr_set(rt_ref node, int id, const union rt_attr *to);
enum rt_error rt_node_attr_copy(rt_ref to, rt_ref from);

/* ---- userobj.c: lock not held --------------------------------------------------- */

/* Calls the destructors of objects without references. */
void rt_user_objects_sweep(void);

/* ---- graphmem.c ------------------------------------------------------------------ */

struct rt_graph_memory *rt_graph_memory_get(struct rt_graph_memory *m);
void rt_graph_memory_put(struct rt_graph_memory *m);
/* Frees memory that no graph needs any more. Lock not held. */
void rt_graph_memory_sweep(void);
/* Payloads. Lock not held. */
enum rt_error rt_graph_make_alloc(struct rt_payload *p, unsigned device, size_t bytes);
enum rt_error rt_graph_make_free(struct rt_payload *p, void *dptr);
/* A node with a copy of the payload after the stream's front. */
enum rt_error rt_capture_add_payload(struct rt_stream *s, const struct rt_payload *p);

/* ---- exec.c ---------------------------------------------------------------------- */

struct rt_exec *rt_exec_find(rt_ref e);
/* The node of the executable graph that was made from this one. */
struct rt_node *rt_exec_node(struct rt_exec *x, const struct rt_node *node);
/* Lock not held, with entry checks: */
enum rt_error rt_exec_new(rt_ref *out, rt_ref graph, unsigned long long flags);
enum rt_error rt_exec_launch(rt_ref exec, rt_ref s, bool is_per_thread);

/* ---- what the entry points of the same names do; lock not held -------------------- */

enum rt_error rt_thread_exchange_stream_capture_mode(enum rt_capture_mode *mode);
enum rt_error rt_graph_exec_destroy(rt_ref graphExec);
enum rt_error rt_graph_exec_get_flags(rt_ref graphExec, unsigned long long *flags);
enum rt_error rt_graph_exec_update(rt_ref hGraphExec, rt_ref hGraph, enum rt_update *result,
				   rt_ref *node);
enum rt_error rt_graph_node_set_enabled(rt_ref hGraphExec, rt_ref hNode, unsigned int isEnabled);
enum rt_error rt_graph_node_get_enabled(rt_ref hGraphExec, rt_ref hNode, unsigned int *isEnabled);
enum rt_error rt_graph_create(rt_ref *pGraph, unsigned int flags);
enum rt_error rt_graph_destroy(rt_ref graph);
enum rt_error rt_graph_copy(rt_ref *pGraphClone, rt_ref originalGraph);
enum rt_error rt_graph_node_find_in_clone(rt_ref *pNode, rt_ref originalNode, rt_ref clonedGraph);
enum rt_error rt_graph_destroy_node(rt_ref node);
enum rt_error rt_graph_add_dependencies(rt_ref graph, const rt_ref *from, const rt_ref *to,
					size_t numDependencies);
enum rt_error rt_graph_remove_dependencies(rt_ref graph, const rt_ref *from, const rt_ref *to,
					   size_t numDependencies);
enum rt_error rt_graph_get_nodes(rt_ref graph, rt_ref *nodes, size_t *numNodes);
enum rt_error rt_graph_get_root_nodes(rt_ref graph, rt_ref *pRootNodes, size_t *pNumRootNodes);
enum rt_error rt_graph_get_edges(rt_ref graph, rt_ref *from, rt_ref *to, struct rt_edge *edgeData,
				 size_t *numEdges);
enum rt_error rt_graph_node_get_dependencies(rt_ref node, rt_ref *pDependencies,
					     struct rt_edge *edgeData, size_t *pNumDependencies);
enum rt_error rt_graph_node_get_dependent_nodes(rt_ref node, rt_ref *pDependentNodes,
						struct rt_edge *edgeData,
						size_t *pNumDependentNodes);
enum rt_error rt_graph_node_get_type(rt_ref node, enum rt_node_type *pType);
enum rt_error rt_user_object_create(rt_ref *object_out, void *ptr, void (*destroy)(void *),
				    unsigned int initialRefcount, unsigned int flags);
enum rt_error rt_user_object_retain(rt_ref object, unsigned int count);
enum rt_error rt_user_object_release(rt_ref object, unsigned int count);
enum rt_error rt_graph_retain_user_object(rt_ref graph, rt_ref object, unsigned int count,
					  unsigned int flags);
enum rt_error rt_graph_release_user_object(rt_ref graph, rt_ref object, unsigned int count);
/* The memory of an alloc or free node. */
enum rt_error rt_graph_memory_of(rt_ref node, enum rt_node_type type, void **out, size_t *bytes);
/* What the graphs of a device hold. */
uint64_t rt_graph_memory_bytes(unsigned device);

#endif
