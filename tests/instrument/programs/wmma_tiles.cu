// wmma_tiles.cu - tiles that one warp fills and the next loads with wmma.load, from shared and global
// memory, by rows and by columns, with lines of 32 and 64 bytes; results of floats and halves that go to
// shared and global memory by wmma.store. -DRACY: the barrier between filling and loading is missing. With
// an argument: 1 all warps store floats to the same tile, 2 halves, 3 blocks to the same place of global memory.
// expect: clobbered-read at load
// expect 1: lost-update at stage
// expect 2: lost-update at halves
// expect 3: lost-update at out
// also built, in soak: --call-free
// also built, in soak: --inline-checks=0

#include "example.h"
#include "told.h"

#include <mma.h>

using namespace nvcuda;

static const int BLOCKS = 3;
static const int WARPS = 4;
static const int ROUNDS = 12;
static const int N = 16;

__global__ void tiles(const half *in, const half *eye, const float *bias, float *out, unsigned *wrong,
		      int race)
{
	__shared__ __align__(32) half tile[WARPS][N * (N + 8)];
	__shared__ __align__(32) float sums[WARPS][N * N], stage[WARPS][N * N];
	__shared__ __align__(32) half halves[WARPS][N * N];
	int lane = threadIdx.x % 32, warp = threadIdx.x / 32, from = (warp + 1) % WARPS;

	for (int r = 0; r < ROUNDS; r++) {
		wmma::fragment<wmma::matrix_a, N, N, N, half, wmma::row_major> a;
		wmma::fragment<wmma::matrix_b, N, N, N, half, wmma::col_major> b;
		wmma::fragment<wmma::accumulator, N, N, N, float> c;
		wmma::fragment<wmma::accumulator, N, N, N, half> h;
		int to = race == 3 ? r * WARPS + warp : (blockIdx.x * ROUNDS + r) * WARPS + warp;

		for (int i = lane; i < N * N; i += 32) {
			tile[warp][i / N * (N + 8) + i % N] =
				in[((blockIdx.x * ROUNDS + r) * WARPS + warp) * N * N + i];
			sums[warp][i] = bias[i] + (float)r;
		}
#ifndef RACY
		__syncthreads();
#endif
		wmma::load_matrix_sync(a, tile[from], N + 8); // race: load
		wmma::load_matrix_sync(b, eye, N);
		wmma::load_matrix_sync(c, sums[from], N, wmma::mem_row_major); // race: load
		wmma::load_matrix_sync(h, tile[from], N + 8, wmma::mem_row_major); // race: load
		wmma::mma_sync(c, a, b, c);
		wmma::store_matrix_sync(out + to * N * N, c, N, wmma::mem_row_major); // race: out
		wmma::store_matrix_sync(stage[race == 1 ? 0 : warp], c, N, wmma::mem_col_major); // race: stage
		wmma::store_matrix_sync(halves[race == 2 ? 0 : warp], h, N, wmma::mem_col_major); // race: halves
		__syncthreads();
		for (int i = lane; i < N * N; i += 32) {
			int turned = i % N * N + i / N;
			half want = tile[from][i / N * (N + 8) + i % N]; // race: use
			if (__half2float(halves[warp][turned]) != __half2float(want)) // race: use
				*wrong = 1; // race: use
			if (stage[warp][turned] != __half2float(want) + bias[i] + (float)r) // race: use
				*wrong = 1; // race: use
		}
		__syncthreads();
	}
}

int main(int argc, char **argv)
{
	std::vector<half> in(BLOCKS * ROUNDS * WARPS * N * N), eye(N * N);
	std::vector<float> bias(N * N), want(in.size()), got;
	std::vector<unsigned> bits(in.size());
	uint32_t seed = 21;

	for (half &x : in)
		x = __float2half((float)(example_random(&seed) % 2048));
	for (int i = 0; i < N * N; i++) {
		eye[i] = __float2half(i / N == i % N ? 1.0f : 0.0f);
		bias[i] = (float)(example_random(&seed) % 1024);
	}
	for (int i = 0; i < (int)want.size(); i++) {
		int t = i / (N * N), from = t / WARPS * WARPS + (t + 1) % WARPS;
		want[i] = __half2float(in[from * N * N + i % (N * N)]) + bias[i % (N * N)] +
			  (float)(t / WARPS % ROUNDS);
	}
	half *d_in = example_upload(in), *d_eye = example_upload(eye);
	float *d_bias = example_upload(bias), *d_out = example_upload(want);
	unsigned *d_wrong = example_upload(std::vector<unsigned>(1));
	tiles<<<BLOCKS, WARPS * 32>>>(d_in, d_eye, d_bias, d_out, d_wrong, race_of(argc, argv));
	CHECK(cudaGetLastError());
	got = example_download(d_out, want.size());
	for (size_t i = 0; i < got.size(); i++)
		bits[i] = (unsigned)got[i];
	return example_finish(got == want && !example_download(d_wrong, 1)[0], example_checksum(bits));
}
