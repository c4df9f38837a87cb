/* cub.h - what the tests of CUB share: vectors to and from the device, the two calls of an
 * algorithm. */
#ifndef TEST_CUB_H
#define TEST_CUB_H

#include <vector>

#include <cub/cub.cuh>

#include "expect.h"

template <class T> static T *upload(const std::vector<T> &v)
{
	T *p;

	OK(cudaMalloc(&p, v.size() * sizeof(T)));
	OK(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
	return p;
}

template <class T> static std::vector<T> download(const T *p, size_t n)
{
	std::vector<T> v(n);

	OK(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
	return v;
}

/* Both calls of a CUB algorithm: the size of its workspace, then the work. */
template <class F> static void twice(F f)
{
	void *temp = nullptr;
	size_t bytes = 0;

	OK(f(temp, bytes));
	OK(cudaMalloc(&temp, bytes));
	OK(f(temp, bytes));
	OK(cudaDeviceSynchronize());
	OK(cudaFree(temp));
}

#endif
