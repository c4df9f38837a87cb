// cpu_gpu_uvm_ww.cu - the host and a kernel write the same managed memory, in opposite orders.
// scenario: CPU-GPU UVM WW
// table 3: race, found
// detector: collide
// expect collide: lost-update at fill
// may: host
// twin: cpu_gpu_uvm_ww.fixed.cu

#include "hadron.h"

static const int BLOCKS = 8;
static const int THREADS = 64;
static const int N = BLOCKS * THREADS;
static const int ROUNDS = 64;

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
		want[i] = (unsigned)(i + 1) * 7;
	unsigned *data = hadron_managed(want.size());
	cudaStream_t stream = hadron_stream();
	fill<<<BLOCKS, THREADS, 0, stream>>>(data);
	CHECK(cudaGetLastError());
	for (size_t i = 0; i < want.size(); i++) {
		/* Asking whether it has ended makes a device without a GPU go on, too. */
		if (i % THREADS == 0)
			(void)cudaStreamQuery(stream);
		data[i] = want[i]; // race: host
	}
	CHECK(cudaStreamSynchronize(stream));
	got.assign(data, data + want.size());
	CHECK(cudaStreamDestroy(stream));
	CHECK(cudaFree(data));
	return example_finish(got == want, example_checksum(got));
}
