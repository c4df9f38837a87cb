// sample.cu - a little of everything that nvcc turns into PTX: tables, calls, switch, inline asm, printf
#include <cooperative_groups.h>
#include <cstdio>

namespace cg = cooperative_groups;

__constant__ float table[4] = {1, 2.5f, 3, -4};
__managed__ int managed;
__device__ int counter;
__device__ int *counter_address = &counter;
__device__ const char *names[2] = {"a\"b\n", "{};"};
__device__ int (*chosen)(int);

__device__ __noinline__ double twice(double x, int n)
{
	return n > 3 ? x * 2 : x / n;
}

__global__ void mix(float *a, const float *__restrict__ b, int n)
{
	extern __shared__ float s[];
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	s[threadIdx.x] = b[i];
	__syncthreads();
	if (i < n)
		a[i] = s[(threadIdx.x + 1) % blockDim.x] + table[i & 3];
	auto tile = cg::tiled_partition<32>(cg::this_thread_block());
	a[i] += tile.shfl_down(a[i], 1);
	if (i == n)
		printf("%s %d\n", names[i & 1], n);
	asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 0; @p bra L1; nanosleep.u32 10; L1: }" ::"r"(n));
	asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 1; @p bra L1; nanosleep.u32 20; L1: }" ::"r"(n));
}

__global__ void branches(int *p, float4 *q, double *d)
{
	*p = chosen(*p);
	switch (*p & 15) {
	case 1: *p = 7; break;
	case 2: *p = q->x > 1; break;
	case 3: *p = 99; managed++; break;
	case 4: atomicAdd(counter_address, 3); break;
	case 5: p[3] = 3; break;
	case 6: q[1] = q[0]; break;
	case 7: *d = twice(*d, *p); break;
	}
}
