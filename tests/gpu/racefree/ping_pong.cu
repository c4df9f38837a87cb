// ping_pong.cu - 3D stencil from one array to another, exchanged between launches.
//
// The bulk of the checked accesses: eight a point, 2 million points, many steps.
// expect: nothing
// small: 2 4

#include "racefree.h"


__global__ void step(const unsigned *from, unsigned *to, int n)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x;
	int y = blockIdx.y * blockDim.y + threadIdx.y;

	for (int z = 0; z < n; z++) {
		int i = (z * n + y) * n + x;
		unsigned v = 2 * from[i];

		v += from[x > 0 ? i - 1 : i] + from[x < n - 1 ? i + 1 : i];
		v += from[y > 0 ? i - n : i] + from[y < n - 1 ? i + n : i];
		v += from[z > 0 ? i - n * n : i] + from[z < n - 1 ? i + n * n : i];
		to[i] = v;
	}
}

/* A sum that doesn't depend on the order, and can be foretold: each step keeps sum times 8. */
__global__ void total(const unsigned *a, unsigned *sum, int n)
{
	unsigned v = 0;

	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n * n * n;
	     i += gridDim.x * blockDim.x)
		v += a[i];
	atomicAdd(sum, v);
}

int main(int argc, char **argv)
{
	int steps = racefree_loops(argc, argv, 100);
	/* A multiple of a block's 32. */
	int n = (racefree_part(argc, argv, 128) + 31) / 32 * 32;
	std::vector<unsigned> a((size_t)n * n * n), got;
	unsigned want = 0;
	uint32_t seed = 1;

	for (unsigned &x : a)
		want += x = example_random(&seed);
	unsigned *d_a = example_upload(a), *d_b = example_upload(a);
	unsigned *d_sum = example_upload(std::vector<unsigned>(1));
	for (int s = 0; s < steps; s++) {
		RUN(step<<<dim3(n / 32, n / 4), dim3(32, 4)>>>(d_a, d_b, n));
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
	RUN(total<<<264, 256>>>(d_a, d_sum, n));
	unsigned sum = example_download(d_sum, 1)[0];
	got = example_download(d_a, a.size());
	CHECK(cudaFree(d_a));
	CHECK(cudaFree(d_b));
	CHECK(cudaFree(d_sum));
	return example_finish(sum == want, example_checksum(got));
}
