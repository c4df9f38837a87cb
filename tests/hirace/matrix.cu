// matrix.cu - ldmatrix and stmatrix, as accesses of the lanes that name rows; cases.py runs and judges.
//
// The ends of names are those of cases.cu. Two warps: the first one loads or stores matrices, the second one writes or
// reads the words of the rows.
#include <cuda_runtime.h>

#define TILE 128 // words: 32 rows of 16 bytes

__device__ unsigned int sink[64];

template <int N, bool TRANS> __device__ __forceinline__ unsigned int load(const unsigned int *row)
{
	unsigned int a = 0, b = 0, c = 0, d = 0;
	unsigned int at = (unsigned int)__cvta_generic_to_shared(row);

	if (N == 1 && !TRANS)
		asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(a) : "r"(at) : "memory");
	if (N == 1 && TRANS)
		asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(a) : "r"(at) : "memory");
	if (N == 2)
		asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
			     : "=r"(a), "=r"(b) : "r"(at) : "memory");
	if (N == 4 && !TRANS)
		asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
			     : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at) : "memory");
	if (N == 4 && TRANS)
		asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
			     : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at) : "memory");
	return a + b + c + d;
}

__device__ __forceinline__ unsigned int load_generic(const unsigned int *row)
{
	unsigned int a;

	asm volatile("ldmatrix.sync.aligned.m8n8.x1.b16 {%0}, [%1];" : "=r"(a) : "l"(row) : "memory");
	return a;
}

template <int N, bool TRANS> __device__ __forceinline__ void store(unsigned int *row)
{
	unsigned int at = (unsigned int)__cvta_generic_to_shared(row), v = threadIdx.x;

	if (N == 1)
		asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(at), "r"(v) : "memory");
	if (N == 2)
		asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %1};" ::"r"(at), "r"(v) : "memory");
	if (N == 4 && !TRANS)
		asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %1, %1, %1};" ::"r"(at), "r"(v)
			     : "memory");
	if (N == 4 && TRANS)
		asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %1, %1, %1};" ::"r"(at), "r"(v)
			     : "memory");
}

__global__ void load_x1_race()
{
	__shared__ __align__(16) unsigned int tile[TILE];

	if (threadIdx.x >= 32)
		tile[4 * (threadIdx.x - 32) + 3] = threadIdx.x;
	if (threadIdx.x < 32)
		sink[threadIdx.x] = load<1, false>(tile + 4 * threadIdx.x);
}

__global__ void load_x1_clean()
{
	__shared__ __align__(16) unsigned int tile[TILE];

	if (threadIdx.x >= 32)
		tile[4 * (threadIdx.x - 32) + 3] = threadIdx.x;
	__syncthreads();
	if (threadIdx.x < 32)
		sink[threadIdx.x] = load<1, false>(tile + 4 * threadIdx.x);
}

__global__ void load_x1_trans_race()
{
	__shared__ __align__(16) unsigned int tile[TILE];

	if (threadIdx.x >= 32)
		tile[4 * (threadIdx.x - 32) + 3] = threadIdx.x;
	if (threadIdx.x < 32)
		sink[threadIdx.x] = load<1, true>(tile + 4 * threadIdx.x);
}

__global__ void load_x1_trans_clean()
{
	__shared__ __align__(16) unsigned int tile[TILE];

	if (threadIdx.x >= 32)
		tile[4 * (threadIdx.x - 32) + 3] = threadIdx.x;
	__syncthreads();
	if (threadIdx.x < 32)
		sink[threadIdx.x] = load<1, true>(tile + 4 * threadIdx.x);
}

__global__ void load_x2_race()
{
	__shared__ __align__(16) unsigned int tile[TILE];

	if (threadIdx.x >= 32)
		tile[4 * (threadIdx.x - 32) + 3] = threadIdx.x;
	if (threadIdx.x < 32)
		sink[threadIdx.x] = load<2, false>(tile + 4 * threadIdx.x);
}

__global__ void load_x2_clean()
{
	__shared__ __align__(16) unsigned int tile[TILE];

	if (threadIdx.x >= 32)
		tile[4 * (threadIdx.x - 32) + 3] = threadIdx.x;
	__syncthreads();
	if (threadIdx.x < 32)
		sink[threadIdx.x] = load<2, false>(tile + 4 * threadIdx.x);
}

__global__ void load_x4_race()
{
	__shared__ __align__(16) unsigned int tile[TILE];

	if (threadIdx.x >= 32)
		tile[4 * (threadIdx.x - 32) + 3] = threadIdx.x;
	if (threadIdx.x < 32)
		sink[threadIdx.x] = load<4, false>(tile + 4 * threadIdx.x);
}

__global__ void load_x4_clean()
{
	__shared__ __align__(16) unsigned int tile[TILE];

	if (threadIdx.x >= 32)
		tile[4 * (threadIdx.x - 32) + 3] = threadIdx.x;
	__syncthreads();
	if (threadIdx.x < 32)
		sink[threadIdx.x] = load<4, false>(tile + 4 * threadIdx.x);
}

__global__ void load_x4_trans_race()
{
	__shared__ __align__(16) unsigned int tile[TILE];

	if (threadIdx.x >= 32)
		tile[4 * (threadIdx.x - 32) + 3] = threadIdx.x;
	if (threadIdx.x < 32)
		sink[threadIdx.x] = load<4, true>(tile + 4 * threadIdx.x);
}

__global__ void load_x4_trans_clean()
{
	__shared__ __align__(16) unsigned int tile[TILE];

	if (threadIdx.x >= 32)
		tile[4 * (threadIdx.x - 32) + 3] = threadIdx.x;
	__syncthreads();
	if (threadIdx.x < 32)
		sink[threadIdx.x] = load<4, true>(tile + 4 * threadIdx.x);
}

__global__ void load_generic_race()
{
	__shared__ __align__(16) unsigned int tile[TILE];

	if (threadIdx.x >= 32)
		tile[4 * (threadIdx.x - 32) + 1] = threadIdx.x;
	if (threadIdx.x < 32)
		sink[threadIdx.x] = load_generic(tile + 4 * threadIdx.x);
}

__global__ void load_generic_clean()
{
	__shared__ __align__(16) unsigned int tile[TILE];

	if (threadIdx.x >= 32)
		tile[4 * (threadIdx.x - 32) + 1] = threadIdx.x;
	__syncthreads();
	if (threadIdx.x < 32)
		sink[threadIdx.x] = load_generic(tile + 4 * threadIdx.x);
}

__global__ void load_before_write_race()
{
	__shared__ __align__(16) unsigned int tile[TILE];

	if (threadIdx.x < 32)
		sink[threadIdx.x] = load<4, false>(tile + 4 * threadIdx.x);
	if (threadIdx.x >= 32)
		tile[4 * (threadIdx.x - 32) + 2] = threadIdx.x;
}

__global__ void load_before_write_clean()
{
	__shared__ __align__(16) unsigned int tile[TILE];

	if (threadIdx.x < 32)
		sink[threadIdx.x] = load<4, false>(tile + 4 * threadIdx.x);
	__syncthreads();
	if (threadIdx.x >= 32)
		tile[4 * (threadIdx.x - 32) + 2] = threadIdx.x;
}

__global__ void store_x1_race()
{
	__shared__ __align__(16) unsigned int tile[TILE];

	if (threadIdx.x < 32)
		store<1, false>(tile + 4 * threadIdx.x);
	if (threadIdx.x >= 32)
		sink[threadIdx.x] = tile[4 * ((threadIdx.x - 32) % 8) + 1];
}

__global__ void store_x1_clean()
{
	__shared__ __align__(16) unsigned int tile[TILE];

	if (threadIdx.x < 32)
		store<1, false>(tile + 4 * threadIdx.x);
	__syncthreads();
	if (threadIdx.x >= 32)
		sink[threadIdx.x] = tile[4 * ((threadIdx.x - 32) % 8) + 1];
}

__global__ void store_x2_race()
{
	__shared__ __align__(16) unsigned int tile[TILE];

	if (threadIdx.x < 32)
		store<2, false>(tile + 4 * threadIdx.x);
	if (threadIdx.x >= 32)
		sink[threadIdx.x] = tile[4 * ((threadIdx.x - 32) % 16) + 1];
}

__global__ void store_x2_clean()
{
	__shared__ __align__(16) unsigned int tile[TILE];

	if (threadIdx.x < 32)
		store<2, false>(tile + 4 * threadIdx.x);
	__syncthreads();
	if (threadIdx.x >= 32)
		sink[threadIdx.x] = tile[4 * ((threadIdx.x - 32) % 16) + 1];
}

__global__ void store_x4_race()
{
	__shared__ __align__(16) unsigned int tile[TILE];

	if (threadIdx.x < 32)
		store<4, false>(tile + 4 * threadIdx.x);
	if (threadIdx.x >= 32)
		sink[threadIdx.x] = tile[4 * ((threadIdx.x - 32) % 32) + 1];
}

__global__ void store_x4_clean()
{
	__shared__ __align__(16) unsigned int tile[TILE];

	if (threadIdx.x < 32)
		store<4, false>(tile + 4 * threadIdx.x);
	__syncthreads();
	if (threadIdx.x >= 32)
		sink[threadIdx.x] = tile[4 * ((threadIdx.x - 32) % 32) + 1];
}

__global__ void store_x4_trans_race()
{
	__shared__ __align__(16) unsigned int tile[TILE];

	if (threadIdx.x < 32)
		store<4, true>(tile + 4 * threadIdx.x);
	if (threadIdx.x >= 32)
		sink[threadIdx.x] = tile[4 * ((threadIdx.x - 32) % 32) + 1];
}

__global__ void store_x4_trans_clean()
{
	__shared__ __align__(16) unsigned int tile[TILE];

	if (threadIdx.x < 32)
		store<4, true>(tile + 4 * threadIdx.x);
	__syncthreads();
	if (threadIdx.x >= 32)
		sink[threadIdx.x] = tile[4 * ((threadIdx.x - 32) % 32) + 1];
}

// Lanes of one warp.
__global__ void lanes_race()
{
	__shared__ __align__(16) unsigned int tile[TILE];

	for (unsigned int i = 0; i < 4; i++)
		tile[threadIdx.x % 32 + 32 * i] = i;
	sink[threadIdx.x] = load<4, false>(tile + 4 * (threadIdx.x % 32));
}
__global__ void lanes_clean()
{
	__shared__ __align__(16) unsigned int tiles[2][TILE];
	unsigned int *tile = tiles[threadIdx.x / 32];

	for (unsigned int i = 0; i < 4; i++)
		tile[threadIdx.x % 32 + 32 * i] = i;
	__syncwarp();
	sink[threadIdx.x] = load<4, false>(tile + 4 * (threadIdx.x % 32));
}

// Addresses of lanes from 8 on name no row of x1: what they point to is not accessed.
__global__ void not_named_race()
{
	__shared__ __align__(16) unsigned int tile[TILE];

	if (threadIdx.x >= 32 + 8)
		tile[4 * (threadIdx.x - 32)] = 1;
	if (threadIdx.x < 32)
		sink[threadIdx.x] = load<2, false>(tile + 4 * threadIdx.x);
}
__global__ void not_named_clean()
{
	__shared__ __align__(16) unsigned int tile[TILE];

	if (threadIdx.x >= 32 + 8)
		tile[4 * (threadIdx.x - 32)] = 1;
	if (threadIdx.x < 32)
		sink[threadIdx.x] = load<1, false>(tile + 4 * threadIdx.x);
}

#define LAUNCH(f)                                                                                     \
	f<<<1, 64>>>();                                                                                \
	if (cudaGetLastError() != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess)               \
		return 1;

int main()
{
#include "launches.h"
	return 0;
}
