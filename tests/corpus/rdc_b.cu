// Relocatable code, second file.
__device__ unsigned shared_counter;
__constant__ float shared_table[16] = {1, 2, 3, 4};
static __device__ __noinline__ float twice(float x)
{
	return x + x;
}
__device__ float (*shared_function)(float) = twice;
static __device__ int private_word;
__shared__ int block_word;

__device__ float other_file(float x, int n)
{
	block_word = n;
	__syncthreads();
	private_word = n;
	return n > 0 ? x * other_file(x, block_word - 1) : shared_table[n & 15];
}
