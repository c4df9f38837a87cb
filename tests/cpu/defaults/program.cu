// program.cu - for defaults.sh: one thing by name, with the race-free twin NAME.fixed.
//
//   managed, pinned   host code reads what a kernel writes, without waiting
//   segv, trap        the same as managed, with a handler of the program's own
//   staged            a kernel in a non-blocking stream after cudaMemcpy from pageable memory
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

__global__ void add(int *sum, const int *p, int n)
{
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		atomicAdd(sum, p[i]); // after a copy
}

// A copy from pageable memory, then a kernel in a stream that the default stream doesn't wait for. What
// orders the two: a wait, a blocking stream, a source that is pinned, the copy's own stream.
static int staged(const char *how)
{
	enum { N = 100, ROWS = 8 };
	static int own[ROWS][2 * N], got;
	int *d, *sum, *h = own[0], n = N;
	cudaStream_t s;

	for (int i = 0; i < ROWS * 2 * N; i++) own[0][i] = 1;
	if (!strcmp(how, "pinned")) cudaMallocHost(&h, sizeof(own));
	for (int i = 0; i < N; i++) h[i] = 1;
	cudaStreamCreateWithFlags(&s, !strcmp(how, "blocking") ? 0 : cudaStreamNonBlocking);
	cudaMalloc(&d, sizeof(own));
	cudaMallocManaged(&sum, sizeof(*sum));
	*sum = 0;
	cudaMemset(d, 0, sizeof(own));
	cudaDeviceSynchronize();
	if (!strcmp(how, "rows")) {
		cudaMemcpy2D(d, N * 4, own, 2 * N * 4, N * 4, ROWS, cudaMemcpyHostToDevice);
		n = N * ROWS;
	} else {
		cudaMemcpy(d, h, N * 4, cudaMemcpyHostToDevice);
	}
	memset(own, 0, sizeof(own)); // the bytes have been taken
	if (!strcmp(how, "waits")) cudaStreamSynchronize(0);
	add<<<1, 64, 0, !strcmp(how, "own") ? 0 : s>>>(sum, d, n);
	cudaDeviceSynchronize();
	got = *sum;
	cudaMemcpy(own, d, N * 4, cudaMemcpyDeviceToHost);
	int is_right = own[0][0] == 1 && own[0][N - 1] == 1 && (got == n || *how == 0 || !strcmp(how, "rows"));
	puts(is_right ? "done" : "wrong");
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
	if (!strcmp(name, "staged")) return staged(dot ? dot + 1 : "");
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
