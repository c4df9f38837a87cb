// mma_wmma.cu - wmma: every element type and shape of sm_90 in row and column layouts.
//
// Each case loads A and B, multiplies onto a loaded C, doubles the accumulator element by element,
// stores it, and counts what differs from the plain product (of small integers: exact).
//
//! buffer bad u32 8
//! launch wmma_f16 grid=1 block=32 -- bad
//! launch wmma_bf16 grid=1 block=32 -- bad
//! launch wmma_int grid=1 block=32 -- bad
//! launch wmma_wide grid=1 block=32 -- bad
//! expect bad = 0*8
//! seeds 1
//! models sc weak
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

template <class T> __device__ T make(int v) { return T(v); }
template <> __device__ __half make<__half>(int v) { return __int2half_rn(v); }
template <> __device__ __nv_bfloat16 make<__nv_bfloat16>(int v) { return __int2bfloat16_rn(v); }
template <class T> __device__ double plain(T v) { return double(v); }
template <> __device__ double plain<__half>(__half v) { return __half2float(v); }
template <> __device__ double plain<__nv_bfloat16>(__nv_bfloat16 v) { return __bfloat162float(v); }

// F: fragment's element, E: in memory, S: of the sum; off: smallest value
template <class F, class E, class S, int M, int N, int K, class LA, class LB>
__device__ void test(unsigned *bad, int off)
{
	__shared__ __align__(32) E a[M * K], b[K * N];
	__shared__ __align__(32) S c[M * N], d[M * N];
	const bool ra = std::is_same<LA, wmma::row_major>::value, rb = std::is_same<LB, wmma::row_major>::value;
	int lane = threadIdx.x;

#pragma unroll 1
	for (int i = lane; i < M * K; i += 32)
		a[ra ? i : i % K * M + i / K] = make<E>((i * 7 + i / K) % 5 + off);
#pragma unroll 1
	for (int i = lane; i < K * N; i += 32)
		b[rb ? i : i % N * K + i / N] = make<E>((i * 3 + i / N * 2) % 6 + off);
#pragma unroll 1
	for (int i = lane; i < M * N; i += 32)
		c[i] = make<S>(i % 11 - 5);
	__syncwarp();
	wmma::fragment<wmma::matrix_a, M, N, K, F, LA> fa;
	wmma::fragment<wmma::matrix_b, M, N, K, F, LB> fb;
	wmma::fragment<wmma::accumulator, M, N, K, S> fc;
	wmma::load_matrix_sync(fa, a, ra ? K : M);
	wmma::load_matrix_sync(fb, b, rb ? N : K);
	wmma::load_matrix_sync(fc, c, N, wmma::mem_row_major);
	wmma::mma_sync(fc, fa, fb, fc);
	for (int i = 0; i < fc.num_elements; i++)
		fc.x[i] = fc.x[i] + fc.x[i];
	wmma::store_matrix_sync(d, fc, M, wmma::mem_col_major);
	__syncwarp();
#pragma unroll 1
	for (int i = lane; i < M * N; i += 32) {
		double sum = plain(c[i]);
		int row = i / N, col = i % N;
#pragma unroll 1
		for (int k = 0; k < K; k++)
			sum += plain(a[ra ? row * K + k : k * M + row]) * plain(b[rb ? k * N + col : col * K + k]);
		if (plain(d[col * M + row]) != 2 * sum)
			atomicAdd(bad, 1);
	}
	__syncwarp();
}

template <class F, class E, class S, int M, int N, int K> __device__ void layouts(unsigned *bad, int off)
{
	test<F, E, S, M, N, K, wmma::row_major, wmma::col_major>(bad, off);
	test<F, E, S, M, N, K, wmma::row_major, wmma::row_major>(bad, off);
	test<F, E, S, M, N, K, wmma::col_major, wmma::col_major>(bad, off);
	test<F, E, S, M, N, K, wmma::col_major, wmma::row_major>(bad, off);
}

template <class F, class S> __device__ void shapes(unsigned *bad, int off)
{
	layouts<F, F, S, 16, 16, 16>(bad, off);
	test<F, F, S, 32, 8, 16, wmma::row_major, wmma::col_major>(bad, off);
	test<F, F, S, 32, 8, 16, wmma::col_major, wmma::row_major>(bad, off);
	test<F, F, S, 8, 32, 16, wmma::row_major, wmma::col_major>(bad, off);
	test<F, F, S, 8, 32, 16, wmma::col_major, wmma::row_major>(bad, off);
}

extern "C" __global__ void wmma_f16(unsigned *bad)
{
	shapes<__half, float>(bad, -2);
	shapes<__half, __half>(bad + 1, -2);
}

extern "C" __global__ void wmma_bf16(unsigned *bad) { shapes<__nv_bfloat16, float>(bad + 2, -2); }

extern "C" __global__ void wmma_int(unsigned *bad)
{
	shapes<signed char, int>(bad + 3, -2);
	shapes<unsigned char, int>(bad + 4, 250);
}

extern "C" __global__ void wmma_wide(unsigned *bad)
{
	layouts<wmma::precision::tf32, float, float, 16, 16, 8>(bad + 5, -2);
	layouts<double, double, double, 8, 8, 4>(bad + 6, -2);
}
