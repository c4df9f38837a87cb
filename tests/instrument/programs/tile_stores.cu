// tile_stores.cu - warps store a tile each with stmatrix, in turns, plain and transposed. -DRACY: the
// next warp stores to the same tile without a barrier between.
// expect: lost-update at tile

#include "example.h"

static const int BLOCKS = 4;
static const int WARPS = 4;
static const int ROUNDS = 12;

#define STMATRIX4(row, a, b, c, d)                                                                 \
	asm volatile(                                                                              \
		"stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row),     \
		"r"(a), "r"(b), "r"(c), "r"(d)                                                     \
		: "memory")
#define STMATRIX2_TRANS(row, a, b)                                                                 \
	asm volatile(                                                                              \
		"stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0+256], {%1, %2};" ::"r"(row),   \
		"r"(a), "r"(b)                                                                     \
		: "memory")

__global__ void tiles(const unsigned *in, unsigned *out)
{
	__shared__ __align__(16) unsigned tile[WARPS][32][4];
	int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

	for (int r = 0; r < ROUNDS; r++) {
		unsigned v[6];
		for (int k = 0; k < 6; k++)
			v[k] = in[((r * WARPS + warp) * 6 + k) * 32 + lane] + blockIdx.x;
#ifdef RACY
		int to = 0;
#else
		int to = (warp + r) % WARPS;
#endif
		unsigned row = (unsigned)__cvta_generic_to_shared(tile[to][lane]);
		STMATRIX4(row, v[0], v[1], v[2], v[3]);	  // race: tile
		if (r % 2) { // the upper half once more, transposed: from other lanes
			__syncwarp();
			STMATRIX2_TRANS(row, v[4], v[5]); // race: tile
		}
		__syncthreads();
		for (int k = 0; k < 4; k++)
			out[((blockIdx.x * ROUNDS + r) * WARPS + warp) * 128 + k * 32 + lane] =
				tile[(warp + r) % WARPS][lane][k];
		__syncthreads();
	}
}

int main()
{
	std::vector<unsigned> in(ROUNDS * WARPS * 6 * 32), want(BLOCKS * ROUNDS * WARPS * 128), got;
	uint32_t seed = 5;

	for (unsigned &x : in)
		x = example_random(&seed) * 251;
	for (int b = 0; b < BLOCKS; b++)
		for (int rw = 0; rw < ROUNDS * WARPS; rw++) {
			unsigned short half[256];
			for (int k = 0; k < (rw / WARPS % 2 ? 6 : 4); k++)
				for (int l = 0; l < 32; l++)
					for (int e = 0; e < 2; e++) {
						unsigned v =
							in[(rw * 6 + k) * 32 + l] + (unsigned)b;
						int row = k < 4 ? l / 4 : l % 4 * 2 + e;
						int col = k < 4 ? l % 4 * 2 + e : l / 4;
						int matrix = k < 4 ? k : k - 2;
						half[(matrix * 8 + row) * 8 + col] =
							(unsigned short)(e ? v >> 16 : v);
					}
			for (int l = 0; l < 32; l++)
				for (int k = 0; k < 4; k++)
					want[(b * ROUNDS * WARPS + rw) * 128 + k * 32 + l] =
						half[l * 8 + k * 2] |
						(unsigned)half[l * 8 + k * 2 + 1] << 16;
		}
	unsigned *d_in = example_upload(in), *d_out = example_upload(want);
	tiles<<<BLOCKS, WARPS * 32>>>(d_in, d_out);
	CHECK(cudaGetLastError());
	got = example_download(d_out, want.size());
	return example_finish(got == want, example_checksum(got));
}
