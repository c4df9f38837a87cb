// mma_tiled.cu - a tiled matrix product: cp.async in two stages, ldmatrix, mma.sync.
//
// 64x64x128, f16 in, f32 out, small integers, so every sum is exact; check counts what differs
// from the plain product. Blocks of 4 warps make 32x32 of the result.
//
//! buffer a u16 8192
//! buffer b u16 8192
//! buffer c f32 4096
//! buffer bad u32 1
//! launch fill grid=1 block=256 -- a b
//! launch product grid=2,2 block=128 -- a b c
//! launch check grid=1 block=256 -- c bad
//! expect bad = 0
#include <cuda_fp16.h>

#define M 64
#define N 64
#define K 128
#define T 32  // rows and columns of a block's tile
#define TK 32 // depth of a stage
#define PAD 8

__host__ __device__ static int a_at(int i, int k) { return (i * 3 + k * 5) % 7 - 3; }
__host__ __device__ static int b_at(int k, int j) { return (k * 2 + j * 11) % 9 - 4; }

extern "C" __global__ void fill(__half *a, __half *b)
{
#pragma unroll 1
	for (int i = threadIdx.x; i < M * K; i += blockDim.x)
		a[i] = __int2half_rn(a_at(i / K, i % K));
#pragma unroll 1
	for (int i = threadIdx.x; i < K * N; i += blockDim.x)
		b[i] = __int2half_rn(b_at(i / N, i % N));
}

__device__ static unsigned shared_at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ static void copy16(void *to, const void *from)
{
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_at(to)), "l"(from) : "memory");
}

extern "C" __global__ void __launch_bounds__(128) product(const __half *a, const __half *b, float *c)
{
	__shared__ __align__(16) __half sa[2][T][TK + PAD], sb[2][TK][T + PAD];
	int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
	int row0 = blockIdx.y * T, col0 = blockIdx.x * T;
	int wm = warp / 2 * 16, wn = warp % 2 * 16;
	float acc[2][4] = {};

	auto load = [&](int stage, int k0) {
		int r = threadIdx.x / 4, q = threadIdx.x % 4 * 8;
		copy16(&sa[stage][r][q], &a[(row0 + r) * K + k0 + q]);
		copy16(&sb[stage][r][q], &b[(k0 + r) * N + col0 + q]);
		asm volatile("cp.async.commit_group;" ::: "memory");
	};
	load(0, 0);
	for (int k0 = 0, stage = 0; k0 < K; k0 += TK, stage ^= 1) {
		if (k0 + TK < K) {
			load(stage ^ 1, k0 + TK);
			asm volatile("cp.async.wait_group 1;" ::: "memory");
		} else {
			asm volatile("cp.async.wait_group 0;" ::: "memory");
		}
		__syncthreads();
		for (int k = 0; k < TK; k += 16) {
			unsigned fa[4], fb[4];
			unsigned pa = shared_at(&sa[stage][wm + lane % 16][k + lane / 16 * 8]);
			unsigned pb = shared_at(&sb[stage][k + lane % 16][wn + lane / 16 * 8]);
			asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
				     : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3]) : "r"(pa) : "memory");
			asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
				     : "=r"(fb[0]), "=r"(fb[1]), "=r"(fb[2]), "=r"(fb[3]) : "r"(pb) : "memory");
			for (int n = 0; n < 2; n++)
				asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
					     "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
					     : "+f"(acc[n][0]), "+f"(acc[n][1]), "+f"(acc[n][2]), "+f"(acc[n][3])
					     : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]),
					       "r"(fb[n * 2]), "r"(fb[n * 2 + 1]));
		}
		__syncthreads();
	}
	for (int n = 0; n < 2; n++)
		for (int i = 0; i < 4; i++)
			c[(row0 + wm + lane / 4 + i / 2 * 8) * N + col0 + wn + n * 8 + lane % 4 * 2 + i % 2] =
				acc[n][i];
}

extern "C" __global__ void check(const float *c, unsigned *bad)
{
#pragma unroll 1
	for (int at = threadIdx.x; at < M * N; at += blockDim.x) {
		int sum = 0;
#pragma unroll 1
		for (int k = 0; k < K; k++)
			sum += a_at(at / N, k) * b_at(k, at % N);
		if (c[at] != (float)sum)
			atomicAdd(bad, 1);
	}
}
