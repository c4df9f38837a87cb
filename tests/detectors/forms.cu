// forms.cu - races in the forms of programs that were reported in public, each with its twin; run by forms.py,
// which compares what is said of them with the table of docs/detectors.md.
//
// A kernel's name ends in _race or _clean; _equal: a race of equal values. Launched with BLOCKS blocks.
#include <cuda_runtime.h>

#define BLOCKS	2
#define THREADS 64

__device__ unsigned in[1024], out[1024], sink[1024], sems[64];
__device__ unsigned *const result = out;

#define ME (blockIdx.x * THREADS + threadIdx.x)

/* ---- a barrier is missing at the end of a loop, and what was read is stored under a condition  */

template <bool is_right> __device__ unsigned tiles(int rounds)
{
	__shared__ unsigned tile[THREADS];
	unsigned sum = 0, t = threadIdx.x;

	for (int k = 0; k < rounds; k++) {
		tile[t] = in[k * THREADS + t];
		__syncthreads();
		for (int i = 0; i < 4; i++)
			sum += tile[(t * 3 + i) % THREADS] * 2;
		if (is_right)
			__syncthreads();
	}
	return sum;
}

#define PAIR(name, text)                                                                           \
	__global__ void name##_race(int n)                                                         \
	{                                                                                          \
		unsigned v = tiles<false>(n);                                                      \
		text                                                                               \
	}                                                                                          \
	__global__ void name##_clean(int n)                                                        \
	{                                                                                          \
		unsigned v = tiles<true>(n);                                                       \
		text                                                                               \
	}

PAIR(stored, result[ME] = v;)
PAIR(guarded_store, if (ME < 1000u / n) result[ME] = v;)
PAIR(store_of_one, if (threadIdx.x == 0) result[blockIdx.x] = v;)
PAIR(early_return, if (ME >= 1000u / n) return; result[ME] = v;)
PAIR(guarded_atomic, if (ME < 1000u / n) atomicAdd(result, v);)

/* ---- neighbours are read as one vector, and all but one of them selected away ---------------- */

template <bool is_right> __device__ void prefix(int n)
{
	__shared__ __align__(16) unsigned sum[4];
	unsigned w = threadIdx.x / 16, base = 0;

	for (int k = 0; k < n; k++) {
		if (threadIdx.x % 16 == 0)
			sum[w] = in[k * 4 + w] + 1;
		__syncthreads();
		unsigned a = sum[0], b = a + sum[1], c = b + sum[2], d = c + sum[3];
		if (ME < 1000u / n)
			result[k * 128 + ME] = base + (w == 0 ? 0 : w == 1 ? a : w == 2 ? b : c);
		base += d;
		if (is_right)
			__syncthreads();
	}
}
__global__ void read_as_vector_race(int n) { prefix<false>(n); }
__global__ void read_as_vector_clean(int n) { prefix<true>(n); }

/* ---- a thread waits between a load and the use of its value ---------------------------------- */

template <bool is_right> __device__ void waits(int n)
{
	unsigned sum = 0;

	if (blockIdx.x)
		return;
	if (threadIdx.x == 32) {
		(is_right ? sink : in)[0] = 7;
	} else if (threadIdx.x == 0) {
#pragma unroll 1
		for (int i = 0; i < n; i++) {
			sum += in[i];
			while (*(volatile unsigned *)&sems[32] != 0)
				;
		}
		result[0] = sum;
	}
}
__global__ void waits_before_use_race(int n) { waits<false>(n); }
__global__ void waits_before_use_clean(int n) { waits<true>(n); }

/* ---- "something has changed": reset while others test it ------------------------------------- */

template <bool is_right> __device__ void rounds(int n)
{
	__shared__ bool changed;
	unsigned t = threadIdx.x, left = t % n;

	if (t == 0)
		changed = true;
	__syncthreads();
	while (changed) {
		if (is_right)
			__syncthreads();
		if (t == 0)
			changed = false;
		__syncthreads();
		if (left > 0) // both warps, both true
			changed = true;
		left -= left > 0;
		__syncthreads();
	}
	result[ME] = left;
}
__global__ void reset_flag_race(int n) { rounds<false>(n); }
__global__ void reset_flag_equal(int n) { rounds<true>(n); }

/* ---- serial split-K: the store isn't released before the semaphore --------------------------- */

template <bool is_right> __device__ void split(int n)
{
	unsigned t = threadIdx.x, mine = in[ME] * n;

	if (t == 0) {
		while (atomicAdd(&sems[0], 0) != blockIdx.x)
			__nanosleep(20);
		__threadfence();
	}
	__syncthreads();
	result[t] = blockIdx.x ? result[t] + mine : mine;
	if (is_right)
		__threadfence();
	__syncthreads();
	if (t == 0)
		atomicExch(&sems[0], (blockIdx.x + 1) % BLOCKS);
}
__global__ void semaphore_race(int n) { split<false>(n); }
__global__ void semaphore_clean(int n) { split<true>(n); }

/* ---- a lock that isn't released: work is taken from a queue ---------------------------------- */

template <bool is_right> __device__ void take(int n)
{
	__shared__ unsigned item;

	for (;;) {
		if (threadIdx.x == 0) {
			while (atomicCAS(&sems[8], 0, 1))
				__nanosleep(20);
			__threadfence();
			item = sink[0];
			if (item < 3u * n)
				sink[0] = item + 1;
			if (is_right)
				__threadfence();
			atomicExch(&sems[8], 0);
		}
		__syncthreads();
		unsigned i = item;
		__syncthreads();
		if (i >= 3u * n)
			break;
		atomicAdd(&result[i], 1);
	}
}
__global__ void lock_not_released_race(int n) { take<false>(n); }
__global__ void lock_not_released_clean(int n) { take<true>(n); }

/* ---- shared memory of a reduction is used again too early ------------------------------------ */

template <bool is_right> __device__ unsigned sum_of(unsigned v)
{
	__shared__ unsigned part[THREADS / 32];

	for (int d = 16; d; d /= 2)
		v += __shfl_xor_sync(~0u, v, d);
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = v;
	__syncthreads();
	v = part[0] + part[1];
	if (is_right)
		__syncthreads();
	return v;
}
__global__ void used_again_race(int n) { result[ME] = sum_of<false>(in[ME]) + sum_of<false>(in[ME] * n); }
__global__ void used_again_clean(int n) { result[ME] = sum_of<true>(in[ME]) + sum_of<true>(in[ME] * n); }

/* ---- colours of four bytes, of which three count ------------------------------------------------ */

template <bool is_right> __device__ void brightness()
{
	__shared__ unsigned colour[THREADS];
	unsigned t = threadIdx.x;

	colour[t] = in[ME] * 0x10305;
	if (is_right)
		__syncthreads();
	unsigned c = colour[(t + 33) % THREADS];
	result[ME] = (unsigned)((c & 255) * .3f + (c >> 8 & 255) * .59f + (c >> 16 & 255) * .11f);
	((unsigned char *)sink)[ME] = (unsigned char)c;
}
__global__ void three_of_four_race(int n) { brightness<false>(); }
__global__ void three_of_four_clean(int n) { brightness<true>(); }

/* ---- a lock that every lane takes, opened by a plain store ------------------------------------- */

template <bool is_right> __device__ void elect(int n)
{
	for (bool done = false; !done;) {
		if (atomicExch(&sems[16], 1) == 0) {
			if (is_right)
				__threadfence();
			if (in[ME] * n > result[0]) {
				result[0] = in[ME] * n;
				result[1] = ME;
			}
			if (is_right) {
				__threadfence();
				atomicExch(&sems[16], 0);
			} else {
				sems[16] = 0;
			}
			done = true;
		}
	}
}
__global__ void plain_unlock_race(int n) { elect<false>(n); }
__global__ void plain_unlock_clean(int n) { elect<true>(n); }

/* ---- counters that are read between two barriers, for many rounds ------------------------------ */

template <bool is_right> __device__ void counted(int n)
{
	unsigned t = threadIdx.x, sum = 0, *mine = &sink[4 * blockIdx.x];

	for (int i = 0; i < 16 * n; i++) {
		atomicAdd(mine + (i & 3), 1u);
		if (is_right)
			__syncthreads();
		if (t == (i & 63))
			sum += mine[i & 3];
		__syncthreads();
	}
	result[ME] = sum;
}
__global__ void counters_race(int n) { counted<false>(n); }
__global__ void counters_clean(int n) { counted<true>(n); }

/* ---- a scan by shuffles, whose totals the next round writes: unrolled into many registers ------- */

template <bool is_right> __device__ void scanned(int n)
{
	__shared__ unsigned total[THREADS / 32];
	unsigned t = threadIdx.x, all = 0;

	for (int k = 0; k < n; k++) {
		unsigned x = in[ME] + k;
		for (int d = 1; d < 32; d *= 2) {
			unsigned y = __shfl_up_sync(~0u, x, d);
			if (t % 32 >= d)
				x += y;
		}
		if (t % 32 == 31)
			total[t / 32] = x;
		__syncthreads();
		if (t >= 32)
			x += total[0];
		all += x;
		if (is_right)
			__syncthreads();
	}
	if (ME < 1000u / n)
		result[ME] = all;
}
__global__ void totals_race(int n) { scanned<false>(n); }
__global__ void totals_clean(int n) { scanned<true>(n); }

// Kernels that share lines are in different runs: a report joins what it finds in one place.
static int launch(void (*kernel)(int), void *p)
{
	unsigned values[1024];

	for (unsigned i = 0; i < 1024; i++)
		values[i] = i * 7 + 1;
	cudaMemcpyToSymbol(in, values, sizeof(values));
	cudaMemset(p, 0, sizeof(sink));
	kernel<<<BLOCKS, THREADS>>>(4);
	return cudaDeviceSynchronize() != cudaSuccess;
}

#define LAUNCH(run, kernel) bad += run == wanted && launch(kernel, p);

int main(int, char **argv)
{
	int wanted = argv[1][0] - '0', bad = 0;
	void *p;

	cudaGetSymbolAddress(&p, sink);
#include "launches.h"
	return bad;
}
