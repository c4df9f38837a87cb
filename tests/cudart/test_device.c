/*
 * test_device.c - devices, attributes, limits, error texts, refusals, fork.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static void test_properties(void)
{
	struct cudaDeviceProp p;
	int n, v, dev;
	char bus[32];

	OK(cudaGetDeviceCount(&n));
	CHECK(n >= 1);
	OK(cudaGetDeviceProperties(&p, n - 1));
	CHECK(p.major >= 9 && p.warpSize == 32 && p.maxThreadsPerBlock == 1024);
	CHECK(p.maxThreadsDim[2] == 64 && p.maxGridSize[0] == 2147483647);
	CHECK(p.sharedMemPerBlockOptin == 227 << 10 && p.unifiedAddressing && p.clusterLaunch);
	OK(cudaDeviceGetAttribute(&v, cudaDevAttrMultiProcessorCount, n - 1));
	CHECK(v == p.multiProcessorCount);
	if (is_cpu_device()) /* COLLIDER_CPU says so */
		CHECK(n == 2 && v == 3 && p.major == 9 && p.minor == 0);
	CHECK_IS(cudaDeviceGetAttribute(&v, (enum cudaDeviceAttr)9999, 0), cudaErrorInvalidValue);
	CHECK_IS(cudaGetDeviceProperties(&p, n), cudaErrorInvalidDevice);
	CHECK_IS(cudaSetDevice(-1), cudaErrorInvalidDevice);
	OK(cudaDeviceGetPCIBusId(bus, sizeof(bus), n - 1));
	OK(cudaDeviceGetByPCIBusId(&dev, bus));
	CHECK(dev == n - 1);
	OK(cudaRuntimeGetVersion(&v));
	CHECK(v == CUDART_VERSION);
	cudaGetLastError();
}

/* Every attribute has a value, also those that only the driver's header names. */
static void test_attributes(void)
{
	int v;

	for (int a = 1; a < cudaDevAttrMax; a++)
		OK(cudaDeviceGetAttribute(&v, (enum cudaDeviceAttr)a, 0));
	CHECK_IS(cudaDeviceGetAttribute(&v, (enum cudaDeviceAttr)0, 0), cudaErrorInvalidValue);
	cudaGetLastError();
}

static void test_limits(void)
{
	size_t v;

	OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 123 << 20));
	OK(cudaDeviceGetLimit(&v, cudaLimitMallocHeapSize));
	CHECK(v == 123 << 20);
	CHECK_IS(cudaDeviceGetLimit(&v, (enum cudaLimit)99), cudaErrorInvalidValue);
	CHECK_IS(cudaDeviceSetLimit((enum cudaLimit)99, 1), cudaErrorInvalidValue);
	cudaGetLastError();
}

static void test_peers(void)
{
	char in[64] = "from one device to another", out[64] = "";
	void *a, *b;
	int n, can;

	OK(cudaGetDeviceCount(&n));
	if (n < 2) {
		CHECK_IS(cudaDeviceCanAccessPeer(&can, 0, 1), cudaErrorInvalidDevice);
		CHECK_IS(cudaDeviceEnablePeerAccess(1, 0), cudaErrorInvalidDevice);
		CHECK_IS(cudaSetDevice(1), cudaErrorInvalidDevice);
		cudaGetLastError();
		return;
	}
	OK(cudaDeviceCanAccessPeer(&can, 0, 1));
	CHECK(can || !is_cpu_device());
	if (!can)
		return;
	OK(cudaDeviceEnablePeerAccess(1, 0));
	CHECK_IS(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
	OK(cudaDeviceDisablePeerAccess(1));
	CHECK_IS(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
	cudaGetLastError();
	OK(cudaMalloc(&a, 64));
	OK(cudaSetDevice(1));
	OK(cudaMalloc(&b, 64));
	OK(cudaMemcpyPeer(b, 1, a, 0, 0));
	OK(cudaSetDevice(0));
	OK(cudaMemcpy(a, in, 64, cudaMemcpyHostToDevice));
	OK(cudaMemcpyPeer(b, 1, a, 0, 64));
	OK(cudaMemset(a, 0, 64)); /* comes after the copy */
	OK(cudaMemcpy(out, b, 64, cudaMemcpyDeviceToHost));
	CHECK_IS(cudaMemcpyPeer(b, n, a, 0, 64), cudaErrorInvalidDevice);
	cudaGetLastError();
	/* `out` was copied by device 0's stream; the copy between the devices is joined by both. */
	CHECK(memcmp(in, out, 64) == 0);
	OK(cudaFree(a));
	OK(cudaFree(b));
}

static void test_errors(void)
{
	CHECK(strcmp(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress") == 0);
	CHECK(strcmp(cudaGetErrorString(cudaErrorIllegalAddress),
		     "an illegal memory access was encountered") == 0);
	CHECK(strcmp(cudaGetErrorString(cudaSuccess), "no error") == 0);
	CHECK(strcmp(cudaGetErrorName((cudaError_t)12345), "unrecognized error code") == 0);
	CHECK_IS(cudaMemcpy(NULL, NULL, 1, cudaMemcpyDefault), cudaErrorInvalidValue);
	CHECK_IS(cudaPeekAtLastError(), cudaErrorInvalidValue);
	OK(cudaMemcpy(NULL, NULL, 0, cudaMemcpyDefault)); /* a success clears nothing */
	CHECK_IS(cudaGetLastError(), cudaErrorInvalidValue);
	OK(cudaGetLastError());
}

static void test_refusals(void)
{
	cudaIpcMemHandle_t h;
	char text[256] = "";
	int fd[2], old = dup(2);
	cudaMipmappedArray_t a;
	struct cudaChannelFormatDesc c = cudaCreateChannelDesc(8, 0, 0, 0, 0);
	struct cudaExtent size = {4, 4, 0};

	CHECK(pipe(fd) == 0 && dup2(fd[1], 2) == 2);
	CHECK_IS(cudaIpcGetMemHandle(&h, &h), cudaErrorNotSupported);
	CHECK_IS(cudaIpcGetMemHandle(&h, &h), cudaErrorNotSupported);
	CHECK_IS(cudaMallocMipmappedArray(&a, &c, size, 2, 0), cudaErrorNotSupported);
	dup2(old, 2);
	CHECK(read(fd[0], text, sizeof(text) - 1) > 0);
	CHECK(strcmp(text,
		     "collider: cudaIpcGetMemHandle is not available on the CPU device\n"
		     "collider: cudaMallocMipmappedArray is not available on the CPU device\n") ==
	      0);
	CHECK_IS(cudaGetLastError(), cudaErrorNotSupported);
}

static void test_fork(void)
{
	int status;
	void *p;
	pid_t pid = fork();

	if (pid == 0)
		_exit(cudaMalloc(&p, 4) == cudaErrorInitializationError ? 0 : 1);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	OK(cudaMalloc(&p, 4));
	OK(cudaFree(p));
}

static void test_reset(void)
{
	size_t before, after, total;
	cudaStream_t s;
	void *p;

	OK(cudaMemGetInfo(&before, &total));
	OK(cudaMalloc(&p, 1 << 16));
	OK(cudaStreamCreate(&s));
	OK(cudaMemsetAsync(p, 0, 1 << 16, s));
	OK(cudaDeviceReset());
	OK(cudaMemGetInfo(&after, &total));
	if (is_cpu_device()) { /* a GPU's driver keeps memory, and the old stream can't be asked */
		CHECK(after == before);
		CHECK_IS(cudaStreamQuery(s), cudaErrorInvalidResourceHandle);
	}
	CHECK_IS(cudaFree(p), cudaErrorInvalidValue);
	cudaGetLastError();
	OK(cudaMalloc(&p, 4));
	OK(cudaFree(p));
}

int main(void)
{
	/* Before the first call of the runtime. */
	CHECK(setenv("COLLIDER_CPU", "seed=5:cpu-devices=2:sms=3:memory=1G", 1) == 0);
	test_properties();
	test_attributes();
	test_limits();
	test_peers();
	test_errors();
	if (is_cpu_device())
		test_refusals();
	test_fork();
	test_reset();
	return 0;
}
