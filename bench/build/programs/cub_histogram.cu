// cub_histogram.cu - DeviceHistogram of bytes, even bins.
#include "program.h"
#include <cub/device/device_histogram.cuh>

int main()
{
	auto h = numbers(1 << 18, 256);
	std::vector<uint8_t> samples(h.begin(), h.end());
	std::vector<int> want(256), got(256);
	uint8_t *in;
	int *bins;
	void *temp;
	size_t bytes = 0;

	for (auto v : samples)
		want[v]++;
	cudaMalloc(&in, samples.size());
	cudaMalloc(&bins, 256 * 4);
	cudaMemcpy(in, samples.data(), samples.size(), cudaMemcpyHostToDevice);
	cub::DeviceHistogram::HistogramEven(nullptr, bytes, in, bins, 257, 0, 256, (int)samples.size());
	cudaMalloc(&temp, bytes);
	cub::DeviceHistogram::HistogramEven(temp, bytes, in, bins, 257, 0, 256, (int)samples.size());
	cudaMemcpy(got.data(), bins, 256 * 4, cudaMemcpyDeviceToHost);
	return end(got == want);
}
