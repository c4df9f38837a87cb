/*
 * sync.cu - atomics, fences, flags, warps: what orders and what doesn't.
 */

// prove: histogram race-free
__global__ void histogram(unsigned *bins, const unsigned char *data, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		atomicAdd(&bins[data[i]], 1u);
}

// prove: histogram_plain potential CIDD
__global__ void histogram_plain(unsigned *bins, const unsigned char *data)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	bins[data[i]] += 1u;
}

// prove: histogram_shared race-free --block-dim=256
__global__ void histogram_shared(unsigned *bins, const unsigned char *data, int n)
{
	__shared__ unsigned s[256];
	s[threadIdx.x] = 0;
	__syncthreads();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		atomicAdd(&s[data[i]], 1u);
	__syncthreads();
	atomicAdd(&bins[threadIdx.x], s[threadIdx.x]);
}

// prove: histogram_no_barrier true --block-dim=256
__global__ void histogram_no_barrier(unsigned *bins, int n)
{
	__shared__ unsigned s[256];
	s[threadIdx.x] = 0;
	bins[threadIdx.x] = s[255 - threadIdx.x];
}

// prove: block_scope true
__global__ void block_scope(unsigned *sum)
{
	atomicAdd_block(sum, threadIdx.x + blockIdx.x);
}

// prove: atomic_and_plain true
__global__ void atomic_and_plain(unsigned *sum)
{
	if (threadIdx.x == 0)
		sum[0] = 0;
	else
		atomicAdd(sum, 1u);
}

// prove: flag potential
__global__ void flag(volatile int *f, int *data)
{
	if (threadIdx.x == 0) {
		data[0] = 1;
		__threadfence();
		f[0] = 1;
	} else if (f[0]) {
		__threadfence();
		data[0] = 2;
	}
}

// prove: last_block potential
__global__ void last_block(float *g, unsigned *ticket)
{
	__shared__ bool last;
	if (threadIdx.x == 0)
		g[blockIdx.x] = 1;
	__threadfence();
	if (threadIdx.x == 0)
		last = atomicInc(ticket, gridDim.x) == gridDim.x - 1;
	__syncthreads();
	if (last && threadIdx.x == 0)
		g[0] = g[gridDim.x - 1];
}

// prove: shuffle_only race-free
__global__ void shuffle_only(float *g)
{
	float v = g[threadIdx.x];
	v += __shfl_down_sync(~0u, v, 1);
	g[threadIdx.x] = v;
}

// prove: warp_sync potential
__global__ void warp_sync(float *g)
{
	__shared__ float s[64];
	s[threadIdx.x] = g[threadIdx.x];
	__syncwarp();
	g[threadIdx.x] = s[threadIdx.x ^ 1];
}

// prove: recursion unproven
__device__ int down(int n)
{
	return n > 0 ? down(n - 1) + 1 : 0;
}
__global__ void recursion(int *g)
{
	g[threadIdx.x] = down(g[threadIdx.x]);
}

// prove: assembly unproven
__global__ void assembly(int *g)
{
	__shared__ int s[4];
	asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned)__cvta_generic_to_shared(s)),
		     "l"(g));
	g[threadIdx.x] = s[0];
}

// One lane waits for the other block, the warp barrier hands the order on to its lanes.
// prove: handed_on potential --block-dim=32 --grid-dim=2
__global__ void handed_on(unsigned *message, unsigned *f, unsigned *heard)
{
	if (blockIdx.x == 0) {
		message[threadIdx.x] = threadIdx.x;
		__syncwarp();
		if (threadIdx.x == 0) {
			__threadfence();
			atomicExch(f, 1);
		}
	} else {
		if (threadIdx.x == 0) {
			while (atomicAdd(f, 0) == 0)
				;
			__threadfence();
		}
		__syncwarp();
		heard[threadIdx.x] = message[(threadIdx.x + 1) % 32];
	}
}
