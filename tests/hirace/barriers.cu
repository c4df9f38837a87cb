// barriers.cu - counted barriers and threads that exit, for hirace and iguard; cases.py runs and judges
// them (the ends of names: cases.cu). What a counted barrier orders is only possible for both, and to
// hirace a thread that has exited has passed the barriers of the others, for iguard it has not: _iguard.
#include <cuda_runtime.h>

#define BLOCK 96 // three warps

__device__ unsigned int word[4096], sink[4096];

#define BARRIER(name, text)                                                                          \
	__device__ __forceinline__ void name(int id, int n)                                           \
	{                                                                                             \
		asm volatile(text ::"r"(id), "r"(n) : "memory");                                      \
	}
BARRIER(sync_n, "bar.sync %0, %1;")
BARRIER(arrive_n, "bar.arrive %0, %1;")
BARRIER(part_sync_n, "barrier.sync %0, %1;")
BARRIER(red_n, "{.reg .pred p;\nsetp.eq.u32 p, %0, %1;\n.reg .b32 r;\nbar.red.popc.u32 r, %0, %1, p;}")
__device__ __forceinline__ void part_sync() { asm volatile("barrier.sync 0;" ::: "memory"); }
__device__ __forceinline__ unsigned int me() { return blockIdx.x * blockDim.x + threadIdx.x; }
#define W (threadIdx.x / 32)
#define L (threadIdx.x % 32)
#define SHARED __shared__ unsigned int box[BLOCK]
#define STORE (box[threadIdx.x] = me())
#define TAKE(w) (sink[me()] = box[(w) * 32 + 31 - L])

// ---- a count, then the end -------------------------------------------------------------------------

__global__ void arrive_exit_quiet()
{
	SHARED;
	if (W == 0) {
		STORE;
		arrive_n(1, 64);
	} else if (W == 1) {
		sync_n(1, 64);
		TAKE(0);
	}
}
__global__ void arrive_too_early_possible()
{
	SHARED;
	if (W == 0) {
		arrive_n(1, 64);
		STORE;
	} else if (W == 1) {
		sync_n(1, 64);
		TAKE(0);
	}
}
__global__ void arrive_exit_all_quiet() // the count is the block's size
{
	SHARED;
	STORE;
	if (W == 0) {
		arrive_n(1, BLOCK);
		return;
	}
	sync_n(1, BLOCK);
	sink[me()] = box[(threadIdx.x + 32) % BLOCK] + box[(threadIdx.x + 64) % BLOCK];
}
__global__ void arrive_exit_all_possible() // the third warp stores after it has met the others
{
	SHARED;
	if (W != 2)
		STORE;
	if (W == 0) {
		arrive_n(1, BLOCK);
		return;
	}
	sync_n(1, BLOCK);
	if (W == 2)
		STORE;
	sink[me()] = box[(threadIdx.x + 32) % BLOCK] + box[(threadIdx.x + 64) % BLOCK];
}
__global__ void arrivals_of_two_quiet()
{
	SHARED;
	if (W < 2) {
		STORE;
		arrive_n(1, BLOCK);
	} else {
		sync_n(1, BLOCK);
		TAKE(0);
		TAKE(1);
	}
}
__global__ void outsider_possible() // a warp that has no part in it reads as well
{
	SHARED;
	if (W == 0) {
		STORE;
		arrive_n(1, 64);
	} else {
		if (W == 1)
			sync_n(1, 64);
		TAKE(0);
	}
}
__global__ void own_warps_possible() // a barrier for each warp
{
	SHARED;
	STORE;
	sync_n(1 + W, 32);
	TAKE((W + 1) % 3);
}
__global__ void own_warps_quiet()
{
	SHARED;
	STORE;
	sync_n(1 + W, 32);
	TAKE(W);
}
__global__ void ring_quiet() // full and empty; the producer's last is its end
{
	SHARED;
	for (int i = 0; i < 4; i++) {
		if (W == 0) {
			STORE;
			arrive_n(1, 64);
			if (i < 3)
				sync_n(2, 64);
		} else if (W == 1) {
			sync_n(1, 64);
			TAKE(0);
			if (i < 3)
				arrive_n(2, 64);
		}
	}
}
__global__ void ring_possible() // nothing says that it is empty
{
	SHARED;
	for (int i = 0; i < 4; i++) {
		if (W == 0)
			STORE;
		if (W < 2)
			sync_n(1, 64);
		if (W == 1)
			TAKE(0);
	}
}
__global__ void reduced_quiet()
{
	SHARED;
	STORE;
	red_n(1, BLOCK);
	TAKE((W + 1) % 3);
}
__global__ void reduced_possible()
{
	SHARED;
	red_n(1, BLOCK);
	STORE;
	TAKE((W + 1) % 3);
}
__global__ void then_all_quiet()
{
	SHARED;
	if (W == 0) {
		STORE;
		arrive_n(1, 64);
		return;
	}
	if (W == 1) {
		sync_n(1, 64);
		TAKE(0);
	}
	__syncthreads();
	if (W == 2)
		TAKE(0);
}

// ---- half a warp --------------------------------------------------------------------------------------

__global__ void half_left_quiet()
{
	SHARED;
	if (W == 2 || (W == 1 && L >= 16))
		return;
	if (W == 0)
		STORE;
	sync_n(1, 64);
	if (W == 1)
		TAKE(0);
}
__global__ void half_left_possible() // what it did is ordered by nothing, as it didn't arrive
{
	SHARED;
	if (W == 2)
		return;
	if (W == 1 && L >= 16) {
		STORE;
		return;
	}
	sync_n(1, 64);
	if (W == 0)
		TAKE(1);
}
__global__ void halves_apart_quiet()
{
	SHARED;
	if (W == 2)
		return;
	STORE;
	if (W == 1 && L >= 16) {
		part_sync_n(1, 64);
		TAKE(0);
	} else {
		part_sync_n(1, 64);
		sink[me()] = box[48 + L / 2];
	}
}
__global__ void halves_apart_clean()
{
	SHARED;
	STORE;
	if (L >= 16) {
		part_sync();
		TAKE((W + 1) % 3);
	} else {
		part_sync();
		TAKE((W + 2) % 3);
	}
}
__global__ void halves_apart_race()
{
	SHARED;
	STORE;
	if (L >= 16) {
		part_sync();
		TAKE((W + 1) % 3);
	} else {
		TAKE((W + 2) % 3);
		part_sync();
	}
}

// ---- the block's barrier, and threads that have left ----------------------------------------------------

__global__ void left_after_it_clean()
{
	SHARED;
	STORE;
	__syncthreads();
	if (W == 0)
		return;
	box[threadIdx.x - 32] = 1;
	__syncthreads();
	TAKE(W == 2 ? 0 : 1);
}
__global__ void left_before_it_clean() // having touched nothing
{
	SHARED;
	if (W == 0 || (W == 1 && L >= 16))
		return;
	STORE;
	__syncthreads();
	sink[me()] = W == 1 ? box[64 + L] : box[32 + L / 2];
}
__global__ void left_race()
{
	if (W == 0)
		word[me()] = 1;
	else
		sink[me()] = word[me() % 32 + blockIdx.x * BLOCK];
}
__global__ void left_before_it_iguard()
{
	if (W == 0) {
		word[me()] = 1;
		return;
	}
	__syncthreads();
	sink[me()] = word[threadIdx.x % 32 + blockIdx.x * BLOCK];
}
__global__ void half_left_before_it_iguard()
{
	SHARED;
	if (W == 1 && L >= 16) {
		STORE;
		return;
	}
	__syncthreads();
	if (W == 0)
		TAKE(1);
}

#define LAUNCH(f)                                                                                     \
	f<<<2, BLOCK>>>();                                                                            \
	if (cudaDeviceSynchronize() != cudaSuccess)                                                   \
		return 1;

int main()
{
#include "launches.h"
	return 0;
}
