// First object: shares knobs and report functions with rdc_b.cu, has a site table of its own.
__device__ void store_elsewhere(int *p, int v);

__global__ void here(int *p, int v)
{
	p[threadIdx.x] = v;
	store_elsewhere(p + blockDim.x, v);
}

int main(void)
{
	return 0;
}
