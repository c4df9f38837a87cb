/*
 * launch.c - counts launches, by context and by kernel.
 *
 * The count of a kernel lives in its chunk of the shared file, so that it
 * survives however the program ends. The hot path is one look-up by (context,
 * function) under the lock and two atomic adds; only the first launch of a
 * function allocates. Launches that are captured into a graph do not count;
 * the graph's kernel nodes count each time it is launched (those it had when
 * it became executable: later cuGraphExec*SetParams and conditional nodes are
 * not followed; the device's own count of grids is exact).
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Out of memory: the next call finds nothing and tries again. */
#include "agent/table.h"

#include "base/base.h"
#include "base/clock.h"

#include "agent/agent.h"

#define NODE_CONDITIONAL 13 /* CU_GRAPH_NODE_TYPE_CONDITIONAL, since 12.3 */
#define LAUNCH_WAIT_S	 2
#define GRAPH_DEPTH	 8 /* child graphs in child graphs */

struct agent_kernel {
	struct race_kernel_count *chunk; /* NULL: the heap is full */
	bool is_instrumented;
	const struct agent_context *loaded_in; /* its module's kernels, last; atomic */
	struct race_launches launches;
	UT_hash_handle hh;
	char key[]; /* "0" or "1" for instrumented, then the name */
};

struct func_key {
	const void *context; /* struct agent_context */
	const void *f;
};

struct func {
	struct func_key key;
	struct agent_kernel *kernel;
	UT_hash_handle hh;
};

/* Kernel nodes of an executable graph. */
struct graph {
	CUgraphExec exec;
	size_t n;
	struct agent_kernel **kernel;
	CUevent last;	   /* after its last launch */
	bool is_launching; /* some thread is in the call */
	bool has_loops;	   /* conditional nodes, or too many levels */
	bool has_branches;
	UT_hash_handle hh;
};

/* All under the lock. */
static struct agent_kernel *by_name;
static struct func *funcs;

/* What a thread has launched last, until handles are forgotten. */
static __thread struct {
	struct func_key key;
	struct agent_kernel *kernel;
	uint64_t forgotten;
} latest;
static struct graph *graphs;

/* Finds or makes the kernel; the lock is held. NULL: no memory. */
static struct agent_kernel *kernel_entry(const char *name, bool is_instrumented)
{
	size_t n = strlen(name) + 1;
	struct agent_kernel *k, *old;

	k = malloc(sizeof(*k) + n + 1);
	if (!k) {
		AGENT_NO_MEMORY("launches of a kernel may not be counted");
		return NULL;
	}
	k->key[0] = is_instrumented ? '1' : '0';
	memcpy(k->key + 1, name, n);
	HASH_FIND(hh, by_name, k->key, n, old);
	if (old) {
		free(k);
		return old;
	}
	k->is_instrumented = is_instrumented;
	k->loaded_in = NULL;
	memset(&k->launches, 0, sizeof(k->launches));
	AGENT_TABLE_ADD_KEY(by_name, k->key, n, k);
	if (!k) {
		AGENT_NO_MEMORY("launches of a kernel may not be counted");
		return NULL;
	}
	k->chunk = race_shm_kernel(name, is_instrumented);
	return k;
}

static struct agent_kernel *func_add(struct func_key key, struct agent_kernel *k)
{
	struct func *f;

	HASH_FIND(hh, funcs, &key, sizeof(key), f);
	if (f || !(f = calloc(1, sizeof(*f))))
		return k;
	f->key = key;
	f->kernel = k;
	AGENT_TABLE_ADD(funcs, key, f);
	return k;
}

/* The name of a graph node's kernel, which no launch callback provides. */
static const char *name_of(const CUDA_KERNEL_NODE_PARAMS *p)
{
	const char *name = NULL;

	if (p->func && agent_driver.func_get_name &&
	    agent_driver.func_get_name(&name, p->func) == CUDA_SUCCESS)
		return name;
	if (p->kern && agent_driver.kernel_get_name &&
	    agent_driver.kernel_get_name(&name, p->kern) == CUDA_SUCCESS)
		return name;
	return NULL;
}

/* The name of a launched kernel where the callback has none; a CUkernel may be passed, too. */
static const char *name_of_launched(CUfunction f)
{
	CUDA_KERNEL_NODE_PARAMS p = {.func = f};
	CUDA_KERNEL_NODE_PARAMS q = {.kern = (CUkernel)(void *)f};
	const char *name = agent_kernel_is_known((CUkernel)(void *)f) ? name_of(&q) : name_of(&p);

	return name ? name : name_of(&q);
}

static void graph_add_kernel(struct agent_context *c, struct graph *g, CUgraphNode node)
{
	CUDA_KERNEL_NODE_PARAMS p;
	struct agent_kernel **grown, *k;

	memset(&p, 0, sizeof(p));
	if (!agent_driver.graph_kernel_params ||
	    agent_driver.graph_kernel_params(node, &p) != CUDA_SUCCESS)
		return;
	k = agent_launch_prepare(c, p.func ? p.func : (CUfunction)(void *)p.kern, name_of(&p));
	grown = realloc(g->kernel, (g->n + 1) * sizeof(struct agent_kernel *));
	if (grown)
		g->kernel = grown;
	if (grown && k)
		g->kernel[g->n++] = k;
	else
		AGENT_NO_MEMORY("launches of a graph's kernels may not be counted");
}

/* Inside a guard, without the lock. */
static void graph_walk(struct agent_context *c, struct graph *g, CUgraph graph, int depth)
{
	CUgraphNodeType type;
	CUgraphNode *nodes;
	CUgraph child;
	size_t n = 0;

	g->has_loops |= depth > GRAPH_DEPTH;
	if (depth > GRAPH_DEPTH || agent_driver.graph_get_nodes(graph, NULL, &n) != CUDA_SUCCESS)
		return;
	nodes = n ? calloc(n, sizeof(CUgraphNode)) : NULL;
	if (!nodes && n)
		AGENT_NO_MEMORY("launches of a graph's kernels may not be counted");
	if (!nodes)
		return;
	if (agent_driver.graph_get_nodes(graph, nodes, &n) != CUDA_SUCCESS)
		n = 0;
	for (size_t i = 0; i < n; i++) {
		if (agent_driver.graph_node_get_type(nodes[i], &type) != CUDA_SUCCESS)
			continue;
		g->has_loops |= (int)type == NODE_CONDITIONAL;
		if (type == CU_GRAPH_NODE_TYPE_KERNEL)
			graph_add_kernel(c, g, nodes[i]);
		else if (type == CU_GRAPH_NODE_TYPE_GRAPH && agent_driver.graph_child_get_graph &&
			 agent_driver.graph_child_get_graph(nodes[i], &child) == CUDA_SUCCESS)
			graph_walk(c, g, child, depth + 1);
	}
	free(nodes);
}

/* ------------------------------------------------------------------------ */

struct agent_kernel *agent_launch_prepare(struct agent_context *c, CUfunction f, const char *name)
{
	struct func_key key = {c, f};
	struct agent_kernel *k;
	struct func *found;
	struct agent_guard g;
	uint64_t now = __atomic_load_n(&agent.forgotten, __ATOMIC_ACQUIRE);
	bool is_instrumented;

	if (f && latest.key.f == f && latest.key.context == c && latest.forgotten == now)
		return latest.kernel;
	agent_lock();
	HASH_FIND(hh, funcs, &key, sizeof(key), found);
	k = found ? found->kernel : NULL;
	agent_unlock();
	if (found) {
		latest.key = key;
		latest.kernel = k;
		latest.forgotten = now;
		return k;
	}
	agent_library_patch_all(c); /* those loaded while no context was current */
	is_instrumented = agent_function_patch(c, f) == AGENT_MODULE_PATCHED;
	if (!name) {
		agent_enter(&g);
		name = name_of_launched(f);
		agent_leave(&g);
	}
	agent_lock();
	k = kernel_entry(name ? name : "(unnamed)", is_instrumented);
	if (k)
		func_add(key, k);
	agent_unlock();
	return k;
}

void agent_launch_load(struct agent_context *c, struct agent_kernel *k, CUfunction f,
		       CUstream stream)
{
	bool may_overlap = (stream && stream != CU_STREAM_LEGACY) ||
			   __atomic_load_n(&agent.has_streams, __ATOMIC_RELAXED);

	if (may_overlap && agent_kernel_is_instrumented(k) &&
	    __atomic_exchange_n(&k->loaded_in, c, __ATOMIC_RELAXED) != c)
		agent_module_load_kernels(c, f);
}

void agent_launch_note(struct agent_kernel *k)
{
	char script[RACE_SCRIPT_BYTES];

	if (!k || !k->is_instrumented)
		return;
	agent_lock();
	bool is_wanted = race_launch_is_wanted(&k->launches);
	agent_unlock();
	if (!is_wanted)
		return;
	bool is_script = race_script(script);
	agent_lock();
	race_launch_note(&k->launches, k->key + 1, is_script ? script : NULL);
	agent_unlock();
}

bool agent_kernel_is_instrumented(const struct agent_kernel *k)
{
	return k && k->is_instrumented;
}

struct race_kernel_count *agent_kernel_count(const struct agent_kernel *k)
{
	return k && k->is_instrumented ? k->chunk : NULL;
}

struct race_kernel_count *agent_kernel_chunk(const struct agent_kernel *k)
{
	return k->chunk;
}

const char *agent_kernel_name(const struct agent_kernel *k)
{
	return k->key + 1;
}

void agent_launch_count(struct agent_context *c, struct agent_kernel *k, uint64_t n)
{
	struct race_region *region = agent_context_region(c);

	if (region) {
		__atomic_fetch_add(&region->host_launches, n, __ATOMIC_RELAXED);
		if (!k || !k->is_instrumented)
			__atomic_fetch_add(&region->host_launches_plain, n, __ATOMIC_RELAXED);
	}
	if (k && k->chunk)
		__atomic_fetch_add(&k->chunk->count, n, __ATOMIC_RELAXED);
}

void agent_launch_forget(void)
{
	struct func *f, *tmp;

	agent_lock();
	HASH_ITER(hh, funcs, f, tmp)
	{
		HASH_DEL(funcs, f);
		free(f);
	}
	__atomic_fetch_add(&agent.forgotten, 1, __ATOMIC_RELEASE);
	agent_unlock();
}

void agent_launch_reset(void)
{
	by_name = NULL;
	funcs = NULL;
	__atomic_fetch_add(&agent.forgotten, 1, __ATOMIC_RELEASE);
	graphs = NULL;
}

void agent_graph_instantiated(struct agent_context *c, CUgraphExec exec, CUgraph graph)
{
	struct agent_guard guard;
	struct graph *g;

	if (!agent_driver.graph_get_nodes || !agent_driver.graph_node_get_type)
		return;
	agent_graph_forget(exec);
	g = calloc(1, sizeof(*g));
	if (!g) {
		AGENT_NO_MEMORY("launches of a graph's kernels may not be counted");
		return;
	}
	g->exec = exec;
	agent_enter(&guard);
	graph_walk(c, g, graph, 0);
	g->has_branches = g->n > 1 && agent_unordered_is_on() && agent_has_branches(graph);
	agent_leave(&guard);
	agent_lock();
	was_added = true;
	HASH_ADD_PTR(graphs, exec, g);
	if (!was_added) {
		free(g->kernel);
		free(g);
		AGENT_NO_MEMORY("launches of a graph's kernels may not be counted");
	}
	agent_unlock();
}

void agent_graph_launched(struct agent_context *c, CUgraphExec exec)
{
	struct graph *g;

	agent_lock();
	HASH_FIND_PTR(graphs, &exec, g);
	for (size_t i = 0; g && i < g->n; i++)
		agent_launch_count(c, g->kernel[i], 1);
	agent_unlock();
}

uint64_t agent_graph_kernels(CUgraphExec exec)
{
	struct graph *g;
	uint64_t n;

	agent_lock();
	HASH_FIND_PTR(graphs, &exec, g);
	n = g ? g->n : 0;
	agent_unlock();
	return n;
}

bool agent_graph_has_branches(CUgraphExec exec)
{
	struct graph *g;
	bool has_branches;

	agent_lock();
	HASH_FIND_PTR(graphs, &exec, g);
	has_branches = g && g->has_branches;
	agent_unlock();
	return has_branches;
}

struct agent_launch_set agent_graph_set(CUgraphExec exec)
{
	struct agent_launch_set set = {0};
	struct graph *g;

	agent_lock();
	HASH_FIND_PTR(graphs, &exec, g);
	if (g && g->n) {
		set.kernel = calloc(g->n, sizeof(struct agent_kernel *));
		set.answer = calloc(g->n, sizeof(*set.answer));
	}
	if (set.kernel && set.answer) {
		set.n = g->n;
		memcpy(set.kernel, g->kernel, g->n * sizeof(struct agent_kernel *));
	} else if (g && g->n) {
		AGENT_NO_MEMORY("kernels of a graph may be checked or left out by mistake");
	}
	agent_unlock();
	return set;
}

bool agent_graph_begin(CUgraphExec exec, CUevent *last)
{
	struct timespec deadline = base_clock_after(CLOCK_MONOTONIC, 1000 * LAUNCH_WAIT_S);
	bool is_good = false;
	struct graph *g;

	*last = NULL;
	agent_lock();
	for (;;) {
		HASH_FIND_PTR(graphs, &exec, g);
		if (!g || !g->is_launching || !agent_wait(&deadline))
			break;
	}
	if (g && !g->is_launching) {
		g->is_launching = true;
		*last = g->last;
		is_good = !g->has_loops;
	}
	agent_unlock();
	return is_good;
}

void agent_graph_end(CUgraphExec exec, CUevent last)
{
	struct graph *g;

	agent_lock();
	HASH_FIND_PTR(graphs, &exec, g);
	if (g) {
		g->is_launching = false;
		g->last = last;
	}
	pthread_cond_broadcast(&agent.changed);
	agent_unlock();
}

void agent_graph_forget(CUgraphExec exec)
{
	struct graph *g;

	agent_lock();
	HASH_FIND_PTR(graphs, &exec, g);
	if (g) {
		HASH_DEL(graphs, g);
		free(g->kernel);
		free(g);
	}
	agent_unlock();
}
