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

enum rt_error rt_graph_make_alloc(struct rt_payload *p, unsigned device, size_t bytes)
{
	*p = (struct rt_payload){.type = RT_NODE_ALLOC};
	p->work.cpu.device = device;
	if (bytes == 0)
		return RT_ERROR_INVALID_VALUE;
	struct rt_graph_memory *m = calloc(1, sizeof(*m));
	if (!m)
		return RT_ERROR_MEMORY_ALLOCATION;
	enum rt_error e = rt_block_new(device, bytes, CPU_MEM_DEVICE, 0, NULL, &m->p);
	if (e != RT_OK) {
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
	return RT_OK;
}

enum rt_error rt_graph_make_free(struct rt_payload *p, void *dptr)
{
	*p = (struct rt_payload){.type = RT_NODE_FREE, .address = dptr};
	p->work.cpu.device = rt_thread()->device;
	rt_lock();
	bool is_good = rt_graph_memory_release(dptr);
	rt_unlock();
	return is_good ? RT_OK : RT_ERROR_INVALID_VALUE;
}

/* ---- captured cudaMallocAsync, cudaFreeAsync -------------------------------------------- */

enum rt_error rt_capture_alloc(void **out, size_t size, rt_ref stream, bool is_per_thread)
{
	struct rt_payload p;
	enum rt_error e = rt_graph_make_alloc(&p, rt_stream_device(stream, is_per_thread), size);

	if (e != RT_OK)
		return e;
	rt_lock();
	struct rt_stream *s = rt_stream_find(stream, is_per_thread);
	e = s && s->capture ? rt_capture_add_payload(s, &p) : RT_ERROR_ILLEGAL_STATE;
	*out = p.address;
	if (e != RT_OK)
		rt_graph_memory_release(p.address);
	rt_graph_memory_put(p.memory); /* the node has its own */
	rt_unlock();
	rt_graph_memory_sweep();
	return e;
}

enum rt_error rt_capture_free(void *ptr, rt_ref stream, bool is_per_thread)
{
	struct rt_payload p;
	enum rt_error e = rt_graph_make_free(&p, ptr);

	if (e != RT_OK)
		return e;
	rt_lock();
	struct rt_stream *s = rt_stream_find(stream, is_per_thread);
	e = s && s->capture ? rt_capture_add_payload(s, &p) : RT_ERROR_ILLEGAL_STATE;
	rt_unlock();
	return e;
}

/* ---- queries ------------------------------------------------------------------------------- */

enum rt_error rt_graph_memory_of(rt_ref node, enum rt_node_type type, void **out, size_t *bytes)
{
	enum rt_error e = RT_ERROR_INVALID_VALUE;

	rt_lock();
	const struct rt_node *n = rt_node_find(node);
	if (n && n->what.type == type) {
		*out = n->what.address;
		*bytes = n->what.memory ? n->what.memory->bytes : 0;
		e = RT_OK;
	}
	rt_unlock();
	return e;
}

uint64_t rt_graph_memory_bytes(unsigned device)
{
	uint64_t sum = 0;

	rt_lock();
	for (const struct rt_graph_memory *m = memories; m; m = m->next) {
		if (m->device == device)
			sum += m->bytes;
	}
	rt_unlock();
	return sum;
}
