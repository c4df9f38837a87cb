// cub_runs.cu - DeviceRunLengthEncode, DeviceSelect::Unique and DevicePartition.
#include "program.h"
#include <cub/device/device_partition.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <cub/device/device_select.cuh>

struct is_even {
	__device__ bool operator()(uint32_t v) const { return v % 2 == 0; }
};

int main()
{
	auto h = numbers(1 << 16, 4);
	uint32_t *in, *out;
	int *counts, *number, n[3], want = 1, even = 0;
	void *temp;
	size_t bytes = 1 << 20;

	cudaMalloc(&in, h.size() * 4);
	cudaMalloc(&out, h.size() * 4);
	cudaMalloc(&counts, h.size() * 4);
	cudaMalloc(&number, 12);
	cudaMalloc(&temp, bytes);
	cudaMemcpy(in, h.data(), h.size() * 4, cudaMemcpyHostToDevice);
	cub::DeviceRunLengthEncode::Encode(temp, bytes, in, out, counts, number, (int)h.size());
	cub::DeviceSelect::Unique(temp, bytes, in, out, number + 1, (int)h.size());
	cub::DevicePartition::If(temp, bytes, in, out, number + 2, (int)h.size(), is_even());
	cudaMemcpy(n, number, 12, cudaMemcpyDeviceToHost);
	for (size_t i = 0; i < h.size(); i++) {
		want += i > 0 && h[i] != h[i - 1];
		even += h[i] % 2 == 0;
	}
	return end(n[0] == want && n[1] == want && n[2] == even);
}
