// objects_a.cu, objects_b.cu - one program of two objects; the function of the other one reads the
// block's id, too. Prints "ok" when the two always agree.
#include <cstdio>

__device__ unsigned other_block();

__global__ void compare(unsigned *wrong, unsigned *seen)
{
	if (threadIdx.x == 0) {
		atomicAdd(&seen[blockIdx.x], 1);
		if (other_block() != blockIdx.x)
			atomicAdd(wrong, 1);
	}
}

int main()
{
	unsigned *wrong, *seen, bad = 0;

	cudaMallocManaged(&wrong, sizeof(*wrong));
	cudaMallocManaged(&seen, 100 * sizeof(*seen));
	*wrong = 0;
	for (int i = 0; i < 100; i++)
		seen[i] = 0;
	compare<<<100, 32>>>(wrong, seen);
	if (cudaDeviceSynchronize() != cudaSuccess)
		return 1;
	for (int i = 0; i < 100; i++)
		bad += seen[i] != 1;
	puts(*wrong || bad ? "wrong" : "ok");
	return *wrong || bad;
}
