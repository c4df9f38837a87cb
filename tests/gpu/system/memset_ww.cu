// memset_ww.cu - cudaMemsetAsync clears what a kernel in another stream is writing.
// scenario: memset_ww
// table 3: race, not in it
// detector: collide
// expect collide: lost-update at fill
// may: gives
// twin: -DFIXED: the other stream waits for an event of the kernel's

#include "hadron.h"

static const int BLOCKS = 16;
static const int THREADS = 64;
static const int N = BLOCKS * THREADS;
static const int ROUNDS = 64;
static const size_t TOTAL = (size_t)ROUNDS * N;
static const size_t BYTES = TOTAL * sizeof(unsigned);
static const int COPIES = 8;

__global__ void produce(const unsigned *in, unsigned *data)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	for (int r = ROUNDS - 1; r >= 0; r--)
		data[r * N + i] = in[r * N + i] * 3; // race: gives
}

int main()
{
	std::vector<unsigned> in = hadron_numbers(TOTAL, 17), zeros(TOTAL), want(in), got;
	unsigned *d_in = example_upload(in), *d_data = example_upload(zeros);
	cudaStream_t first = hadron_stream(), second = hadron_stream();
	CHECK(cudaDeviceSynchronize());
	produce<<<BLOCKS, THREADS, 0, first>>>(d_in, d_data);
	CHECK(cudaGetLastError());
#ifdef FIXED
	hadron_order(first, second);
#endif
	for (int i = 0; i < COPIES; i++)
		CHECK(cudaMemsetAsync(d_data, i, BYTES, second)); // race: fill
	CHECK(cudaDeviceSynchronize());
	want.assign(TOTAL, (COPIES - 1) * 0x01010101u);
	got = example_download(d_data, TOTAL);
	CHECK(cudaStreamDestroy(first));
	CHECK(cudaStreamDestroy(second));
	CHECK(cudaFree(d_in));
	CHECK(cudaFree(d_data));
	return example_finish(got == want, example_checksum(got));
}
