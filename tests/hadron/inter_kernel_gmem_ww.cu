// inter_kernel_gmem_ww.cu - two kernels in different streams write the same addresses, in opposite
// orders.
// scenario: Inter-kernel GMEM WW
// table 3: race, found
// detector: collide
// delays: 20000/20000
// expect collide: lost-update at fill
// expect oracle: unordered at fill
// twin: inter_kernel_gmem_ww.fixed.cu

#include "hadron.h"

static const int BLOCKS = 8;
static const int THREADS = 64;
static const int N = BLOCKS * THREADS;
static const int ROUNDS = 64;

__global__ void fill(unsigned *data, unsigned factor, bool is_backward)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	for (int k = 0; k < ROUNDS; k++) {
		int r = is_backward ? ROUNDS - 1 - k : k;

		data[r * N + i] = (unsigned)(r * N + i + 1) * factor; // race: fill
	}
}

int main()
{
	std::vector<unsigned> want(ROUNDS * N), got;

	unsigned *d_data = example_upload(want);
	cudaStream_t first = hadron_stream(), second = hadron_stream();
	for (size_t i = 0; i < want.size(); i++)
		want[i] = (unsigned)(i + 1) * 7;
	CHECK(cudaDeviceSynchronize());
	fill<<<BLOCKS, THREADS, 0, first>>>(d_data, 3, false);
	fill<<<BLOCKS, THREADS, 0, second>>>(d_data, 7, true);
	CHECK(cudaGetLastError());
	CHECK(cudaDeviceSynchronize());
	got = example_download(d_data, want.size());
	CHECK(cudaStreamDestroy(first));
	CHECK(cudaStreamDestroy(second));
	CHECK(cudaFree(d_data));
	return example_finish(got == want, example_checksum(got));
}
