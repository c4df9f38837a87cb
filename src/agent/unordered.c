/*
 * unordered.c - launches that the program's API doesn't order, where a detector leaves them
 * undecided.
 *
 * A detector with words about each location compares the accesses of two launches only as far as
 * its row says (PAST in detectors.def: where they overlap, as the device sees; else not at all).
 * So a run that has two launches without an order is partial with it, and the report must say so.
 * The default isn't concerned: what changes during a check shows, whatever changed it.
 *
 * What is ordered is order.c's to know; only launches are its operations here. A launch that finds
 * one of another stream that doesn't come before it is unordered with it; so are two kernels in
 * branches of a graph.
 *
 * Misses: launches of two contexts whose memory isn't shared, what order.c misses, graphs of more
 * than MOST nodes: these count as ordered. Edges that let a kernel begin early can't be asked for;
 * their graph counts as having branches. Costs: only with such a detector in the run: a look into a
 * table for each call that may order something, some 64 comparisons for a launch, a call of the
 * driver for each node of a graph that is made.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <cupti.h>

#include "agent/agent.h"
#include "agent/cupti.h"
#include "agent/history.h"
#include "agent/order.h"

#define KNOWN 64u
#define MOST  1024u /* nodes of a graph */
#define DEEP  8	    /* children in children */

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

/* One that works for another detector sees pairs of its own kernels only. */
static const char *what_is_judged(const struct agent_history *h)
{
	uint32_t flags = race_shm_get()->flags;
	bool has_past = false;

	for (; h; h = h->next)
		has_past = has_past || (h->kind->traits & RACE_WORDS_PAST &&
					RACE_RUN_WANTS(flags, h->kind->detector));
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

/* ---- branches of a graph -------------------------------------------------------------------- */

/* Where all kernels come one after the other, the longest way through the graph has all of them. A
 * child graph counts as one if it has kernels, and is asked itself. */
struct nodes {
	CUgraphNode node[MOST], before[MOST];
	uint32_t kernels[MOST]; /* in the longest way that ends here */
	bool is_kernel[MOST];
	size_t n;
};

static bool find_branches(CUgraph g, int depth, bool *has_kernels);

static uint32_t place_of(const struct nodes *v, CUgraphNode node)
{
	uint32_t i = 0;

	while (i < v->n && v->node[i] != node)
		i++;
	return i;
}

/* Fills in the nodes; true: a child has branches. */
static bool read_nodes(struct nodes *v, CUgraph g, int depth)
{
	bool has_branches = false;
	CUgraphNodeType type;
	CUgraph child;

	if (agent_driver.graph_get_nodes(g, NULL, &v->n) != CUDA_SUCCESS || v->n > MOST || !v->n ||
	    agent_driver.graph_get_nodes(g, v->node, &v->n) != CUDA_SUCCESS)
		v->n = 0;
	for (size_t i = 0; i < v->n; i++) {
		v->is_kernel[i] = false;
		if (agent_driver.graph_node_get_type(v->node[i], &type) != CUDA_SUCCESS)
			continue;
		v->is_kernel[i] = type == CU_GRAPH_NODE_TYPE_KERNEL;
		if (type == CU_GRAPH_NODE_TYPE_GRAPH && agent_driver.graph_child_get_graph &&
		    agent_driver.graph_child_get_graph(v->node[i], &child) == CUDA_SUCCESS)
			has_branches |= find_branches(child, depth + 1, &v->is_kernel[i]);
	}
	return has_branches;
}

/* Lengthens the ways to node i by those to the nodes before it. *is_longer: it did. False: its
 * edges can't be asked for. */
static bool lengthen(struct nodes *v, size_t i, bool *is_longer)
{
	size_t n = 0;
	uint32_t most = 0;

	if (agent_driver.graph_dependencies(v->node[i], NULL, &n) != CUDA_SUCCESS || n > MOST ||
	    (n && agent_driver.graph_dependencies(v->node[i], v->before, &n) != CUDA_SUCCESS))
		return false;
	for (size_t k = 0; k < n; k++) {
		uint32_t at = place_of(v, v->before[k]);
		most = at < v->n && v->kernels[at] > most ? v->kernels[at] : most;
	}
	most += v->is_kernel[i];
	*is_longer |= most > v->kernels[i];
	v->kernels[i] = most > v->kernels[i] ? most : v->kernels[i];
	return true;
}

static bool find_branches(CUgraph g, int depth, bool *has_kernels)
{
	struct nodes *v = depth > DEEP ? NULL : malloc(sizeof(*v));
	uint32_t all = 0, most = 0;
	bool is_longer = true, has_branches;

	*has_kernels = false;
	if (!v)
		return false;
	has_branches = read_nodes(v, g, depth);
	for (size_t i = 0; i < v->n; i++) {
		v->kernels[i] = 0;
		all += v->is_kernel[i];
	}
	for (size_t round = 0; all > 1 && is_longer && !has_branches && round <= v->n; round++) {
		is_longer = false;
		for (size_t i = 0; i < v->n && !has_branches; i++)
			has_branches = !lengthen(v, i, &is_longer);
	}
	for (size_t i = 0; i < v->n; i++)
		most = v->kernels[i] > most ? v->kernels[i] : most;
	*has_kernels = all;
	free(v);
	return has_branches || (all > 1 && most < all);
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
	    (l->is_overlapping ||
	     agent_order_is_unordered(&o, l->context, agent_memory_is_shared())))
		note(c, k, l->n);
}

bool agent_unordered_is_on(void)
{
	return is_on;
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
		/* A stream acquires what a kernel releases. */
		if (call.way == AGENT_ORDER_OPENS)
			agent_context_unseen_all(RACE_HISTORY_GRID_ORDERS);
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

bool agent_has_branches(CUgraph graph)
{
	bool has_kernels;

	return agent_driver.graph_get_nodes && agent_driver.graph_node_get_type &&
	       agent_driver.graph_dependencies && find_branches(graph, 0, &has_kernels);
}
