/*
 * payload.c - what a node of a graph does: made from a description, put into a new node, an
 * existing one, or an executable graph's copy of one.
 *
 * Payloads are made without the lock: kernels may have to be loaded.
 */
#include <stdlib.h>
#include <string.h>

#include "cudart/graph/graph.h"
#include "cudart/state/copy.h"

/* ---- making -------------------------------------------------------------------------- */

static void begin(struct rt_payload *p, enum rt_node_type type)
{
	*p = (struct rt_payload){.type = type};
	p->work.cpu.device = rt_thread()->device;
}

enum rt_error rt_payload_none(struct rt_payload *p)
{
	begin(p, RT_NODE_EMPTY);
	return RT_ERROR_INVALID_VALUE;
}

enum rt_error rt_payload_empty(struct rt_payload *p)
{
	begin(p, RT_NODE_EMPTY);
	return RT_OK;
}

enum rt_error rt_payload_kernel(struct rt_payload *p, struct rt_launch l)
{
	begin(p, RT_NODE_KERNEL);
	if (!l.func)
		return RT_ERROR_INVALID_VALUE;
	l.device = rt_thread()->device;
	enum rt_error e = rt_launch_prepare(&l, &p->work);
	p->work.func = l.func;
	p->work.cpu.device = l.device;
	if (e == RT_OK)
		rt_launches_record(&p->work);
	return e;
}

static enum rt_error made_copy(struct rt_payload *p, enum rt_error e)
{
	enum rt_end dst, src;
	const struct cpu_copy *c = &p->work.cpu.copy;

	p->work.cpu.device = rt_thread()->device;
	p->work.cpu.origin = rt_origin();
	if (e == RT_OK && c->width && c->height && c->depth)
		e = rt_copy_check(&p->work, &dst, &src);
	return e;
}

enum rt_error rt_payload_copy_3d(struct rt_payload *p, const struct rt_copy_3d *c)
{
	begin(p, RT_NODE_COPY);
	return made_copy(p, rt_copy_make_3d(&p->work, *c));
}

enum rt_error rt_payload_copy_1d(struct rt_payload *p, void *dst, const void *src, size_t count,
				 enum rt_copy_kind kind)
{
	begin(p, RT_NODE_COPY);
	return made_copy(p, rt_copy_make_1d(&p->work, dst, src, count, kind));
}

enum rt_error rt_payload_fill(struct rt_payload *p, const struct rt_fill *f)
{
	enum rt_end dst;
	struct rt_pitched at = {f->dst, f->pitch, f->width * f->size, f->height};
	struct rt_extent extent = {f->width, f->height, 1};

	begin(p, RT_NODE_FILL);
	enum rt_error e = rt_fill_make(&p->work, at, f->value, f->size, extent);
	p->work.cpu.device = rt_thread()->device;
	p->work.cpu.origin = rt_origin();
	return e == RT_OK ? rt_fill_check(&p->work, &dst) : e;
}

enum rt_error rt_payload_host(struct rt_payload *p, void (*fn)(void *arg), void *arg)
{
	begin(p, RT_NODE_HOST);
	if (!fn)
		return RT_ERROR_INVALID_VALUE;
	p->work.cpu = (struct cpu_work){.kind = CPU_WORK_HOST, .host = {fn, arg}};
	p->work.cpu.device = rt_thread()->device;
	return RT_OK;
}

enum rt_error rt_payload_event(struct rt_payload *p, enum rt_node_type type, rt_ref event)
{
	begin(p, type);
	p->event = event;
	rt_lock();
	bool is_good = rt_event_find(event);
	rt_unlock();
	return is_good ? RT_OK : RT_ERROR_INVALID_RESOURCE_HANDLE;
}

enum rt_error rt_payload_child(struct rt_payload *p, rt_ref child)
{
	begin(p, RT_NODE_GRAPH);
	rt_lock();
	const struct rt_graph *g = rt_graph_find(child);
	if (g) {
		p->child = rt_graph_clone(g);
		p->child->is_child = true;
	}
	rt_unlock();
	return g ? RT_OK : RT_ERROR_INVALID_VALUE;
}

/* ---- putting --------------------------------------------------------------------------- */

static void drop(struct rt_payload *p)
{
	rt_lock();
	rt_payload_free(p);
	rt_unlock();
}

enum rt_error rt_node_add(rt_ref *out, rt_ref graph, const rt_ref *deps, size_t n,
			  struct rt_payload *p, enum rt_error e)
{
	if (e == RT_OK && (!out || (n && !deps)))
		e = RT_ERROR_INVALID_VALUE;
	if (e != RT_OK) {
		drop(p);
		return e;
	}
	rt_lock();
	struct rt_graph *g = rt_graph_find(graph);
	bool is_good = g;
	for (size_t i = 0; i < n && is_good; i++) {
		const struct rt_node *d = rt_node_find(deps[i]);
		is_good = d && d->graph == g;
	}
	if (is_good) {
		struct rt_node *node = rt_node_new(g, p);
		for (size_t i = 0; i < n; i++)
			rt_node_depend(node, rt_node_find(deps[i]));
		*out = node;
	} else {
		rt_payload_free(p);
	}
	rt_unlock();
	return is_good ? RT_OK : RT_ERROR_INVALID_VALUE;
}

enum rt_error rt_node_set(rt_ref exec, rt_ref node, struct rt_payload *p, enum rt_error e)
{
	if (e != RT_OK) {
		drop(p);
		return e;
	}
	rt_lock();
	struct rt_node *n = rt_node_find(node);
	struct rt_exec *x = exec ? rt_exec_find(exec) : NULL;
	if (exec)
		n = n && x ? rt_exec_node(x, n) : NULL;
	bool is_good = n && n->what.type == p->type;
	if (is_good && n->what.type == RT_NODE_KERNEL) {
		/* Attributes that were set are kept. */
		p->work.cpu.launch.is_cooperative = n->what.work.cpu.launch.is_cooperative;
		p->work.cpu.launch.is_programmatic = n->what.work.cpu.launch.is_programmatic;
		memcpy(p->work.cpu.launch.cluster, n->what.work.cpu.launch.cluster,
		       sizeof(p->work.cpu.launch.cluster));
	}
	if (is_good && exec && p->child && p->child->nodes.n != n->what.child->nodes.n)
		is_good = false;
	if (is_good && exec && p->child && !rt_graph_sort(p->child))
		is_good = false;
	if (is_good) {
		rt_payload_free(&n->what);
		n->what = *p;
	} else {
		rt_payload_free(p);
	}
	rt_unlock();
	return is_good ? RT_OK : RT_ERROR_INVALID_VALUE;
}

/* ---- asking ----------------------------------------------------------------------------- */

void **rt_node_args(struct rt_node *n)
{
	const struct cpu_launch *l = &n->what.work.cpu.launch;
	struct cpu_kernel_info info;

	cpu_kernel_get_info(l->kernel, &info);
	free(n->args);
	n->args = calloc(info.nparams + 1, sizeof(void *));
	for (uint32_t i = 0; n->args && i < info.nparams; i++) {
		uint32_t offset = 0, bytes;
		cpu_kernel_param(l->kernel, i, &offset, &bytes);
		n->args[i] = (char *)(uintptr_t)l->params + offset;
	}
	return n->args;
}
