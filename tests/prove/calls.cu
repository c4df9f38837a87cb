// calls.cu - what is a call in unoptimised code, and threads that end (command.sh): barriers that
// count, votes, traps, assertions, mathematics. Each racy kernel has a twin that isn't.
#include <cassert>
#include <sm_32_intrinsics.h>

__global__ void counted(int *y)
{
	__shared__ int s[256];
	s[threadIdx.x] = 1;
	int n = __syncthreads_count(threadIdx.x & 1);
	y[threadIdx.x] = s[255 - threadIdx.x] + n;
}
__global__ void voted(int *y)
{
	__shared__ int s[256];
	s[threadIdx.x] = 1;
	int n = __ballot_sync(~0u, threadIdx.x & 1);
	y[threadIdx.x] = s[255 - threadIdx.x] + n;
}
__global__ void all_any(int *y)
{
	__shared__ int s[256];
	s[threadIdx.x] = 1;
	int n = __syncthreads_and(threadIdx.x & 1);
	y[threadIdx.x] = s[255 - threadIdx.x] + n;
	n = __syncthreads_or(threadIdx.x & 1);
	s[threadIdx.x] = n;
}
template <unsigned N> __global__ void trapped(int *y)
{
	if (threadIdx.x >= N)
		__trap();
	y[threadIdx.x & 63] = 1;
}
template <unsigned N> __global__ void asserted(int *y)
{
	assert(threadIdx.x < N);
	y[threadIdx.x & 63] = 1;
}
template <unsigned N> __global__ void computed(float *y, const float *x)
{
	y[threadIdx.x / N] = powf(sinf(x[threadIdx.x]), 2.5f) + __ldg(x + threadIdx.x + 1);
}
template <unsigned N> __global__ void ended(int *y)
{
	__shared__ int s[256];
	if (threadIdx.x >= 128) {
		s[threadIdx.x - N] = 1;
		return;
	}
	__syncthreads();
	s[threadIdx.x] = 2;
}
template __global__ void trapped<64>(int *);
template __global__ void trapped<65>(int *);
template __global__ void asserted<64>(int *);
template __global__ void asserted<65>(int *);
template __global__ void computed<1>(float *, const float *);
template __global__ void computed<2>(float *, const float *);
template __global__ void ended<0>(int *);
template __global__ void ended<128>(int *);
