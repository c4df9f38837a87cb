/* expect.h - checks of the programs here: each prints what it found and ends the program. */
#ifndef EXPECT_H
#define EXPECT_H

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cuda_runtime.h>

/* With KEEP_GOING set, all that differs is printed: to compare with a GPU's runtime. */
static inline void failed()
{
	if (!getenv("KEEP_GOING"))
		exit(1);
}

/* Some answers are the CPU device's own: figures of its machine, and handles that are none, which a
 * GPU's runtime follows (and may crash). The rest is the same on a GPU. */
static inline bool is_cpu_device()
{
	cudaDeviceProp p;

	return cudaGetDeviceProperties(&p, 0) == cudaSuccess &&
	       !strcmp(p.name, "Collider CPU device");
}

#define EXPECT(call, error)                                                                        \
	do {                                                                                       \
		cudaError_t e_ = (call);                                                           \
		if (e_ != (error)) {                                                               \
			fprintf(stderr, "%s:%d: %s: found %s, expected %s\n", __FILE__, __LINE__,  \
				#call, cudaGetErrorName(e_), cudaGetErrorName(error));             \
			failed();                                                                  \
		}                                                                                  \
		cudaGetLastError();                                                                \
	} while (0)
#define OK(call) EXPECT(call, cudaSuccess)
#define THAT(condition)                                                                            \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);    \
			failed();                                                                  \
		}                                                                                  \
	} while (0)

#endif
