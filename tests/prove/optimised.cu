// optimised.cu - kernels that are decided only in the text that nvcc optimises (command.sh).
//--blockDim=64 --gridDim=2
typedef int (*way)(int);
__device__ int itself(int x) { return x; }
__device__ int half(int x) { return x / 2; }

// Race-free: the call through a pointer is gone.
__global__ void through_pointer(int *p)
{
	way f = itself;
	p[f(blockIdx.x * blockDim.x + threadIdx.x)] = 1;
}

// Two threads store to each element.
__global__ void through_pointer_racy(int *p)
{
	way f = half;
	p[f(blockIdx.x * blockDim.x + threadIdx.x)] = threadIdx.x;
}

// The load races, and the optimiser leaves it out, as nothing uses its value.
__global__ void left_out_racy(int *p, const int *q)
{
	__shared__ int s[64];
	way f = itself;
	s[f(threadIdx.x)] = 1;
	int unused = q[f(threadIdx.x)] > 3 ? s[threadIdx.x ^ 1] : 0;
	p[f(blockIdx.x * blockDim.x + threadIdx.x)] = 1;
}

// Race-free where a row has 64 elements: the names of parameters are those of the text as written.
__global__ void rows_through_pointer(int *p, int pitch)
{
	way f = itself;
	p[f(blockIdx.x * pitch + threadIdx.x)] = 1;
}

// Rows of half as many.
__global__ void rows_through_pointer_racy(int *p, int pitch)
{
	way f = itself;
	p[f(blockIdx.x * (pitch / 2) + threadIdx.x)] = threadIdx.x;
}

// What the optimiser leaves out shares its line with what it keeps: a store to what is never read,
// a store of what was there, a load that one of two uses doesn't need, and all but the last of a
// loop's loads.
__device__ __noinline__ int element(const int *p, int i)
{
	return p[i];
}

__global__ void never_read_racy(int *p, const int *q)
{
	__shared__ int s[64];
	s[q[threadIdx.x]] = 1, p[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

__global__ void put_back_racy(int *p, const int *q)
{
	__shared__ int s[64];
	s[threadIdx.x] = 1;
	__syncthreads();
	if (q[threadIdx.x] > 3)
		s[q[threadIdx.x]] = s[q[threadIdx.x]], p[blockIdx.x * blockDim.x + threadIdx.x] = s[threadIdx.x];
}

__global__ void one_of_two_racy(int *p, const int *q)
{
	__shared__ int s[65];
	s[threadIdx.x] = 1;
	if (q[threadIdx.x] > 3)
		s[threadIdx.x] = element(s, threadIdx.x) + element(s, threadIdx.x + 1) * 0;
}

__global__ void last_of_loop_racy(int *p, const int *q)
{
	__shared__ int s[128];
	int x = 0;
	s[threadIdx.x] = 1;
	__syncthreads();
	if (q[threadIdx.x] > 3) {
		s[threadIdx.x] = 2;
		for (int k = 3; k >= 0; k--)
			x = s[threadIdx.x + 3 * k];
	}
	p[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

// ... or a copy of a loop's head makes up for it.
__global__ void head_copied_racy(int *p, const int *q)
{
	__shared__ int s[64];
	int j = q[threadIdx.x] & 63, at = (blockIdx.x * blockDim.x + threadIdx.x) * 9;
	s[threadIdx.x] = 1;
	for (int i = s[j] * 0; i < q[at]; i++) { p[at + (i & 7)] = 1; if (q[at + i] == 5) { p[at + 2] = 1; i++; } }
	p[at + 8] = j;
}

// ... or an unrolled loop, where that can't be switched off (compute_100).
__global__ void unrolled_racy(int *p, const int *q)
{
	__shared__ int s[64];
	int j = q[threadIdx.x] & 63, at = (blockIdx.x * blockDim.x + threadIdx.x) * 2, x;
	s[threadIdx.x] = j;
	x = s[j] * 0; for (int i = 0; i < 2; i++) x += q[at + i];
	p[at] = x + j;
	p[at + 1] = s[threadIdx.x];
}

// ... or a load through a choice of two pointers, which becomes two loads.
__global__ void chosen_racy(int *p, const int *q, int c)
{
	__shared__ int s[64], a[2], b[2];
	int j = q[threadIdx.x] & 63, x;
	if (threadIdx.x < 2)
		a[threadIdx.x] = b[threadIdx.x] = c;
	__syncthreads();
	s[threadIdx.x] = j;
	x = s[j] * 0 + *(c ? &a[1] : &b[1]);
	p[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

// The same without the load that is left out.
__global__ void chosen_through_pointer(int *p, int c)
{
	__shared__ int a[2], b[2];
	way f = itself;
	int x;
	if (threadIdx.x < 2)
		a[threadIdx.x] = b[threadIdx.x] = c;
	__syncthreads();
	x = *(c ? &a[1] : &b[1]);
	p[f(blockIdx.x * blockDim.x + threadIdx.x)] = x;
}
