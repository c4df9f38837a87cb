// memory.cu - one racy and one race-free kernel for each way to get memory, for detector hirace.
//
// As in cases.cu the end of a kernel's name says what must be reported. Then MANY launches that
// write the same words: launch numbers run out and are given anew, and nothing may be reported.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t e_ = (call);                                                           \
		if (e_ != cudaSuccess) {                                                           \
			printf("%s: %s\n", #call, cudaGetErrorString(e_));                         \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

#define BLOCKS 4
#define BLOCK  64

__device__ int me() { return (int)(blockIdx.x * blockDim.x + threadIdx.x); }

#define PAIR(name)                                                                                 \
	__global__ void name##_race(int *p)                                                        \
	{                                                                                          \
		p[threadIdx.x] = 1;                                                                \
	}                                                                                          \
	__global__ void name##_clean(int *p)                                                       \
	{                                                                                          \
		p[me()] = 1;                                                                       \
	}

PAIR(of_malloc)
PAIR(of_pitch)
PAIR(of_async)
PAIR(of_managed)
PAIR(of_pinned)
PAIR(of_registered)
PAIR(of_graph)
PAIR(far_end)

__device__ int variable[BLOCKS * BLOCK];
__device__ int large[6 << 20];
__managed__ int in_managed[BLOCKS * BLOCK];

__global__ void of_variable_race() { variable[threadIdx.x] = 1; }
__global__ void of_variable_clean() { variable[me()] = 1; }
__global__ void of_large_race() { large[(5 << 20) + threadIdx.x] = 1; }
__global__ void of_large_clean() { large[(5 << 20) + me()] = 1; }
__global__ void of_managed_variable_race() { in_managed[threadIdx.x] = 1; }
__global__ void of_managed_variable_clean() { in_managed[me()] = 1; }

// The heap: one thread allocates, and a barrier hands the pointer over.
__global__ void of_heap_race()
{
	__shared__ int *p;
	if (threadIdx.x == 0)
		p = (int *)malloc(4 * BLOCK);
	__syncthreads();
	if (p)
		p[threadIdx.x / 2] = (int)threadIdx.x;
}
__global__ void of_heap_clean()
{
	__shared__ int *p;
	if (threadIdx.x == 0)
		p = (int *)malloc(4 * BLOCK);
	__syncthreads();
	if (p)
		p[threadIdx.x] = (int)threadIdx.x;
}
// What one thread frees another may get: the allocator orders them.
__global__ void heap_reused_quiet()
{
	for (int i = 0; i < 20; i++) {
		int *p = (int *)malloc(16);
		if (p)
			*p = i;
		free(p);
	}
}
__global__ void again_clean(int *p) { p[me()] += 1; }

#define RUN(name, ...) do { name<<<BLOCKS, BLOCK>>>(__VA_ARGS__); CHECK(cudaGetLastError()); } while (0)
#define BOTH(name, p) do { RUN(name##_race, p); RUN(name##_clean, p); } while (0)

static void graph()
{
	cudaStream_t s;
	cudaGraph_t g;
	cudaGraphExec_t e;
	int *p;

	CHECK(cudaStreamCreate(&s));
	CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
	CHECK(cudaMallocAsync(&p, 4096, s));
	of_graph_race<<<BLOCKS, BLOCK, 0, s>>>(p);
	of_graph_clean<<<BLOCKS, BLOCK, 0, s>>>(p);
	CHECK(cudaFreeAsync(p, s));
	CHECK(cudaStreamEndCapture(s, &g));
	CHECK(cudaGraphInstantiate(&e, g, 0));
	for (int i = 0; i < 3; i++)
		CHECK(cudaGraphLaunch(e, s));
	CHECK(cudaStreamSynchronize(s));
}

int main(int argc, char **argv)
{
	int many = argc > 1 ? atoi(argv[1]) : 1300, *p, *q;
	size_t pitch;
	void *v;

	CHECK(cudaMalloc(&p, 4096));
	BOTH(of_malloc, p);
	CHECK(cudaMallocPitch(&v, &pitch, 1000, 10));
	BOTH(of_pitch, (int *)v);
	CHECK(cudaMallocAsync(&q, 4096, 0));
	BOTH(of_async, q);
	CHECK(cudaFreeAsync(q, 0));
	CHECK(cudaMallocManaged(&q, 4096));
	BOTH(of_managed, q);
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMallocHost(&q, 4096));
	BOTH(of_pinned, q);
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaHostRegister(q = (int *)aligned_alloc(4096, 4096), 4096, cudaHostRegisterMapped));
	CHECK(cudaHostGetDevicePointer(&v, q, 0));
	BOTH(of_registered, (int *)v);
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMalloc(&q, 80 << 20));
	BOTH(far_end, q + (19 << 20));
	RUN(of_variable_race);
	RUN(of_variable_clean);
	RUN(of_large_race);
	RUN(of_large_clean);
	RUN(of_managed_variable_race);
	RUN(of_managed_variable_clean);
	RUN(of_heap_race);
	RUN(of_heap_clean);
	RUN(heap_reused_quiet);
	CHECK(cudaDeviceSynchronize());
	graph();
	for (int i = 0; i < many; i++)
		RUN(again_clean, p);
	CHECK(cudaDeviceSynchronize());
	puts("PASS");
	return 0;
}
