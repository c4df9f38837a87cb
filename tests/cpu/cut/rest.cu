// rest.cu - launches of more blocks than run at a time: those that begin after --budget is used run
// the text without checks, as the logical blocks that nobody was before.
//
// Ends well if each block ran once, whatever the order of blocks that the checks bring. Launch n has the
// number n, which chooses the order: plain, a prime, folded, rotated.
//
// `rest apart` launches a kernel whose blocks don't communicate: their rest is executed by several threads.
// `rest meet`: all of its blocks store one word, so that the rest is taken back and repeated by one thread.
#include <cooperative_groups.h>
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

#define BLOCK 128
#define LOOPS 40

static __device__ int in[BLOCK];

__device__ void work(unsigned *count, int *out, unsigned block)
{
	volatile int *p = out + block * BLOCK + threadIdx.x;
	int sum = 0;

	for (int i = 0; i < LOOPS; i++)
		sum += in[(threadIdx.x + i) % BLOCK];
	*p = sum + (int)block;
	if (threadIdx.x == 0)
		atomicAdd(&count[block], 1);
}

__global__ void single(unsigned *count, int *out)
{
	work(count, out, blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z));
}

__global__ void __cluster_dims__(2, 1, 1) paired(unsigned *count, int *out)
{
	__shared__ int mine;
	cooperative_groups::cluster_group c = cooperative_groups::this_cluster();

	if (threadIdx.x == 0)
		mine = (int)blockIdx.x;
	c.sync();
	int other = *c.map_shared_rank(&mine, c.block_rank() ^ 1);
	c.sync();
	if (other == (int)(blockIdx.x ^ 1))
		work(count, out, blockIdx.x + gridDim.x * blockIdx.y);
}

__global__ void apart(unsigned *count, int *out, unsigned *last)
{
	unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
	int sum = 0;

	for (int i = 0; i < LOOPS; i++)
		sum += in[(threadIdx.x + i) % BLOCK];
	out[block * BLOCK + threadIdx.x] = sum + (int)block;
	if (threadIdx.x == 0) {
		count[block]++;
		if (last)
			*last = block;
	}
}

int main(int argc, char **argv)
{
	const unsigned n = 1000;
	bool is_apart = argc > 1, meet = is_apart && !strcmp(argv[1], "meet");
	static unsigned count[n];
	static int out[n * BLOCK];
	unsigned *c;
	int *o;
	unsigned *last;

	cudaMalloc(&last, sizeof(*last));
	cudaMalloc(&c, sizeof(count));
	cudaMalloc(&o, sizeof(out));
	for (int i = 0; i < 8; i++) {
		cudaMemset(c, 0, sizeof(count));
		cudaMemset(o, 0, sizeof(out));
		if (is_apart)
			apart<<<dim3(20, 25, 2), BLOCK>>>(c, o, meet ? last : nullptr);
		else if (i < 4)
			single<<<dim3(20, 25, 2), BLOCK>>>(c, o);
		else
			paired<<<dim3(100, 10), BLOCK>>>(c, o);
		if (cudaDeviceSynchronize() != cudaSuccess)
			return 1;
		cudaMemcpy(count, c, sizeof(count), cudaMemcpyDeviceToHost);
		cudaMemcpy(out, o, sizeof(out), cudaMemcpyDeviceToHost);
		for (unsigned b = 0; b < n; b++)
			for (unsigned t = 0; t < BLOCK; t++)
				if (count[b] != 1 || out[b * BLOCK + t] != (int)b) {
					printf("launch %d, block %u ran %u times\n", i + 1, b, count[b]);
					return 1;
				}
	}
	puts("done");
	return 0;
}
