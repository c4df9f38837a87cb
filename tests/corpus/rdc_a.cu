// Relocatable code, first file: calls and variables of rdc_b.cu.
extern __device__ unsigned shared_counter;
extern __constant__ float shared_table[16];
extern __device__ float (*shared_function)(float);
__device__ float other_file(float x, int n);
__device__ __noinline__ float this_file(float x)
{
	return x * shared_table[3];
}
__device__ float (*my_pointer)(float) = this_file;
static __device__ int private_word;
__managed__ int managed_word = 5;

__global__ void calls(float *a)
{
	a[threadIdx.x] = other_file(a[threadIdx.x], 3) + this_file(2.0f) + shared_function(1.0f) +
			 my_pointer(0.5f);
	atomicAdd(&shared_counter, 1u);
	private_word = managed_word;
	a[private_word] = 0;
}
