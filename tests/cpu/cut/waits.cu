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

__device__ __noinline__ int look(int *flag)
{
	return get(flag);
}

// A called function does.
__global__ void called(int *flag, int *out)
{
	if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0)
		set(flag);
	while (blockIdx.x == 0) {
		__syncthreads();
		if (__syncthreads_or(look(flag)))
			break;
	}
	out[blockIdx.x * BLOCK + threadIdx.x] = 1;
}

// By way of the thread's stack.
__global__ void stack(int *flag, int *out)
{
	volatile int seen;

	if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0)
		set(flag);
	while (blockIdx.x == 0) {
		seen = get(flag);
		__syncthreads();
		if (__syncthreads_or(seen))
			break;
	}
	out[blockIdx.x * BLOCK + threadIdx.x] = 1;
}

int main(int argc, char **argv)
{
	void (*const kernels[])(int *, int *) = {all, one, called, stack};
	const char *const names = "aocs";
	const int blocks = 64;
	int *flag, *out, sum = 0, host[64 * BLOCK];

	cudaMalloc(&flag, sizeof(*flag));
	cudaMalloc(&out, sizeof(host));
	cudaMemset(flag, 0, sizeof(*flag));
	for (int i = 0; i < 4; i++)
		if (argc > 1 && argv[1][0] == names[i])
			kernels[i]<<<blocks, BLOCK>>>(flag, out);
	cudaMemcpy(host, out, sizeof(host), cudaMemcpyDeviceToHost);
	for (int v : host)
		sum += v;
	puts(sum == blocks * BLOCK ? "done" : "WRONG");
}
