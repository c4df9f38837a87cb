/*
 * internal.h - inside src/cudart: the state of the process, shared by its files.
 *
 * state/ (this folder), under the runtime's entry points and the driver's:
 *   state.c    start, options, errors, faults      handle.c   which handles are alive
 *   error.c    names and texts of errors           refuse.c   what is not there
 *   memory.c, pool.c, array.c, texture.c  allocations   virtual.c  what the program maps
 *   copy.c     copies and fills
 *   stream.c, event.c          chains of work      threads.c  what orders host threads
 *   image.c, library.c         modules             launch.c   checks and parameters of launches
 * graph/   graphs as data, nodes, executable graphs, capture
 * report/  what `collider run` gets to know
 * api/     the runtime's entry points, which only translate
 *
 * Every stream-like thing is expressed by the dependencies given to cpu_submit; the machine knows
 * neither streams nor events. One lock guards all tables; it is never held while something waits
 * for the machine or calls the program.
 */
#ifndef COLLIDER_CUDART_INTERNAL_H
#define COLLIDER_CUDART_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "cpu/cpu.h"
#include "cudart/cudart.h"
#include "cudart/state/types.h"

struct rt_stream;
struct rt_event;
struct rt_capture;
struct rt_node;
struct rt_kern;
struct rt_context;

/* ---- state.c: the process ------------------------------------------------- */

struct rt_device {
	struct rt_stream *legacy;  /* the default stream */
	struct rt_stream *streams; /* all others, by rt_stream.next; ended ones with work too */
	size_t nended, prune_at;   /* that were destroyed; so many are looked at for such to free */
	unsigned flags;		   /* cudaSetDeviceFlags */
	bool is_fault_reported;
	size_t stack_limit, heap_limit, fifo_limit, l2_limit, fetch_limit;
	rt_ref default_pool, pool;
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
	bool stages_copies;	      /* --host-copies=staged */
	struct inst_options inst;     /* what modules get of the checks of `detectors` */
	bool is_forked;		      /* the machine belongs to the parent process */
	atomic_bool is_driver_ready;  /* cuInit was called, or the runtime, which does it */
	_Atomic uint32_t next_stream; /* ids */
	_Atomic uint32_t captures;    /* under way, to skip the checks when there is none */
};
extern struct rt_state rt;

/* The state of each host thread. */
struct rt_thread {
	unsigned device;
	struct rt_context *context; /* the current one (context.h); NULL: none */
	enum rt_error last;
	enum rt_capture_mode mode; /* of cudaThreadExchangeStreamCaptureMode */
	bool is_host_fn;	   /* runs a host function: no CUDA calls from here */
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
 * RT_ERROR_INITIALIZATION_ERROR in a forked child, the sticky fault of the current device, or
 * RT_OK. rt_enter_any doesn't look at faults.
 */
enum rt_error rt_enter(void);
enum rt_error rt_enter_any(void);
/* The device's sticky fault as an error code; printed on stderr the first time. */
enum rt_error rt_device_error(unsigned device);
/* A code's names in both APIs (driver: NULL where it has none), and the text that CUDA prints for
 * it; NULL: there is no such code. */
struct rt_error_text {
	enum rt_error code;
	const char *runtime, *driver, *text;
};
const struct rt_error_text *rt_error_text(int number);
/* cpu_fault_kind to CUDA's code. */
enum rt_error rt_fault_error(enum cpu_fault_kind kind);
/* One line "collider: ..." on stderr. */
void rt_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- device.c ----------------------------------------------------------------- */

/* At the start, before any other thread can see the device. */
void rt_device_init(unsigned device);
#define RT_DEVICE_NAME "Collider CPU device"
/* The value of an attribute, by the number that both APIs give it; false: there is no such. */
bool rt_device_attr(int number, unsigned device, int *value);
static inline bool rt_is_device(int device)
{
	return device >= 0 && (unsigned)device < rt.ndevices;
}
/* All work of the current device has ended. */
enum rt_error rt_device_synchronize(void);
/* Its memory, streams' work and modules are gone, and so is its fault. */
void rt_device_reset(unsigned device);
/* Where the value of a limit is kept; NULL: not a limit that can be set. */
size_t *rt_device_limit(unsigned device, int number);
enum rt_error rt_device_set_limit(unsigned device, int number, size_t value);
/* Peer access of the current device. */
enum rt_error rt_peer_set(int peer, bool is_on);

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
	RT_ARRAY,
	RT_CONTEXT,
	RT_LINKER /* the driver's */
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
	struct {
		unsigned char window[32];
		int sync_policy, domain;
	} hints; /* attributes that are kept for queries */
};

/* One operation for a stream. */
struct rt_work {
	struct cpu_work cpu; /* device, stream and priority are filled in by rt_stream_submit */
	/* KERNEL: the program's name for it (host function or cudaKernel_t), for graphs */
	const void *func;
	struct rt_kern *kern;	     /* KERNEL: it counts the launch (link.h) */
	uint32_t param_bytes;	     /* KERNEL: of launch.params */
	enum rt_copy_kind copy_kind; /* COPY, for graphs */
};

/*
 * The stream of a handle: 0 is the calling thread's default stream, legacy or per thread. Lock
 * held. NULL: no such stream.
 */
struct rt_stream *rt_stream_find(rt_ref s, bool is_per_thread);
/*
 * Submits work to a stream: after all earlier work of the stream, and with the legacy stream's
 * implicit joins. When the stream is captured, adds a node to the graph instead (*out is NULL
 * then). Lock not held. `out` (may be NULL) gets a reference of the caller.
 */
enum rt_error rt_stream_submit(rt_ref s, bool is_per_thread, const struct rt_work *w,
			       struct cpu_op **out);
/* Is the stream captured now (calls that would wait fail)? Lock not held. */
bool rt_stream_is_captured(rt_ref s, bool is_per_thread);
/* Enqueues a call of the program's: `run` makes it, with what `fn` is in the program's API. */
struct rt_callback {
	void (*run)(const struct rt_callback *c, enum rt_error e);
	void (*fn)(void);
	void *arg;
	rt_ref stream; /* as the program named it */
	unsigned device;
};
enum rt_error rt_stream_callback(struct rt_callback c, bool is_per_thread, unsigned flags);
/* The device that work of this stream runs on; the current one if there is no such stream. */
unsigned rt_stream_device(rt_ref s, bool is_per_thread);
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
			      const struct rt_ops *more, enum rt_error *e);
/* One operation after exactly `deps`; the stream gives its number and priority only. */
struct cpu_op *rt_op_submit(struct rt_stream *s, unsigned device, const struct rt_work *w,
			    const struct rt_ops *deps, enum rt_error *e);
/* The stream's newest operation is `op` now (a reference is taken). Lock held. */
void rt_stream_set_last(struct rt_stream *s, struct cpu_op *op);
/* What the entry points of the same names do. Lock not held. */
enum rt_error rt_stream_create(rt_ref *out, unsigned flags, int priority);
enum rt_error rt_stream_destroy(rt_ref stream);
enum rt_error rt_stream_synchronize(rt_ref stream, bool is_per_thread);
enum rt_error rt_stream_query(rt_ref stream, bool is_per_thread);
enum rt_error rt_stream_attr_get(rt_ref stream, bool is_per_thread, int id, union rt_attr *out);
enum rt_error rt_stream_attr_set(rt_ref stream, bool is_per_thread, int id,
				 const union rt_attr *to);
enum rt_error rt_stream_attr_copy(rt_ref to, rt_ref from, bool is_per_thread);
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
enum rt_error rt_op_finish(struct cpu_op *op, unsigned device);
/* After a launch with cudaLaunchAttributeLaunchCompletionEvent or ProgrammaticEvent: the event
 * stands for `op` from now on. */
enum rt_error rt_event_set(rt_ref event, struct cpu_op *op);

/* ---- memory.c ------------------------------------------------------------------ */

void rt_pools_init(unsigned device);
/* cudaDeviceReset: frees all memory of the device. */
void rt_memory_reset(unsigned device);

/* ---- copy.c: for copies to and from symbols ---------------------------------- */

/* One-dimensional copy with CUDA's checks of kinds and ranges, and its rules for when it waits. */
enum rt_error rt_copy(void *dst, const void *src, size_t count, enum rt_copy_kind kind, rt_ref s,
		      bool is_per_thread, bool is_async);

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
struct rt_event *rt_event_find(rt_ref e);
/* The event stands for the operation from now on (a reference is taken). Lock held. */
void rt_event_take(struct rt_event *e, struct cpu_op *op);
/* Records at the end of a stream that is not captured. Lock held. */
void rt_event_push(struct rt_stream *s, struct rt_event *ev, enum rt_error *e);
/* What the entry points of the same names do. Lock not held. */
enum rt_error rt_event_record(rt_ref event, rt_ref stream, bool is_per_thread, unsigned flags);
enum rt_error rt_event_wait(rt_ref stream, bool is_per_thread, rt_ref event, unsigned flags);
enum rt_error rt_event_create(rt_ref *event, unsigned int flags);
enum rt_error rt_event_destroy(rt_ref event);
enum rt_error rt_event_query(rt_ref event);
enum rt_error rt_event_synchronize(rt_ref event);
enum rt_error rt_event_elapsed_time(float *ms, rt_ref start, rt_ref end);

/* ---- capture.c ------------------------------------------------------------------ */

/* RT_ERROR_STREAM_CAPTURE_UNSUPPORTED (and the capture is invalidated) when the calling thread may
 * not make unsafe calls now. */
enum rt_error rt_capture_check(void);
/* Begins a function that may not be called while a stream is captured (allocation and the like). */
#define RT_UNSAFE()                                                                                \
	do {                                                                                       \
		enum rt_error unsafe_ = rt_capture_check();                                        \
		if (unsafe_ != RT_OK)                                                              \
			return unsafe_;                                                            \
	} while (0)

/* ---- link's: kernels and symbols -------------------------------------------------- */

/* A launch without attributes. Parameters come from `args` (an array of pointers, as
 * cudaLaunchKernel's) or, when that is NULL, from `extra` (CU_LAUNCH_PARAM_BUFFER_POINTER). */
struct rt_launch {
	const void *func;
	unsigned device;
	uint32_t grid[3], block[3];
	size_t shared;
	void **args, **extra;
};
/*
 * Fills *out after all checks that cudaLaunchKernelExC makes (limits, dynamic shared memory
 * against the function's attribute, cluster size, cooperative fit). The block that
 * out->cpu.launch.params points to is malloc'd and the caller frees it after the submit. Lock not
 * held.
 */
enum rt_error rt_launch_prepare(const struct rt_launch *l, struct rt_work *out);
/* A __device__, __constant__ or __managed__ variable; RT_ERROR_INVALID_SYMBOL: there is none. */
enum rt_error rt_symbol_find(const void *symbol, unsigned device, uint64_t *addr, uint64_t *bytes);
/* cudaDeviceReset: modules of the device are loaded again at their next use. */
void rt_modules_reset(unsigned device);
/* The number of the call that the program made, from any depth below its entry point (origin.c);
 * 0 when nothing is checked. */
uint32_t rt_origin(void);
/* A kernel was submitted, or work of the device was waited for: updates the shared file of findings
 * (collider.c). launched: the lock may be held; synced: not. */
void rt_collider_launched(unsigned device, struct rt_kern *k);
/* launches.c: --record-launches. The file's name is copied; NULL: nothing is recorded. A launch is
 * submitted: its kernel's text is written. From `listen` on each that starts is, too. */
void rt_launches_open(const char *file);
void rt_launches_listen(void);
void rt_launches_record(const struct rt_work *w);
/* proven.c: kernels are put to `prover` (NULL: they aren't), for `guess` ms before a launch has
 * ended (below 0: as ever); a launch is about to be submitted. */
void rt_proven_start(const char *prover, bool proves_all, int64_t guess);
void rt_proven_launch(const struct rt_work *w);
/* The kernel goes with its module; another one may get its address. */
void rt_proven_forget(const struct rt_kern *k);
/* capsules.c: --capsules, into an existing folder; NULL: none. A launch of a kernel is to come; the
 * program ends. */
void rt_capsules_start(const char *folder);
void rt_capsules_launch(const struct rt_work *w);
void rt_capsules_end(void);
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

/* "collider: NAME is not available on the CPU device", once per name; RT_ERROR_NOT_SUPPORTED. */
enum rt_error rt_refuse(const char *name);
/* The same for one use of a function that is otherwise available ("NAME with ..."). */
enum rt_error rt_refuse_use(const char *name, const char *what);
/* Is the code at `caller` of a library of kernels that can't run here, or of a runtime that had
 * started before this library was loaded? Then that is reported, once. */
bool rt_refuse_runtime(const void *caller);

#endif
