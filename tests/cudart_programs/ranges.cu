// ranges.cu - five launches of racy kernels in NVTX ranges of every kind
// (ranges.sh). NVTX's first call comes before CUDA's.
#include "nvtx.h"

#include <cuda_runtime.h>
#include <thread>

#define RACY(name)                          \
	__global__ void name(int *p)        \
	{                                   \
		*p = (int)threadIdx.x / 32; \
	}
RACY(alone)
RACY(pushed)
RACY(inner)
RACY(started)
RACY(other_thread)

typedef int push_fn(const char *);
typedef int pop_fn(void);
typedef uint64_t start_fn(const wchar_t *);
typedef int end_fn(uint64_t);
typedef void *create_fn(const char *);
typedef void *string_fn(void *, const char *);
typedef int domain_push_fn(void *, const nvtx_attributes *);
typedef int domain_pop_fn(void *);

int main()
{
	nvtx_attributes step;
	int *p;

	NVTX_CALL(push_fn, nvtx_core, 9, "work");
	void *lib = NVTX_CALL(create_fn, nvtx_core2, 12, "lib");
	step.message_type = 3; // a registered string
	step.message = NVTX_CALL(string_fn, nvtx_core2, 10, lib, "step");
	cudaMalloc(&p, 4096);
	pushed<<<1, 64>>>(p);
	NVTX_CALL(domain_push_fn, nvtx_core2, 4, lib, &step);
	inner<<<1, 64>>>(p + 64);
	// Another thread has pushed nothing.
	std::thread([p] { other_thread<<<1, 64>>>(p + 128); }).join();
	NVTX_CALL(pop_fn, nvtx_core, 11); // of the default domain, beneath that of lib
	NVTX_CALL(domain_pop_fn, nvtx_core2, 5, lib);
	alone<<<1, 64>>>(p + 192);
	uint64_t id = NVTX_CALL(start_fn, nvtx_core, 6, L"phase 2");
	std::thread([p] { started<<<1, 64>>>(p + 256); }).join();
	NVTX_CALL(end_fn, nvtx_core, 7, id);
	return cudaDeviceSynchronize() != cudaSuccess;
}
