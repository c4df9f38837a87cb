/* The toolkit's device-wide sorts: one tile, several (onesweep), pairs, descending, merge, segmented. */
#include <algorithm>
#include <cstdint>

#include "cub.h"

static uint32_t random_word()
{
	static uint32_t s = 1;

	s = s * 1664525u + 1013904223u;
	return s >> 8;
}

struct less {
	template <class T> __host__ __device__ bool operator()(const T &a, const T &b) const
	{
		return a < b;
	}
};

template <class T> static std::vector<T> numbers(int n)
{
	std::vector<T> v(n);

	for (auto &x : v)
		x = (T)(random_word() % 50000) - (T)(std::is_signed<T>::value ? 25000 : 0);
	return v;
}

template <class T> static void keys(int n)
{
	std::vector<T> v = numbers<T>(n);
	T *in = upload(v), *out = upload(v);

	twice([&](void *t, size_t &b) { return cub::DeviceRadixSort::SortKeys(t, b, in, out, n); });
	std::sort(v.begin(), v.end());
	THAT(download(out, n) == v);
	OK(cudaFree(in));
	OK(cudaFree(out));
}

static void pairs(int n)
{
	std::vector<uint32_t> k = numbers<uint32_t>(n);
	std::vector<int> v(n), o(n);

	for (int i = 0; i < n; i++)
		v[i] = o[i] = i;
	uint32_t *kin = upload(k), *kout = upload(k);
	int *vin = upload(v), *vout = upload(v);
	twice([&](void *t, size_t &b) {
		return cub::DeviceRadixSort::SortPairsDescending(t, b, kin, kout, vin, vout, n);
	});
	std::stable_sort(o.begin(), o.end(), [&](int a, int b) { return k[a] > k[b]; });
	THAT(download(vout, n) == o);
	twice([&](void *t, size_t &b) {
		return cub::DeviceMergeSort::StableSortPairs(t, b, kin, vin, n, less());
	});
	for (int i = 0; i < n; i++)
		o[i] = i;
	std::stable_sort(o.begin(), o.end(), [&](int a, int b) { return k[a] < k[b]; });
	THAT(download(vin, n) == o);
	std::sort(k.begin(), k.end());
	THAT(download(kin, n) == k);
}

static void segments()
{
	std::vector<int> v = numbers<int>(1500), at = {0, 0, 3, 40, 700, 1500};
	int *in = upload(v), *out = upload(v), *off = upload(at), n = (int)at.size() - 1;

	twice([&](void *t, size_t &b) {
		return cub::DeviceSegmentedSort::SortKeys(t, b, in, out, 1500, n, off, off + 1);
	});
	for (int i = 0; i < n; i++)
		std::sort(v.begin() + at[i], v.begin() + at[i + 1]);
	THAT(download(out, v.size()) == v);
}

int main()
{
	keys<uint32_t>(1000);
	keys<int>(12001);
	keys<float>(1);
	keys<double>(3000);
	keys<unsigned char>(2000);
	pairs(9000);
	segments();
	puts("ok");
}
