// first_last.cu - vector addition where the last thread stores to the first element by mistake:
// a race between the first and the last block. The grid is small, so both run together; in a
// large one they never meet, and only a changed order of blocks shows it.
// detector: collide
// expect collide: lost-update at store
// expect oracle: unordered at store
// twin: first_last.fixed.cu

#include "example.h"

static const int THREADS = 64;
static const int BLOCKS = 8;
static const int N = THREADS * BLOCKS;
static const int ROUNDS = 200;

__global__ void add(const int *a, const int *b, int *c, int n)
{
	int i = blockDim.x * blockIdx.x + threadIdx.x;
	int to = i == n - 1 ? 0 : i;

	if (i < n)
		c[to] = a[i] + b[i]; // race: store
}

int main()
{
	std::vector<int> a(N), b(N), c(ROUNDS * N), want(ROUNDS * N), got;

	for (int i = 0; i < N; i++) {
		a[i] = i;
		b[i] = 7 * i + 1;
	}
	for (int i = 0; i < ROUNDS * N; i++)
		want[i] = a[i % N] + b[i % N];
	int *d_a = example_upload(a);
	int *d_b = example_upload(b);
	int *d_c = example_upload(c);
	for (int round = 0; round < ROUNDS; round++) {
		add<<<BLOCKS, THREADS>>>(d_a, d_b, d_c + round * N, N);
		CHECK(cudaGetLastError());
	}
	got = example_download(d_c, c.size());
	CHECK(cudaFree(d_a));
	CHECK(cudaFree(d_b));
	CHECK(cudaFree(d_c));
	return example_finish(got == want, example_checksum(got));
}
