/*
 * quick.c - the short way of a launch that is only counted: of a kernel without checks, which this
 * thread has launched of late, while nothing orders, chooses or holds launches and no host code is
 * judged.
 *
 * Costs: some 50 ns on an H100, with the wrapper of the call; the whole way of callback.c takes
 * 400, most of it for code and data that the driver has driven out of the cache.
 */
#include "agent/agent.h"
#include "agent/cupti.h"
#include "race/file/host.h"

#define RECENT 16u

/* By a hash of the function: one that is displaced goes the long way once. */
static __thread struct recent {
	CUcontext context;
	CUfunction f;
	uint64_t forgotten;
	struct agent_context *c;
	struct agent_kernel *k;
} recent[RECENT];

static struct recent *recent_of(CUfunction f)
{
	return &recent[((uint64_t)(uintptr_t)f >> 4) * 0x9e3779b97f4a7c15u >> 60];
}

/* Does nothing but the count follow a launch here? */
static bool is_only_counted(const struct agent_context *c)
{
	return !__atomic_load_n(&agent.captures, __ATOMIC_RELAXED) && !agent_context_history(c) &&
	       !agent_context_choice(c);
}

static CUfunction function_of(uint32_t id, const void *params)
{
	switch (id) {
	case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
	case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz:
		return ((const cuLaunchKernel_params *)params)->f;
	case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
	case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz:
		return ((const cuLaunchKernelEx_params *)params)->f;
	default:
		return NULL;
	}
}

/* Launches of our own never get that far: their functions aren't noted. */
bool agent_quick_call(uint32_t id, const void *data)
{
	const CUpti_CallbackData *d = data;
	CUfunction f = function_of(id, d->functionParams);
	struct recent *r = recent_of(f);

	if (!f || r->f != f || r->context != d->context ||
	    r->forgotten != __atomic_load_n(&agent.forgotten, __ATOMIC_ACQUIRE) ||
	    !is_only_counted(r->c))
		return false;
	if (d->callbackSite == CUPTI_API_ENTER) {
		*d->correlationData = (uint64_t)(uintptr_t)r->k;
		agent_context_launch(r->c);
		return true;
	}
	if (*d->correlationData != (uint64_t)(uintptr_t)r->k ||
	    *(const CUresult *)d->functionReturnValue != CUDA_SUCCESS)
		return false;
	agent_launch_count(r->c, r->k, 1);
	return true;
}

void agent_quick_note(const CUpti_CallbackData *d, CUfunction f, struct agent_context *c,
		      struct agent_kernel *k)
{
	if (!k || agent_kernel_is_instrumented(k) || agent_context_holds(c) || race_host_get() ||
	    !is_only_counted(c))
		return;
	struct recent *r = recent_of(f);
	r->context = d->context;
	r->f = f;
	r->forgotten = __atomic_load_n(&agent.forgotten, __ATOMIC_ACQUIRE);
	r->c = c;
	r->k = k;
}
