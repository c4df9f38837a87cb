// waves.cu - the example of SuperCollider 3.5.2: the last thread of the grid stores to the first
// element. With -DFIXED it doesn't. The grid has as many waves as the argument says.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void add(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FIXED
	int at = i;
#else
	int at = i == n - 1 ? 0 : i;
#endif

	if (i < n)
		c[at] = a[i] + b[i] + 0.0f;
}

int main(int argc, char **argv)
{
	int sms = 0, blocks = 0, waves = argc > 1 ? atoi(argv[1]) : 3;

	cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
	cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 64, 0);
	int grid = waves * sms * blocks, n = grid * 64, wrong = 0;
	size_t bytes = n * sizeof(float);
	fprintf(stderr, "blocks %d\n", grid); // how many have a place depends on the registers
	std::vector<float> numbers(n), ones(n, 1.0f);
	float *a, *b, *c;
	cudaMalloc(&a, bytes);
	cudaMalloc(&b, bytes);
	cudaMalloc(&c, bytes);
	for (int i = 0; i < n; i++)
		numbers[i] = (float)i;
	cudaMemcpy(a, numbers.data(), bytes, cudaMemcpyHostToDevice);
	cudaMemcpy(b, ones.data(), bytes, cudaMemcpyHostToDevice);
	add<<<grid, 64>>>(a, b, c, n);
	if (cudaMemcpy(numbers.data(), c, bytes, cudaMemcpyDeviceToHost) != cudaSuccess)
		return 1;
	for (int i = 1; i < n - 1; i++)
		wrong += numbers[i] != (float)i + 1;
	puts(wrong ? "wrong" : "ok");
	return wrong != 0;
}
