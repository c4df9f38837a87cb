// invented_vector.cu - three neighbours are loaded as a vector of four at -O3, the fourth unused.
//
// A point has three coordinates and a mark in one 16-byte cell. One half of the grid reads the
// coordinates, the other half writes the marks: different words, no race. The vector load
// covers the mark and drops it.
// expect: nothing
// small: 1
// ptx: ld\.global\.v4\.u32

#include "racefree.h"

static const int THREADS = 256;
static const int BLOCKS = 264;
static const int CELLS = THREADS * BLOCKS;

struct __align__(16) cell
{
	unsigned x, y, z, mark;
};

__global__ void coordinates_and_marks(cell *c, unsigned *out, int n, int loops)
{
	int i = (blockIdx.x / 2) * THREADS + threadIdx.x;
	unsigned sum = 0;

	for (int k = 0; k < loops; k++) {
		for (int j = i; j < n; j += gridDim.x / 2 * THREADS) {
			if (blockIdx.x % 2 == 0)
				sum = sum * 3 + c[j].x + 5 * c[j].y + 7 * c[j].z; // invented read
			else
				c[j].mark = k + j;
		}
		asm volatile("" ::: "memory");
	}
	if (blockIdx.x % 2 == 0)
		out[i] = sum;
}

int main(int argc, char **argv)
{
	int loops = racefree_loops(argc, argv, 64);
	std::vector<cell> c(CELLS);
	std::vector<unsigned> want(CELLS / 2), zero(CELLS / 2), got;
	uint32_t seed = 1;
	bool is_right = true;

	for (cell &p : c) {
		p.x = example_random(&seed);
		p.y = example_random(&seed);
		p.z = example_random(&seed);
	}
	for (int i = 0; i < CELLS / 2; i++)
		for (int k = 0; k < loops; k++)
			for (int j = i; j < CELLS; j += CELLS / 2)
				want[(size_t)i] = want[(size_t)i] * 3 + c[(size_t)j].x +
						  5 * c[(size_t)j].y + 7 * c[(size_t)j].z;
	cell *d_c = example_upload(c);
	unsigned *d_out = example_upload(zero);
	RUN(coordinates_and_marks<<<BLOCKS, THREADS>>>(d_c, d_out, CELLS, loops));
	got = example_download(d_out, zero.size());
	std::vector<cell> after = example_download(d_c, c.size());
	for (int j = 0; j < CELLS; j++)
		is_right = is_right && after[(size_t)j].mark == (unsigned)(loops - 1 + j) &&
			   after[(size_t)j].x == c[(size_t)j].x;
	CHECK(cudaFree(d_c));
	CHECK(cudaFree(d_out));
	return example_finish(is_right && got == want, example_checksum(got));
}
