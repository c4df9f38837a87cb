// thrust_sets.cu - merge, union and intersection of sorted sequences.
#include "program.h"
#include <algorithm>
#include <iterator>
#include <thrust/device_vector.h>
#include <thrust/merge.h>
#include <thrust/set_operations.h>

int main()
{
	auto h = numbers(1 << 15, 1 << 16), g = numbers(1 << 14, 1 << 15);
	std::sort(h.begin(), h.end());
	std::sort(g.begin(), g.end());
	thrust::device_vector<uint32_t> a(h), b(g), out(h.size() + g.size()), both(out.size());
	std::vector<uint32_t> want, got(out.size());

	std::set_intersection(h.begin(), h.end(), g.begin(), g.end(), std::back_inserter(want));
	auto common = thrust::set_intersection(a.begin(), a.end(), b.begin(), b.end(), both.begin());
	auto all = thrust::set_union(a.begin(), a.end(), b.begin(), b.end(), out.begin());
	bool is_right = common - both.begin() == (ptrdiff_t)want.size() &&
			all - out.begin() == (ptrdiff_t)(h.size() + g.size() - want.size());
	thrust::merge(a.begin(), a.end(), b.begin(), b.end(), out.begin());
	thrust::copy(out.begin(), out.end(), got.begin());
	return end(is_right && std::is_sorted(got.begin(), got.end()));
}
