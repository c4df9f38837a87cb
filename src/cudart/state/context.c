/*
 * context.c - contexts: the primary one of each device, which the runtime uses, and those that a
 * program of the driver's API makes.
 *
 * A context here is a name for a device. Memory, streams and modules belong to the device and are
 * freed with its last context, which is later than on a GPU if it has several.
 */
#include <stdlib.h>

#include "cudart/state/context.h"

static struct rt_context primaries[RT_DEVICES];
static uint64_t next_id = 1;
static unsigned users[RT_DEVICES]; /* contexts of the device with refs > 0 */

/* With the lock held. */
static struct rt_context *known(struct rt_context *c, unsigned device)
{
	if (!c->id) {
		c->id = next_id++;
		c->device = device;
		rt_handle_add(c, RT_CONTEXT);
	}
	return c;
}

struct rt_context *rt_context_primary(unsigned device)
{
	rt_lock();
	struct rt_context *c = known(&primaries[device], device);
	c->is_primary = true;
	rt_unlock();
	return c;
}

struct rt_context *rt_context_find(rt_ref handle)
{
	rt_lock();
	bool is_good = rt_handle_is(handle, RT_CONTEXT);
	rt_unlock();
	return is_good ? (struct rt_context *)(uintptr_t)handle : NULL;
}

struct rt_context *rt_context_new(unsigned device, unsigned flags)
{
	struct rt_context *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	rt_lock();
	known(c, device);
	c->flags = flags;
	rt_unlock();
	rt_context_retain(c);
	return c;
}

void rt_context_retain(struct rt_context *c)
{
	rt_lock();
	users[c->device] += c->refs++ == 0;
	rt_unlock();
}

bool rt_context_release(struct rt_context *c)
{
	rt_lock();
	bool had_one = c->refs > 0;
	bool is_last = had_one && --c->refs == 0 && --users[c->device] == 0;
	if (had_one && !c->refs && !c->is_primary)
		rt_handle_remove(c);
	rt_unlock();
	if (is_last)
		rt_device_reset(c->device);
	return had_one;
}

void rt_context_reset(unsigned device)
{
	struct rt_context *c = &primaries[device];

	rt_device_reset(device);
	rt_lock();
	users[device] -= c->refs > 0;
	c->refs = 0;
	c->is_runtime = false;
	rt_unlock();
}

void rt_context_set(struct rt_context *c)
{
	rt_thread()->context = c;
	if (c)
		rt_thread()->device = c->device;
}

void rt_context_attach(void)
{
	struct rt_context *c = rt_context_primary(rt_thread()->device);

	rt.is_driver_ready = true;
	rt_thread()->context = c;
	rt_lock();
	bool is_new = !c->is_runtime;
	c->is_runtime = true;
	rt_unlock();
	if (is_new)
		rt_context_retain(c);
}
