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

cudaError_t rt_copy_make_2d(struct rt_work *w, struct rt_rows dst, struct rt_rows src, size_t width,
			    size_t height, enum cudaMemcpyKind kind)
{
	if ((int)kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
		return cudaErrorInvalidMemcpyDirection;
	if (height > 1 && (width > dst.pitch || width > src.pitch))
		return cudaErrorInvalidPitchValue;
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
	return cudaSuccess;
}

cudaError_t rt_copy_make_1d(struct rt_work *w, void *dst, const void *src, size_t n,
			    enum cudaMemcpyKind kind)
{
	return rt_copy_make_2d(w, (struct rt_rows){dst, n}, (struct rt_rows){src, n}, n, 1, kind);
}

static uint64_t position(const struct cudaPitchedPtr *p, const struct cudaPos *at)
{
	return (uintptr_t)p->ptr + (at->z * p->ysize + at->y) * p->pitch + at->x;
}

/* An array as the memory that it is; its positions are in texels, and so is the extent. */
static cudaError_t as_memory(cudaArray_t array, struct cudaPitchedPtr *p, struct cudaPos *pos,
			     const struct cudaExtent *extent)
{
	const struct rt_array *a = rt_array_find(array);

	if (!a)
		return cudaErrorInvalidResourceHandle;
	size_t rows = a->extent.height ? a->extent.height : 1;
	size_t slices = a->extent.depth ? a->extent.depth : 1;
	if (pos->x > a->extent.width || extent->width > a->extent.width - pos->x || pos->y > rows ||
	    extent->height > rows - pos->y || pos->z > slices || extent->depth > slices - pos->z)
		return cudaErrorInvalidValue;
	*p = (struct cudaPitchedPtr){(void *)(uintptr_t)a->base, a->pitch, a->pitch, rows};
	pos->x *= a->elem;
	return cudaSuccess;
}

static cudaError_t without_arrays(const struct cudaMemcpy3DParms *p, struct cudaMemcpy3DParms *q)
{
	const struct rt_array *a = rt_array_find(p->srcArray ? p->srcArray : p->dstArray);
	cudaError_t e = a ? cudaSuccess : cudaErrorInvalidResourceHandle;

	*q = *p;
	q->srcArray = q->dstArray = NULL;
	if (e == cudaSuccess && p->srcArray)
		e = as_memory(p->srcArray, &q->srcPtr, &q->srcPos, &p->extent);
	if (e == cudaSuccess && p->dstArray)
		e = as_memory(p->dstArray, &q->dstPtr, &q->dstPos, &p->extent);
	if (e == cudaSuccess)
		q->extent.width *= a->elem;
	return e;
}

cudaError_t rt_copy_make_3d(struct rt_work *w, const struct cudaMemcpy3DParms *p)
{
	struct cudaMemcpy3DParms q;

	if (p->srcArray || p->dstArray) {
		cudaError_t bad = without_arrays(p, &q);
		if (bad != cudaSuccess)
			return bad;
		p = &q;
	}
	if (!p->srcPtr.ptr || !p->dstPtr.ptr)
		return cudaErrorInvalidValue;
	size_t width = p->extent.width;
	bool has_rows = p->extent.height > 1 || p->extent.depth > 1;
	if (has_rows &&
	    (p->srcPos.x + width > p->srcPtr.pitch || p->dstPos.x + width > p->dstPtr.pitch))
		return cudaErrorInvalidPitchValue;
	if (p->extent.depth > 1 && (p->srcPos.y + p->extent.height > p->srcPtr.ysize ||
				    p->dstPos.y + p->extent.height > p->dstPtr.ysize))
		return cudaErrorInvalidValue;

	cudaError_t e = rt_copy_make_2d(w, (struct rt_rows){p->dstPtr.ptr, p->dstPtr.pitch},
					(struct rt_rows){p->srcPtr.ptr, p->srcPtr.pitch}, width,
					p->extent.height, p->kind);
	w->cpu.copy.dst = position(&p->dstPtr, &p->dstPos);
	w->cpu.copy.src = position(&p->srcPtr, &p->srcPos);
	w->cpu.copy.dst_slice = p->dstPtr.pitch * p->dstPtr.ysize;
	w->cpu.copy.src_slice = p->srcPtr.pitch * p->srcPtr.ysize;
	w->cpu.copy.depth = p->extent.depth;
	return e;
}

cudaError_t rt_fill_make(struct rt_work *w, struct cudaPitchedPtr p, unsigned value, unsigned size,
			 struct cudaExtent extent)
{
	if (size != 1 && size != 2 && size != 4)
		return cudaErrorInvalidValue;
	bool has_rows = extent.height > 1 || extent.depth > 1;
	if (has_rows && extent.width * size > p.pitch)
		return cudaErrorInvalidValue;
	if (((uintptr_t)p.ptr | (has_rows ? p.pitch : 0)) % size)
		return cudaErrorInvalidValue;
	if (extent.depth > 1 && extent.height > p.ysize)
		return cudaErrorInvalidValue;
	*w = (struct rt_work){.cpu = {.kind = CPU_WORK_FILL}};
	w->cpu.fill = (struct cpu_fill){.dst = (uintptr_t)p.ptr,
					.pitch = p.pitch,
					.slice = p.pitch * p.ysize,
					.width = extent.width,
					.height = extent.height,
					.depth = extent.depth,
					.value = size == 1 ? value & 0xff : value,
					.size = size};
	return cudaSuccess;
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

static cudaError_t find_end(uint64_t addr, uint64_t bytes, enum rt_end *end)
{
	static const enum rt_end ends[] = {[CPU_MEM_DEVICE] = RT_END_DEVICE,
					   [CPU_MEM_MANAGED] = RT_END_MANAGED,
					   [CPU_MEM_HOST] = RT_END_PINNED,
					   [CPU_MEM_MODULE] = RT_END_DEVICE};
	struct cpu_mem_info i;

	*end = RT_END_PAGEABLE;
	if (!addr)
		return cudaErrorInvalidValue;
	if (!cpu_mem_find(rt.m, addr, &i))
		return cudaSuccess;
	*end = ends[i.kind];
	return addr - i.base + bytes <= i.bytes ? cudaSuccess : cudaErrorInvalidValue;
}

/* Does an end match what the kind of the copy says? */
static bool fits(enum rt_end end, bool is_device)
{
	return is_device ? end != RT_END_PAGEABLE : end != RT_END_DEVICE;
}

cudaError_t rt_copy_check(const struct rt_work *w, enum rt_end *dst, enum rt_end *src)
{
	const struct cpu_copy *c = &w->cpu.copy;
	enum cudaMemcpyKind k = w->copy_kind;
	cudaError_t e;

	e = find_end(c->dst, span(c->width, c->dst_pitch, c->height, c->dst_slice, c->depth), dst);
	if (e == cudaSuccess)
		e = find_end(c->src,
			     span(c->width, c->src_pitch, c->height, c->src_slice, c->depth), src);
	if (e != cudaSuccess || k == cudaMemcpyDefault)
		return e;
	bool is_good = fits(*dst, k == cudaMemcpyHostToDevice || k == cudaMemcpyDeviceToDevice) &&
		       fits(*src, k == cudaMemcpyDeviceToHost || k == cudaMemcpyDeviceToDevice);
	return is_good ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t rt_fill_check(const struct rt_work *w, enum rt_end *dst)
{
	const struct cpu_fill *f = &w->cpu.fill;
	cudaError_t e = find_end(
		f->dst, span(f->width * f->size, f->pitch, f->height, f->slice, f->depth), dst);

	return e == cudaSuccess && *dst == RT_END_PAGEABLE ? cudaErrorInvalidValue : e;
}

/* ---- submitting ---------------------------------------------------------------------- */

/* Synchronous calls are refused while a capture forbids them. */
static cudaError_t check_sync(struct rt_call call)
{
	cudaError_t e = cudaSuccess;

	if (call.is_async || atomic_load(&rt.captures) == 0)
		return cudaSuccess;
	rt_lock();
	if (rt_stream_find(call.stream, call.is_per_thread)->is_legacy)
		e = rt_capture_check_legacy(rt_thread()->device);
	rt_unlock();
	return e == cudaSuccess ? rt_capture_check() : e;
}

static cudaError_t submit(const struct rt_work *w, struct rt_call call, bool waits)
{
	struct cpu_op *op = NULL;
	unsigned device = rt_stream_device(call.stream, call.is_per_thread);
	cudaError_t e = rt_stream_submit(call.stream, call.is_per_thread, w, &op);

	if (e == cudaSuccess && op && waits)
		return rt_op_finish(op, device);
	if (op)
		cpu_op_put(op);
	return e;
}

/* A synchronous copy returns once its bytes are taken, and takes them when its stream has nothing
 * more to do. */
static cudaError_t submit_staged(struct rt_work *w, struct rt_call call)
{
	const struct rt_work nothing = {.cpu = {.kind = CPU_WORK_EMPTY}};
	cudaError_t e = submit(&nothing, call, true);

	w->cpu.copy.is_taken = true;
	return e == cudaSuccess ? submit(w, call, false) : e;
}

cudaError_t rt_copy_submit(struct rt_work *w, struct rt_call call)
{
	struct cpu_copy *c = &w->cpu.copy;
	enum rt_end dst, src;
	cudaError_t e = check_sync(call);

	if (e != cudaSuccess)
		return e;
	if (!c->width || !c->height || !c->depth)
		return cudaSuccess;
	w->cpu.origin = rt_origin();
	e = rt_copy_check(w, &dst, &src);
	if (e != cudaSuccess)
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

cudaError_t rt_fill_submit(struct rt_work *w, struct rt_call call)
{
	const struct cpu_fill *f = &w->cpu.fill;
	enum rt_end dst;
	cudaError_t e = check_sync(call);

	if (e != cudaSuccess || !f->width || !f->height || !f->depth)
		return e;
	e = rt_fill_check(w, &dst);
	if (e != cudaSuccess)
		return e;
	w->cpu.origin = rt_origin();
	return submit(w, call, !call.is_async && dst != RT_END_DEVICE);
}

cudaError_t rt_copy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
		    cudaStream_t s, bool is_per_thread, bool is_async)
{
	struct rt_work w;

	cudaError_t e = rt_copy_make_1d(&w, dst, src, count, kind);
	if (e == cudaSuccess)
		e = rt_copy_submit(&w, (struct rt_call){s, is_per_thread, is_async});
	return e;
}

/* ---- between devices ------------------------------------------------------------------ */

static bool is_device(int d)
{
	return d >= 0 && (unsigned)d < rt.ndevices;
}

static cudaError_t peer(void *dst, int dstDevice, const void *src, int srcDevice, size_t count,
			struct rt_work *w)
{
	enum rt_end a, b;

	if (!is_device(dstDevice) || !is_device(srcDevice))
		return cudaErrorInvalidDevice;
	cudaError_t e = rt_copy_make_1d(w, dst, src, count, cudaMemcpyDeviceToDevice);
	return e == cudaSuccess && count ? rt_copy_check(w, &a, &b) : e;
}

/* After all work of both devices, and before all later work of their default streams. */
cudaError_t rt_memcpy_peer(void *dst, int dstDevice, const void *src, int srcDevice, size_t count)
{
	struct rt_work w;
	struct rt_ops more = {0};

	RT_UNSAFE();
	cudaError_t e = peer(dst, dstDevice, src, srcDevice, count, &w);
	if (e != cudaSuccess || count == 0)
		return e;
	rt_lock();
	struct rt_stream *from = rt.dev[srcDevice].legacy, *to = rt.dev[dstDevice].legacy;
	e = rt_capture_check_legacy(to->device);
	if (e == cudaSuccess)
		e = rt_capture_check_legacy(from->device);
	if (e == cudaSuccess) {
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

cudaError_t rt_memcpy_peer_async(void *dst, int dstDevice, const void *src, int srcDevice,
				 size_t count, cudaStream_t stream)
{
	struct rt_work w;

	cudaError_t e = peer(dst, dstDevice, src, srcDevice, count, &w);
	if (e == cudaSuccess)
		e = rt_copy_submit(&w, (struct rt_call){stream, false, true});
	return e;
}
