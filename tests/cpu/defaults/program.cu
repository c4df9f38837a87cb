// program.cu - for defaults.sh: one thing by name, with the race-free twin NAME.fixed.
//
//   managed, pinned   host code reads what a kernel writes, without waiting
//   segv, trap        the same as managed, with a handler of the program's own
//   shared            a kernel's threads read each other's words without a barrier
#include <csignal>
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

__global__ void fill(int *p)
{
	p[threadIdx.x] = threadIdx.x;
}

template <bool is_fixed> __global__ void mirror(int *out)
{
	__shared__ int s[256];
	s[threadIdx.x] = threadIdx.x;
	if (is_fixed) __syncthreads();
	out[threadIdx.x] = s[255 - threadIdx.x]; // the race's other side
}

static void on_signal(int)
{
	_Exit(9);
}

// Three rounds of copies to the same bytes: in three streams each, or in one.
static int copies(bool is_fixed)
{
	cudaStream_t s[3];
	int *d, *h;

	cudaMalloc(&d, 1024);
	cudaMallocHost(&h, 1024);
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < 3; k++) cudaStreamCreate(&s[k]);
		for (int k = 0; k < 3; k++)
			cudaMemcpyAsync(d, h, 1024, cudaMemcpyHostToDevice, s[is_fixed ? 0 : k]);
		for (int k = 0; k < 3; k++) cudaStreamSynchronize(s[k]);
		for (int k = 0; k < 3; k++) cudaStreamDestroy(s[k]);
	}
	cudaDeviceSynchronize();
	puts("done");
	return 3;
}

int main(int, char **argv)
{
	char name[32] = "";
	int *p = NULL, sum = 0;

	strncpy(name, argv[1], sizeof(name) - 1);
	char *dot = strchr(name, '.');
	if (dot) *dot = 0;
	if (!strcmp(name, "copies")) return copies(dot);
	if (!strcmp(name, "segv")) signal(SIGSEGV, on_signal);
	if (!strcmp(name, "trap")) signal(SIGTRAP, on_signal);
	if (!strcmp(name, "pinned")) cudaMallocHost(&p, 1024);
	else cudaMallocManaged(&p, 1024);
	if (!strcmp(name, "shared")) {
		dot ? mirror<true><<<1, 256>>>(p) : mirror<false><<<1, 256>>>(p);
		cudaDeviceSynchronize();
		puts("done");
		return 3;
	}
	fill<<<1, 256>>>(p);
	if (dot) cudaDeviceSynchronize();
	for (int i = 0; i < 256; i++) sum += ((volatile int *)p)[i]; // host
	cudaDeviceSynchronize();
	printf("%s\n", sum >= 0 ? "done" : "");
	return 3;
}
