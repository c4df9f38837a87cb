// streams_events.cu - kernels of two streams pass arrays to each other, ordered by events.
//
// Kernels on different arrays overlap in time; the copy engine writes a third array meanwhile.
// expect: nothing

#include "racefree.h"

static const int N = 1 << 18;

__global__ void work(const unsigned *from, unsigned *to, unsigned k)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	to[i] = from[i] * 3 + from[N - 1 - i] + k;
}

int main(int argc, char **argv)
{
	int loops = racefree_loops(argc, argv, 40);
	std::vector<unsigned> a(N), b(N), spare(N), got;
	cudaStream_t s[2];
	cudaEvent_t done[2];
	uint32_t seed = 1;

	for (unsigned &x : a)
		x = example_random(&seed);
	unsigned *d_a = example_upload(a), *d_b = example_upload(a), *d_other = example_upload(a);
	for (int i = 0; i < 2; i++) {
		CHECK(cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking));
		CHECK(cudaEventCreateWithFlags(&done[i], cudaEventDisableTiming));
	}
	CHECK(cudaDeviceSynchronize());
	for (int k = 0; k < loops; k++) {
		RUN(work<<<N / 256, 256, 0, s[0]>>>(d_a, d_b, (unsigned)k));
		CHECK(cudaEventRecord(done[0], s[0]));
		/* Nothing to do with a and b: runs beside. */
		CHECK(cudaMemsetAsync(d_other, k, N * sizeof(unsigned), s[1]));
		CHECK(cudaStreamWaitEvent(s[1], done[0], 0));
		RUN(work<<<N / 256, 256, 0, s[1]>>>(d_b, d_a, (unsigned)k));
		CHECK(cudaEventRecord(done[1], s[1]));
		CHECK(cudaStreamWaitEvent(s[0], done[1], 0));
	}
	CHECK(cudaDeviceSynchronize());
	for (unsigned k = 0; k < (unsigned)loops; k++) {
		for (size_t i = 0; i < N; i++)
			b[i] = a[i] * 3 + a[N - 1 - i] + k;
		for (size_t i = 0; i < N; i++)
			a[i] = b[i] * 3 + b[N - 1 - i] + k;
	}
	got = example_download(d_a, N);
	for (int i = 0; i < 2; i++) {
		CHECK(cudaStreamDestroy(s[i]));
		CHECK(cudaEventDestroy(done[i]));
	}
	CHECK(cudaFree(d_a));
	CHECK(cudaFree(d_b));
	CHECK(cudaFree(d_other));
	return example_finish(got == a, example_checksum(got));
}
