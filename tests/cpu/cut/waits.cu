// waits.cu - the first block waits for the last one by weak loads: a race, and no end where blocks are
// executed group after group. -DFIXED: by acquire and release.
#include <cstdio>
#include <cuda_runtime.h>

#define BLOCK 128

__device__ int get(int *flag)
{
#ifdef FIXED
	int v;
	asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(v) : "l"(flag) : "memory");
	return v;
#else
	return *flag; // race: waits
#endif
}

__device__ void set(int *flag)
{
#ifdef FIXED
	asm volatile("st.release.gpu.global.s32 [%0], 1;" ::"l"(flag) : "memory");
#else
	*flag = 1; // race: sets
#endif
}

// All threads look.
__global__ void all(int *flag, int *out)
{
	if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0)
		set(flag);
	while (blockIdx.x == 0) {
		__syncthreads();
		if (__syncthreads_or(get(flag)))
			break;
	}
	out[blockIdx.x * BLOCK + threadIdx.x] = 1;
}

// One does, for the others.
__global__ void one(int *flag, int *out)
{
	__shared__ int is_set;

	if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0)
		set(flag);
	while (blockIdx.x == 0) {
		if (threadIdx.x == 0)
			is_set = get(flag);
		__syncthreads();
		int done = is_set;
		__syncthreads();
		if (done)
			break;
	}
	out[blockIdx.x * BLOCK + threadIdx.x] = 1;
}

int main(int argc, char **argv)
{
	const int blocks = 64;
	int *flag, *out, sum = 0, host[64 * BLOCK];

	cudaMalloc(&flag, sizeof(*flag));
	cudaMalloc(&out, sizeof(host));
	cudaMemset(flag, 0, sizeof(*flag));
	if (argc > 1 && argv[1][0] == 'a')
		all<<<blocks, BLOCK>>>(flag, out);
	else
		one<<<blocks, BLOCK>>>(flag, out);
	cudaMemcpy(host, out, sizeof(host), cudaMemcpyDeviceToHost);
	for (int v : host)
		sum += v;
	puts(sum == blocks * BLOCK ? "done" : "WRONG");
}
