/*
 * device.c - devices: attributes, limits, peers, reset.
 *
 * Each fact about the device is in attrs.def, once. The limit of the heap is the device's; the
 * others are only stored and returned, and the stack and printf buffer don't depend on them (a
 * program that sets one and reads it again gets its value). A reset drops the device's memory,
 * streams' work and modules, and its sticky fault, so that a program can continue after an error
 * without a new process.
 */
#include <limits.h>

#include "cudart/state/internal.h"

bool rt_device_attr(int number, unsigned device, int *value)
{
	const struct cpu_options *o = &rt.options;
	const unsigned d = device;

	switch (number) {
#define A(name, n, v)                                                                              \
	case n:                                                                                    \
		*value = (int)(v);                                                                 \
		return true;
#define N(n, v) A(, n, v)
#include "cudart/state/attrs.def"
#undef N
#undef A
	}
	return false;
}

static void limits_init(struct rt_device *d)
{
	d->stack_limit = 1024;
	d->heap_limit = CPU_HEAP;
	d->fifo_limit = 1 << 20;
	d->l2_limit = d->fetch_limit = 0;
}

void rt_device_init(unsigned device)
{
	struct rt_device *d = &rt.dev[device];

	limits_init(d);
	d->legacy = rt_stream_new(device, 0, 0);
	d->legacy->is_legacy = true;
	rt_pools_init(device);
}

enum rt_error rt_device_synchronize(void)
{
	unsigned d = rt_thread()->device;

	RT_UNSAFE();
	cpu_wait_idle(rt.m, d);
	rt_collider_synced(d);
	return rt_device_error(d);
}

void rt_device_reset(unsigned d)
{
	cpu_wait_idle(rt.m, d);
	rt_collider_synced(d);
	(void)rt_device_error(d); /* a fault that no call has returned is reported nevertheless */
	rt_streams_reset(d);
	rt_modules_reset(d);
	rt_memory_reset(d);
	cpu_heap_reset(rt.m, d);
	rt_lock();
	limits_init(&rt.dev[d]);
	cpu_fault_clear(rt.m, d);
	rt.dev[d].is_fault_reported = false;
	for (unsigned p = 0; p < rt.ndevices; p++) {
		if (rt.dev[d].peer[p])
			cpu_mem_set_peer(rt.m, d, p, false);
		rt.dev[d].peer[p] = false;
	}
	rt_unlock();
}

/* ---- limits, by the numbers of both APIs ------------------------------------------------- */

enum { LIMIT_STACK, LIMIT_FIFO, LIMIT_HEAP, LIMIT_FETCH = 5, LIMIT_L2 };

size_t *rt_device_limit(unsigned device, int number)
{
	struct rt_device *d = &rt.dev[device];

	switch (number) {
	case LIMIT_STACK:
		return &d->stack_limit;
	case LIMIT_HEAP:
		return &d->heap_limit;
	case LIMIT_FIFO:
		return &d->fifo_limit;
	case LIMIT_L2:
		return &d->l2_limit;
	case LIMIT_FETCH:
		return &d->fetch_limit;
	default:
		return NULL;
	}
}

enum rt_error rt_device_set_limit(unsigned device, int number, size_t value)
{
	size_t *v = rt_device_limit(device, number);

	/* As the toolkit documents: not after the launch of a kernel that uses malloc or free. */
	if (!v || (number == LIMIT_HEAP && !cpu_heap_set_limit(rt.m, device, value)))
		return RT_ERROR_INVALID_VALUE;
	*v = value;
	return RT_OK;
}

/* ---- peers --------------------------------------------------------------------------------- */

enum rt_error rt_peer_set(int peer, bool is_on)
{
	unsigned d = rt_thread()->device;

	if (!rt_is_device(peer) || (is_on && (unsigned)peer == d))
		return RT_ERROR_INVALID_DEVICE;
	rt_lock();
	bool was_on = rt.dev[d].peer[peer];
	rt.dev[d].peer[peer] = is_on;
	rt_unlock();
	if (was_on && is_on)
		return RT_ERROR_PEER_ACCESS_ALREADY_ENABLED;
	if (!was_on && !is_on)
		return RT_ERROR_PEER_ACCESS_NOT_ENABLED;
	cpu_mem_set_peer(rt.m, d, (unsigned)peer, is_on);
	return RT_OK;
}
