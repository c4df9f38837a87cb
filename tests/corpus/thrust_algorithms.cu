// Thrust sort, scan and reduction with functors.
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>

struct less_mod {
	__host__ __device__ bool operator()(int a, int b) const
	{
		return a % 1000 < b % 1000;
	}
};

int all(int *d, int n)
{
	thrust::sort(thrust::device, d, d + n, less_mod());
	thrust::inclusive_scan(thrust::device, d, d + n, d);
	return thrust::reduce(thrust::device, d, d + n, 0, thrust::maximum<int>());
}
