/*
 * graphmem.c - memory that graphs allocate: alloc and free nodes.
 *
 * The address of an alloc node is fixed when the node is made, and so is the
 * memory here: it exists from then on until the last copy of the graph is gone
 * (if something frees it) or cudaDeviceReset. At run time both nodes only
 * order. Misses: a use after the free node or before the alloc node, which CUDA forbids. CUDA would
 * also share memory between nodes whose lifetimes don't overlap; here a graph needs the sum.
 */
#include <stdlib.h>
#include <string.h>

#include "cudart/state/capture.h"
#include "cudart/graph/graph.h"
#include "cudart/state/memory.h"

struct rt_graph_memory {
	struct rt_graph_memory *next;
	void *p;
	size_t bytes;
	unsigned device;
	unsigned refs; /* payloads of alloc nodes */
	bool is_freed; /* by a free node or by the program */
};

static struct rt_graph_memory *memories;

static struct rt_graph_memory *find(const void *p)
{
	for (struct rt_graph_memory *m = memories; m; m = m->next) {
		if (m->p == p)
			return m;
	}
	return NULL;
}

struct rt_graph_memory *rt_graph_memory_get(struct rt_graph_memory *m)
{
	m->refs++;
	return m;
}

void rt_graph_memory_put(struct rt_graph_memory *m)
{
	m->refs--;
}

bool rt_graph_memory_release(const void *p)
{
	struct rt_graph_memory *m = find(p);

	if (m)
		m->is_freed = true;
	return m;
}

void rt_graph_memory_sweep(void)
{
	for (;;) {
		struct rt_graph_memory *dead = NULL;
		rt_lock();
		for (struct rt_graph_memory **q = &memories; *q && !dead; q = &(*q)->next) {
			if ((*q)->refs == 0 && (*q)->is_freed) {
				dead = *q;
				*q = dead->next;
			}
			if (dead)
				break;
		}
		rt_unlock();
		if (!dead)
			return;
		cpu_wait_idle(rt.m, dead->device); /* a launch may still use it */
		rt_lock();
		struct rt_block *b = rt_block_at(dead->p);
		if (b)
			rt_block_free(b);
		rt_unlock();
		free(dead);
	}
}

void rt_graph_memory_reset(unsigned device)
{
	for (struct rt_graph_memory *m = memories; m; m = m->next) {
		if (m->device == device)
			m->is_freed = true;
	}
}

/* Lock not held; the payload owns a reference. */
static cudaError_t make_alloc(struct rt_payload *p, unsigned device, size_t bytes)
{
	*p = (struct rt_payload){.type = cudaGraphNodeTypeMemAlloc};
	p->work.cpu.device = device;
	if (bytes == 0)
		return cudaErrorInvalidValue;
	struct rt_graph_memory *m = calloc(1, sizeof(*m));
	if (!m)
		return cudaErrorMemoryAllocation;
	cudaError_t e = rt_block_new(device, bytes, CPU_MEM_DEVICE, 0, NULL, &m->p);
	if (e != cudaSuccess) {
		free(m);
		return e;
	}
	m->bytes = bytes;
	m->device = device;
	m->refs = 1;
	rt_lock();
	m->next = memories;
	memories = m;
	rt_unlock();
	p->memory = m;
	p->address = m->p;
	return cudaSuccess;
}

cudaError_t rt_graph_make_alloc(struct rt_payload *p, struct cudaMemAllocNodeParams *a)
{
	*p = (struct rt_payload){.type = cudaGraphNodeTypeMemAlloc};
	if (!a)
		return cudaErrorInvalidValue;
	const struct cudaMemPoolProps *props = &a->poolProps;
	if (props->allocType != cudaMemAllocationTypePinned ||
	    props->handleTypes != cudaMemHandleTypeNone ||
	    props->location.type != cudaMemLocationTypeDevice)
		return rt_refuse_use("cudaGraphAddMemAllocNode", "other than plain device memory");
	int d = props->location.id;
	if (d < 0 || (unsigned)d >= rt.ndevices)
		return cudaErrorInvalidDevice;
	cudaError_t e = make_alloc(p, (unsigned)d, a->bytesize);
	if (e == cudaSuccess)
		a->dptr = p->address;
	return e;
}

cudaError_t rt_graph_make_free(struct rt_payload *p, void *dptr)
{
	*p = (struct rt_payload){.type = cudaGraphNodeTypeMemFree, .address = dptr};
	p->work.cpu.device = rt_thread()->device;
	rt_lock();
	bool is_good = rt_graph_memory_release(dptr);
	rt_unlock();
	return is_good ? cudaSuccess : cudaErrorInvalidValue;
}

/* ---- captured cudaMallocAsync, cudaFreeAsync -------------------------------------------- */

cudaError_t rt_capture_alloc(void **out, size_t size, cudaStream_t stream, bool is_per_thread)
{
	struct rt_payload p;
	cudaError_t e = make_alloc(&p, rt_stream_device(stream, is_per_thread), size);

	if (e != cudaSuccess)
		return e;
	rt_lock();
	struct rt_stream *s = rt_stream_find(stream, is_per_thread);
	e = s && s->capture ? rt_capture_add_payload(s, &p) : cudaErrorIllegalState;
	*out = p.address;
	if (e != cudaSuccess)
		rt_graph_memory_release(p.address);
	rt_graph_memory_put(p.memory); /* the node has its own */
	rt_unlock();
	rt_graph_memory_sweep();
	return e;
}

cudaError_t rt_capture_free(void *ptr, cudaStream_t stream, bool is_per_thread)
{
	struct rt_payload p;
	cudaError_t e = rt_graph_make_free(&p, ptr);

	if (e != cudaSuccess)
		return e;
	rt_lock();
	struct rt_stream *s = rt_stream_find(stream, is_per_thread);
	e = s && s->capture ? rt_capture_add_payload(s, &p) : cudaErrorIllegalState;
	rt_unlock();
	return e;
}

/* ---- public ------------------------------------------------------------------------------- */

static cudaError_t address_of(cudaGraphNode_t node, enum cudaGraphNodeType type, void **out,
			      size_t *bytes)
{
	cudaError_t e = cudaErrorInvalidValue;

	rt_lock();
	const struct rt_node *n = rt_node_find(node);
	if (n && n->what.type == type) {
		*out = n->what.address;
		*bytes = n->what.memory ? n->what.memory->bytes : 0;
		e = cudaSuccess;
	}
	rt_unlock();
	return e;
}

cudaError_t rt_graph_mem_alloc_node_get_params(cudaGraphNode_t node,
					       struct cudaMemAllocNodeParams *params_out)
{
	void *p;
	size_t bytes;

	if (!params_out)
		return cudaErrorInvalidValue;
	cudaError_t e = address_of(node, cudaGraphNodeTypeMemAlloc, &p, &bytes);
	if (e == cudaSuccess) {
		struct cpu_mem_info i = {0};
		cpu_mem_find(rt.m, (uintptr_t)p, &i);
		memset(params_out, 0, sizeof(*params_out));
		params_out->poolProps.allocType = cudaMemAllocationTypePinned;
		params_out->poolProps.location.type = cudaMemLocationTypeDevice;
		params_out->poolProps.location.id = (int)i.device;
		params_out->bytesize = bytes;
		params_out->dptr = p;
	}
	return e;
}

cudaError_t rt_graph_mem_free_node_get_params(cudaGraphNode_t node, void *dptr_out)
{
	size_t bytes;

	if (!dptr_out)
		return cudaErrorInvalidValue;
	return address_of(node, cudaGraphNodeTypeMemFree, dptr_out, &bytes);
}

cudaError_t rt_device_graph_mem_trim(int device)
{
	return device >= 0 && (unsigned)device < rt.ndevices ? cudaSuccess : cudaErrorInvalidDevice;
}

/* Used and reserved are the same here; the high marks are the present values. */
cudaError_t rt_device_get_graph_mem_attribute(int device, enum cudaGraphMemAttributeType attr,
					      void *value)
{
	uint64_t sum = 0;

	if (!value || (unsigned)attr > cudaGraphMemAttrReservedMemHigh)
		return cudaErrorInvalidValue;
	if (device < 0 || (unsigned)device >= rt.ndevices)
		return cudaErrorInvalidDevice;
	rt_lock();
	for (const struct rt_graph_memory *m = memories; m; m = m->next) {
		if (m->device == (unsigned)device)
			sum += m->bytes;
	}
	rt_unlock();
	memcpy(value, &sum, sizeof(sum));
	return cudaSuccess;
}

cudaError_t rt_device_set_graph_mem_attribute(int device, enum cudaGraphMemAttributeType attr,
					      void *value)
{
	bool is_high =
		attr == cudaGraphMemAttrUsedMemHigh || attr == cudaGraphMemAttrReservedMemHigh;
	if (!value || !is_high || *(const uint64_t *)value)
		return cudaErrorInvalidValue;
	return device >= 0 && (unsigned)device < rt.ndevices ? cudaSuccess : cudaErrorInvalidDevice;
}
