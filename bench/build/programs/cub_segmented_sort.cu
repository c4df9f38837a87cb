// cub_segmented_sort.cu - DeviceSegmentedSort: segments of 1 to 4,096 keys.
#include "program.h"
#include <algorithm>
#include <cub/device/device_segmented_sort.cuh>

int main()
{
	auto h = numbers(1 << 15, 1 << 20), want = h;
	std::vector<int> ends = {0};
	uint32_t *in, *out;
	int *offsets;
	void *temp;
	size_t bytes = 0;

	for (int size = 1; ends.back() < (int)h.size(); size = size % 4096 * 2 + 1)
		ends.push_back(std::min(ends.back() + size, (int)h.size()));
	int n = (int)ends.size() - 1;
	for (int i = 0; i < n; i++)
		std::sort(want.begin() + ends[i], want.begin() + ends[i + 1]);
	cudaMalloc(&in, h.size() * 4);
	cudaMalloc(&out, h.size() * 4);
	cudaMalloc(&offsets, ends.size() * 4);
	cudaMemcpy(in, h.data(), h.size() * 4, cudaMemcpyHostToDevice);
	cudaMemcpy(offsets, ends.data(), ends.size() * 4, cudaMemcpyHostToDevice);
	cub::DeviceSegmentedSort::SortKeys(nullptr, bytes, in, out, (int)h.size(), n, offsets, offsets + 1);
	cudaMalloc(&temp, bytes);
	cub::DeviceSegmentedSort::SortKeys(temp, bytes, in, out, (int)h.size(), n, offsets, offsets + 1);
	cudaMemcpy(h.data(), out, h.size() * 4, cudaMemcpyDeviceToHost);
	return end(h == want);
}
