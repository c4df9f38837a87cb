/*
 * copy.h - copies and fills as work for streams and graphs.
 */
#ifndef COLLIDER_CUDART_COPY_H
#define COLLIDER_CUDART_COPY_H

#include "cudart/state/internal.h"

/* How an entry point was called. */
struct rt_call {
	rt_ref stream;
	bool is_per_thread, is_async;
};

/* Make the work of a copy or fill; ranges and kinds are checked by rt_copy_submit and
 * rt_check_*. */
enum rt_error rt_copy_make_1d(struct rt_work *w, void *dst, const void *src, size_t n,
			      enum rt_copy_kind kind);
/* Rows in memory. */
struct rt_rows {
	const void *at;
	size_t pitch;
};
enum rt_error rt_copy_make_2d(struct rt_work *w, struct rt_rows dst, struct rt_rows src,
			      size_t width, size_t height, enum rt_copy_kind kind);
enum rt_error rt_copy_make_3d(struct rt_work *w, struct rt_copy_3d p);
/* 3D of bytes; 1D and 2D are cases of it. */
enum rt_error rt_fill_make(struct rt_work *w, struct rt_pitched p, unsigned value, unsigned size,
			   struct rt_extent extent);

/* Where the two ends of a copy lie. */
enum rt_end { RT_END_PAGEABLE, RT_END_PINNED, RT_END_MANAGED, RT_END_DEVICE };
enum rt_error rt_copy_check(const struct rt_work *w, enum rt_end *dst, enum rt_end *src);
enum rt_error rt_fill_check(const struct rt_work *w, enum rt_end *dst);

/* A copy between a variable of the device, by its host name, and memory of the program's. */
struct rt_symbol_copy {
	const void *symbol;
	void *memory;
	size_t count, offset; /* the latter in the symbol */
	enum rt_copy_kind kind;
	bool is_to_symbol;
};
enum rt_error rt_copy_symbol(struct rt_symbol_copy c, struct rt_call call);

/* Checks, submits, and waits where CUDA does. */
enum rt_error rt_copy_submit(struct rt_work *w, struct rt_call call);
enum rt_error rt_fill_submit(struct rt_work *w, struct rt_call call);
/* What the entry points of the same names do. Lock not held. */
enum rt_error rt_memcpy_peer(void *dst, int dstDevice, const void *src, int srcDevice,
			     size_t count);
enum rt_error rt_memcpy_peer_async(void *dst, int dstDevice, const void *src, int srcDevice,
				   size_t count, rt_ref stream);

#endif
