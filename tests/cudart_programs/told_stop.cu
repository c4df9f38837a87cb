// told_stop.cu - what stops a kernel, or would: memory freed too early (argument free), an mbarrier used
// before its init (mbarrier), an index read without a barrier (index). Their twins are ordered: free-ordered,
// mbarrier-ordered, index-ordered. loop: a kernel that never ends, with a race; loop-quiet: without one.
// abort: the program ends with work under way.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

__global__ void fill(int *p, int n)
{
	for (int i = 0; i < n; i++)
		p[threadIdx.x] = i;
}

__global__ void arrive(unsigned long long *out, bool is_ordered)
{
	__shared__ unsigned long long bar;
	unsigned at = (unsigned)__cvta_generic_to_shared(&bar);
	unsigned long long state;

	if (threadIdx.x == 32)
		asm volatile("mbarrier.init.shared.b64 [%0], 64;" ::"r"(at) : "memory");
	if (is_ordered)
		__syncthreads();
	asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(at) : "memory");
	out[threadIdx.x] = state;
}

__global__ void index_of(int *p, bool is_ordered)
{
	__shared__ long long at;
	int late = 0;

	if (threadIdx.x == 32)
		at = is_ordered ? 5 : 1ll << 40;
	if (is_ordered)
		__syncthreads();
	if (threadIdx.x < 32) {
		for (int i = 0; i < 900; i++)
			late += p[i + 100];
		p[at + late + threadIdx.x] = 1;
	}
}

__global__ void loop(int *p, const volatile int *stop, int step)
{
	while (!*stop)
		p[threadIdx.x * step] = p[threadIdx.x * step] + 1;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	cudaStream_t a, b;
	void *p;

	cudaMallocAsync(&p, 4096, 0);
	cudaMemset(p, 0, 4096);
	cudaDeviceSynchronize();
	cudaStreamCreate(&a);
	cudaStreamCreate(&b);
	if (!strncmp(what, "free", 4)) {
		fill<<<1, 32, 0, a>>>((int *)p, 100000);
		cudaFreeAsync(p, what[4] ? a : b);
	} else if (!strncmp(what, "mbarrier", 8)) {
		arrive<<<1, 64>>>((unsigned long long *)p, what[8] != 0);
	} else if (!strncmp(what, "index", 5)) {
		index_of<<<1, 64>>>((int *)p, what[5] != 0);
	} else {
		loop<<<1, 64>>>((int *)p, (int *)p + 1000, !strcmp(what, "loop") ? 0 : 4);
		cudaStreamQuery(0);
	}
	if (!strcmp(what, "abort")) {
		for (int i = 0; i < 20; i++)
			cudaStreamQuery(0);
		abort();
	}
	puts(cudaGetErrorString(cudaDeviceSynchronize()));
	return 0;
}
