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

static struct rt_user_object *find(cudaUserObject_t o)
{
	return rt_handle_is(o, RT_USER_OBJECT) ? (struct rt_user_object *)o : NULL;
}

cudaError_t rt_user_object_create(cudaUserObject_t *object_out, void *ptr, cudaHostFn_t destroy,
				  unsigned int initialRefcount, unsigned int flags)
{
	if (!object_out || !destroy || !initialRefcount || flags != cudaUserObjectNoDestructorSync)
		return cudaErrorInvalidValue;
	struct rt_user_object *o = malloc(sizeof(*o));
	if (!o)
		return cudaErrorMemoryAllocation;
	*o = (struct rt_user_object){destroy, ptr, initialRefcount};
	rt_lock();
	rt_handle_add(o, RT_USER_OBJECT);
	base_vec_push(&objects, o);
	rt_unlock();
	*object_out = (cudaUserObject_t)o;
	return cudaSuccess;
}

static cudaError_t change(cudaUserObject_t object, unsigned count, bool is_retain)
{
	cudaError_t e = cudaSuccess;

	rt_lock();
	struct rt_user_object *o = find(object);
	if (!o || !count || (!is_retain && o->refs < count))
		e = cudaErrorInvalidValue;
	else
		o->refs = is_retain ? o->refs + count : o->refs - count;
	rt_unlock();
	rt_user_objects_sweep();
	return e;
}

cudaError_t rt_user_object_retain(cudaUserObject_t object, unsigned int count)
{
	return change(object, count, true);
}

cudaError_t rt_user_object_release(cudaUserObject_t object, unsigned int count)
{
	return change(object, count, false);
}

cudaError_t rt_graph_retain_user_object(cudaGraph_t graph, cudaUserObject_t object,
					unsigned int count, unsigned int flags)
{
	cudaError_t e = cudaSuccess;

	rt_lock();
	struct rt_graph *g = rt_graph_find(graph);
	struct rt_user_object *o = find(object);
	if (!g || !o || !count || flags & ~(unsigned)cudaGraphUserObjectMove) {
		e = cudaErrorInvalidValue;
	} else {
		struct rt_graph_object ref = {o, count};
		base_vec_push(&g->objects, ref);
		if (!(flags & cudaGraphUserObjectMove))
			o->refs += count;
	}
	rt_unlock();
	return e;
}

cudaError_t rt_graph_release_user_object(cudaGraph_t graph, cudaUserObject_t object,
					 unsigned int count)
{
	cudaError_t e = cudaErrorInvalidValue;

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
		e = cudaSuccess;
		break;
	}
	rt_unlock();
	rt_user_objects_sweep();
	return e;
}
