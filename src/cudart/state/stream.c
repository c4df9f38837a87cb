/*
 * stream.c - streams as chains of operations.
 *
 * A stream remembers its newest operation; the next one depends on it. The
 * legacy default stream depends on the newest operation of every blocking
 * stream of its device (its own per-thread default streams included), and
 * blocking streams depend on the legacy stream's newest. A destroyed stream
 * stays in its device's list until its work has ended, since the legacy stream
 * still has to join it.
 *
 * An operation on the legacy stream costs one dependency per blocking stream. The list is walked
 * each time the streams in it have grown, or those that were destroyed in it, by half.
 */
#include <stdlib.h>
#include <string.h>

#include "cudart/state/capture.h"
#include "cudart/state/internal.h"
#include "race/file/nvtx.h"

/* ---- the list ---------------------------------------------------------------- */

static bool has_work(const struct rt_stream *s)
{
	return s->last && cpu_op_time(s->last) == 0;
}

static void stream_free(struct rt_stream *s)
{
	if (s->last)
		cpu_op_put(s->last);
	base_vec_free(&s->front);
	free(s);
}

/* Frees streams that were destroyed and have ended. */
static void prune(struct rt_device *d)
{
	size_t kept = 0, ended = 0;

	for (struct rt_stream **p = &d->streams; *p;) {
		struct rt_stream *s = *p;
		if (s->is_ended && !has_work(s)) {
			*p = s->next;
			stream_free(s);
		} else {
			kept++;
			ended += s->is_ended;
			p = &s->next;
		}
	}
	d->nended = ended;
	d->prune_at = ended + kept / 2 + 8;
}

static void prune_seldom(struct rt_device *d)
{
	if (d->nended >= d->prune_at)
		prune(d);
}

void rt_stream_end(struct rt_stream *s)
{
	rt_capture_forget_stream(s);
	s->is_ended = true;
	rt.dev[s->device].nended++;
}

struct rt_stream *rt_stream_new(unsigned device, unsigned flags, int priority)
{
	struct rt_device *d = &rt.dev[device];
	struct rt_stream *s = base_calloc(1, sizeof(*s));

	s->device = device;
	s->flags = flags;
	s->priority = priority > 0 ? 0 : priority;
	if (s->priority < RT_PRIORITY_MAX)
		s->priority = RT_PRIORITY_MAX;
	s->hints.sync_policy = 1;
	s->id = atomic_fetch_add(&rt.next_stream, 1) + 1;
	if (d->legacy) { /* the first stream of a device is the legacy stream itself */
		prune_seldom(d);
		s->next = d->streams;
		d->streams = s;
	}
	return s;
}

static struct rt_stream *per_thread(struct rt_thread *t)
{
	struct rt_stream **s = &t->per_thread[t->device];

	if (!*s) {
		*s = rt_stream_new(t->device, 0, 0);
		(*s)->is_per_thread = true;
		rt_thread_watch();
	}
	return *s;
}

struct rt_stream *rt_stream_find(rt_ref s, bool is_per_thread)
{
	struct rt_thread *t = rt_thread();

	if (s == NULL)
		return is_per_thread ? per_thread(t) : rt.dev[t->device].legacy;
	if (s == RT_STREAM_LEGACY)
		return rt.dev[t->device].legacy;
	if (s == RT_STREAM_PER_THREAD)
		return per_thread(t);
	return rt_handle_is(s, RT_STREAM) ? (struct rt_stream *)s : NULL;
}

bool rt_stream_is_captured(rt_ref s, bool is_per_thread)
{
	if (atomic_load(&rt.captures) == 0)
		return false;
	rt_lock();
	struct rt_stream *r = rt_stream_find(s, is_per_thread);
	bool is = r && r->capture;
	rt_unlock();
	return is;
}

unsigned rt_stream_device(rt_ref s, bool is_per_thread)
{
	rt_lock();
	struct rt_stream *r = rt_stream_find(s, is_per_thread);
	unsigned device = r ? r->device : rt_thread()->device;
	rt_unlock();
	return device;
}

void rt_streams_reset(unsigned device)
{
	struct rt_device *d = &rt.dev[device];

	rt_lock();
	for (struct rt_stream *s = d->streams; s; s = s->next) {
		if (s->is_per_thread)
			continue;
		rt_handle_remove(s);
		rt_stream_end(s);
	}
	prune(d);
	rt_unlock();
}

/* ---- submitting ------------------------------------------------------------------ */

static void push_op(struct rt_ops *ops, struct cpu_op *op)
{
	if (op)
		base_vec_push(ops, op);
}

void rt_stream_deps(struct rt_stream *s, struct rt_ops *deps)
{
	struct rt_device *d = &rt.dev[s->device];

	push_op(deps, s->last);
	if (s->is_legacy) {
		prune(d);
		for (struct rt_stream *o = d->streams; o; o = o->next) {
			if (!(o->flags & RT_STREAM_NON_BLOCKING))
				push_op(deps, o->last);
		}
	} else if (!(s->flags & RT_STREAM_NON_BLOCKING)) {
		push_op(deps, d->legacy->last);
	}
}

/* A host function of the program: CUDA calls in it are refused. */
struct host_call {
	void (*fn)(void *arg);
	void *arg;
};

static void run_host(void *p)
{
	struct host_call c = *(struct host_call *)p;

	free(p);
	rt_thread()->is_host_fn = true;
	c.fn(c.arg);
	rt_thread()->is_host_fn = false;
}

static enum rt_error refused(const struct cpu_fault *f)
{
	switch (f->kind) {
	case CPU_FAULT_RESOURCES:
		return RT_ERROR_LAUNCH_OUT_OF_RESOURCES;
	case CPU_FAULT_ADDRESS:
		return RT_ERROR_INVALID_VALUE;
	case CPU_FAULT_UNSUPPORTED:
		return RT_ERROR_NOT_SUPPORTED;
	default:
		return RT_ERROR_INVALID_VALUE;
	}
}

struct cpu_op *rt_op_submit(struct rt_stream *s, unsigned device, const struct rt_work *w,
			    const struct rt_ops *deps, enum rt_error *e)
{
	struct cpu_work c = w->cpu;
	struct cpu_fault f = {0};
	struct host_call *h = NULL;

	c.device = device;
	c.stream = s->id;
	c.priority = s->priority;
	if (c.kind == CPU_WORK_KERNEL)
		c.hold = rt_collider_hold(s, device, c.launch.is_programmatic);
	if (c.kind == CPU_WORK_KERNEL)
		c.launch.is_outside = race_nvtx_is_outside();
	if (c.kind == CPU_WORK_HOST) {
		h = malloc(sizeof(*h));
		if (!h) {
			*e = RT_ERROR_MEMORY_ALLOCATION;
			return NULL;
		}
		*h = (struct host_call){c.host.fn, c.host.arg};
		c.host.fn = run_host;
		c.host.arg = h;
	}
	struct cpu_op *op = cpu_submit(rt.m, &c, deps->v, deps->n, &f);
	if (!op) {
		free(h);
		*e = refused(&f);
		return NULL;
	}
	rt_host_submitted(device);
	if (c.kind == CPU_WORK_KERNEL)
		rt_collider_launched(device, w->kern);
	return op;
}

void rt_stream_set_last(struct rt_stream *s, struct cpu_op *op)
{
	struct cpu_op *old = s->last;

	s->last = cpu_op_get(op);
	if (old)
		cpu_op_put(old);
}

struct cpu_op *rt_stream_push(struct rt_stream *s, const struct rt_work *w,
			      const struct rt_ops *more, enum rt_error *e)
{
	struct rt_ops deps = {0};

	rt_stream_deps(s, &deps);
	for (size_t i = 0; more && i < more->n; i++)
		push_op(&deps, more->v[i]);
	struct cpu_op *op = rt_op_submit(s, s->device, w, &deps, e);
	base_vec_free(&deps);
	if (op)
		rt_stream_set_last(s, op);
	return op;
}

enum rt_error rt_stream_submit(rt_ref stream, bool is_per_thread, const struct rt_work *w,
			       struct cpu_op **out)
{
	enum rt_error e = RT_OK;
	struct cpu_op *op = NULL;

	rt_lock();
	struct rt_stream *s = rt_stream_find(stream, is_per_thread);
	if (!s)
		e = RT_ERROR_INVALID_RESOURCE_HANDLE;
	else if (s->capture)
		e = rt_capture_add(s, w);
	else if (s->is_legacy)
		e = rt_capture_check_legacy(s->device);
	if (e == RT_OK && s->capture && w->cpu.kind == CPU_WORK_KERNEL)
		rt_collider_captured(s->device);
	if (e == RT_OK && !s->capture)
		op = rt_stream_push(s, w, NULL, &e);
	rt_unlock();
	if (out)
		*out = op;
	else if (op)
		cpu_op_put(op);
	return e;
}

enum rt_error rt_op_finish(struct cpu_op *op, unsigned device)
{
	if (op) {
		cpu_op_wait(op);
		cpu_op_put(op);
	}
	rt_collider_synced(device);
	return rt_device_error(device);
}

/* ---- waiting ------------------------------------------------------------------ */

/* References to all operations that must end before the stream counts as empty. The legacy stream
 * represents all blocking ones. */
static enum rt_error take(rt_ref stream, bool is_per_thread, struct rt_ops *ops, unsigned *device)
{
	enum rt_error e = RT_OK;

	rt_lock();
	struct rt_stream *s = rt_stream_find(stream, is_per_thread);
	if (!s) {
		e = RT_ERROR_INVALID_RESOURCE_HANDLE;
	} else if (s->capture) {
		rt_capture_spoil(s->capture);
		e = RT_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	} else if (s->is_legacy) {
		e = rt_capture_check_legacy(s->device);
	}
	if (e == RT_OK) {
		rt_stream_deps(s, ops);
		if (!s->is_legacy)
			ops->n = s->last != NULL; /* its own work has joined the legacy one's */
		for (size_t i = 0; i < ops->n; i++)
			cpu_op_get(ops->v[i]);
		*device = s->device;
	}
	rt_unlock();
	return e;
}

enum rt_error rt_stream_synchronize(rt_ref stream, bool is_per_thread)
{
	struct rt_ops ops = {0};
	unsigned device;

	enum rt_error e = take(stream, is_per_thread, &ops, &device);
	if (e == RT_OK) {
		for (size_t i = 0; i < ops.n; i++) {
			cpu_op_wait(ops.v[i]);
			cpu_op_put(ops.v[i]);
		}
		rt_collider_synced(device);
		e = rt_device_error(device);
	}
	base_vec_free(&ops);
	return e;
}

enum rt_error rt_stream_query(rt_ref stream, bool is_per_thread)
{
	struct rt_ops ops = {0};
	bool is_done = true;
	unsigned device;

	enum rt_error e = take(stream, is_per_thread, &ops, &device);
	if (e == RT_OK) {
		for (size_t i = 0; i < ops.n; i++) {
			is_done = is_done && cpu_op_query(ops.v[i]);
			cpu_op_put(ops.v[i]);
		}
		e = rt_device_error(device);
		if (e == RT_OK && !is_done)
			e = RT_ERROR_NOT_READY;
	}
	base_vec_free(&ops);
	return e;
}

/* ---- making and destroying --------------------------------------------------------- */

enum rt_error rt_stream_create(rt_ref *out, unsigned flags, int priority)
{
	if (!out || flags & ~(unsigned)RT_STREAM_NON_BLOCKING)
		return RT_ERROR_INVALID_VALUE;
	rt_lock();
	struct rt_stream *s = rt_stream_new(rt_thread()->device, flags, priority);
	rt_handle_add(s, RT_STREAM);
	rt_unlock();
	*out = (rt_ref)s;
	return RT_OK;
}

enum rt_error rt_stream_destroy(rt_ref stream)
{
	enum rt_error e = RT_OK;

	rt_lock();
	if (rt_handle_is(stream, RT_STREAM)) {
		struct rt_stream *s = (struct rt_stream *)stream;
		rt_handle_remove(s);
		rt_stream_end(s);
		prune_seldom(&rt.dev[s->device]);
	} else {
		e = RT_ERROR_INVALID_RESOURCE_HANDLE;
	}
	rt_unlock();
	return e;
}

static void run_callback(void *p)
{
	struct rt_callback c = *(struct rt_callback *)p;

	free(p);
	c.run(&c, rt_device_error(c.device));
}

enum rt_error rt_stream_callback(struct rt_callback call, bool is_per_thread, unsigned flags)
{
	if (!call.fn || flags)
		return RT_ERROR_INVALID_VALUE;
	if (rt_stream_is_captured(call.stream, is_per_thread))
		return RT_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	struct rt_callback *c = malloc(sizeof(*c));
	if (!c)
		return RT_ERROR_MEMORY_ALLOCATION;
	*c = call;
	c->device = rt_stream_device(call.stream, is_per_thread);
	struct rt_work w = {.cpu = {.kind = CPU_WORK_HOST, .host = {run_callback, c}}};
	enum rt_error e = rt_stream_submit(call.stream, is_per_thread, &w, NULL);
	if (e != RT_OK)
		free(c);
	return e;
}

/* ---- attributes --------------------------------------------------------------------- */

static enum rt_error attr_get(const struct rt_stream *s, int id, union rt_attr *out)
{
	switch (id) {
	case RT_ATTR_ACCESS_POLICY:
		memcpy(out->bytes, s->hints.window, sizeof(s->hints.window));
		return RT_OK;
	case RT_ATTR_SYNC_POLICY:
		out->number = s->hints.sync_policy;
		return RT_OK;
	case RT_ATTR_PRIORITY:
		out->number = s->priority;
		return RT_OK;
	case RT_ATTR_SYNC_DOMAIN:
		out->number = s->hints.domain;
		return RT_OK;
	default:
		return RT_ERROR_INVALID_VALUE;
	}
}

static enum rt_error attr_set(struct rt_stream *s, int id, const union rt_attr *to)
{
	switch (id) {
	case RT_ATTR_ACCESS_POLICY:
		memcpy(s->hints.window, to->bytes, sizeof(s->hints.window));
		return RT_OK;
	case RT_ATTR_SYNC_POLICY:
		s->hints.sync_policy = to->number;
		return RT_OK;
	case RT_ATTR_PRIORITY:
		s->priority = to->number;
		return RT_OK;
	case RT_ATTR_SYNC_DOMAIN:
		s->hints.domain = to->number;
		return RT_OK;
	case RT_ATTR_SYNC_DOMAIN_MAP:
		return RT_OK;
	default:
		return RT_ERROR_INVALID_VALUE;
	}
}

enum rt_error rt_stream_attr_get(rt_ref stream, bool is_per_thread, int id, union rt_attr *out)
{
	if (!out)
		return RT_ERROR_INVALID_VALUE;
	rt_lock();
	const struct rt_stream *s = rt_stream_find(stream, is_per_thread);
	enum rt_error e = s ? attr_get(s, id, out) : RT_ERROR_INVALID_RESOURCE_HANDLE;
	rt_unlock();
	return e;
}

enum rt_error rt_stream_attr_set(rt_ref stream, bool is_per_thread, int id, const union rt_attr *to)
{
	if (!to)
		return RT_ERROR_INVALID_VALUE;
	rt_lock();
	struct rt_stream *s = rt_stream_find(stream, is_per_thread);
	enum rt_error e = s ? attr_set(s, id, to) : RT_ERROR_INVALID_RESOURCE_HANDLE;
	rt_unlock();
	return e;
}

enum rt_error rt_stream_attr_copy(rt_ref to, rt_ref from, bool is_per_thread)
{
	rt_lock();
	struct rt_stream *s = rt_stream_find(to, is_per_thread);
	const struct rt_stream *f = rt_stream_find(from, is_per_thread);
	if (s && f)
		s->hints = f->hints;
	rt_unlock();
	return s && f ? RT_OK : RT_ERROR_INVALID_RESOURCE_HANDLE;
}
