/*
 * pool.c - stream-ordered allocation and memory pools.
 *
 * cudaMallocAsync allocates at once; the memory may be used by work that comes
 * after it in the stream's order, and by nothing else, which is what CUDA
 * promises too. cudaFreeAsync frees when the stream gets there, by an operation
 * of its own: a kernel that uses the memory later faults. A pool never keeps freed memory (its
 * release threshold is only stored): reuse would hide such a use.
 */
#include <stdlib.h>
#include <string.h>

#include "cudart/state/memory.h"

struct rt_pool *rt_pool_find(rt_ref p)
{
	return rt_handle_is(p, RT_POOL) ? (struct rt_pool *)p : NULL;
}

static struct rt_pool *pool_new(unsigned device)
{
	struct rt_pool *p = calloc(1, sizeof(*p));

	if (p) {
		p->device = device;
		p->access[device] = true;
		for (int i = 0; i < 3; i++)
			p->reuse[i] = 1;
		rt_handle_add(p, RT_POOL);
	}
	return p;
}

void rt_pools_init(unsigned device)
{
	struct rt_pool *p = pool_new(device);

	if (p)
		p->is_default = true;
	rt.dev[device].default_pool = rt.dev[device].pool = p;
}

/* ---- allocating ----------------------------------------------------------------------- */

enum rt_error rt_pool_alloc(void **out, size_t size, rt_ref pool, rt_ref s, bool is_per_thread)
{
	if (!out)
		return RT_ERROR_INVALID_VALUE;
	if (size == 0) {
		*out = NULL;
		return RT_OK;
	}
	if (rt_stream_is_captured(s, is_per_thread))
		return rt_capture_alloc(out, size, s, is_per_thread);
	rt_lock();
	struct rt_stream *stream = rt_stream_find(s, is_per_thread);
	unsigned device = stream ? stream->device : 0;
	struct rt_pool *p = rt_pool_find(pool ? pool : rt.dev[device].pool);
	rt_unlock();
	if (!stream)
		return RT_ERROR_INVALID_RESOURCE_HANDLE;
	if (!p)
		return RT_ERROR_INVALID_VALUE;
	if (p->max_size && p->used + size > p->max_size)
		return RT_ERROR_MEMORY_ALLOCATION;
	return rt_block_new(p->device, size, CPU_MEM_DEVICE, 0, p, out);
}

/* Runs when the stream gets there. */
static void free_late(void *p)
{
	rt_lock();
	struct rt_block *b = rt_block_at(p);
	if (b)
		rt_block_free(b);
	rt_unlock();
}

enum rt_error rt_pool_free(void *ptr, rt_ref s, bool is_per_thread)
{
	enum rt_error e = RT_OK;

	if (!ptr)
		return RT_OK;
	if (rt_stream_is_captured(s, is_per_thread))
		return rt_capture_free(ptr, s, is_per_thread);
	rt_lock();
	struct rt_block *b = rt_block_at(ptr);
	bool is_graph = b && rt_graph_memory_release(ptr);
	if (!b || b->is_freed || b->kind != CPU_MEM_DEVICE)
		e = RT_ERROR_INVALID_VALUE;
	else if (!is_graph)
		b->is_freed = true;
	uint64_t bytes = e == RT_OK && !is_graph ? b->bytes : 0;
	rt_unlock();
	if (e != RT_OK || is_graph)
		return e;

	struct rt_work w = {.cpu = {.kind = CPU_WORK_HOST,
				    .origin = rt_origin(),
				    .frees = (uintptr_t)ptr,
				    .free_bytes = bytes,
				    .host = {free_late, ptr}}};
	e = rt_stream_submit(s, is_per_thread, &w, NULL);
	if (e != RT_OK) {
		rt_lock();
		b = rt_block_at(ptr);
		if (b)
			b->is_freed = false;
		rt_unlock();
	}
	return e;
}

/* ---- pools --------------------------------------------------------------------------------- */

enum rt_error rt_pool_create(rt_ref *out, unsigned device, uint64_t max_size)
{
	rt_lock();
	struct rt_pool *p = pool_new(device);
	rt_unlock();
	if (!p)
		return RT_ERROR_MEMORY_ALLOCATION;
	p->max_size = max_size;
	*out = p;
	return RT_OK;
}

/* Its blocks stay valid. */
enum rt_error rt_pool_destroy(rt_ref pool)
{
	enum rt_error e = RT_OK;

	rt_lock();
	struct rt_pool *p = rt_pool_find(pool);
	if (!p || p->is_default) {
		e = RT_ERROR_INVALID_VALUE;
	} else {
		rt_handle_remove(p);
		if (rt.dev[p->device].pool == pool)
			rt.dev[p->device].pool = rt.dev[p->device].default_pool;
		p->is_destroyed = true;
		if (p->used == 0)
			free(p);
	}
	rt_unlock();
	return e;
}

enum rt_error rt_pool_check(rt_ref pool)
{
	rt_lock();
	const struct rt_pool *p = rt_pool_find(pool);
	rt_unlock();
	return p ? RT_OK : RT_ERROR_INVALID_VALUE;
}

static enum rt_error get(const struct rt_pool *p, enum rt_pool_attr attr, void *value)
{
	switch (attr) {
	case RT_POOL_REUSE_EVENTS:
	case RT_POOL_REUSE_OPPORTUNISTIC:
	case RT_POOL_REUSE_INTERNAL:
		*(int *)value = p->reuse[attr - RT_POOL_REUSE_EVENTS];
		return RT_OK;
	case RT_POOL_THRESHOLD:
		*(uint64_t *)value = p->threshold;
		return RT_OK;
	case RT_POOL_RESERVED:
	case RT_POOL_USED:
		*(uint64_t *)value = p->used;
		return RT_OK;
	case RT_POOL_RESERVED_HIGH:
	case RT_POOL_USED_HIGH:
		*(uint64_t *)value = p->used_high;
		return RT_OK;
	}
	return RT_ERROR_INVALID_VALUE;
}

enum rt_error rt_pool_get(rt_ref pool, enum rt_pool_attr attr, void *value)
{
	rt_lock();
	const struct rt_pool *p = rt_pool_find(pool);
	enum rt_error e = p && value ? get(p, attr, value) : RT_ERROR_INVALID_VALUE;
	rt_unlock();
	return e;
}

static enum rt_error set(struct rt_pool *p, enum rt_pool_attr attr, const void *value)
{
	switch (attr) {
	case RT_POOL_REUSE_EVENTS:
	case RT_POOL_REUSE_OPPORTUNISTIC:
	case RT_POOL_REUSE_INTERNAL:
		p->reuse[attr - RT_POOL_REUSE_EVENTS] = *(const int *)value;
		return RT_OK;
	case RT_POOL_THRESHOLD:
		p->threshold = *(const uint64_t *)value;
		return RT_OK;
	case RT_POOL_RESERVED_HIGH:
	case RT_POOL_USED_HIGH:
		if (*(const uint64_t *)value)
			return RT_ERROR_INVALID_VALUE;
		p->used_high = p->used;
		return RT_OK;
	default:
		return RT_ERROR_INVALID_VALUE;
	}
}

enum rt_error rt_pool_set(rt_ref pool, enum rt_pool_attr attr, const void *value)
{
	rt_lock();
	struct rt_pool *p = rt_pool_find(pool);
	enum rt_error e = p && value ? set(p, attr, value) : RT_ERROR_INVALID_VALUE;
	rt_unlock();
	return e;
}

enum rt_error rt_pool_set_access(rt_ref pool, unsigned device, bool is_on)
{
	enum rt_error e = RT_OK;

	rt_lock();
	struct rt_pool *p = rt_pool_find(pool);
	if (!p || (device == p->device && !is_on))
		e = RT_ERROR_INVALID_VALUE;
	else
		p->access[device] = is_on;
	/* The machine knows peers by device, not by pool. */
	if (e == RT_OK && device != p->device && is_on)
		cpu_mem_set_peer(rt.m, device, p->device, true);
	rt_unlock();
	return e;
}

enum rt_error rt_pool_get_access(rt_ref pool, unsigned device, bool *is_on)
{
	rt_lock();
	const struct rt_pool *p = rt_pool_find(pool);
	if (p)
		*is_on = p->access[device];
	rt_unlock();
	return p ? RT_OK : RT_ERROR_INVALID_VALUE;
}

enum rt_error rt_pool_use(unsigned device, rt_ref pool)
{
	enum rt_error e = RT_OK;

	rt_lock();
	const struct rt_pool *p = rt_pool_find(pool);
	if (!p || p->device != device)
		e = RT_ERROR_INVALID_VALUE;
	else
		rt.dev[device].pool = pool;
	rt_unlock();
	return e;
}
