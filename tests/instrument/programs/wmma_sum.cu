// wmma_sum.cu - each warp loads a matrix, adds to it and stores it again, in turns and with nothing between: each
// lane's own elements are ordered by its program alone. With argument 1 two warps have the same matrix.
// expect 1: clobbered-read at load
// also: --memory-model=a1
// also built: --inline-checks=0

#include "example.h"
#include "told.h"

#include <mma.h>

using namespace nvcuda;

static const int BLOCKS = 2;
static const int WARPS = 4;
static const int ROUNDS = 20;
static const int N = 16;

__global__ void sums(float *total, float *out, int race)
{
	__shared__ __align__(32) float tile[WARPS][N * N];
	int lane = threadIdx.x % 32, warp = threadIdx.x / 32, id = blockIdx.x * WARPS + warp;
	float *mine = total + (race == 1 ? id / 2 : id) * N * N;

	for (int i = lane; i < N * N; i += 32)
		tile[warp][i] = (float)id;
	__syncthreads();
	for (int r = 0; r < ROUNDS; r++) {
		wmma::fragment<wmma::accumulator, N, N, N, float> c, d;

		wmma::load_matrix_sync(c, tile[warp], N, wmma::mem_row_major);
		wmma::load_matrix_sync(d, mine, N, wmma::mem_row_major); // race: load
		for (int i = 0; i < c.num_elements; i++) {
			c.x[i] += 1;
			d.x[i] += c.x[i];
		}
		wmma::store_matrix_sync(tile[warp], c, N, wmma::mem_row_major);
		wmma::store_matrix_sync(mine, d, N, wmma::mem_row_major); // race: store
	}
	__syncthreads();
	for (int i = lane; i < N * N; i += 32)
		out[id * N * N + i] = tile[warp][i] + mine[i]; // race: use
}

int main(int argc, char **argv)
{
	std::vector<float> want(BLOCKS * WARPS * N * N), zeros(want.size()), got;

	for (size_t i = 0; i < want.size(); i++) {
		float id = (float)(i / (N * N));
		want[i] = id + ROUNDS + id * ROUNDS + ROUNDS * (ROUNDS + 1) / 2;
	}
	float *d_total = example_upload(zeros), *d_out = example_upload(zeros);
	sums<<<BLOCKS, WARPS * 32>>>(d_total, d_out, race_of(argc, argv));
	CHECK(cudaGetLastError());
	got = example_download(d_out, want.size());
	return example_finish(got == want, 0);
}
