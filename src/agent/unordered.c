/*
 * unordered.c - launches that the program's API doesn't order, where a detector leaves them
 * undecided.
 *
 * A detector with words about each location compares the accesses of two launches only as far as
 * its row says (PAST in detectors.def: where they overlap, as the device sees; else not at all).
 * So a run that has two launches without an order is partial with it, and the report must say so.
 * The default isn't concerned: what happens during a check shows, whoever did it.
 *
 * What is ordered is order.c's to know; only launches are its operations here. A launch that finds
 * one of another stream that doesn't come before it is unordered with it.
 *
 * Misses: launches of two contexts whose memory isn't shared, and what order.c misses: these count
 * as ordered. Costs: only with such a detector in the run: a look into a table for each call that
 * may order something, and some 64 comparisons for a launch.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <string.h>

#include <cupti.h>

#include "agent/agent.h"
#include "agent/cupti.h"
#include "agent/history.h"
#include "agent/order.h"

#define KNOWN 64u

/* Under the agent's lock. */
static struct {
	const struct agent_kernel *kernel;
	uint64_t *count;
} known[KNOWN];

static bool is_wanted[CUPTI_DRIVER_TRACE_CBID_SIZE];
static bool is_on;
static unsigned (*unheard)(void); /* calls that forward/ can't hear; NULL: it isn't there */

static void note_unheard(void)
{
	if (unheard)
		agent_order_unheard(unheard());
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

/* ------------------------------------------------------------------------ */

void agent_unordered_launch(const struct agent_context *c, const struct agent_kernel *k,
			    const struct agent_launched *l)
{
	struct agent_order o;

	if (!is_on || !agent_context_history(c) || !l->n || agent_is_captured(l->stream))
		return;
	note_unheard();
	agent_order_submit(&o, l->stream, l->context, (uint32_t)l->n);
	if (o.nth && !o.before.is_open &&
	    (l->is_programmatic ||
	     agent_order_is_unordered(&o, l->context, agent_memory_is_shared())))
		note(c, k, l->n);
}

void agent_unordered_enable(agent_enable_fn *enable, void *arg)
{
	uint32_t with = 0;

	for (unsigned i = 0; i < RACE_WORDS_COUNT; i++)
		with |= 1u << race_words[i].detector;
	is_on = RACE_RUN_DETECTORS(race_shm_get()->flags) & with;
	void *p = dlsym(RTLD_DEFAULT, "__collider_events_unheard");
	__builtin_memcpy(&unheard, &p, sizeof(p));
	for (uint32_t id = 0; is_on && id < CUPTI_DRIVER_TRACE_CBID_SIZE; id++)
		if (agent_order_wants(id)) {
			is_wanted[id] = true;
			enable(arg, id);
		}
}

void agent_unordered_call(uint32_t id, const void *data)
{
	const CUpti_CallbackData *d = data;
	struct agent_order_call call;

	if (id >= CUPTI_DRIVER_TRACE_CBID_SIZE || !is_wanted[id] || !d->context)
		return;
	agent_order_read(id, d->functionParams, &call);
	if (!call.context)
		call.context = d->context;
	if (call.way != AGENT_ORDER_CAPTURED && agent_is_captured(call.stream))
		return;
	if (d->callbackSite == CUPTI_API_ENTER) {
		note_unheard();
		agent_order_begin(&call);
		if (call.way == AGENT_ORDER_WORK || call.way == AGENT_ORDER_COPY)
			agent_order_carry(call.stream, call.context);
		return;
	}
	agent_order_end(&call, *(const CUresult *)d->functionReturnValue == CUDA_SUCCESS);
}

void agent_unordered_reset(void)
{
	memset(known, 0, sizeof(known));
	agent_order_reset();
}
