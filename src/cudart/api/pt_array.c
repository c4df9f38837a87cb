/*
 * pt_array.c - entry points that copy to, from and between CUDA arrays; compiled twice
 * (internal.h).
 */
#include "cudart/api/api.h"
#include "cudart/state/array.h"

static struct rt_call sync_call(void)
{
	return (struct rt_call){NULL, RT_PER_THREAD, false};
}

static struct rt_call async_call(cudaStream_t s)
{
	return (struct rt_call){s, RT_PER_THREAD, true};
}

/* One end of a copy: a place in an array, or in memory (array NULL). */
struct end {
	cudaArray_const_t array;
	size_t x, y;
	uint64_t memory, pitch;
};

/* height 0: `width` bytes in the order of rows. */
static struct rt_rows rows(const struct end *e, size_t pitch)
{
	return (struct rt_rows){(const void *)(uintptr_t)e->memory, pitch};
}

static cudaError_t copy(struct end dst, struct end src, size_t width, size_t height,
			enum cudaMemcpyKind kind, struct rt_call call)
{
	struct end *ends[2] = {&dst, &src};
	struct rt_work w;
	enum rt_error e = RT_OK;

	RT_ENTER();
	for (unsigned i = 0; i < 2 && e == RT_OK; i++) {
		struct end *x = ends[i];
		if (x->array)
			e = rt_array_place(x->array, x->x, x->y, width, height, &x->memory,
					   &x->pitch);
	}
	if (e == RT_OK)
		e = rt_copy_make_2d(&w, rows(&dst, height ? dst.pitch : width),
				    rows(&src, height ? src.pitch : width), width,
				    height ? height : 1, (enum rt_copy_kind)kind);
	if (e == RT_OK)
		e = rt_copy_submit(&w, call);
	return rt_fail(e);
}

/* A handle of 0 is no array, and no memory either. */
static struct end in_array(cudaArray_const_t a, size_t x, size_t y)
{
	return (struct end){.array = a ? a : (cudaArray_const_t)1u, .x = x, .y = y};
}

static struct end in_memory(const void *p, size_t pitch)
{
	return (struct end){.memory = (uintptr_t)p, .pitch = pitch};
}

/* ---- rectangles -------------------------------------------------------------------- */

cudaError_t cudaMemcpy2DToArray(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src,
				size_t spitch, size_t width, size_t height,
				enum cudaMemcpyKind kind)
{
	return copy(in_array(dst, wOffset, hOffset), in_memory(src, spitch), width, height, kind,
		    sync_call());
}

cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset,
				     const void *src, size_t spitch, size_t width, size_t height,
				     enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return copy(in_array(dst, wOffset, hOffset), in_memory(src, spitch), width, height, kind,
		    async_call(stream));
}

cudaError_t cudaMemcpy2DFromArray(void *dst, size_t dpitch, cudaArray_const_t src, size_t wOffset,
				  size_t hOffset, size_t width, size_t height,
				  enum cudaMemcpyKind kind)
{
	return copy(in_memory(dst, dpitch), in_array(src, wOffset, hOffset), width, height, kind,
		    sync_call());
}

cudaError_t cudaMemcpy2DFromArrayAsync(void *dst, size_t dpitch, cudaArray_const_t src,
				       size_t wOffset, size_t hOffset, size_t width, size_t height,
				       enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return copy(in_memory(dst, dpitch), in_array(src, wOffset, hOffset), width, height, kind,
		    async_call(stream));
}

cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
				     cudaArray_const_t src, size_t wOffsetSrc, size_t hOffsetSrc,
				     size_t width, size_t height, enum cudaMemcpyKind kind)
{
	return copy(in_array(dst, wOffsetDst, hOffsetDst), in_array(src, wOffsetSrc, hOffsetSrc),
		    width, height, kind, sync_call());
}

/* ---- bytes in the order of rows (deprecated) ----------------------------------------- */

cudaError_t cudaMemcpyToArray(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src,
			      size_t count, enum cudaMemcpyKind kind)
{
	return copy(in_array(dst, wOffset, hOffset), in_memory(src, count), count, 0, kind,
		    sync_call());
}

cudaError_t cudaMemcpyToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src,
				   size_t count, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return copy(in_array(dst, wOffset, hOffset), in_memory(src, count), count, 0, kind,
		    async_call(stream));
}

cudaError_t cudaMemcpyFromArray(void *dst, cudaArray_const_t src, size_t wOffset, size_t hOffset,
				size_t count, enum cudaMemcpyKind kind)
{
	return copy(in_memory(dst, count), in_array(src, wOffset, hOffset), count, 0, kind,
		    sync_call());
}

cudaError_t cudaMemcpyFromArrayAsync(void *dst, cudaArray_const_t src, size_t wOffset,
				     size_t hOffset, size_t count, enum cudaMemcpyKind kind,
				     cudaStream_t stream)
{
	return copy(in_memory(dst, count), in_array(src, wOffset, hOffset), count, 0, kind,
		    async_call(stream));
}

cudaError_t cudaMemcpyArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
				   cudaArray_const_t src, size_t wOffsetSrc, size_t hOffsetSrc,
				   size_t count, enum cudaMemcpyKind kind)
{
	return copy(in_array(dst, wOffsetDst, hOffsetDst), in_array(src, wOffsetSrc, hOffsetSrc),
		    count, 0, kind, sync_call());
}
