/*
 * contexts.c - contexts that come and go, seen by the calls that make and destroy them, for the
 * agent and for the judge's half of the program.
 *
 * The listener hears of a destruction before it, while the context can be used, and of a new one
 * after the call. A device's primary context lives while it is retained: it goes with the last
 * release that we have seen coming, or with a reset. Where it was retained in ways that we don't
 * see, the listener hears too early of its end and sets it up again, or too late, when it has gone.
 *
 * Costs: nothing but a comparison for other calls.
 */
#include <stdint.h>

#include "agent/forward/events.h"
#include "agent/forward/forward.h"

#define ID(f)	  CUPTI_DRIVER_TRACE_CBID_##f
#define PARAMS(f) ((const f##_params *)c->data.functionParams)
#define DEVICES	  64

enum what { NOTHING, MAKES, DESTROYS, RETAINS, RELEASES, RESETS };

static unsigned retained[DEVICES]; /* atomic */

/* The parameters of the functions of one kind begin alike. */
static enum what what_of(uint32_t id)
{
	switch (id) {
	case ID(cuCtxCreate):
	case ID(cuCtxCreate_v2):
	case ID(cuCtxCreate_v3):
#if CUDA_VERSION >= 12050
	case ID(cuCtxCreate_v4):
#endif
		return MAKES;
	case ID(cuCtxDestroy):
	case ID(cuCtxDestroy_v2):
		return DESTROYS;
	case ID(cuDevicePrimaryCtxRetain):
		return RETAINS;
	case ID(cuDevicePrimaryCtxRelease):
	case ID(cuDevicePrimaryCtxRelease_v2):
		return RELEASES;
	case ID(cuDevicePrimaryCtxReset):
	case ID(cuDevicePrimaryCtxReset_v2):
		return RESETS;
	default:
		return NOTHING;
	}
}

static bool is_active(CUdevice device)
{
	CUresult (*get)(CUdevice, unsigned *, int *);
	unsigned flags = 0;
	int active = 0;

	*(void **)&get = forward_find("cuDevicePrimaryCtxGetState");
	return get && get(device, &flags, &active) == CUDA_SUCCESS && active;
}

/* The handle of an active primary context. */
static CUcontext primary_of(CUdevice device)
{
	CUresult (*retain)(CUcontext *, CUdevice), (*release)(CUdevice);
	CUcontext context = NULL;

	*(void **)&retain = forward_find("cuDevicePrimaryCtxRetain");
	*(void **)&release = forward_find("cuDevicePrimaryCtxRelease_v2");
	if (!retain || !release || retain(&context, device) != CUDA_SUCCESS)
		return NULL;
	release(device);
	return context;
}

static unsigned *count_of(CUdevice device)
{
	return device >= 0 && device < DEVICES ? &retained[device] : NULL;
}

static void ends(CUcontext context)
{
	if (context)
		forward_resource(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, context, NULL);
}

/* The judge's half waits for what it has under way there, each time that it may go. */
static void judge_ends(CUcontext context)
{
	if (forward_has_judge())
		forward_judge_ends(context);
}

/* The primary context goes, or may go. */
static void before_primary(struct forward_call *c, CUdevice device, bool is_reset)
{
	const unsigned *n = count_of(device);

	c->was_active = is_active(device);
	if (!c->was_active)
		return;
	c->primary = primary_of(device);
	if (is_reset || (n && __atomic_load_n(n, __ATOMIC_RELAXED) == 1))
		ends(c->primary);
}

/* ------------------------------------------------------------------------ */

void forward_contexts_before(struct forward_call *c)
{
	switch (what_of(c->id)) {
	case DESTROYS:
		ends(PARAMS(cuCtxDestroy_v2)->ctx);
		judge_ends(PARAMS(cuCtxDestroy_v2)->ctx);
		break;
	case RETAINS:
		c->was_active = is_active(PARAMS(cuDevicePrimaryCtxRetain)->dev);
		break;
	case RELEASES:
		before_primary(c, PARAMS(cuDevicePrimaryCtxRelease_v2)->dev, false);
		judge_ends(NULL);
		break;
	case RESETS:
		before_primary(c, PARAMS(cuDevicePrimaryCtxReset_v2)->dev, true);
		judge_ends(NULL);
		break;
	default:
		break;
	}
}

void forward_contexts_after(struct forward_call *c)
{
	enum what what = what_of(c->id);
	unsigned *n;

	if (what == NOTHING || c->result != CUDA_SUCCESS)
		return;
	/* (Both have the device first.) */
	if ((what == RELEASES || what == RESETS) && forward_has_judge() &&
	    !is_active(PARAMS(cuDevicePrimaryCtxReset_v2)->dev))
		forward_judge_gone();
	if (what == MAKES) {
		forward_resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, *PARAMS(cuCtxCreate_v2)->pctx,
				 NULL);
	} else if (what == RETAINS) {
		n = count_of(PARAMS(cuDevicePrimaryCtxRetain)->dev);
		if (n)
			__atomic_fetch_add(n, 1, __ATOMIC_RELAXED);
		if (!c->was_active)
			forward_resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
					 *PARAMS(cuDevicePrimaryCtxRetain)->pctx, NULL);
	} else if (what == RELEASES) {
		CUdevice device = PARAMS(cuDevicePrimaryCtxRelease_v2)->dev;
		n = count_of(device);
		if (n && __atomic_load_n(n, __ATOMIC_RELAXED))
			__atomic_fetch_sub(n, 1, __ATOMIC_RELAXED);
		/* It has gone unannounced: what is known of its handle is wrong. */
		if (c->primary && !is_active(device))
			forward_resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, c->primary, NULL);
	}
}

void forward_contexts_each(void (*add)(uint32_t id))
{
	for (uint32_t id = 0; id < CUPTI_DRIVER_TRACE_CBID_SIZE; id++)
		if (what_of(id) != NOTHING)
			add(id);
}
