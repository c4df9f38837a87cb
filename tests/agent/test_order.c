/*
 * test_order.c - what the driver's API orders, by calls as their listeners hear them.
 *
 * Calls by chance are set against sets of operations, which the clocks of order.c stand for; the
 * rest is what chance doesn't reach.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <cupti.h>

#include "agent/order.h"

#define ID(f)	  CUPTI_DRIVER_TRACE_CBID_##f
#define HANDLE(n) ((void *)(uintptr_t)(0x1000 + (n)))
#define HERE	  ((CUcontext)HANDLE(0))
#define THERE	  ((CUcontext)HANDLE(1))

static CUcontext context;

static void call(uint32_t id, const void *params, bool is_good)
{
	struct agent_order_call c;

	agent_order_read(id, params, &c);
	c.context = context;
	agent_order_begin(&c);
	agent_order_read(id, params, &c);
	c.context = context;
	agent_order_end(&c, is_good);
}
#define CALL(f, ...) call(ID(f), &(f##_params){__VA_ARGS__}, true)

static struct agent_order launch(CUstream s)
{
	struct agent_order o;

	agent_order_submit(&o, s, context, 1);
	return o;
}

static CUstream stream_made(unsigned n, unsigned flags)
{
	CUstream s = HANDLE(n);

	CALL(cuStreamCreate, &s, flags);
	return s;
}

static CUevent event_made(unsigned n)
{
	CUevent e = HANDLE(n);

	CALL(cuEventCreate, &e, 0);
	return e;
}

static bool is_before(const struct agent_order *a, const struct agent_order *b)
{
	return !a->nth || !b->nth || b->before.of[a->stream] >= a->nth;
}

static int setup(void **state)
{
	(void)state;
	agent_order_reset();
	context = HERE;
	return 0;
}

/* ---- by chance ----------------------------------------------------------------------------- */

#define OPERATIONS 120u
#define STREAMS	   10u /* two contexts: legacy, the thread's own, one that blocks, two that don't */
#define EVENTS	   4u

struct set {
	unsigned char has[OPERATIONS];
};

static uint64_t chance;

static unsigned pick(unsigned n)
{
	chance = chance * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(chance >> 33) % n;
}

static void add(struct set *to, const struct set *from)
{
	for (unsigned i = 0; i < OPERATIONS; i++)
		to->has[i] |= from->has[i];
}

/* An operation that nothing is compared with, by what is known of earlier ones of the stream. */
static void pass(CUstream s, bool is_opaque, uint32_t *effect, uint32_t *known)
{
	if (*known != agent_order_changes) {
		*known = agent_order_changes;
		*effect = agent_order_effect(s, context, is_opaque);
	}
	assert_int_not_equal(*effect, AGENT_ORDER_SUBMIT);
	agent_order_pass(*effect);
}

static CUstream stream_of(unsigned s)
{
	return s % 5 == 0 ? NULL : s % 5 == 1 ? CU_STREAM_PER_THREAD : HANDLE(10 + s);
}

/* What an operation of stream s comes after. */
static struct set past_of(const struct set *tails, const struct set *host, unsigned s)
{
	struct set all = tails[s];

	add(&all, host);
	for (unsigned t = s / 5 * 5; t < s / 5 * 5 + 3; t++)
		if ((s % 5 == 0 || t % 5 == 0) && s % 5 < 3)
			add(&all, &tails[t]);
	return all;
}

static void play(uint64_t seed)
{
	static struct set tails[STREAMS], events[EVENTS], host, before[OPERATIONS];
	static struct agent_order got[OPERATIONS];
	uint32_t effects[STREAMS][2], known[STREAMS][2] = {{0}};
	CUevent event[EVENTS];

	chance = seed;
	setup(NULL);
	memset(tails, 0, sizeof(tails));
	memset(events, 0, sizeof(events));
	memset(&host, 0, sizeof(host));
	for (unsigned s = 0; s < STREAMS; s++) {
		context = s < 5 ? HERE : THERE;
		if (s % 5 > 1)
			stream_made(10 + s, s % 5 > 2 ? CU_STREAM_NON_BLOCKING : 0);
	}
	for (unsigned e = 0; e < EVENTS; e++)
		event[e] = event_made(100 + e);
	for (unsigned n = 0; n < OPERATIONS;) {
		unsigned s = pick(STREAMS), e = pick(EVENTS);
		struct set past = past_of(tails, &host, s);
		context = s < 5 ? HERE : THERE;
		switch (pick(12)) {
		case 0:
			CALL(cuEventRecord, event[e], stream_of(s));
			events[e] = past;
			break;
		case 1:
		case 2:
			CALL(cuStreamWaitEvent, stream_of(s), event[e], 0);
			add(&tails[s], &events[e]);
			break;
		case 3:
			CALL(cuEventSynchronize, event[e]);
			add(&host, &events[e]);
			break;
		case 4:
			call(ID(cuStreamQuery), &(cuStreamQuery_params){.hStream = stream_of(s)},
			     e == 0);
			if (e == 0)
				add(&host, &past);
			break;
		case 5:
		case 6:
			pass(stream_of(s), false, &effects[s][0], &known[s][0]);
			tails[s] = past;
			break;
		case 7:
			if (e != 0)
				break;
			pass(stream_of(s), true, &effects[s][1], &known[s][1]);
			tails[s] = past;
			memset(host.has, 1, n);
			break;
		default:
			got[n] = launch(stream_of(s));
			before[n] = past;
			tails[s] = past;
			tails[s].has[n++] = 1;
		}
	}
	for (unsigned a = 0; a < OPERATIONS; a++)
		for (unsigned b = a + 1; b < OPERATIONS; b++)
			if (is_before(&got[a], &got[b]) != before[b].has[a])
				fail_msg("seed %u: %u and %u are %sordered", (unsigned)seed, a, b,
					 before[b].has[a] ? "" : "un");
}

static void clocks_are_sets(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 300; seed++)
		play(seed);
}

/* ---- one by one ---------------------------------------------------------------------------- */

/* A wait for a value in memory may be for what is submitted later, and so may what follows it, in
 * other streams too, until the host has waited. */
static void waits_for_memory_order_what_is_later(void **state)
{
	CUstream one = stream_made(2, CU_STREAM_NON_BLOCKING);
	CUstream two = stream_made(3, CU_STREAM_NON_BLOCKING);
	CUstream other = stream_made(4, CU_STREAM_NON_BLOCKING);
	CUevent e = event_made(5);
	struct agent_order a, b, c;

	(void)state;
	CALL(cuStreamWaitValue32_v2, one, 0, 1, 0);
	a = launch(one);
	CALL(cuEventRecord, e, one);
	CALL(cuStreamWaitEvent, two, e, 0);
	b = launch(two);
	c = launch(other);
	assert_true(is_before(&a, &c) && is_before(&b, &c));
	CALL(cuStreamSynchronize, one);
	CALL(cuStreamSynchronize, two);
	a = launch(one);
	c = launch(other);
	assert_false(is_before(&a, &c));
	CALL(cuStreamBatchMemOp_v2, two, 0, NULL, 0);
	call(ID(cuCtxSynchronize), NULL, true);
	a = launch(two);
	c = launch(other);
	assert_false(is_before(&a, &c));
}

static void what_is_not_known_orders_all(void **state)
{
	static const struct {
		uint32_t id;
		bool is_wanted;
	} rows[] = {{ID(cuMemAlloc_v2), true},	   {ID(cuMemPrefetchAsync), true},
		    {ID(cuGetProcAddress), false}, {ID(cuCtxGetCurrent), false},
		    {ID(cuLaunchKernel), false},   {ID(cuEventCreate), true}};
	CUstream one = stream_made(2, CU_STREAM_NON_BLOCKING);
	CUstream two = stream_made(3, CU_STREAM_NON_BLOCKING);
	struct agent_order a, b, c;
	CUdeviceptr p;

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(agent_order_wants(rows[i].id), rows[i].is_wanted);
	a = launch(one);
	b = launch(two);
	CALL(cuMemAlloc_v2, &p, 4);
	c = launch(two);
	assert_false(is_before(&a, &b));
	assert_true(is_before(&a, &c));
	agent_order_unheard(0);
	b = launch(one);
	c = launch(two);
	assert_false(is_before(&b, &c));
	agent_order_unheard(1);
	b = launch(one);
	c = launch(two);
	assert_true(is_before(&b, &c));
}

/* One that was made and never recorded orders nothing; one whose making wasn't seen, or that graphs
 * may record, all. */
static void events_that_were_not_recorded(void **state)
{
	CUstream one = stream_made(2, CU_STREAM_NON_BLOCKING);
	CUstream two = stream_made(3, CU_STREAM_NON_BLOCKING);
	CUevent e = event_made(5), unknown = HANDLE(6);
	struct agent_order a, b;

	(void)state;
	a = launch(one);
	CALL(cuStreamWaitEvent, two, e, 0);
	b = launch(two);
	assert_false(is_before(&a, &b));
	CALL(cuStreamWaitEvent, two, unknown, 0);
	b = launch(two);
	assert_true(is_before(&a, &b));
	CALL(cuStreamSynchronize, two);
	CALL(cuGraphAddEventRecordNode, NULL, NULL, NULL, 0, e);
	a = launch(one);
	CALL(cuStreamWaitEvent, two, e, 0);
	b = launch(two);
	assert_true(is_before(&a, &b));
}

static void nothing_is_known_of_a_capture(void **state)
{
	CUstream one = stream_made(2, CU_STREAM_NON_BLOCKING);
	CUstream two = stream_made(3, CU_STREAM_NON_BLOCKING);
	struct agent_order a, b;

	(void)state;
	call(ID(cuStreamBeginCapture_v2), &(cuStreamBeginCapture_v2_params){one, 0}, false);
	a = launch(one);
	b = launch(two);
	assert_false(is_before(&a, &b)); /* it hasn't begun */
	CALL(cuStreamBeginCapture_v2, one, 0);
	a = launch(one);
	assert_int_equal(a.nth, 0);
	CALL(cuStreamEndCapture, one, NULL);
	a = launch(one);
	b = launch(two);
	assert_false(is_before(&a, &b));
}

/* A destroyed stream's work goes on; more streams than there are places are ordered at worst. */
static void streams_come_and_go(void **state)
{
	struct agent_order a, b, all[3 * AGENT_ORDER_STREAMS];
	CUstream s;

	(void)state;
	s = stream_made(2, CU_STREAM_NON_BLOCKING);
	a = launch(s);
	CALL(cuStreamDestroy_v2, s);
	s = stream_made(2, CU_STREAM_NON_BLOCKING);
	b = launch(s);
	assert_false(is_before(&a, &b));
	for (unsigned i = 0; i < 3 * AGENT_ORDER_STREAMS; i++) {
		s = stream_made(10 + i, CU_STREAM_NON_BLOCKING);
		all[i] = launch(s);
		if (i >= AGENT_ORDER_STREAMS && i < 2 * AGENT_ORDER_STREAMS)
			CALL(cuStreamSynchronize, s);
	}
	assert_false(is_before(&all[0], &all[1]));
	for (unsigned i = 0; i < 3 * AGENT_ORDER_STREAMS; i++)
		for (unsigned k = 0; k < i; k++)
			assert_true(all[i].stream != all[k].stream || is_before(&all[k], &all[i]));
}

/* What is passed has the effect that it had at its place; what was found out about it doesn't hold
 * during a capture, nor for another stream in the same place. */
static void effects_of_what_is_passed(void **state)
{
	CUstream one = stream_made(2, 0), two = stream_made(3, 0);
	uint32_t known = agent_order_changes, effect = agent_order_effect(NULL, HERE, false);
	struct agent_order a, b;

	(void)state;
	a = launch(one);
	b = launch(two);
	assert_false(is_before(&a, &b));
	agent_order_pass(effect);
	b = launch(two);
	assert_true(is_before(&a, &b));
	a = launch(one);
	agent_order_pass(agent_order_effect(two, HERE, true));
	b = launch(two);
	assert_true(is_before(&a, &b));
	assert_int_equal(agent_order_changes, known);
	/* A launch may begin before the end of the one before it, which was passed. */
	agent_order_launch(&a, one, HERE, false);
	agent_order_launch(&b, one, HERE, true);
	assert_int_equal(b.early, a.nth);
	agent_order_launch(&a, one, HERE, false);
	agent_order_pass(agent_order_effect(one, HERE, false));
	agent_order_launch(&b, one, HERE, true);
	assert_int_equal(b.early, 0);
	CALL(cuStreamBeginCapture_v2, one, 0);
	assert_int_not_equal(agent_order_changes, known);
	assert_int_equal(agent_order_effect(two, HERE, false), AGENT_ORDER_SUBMIT);
	CALL(cuStreamEndCapture, one, NULL);
	known = agent_order_changes;
	for (unsigned i = 0; i < AGENT_ORDER_STREAMS; i++)
		CALL(cuStreamSynchronize, stream_made(10 + i, 0));
	assert_int_not_equal(agent_order_changes, known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(clocks_are_sets, setup),
		cmocka_unit_test_setup(waits_for_memory_order_what_is_later, setup),
		cmocka_unit_test_setup(what_is_not_known_orders_all, setup),
		cmocka_unit_test_setup(events_that_were_not_recorded, setup),
		cmocka_unit_test_setup(nothing_is_known_of_a_capture, setup),
		cmocka_unit_test_setup(streams_come_and_go, setup),
		cmocka_unit_test_setup(effects_of_what_is_passed, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
