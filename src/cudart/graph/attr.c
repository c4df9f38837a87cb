/*
 * attr.c - attributes of kernel nodes, which the runtime and the driver number alike.
 *
 * Those that only tune are taken and not kept: they read as 0.
 */
#include <string.h>

#include "cudart/graph/graph.h"

/* A node of that kind; NULL: it isn't one. */
static struct rt_node *find(rt_ref node)
{
	struct rt_node *n = rt_node_find(node);

	return n && n->what.type == RT_NODE_KERNEL ? n : NULL;
}

static enum rt_error get(const struct rt_node *n, int id, union rt_attr *out)
{
	const struct cpu_launch *l = &n->what.work.cpu.launch;

	memset(out, 0, sizeof(*out));
	switch (id) {
	case RT_ATTR_COOPERATIVE:
		out->number = l->is_cooperative;
		return RT_OK;
	case RT_ATTR_CLUSTER:
		memcpy(out->cluster, l->cluster, sizeof(out->cluster));
		return RT_OK;
	case RT_ATTR_PRIORITY:
		out->number = n->what.work.cpu.priority;
		return RT_OK;
	case RT_ATTR_PROGRAMMATIC:
		out->number = l->is_programmatic;
		return RT_OK;
	case RT_ATTR_ACCESS_POLICY:
	case RT_ATTR_CLUSTER_POLICY:
	case RT_ATTR_SYNC_DOMAIN_MAP:
	case RT_ATTR_SYNC_DOMAIN:
		return RT_OK;
	default:
		return RT_ERROR_INVALID_VALUE;
	}
}

static enum rt_error set(struct rt_node *n, int id, const union rt_attr *to)
{
	struct cpu_launch *l = &n->what.work.cpu.launch;

	switch (id) {
	case RT_ATTR_COOPERATIVE:
		l->is_cooperative = to->number;
		return RT_OK;
	case RT_ATTR_CLUSTER:
		memcpy(l->cluster, to->cluster, sizeof(l->cluster));
		return RT_OK;
	case RT_ATTR_PRIORITY:
		n->what.work.cpu.priority = to->number;
		return RT_OK;
	case RT_ATTR_PROGRAMMATIC:
		l->is_programmatic = to->number;
		return RT_OK;
	case RT_ATTR_ACCESS_POLICY:
	case RT_ATTR_CLUSTER_POLICY:
	case RT_ATTR_SYNC_DOMAIN_MAP:
	case RT_ATTR_SYNC_DOMAIN:
		return RT_OK;
	default:
		return RT_ERROR_INVALID_VALUE;
	}
}

static void copy(struct rt_node *to, const struct rt_node *from)
{
	union rt_attr value;

	for (int id = 0; id < RT_ATTR_IDS; id++)
		if (get(from, id, &value) == RT_OK)
			set(to, id, &value);
}

/* ------------------------------------------------------------------------ */

enum rt_error rt_node_attr_get(rt_ref node, int id, union rt_attr *out)
{
	enum rt_error e = RT_ERROR_INVALID_VALUE;

	rt_lock();
	const struct rt_node *n = find(node);
	if (n && out)
		e = get(n, id, out);
	rt_unlock();
	return e;
}

enum rt_error rt_node_attr_set(rt_ref node, int id, const union rt_attr *to)
{
	enum rt_error e = RT_ERROR_INVALID_VALUE;

	rt_lock();
	struct rt_node *n = find(node);
	if (n && to)
		e = set(n, id, to);
	rt_unlock();
	return e;
}

enum rt_error rt_node_attr_copy(rt_ref to, rt_ref from)
{
	enum rt_error e = RT_ERROR_INVALID_VALUE;

	rt_lock();
	struct rt_node *n = find(to);
	const struct rt_node *f = find(from);
	if (n && f) {
		copy(n, f);
		e = RT_OK;
	}
	rt_unlock();
	return e;
}
