/*
 * invalid.c - launches that CUDA refuses, for the report: they didn't run, so a part of the program
 * was not checked.
 *
 * The runtime refuses some by itself (a block of no threads) and asks the driver about others, so
 * both are listened to; what the driver refuses within a call of the runtime is counted when that
 * returns. Without the runtime's calls (the agent listens to the library that stands in for the
 * driver's) only the driver's answers are known: code that it can't load counts when the runtime
 * loads it, which is for the first launch.
 * An error of an earlier launch, after which a context refuses everything, is no reason: the report
 * has that one.
 *
 * Misses: launches of graphs, whose kernels were accepted before; without the runtime's calls what
 * it refuses by itself. Costs: two callbacks a launch.
 */
#include <cupti.h>

#include "agent/agent.h"
#include "race/gap.h"

#define RUNTIME(f) CUPTI_RUNTIME_TRACE_CBID_##f

static const CUpti_CallbackId runtime[] = {
	RUNTIME(cudaLaunchKernel_v7000),
	RUNTIME(cudaLaunchKernel_ptsz_v7000),
	RUNTIME(cudaLaunchCooperativeKernel_v9000),
	RUNTIME(cudaLaunchCooperativeKernel_ptsz_v9000),
#if CUDA_VERSION >= 11060
	RUNTIME(cudaLaunchKernelExC_v11060),
	RUNTIME(cudaLaunchKernelExC_ptsz_v11060),
#endif
#if CUDA_VERSION >= 13000
	RUNTIME(__cudaLaunchKernel_v13000),
	RUNTIME(__cudaLaunchKernel_ptsz_v13000),
#endif
};

static bool is_runtime_heard;

/* Calls of the runtime that the thread is in. */
static __thread unsigned depth;

/* The errors of launches have one number in the driver and in the runtime. */
static const struct {
	int error;
	const char *name;
	enum race_gap_why why;
} errors[] = {
	{1, "cudaErrorInvalidValue", RACE_GAP_INVALID},
	{9, "cudaErrorInvalidConfiguration", RACE_GAP_INVALID},
	{98, "cudaErrorInvalidDeviceFunction", RACE_GAP_NOT_LOADED},
	{200, "cudaErrorInvalidKernelImage", RACE_GAP_NOT_LOADED},
	{209, "cudaErrorNoKernelImageForDevice", RACE_GAP_NOT_LOADED},
	{218, "cudaErrorInvalidPtx", RACE_GAP_NOT_LOADED},
	{400, "cudaErrorInvalidResourceHandle", RACE_GAP_INVALID},
	{701, "cudaErrorLaunchOutOfResources", RACE_GAP_INVALID},
	{703, "cudaErrorLaunchIncompatibleTexturing", RACE_GAP_INVALID},
	{720, "cudaErrorCooperativeLaunchTooLarge", RACE_GAP_INVALID},
	{800, "cudaErrorNotPermitted", RACE_GAP_INVALID},
	{801, "cudaErrorNotSupported", RACE_GAP_INVALID},
	{900, "cudaErrorStreamCaptureUnsupported", RACE_GAP_INVALID},
	{901, "cudaErrorStreamCaptureInvalidated", RACE_GAP_INVALID},
};

static void note(const char *kernel, int error)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].error == error)
			race_shm_gap(errors[i].why, kernel ? kernel : "", errors[i].name, 1);
}

void agent_launch_refused(const char *kernel, CUresult r)
{
	if (!depth)
		note(kernel, (int)r);
}

void agent_load_refused(CUresult r)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]) && !is_runtime_heard; i++)
		if (errors[i].error == (int)r && errors[i].why == RACE_GAP_NOT_LOADED)
			race_shm_gap(RACE_GAP_NOT_LOADED, "", errors[i].name, 1);
}

void agent_runtime_heard(void)
{
	is_runtime_heard = true;
}

void agent_runtime_enable(agent_enable_fn *enable, void *arg)
{
	for (size_t i = 0; i < sizeof(runtime) / sizeof(runtime[0]); i++)
		enable(arg, runtime[i]);
}

void agent_runtime_call(const void *data)
{
	const CUpti_CallbackData *d = data;

	if (d->callbackSite == CUPTI_API_ENTER) {
		depth++;
		return;
	}
	depth -= depth > 0;
	if (!depth)
		note(d->symbolName, *(const int *)d->functionReturnValue);
}
