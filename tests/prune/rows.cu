/*
 * rows.cu - a proven launch writes an image, beside another stream that writes one element of it.
 *
 *   rows WIDTH BLOCK-WIDTH ELEMENT
 *
 * Blocks have 256 threads, and those at the image's edges do nothing: the warps' rows have lanes
 * that are missing, are cut into two or four, or begin anywhere. With a BLOCK-WIDTH of 0 it reads
 * the first WIDTH elements instead, each by one thread, twice, at an index from memory. rows.sh
 * asks which thread of the launch the finding names.
 */
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

__global__ void inside(int *a, int width)
{
	int x = (int)(blockIdx.x * blockDim.x + threadIdx.x);
	int y = (int)(blockIdx.y * blockDim.y + threadIdx.y);

	if (x > 0 && x < width - 1 && y < width - 1)
		a[y * width + x] = x;
}

__global__ void gather(const int *a, const int *index, int *sums, int n)
{
	int i = (int)(blockIdx.x * blockDim.x + threadIdx.x), sum = 0;

	if (i >= n)
		return;
	for (int k = i; k < 2 * n; k += n)
		sum += a[index[k]];
	sums[i] = sum;
}

__global__ void one(int *a, int at)
{
	a[at] = 1;
}

int main(int argc, char **argv)
{
	int *a, *index, *sums, width = argc > 3 ? atoi(argv[1]) : 64, side = argc > 3 ? atoi(argv[2]) : 32;
	cudaStream_t first, second;

	cudaMalloc(&a, sizeof(*a) * (size_t)width * (size_t)width);
	cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
	cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
	if (side) {
		dim3 block((unsigned)side, 256u / (unsigned)side);
		dim3 grid((unsigned)(width + side - 1) / block.x, (unsigned)width / block.y + 1);
		inside<<<grid, block, 0, first>>>(a, width);
	} else {
		cudaMallocManaged(&index, sizeof(*index) * 2u * (unsigned)width);
		cudaMalloc(&sums, sizeof(*sums) * (unsigned)width);
		for (int i = 0; i < 2 * width; i++)
			index[i] = i % width * 7 % width;
		gather<<<(unsigned)width / 128 + 1, 128, 0, first>>>(a, index, sums, width);
	}
	one<<<1, 1, 0, second>>>(a, argc > 3 ? atoi(argv[3]) : 1);
	printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
	return 0;
}
