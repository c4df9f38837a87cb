/*
 * check.h - for plain programs: a check that fails says where and ends the test.
 */
#ifndef COLLIDER_TESTS_CUDART_CHECK_H
#define COLLIDER_TESTS_CUDART_CHECK_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>

/* With KEEP_GOING set, all that differs is printed: to compare with a GPU's runtime. */
static inline void failed(void)
{
	if (!getenv("KEEP_GOING"))
		exit(1);
}

/*
 * Some answers are the CPU device's own: its limits are exact, and it refuses handles that are
 * none, where a GPU's runtime follows them (and may crash). The rest is the same on a GPU.
 */
static inline int is_cpu_device(void)
{
	struct cudaDeviceProp p;

	return cudaGetDeviceProperties(&p, 0) == cudaSuccess &&
	       strcmp(p.name, "Collider CPU device") == 0;
}

#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #x);            \
			failed();                                                                  \
		}                                                                                  \
	} while (0)
#define CHECK_IS(call, code)                                                                       \
	do {                                                                                       \
		cudaError_t got_ = (call);                                                         \
		if (got_ != (code)) {                                                              \
			fprintf(stderr, "%s:%d: %s gave %s, not %s\n", __FILE__, __LINE__, #call,  \
				cudaGetErrorName(got_), cudaGetErrorName(code));                   \
			failed();                                                                  \
		}                                                                                  \
	} while (0)
#define OK(call) CHECK_IS(call, cudaSuccess)

#endif
