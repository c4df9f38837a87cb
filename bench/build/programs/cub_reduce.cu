// cub_reduce.cu - DeviceReduce, DeviceSegmentedReduce and the least element's place.
#include "program.h"
#include <algorithm>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_segmented_reduce.cuh>

int main()
{
	auto h = numbers(1 << 16, 1 << 12);
	uint32_t *in, *sum;
	cub::KeyValuePair<int, uint32_t> *least, first;
	int ends[] = {0, 1000, 1000, 65536}, *offsets;
	void *temp;
	size_t bytes = 1 << 20, n = 1 << 20;
	uint32_t total = 0, got, parts[3];

	cudaMalloc(&in, h.size() * 4);
	cudaMalloc(&sum, 16);
	cudaMalloc(&least, sizeof(first));
	cudaMalloc(&offsets, sizeof(ends));
	cudaMalloc(&temp, bytes);
	cudaMemcpy(in, h.data(), h.size() * 4, cudaMemcpyHostToDevice);
	cudaMemcpy(offsets, ends, sizeof(ends), cudaMemcpyHostToDevice);
	cub::DeviceReduce::Sum(temp, n, in, sum, (int)h.size());
	cudaMemcpy(&got, sum, 4, cudaMemcpyDeviceToHost);
	cub::DeviceReduce::ArgMin(temp, n, in, least, (int)h.size());
	cudaMemcpy(&first, least, sizeof(first), cudaMemcpyDeviceToHost);
	cub::DeviceSegmentedReduce::Sum(temp, n, in, sum, 3, offsets, offsets + 1);
	cudaMemcpy(parts, sum, 12, cudaMemcpyDeviceToHost);
	for (auto v : h)
		total += v;
	return end(got == total && parts[0] + parts[1] + parts[2] == total && parts[1] == 0 &&
		   h[first.key] == *std::min_element(h.begin(), h.end()));
}
