/*
 * fake_cuda.c - stands in for libcuda.so.1: what the agent and its tests call.
 *
 * Device memory is host memory. A launched kernel runs at once, by its name:
 *   race   reports through the host build of __collider_report; the values of
 *          the record are the knobs that it saw
 *   clean  counts checked accesses, reports nothing
 *   trap   kills its context with CUDA_ERROR_LAUNCH_FAILED
 * and anything else does nothing. Strict where the agent must be careful:
 *   - during the callbacks for a loaded module and a new context the driver's
 *     lock is held; a driver call from inside one aborts;
 *   - while a stream is captured, allocation fails and breaks the capture
 *     unless the thread's mode is relaxed;
 *   - a dead context answers every call with its error;
 *   - handles of unloaded modules are used again at once.
 * FAKE_NO_REGISTER=1: cuMemHostRegister fails.
 * Memory can be unruly (fake_unruly): a byte of it changes whenever a copy to the host has read it,
 * as if a kernel of another stream wrote there all the time. Events can be late (fake_late): they
 * are complete only when a thread has waited.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <string.h>

#include "../device/host_report.h"
#include "fake.h"
#include "race/layout/iguard.h"
#include "race/layout/history.h"
#include "race/noted.h"
#include "race/plain.h"

#define MAX_CTX	 128
#define MAX_NODE 16

struct CUctx_st {
	CUresult error;
	bool is_alive;
	unsigned life; /* how often it came to be */
	int number;
	CUdevice device;
};

struct CUmod_st {
	bool is_used;
	bool is_instrumented;
	bool has_history;
	struct race_knobs knobs;
	bool has_iguard, has_split;
	struct race_history history, guard;
	uint64_t mark;			/* what says which of the two a module needs */
	struct race_plain_state proven; /* with one array */
	uint64_t often[2], alone[2];	/* without arrays */
	struct race_plain_state partly; /* with two */
	struct race_plain_state own;	/* with four */
};

/* What the module says of kernel `alone`, and of `proven`. */
static const struct race_plain_proof alone = {0, 0, RACE_PLAIN_ALONE, 0};

static const struct {
	struct race_plain_proof head;
	struct race_plain_pointer pointer;
	struct race_plain_term term;
} proof = {{1, 1, RACE_PLAIN_WHOLE, 0},
	   {0, 0, RACE_PLAIN_OF_PROOF},
	   {RACE_PLAIN_EQ,
	    0,
	    {RACE_PLAIN_DIM, 0},
	    {RACE_PLAIN_CONST, 1},
	    {RACE_PLAIN_CONST, 32},
	    {RACE_PLAIN_CONST, 1}}};

/* And of kernel `noted`: a pointer and two numbers. */
static const struct race_noted_kernel noted = {FAKE_NOTED, 6};

/* And of kernel `partly`: it writes by its first parameter, and reads by its second. */
static const struct {
	struct race_plain_proof head;
	struct race_plain_pointer pointer[2];
} part = {{2, 0, RACE_PLAIN_PART | RACE_PLAIN_NO_SAMPLE, 0},
	  {{0, 0, RACE_PLAIN_WRITTEN}, {1, 0, RACE_PLAIN_READ}}};

/* And of kernel `own`: each thread has its own part of the first one, in a block of at most 32. */
static const struct {
	struct race_plain_proof head;
	struct race_plain_pointer pointer[4];
	struct race_plain_own own;
} parts = {{4, 0, RACE_PLAIN_PART | RACE_PLAIN_NO_SAMPLE | RACE_PLAIN_ALL, 1},
	   {{0, 0, RACE_PLAIN_WRITTEN},
	    {1, 0, RACE_PLAIN_READ},
	    {0, 0, RACE_PLAIN_OWN},
	    {1, 0, RACE_PLAIN_TESTED}},
	   {{RACE_PLAIN_LE,
	     0,
	     {RACE_PLAIN_DIM, 0},
	     {RACE_PLAIN_CONST, 1},
	     {RACE_PLAIN_CONST, 32},
	     {RACE_PLAIN_CONST, 1}},
	    2}};

/* CUfunction and CUkernel may be passed for each other, so both start with a tag. */
enum tag { TAG_FUNCTION = 0x66, TAG_KERNEL = 0x6b };

struct CUfunc_st {
	enum tag tag;
	CUmodule module;
	char name[32];
};

struct CUkern_st {
	enum tag tag;
	CUlibrary library;
	char name[32];
};

struct CUlib_st {
	const char *image;
	CUmodule module[MAX_CTX];
};

struct CUstream_st {
	CUgraph capture;
	CUcontext context;
	unsigned life; /* of the context: it goes with it */
};

struct CUevent_st {
	bool is_complete;
	struct CUevent_st *next;
};

struct CUgraph_st {
	struct node {
		CUfunction f;
		CUgraph graph;
	} node[MAX_NODE];
	size_t n;
	bool is_branched;
};

static struct fake_subscriber subscriber;
static struct CUctx_st ctxs[MAX_CTX];
static int nctx;
static CUcontext primary;
static struct CUmod_st mods[256];
static int captures;
static unsigned char *unruly;
static unsigned reads;	/* copies to the host, the agent's included */
static unsigned pinned; /* calls for pinned memory, the same */
static bool is_late, is_busy, leaves;
static unsigned plains;
static CUevent events;
static CUstream waiting;
static struct {
	uintptr_t base, end;
	unsigned type;
} memory[256]; /* that the driver gave out */
static int nmemory;
static bool is_capture_broken;
static pthread_mutex_t driver_lock = PTHREAD_MUTEX_INITIALIZER;

static __thread CUcontext stack[8];
static __thread int depth;
static __thread bool in_locked_callback;
static __thread CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

struct fake_subscriber *fake_subscriber(void)
{
	return &subscriber;
}

static CUcontext top(void)
{
	return depth ? stack[depth - 1] : NULL;
}

static unsigned calls;

unsigned fake_calls(void)
{
	return calls;
}

/* Every entry point passes here. */
static CUresult check(bool needs_context)
{
	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
	if (in_locked_callback) {
		fprintf(stderr, "fake: driver call from inside a locked callback\n");
		abort();
	}
	if (needs_context && !top())
		return CUDA_ERROR_INVALID_CONTEXT;
	return needs_context ? top()->error : CUDA_SUCCESS;
}

/* ---- callbacks ----------------------------------------------------------- */

struct call {
	CUpti_CallbackData data;
	uint64_t correlation;
	CUresult result;
	CUpti_CallbackId id;
};

static void begin(struct call *c, CUpti_CallbackId id, const void *params, const char *symbol)
{
	memset(c, 0, sizeof(*c));
	c->id = id;
	c->data.functionParams = params;
	c->data.functionReturnValue = &c->result;
	c->data.symbolName = symbol;
	c->data.correlationData = &c->correlation;
	c->data.context = top();
	c->data.callbackSite = CUPTI_API_ENTER;
	if (subscriber.call && subscriber.driver[id])
		subscriber.call(subscriber.user, CUPTI_CB_DOMAIN_DRIVER_API, id, &c->data);
}

static CUresult end(struct call *c, CUresult result)
{
	c->result = result;
	c->data.context = top();
	c->data.callbackSite = CUPTI_API_EXIT;
	if (subscriber.call && subscriber.driver[c->id])
		subscriber.call(subscriber.user, CUPTI_CB_DOMAIN_DRIVER_API, c->id, &c->data);
	return result;
}

#define ID(f) CUPTI_DRIVER_TRACE_CBID_##f

static void resource(CUpti_CallbackId id, CUcontext ctx, void *descriptor, bool is_locked)
{
	CUpti_ResourceData d = {.context = ctx, .resourceDescriptor = descriptor};

	if (!subscriber.call || !subscriber.resource[id])
		return;
	if (is_locked) {
		pthread_mutex_lock(&driver_lock);
		in_locked_callback = true;
	}
	subscriber.call(subscriber.user, CUPTI_CB_DOMAIN_RESOURCE, id, &d);
	if (is_locked) {
		in_locked_callback = false;
		pthread_mutex_unlock(&driver_lock);
	}
}

/* ---- start, contexts ------------------------------------------------------ */

CUresult cuInit(unsigned flags)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	static bool is_done;
	void *lib, *entry;
	int (*init)(void);

	(void)flags;
	if (is_done || !path)
		return CUDA_SUCCESS;
	is_done = true;
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	entry = lib ? dlsym(lib, "InitializeInjection") : NULL;
	if (!entry) {
		fprintf(stderr, "fake: %s\n", dlerror());
		return CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;
	}
	memcpy(&init, &entry, sizeof(init));
	return init() ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

static CUcontext new_ctx(CUdevice dev)
{
	CUcontext c = NULL;

	pthread_mutex_lock(&driver_lock);
	for (int i = 0; i < nctx && !c; i++)
		if (!ctxs[i].is_alive)
			c = &ctxs[i]; /* an address is used again, as by the real driver */
	if (!c && nctx < MAX_CTX)
		c = &ctxs[nctx++];
	if (!c)
		abort();
	c->error = CUDA_SUCCESS;
	c->is_alive = true;
	c->life++;
	c->device = dev;
	c->number = (int)(c - ctxs);
	pthread_mutex_unlock(&driver_lock);
	resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, c, NULL, true);
	return c;
}

static void end_ctx(CUcontext c)
{
	resource(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, c, NULL, false);
	c->is_alive = false;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice dev)
{
	if (!primary)
		primary = new_ctx(dev);
	*c = primary;
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
	(void)dev;
	return CUDA_SUCCESS; /* it stays */
}

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned *flags, int *active)
{
	(void)dev;
	*flags = 0;
	*active = primary != NULL;
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
	cuDevicePrimaryCtxReset_v2_params p = {dev};
	struct call c;

	begin(&c, ID(cuDevicePrimaryCtxReset_v2), &p, NULL);
	if (primary)
		end_ctx(primary);
	primary = NULL;
	depth = 0;
	return end(&c, CUDA_SUCCESS);
}

#undef cuCtxCreate
CUresult cuCtxCreate(CUcontext *c, unsigned flags, CUdevice dev)
{
	(void)flags;
	*c = new_ctx(dev);
	stack[depth++] = *c;
	return CUDA_SUCCESS;
}

CUresult cuCtxDestroy_v2(CUcontext ctx)
{
	cuCtxDestroy_v2_params p = {ctx};
	struct call c;

	begin(&c, ID(cuCtxDestroy_v2), &p, NULL);
	end_ctx(ctx);
	if (top() == ctx)
		depth--;
	return end(&c, CUDA_SUCCESS);
}

CUresult cuCtxGetCurrent(CUcontext *ctx)
{
	*ctx = top();
	return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext ctx)
{
	depth = ctx ? 1 : 0;
	stack[0] = ctx;
	return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent_v2(CUcontext ctx)
{
	CUresult r = check(false);

	if (!ctx->is_alive)
		return CUDA_ERROR_INVALID_CONTEXT;
	stack[depth++] = ctx;
	return r;
}

CUresult cuCtxPopCurrent_v2(CUcontext *ctx)
{
	*ctx = top();
	depth--;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *dev)
{
	CUresult r = check(true);

	*dev = top() ? top()->device : 0;
	return r;
}

CUresult cuDeviceGetName(char *name, int n, CUdevice dev)
{
	(void)dev;
	snprintf(name, (size_t)n, "Fake GPU");
	return check(false);
}

/* A thread has waited. */
static void complete_events(void)
{
	for (CUevent e = events; e; e = e->next)
		e->is_complete = true;
}

/* Of a newer driver: no header has it. */
CUresult cuNewOrder(void);
CUresult cuNewOrder(void)
{
	return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void)
{
	struct call c;

	begin(&c, ID(cuCtxSynchronize), NULL, NULL);
	complete_events();
	return end(&c, check(true));
}

/* ---- memory, streams, events ---------------------------------------------- */

static CUresult check_unsafe(void)
{
	CUresult r = check(true);

	if (r == CUDA_SUCCESS && captures && capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED) {
		is_capture_broken = true;
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	return r;
}

static void *give_memory(size_t n, unsigned type)
{
	void *p = malloc(n);

	pthread_mutex_lock(&driver_lock);
	if (p && nmemory < 256) {
		memory[nmemory].base = (uintptr_t)p;
		memory[nmemory].end = (uintptr_t)p + n;
		memory[nmemory++].type = type;
	}
	pthread_mutex_unlock(&driver_lock);
	return p;
}

CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n)
{
	CUresult r = check_unsafe();

	if (r != CUDA_SUCCESS)
		return r;
	*p = (CUdeviceptr)(uintptr_t)give_memory(n, CU_MEMORYTYPE_DEVICE);
	return *p ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemHostAlloc(void **p, size_t n, unsigned flags)
{
	cuMemHostAlloc_params params = {p, n, flags};
	CUresult r = check_unsafe();
	struct call c;

	pinned++;
	begin(&c, ID(cuMemHostAlloc), &params, NULL);
	if (r == CUDA_SUCCESS)
		*p = give_memory(n, CU_MEMORYTYPE_HOST);
	if (r == CUDA_SUCCESS && !*p)
		r = CUDA_ERROR_OUT_OF_MEMORY;
	return end(&c, r);
}

CUresult cuMemAllocManaged(CUdeviceptr *p, size_t n, unsigned flags)
{
	cuMemAllocManaged_params params = {p, n, flags};
	CUresult r = check_unsafe();
	struct call c;

	begin(&c, ID(cuMemAllocManaged), &params, NULL);
	if (r == CUDA_SUCCESS)
		*p = (CUdeviceptr)(uintptr_t)give_memory(n, CU_MEMORYTYPE_UNIFIED);
	return end(&c, r);
}

/* The variable of all modules that is managed. */
static CUresult give_variable(CUdeviceptr *p, size_t *n)
{
	static void *at;

	if (!at)
		at = give_memory(FAKE_VARIABLE, CU_MEMORYTYPE_UNIFIED);
	if (n)
		*n = FAKE_VARIABLE;
	*p = (CUdeviceptr)(uintptr_t)at;
	return at ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Needs no context: the runtime asks while none is current. */
CUresult cuLibraryGetManaged(CUdeviceptr *p, size_t *n, CUlibrary library, const char *name)
{
	cuLibraryGetManaged_params params = {p, n, library, name};
	struct call c;

	begin(&c, ID(cuLibraryGetManaged), &params, NULL);
	return end(&c, give_variable(p, n));
}

/* Memory stays: only who is informed matters. */
CUresult cuMemFree_v2(CUdeviceptr p)
{
	cuMemFree_v2_params params = {p};
	struct call c;

	begin(&c, ID(cuMemFree_v2), &params, NULL);
	return end(&c, check(true));
}

CUresult cuMemFreeHost(void *p)
{
	cuMemFreeHost_params params = {p};
	struct call c;

	begin(&c, ID(cuMemFreeHost), &params, NULL);
	return end(&c, check(true));
}

/* What memory[i] says of itself; i < 0: of what isn't the driver's. */
static bool write_attribute(void *value, CUpointer_attribute what, int i)
{
	uintptr_t base = i < 0 ? 0 : memory[i].base, end = i < 0 ? 0 : memory[i].end;
	unsigned type = i < 0 ? 0 : memory[i].type;

	switch ((int)what) {
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		*(unsigned char *)value = type == CU_MEMORYTYPE_UNIFIED;
		return true;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned *)value = type;
		return true;
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*(CUcontext *)value = i < 0 ? NULL : top();
		return true;
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
		*(unsigned char *)value = type == CU_MEMORYTYPE_DEVICE;
		return true;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		*(CUdeviceptr *)value = base;
		return true;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		*(size_t *)value = end - base;
		return true;
	default:
		return false;
	}
}

static int find_memory(CUdeviceptr p)
{
	int i = nmemory - 1;

	while (i >= 0 && (p < memory[i].base || p >= memory[i].end))
		i--;
	return i;
}

CUresult cuPointerGetAttribute(void *value, CUpointer_attribute what, CUdeviceptr p)
{
	int i = find_memory(p);
	CUresult r = check(false);

	if (i < 0)
		return CUDA_ERROR_INVALID_VALUE;
	return write_attribute(value, what, i) ? r : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuPointerGetAttributes(unsigned n, CUpointer_attribute *what, void **values, CUdeviceptr p)
{
	CUresult r = check(false);

	for (unsigned i = 0; i < n; i++)
		if (!write_attribute(values[i], what[i], find_memory(p)))
			return CUDA_ERROR_NOT_SUPPORTED;
	return r;
}

unsigned fake_plain(void)
{
	return plains;
}

bool fake_plain_is_on(CUmodule m)
{
	return m->proven.on > m->proven.over;
}

const struct race_plain_state *fake_partly(CUmodule m)
{
	return &m->partly;
}

const struct race_plain_state *fake_own(CUmodule m)
{
	return &m->own;
}

void fake_leaves(void)
{
	leaves = true;
}

void fake_unruly(CUdeviceptr p)
{
	unruly = (unsigned char *)(uintptr_t)p;
}

void fake_late(void)
{
	is_late = true;
}

unsigned fake_pinned(void)
{
	return pinned;
}

unsigned fake_reads(void)
{
	return reads;
}

/* What the real driver makes of a stream whose context is gone is undefined: here it is seen. */
static void expect_alive(CUstream s)
{
	if (s > CU_STREAM_PER_THREAD && (!s->context->is_alive || s->life != s->context->life)) {
		fputs("fake: a stream of a context that is gone\n", stderr);
		abort();
	}
}

/* What all copies do, unless they are captured. */
static CUresult copy(void *to, const void *from, size_t n, CUstream s, bool is_read)
{
	CUresult r = check(true);

	expect_alive(s);
	if (r != CUDA_SUCCESS || (s && s > CU_STREAM_PER_THREAD && s->capture))
		return r;
	memcpy(to, from, n);
	reads += is_read;
	if (is_read && unruly && (uintptr_t)unruly - (uintptr_t)from < n)
		++*unruly;
	return r;
}

#define AT(p) ((void *)(uintptr_t)(p))

CUresult cuMemsetD8Async(CUdeviceptr p, unsigned char v, size_t n, CUstream s)
{
	cuMemsetD8Async_params params = {p, v, n, s};
	struct call c;
	CUresult r;

	begin(&c, ID(cuMemsetD8Async), &params, NULL);
	c.data.functionName = "cuMemsetD8Async";
	r = check(true);
	if (r == CUDA_SUCCESS)
		memset(AT(p), v, n);
	return end(&c, r);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t n, CUstream s)
{
	cuMemcpyHtoDAsync_v2_params params = {to, from, n, s};
	struct call c;

	begin(&c, ID(cuMemcpyHtoDAsync_v2), &params, NULL);
	c.data.functionName = "cuMemcpyHtoDAsync_v2";
	return end(&c, s && s == waiting ? check(true) : copy(AT(to), from, n, s, false));
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t n, CUstream s)
{
	cuMemcpyDtoHAsync_v2_params params = {to, from, n, s};
	struct call c;

	begin(&c, ID(cuMemcpyDtoHAsync_v2), &params, NULL);
	c.data.functionName = "cuMemcpyDtoHAsync_v2";
	return end(&c, copy(to, AT(from), n, s, true));
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s)
{
	cuMemcpyDtoDAsync_v2_params params = {to, from, n, s};
	struct call c;

	begin(&c, ID(cuMemcpyDtoDAsync_v2), &params, NULL);
	c.data.functionName = "cuMemcpyDtoDAsync_v2";
	return end(&c, copy(AT(to), AT(from), n, s, false));
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_ctx, CUdeviceptr from, CUcontext from_ctx,
			   size_t n, CUstream s)
{
	cuMemcpyPeerAsync_params params = {to, to_ctx, from, from_ctx, n, s};
	struct call c;

	begin(&c, ID(cuMemcpyPeerAsync), &params, NULL);
	c.data.functionName = "cuMemcpyPeerAsync";
	return end(&c, copy(AT(to), AT(from), n, s, false));
}

/* ---- virtual memory: address space is the host's, and so is what lies behind it ---------- */

static size_t vmm_mapped, vmm_limit = (size_t)4 << 30;

size_t fake_mapped(void)
{
	return vmm_mapped;
}

void fake_leave(size_t bytes)
{
	vmm_limit = vmm_mapped + bytes;
}

CUresult cuDeviceGetAttribute(int *v, CUdevice_attribute what, CUdevice dev)
{
	(void)dev;
	*v = what == CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED;
	return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
	*total = vmm_limit;
	*free_bytes = vmm_limit - vmm_mapped;
	return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr *p, size_t n, size_t align, CUdeviceptr at,
			     unsigned long long flags)
{
	void *got = mmap(NULL, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	(void)align, (void)at, (void)flags;
	*p = (CUdeviceptr)(uintptr_t)got;
	return got == MAP_FAILED ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *h, size_t n, const CUmemAllocationProp *prop,
		     unsigned long long flags)
{
	(void)prop, (void)flags;
	if (n % ((size_t)2 << 20) || vmm_mapped + n > vmm_limit)
		return n % ((size_t)2 << 20) ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
	vmm_mapped += n;
	*h = n;
	return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle h)
{
	vmm_mapped -= h;
	return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr p, size_t n, size_t off, CUmemGenericAllocationHandle h,
		  unsigned long long flags)
{
	(void)p, (void)off, (void)flags;
	return n <= h ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemUnmap(CUdeviceptr p, size_t n)
{
	return mprotect((void *)(uintptr_t)p, n, PROT_NONE) ? CUDA_ERROR_INVALID_VALUE
							    : CUDA_SUCCESS;
}

CUresult cuMemSetAccess(CUdeviceptr p, size_t n, const CUmemAccessDesc *d, size_t count)
{
	(void)d, (void)count;
	return mprotect((void *)(uintptr_t)p, n, PROT_READ | PROT_WRITE) ? CUDA_ERROR_INVALID_VALUE
									 : CUDA_SUCCESS;
}

CUresult cuMemsetD32Async(CUdeviceptr p, unsigned v, size_t n, CUstream s)
{
	(void)s;
	for (size_t i = 0; i < n; i++)
		((unsigned *)(uintptr_t)p)[i] = v;
	return CUDA_SUCCESS;
}

CUresult cuStreamWaitEvent(CUstream s, CUevent e, unsigned flags)
{
	cuStreamWaitEvent_params p = {s, e, flags};
	struct call c;

	begin(&c, ID(cuStreamWaitEvent), &p, NULL);
	return end(&c, CUDA_SUCCESS);
}

CUresult cuMemHostRegister_v2(void *p, size_t n, unsigned flags)
{
	cuMemHostRegister_v2_params params = {p, n, flags};
	CUresult r = check_unsafe();
	struct call c;

	begin(&c, ID(cuMemHostRegister_v2), &params, NULL);
	if (r == CUDA_SUCCESS && ((uintptr_t)p % 4096 || n % 4096 || getenv("FAKE_NO_REGISTER")))
		r = CUDA_ERROR_NOT_SUPPORTED;
	return end(&c, r);
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *d, void *p, unsigned flags)
{
	(void)flags;
	*d = (CUdeviceptr)(uintptr_t)p;
	return check(true);
}

CUresult cuStreamCreate(CUstream *s, unsigned flags)
{
	cuStreamCreate_params params = {s, flags};
	CUresult r = check(true);
	struct call c;

	begin(&c, ID(cuStreamCreate), &params, NULL);
	*s = calloc(1, sizeof(**s));
	(*s)->context = top();
	(*s)->life = top() ? top()->life : 0;
	return end(&c, r);
}

CUresult cuStreamGetCtx(CUstream s, CUcontext *c)
{
	*c = s > CU_STREAM_PER_THREAD ? s->context : top();
	return check(false);
}

CUresult cuStreamSynchronize(CUstream s)
{
	cuStreamSynchronize_params p = {s};
	struct call c;

	begin(&c, ID(cuStreamSynchronize), &p, NULL);
	expect_alive(s);
	complete_events();
	return end(&c, check(true));
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	CUstreamCaptureMode old = capture_mode;

	capture_mode = *mode;
	*mode = old;
	return check(false);
}

CUresult cuEventCreate(CUevent *e, unsigned flags)
{
	(void)flags;
	*e = calloc(1, sizeof(**e));
	pthread_mutex_lock(&driver_lock);
	(*e)->next = events;
	events = *e;
	pthread_mutex_unlock(&driver_lock);
	return check(true);
}

void fake_wait(CUstream s)
{
	waiting = s;
}

void fake_busy(bool is_on)
{
	is_busy = is_on;
}

/* Each launch takes 10 ms. */
CUresult cuEventElapsedTime_v2(float *ms, CUevent from, CUevent to)
{
	*ms = 10;
	return from->is_complete && to->is_complete ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuCtxRecordEvent(CUcontext ctx, CUevent e)
{
	e->is_complete = !is_busy;
	if (is_busy)
		return ctx->error;
	complete_events(); /* a wait for this one is a wait for all */
	e->is_complete = true;
	return ctx->error;
}

CUresult cuEventRecord(CUevent e, CUstream s)
{
	cuEventRecord_params p = {e, s};
	struct call c;

	begin(&c, ID(cuEventRecord), &p, NULL);
	e->is_complete = !is_late;
	return end(&c, check(true));
}

CUresult cuEventQuery(CUevent e)
{
	cuEventQuery_params p = {e};
	CUresult r = check(true);
	struct call c;

	begin(&c, ID(cuEventQuery), &p, NULL);
	return end(&c, r == CUDA_SUCCESS && !e->is_complete ? CUDA_ERROR_NOT_READY : r);
}

/* ---- modules, libraries --------------------------------------------------- */

static size_t image_size(const char *image)
{
	size_t size;

	if (!strncmp(image, "// hold.ptx", 11)) /* the agent's own */
		return strlen(image);
	/* The tests put the size before the image, where a fat binary's header would be. */
	memcpy(&size, image - sizeof(size), sizeof(size));
	return size;
}

static CUmodule new_module(const char *image)
{
	size_t size = image_size(image);
	CUpti_ModuleResourceData d = {.moduleId = 1, .cubinSize = size, .pCubin = image};
	CUmodule m = NULL;

	pthread_mutex_lock(&driver_lock);
	for (size_t i = 0; i < sizeof(mods) / sizeof(mods[0]) && !m; i++)
		if (!mods[i].is_used)
			m = &mods[i];
	if (!m)
		abort();
	m->is_used = true;
	pthread_mutex_unlock(&driver_lock);
	memset(&m->knobs, 0, sizeof(m->knobs));
	m->knobs.flags = RACE_KNOB_TRAP; /* the module's own: must be left alone */
	memset(&m->history, 0, sizeof(m->history));
	m->has_history = memmem(image, size, RACE_HISTORY_SYMBOL, sizeof(RACE_HISTORY_SYMBOL));
	memset(&m->guard, 0, sizeof(m->guard));
	m->has_iguard = memmem(image, size, RACE_IGUARD_SYMBOL, sizeof(RACE_IGUARD_SYMBOL));
	m->has_split =
		memmem(image, size, RACE_HISTORY_FOR_SYMBOL, sizeof(RACE_HISTORY_FOR_SYMBOL)) &&
		memmem(image, size, RACE_IGUARD_IDLE_SYMBOL, sizeof(RACE_IGUARD_IDLE_SYMBOL));
	m->is_instrumented = memmem(image, size, RACE_KNOBS_SYMBOL, sizeof(RACE_KNOBS_SYMBOL));
	resource(CUPTI_CBID_RESOURCE_MODULE_LOADED, top(), &d, true);
	return m;
}

CUresult cuModuleLoadData(CUmodule *m, const void *image)
{
	cuModuleLoadData_params p = {m, image};
	struct call c;

	begin(&c, ID(cuModuleLoadData), &p, NULL);
	*m = new_module(image);
	return end(&c, check(true));
}

CUresult cuModuleUnload(CUmodule m)
{
	cuModuleUnload_params p = {m};
	struct call c;

	begin(&c, ID(cuModuleUnload), &p, NULL);
	m->is_used = false;
	return end(&c, check(true));
}

CUresult cuModuleGetFunction(CUfunction *f, CUmodule m, const char *name)
{
	cuModuleGetFunction_params p = {f, m, name};
	struct call c;

	begin(&c, ID(cuModuleGetFunction), &p, NULL);
	*f = calloc(1, sizeof(**f));
	(*f)->tag = TAG_FUNCTION;
	(*f)->module = m;
	snprintf((*f)->name, sizeof((*f)->name), "%s", name);
	return end(&c, check(true));
}

static CUresult give_global(CUdeviceptr *p, size_t *bytes, CUmodule m, const char *name)
{
	CUresult r = check(true);

	if (r != CUDA_SUCCESS)
		return r;
	if (strcmp(name, FAKE_MANAGED) == 0)
		return give_variable(p, bytes);
	if (strcmp(name, FAKE_GLOBAL) == 0) {
		*p = (CUdeviceptr)(uintptr_t)give_memory(FAKE_VARIABLE, CU_MEMORYTYPE_DEVICE);
		*bytes = FAKE_VARIABLE;
		return *p ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (strcmp(name, RACE_PLAIN_STATE "proven") == 0) {
		*p = (CUdeviceptr)(uintptr_t)&m->proven;
		*bytes = offsetof(struct race_plain_state, array[1]);
		return CUDA_SUCCESS;
	}
	if (strcmp(name, RACE_PLAIN_PROOF "proven") == 0) {
		*p = (CUdeviceptr)(uintptr_t)&proof;
		*bytes = sizeof(proof);
		return CUDA_SUCCESS;
	}
	if (strcmp(name, RACE_PLAIN_STATE "partly") == 0) {
		*p = (CUdeviceptr)(uintptr_t)&m->partly;
		*bytes = offsetof(struct race_plain_state, array[2]);
		return CUDA_SUCCESS;
	}
	if (strcmp(name, RACE_PLAIN_PROOF "partly") == 0) {
		*p = (CUdeviceptr)(uintptr_t)&part;
		*bytes = sizeof(part);
		return CUDA_SUCCESS;
	}
	if (strcmp(name, RACE_PLAIN_STATE "own") == 0) {
		*p = (CUdeviceptr)(uintptr_t)&m->own;
		*bytes = offsetof(struct race_plain_state, array[4]);
		return CUDA_SUCCESS;
	}
	if (strcmp(name, RACE_PLAIN_PROOF "own") == 0) {
		*p = (CUdeviceptr)(uintptr_t)&parts;
		*bytes = sizeof(parts);
		return CUDA_SUCCESS;
	}
	if (strcmp(name, RACE_PLAIN_STATE "often") == 0) {
		*p = (CUdeviceptr)(uintptr_t)m->often;
		*bytes = sizeof(m->often);
		return CUDA_SUCCESS;
	}
	if (strcmp(name, RACE_NOTED "noted") == 0) {
		*p = (CUdeviceptr)(uintptr_t)&noted;
		*bytes = sizeof(noted);
		return CUDA_SUCCESS;
	}
	if (strcmp(name, RACE_PLAIN_STATE "alone") == 0) {
		*p = (CUdeviceptr)(uintptr_t)m->alone;
		*bytes = sizeof(m->alone);
		return CUDA_SUCCESS;
	}
	if (strcmp(name, RACE_PLAIN_PROOF "alone") == 0) {
		*p = (CUdeviceptr)(uintptr_t)&alone;
		*bytes = sizeof(alone);
		return CUDA_SUCCESS;
	}
	if (m->has_history && strcmp(name, RACE_HISTORY_SYMBOL) == 0) {
		*p = (CUdeviceptr)(uintptr_t)&m->history;
		*bytes = sizeof(m->history);
		return CUDA_SUCCESS;
	}
	if (m->has_iguard && strcmp(name, RACE_IGUARD_SYMBOL) == 0) {
		*p = (CUdeviceptr)(uintptr_t)&m->guard;
		*bytes = sizeof(m->guard);
		return CUDA_SUCCESS;
	}
	if (m->has_split && (strcmp(name, RACE_HISTORY_FOR_SYMBOL) == 0 ||
			     strcmp(name, RACE_IGUARD_IDLE_SYMBOL) == 0)) {
		*p = (CUdeviceptr)(uintptr_t)&m->mark;
		*bytes = sizeof(m->mark);
		return CUDA_SUCCESS;
	}
	if (!m->is_instrumented || strcmp(name, RACE_KNOBS_SYMBOL) != 0)
		return CUDA_ERROR_NOT_FOUND;
	*p = (CUdeviceptr)(uintptr_t)&m->knobs;
	*bytes = sizeof(m->knobs);
	return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *p, size_t *bytes, CUmodule m, const char *name)
{
	cuModuleGetGlobal_v2_params params = {p, bytes, m, name};
	struct call c;

	begin(&c, ID(cuModuleGetGlobal_v2), &params, NULL);
	return end(&c, give_global(p, bytes, m, name));
}

CUresult cuLibraryLoadData(CUlibrary *lib, const void *code, CUjit_option *o, void **ov,
			   unsigned no, CUlibraryOption *lo, void **lov, unsigned nlo)
{
	cuLibraryLoadData_params p = {lib, code, o, ov, no, lo, lov, nlo};
	struct call c;

	begin(&c, ID(cuLibraryLoadData), &p, NULL);
	*lib = calloc(1, sizeof(**lib));
	(*lib)->image = code;
	return end(&c, check(false));
}

CUresult cuLibraryGetModule(CUmodule *m, CUlibrary lib)
{
	cuLibraryGetModule_params p = {m, lib};
	CUresult r = check(true);
	struct call c;
	CUmodule *slot;

	begin(&c, ID(cuLibraryGetModule), &p, NULL);
	if (r != CUDA_SUCCESS)
		return end(&c, r);
	slot = &lib->module[top()->number];
	if (!*slot)
		*slot = new_module(lib->image);
	*m = *slot;
	return end(&c, CUDA_SUCCESS);
}

CUresult cuLibraryGetKernel(CUkernel *k, CUlibrary lib, const char *name)
{
	cuLibraryGetKernel_params p = {k, lib, name};
	struct call c;

	begin(&c, ID(cuLibraryGetKernel), &p, NULL);
	if (!((const size_t *)(const void *)lib->image)[-1]) /* of no bytes: not for this device */
		return end(&c, CUDA_ERROR_NO_BINARY_FOR_GPU);
	*k = calloc(1, sizeof(**k));
	(*k)->tag = TAG_KERNEL;
	(*k)->library = lib;
	snprintf((*k)->name, sizeof((*k)->name), "%s", name);
	return end(&c, check(false));
}

CUresult cuFuncGetModule(CUmodule *m, CUfunction f)
{
	if (f->tag != TAG_FUNCTION)
		return CUDA_ERROR_INVALID_HANDLE;
	*m = f->module;
	return check(true);
}

static unsigned loaded;

unsigned fake_loaded(void)
{
	return loaded;
}

CUresult cuModuleGetFunctionCount(unsigned *n, CUmodule m)
{
	*n = m ? FAKE_KERNELS : 0;
	return check(true);
}

CUresult cuModuleEnumerateFunctions(CUfunction *f, unsigned n, CUmodule m)
{
	static struct CUfunc_st kernels[FAKE_KERNELS];

	for (unsigned i = 0; i < n && i < FAKE_KERNELS; i++) {
		kernels[i] = (struct CUfunc_st){.tag = TAG_FUNCTION, .module = m};
		f[i] = &kernels[i];
	}
	return check(true);
}

CUresult cuFuncLoad(CUfunction f)
{
	if (f->tag != TAG_FUNCTION)
		return CUDA_ERROR_INVALID_HANDLE;
	loaded++;
	return check(true);
}

CUresult cuFuncGetName(const char **name, CUfunction f)
{
	if (f->tag != TAG_FUNCTION)
		return CUDA_ERROR_INVALID_HANDLE;
	*name = f->name;
	return check(false);
}

CUresult cuKernelGetName(const char **name, CUkernel k)
{
	if (k->tag != TAG_KERNEL)
		return CUDA_ERROR_INVALID_HANDLE;
	*name = k->name;
	return check(false);
}

/* ---- launches, graphs ----------------------------------------------------- */

static void report_race(const struct race_knobs *k)
{
	struct dev_found f = {.table = 0xc0ffee01,
			      .site = 3,
			      .kind_flags = RACE_KIND_CLOBBERED_READ,
			      .address = 0x7000,
			      .was = {k->rsleep, k->wsleep},
			      .now = {k->sample, k->seed},
			      .lanes = k->flags,
			      .width = 4};
	dev_report(&f, k->rt);
}

static unsigned long long held_ns;
static unsigned held;

unsigned long long fake_held_ns(void)
{
	return held_ns;
}

unsigned fake_held(void)
{
	return held;
}

static CUresult run(CUfunction f)
{
	CUkernel kernel = (CUkernel)(void *)f;
	CUmodule m = f->tag == TAG_FUNCTION ? f->module : kernel->library->module[top()->number];
	const char *name = f->tag == TAG_FUNCTION ? f->name : kernel->name;
	struct race_rt *rt;

	if (top()->error)
		return top()->error;
	if (!m)
		m = kernel->library->module[top()->number] = new_module(kernel->library->image);
	if (strcmp(name, "trap") == 0)
		top()->error = CUDA_ERROR_LAUNCH_FAILED; /* returned by the next call */
	rt = (struct race_rt *)(uintptr_t)m->knobs.rt;
	if (!rt)
		return CUDA_SUCCESS;
	__atomic_fetch_add(&rt->counters[250].launches, 1, __ATOMIC_RELAXED);
	if ((strcmp(name, "proven") == 0 && m->proven.on > m->proven.over) ||
	    (strcmp(name, "often") == 0 && m->often[1] > m->often[0]) ||
	    (strcmp(name, "alone") == 0 && m->alone[1] > m->alone[0])) {
		plains++;
		rt->left += leaves;
		return CUDA_SUCCESS;
	}
	__atomic_fetch_add(&rt->counters[3].checked, 32, __ATOMIC_RELAXED);
	if (strcmp(name, "race") == 0)
		report_race(&m->knobs);
	return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
			unsigned by, unsigned bz, unsigned shared, CUstream s, void **params,
			void **extra)
{
	cuLaunchKernel_params p = {f, gx, gy, gz, bx, by, bz, shared, s, params, extra};
	const char *name = f->tag == TAG_FUNCTION ? f->name : ((CUkernel)(void *)f)->name;
	struct call c;
	CUresult r = CUDA_SUCCESS;

	begin(&c, ID(cuLaunchKernel), &p, name);
	if (!strcmp(name, "__collider_hold")) {
		if (s && s > CU_STREAM_PER_THREAD && s->capture)
			is_capture_broken = true;
		held_ns += *(unsigned long long *)params[0];
		held++;
	} else if (s > CU_STREAM_PER_THREAD && s->capture) {
		s->capture->node[s->capture->n++] = (struct node){f, s->capture};
	} else {
		r = bx > 1024 ? CUDA_ERROR_INVALID_VALUE : run(f);
	}
	return end(&c, r);
}

int fake_runtime_launch(CUfunction f, const char *name, unsigned threads)
{
	const CUpti_CallbackId id = CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000;
	int result = 9 /* cudaErrorInvalidConfiguration */;
	CUpti_CallbackData d = {.functionReturnValue = &result,
				.symbolName = name,
				.context = top(),
				.callbackSite = CUPTI_API_ENTER};
	bool is_on = subscriber.call && subscriber.runtime[id];

	if (is_on)
		subscriber.call(subscriber.user, CUPTI_CB_DOMAIN_RUNTIME_API, id, &d);
	if (threads && !cuLaunchKernel(f, 1, 1, 1, threads, 1, 1, 0, NULL, NULL, NULL))
		result = 0;
	d.callbackSite = CUPTI_API_EXIT;
	if (is_on)
		subscriber.call(subscriber.user, CUPTI_CB_DOMAIN_RUNTIME_API, id, &d);
	return result;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **params, void **extra)
{
	cuLaunchKernelEx_params p = {config, f, params, extra};
	struct call c;

	begin(&c, ID(cuLaunchKernelEx), &p, f->name);
	return end(&c, run(f));
}

CUresult cuStreamBeginCapture_v2(CUstream s, CUstreamCaptureMode mode)
{
	cuStreamBeginCapture_v2_params p = {s, mode};
	struct call c;

	begin(&c, ID(cuStreamBeginCapture_v2), &p, NULL);
	s->capture = calloc(1, sizeof(*s->capture));
	captures++;
	is_capture_broken = false;
	return end(&c, check(true));
}

CUresult cuStreamEndCapture(CUstream s, CUgraph *g)
{
	cuStreamEndCapture_params p = {s, g};
	struct call c;

	begin(&c, ID(cuStreamEndCapture), &p, NULL);
	*g = s->capture;
	s->capture = NULL;
	captures--;
	return end(&c, is_capture_broken ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : check(true));
}

CUresult cuStreamIsCapturing(CUstream s, CUstreamCaptureStatus *status)
{
	*status = s > CU_STREAM_PER_THREAD && s->capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE
							 : CU_STREAM_CAPTURE_STATUS_NONE;
	return check(true);
}

#undef cuGraphAddMemsetNode
CUresult cuGraphAddMemsetNode(CUgraphNode *node, CUgraph g, const CUgraphNode *deps, size_t n,
			      const CUDA_MEMSET_NODE_PARAMS *what, CUcontext ctx)
{
	cuGraphAddMemsetNode_params p = {node, g, deps, n, what, ctx};
	struct call c;

	begin(&c, ID(cuGraphAddMemsetNode), &p, NULL);
	return end(&c, check(true));
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph g, unsigned long long flags)
{
	cuGraphInstantiateWithFlags_params p = {exec, g, flags};
	struct call c;

	begin(&c, ID(cuGraphInstantiateWithFlags), &p, NULL);
	*exec = (CUgraphExec)(void *)g;
	return end(&c, check(true));
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream s)
{
	cuGraphLaunch_params p = {exec, s};
	CUgraph g = (CUgraph)(void *)exec;
	CUresult r = CUDA_SUCCESS;
	struct call c;

	begin(&c, ID(cuGraphLaunch), &p, NULL);
	for (size_t i = 0; i < g->n && r == CUDA_SUCCESS; i++)
		r = run(g->node[i].f);
	return end(&c, r);
}

CUresult cuGraphGetNodes(CUgraph g, CUgraphNode *nodes, size_t *n)
{
	for (size_t i = 0; nodes && i < g->n; i++)
		nodes[i] = (CUgraphNode)(void *)&g->node[i];
	*n = g->n;
	return check(false);
}

CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type)
{
	(void)node;
	*type = CU_GRAPH_NODE_TYPE_KERNEL;
	return check(false);
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *p)
{
	memset(p, 0, sizeof(*p));
	p->func = ((struct node *)(void *)node)->f;
	return check(false);
}

void fake_branch(CUgraph g)
{
	g->is_branched = true;
}

#undef cuGraphNodeGetDependencies
CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *before, size_t *n);
CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *before, size_t *n)
{
	struct node *v = (struct node *)(void *)node;

	*n = v != v->graph->node && !v->graph->is_branched;
	if (before && *n)
		before[0] = (CUgraphNode)(void *)(v - 1);
	return check(false);
}
