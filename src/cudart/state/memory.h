/*
 * memory.h - the table of the program's allocations, for memory.c, pool.c and copies.
 */
#ifndef COLLIDER_CUDART_MEMORY_H
#define COLLIDER_CUDART_MEMORY_H

#include "cudart/state/internal.h"
#include "base/table.h"

struct rt_pool {
	unsigned device;
	bool is_default;
	bool is_destroyed; /* freed with its last block */
	uint64_t threshold, used, used_high, max_size;
	int reuse[3]; /* the three cudaMemPoolReuse... switches: kept, without effect */
	bool access[RT_DEVICES];
};

/* An allocation; memory that the program registered has is_registered. */
struct rt_block {
	UT_hash_handle hh;
	uint64_t base, bytes;
	unsigned device, flags;
	enum cpu_mem_kind kind;
	struct rt_pool *pool; /* NULL: not stream-ordered */
	bool is_registered;
	bool is_freed; /* cudaFreeAsync was called; freed when the stream gets there */
};

/*
 * Allocates and enters it. If the device is full, waits for pending frees. Lock not
 * held.
 */
enum rt_error rt_block_new(unsigned device, uint64_t bytes, enum cpu_mem_kind kind, unsigned flags,
			   struct rt_pool *pool, void **out);
/* The block that starts at p, or NULL. Lock held. */
struct rt_block *rt_block_at(const void *p);
/* Takes it out of the table and frees its memory. Lock held. */
void rt_block_free(struct rt_block *b);
/* Memory of a graph (graphmem.c) outlives what the program does to free it: marks it and returns
 * true. Lock held. */
bool rt_graph_memory_release(const void *p);
/* cudaDeviceReset: its memory is gone. Lock held. */
void rt_graph_memory_reset(unsigned device);
/* cudaMallocAsync and cudaFreeAsync on a captured stream. Lock not held. */
enum rt_error rt_capture_alloc(void **out, size_t size, rt_ref s, bool is_per_thread);
enum rt_error rt_capture_free(void *p, rt_ref s, bool is_per_thread);
/* The pool of a handle (NULL: none such). Lock held. */
struct rt_pool *rt_pool_find(rt_ref p);
/* cudaMallocAsync and cudaMallocFromPoolAsync (pool NULL: the device's), cudaFreeAsync. */
enum rt_error rt_pool_alloc(void **out, size_t size, rt_ref pool, rt_ref s, bool is_per_thread);
enum rt_error rt_pool_free(void *p, rt_ref s, bool is_per_thread);
/* Does [p, p + bytes) lie in managed memory? */
bool rt_is_managed(const void *p, size_t bytes);

/*
 * What the entry points of the same names do (cudaMalloc: rt_malloc). Lock not held.
 */

/* ---- memory.c ---- */
enum rt_error rt_malloc(void **devPtr, size_t size);
enum rt_error rt_malloc_managed(void **devPtr, size_t size, unsigned int flags);
enum rt_error rt_malloc_pitch(void **devPtr, size_t *pitch, size_t width, size_t height);
enum rt_error rt_malloc_3d(struct rt_pitched *pitchedDevPtr, struct rt_extent extent);
enum rt_error rt_free(void *devPtr);
enum rt_error rt_host_alloc(void **pHost, size_t size, unsigned int flags);
enum rt_error rt_free_host(void *ptr);
enum rt_error rt_host_register(void *ptr, size_t size, unsigned int flags);
/* The same for memory that the caller leaves alone until it has waited for all work and
 * unregistered it: no access of host code is missed. */
enum rt_error rt_host_lend(void *ptr, size_t size);
enum rt_error rt_host_unregister(void *ptr);
enum rt_error rt_host_get_device_pointer(void **pDevice, void *pHost, unsigned int flags);
enum rt_error rt_host_get_flags(unsigned int *pFlags, void *pHost);

/* ---- pool.c: what becomes of a pool's handle ---- */

/* max_size 0: no limit. */
enum rt_error rt_pool_create(rt_ref *out, unsigned device, uint64_t max_size);
enum rt_error rt_pool_destroy(rt_ref pool);
/* Is there such a pool? */
enum rt_error rt_pool_check(rt_ref pool);
/* int for switches, uint64_t for the others. */
enum rt_error rt_pool_get(rt_ref pool, enum rt_pool_attr attr, void *value);
enum rt_error rt_pool_set(rt_ref pool, enum rt_pool_attr attr, const void *value);
enum rt_error rt_pool_set_access(rt_ref pool, unsigned device, bool is_on);
enum rt_error rt_pool_get_access(rt_ref pool, unsigned device, bool *is_on);
/* The pool that the device allocates from. */
enum rt_error rt_pool_use(unsigned device, rt_ref pool);

#endif
