// streams_events.cu - kernels of two streams pass arrays to each other, ordered by events.
//
// Kernels on different arrays overlap in time; the copy engine writes a third array meanwhile.
// expect: nothing
// small: 4 32

#include "racefree.h"

static const int THREADS = 256;

__global__ void work(const unsigned *from, unsigned *to, int n, unsigned k)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	to[i] = from[i] * 3 + from[n - 1 - i] + k;
}

int main(int argc, char **argv)
{
	int loops = racefree_loops(argc, argv, 40);
	const size_t n = (size_t)racefree_part(argc, argv, 1024) * THREADS;
	std::vector<unsigned> a(n), b(n), got;
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
		RUN(work<<<n / THREADS, THREADS, 0, s[0]>>>(d_a, d_b, (int)n, (unsigned)k));
		CHECK(cudaEventRecord(done[0], s[0]));
		/* Nothing to do with a and b: runs beside. */
		CHECK(cudaMemsetAsync(d_other, k, n * sizeof(unsigned), s[1]));
		CHECK(cudaStreamWaitEvent(s[1], done[0], 0));
		RUN(work<<<n / THREADS, THREADS, 0, s[1]>>>(d_b, d_a, (int)n, (unsigned)k));
		CHECK(cudaEventRecord(done[1], s[1]));
		CHECK(cudaStreamWaitEvent(s[0], done[1], 0));
	}
	CHECK(cudaDeviceSynchronize());
	for (unsigned k = 0; k < (unsigned)loops; k++) {
		for (size_t i = 0; i < n; i++)
			b[i] = a[i] * 3 + a[n - 1 - i] + k;
		for (size_t i = 0; i < n; i++)
			a[i] = b[i] * 3 + b[n - 1 - i] + k;
	}
	got = example_download(d_a, n);
	for (int i = 0; i < 2; i++) {
		CHECK(cudaStreamDestroy(s[i]));
		CHECK(cudaEventDestroy(done[i]));
	}
	CHECK(cudaFree(d_a));
	CHECK(cudaFree(d_b));
	CHECK(cudaFree(d_other));
	return example_finish(got == a, example_checksum(got));
}
