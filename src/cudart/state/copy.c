/*
 * copy.c - copies and fills: their checks, when they wait, how they become work.
 *
 * A host address is pageable unless the machine knows it. When a call waits:
 *   - synchronous copies do, but not from device to device (as documented), nor, with
 *     --host-copies=staged, from pageable to device memory;
 *   - asynchronous copies to pageable memory do;
 *   - asynchronous copies from pageable memory are staged when the source is
 *     in one piece of at most STAGE_MAX: its bytes are taken at the call; others
 *     wait.
 * Fills wait only in pinned and managed memory. A side that the kind calls device must be memory
 * that the device knows, and a range must lie within one allocation. CUDA returns this error for
 * most such cases; the driver misses some.
 */
#include <string.h>

#include "cudart/state/array.h"
#include "cudart/state/capture.h"
#include "cudart/state/copy.h"

#define STAGE_MAX (64ull << 20) /* more would double the memory of the copy */

/* ---- making --------------------------------------------------------------------- */

/* Rows (slices) that follow without a gap are one row. */
static void flatten(struct cpu_copy *c)
{
	if (c->height > 1 && c->dst_pitch == c->width && c->src_pitch == c->width) {
		bool is_whole = c->depth == 1 || (c->dst_slice == c->width * c->height &&
						  c->src_slice == c->width * c->height);
		if (is_whole) {
			c->width *= c->height * c->depth;
			c->height = c->depth = 1;
		}
	}
}

enum rt_error rt_copy_make_2d(struct rt_work *w, struct rt_rows dst, struct rt_rows src,
			      size_t width, size_t height, enum rt_copy_kind kind)
{
	if ((int)kind < RT_HOST_TO_HOST || kind > RT_BY_ADDRESS)
		return RT_ERROR_INVALID_MEMCPY_DIRECTION;
	if (height > 1 && (width > dst.pitch || width > src.pitch))
		return RT_ERROR_INVALID_PITCH_VALUE;
	*w = (struct rt_work){.cpu = {.kind = CPU_WORK_COPY}, .copy_kind = kind};
	w->cpu.copy = (struct cpu_copy){.dst = (uintptr_t)dst.at,
					.src = (uintptr_t)src.at,
					.dst_pitch = dst.pitch,
					.src_pitch = src.pitch,
					.dst_slice = dst.pitch * height,
					.src_slice = src.pitch * height,
					.width = width,
					.height = height,
					.depth = 1};
	return RT_OK;
}

enum rt_error rt_copy_make_1d(struct rt_work *w, void *dst, const void *src, size_t n,
			      enum rt_copy_kind kind)
{
	return rt_copy_make_2d(w, (struct rt_rows){dst, n}, (struct rt_rows){src, n}, n, 1, kind);
}

static uint64_t position(const struct rt_end_3d *e)
{
	return (uintptr_t)e->memory.ptr +
	       (e->pos.z * e->memory.ysize + e->pos.y) * e->memory.pitch + e->pos.x;
}

/* An array as the memory that it is; its positions are in texels, and so is the extent. */
static enum rt_error as_memory(struct rt_end_3d *e, const struct rt_extent *extent)
{
	const struct rt_array *a = rt_array_find(e->array);
	const struct rt_pos *pos = &e->pos;

	if (!a)
		return RT_ERROR_INVALID_RESOURCE_HANDLE;
	size_t rows = a->extent.height ? a->extent.height : 1;
	size_t slices = a->extent.depth ? a->extent.depth : 1;
	if (pos->x > a->extent.width || extent->width > a->extent.width - pos->x || pos->y > rows ||
	    extent->height > rows - pos->y || pos->z > slices || extent->depth > slices - pos->z)
		return RT_ERROR_INVALID_VALUE;
	e->memory = (struct rt_pitched){(void *)(uintptr_t)a->base, a->pitch, a->pitch, rows};
	e->pos.x *= a->elem;
	e->array = NULL;
	return RT_OK;
}

static enum rt_error without_arrays(struct rt_copy_3d *p)
{
	const struct rt_array *a = rt_array_find(p->src.array ? p->src.array : p->dst.array);
	enum rt_error e = a ? RT_OK : RT_ERROR_INVALID_RESOURCE_HANDLE;

	if (e == RT_OK && p->src.array)
		e = as_memory(&p->src, &p->extent);
	if (e == RT_OK && p->dst.array)
		e = as_memory(&p->dst, &p->extent);
	if (e == RT_OK)
		p->extent.width *= a->elem;
	return e;
}

enum rt_error rt_copy_make_3d(struct rt_work *w, struct rt_copy_3d p)
{
	const struct rt_pitched *dst = &p.dst.memory, *src = &p.src.memory;
	enum rt_error e = p.src.array || p.dst.array ? without_arrays(&p) : RT_OK;

	if (e != RT_OK)
		return e;
	if (!src->ptr || !dst->ptr)
		return RT_ERROR_INVALID_VALUE;
	size_t width = p.extent.width;
	bool has_rows = p.extent.height > 1 || p.extent.depth > 1;
	if (has_rows && (p.src.pos.x + width > src->pitch || p.dst.pos.x + width > dst->pitch))
		return RT_ERROR_INVALID_PITCH_VALUE;
	if (p.extent.depth > 1 && (p.src.pos.y + p.extent.height > src->ysize ||
				   p.dst.pos.y + p.extent.height > dst->ysize))
		return RT_ERROR_INVALID_VALUE;

	e = rt_copy_make_2d(w, (struct rt_rows){dst->ptr, dst->pitch},
			    (struct rt_rows){src->ptr, src->pitch}, width, p.extent.height, p.kind);
	w->cpu.copy.dst = position(&p.dst);
	w->cpu.copy.src = position(&p.src);
	w->cpu.copy.dst_slice = dst->pitch * dst->ysize;
	w->cpu.copy.src_slice = src->pitch * src->ysize;
	w->cpu.copy.depth = p.extent.depth;
	return e;
}

enum rt_error rt_fill_make(struct rt_work *w, struct rt_pitched p, unsigned value, unsigned size,
			   struct rt_extent extent)
{
	if (size != 1 && size != 2 && size != 4)
		return RT_ERROR_INVALID_VALUE;
	bool has_rows = extent.height > 1 || extent.depth > 1;
	if (has_rows && extent.width * size > p.pitch)
		return RT_ERROR_INVALID_VALUE;
	if (((uintptr_t)p.ptr | (has_rows ? p.pitch : 0)) % size)
		return RT_ERROR_INVALID_VALUE;
	if (extent.depth > 1 && extent.height > p.ysize)
		return RT_ERROR_INVALID_VALUE;
	*w = (struct rt_work){.cpu = {.kind = CPU_WORK_FILL}};
	w->cpu.fill = (struct cpu_fill){.dst = (uintptr_t)p.ptr,
					.pitch = p.pitch,
					.slice = p.pitch * p.ysize,
					.width = extent.width,
					.height = extent.height,
					.depth = extent.depth,
					.value = size == 1 ? value & 0xff : value,
					.size = size};
	return RT_OK;
}

/* ---- checking -------------------------------------------------------------------- */

/* Bytes from the first to the last one accessed. 0: none is. */
static uint64_t span(uint64_t width, uint64_t pitch, uint64_t height, uint64_t slice,
		     uint64_t depth)
{
	if (!width || !height || !depth)
		return 0;
	return (depth - 1) * slice + (height - 1) * pitch + width;
}

static enum rt_error find_end(uint64_t addr, uint64_t bytes, enum rt_end *end)
{
	static const enum rt_end ends[] = {[CPU_MEM_DEVICE] = RT_END_DEVICE,
					   [CPU_MEM_MANAGED] = RT_END_MANAGED,
					   [CPU_MEM_HOST] = RT_END_PINNED,
					   [CPU_MEM_MODULE] = RT_END_DEVICE};
	struct cpu_mem_info i;

	*end = RT_END_PAGEABLE;
	if (!addr)
		return RT_ERROR_INVALID_VALUE;
	if (!cpu_mem_find(rt.m, addr, &i))
		return RT_OK;
	*end = ends[i.kind];
	return addr - i.base + bytes <= i.bytes ? RT_OK : RT_ERROR_INVALID_VALUE;
}

/* Does an end match what the kind of the copy says? */
static bool fits(enum rt_end end, bool is_device)
{
	return is_device ? end != RT_END_PAGEABLE : end != RT_END_DEVICE;
}

enum rt_error rt_copy_check(const struct rt_work *w, enum rt_end *dst, enum rt_end *src)
{
	const struct cpu_copy *c = &w->cpu.copy;
	enum rt_copy_kind k = w->copy_kind;
	enum rt_error e;

	e = find_end(c->dst, span(c->width, c->dst_pitch, c->height, c->dst_slice, c->depth), dst);
	if (e == RT_OK)
		e = find_end(c->src,
			     span(c->width, c->src_pitch, c->height, c->src_slice, c->depth), src);
	if (e != RT_OK || k == RT_BY_ADDRESS)
		return e;
	bool is_good = fits(*dst, k == RT_HOST_TO_DEVICE || k == RT_BETWEEN_DEVICES) &&
		       fits(*src, k == RT_DEVICE_TO_HOST || k == RT_BETWEEN_DEVICES);
	return is_good ? RT_OK : RT_ERROR_INVALID_VALUE;
}

enum rt_error rt_fill_check(const struct rt_work *w, enum rt_end *dst)
{
	const struct cpu_fill *f = &w->cpu.fill;
	enum rt_error e = find_end(
		f->dst, span(f->width * f->size, f->pitch, f->height, f->slice, f->depth), dst);

	return e == RT_OK && *dst == RT_END_PAGEABLE ? RT_ERROR_INVALID_VALUE : e;
}

/* ---- submitting ---------------------------------------------------------------------- */

/* Synchronous calls are refused while a capture forbids them. */
static enum rt_error check_sync(struct rt_call call)
{
	enum rt_error e = RT_OK;

	if (call.is_async || atomic_load(&rt.captures) == 0)
		return RT_OK;
	rt_lock();
	if (rt_stream_find(call.stream, call.is_per_thread)->is_legacy)
		e = rt_capture_check_legacy(rt_thread()->device);
	rt_unlock();
	return e == RT_OK ? rt_capture_check() : e;
}

static enum rt_error submit(const struct rt_work *w, struct rt_call call, bool waits)
{
	struct cpu_op *op = NULL;
	unsigned device = rt_stream_device(call.stream, call.is_per_thread);
	enum rt_error e = rt_stream_submit(call.stream, call.is_per_thread, w, &op);

	if (e == RT_OK && op && waits)
		return rt_op_finish(op, device);
	if (op)
		cpu_op_put(op);
	return e;
}

/* A synchronous copy returns once its bytes are taken, and takes them when its stream has nothing
 * more to do. */
static enum rt_error submit_staged(struct rt_work *w, struct rt_call call)
{
	const struct rt_work nothing = {.cpu = {.kind = CPU_WORK_EMPTY}};
	enum rt_error e = submit(&nothing, call, true);

	w->cpu.copy.is_taken = true;
	return e == RT_OK ? submit(w, call, false) : e;
}

enum rt_error rt_copy_submit(struct rt_work *w, struct rt_call call)
{
	struct cpu_copy *c = &w->cpu.copy;
	enum rt_end dst, src;
	enum rt_error e = check_sync(call);

	if (e != RT_OK)
		return e;
	if (!c->width || !c->height || !c->depth)
		return RT_OK;
	w->cpu.origin = rt_origin();
	e = rt_copy_check(w, &dst, &src);
	if (e != RT_OK)
		return e;
	/* A captured copy happens when the graph runs: nothing to stage or to wait for now. */
	if (rt_stream_is_captured(call.stream, call.is_per_thread))
		return submit(w, call, false);
	flatten(c);
	if (!call.is_async && rt.stages_copies && src == RT_END_PAGEABLE && dst == RT_END_DEVICE)
		return submit_staged(w, call);
	if (!call.is_async)
		return submit(w, call, dst != RT_END_DEVICE || src != RT_END_DEVICE);
	bool is_one_piece = c->height == 1 && c->depth == 1 && c->width <= STAGE_MAX;
	if (src == RT_END_PAGEABLE && dst != RT_END_PAGEABLE && is_one_piece) {
		c->is_taken = true;
		return submit(w, call, false);
	}
	return submit(w, call, dst == RT_END_PAGEABLE || src == RT_END_PAGEABLE);
}

enum rt_error rt_fill_submit(struct rt_work *w, struct rt_call call)
{
	const struct cpu_fill *f = &w->cpu.fill;
	enum rt_end dst;
	enum rt_error e = check_sync(call);

	if (e != RT_OK || !f->width || !f->height || !f->depth)
		return e;
	e = rt_fill_check(w, &dst);
	if (e != RT_OK)
		return e;
	w->cpu.origin = rt_origin();
	return submit(w, call, !call.is_async && dst != RT_END_DEVICE);
}

enum rt_error rt_copy(void *dst, const void *src, size_t count, enum rt_copy_kind kind, rt_ref s,
		      bool is_per_thread, bool is_async)
{
	struct rt_work w;

	enum rt_error e = rt_copy_make_1d(&w, dst, src, count, kind);
	if (e == RT_OK)
		e = rt_copy_submit(&w, (struct rt_call){s, is_per_thread, is_async});
	return e;
}

/* ---- between devices ------------------------------------------------------------------ */

static bool is_device(int d)
{
	return d >= 0 && (unsigned)d < rt.ndevices;
}

static enum rt_error peer(void *dst, int dstDevice, const void *src, int srcDevice, size_t count,
			  struct rt_work *w)
{
	enum rt_end a, b;

	if (!is_device(dstDevice) || !is_device(srcDevice))
		return RT_ERROR_INVALID_DEVICE;
	enum rt_error e = rt_copy_make_1d(w, dst, src, count, RT_BETWEEN_DEVICES);
	return e == RT_OK && count ? rt_copy_check(w, &a, &b) : e;
}

/* After all work of both devices, and before all later work of their default streams. */
enum rt_error rt_memcpy_peer(void *dst, int dstDevice, const void *src, int srcDevice, size_t count)
{
	struct rt_work w;
	struct rt_ops more = {0};

	RT_UNSAFE();
	enum rt_error e = peer(dst, dstDevice, src, srcDevice, count, &w);
	if (e != RT_OK || count == 0)
		return e;
	rt_lock();
	struct rt_stream *from = rt.dev[srcDevice].legacy, *to = rt.dev[dstDevice].legacy;
	e = rt_capture_check_legacy(to->device);
	if (e == RT_OK)
		e = rt_capture_check_legacy(from->device);
	if (e == RT_OK) {
		rt_stream_deps(from, &more);
		struct cpu_op *op = rt_stream_push(to, &w, &more, &e);
		if (op) {
			rt_stream_set_last(from, op);
			cpu_op_put(op);
		}
	}
	rt_unlock();
	base_vec_free(&more);
	return e;
}

enum rt_error rt_memcpy_peer_async(void *dst, int dstDevice, const void *src, int srcDevice,
				   size_t count, rt_ref stream)
{
	struct rt_work w;

	enum rt_error e = peer(dst, dstDevice, src, srcDevice, count, &w);
	if (e == RT_OK)
		e = rt_copy_submit(&w, (struct rt_call){stream, false, true});
	return e;
}

/* A plain copy to or from its address after a check of the range. */
enum rt_error rt_copy_symbol(struct rt_symbol_copy c, struct rt_call call)
{
	enum rt_copy_kind wrong = c.is_to_symbol ? RT_DEVICE_TO_HOST : RT_HOST_TO_DEVICE;
	uint64_t addr, bytes;
	enum rt_error e = rt_symbol_find(c.symbol, rt_thread()->device, &addr, &bytes);

	if (e == RT_OK && (c.offset > bytes || c.count > bytes - c.offset))
		e = RT_ERROR_INVALID_VALUE;
	if (e == RT_OK && (c.kind == wrong || c.kind == RT_HOST_TO_HOST))
		e = RT_ERROR_INVALID_MEMCPY_DIRECTION;
	if (e != RT_OK)
		return e;
	char *at = (char *)(uintptr_t)addr + c.offset;
	return rt_copy(c.is_to_symbol ? at : c.memory, c.is_to_symbol ? c.memory : at, c.count,
		       c.kind, call.stream, call.is_per_thread, call.is_async);
}
