// cpu_gpu_uvm_ww.cu - the host goes on writing the managed memory that a kernel fills.
// scenario: CPU-GPU UVM WW
// table 3: race, found
// detector: collide
// detector: oracle later (loads and stores of host code are not seen)
// expect oracle: unordered at fill
// expect collide: lost-update at fill
// may: host
// twin: cpu_gpu_uvm_ww.fixed.cu

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
		data[r * N + i] = (unsigned)(r * N + i + 1) * 3; // race: fill
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
	for (unsigned pass = 1; pass <= PASSES; pass++) {
		/* Asking whether it has ended makes a device without a GPU go on, too. */
		(void)cudaStreamQuery(stream);
		for (size_t i = 0; i < want.size(); i++)
			data[i] = (unsigned)(i + 1) * 8 + pass; // race: host
	}
	CHECK(cudaStreamSynchronize(stream));
	got.assign(data, data + want.size());
	CHECK(cudaStreamDestroy(stream));
	CHECK(cudaFree(data));
	return example_finish(got == want, example_checksum(got));
}
