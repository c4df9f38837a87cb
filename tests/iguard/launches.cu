// launches.cu - pairs of two launches of plain kernels: launches together|stream|chain|own|loose|host|unheard|apart
#include <atomic>
#include <cstdlib>
#include <cstring>

__global__ void fill(int *x)
{
	x[blockIdx.x * blockDim.x + threadIdx.x] = (int)threadIdx.x;
}

__global__ void take(const int *x, int *y)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	y[i] = x[i ^ 1] + 1;
}

// Two kernels that aren't plain: what came before the one, in its stream, is ordered before what comes after the other.
__global__ void release(int *flag)
{
	__threadfence();
	atomicExch(flag, 1);
}

__global__ void acquire(int *flag)
{
	while (atomicAdd(flag, 0) == 0)
		;
	__threadfence();
}

// As fill, and hands over what it wrote by itself.
__global__ void give(int *x, int *flag)
{
	x[blockIdx.x * blockDim.x + threadIdx.x] = (int)threadIdx.x;
	__threadfence();
	atomicAdd(flag, 1);
}

__global__ void acquire_all(int *flag)
{
	while (atomicAdd(flag, 0) != 64)
		;
	__threadfence();
}

// It orders no kernels: a fence of one thread's proxies, and what is relaxed.
__global__ void loosely(int *flag)
{
	asm volatile("fence.proxy.async;" ::: "memory");
	atomicAdd(flag, 1);
}

// Functions of the host in streams.
static std::atomic<int> is_set;

static void CUDART_CB set(void *)
{
	is_set = 1;
}

static void CUDART_CB wait(void *)
{
	while (!is_set)
		;
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	cudaStream_t a, b;
	int *x, *y, *flag, *passing;

	cudaMalloc(&x, 64 * sizeof(int));
	cudaMalloc(&y, 64 * sizeof(int));
	cudaMalloc(&flag, sizeof(int));
	cudaMemset(flag, 0, sizeof(int));
	cudaDeviceSynchronize();
	cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
	cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
	if (!strcmp(way, "stream"))
		b = a;
	if (!strcmp(way, "own"))
		give<<<2, 32, 0, a>>>(x, flag);
	else
		fill<<<2, 32, 0, a>>>(x);
	if (!strcmp(way, "chain")) {
		release<<<1, 1, 0, a>>>(flag);
		acquire<<<1, 1, 0, b>>>(flag);
	} else if (!strcmp(way, "own")) {
		acquire_all<<<1, 1, 0, b>>>(flag);
	} else if (!strcmp(way, "loose")) {
		loosely<<<1, 1, 0, a>>>(flag);
		loosely<<<1, 1, 0, b>>>(flag);
		// Memory is freed by a function in the stream, but not one of the program's.
		cudaMallocAsync(&passing, sizeof(int), b);
		cudaFreeAsync(passing, b);
	} else if (!strcmp(way, "host")) {
		cudaLaunchHostFunc(a, set, NULL);
		cudaLaunchHostFunc(b, wait, NULL);
	} else if (!strcmp(way, "unheard")) {
		// It could acquire, but nothing after fill releases.
		release<<<1, 1, 0, b>>>(flag);
	}
	// What comes first in its stream ends after fill, beside which nothing runs then.
	if (!strcmp(way, "apart"))
		cudaMemsetAsync(y, 0, sizeof(int), b);
	take<<<2, 32, 0, b>>>(x, y);
	return cudaDeviceSynchronize() == cudaSuccess ? EXIT_SUCCESS : EXIT_FAILURE;
}
