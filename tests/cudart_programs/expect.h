/* expect.h - checks of the programs here: each tells what it found and ends the program. */
#ifndef EXPECT_H
#define EXPECT_H

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cuda_runtime.h>

#define EXPECT(call, error)                                                                        \
	do {                                                                                       \
		cudaError_t e_ = (call);                                                           \
		if (e_ != (error)) {                                                               \
			fprintf(stderr, "%s:%d: %s: found %s, expected %s\n", __FILE__, __LINE__,  \
				#call, cudaGetErrorName(e_), cudaGetErrorName(error));             \
			exit(1);                                                                   \
		}                                                                                  \
		cudaGetLastError();                                                                \
	} while (0)
#define OK(call) EXPECT(call, cudaSuccess)
#define THAT(condition)                                                                            \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);    \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

#endif
