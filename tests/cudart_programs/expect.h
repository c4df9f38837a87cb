/* expect.h - checks of the programs here: each tells what it found and ends the program. */
#ifndef EXPECT_H
#define EXPECT_H

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cuda_runtime.h>

/* With KEEP_GOING set, all that differs is told: to compare with a GPU's runtime. */
static inline void failed()
{
	if (!getenv("KEEP_GOING"))
		exit(1);
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
