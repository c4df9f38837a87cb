/*
 * events.c - the agent hears of the program's calls of the driver: a source of events beside CUPTI,
 * whose one subscriber in a process a profiler of the user's may be.
 *
 * A function that is listened to goes by way of a wrapper, which calls the listener, the function
 * (or load/'s in its place), and the listener again. The wrappers are made from CUPTI's headers
 * (calls.c); the table of trampolines leads to them from the moment on that the agent wants a
 * function, and callers who have asked cuGetProcAddress have our trampolines, too (lookup.c).
 * Other functions cost what they did.
 *
 * Two kinds of events of CUPTI's other domain are made here: a module that is loaded, of which we
 * know the machine code (load/), and contexts that come and go (contexts.c).
 *
 * Of functions that CUPTI's headers don't know it is only heard that some were called
 * (forward_unheard).
 *
 * Misses: what reaches the driver past us (export tables), and launches that CUDA's runtime refuses
 * by itself. Costs: a call of cuCtxGetCurrent and 20 ns for a function that is listened to.
 */
#include <stdint.h>
#include <string.h>

#include "agent/order.h"

#include "agent/forward/events.h"
#include "agent/forward/forward.h"

#define EXPORT __attribute__((visibility("default")))

static CUpti_CallbackFunc listener;
static void *user;
static unsigned char is_wanted[CUPTI_DRIVER_TRACE_CBID_SIZE];
static bool wants_resource[CUPTI_CBID_RESOURCE_SIZE], has_contexts;
static bool is_ordered[CUPTI_DRIVER_TRACE_CBID_SIZE]; /* the judge follows it */
static CUresult (*get_current)(CUcontext *);
static __thread struct forward_call *innermost;
static __thread int agents; /* calls of the agent's own are under way */

/* ---- the way of a call --------------------------------------------------------------------- */

CUcontext forward_current(void)
{
	CUcontext c = NULL;

	return get_current && get_current(&c) == CUDA_SUCCESS ? c : NULL;
}

static void hand_over(struct forward_call *c, CUpti_ApiCallbackSite site)
{
	CUpti_CallbackFunc to = __atomic_load_n(&listener, __ATOMIC_ACQUIRE);

	if (!to || !is_wanted[c->id])
		return;
	c->data.callbackSite = site;
	if (!c->data.context) /* a call may make one current; none that is listened to changes it */
		c->data.context = forward_current();
	to(user, CUPTI_CB_DOMAIN_DRIVER_API, c->id, &c->data);
}

static void begin(struct forward_call *c, uint32_t id, const char *name, const void *params,
		  const void *caller)
{
	/* Field by field: the compiler clears a structure by an instruction that takes 20 ns. */
	c->data.callbackSite = CUPTI_API_ENTER;
	c->data.functionName = name;
	c->data.functionParams = params;
	c->data.functionReturnValue = &c->result;
	c->data.symbolName = NULL;
	c->data.context = NULL;
	c->data.contextUid = 0;
	c->data.correlationData = &c->kept;
	c->data.correlationId = 0;
	c->kept = 0;
	c->result = CUDA_SUCCESS;
	c->id = id;
	c->caller = caller;
	c->outer = innermost;
	c->primary = NULL;
	c->was_active = false;
	innermost = c;
	if (is_ordered[id])
		forward_judge_call(id, params);
	hand_over(c, CUPTI_API_ENTER);
	if (has_contexts)
		forward_contexts_before(c);
}

static CUresult end(struct forward_call *c, CUresult r)
{
	c->result = r;
	if (is_ordered[c->id])
		forward_judge_called(c->id, c->data.functionParams, r);
	if (has_contexts)
		forward_contexts_after(c);
	hand_over(c, CUPTI_API_EXIT);
	innermost = c->outer;
	return r;
}

/* ---- a wrapper for each function ------------------------------------------------------------- */

/* Some of the names are macros of cuda.h, so a name is never handed on to another macro. */

#define CALL(name, params, ...)                                                                    \
	static CUresult(*next_##name) params;                                                      \
	static CUresult call_##name params                                                         \
	{                                                                                          \
		name##_params params_ = {__VA_ARGS__};                                             \
		struct forward_call call_;                                                         \
                                                                                                   \
		begin(&call_, CUPTI_DRIVER_TRACE_CBID_##name, #name, &params_,                     \
		      __builtin_return_address(0));                                                \
		return end(&call_, next_##name(__VA_ARGS__));                                      \
	}
#define CALL_NOTHING(name)                                                                         \
	static CUresult (*next_##name)(void);                                                      \
	static CUresult call_##name(void)                                                          \
	{                                                                                          \
		struct forward_call call_;                                                         \
                                                                                                   \
		begin(&call_, CUPTI_DRIVER_TRACE_CBID_##name, #name, NULL,                         \
		      __builtin_return_address(0));                                                \
		return end(&call_, next_##name());                                                 \
	}
#include "agent/calls.inc"
#undef CALL
#undef CALL_NOTHING

static const struct wrapper {
	const char *name; /* as the library exports it; NULL: no such function */
	void *call, **next;
} wrappers[CUPTI_DRIVER_TRACE_CBID_SIZE] = {
#define CALL(name, params, ...)                                                                    \
	[CUPTI_DRIVER_TRACE_CBID_##name] = {#name, (void *)call_##name, (void **)&next_##name},
#define CALL_NOTHING(name)                                                                         \
	[CUPTI_DRIVER_TRACE_CBID_##name] = {#name, (void *)call_##name, (void **)&next_##name},
#include "agent/calls.inc"
#undef CALL
#undef CALL_NOTHING
};

/* From now on the function goes by way of its wrapper. False: the driver doesn't have it. */
static bool put_wrapper(uint32_t id)
{
	const struct wrapper *w = id < CUPTI_DRIVER_TRACE_CBID_SIZE ? &wrappers[id] : NULL;

	if (!w || !w->name)
		return false;
	void **slot = forward_place(w->name);
	if (!slot)
		return false;
	if (*slot == w->call)
		return true;
	/* Another thread that takes the wrapper at once must find what to call. */
	*w->next = *slot;
	__atomic_store_n(slot, w->call, __ATOMIC_RELEASE);
	return true;
}

/* A function of a newer driver. */
static void count_unknown(const char *name, void **slot)
{
	if (agent_order_is_harmless(name))
		return;
	for (uint32_t id = 0; id < CUPTI_DRIVER_TRACE_CBID_SIZE; id++)
		if (wrappers[id].name && !strcmp(wrappers[id].name, name))
			return;
	forward_count(slot);
}

static void find_unheard(void)
{
	static bool is_done;

	if (!__atomic_exchange_n(&is_done, true, __ATOMIC_ACQ_REL))
		forward_each(count_unknown);
}

static void add_wrapper(uint32_t id)
{
	put_wrapper(id);
}

static void hear_contexts(void)
{
	forward_contexts_each(add_wrapper);
	has_contexts = true;
}

void forward_judge_listen(void)
{
	find_unheard();
	*(void **)&get_current = forward_find("cuCtxGetCurrent");
	for (uint32_t id = 0; id < CUPTI_DRIVER_TRACE_CBID_SIZE; id++)
		if (wrappers[id].name && forward_judge_wants(id))
			is_ordered[id] = put_wrapper(id);
	hear_contexts();
}

/* ------------------------------------------------------------------------ */

void forward_resource(CUpti_CallbackIdResource id, CUcontext context, void *descriptor)
{
	CUpti_CallbackFunc to = __atomic_load_n(&listener, __ATOMIC_ACQUIRE);
	CUpti_ResourceData data = {.context = context, .resourceDescriptor = descriptor};

	if (to && wants_resource[id])
		to(user, CUPTI_CB_DOMAIN_RESOURCE, id, &data);
}

void forward_loaded(const void *code, size_t size)
{
	CUpti_ModuleResourceData module = {.cubinSize = size, .pCubin = code};

	if (size)
		forward_resource(CUPTI_CBID_RESOURCE_MODULE_LOADED, NULL, &module);
}

bool forward_is_heard(void)
{
	return __atomic_load_n(&listener, __ATOMIC_ACQUIRE) != NULL;
}

const void *forward_caller(const void *address)
{
	return innermost ? innermost->caller : address;
}

bool forward_is_agents(void)
{
	return agents > 0;
}

/* ---- what the agent calls -------------------------------------------------------------------- */

EXPORT CUptiResult __collider_events_subscribe(CUpti_SubscriberHandle *subscriber,
					       CUpti_CallbackFunc callback, void *userdata);
EXPORT CUptiResult __collider_events_unsubscribe(CUpti_SubscriberHandle subscriber);
EXPORT CUptiResult __collider_events_enable(uint32_t enable, CUpti_SubscriberHandle subscriber,
					    CUpti_CallbackDomain domain, CUpti_CallbackId id);
EXPORT void __collider_events_own(int by);
EXPORT unsigned __collider_events_unheard(void);

/* Calls of functions that can't be listened to: how many there were. */
unsigned __collider_events_unheard(void)
{
	return forward_unheard();
}

/* Calls of this thread are the agent's own from now on (1), or no more (-1). */
void __collider_events_own(int by)
{
	agents += by;
}

/* Not where calls have reached the driver past us, or kernels' names can't be had. */
CUptiResult __collider_events_subscribe(CUpti_SubscriberHandle *subscriber,
					CUpti_CallbackFunc callback, void *userdata)
{
	if (!forward_is_open() || !forward_find("cuFuncGetName") ||
	    !forward_find("cuKernelGetName"))
		return CUPTI_ERROR_NOT_SUPPORTED;
	*(void **)&get_current = forward_find("cuCtxGetCurrent");
	if (!get_current || forward_is_heard())
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	find_unheard();
	user = userdata;
	__atomic_store_n(&listener, callback, __ATOMIC_RELEASE);
	*subscriber = (CUpti_SubscriberHandle)(void *)&listener;
	return CUPTI_SUCCESS;
}

CUptiResult __collider_events_unsubscribe(CUpti_SubscriberHandle subscriber)
{
	(void)subscriber;
	__atomic_store_n(&listener, NULL, __ATOMIC_RELEASE);
	return CUPTI_SUCCESS;
}

CUptiResult __collider_events_enable(uint32_t enable, CUpti_SubscriberHandle subscriber,
				     CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
	(void)subscriber;
	if (domain == CUPTI_CB_DOMAIN_DRIVER_API && put_wrapper(id)) {
		is_wanted[id] = enable != 0;
		return CUPTI_SUCCESS;
	}
	if (domain != CUPTI_CB_DOMAIN_RESOURCE || id >= CUPTI_CBID_RESOURCE_SIZE)
		return CUPTI_ERROR_INVALID_PARAMETER;
	wants_resource[id] = enable != 0;
	if (id != CUPTI_CBID_RESOURCE_MODULE_LOADED)
		hear_contexts();
	return CUPTI_SUCCESS;
}
