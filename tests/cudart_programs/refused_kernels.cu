/* A kernel that the CPU device can't run is refused by name, at its launch and in graphs; the others of
 * its module run, and so does the part of a kernel's module that only a pointer reaches. */
#include "expect.h"

__global__ void child(int *p)
{
	p[threadIdx.x] = 1;
}

__global__ void parent(int *p)
{
	child<<<1, 32>>>(p);
}

__global__ void condition(cudaGraphConditionalHandle handle, int *p)
{
	cudaGraphSetConditional(handle, p[0] < 3);
}

__device__ __noinline__ static void start_another(int *p)
{
	child<<<1, 1>>>(p);
}

__device__ __noinline__ static void write_two(int *p)
{
	*p = 2;
}

/* Only the second of them is ever called. */
typedef void step(int *);
__device__ step *volatile steps[2] = {start_another, write_two};

__global__ void by_pointer(int *p, int which)
{
	steps[which](p);
}

__global__ void plain(int *p)
{
	p[threadIdx.x] = (int)threadIdx.x;
}

int main()
{
	cudaGraphConditionalHandle none = 0;
	cudaGraphNode_t node;
	cudaGraph_t graph;
	int *p;

	OK(cudaMallocManaged(&p, 32 * sizeof(*p)));
	for (int i = 0; i < 2; i++) {
		parent<<<1, 1>>>(p);
		EXPECT(cudaPeekAtLastError(), cudaErrorNotSupported);
		condition<<<1, 1>>>(none, p);
		EXPECT(cudaPeekAtLastError(), cudaErrorNotSupported);
		OK(cudaDeviceSynchronize());
	}
	void *args[] = {&p};
	cudaKernelNodeParams kp = {};
	kp.func = (void *)parent;
	kp.gridDim = kp.blockDim = dim3(1, 1, 1);
	kp.kernelParams = args;
	OK(cudaGraphCreate(&graph, 0));
	EXPECT(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &kp), cudaErrorNotSupported);
	OK(cudaGraphDestroy(graph));
	plain<<<1, 32>>>(p);
	OK(cudaDeviceSynchronize());
	for (int i = 0; i < 32; i++)
		THAT(p[i] == i);
	child<<<1, 32>>>(p);
	by_pointer<<<1, 1>>>(p, 1);
	OK(cudaDeviceSynchronize());
	THAT(p[0] == 2 && p[1] == 1);
	puts("ok");
}
