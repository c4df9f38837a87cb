// streaming.cu - every width that a plain access has, read and written by one thread each.
//
// 1, 2, 4, 8 and 16 bytes, aligned vectors, read-only loads of memory that nothing writes.
// expect: nothing
// small: 1 256

#include "racefree.h"

static int count = 1 << 22; /* set by main */

template <typename T, typename V>
__global__ void triad(const T *__restrict__ a, const T *b, T *c, V scale, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		c[i] = (T)(a[i] * scale + b[i]);
}

__global__ void triad4(const uint4 *a, const uint4 *__restrict__ b, uint4 *c, unsigned s, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		uint4 p = a[i], q = b[i];

		c[i] = make_uint4(p.x * s + q.x, p.y * s + q.y, p.z * s + q.z, p.w * s + q.w);
	}
}

__global__ void rotate2(ushort2 *a, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		ushort2 v = a[i];

		a[i] = make_ushort2(v.y, v.x);
	}
}

template <typename T> static bool run(int loops, uint64_t *sum)
{
	std::vector<T> a(count), b(count), want(count), got;
	uint32_t seed = sizeof(T);

	for (size_t i = 0; i < count; i++) {
		a[i] = (T)(example_random(&seed) % 100);
		b[i] = (T)(example_random(&seed) % 100);
		want[i] = (T)(a[i] * 3 + b[i]);
	}
	T *d_a = example_upload(a), *d_b = example_upload(b), *d_c = example_upload(a);
	for (int k = 0; k < loops; k++)
		RUN(triad<T, T><<<264, 256>>>(d_a, d_b, d_c, (T)3, count));
	got = example_download(d_c, count);
	*sum = racefree_mix(*sum, example_checksum(got));
	CHECK(cudaFree(d_a));
	CHECK(cudaFree(d_b));
	CHECK(cudaFree(d_c));
	return got == want;
}

static bool run_vectors(int loops, uint64_t *sum)
{
	std::vector<unsigned> a(count), b(count), want(count), got;
	uint32_t seed = 77;

	for (size_t i = 0; i < count; i++) {
		a[i] = example_random(&seed);
		b[i] = example_random(&seed);
		want[i] = a[i] * 5 + b[i];
	}
	unsigned *d_a = example_upload(a), *d_b = example_upload(b), *d_c = example_upload(a);
	for (int k = 0; k < loops; k++) {
		RUN(triad4<<<264, 256>>>((uint4 *)d_a, (uint4 *)d_b, (uint4 *)d_c, 5, count / 4));
		RUN(rotate2<<<264, 256>>>((ushort2 *)d_c, count));
		RUN(rotate2<<<264, 256>>>((ushort2 *)d_c, count));
	}
	got = example_download(d_c, count);
	*sum = racefree_mix(*sum, example_checksum(got));
	CHECK(cudaFree(d_a));
	CHECK(cudaFree(d_b));
	CHECK(cudaFree(d_c));
	return got == want;
}

int main(int argc, char **argv)
{
	int loops = racefree_loops(argc, argv, 8);
	count = racefree_part(argc, argv, count);
	uint64_t sum = 0;
	bool is_right = run<unsigned char>(loops, &sum);

	is_right = run<unsigned short>(loops, &sum) && is_right;
	is_right = run<float>(loops, &sum) && is_right;
	is_right = run<double>(loops, &sum) && is_right;
	is_right = run_vectors(loops, &sum) && is_right;
	return example_finish(is_right, sum);
}
