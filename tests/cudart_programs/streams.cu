// streams.cu - kernels, copies and host functions in streams keep the order that streams, events and
// the default stream promise. Prints "ok".
#include "expect.h"

#define N 1000

__global__ void fill(int *p, int v)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < N)
		p[i] = v + i;
}

__global__ void add(const int *a, const int *b, int *c)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < N)
		c[i] = a[i] + b[i];
}

static void times_two(void *p)
{
	for (int i = 0; i < N; i++)
		static_cast<int *>(p)[i] *= 2;
}

static void check(const int *h, int factor, int offset)
{
	for (int i = 0; i < N; i++)
		THAT(h[i] == factor * (2 * i + offset));
}

// a and b are filled in two streams, joined by an event, added, copied, doubled on the host.
static void join_by_event()
{
	int *a, *b, *c, *h;
	cudaStream_t s, t;
	cudaEvent_t e;

	OK(cudaMalloc(&a, N * sizeof(int)));
	OK(cudaMalloc(&b, N * sizeof(int)));
	OK(cudaMalloc(&c, N * sizeof(int)));
	OK(cudaMallocHost(&h, N * sizeof(int)));
	OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	OK(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
	OK(cudaEventCreate(&e));
	for (int round = 0; round < 5; round++) {
		fill<<<8, 128, 0, s>>>(a, round);
		fill<<<8, 128, 0, t>>>(b, 100);
		OK(cudaEventRecord(e, t));
		OK(cudaStreamWaitEvent(s, e, 0));
		add<<<8, 128, 0, s>>>(a, b, c);
		OK(cudaMemcpyAsync(h, c, N * sizeof(int), cudaMemcpyDeviceToHost, s));
		OK(cudaLaunchHostFunc(s, times_two, h));
		OK(cudaStreamSynchronize(s));
		check(h, 2, 100 + round);
	}
	OK(cudaEventDestroy(e));
	OK(cudaStreamDestroy(s));
	OK(cudaStreamDestroy(t));
	OK(cudaFree(a));
	OK(cudaFree(b));
	OK(cudaFree(c));
	OK(cudaFreeHost(h));
}

// The default stream joins blocking streams; managed memory is read after a wait.
static void join_by_default()
{
	int *a, *b, *c;
	cudaStream_t s, t;

	OK(cudaMallocManaged(&a, N * sizeof(int)));
	OK(cudaMallocManaged(&b, N * sizeof(int)));
	OK(cudaMallocManaged(&c, N * sizeof(int)));
	OK(cudaStreamCreate(&s));
	OK(cudaStreamCreate(&t));
	fill<<<8, 128, 0, s>>>(a, 1);
	fill<<<8, 128, 0, t>>>(b, 2);
	add<<<8, 128, 0, cudaStreamLegacy>>>(a, b, c);
	fill<<<8, 128, 0, s>>>(a, -1);
	OK(cudaDeviceSynchronize());
	check(c, 1, 3);
	THAT(a[5] == 4);
	OK(cudaStreamDestroy(s));
	OK(cudaStreamDestroy(t));
	OK(cudaFree(a));
	OK(cudaFree(b));
	OK(cudaFree(c));
}

// Stream 0: the legacy stream, or each thread's own; either is in order with itself.
static void stream_zero()
{
	int *a, h[N];

	OK(cudaMallocAsync(&a, N * sizeof(int), 0));
	fill<<<8, 128>>>(a, 7);
	OK(cudaMemsetAsync(a, 0, sizeof(int), 0));
	OK(cudaMemcpyAsync(h, a, N * sizeof(int), cudaMemcpyDeviceToHost, 0));
	OK(cudaFreeAsync(a, 0));
	OK(cudaStreamSynchronize(0));
	THAT(h[0] == 0 && h[1] == 8 && h[N - 1] == N + 6);
}

// The kernel waits for a flag that the host sets after the launch.
__global__ void wait_for(volatile int *flag, int *out)
{
	while (*flag == 0)
		;
	*out = *flag + 1;
}

static void poll_host_memory()
{
	int *flag, *out;

	OK(cudaHostAlloc(&flag, sizeof(int), cudaHostAllocMapped));
	OK(cudaHostAlloc(&out, sizeof(int), cudaHostAllocMapped));
	*flag = *out = 0;
	wait_for<<<1, 1>>>(flag, out);
	*static_cast<volatile int *>(flag) = 41;
	OK(cudaDeviceSynchronize());
	THAT(*out == 42);
	OK(cudaFreeHost(flag));
	OK(cudaFreeHost(out));
}

int main()
{
	join_by_event();
	join_by_default();
	stream_zero();
	poll_host_memory();
	puts("ok");
	return 0;
}
