// memcpy_htod_rw.cu - a kernel reads what cudaMemcpyAsync in another stream is still bringing.
// scenario: cudaMemcpyAsync (HtoD) RW
// table 3: race, found
// detector: collide
// delays: 20000/20000
// expect collide: clobbered-read at takes
// expect oracle: unordered at takes
// twin: memcpy_htod_rw.fixed.cu

#include "hadron.h"

static const int BLOCKS = 16;
static const int THREADS = 64;
static const int N = BLOCKS * THREADS;
static const int PASSES = 8; /* until the copy has come */
static const int ROUNDS = 64;
static const size_t TOTAL = (size_t)2 << 20; /* words */
static const size_t STRIDE = TOTAL / ROUNDS;

/* Samples of the whole buffer, from its end, as the copy begins at its start. */
__global__ void consume(const unsigned *data, unsigned *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned acc = 0;

	for (int p = 0; p < PASSES; p++)
		for (int r = ROUNDS - 1; r >= 0; r--)
			acc = acc * 31 + data[r * STRIDE + i]; // race: takes
	out[i] = acc;
}

int main()
{
	std::vector<unsigned> want(N), got;
	unsigned *host = nullptr, *d_data = nullptr;

	CHECK(cudaMallocHost(&host, TOTAL * sizeof(*host)));
	for (size_t i = 0; i < TOTAL; i++)
		host[i] = (unsigned)i * 2654435761u | 1;
	for (size_t i = 0; i < want.size(); i++)
		for (size_t r = PASSES * ROUNDS; r--;)
			want[i] = want[i] * 31 + host[r % ROUNDS * STRIDE + i];
	CHECK(cudaMalloc(&d_data, TOTAL * sizeof(*d_data)));
	CHECK(cudaMemset(d_data, 0, TOTAL * sizeof(*d_data)));
	unsigned *d_out = example_upload(want);
	cudaStream_t first = hadron_stream(), second = hadron_stream();
	CHECK(cudaDeviceSynchronize());
	consume<<<BLOCKS, THREADS, 0, second>>>(d_data, d_out);
	CHECK(cudaMemcpyAsync(d_data, host, TOTAL * sizeof(*host), cudaMemcpyHostToDevice, first));
	CHECK(cudaGetLastError());
	CHECK(cudaDeviceSynchronize());
	got = example_download(d_out, want.size());
	CHECK(cudaStreamDestroy(first));
	CHECK(cudaStreamDestroy(second));
	CHECK(cudaFreeHost(host));
	CHECK(cudaFree(d_data));
	CHECK(cudaFree(d_out));
	return example_finish(got == want, example_checksum(got));
}
