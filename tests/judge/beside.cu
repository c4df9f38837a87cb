// Kernels for beside.c, by which the judge beside a GPU is tried without one.
extern "C" __global__ void racy(int *p, int n)
{
	__shared__ int s[256];

	s[threadIdx.x] = n;
	p[blockIdx.x * 256 + threadIdx.x] = s[255 - threadIdx.x];
}

extern "C" __global__ void right(int *p, int n)
{
	__shared__ int s[256];

	s[threadIdx.x] = n;
	__syncthreads();
	p[blockIdx.x * 256 + threadIdx.x] = s[255 - threadIdx.x];
}

// Which element a thread writes is in memory: its own where that holds rising numbers.
extern "C" __global__ void indexed(int *p, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	p[p[i]] = i * n;
}

// Through a pointer in memory, and a variable.
__device__ int level = 3;
extern "C" __global__ void chase(int **p, int n)
{
	p[0][blockIdx.x * 256 + threadIdx.x] = level + n;
}
