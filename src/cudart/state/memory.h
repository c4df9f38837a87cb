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
cudaError_t rt_block_new(unsigned device, uint64_t bytes, enum cpu_mem_kind kind, unsigned flags,
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
cudaError_t rt_capture_alloc(void **out, size_t size, cudaStream_t s, bool is_per_thread);
cudaError_t rt_capture_free(void *p, cudaStream_t s, bool is_per_thread);
/* The pool of a handle (NULL: none such). Lock held. */
struct rt_pool *rt_pool_find(cudaMemPool_t p);
/* cudaMallocAsync and cudaMallocFromPoolAsync (pool NULL: the device's), cudaFreeAsync. */
cudaError_t rt_pool_alloc(void **out, size_t size, cudaMemPool_t pool, cudaStream_t s,
			  bool is_per_thread);
cudaError_t rt_pool_free(void *p, cudaStream_t s, bool is_per_thread);
/* Does [p, p + bytes) lie in managed memory? */
bool rt_is_managed(const void *p, size_t bytes);

/*
 * What the entry points of the same names do (cudaMalloc: rt_malloc). Lock not held.
 */

/* ---- memory.c ---- */
cudaError_t rt_malloc(void **devPtr, size_t size);
cudaError_t rt_malloc_managed(void **devPtr, size_t size, unsigned int flags);
cudaError_t rt_malloc_pitch(void **devPtr, size_t *pitch, size_t width, size_t height);
cudaError_t rt_malloc_3d(struct cudaPitchedPtr *pitchedDevPtr, struct cudaExtent extent);
cudaError_t rt_free(void *devPtr);
cudaError_t rt_host_alloc(void **pHost, size_t size, unsigned int flags);
cudaError_t rt_free_host(void *ptr);
cudaError_t rt_host_register(void *ptr, size_t size, unsigned int flags);
cudaError_t rt_host_unregister(void *ptr);
cudaError_t rt_host_get_device_pointer(void **pDevice, void *pHost, unsigned int flags);
cudaError_t rt_host_get_flags(unsigned int *pFlags, void *pHost);
cudaError_t rt_pointer_get_attributes(struct cudaPointerAttributes *attributes, const void *ptr);
cudaError_t rt_mem_advise(const void *devPtr, size_t count, enum cudaMemoryAdvise advice,
			  struct cudaMemLocation location);
cudaError_t rt_mem_range_get_attribute(void *data, size_t dataSize,
				       enum cudaMemRangeAttribute attribute, const void *devPtr,
				       size_t count);
cudaError_t rt_mem_range_get_attributes(void **data, size_t *dataSizes,
					enum cudaMemRangeAttribute *attributes,
					size_t numAttributes, const void *devPtr, size_t count);

/* ---- pool.c ---- */
cudaError_t rt_mem_pool_create(cudaMemPool_t *memPool, const struct cudaMemPoolProps *poolProps);
cudaError_t rt_mem_pool_destroy(cudaMemPool_t memPool);
cudaError_t rt_mem_pool_trim_to(cudaMemPool_t memPool, size_t minBytesToKeep);
cudaError_t rt_mem_pool_get_attribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr,
				      void *value);
cudaError_t rt_mem_pool_set_attribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr,
				      void *value);
cudaError_t rt_mem_pool_set_access(cudaMemPool_t memPool, const struct cudaMemAccessDesc *descList,
				   size_t count);
cudaError_t rt_mem_pool_get_access(enum cudaMemAccessFlags *flags, cudaMemPool_t memPool,
				   struct cudaMemLocation *location);
cudaError_t rt_device_get_default_mem_pool(cudaMemPool_t *memPool, int device);
cudaError_t rt_device_get_mem_pool(cudaMemPool_t *memPool, int device);
cudaError_t rt_device_set_mem_pool(int device, cudaMemPool_t memPool);
cudaError_t rt_mem_get_default_mem_pool(cudaMemPool_t *memPool, struct cudaMemLocation *location,
					enum cudaMemAllocationType type);
cudaError_t rt_mem_get_mem_pool(cudaMemPool_t *memPool, struct cudaMemLocation *location,
				enum cudaMemAllocationType type);
cudaError_t rt_mem_set_mem_pool(struct cudaMemLocation *location, enum cudaMemAllocationType type,
				cudaMemPool_t memPool);

#endif
