// thrust_scan.cu - prefix sums of 32 and of 64 bits, and of segments.
#include "program.h"
#include <thrust/device_vector.h>
#include <thrust/scan.h>

int main()
{
	auto h = numbers(1 << 16, 100);
	thrust::device_vector<uint32_t> in(h), out(h.size()), segments(h.size());
	thrust::device_vector<uint64_t> wide(h.begin(), h.end());
	uint64_t sum = 0;

	thrust::exclusive_scan(in.begin(), in.end(), out.begin());
	thrust::inclusive_scan(wide.begin(), wide.end(), wide.begin());
	thrust::inclusive_scan_by_key(in.begin(), in.end(), in.begin(), segments.begin());
	for (auto v : h)
		sum += v;
	return end(wide.back() == sum && out.back() == sum - h.back());
}
