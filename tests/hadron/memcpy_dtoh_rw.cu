// memcpy_dtoh_rw.cu - cudaMemcpyAsync takes away what a kernel in another stream is still writing.
// scenario: cudaMemcpyAsync (DtoH) RW
// table 3: race, missed
// detector: collide
// expect collide: clobbered-read at copy
// expect oracle: unordered at gives
// may: gives
// twin: memcpy_dtoh_rw.fixed.cu

#include "hadron.h"

static const int BLOCKS = 16;
static const int THREADS = 64;
static const int N = BLOCKS * THREADS;
static const int ROUNDS = 64;
static const size_t TOTAL = (size_t)ROUNDS * N;

__global__ void produce(const unsigned *in, unsigned *data)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	for (int r = ROUNDS - 1; r >= 0; r--)
		data[r * N + i] = in[r * N + i] * 3; // race: gives
}

int main()
{
	std::vector<unsigned> in = hadron_numbers(TOTAL, 17), zeros(TOTAL), want(in), got;
	unsigned *host = nullptr;

	for (unsigned &x : want)
		x *= 3;
	CHECK(cudaMallocHost(&host, TOTAL * sizeof(*host)));
	unsigned *d_in = example_upload(in);
	unsigned *d_data = example_upload(zeros);
	cudaStream_t first = hadron_stream(), second = hadron_stream();
	CHECK(cudaDeviceSynchronize());
	produce<<<BLOCKS, THREADS, 0, first>>>(d_in, d_data);
	CHECK(cudaGetLastError());
	size_t bytes = TOTAL * sizeof(*host);
	CHECK(cudaMemcpyAsync(host, d_data, bytes, cudaMemcpyDeviceToHost, second)); // race: copy
	CHECK(cudaDeviceSynchronize());
	got.assign(host, host + TOTAL);
	CHECK(cudaStreamDestroy(first));
	CHECK(cudaStreamDestroy(second));
	CHECK(cudaFreeHost(host));
	CHECK(cudaFree(d_in));
	CHECK(cudaFree(d_data));
	return example_finish(got == want, example_checksum(got));
}
