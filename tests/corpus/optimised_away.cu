// For -Xcicc -O0: calls stay calls, locals stay in .local memory.
__device__ int helper(int *p, int n)
{
	int s = 0;

	for (int i = 0; i < n; i++)
		s += p[i];
	return s;
}

__global__ void plain(int *a, int n)
{
	int local[3] = {n, 1, 2};
	int *p = n > 1 ? local : a;

	a[threadIdx.x + 1] = a[threadIdx.x + 1];
	*p = helper(local, 3) + helper(a, n);
	a[0] = 1;
	a[0] = local[0];
}
