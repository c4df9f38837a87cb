/*
 * operations.c - the program's copies, sets, frees and launches, with what the driver's API orders,
 * as the judge compares them.
 *
 * order.c (of the agent) follows the order; here the calls are heard, and each operation gets what
 * comes before it (struct race_judge_order). A launch of a graph, new memory (which may be old
 * memory) and a function that isn't known order all.
 *
 * Misses: copies in two and three dimensions, which are ordered but not compared.
 * Costs: nothing until the program has a stream of its own; then 0.05 us for each launch and 0.1 us
 * for each call that may order something.
 */
#include <string.h>

#include <cupti.h>

#include "agent/order.h"

#include "agent/forward/forward.h"
#include "agent/judge/judge.h"

#define MOST 100000u /* operations that are sent */

/* Of the calling thread, from its call to its end: its operation. */
static __thread struct race_judge_operation now;
static __thread bool has_now;
static unsigned sent; /* atomic */

_Static_assert(AGENT_ORDER_STREAMS == RACE_JUDGE_STREAMS, "one number for both");

/* ---- launches -------------------------------------------------------------------- */

static void submit(struct race_judge_order *to, CUstream s, CUcontext context)
{
	struct agent_order o;

	agent_order_submit(&o, s, context, 1);
	to->stream = o.stream;
	to->nth = o.nth;
	memcpy(to->before, o.before.of, sizeof(to->before));
}

void judge_order_launch(struct race_judge_order *o, CUstream s)
{
	submit(o, s, forward_current());
}

void judge_order_pass(CUstream s, bool is_opaque)
{
	struct race_judge_order unused;

	if (!judge_has_streams())
		return;
	if (!agent_order_pass(s))
		judge_order_launch(&unused, s);
	if (is_opaque)
		agent_order_all();
}

/* ---- calls ----------------------------------------------------------------------- */

#define ID(name)    CUPTI_DRIVER_TRACE_CBID_##name
#define GIVEN(name) const name##_params *p = params

/* The operation of a call; of a wait it has the default stream's name. */
static void begin_operation(const struct agent_order_call *c, uint32_t kind, uint64_t dst,
			    uint64_t src, uint64_t bytes)
{
	struct judge_range r;

	now = (struct race_judge_operation){.kind = kind, .dst = dst, .src = src, .bytes = bytes};
	/* How much is freed is the driver's to know. */
	if (kind == RACE_JUDGE_FREE && judge_memory_at(dst, &r))
		now.bytes = r.bytes;
	submit(&now.order, c->stream, c->context);
	has_now = now.bytes && now.order.nth;
}

/* One of a stream (_ptsz), or of the default stream (_ptds). */
#define OPERATION(name, pt, what, to, from, n)                                                     \
	case ID(name):                                                                             \
	case ID(name##pt): {                                                                       \
		GIVEN(name);                                                                       \
		begin_operation(c, what, (uint64_t)(to), (uint64_t)(from), n);                     \
		break;                                                                             \
	}

/* Before the driver has them, so that whoever records an event after them finds them. */
static void begin_work(uint32_t id, const void *params, const struct agent_order_call *c)
{
	switch (id) {
		OPERATION(cuMemcpyAsync, _ptsz, RACE_JUDGE_COPY, p->dst, p->src, p->ByteCount)
		OPERATION(cuMemcpyHtoDAsync_v2, _ptsz, RACE_JUDGE_COPY, p->dstDevice, p->srcHost,
			  p->ByteCount)
		OPERATION(cuMemcpyDtoHAsync_v2, _ptsz, RACE_JUDGE_COPY, p->dstHost, p->srcDevice,
			  p->ByteCount)
		OPERATION(cuMemcpyDtoDAsync_v2, _ptsz, RACE_JUDGE_COPY, p->dstDevice, p->srcDevice,
			  p->ByteCount)
		OPERATION(cuMemcpyPeerAsync, _ptsz, RACE_JUDGE_COPY, p->dstDevice, p->srcDevice,
			  p->ByteCount)
		OPERATION(cuMemsetD8Async, _ptsz, RACE_JUDGE_SET, p->dstDevice, 0, p->N)
		OPERATION(cuMemsetD16Async, _ptsz, RACE_JUDGE_SET, p->dstDevice, 0, 2 * p->N)
		OPERATION(cuMemsetD32Async, _ptsz, RACE_JUDGE_SET, p->dstDevice, 0, 4 * p->N)
		OPERATION(cuMemFreeAsync, _ptsz, RACE_JUDGE_FREE, p->dptr, 0, 0)
		OPERATION(cuMemcpy, _ptds, RACE_JUDGE_COPY, p->dst, p->src, p->ByteCount)
		OPERATION(cuMemcpyHtoD_v2, _ptds, RACE_JUDGE_COPY, p->dstDevice, p->srcHost,
			  p->ByteCount)
		OPERATION(cuMemcpyDtoH_v2, _ptds, RACE_JUDGE_COPY, p->dstHost, p->srcDevice,
			  p->ByteCount)
		OPERATION(cuMemcpyDtoD_v2, _ptds, RACE_JUDGE_COPY, p->dstDevice, p->srcDevice,
			  p->ByteCount)
		OPERATION(cuMemsetD8_v2, _ptds, RACE_JUDGE_SET, p->dstDevice, 0, p->N)
		OPERATION(cuMemsetD16_v2, _ptds, RACE_JUDGE_SET, p->dstDevice, 0, 2 * p->N)
		OPERATION(cuMemsetD32_v2, _ptds, RACE_JUDGE_SET, p->dstDevice, 0, 4 * p->N)
	default:
		agent_order_carry(c->stream, c->context);
		break;
	}
}

/* Launches are seen by hooks.c. */
bool forward_judge_wants(uint32_t id)
{
	return agent_order_wants(id);
}

static bool is_heard(void)
{
	return !judge_is_inside() && judge_may_be_on();
}

void forward_judge_call(uint32_t id, const void *params)
{
	struct agent_order_call c;

	if (!is_heard())
		return;
	agent_order_read(id, params, &c);
	c.context = forward_current();
	agent_order_begin(&c);
	if (c.way == AGENT_ORDER_STREAM_MADE)
		judge_note_stream();
	if (c.way == AGENT_ORDER_WORK || c.way == AGENT_ORDER_COPY)
		begin_work(id, params, &c);
	else if (c.way == AGENT_ORDER_GRAPH)
		agent_order_all();
}

void forward_judge_called(uint32_t id, const void *params, CUresult r)
{
	struct agent_order_call c;
	bool is_wanted;

	if (!is_heard())
		return;
	agent_order_read(id, params, &c);
	c.context = forward_current();
	agent_order_end(&c, r == CUDA_SUCCESS);
	if (c.way == AGENT_ORDER_GRAPH)
		agent_order_all();
	is_wanted = has_now && r == CUDA_SUCCESS && judge_has_streams() &&
		    __atomic_fetch_add(&sent, 1, __ATOMIC_RELAXED) < MOST;
	has_now = false;
	if (is_wanted && judge_is_on())
		judge_operation_put(&now);
}
