// thrust_select.cu - unique, copy_if, partition, remove_if.
#include "program.h"
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/partition.h>
#include <thrust/remove.h>
#include <thrust/unique.h>

struct is_even {
	__host__ __device__ bool operator()(uint32_t v) const { return v % 2 == 0; }
};

int main()
{
	auto h = numbers(1 << 16, 8);
	thrust::device_vector<uint32_t> a(h), b(h.size()), c(h), d(h);
	auto unique_end = thrust::unique(a.begin(), a.end());
	auto copied = thrust::copy_if(d.begin(), d.end(), b.begin(), is_even());
	auto middle = thrust::partition(c.begin(), c.end(), is_even());
	auto kept = thrust::remove_if(d.begin(), d.end(), is_even());
	ptrdiff_t even = 0, runs = 1;

	for (size_t i = 0; i < h.size(); i++) {
		even += h[i] % 2 == 0;
		runs += i > 0 && h[i] != h[i - 1];
	}
	return end(unique_end - a.begin() == runs && copied - b.begin() == even &&
		   middle - c.begin() == even && kept - d.begin() == (ptrdiff_t)h.size() - even);
}
