/* Thrust: sort, scan, reduce, transform, unique, sets, searches, against the same on the host. */
#include <algorithm>
#include <numeric>
#include <vector>

#include <thrust/binary_search.h>
#include <thrust/device_vector.h>
#include <thrust/inner_product.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/merge.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/set_operations.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>
#include <thrust/unique.h>

#include "expect.h"

struct square {
	__host__ __device__ long long operator()(int x) const
	{
		return (long long)x * x;
	}
};
struct far_first { /* no radix sort for this order: a merge sort */
	__host__ __device__ bool operator()(int a, int b) const
	{
		return a % 100 > b % 100;
	}
};

template <class D, class T> static bool same(const D &d, const std::vector<T> &h)
{
	std::vector<T> v(d.size());

	thrust::copy(d.begin(), d.end(), v.begin());
	return v == h;
}

typedef thrust::device_vector<int> dvec;

static void sets(std::vector<int> a, std::vector<int> b)
{
	std::sort(a.begin(), a.end());
	std::sort(b.begin(), b.end());
	dvec x(a.begin(), a.end()), y(b.begin(), b.end()), r(a.size() + b.size());
	std::vector<int> e(r.size());

#define SET(op)                                                                                    \
	do {                                                                                       \
		e.resize(a.size() + b.size());                                                     \
		r.resize(e.size());                                                                \
		e.erase(std::op(a.begin(), a.end(), b.begin(), b.end(), e.begin()), e.end());      \
		r.erase(thrust::op(x.begin(), x.end(), y.begin(), y.end(), r.begin()), r.end());   \
		THAT(same(r, e));                                                                  \
	} while (0)
	SET(set_union);
	SET(set_intersection);
	SET(set_difference);
	SET(merge);
	thrust::device_vector<unsigned> at(b.size());
	thrust::lower_bound(x.begin(), x.end(), y.begin(), y.end(), at.begin());
	std::vector<unsigned> f(b.size());
	for (size_t i = 0; i < b.size(); i++)
		f[i] = (unsigned)(std::lower_bound(a.begin(), a.end(), b[i]) - a.begin());
	THAT(same(at, f));
}

int main()
{
	const int n = 6007;
	std::vector<int> v(n), w(n / 2), e;
	unsigned s = 3;

	for (auto &x : v)
		x = (int)((s = s * 1664525u + 1013904223u) >> 18);
	for (auto &x : w)
		x = (int)((s = s * 1664525u + 1013904223u) >> 18);
	dvec d(v.begin(), v.end()), r(n), idx(n);
	thrust::device_vector<long long> q(n);

	THAT(thrust::reduce(d.begin(), d.end(), 0ll) == std::accumulate(v.begin(), v.end(), 0ll));
	long long sq = 0;
	for (int x : v)
		sq += square()(x);
	THAT(thrust::transform_reduce(d.begin(), d.end(), square(), 0ll, cuda::std::plus<>()) ==
	     sq);
	THAT(thrust::inner_product(d.begin(), d.end(), d.begin(), 0ll) ==
	     std::inner_product(v.begin(), v.end(), v.begin(), 0ll));
	thrust::transform(d.begin(), d.end(), q.begin(), square());
	THAT((long long)q[n - 1] == square()(v[n - 1]));
	thrust::exclusive_scan(d.begin(), d.end(), r.begin(), 5);
	e.resize(n);
	for (int i = 0, sum = 5; i < n; sum += v[i++])
		e[i] = sum;
	THAT(same(r, e));

	r = d;
	thrust::sequence(idx.begin(), idx.end());
	thrust::sort_by_key(r.begin(), r.end(), idx.begin());
	e = v;
	std::sort(e.begin(), e.end());
	THAT(same(r, e));
	r.erase(thrust::unique(r.begin(), r.end()), r.end());
	e.erase(std::unique(e.begin(), e.end()), e.end());
	THAT(same(r, e));
	r = d;
	thrust::stable_sort(r.begin(), r.end(), far_first());
	e = v;
	std::stable_sort(e.begin(), e.end(), far_first());
	THAT(same(r, e));
	THAT(thrust::max_element(d.begin(), d.end()) - d.begin() ==
	     std::max_element(v.begin(), v.end()) - v.begin());
	sets(v, w);
	puts("ok");
}
