// cpu_gpu_uvm_rw_gpu_reads.cu - the host goes on updating managed memory while a kernel reads it.
// scenario: CPU-GPU UVM RW (the GPU reads)
// table 3: race, found
// detector: collide
// detector: oracle later (loads and stores of host code are not seen)
// expect oracle: unordered at takes
// expect collide: clobbered-read at takes
// may: gives
// twin: cpu_gpu_uvm_rw_gpu_reads.fixed.cu

#include "hadron.h"

static const int BLOCKS = 32;
static const int THREADS = 64;
static const int N = BLOCKS * THREADS;
static const int ROUNDS = 64;
static const unsigned PASSES = 16;

__global__ void consume(const unsigned *data, unsigned *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned acc = 0;

	for (int r = ROUNDS - 1; r >= 0; r--)
		acc = acc * 31 + data[r * N + i]; // race: takes
	out[i] = acc;
}

int main()
{
	std::vector<unsigned> in = hadron_numbers(ROUNDS * N, 21), want(N), got;

	for (size_t i = 0; i < want.size(); i++)
		for (size_t r = ROUNDS; r--;)
			want[i] = want[i] * 31 + in[r * N + i] + PASSES;
	unsigned *data = hadron_managed(in.size());
	unsigned *d_out = example_upload(want);
	cudaStream_t stream = hadron_stream();
	CHECK(cudaDeviceSynchronize());
	consume<<<BLOCKS, THREADS, 0, stream>>>(data, d_out);
	CHECK(cudaGetLastError());
	for (unsigned pass = 1; pass <= PASSES; pass++) {
		/* Asking whether it has ended makes a device without a GPU go on, too. */
		(void)cudaStreamQuery(stream);
		for (size_t i = 0; i < in.size(); i++)
			data[i] = in[i] + pass; // race: gives
	}
	CHECK(cudaStreamSynchronize(stream));
	got = example_download(d_out, want.size());
	CHECK(cudaStreamDestroy(stream));
	CHECK(cudaFree(data));
	CHECK(cudaFree(d_out));
	return example_finish(got == want, example_checksum(got));
}
