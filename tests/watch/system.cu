// system.cu - kernels that meet host code, and kernels of two devices: system MODE. system.sh judges.
//
// A mode that ends in _race must be reported with both its sides, one that ends in _clean not at all.
// Host code is built with checks.
#include <cuda/atomic>
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 512u

static void check(cudaError_t e)
{
	if (e == cudaSuccess)
		return;
	fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(e));
	exit(3);
}

__global__ void writes(unsigned *data, unsigned step, unsigned value)
{
	unsigned i = (blockIdx.x * blockDim.x + threadIdx.x) * step;

	if (i < N)
		data[i] = value * i;
}

__global__ void reads(const unsigned *data, unsigned *sum)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	if (data[i] == 5) // a group of its own
		sum[i] = 1;
}

// One thread: the data, then the flag behind it.
__global__ void gives(unsigned *data)
{
	for (unsigned i = 0; i < 64; i++)
		data[i] = i;
	__threadfence_system();
	cuda::atomic_ref<unsigned, cuda::thread_scope_system>(data[N]).store(
		1, cuda::memory_order_relaxed);
}

__global__ void takes(unsigned *data, unsigned *sum)
{
	cuda::atomic_ref<unsigned, cuda::thread_scope_system> flag(data[N]);

	while (flag.load(cuda::memory_order_relaxed) == 0)
		;
	__threadfence_system();
	for (unsigned i = 0; i < 64; i++)
		sum[i] = data[i];
}

static volatile unsigned result;
static volatile size_t copied = N * sizeof(unsigned);

static void host_reads(const unsigned *data, unsigned from, unsigned step)
{
	unsigned s = 0;

	for (unsigned i = from; i < N; i += step)
		s += data[i];
	result = s;
}

static void host_writes(unsigned *data)
{
	for (unsigned i = 0; i < N; i++)
		data[i] = 7;
}

static void host_copies(const unsigned *data)
{
	static unsigned to[N];

	memcpy(to, data, copied); // a call: what the compiler expands is not seen
	result = to[N - 1];
}

static void host(const char *mode)
{
	unsigned *data, *pinned, *sum;
	cudaStream_t s;
	cudaEvent_t done;

	check(cudaMallocManaged(&data, (N + 1) * sizeof(*data)));
	check(cudaMallocHost(&pinned, N * sizeof(*data)));
	check(cudaMalloc(&sum, N * sizeof(*sum)));
	check(cudaStreamCreate(&s));
	check(cudaEventCreate(&done));
	memset(data, 0, (N + 1) * sizeof(*data));
	memset(pinned, 0, N * sizeof(*pinned));
	if (!strcmp(mode, "host_reads_race") || !strncmp(mode, "host_waits", 10)) {
		writes<<<8, 64, 0, s>>>(data, 1, 3);
		check(cudaEventRecord(done, s));
		if (!strcmp(mode, "host_waits_stream_clean"))
			check(cudaStreamSynchronize(s));
		else if (!strcmp(mode, "host_waits_event_clean"))
			check(cudaEventSynchronize(done));
		while (!strcmp(mode, "host_waits_query_clean") && cudaStreamQuery(s) != cudaSuccess)
			;
		host_reads(data, 0, 1);
	} else if (!strcmp(mode, "host_same_value_race")) {
		writes<<<8, 64, 0, s>>>(data, 1, 0);
		host_reads(data, 0, 1);
	} else if (!strcmp(mode, "host_pinned_race")) {
		writes<<<8, 64, 0, s>>>(pinned, 1, 3);
		host_reads(pinned, 0, 1);
	} else if (!strcmp(mode, "host_copies_race")) {
		writes<<<8, 64, 0, s>>>(data, 1, 3);
		host_copies(data);
	} else if (!strcmp(mode, "host_writes_race")) {
		reads<<<8, 64, 0, s>>>(data, sum);
		host_writes(data);
	} else if (!strcmp(mode, "host_writes_before_clean")) {
		host_writes(data);
		reads<<<8, 64, 0, s>>>(data, sum);
	} else if (!strcmp(mode, "host_reads_too_clean")) {
		reads<<<8, 64, 0, s>>>(data, sum);
		host_reads(data, 0, 1);
	} else if (!strcmp(mode, "host_other_bytes_clean")) {
		writes<<<8, 64, 0, s>>>(data, 2, 3);
		host_reads(data, 1, 2);
	} else if (!strcmp(mode, "host_flag_clean")) {
		gives<<<1, 1, 0, s>>>(data);
		while (!__atomic_load_n(&data[N], __ATOMIC_ACQUIRE))
			(void)cudaStreamQuery(s); /* lets the CPU device work */
		for (unsigned i = 0; i < 64; i++)
			result = data[i];
	} else {
		exit(2);
	}
	check(cudaDeviceSynchronize());
}

static void devices(const char *mode)
{
	cudaEvent_t done;
	cudaStream_t s[2];
	unsigned *data, *sum;

	for (int d = 1; d >= 0; d--) {
		check(cudaSetDevice(d));
		check(cudaDeviceEnablePeerAccess(1 - d, 0));
		check(cudaStreamCreateWithFlags(&s[d], cudaStreamNonBlocking));
	}
	check(cudaMalloc(&data, (N + 1) * sizeof(*data)));
	check(cudaMalloc(&sum, N * sizeof(*sum)));
	check(cudaMemset(data, 0, (N + 1) * sizeof(*data)));
	check(cudaDeviceSynchronize());
	check(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
	if (!strcmp(mode, "devices_flag_clean")) {
		gives<<<1, 1, 0, s[0]>>>(data);
		check(cudaSetDevice(1));
		takes<<<1, 1, 0, s[1]>>>(data, sum);
	} else if (!strcmp(mode, "devices_same_value_race") || !strcmp(mode, "devices_event_clean")) {
		writes<<<8, 64, 0, s[0]>>>(data, 1, 3);
		check(cudaEventRecord(done, s[0]));
		check(cudaSetDevice(1));
		if (!strcmp(mode, "devices_event_clean"))
			check(cudaStreamWaitEvent(s[1], done, 0));
		writes<<<8, 64, 0, s[1]>>>(data, 1, 3);
	} else {
		exit(2);
	}
	for (int d = 0; d < 2; d++) {
		check(cudaSetDevice(d));
		check(cudaDeviceSynchronize());
	}
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	if (!strncmp(argv[1], "devices", 7))
		devices(argv[1]);
	else
		host(argv[1]);
	return 0;
}
