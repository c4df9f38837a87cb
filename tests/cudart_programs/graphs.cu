// graphs.cu - kernels in graphs: captured, added, changed, launched again. Prints "ok".
#include "expect.h"

__global__ void axpy(float a, const float *x, float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] += a * x[i];
}

__global__ void scale(float *y, float a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] *= a;
}

#define N 500
static float *x, *y, h[N];

static float run(cudaGraphExec_t exec, cudaStream_t s)
{
	OK(cudaMemset(y, 0, sizeof(h)));
	OK(cudaGraphLaunch(exec, s));
	OK(cudaMemcpyAsync(h, y, sizeof(h), cudaMemcpyDeviceToHost, s));
	OK(cudaStreamSynchronize(s));
	for (int i = 1; i < N; i++)
		THAT(h[i] == h[0]);
	return h[0];
}

static void captured(cudaStream_t s)
{
	cudaGraph_t g;
	cudaGraphExec_t exec;
	cudaGraphNode_t nodes[4];
	cudaGraphNodeType type;
	cudaKernelNodeParams p;
	size_t n = 4;

	OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	axpy<<<4, 128, 0, s>>>(2, x, y, N);
	scale<<<4, 128, 0, s>>>(y, 10, N);
	axpy<<<4, 128, 0, s>>>(1, x, y, N);
	OK(cudaStreamEndCapture(s, &g));
	OK(cudaGraphGetNodes(g, nodes, &n));
	THAT(n == 3);
	OK(cudaGraphNodeGetType(nodes[1], &type));
	THAT(type == cudaGraphNodeTypeKernel);
	OK(cudaGraphKernelNodeGetParams(nodes[1], &p));
	THAT(p.func == (void *)scale && p.gridDim.x == 4 && p.blockDim.x == 128);
	THAT(*static_cast<float *>(p.kernelParams[1]) == 10);
	OK(cudaGraphInstantiate(&exec, g, 0));
	THAT(run(exec, s) == 21);
	THAT(run(exec, s) == 21);

	// The executable graph's kernel gets another factor, then another function.
	float factor = 3, a = 5;
	int count = N;
	void *scale_args[] = {&y, &factor, &count}, *axpy_args[] = {&a, &x, &y, &count};
	p.kernelParams = scale_args;
	OK(cudaGraphExecKernelNodeSetParams(exec, nodes[1], &p));
	THAT(run(exec, s) == 7);
	p.func = (void *)axpy;
	p.kernelParams = axpy_args;
	OK(cudaGraphExecKernelNodeSetParams(exec, nodes[1], &p));
	THAT(run(exec, s) == 8);
	cudaGraphExecUpdateResultInfo info;
	OK(cudaGraphExecUpdate(exec, g, &info));
	THAT(run(exec, s) == 21);
	OK(cudaGraphExecDestroy(exec));
	OK(cudaGraphDestroy(g));
}

// Of two kernel nodes, of which the second gets those of the first.
static void attributes(cudaGraphNode_t first, cudaGraphNode_t second)
{
	cudaKernelNodeAttrValue v = {};

	v.cooperative = 1;
	OK(cudaGraphKernelNodeSetAttribute(first, cudaLaunchAttributeCooperative, &v));
	OK(cudaGraphKernelNodeCopyAttributes(second, first));
	v.cooperative = 0;
	OK(cudaGraphKernelNodeSetAttribute(first, cudaLaunchAttributeCooperative, &v));
	OK(cudaGraphKernelNodeGetAttribute(second, cudaLaunchAttributeCooperative, &v));
	THAT(v.cooperative == 1);
	OK(cudaGraphKernelNodeGetAttribute(first, cudaLaunchAttributeCooperative, &v));
	THAT(v.cooperative == 0);
	OK(cudaGraphKernelNodeGetAttribute(second, cudaLaunchAttributeClusterDimension, &v));
	THAT(v.clusterDim.x <= 1);
	EXPECT(cudaGraphKernelNodeGetAttribute(second, (cudaLaunchAttributeID)99, &v),
	       cudaErrorInvalidValue);
}

static void added(cudaStream_t s)
{
	cudaGraph_t g;
	cudaGraphExec_t exec;
	cudaGraphNode_t one, two, three;
	float a = 4, b = 0.5f;
	int count = N;
	void *axpy_args[] = {&a, &x, &y, &count}, *scale_args[] = {&y, &b, &count};
	cudaKernelNodeParams p = {(void *)axpy, dim3(4), dim3(128), 0, axpy_args, nullptr};

	OK(cudaGraphCreate(&g, 0));
	OK(cudaGraphAddKernelNode(&one, g, nullptr, 0, &p));
	p.func = (void *)scale;
	p.kernelParams = scale_args;
	OK(cudaGraphAddKernelNode(&two, g, &one, 1, &p));
	p.func = (void *)axpy;
	p.kernelParams = axpy_args;
	a = 1; // parameters were taken when a node was made
	OK(cudaGraphAddKernelNode(&three, g, &two, 1, &p));
	attributes(one, three);
	OK(cudaGraphInstantiate(&exec, g, 0));
	THAT(run(exec, s) == 3);
	OK(cudaGraphNodeSetEnabled(exec, two, 0));
	THAT(run(exec, s) == 5);
	p.func = (void *)h; // no kernel
	EXPECT(cudaGraphKernelNodeSetParams(one, &p), cudaErrorInvalidResourceHandle);
	p.func = (void *)axpy;
	p.blockDim = dim3(1025);
	EXPECT(cudaGraphKernelNodeSetParams(one, &p), cudaErrorInvalidValue);
	OK(cudaGraphExecDestroy(exec));
	OK(cudaGraphDestroy(g));
}

int main()
{
	cudaStream_t s;

	for (float &v : h)
		v = 1;
	OK(cudaStreamCreate(&s));
	OK(cudaMalloc(&x, sizeof(h)));
	OK(cudaMalloc(&y, sizeof(h)));
	OK(cudaMemcpy(x, h, sizeof(h), cudaMemcpyHostToDevice));
	captured(s);
	added(s);
	OK(cudaFree(x));
	OK(cudaFree(y));
	OK(cudaStreamDestroy(s));
	puts("ok");
	return 0;
}
