// told_graph.cu - two nodes of a graph without an edge; with an argument there is one.
#include <cuda_runtime.h>

__global__ void put(int *p)
{
	p[threadIdx.x] = (int)threadIdx.x;
}

__global__ void take(const int *p, int *q)
{
	q[threadIdx.x] = p[31 - threadIdx.x];
}

int main(int argc, char **argv)
{
	cudaKernelNodeParams first = {}, second = {};
	cudaGraphNode_t a, b;
	cudaGraphExec_t exec;
	cudaGraph_t graph;
	int *p, *q;

	(void)argv;
	cudaMalloc(&p, 128);
	cudaMalloc(&q, 128);
	void *of_first[] = {&p}, *of_second[] = {&p, &q};
	first.func = (void *)put;
	first.kernelParams = of_first;
	second.func = (void *)take;
	second.kernelParams = of_second;
	first.gridDim = second.gridDim = dim3(1);
	first.blockDim = second.blockDim = dim3(32);
	cudaGraphCreate(&graph, 0);
	cudaGraphAddKernelNode(&a, graph, NULL, 0, &first);
	cudaGraphAddKernelNode(&b, graph, &a, argc > 1 ? 1 : 0, &second);
	cudaGraphInstantiate(&exec, graph, 0);
	cudaGraphLaunch(exec, 0);
	return cudaDeviceSynchronize() != cudaSuccess;
}
