// cpu_gpu_uvm_ww.fixed.cu - the same; the host waits for the kernel before it writes.
// scenario: CPU-GPU UVM WW
// expect: nothing
// twin: cpu_gpu_uvm_ww.cu

#include "hadron.h"

static const int BLOCKS = 32;
static const int THREADS = 64;
static const int N = BLOCKS * THREADS;
static const int ROUNDS = 64;
static const unsigned PASSES = 16;

__global__ void fill(unsigned *data)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	for (int r = ROUNDS - 1; r >= 0; r--)
		data[r * N + i] = (unsigned)(r * N + i + 1) * 3;
}

int main()
{
	std::vector<unsigned> want(ROUNDS * N), got;

	for (size_t i = 0; i < want.size(); i++)
		want[i] = (unsigned)(i + 1) * 8 + PASSES;
	unsigned *data = hadron_managed(want.size());
	cudaStream_t stream = hadron_stream();
	fill<<<BLOCKS, THREADS, 0, stream>>>(data);
	CHECK(cudaGetLastError());
	CHECK(cudaStreamSynchronize(stream));
	for (unsigned pass = 1; pass <= PASSES; pass++) {
		/* Asking whether it has ended makes a device without a GPU go on, too. */
		(void)cudaStreamQuery(stream);
		for (size_t i = 0; i < want.size(); i++)
			data[i] = (unsigned)(i + 1) * 8 + pass;
	}
	CHECK(cudaStreamSynchronize(stream));
	got.assign(data, data + want.size());
	CHECK(cudaStreamDestroy(stream));
	CHECK(cudaFree(data));
	return example_finish(got == want, example_checksum(got));
}
