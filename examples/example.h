/*
 * example.h - what every example shares: error checks and the last line it prints.
 *
 * A program ends with `return example_finish(is_right, checksum)`: it prints
 * "ok CHECKSUM" and returns 0, or "wrong CHECKSUM" and returns 1. A failing CUDA
 * call ends it with exit code 2, so that a test can distinguish the effect of a race (1) from a
 * broken program.
 */
#ifndef COLLIDER_EXAMPLE_H
#define COLLIDER_EXAMPLE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t check_err_ = (call);                                                   \
		if (check_err_ != cudaSuccess) {                                                   \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,              \
				cudaGetErrorString(check_err_));                                   \
			exit(2);                                                                   \
		}                                                                                  \
	} while (0)

/* A small generator, the same numbers everywhere. */
static inline uint32_t example_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* FNV-1a over 32-bit values: order matters. */
template <typename T> static inline uint64_t example_checksum(const std::vector<T> &v)
{
	uint64_t h = 1469598103934665603ull;

	for (const T &x : v)
		h = (h ^ (uint64_t)(uint32_t)x) * 1099511628211ull;
	return h;
}

template <typename T> static inline T *example_upload(const std::vector<T> &v)
{
	T *p = nullptr;

	CHECK(cudaMalloc(&p, v.size() * sizeof(T)));
	CHECK(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
	return p;
}

template <typename T> static inline std::vector<T> example_download(const T *p, size_t n)
{
	std::vector<T> v(n);

	CHECK(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
	return v;
}

static inline int example_finish(bool is_right, uint64_t sum)
{
	CHECK(cudaDeviceSynchronize());
	printf("%s %016llx\n", is_right ? "ok" : "wrong", (unsigned long long)sum);
	return is_right ? 0 : 1;
}

#endif
