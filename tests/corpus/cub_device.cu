// CUB device-wide radix sort, scan and reduction: decoupled look-back, shared unions, vectors.
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

cudaError_t all(void *tmp, size_t bytes, unsigned *in, unsigned *out, int n)
{
	cudaError_t e = cub::DeviceRadixSort::SortKeys(tmp, bytes, in, out, n);

	if (e == cudaSuccess)
		e = cub::DeviceScan::ExclusiveSum(tmp, bytes, in, out, n);
	if (e == cudaSuccess)
		e = cub::DeviceReduce::Max(tmp, bytes, in, out, n);
	return e;
}
