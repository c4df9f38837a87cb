// stencil.cu - three-point stencil in place: neighbours are read while others write them.
// No barrier could help inside one launch, as the neighbours belong to other blocks too.
// detector: collide
// expect collide: clobbered-read at update
// expect oracle: unordered at update
// twin: stencil.fixed.cu

#include "example.h"

static const int THREADS = 256;
static const int BLOCKS = 64;
static const int N = BLOCKS * THREADS;
static const int STEPS = 20;

__global__ void step(unsigned *to, int n)
{
	unsigned *from = to;
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i > 0 && i < n - 1)
		to[i] = from[i - 1] + 2 * from[i] + from[i + 1] + 1; // race: update
}

int main()
{
	std::vector<unsigned> u(N), next(N), got;
	uint32_t seed = 2;

	for (unsigned &x : u)
		x = example_random(&seed);
	next = u;
	unsigned *d_u = example_upload(u);
	unsigned *d_next = example_upload(u);
	for (int s = 0; s < STEPS; s++) {
		for (int i = 1; i < N - 1; i++)
			next[i] = u[i - 1] + 2 * u[i] + u[i + 1] + 1;
		u.swap(next);
		step<<<BLOCKS, THREADS>>>(d_u, N);
		CHECK(cudaGetLastError());
	}
	got = example_download(d_u, N);
	CHECK(cudaFree(d_u));
	CHECK(cudaFree(d_next));
	return example_finish(got == u, example_checksum(got));
}
