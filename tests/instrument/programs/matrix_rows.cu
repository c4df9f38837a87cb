// matrix_rows.cu - tiles that one warp fills and the next reads with ldmatrix, in turns. -DRACY:
// without barriers, so that the warps drift apart.
// expect: clobbered-read at rows
// also built, in soak: --inline-checks=0

#include "example.h"

static const int BLOCKS = 4;
static const int WARPS = 4;
static const int ROUNDS = 16;

#define LDMATRIX4(a, b, c, d, row)                                                                 \
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"      \
		     : "=r"(a), "=r"(b), "=r"(c), "=r"(d)                                          \
		     : "r"(row)                                                                    \
		     : "memory")
#define LDMATRIX1(a, row)                                                                          \
	asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"                        \
		     : "=r"(a)                                                                     \
		     : "r"(row)                                                                    \
		     : "memory")

__global__ void turn(const unsigned *in, unsigned *out)
{
	__shared__ __align__(16) unsigned tile[WARPS][32][4];
	int lane = threadIdx.x % 32, warp = threadIdx.x / 32, from = (warp + 1) % WARPS;
	unsigned acc = 0;

	for (int r = 0; r < ROUNDS; r++) {
		for (int w = 0; w < 4; w++)
			tile[warp][lane][w] =
				in[(r * WARPS + warp) * 128 + lane * 4 + w] + blockIdx.x;
#ifndef RACY
		__syncthreads();
#endif
		unsigned a, b, c, d, e;
		unsigned row = (unsigned)__cvta_generic_to_shared(tile[from][lane]);
		unsigned first = lane < 8 ? row : 0x7ffff0; // taken of eight lanes only
		LDMATRIX4(a, b, c, d, row);		    // race: rows
		LDMATRIX1(e, first);			    // race: rows
		acc = acc * 31 + (a ^ b * 3 ^ c * 5 ^ d * 7 ^ e * 11);
#ifndef RACY
		__syncthreads();
#endif
	}
	out[blockIdx.x * blockDim.x + threadIdx.x] = acc;
}

/* Element e (0, 1) of lane l of the tile's matrix m, plain or transposed. */
static unsigned cell(const std::vector<unsigned> &in, int tile, int m, int l, int e, bool trans,
		     unsigned add)
{
	int row = trans ? l % 4 * 2 + e : l / 4, col = trans ? l / 4 : l % 4 * 2 + e;
	unsigned word = in[tile * 128 + (m * 8 + row) * 4 + col / 2] + add;

	return col % 2 ? word >> 16 : word & 0xffff;
}

int main()
{
	std::vector<unsigned> in(ROUNDS * WARPS * 128), want(BLOCKS * WARPS * 32), got;
	uint32_t seed = 3;

	for (unsigned &x : in)
		x = example_random(&seed);
	for (int i = 0; i < (int)want.size(); i++)
		for (int r = 0; r < ROUNDS; r++) {
			int l = i % 32, from = (i / 32 % WARPS + 1) % WARPS;
			unsigned v[5];
			for (int m = 0; m < 5; m++) {
				int k = r * WARPS + from, n = m % 4;
				unsigned add = (unsigned)(i / (WARPS * 32));
				v[m] = cell(in, k, n, l, 0, m < 4, add) |
				       cell(in, k, n, l, 1, m < 4, add) << 16;
			}
			want[i] =
				want[i] * 31 + (v[0] ^ v[1] * 3 ^ v[2] * 5 ^ v[3] * 7 ^ v[4] * 11);
		}
	unsigned *d_in = example_upload(in), *d_out = example_upload(want);
	turn<<<BLOCKS, WARPS * 32>>>(d_in, d_out);
	CHECK(cudaGetLastError());
	got = example_download(d_out, want.size());
	return example_finish(got == want, example_checksum(got));
}
