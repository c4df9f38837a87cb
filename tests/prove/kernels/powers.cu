// powers.cu - strides that are assumed to be powers of two: proven by cases; each with what takes the proof away.
#define REQUIRES_POWER(s) __requires((s & (s - 1)) == 0)

#define BUTTERFLY(s)                                                                                           \
	int pos = blockIdx.x * blockDim.x + threadIdx.x, lo = pos & (s - 1), i = ((pos - lo) << 1) + lo;       \
	float a = in[i], b = in[i + s];                                                                        \
	out[i] = a + b;                                                                                        \
	out[i + s] = a - b;

// prove: butterfly race-free --block-dim=256 --grid-dim=16
__global__ void butterfly(float *out, const float *in, int stride)
{
	REQUIRES_POWER(stride);
	__requires(stride > 0 && stride <= 1 << 20);
	BUTTERFLY(stride)
}
// prove: butterfly_any true --block-dim=256 --grid-dim=16
__global__ void butterfly_any(float *out, const float *in, int stride)
{
	__requires(stride > 0 && stride <= 1 << 20);
	BUTTERFLY(stride)
}
// prove: butterfly_half true --block-dim=256 --grid-dim=16
__global__ void butterfly_half(float *out, const float *in, int stride)
{
	REQUIRES_POWER(stride);
	__requires(stride > 0 && stride <= 1 << 20);
	int pos = blockIdx.x * blockDim.x + threadIdx.x, lo = pos & (stride - 1), i = pos - lo + lo;
	out[i] = in[i] + in[i + stride];
	out[i + stride] = in[i] - in[i + stride];
}
// One case of twenty races.
// prove: butterfly_one_case true --block-dim=256 --grid-dim=16
__global__ void butterfly_one_case(float *out, const float *in, unsigned stride)
{
	REQUIRES_POWER(stride);
	__requires(stride > 0 && stride <= 1 << 20);
	unsigned pos = blockIdx.x * blockDim.x + threadIdx.x, lo = pos & (stride - 1);
	out[stride == 64 ? pos / 2 : ((pos - lo) << 1) + lo] = in[pos];
}
// prove: power_rows race-free --block-dim=64 --grid-dim=4
__global__ void power_rows(float *out, unsigned n)
{
	REQUIRES_POWER(n);
	__requires(n >= 1 && n <= 65536);
	out[(blockIdx.x * blockDim.x + threadIdx.x) * n] = 1;
}
// 0 passes the test, too.
// prove: power_or_zero true --block-dim=64 --grid-dim=4
__global__ void power_or_zero(float *out, unsigned n)
{
	REQUIRES_POWER(n);
	__requires(n <= 65536);
	out[(blockIdx.x * blockDim.x + threadIdx.x) * n] = 1;
}
// A size that is a parameter's power of two: each of twelve is proven by itself.
#define SHIFTED_ROWS(by)                                                                                       \
	__requires(log2n >= 1 && log2n <= 12);                                                                 \
	for (int p = threadIdx.x; p < 1 << log2n; p += blockDim.x)                                             \
		out[(blockIdx.x << (by)) + p] = p;

// prove: shifted_rows race-free --block-dim=64 --grid-dim=16
__global__ void shifted_rows(float *out, int log2n)
{
	SHIFTED_ROWS(log2n)
}
// One of twelve races.
// prove: shifted_rows_one_case true --block-dim=64 --grid-dim=16
__global__ void shifted_rows_one_case(float *out, int log2n)
{
	SHIFTED_ROWS(log2n == 7 ? 6 : log2n)
}
