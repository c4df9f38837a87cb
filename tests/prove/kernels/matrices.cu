/*
 * matrices.cu - tiles of tensor cores, whose elements any lane may access.
 */
#include <mma.h>
using namespace nvcuda;

// prove: tile race-free --block-dim=128 --grid-dim=16,32
__global__ void tile(float *c, const half *a, const half *b)
{
	wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
	int row = blockIdx.y * 16, col = (blockIdx.x * 4 + threadIdx.x / 32) * 16;
	wmma::fill_fragment(fc, 0.0f);
	for (int i = 0; i < 256; i += 16) {
		wmma::load_matrix_sync(fa, a + row * 256 + i, 256);
		wmma::load_matrix_sync(fb, b + col * 256 + i, 256);
		wmma::mma_sync(fc, fa, fb, fc);
	}
	wmma::store_matrix_sync(c + row * 1024 + col, fc, 1024, wmma::mem_row_major);
}

// Two warps store one tile; tiles are 8 columns apart.
// prove: tile_of_two potential racy --block-dim=128 --grid-dim=16,32
__global__ void tile_of_two(float *c)
{
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
	int row = blockIdx.y * 16, col = (blockIdx.x * 2 + threadIdx.x / 64) * 16;
	wmma::fill_fragment(fc, 1.0f);
	wmma::store_matrix_sync(c + row * 512 + col, fc, 512, wmma::mem_row_major);
}

// prove: tile_overlaps potential racy --block-dim=128 --grid-dim=16,32
__global__ void tile_overlaps(float *c)
{
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
	int row = blockIdx.y * 16, col = (blockIdx.x * 4 + threadIdx.x / 32) * 8;
	wmma::fill_fragment(fc, 1.0f);
	wmma::store_matrix_sync(c + row * 1024 + col, fc, 1024, wmma::mem_row_major);
}

// prove: staged race-free --block-dim=32,4 --grid-dim=16,16
__global__ void staged(half *out, const half *in)
{
	__shared__ half s[4][16 * 16];
	wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
	wmma::fragment<wmma::accumulator, 16, 16, 16, half> fc;
	int w = threadIdx.y;
	for (int i = threadIdx.x; i < 256; i += 32)
		s[w][i] = in[(blockIdx.y * 16 + i / 16) * 1024 + (blockIdx.x * 4 + w) * 16 + i % 16];
	__syncthreads();
	wmma::load_matrix_sync(fa, s[(w + 1) % 4], 16);
	wmma::fill_fragment(fc, fa.x[0]);
	__syncthreads();
	wmma::store_matrix_sync(s[w], fc, 16, wmma::mem_row_major);
	__syncthreads();
	for (int i = threadIdx.x; i < 256; i += 32)
		out[(blockIdx.y * 16 + i / 16) * 1024 + (blockIdx.x * 4 + w) * 16 + i % 16] = s[w][i];
}

// The lanes of one warp, too, need a barrier: an element is another lane's.
// prove: staged_alone potential racy --block-dim=32 --grid-dim=16,16
__global__ void staged_alone(half *out, const half *in)
{
	__shared__ half s[16 * 16];
	wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
	for (int i = threadIdx.x; i < 256; i += 32)
		s[i] = in[i];
	wmma::load_matrix_sync(fa, s, 16);
	out[(blockIdx.y * 16 + blockIdx.x) * 32 + threadIdx.x] = fa.x[0];
}

// prove: rows race-free --block-dim=32 --grid-dim=16
__global__ void rows(unsigned *out, const uint4 *in)
{
	__shared__ uint4 s[32];
	unsigned a, b, c, d;
	s[threadIdx.x] = in[threadIdx.x];
	__syncwarp();
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
		     : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
		     : "r"((unsigned)__cvta_generic_to_shared(&s[threadIdx.x])));
	out[blockIdx.x * 32 + threadIdx.x] = a + b + c + d;
}

// prove: rows_early potential racy --block-dim=32 --grid-dim=16
__global__ void rows_early(unsigned *out, const uint4 *in)
{
	__shared__ uint4 s[32];
	unsigned a, b, c, d;
	s[threadIdx.x] = in[threadIdx.x];
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
		     : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
		     : "r"((unsigned)__cvta_generic_to_shared(&s[threadIdx.x])));
	out[blockIdx.x * 32 + threadIdx.x] = a + b + c + d;
}
