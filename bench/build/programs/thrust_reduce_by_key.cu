// thrust_reduce_by_key.cu - sums of runs of equal keys.
#include "program.h"
#include <thrust/device_vector.h>
#include <thrust/iterator/constant_iterator.h>
#include <thrust/reduce.h>

int main()
{
	auto h = numbers(1 << 16, 2);
	thrust::device_vector<uint32_t> keys(h), out(h.size()), sums(h.size());
	auto last = thrust::reduce_by_key(keys.begin(), keys.end(), thrust::constant_iterator<uint32_t>(1),
					  out.begin(), sums.begin());
	size_t runs = 1;

	for (size_t i = 1; i < h.size(); i++)
		runs += h[i] != h[i - 1];
	return end(last.first - out.begin() == (ptrdiff_t)runs &&
		   thrust::reduce(sums.begin(), last.second) == h.size());
}
