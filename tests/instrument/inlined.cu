// inlined.cu - two levels of inlining below a kernel: the site table holds each call's place.
__device__ __forceinline__ void inner(int *p, int v)
{
	p[threadIdx.x] = v; // the store
}

__device__ __forceinline__ void outer(int *p, int v)
{
	inner(p + 1, v); // inner called here
}

extern "C" __global__ void kernel(int *p, int v)
{
	outer(p, v); // outer called here
}
