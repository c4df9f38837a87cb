// kernels.cu - launches that are kept as capsules and judged from these: for each thing that a
// launch may find beside its parameters, a kernel that races and one that doesn't.
#include <cooperative_groups.h>
#include <cstdio>
#include <cstring>
#include <texture_indirect_functions.h>

namespace cg = cooperative_groups;

__device__ int level[64];
__constant__ int shift;
__device__ int *later;
__device__ int added(int a) { return a + shift; }
__device__ int (*step)(int);

__global__ void prepare()
{
	step = added;
	later = (int *)malloc(64 * sizeof(int));
	for (int i = 0; i < 64; i++)
		later[i] = level[i] = i;
}

// A variable, a constant, a pointer to a function, memory of malloc.
__global__ void found_racy(int *out)
{
	int i = threadIdx.x;

	out[blockIdx.x * 64 + i] = step(level[i]) + later[i];
	level[(i + 32) % 64] = i; // race
}

__global__ void found_right(int *out)
{
	int i = threadIdx.x;

	out[blockIdx.x * 64 + i] = step(level[i]) + later[i];
	if (out[blockIdx.x * 64 + i] != 2 * i + 3)
		__trap();
}

// Pointers within memory.
struct node {
	node *next;
	int sum;
};

__global__ void list_racy(node *n)
{
	for (n = n->next; n; n = n->next)
		n->sum += threadIdx.x; // race
}

__global__ void list_right(node *n)
{
	for (n = n->next; n; n = n->next)
		atomicAdd(&n->sum, (int)threadIdx.x);
}

// Blocks of a whole grid, and of clusters; dynamic shared memory.
__global__ void whole_racy(int *p)
{
	p[blockIdx.x] = blockIdx.x;
	p[8 + blockIdx.x] = p[(blockIdx.x + 1) % gridDim.x]; // race
}

__global__ void whole_right(int *p)
{
	p[blockIdx.x] = blockIdx.x;
	cg::this_grid().sync();
	p[8 + blockIdx.x] = p[(blockIdx.x + 1) % gridDim.x];
}

template <bool is_right> __device__ void swap_halves(int *p)
{
	extern __shared__ int s[];
	cg::cluster_group c = cg::this_cluster();

	s[threadIdx.x] = p[blockIdx.x * 32 + threadIdx.x];
	if (is_right)
		c.sync();
	int other = c.map_shared_rank(s, c.block_rank() ^ 1)[threadIdx.x]; // race
	c.sync(); /* a block that has exited has no shared memory */
	p[blockIdx.x * 32 + threadIdx.x] = other;
}

__global__ void __cluster_dims__(2, 1, 1) halves_racy(int *p) { swap_halves<false>(p); }
__global__ void __cluster_dims__(2, 1, 1) halves_right(int *p) { swap_halves<true>(p); }

// A texture object.
__global__ void texels_racy(cudaTextureObject_t t, int *out)
{
	out[threadIdx.x / 2] = tex1Dfetch<int>(t, threadIdx.x); // race
}

__global__ void texels_right(cudaTextureObject_t t, int *out)
{
	out[threadIdx.x] = tex1Dfetch<int>(t, threadIdx.x);
	if (out[threadIdx.x] != 5)
		__trap();
}

static cudaTextureObject_t texture_of(int *p)
{
	cudaResourceDesc r;
	cudaTextureDesc d;
	cudaTextureObject_t t = 0;

	memset(&r, 0, sizeof(r));
	memset(&d, 0, sizeof(d));
	r.resType = cudaResourceTypeLinear;
	r.res.linear.devPtr = p;
	r.res.linear.desc = cudaCreateChannelDesc<int>();
	r.res.linear.sizeInBytes = 64 * sizeof(int);
	cudaCreateTextureObject(&t, &r, &d, NULL);
	return t;
}

int main()
{
	int *p, *q, three = 3, fives[64];
	node *n, list[3];
	void *args[] = {&p};

	cudaMalloc(&p, 4096);
	cudaMalloc(&q, 4096);
	cudaMalloc(&n, sizeof(list));
	for (int i = 0; i < 3; i++)
		list[i] = {i < 2 ? n + i + 1 : NULL, 0};
	for (int i = 0; i < 64; i++)
		fives[i] = 5;
	cudaMemcpy(n, list, sizeof(list), cudaMemcpyHostToDevice);
	cudaMemcpy(q, fives, sizeof(fives), cudaMemcpyHostToDevice);
	cudaMemcpyToSymbol(shift, &three, sizeof(three));
	prepare<<<1, 1>>>();
	found_right<<<2, 64>>>(p);
	found_racy<<<2, 64>>>(p);
	list_right<<<2, 32>>>(n);
	list_racy<<<2, 32>>>(n);
	cudaLaunchCooperativeKernel((void *)whole_right, dim3(4), dim3(1), args, 0, 0);
	whole_racy<<<4, 1>>>(p);
	halves_right<<<4, 32, 128>>>(p);
	halves_racy<<<4, 32, 128>>>(p);
	cudaTextureObject_t t = texture_of(q);
	texels_right<<<1, 64>>>(t, p);
	texels_racy<<<1, 64>>>(t, p);
	puts(cudaGetErrorString(cudaDeviceSynchronize()));
	return 0;
}
