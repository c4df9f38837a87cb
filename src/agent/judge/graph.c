/*
 * graph.c - graphs that the program launches: their kernels are judged as launches are, and each
 * node has its place in the API's order.
 *
 * When an executable graph is made, the graph is copied; what the program changes in the executable
 * one is changed in the copy. For its first launches the copy is copied once more, nodes that copy
 * memory are put before each kernel that is taken (copy.c), and this graph is launched in
 * place of the program's: it does the same, and waits for the same.
 *
 * Misses: kernels in graphs that nodes.c can't follow or that are changed in other ways, after
 * which their launches are taken to order all; kernels of another context than the stream's.
 * Costs: a copy of each graph that is made; for LAUNCHES launches of each executable graph what
 * making it costs.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "agent/table.h"

#include "agent/forward/forward.h"
#include "agent/judge/judge.h"
#include "race/file/shm_write.h"

#define LAUNCHES 2u /* of a graph, and after each change */
#define CHANGES	 4u
#define ALL	 2000u /* launches of all graphs: a program may make one for each */

struct exec {
	UT_hash_handle hh;
	CUgraphExec handle;
	CUgraph kept;
	unsigned left, changes;
	bool is_lost, is_opaque;
	/* Its last launch: in which stream, by us, and an event after that. */
	bool was_launched, is_ours;
	CUstream stream;
	CUevent ended;
	struct agent_order_last last;
};

struct judge_graphs judge_graphs;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct exec *execs;
static unsigned all;
static bool has_driver;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find_driver(void)
{
	has_driver = true;
#define F(field, symbol, params)                                                                   \
	*(void **)&judge_graphs.field = forward_find(#symbol);                                     \
	has_driver = has_driver && judge_graphs.field;
	JUDGE_GRAPHS(F)
#undef F
}

static struct exec *exec_of(CUgraphExec handle)
{
	struct exec *e;

	HASH_FIND_PTR(execs, &handle, e);
	return e;
}

static void lose(struct exec *e)
{
	if (e->kept)
		judge_graphs.destroy(e->kept);
	e->kept = NULL;
	e->is_lost = true;
}

/* ---- what is made of graphs ------------------------------------------------------- */

void judge_graph_made(CUgraphExec handle, CUgraph g)
{
	struct judge_guard guard;
	struct exec *e;

	if (judge_is_inside() || !judge_is_on())
		return;
	pthread_once(&once, find_driver);
	judge_note_stream();
	if (!has_driver || !(e = calloc(1, sizeof(*e))))
		return;
	e->handle = handle;
	e->left = LAUNCHES;
	judge_enter(&guard);
	if (judge_graphs.clone(&e->kept, g) != CUDA_SUCCESS)
		e->is_lost = true;
	judge_leave(&guard);
	pthread_mutex_lock(&lock);
	was_added = true;
	HASH_ADD_PTR(execs, handle, e);
	bool is_in = was_added;
	pthread_mutex_unlock(&lock);
	if (!is_in) {
		lose(e);
		free(e);
	}
}

void judge_graph_gone(CUgraphExec handle)
{
	struct judge_guard guard;

	if (judge_is_inside() || !has_driver)
		return;
	pthread_mutex_lock(&lock);
	struct exec *e = exec_of(handle);
	if (e)
		HASH_DEL(execs, e);
	pthread_mutex_unlock(&lock);
	if (!e)
		return;
	judge_enter(&guard);
	if (e->ended)
		judge_graphs.event_destroy(e->ended);
	lose(e);
	judge_leave(&guard);
	free(e);
}

/* Our copy of a node that the program changes in its executable graph; NULL: it isn't followed.
 * With the lock held, inside a guard. */
static struct exec *changed(CUgraphExec handle, CUgraphNode n, CUgraphNode *own)
{
	struct exec *e = exec_of(handle);

	if (!e || e->is_lost)
		return NULL;
	if (judge_graphs.find_in_clone(own, n, e->kept) != CUDA_SUCCESS) {
		lose(e);
		return NULL;
	}
	if (e->changes < CHANGES)
		e->left = LAUNCHES;
	e->changes++;
	return e;
}

/* Inside a guard, with the lock held, until let_go(). False: the call is no business of ours. */
static bool take_hold(struct judge_guard *guard)
{
	if (judge_is_inside() || !has_driver)
		return false;
	judge_enter(guard);
	pthread_mutex_lock(&lock);
	return true;
}

static void let_go(struct judge_guard *guard)
{
	pthread_mutex_unlock(&lock);
	judge_leave(guard);
}

#define CHANGE(handle, n, field, p)                                                                \
	do {                                                                                       \
		struct judge_guard guard_;                                                         \
		CUgraphNode own_;                                                                  \
		if (!take_hold(&guard_))                                                           \
			return;                                                                    \
		struct exec *e_ = changed(handle, n, &own_);                                       \
		if (e_ && judge_graphs.field(own_, p) != CUDA_SUCCESS)                             \
			lose(e_);                                                                  \
		let_go(&guard_);                                                                   \
	} while (0)

void judge_graph_kernel(CUgraphExec handle, CUgraphNode n, const CUDA_KERNEL_NODE_PARAMS *p)
{
	CHANGE(handle, n, set_kernel, p);
}

void judge_graph_copy(CUgraphExec handle, CUgraphNode n, const CUDA_MEMCPY3D *p)
{
	CHANGE(handle, n, set_copy, p);
}

void judge_graph_set(CUgraphExec handle, CUgraphNode n, const CUDA_MEMSET_NODE_PARAMS *p)
{
	CHANGE(handle, n, set_set, p);
}

void judge_graph_lost(CUgraphExec handle)
{
	struct judge_guard guard;

	if (!take_hold(&guard))
		return;
	struct exec *e = exec_of(handle);
	if (e)
		lose(e);
	let_go(&guard);
}

void judge_graph_updated(CUgraphExec handle, CUgraph g)
{
	struct judge_guard guard;

	if (!take_hold(&guard))
		return;
	struct exec *e = exec_of(handle);
	if (e) {
		unsigned changes = ++e->changes;
		lose(e);
		e->is_lost = changes > CHANGES || judge_graphs.clone(&e->kept, g) != CUDA_SUCCESS;
		e->left = LAUNCHES;
	}
	let_go(&guard);
}

/* ---- a launch --------------------------------------------------------------------- */

/* One that is made of the copy, and what it takes. */
struct own {
	CUgraph graph;
	CUgraphExec exec;
	struct judge_nodes nodes;
	struct judge_job *jobs;
};

static void dims_of(struct judge_dims *d, const CUDA_KERNEL_NODE_PARAMS *p, CUgraphNode node)
{
	CUlaunchAttributeValue v = {0};
	const uint32_t grid[] = {p->gridDimX, p->gridDimY, p->gridDimZ};
	const uint32_t block[] = {p->blockDimX, p->blockDimY, p->blockDimZ};

	memcpy(d->grid, grid, sizeof(grid));
	memcpy(d->block, block, sizeof(block));
	d->shared = p->sharedMemBytes;
	if (judge_graphs.get_attribute(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &v) == CUDA_SUCCESS)
		d->is_cooperative = v.cooperative != 0;
	memset(&v, 0, sizeof(v));
	if (judge_graphs.get_attribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &v) ==
		    CUDA_SUCCESS &&
	    v.clusterDim.x) {
		d->cluster[0] = v.clusterDim.x;
		d->cluster[1] = v.clusterDim.y;
		d->cluster[2] = v.clusterDim.z;
	}
}

/* With the lock of the code held. */
static struct judge_function *function_of(const CUDA_KERNEL_NODE_PARAMS *p)
{
	const char *name = NULL;

	if (p->kern && judge_function_find(p->kern))
		return judge_function_find(p->kern);
	if (!p->func)
		return NULL;
	if (judge_graphs.func_name(&name, p->func) != CUDA_SUCCESS)
		name = NULL;
	return judge_function_named(p->func, name);
}

/* A kernel of the graph, with the lock of the code held. */
static void take_kernel(struct own *o, uint32_t i, CUstream s)
{
	struct judge_node *v = &o->nodes.v[i];
	struct judge_dims d = {.stream = s, .nodes = &o->nodes};
	CUDA_KERNEL_NODE_PARAMS p = {0};
	struct judge_function *f = NULL;

	if (judge_graphs.get_kernel(v->node, &p) == CUDA_SUCCESS)
		f = function_of(&p);
	if (f && (!p.ctx || p.ctx == o->nodes.ctx)) {
		dims_of(&d, &p, v->node);
		o->nodes.at = i;
		o->nodes.last = NULL;
		struct judge_job *j = judge_take_node(f, &d, p.kernelParams, p.extra, &v->order);
		if (j)
			j->next = o->jobs;
		o->jobs = j ? j : o->jobs;
	}
	o->nodes.is_opaque |= !f || !f->kernel || judge_kernel_is_sync(f->kernel);
}

static void put_calls(const struct judge_nodes *n)
{
	for (uint32_t i = 0; i < n->n; i++) {
		struct race_judge_operation op = n->v[i].call;
		op.order = n->v[i].order;
		if (n->v[i].kind == JUDGE_NODE_CALL && op.order.nth && op.bytes && op.height &&
		    op.depth)
			judge_operation_put(&op);
	}
}

/* A kernel may order itself with another branch by memory, and so what comes before and after. */
static void forget_order(struct own *o)
{
	for (struct judge_job *j = o->jobs; j; j = j->next)
		j->head.order.nth = 0;
	for (uint32_t i = 0; i < o->nodes.n; i++)
		o->nodes.v[i].order.nth = 0;
	agent_order_all();
}

/* All that is taken goes its way, or is given back. */
static void end_jobs(struct own *o, bool is_launched, CUstream s)
{
	struct judge_job *next;

	for (struct judge_job *j = o->jobs; j; j = next) {
		next = j->next;
		j->next = NULL;
		if (is_launched && judge_driver.event_record(j->room->event, s) == CUDA_SUCCESS) {
			judge_job_put(j);
			continue;
		}
		judge_code_lock();
		judge_untake(j);
		judge_code_unlock();
	}
	o->jobs = NULL;
}

/* A graph that does the same and copies, if anything is taken of it. False: it can't be had. */
static bool make_own(struct own *o, struct exec *e, CUstream s)
{
	if (judge_graphs.clone(&o->graph, e->kept) != CUDA_SUCCESS)
		return false;
	if (judge_driver.ctx_get_current(&o->nodes.ctx) != CUDA_SUCCESS)
		return false;
	CUcontext ctx = o->nodes.ctx;
	if (!judge_nodes_read(&o->nodes, o->graph))
		return false;
	o->nodes.ctx = ctx;
	judge_order_graph(&o->nodes, s, &e->last);
	judge_code_lock();
	for (uint32_t i = 0; i < o->nodes.n; i++)
		if (o->nodes.v[i].kind == JUDGE_NODE_KERNEL)
			take_kernel(o, i, s);
	judge_code_unlock();
	e->is_opaque = o->nodes.is_opaque;
	if (e->is_opaque)
		forget_order(o);
	put_calls(&o->nodes);
	return true;
}

static void free_own(struct own *o)
{
	if (o->exec)
		judge_graphs.exec_destroy(o->exec); /* (It ends first.) */
	if (o->graph)
		judge_graphs.destroy(o->graph);
	judge_nodes_free(&o->nodes);
}

/* After it the program's own graph, in another stream, must wait for ours. */
static void mark_end(struct exec *e, CUstream s)
{
	e->is_ours = (e->ended || judge_driver.event_create(&e->ended, CU_EVENT_DISABLE_TIMING) ==
					  CUDA_SUCCESS) &&
		     judge_driver.event_record(e->ended, s) == CUDA_SUCCESS;
}

/* Inside a guard. True: it was launched by us. */
static bool launch_own(struct exec *e, CUstream s, CUresult (*launch)(CUgraphExec, CUstream),
		       CUresult *r)
{
	struct own o = {0};
	bool is_launched = false;

	e->left -= e->left > 0;
	all++;
	if (!make_own(&o, e, s)) {
		lose(e);
		agent_order_all();
	} else if (o.jobs && judge_graphs.instantiate(&o.exec, o.graph, 0) == CUDA_SUCCESS) {
		*r = launch(o.exec, s);
		is_launched = *r == CUDA_SUCCESS;
	}
	if (is_launched)
		mark_end(e, s);
	end_jobs(&o, is_launched, s);
	free_own(&o);
	return is_launched;
}

/* What its last launch, in another stream, asks of this one. */
static void join_last(struct exec *e, CUstream s)
{
	if (!e->was_launched || e->stream == s)
		return;
	agent_order_all();
	if (e->is_ours)
		judge_graphs.stream_wait(s, e->ended, 0);
}

bool judge_graph_launch(CUgraphExec handle, CUstream s, CUresult (*launch)(CUgraphExec, CUstream),
			CUresult *r)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
	bool is_launched = false;
	struct judge_guard guard;
	struct exec *e;

	if (judge_is_inside() || !judge_is_on())
		return false;
	judge_finish();
	judge_launched_otherwise();
	judge_enter(&guard);
	pthread_mutex_lock(&lock);
	e = exec_of(handle);
	if (!e || e->is_lost || judge_driver.stream_is_capturing(s, &status) != CUDA_SUCCESS ||
	    status != CU_STREAM_CAPTURE_STATUS_NONE) {
		agent_order_all();
	} else {
		bool is_apart = e->was_launched && e->stream != s;
		join_last(e, s);
		if ((e->left || race_choice_changes()) && all < ALL && !is_apart)
			is_launched = launch_own(e, s, launch, r);
		else
			judge_order_pass(s, e->is_opaque || e->left == LAUNCHES);
		e->was_launched = true;
		e->is_ours &= is_launched;
		e->stream = s;
	}
	pthread_mutex_unlock(&lock);
	judge_leave(&guard);
	return is_launched;
}
