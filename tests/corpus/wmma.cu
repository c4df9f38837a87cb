// Tensor cores through nvcuda::wmma.
#include <mma.h>

using namespace nvcuda;

__global__ void half_product(const half *a, const half *b, float *c)
{
	wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;

	wmma::fill_fragment(fc, 0.0f);
	wmma::load_matrix_sync(fa, a, 16);
	wmma::load_matrix_sync(fb, b, 16);
	wmma::mma_sync(fc, fa, fb, fc);
	wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}

__global__ void byte_product(const signed char *a, const signed char *b, int *c)
{
	__shared__ int tile[256];
	wmma::fragment<wmma::matrix_a, 32, 8, 16, signed char, wmma::row_major> fa;
	wmma::fragment<wmma::matrix_b, 32, 8, 16, signed char, wmma::col_major> fb;
	wmma::fragment<wmma::accumulator, 32, 8, 16, int> fc;

	wmma::load_matrix_sync(fa, a, 16);
	wmma::load_matrix_sync(fb, b, 16);
	wmma::load_matrix_sync(fc, c, 8, wmma::mem_row_major);
	wmma::mma_sync(fc, fa, fb, fc, true);
	wmma::store_matrix_sync(tile, fc, 8, wmma::mem_row_major);
	__syncwarp();
	c[threadIdx.x] = tile[255 - threadIdx.x];
}

#if __CUDA_ARCH__ >= 800
__global__ void double_product(const double *a, const double *b, double *c, const __nv_bfloat16 *d,
			       const __nv_bfloat16 *e, float *f)
{
	wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> fa;
	wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::col_major> fb;
	wmma::fragment<wmma::accumulator, 8, 8, 4, double> fc;
	wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> fd;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::col_major> fe;
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> ff;

	wmma::load_matrix_sync(fa, a, 4);
	wmma::load_matrix_sync(fb, b, 4);
	wmma::fill_fragment(fc, 1.0);
	wmma::mma_sync(fc, fa, fb, fc);
	wmma::store_matrix_sync(c, fc, 8, wmma::mem_col_major);
	wmma::load_matrix_sync(fd, d, 16);
	wmma::load_matrix_sync(fe, e, 16);
	wmma::fill_fragment(ff, 1.0f);
	wmma::mma_sync(ff, fd, fe, ff);
	wmma::store_matrix_sync(f, ff, 16, wmma::mem_row_major);
}
#endif
