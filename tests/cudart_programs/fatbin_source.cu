/* Input of test_fatbin: enough text to be worth compressing. */
__device__ int twice(int x) { return 2 * x; }
__global__ void first(int *p, int n)
{
	if (threadIdx.x < n)
		p[threadIdx.x] = twice(p[threadIdx.x]);
}
__global__ void second(float *p) { p[threadIdx.x] = sqrtf(p[threadIdx.x]); }
