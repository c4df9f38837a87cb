// inter_kernel_gmem_rw.cu - a consumer kernel reads what a producer kernel in another stream is
// still writing.
// scenario: Inter-kernel GMEM RW
// table 3: race, found
// detector: collide
// delays: 20000/20000
// expect collide: clobbered-read at takes
// expect oracle: unordered at gives
// expect oracle: unordered at takes
// may: gives
// twin: inter_kernel_gmem_rw.fixed.cu

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
	std::vector<unsigned> in = hadron_numbers(ROUNDS * N, 16), zeros(in.size()), want(N), got;

	for (size_t i = 0; i < want.size(); i++)
		for (size_t r = ROUNDS; r--;)
			want[i] = want[i] * 31 + in[r * N + i] * 3 + 1;
	unsigned *d_in = example_upload(in);
	unsigned *d_data = example_upload(zeros);
	unsigned *d_out = example_upload(want);
	cudaStream_t first = hadron_stream(), second = hadron_stream();
	CHECK(cudaDeviceSynchronize());
	produce<<<BLOCKS, THREADS, 0, first>>>(d_in, d_data);
	consume<<<BLOCKS, THREADS, 0, second>>>(d_data, d_out);
	CHECK(cudaGetLastError());
	CHECK(cudaDeviceSynchronize());
	got = example_download(d_out, want.size());
	CHECK(cudaStreamDestroy(first));
	CHECK(cudaStreamDestroy(second));
	CHECK(cudaFree(d_in));
	CHECK(cudaFree(d_data));
	CHECK(cudaFree(d_out));
	return example_finish(got == want, example_checksum(got));
}
