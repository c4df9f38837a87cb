// copies.cu - cp.async, as a write that goes on until its thread has waited for it; cases.py runs and judges.
//
// The ends of names are those of cases.cu. One block of two warps.
#include <cuda_runtime.h>
#include <string.h>

#define BLOCK 64

__device__ unsigned int sink[BLOCK];
__device__ __align__(16) unsigned int source[BLOCK * 64];
extern __shared__ __align__(16) unsigned int dynamic[];

__device__ __forceinline__ unsigned int near_at(const void *p) { return (unsigned int)__cvta_generic_to_shared(p); }
__device__ __forceinline__ const void *far_at(const void *p) { return (const void *)__cvta_generic_to_global(p); }

template <int BYTES> __device__ __forceinline__ void copy(void *to, const void *from)
{
	if (BYTES == 16)
		asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(near_at(to)), "l"(far_at(from)) : "memory");
	else
		asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(near_at(to)), "l"(far_at(from)), "n"(BYTES)
			     : "memory");
}
__device__ __forceinline__ void copy_part(void *to, const void *from, int bytes)
{
	asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(near_at(to)), "l"(far_at(from)), "r"(bytes)
		     : "memory");
}
__device__ __forceinline__ void copy_unless(void *to, const void *from, int ignores)
{
	asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.s32 p, %2, 0;\n\t"
		     "cp.async.ca.shared.global [%0], [%1], 16, p;\n\t}" ::"r"(near_at(to)),
		     "l"(far_at(from)), "r"(ignores) : "memory");
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> __device__ __forceinline__ void wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }
__device__ __forceinline__ void wait_all() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// The thread itself, before its wait.
template <int BYTES> __device__ __forceinline__ void own(bool waits)
{
	__shared__ __align__(16) unsigned int tile[BLOCK * 4];
	unsigned int *mine = tile + 4 * threadIdx.x;

	copy<BYTES>(mine, source + 4 * threadIdx.x);
	commit();
	if (waits)
		wait<0>();
	sink[threadIdx.x] = mine[BYTES / 4 - 1];
	wait_all();
}
__global__ void own_4_race() { own<4>(false); }
__global__ void own_4_clean() { own<4>(true); }
__global__ void own_8_race() { own<8>(false); }
__global__ void own_8_clean() { own<8>(true); }
__global__ void own_16_race() { own<16>(false); }
__global__ void own_16_clean() { own<16>(true); }

// What lies beside the copy's bytes.
__global__ void beside_clean()
{
	__shared__ __align__(16) unsigned int tile[BLOCK * 4];
	unsigned int *mine = tile + 4 * threadIdx.x;

	mine[2] = 1;
	copy<8>(mine, source + 4 * threadIdx.x);
	sink[threadIdx.x] = mine[2];
	wait_all();
}

// Another thread: after a barrier, but no wait; after a wait, but no barrier.
__device__ __forceinline__ void other(bool waits, bool meets)
{
	__shared__ __align__(16) unsigned int tile[BLOCK * 4];

	copy<16>(tile + 4 * threadIdx.x, source + 4 * threadIdx.x);
	commit();
	if (waits)
		wait<0>();
	if (meets)
		__syncthreads();
	sink[threadIdx.x] = tile[4 * (BLOCK - 1 - threadIdx.x)];
	wait_all();
}
__global__ void no_wait_race() { other(false, true); }
__global__ void no_barrier_race() { other(true, false); }
__global__ void neither_race() { other(false, false); }
__global__ void both_clean() { other(true, true); }

__global__ void write_race()
{
	__shared__ __align__(16) unsigned int tile[BLOCK * 4];

	copy<16>(tile + 4 * threadIdx.x, source + 4 * threadIdx.x);
	__syncthreads();
	tile[4 * (BLOCK - 1 - threadIdx.x)] = 1;
	wait_all();
}
__global__ void write_clean()
{
	__shared__ __align__(16) unsigned int tile[BLOCK * 4];

	copy<16>(tile + 4 * threadIdx.x, source + 4 * threadIdx.x);
	wait_all();
	__syncthreads();
	tile[4 * (BLOCK - 1 - threadIdx.x)] = 1;
}

// The place is used again while others read it.
__device__ __forceinline__ void again(bool meets)
{
	__shared__ __align__(16) unsigned int tile[BLOCK * 4];

	for (int i = 0; i < 3; i++) {
		copy<16>(tile + 4 * threadIdx.x, source + 4 * threadIdx.x);
		wait_all();
		__syncthreads();
		sink[threadIdx.x] = tile[4 * (BLOCK - 1 - threadIdx.x)];
		if (meets)
			__syncthreads();
	}
}
__global__ void again_race() { again(false); }
__global__ void again_clean() { again(true); }

// Two copies to one place, by two threads and by one.
__global__ void two_race()
{
	__shared__ __align__(16) unsigned int tile[BLOCK * 4];

	copy<16>(tile + 4 * (threadIdx.x % 32), source + 4 * threadIdx.x);
	wait_all();
}
__global__ void two_clean()
{
	__shared__ __align__(16) unsigned int tile[BLOCK * 4];

	copy<16>(tile + 4 * threadIdx.x, source + 4 * threadIdx.x);
	wait_all();
}
__device__ __forceinline__ void twice(bool waits)
{
	__shared__ __align__(16) unsigned int tile[BLOCK * 4];

	copy<16>(tile + 4 * threadIdx.x, source + 4 * threadIdx.x);
	if (waits)
		wait_all();
	copy<16>(tile + 4 * threadIdx.x, source + BLOCK * 4 + 4 * threadIdx.x);
	wait_all();
}
__global__ void twice_race() { twice(false); }
__global__ void twice_clean() { twice(true); }
// The thread's own accesses come before its copy.
__global__ void own_before_clean()
{
	__shared__ __align__(16) unsigned int tile[BLOCK * 4];

	tile[4 * threadIdx.x] = 1;
	sink[threadIdx.x] = tile[4 * threadIdx.x + 1];
	copy<16>(tile + 4 * threadIdx.x, source + 4 * threadIdx.x);
	wait_all();
}

// A ring of stages: groups that are not the last ones.
template <int STAGES, int LEFT> __device__ __forceinline__ void ring(int meets)
{
	__shared__ __align__(16) unsigned int tile[STAGES][BLOCK * 4];
	unsigned int sum = 0;

	for (int i = 0; i < STAGES - 1; i++) {
		copy<16>(tile[i] + 4 * threadIdx.x, source + BLOCK * 4 * i + 4 * threadIdx.x);
		commit();
	}
	for (int i = 0; i < 12; i++) {
		wait<LEFT>();
		if (meets > 0)
			__syncthreads();
		sum += tile[i % STAGES][4 * (BLOCK - 1 - threadIdx.x)];
		if (meets > 1)
			__syncthreads();
		if (i + STAGES - 1 < 12)
			copy<16>(tile[(i + STAGES - 1) % STAGES] + 4 * threadIdx.x,
				 source + BLOCK * 4 * (i + STAGES - 1) + 4 * threadIdx.x);
		commit();
	}
	sink[threadIdx.x] = sum;
}
__global__ void ring_of_3_clean() { ring<3, 1>(1); }
__global__ void ring_of_3_race() { ring<3, 2>(1); }
__global__ void ring_of_4_clean() { ring<4, 2>(1); }
__global__ void ring_of_4_race() { ring<4, 3>(1); }
__global__ void ring_of_2_clean() { ring<2, 0>(2); }
__global__ void ring_of_2_race() { ring<2, 0>(0); }

// What was never committed.
__device__ __forceinline__ void open(bool commits)
{
	__shared__ __align__(16) unsigned int tile[BLOCK * 4];

	copy<16>(tile + 4 * threadIdx.x, source + 4 * threadIdx.x);
	if (commits)
		commit();
	wait<0>();
	sink[threadIdx.x] = tile[4 * threadIdx.x];
	wait_all();
}
__global__ void open_race() { open(false); }
__global__ void open_clean() { open(true); }
__global__ void open_all_clean()
{
	__shared__ __align__(16) unsigned int tile[BLOCK * 4];

	copy<16>(tile + 4 * threadIdx.x, source + 4 * threadIdx.x);
	wait_all();
	sink[threadIdx.x] = tile[4 * threadIdx.x];
}

// A thread waits for its own copies only.
__device__ __forceinline__ void for_all(bool all)
{
	__shared__ __align__(16) unsigned int tile[BLOCK * 4];

	copy<16>(tile + 4 * threadIdx.x, source + 4 * threadIdx.x);
	if (all || threadIdx.x == 0)
		wait_all();
	__syncthreads();
	if (threadIdx.x == 0)
		for (int i = 0; i < BLOCK; i++)
			sink[i] = tile[4 * i];
}
__global__ void for_all_race() { for_all(false); }
__global__ void for_all_clean() { for_all(true); }

// Lanes of one warp.
__device__ __forceinline__ void lanes(bool meets)
{
	__shared__ __align__(16) unsigned int tile[BLOCK * 4];

	copy<16>(tile + 4 * threadIdx.x, source + 4 * threadIdx.x);
	wait_all();
	if (meets)
		__syncwarp();
	sink[threadIdx.x] = tile[4 * (threadIdx.x ^ 1)];
}
__global__ void lanes_race() { lanes(false); }
__global__ void lanes_clean() { lanes(true); }
__global__ void lanes_no_wait_race()
{
	__shared__ __align__(16) unsigned int tile[BLOCK * 4];

	copy<16>(tile + 4 * threadIdx.x, source + 4 * threadIdx.x);
	__syncwarp();
	sink[threadIdx.x] = tile[4 * (threadIdx.x ^ 1)];
	wait_all();
}

// Bytes of what is copied.
__device__ __forceinline__ void bytes(bool waits)
{
	__shared__ __align__(16) unsigned char tile[BLOCK * 16];

	tile[16 * threadIdx.x + 5] = 1;
	copy<16>(tile + 16 * threadIdx.x, source + 4 * threadIdx.x);
	if (waits)
		wait_all();
	__syncthreads();
	sink[threadIdx.x] = tile[16 * (BLOCK - 1 - threadIdx.x) + 7];
	wait_all();
}
__global__ void bytes_race() { bytes(false); }
__global__ void bytes_clean() { bytes(true); }

// Shared memory whose size the launch says.
__device__ __forceinline__ void in_dynamic(bool waits)
{
	copy<16>(dynamic + 4 * threadIdx.x, source + 4 * threadIdx.x);
	if (waits)
		wait_all();
	__syncthreads();
	sink[threadIdx.x] = dynamic[4 * (BLOCK - 1 - threadIdx.x)];
	wait_all();
}
__global__ void dynamic_race() { in_dynamic(false); }
__global__ void dynamic_clean() { in_dynamic(true); }

// Bytes that are not copied become 0.
__device__ __forceinline__ void part(int size, bool waits)
{
	__shared__ __align__(16) unsigned int tile[BLOCK * 4];

	copy_part(tile + 4 * threadIdx.x, source + 4 * threadIdx.x, size);
	if (waits)
		wait_all();
	sink[threadIdx.x] = tile[4 * threadIdx.x + 3];
	wait_all();
}
__global__ void part_race() { part(threadIdx.x % 2 ? 16 : 0, false); }
__global__ void part_clean() { part(threadIdx.x % 2 ? 16 : 0, true); }

// The source: what another thread writes.
__device__ __forceinline__ void from(bool meets)
{
	__shared__ __align__(16) unsigned int tile[BLOCK * 4];

	source[4 * threadIdx.x + 2] = threadIdx.x;
	if (meets)
		__syncthreads();
	copy<16>(tile + 4 * threadIdx.x, source + 4 * (BLOCK - 1 - threadIdx.x));
	wait_all();
}
__global__ void source_race() { from(false); }
__global__ void source_clean() { from(true); }
__global__ void source_after_race()
{
	__shared__ __align__(16) unsigned int tile[BLOCK * 4];

	copy<16>(tile + 4 * threadIdx.x, source + 4 * (BLOCK - 1 - threadIdx.x));
	wait_all();
	source[4 * threadIdx.x] = threadIdx.x;
}
__global__ void source_after_clean()
{
	__shared__ __align__(16) unsigned int tile[BLOCK * 4];

	copy<16>(tile + 4 * threadIdx.x, source + 4 * (BLOCK - 1 - threadIdx.x));
	wait_all();
	__syncthreads();
	source[4 * threadIdx.x] = threadIdx.x;
}
__device__ __forceinline__ void from_part(int size)
{
	__shared__ __align__(16) unsigned int tile[BLOCK * 4];

	source[4 * threadIdx.x] = threadIdx.x;
	copy_part(tile + 4 * threadIdx.x, source + 4 * (BLOCK - 1 - threadIdx.x), size);
	wait_all();
}
__global__ void source_part_race() { from_part(sink[0] == 77777 ? 0 : 16); }
__global__ void source_part_clean() { from_part(sink[0] == 77777 ? 16 : 0); }
__device__ __forceinline__ void from_unless(int ignores)
{
	__shared__ __align__(16) unsigned int tile[BLOCK * 4];

	source[4 * threadIdx.x] = threadIdx.x;
	copy_unless(tile + 4 * threadIdx.x, source + 4 * (BLOCK - 1 - threadIdx.x), ignores);
	wait_all();
}
__global__ void ignored_race() { from_unless(sink[0] == 77777); }
__global__ void ignored_clean() { from_unless(sink[0] != 77777); }

// Only some threads copy, and only those wait.
__device__ __forceinline__ void some(bool waits)
{
	__shared__ __align__(16) unsigned int tile[BLOCK * 4];

	if (threadIdx.x % 3 == 0)
		copy<16>(tile + 4 * threadIdx.x, source + 4 * threadIdx.x);
	else
		tile[4 * threadIdx.x] = 0;
	if (waits && threadIdx.x % 3 == 0)
		wait_all();
	__syncthreads();
	sink[threadIdx.x] = tile[4 * (BLOCK - 1 - threadIdx.x)];
	wait_all();
}
__global__ void some_race() { some(false); }
__global__ void some_clean() { some(true); }

// More copies than are kept, of a thread; then all are waited for.
// 2048 accesses step aside
__global__ void many_clean()
{
	__shared__ __align__(16) unsigned int tile[BLOCK * 80];

	for (int i = 0; i < 80; i++) {
		copy<4>(tile + BLOCK * i + threadIdx.x, source + threadIdx.x);
		commit();
	}
	wait<0>();
	__syncthreads();
	unsigned int sum = 0;
	for (int i = 0; i < 80; i++)
		sum += tile[BLOCK * i + BLOCK - 1 - threadIdx.x];
	sink[threadIdx.x] = sum;
}
__global__ void many_race()
{
	__shared__ __align__(16) unsigned int tile[BLOCK * 80];

	for (int i = 0; i < 80; i++) {
		copy<4>(tile + BLOCK * i + threadIdx.x, source + threadIdx.x);
		commit();
	}
	wait<50>();
	__syncthreads();
	unsigned int sum = 0;
	for (int i = 0; i < 80; i++)
		sum += tile[BLOCK * i + BLOCK - 1 - threadIdx.x];
	sink[threadIdx.x] = sum;
}

// What a function waits for isn't seen: there copies count as complete when they are issued.
__device__ __noinline__ void away_in(int i)
{
	asm volatile("cp.async.wait_group 0;" ::: "memory");
	sink[i] += 1;
}
__global__ void away_clean()
{
	__shared__ __align__(16) unsigned int tile[BLOCK * 4];

	copy<16>(tile + 4 * threadIdx.x, source + 4 * threadIdx.x);
	commit();
	away_in(threadIdx.x);
	__syncthreads();
	sink[threadIdx.x] = tile[4 * (BLOCK - 1 - threadIdx.x)];
}
__global__ void away_race()
{
	__shared__ __align__(16) unsigned int tile[BLOCK * 4];

	copy<16>(tile + 4 * threadIdx.x, source + 4 * threadIdx.x);
	commit();
	away_in(threadIdx.x);
	sink[threadIdx.x] = tile[4 * (BLOCK - 1 - threadIdx.x)];
}

// An mbarrier that the copies arrive at: a wait for it isn't followed.
__global__ void mbarrier_quiet()
{
	__shared__ __align__(16) unsigned int tile[BLOCK * 4];
	__shared__ __align__(8) unsigned long long bar;
	unsigned int at = near_at(&bar);

	if (threadIdx.x == 0)
		asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at), "r"(BLOCK) : "memory");
	__syncthreads();
	copy<16>(tile + 4 * threadIdx.x, source + 4 * threadIdx.x);
	asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(at) : "memory");
	asm volatile("{\n\t.reg .pred p;\nagain:\n\tmbarrier.try_wait.parity.shared.b64 p, [%0], 0;\n\t@!p bra again;\n\t}" ::"r"(at)
		     : "memory");
	sink[threadIdx.x] = tile[4 * (BLOCK - 1 - threadIdx.x)];
}
// Within a warp: what another one copies may be met before it has arrived, a certain race.
__global__ void mbarrier_possible()
{
	__shared__ __align__(16) unsigned int tile[BLOCK * 4];
	__shared__ __align__(8) unsigned long long bar;
	unsigned int at = near_at(&bar);

	if (threadIdx.x == 0)
		asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at), "r"(BLOCK) : "memory");
	__syncthreads();
	copy<16>(tile + 4 * threadIdx.x, source + 4 * threadIdx.x);
	asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(at) : "memory");
	sink[threadIdx.x] = tile[4 * (threadIdx.x ^ 31)];
}

#define LAUNCH(f)                                                                                     \
	f<<<1, BLOCK, strncmp(#f, "dynamic", 7) ? 0 : 16 * BLOCK>>>();                                  \
	if (cudaGetLastError() != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess)               \
		return 1;

int main()
{
#include "launches.h"
	return 0;
}
