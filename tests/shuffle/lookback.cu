// lookback.cu - prefix sums in one pass, by looking back at the tiles before this one. The tile is
// `ticket`: the next of a counter, right in any order of blocks; or `block`: the block's id, which
// waits for ever when a later block takes all places of an earlier one; or `cub`: CUB's scan.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cub/device/device_scan.cuh>

static __global__ void scan(const int *in, int *out, volatile int *sums, int *ticket, bool by_block)
{
	__shared__ int tile, before;

	if (threadIdx.x == 0) {
		tile = by_block ? (int)blockIdx.x : atomicAdd(ticket, 1);
		if (tile > 0)
			while (sums[tile - 1] == 0)
				__nanosleep(2000);
		__threadfence();
		before = tile > 0 ? sums[tile - 1] - 1 : 0;
	}
	__syncthreads();
	int i = tile * blockDim.x + threadIdx.x;
	out[i] = in[i] + before;
	__syncthreads();
	if (threadIdx.x == 0) {
		int sum = 0;
		for (unsigned k = 0; k < blockDim.x; k++)
			sum += in[tile * blockDim.x + k];
		__threadfence();
		sums[tile] = before + sum + 1;
	}
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "ticket";
	int sms = 0, blocks = 0, threads = 0;

	// More tiles than have a place at one time, if registers leave room for all (the CPU device
	// doesn't count them).
	cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
	cudaDeviceGetAttribute(&blocks, cudaDevAttrMaxBlocksPerMultiprocessor, 0);
	cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, 0);
	if (blocks > threads / 64)
		blocks = threads / 64;
	const int tiles = sms * blocks * 11 / 8, n = tiles * 64;
	int *in, *out, *sums, *ticket, wrong = 0, sum = 0;

	cudaMallocManaged(&in, n * sizeof(int));
	cudaMallocManaged(&out, n * sizeof(int));
	cudaMallocManaged(&sums, tiles * sizeof(int));
	cudaMallocManaged(&ticket, sizeof(int));
	memset(sums, 0, tiles * sizeof(int));
	*ticket = 0;
	for (int i = 0; i < n; i++)
		in[i] = i % 3;
	if (strcmp(how, "cub") == 0) {
		size_t bytes = 0;
		void *scratch = nullptr;
		cub::DeviceScan::InclusiveSum(scratch, bytes, in, out, n);
		cudaMalloc(&scratch, bytes);
		cub::DeviceScan::InclusiveSum(scratch, bytes, in, out, n);
	} else {
		scan<<<tiles, 64>>>(in, out, sums, ticket, strcmp(how, "block") == 0);
	}
	cudaError_t e = cudaDeviceSynchronize();
	if (e != cudaSuccess) {
		printf("%s\n", cudaGetErrorString(e));
		return 1;
	}
	bool is_cub = strcmp(how, "cub") == 0;
	for (int i = 0, before = 0; i < n; i++) {
		if (i % 64 == 0)
			before = sum; // of all tiles before this one
		sum += in[i];
		wrong += out[i] != (is_cub ? sum : before + in[i]);
	}
	puts(wrong ? "wrong" : "ok");
	return wrong != 0;
}
