/*
 * order.c - what the driver's API orders: which operations of streams come before which.
 *
 * Each operation gets a vector of clocks (struct race_judge_order): of each stream, up to which
 * operation it comes after. Streams, events, the legacy stream and the host's waits are followed;
 * all host threads are one, in the order of their calls. Where anything else might order, it is
 * taken to order all: a function of the driver that isn't known to be harmless, host functions,
 * graphs, captures, new memory (which may be old memory), a kernel that may wait for others in
 * memory. So two operations that are said to be unordered are.
 *
 * Misses: what is unordered across such a call; more than RACE_JUDGE_STREAMS streams at a time;
 * copies in two and three dimensions.
 * Costs: nothing until the program has a stream of its own; then a lock and 0.05 us for each launch
 * and 0.1 us for each call that may order something.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "agent/table.h"

#include "agent/forward/forward.h"
#include "agent/judge/judge.h"

#include <cupti.h>

#define STREAMS	   RACE_JUDGE_STREAMS
#define LEGACY	   0u
#define PER_THREAD 1u /* of all threads: one */
#define FIRST	   2u
#define MOST	   100000u /* operations that are sent */

struct clock {
	uint32_t of[STREAMS];
};

/* The order in which a stream's next operation will be. */
static struct stream {
	CUstream handle;
	bool is_used, is_apart; /* apart: not ordered with the legacy stream */
	uint32_t made;		/* operations */
	struct clock tail;
} streams[STREAMS];

static unsigned top = FIRST; /* streams from here on were never used */

struct event {
	UT_hash_handle hh;
	CUevent handle;
	struct clock clock;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct event *events;
static struct clock host; /* what the host has seen the end of */
static unsigned captures;
static unsigned sent;
/* Of the calling thread, from its call to its end: its operation; does the call order only what is
 * followed here? */
static __thread struct race_judge_operation now;
static __thread bool has_now, is_followed;
static __thread CUstream waits; /* the host waits for this default stream; NULL: it doesn't */

static void join(struct clock *c, const struct clock *with)
{
	for (unsigned i = 0; i < top; i++)
		c->of[i] = c->of[i] > with->of[i] ? c->of[i] : with->of[i];
}

/* ---- streams -------------------------------------------------------------------- */

/* STREAMS: it isn't known. */
static unsigned find(CUstream s, bool is_per_thread)
{
	if (s == CU_STREAM_PER_THREAD || (!s && is_per_thread))
		return PER_THREAD;
	if (!s || s == CU_STREAM_LEGACY)
		return LEGACY;
	for (unsigned i = FIRST; i < top; i++)
		if (streams[i].is_used && streams[i].handle == s)
			return i;
	return STREAMS;
}

static void add_stream(CUstream s, bool is_apart)
{
	unsigned at = find(s, false);

	for (unsigned i = FIRST; i < STREAMS && at == STREAMS; i++)
		if (!streams[i].is_used)
			at = i;
	if (at == STREAMS)
		return; /* its operations order all */
	top = at < top ? top : at + 1;
	streams[at].handle = s;
	streams[at].is_used = true;
	streams[at].is_apart = is_apart;
}

static void drop_stream(CUstream s)
{
	unsigned at = find(s, false);

	/* (The next stream with this number comes after it.) */
	if (at >= FIRST && at < STREAMS)
		streams[at].is_used = false;
}

/* What an operation of the stream would come after now. */
static struct clock clock_of(unsigned at)
{
	struct clock c = streams[at].tail;

	join(&c, &host);
	for (unsigned i = 0; i < top; i++)
		if ((at == LEGACY && !streams[i].is_apart) ||
		    (i == LEGACY && !streams[at].is_apart))
			join(&c, &streams[i].tail);
	return c;
}

/* All that was submitted has ended, as far as what comes next is concerned. */
static void order_all(void)
{
	for (unsigned i = 0; i < top; i++)
		host.of[i] = streams[i].made;
}

static void submit(struct race_judge_order *o, CUstream s, bool is_per_thread)
{
	unsigned at = find(s, is_per_thread);
	bool is_known = at < STREAMS && !captures;

	if (!is_known) {
		order_all();
		at = LEGACY;
	}
	struct clock c = clock_of(at);
	o->stream = at;
	memcpy(o->before, c.of, sizeof(o->before));
	o->nth = ++streams[at].made;
	c.of[at] = o->nth;
	streams[at].tail = c;
	if (!is_known)
		order_all();
}

void judge_order_launch(struct race_judge_order *o, CUstream s)
{
	pthread_mutex_lock(&lock);
	submit(o, s, false);
	if (captures)
		o->nth = 0;
	pthread_mutex_unlock(&lock);
}

/* What it comes after is found again by whoever comes after it: clock_of joins the host's and the
 * default stream's. Only what comes after the default stream is its own. */
void judge_order_pass(CUstream s, bool is_opaque)
{
	struct race_judge_order unused;

	if (!judge_has_streams())
		return;
	pthread_mutex_lock(&lock);
	unsigned at = find(s, false);
	if (at == LEGACY || at == STREAMS || captures)
		submit(&unused, s, false);
	else
		streams[at].tail.of[at] = ++streams[at].made;
	if (is_opaque)
		order_all();
	pthread_mutex_unlock(&lock);
}

void judge_order_all(void)
{
	pthread_mutex_lock(&lock);
	order_all();
	pthread_mutex_unlock(&lock);
}

/* ---- events --------------------------------------------------------------------- */

static struct event *event_of(CUevent handle)
{
	struct event *e;

	HASH_FIND_PTR(events, &handle, e);
	return e;
}

static void record(CUevent handle, CUstream s, bool is_per_thread)
{
	unsigned at = find(s, is_per_thread);
	struct event *e = event_of(handle);

	if (!e && (e = calloc(1, sizeof(*e)))) {
		e->handle = handle;
		was_added = true;
		HASH_ADD_PTR(events, handle, e);
		if (!was_added) {
			free(e);
			e = NULL;
		}
	}
	if (!e || at == STREAMS)
		order_all(); /* (who waits for it is ordered by that) */
	if (e && at == STREAMS)
		e->clock = host;
	else if (e)
		e->clock = clock_of(at);
}

static void wait_event(CUstream s, CUevent handle, bool is_per_thread)
{
	unsigned at = find(s, is_per_thread);
	const struct event *e = event_of(handle);

	if (at == STREAMS)
		order_all();
	else if (e)
		join(&streams[at].tail, &e->clock);
}

static void wait_host(CUevent handle)
{
	const struct event *e = event_of(handle);

	if (e)
		join(&host, &e->clock);
}

static void wait_stream(CUstream s, bool is_per_thread)
{
	unsigned at = find(s, is_per_thread);

	if (at == STREAMS) {
		order_all();
		return;
	}
	const struct clock c = clock_of(at);
	join(&host, &c);
}

static void drop_event(CUevent handle)
{
	struct event *e = event_of(handle);

	if (!e)
		return;
	HASH_DEL(events, e);
	free(e);
}

/* ---- calls ---------------------------------------------------------------------- */

#define ID(name)      CUPTI_DRIVER_TRACE_CBID_##name
#define GIVEN(name)   const name##_params *p = params
#define IF_BOTH(name) ID(name) : case ID(name##_ptsz)

/* Functions that order nothing: names begin so. */
static const char *const harmless[] = {"cuGet",
				       "cuDeviceGet",
				       "cuDeviceTotalMem",
				       "cuDriverGet",
				       "cuInit",
				       "cuCtxGet",
				       "cuCtxSet",
				       "cuCtxPush",
				       "cuCtxPop",
				       "cuFuncGet",
				       "cuFuncSet",
				       "cuFuncIs",
				       "cuModuleGet",
				       "cuModuleLoad",
				       "cuLibraryGet",
				       "cuLibraryLoad",
				       "cuKernelGet",
				       "cuKernelSet",
				       "cuPointerGet",
				       "cuOccupancy",
				       "cuMemGet",
				       "cuStreamGet",
				       "cuStreamIs",
				       "cuEventCreate",
				       "cuTensorMap",
				       "cuThread",
				       "cuDevicePrimaryCtxRetain",
				       "cuDevicePrimaryCtxGet",
				       "cuParam",
				       "cuProfiler"};

static bool is_harmless(const char *name)
{
	for (size_t i = 0; i < sizeof(harmless) / sizeof(*harmless); i++)
		if (!strncmp(name, harmless[i], strlen(harmless[i])))
			return true;
	return false;
}

static void begin_operation(uint32_t kind, CUstream s, bool is_per_thread, uint64_t dst,
			    uint64_t src, uint64_t bytes)
{
	struct judge_range r;

	now = (struct race_judge_operation){.kind = kind, .dst = dst, .src = src, .bytes = bytes};
	/* How much is freed is the driver's to know. */
	if (kind == RACE_JUDGE_FREE && judge_memory_at(dst, &r))
		now.bytes = r.bytes;
	submit(&now.order, s, is_per_thread);
	has_now = now.bytes && !captures;
}

/* One of a stream (_ptsz), or of the default stream (_ptds), whose end the host waits for. */
#define OPERATION(name, pt, what, stream, to, from, n)                                             \
	case ID(name):                                                                             \
	case ID(name##pt): {                                                                       \
		GIVEN(name);                                                                       \
		begin_operation(what, stream, id == ID(name##pt), (uint64_t)(to),                  \
				(uint64_t)(from), n);                                              \
		return true;                                                                       \
	}
#define WAITED(name, what, to, from, n)                                                            \
	case ID(name):                                                                             \
	case ID(name##_ptds): {                                                                    \
		GIVEN(name);                                                                       \
		begin_operation(what, NULL, id == ID(name##_ptds), (uint64_t)(to),                 \
				(uint64_t)(from), n);                                              \
		waits = id == ID(name##_ptds) ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;           \
		return true;                                                                       \
	}

/* Operations of a stream: before the driver has them, so that whoever records an event after them
 * finds them. True: it was one. */
static bool begin_stream(uint32_t id, const void *params)
{
	switch (id) {
		OPERATION(cuMemcpyAsync, _ptsz, RACE_JUDGE_COPY, p->hStream, p->dst, p->src,
			  p->ByteCount)
		OPERATION(cuMemcpyHtoDAsync_v2, _ptsz, RACE_JUDGE_COPY, p->hStream, p->dstDevice,
			  p->srcHost, p->ByteCount)
		OPERATION(cuMemcpyDtoHAsync_v2, _ptsz, RACE_JUDGE_COPY, p->hStream, p->dstHost,
			  p->srcDevice, p->ByteCount)
		OPERATION(cuMemcpyDtoDAsync_v2, _ptsz, RACE_JUDGE_COPY, p->hStream, p->dstDevice,
			  p->srcDevice, p->ByteCount)
		OPERATION(cuMemcpyPeerAsync, _ptsz, RACE_JUDGE_COPY, p->hStream, p->dstDevice,
			  p->srcDevice, p->ByteCount)
		OPERATION(cuMemsetD8Async, _ptsz, RACE_JUDGE_SET, p->hStream, p->dstDevice, 0, p->N)
		OPERATION(cuMemsetD16Async, _ptsz, RACE_JUDGE_SET, p->hStream, p->dstDevice, 0,
			  2 * p->N)
		OPERATION(cuMemsetD32Async, _ptsz, RACE_JUDGE_SET, p->hStream, p->dstDevice, 0,
			  4 * p->N)
		OPERATION(cuMemFreeAsync, _ptsz, RACE_JUDGE_FREE, p->hStream, p->dptr, 0, 0)
		WAITED(cuMemcpy, RACE_JUDGE_COPY, p->dst, p->src, p->ByteCount)
		WAITED(cuMemcpyHtoD_v2, RACE_JUDGE_COPY, p->dstDevice, p->srcHost, p->ByteCount)
		WAITED(cuMemcpyDtoH_v2, RACE_JUDGE_COPY, p->dstHost, p->srcDevice, p->ByteCount)
		WAITED(cuMemcpyDtoD_v2, RACE_JUDGE_COPY, p->dstDevice, p->srcDevice, p->ByteCount)
		WAITED(cuMemsetD8_v2, RACE_JUDGE_SET, p->dstDevice, 0, p->N)
		WAITED(cuMemsetD16_v2, RACE_JUDGE_SET, p->dstDevice, 0, 2 * p->N)
		WAITED(cuMemsetD32_v2, RACE_JUDGE_SET, p->dstDevice, 0, 4 * p->N)
	case IF_BOTH(cuStreamWaitEvent): {
		GIVEN(cuStreamWaitEvent);
		wait_event(p->hStream, p->hEvent, id == ID(cuStreamWaitEvent_ptsz));
		return true;
	}
	/* Without an effect before their end. */
	case IF_BOTH(cuEventRecord):
	case ID(cuEventSynchronize):
	case ID(cuEventQuery):
	case IF_BOTH(cuStreamSynchronize):
	case IF_BOTH(cuStreamQuery):
	case ID(cuStreamCreate):
	case ID(cuStreamCreateWithPriority):
	case ID(cuStreamDestroy_v2):
	case ID(cuEventDestroy_v2):
		return true;
	default:
		return false;
	}
}

/* Of a capture nothing is known, so that all that happens during one orders all. */
static void begin_capture(uint32_t id)
{
	if (id == ID(cuStreamBeginCapture_v2) || id == ID(cuStreamBeginCapture_v2_ptsz) ||
	    id == ID(cuStreamBeginCapture) || id == ID(cuStreamBeginCapture_ptsz) ||
	    id == ID(cuStreamBeginCaptureToGraph) || id == ID(cuStreamBeginCaptureToGraph_ptsz))
		captures++;
	if ((id == ID(cuStreamEndCapture) || id == ID(cuStreamEndCapture_ptsz)) && captures)
		captures--;
}

/* What the host knows when the call has ended, and what is new. */
static void end_known(uint32_t id, const void *params)
{
	switch (id) {
	case IF_BOTH(cuEventRecord): {
		GIVEN(cuEventRecord);
		record(p->hEvent, p->hStream, id == ID(cuEventRecord_ptsz));
		break;
	}
	case ID(cuEventSynchronize): {
		GIVEN(cuEventSynchronize);
		wait_host(p->hEvent);
		break;
	}
	case ID(cuEventQuery): {
		GIVEN(cuEventQuery);
		wait_host(p->hEvent);
		break;
	}
	case IF_BOTH(cuStreamSynchronize): {
		GIVEN(cuStreamSynchronize);
		wait_stream(p->hStream, id == ID(cuStreamSynchronize_ptsz));
		break;
	}
	case IF_BOTH(cuStreamQuery): {
		GIVEN(cuStreamQuery);
		wait_stream(p->hStream, id == ID(cuStreamQuery_ptsz));
		break;
	}
	case ID(cuStreamCreate): {
		GIVEN(cuStreamCreate);
		add_stream(*p->phStream, (p->Flags & CU_STREAM_NON_BLOCKING) != 0);
		break;
	}
	case ID(cuStreamCreateWithPriority): {
		GIVEN(cuStreamCreateWithPriority);
		add_stream(*p->phStream, (p->flags & CU_STREAM_NON_BLOCKING) != 0);
		break;
	}
	case ID(cuStreamDestroy_v2): {
		GIVEN(cuStreamDestroy_v2);
		drop_stream(p->hStream);
		break;
	}
	case ID(cuEventDestroy_v2): {
		GIVEN(cuEventDestroy_v2);
		drop_event(p->hEvent);
		break;
	}
	default:
		break;
	}
}

/* Launches are seen by hooks.c. */
bool forward_judge_wants(uint32_t id, const char *name)
{
	switch (id) {
	case IF_BOTH(cuLaunchKernel):
	case IF_BOTH(cuLaunchKernelEx):
	case IF_BOTH(cuLaunchCooperativeKernel):
		return false;
	default:
		return !is_harmless(name);
	}
}

void forward_judge_call(uint32_t id, const void *params)
{
	is_followed = true;
	if (judge_is_inside() || !judge_may_be_on())
		return;
	pthread_mutex_lock(&lock);
	begin_capture(id);
	is_followed = begin_stream(id, params);
	if (!is_followed)
		order_all();
	pthread_mutex_unlock(&lock);
}

void forward_judge_called(uint32_t id, const void *params, CUresult r)
{
	bool is_wanted = false;

	if (judge_is_inside() || !judge_may_be_on())
		return;
	pthread_mutex_lock(&lock);
	if (r == CUDA_SUCCESS && !captures)
		end_known(id, params);
	if (!is_followed)
		order_all();
	if (waits)
		wait_stream(waits, false);
	waits = NULL;
	if (has_now)
		is_wanted = r == CUDA_SUCCESS && judge_has_streams() && sent++ < MOST;
	has_now = false;
	pthread_mutex_unlock(&lock);
	if (is_wanted && judge_is_on())
		judge_operation_put(&now);
}
