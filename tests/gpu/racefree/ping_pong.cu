// ping_pong.cu - 3D stencil from one array to another, exchanged between launches.
//
// The bulk of the checked accesses: eight a point, 2 million points, many steps.
// expect: nothing

#include "racefree.h"

static const int N = 128;

__global__ void step(const unsigned *from, unsigned *to)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x;
	int y = blockIdx.y * blockDim.y + threadIdx.y;

	for (int z = 0; z < N; z++) {
		int i = (z * N + y) * N + x;
		unsigned v = 2 * from[i];

		v += from[x > 0 ? i - 1 : i] + from[x < N - 1 ? i + 1 : i];
		v += from[y > 0 ? i - N : i] + from[y < N - 1 ? i + N : i];
		v += from[z > 0 ? i - N * N : i] + from[z < N - 1 ? i + N * N : i];
		to[i] = v;
	}
}

/* A sum that doesn't depend on the order, and can be foretold: each step keeps sum times 8. */
__global__ void total(const unsigned *a, unsigned *sum)
{
	unsigned v = 0;

	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N * N * N;
	     i += gridDim.x * blockDim.x)
		v += a[i];
	atomicAdd(sum, v);
}

int main(int argc, char **argv)
{
	int steps = racefree_loops(argc, argv, 100);
	std::vector<unsigned> a((size_t)N * N * N), got;
	unsigned want = 0;
	uint32_t seed = 1;

	for (unsigned &x : a)
		want += x = example_random(&seed);
	unsigned *d_a = example_upload(a), *d_b = example_upload(a);
	unsigned *d_sum = example_upload(std::vector<unsigned>(1));
	for (int s = 0; s < steps; s++) {
		RUN(step<<<dim3(N / 32, N / 4), dim3(32, 4)>>>(d_a, d_b));
		std::swap(d_a, d_b);
		/* Every point gives 2 to itself and 1 to each of 6 neighbours (or to itself). */
		want *= 8;
		if (s % 8 == 7) { /* 8^11 is 0 in 32 bits: start again before all is lost */
			std::vector<unsigned> now = example_download(d_a, a.size());
			for (unsigned &x : now)
				x = x / 3 + 1;
			want = 0;
			for (unsigned x : now)
				want += x;
			CHECK(cudaMemcpy(d_a, now.data(), now.size() * sizeof(unsigned),
					 cudaMemcpyHostToDevice));
		}
	}
	RUN(total<<<264, 256>>>(d_a, d_sum));
	unsigned sum = example_download(d_sum, 1)[0];
	got = example_download(d_a, a.size());
	CHECK(cudaFree(d_a));
	CHECK(cudaFree(d_b));
	CHECK(cudaFree(d_sum));
	return example_finish(sum == want, example_checksum(got));
}
