/*
 * userobj.c - user objects: reference counts that graphs hold on the program's data.
 *
 * Counts are changed with the lock held; the program's destructor is called
 * without it, by rt_user_objects_sweep, in the thread that dropped the last
 * reference. (CUDA calls it from a thread of its own.)
 */
#include <stdlib.h>

#include "cudart/graph/graph.h"

static BASE_VEC(struct rt_user_object *) objects;

void rt_user_objects_sweep(void)
{
	for (;;) {
		struct rt_user_object *dead = NULL;
		rt_lock();
		for (size_t i = 0; i < objects.n && !dead; i++) {
			if (objects.v[i]->refs == 0) {
				dead = objects.v[i];
				objects.v[i] = objects.v[--objects.n];
				rt_handle_remove(dead);
			}
		}
		rt_unlock();
		if (!dead)
			return;
		dead->destroy(dead->arg);
		free(dead);
	}
}

static struct rt_user_object *find(rt_ref o)
{
	return rt_handle_is(o, RT_USER_OBJECT) ? (struct rt_user_object *)o : NULL;
}

enum rt_error rt_user_object_create(rt_ref *object_out, void *ptr, void (*destroy)(void *),
				    unsigned int initialRefcount, unsigned int flags)
{
	if (!object_out || !destroy || !initialRefcount || flags != RT_OBJECT_NO_SYNC)
		return RT_ERROR_INVALID_VALUE;
	struct rt_user_object *o = malloc(sizeof(*o));
	if (!o)
		return RT_ERROR_MEMORY_ALLOCATION;
	*o = (struct rt_user_object){destroy, ptr, initialRefcount};
	rt_lock();
	rt_handle_add(o, RT_USER_OBJECT);
	base_vec_push(&objects, o);
	rt_unlock();
	*object_out = (rt_ref)o;
	return RT_OK;
}

static enum rt_error change(rt_ref object, unsigned count, bool is_retain)
{
	enum rt_error e = RT_OK;

	rt_lock();
	struct rt_user_object *o = find(object);
	if (!o || !count || (!is_retain && o->refs < count))
		e = RT_ERROR_INVALID_VALUE;
	else
		o->refs = is_retain ? o->refs + count : o->refs - count;
	rt_unlock();
	rt_user_objects_sweep();
	return e;
}

enum rt_error rt_user_object_retain(rt_ref object, unsigned int count)
{
	return change(object, count, true);
}

enum rt_error rt_user_object_release(rt_ref object, unsigned int count)
{
	return change(object, count, false);
}

enum rt_error rt_graph_retain_user_object(rt_ref graph, rt_ref object, unsigned int count,
					  unsigned int flags)
{
	enum rt_error e = RT_OK;

	rt_lock();
	struct rt_graph *g = rt_graph_find(graph);
	struct rt_user_object *o = find(object);
	if (!g || !o || !count || flags & ~(unsigned)RT_OBJECT_MOVE) {
		e = RT_ERROR_INVALID_VALUE;
	} else {
		struct rt_graph_object ref = {o, count};
		base_vec_push(&g->objects, ref);
		if (!(flags & RT_OBJECT_MOVE))
			o->refs += count;
	}
	rt_unlock();
	return e;
}

enum rt_error rt_graph_release_user_object(rt_ref graph, rt_ref object, unsigned int count)
{
	enum rt_error e = RT_ERROR_INVALID_VALUE;

	rt_lock();
	struct rt_graph *g = rt_graph_find(graph);
	struct rt_user_object *o = find(object);
	for (size_t i = 0; g && o && i < g->objects.n; i++) {
		struct rt_graph_object *ref = &g->objects.v[i];
		if (ref->object != o || ref->refs < count)
			continue;
		ref->refs -= count;
		o->refs -= count;
		if (ref->refs == 0)
			g->objects.v[i] = g->objects.v[--g->objects.n];
		e = RT_OK;
		break;
	}
	rt_unlock();
	rt_user_objects_sweep();
	return e;
}
