// cub_device.cu - CUB's device-wide reduction, scan and radix sort.
//
// Their tiles look back at each other through status words and plain payloads after fences.
// expect: nothing
// flags: -std=c++17
// small: 1 128

#include "racefree.h"
#include <algorithm>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

int main(int argc, char **argv)
{
	int loops = racefree_loops(argc, argv, 4), n = racefree_part(argc, argv, 1 << 20);
	std::vector<unsigned> in((size_t)n), scan((size_t)n), sorted, got;
	unsigned sum = 0, *d_in, *d_out, *d_sum;
	size_t bytes = 0, need = 0;
	void *tmp = nullptr;
	uint32_t seed = 1;
	bool is_right = true;

	for (unsigned &x : in)
		x = example_random(&seed) * 251u;
	for (size_t i = 0; i < in.size(); i++)
		scan[i] = sum += in[i];
	sorted = in;
	std::sort(sorted.begin(), sorted.end());
	d_in = example_upload(in);
	d_out = example_upload(in);
	d_sum = example_upload(std::vector<unsigned>(1));
	CHECK(cub::DeviceReduce::Sum(nullptr, need, d_in, d_sum, n));
	bytes = std::max(bytes, need);
	CHECK(cub::DeviceScan::InclusiveSum(nullptr, need, d_in, d_out, n));
	bytes = std::max(bytes, need);
	CHECK(cub::DeviceRadixSort::SortKeys(nullptr, need, d_in, d_out, n));
	bytes = std::max(bytes, need);
	CHECK(cudaMalloc(&tmp, bytes));
	for (int k = 0; k < loops; k++) {
		need = bytes;
		CHECK(cub::DeviceReduce::Sum(tmp, need, d_in, d_sum, n));
		is_right = is_right && example_download(d_sum, 1)[0] == sum;
		need = bytes;
		CHECK(cub::DeviceScan::InclusiveSum(tmp, need, d_in, d_out, n));
		is_right = is_right && example_download(d_out, scan.size()) == scan;
		need = bytes;
		CHECK(cub::DeviceRadixSort::SortKeys(tmp, need, d_in, d_out, n));
		got = example_download(d_out, sorted.size());
		is_right = is_right && got == sorted;
	}
	CHECK(cudaFree(tmp));
	CHECK(cudaFree(d_in));
	CHECK(cudaFree(d_out));
	CHECK(cudaFree(d_sum));
	return example_finish(is_right, example_checksum(got));
}
