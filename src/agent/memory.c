/*
 * memory.c - which memory the program gets: for the history words of detector hirace.
 *
 * Called beside callback.c at entry and exit of the driver's functions that allocate, in every
 * flavour: linear, pitched, managed, stream-ordered, from pools, by mapping, in graphs. The words
 * of what is got are prepared before the next launch (history.c). Memory that host code shares with
 * kernels is a way to order threads that no detector follows (RACE_HISTORY_HOST_ORDERS), and what
 * host code does there isn't followed either: once a kernel has accessed some of it the run is
 * partial. Managed variables are memory that no call allocates: the runtime asks for each that is
 * declared, before a context is current, and programs of the driver's API for those that they use.
 *
 * Misses: memory of other processes and of other APIs. Costs: a look into a table for each
 * call that is subscribed to, and a bit for each 2 MiB; without a module with hirace nothing more.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <cupti.h>

#include "agent/agent.h"
#include "agent/rows.h"
#include "race/layout/history.h"

enum way { LINEAR, MANAGED, ROWS, MAPPED, NODE, HOST, HEAP, VARIABLE };

#define IS_EXIT(d)    ((d)->callbackSite == CUPTI_API_EXIT)
#define HAS_FAILED(d) (*(const CUresult *)(d)->functionReturnValue != CUDA_SUCCESS)

static const struct {
	CUpti_CallbackId id;
	enum way way;
} rows[] = {
	ROW(cuMemAlloc_v2, LINEAR),
	BOTH(cuMemAllocAsync, LINEAR),
	BOTH(cuMemAllocFromPoolAsync, LINEAR),
	ROW(cuMemAllocManaged, MANAGED),
	ROW(cuMemAllocPitch_v2, ROWS),
	ROW(cuMemMap, MAPPED),
	ROW(cuGraphAddMemAllocNode, NODE),
	ROW(cuMemHostAlloc, HOST),
	ROW(cuMemAllocHost_v2, HOST),
	ROW(cuMemHostRegister_v2, HOST),
	ROW(cuCtxSetLimit, HEAP),
	/* By the runtime, of each that is declared, in one of these ways. */
	ROW(cuLibraryGetManaged, VARIABLE),
	ROW(cuLibraryGetGlobal, VARIABLE),
	ROW(cuModuleGetGlobal_v2, VARIABLE),
};

#define SHARED 256u /* pieces of memory that host code has, too; no more are looked at */

/* Under the agent's lock. */
static struct {
	uint64_t at, bytes;
} shared[SHARED];
static uint32_t nshared;
static bool has_managed, was_accessed; /* atomic */

static unsigned char row_of[CUPTI_DRIVER_TRACE_CBID_SIZE]; /* its row + 1; 0: none */

/* How much is asked for. */
static uint64_t bytes_of(enum way way, const CUpti_CallbackData *d)
{
	const cuMemAllocPitch_v2_params *p = d->functionParams;

	switch (way) {
	case LINEAR: /* the parameters of all these begin alike */
	case MANAGED:
		return PARAMS(cuMemAlloc_v2)->bytesize;
	case ROWS:
		return (IS_EXIT(d) ? *p->pPitch : p->WidthInBytes) * p->Height;
	case MAPPED:
		return IS_EXIT(d) ? PARAMS(cuMemMap)->size : 0;
	case NODE:
		return IS_EXIT(d) ? PARAMS(cuGraphAddMemAllocNode)->nodeParams->bytesize : 0;
	default:
		return 0;
	}
}

/* The runtime doesn't ask for the size: then a piece of memory is looked at. */
static uint64_t variable_bytes(const cuLibraryGetManaged_params *p)
{
	return p->bytes && *p->bytes ? *p->bytes : 1;
}

/* What host code and kernels share now. */
static void share(enum way way, CUpti_CallbackId id, const CUpti_CallbackData *d)
{
	uint64_t at = 0, bytes = 0;

	if (way == MANAGED) {
		__atomic_store_n(&has_managed, true, __ATOMIC_RELAXED);
		at = *PARAMS(cuMemAllocManaged)->dptr;
		bytes = PARAMS(cuMemAllocManaged)->bytesize;
	} else if (way == VARIABLE) {
		__atomic_store_n(&has_managed, true, __ATOMIC_RELAXED);
		at = *PARAMS(cuLibraryGetManaged)->dptr;
		bytes = variable_bytes(PARAMS(cuLibraryGetManaged));
	} else if (id == ID(cuMemHostRegister_v2)) {
		at = (uint64_t)(uintptr_t)PARAMS(cuMemHostRegister_v2)->p;
		bytes = PARAMS(cuMemHostRegister_v2)->bytesize;
	} else { /* both begin alike */
		at = (uint64_t)(uintptr_t)*PARAMS(cuMemHostAlloc)->pp;
		bytes = PARAMS(cuMemHostAlloc)->bytesize;
	}
	agent_lock();
	if (nshared < SHARED) {
		shared[nshared].at = at;
		shared[nshared++].bytes = bytes;
	}
	agent_unlock();
}

static bool is_managed(CUdeviceptr p)
{
	unsigned is = 0; /* the driver writes one byte or four */
	struct agent_guard g;
	CUresult r = CUDA_ERROR_NOT_SUPPORTED;

	if (!agent_driver_load() || !agent_driver.pointer_get_attribute)
		return false;
	agent_enter(&g);
	r = agent_driver.pointer_get_attribute(&is, CU_POINTER_ATTRIBUTE_IS_MANAGED, p);
	agent_leave(&g);
	return r == CUDA_SUCCESS && is;
}

/* A managed variable that isn't known yet? Asked for runs with words alone. */
static bool is_new_variable(CUpti_CallbackId id, const CUpti_CallbackData *d)
{
	const cuLibraryGetManaged_params *p = PARAMS(cuLibraryGetManaged); /* all begin alike */
	bool is_known = false;

	if (!agent_unordered_is_on() || !p->dptr || !*p->dptr)
		return false;
	agent_lock();
	for (uint32_t i = 0; i < nshared; i++)
		is_known |= shared[i].at == *p->dptr;
	agent_unlock();
	return !is_known && (id == ID(cuLibraryGetManaged) || is_managed(*p->dptr));
}

/* The runtime asks before any context is current: the variable is one of them all. */
static void on_variable(CUpti_CallbackId id, const CUpti_CallbackData *d)
{
	if (!IS_EXIT(d) || !is_new_variable(id, d))
		return;
	agent_history_static(variable_bytes(PARAMS(cuLibraryGetManaged)));
	agent_context_unseen_all(RACE_HISTORY_HOST_ORDERS);
	share(VARIABLE, id, d);
}

/* Where it is, at the call's end. */
static uint64_t address_of(enum way way, const CUpti_CallbackData *d)
{
	switch (way) {
	case LINEAR:
	case MANAGED:
	case ROWS:
		return *PARAMS(cuMemAlloc_v2)->dptr;
	case MAPPED:
		return PARAMS(cuMemMap)->ptr;
	case NODE:
		return PARAMS(cuGraphAddMemAllocNode)->nodeParams->dptr;
	default:
		return 0;
	}
}

static void on_call(enum way way, CUpti_CallbackId id, const CUpti_CallbackData *d)
{
	struct agent_context *c;
	uint64_t bytes;

	if (IS_EXIT(d) && HAS_FAILED(d))
		return;
	if (way == HEAP) {
		if (IS_EXIT(d) && PARAMS(cuCtxSetLimit)->limit == CU_LIMIT_MALLOC_HEAP_SIZE)
			agent_history_static(PARAMS(cuCtxSetLimit)->value);
		return;
	}
	if (way == VARIABLE) {
		on_variable(id, d);
		return;
	}
	c = agent_context_get(d->context);
	if (!c)
		return;
	bytes = bytes_of(way, d);
	if (IS_EXIT(d))
		agent_context_memory(c, address_of(way, d), bytes);
	else
		agent_history_request(agent_context_history(c), bytes);
	if (way != MANAGED && way != HOST)
		return;
	agent_context_unseen(c, RACE_HISTORY_HOST_ORDERS);
	if (IS_EXIT(d))
		share(way, id, d);
}

/* ------------------------------------------------------------------------ */

void agent_memory_enable(agent_enable_fn *enable, void *arg)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		row_of[rows[i].id] = (unsigned char)(i + 1);
		enable(arg, rows[i].id);
	}
}

void agent_memory_call(uint32_t id, const void *data)
{
	if (id < CUPTI_DRIVER_TRACE_CBID_SIZE && row_of[id])
		on_call(rows[row_of[id] - 1].way, (CUpti_CallbackId)id, data);
}

bool agent_memory_is_shared(void)
{
	return __atomic_load_n(&has_managed, __ATOMIC_RELAXED);
}

void agent_memory_look(struct agent_history *h)
{
	if (__atomic_load_n(&was_accessed, __ATOMIC_RELAXED))
		return;
	for (uint32_t i = 0; i < SHARED; i++) {
		uint64_t at = 0, bytes = 0;
		agent_lock();
		if (i < nshared) {
			at = shared[i].at;
			bytes = shared[i].bytes;
		}
		agent_unlock();
		if (!bytes)
			return;
		if (agent_history_has_words(h, at, bytes) &&
		    !__atomic_exchange_n(&was_accessed, true, __ATOMIC_RELAXED))
			race_shm_gap(RACE_GAP_HOST, "", RACE_GAP_OF_HOST, 1);
	}
}

void agent_memory_reset(void)
{
	nshared = 0;
	has_managed = was_accessed = false;
}
