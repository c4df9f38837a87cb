/*
 * streams.h - what pairs of the API's order share: streams, events and memory, kernels that write
 * and read all of it.
 */
#include "pairs.h"
#include <unistd.h>

#define N 2048

// Streams that the default stream doesn't wait for, one that it does, memory, an event.
static struct {
	cudaStream_t a, b, c, blocking;
	cudaEvent_t event, other;
	int *p, *q, *out, *host;
} x;

static void begin()
{
	static bool is_there;

	if (!is_there) {
		CHECK(cudaStreamCreateWithFlags(&x.a, cudaStreamNonBlocking));
		CHECK(cudaStreamCreateWithFlags(&x.b, cudaStreamNonBlocking));
		CHECK(cudaStreamCreateWithPriority(&x.c, cudaStreamNonBlocking, 0));
		CHECK(cudaStreamCreate(&x.blocking));
		CHECK(cudaEventCreateWithFlags(&x.event, cudaEventDisableTiming));
		CHECK(cudaEventCreate(&x.other));
		x.p = device<int>(2 * N);
		x.q = device<int>(2 * N);
		x.out = device<int>(2 * N);
		CHECK(cudaMallocHost(&x.host, 2 * N * sizeof(int)));
		memset(x.host, 0, 2 * N * sizeof(int));
	}
	is_there = true;
	CHECK(cudaDeviceSynchronize());
}

static void order(cudaStream_t before, cudaStream_t after)
{
	CHECK(cudaEventRecord(x.event, before));
	CHECK(cudaStreamWaitEvent(after, x.event, 0));
}

// Orders nothing, but the kernel still has its memory when it runs.
template <bool ORDER> static void pause_for_kernel()
{
	if (!ORDER)
		usleep(500000);
}

// One writes, the other reads or writes what was written.
#define WRITES(name)                                                                               \
	template <bool ORDER> __global__ void k_##name(int *p, int v)                              \
	{                                                                                          \
		int i = blockIdx.x * blockDim.x + threadIdx.x;                                     \
		p[i] = i * v;                                                                      \
	}
#define READS(name)                                                                                \
	template <bool ORDER> __global__ void k_##name(const int *p, int *out)                     \
	{                                                                                          \
		int i = blockIdx.x * blockDim.x + threadIdx.x;                                     \
		out[i] = p[i] + 1;                                                                 \
	}
#define LAUNCH(name, s, ...) k_##name<ORDER><<<N / 256, 256, 0, s>>>(__VA_ARGS__)
#define BODY(name)	     template <bool ORDER> void name()
#define BYTES		     (N * sizeof(int))

template <bool ORDER> __global__ void put(int *p, int v)
{
	p[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
#define PUT(s, p) put<ORDER><<<N / 256, 256, 0, s>>>(p, 3)
