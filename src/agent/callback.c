/*
 * callback.c - what the program does with the driver, as the library that stands in for the
 * driver's reports it (forward/events.c), or CUPTI where that library isn't in the process.
 *
 * One table maps the driver's functions to what they mean for us; everything
 * else is not even subscribed to, so it costs nothing. Parameters are read
 * through the structures of CUPTI's headers; functions in one row share the first fields of their
 * structures. Callbacks that our own driver calls cause are ignored, except for loaded modules: a
 * lazily loaded one may be loaded by us.
 *
 * Another tool that has subscribed to CUPTI already (Nsight, compute-sanitizer, cuda-gdb, a
 * profiler of the program's own) excludes us from it: a message says so, and the program runs
 * unchecked.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/cupti.h"
#include "agent/rows.h"
#include "race/file/maps.h"
#include "race/layout/history.h"

enum action {
	ON_MODULE_LOAD,
	ON_MODULE_UNLOAD,
	ON_MODULE_GET, /* a function of a module */
	ON_LIBRARY_LOAD,
	ON_LIBRARY_UNLOAD,
	ON_LIBRARY_KERNEL,
	ON_LIBRARY_MODULE,
	ON_LIBRARY_GLOBAL,
	ON_KERNEL_FUNCTION,
	ON_LAUNCH,
	ON_LAUNCH_EX,
	ON_LAUNCH_MULTI,
	ON_GRAPH_INSTANTIATE,
	ON_GRAPH_LAUNCH,
	ON_GRAPH_DESTROY,
	ON_CAPTURE_BEGIN,
	ON_CAPTURE_END,
	ON_SYNC,
	ON_COPY,
	ON_FILL8,
	ON_FILL16,
	ON_FILL32,
	ON_COPY_ODD,  /* rows, slices, arrays, peers, batches */
	ON_COPY_NODE, /* added to a graph by hand */
	ON_CTX_DESTROY,
	ON_DEVICE_RESET,
	ON_TENSOR_MAP,
	ON_EARLY /* comes before there is memory to race in: the context is set up now */
};

struct row {
	CUpti_CallbackId id;
	enum action action;
};

static const struct row rows[] = {
	ROW(cuModuleLoad, ON_MODULE_LOAD),
	ROW(cuModuleLoadData, ON_MODULE_LOAD),
	ROW(cuModuleLoadDataEx, ON_MODULE_LOAD),
	ROW(cuModuleLoadFatBinary, ON_MODULE_LOAD),
	ROW(cuModuleUnload, ON_MODULE_UNLOAD),
	ROW(cuModuleGetFunction, ON_MODULE_GET),
	ROW(cuLibraryLoadData, ON_LIBRARY_LOAD),
	ROW(cuLibraryLoadFromFile, ON_LIBRARY_LOAD),
	ROW(cuLibraryUnload, ON_LIBRARY_UNLOAD),
	ROW(cuLibraryGetKernel, ON_LIBRARY_KERNEL),
	ROW(cuLibraryGetModule, ON_LIBRARY_MODULE),
	ROW(cuLibraryGetGlobal, ON_LIBRARY_GLOBAL),
	ROW(cuKernelGetFunction, ON_KERNEL_FUNCTION),
	BOTH(cuLaunchKernel, ON_LAUNCH),
	BOTH(cuLaunchCooperativeKernel, ON_LAUNCH),
	BOTH(cuLaunchKernelEx, ON_LAUNCH_EX),
	ROW(cuLaunch, ON_LAUNCH),
	ROW(cuLaunchGrid, ON_LAUNCH),
	ROW(cuLaunchGridAsync, ON_LAUNCH),
	ROW(cuLaunchCooperativeKernelMultiDevice, ON_LAUNCH_MULTI),
	ROW(cuGraphInstantiate, ON_GRAPH_INSTANTIATE),
	ROW(cuGraphInstantiate_v2, ON_GRAPH_INSTANTIATE),
	ROW(cuGraphInstantiateWithFlags, ON_GRAPH_INSTANTIATE),
	BOTH(cuGraphInstantiateWithParams, ON_GRAPH_INSTANTIATE),
	BOTH(cuGraphLaunch, ON_GRAPH_LAUNCH),
	ROW(cuGraphExecDestroy, ON_GRAPH_DESTROY),
	BOTH(cuStreamBeginCapture, ON_CAPTURE_BEGIN),
	BOTH(cuStreamBeginCapture_v2, ON_CAPTURE_BEGIN),
	BOTH(cuStreamBeginCaptureToGraph, ON_CAPTURE_BEGIN),
	BOTH(cuStreamEndCapture, ON_CAPTURE_END),
	ROW(cuCtxSynchronize, ON_SYNC),
#if CUDA_VERSION >= 13000
	ROW(cuCtxSynchronize_v2, ON_SYNC),
#endif
	BOTH(cuStreamSynchronize, ON_SYNC),
	ROW(cuEventSynchronize, ON_SYNC),
	ROW(cuMemcpy, ON_SYNC),
	ROW(cuMemcpy_ptds, ON_SYNC),
	ROW(cuMemcpyDtoH_v2, ON_SYNC),
	ROW(cuMemcpyDtoH_v2_ptds, ON_SYNC),
	BOTH(cuMemcpyAsync, ON_COPY),
	BOTH(cuMemcpyHtoDAsync_v2, ON_COPY),
	BOTH(cuMemcpyDtoHAsync_v2, ON_COPY),
	BOTH(cuMemcpyDtoDAsync_v2, ON_COPY),
	BOTH(cuMemsetD8Async, ON_FILL8),
	BOTH(cuMemsetD16Async, ON_FILL16),
	BOTH(cuMemsetD32Async, ON_FILL32),
	BOTH(cuMemcpy2DAsync_v2, ON_COPY_ODD),
	BOTH(cuMemcpy3DAsync_v2, ON_COPY_ODD),
	BOTH(cuMemcpyHtoAAsync_v2, ON_COPY_ODD),
	BOTH(cuMemcpyAtoHAsync_v2, ON_COPY_ODD),
	BOTH(cuMemcpyPeerAsync, ON_COPY_ODD),
	BOTH(cuMemcpy3DPeerAsync, ON_COPY_ODD),
	BOTH(cuMemsetD2D8Async, ON_COPY_ODD),
	BOTH(cuMemsetD2D16Async, ON_COPY_ODD),
	BOTH(cuMemsetD2D32Async, ON_COPY_ODD),
	ROW(cuGraphAddMemcpyNode, ON_COPY_NODE),
	ROW(cuGraphAddMemsetNode, ON_COPY_NODE),
#if CUDA_VERSION >= 12080
	BOTH(cuMemcpyBatchAsync, ON_COPY_ODD),
	BOTH(cuMemcpy3DBatchAsync, ON_COPY_ODD),
#endif
#if CUDA_VERSION >= 13000
	BOTH(cuMemcpyBatchAsync_v2, ON_COPY_ODD),
	BOTH(cuMemcpy3DBatchAsync_v2, ON_COPY_ODD),
#endif
	ROW(cuCtxDestroy, ON_CTX_DESTROY),
	ROW(cuCtxDestroy_v2, ON_CTX_DESTROY),
	ROW(cuDevicePrimaryCtxReset, ON_DEVICE_RESET),
	ROW(cuDevicePrimaryCtxReset_v2, ON_DEVICE_RESET),
	ROW(cuDevicePrimaryCtxRelease, ON_DEVICE_RESET),
	ROW(cuDevicePrimaryCtxRelease_v2, ON_DEVICE_RESET),
	ROW(cuTensorMapEncodeTiled, ON_TENSOR_MAP),
	ROW(cuStreamCreate, ON_EARLY),
	ROW(cuStreamCreateWithPriority, ON_EARLY),
	ROW(cuMemAlloc_v2, ON_EARLY),
	BOTH(cuMemAllocAsync, ON_EARLY),
	ROW(cuMemAllocManaged, ON_EARLY),
};

static unsigned char action_of[CUPTI_DRIVER_TRACE_CBID_SIZE]; /* action + 1, 0: none */

/* The context is set up as late as possible: when its functions are used. Setting up takes
 * milliseconds, which after an asynchronous copy would hide the program's race with it; so the
 * first stream or allocation (ON_EARLY) sets it up as well. */
static struct agent_context *current(const CUpti_CallbackData *d)
{
	return agent_context_get(d->context);
}

static CUresult result_of(const CUpti_CallbackData *d)
{
	return *(const CUresult *)d->functionReturnValue;
}

/* After a module was loaded or queried. */
static void on_module(enum action a, const CUpti_CallbackData *d)
{
	struct agent_context *c = d->context ? current(d) : NULL;

	if (a == ON_LIBRARY_LOAD)
		agent_library_add(*PARAMS(cuLibraryLoadData)->library);
	else if (a == ON_LIBRARY_KERNEL)
		agent_kernel_add(*PARAMS(cuLibraryGetKernel)->pKernel,
				 PARAMS(cuLibraryGetKernel)->library);
	else if (a == ON_MODULE_LOAD)
		agent_launch_forget();
	if (!c)
		return; /* patched at the latest when one of its kernels is launched */
	switch (a) {
	case ON_MODULE_LOAD: /* the handle may be reused: patched again, whatever is known */
		agent_module_patch(c, *PARAMS(cuModuleLoadData)->module, true);
		break;
	case ON_MODULE_GET:
		agent_module_patch(c, PARAMS(cuModuleGetFunction)->hmod, false);
		break;
	case ON_LIBRARY_LOAD:
		agent_library_patch(c, *PARAMS(cuLibraryLoadData)->library);
		break;
	case ON_LIBRARY_KERNEL:
		agent_library_patch(c, PARAMS(cuLibraryGetKernel)->library);
		break;
	case ON_LIBRARY_MODULE:
		agent_library_patch(c, PARAMS(cuLibraryGetModule)->library);
		break;
	case ON_LIBRARY_GLOBAL:
		agent_library_patch(c, PARAMS(cuLibraryGetGlobal)->library);
		break;
	case ON_KERNEL_FUNCTION:
		agent_function_patch(c, *PARAMS(cuKernelGetFunction)->pFunc);
		break;
	default:
		break;
	}
}

/* By these the CUDA runtime loads a file's code. */
static bool is_of_library(enum action a)
{
	return a == ON_LIBRARY_LOAD || a == ON_LIBRARY_KERNEL || a == ON_LIBRARY_MODULE ||
	       a == ON_KERNEL_FUNCTION;
}

static CUstream stream_of(enum action a, CUpti_CallbackId id, const void *params)
{
	if (a == ON_LAUNCH_EX) {
		const CUlaunchConfig *config = ((const cuLaunchKernelEx_params *)params)->config;

		return config ? config->hStream : NULL;
	}
	if (id == ID(cuLaunchKernel) || id == ID(cuLaunchKernel_ptsz))
		return ((const cuLaunchKernel_params *)params)->hStream;
	if (id == ID(cuLaunchCooperativeKernel) || id == ID(cuLaunchCooperativeKernel_ptsz))
		return ((const cuLaunchCooperativeKernel_params *)params)->hStream;
	return NULL;
}

/* May this launch begin before its predecessor in the stream has ended? */
static bool is_programmatic(enum action a, const void *params)
{
	const CUlaunchConfig *config = ((const cuLaunchKernelEx_params *)params)->config;

	for (unsigned i = 0; a == ON_LAUNCH_EX && config && i < config->numAttrs; i++) {
		const CUlaunchAttribute *at = &config->attrs[i];
		if (at->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
		    at->value.programmaticStreamSerializationAllowed)
			return true;
	}
	return false;
}

/* --shuffle-streams: before a launch. */
static void hold(struct agent_context *c, CUstream stream, bool has_early_start,
		 const CUpti_CallbackData *d)
{
	enum race_hold_skip why = RACE_HOLD_SKIPS;
	struct agent_holds *h = agent_context_holds(c);

	if (!h)
		return;
	stream = agent_own_stream(stream, d);
	if (has_early_start)
		why = RACE_HOLD_PROGRAMMATIC;
	else if (agent_is_captured(stream))
		why = RACE_HOLD_CAPTURED;
	agent_hold(h, stream, why);
}

/* Is this launch checked? */
static void choose(struct agent_context *c, struct agent_kernel *k, CUstream stream)
{
	struct race_choice_answer answer;

	agent_choice_begin(c, agent_context_choice(c),
			   &(struct agent_launch_set){&k, &answer, k != NULL}, stream);
}

static void on_launch(enum action a, CUpti_CallbackId id, const CUpti_CallbackData *d)
{
	CUfunction f = a == ON_LAUNCH_EX ? PARAMS(cuLaunchKernelEx)->f : PARAMS(cuLaunchKernel)->f;
	struct agent_context *c = current(d);
	CUstream stream = agent_own_stream(stream_of(a, id, d->functionParams), d);
	struct agent_kernel *k = (struct agent_kernel *)(uintptr_t)*d->correlationData;

	if (!c)
		return;
	if (d->callbackSite == CUPTI_API_ENTER) {
		k = agent_launch_prepare(c, f, d->symbolName);
		agent_launch_note(k);
		if (!agent_kernel_is_instrumented(k))
			agent_context_unseen(c, RACE_HISTORY_GRID_ORDERS);
		if (!agent_is_captured(stream)) {
			agent_launch_load(c, k, f, stream);
			choose(c, k, stream);
		}
		agent_history_launch_begin(agent_context_history(c), 1);
		*d->correlationData = (uint64_t)(uintptr_t)k;
		agent_context_launch(c);
		hold(c, stream_of(a, id, d->functionParams), is_programmatic(a, d->functionParams),
		     d);
		if (!agent_is_captured(stream))
			agent_plain_begin(c, k, id, d, stream,
					  is_programmatic(a, d->functionParams));
	} else if (result_of(d) == CUDA_SUCCESS &&
		   !agent_is_captured(stream_of(a, id, d->functionParams))) {
		agent_launch_count(c, k, 1);
		agent_unordered_launch(
			c, k,
			&(struct agent_launched){stream, d->context, 1,
						 is_programmatic(a, d->functionParams)});
		agent_quick_note(d, f, c, k);
	} else {
		if (result_of(d) != CUDA_SUCCESS)
			agent_launch_refused(k ? agent_kernel_name(k) : d->symbolName,
					     result_of(d));
		agent_context_synced(c, result_of(d), UINT64_MAX); /* a dead context? */
	}
	if (d->callbackSite == CUPTI_API_EXIT) {
		agent_plain_end(k, result_of(d) == CUDA_SUCCESS);
		agent_history_launch_end();
		agent_choice_end(stream);
	}
}

/* Kernels of several contexts at once: counted here, without their names. */
static void on_launch_multi(const CUpti_CallbackData *d)
{
	const cuLaunchCooperativeKernelMultiDevice_params *p = d->functionParams;
	struct agent_context *c = current(d);

	if (!c)
		return;
	if (d->callbackSite == CUPTI_API_ENTER) {
		agent_library_patch_all(c);
		agent_context_launch(c);
	} else if (result_of(d) == CUDA_SUCCESS) {
		agent_launch_count(c, NULL, p->numDevices);
	}
}

/* A graph that is launched, not put into another one. */
static void around_graph(struct agent_context *c, CUgraphExec exec, CUstream stream, bool is_enter)
{
	struct agent_guard g;

	agent_enter(&g);
	(is_enter ? agent_history_graph_begin : agent_history_graph_end)(agent_context_history(c),
									 exec, stream);
	agent_leave(&g);
}

static void choose_graph(struct agent_context *c, CUgraphExec exec, CUstream stream)
{
	struct agent_launch_set set = {0};

	if (!agent_context_choice(c))
		return;
	set = agent_graph_set(exec);
	agent_choice_begin(c, agent_context_choice(c), &set, stream);
	free(set.kernel);
	free(set.answer);
}

static void on_graph(enum action a, const CUpti_CallbackData *d)
{
	const cuGraphInstantiateWithFlags_params *made = d->functionParams;
	CUgraphExec exec = PARAMS(cuGraphLaunch)->hGraph; /* or cuGraphExecDestroy's only one */
	struct agent_context *c = current(d);
	bool is_enter = d->callbackSite == CUPTI_API_ENTER;
	CUstream stream =
		agent_own_stream(a == ON_GRAPH_LAUNCH ? PARAMS(cuGraphLaunch)->hStream : NULL, d);

	if (!c)
		return;
	if (a == ON_GRAPH_DESTROY && is_enter) {
		agent_graph_forget(exec);
	} else if (a == ON_GRAPH_LAUNCH && is_enter) {
		agent_library_patch_all(c);
		if (!agent_is_captured(stream))
			choose_graph(c, exec, stream);
		agent_history_launch_begin(agent_context_history(c), agent_graph_kernels(exec));
		if (!agent_is_captured(stream))
			around_graph(c, exec, stream, true);
		agent_context_launch(c);
		hold(c, PARAMS(cuGraphLaunch)->hStream, false, d);
	} else if (!is_enter && result_of(d) == CUDA_SUCCESS) {
		if (a == ON_GRAPH_LAUNCH) {
			agent_graph_launched(c, exec);
			agent_unordered_launch(
				c, NULL,
				&(struct agent_launched){stream, d->context,
							 agent_graph_kernels(exec),
							 agent_graph_has_branches(exec)});
		} else if (a == ON_GRAPH_INSTANTIATE)
			agent_graph_instantiated(c, *made->phGraphExec, made->hGraph);
	}
	if (a == ON_GRAPH_LAUNCH && !is_enter) {
		if (!agent_is_captured(stream))
			around_graph(c, exec, stream, false);
		agent_history_launch_end();
		agent_choice_end(stream);
	}
}

/* Does this call wait for the whole current context? */
static bool is_whole(CUpti_CallbackId id, const CUpti_CallbackData *d)
{
#if CUDA_VERSION >= 13000
	if (id == ID(cuCtxSynchronize_v2))
		return !PARAMS(cuCtxSynchronize_v2)->ctx ||
		       PARAMS(cuCtxSynchronize_v2)->ctx == d->context;
#else
	(void)d;
#endif
	return id == ID(cuCtxSynchronize);
}

static void on_sync(CUpti_CallbackId id, const CUpti_CallbackData *d)
{
	struct agent_context *c = current(d);

	if (!c)
		return;
	if (d->callbackSite == CUPTI_API_ENTER)
		*d->correlationData = is_whole(id, d) ? agent_context_seq(c) : UINT64_MAX;
	else
		agent_context_synced(c, result_of(d), *d->correlationData);
}

/* A copy or fill was enqueued: the copies' parameters are the same in all four functions, and so
 * are those of the fills, except for the value's width. */
static void on_copy(enum action a, const CUpti_CallbackData *d)
{
	struct agent_context *c = current(d);
	const cuMemcpyDtoDAsync_v2_params *copy = d->functionParams;
	const cuMemsetD32Async_params *fill = d->functionParams;
	struct agent_operation op = {
		.api = d->functionName, .is_odd = a == ON_COPY_ODD, .is_node = a == ON_COPY_NODE};
	const struct race_region *region;

	if (!c || !(region = agent_context_region(c)))
		return;
	op.number = region->context;
	op.device = region->device;
	if (a == ON_COPY) {
		op.dst = copy->dstDevice;
		op.src = copy->srcDevice;
		op.bytes = copy->ByteCount;
		op.stream = copy->hStream;
	} else if (!op.is_odd && !op.is_node) {
		op.is_fill = true;
		op.dst = fill->dstDevice;
		op.bytes = fill->N * (a == ON_FILL8 ? 1 : a == ON_FILL16 ? 2 : 4);
		op.stream = fill->hStream;
	}
	op.stream = agent_own_stream(op.stream, d);
	agent_copies_after(agent_context_copies(c), d->context, &op);
}

static void on_capture(enum action a, const CUpti_CallbackData *d)
{
	/* A failed attempt to end one has ended it too, unless there was none: never below zero. */
	uint32_t n = __atomic_load_n(&agent.captures, __ATOMIC_RELAXED);

	if (a == ON_CAPTURE_BEGIN && result_of(d) == CUDA_SUCCESS)
		__atomic_fetch_add(&agent.captures, 1, __ATOMIC_RELAXED);
	while (a == ON_CAPTURE_END && n &&
	       !__atomic_compare_exchange_n(&agent.captures, &n, n - 1, 0, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
}

/* No context is needed for this. */
static void on_tensor_map(const CUpti_CallbackData *d)
{
	const cuTensorMapEncodeTiled_params *p = d->functionParams;
	struct race_map_request q = {
		.address = (uint64_t)(uintptr_t)p->globalAddress,
		.type = (uint32_t)p->tensorDataType,
		.rank = p->tensorRank,
		.interleave = (uint32_t)p->interleave,
		.swizzle = (uint32_t)p->swizzle,
		.dims = p->globalDim,
		.strides = p->globalStrides,
		.box = p->boxDim,
		.element_strides = p->elementStrides,
	};

	race_map_record(p->tensorMap, &q);
}

static void on_enter_only(enum action a, const CUpti_CallbackData *d)
{
	const void *p = d->functionParams;

	switch (a) {
	case ON_MODULE_UNLOAD:
		agent_plain_unload();
		agent_launch_forget();
		agent_module_forget(((const cuModuleUnload_params *)p)->hmod, NULL);
		break;
	case ON_LIBRARY_UNLOAD:
		agent_plain_unload();
		agent_launch_forget();
		agent_module_forget(NULL, ((const cuLibraryUnload_params *)p)->library);
		break;
	case ON_CTX_DESTROY:
		agent_context_finish(((const cuCtxDestroy_v2_params *)p)->ctx);
		break;
	case ON_DEVICE_RESET:
		agent_context_finish_device(((const cuDevicePrimaryCtxReset_v2_params *)p)->dev);
		break;
	default:
		break;
	}
}

static void on_driver(CUpti_CallbackId id, const CUpti_CallbackData *d)
{
	enum action a;

	if (id >= CUPTI_DRIVER_TRACE_CBID_SIZE || !action_of[id])
		return;
	a = (enum action)(action_of[id] - 1);
	switch (a) {
	case ON_LAUNCH:
	case ON_LAUNCH_EX:
		on_launch(a, id, d);
		break;
	case ON_LAUNCH_MULTI:
		on_launch_multi(d);
		break;
	case ON_SYNC:
		on_sync(id, d);
		break;
	case ON_COPY:
	case ON_FILL8:
	case ON_FILL16:
	case ON_FILL32:
	case ON_COPY_ODD:
	case ON_COPY_NODE:
		if (d->callbackSite == CUPTI_API_EXIT && result_of(d) == CUDA_SUCCESS)
			on_copy(a, d);
		break;
	case ON_GRAPH_INSTANTIATE:
	case ON_GRAPH_LAUNCH:
	case ON_GRAPH_DESTROY:
		on_graph(a, d);
		break;
	case ON_MODULE_UNLOAD:
	case ON_LIBRARY_UNLOAD:
	case ON_CTX_DESTROY:
	case ON_DEVICE_RESET:
		if (d->callbackSite == CUPTI_API_ENTER)
			on_enter_only(a, d);
		break;
	case ON_CAPTURE_BEGIN:
	case ON_CAPTURE_END:
		if (d->callbackSite == CUPTI_API_EXIT)
			on_capture(a, d);
		break;
	case ON_TENSOR_MAP:
		if (d->callbackSite == CUPTI_API_EXIT && result_of(d) == CUDA_SUCCESS)
			on_tensor_map(d);
		break;
	case ON_EARLY:
		if (d->callbackSite == CUPTI_API_EXIT && result_of(d) == CUDA_SUCCESS)
			current(d);
		break;
	default:
		if (d->callbackSite == CUPTI_API_EXIT && result_of(d) == CUDA_SUCCESS)
			on_module(a, d);
		else if (d->callbackSite == CUPTI_API_EXIT && is_of_library(a))
			agent_load_refused(result_of(d));
		break;
	}
}

static void on_resource(CUpti_CallbackId id, const CUpti_ResourceData *d)
{
	const CUpti_ModuleResourceData *m;

	switch (id) {
	case CUPTI_CBID_RESOURCE_MODULE_LOADED:
		m = d->resourceDescriptor;
		if (m)
			agent_sites_collect(m->pCubin, m->cubinSize);
		break;
	case CUPTI_CBID_RESOURCE_CONTEXT_CREATED:
		agent_context_created(d->context);
		break;
	case CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING:
		agent_context_close(d->context);
		break;
	default:
		break;
	}
}

void CUPTIAPI agent_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			     const void *data)
{
	(void)user;
	if (!agent.pid)
		return;
	if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
		on_resource(id, data);
	} else if (domain == CUPTI_CB_DOMAIN_DRIVER_API && agent_quick_call(id, data)) {
		return;
	} else if (domain == CUPTI_CB_DOMAIN_DRIVER_API && !agent_is_inside()) {
		on_driver(id, data);
		agent_host_call(id, data);
		agent_memory_call(id, data);
		agent_plain_call(id, data);
		agent_unordered_call(id, data);
	} else if (domain == CUPTI_CB_DOMAIN_RUNTIME_API) {
		agent_runtime_call(data);
	}
}

/* ---- what is subscribed to ------------------------------------------------------------------- */

struct enabling {
	const struct agent_cupti *cupti;
	CUpti_SubscriberHandle sub;
	CUpti_CallbackDomain domain;
};

static void enable_one(void *arg, uint32_t id)
{
	const struct enabling *e = arg;

	e->cupti->enable_callback(1, e->sub, e->domain, id);
}

bool agent_enable(const struct agent_cupti *cupti, CUpti_SubscriberHandle sub)
{
	static const CUpti_CallbackId resources[] = {
		CUPTI_CBID_RESOURCE_MODULE_LOADED,
		CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
		CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
	};
	bool is_good = true;
	CUptiResult r;

	for (size_t i = 0; i < sizeof(resources) / sizeof(resources[0]); i++) {
		r = cupti->enable_callback(1, sub, CUPTI_CB_DOMAIN_RESOURCE, resources[i]);
		is_good = is_good && r == CUPTI_SUCCESS;
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		r = cupti->enable_callback(1, sub, CUPTI_CB_DOMAIN_DRIVER_API, rows[i].id);
		action_of[rows[i].id] = (unsigned char)(rows[i].action + 1);
		if (rows[i].id == ID(cuLaunchKernel) || rows[i].id == ID(cuModuleLoadData))
			is_good = is_good && r == CUPTI_SUCCESS;
	}
	struct enabling driver = {cupti, sub, CUPTI_CB_DOMAIN_DRIVER_API};
	agent_host_enable(enable_one, &driver);
	agent_memory_enable(enable_one, &driver);
	agent_plain_enable(enable_one, &driver);
	agent_unordered_enable(enable_one, &driver);
	agent_runtime_enable(enable_one,
			     &(struct enabling){cupti, sub, CUPTI_CB_DOMAIN_RUNTIME_API});
	return is_good;
}
