/*
 * prune.cu - kernels for `collider nvcc --prune`: prune.sh says what of them is left unchecked.
 *
 * The values that are stored differ in all threads, so that a race can be seen.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>

/* Proven where blockDim.y and z are 1, which the kernel never reads. */
__global__ void mirror(unsigned *out, unsigned *counter)
{
	__shared__ unsigned s[64];
	s[threadIdx.x] = atomicAdd(counter, 1u);
	__syncthreads();
	atomicAdd(&out[threadIdx.x], s[63 - threadIdx.x]);
}

/* The same without the barrier: racy in every launch. */
__global__ void no_barrier(unsigned *out, unsigned *counter)
{
	__shared__ unsigned s[64];
	s[threadIdx.x] = atomicAdd(counter, 1u);
	atomicAdd(&out[threadIdx.x], s[63 - threadIdx.x]);
}

/* Proven for blocks of at most 64 threads: an assumption that prove finds. */
__global__ void folded(unsigned *out, unsigned *counter)
{
	__shared__ unsigned s[64];
	s[threadIdx.x % 64] = atomicAdd(counter, 1u);
	__syncthreads();
	atomicAdd(&out[threadIdx.x], s[63 - threadIdx.x % 64]);
}

/* Proven for blocks of at most 16 by 16 threads and a row as wide as the grid: without that only
 * blocks of one row are seen to stay in the array. */
__global__ void tile(unsigned *out, int n)
{
	__shared__ unsigned s[16][16];
	int x = (int)(blockIdx.x * 16 + threadIdx.x), y = (int)(blockIdx.y * 16 + threadIdx.y);
	s[threadIdx.y][threadIdx.x] = out[y * n + x] + (unsigned)(y * n + x);
	__syncthreads();
	out[y * n + x] = s[threadIdx.y][15 - threadIdx.x];
}

/* Proven for any launch: one thread of the block writes. */
__global__ void shared_by_all(unsigned *out, const unsigned *in)
{
	__shared__ unsigned s;
	if ((threadIdx.x | threadIdx.y | threadIdx.z) == 0)
		s = in[0];
	__syncthreads();
	atomicAdd(out, s);
}

/* Each array by itself is proven; with an offset of 64 the threads meet in the second one. */
__global__ void slip(unsigned *out, unsigned *counter, unsigned off)
{
	__shared__ unsigned a[64], b[64];
	unsigned t = threadIdx.x;
	b[t] = atomicAdd(counter, 1u);
	a[63 - t + off] = atomicAdd(counter, 1u);
	__syncthreads();
	atomicAdd(&out[t], a[63 - t] + b[t]);
}

/* Global memory: each thread its own element. */
__global__ void copy(unsigned *out, const unsigned *in)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	out[i] = in[i] + 1;
}

// Rows of n elements, for blocks of 32 by 8 threads.
__global__ void image(unsigned *out, int n)
{
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;

	if (x < n && y < n)
		out[y * n + x] = x;
}

// An element for each warp, of blocks of whole warps.
__global__ void warps(unsigned *out)
{
	if (threadIdx.x % 32 == 0)
		out[(blockIdx.x * blockDim.x + threadIdx.x) / 32] = threadIdx.x;
}

__global__ void raise(unsigned *flag)
{
	atomicExch(flag, 1u);
}

__global__ void await(unsigned *flag)
{
	while (atomicAdd(flag, 0u) == 0)
		;
}

/* Proven for a counter that begins at 0, which no check at run time can see: the checks stay, but for that of
 * out[0], which no two threads with different answers of the counter write. */
__global__ void last(unsigned *out, unsigned *in)
{
	if (threadIdx.x)
		return;
	out[1 + blockIdx.x] = 1;
	__threadfence();
	unsigned before = atomicAdd(in, 1);
	__threadfence();
	if (before == gridDim.x - 1)
		out[0] = out[1] + out[2];
}

/* Not proven: its index is data. It runs until another kernel raises the second flag. */
__global__ void linger(unsigned *out, const unsigned *in, unsigned *flag)
{
	out[in[threadIdx.x]] = 7;
	atomicExch(flag, 1u);
	while (atomicAdd(flag + 1, 0u) == 0)
		;
}

/* `copy` begins while `linger` runs, and nothing orders the two. */
static void beside(unsigned *out, unsigned *in)
{
	unsigned host[64], *flag;
	cudaStream_t a, b;

	for (unsigned i = 0; i < 64; i++)
		host[i] = i;
	cudaMalloc(&flag, 8);
	cudaMemset(flag, 0, 8);
	cudaMemcpy(in, host, sizeof(host), cudaMemcpyHostToDevice);
	cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
	cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
	cudaDeviceSynchronize();
	linger<<<1, 64, 0, a>>>(out, in, flag);
	await<<<1, 1, 0, b>>>(flag);
	copy<<<1, 64, 0, b>>>(out, in);
	raise<<<1, 1, 0, b>>>(flag + 1);
}

int main(int argc, char **argv)
{
	unsigned *out, *in;
	const char *k = argc > 1 ? argv[1] : "mirror";
	dim3 block(argc > 2 ? atoi(argv[2]) : 64, argc > 3 ? atoi(argv[3]) : 1);

	cudaMalloc(&out, 65536);
	cudaMalloc(&in, 65536);
	cudaMemset(out, 0, 65536);
	cudaMemset(in, 0, 65536);
	if (!strcmp(k, "mirror"))
		mirror<<<1, block>>>(out, in);
	if (!strcmp(k, "no_barrier"))
		no_barrier<<<1, block>>>(out, in);
	if (!strcmp(k, "folded"))
		folded<<<1, block>>>(out, in);
	if (!strcmp(k, "tile"))
		tile<<<dim3(2, 2), block>>>(out, 32);
	if (!strcmp(k, "shared_by_all"))
		shared_by_all<<<1, block>>>(out, in);
	if (!strcmp(k, "last"))
		last<<<2, block>>>(out, in);
	if (!strcmp(k, "slip"))
		slip<<<1, block.x>>>(out, in, block.y == 1 ? 0 : 64);
	if (!strcmp(k, "copy"))
		copy<<<2, block>>>(out, in);
	if (!strcmp(k, "image"))
		image<<<dim3(2, 4), block>>>(out, 40);
	if (!strcmp(k, "warps"))
		warps<<<2, block>>>(out);
	if (!strcmp(k, "beside"))
		beside(out, in);
	printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
	return 0;
}
