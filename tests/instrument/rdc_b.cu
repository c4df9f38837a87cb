// Second object.
__device__ void store_elsewhere(int *p, int v)
{
	p[threadIdx.x] += v;
}
