// growth.cu - for growth.py: a program with N of something: growth WHAT N.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>

__global__ void touch(int *p)
{
	p[blockIdx.x * blockDim.x + threadIdx.x]++;
}

__global__ void add(int *p, int n)
{
	for (int i = 0; i < n; i++)
		atomicAdd(p + i % 8, 1);
}

__global__ void lock(int *p, int n)
{
	for (int i = 0; i < n; i++) {
		while (atomicCAS(p, 0, 1))
			;
		__threadfence();
		p[1]++;
		__threadfence();
		atomicExch(p, 0);
	}
}

__global__ void race(int *p)
{
	p[0] = threadIdx.x;
}

static const char text[] = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
			   ".reg .b32 %r<2>; .reg .b64 %d<2>;\nld.param.u64 %d1, [p];\nmov.u32 %r1, 1;\n"
			   "st.global.u32 [%d1], %r1;\nret;\n}\n";

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int n = argc > 2 ? atoi(argv[2]) : 1, *p;

	cudaMalloc(&p, 64u << 20);
	cudaMemset(p, 0, 4096); /* a lock that is free, too */
	if (!strcmp(what, "launches")) {
		for (int i = 0; i < n; i++)
			touch<<<1, 1>>>(p);
	} else if (!strcmp(what, "streams")) {
		std::vector<cudaStream_t> s(n);
		for (auto &t : s) cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
		for (int i = 0; i < n; i++) touch<<<1, 1, 0, s[i]>>>(p + i);
		for (auto t : s) cudaStreamSynchronize(t);
		for (auto t : s) cudaStreamDestroy(t);
	} else if (!strcmp(what, "events")) {
		std::vector<cudaEvent_t> e(n);
		cudaStream_t s[2];
		for (auto &t : s) cudaStreamCreate(&t);
		for (auto &v : e) cudaEventCreate(&v);
		for (int i = 0; i < n; i++) {
			touch<<<1, 1, 0, s[i % 2]>>>(p);
			cudaEventRecord(e[i], s[i % 2]);
			cudaStreamWaitEvent(s[1 - i % 2], e[i], 0);
		}
		cudaDeviceSynchronize();
		for (auto v : e) cudaEventDestroy(v);
	} else if (!strcmp(what, "nodes")) {
		cudaGraph_t g;
		cudaGraphExec_t x;
		cudaGraphNode_t last = nullptr, node;
		void *args[] = {&p};
		cudaKernelNodeParams k = {};
		k.func = (void *)touch;
		k.gridDim = k.blockDim = dim3(1);
		k.kernelParams = args;
		cudaGraphCreate(&g, 0);
		for (int i = 0; i < n; i++, last = node) cudaGraphAddKernelNode(&node, g, &last, last != nullptr, &k);
		cudaGraphInstantiate(&x, g, 0);
		cudaGraphLaunch(x, 0);
	} else if (!strcmp(what, "allocations")) {
		std::vector<int *> a(n);
		for (auto &q : a) cudaMalloc(&q, 16);
		for (int i = 0; i < n; i += n / 10 + 1) touch<<<1, 1>>>(a[i]);
		cudaDeviceSynchronize();
		for (auto q : a) cudaFree(q);
	} else if (!strcmp(what, "blocks")) {
		touch<<<n, 1>>>(p);
	} else if (!strcmp(what, "threads")) {
		touch<<<(n + 127) / 128, 128>>>(p);
	} else if (!strcmp(what, "copies")) {
		int h[4] = {};
		for (int i = 0; i < n; i++) cudaMemcpyAsync(p + 4 * i % 1024, h, sizeof(h), cudaMemcpyHostToDevice, 0);
	} else if (!strcmp(what, "modules")) {
		std::vector<cudaLibrary_t> l(n);
		for (auto &m : l) cudaLibraryLoadData(&m, text, nullptr, nullptr, 0, nullptr, nullptr, 0);
		for (auto m : l) {
			cudaKernel_t k;
			void *args[] = {&p};
			cudaLibraryGetKernel(&k, m, "k");
			cudaLaunchKernel((void *)k, 1, 1, args, 0, 0);
		}
	} else if (!strcmp(what, "atomics")) {
		add<<<8, 32>>>(p, n / 100);
	} else if (!strcmp(what, "locks")) {
		lock<<<8, 1>>>(p, n / 10);
	} else if (!strcmp(what, "words")) {
		for (int i = 0; i < 10; i++) touch<<<(n + 1023) / 1024, 1024>>>(p);
	} else if (!strcmp(what, "race")) {
		race<<<1, 64>>>(p);
	}
	cudaError_t e = cudaDeviceSynchronize();
	puts(e ? cudaGetErrorString(e) : "done");
	return e != cudaSuccess;
}
