/*
 * judge.h - the front header of src/agent/judge: the program's half of the judge beside a GPU.
 *
 * Before a chosen launch, what it can reach is copied, device to device, in the launch's own
 * stream, an event is put after the copies, and the launch goes on (copy.c). A thread of ours hands
 * the launch to the judge, another process (race/judge/wire.h), and answers what it asks from the
 * copies alone (answer.c). So the program waits for nothing but the enqueuing.
 *
 * Rules for every file: never end the process or change a result; what fails means that the launch
 * isn't judged, which is said once for each kernel. The driver's own functions are called, which
 * our hooks don't see; the agent is asked not to look meanwhile (judge_is_inside).
 */
#ifndef COLLIDER_AGENT_JUDGE_H
#define COLLIDER_AGENT_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda.h>

#include "agent/order.h"
#include "race/judge/choice.h"
#include "race/judge/wire.h"

/* code.c: an image is about to be loaded. size: 0, as its content says; sm: the version of the
 * device whose text is wanted, 90 (0: known at a launch only). NULL: it isn't followed. */
struct judge_code *judge_loading(const void *image, size_t size, unsigned sm);
/* The driver has loaded it, as a library or a module; or hasn't. c: may be NULL. */
void judge_loaded(struct judge_code *c, const void *handle, bool is_library);
void judge_not_loaded(struct judge_code *c);

/* ---- inside the room ------------------------------------------------------------- */

/* The driver's functions that we call: field, symbol. All of them must be there. */
#define JUDGE_DRIVER(F)                                                                            \
	F(ctx_get_current, cuCtxGetCurrent)                                                        \
	F(ctx_set_current, cuCtxSetCurrent)                                                        \
	F(ctx_get_device, cuCtxGetDevice)                                                          \
	F(device_get_attribute, cuDeviceGetAttribute)                                              \
	F(array_get_descriptor, cuArray3DGetDescriptor_v2)                                         \
	F(mem_alloc, cuMemAlloc_v2)                                                                \
	F(mem_get_info, cuMemGetInfo_v2)                                                           \
	F(mem_host_alloc, cuMemHostAlloc)                                                          \
	F(memcpy_3d_async, cuMemcpy3DAsync_v2)                                                     \
	F(memcpy_async, cuMemcpyAsync)                                                             \
	F(memcpy_dtoh_async, cuMemcpyDtoHAsync_v2)                                                 \
	F(pointer_get_attributes, cuPointerGetAttributes)                                          \
	F(stream_create, cuStreamCreate)                                                           \
	F(stream_get_ctx, cuStreamGetCtx)                                                          \
	F(stream_is_capturing, cuStreamIsCapturing)                                                \
	F(stream_query, cuStreamQuery)                                                             \
	F(event_create, cuEventCreate)                                                             \
	F(event_record, cuEventRecord)                                                             \
	F(event_query, cuEventQuery)                                                               \
	F(module_get_global, cuModuleGetGlobal_v2)                                                 \
	F(thread_exchange_capture_mode, cuThreadExchangeStreamCaptureMode)

struct judge_driver {
#define F(field, symbol) __typeof__(symbol) *field;
	JUDGE_DRIVER(F)
#undef F
	CUresult (*library_get_global)(CUdeviceptr *, size_t *, CUlibrary, const char *); /* 12.0 */
	CUresult (*library_get_managed)(CUdeviceptr *, size_t *, CUlibrary,
					const char *); /* 12.0 */
};
extern struct judge_driver judge_driver;

/* Between the two, driver calls of this thread are ours, and legal during a capture. Those of the
 * agent are inside, too. */
struct judge_guard {
	CUstreamCaptureMode mode;
	bool is_swapped;
};
void judge_enter(struct judge_guard *g);
void judge_leave(struct judge_guard *g);
bool judge_is_inside(void);

/* ---- link.c: the way to the judge ------------------------------------------------ */

/* Is there a judge for this process? Connects on the first call. */
bool judge_is_on(void);
/* Is there one, or may there be? Doesn't connect. */
bool judge_may_be_on(void);
/* It is gone: no more launches are taken. */
void judge_set_off(void);
const struct race_judge_policy *judge_policy(void);
int judge_socket(void);
/* Hands over a module's images, for which the judge has an answer each; with the lock of code.c.
 * NULL, or why not. */
const char *judge_send_images(const struct race_judge_module *head, const void *const *images,
			      const uint64_t *sizes);
/* Is the next answer there? */
bool judge_has_lines(void);
/* Waits for it: lines, malloc'd, or NULL: the judge has gone. */
char *judge_read_lines(void);
/* This process's time since it found its judge. */
uint64_t judge_age_ns(void);

/* ---- code.c: what has been loaded ------------------------------------------------ */

struct judge_param {
	uint32_t offset, bytes;
};

/* A variable: where the current context has it is asked for at a launch. */
struct judge_variable {
	const char *name;
	uint64_t bytes;
	bool is_const;
	/* Of judge_code.ctx; 0: the driver doesn't know it. */
	CUdeviceptr at;
};

struct judge_kernel;

/* What one load has brought. Never freed. */
struct judge_code {
	uint64_t id;
	const void *handle;
	bool is_library;
	bool is_asked;	 /* the judge has answered with lines, or never will */
	const char *why; /* no kernel of it can be judged; NULL: they can */
	void *images;	 /* a copy of what was loaded, until it is handed over */
	uint64_t *sizes;
	uint32_t nimages;
	struct judge_kernel *kernels; /* by name */
	struct judge_variable *variables;
	size_t nvariables;
	CUcontext ctx; /* whose addresses the variables have; NULL: none yet */
};

/* Memory that an earlier launch of a kernel needed and that its parameters don't name. */
#define JUDGE_MORE 16u

/* A kernel, as a program can launch it. Never freed. */
struct judge_function {
	struct judge_code *code;
	char *name;
	const struct judge_kernel *kernel; /* NULL: not known yet */
	bool is_said;			   /* why it isn't judged was said */
	uint32_t listed;		   /* as race_choice_beside has it */
	unsigned retries;		   /* launches that didn't count, as memory was missing */
	CUdeviceptr more[JUDGE_MORE];
	unsigned nmore;
	uint64_t shape[4]; /* sums of dimensions and sizes of launches that were taken */
	uint32_t taken[4];
};

/* The function's entry in the judge's lines. */
const struct judge_param *judge_kernel_params(const struct judge_kernel *k, uint32_t *n,
					      uint32_t *bytes);

/* May it order itself with what runs beside it, by memory? */
bool judge_kernel_is_sync(const struct judge_kernel *k);
/* May it use tensor maps? */
bool judge_kernel_has_maps(const struct judge_kernel *k);
/* May it use pointers that it finds in memory? */
bool judge_kernel_is_far(const struct judge_kernel *k);
bool judge_kernel_has_textures(const struct judge_kernel *k);

/* A handle has got a name: of a module's function, a library's kernel; is another name of `same`.
 * The driver may use an old handle again. They take the lock. */
void judge_function_add(const void *handle, const void *owner, const char *name);
void judge_function_alias(const void *handle, const void *same);
void judge_module_alias(const void *module, const void *library);
void judge_code_lock(void);
void judge_code_unlock(void);
/* All with the lock held. NULL: not loaded where we saw it. */
struct judge_function *judge_function_find(const void *handle);
/* By a handle or, if that isn't known, by its name, if only one kernel has it. */
struct judge_function *judge_function_named(const void *handle, const char *name);
/* Asks the judge, once; NULL: it can be judged, else why not. */
const char *judge_function_prepare(struct judge_function *f, unsigned sm);
/* Where the current context has the variables of the code. */
void judge_code_place(struct judge_code *c, CUcontext ctx);

/* ---- copy.c: before a launch ----------------------------------------------------- */

struct judge_dims {
	uint32_t grid[3], block[3], cluster[3];
	uint64_t shared;
	bool is_cooperative;
	bool is_early;	/* a programmatic launch */
	bool is_opaque; /* it may order other things in other ways than a launch does */
	CUstream stream;
	/* It is a node of a graph, which is launched in that stream: nodes copy its memory. NULL:
	 * the stream does. */
	struct judge_nodes *nodes;
};

/* The launch may be taken; params and extra as cuLaunchKernel has them. */
void judge_before_launch(const void *handle, const struct judge_dims *d, void **params,
			 void **extra);
/* Before anything else that this thread does: --judge=verify copies what its last launch left. */
void judge_finish(void);
/* A graph was launched. */
void judge_launched_otherwise(void);
/* The program has more than one stream: copies are made twice, and must be the same. */
void judge_note_stream(void);
bool judge_has_streams(void);

/* A kernel node of a graph that is about to be launched. With the lock held. NULL: it isn't taken;
 * else it is to be put when the graph has been launched and its room's event recorded, or
 * untaken, with the lock held. */
struct judge_job *judge_take_node(struct judge_function *f, const struct judge_dims *d,
				  void **params, void **extra,
				  const struct race_judge_order *order);
void judge_untake(struct judge_job *j);

/* ---- nodes.c: a graph's nodes ---------------------------------------------------------- */

/* What a node does. OPAQUE: it may order anything. */
enum judge_node_kind { JUDGE_NODE_NOTHING, JUDGE_NODE_KERNEL, JUDGE_NODE_CALL, JUDGE_NODE_OPAQUE };
struct judge_node {
	enum judge_node_kind kind;
	CUgraph graph; /* that it is in: a child, maybe */
	CUgraphNode node;
	const uint32_t *before; /* indexes of nodes that it directly comes after, all smaller */
	uint32_t nbefore;
	struct race_judge_operation call;
	struct race_judge_order order;
};

/* All nodes of a graph and its children, in an order in which they may run. */
struct judge_nodes {
	struct judge_node *v;
	uint32_t n;
	bool is_opaque; /* some are */
	/* For copies that come before v[at]: the last, after which it comes; NULL: none yet. */
	uint32_t at;
	CUgraphNode last;
	CUcontext ctx;
	uint32_t *edges; /* of all */
	uint32_t nedges;
};
/* False: it can't be followed. */
bool judge_nodes_read(struct judge_nodes *n, CUgraph g);
void judge_nodes_free(struct judge_nodes *n);
/* Another node, after what v[at] comes after, that copies; v[at] comes after it. */
bool judge_nodes_copy(struct judge_nodes *n, CUdeviceptr to, CUdeviceptr from, uint64_t bytes);

/* ---- graph.c: graphs that are launched ---------------------------------------------------- */

/* The driver's functions for graphs. Without them they aren't followed. */
#define JUDGE_GRAPHS(F)                                                                            \
	F(clone, cuGraphClone, (CUgraph *, CUgraph))                                               \
	F(destroy, cuGraphDestroy, (CUgraph))                                                      \
	F(find_in_clone, cuGraphNodeFindInClone, (CUgraphNode *, CUgraphNode, CUgraph))            \
	F(get_nodes, cuGraphGetNodes, (CUgraph, CUgraphNode *, size_t *))                          \
	F(get_edges, cuGraphGetEdges, (CUgraph, CUgraphNode *, CUgraphNode *, size_t *))           \
	F(get_type, cuGraphNodeGetType, (CUgraphNode, CUgraphNodeType *))                          \
	F(get_child, cuGraphChildGraphNodeGetGraph, (CUgraphNode, CUgraph *))                      \
	F(get_kernel, cuGraphKernelNodeGetParams_v2, (CUgraphNode, CUDA_KERNEL_NODE_PARAMS *))     \
	F(set_kernel, cuGraphKernelNodeSetParams_v2,                                               \
	  (CUgraphNode, const CUDA_KERNEL_NODE_PARAMS *))                                          \
	F(get_attribute, cuGraphKernelNodeGetAttribute,                                            \
	  (CUgraphNode, CUlaunchAttributeID, CUlaunchAttributeValue *))                            \
	F(get_copy, cuGraphMemcpyNodeGetParams, (CUgraphNode, CUDA_MEMCPY3D *))                    \
	F(set_copy, cuGraphMemcpyNodeSetParams, (CUgraphNode, const CUDA_MEMCPY3D *))              \
	F(get_set, cuGraphMemsetNodeGetParams, (CUgraphNode, CUDA_MEMSET_NODE_PARAMS *))           \
	F(set_set, cuGraphMemsetNodeSetParams, (CUgraphNode, const CUDA_MEMSET_NODE_PARAMS *))     \
	F(add_copy, cuGraphAddMemcpyNode,                                                          \
	  (CUgraphNode *, CUgraph, const CUgraphNode *, size_t, const CUDA_MEMCPY3D *, CUcontext)) \
	F(add_edges, cuGraphAddDependencies,                                                       \
	  (CUgraph, const CUgraphNode *, const CUgraphNode *, size_t))                             \
	F(instantiate, cuGraphInstantiateWithFlags, (CUgraphExec *, CUgraph, unsigned long long))  \
	F(exec_destroy, cuGraphExecDestroy, (CUgraphExec))                                         \
	F(stream_wait, cuStreamWaitEvent, (CUstream, CUevent, unsigned))                           \
	F(event_destroy, cuEventDestroy_v2, (CUevent))                                             \
	F(func_name, cuFuncGetName, (const char **, CUfunction))

struct judge_graphs {
#define F(field, symbol, params) CUresult(*field) params;
	JUDGE_GRAPHS(F)
#undef F
};
extern struct judge_graphs judge_graphs;

/* An executable graph was made of a graph, was changed, or is about to go. */
void judge_graph_made(CUgraphExec exec, CUgraph g);
void judge_graph_gone(CUgraphExec exec);
void judge_graph_kernel(CUgraphExec exec, CUgraphNode n, const CUDA_KERNEL_NODE_PARAMS *p);
void judge_graph_copy(CUgraphExec exec, CUgraphNode n, const CUDA_MEMCPY3D *p);
void judge_graph_set(CUgraphExec exec, CUgraphNode n, const CUDA_MEMSET_NODE_PARAMS *p);
/* ... as cuGraphExecUpdate does it; in a way that isn't followed. */
void judge_graph_updated(CUgraphExec exec, CUgraph g);
void judge_graph_lost(CUgraphExec exec);
/* It is about to be launched. True: one that does the same and copies was, with this result. */
bool judge_graph_launch(CUgraphExec exec, CUstream s, CUresult (*launch)(CUgraphExec, CUstream),
			CUresult *r);

/* ---- freed.c: memory of pools ---------------------------------------------------- */

/* The program frees, or has got, memory in the order of a stream. */
void judge_memory_freed(CUdeviceptr at);
void judge_memory_got(CUdeviceptr at);
/* Does the program have the allocation that begins here no more? */
bool judge_memory_is_freed(CUdeviceptr at);

/* ---- allocated.c: the latest allocations ------------------------------------------- */

#define JUDGE_ALLOCATIONS 256u
struct judge_allocation {
	CUdeviceptr at;
	uint64_t bytes;
	CUcontext ctx; /* that was current */
};
/* The program has got memory of the device. */
void judge_allocated(CUdeviceptr at, uint64_t bytes);
/* Those of a context, the latest first, JUDGE_ALLOCATIONS at most: their number. Some may have been
 * freed since. */
uint32_t judge_allocations(CUcontext ctx, struct judge_allocation *out);

/* ---- dims.c: copies of several dimensions ----------------------------------------------- */

/* Without their order. */
struct race_judge_operation judge_copy_2d(const CUDA_MEMCPY2D *c);
struct race_judge_operation judge_copy_3d(const CUDA_MEMCPY3D *c);
struct race_judge_operation judge_copy_peer(const CUDA_MEMCPY3D_PEER *c);
/* The address of ours of an array's byte, counted row by row; 0: it has none. */
uint64_t judge_array_byte(CUarray a, size_t offset);

/* ---- maps.c: tensor maps -------------------------------------------------------- */

#define JUDGE_TENSORS 32u

/* The driver has made one, as asked. */
void judge_map_add(const void *map, const struct race_judge_map *m);
/* The tensors of those that are known among the parameters, and of those that were made last:
 * addresses, JUDGE_TENSORS at most; their number. */
uint32_t judge_maps_find(const uint8_t *params, uint32_t bytes, CUdeviceptr *out);
uint32_t judge_maps_last(CUdeviceptr *out);
/* Hands over those that the judge hasn't got. False: it is gone. */
bool judge_maps_send(int fd);

struct judge_range;

/* ---- textures.c: texture and surface objects ---------------------------------------------- */

/* The driver has made one; tex NULL: a surface. is_whole: nothing else describes it. */
void judge_texture_add(uint64_t handle, const CUDA_RESOURCE_DESC *res, const CUDA_TEXTURE_DESC *tex,
		       bool is_whole);
/* It is about to go; so is an array, and a context (NULL: all) with all that it has. */
void judge_texture_remove(uint64_t handle, bool is_surface);
void judge_array_remove(CUarray a);
void judge_textures_forget(CUcontext ctx);
/* Those of a context, RACE_JUDGE_TEXTURES at most: their number; UINT32_MAX: there are more. */
uint32_t judge_textures_find(CUcontext ctx, struct race_judge_texture *out);
/* The array that has this address of ours; the one that the program knows so (0: it has none). */
bool judge_array_at(CUdeviceptr addr, struct judge_range *out);
struct race_judge_place judge_array_place(CUarray a);

/* ---- operations.c: what the API orders ---------------------------------------------------- */

/* A launch is about to be submitted. is_early: it may begin before the one before it has ended. */
void judge_order_launch(struct race_judge_order *o, CUstream s, bool is_early);
/* The same of one that isn't judged. is_opaque: it may have ordered anything. What it has changed,
 * as others like it do: see agent_order_effect. */
uint32_t judge_order_pass(CUstream s, bool is_opaque);
uint32_t judge_order_effect(CUstream s, bool is_opaque);
/* A graph is about to be submitted: each of its nodes gets its order. `last`: of the same graph's
 * launch before, after which this one comes, wherever it is; becomes this one's. */
void judge_order_graph(struct judge_nodes *n, CUstream s, struct agent_order_last *last);

/* ---- rest.c: launches that aren't wanted --------------------------------------------------- */

/* Such a launch is this one, and `most` that follow; changes: agent_order_changes, before anything
 * was found out. Returns how many the one before it has had. */
uint64_t judge_rest_note(const void *handle, const struct judge_dims *d, uint32_t changes,
			 uint32_t effect, uint16_t most);
/* Is nothing wanted of this launch? Its effect on the order is noted then. */
bool judge_is_at_rest(const void *handle, const struct judge_dims *d);
/* So many were passed in this thread that weren't counted. */
uint64_t judge_rest_counted(void);

/* ---- answer.c: launches on their way --------------------------------------------- */

/* Bytes of the program, and where they were copied to. */
struct judge_range {
	CUdeviceptr base, copy;
	CUdeviceptr again; /* a second copy, made after the first; 0: none */
	CUdeviceptr after; /* one that was made after the launch; 0: none */
	uint64_t bytes;
	uint32_t kind;	/* as in struct race_judge_memory */
	CUarray array;	/* whose texels these are, and base an address of ours; NULL: memory */
	uint64_t width; /* of an array: bytes of a row */
	uint64_t height, depth;
};
#define JUDGE_RANGES 512u

/* Memory for the copies of one launch; kept for others. */
struct judge_room {
	struct judge_room *next;
	CUcontext ctx;
	CUdeviceptr at;
	uint64_t bytes;
	CUevent event; /* after the copies */
	bool is_used;
};

struct judge_job {
	struct judge_job *next;
	struct judge_function *f;
	unsigned shape; /* index of it */
	bool is_sent;	/* the judge has it */
	struct judge_room *room;
	CUcontext ctx;
	struct race_judge_launch head;
	uint8_t *params;
	struct race_judge_texture *textures;
	bool is_twice;	 /* each range was copied twice */
	CUstream stream; /* in which its memory is to be copied after it */
	/* Nothing in the kernel orders its reads of what others write beside it: each may find what
	 * was there before or after, so memory that changed while it was copied is as good. */
	bool may_mix;
	struct judge_range *ranges;
	uint32_t nranges;
};

/* Is there a place for another one? */
bool judge_has_place(void);
/* Takes the job, which judge_job_free will free. */
void judge_job_put(struct judge_job *j);
void judge_job_free(struct judge_job *j);
/* An operation that was submitted; it is copied. */
void judge_operation_put(const struct race_judge_operation *op);
/* Time of all trials so far. */
uint64_t judge_spent_ns(void);
/* A context, or all (NULL), is about to go: waits for its jobs, for a while. */
void judge_wait(CUcontext ctx);
/* rooms.c: the rooms of a context are gone, or (NULL) all. */
void judge_rooms_forget(CUcontext ctx);
/* With the lock of code.c: the smallest that is free, or a new one; its user takes is_used back, or
 * gives it to judge_room_put. NULL: there is no memory for it. */
struct judge_room *judge_room_get(CUcontext ctx, uint64_t need);
/* answer.c, code.c: what is known of contexts may be wrong. */
void judge_ways_forget(void);
void judge_codes_forget(void);
void judge_room_put(struct judge_room *r);

/* What memory this address lies in, asked of the driver now. False: none. */
bool judge_memory_at(CUdeviceptr addr, struct judge_range *out);

#endif
