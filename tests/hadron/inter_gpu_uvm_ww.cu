// inter_gpu_uvm_ww.cu - two GPUs write the same managed memory, in opposite orders.
// scenario: Inter-GPU UVM WW
// table 3: race, found
// devices: 2
// detector: collide
// delays: 1000000/1000000
// expect collide: lost-update at fill
// expect oracle: unordered at fill
// twin: inter_gpu_uvm_ww.fixed.cu

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
	hadron_need_devices(2);
	std::vector<unsigned> want(ROUNDS * N), got;

	for (size_t i = 0; i < want.size(); i++)
		want[i] = (unsigned)(i + 1) * 7;
	unsigned *data = hadron_managed(want.size());
	CHECK(cudaSetDevice(1));
	cudaStream_t second = hadron_stream();
	CHECK(cudaSetDevice(0));
	cudaStream_t first = hadron_stream();
	fill<<<BLOCKS, THREADS, 0, first>>>(data, 3, false);
	CHECK(cudaGetLastError());
	CHECK(cudaSetDevice(1));
	fill<<<BLOCKS, THREADS, 0, second>>>(data, 7, true);
	CHECK(cudaGetLastError());
	CHECK(cudaStreamSynchronize(first));
	CHECK(cudaStreamSynchronize(second));
	got.assign(data, data + want.size());
	CHECK(cudaStreamDestroy(first));
	CHECK(cudaStreamDestroy(second));
	CHECK(cudaFree(data));
	return example_finish(got == want, example_checksum(got));
}
