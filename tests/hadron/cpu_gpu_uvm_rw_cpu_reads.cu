// cpu_gpu_uvm_rw_cpu_reads.cu - the host reads managed memory that a kernel is still writing.
// scenario: CPU-GPU UVM RW (the CPU reads)
// table 3: race, missed
// detector: collide
// flags: --host
// detector: oracle later (loads and stores of host code are not seen)
// expect oracle: unordered at gives
// expect collide: clobbered-read at takes
// may: gives
// twin: cpu_gpu_uvm_rw_cpu_reads.fixed.cu

#include "hadron.h"

static const int BLOCKS = 8;
static const int THREADS = 64;
static const int N = BLOCKS * THREADS;
static const int ROUNDS = 64;

__global__ void produce(const unsigned *in, unsigned *data)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	for (int r = 0; r < ROUNDS; r++)
		data[r * N + i] = in[r * N + i] * 3 + 1; // race: gives
}

int main()
{
	std::vector<unsigned> in = hadron_numbers(ROUNDS * N, 20), want(N), got(N);

	for (size_t i = 0; i < want.size(); i++)
		for (size_t r = ROUNDS; r--;)
			want[i] = want[i] * 31 + in[r * N + i] * 3 + 1;
	unsigned *data = hadron_managed(in.size());
	unsigned *d_in = example_upload(in);
	cudaStream_t stream = hadron_stream();
	CHECK(cudaDeviceSynchronize());
	produce<<<BLOCKS, THREADS, 0, stream>>>(d_in, data);
	CHECK(cudaGetLastError());
	for (size_t r = ROUNDS; r--;) {
		/* Asking whether it has ended makes a device without a GPU go on, too. */
		(void)cudaStreamQuery(stream);
		for (size_t i = 0; i < got.size(); i++)
			got[i] = got[i] * 31 + data[r * N + i]; // race: takes
	}
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaStreamDestroy(stream));
	CHECK(cudaFree(d_in));
	CHECK(cudaFree(data));
	return example_finish(got == want, example_checksum(got));
}
