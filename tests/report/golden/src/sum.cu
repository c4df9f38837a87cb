// What the golden reports point at; never compiled.
__device__ float neighb(float *tile)
{
	return tile[threadIdx.x + 1];
}

__global__ void sum(float *out, const float *in, int n)
{
	__shared__ float tile[257];
	out[0] += neighb(tile);
	out[1] = n;
	if (n) out[2] = in[n];
	out[3] = __ldg(in);
	*(volatile short *)out = 1;
}
