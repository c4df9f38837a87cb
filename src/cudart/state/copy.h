/*
 * copy.h - copies and fills as work for streams and graphs.
 */
#ifndef COLLIDER_CUDART_COPY_H
#define COLLIDER_CUDART_COPY_H

#include "cudart/state/internal.h"

/* How an entry point was called. */
struct rt_call {
	cudaStream_t stream;
	bool is_per_thread, is_async;
};

/* Make the work of a copy or fill; ranges and kinds are checked by rt_copy_submit and
 * rt_check_*. */
cudaError_t rt_copy_make_1d(struct rt_work *w, void *dst, const void *src, size_t n,
			    enum cudaMemcpyKind kind);
/* Rows in memory. */
struct rt_rows {
	const void *at;
	size_t pitch;
};
cudaError_t rt_copy_make_2d(struct rt_work *w, struct rt_rows dst, struct rt_rows src, size_t width,
			    size_t height, enum cudaMemcpyKind kind);
cudaError_t rt_copy_make_3d(struct rt_work *w, const struct cudaMemcpy3DParms *p);
/* 3D of bytes; 1D and 2D are cases of it. */
cudaError_t rt_fill_make(struct rt_work *w, struct cudaPitchedPtr p, unsigned value, unsigned size,
			 struct cudaExtent extent);

/* Where the two ends of a copy lie. */
enum rt_end { RT_END_PAGEABLE, RT_END_PINNED, RT_END_MANAGED, RT_END_DEVICE };
cudaError_t rt_copy_check(const struct rt_work *w, enum rt_end *dst, enum rt_end *src);
cudaError_t rt_fill_check(const struct rt_work *w, enum rt_end *dst);

/* Checks, submits, and waits where CUDA does. */
cudaError_t rt_copy_submit(struct rt_work *w, struct rt_call call);
cudaError_t rt_fill_submit(struct rt_work *w, struct rt_call call);
/* What the entry points of the same names do. Lock not held. */
cudaError_t rt_memcpy_peer(void *dst, int dstDevice, const void *src, int srcDevice, size_t count);
cudaError_t rt_memcpy_peer_async(void *dst, int dstDevice, const void *src, int srcDevice,
				 size_t count, cudaStream_t stream);

#endif
