/*
 * agent.h - inside src/agent: what its files share.
 *
 * The agent lives in the user's process. Rules for every file: it never exits, aborts or changes a
 * result; what fails is noted, and the agent does without it. It takes `agent.lock` only around its
 * own tables and never while it calls the driver or CUPTI: CUPTI's callbacks reach us with the
 * driver's locks held. Where one thread must wait for another's driver calls (a context being set
 * up, a module being patched) it waits on `agent.changed`, with a limit, and only inside API
 * callbacks, where CUPTI holds no lock of the driver; resource callbacks never wait.
 */
#ifndef COLLIDER_AGENT_H
#define COLLIDER_AGENT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda.h>

#include "race/gap.h"
#include "race/plain.h"
#include "race/file/shm_write.h"

/* ---- driver.c: the driver's functions, found at run time --------------- */

/* Those that the agent requires: field, symbol. */
#define AGENT_DRIVER_NEEDED(F)                                                                     \
	F(mem_alloc, cuMemAlloc_v2)                                                                \
	F(memset_d8_async, cuMemsetD8Async)                                                        \
	F(memcpy_htod_async, cuMemcpyHtoDAsync_v2)                                                 \
	F(memcpy_dtoh_async, cuMemcpyDtoHAsync_v2)                                                 \
	F(mem_host_register, cuMemHostRegister_v2)                                                 \
	F(mem_host_get_device_pointer, cuMemHostGetDevicePointer_v2)                               \
	F(stream_create, cuStreamCreate)                                                           \
	F(stream_synchronize, cuStreamSynchronize)                                                 \
	F(stream_is_capturing, cuStreamIsCapturing)                                                \
	F(ctx_get_device, cuCtxGetDevice)                                                          \
	F(ctx_push_current, cuCtxPushCurrent_v2)                                                   \
	F(ctx_pop_current, cuCtxPopCurrent_v2)                                                     \
	F(ctx_synchronize, cuCtxSynchronize)                                                       \
	F(device_get_name, cuDeviceGetName)                                                        \
	F(module_get_global, cuModuleGetGlobal_v2)                                                 \
	F(thread_exchange_capture_mode, cuThreadExchangeStreamCaptureMode)                         \
	F(event_create, cuEventCreate)                                                             \
	F(event_query, cuEventQuery)

struct agent_driver {
#define F(field, symbol) __typeof__(symbol) *field;
	AGENT_DRIVER_NEEDED(F)
#undef F
	/* Newer than the oldest supported driver (NULL there). */
	CUresult (*library_get_module)(CUmodule *, CUlibrary);			  /* 12.0 */
	CUresult (*kernel_get_function)(CUfunction *, CUkernel);		  /* 12.0 */
	CUresult (*func_get_module)(CUmodule *, CUfunction);			  /* 11.0 */
	CUresult (*func_load)(CUfunction);					  /* 12.4 */
	CUresult (*module_get_function_count)(unsigned *, CUmodule);		  /* 12.4 */
	CUresult (*module_enumerate_functions)(CUfunction *, unsigned, CUmodule); /* 12.4 */
	CUresult (*kernel_get_library)(CUlibrary *, CUkernel);			  /* 12.5 */
	CUresult (*ctx_record_event)(CUcontext, CUevent);			  /* 12.5 */
	CUresult (*graph_get_nodes)(CUgraph, CUgraphNode *, size_t *);		  /* 10.0 */
	CUresult (*graph_node_get_type)(CUgraphNode, CUgraphNodeType *);	  /* 10.0 */
	CUresult (*graph_child_get_graph)(CUgraphNode, CUgraph *);		  /* 10.0 */
	CUresult (*graph_dependencies)(CUgraphNode, CUgraphNode *, size_t *);	  /* 10.0 */
	CUresult (*graph_kernel_params)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS *);  /* 12.0 */
	CUresult (*func_get_name)(const char **, CUfunction);			  /* 12.3 */
	CUresult (*kernel_get_name)(const char **, CUkernel);			  /* 12.3 */
	/* For copies.c, in all supported drivers; without them copies go unchecked. */
	CUresult (*event_record)(CUevent, CUstream);
	CUresult (*stream_get_ctx)(CUstream, CUcontext *);
	CUresult (*pointer_get_attribute)(void *, CUpointer_attribute, CUdeviceptr);
	/* For proven.c, in all supported drivers; without it every launch is checked. */
	CUresult (*pointer_get_attributes)(unsigned, CUpointer_attribute *, void **, CUdeviceptr);
	CUresult (*mem_host_alloc)(void **, size_t, unsigned);
	/* For hold.c, in all supported drivers; without them streams keep their order. */
	CUresult (*module_load_data)(CUmodule *, const void *);
	CUresult (*module_get_function)(CUfunction *, CUmodule, const char *);
	CUresult (*event_destroy)(CUevent);
	/* For choice.c, in all supported drivers; without it --budget has no end. */
	CUresult (*event_elapsed_time)(float *, CUevent, CUevent);
	CUresult (*stream_wait_event)(CUstream, CUevent, unsigned);
	CUresult (*memset_d32_async)(CUdeviceptr, unsigned, size_t, CUstream);
	/* For history.c, from 11.2 on; without them hirace checks nothing. */
	CUresult (*device_get_attribute)(int *, CUdevice_attribute, CUdevice);
	CUresult (*mem_get_info)(size_t *, size_t *);
	CUresult (*mem_address_reserve)(CUdeviceptr *, size_t, size_t, CUdeviceptr,
					unsigned long long);
	CUresult (*mem_create)(CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *,
			       unsigned long long);
	CUresult (*mem_release)(CUmemGenericAllocationHandle);
	CUresult (*mem_map)(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle,
			    unsigned long long);
	CUresult (*mem_unmap)(CUdeviceptr, size_t);
	CUresult (*mem_set_access)(CUdeviceptr, size_t, const CUmemAccessDesc *, size_t);
	/* For watch.c, with those for history.c; without them each GPU has its own watchpoints. */
	CUresult (*device_get_count)(int *);
	CUresult (*device_get_p2p_attribute)(int *, CUdevice_P2PAttribute, CUdevice, CUdevice);
	CUresult (*launch_kernel)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
				  unsigned, unsigned, CUstream, void **, void **);
};

extern struct agent_driver agent_driver;

/* Fills agent_driver on the first call; false (noted once) when the driver lacks something. */
bool agent_driver_load(void);

/*
 * Between the two, driver calls of this thread are the agent's own: callbacks they cause are
 * ignored, and they are legal while another stream is being captured.
 */
struct agent_guard {
	CUstreamCaptureMode mode;
	bool is_swapped;
};
void agent_enter(struct agent_guard *g);
/* For calls that are legal anyway: it makes none of its own. */
void agent_enter_safe(struct agent_guard *g);
void agent_leave(struct agent_guard *g);
bool agent_is_inside(void);

/* ---- agent.c ------------------------------------------------------------ */

struct agent {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* a context or module left its transient state */
	int pid;		/* 0: not running (in a forked child too) */
	uint32_t captures;	/* streams being captured; atomic */
	uint64_t forgotten;	/* how often handles were, so what threads keep is old; atomic */
	int is_counted;		/* in race_shm.nprocesses; atomic */
	bool has_streams;	/* the program has made one: kernels may overlap; atomic */
};
extern struct agent agent;

/* There was no memory for an entry of our tables: notes the consequence, once for each place. The
 * agent goes on without the entry. */
#define AGENT_NO_MEMORY(cost)                                                                      \
	do {                                                                                       \
		static int was_said;                                                               \
		if (!__atomic_exchange_n(&was_said, 1, __ATOMIC_RELAXED))                          \
			race_shm_gap_note(RACE_GAP_FORGOTTEN,                                      \
					  "no memory for the checks' tables; " cost);              \
	} while (0)

void agent_lock(void);
void agent_unlock(void);
/* Waits for agent.changed at most until `deadline` of CLOCK_MONOTONIC; the lock is held. False:
 * the time is up. */
bool agent_wait(const struct timespec *deadline);
/* This process uses CUDA: counted once. */
void agent_count_process(void);

/* ---- sites.c ------------------------------------------------------------ */

/* Copies the site tables of a loaded cubin to the file, each once. No driver calls. */
void agent_sites_collect(const void *image, size_t size);
/* May the blocks of the images with this order table be shuffled? (the strictest of all seen) */
enum race_shuffle_verdict agent_shuffle_of(uint32_t id);

/* ---- context.c ---------------------------------------------------------- */

enum agent_ctx_state { AGENT_CTX_NEW, AGENT_CTX_BUILDING, AGENT_CTX_READY, AGENT_CTX_FAILED };

struct agent_context; /* never freed, so that a stale pointer stays harmless */

/* The context's entry; set up on first use, so it must be current. NULL: no memory. */
struct agent_context *agent_context_get(CUcontext handle);
/* A context was created: the entry of an earlier one with this address is invalid. */
void agent_context_created(CUcontext handle);
/* Last snapshot before the context is destroyed; `handle` NULL: all contexts of the process. */
void agent_context_finish(CUcontext handle);
/* The same for all contexts of a device (reset or release of its primary context). */
void agent_context_finish_device(CUdevice device);
/* Before its destruction: finish and forget. */
void agent_context_close(CUcontext handle);
/* After fork, in the child: the parent's contexts are not ours; the lock is held. */
void agent_context_forget_all(void);

uint64_t agent_context_rt(const struct agent_context *c); /* 0: could not be set up */
struct race_region *agent_context_region(const struct agent_context *c);
CUstream agent_context_stream(const struct agent_context *c);
struct agent_copies *agent_context_copies(const struct agent_context *c); /* NULL: none */
struct agent_holds *agent_context_holds(const struct agent_context *c);	  /* NULL: none */
struct agent_choice *agent_context_choice(const struct agent_context *c); /* NULL: all checked */
/* history.c's, as a list; NULL: no module of a detector with words was seen. */
struct agent_history *agent_context_history(const struct agent_context *c);
/* That of one detector, set up now: the context is current, inside a guard. */
struct agent_history *agent_context_history_make(struct agent_context *c, enum race_words_id id);
/* The program has got memory; the first calls are kept for a history that comes later. */
void agent_context_memory(struct agent_context *c, uint64_t at, uint64_t bytes);
/* Something may order threads of kernels unseen: RACE_HISTORY_*_ORDERS. */
void agent_context_unseen(struct agent_context *c, uint32_t who);
/* In all contexts, also those to come. */
void agent_context_unseen_all(uint32_t who);
/* The same of one detector. */
void agent_context_unseen_by(struct agent_context *c, uint32_t who, enum race_words_id id);
/* The struct race_watch_table of the context, which is current, inside a guard. */
uint64_t agent_context_watch(struct agent_context *c);
/* How many library loads this context has processed; module.c maintains it, under the lock. */
uint64_t *agent_context_libraries(struct agent_context *c);
/* A launch begins (kernels > 0 or graph): the last snapshot is no longer exact. */
void agent_context_launch(struct agent_context *c);
uint64_t agent_context_seq(const struct agent_context *c);
/*
 * After a synchronising call that returned `result`. `seq` is agent_context_seq before a call
 * that waited for the whole context, else UINT64_MAX.
 */
void agent_context_synced(struct agent_context *c, CUresult result, uint64_t seq);

/* ---- module.c ----------------------------------------------------------- */

enum agent_module_state {
	AGENT_MODULE_BUSY,
	AGENT_MODULE_PATCHED,
	AGENT_MODULE_PLAIN,  /* not instrumented */
	AGENT_MODULE_FAILED, /* instrumented, but runs unchecked; noted */
	AGENT_MODULE_UNKNOWN
};

/* Writes the knobs of a module of the current context; `is_fresh`: it was loaded just now. */
enum agent_module_state agent_module_patch(struct agent_context *c, CUmodule module, bool is_fresh);
/* The same for a library's module in the current context. */
enum agent_module_state agent_library_patch(struct agent_context *c, CUlibrary library);
/* All libraries that this context has not seen. */
void agent_library_patch_all(struct agent_context *c);
void agent_library_add(CUlibrary library);
void agent_kernel_add(CUkernel kernel, CUlibrary library);
/* Was it added? (A CUkernel may be passed as a CUfunction.) */
bool agent_kernel_is_known(CUkernel kernel);
/* Writes the runtime blocks of all patched modules again, with the checks as agent_choice_is_off
 * says; inside a guard, the context idle. */
void agent_module_switch(struct agent_context *c);
/* The state of the module that `f` (a CUfunction or a CUkernel) belongs to, patched if needed. */
enum agent_module_state agent_function_patch(struct agent_context *c, CUfunction f);
/* The module that `f` (either kind) belongs to in the context, once it was patched; or NULL. */
CUmodule agent_function_module(struct agent_context *c, CUfunction f);
/* Loads all kernels of that module, if it has checks and few enough kernels; once. */
void agent_module_load_kernels(struct agent_context *c, CUfunction f);
/* Unloading: the handles may be reused for something else. One of the two is NULL. */
void agent_module_forget(CUmodule module, CUlibrary library);
/* After fork, in the child; the lock is held. */
void agent_module_reset(void);

/* ---- launch.c ----------------------------------------------------------- */

struct agent_kernel; /* one (name, instrumented); never freed */

/* What one call launches, with an answer for each kernel. */
struct agent_launch_set {
	struct agent_kernel **kernel;
	struct race_choice_answer *answer;
	size_t n;
};

/* Before a launch: makes sure that the module is patched. `name` may be NULL. */
struct agent_kernel *agent_launch_prepare(struct agent_context *c, CUfunction f, const char *name);
/* Before a launch of `k` in `stream` (agent_own_stream's), which isn't captured: the driver loads a
 * kernel at its first launch, which takes longer than many a kernel runs; two that are launched one
 * after the other in two streams would never meet. So where kernels may overlap at all, those of
 * its module are loaded at once. */
void agent_launch_load(struct agent_context *c, struct agent_kernel *k, CUfunction f,
		       CUstream stream);
/* At a launch: notes which call of the program makes it. */
void agent_launch_note(struct agent_kernel *k);
bool agent_kernel_is_instrumented(const struct agent_kernel *k);
/* In the shared file; NULL: not instrumented, or there was no room. */
struct race_kernel_count *agent_kernel_count(const struct agent_kernel *k);
/* The same of any kernel. */
struct race_kernel_count *agent_kernel_chunk(const struct agent_kernel *k);
const char *agent_kernel_name(const struct agent_kernel *k); /* as the compiler names it */
/* After `n` successful launches. */
void agent_launch_count(struct agent_context *c, struct agent_kernel *k, uint64_t n);
/* Function handles may be reused from here on. */
void agent_launch_forget(void);
/* After fork, in the child: counters of the parent are not ours. */
void agent_launch_reset(void);
/* A graph became executable; remembers its kernels. */
void agent_graph_instantiated(struct agent_context *c, CUgraphExec exec, CUgraph graph);
void agent_graph_launched(struct agent_context *c, CUgraphExec exec);
void agent_graph_forget(CUgraphExec exec);
/* Its kernels, for choice.c; the caller frees both arrays. */
struct agent_launch_set agent_graph_set(CUgraphExec exec);
/* Its kernel nodes, as far as they are known. */
uint64_t agent_graph_kernels(CUgraphExec exec);
/* May two of its kernels run at the same time? Asked only where agent_unordered_is_on. */
bool agent_graph_has_branches(CUgraphExec exec);
/* Around its launch: waits until no other thread launches it, and gives the event that its last
 * launch left (NULL: it has none yet). False: it isn't known, or kernels of it may run more than
 * once a launch. */
bool agent_graph_begin(CUgraphExec exec, CUevent *last);
/* `last`: an event after this launch, NULL: there is none. */
void agent_graph_end(CUgraphExec exec, CUevent last);

/* ---- copies.c ------------------------------------------------------------ */

/* An asynchronous copy or fill that the program has enqueued. */
struct agent_operation {
	const char *api; /* the driver's name of the function */
	CUdeviceptr dst, src;
	size_t bytes;
	CUstream stream;
	bool is_fill;
	bool is_odd;	 /* rows, arrays, another context: only counted; the rest is not set */
	bool is_node;	 /* of a graph: the same */
	uint32_t number; /* of the context, and its device */
	int32_t device;
};

struct agent_copies; /* the buffers of one context; never freed */

/* Context current, inside a guard; `stream` is the agent's own, `from` device memory of 64 bytes
 * that can be read. NULL: copies are not checked in it. */
struct agent_copies *agent_copies_new(CUdeviceptr from, CUstream stream);
/* Reads again after the operation, before its call returns; its context is current. */
void agent_copies_after(struct agent_copies *p, CUcontext context,
			const struct agent_operation *op);
/* Compares what is complete. */
void agent_copies_poll(struct agent_copies *p);
bool agent_copies_pending(const struct agent_copies *p);
/* After fork, in the child; the lock is held. */
void agent_copies_reset(void);

/* ---- history.c: the words of detectors that have some ---------------------------- */

struct agent_history; /* a list: of one context; never freed */
struct race_history;

/* Context current, inside a guard; `stream` is the agent's own, `records` where the device sees
 * the region's. NULL: there is no memory, which is noted. */
struct agent_history *agent_history_new(CUcontext context, CUdevice device, CUstream stream,
					struct race_region *region, CUdeviceptr records,
					enum race_words_id id);
/* Puts one before the others of its context; finds that of a detector, or NULL. */
struct agent_history *agent_history_join(struct agent_history *h, struct agent_history *next);
struct agent_history *agent_history_of(struct agent_history *h, enum race_words_id id);
/* Memory for the words of shared memory without a table of its own (RACE_SCRATCH_*), once. */
void agent_history_scratch(struct agent_history *h);
/* The addresses in a module's runtime block. */
void agent_history_fill(const struct agent_history *h, struct race_history *block);
/* So many bytes more of memory whose address isn't known: variables of modules, the heap. */
void agent_history_static(uint64_t bytes);
/* Each of these does nothing for NULL. The program has got memory; it asks for some; others may
 * order threads of kernels unseen (RACE_HISTORY_*_ORDERS): agent_context_unseen's. */
void agent_history_memory(struct agent_history *h, uint64_t at, uint64_t bytes);
void agent_history_request(struct agent_history *h, uint64_t bytes);
void agent_history_unseen(struct agent_history *h, uint32_t who, enum race_words_id id);
/* Around each call that launches so many kernels, its context current. */
void agent_history_launch_begin(struct agent_history *h, uint64_t kernels);
void agent_history_launch_end(void);
/* Before and after the launch of a graph, inside those two: see race_history_key(). */
void agent_history_graph_begin(struct agent_history *h, CUgraphExec exec, CUstream stream);
void agent_history_graph_end(struct agent_history *h, CUgraphExec exec, CUstream stream);
/* Context current, inside a guard: what stepped aside goes to the region. */
void agent_history_snapshot(struct agent_history *h, struct race_region *region);
/* Has a kernel accessed some of this memory, or of the pieces that it lies in? */
bool agent_history_has_words(const struct agent_history *h, uint64_t at, uint64_t bytes);

/* Is the context idle within so many microseconds? Inside a guard, no launch under way, nothing
 * captured. */
bool agent_becomes_idle(CUcontext context, uint64_t us);
/* Takes the addresses out of a module's runtime block: it checks nothing. */
void agent_history_clear(struct race_history *block);

/* ---- choice.c: --kernel-name, --launch-skip, --launch-count, --budget ------- */

struct agent_choice; /* of one context; never freed. Each of these does nothing for NULL. */

/* NULL: all launches are checked. */
struct agent_choice *agent_choice_new(CUcontext context);
bool agent_choice_is_off(const struct agent_choice *h);
/* Around the writing of a module's block. */
void agent_choice_hold(struct agent_choice *h);
void agent_choice_release(struct agent_choice *h);
/* Around a call that launches, its context current: decides whether it is checked, and may wait for
 * the context to become idle. */
void agent_choice_begin(struct agent_context *c, struct agent_choice *h,
			struct agent_launch_set *set, CUstream stream);
void agent_choice_end(CUstream stream);

/* ---- plain.c: launches without checks, as proven or as their kernel was clean so far ------- */

/* Around a call that launches a kernel, not into a capture: says which code it runs, and counts.
 * data: CUPTI's CUpti_CallbackData; the stream is agent_own_stream's. */
void agent_plain_begin(struct agent_context *c, struct agent_kernel *k, uint32_t id,
		       const void *data, CUstream stream, bool is_programmatic);
void agent_plain_end(struct agent_kernel *k, bool is_launched);
/* A context was set up; it is about to go; a module is about to be unloaded. */
void agent_plain_context(void);
void agent_plain_context_end(struct agent_context *c);
void agent_plain_unload(void);
/* race_rt.left isn't 0. */
void agent_plain_left(void);
/* After fork, in the child; the lock is held. */
void agent_plain_reset(void);
/* For company.c. May launches be left unchecked in this run? From now on: all launches are checked;
 * something may access a launch's memory while it runs. */
bool agent_plain_is_wanted(void);
void agent_plain_end_all(void);
void agent_plain_begin_company(void);

/* ---- proven.c: a kernel's proof, as its module has it, and a launch that may keep to it ----- */

struct agent_proof {
	struct race_plain_proof head; /* flags 0: none */
	struct race_plain_pointer pointer[RACE_PLAIN_ARRAYS];
	struct race_plain_term term[RACE_PLAIN_TERMS];
	struct race_plain_own own[RACE_PLAIN_OWN_TERMS];
};
#define AGENT_PROOF_BYTES sizeof(struct agent_proof)

struct agent_launch_call {
	CUcontext context; /* current */
	CUfunction f;
	CUstream stream; /* agent_own_stream's */
	unsigned grid[3], block[3];
	void *const *params; /* NULL: not known */
	bool is_simple;	     /* by cuLaunchKernel or its like, without attributes */
	bool is_programmatic;
};

/* From the bytes of the variable; false: they are none. */
bool agent_proof_read(struct agent_proof *k, const unsigned char *text, size_t bytes);
/* What the launch needs if nothing else is beside it, with its arrays in `out`; inside a guard, the
 * launch's context current. */
enum race_plain_on agent_proven(const struct agent_proof *k, const struct agent_launch_call *l,
				struct race_plain_state *out);

/* Notes of a kernel's launches, for the proof that is made after them. */
struct agent_noted; /* of one kernel; never freed */
struct race_noted_kernel;

/* Is code instrumented as it is loaded, and kept? */
bool agent_notes_launches(void);
/* Then, for a kernel whose module asks for it; NULL: no memory. */
struct agent_noted *agent_noted_new(const struct race_noted_kernel *of);
/* By the one thread that launches. */
void agent_noted_launch(struct agent_noted *n, const struct agent_launch_call *l);

/* ---- hold.c: --shuffle-streams --------------------------------------------- */

struct agent_holds; /* of one context; never freed */

extern const char agent_hold_ptx[]; /* hold.ptx */

/* Context current, inside a guard. NULL: not requested, or not possible (noted). */
struct agent_holds *agent_holds_new(struct race_region *region);
/* Before a launch on `stream`, its context current: may enqueue a wait before it. why: the reason
 * it may not be held, or RACE_HOLD_SKIPS. */
void agent_hold(struct agent_holds *h, CUstream stream, enum race_hold_skip why);
/* After fork, in the child; the lock is held. */
void agent_holds_reset(void);

/* ---- watch.c: watchpoints that several GPUs share -------------------------- */

/* The context of this device is current, inside a guard; `number` and `records` are those of its
 * region. The table that it is to use with other devices, or 0; is_alone: there are others. */
uint64_t agent_watch_join(CUdevice device, uint32_t number, uint64_t records, CUstream stream,
			  bool *is_alone);
/* The same before it is destroyed. True: the others must do without the table, too. */
bool agent_watch_leave(CUdevice device, uint32_t number, CUstream stream);
/* After fork, in the child. */
void agent_watch_reset(void);

/* ---- subscribe.c --------------------------------------------------------- */

/* Finds what to listen to, and subscribes; returns the resulting state. */
enum race_agent_state agent_subscribe(void);

/* ---- hosthalf.c: for checks in host code (race/file/host.h) -------------------- */

/* Calls `enable` for each driver function that must be seen; none without the host half. */
typedef void agent_enable_fn(void *arg, uint32_t id);
void agent_host_enable(agent_enable_fn *enable, void *arg);
/* At entry and exit of driver functions; the data is CUPTI's CUpti_CallbackData. */
void agent_host_call(uint32_t id, const void *data);
/* After fork, in the child; the lock is held. */
void agent_host_forget(void);

/* ---- memory.c: what the program allocates -------------------------------- */

/* invalid.c: the driver has refused a launch; NULL: of no known kernel. */
void agent_launch_refused(const char *kernel, CUresult r);
/* The driver can't load code of a library. */
void agent_load_refused(CUresult r);
/* The runtime's calls are heard, too. */
void agent_runtime_heard(void);
/* As agent_host_enable and agent_host_call, for functions of the runtime. */
void agent_runtime_enable(agent_enable_fn *enable, void *arg);
void agent_runtime_call(const void *data);
/* As agent_host_enable and agent_host_call. */
void agent_plain_enable(agent_enable_fn *enable, void *arg);
void agent_plain_call(uint32_t id, const void *data);
void agent_memory_enable(agent_enable_fn *enable, void *arg);
void agent_memory_call(uint32_t id, const void *data);
/* Is there managed memory, which kernels of several contexts may access? */
bool agent_memory_is_shared(void);
/* A kernel has accessed memory that host code shares, by the words of a detector: looked at until
 * one has, inside a guard. */
void agent_memory_look(struct agent_history *h);
/* After fork, in the child. */
void agent_memory_reset(void);

/* unordered.c: `n` launches that were accepted by a stream. */
struct agent_launched {
	CUstream stream;
	CUcontext context;
	uint64_t n;
	/* It may begin before what it comes after has ended; or some of them run at a time. */
	bool is_overlapping;
};
void agent_unordered_launch(const struct agent_context *c, const struct agent_kernel *k,
			    const struct agent_launched *l);
/* As agent_host_enable and agent_host_call. */
bool agent_unordered_is_on(void);
/* May two kernels of the graph run at the same time? Inside a guard. */
bool agent_has_branches(CUgraph graph);
void agent_unordered_enable(agent_enable_fn *enable, void *arg);
void agent_unordered_call(uint32_t id, const void *data);
void agent_unordered_reset(void);

#endif
