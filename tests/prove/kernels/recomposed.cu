// Indices that are taken apart by parameters, x % m and x / m, and put together again; and twins of
// which a digit is missing, or a row is too short.

// prove: turned race-free --block-dim=64 --grid-dim=32
__global__ void turned(float *out, int m, int n)
{
	__requires(m >= 1 && n >= 1 && (long)m * n <= 2147483647);
	int t = blockIdx.x * blockDim.x + threadIdx.x, i = t % m, j = t / m;
	if (j < n)
		out[i * n + j] = t;
}

// The guard lets one column more in than a row has.
// prove: turned_short true --block-dim=64 --grid-dim=32
__global__ void turned_short(float *out, int m, int n)
{
	__requires(m >= 1 && n >= 1 && (long)m * n <= 2147483647);
	int t = blockIdx.x * blockDim.x + threadIdx.x, i = t % m, j = t / m;
	if (j <= n)
		out[i * n + j] = t;
}

// Three digits, the last by a product.
// prove: planes_of race-free --block-dim=64 --grid-dim=32
__global__ void planes_of(float *out, unsigned w, unsigned h)
{
	__requires(w >= 1 && h >= 1 && w <= 1000 && h <= 1000);
	unsigned t = blockIdx.x * 64 + threadIdx.x, x = t % w, y = t / w % h, z = t / (w * h);
	out[(z * h + y) * w + x] = t;
}

// The last digit is by another number than the others say.
// prove: planes_off true --block-dim=64 --grid-dim=32
__global__ void planes_off(float *out, unsigned w, unsigned h)
{
	__requires(w >= 1 && h >= 1 && w <= 1000 && h <= 1000);
	unsigned t = blockIdx.x * 64 + threadIdx.x, x = t % w, y = t / w % h, z = t / (w * h + 1);
	out[(z * h + y) * w + x] = t;
}

// Two rows and two columns of each.
// prove: pooled race-free --block-dim=64 --grid-dim=32
__global__ void pooled(float *out, int ow, int oh)
{
	__requires(ow >= 1 && oh >= 1 && ow <= 30000 && oh <= 30000);
	int i = blockIdx.x * 64 + threadIdx.x, x = i % ow, y = i / ow % oh, c = i / (ow * oh);
	float *to = out + (c * oh * 2 + y * 2) * ow * 2 + x * 2;
	to[0] = to[1] = to[ow * 2] = to[ow * 2 + 1] = i;
}

// prove: pooled_wide true --block-dim=64 --grid-dim=32
__global__ void pooled_wide(float *out, int ow, int oh)
{
	__requires(ow >= 1 && oh >= 1 && ow <= 30000 && oh <= 30000);
	int i = blockIdx.x * 64 + threadIdx.x, x = i % ow, y = i / ow % oh, c = i / (ow * oh);
	float *to = out + (c * oh * 2 + y * 2) * ow * 2 + x * 2;
	to[0] = to[1] = to[ow * 2] = to[ow * 2 + 2] = i;
}
