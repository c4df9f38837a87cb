/*
 * memory.c - allocations: device, managed, pinned and registered host memory.
 *
 * The machine owns the memory; this file keeps what belongs to the API only (flags, pools) in a
 * table by start address. cudaFree waits for the device, as CUDA's does; so does cudaFreeHost for
 * all devices. Pitches are multiples of 512 bytes. Managed memory is host memory that kernels see:
 * prefetching and advice are checked and have no effect.
 */
#include <stdlib.h>
#include <string.h>

#include "cudart/state/array.h"
#include "cudart/state/memory.h"

#define PITCH 512u

static struct rt_block *blocks;

struct rt_block *rt_block_at(const void *p)
{
	struct rt_block *b;
	uint64_t base = (uintptr_t)p;

	HASH_FIND(hh, blocks, &base, sizeof(base), b);
	return b;
}

static struct rt_block *enter(uint64_t base, uint64_t bytes)
{
	struct rt_block *b = calloc(1, sizeof(*b));

	if (b) {
		b->base = base;
		b->bytes = bytes;
		HASH_ADD(hh, blocks, base, sizeof(base), b);
	}
	return b;
}

void rt_block_free(struct rt_block *b)
{
	HASH_DEL(blocks, b);
	rt_host_memory_gone(b->base);
	if (b->pool) {
		b->pool->used -= b->bytes;
		if (b->pool->is_destroyed && b->pool->used == 0)
			free(b->pool);
	}
	if (b->is_registered)
		cpu_mem_unregister(rt.m, (void *)(uintptr_t)b->base);
	else
		cpu_mem_free(rt.m, (void *)(uintptr_t)b->base);
	free(b);
}

enum rt_error rt_block_new(unsigned device, uint64_t bytes, enum cpu_mem_kind kind, unsigned flags,
			   struct rt_pool *pool, void **out)
{
	void *p = cpu_mem_alloc(rt.m, device, bytes, kind);

	if (!p) {
		cpu_wait_idle(rt.m, device); /* stream-ordered frees may release some */
		p = cpu_mem_alloc(rt.m, device, bytes, kind);
	}
	if (!p)
		return RT_ERROR_MEMORY_ALLOCATION;
	rt_lock();
	struct rt_block *b = enter((uintptr_t)p, bytes);
	if (b) {
		b->device = device;
		b->kind = kind;
		b->flags = flags;
		b->pool = pool;
		if (pool)
			pool->used += bytes;
		if (pool && pool->used > pool->used_high)
			pool->used_high = pool->used;
		rt_host_memory(b->base, bytes, kind);
	}
	rt_unlock();
	if (!b) {
		cpu_mem_free(rt.m, p);
		return RT_ERROR_MEMORY_ALLOCATION;
	}
	*out = p;
	return RT_OK;
}

void rt_memory_reset(unsigned device)
{
	struct rt_block *b, *tmp;

	rt_lock();
	HASH_ITER(hh, blocks, b, tmp)
	{
		if (b->device == device)
			rt_block_free(b);
	}
	rt_graph_memory_reset(device);
	rt_arrays_reset(device);
	rt_unlock();
}

/* The common body of the allocating functions. 0 bytes: NULL, as in CUDA. */
static enum rt_error alloc(void **out, size_t size, enum cpu_mem_kind kind, unsigned flags)
{
	RT_UNSAFE();
	if (!out)
		return RT_ERROR_INVALID_VALUE;
	if (size == 0) {
		*out = NULL;
		return RT_OK;
	}
	return rt_block_new(rt_thread()->device, size, kind, flags, NULL, out);
}

/* ---- device and managed memory ------------------------------------------------------ */

enum rt_error rt_malloc(void **devPtr, size_t size)
{
	return alloc(devPtr, size, CPU_MEM_DEVICE, 0);
}

enum rt_error rt_malloc_managed(void **devPtr, size_t size, unsigned int flags)
{
	if ((flags != RT_ATTACH_GLOBAL && flags != RT_ATTACH_HOST) || size == 0)
		return RT_ERROR_INVALID_VALUE;
	return alloc(devPtr, size, CPU_MEM_MANAGED, flags);
}

enum rt_error rt_malloc_pitch(void **devPtr, size_t *pitch, size_t width, size_t height)
{
	size_t row = (width + PITCH - 1) / PITCH * PITCH, bytes;

	if (!pitch || row < width || __builtin_mul_overflow(row, height, &bytes))
		return RT_ERROR_INVALID_VALUE;
	*pitch = row;
	return alloc(devPtr, bytes, CPU_MEM_DEVICE, 0);
}

enum rt_error rt_malloc_3d(struct rt_pitched *pitchedDevPtr, struct rt_extent extent)
{
	size_t rows;

	if (!pitchedDevPtr || __builtin_mul_overflow(extent.height, extent.depth, &rows))
		return RT_ERROR_INVALID_VALUE;
	pitchedDevPtr->xsize = extent.width;
	pitchedDevPtr->ysize = extent.height;
	return rt_malloc_pitch(&pitchedDevPtr->ptr, &pitchedDevPtr->pitch, extent.width, rows);
}

/* Frees a block of one of the kinds in `kinds` (bits), after all work of its device. */
static enum rt_error free_block(void *p, unsigned kinds)
{
	rt_lock();
	struct rt_block *b = rt_block_at(p);
	bool is_good = b && !b->is_registered && !b->is_freed && kinds & 1u << b->kind;
	bool is_graph = is_good && rt_graph_memory_release(p);
	unsigned device = is_good ? b->device : 0;
	rt_unlock();
	if (!is_good)
		return RT_ERROR_INVALID_VALUE;

	cpu_wait_idle(rt.m, kinds & 1u << CPU_MEM_HOST ? UINT32_MAX : device);
	if (is_graph)
		return rt_device_error(device);
	rt_lock();
	b = rt_block_at(p); /* another thread may have freed it first */
	if (b)
		rt_block_free(b);
	rt_unlock();
	return rt_device_error(device);
}

enum rt_error rt_free(void *devPtr)
{
	RT_UNSAFE();
	if (!devPtr)
		return RT_OK;
	return free_block(devPtr, 1u << CPU_MEM_DEVICE | 1u << CPU_MEM_MANAGED);
}

/* ---- host memory ----------------------------------------------------------------------- */

enum rt_error rt_host_alloc(void **pHost, size_t size, unsigned int flags)
{
	const unsigned known = RT_HOST_PORTABLE | RT_HOST_MAPPED | RT_HOST_COMBINED;

	if (flags & ~known)
		return RT_ERROR_INVALID_VALUE;
	return alloc(pHost, size, CPU_MEM_HOST, flags | RT_HOST_MAPPED);
}

enum rt_error rt_free_host(void *ptr)
{
	RT_UNSAFE();
	if (!ptr)
		return RT_OK;
	return free_block(ptr, 1u << CPU_MEM_HOST);
}

static enum rt_error enter_registered(void *ptr, size_t size, unsigned flags)
{
	enum rt_error e = RT_OK;

	rt_lock();
	if (rt_block_at(ptr) || !cpu_mem_register(rt.m, ptr, size)) {
		e = RT_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	} else {
		struct rt_block *b = enter((uintptr_t)ptr, size);
		if (b) {
			b->device = rt_thread()->device;
			b->kind = CPU_MEM_HOST;
			b->is_registered = true;
			b->flags = flags | RT_HOST_MAPPED;
			rt_host_memory(b->base, size, CPU_MEM_HOST);
		}
	}
	rt_unlock();
	return e;
}

enum rt_error rt_host_register(void *ptr, size_t size, unsigned int flags)
{
	const unsigned known = RT_HOST_PORTABLE | RT_HOST_MAPPED | RT_REGISTER_READ_ONLY;

	RT_UNSAFE();
	if (flags & RT_REGISTER_IO)
		return rt_refuse_use("registered memory", "the flag for I/O");
	if (!ptr || size == 0 || flags & ~known)
		return RT_ERROR_INVALID_VALUE;
	enum rt_error e = enter_registered(ptr, size, flags);
	if (e == RT_OK)
		cpu_host_unseen(rt.m, size);
	return e;
}

enum rt_error rt_host_lend(void *ptr, size_t size)
{
	RT_UNSAFE();
	if (!ptr || size == 0)
		return RT_ERROR_INVALID_VALUE;
	return enter_registered(ptr, size, RT_HOST_MAPPED);
}

enum rt_error rt_host_unregister(void *ptr)
{
	RT_UNSAFE();
	cpu_wait_idle(rt.m, UINT32_MAX);
	rt_lock();
	struct rt_block *b = rt_block_at(ptr);
	bool is_good = b && b->is_registered;
	if (is_good)
		rt_block_free(b);
	rt_unlock();
	return is_good ? RT_OK : RT_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

enum rt_error rt_host_get_device_pointer(void **pDevice, void *pHost, unsigned int flags)
{
	struct cpu_mem_info i;

	if (!pDevice || flags || !cpu_mem_find(rt.m, (uintptr_t)pHost, &i) ||
	    i.kind == CPU_MEM_DEVICE || i.kind == CPU_MEM_MODULE)
		return RT_ERROR_INVALID_VALUE;
	*pDevice = pHost;
	return RT_OK;
}

enum rt_error rt_host_get_flags(unsigned int *pFlags, void *pHost)
{
	struct cpu_mem_info i;
	struct rt_block *b = NULL;

	if (!pFlags || !cpu_mem_find(rt.m, (uintptr_t)pHost, &i) || i.kind != CPU_MEM_HOST)
		return RT_ERROR_INVALID_VALUE;
	rt_lock();
	b = rt_block_at((void *)(uintptr_t)i.base);
	*pFlags = b ? b->flags : 0;
	rt_unlock();
	return RT_OK;
}

/* ---- hints ----------------------------------------------------------------------------------- */

bool rt_is_managed(const void *p, size_t bytes)
{
	struct cpu_mem_info i;
	uint64_t a = (uintptr_t)p;

	return cpu_mem_find(rt.m, a, &i) && i.kind == CPU_MEM_MANAGED &&
	       bytes <= i.bytes - (a - i.base);
}
