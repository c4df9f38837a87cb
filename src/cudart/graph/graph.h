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
	enum cudaGraphNodeType type;
	struct rt_work work; /* launch.params is malloc'd; cpu.device is where it runs */
	cudaEvent_t event;
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
	void **args;	   /* of cudaGraphKernelNodeGetParams, made when asked for */
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

struct rt_graph *rt_graph_find(cudaGraph_t g);
struct rt_node *rt_node_find(cudaGraphNode_t n);
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
/* No edge twice. */
void rt_node_depend(struct rt_node *n, struct rt_node *on);
/* A copy with memory of its own. */
void rt_payload_copy(struct rt_payload *to, const struct rt_payload *from);
void rt_payload_free(struct rt_payload *p);

/* ---- userobj.c: lock not held --------------------------------------------------- */

/* Calls the destructors of objects without references. */
void rt_user_objects_sweep(void);

/* ---- graphmem.c ------------------------------------------------------------------ */

struct rt_graph_memory *rt_graph_memory_get(struct rt_graph_memory *m);
void rt_graph_memory_put(struct rt_graph_memory *m);
/* Frees memory that no graph needs any more. Lock not held. */
void rt_graph_memory_sweep(void);
/* Payloads. Lock not held. */
cudaError_t rt_graph_make_alloc(struct rt_payload *p, struct cudaMemAllocNodeParams *a);
cudaError_t rt_graph_make_free(struct rt_payload *p, void *dptr);
/* A node with a copy of the payload after the stream's front. */
cudaError_t rt_capture_add_payload(struct rt_stream *s, const struct rt_payload *p);

/* ---- exec.c ---------------------------------------------------------------------- */

struct rt_exec *rt_exec_find(cudaGraphExec_t e);
/* The node of the executable graph that was made from this one. */
struct rt_node *rt_exec_node(struct rt_exec *x, const struct rt_node *node);
/* Lock not held, with entry checks: */
cudaError_t rt_exec_new(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long flags);
cudaError_t rt_exec_launch(cudaGraphExec_t exec, cudaStream_t s, bool is_per_thread);

/* ---- what the entry points of the same names do; lock not held -------------------- */

cudaError_t rt_thread_exchange_stream_capture_mode(enum cudaStreamCaptureMode *mode);
cudaError_t rt_graph_exec_destroy(cudaGraphExec_t graphExec);
cudaError_t rt_graph_exec_get_flags(cudaGraphExec_t graphExec, unsigned long long *flags);
cudaError_t rt_graph_exec_update(cudaGraphExec_t hGraphExec, cudaGraph_t hGraph,
				 cudaGraphExecUpdateResultInfo *resultInfo);
cudaError_t rt_graph_node_set_enabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
				      unsigned int isEnabled);
cudaError_t rt_graph_node_get_enabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
				      unsigned int *isEnabled);
cudaError_t rt_graph_create(cudaGraph_t *pGraph, unsigned int flags);
cudaError_t rt_graph_destroy(cudaGraph_t graph);
cudaError_t rt_graph_copy(cudaGraph_t *pGraphClone, cudaGraph_t originalGraph);
cudaError_t rt_graph_node_find_in_clone(cudaGraphNode_t *pNode, cudaGraphNode_t originalNode,
					cudaGraph_t clonedGraph);
cudaError_t rt_graph_destroy_node(cudaGraphNode_t node);
cudaError_t rt_graph_add_dependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
				      const cudaGraphNode_t *to, const cudaGraphEdgeData *edgeData,
				      size_t numDependencies);
cudaError_t rt_graph_remove_dependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
					 const cudaGraphNode_t *to,
					 const cudaGraphEdgeData *edgeData, size_t numDependencies);
cudaError_t rt_graph_get_nodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *numNodes);
cudaError_t rt_graph_get_root_nodes(cudaGraph_t graph, cudaGraphNode_t *pRootNodes,
				    size_t *pNumRootNodes);
cudaError_t rt_graph_get_edges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
			       cudaGraphEdgeData *edgeData, size_t *numEdges);
cudaError_t rt_graph_node_get_dependencies(cudaGraphNode_t node, cudaGraphNode_t *pDependencies,
					   cudaGraphEdgeData *edgeData, size_t *pNumDependencies);
cudaError_t rt_graph_node_get_dependent_nodes(cudaGraphNode_t node,
					      cudaGraphNode_t *pDependentNodes,
					      cudaGraphEdgeData *edgeData,
					      size_t *pNumDependentNodes);
cudaError_t rt_graph_node_get_type(cudaGraphNode_t node, enum cudaGraphNodeType *pType);
cudaError_t rt_graph_mem_alloc_node_get_params(cudaGraphNode_t node,
					       struct cudaMemAllocNodeParams *params_out);
cudaError_t rt_graph_mem_free_node_get_params(cudaGraphNode_t node, void *dptr_out);
cudaError_t rt_device_graph_mem_trim(int device);
cudaError_t rt_device_get_graph_mem_attribute(int device, enum cudaGraphMemAttributeType attr,
					      void *value);
cudaError_t rt_device_set_graph_mem_attribute(int device, enum cudaGraphMemAttributeType attr,
					      void *value);
cudaError_t rt_user_object_create(cudaUserObject_t *object_out, void *ptr, cudaHostFn_t destroy,
				  unsigned int initialRefcount, unsigned int flags);
cudaError_t rt_user_object_retain(cudaUserObject_t object, unsigned int count);
cudaError_t rt_user_object_release(cudaUserObject_t object, unsigned int count);
cudaError_t rt_graph_retain_user_object(cudaGraph_t graph, cudaUserObject_t object,
					unsigned int count, unsigned int flags);
cudaError_t rt_graph_release_user_object(cudaGraph_t graph, cudaUserObject_t object,
					 unsigned int count);

#endif
