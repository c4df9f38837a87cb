// wmma.cu - wmma.load and wmma.store, as the warp's accesses of a matrix's lines; cases.py runs and judges.
//
// The ends of names are those of cases.cu. Two warps: the first one loads or stores a matrix whose lines are 16 bytes
// apart, the second one writes or reads, of each line, the last word (race) or the first word after it (clean).
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

using namespace nvcuda::wmma;

#define ROOM 2560 // 16 lines of 128 + 16 bytes, or 32 of 64 + 16

__device__ unsigned int sink[128];

__device__ __forceinline__ unsigned int me() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __align__(32) unsigned char far_tile[2 * ROOM];

template <class T> __device__ __forceinline__ void keep(T v)
{
	sink[me()] = (unsigned int)(float)v;
}

// A or B: fragment, the elements' type in memory, lines, bytes of a line, bits of an element.
#define FACTOR(name, fragment_of, type, lines_of, bytes_of, bits)                                      \
	struct form_##name {                                                                           \
		static const int lines = lines_of, bytes = bytes_of, stride = bytes_of + 16;           \
		static const bool stores = false;                                                      \
		static __device__ __forceinline__ void access(void *p)                                 \
		{                                                                                      \
			fragment_of f;                                                                 \
			load_matrix_sync(f, (const type *)p, stride * 8 / bits);                       \
			keep(f.x[0]);                                                                  \
		}                                                                                      \
	};

// C: fragment, type, layout. D: stored from it.
#define SUM(name, fragment_of, type, layout, lines_of, bytes_of)                                       \
	struct form_##name {                                                                           \
		static const int lines = lines_of, bytes = bytes_of, stride = bytes_of + 16;           \
		static const bool stores = false;                                                      \
		static __device__ __forceinline__ void access(void *p)                                 \
		{                                                                                      \
			fragment_of f;                                                                 \
			load_matrix_sync(f, (const type *)p, stride / sizeof(type), layout);           \
			keep(f.x[0]);                                                                  \
		}                                                                                      \
	};                                                                                             \
	struct form_store_##name {                                                                     \
		static const int lines = lines_of, bytes = bytes_of, stride = bytes_of + 16;           \
		static const bool stores = true;                                                       \
		static __device__ __forceinline__ void access(void *p)                                 \
		{                                                                                      \
			fragment_of f;                                                                 \
			fill_fragment(f, (type)1.0f);                                                  \
			store_matrix_sync((type *)p, f, stride / sizeof(type), layout);                \
		}                                                                                      \
	};

template <class F> __device__ __forceinline__ void both(unsigned char *tile, bool is_race)
{
	unsigned int lane = threadIdx.x % 32;
	unsigned int *word = (unsigned int *)(tile + lane * F::stride + F::bytes - (is_race ? 4 : 0));

	if (threadIdx.x < 32)
		F::access(tile);
	else if (lane < F::lines && F::stores)
		sink[me()] = *word;
	else if (lane < F::lines)
		*word = lane;
}

#define PAIR(name)                                                                                     \
	__global__ void name##_race()                                                                  \
	{                                                                                              \
		__shared__ __align__(32) unsigned char tile[ROOM];                                     \
		both<form_##name>(tile, true);                                                         \
	}                                                                                              \
	__global__ void name##_clean()                                                                 \
	{                                                                                              \
		__shared__ __align__(32) unsigned char tile[ROOM];                                     \
		both<form_##name>(tile, false);                                                        \
	}

#define LIST(...) __VA_ARGS__
#define A(m, n, k, type, layout) LIST(fragment<matrix_a, m, n, k, type, layout>)
#define B(m, n, k, type, layout) LIST(fragment<matrix_b, m, n, k, type, layout>)
#define C(m, n, k, type) LIST(fragment<accumulator, m, n, k, type>)

typedef A(16, 16, 16, half, row_major) a_half_row;
typedef A(16, 16, 16, half, col_major) a_half_col;
typedef B(16, 16, 16, half, row_major) b_half_row;
typedef B(16, 16, 16, half, col_major) b_half_col;
typedef A(32, 8, 16, half, row_major) a_tall_row;
typedef A(32, 8, 16, half, col_major) a_tall_col;
typedef B(8, 32, 16, __nv_bfloat16, row_major) b_wide_row;
typedef B(8, 32, 16, __nv_bfloat16, col_major) b_wide_col;
typedef A(8, 32, 16, signed char, row_major) a_byte_row;
typedef A(8, 32, 16, signed char, col_major) a_byte_col;
typedef B(32, 8, 16, unsigned char, row_major) b_byte_row;
typedef A(16, 16, 8, precision::tf32, row_major) a_tf32_row;
typedef B(16, 16, 8, precision::tf32, row_major) b_tf32_row;
typedef A(8, 8, 4, double, row_major) a_double_row;
typedef B(8, 8, 4, double, row_major) b_double_row;
typedef A(8, 8, 32, experimental::precision::s4, row_major) a_s4;
typedef B(8, 8, 32, experimental::precision::u4, col_major) b_u4;
typedef A(8, 8, 128, experimental::precision::b1, row_major) a_b1;
typedef A(8, 8, 4, double, col_major) a_double_col;
typedef B(16, 16, 8, precision::tf32, col_major) b_tf32_col;
typedef C(32, 8, 16, half) c_short;
typedef C(8, 32, 16, half) c_flat;
typedef C(16, 16, 16, half) c_half;
typedef C(16, 16, 16, float) c_float;
typedef C(32, 8, 16, float) c_tall;
typedef C(8, 32, 16, int) c_wide;
typedef C(8, 8, 4, double) c_double;
typedef C(8, 8, 32, int) c_small;

FACTOR(a_half_row, a_half_row, half, 16, 32, 16)
PAIR(a_half_row)
FACTOR(a_half_col, a_half_col, half, 16, 32, 16)
PAIR(a_half_col)
FACTOR(b_half_row, b_half_row, half, 16, 32, 16)
PAIR(b_half_row)
FACTOR(b_half_col, b_half_col, half, 16, 32, 16)
PAIR(b_half_col)
FACTOR(a_tall_row, a_tall_row, half, 32, 32, 16)
PAIR(a_tall_row)
FACTOR(a_tall_col, a_tall_col, half, 16, 64, 16)
PAIR(a_tall_col)
FACTOR(b_wide_row, b_wide_row, __nv_bfloat16, 16, 64, 16)
PAIR(b_wide_row)
FACTOR(b_wide_col, b_wide_col, __nv_bfloat16, 32, 32, 16)
PAIR(b_wide_col)
FACTOR(a_byte_row, a_byte_row, signed char, 8, 16, 8)
PAIR(a_byte_row)
FACTOR(a_byte_col, a_byte_col, signed char, 16, 8, 8)
PAIR(a_byte_col)
FACTOR(b_byte_row, b_byte_row, unsigned char, 16, 8, 8)
PAIR(b_byte_row)
FACTOR(a_tf32_row, a_tf32_row, float, 16, 32, 32)
PAIR(a_tf32_row)
FACTOR(b_tf32_row, b_tf32_row, float, 8, 64, 32)
PAIR(b_tf32_row)
FACTOR(a_double_row, a_double_row, double, 8, 32, 64)
PAIR(a_double_row)
FACTOR(b_double_row, b_double_row, double, 4, 64, 64)
PAIR(b_double_row)
FACTOR(a_s4, a_s4, void, 8, 16, 4)
PAIR(a_s4)
FACTOR(b_u4, b_u4, void, 8, 16, 4)
PAIR(b_u4)
FACTOR(a_b1, a_b1, void, 8, 16, 1)
PAIR(a_b1)
SUM(c_half_row, c_half, half, mem_row_major, 16, 32)
PAIR(c_half_row)
PAIR(store_c_half_row)
SUM(c_half_col, c_half, half, mem_col_major, 16, 32)
PAIR(store_c_half_col)
SUM(c_float_row, c_float, float, mem_row_major, 16, 64)
PAIR(c_float_row)
PAIR(store_c_float_row)
SUM(c_float_col, c_float, float, mem_col_major, 16, 64)
PAIR(c_float_col)
PAIR(store_c_float_col)
SUM(c_tall_row, c_tall, float, mem_row_major, 32, 32)
PAIR(store_c_tall_row)
SUM(c_tall_col, c_tall, float, mem_col_major, 8, 128)
PAIR(c_tall_col)
SUM(c_wide_row, c_wide, int, mem_row_major, 8, 128)
PAIR(store_c_wide_row)
SUM(c_double_row, c_double, double, mem_row_major, 8, 64)
PAIR(c_double_row)
PAIR(store_c_double_row)
SUM(c_small_row, c_small, int, mem_row_major, 8, 32)
PAIR(store_c_small_row)

// Global memory, one block.
FACTOR(far_load, a_double_col, double, 4, 64, 64)
SUM(far, c_short, half, mem_row_major, 32, 16)
__global__ void global_load_race()
{
	if (blockIdx.x == 0)
		both<form_far_load>(far_tile, true);
}
__global__ void global_load_clean()
{
	if (blockIdx.x == 0)
		both<form_far_load>(far_tile, false);
}
__global__ void global_store_race()
{
	if (blockIdx.x == 0)
		both<form_store_far>(far_tile, true);
}
__global__ void global_store_clean()
{
	if (blockIdx.x == 0)
		both<form_store_far>(far_tile, false);
}

// Two blocks store the same tile, or one each.
SUM(blocks, c_flat, half, mem_row_major, 8, 64)
__global__ void blocks_race()
{
	if (threadIdx.x < 32)
		form_store_blocks::access(far_tile);
}
__global__ void blocks_clean()
{
	if (threadIdx.x < 32)
		form_store_blocks::access(far_tile + blockIdx.x * ROOM);
}

// An address that may be of either space.
FACTOR(generic, b_tf32_col, float, 16, 32, 32)
__global__ void generic_race()
{
	__shared__ __align__(32) unsigned char tile[ROOM];
	unsigned char *volatile p = tile;

	both<form_generic>(p, true);
}
__global__ void generic_clean()
{
	__shared__ __align__(32) unsigned char tile[ROOM];
	unsigned char *volatile p = tile;

	both<form_generic>(p, false);
}

// With a barrier in between.
__global__ void barrier_race()
{
	__shared__ __align__(32) half tile[256];

	for (int i = threadIdx.x; i < 256; i += 64)
		tile[i] = __float2half(1.0f);
	a_half_row a;
	load_matrix_sync(a, tile, 16);
	keep(a.x[0]);
}
__global__ void barrier_clean()
{
	__shared__ __align__(32) half tile[256];

	for (int i = threadIdx.x; i < 256; i += 64)
		tile[i] = __float2half(1.0f);
	__syncthreads();
	a_half_row a;
	load_matrix_sync(a, tile, 16);
	keep(a.x[0]);
}

// Lanes of one warp: each stores 16 bytes, and all load.
__global__ void lanes_race()
{
	__shared__ __align__(32) uint4 tiles[2][32];
	uint4 *tile = tiles[threadIdx.x / 32];

	tile[threadIdx.x % 32] = make_uint4(0, 0, 0, 0);
	a_half_row a;
	load_matrix_sync(a, (const half *)tile, 16);
	keep(a.x[0]);
}
__global__ void lanes_clean()
{
	__shared__ __align__(32) uint4 tiles[2][32];
	uint4 *tile = tiles[threadIdx.x / 32];

	tile[threadIdx.x % 32] = make_uint4(0, 0, 0, 0);
	__syncwarp();
	a_half_row a;
	load_matrix_sync(a, (const half *)tile, 16);
	keep(a.x[0]);
}

// A warp's product is a factor of its next one. Whether other lanes have the elements is left open by PTX, and on
// today's hardware they don't.
__global__ void sum_as_factor_clean()
{
	__shared__ __align__(32) half tiles[2][256];
	half *tile = tiles[threadIdx.x / 32];
	c_half c;
	a_half_row a;

	fill_fragment(c, __float2half(1.0f));
	store_matrix_sync(tile, c, 16, mem_row_major);
	load_matrix_sync(a, tile, 16);
	keep(a.x[0]);
}

// Sums that are kept in shared memory: each lane has its own elements.
__global__ void sum_again_clean()
{
	__shared__ __align__(32) float tiles[2][256];
	float *tile = tiles[threadIdx.x / 32];
	c_float c;

	fill_fragment(c, 1.0f);
	store_matrix_sync(tile, c, 16, mem_row_major);
	for (int i = 0; i < 3; i++) {
		load_matrix_sync(c, tile, 16, mem_row_major);
		for (int j = 0; j < c.num_elements; j++)
			c.x[j] += 1.0f;
		store_matrix_sync(tile, c, 16, mem_row_major);
	}
	keep(c.x[0]);
}

// Two warps, side by side in one matrix; or with four columns in common.
__global__ void beside_race()
{
	__shared__ __align__(32) float tile[16 * 32];
	c_float c;

	fill_fragment(c, 1.0f);
	store_matrix_sync(tile + threadIdx.x / 32 * 8, c, 32, mem_row_major);
}
__global__ void beside_clean()
{
	__shared__ __align__(32) float tile[16 * 32];
	c_float c;

	fill_fragment(c, 1.0f);
	store_matrix_sync(tile + threadIdx.x / 32 * 16, c, 32, mem_row_major);
}

// One line for all rows (a bias), which all warps read.
__global__ void bias_clean()
{
	__shared__ __align__(32) float line[16];
	c_float c;

	if (threadIdx.x < 16)
		line[threadIdx.x] = 1.0f;
	__syncthreads();
	load_matrix_sync(c, line, 0, mem_row_major);
	keep(c.x[0]);
}

#define LAUNCH(f)                                                                                      \
	f<<<2, 64>>>();                                                                                \
	if (cudaGetLastError() != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess)               \
		return 1;

int main()
{
#include "launches.h"
	return 0;
}
