// transpose.cu - transpose in place where each thread copies one element to the other side of
// the diagonal: the element it overwrites may not have been read yet.
// detector: collide
// expect collide: clobbered-read at copy
// expect oracle: unordered at copy
// twin: transpose.fixed.cu

#include "example.h"

static const int SIDE = 256;
static const int TILE = 16;

__global__ void transpose(unsigned *a, int n)
{
	int x = blockIdx.x * TILE + threadIdx.x;
	int y = blockIdx.y * TILE + threadIdx.y;

	a[y * n + x] = a[x * n + y]; // race: copy
}

int main()
{
	std::vector<unsigned> a(SIDE * SIDE), want(SIDE * SIDE), got;
	dim3 blocks(SIDE / TILE, SIDE / TILE), threads(TILE, TILE);
	uint32_t seed = 4;

	for (unsigned &x : a)
		x = example_random(&seed);
	for (int y = 0; y < SIDE; y++)
		for (int x = 0; x < SIDE; x++)
			want[y * SIDE + x] = a[x * SIDE + y];
	unsigned *d_a = example_upload(a);
	transpose<<<blocks, threads>>>(d_a, SIDE);
	CHECK(cudaGetLastError());
	got = example_download(d_a, a.size());
	CHECK(cudaFree(d_a));
	return example_finish(got == want, example_checksum(got));
}
