/*
 * hosthalf.c - what the agent reports to the half of the checks that runs in host code.
 *
 * If the program was linked with it (collider cc, collider nvcc --host), the shared file has an
 * area for it (race/file/host.h). Managed and pinned memory is entered there as the program
 * allocates it, and also whether device work is in flight: from a launch, an asynchronous copy or a
 * fill until its stream or context has been waited for. A program without the host half has no area
 * when CUDA starts, and none of these functions is subscribed to then.
 *
 * "In flight" is a filter for speed, so it errs on the long side: what is waited for by events,
 * queries or cudaMemcpy stays in flight until the next wait for its stream or context, as does all
 * of a context that used more than STREAMS streams, or per-thread default ones.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <cupti.h>

#include "agent/agent.h"
#include "race/file/host.h"
#include "race/site/site.h"

#define STREAMS 64

/* Work of a stream that was not waited for; `last` is the number of the newest. */
struct flight {
	CUcontext context;
	CUstream stream;
	uint64_t last;
};

/* All under agent.lock. */
static struct flight flights[STREAMS];
static size_t nflights;
static uint64_t submitted, many; /* numbers of work; the newest for which there was no room ... */
static CUcontext many_context;	 /* ... of this context; NULL: of several, so that it stays */

static __thread uint64_t entered; /* `submitted` when this thread's wait began */

#define ID(f)	  CUPTI_DRIVER_TRACE_CBID_##f
#define PARAMS(f) ((const f##_params *)d->functionParams)

enum {
	HOST_NONE,
	HOST_ALLOC,
	HOST_WORK,
	HOST_WORK_ANYWHERE, /* in a stream that is not known */
	HOST_WAIT,
	HOST_FREE
};

#define BOTH(f, what)                                                                              \
	{ID(f), what},                                                                             \
	{                                                                                          \
		ID(f##_ptsz), what                                                                 \
	}

static const struct {
	CUpti_CallbackId id;
	int what;
} rows[] = {
	{ID(cuMemAllocManaged), HOST_ALLOC},
	{ID(cuMemHostAlloc), HOST_ALLOC},
	{ID(cuMemAllocHost_v2), HOST_ALLOC},
	{ID(cuMemHostRegister_v2), HOST_ALLOC},
	{ID(cuLibraryGetManaged), HOST_ALLOC},
	{ID(cuMemFree_v2), HOST_FREE},
	{ID(cuMemFreeHost), HOST_FREE},
	{ID(cuMemHostUnregister), HOST_FREE},
	BOTH(cuLaunchKernel, HOST_WORK),
	BOTH(cuLaunchKernelEx, HOST_WORK),
	BOTH(cuLaunchCooperativeKernel, HOST_WORK),
	BOTH(cuGraphLaunch, HOST_WORK),
	BOTH(cuMemcpyAsync, HOST_WORK),
	BOTH(cuMemcpyHtoDAsync_v2, HOST_WORK),
	BOTH(cuMemcpyDtoHAsync_v2, HOST_WORK),
	BOTH(cuMemcpyDtoDAsync_v2, HOST_WORK),
	BOTH(cuMemcpy2DAsync_v2, HOST_WORK_ANYWHERE),
	BOTH(cuMemcpy3DAsync_v2, HOST_WORK_ANYWHERE),
	BOTH(cuMemcpyPeerAsync, HOST_WORK_ANYWHERE),
	BOTH(cuMemsetD8Async, HOST_WORK_ANYWHERE),
	BOTH(cuMemsetD16Async, HOST_WORK_ANYWHERE),
	BOTH(cuMemsetD32Async, HOST_WORK_ANYWHERE),
	{ID(cuLaunchCooperativeKernelMultiDevice), HOST_WORK_ANYWHERE},
	{ID(cuCtxSynchronize), HOST_WAIT},
	BOTH(cuStreamSynchronize, HOST_WAIT),
};

static unsigned char what_of[CUPTI_DRIVER_TRACE_CBID_SIZE];

/* ---- memory --------------------------------------------------------------------- */

static void on_alloc(CUpti_CallbackId id, const CUpti_CallbackData *d)
{
	if (id == ID(cuMemAllocManaged))
		race_host_add((uint64_t)*PARAMS(cuMemAllocManaged)->dptr,
			      PARAMS(cuMemAllocManaged)->bytesize, RACE_SPACE_MANAGED);
	else if (id == ID(cuMemHostAlloc))
		race_host_add((uint64_t)(uintptr_t)*PARAMS(cuMemHostAlloc)->pp,
			      PARAMS(cuMemHostAlloc)->bytesize, RACE_SPACE_PINNED);
	else if (id == ID(cuMemAllocHost_v2))
		race_host_add((uint64_t)(uintptr_t)*PARAMS(cuMemAllocHost_v2)->pp,
			      PARAMS(cuMemAllocHost_v2)->bytesize, RACE_SPACE_PINNED);
	else if (id == ID(cuMemHostRegister_v2))
		race_host_add((uint64_t)(uintptr_t)PARAMS(cuMemHostRegister_v2)->p,
			      PARAMS(cuMemHostRegister_v2)->bytesize, RACE_SPACE_PINNED);
	else if (PARAMS(cuLibraryGetManaged)->dptr && PARAMS(cuLibraryGetManaged)->bytes)
		race_host_add((uint64_t)*PARAMS(cuLibraryGetManaged)->dptr,
			      *PARAMS(cuLibraryGetManaged)->bytes, RACE_SPACE_MANAGED);
}

static void on_free(CUpti_CallbackId id, const CUpti_CallbackData *d)
{
	if (id == ID(cuMemFree_v2))
		race_host_remove((uint64_t)PARAMS(cuMemFree_v2)->dptr);
	else if (id == ID(cuMemFreeHost))
		race_host_remove((uint64_t)(uintptr_t)PARAMS(cuMemFreeHost)->p);
	else
		race_host_remove((uint64_t)(uintptr_t)PARAMS(cuMemHostUnregister)->p);
}

/* ---- work in flight ---------------------------------------------------------------- */

/* The stream of a HOST_WORK; false: the calling thread's own. */
static bool stream_of(CUpti_CallbackId id, const CUpti_CallbackData *d, CUstream *out)
{
	bool is_thread = false;

	switch (id) {
#define CASE(f, value)                                                                             \
	case ID(f##_ptsz):                                                                         \
		is_thread = true; /* fall through */                                               \
		__attribute__((fallthrough));                                                      \
	case ID(f):                                                                                \
		*out = value;                                                                      \
		break
		CASE(cuLaunchKernel, PARAMS(cuLaunchKernel)->hStream);
		CASE(cuLaunchKernelEx, PARAMS(cuLaunchKernelEx)->config
					       ? PARAMS(cuLaunchKernelEx)->config->hStream
					       : NULL);
		CASE(cuLaunchCooperativeKernel, PARAMS(cuLaunchCooperativeKernel)->hStream);
		CASE(cuGraphLaunch, PARAMS(cuGraphLaunch)->hStream);
		CASE(cuMemcpyAsync, PARAMS(cuMemcpyAsync)->hStream);
		CASE(cuMemcpyHtoDAsync_v2, PARAMS(cuMemcpyHtoDAsync_v2)->hStream);
		CASE(cuMemcpyDtoHAsync_v2, PARAMS(cuMemcpyDtoHAsync_v2)->hStream);
		CASE(cuMemcpyDtoDAsync_v2, PARAMS(cuMemcpyDtoDAsync_v2)->hStream);
		CASE(cuStreamSynchronize, PARAMS(cuStreamSynchronize)->hStream);
#undef CASE
	default:
		return false;
	}
	return *out != CU_STREAM_PER_THREAD && !(is_thread && !*out);
}

static void on_work(CUpti_CallbackId id, const CUpti_CallbackData *d, bool is_anywhere)
{
	CUstream stream = NULL;
	bool is_known = !is_anywhere && stream_of(id, d, &stream);
	size_t i;

	agent_lock();
	submitted++;
	for (i = 0; i < nflights; i++)
		if (flights[i].context == d->context && flights[i].stream == stream)
			break;
	if (!is_known || i == STREAMS) {
		many_context = !many || many_context == d->context ? d->context : NULL;
		many = submitted;
	} else {
		flights[i] = (struct flight){d->context, stream, submitted};
		nflights += i == nflights;
	}
	race_host_busy(0, true);
	agent_unlock();
}

/* After a wait that began when `entered` was the newest work. */
static void on_waited(CUpti_CallbackId id, const CUpti_CallbackData *d)
{
	bool is_whole = id == ID(cuCtxSynchronize);
	CUstream stream = NULL;
	size_t kept = 0;

	if (!is_whole && !stream_of(id, d, &stream))
		return;
	agent_lock();
	for (size_t i = 0; i < nflights; i++) {
		const struct flight *f = &flights[i];
		bool is_over = f->context == d->context && (is_whole || f->stream == stream) &&
			       f->last <= entered;
		if (!is_over)
			flights[kept++] = *f;
	}
	nflights = kept;
	if (is_whole && many <= entered && many_context == d->context)
		many = 0;
	if (!nflights && !many)
		race_host_busy(0, false);
	agent_unlock();
}

/* ------------------------------------------------------------------------ */

void agent_host_enable(agent_enable_fn *enable, void *arg)
{
	if (!race_host_get())
		return;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		what_of[rows[i].id] = (unsigned char)rows[i].what;
		enable(arg, rows[i].id);
	}
}

void agent_host_call(uint32_t id, const void *data)
{
	const CUpti_CallbackData *d = data;
	int what = id < CUPTI_DRIVER_TRACE_CBID_SIZE ? what_of[id] : HOST_NONE;

	if (what == HOST_NONE)
		return;
	bool is_enter = d->callbackSite == CUPTI_API_ENTER;
	bool is_good = !is_enter && *(const CUresult *)d->functionReturnValue == CUDA_SUCCESS;

	if (what == HOST_ALLOC && is_good)
		on_alloc(id, d);
	else if (what == HOST_FREE && is_enter)
		on_free(id, d);
	else if ((what == HOST_WORK || what == HOST_WORK_ANYWHERE) && is_enter)
		on_work(id, d, what == HOST_WORK_ANYWHERE);
	else if (what == HOST_WAIT && is_enter)
		entered = __atomic_load_n(&submitted, __ATOMIC_RELAXED);
	else if (what == HOST_WAIT && is_good)
		on_waited(id, d);
}

void agent_host_forget(void)
{
	nflights = 0;
	many = 0;
	race_host_forget();
}
