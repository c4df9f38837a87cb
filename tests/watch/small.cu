// small.cu - grids in which each thread has one access, for small.sh.
#include <cuda_runtime.h>
#include <string.h>

__device__ unsigned int word[512], other[8];

__global__ void pairs_race() { word[threadIdx.x / 2] = threadIdx.x; }
__global__ void lone_lanes_race()
{
	if (threadIdx.x == 0)
		other[0] = blockIdx.x;
}
__global__ void own_clean() { word[blockIdx.x * blockDim.x + threadIdx.x] = 1; }

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "pairs"))
		pairs_race<<<8, 64>>>();
	else if (argc > 1 && !strcmp(argv[1], "lone"))
		lone_lanes_race<<<8, 64>>>();
	else
		own_clean<<<8, 64>>>();
	return cudaDeviceSynchronize() != cudaSuccess;
}
