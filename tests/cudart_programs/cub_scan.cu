/* The toolkit's device-wide scans, reductions, selections, histograms and runs, several tiles each. */
#include <algorithm>
#include <cstdint>
#include <numeric>

#include "cub.h"

struct is_odd {
	__host__ __device__ bool operator()(int x) const
	{
		return x & 1;
	}
};

/* 16 bytes, not commutative: the maps x -> a x + b, one after the other. */
struct map {
	uint64_t a, b;
};
struct compose {
	__host__ __device__ map operator()(const map &f, const map &g) const
	{
		return {f.a * g.a, f.b * g.a + g.b};
	}
};

static const int N = 20011;

static void scans(const std::vector<int> &v, int *in, int *out)
{
	std::vector<int> e(N);
	std::vector<map> m(N), r(N);

	twice([&](void *t, size_t &b) { return cub::DeviceScan::InclusiveSum(t, b, in, out, N); });
	std::partial_sum(v.begin(), v.end(), e.begin());
	THAT(download(out, N) == e);
	twice([&](void *t, size_t &b) { return cub::DeviceScan::ExclusiveSum(t, b, in, out, N); });
	e.insert(e.begin(), 0);
	e.pop_back();
	THAT(download(out, N) == e);
	for (int i = 0; i < N; i++)
		m[i] = {(uint64_t)i * 2 + 1, (uint64_t)v[i]};
	map *mi = upload(m), *mo = upload(m);
	twice([&](void *t, size_t &b) {
		return cub::DeviceScan::InclusiveScan(t, b, mi, mo, compose(), N);
	});
	r = download(mo, N);
	for (int i = 1; i < N; i++)
		m[i] = compose()(m[i - 1], m[i]);
	for (int i = 0; i < N; i++)
		THAT(r[i].a == m[i].a && r[i].b == m[i].b);
}

static void reductions(const std::vector<int> &v, int *in)
{
	std::vector<long long> sum(1);
	std::vector<int> m(1), s(3), at = {0, 1, 5000, N};
	long long *dsum = upload(sum);
	int *dmax = upload(m), *off = upload(at), *dsub = upload(s);

	twice([&](void *t, size_t &b) { return cub::DeviceReduce::Sum(t, b, in, dsum, N); });
	THAT(download(dsum, 1)[0] == std::accumulate(v.begin(), v.end(), 0ll));
	twice([&](void *t, size_t &b) { return cub::DeviceReduce::Max(t, b, in, dmax, N); });
	THAT(download(dmax, 1)[0] == *std::max_element(v.begin(), v.end()));
	twice([&](void *t, size_t &b) {
		return cub::DeviceSegmentedReduce::Sum(t, b, in, dsub, 3, off, off + 1);
	});
	s = download(dsub, 3);
	for (int i = 0; i < 3; i++)
		THAT(s[i] == std::accumulate(v.begin() + at[i], v.begin() + at[i + 1], 0));
}

static void selections(const std::vector<int> &v, int *in, int *out)
{
	std::vector<int> e, n1(1);
	int *n = upload(n1);

	twice([&](void *t, size_t &b) {
		return cub::DeviceSelect::If(t, b, in, out, n, N, is_odd());
	});
	for (int x : v)
		if (x & 1)
			e.push_back(x);
	THAT(download(n, 1)[0] == (int)e.size());
	THAT(download(out, e.size()) == e);
	twice([&](void *t, size_t &b) {
		return cub::DevicePartition::If(t, b, in, out, n, N, is_odd());
	});
	THAT(download(n, 1)[0] == (int)e.size());
	THAT(download(out, e.size()) == e);
	twice([&](void *t, size_t &b) { return cub::DeviceSelect::Unique(t, b, in, out, n, N); });
	e = v;
	e.erase(std::unique(e.begin(), e.end()), e.end());
	THAT(download(n, 1)[0] == (int)e.size());
	THAT(download(out, e.size()) == e);
}

static void runs(const std::vector<int> &v, int *in, int *out)
{
	std::vector<int> key, len, n1(1);
	int *n = upload(n1), *lens = upload(v);

	twice([&](void *t, size_t &b) {
		return cub::DeviceRunLengthEncode::Encode(t, b, in, out, lens, n, N);
	});
	for (int x : v)
		if (!key.empty() && key.back() == x) {
			len.back()++;
		} else {
			key.push_back(x);
			len.push_back(1);
		}
	THAT(download(n, 1)[0] == (int)key.size());
	THAT(download(out, key.size()) == key && download(lens, key.size()) == len);
	twice([&](void *t, size_t &b) {
		return cub::DeviceReduce::ReduceByKey(t, b, in, out, in, lens, n,
						      cuda::std::plus<>(), N);
	});
	for (size_t i = 0; i < key.size(); i++)
		len[i] *= key[i];
	THAT(download(out, key.size()) == key && download(lens, key.size()) == len);
}

static void histograms(const std::vector<int> &v, int *in)
{
	std::vector<int> bins(10), e(10);
	int *d = upload(bins);

	twice([&](void *t, size_t &b) {
		return cub::DeviceHistogram::HistogramEven(t, b, in, d, 11, 0, 100, N);
	});
	for (int x : v)
		if (x >= 0 && x < 100)
			e[x / 10]++;
	THAT(download(d, 10) == e);
}

int main()
{
	std::vector<int> v(N);
	uint32_t s = 7;

	for (auto &x : v) {
		s = s * 1664525u + 1013904223u;
		x = &x != &v[0] && (s >> 30) ? (&x)[-1] : (int)(s >> 12 & 127) - 5;
	}
	int *in = upload(v), *out = upload(v);
	scans(v, in, out);
	reductions(v, in);
	selections(v, in, out);
	runs(v, in, out);
	histograms(v, in);
	puts("ok");
}
