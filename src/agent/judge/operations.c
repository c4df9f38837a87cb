/*
 * operations.c - the program's copies, sets, frees and launches, with what the driver's API orders,
 * as the judge compares them.
 *
 * order.c (of the agent) follows the order; here the calls are heard, and each operation gets what
 * comes before it (struct race_judge_order), and so do the nodes of a graph (graph.c). New memory
 * (which may be old memory) and a function that isn't known order all.
 *
 * Misses: copies of arrays of which no texture or surface object was made: ordered, not compared.
 * Costs: nothing until the program has a stream of its own; then 0.05 us for each launch and 0.1 us
 * for each call that may order something.
 */
#include <stdlib.h>
#include <string.h>

#include <cupti.h>

#include "agent/order.h"

#include "agent/forward/forward.h"
#include "agent/judge/judge.h"

#define MOST 100000u /* operations that are sent */

/* Of the calling thread, from its call to its end: its operation. */
static __thread struct race_judge_operation now;
static __thread bool has_now;
static __thread bool is_waited; /* a set of memory of the host, for which the host waits */
static unsigned sent;		/* atomic */

_Static_assert(AGENT_ORDER_STREAMS == RACE_JUDGE_STREAMS, "one number for both");

/* ---- launches -------------------------------------------------------------------- */

static void take(struct race_judge_order *to, const struct agent_order *o)
{
	*to = (struct race_judge_order){.stream = o->stream, .nth = o->nth, .early = o->early};
	memcpy(to->before, o->before.of, sizeof(to->before));
}

static void submit(struct race_judge_order *to, CUstream s, CUcontext context)
{
	struct agent_order o = {0};

	agent_order_submit(&o, s, context, 1);
	take(to, &o);
}

void judge_order_launch(struct race_judge_order *to, CUstream s, bool is_early)
{
	struct agent_order o;

	agent_order_unheard(forward_unheard());
	agent_order_launch(&o, s, forward_current(), is_early);
	take(to, &o);
}

void judge_order_graph(struct judge_nodes *n, CUstream s, struct agent_order_last *last)
{
	struct agent_order_node *v = n->is_opaque ? NULL : calloc(n->n + 1u, sizeof(*v));

	if (!v) {
		agent_order_all();
		return;
	}
	for (uint32_t i = 0; i < n->n; i++) {
		v[i].before = n->v[i].before;
		v[i].nbefore = n->v[i].nbefore;
	}
	agent_order_graph(v, n->n, s, forward_current(), last);
	for (uint32_t i = 0; i < n->n; i++)
		take(&n->v[i].order, &v[i].order);
	free(v);
}

uint32_t judge_order_effect(CUstream s, bool is_opaque)
{
	return judge_has_streams() ? agent_order_effect(s, forward_current(), is_opaque) : 0;
}

uint32_t judge_order_pass(CUstream s, bool is_opaque)
{
	const uint32_t effect = judge_order_effect(s, is_opaque);
	struct race_judge_order unused;

	if (effect != AGENT_ORDER_SUBMIT) {
		agent_order_pass(effect);
		return effect;
	}
	judge_order_launch(&unused, s, false);
	if (is_opaque)
		agent_order_all();
	return effect;
}

/* ---- calls ----------------------------------------------------------------------- */

#define ID(name) CUPTI_DRIVER_TRACE_CBID_##name

static bool is_default(CUstream s)
{
	return !s || s == CU_STREAM_LEGACY || s == CU_STREAM_PER_THREAD;
}

/* The operation of a call; of a wait it has the default stream's name. */
static void begin_operation(const struct agent_order_call *c, const struct race_judge_operation *op)
{
	struct judge_range r;

	now = *op;
	/* How much is freed is the driver's to know. */
	if (op->kind == RACE_JUDGE_FREE && judge_is_on() && judge_memory_at(op->dst.addr, &r))
		now.bytes = r.bytes;
	if (op->kind == RACE_JUDGE_SET && is_default(c->stream) && judge_is_on())
		is_waited = judge_memory_at(op->dst.addr, &r) && r.kind != RACE_JUDGE_DEVICE;
	submit(&now.order, c->stream, c->context);
	has_now = now.bytes && now.height && now.depth && now.order.nth;
}

static void begin_row(const struct agent_order_call *c, uint32_t kind, uint64_t dst, uint64_t src,
		      uint64_t bytes)
{
	const struct race_judge_operation op = {.kind = kind,
						.dst = {.addr = dst},
						.src = {.addr = src},
						.bytes = bytes,
						.height = 1,
						.depth = 1};

	begin_operation(c, &op);
}

static void begin_rows(const struct agent_order_call *c, CUdeviceptr at, size_t pitch, size_t bytes,
		       size_t height)
{
	const struct race_judge_operation op = {.kind = RACE_JUDGE_SET,
						.dst = {.addr = at, .pitch = pitch},
						.bytes = bytes,
						.height = height,
						.depth = 1};

	begin_operation(c, &op);
}

#define BYTES(what, to, from, n)                                                                   \
	begin_row(c, RACE_JUDGE_##what, (uint64_t)(to), (uint64_t)(from), n)
#define SET_ROWS(width) begin_rows(c, p->dstDevice, p->dstPitch, (width)*p->Width, p->Height)
#define COPY_ROWS(made)                                                                            \
	const struct race_judge_operation op = made(p->pCopy);                                     \
	begin_operation(c, &op)
#define IN_ARRAY(a, offset) judge_array_byte(a, offset)
#define STREAM(f, bytes)                                                                           \
	case ID(f):                                                                                \
	case ID(f##_ptsz): {                                                                       \
		const f##_params *p = params;                                                      \
		bytes;                                                                             \
		break;                                                                             \
	}
#define DEFAULT(f, way, bytes)                                                                     \
	case ID(f):                                                                                \
	case ID(f##_ptds): {                                                                       \
		const f##_params *p = params;                                                      \
		bytes;                                                                             \
		break;                                                                             \
	}

/* Before the driver has them, so that an event that is recorded after them comes after them. */
static void begin_work(uint32_t id, const void *params, const struct agent_order_call *c)
{
	switch (id) {
#include "agent/order/operations.def"
	default:
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
	agent_order_unheard(forward_unheard());
	judge_finish();
	agent_order_read(id, params, &c);
	if (!c.context)
		c.context = forward_current();
	is_waited = false;
	agent_order_begin(&c);
	if (c.way == AGENT_ORDER_STREAM_MADE)
		judge_note_stream();
	if (c.way == AGENT_ORDER_WORK || c.way == AGENT_ORDER_COPY)
		begin_work(id, params, &c);
}

void forward_judge_called(uint32_t id, const void *params, CUresult r)
{
	struct agent_order_call c;
	bool is_wanted;

	if (!is_heard())
		return;
	agent_order_read(id, params, &c);
	if (!c.context)
		c.context = forward_current();
	if (is_waited)
		c.way = AGENT_ORDER_COPY;
	agent_order_end(&c, r == CUDA_SUCCESS);
	is_wanted = has_now && r == CUDA_SUCCESS && judge_has_streams() &&
		    __atomic_fetch_add(&sent, 1, __ATOMIC_RELAXED) < MOST;
	has_now = false;
	if (is_wanted && judge_is_on())
		judge_operation_put(&now);
}
