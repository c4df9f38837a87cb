__device__ int add(int *p, int v)
{
	return p[threadIdx.x] += v;
}
