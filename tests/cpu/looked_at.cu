// looked_at.cu - sums of few and of many elements, stored under a condition (looked_at.sh).
//
// nvcc may have invented each load, so hirace and iguard follow its value to the store. Of so many sums as
// `many` has they follow a part. The elements are in global memory: those of shared memory would be kept apart by
// the barriers.
#include <cuda_runtime.h>

#define T 64

__device__ float in[1024], out[T], s[T];

template <int N> __device__ void sums(int n)
{
	float a[N] = {};

#pragma unroll 1
	for (int k = 0; k < n; k++) {
		s[threadIdx.x] = in[threadIdx.x + k];
		__syncthreads();
#pragma unroll
		for (int j = 0; j < N; j++)
			a[j] += s[(threadIdx.x + j * n) % T];
		__syncthreads();
	}
	if (threadIdx.x < 100u / n)
		for (int j = 0; j < N; j++)
			out[threadIdx.x] += a[j] * j;
}
__global__ void few(int n) { sums<4>(n); }
__global__ void many(int n) { sums<80>(n); }

int main(int argc, char **)
{
	if (argc > 1)
		many<<<1, T>>>(3);
	else
		few<<<1, T>>>(3);
	return cudaDeviceSynchronize() != cudaSuccess;
}
