// launches.cu - pairs of two launches of plain kernels: launches together|chain|stream
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

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	cudaStream_t a, b;
	int *x, *y, *flag;

	cudaMalloc(&x, 64 * sizeof(int));
	cudaMalloc(&y, 64 * sizeof(int));
	cudaMalloc(&flag, sizeof(int));
	cudaMemset(flag, 0, sizeof(int));
	cudaDeviceSynchronize();
	cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
	cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
	if (!strcmp(way, "stream"))
		b = a;
	fill<<<2, 32, 0, a>>>(x);
	if (!strcmp(way, "chain")) {
		release<<<1, 1, 0, a>>>(flag);
		acquire<<<1, 1, 0, b>>>(flag);
	}
	take<<<2, 32, 0, b>>>(x, y);
	return cudaDeviceSynchronize() == cudaSuccess ? EXIT_SUCCESS : EXIT_FAILURE;
}
