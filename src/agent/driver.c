/*
 * driver.c - the driver's functions, the guard around our own calls, and the stream that a call of
 * the program means.
 *
 * The agent must not link to libcuda: it is found in the process that already
 * has it. The explicit versioned names are looked up, since the plain names of some functions
 * (cuMemAlloc) are the 32-bit interface of CUDA 2.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/cupti.h"

struct agent_driver agent_driver;

static __thread int inside;

static void *find(void *lib, const char *name)
{
	void *p = lib ? dlsym(lib, name) : NULL;

	return p ? p : dlsym(RTLD_DEFAULT, name);
}

/* ISO C has no cast from object to function pointers; POSIX promises that the bytes fit. */
#define SET(field, symbol)                                                                         \
	do {                                                                                       \
		void *p_ = find(lib, symbol);                                                      \
		__builtin_memcpy(&agent_driver.field, &p_, sizeof(p_));                            \
	} while (0)

/* The judge's half of a program, in the library that stands in for the driver's, makes driver calls
 * of its own, which are none of the program's; it hears of ours. */
static bool (*is_judging)(void);
static void (*note_own)(int by);

static void find_judge(void)
{
	void *p = dlsym(RTLD_DEFAULT, "__collider_events_inside");

	__builtin_memcpy(&is_judging, &p, sizeof(p));
	p = dlsym(RTLD_DEFAULT, "__collider_events_own");
	__builtin_memcpy(&note_own, &p, sizeof(p));
}

static void enter(int by)
{
	inside += by;
	if (note_own)
		note_own(by);
}

static const char *load_all(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	const char *missing = NULL;

#define F(field, symbol)                                                                           \
	SET(field, #symbol);                                                                       \
	if (!agent_driver.field)                                                                   \
		missing = #symbol;
	AGENT_DRIVER_NEEDED(F)
#undef F
	SET(library_get_module, "cuLibraryGetModule");
	SET(kernel_get_function, "cuKernelGetFunction");
	SET(func_get_module, "cuFuncGetModule");
	SET(func_load, "cuFuncLoad");
	SET(module_get_function_count, "cuModuleGetFunctionCount");
	SET(module_enumerate_functions, "cuModuleEnumerateFunctions");
	SET(kernel_get_library, "cuKernelGetLibrary");
	SET(ctx_record_event, "cuCtxRecordEvent");
	SET(graph_get_nodes, "cuGraphGetNodes");
	SET(graph_node_get_type, "cuGraphNodeGetType");
	SET(graph_child_get_graph, "cuGraphChildGraphNodeGetGraph");
	SET(graph_dependencies, "cuGraphNodeGetDependencies");
	SET(graph_kernel_params, "cuGraphKernelNodeGetParams_v2");
	SET(func_get_name, "cuFuncGetName");
	SET(kernel_get_name, "cuKernelGetName");
	SET(event_record, "cuEventRecord");
	SET(stream_get_ctx, "cuStreamGetCtx");
	SET(pointer_get_attribute, "cuPointerGetAttribute");
	SET(pointer_get_attributes, "cuPointerGetAttributes");
	SET(mem_host_alloc, "cuMemHostAlloc");
	SET(module_load_data, "cuModuleLoadData");
	SET(module_get_function, "cuModuleGetFunction");
	SET(launch_kernel, "cuLaunchKernel");
	SET(event_destroy, "cuEventDestroy_v2");
	SET(event_elapsed_time, "cuEventElapsedTime_v2");
	if (!agent_driver.event_elapsed_time)
		SET(event_elapsed_time, "cuEventElapsedTime");
	SET(stream_wait_event, "cuStreamWaitEvent");
	SET(memset_d32_async, "cuMemsetD32Async");
	SET(device_get_attribute, "cuDeviceGetAttribute");
	SET(mem_get_info, "cuMemGetInfo_v2");
	SET(mem_address_reserve, "cuMemAddressReserve");
	SET(mem_create, "cuMemCreate");
	SET(mem_release, "cuMemRelease");
	SET(mem_map, "cuMemMap");
	SET(mem_unmap, "cuMemUnmap");
	SET(mem_set_access, "cuMemSetAccess");
	SET(device_get_count, "cuDeviceGetCount");
	SET(device_get_p2p_attribute, "cuDeviceGetP2PAttribute");
	find_judge();
	return missing;
}

/* ------------------------------------------------------------------------ */

bool agent_driver_load(void)
{
	static int state; /* 0 not tried, 1 good, 2 bad; under the lock */
	const char *missing = NULL;
	int s;

	agent_lock();
	if (state == 0) {
		missing = load_all();
		state = missing ? 2 : 1;
	}
	s = state;
	agent_unlock();
	if (missing)
		race_shm_gap_note(RACE_GAP_NOT_INSTRUMENTED,
				  "the driver has no %s; races in this process go unchecked",
				  missing);
	return s == 1;
}

void agent_enter(struct agent_guard *g)
{
	enter(1);
	g->mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	g->is_swapped = agent_driver.thread_exchange_capture_mode &&
			agent_driver.thread_exchange_capture_mode(&g->mode) == CUDA_SUCCESS;
}

void agent_enter_safe(struct agent_guard *g)
{
	enter(1);
	g->is_swapped = false;
}

void agent_leave(struct agent_guard *g)
{
	if (g->is_swapped)
		agent_driver.thread_exchange_capture_mode(&g->mode);
	enter(-1);
}

bool agent_is_inside(void)
{
	return inside > 0 || (is_judging && is_judging());
}

bool agent_is_captured(CUstream stream)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	struct agent_guard g;
	CUresult r;

	if (!stream || stream == CU_STREAM_LEGACY ||
	    !__atomic_load_n(&agent.captures, __ATOMIC_RELAXED))
		return false;
	agent_enter(&g);
	r = agent_driver.stream_is_capturing(stream, &status);
	agent_leave(&g);
	return r == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/* Is the default stream of this function's name that of the calling thread? */
static bool is_per_thread(const char *name)
{
	size_t n = name ? strlen(name) : 0;

	return n > 5 && memcmp(name + n - 5, "_ptsz", 5) == 0;
}

CUstream agent_own_stream(CUstream stream, const CUpti_CallbackData *d)
{
	return !stream && is_per_thread(d->functionName) ? CU_STREAM_PER_THREAD : stream;
}
