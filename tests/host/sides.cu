// sides.cu - host code beside a kernel, by each way in which code of others makes the access: one bug is
// one finding, whose host side is the line of main's that is marked with the case's name. With a second
// argument the host waits first. sides.sh says what is expected.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <cuda_runtime.h>

#define N 4096

static unsigned *mem, *flag;
static bool waits;
static unsigned own[N];
static std::atomic<unsigned> *counter;

__global__ void fill(unsigned *p)
{
	for (int i = threadIdx.x; i < N; i += blockDim.x)
		p[i] = N - i; // kernel
}

static void beside()
{
	fill<<<1, 256>>>(mem);
	if (waits)
		cudaDeviceSynchronize();
}

static int compare(const void *a, const void *b)
{
	return *(const unsigned *)a < *(const unsigned *)b; // side: qsort
}

// Not inlined, so that the C library is called.
static void *(*volatile copy)(void *, const void *, size_t) = memcpy;
static void *(*volatile set)(void *, int, size_t) = memset;

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	waits = argc > 2;
	cudaMallocManaged(&mem, N * sizeof(*mem));
	for (int i = 0; i < N; i++)
		mem[i] = 0;
	cudaDeviceSynchronize();
	beside();
	if (!strcmp(how, "memcpy"))
		memcpy(mem, own, sizeof(own)); // side: memcpy
	else if (!strcmp(how, "from"))
		memcpy(own, mem, sizeof(own)); // side: from
	else if (!strcmp(how, "memmove"))
		memmove(mem + 1, own, sizeof(own) - 4); // side: memmove
	else if (!strcmp(how, "pointer"))
		copy(mem, own, sizeof(own)); // side: pointer
	else if (!strcmp(how, "memset"))
		set(mem, 1, N); // side: memset
	else if (!strcmp(how, "strlen"))
		own[0] = (unsigned)strnlen((char *)(mem + 16), 64); // side: strlen
	else if (!strcmp(how, "write"))
		fwrite(mem, 4, N, fopen("/dev/null", "w")); // side: write
	else if (!strcmp(how, "qsort"))
		qsort(mem, 2, 4, compare);
	else if (!strcmp(how, "atomic"))
		((std::atomic<unsigned char> *)mem)->fetch_add(1); // side: atomic
	else if (!strcmp(how, "thread"))
		std::thread([] {
			for (int i = 0; i < N; i++)
				own[0] += mem[i]; // side: thread
		}).join();
	cudaDeviceSynchronize();
	puts("done");
	return 0;
}
