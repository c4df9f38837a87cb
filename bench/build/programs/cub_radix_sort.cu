// cub_radix_sort.cu - DeviceRadixSort: pairs of 32 and keys of 64 bits.
#include "program.h"
#include <algorithm>
#include <cub/device/device_radix_sort.cuh>

template <class K> static bool sorts(const std::vector<K> &h)
{
	size_t n = h.size(), bytes = 0;
	K *in, *out;
	uint32_t *from, *to;
	void *temp;
	std::vector<K> got(n), want(h);

	cudaMalloc(&in, n * sizeof(K));
	cudaMalloc(&out, n * sizeof(K));
	cudaMalloc(&from, n * 4);
	cudaMalloc(&to, n * 4);
	cudaMemset(from, 0, n * 4);
	cudaMemcpy(in, h.data(), n * sizeof(K), cudaMemcpyHostToDevice);
	cub::DeviceRadixSort::SortPairs(nullptr, bytes, in, out, from, to, (int)n);
	cudaMalloc(&temp, bytes);
	cub::DeviceRadixSort::SortPairs(temp, bytes, in, out, from, to, (int)n);
	cudaMemcpy(got.data(), out, n * sizeof(K), cudaMemcpyDeviceToHost);
	std::sort(want.begin(), want.end());
	return got == want;
}

int main()
{
	auto h = numbers(1 << 16, 1 << 24);

	return end(sorts(h) && sorts(std::vector<uint64_t>(h.begin(), h.end())));
}
