/*
 * Launches that may be executed by several threads, and some that may not: what they print, leave and are
 * reported for must not depend on it (same_report.sh).
 */
#include <cassert>
#include <cstdio>
#include <cstring>

#include <cuda_runtime.h>
#include <sys/mman.h>

static const int blocks = 200, threads = 256, n = blocks * threads;

__device__ int index()
{
	return blockIdx.x * blockDim.x + threadIdx.x;
}

/* Enough to be worth several threads, and machine code. */
__device__ int work(int v)
{
	for (int k = 0; k < 40; k++)
		v = v * 17 + 3;
	return v;
}

/* Each block reads the same elements. */
__global__ void reads(const int *a, int *b)
{
	int sum = 0;

	for (int k = 0; k < 64; k++)
		sum += a[k];
	b[index()] = sum;
}

/* What depends on where a block runs, and when. */
__global__ void places(long long *a, unsigned *b)
{
	unsigned sm, warp;
	unsigned long long global;
	long long t = clock64();

	asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
	asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(global));
	for (int k = 0; k < 50; k++)
		t = t * 3 + clock64();
	a[index()] = t ^ (long long)global;
	b[index()] = sm * 64 + warp;
}

/* The order of additions shows. */
__global__ void float_sums(float *a)
{
	atomicAdd(a + index() % 7, work(index()) * 0.1f);
}

/* So does that of updates of several kinds. */
__global__ void mixed(unsigned *a)
{
	atomicAdd(a + index() % 7, 3);
	atomicMax(a + index() % 5, (unsigned)work(index()) % 100000);
	atomicInc(a + index() % 3, 1u << 30);
}

/* A sum is read beside that. */
__global__ void sums_read(float *a, float *b)
{
	atomicAdd(a + index() % 7, work(index()) * 0.1f);
	b[index()] = a[blockIdx.x % 7];
}

__global__ void histogram(int *a, int *b)
{
	int v = work(index());

	atomicAdd(a + (unsigned)v % 31, 1);
	b[index()] = v;
}

/* The result of an atomic is used. */
__global__ void tickets(int *a, int *b)
{
	b[index()] = atomicAdd(a, 1) + work(index());
}

/* Blocks store to the same words. */
__global__ void racy(int *a)
{
	a[index() * 13 % (n / 3)] = work(index());
}

/* Blocks share words, but no bytes. */
__global__ void bytes(unsigned char *a)
{
	a[index()] = (unsigned char)work(index());
}

/* It accesses what no parameter points to. */
__global__ void indirect(int **a)
{
	a[0][index()] = work(index());
}

__global__ void prints(int *a)
{
	if (!threadIdx.x)
		printf("block %d\n", blockIdx.x);
	a[index()] = index();
}

/* An assert that holds, and a thread that prints if it is to. */
__global__ void asserts(int *a, bool has_text)
{
	assert(index() < n);
	a[index()] = work(index());
	if (has_text && index() == n - 3)
		printf("thread %d\n", index());
}

__global__ void faults(int *a)
{
	a[index()] = work(index());
	if (index() == n - 300)
		a[1l << 40] = 1;
}

/* Each block adds to the same words, in so short a launch that a thread has several of its blocks
 * before it looks up. */
__global__ void counts(int *a)
{
	int w = threadIdx.x, v;

	for (int k = 0; k < 60; k++)
		w = w * 17 ^ w >> 3;
	v = a[threadIdx.x % 7];
	a[100 + index()] = v ^ w;
	a[threadIdx.x % 7] = v + 1;
}

static int *p, *q;

static unsigned long sum(const void *from, size_t bytes = n * 8)
{
	static unsigned char h[n * 8];
	unsigned long s = 1469598103934665603ul;

	cudaMemcpy(h, from, bytes, cudaMemcpyDefault);
	for (size_t i = 0; i < bytes; i++)
		s = (s ^ h[i]) * 1099511628211ul;
	return s;
}

static void show(const char *name)
{
	cudaError_t e = cudaDeviceSynchronize();

	printf("%s: %s %lx %lx\n", name, cudaGetErrorName(e), sum(p), sum(q));
}

static void start()
{
	cudaMalloc(&p, n * 8);
	cudaMalloc(&q, n * 8);
	cudaMemset(p, 0, n * 8);
	cudaMemset(q, 0, n * 8);
}

int main()
{
	cudaStream_t s[3];
	int **address, *managed;

	start();
	for (int i = 0; i < 3; i++) {
		reads<<<blocks, threads>>>(p, q);
		show("reads");
		places<<<blocks, threads>>>((long long *)p, (unsigned *)q);
		show("places");
	}
	cudaMemset(p, 0, n * 8);
	float_sums<<<blocks, threads>>>((float *)p);
	show("float sums");
	cudaMemset(p, 0, n * 8);
	mixed<<<blocks, threads>>>((unsigned *)p);
	show("mixed");
	cudaMemset(p, 0, n * 8);
	sums_read<<<blocks, threads>>>((float *)p, (float *)q);
	show("sums that are read");
	cudaMemset(p, 0, n * 8);
	histogram<<<blocks, threads>>>(p, q);
	show("histogram");
	tickets<<<blocks, threads>>>(p, q);
	show("tickets");
	for (int i = 0; i < 4; i++) { /* twice in vain, then as ever */
		racy<<<blocks, threads>>>(p);
		show("racy");
	}
	bytes<<<blocks, threads - 6>>>((unsigned char *)p + 1);
	show("bytes");
	for (cudaStream_t &x : s)
		cudaStreamCreate(&x);
	for (int i = 0; i < 3; i++) /* they race */
		histogram<<<blocks / 2, threads, 0, s[i]>>>(p + i * 1000, q + i * 10000);
	show("streams");
	prints<<<blocks, 32>>>(p);
	show("prints");
	for (int i = 0; i < 4; i++) {
		asserts<<<blocks, threads>>>(p, i == 2);
		show("asserts");
	}
	cudaMalloc(&address, sizeof(*address));
	cudaMemcpy(address, &q, sizeof(q), cudaMemcpyDefault);
	indirect<<<blocks, threads>>>(address);
	show("indirect");
	/* The host writes beside a launch that is repeated, to other words of the same pages. */
	cudaMallocManaged(&managed, n * 8);
	memset(managed, 0, n * 8);
	bytes<<<blocks, threads - 6>>>((unsigned char *)managed);
	for (int i = n / 4; i < n; i++)
		managed[i] = i;
	show("managed");
	printf("%lx\n", sum(managed));
	/* Memory of the host's, at an address that is the same in each run: reports have it. */
	void *host = mmap((void *)0x510000000000, n, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	printf("registered: %s\n", cudaGetErrorName(cudaHostRegister(host, n, 0)));
	for (int i = 0; i < 4; i++)
		counts<<<100, 32>>>((int *)host);
	cudaDeviceSynchronize();
	printf("%lx\n", sum(host, n));
	cudaDeviceReset();
	start();
	histogram<<<blocks, threads>>>(p, q);
	show("after a reset");
	faults<<<blocks, threads>>>(q);
	show("faults");
}
