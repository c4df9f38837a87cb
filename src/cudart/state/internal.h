/*
 * internal.h - inside src/cudart: the state of the process, shared by its files.
 *
 * state/ (this folder), under the runtime's entry points and the driver's:
 *   state.c    start, options, errors, faults      handle.c   which handles are alive
 *   error.c    names and texts of errors           refuse.c   what is not there
 *   memory.c, pool.c, array.c  allocations         copy.c     copies and fills
 *   stream.c, event.c          chains of work      threads.c  what orders host threads
 *   image.c, library.c         modules             launch.c   checks and parameters of launches
 *   collider.c  the file of `collider run`         history.c, reserve.c  tables of detectors
 * graph/   graphs as data, nodes, executable graphs, capture
 * api/     the runtime's entry points, which only translate
 *
 * Every stream-like thing is expressed by the dependencies given to cpu_submit; the machine knows
 * neither streams nor events. One lock guards all tables; it is never held while something waits
 * for the machine or calls the program.
 *
 * Files named pt_*.c are compiled twice: as they are, and with CUDA_API_PER_THREAD_DEFAULT_STREAM,
 * with which the toolkit's header renames the entry points to *_ptsz and *_ptds. They contain only
 * entry points that have such a twin (the linker would complain about others), and resolve stream 0
 * with RT_PER_THREAD.
 */
#ifndef COLLIDER_CUDART_INTERNAL_H
#define COLLIDER_CUDART_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

/* The public functions have default visibility in a library that hides everything else. */
#pragma GCC visibility push(default)
#include <cuda_runtime_api.h>
/* From <cuda_profiler_api.h>, which a toolkit installed from wheels lacks. */
cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);
#pragma GCC visibility pop

#include "cpu/cpu.h"
#include "cudart/cudart.h"

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define RT_PER_THREAD true
#else
#define RT_PER_THREAD false
#endif

struct rt_stream;
struct rt_event;
struct rt_capture;
struct rt_node;
struct rt_kern;

/* ---- state.c: the process ------------------------------------------------- */

struct rt_device {
	struct rt_stream *legacy;  /* the default stream */
	struct rt_stream *streams; /* all others, by rt_stream.next; ended ones with work too */
	size_t nended, prune_at;   /* that were destroyed; so many are looked at for such to free */
	unsigned flags;		   /* cudaSetDeviceFlags */
	bool is_fault_told;
	size_t stack_limit, heap_limit, fifo_limit, l2_limit, fetch_limit;
	cudaMemPool_t default_pool, pool;
	bool peer[RT_DEVICES]; /* enabled towards */
};

struct rt_state {
	pthread_mutex_t lock; /* guards all that follows; see rt_lock */
	struct cpu_machine *m;
	unsigned ndevices;
	struct rt_device dev[RT_DEVICES];
	struct cpu_options options;
	bool has_detectors; /* modules get the checks of `detectors`, no others */
	unsigned detectors;
	bool all_loads;		      /* modules get the checks of --all-loads */
	bool stages_copies;	      /* --host-copies=staged */
	const char *variable;	      /* modules get checks of these variables only; NULL: of all */
	bool is_forked;		      /* the machine belongs to the parent process */
	_Atomic uint32_t next_stream; /* ids */
	_Atomic uint32_t captures;    /* under way, to skip the checks when there is none */
};
extern struct rt_state rt;

/* The state of each host thread. */
struct rt_thread {
	unsigned device;
	cudaError_t last;
	enum cudaStreamCaptureMode mode; /* of cudaThreadExchangeStreamCaptureMode */
	bool is_host_fn;		 /* runs a host function: no CUDA calls from here */
	struct rt_stream *per_thread[RT_DEVICES];
};
struct rt_thread *rt_thread(void);
/* From now on the thread's default streams end with it. */
void rt_thread_watch(void);

static inline void rt_lock(void)
{
	pthread_mutex_lock(&rt.lock);
}
static inline void rt_unlock(void)
{
	pthread_mutex_unlock(&rt.lock);
}

/*
 * Makes the machine at the first call. Returns what every later call of the program must return:
 * cudaErrorInitializationError in a forked child, the sticky fault of the current device, or
 * cudaSuccess. rt_enter_any doesn't look at faults.
 */
cudaError_t rt_enter(void);
cudaError_t rt_enter_any(void);
/* The device's sticky fault as an error code; printed on stderr the first time. */
cudaError_t rt_device_error(unsigned device);
/* The name of a code and the text that CUDA prints for it; NULL: there is no such code. */
const char *rt_error_name(cudaError_t e);
const char *rt_error_text(cudaError_t e);
/* cpu_fault_kind to CUDA's code. */
cudaError_t rt_fault_error(enum cpu_fault_kind kind);
/* One line "collider: ..." on stderr. */
void rt_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- device.c ----------------------------------------------------------------- */

/* At the start, before any other thread can see the device. */
void rt_device_init(unsigned device);
/* The value of an attribute; false: there is no such attribute. */
bool rt_device_attr(enum cudaDeviceAttr attr, unsigned device, int *value);

/* ---- handle.c: handles ------------------------------------------------------ */

/* Handles are addresses of our structs; one that is not in the table is refused, not
 * dereferenced. */
enum rt_handle {
	RT_STREAM = 1,
	RT_EVENT,
	RT_GRAPH,
	RT_NODE,
	RT_EXEC,
	RT_POOL,
	RT_USER_OBJECT,
	RT_LIBRARY, /* link's */
	RT_KERNEL,  /* link's */
	RT_ARRAY
};
/* All with the lock held. */
void rt_handle_add(const void *p, enum rt_handle kind);
void rt_handle_remove(const void *p);
bool rt_handle_is(const void *p, enum rt_handle kind);

/* ---- stream.c ------------------------------------------------------------------ */

struct rt_stream {
	struct rt_stream *next; /* of the device */
	unsigned device;
	uint32_t id;	   /* cpu_work.stream; the legacy stream of device d is d + 1 */
	uint64_t launches; /* of kernels, for --shuffle-streams */
	unsigned flags;
	int priority;
	bool is_legacy, is_per_thread;
	bool is_ended;	     /* destroyed; stays until its work has ended */
	struct cpu_op *last; /* the newest operation, or NULL */
	struct rt_capture *capture;
	/* capture.c: the nodes that the next captured operation depends on */
	BASE_VEC(struct rt_node *) front;
	struct cudaAccessPolicyWindow window;
	int sync_policy, domain;
};

/* One operation for a stream. */
struct rt_work {
	struct cpu_work cpu; /* device, stream and priority are filled in by rt_stream_submit */
	/* KERNEL: the program's name for it (host function or cudaKernel_t), for graphs */
	const void *func;
	struct rt_kern *kern;	       /* KERNEL: it counts the launch (link.h) */
	uint32_t param_bytes;	       /* KERNEL: of launch.params */
	enum cudaMemcpyKind copy_kind; /* COPY, for graphs */
};

/*
 * The stream of a handle: 0 is the calling thread's default stream, legacy or per thread. Lock
 * held. NULL: no such stream.
 */
struct rt_stream *rt_stream_find(cudaStream_t s, bool is_per_thread);
/*
 * Submits work to a stream: after all earlier work of the stream, and with the legacy stream's
 * implicit joins. When the stream is captured, adds a node to the graph instead (*out is NULL
 * then). Lock not held. `out` (may be NULL) gets a reference of the caller.
 */
cudaError_t rt_stream_submit(cudaStream_t s, bool is_per_thread, const struct rt_work *w,
			     struct cpu_op **out);
/* Is the stream captured now (calls that would wait fail)? Lock not held. */
bool rt_stream_is_captured(cudaStream_t s, bool is_per_thread);
/* The device that work of this stream runs on; the current one if there is no such stream. */
unsigned rt_stream_device(cudaStream_t s, bool is_per_thread);
/* Operations; none of them is owned. */
struct rt_ops {
	struct cpu_op **v;
	size_t n, cap;
};
/* Appends what the next operation of the stream has to wait for. Lock held. */
void rt_stream_deps(struct rt_stream *s, struct rt_ops *deps);
/* The same as rt_stream_submit with the lock held, for a stream that is not captured, and after
 * `more` (may be NULL), too. Returns the operation with a reference of the caller, or NULL and *e
 * when the device refuses. */
struct cpu_op *rt_stream_push(struct rt_stream *s, const struct rt_work *w,
			      const struct rt_ops *more, cudaError_t *e);
/* One operation after exactly `deps`; the stream gives its number and priority only. */
struct cpu_op *rt_op_submit(struct rt_stream *s, unsigned device, const struct rt_work *w,
			    const struct rt_ops *deps, cudaError_t *e);
/* The stream's newest operation is `op` now (a reference is taken). Lock held. */
void rt_stream_set_last(struct rt_stream *s, struct cpu_op *op);
/* What the entry points of the same names do. Lock not held. */
cudaError_t rt_stream_create(cudaStream_t *out, unsigned flags, int priority);
cudaError_t rt_stream_destroy(cudaStream_t stream);
cudaError_t rt_stream_synchronize(cudaStream_t stream, bool is_per_thread);
cudaError_t rt_stream_query(cudaStream_t stream, bool is_per_thread);
/* A stream that is not in the handle table yet; in the device's list unless it is the first. Lock
 * held, or at the start. */
struct rt_stream *rt_stream_new(unsigned device, unsigned flags, int priority);
/* It is destroyed; what it has to do goes on. */
void rt_stream_end(struct rt_stream *s);
/* cudaDeviceReset: streams other than the default ones are gone. */
void rt_streams_reset(unsigned device);
/* Stream priorities go from 0 down to this. */
#define RT_PRIORITY_MAX (-5)
/* Waits for an operation and drops the reference; returns the fault of its device, if any. Lock not
 * held. */
cudaError_t rt_op_finish(struct cpu_op *op, unsigned device);
/* After a launch with cudaLaunchAttributeLaunchCompletionEvent or ProgrammaticEvent: the event
 * stands for `op` from now on. */
cudaError_t rt_event_set(cudaEvent_t event, struct cpu_op *op);

/* ---- memory.c ------------------------------------------------------------------ */

void rt_pools_init(unsigned device);
/* cudaDeviceReset: frees all memory of the device. */
void rt_memory_reset(unsigned device);

/* ---- copy.c: for copies to and from symbols ---------------------------------- */

/* One-dimensional copy with CUDA's checks of kinds and ranges, and its rules for when it waits. */
cudaError_t rt_copy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
		    cudaStream_t s, bool is_per_thread, bool is_async);

/* ---- event.c --------------------------------------------------------------------- */

struct rt_event {
	unsigned flags, device;
	struct cpu_op *op; /* of the last record; NULL: never recorded */
	struct rt_capture
		*capture;    /* not NULL: the last record was captured, by this capture, ... */
	uint64_t capture_id; /* ... which is alive only while it has this id */
	BASE_VEC(struct rt_node *) front; /* ... after these nodes */
};
/* The event of a handle, NULL if it is none. Lock held. */
struct rt_event *rt_event_find(cudaEvent_t e);
/* The event stands for the operation from now on (a reference is taken). Lock held. */
void rt_event_take(struct rt_event *e, struct cpu_op *op);
/* Records at the end of a stream that is not captured. Lock held. */
void rt_event_push(struct rt_stream *s, struct rt_event *ev, cudaError_t *e);
/* What the entry points of the same names do. Lock not held. */
cudaError_t rt_event_record(cudaEvent_t event, cudaStream_t stream, bool is_per_thread,
			    unsigned flags);
cudaError_t rt_event_wait(cudaStream_t stream, bool is_per_thread, cudaEvent_t event,
			  unsigned flags);
cudaError_t rt_event_create(cudaEvent_t *event, unsigned int flags);
cudaError_t rt_event_destroy(cudaEvent_t event);
cudaError_t rt_event_query(cudaEvent_t event);
cudaError_t rt_event_synchronize(cudaEvent_t event);
cudaError_t rt_event_elapsed_time(float *ms, cudaEvent_t start, cudaEvent_t end);

/* ---- capture.c ------------------------------------------------------------------ */

/* cudaErrorStreamCaptureUnsupported (and the capture is invalidated) when the calling thread may
 * not make unsafe calls now. */
cudaError_t rt_capture_check(void);
/* Begins a function that may not be called while a stream is captured (allocation and the like). */
#define RT_UNSAFE()                                                                                \
	do {                                                                                       \
		cudaError_t unsafe_ = rt_capture_check();                                          \
		if (unsafe_ != cudaSuccess)                                                        \
			return unsafe_;                                                            \
	} while (0)

/* ---- link's: kernels and symbols -------------------------------------------------- */

/* A launch without attributes. Parameters come from `args` (an array of pointers, as
 * cudaLaunchKernel's) or, when that is NULL, from `extra` (CU_LAUNCH_PARAM_BUFFER_POINTER). */
struct rt_launch {
	const void *func;
	unsigned device;
	dim3 grid, block;
	size_t shared;
	void **args, **extra;
};
/*
 * Fills *out after all checks that cudaLaunchKernelExC makes (limits, dynamic shared memory
 * against the function's attribute, cluster size, cooperative fit). The block that
 * out->cpu.launch.params points to is malloc'd and the caller frees it after the submit. Lock not
 * held.
 */
cudaError_t rt_launch_prepare(const struct rt_launch *l, struct rt_work *out);
/* A __device__, __constant__ or __managed__ variable; cudaErrorInvalidSymbol: there is none. */
cudaError_t rt_symbol_find(const void *symbol, unsigned device, uint64_t *addr, uint64_t *bytes);
/* cudaDeviceReset: modules of the device are loaded again at their next use. */
void rt_modules_reset(unsigned device);
/* The number of the call that the program made, from any depth below its entry point (origin.c);
 * 0 when nothing is checked. */
uint32_t rt_origin(void);
/* A kernel was submitted, or work of the device was waited for: updates the shared file of findings
 * (collider.c). launched: the lock may be held; synced: not. */
void rt_collider_launched(unsigned device, struct rt_kern *k);
/* launches.c: --record-launches. The file's name is copied; NULL: nothing is recorded. */
void rt_launches_open(const char *file);
void rt_launches_record(const struct rt_work *w);
/* How long a kernel on this stream is to be held back, in ns (--shuffle-streams), and counted. The
 * lock is held. */
uint64_t rt_collider_hold(struct rt_stream *s, unsigned device, bool is_programmatic);
/* A launch was captured into a graph: counts it as one that is not held back. */
void rt_collider_captured(unsigned device);
void rt_collider_synced(unsigned device);

/* ---- hosthalf.c: what the host half of the checks learns (race/file/host.h) ------------ */

/* Memory that host code and kernels share is allocated or freed; other kinds are ignored. The lock
 * may be held. */
void rt_host_memory(uint64_t base, uint64_t bytes, enum cpu_mem_kind kind);
void rt_host_memory_gone(uint64_t base);
/* Work was submitted; the lock may be held. Something was waited for; the lock is not held. */
void rt_host_submitted(unsigned device);
void rt_host_synced(unsigned device);

/* ---- refuse.c ------------------------------------------------------------------------ */

/* "collider: NAME is not available on the CPU device", once per name; cudaErrorNotSupported. */
cudaError_t rt_refuse(const char *name);
/* The same for one use of a function that is otherwise available ("NAME with ..."). */
cudaError_t rt_refuse_use(const char *name, const char *what);

#endif
