/*
 * jit.h - options of calls that compile: only the log buffers have an effect.
 */
#ifndef COLLIDER_CUDRV_JIT_H
#define COLLIDER_CUDRV_JIT_H

#include "cudrv/drv.h"

/* The places in a caller's arrays; NULL: not given. */
struct drv_jit {
	char *log[2];	/* information, errors */
	void **size[2]; /* in: their room; out: bytes written */
	size_t room[2];
};

CUresult drv_jit_read(struct drv_jit *j, unsigned n, const CUjit_option *options, void **values);
/* Fills the logs: information is empty, `why` goes to the errors. */
void drv_jit_end(const struct drv_jit *j, const char *why);

#endif
