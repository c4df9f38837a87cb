// ordered.h - what the programs of tests/detectors/ordered share; ordered.py runs them.
//
// Each PROGRAM is race-free: its threads are ordered by locks, flags, fences, counters and
// barriers, as users write them. It is a kernel with BLOCKS blocks of THREADS threads on zeroed
// memory, and counts in `wrong` what it should not have seen. A binary runs the programs that its
// arguments name, or all.
#ifndef COLLIDER_TESTS_ORDERED_H
#define COLLIDER_TESTS_ORDERED_H

#include <cuda_runtime.h>
#include <stdio.h>
#include <string.h>

#define BLOCKS	4
#define THREADS 64
#define WARPS	(THREADS / 32)

struct memory {
	unsigned lock[64], flag[64], count[64], head[64], tail[64];
	unsigned data[1024], more[1024], out[1024];
	unsigned next[256];
	unsigned *pointer[8];
	unsigned long long pair[64];
	unsigned wrong;
};

typedef void (*program)(struct memory *);

struct row {
	const char *name;
	program kernel;
};

#define PROGRAM(name) __global__ void name(struct memory *m)
#define ROW(name)     {#name, name},

#define LANE  (threadIdx.x % 32)
#define WARP  (threadIdx.x / 32)
#define ME    (blockIdx.x * THREADS + threadIdx.x)
#define LEADS (threadIdx.x == 0)

static __device__ __forceinline__ void expect(struct memory *m, bool is)
{
	if (!is)
		atomicAdd(&m->wrong, 1);
}

/* ---- what libcu++ makes of cuda::atomic_ref, scope device ------------------------------------ */

static __device__ __forceinline__ unsigned load_acquire(const unsigned *p)
{
	unsigned v;

	asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
	return v;
}

static __device__ __forceinline__ unsigned load_relaxed(const unsigned *p)
{
	unsigned v;

	asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
	return v;
}

static __device__ __forceinline__ void store_release(unsigned *p, unsigned v)
{
	asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

static __device__ __forceinline__ void store_relaxed(unsigned *p, unsigned v)
{
	asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

static __device__ __forceinline__ unsigned add_acq_rel(unsigned *p, unsigned v)
{
	unsigned was;

	asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;"
		     : "=r"(was)
		     : "l"(p), "r"(v)
		     : "memory");
	return was;
}

static __device__ __forceinline__ unsigned add_release(unsigned *p, unsigned v)
{
	unsigned was;

	asm volatile("atom.release.gpu.global.add.u32 %0, [%1], %2;"
		     : "=r"(was)
		     : "l"(p), "r"(v)
		     : "memory");
	return was;
}

static __device__ __forceinline__ unsigned cas_acquire(unsigned *p, unsigned was, unsigned v)
{
	unsigned old;

	asm volatile("atom.acquire.gpu.global.cas.b32 %0, [%1], %2, %3;"
		     : "=r"(old)
		     : "l"(p), "r"(was), "r"(v)
		     : "memory");
	return old;
}

/* ---- the older way --------------------------------------------------------------------------- */

static __device__ __forceinline__ void lock(unsigned *p)
{
	while (atomicCAS(p, 0, 1) != 0)
		__nanosleep(20);
	__threadfence();
}

static __device__ __forceinline__ void unlock(unsigned *p)
{
	__threadfence();
	atomicExch(p, 0);
}

static __device__ __forceinline__ unsigned seen(const unsigned *p)
{
	return *(const volatile unsigned *)p;
}

static __device__ __forceinline__ void wait_for(const unsigned *p, unsigned v)
{
	while (seen(p) != v)
		__nanosleep(20);
	__threadfence();
}

static __device__ __forceinline__ void signal(unsigned *p, unsigned v)
{
	__threadfence();
	*(volatile unsigned *)p = v;
}

/* A barrier of all blocks. */
static __device__ __forceinline__ void grid_barrier(unsigned *arrived, unsigned *generation)
{
	__syncthreads();
	if (LEADS) {
		unsigned g = seen(generation);
		__threadfence();
		if (atomicAdd(arrived, 1) == BLOCKS - 1) {
			*(volatile unsigned *)arrived = 0;
			__threadfence();
			atomicAdd(generation, 1);
		} else {
			while (seen(generation) == g)
				__nanosleep(20);
		}
		__threadfence();
	}
	__syncthreads();
}

/* ---- the host -------------------------------------------------------------------------------- */

static int run(const struct row *rows, int n, int argc, char **argv)
{
	struct memory *m;
	int bad = 0;

	if (cudaMalloc(&m, sizeof(*m)) != cudaSuccess)
		return 2;
	for (int i = 0; i < n; i++) {
		unsigned wrong = 0;
		bool is = argc < 2;
		for (int k = 1; k < argc; k++)
			is = is || !strcmp(argv[k], rows[i].name);
		if (!is)
			continue;
		cudaMemset(m, 0, sizeof(*m));
		rows[i].kernel<<<BLOCKS, THREADS>>>(m);
		cudaError_t e = cudaDeviceSynchronize();
		cudaMemcpy(&wrong, &m->wrong, sizeof(wrong), cudaMemcpyDeviceToHost);
		if (e != cudaSuccess || wrong) {
			printf("%s: %u wrong, %s\n", rows[i].name, wrong, cudaGetErrorName(e));
			bad = 1;
		}
	}
	cudaFree(m);
	return bad;
}

#define MAIN                                                                                       \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		return run(rows, (int)(sizeof(rows) / sizeof(rows[0])), argc, argv);               \
	}

#endif
