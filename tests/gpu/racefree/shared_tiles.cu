// shared_tiles.cu - matrix product with double-buffered tiles in shared memory, one barrier a step.
// expect: nothing
// small: 1 8

#include "racefree.h"

static const int TILE = 16;

__global__ void product(const unsigned *a, const unsigned *b, unsigned *c, int n)
{
	__shared__ unsigned ta[2][TILE][TILE], tb[2][TILE][TILE];
	int x = threadIdx.x, y = threadIdx.y;
	int col = blockIdx.x * TILE + x, row = blockIdx.y * TILE + y;
	unsigned sum = 0;

	for (int k = 0, cur = 0; k < n; k += TILE, cur ^= 1) {
		ta[cur][y][x] = a[row * n + k + x];
		tb[cur][y][x] = b[(k + y) * n + col];
		__syncthreads();
		for (int i = 0; i < TILE; i++)
			sum += ta[cur][y][i] * tb[cur][i][x];
	}
	c[row * n + col] = sum;
}

int main(int argc, char **argv)
{
	int loops = racefree_loops(argc, argv, 4);
	const size_t n = racefree_part(argc, argv, 32) * TILE;
	std::vector<unsigned> a(n * n), b(n * n), zero(n * n), got, want;
	uint32_t seed = 1;
	bool is_right = true;

	for (size_t i = 0; i < a.size(); i++) {
		a[i] = example_random(&seed);
		b[i] = example_random(&seed);
	}
	unsigned *d_a = example_upload(a), *d_b = example_upload(b), *d_c = example_upload(zero);
	for (int k = 0; k < loops; k++) {
		RUN(product<<<dim3(n / TILE, n / TILE), dim3(TILE, TILE)>>>(d_a, d_b, d_c, (int)n));
		got = example_download(d_c, zero.size());
		for (size_t row = 3; row < n; row += 61)
			for (size_t col = 0; col < n; col++) {
				unsigned sum = 0;

				for (size_t i = 0; i < n; i++)
					sum += a[row * n + i] * b[i * n + col];
				is_right = is_right && got[row * n + col] == sum;
			}
	}
	CHECK(cudaFree(d_a));
	CHECK(cudaFree(d_b));
	CHECK(cudaFree(d_c));
	return example_finish(is_right, example_checksum(got));
}
