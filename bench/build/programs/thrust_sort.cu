// thrust_sort.cu - keys with values sorted, and keys alone by a comparison of ours (merge sort).
#include "program.h"
#include <algorithm>
#include <thrust/device_vector.h>
#include <thrust/sort.h>

struct by_low_byte {
	__host__ __device__ bool operator()(uint32_t a, uint32_t b) const
	{
		return (a & 255) != (b & 255) ? (a & 255) < (b & 255) : a < b;
	}
};

int main()
{
	auto h = numbers(1 << 16, 1 << 20), sorted = h;
	thrust::device_vector<uint32_t> keys(h), values(h), own(h);

	thrust::sort_by_key(keys.begin(), keys.end(), values.begin());
	thrust::sort(own.begin(), own.end(), by_low_byte());
	std::sort(sorted.begin(), sorted.end());
	std::vector<uint32_t> got(h.size()), mine(h.size());
	thrust::copy(values.begin(), values.end(), got.begin());
	thrust::copy(own.begin(), own.end(), mine.begin());
	std::sort(h.begin(), h.end(), by_low_byte());
	return end(got == sorted && mine == h);
}
