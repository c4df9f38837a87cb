// limits.cu - what detector hirace must stand on a GPU: limits MODE
//
//   touch     16 GiB of memory, each word written once
//   alloc     20,000 pairs of cudaMallocAsync and cudaFreeAsync, a kernel behind every 100th
//   plain     2,000 pairs of cudaMalloc and cudaFree
//   reset     a racy kernel, cudaDeviceReset(), a racy kernel
//   fork      a child and its parent, each with a racy kernel
//   contexts  two contexts of the driver, each with a racy kernel
//   devices   two devices, each with a racy kernel of its own memory, then each with a kernel that adds to
//             the other's memory, one after the other: data races in the first two only
//   learns    the host launches a kernel because of what it learned from a running one: no data race
//   dependent a programmatic launch that waits for the one before it: no data race
//
// Prints the time, and the racy kernels that a report must name. Built with -lcuda; host code and
// GPU only. The numbers are in docs/results.

#include <chrono>
#include <cstdio>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(call)                                                                                  \
	do {                                                                                          \
		int e_ = (int)(call);                                                                 \
		if (e_) {                                                                             \
			printf("%s: error %d\n", #call, e_);                                          \
			return 1;                                                                     \
		}                                                                                     \
	} while (0)

__global__ void touch(unsigned int *p, size_t n)
{
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
	     i += (size_t)gridDim.x * blockDim.x)
		p[i] = (unsigned int)i;
}
__global__ void before_race(int *p)
{
	p[threadIdx.x / 2] = threadIdx.x;
}
__global__ void after_race(int *p)
{
	p[threadIdx.x / 2] = threadIdx.x;
}
__global__ void tells(int *data, volatile int *seen)
{
	data[threadIdx.x] = threadIdx.x;
	__threadfence_system();
	__syncthreads();
	if (threadIdx.x == 0)
		seen[0] = 1;
	for (int i = 0; i < 1000 && seen[1] == 0; i++)
		__nanosleep(100000);
}
__global__ void learns(int *data)
{
	data[threadIdx.x] += 1;
}
__global__ void primary(int *data)
{
#if __CUDA_ARCH__ >= 900
	cudaTriggerProgrammaticLaunchCompletion();
#endif
	__nanosleep(100000);
	data[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}
__global__ void secondary(int *data)
{
#if __CUDA_ARCH__ >= 900
	cudaGridDependencySynchronize();
#endif
	data[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

static double now()
{
	return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
		.count();
}

static int big()
{
	size_t n = 16ull << 30, free, total;
	unsigned int *p;

	CHECK(cudaMalloc(&p, n));
	double t = now();
	touch<<<1056, 1024>>>(p, n / 4);
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemGetInfo(&free, &total));
	printf("touch %.3f s, %.1f GiB of the card in use\n", now() - t,
	       (double)(total - free) / (1 << 30));
	return 0;
}

static int allocations(bool is_async)
{
	int pairs = is_async ? 20000 : 2000, *p;

	CHECK(cudaFree(0));
	CHECK(cudaMalloc(&p, 4096));
	before_race<<<1, 1>>>(p);
	CHECK(cudaDeviceSynchronize());
	double t = now();
	for (int i = 0; i < pairs; i++) {
		int *q;
		if (is_async)
			CHECK(cudaMallocAsync(&q, 65536, 0));
		else
			CHECK(cudaMalloc(&q, 65536));
		if (i % 100 == 99)
			before_race<<<1, 1>>>(q);
		if (is_async)
			CHECK(cudaFreeAsync(q, 0));
		else
			CHECK(cudaFree(q));
	}
	CHECK(cudaDeviceSynchronize());
	printf("%s %.2f us for each pair\n", is_async ? "alloc" : "plain", (now() - t) * 1e6 / pairs);
	return 0;
}

static int reset()
{
	int *p;

	CHECK(cudaMalloc(&p, 4096));
	before_race<<<1, 64>>>(p);
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaDeviceReset());
	CHECK(cudaMalloc(&p, 4096));
	after_race<<<1, 64>>>(p);
	CHECK(cudaDeviceSynchronize());
	puts("reset: before_race, after_race");
	return 0;
}

static int forked()
{
	pid_t child = fork();
	int status = 0, *p;

	CHECK(cudaMalloc(&p, 4096));
	if (child)
		before_race<<<1, 64>>>(p);
	else
		after_race<<<1, 64>>>(p);
	CHECK(cudaDeviceSynchronize());
	if (child) {
		waitpid(child, &status, 0);
		puts("fork: before_race, after_race");
	}
	return status != 0;
}

static int contexts()
{
	CUcontext c[2];
	CUdevice d;
	int *p;

	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&d, 0));
	for (int i = 0; i < 2; i++) {
		CHECK(cuCtxCreate(&c[i], NULL, 0, d));
		CHECK(cudaMalloc(&p, 4096));
		if (i)
			after_race<<<1, 64>>>(p);
		else
			before_race<<<1, 64>>>(p);
		CHECK(cudaDeviceSynchronize());
	}
	puts("contexts: before_race, after_race");
	return 0;
}

static int devices()
{
	int n, *p[2];

	CHECK(cudaGetDeviceCount(&n));
	if (n < 2) {
		puts("devices: one device only");
		return 77;
	}
	for (int i = 0; i < 2; i++) {
		CHECK(cudaSetDevice(i));
		CHECK(cudaMalloc(&p[i], 4096));
		CHECK(cudaMemset(p[i], 0, 4096));
		CHECK(cudaDeviceEnablePeerAccess(1 - i, 0));
		if (i)
			after_race<<<1, 64>>>(p[i]);
		else
			before_race<<<1, 64>>>(p[i]);
		CHECK(cudaDeviceSynchronize());
	}
	for (int i = 0; i < 4; i++) {
		CHECK(cudaSetDevice(i / 2));
		learns<<<1, 64>>>(p[i % 2]);
		CHECK(cudaDeviceSynchronize());
	}
	puts("devices: before_race, after_race");
	return 0;
}

static int host_learns()
{
	cudaStream_t a, b;
	volatile int *seen;
	int *data;

	CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
	CHECK(cudaMalloc(&data, 4096));
	CHECK(cudaMallocHost((void **)&seen, 4096));
	seen[0] = seen[1] = 0;
	learns<<<1, 64, 0, b>>>(data);
	CHECK(cudaDeviceSynchronize());
	tells<<<1, 64, 0, a>>>(data, seen);
	double t = now();
	while (!seen[0] && now() < t + 5)
		;
	learns<<<1, 64, 0, b>>>(data);
	CHECK(cudaStreamSynchronize(b));
	seen[1] = 1;
	CHECK(cudaDeviceSynchronize());
	puts("learns: no data race");
	return 0;
}

static int dependent()
{
	cudaLaunchAttribute attr = {};
	cudaLaunchConfig_t config = {};
	cudaStream_t s;
	int *data;

	CHECK(cudaStreamCreate(&s));
	CHECK(cudaMalloc(&data, 4096));
	attr.id = cudaLaunchAttributeProgrammaticStreamSerialization;
	attr.val.programmaticStreamSerializationAllowed = 1;
	config.gridDim = dim3(4);
	config.blockDim = dim3(128);
	config.stream = s;
	config.attrs = &attr;
	config.numAttrs = 1;
	for (int i = 0; i < 10; i++) {
		primary<<<4, 128, 0, s>>>(data);
		CHECK(cudaLaunchKernelEx(&config, secondary, data));
	}
	CHECK(cudaDeviceSynchronize());
	puts("dependent: no data race");
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (!strcmp(mode, "touch"))
		return big();
	if (!strcmp(mode, "alloc") || !strcmp(mode, "plain"))
		return allocations(mode[0] == 'a');
	if (!strcmp(mode, "reset"))
		return reset();
	if (!strcmp(mode, "fork"))
		return forked();
	if (!strcmp(mode, "contexts"))
		return contexts();
	if (!strcmp(mode, "devices"))
		return devices();
	if (!strcmp(mode, "learns"))
		return host_learns();
	return strcmp(mode, "dependent") ? 2 : dependent();
}
