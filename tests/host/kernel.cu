// kernel.cu - the kernel that reader.c starts: element i becomes 3 i + 1, the first one last.
#include <cuda_runtime.h>

__global__ void fill(unsigned *data, unsigned n)
{
	unsigned step = blockDim.x * gridDim.x;
	unsigned first = blockIdx.x * blockDim.x + threadIdx.x;

	for (unsigned i = n - step + first; i < n; i -= step)
		data[i] = 3 * i + 1;
}

extern "C" void start_fill(unsigned *data, unsigned n, cudaStream_t stream)
{
	fill<<<4, 64, 0, stream>>>(data, n);
}
