/*
 * order.c - launches that the program's API doesn't order, where a detector leaves them undecided.
 *
 * A detector with words about each location compares the accesses of two launches only as far as
 * its row says (PAST in detectors.def: where they overlap, as the device sees; else not at all).
 * So a run that has two launches without an order is partial with it, and the report must say so.
 * The default isn't concerned: what happens during a check shows, whoever did it.
 *
 * Each stream has the number of launches of each other one that come before what it does next, and
 * so have events, and the host, whose threads count as one. A call joins these; a launch that finds
 * one of another stream that isn't among them is unordered with it. The legacy stream comes after
 * all that blocking streams did, and they after it. Where it isn't known what a call waits for, it
 * is taken to wait for everything.
 *
 * Misses: branches within a graph; launches of two contexts whose memory isn't shared, more than
 * STREAMS streams with work at a time, and all that comes after a stream has waited for a value in
 * memory: these count as ordered. What is ordered by other means (IPC, other APIs) counts as not.
 * Costs: only with such a detector in the run: a look into a table for each call that is listened
 * to, and some 64 comparisons for a launch.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <cupti.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/cupti.h"
#include "agent/history.h"
#include "agent/rows.h"
#include "base/base.h"

#define STREAMS 64u
#define EVENTS	1024u /* by a hash: one that is displaced isn't known any more */
#define KNOWN	64u
#define GONE	((CUstream)(uintptr_t)-1)

enum way {
	WAITS_ALL,
	WAITS_STREAM,
	WAITS_EVENT,
	HOST_CALL,
	RECORD,
	WAIT,
	WORK,
	COPY,
	STREAM,
	VALUE
};

static const struct {
	CUpti_CallbackId id;
	enum way way;
} rows[] = {
	ROW(cuCtxSynchronize, WAITS_ALL),
#if CUDA_VERSION >= 13000
	ROW(cuCtxSynchronize_v2, WAITS_ALL),
#endif
	ROW(cuMemFree_v2, WAITS_ALL),
	ROW(cuMemFreeHost, WAITS_ALL),
	ROW(cuModuleUnload, WAITS_ALL),
	BOTH(cuStreamSynchronize, WAITS_STREAM),
	BOTH(cuStreamQuery, WAITS_STREAM),
	ROW(cuEventSynchronize, WAITS_EVENT),
	ROW(cuEventQuery, WAITS_EVENT),
	BOTH(cuLaunchHostFunc, HOST_CALL),
	BOTH(cuStreamAddCallback, HOST_CALL),
	BOTH(cuEventRecord, RECORD),
	BOTH(cuEventRecordWithFlags, RECORD),
	BOTH(cuStreamWaitEvent, WAIT),
	/* Of the legacy stream, or the thread's own; the host goes on after them. */
	DEFAULT(cuMemcpy, COPY),
	DEFAULT(cuMemcpyHtoD_v2, COPY),
	DEFAULT(cuMemcpyDtoH_v2, COPY),
	DEFAULT(cuMemcpyDtoD_v2, COPY),
	DEFAULT(cuMemcpy2D_v2, COPY),
	DEFAULT(cuMemcpy3D_v2, COPY),
	DEFAULT(cuMemsetD8_v2, COPY),
	DEFAULT(cuMemsetD16_v2, COPY),
	DEFAULT(cuMemsetD32_v2, COPY),
	/* The legacy stream's carry order from stream to stream. */
	BOTH(cuMemcpyAsync, WORK),
	BOTH(cuMemcpyHtoDAsync_v2, WORK),
	BOTH(cuMemcpyDtoHAsync_v2, WORK),
	BOTH(cuMemcpyDtoDAsync_v2, WORK),
	BOTH(cuMemsetD8Async, WORK),
	BOTH(cuMemsetD16Async, WORK),
	BOTH(cuMemsetD32Async, WORK),
	ROW(cuStreamCreate, STREAM),
	ROW(cuStreamCreateWithPriority, STREAM),
	BOTH(cuStreamWaitValue32_v2, VALUE),
	BOTH(cuStreamWaitValue64_v2, VALUE),
	BOTH(cuStreamBatchMemOp_v2, VALUE),
};

static unsigned char row_of[CUPTI_DRIVER_TRACE_CBID_SIZE]; /* its row + 1; 0: none */

struct past {
	uint32_t seen[STREAMS]; /* launches of each stream */
};

struct stream {
	CUstream handle; /* NULL: the legacy stream of its context; GONE */
	CUcontext context;
	pthread_t owner; /* of a thread's own default stream */
	bool is_used, is_blocking;
	uint32_t count; /* launches */
	struct past past;
};

struct event {
	CUevent handle;
	struct past past;
};

/* Under the agent's lock. */
static struct stream streams[STREAMS];
static struct past host;
static struct event events[EVENTS];
static bool is_blind;
static struct {
	const struct agent_kernel *kernel;
	uint64_t *count;
} known[KNOWN];

/* ---- pasts --------------------------------------------------------------------------------- */

static void join(struct past *to, const struct past *from)
{
	for (unsigned i = 0; i < STREAMS; i++)
		to->seen[i] = from->seen[i] > to->seen[i] ? from->seen[i] : to->seen[i];
}

static void join_all(struct past *to)
{
	for (unsigned i = 0; i < STREAMS; i++)
		to->seen[i] = streams[i].count;
}

/* What is known to be over is forgotten. */
static void clear(struct stream *s)
{
	const size_t i = (size_t)(s - streams);

	for (unsigned k = 0; k < STREAMS; k++)
		streams[k].past.seen[i] = 0;
	for (unsigned k = 0; k < EVENTS; k++)
		events[k].past.seen[i] = 0;
	host.seen[i] = 0;
	memset(s, 0, sizeof(*s));
}

static struct stream *add(void)
{
	for (unsigned i = 0; i < STREAMS; i++)
		if (!streams[i].is_used)
			return &streams[i];
	for (unsigned i = 0; i < STREAMS; i++)
		if (streams[i].count == host.seen[i]) {
			clear(&streams[i]);
			return &streams[i];
		}
	return NULL;
}

/* NULL: no room. Of streams that were there before us it isn't known whether they block. */
static struct stream *find(CUstream handle, CUcontext context)
{
	const bool is_own = handle == CU_STREAM_PER_THREAD;
	const pthread_t self = pthread_self();

	if (handle == CU_STREAM_LEGACY)
		handle = NULL;
	for (unsigned i = 0; i < STREAMS; i++) {
		struct stream *s = &streams[i];
		if (s->is_used && s->handle == handle && s->context == context &&
		    (!is_own || pthread_equal(s->owner, self)))
			return s;
	}
	struct stream *s = add();
	if (s)
		*s = (struct stream){.handle = handle,
				     .context = context,
				     .owner = self,
				     .is_used = true,
				     .is_blocking = true};
	is_blind = is_blind || !s;
	return s;
}

/* The stream goes on: after what the host has waited for, and by the legacy stream's rule. */
static void go_on(struct stream *s)
{
	join(&s->past, &host);
	for (unsigned i = 0; i < STREAMS; i++) {
		const struct stream *t = &streams[i];
		if (!t->is_used || t == s || t->context != s->context)
			continue;
		if (s->handle ? s->is_blocking && !t->handle : t->is_blocking)
			join(&s->past, &t->past);
	}
}

/* ---- calls --------------------------------------------------------------------------------- */

static struct event *place_of(CUevent handle)
{
	return &events[base_hash(&handle, sizeof(handle), 0) % EVENTS];
}

static void record(CUevent handle, const struct past *past)
{
	*place_of(handle) = (struct event){handle, *past};
}

/* An event that isn't known may have been recorded after everything. */
static void join_event(struct past *to, CUevent handle)
{
	const struct event *e = place_of(handle);

	if (e->handle == handle)
		join(to, &e->past);
	else
		join_all(to);
}

static void stream_made(const CUpti_CallbackData *d)
{
	const cuStreamCreate_params *p = d->functionParams; /* both begin alike */
	struct stream *s;

	for (unsigned i = 0; i < STREAMS; i++)
		if (streams[i].is_used && streams[i].handle == *p->phStream)
			streams[i].handle = GONE; /* the handle is another stream's now */
	s = find(*p->phStream, d->context);
	if (s)
		s->is_blocking = !(p->Flags & CU_STREAM_NON_BLOCKING);
}

/* The stream that a call names. */
static CUstream named(enum way way, CUpti_CallbackId id, const CUpti_CallbackData *d)
{
	switch (way) {
	case WAITS_STREAM:
	case HOST_CALL:
	case WAIT: /* the first parameter of all these */
		return PARAMS(cuStreamSynchronize)->hStream;
	case RECORD:
		return PARAMS(cuEventRecord)->hStream;
	case WORK:
		if (id == ID(cuMemsetD8Async) || id == ID(cuMemsetD8Async_ptsz))
			return PARAMS(cuMemsetD8Async)->hStream;
		if (id == ID(cuMemsetD16Async) || id == ID(cuMemsetD16Async_ptsz))
			return PARAMS(cuMemsetD16Async)->hStream;
		if (id == ID(cuMemsetD32Async) || id == ID(cuMemsetD32Async_ptsz))
			return PARAMS(cuMemsetD32Async)->hStream;
		return PARAMS(cuMemcpyDtoDAsync_v2)->hStream; /* the same in all four */
	default:
		return NULL;
	}
}

/* Is the default stream of this function's name that of the calling thread? */
static bool is_of_thread(const char *name)
{
	size_t n = name ? strlen(name) : 0;

	return n > 5 && !strcmp(name + n - 5, "_ptds");
}

static void on_call(enum way way, CUpti_CallbackId id, const CUpti_CallbackData *d)
{
	CUstream handle = agent_own_stream(named(way, id, d), d);
	bool is_default = way == COPY && is_of_thread(d->functionName);

	if (agent_is_captured(handle))
		return;
	agent_lock();
	struct stream *s = find(is_default ? CU_STREAM_PER_THREAD : handle, d->context);
	if (s)
		go_on(s);
	switch (s ? way : WAITS_ALL) {
	case WAITS_ALL:
		join_all(&host);
		break;
	case WAITS_STREAM:
	case HOST_CALL: /* host code goes on from there, on a thread of the driver's */
	case COPY:
		join(&host, &s->past);
		break;
	case WAITS_EVENT:
		join_event(&host, PARAMS(cuEventSynchronize)->hEvent);
		break;
	case RECORD:
		record(PARAMS(cuEventRecord)->hEvent, &s->past);
		break;
	case WAIT:
		join_event(&s->past, PARAMS(cuStreamWaitEvent)->hEvent);
		break;
	case STREAM:
		stream_made(d);
		break;
	case VALUE:
		is_blind = true;
		break;
	case WORK:
		break;
	}
	agent_unlock();
}

/* ---- launches ------------------------------------------------------------------------------ */

static bool is_unordered(const struct stream *s)
{
	for (unsigned i = 0; i < STREAMS; i++) {
		const struct stream *t = &streams[i];
		if (t->is_used && t != s && t->count > s->past.seen[i] &&
		    (t->context == s->context || agent_memory_is_shared()))
			return true;
	}
	return false;
}

static const char *what_is_judged(const struct agent_history *h)
{
	bool has_past = false;

	for (; h; h = h->next)
		has_past = has_past || h->kind->traits & RACE_WORDS_PAST;
	return has_past ? RACE_GAP_OVERLAPPING : RACE_GAP_UNORDERED;
}

static void note(const struct agent_context *c, const struct agent_kernel *k, uint64_t n)
{
	unsigned at = (unsigned)((uintptr_t)k / 64 % KNOWN);
	const char *what = what_is_judged(agent_context_history(c));

	agent_lock();
	uint64_t *count = k && known[at].kernel == k ? known[at].count : NULL;
	agent_unlock();
	if (count) {
		__atomic_fetch_add(count, n, __ATOMIC_RELAXED);
		return;
	}
	count = race_shm_gap(RACE_GAP_LAUNCHES, k ? agent_kernel_name(k) : "", what, n);
	agent_lock();
	known[at].kernel = k;
	known[at].count = count;
	agent_unlock();
}

void agent_order_launch(const struct agent_context *c, const struct agent_kernel *k,
			const struct agent_ordered *l)
{
	bool is_new = l->is_programmatic;
	struct stream *s;

	if (!row_of[ID(cuStreamWaitEvent)] || !agent_context_history(c) || !l->n ||
	    agent_is_captured(l->stream))
		return;
	agent_lock();
	s = find(l->stream, l->context);
	if (s) {
		go_on(s);
		is_new = !is_blind && (is_new || is_unordered(s));
		s->count += (uint32_t)l->n;
		s->past.seen[s - streams] = s->count;
	}
	agent_unlock();
	if (s && is_new)
		note(c, k, l->n);
}

/* ------------------------------------------------------------------------ */

void agent_order_enable(agent_enable_fn *enable, void *arg)
{
	uint32_t with = 0;

	for (unsigned i = 0; i < RACE_WORDS_COUNT; i++)
		with |= 1u << race_words[i].detector;
	if (!(RACE_RUN_DETECTORS(race_shm_get()->flags) & with))
		return;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		row_of[rows[i].id] = (unsigned char)(i + 1);
		enable(arg, rows[i].id);
	}
}

void agent_order_call(uint32_t id, const void *data)
{
	const CUpti_CallbackData *d = data;

	if (id < CUPTI_DRIVER_TRACE_CBID_SIZE && row_of[id] && d->context &&
	    d->callbackSite == CUPTI_API_EXIT &&
	    *(const CUresult *)d->functionReturnValue == CUDA_SUCCESS)
		on_call(rows[row_of[id] - 1].way, (CUpti_CallbackId)id, d);
}

void agent_order_reset(void)
{
	memset(streams, 0, sizeof(streams));
	memset(&host, 0, sizeof(host));
	memset(events, 0, sizeof(events));
	memset(known, 0, sizeof(known));
}
