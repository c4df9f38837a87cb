/*
 * networks.cu - layers of networks, quantised and batched, forwards and backwards.
 */
#include <cuda_fp16.h>

// prove: rms_norm race-free --block-dim=256 --grid-dim=512
// pin: rms_norm d=4096
__global__ void rms_norm(float *out, const float *in, const float *weight, int d)
{
	__shared__ float part[8];
	__shared__ float scale;
	const float *row = in + blockIdx.x * d;
	float sum = 0;
	for (int i = threadIdx.x; i < d; i += blockDim.x)
		sum += row[i] * row[i];
	for (int k = 16; k > 0; k /= 2)
		sum += __shfl_down_sync(~0u, sum, k);
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = sum;
	__syncthreads();
	if (threadIdx.x == 0) {
		for (int w = 1; w < 8; w++)
			sum += part[w];
		scale = rsqrtf(sum / d + 1e-5f);
	}
	__syncthreads();
	for (int i = threadIdx.x; i < d; i += blockDim.x)
		out[blockIdx.x * d + i] = row[i] * scale * weight[i];
}

// prove: group_norm race-free --block-dim=128 --grid-dim=32,8
// pin: group_norm groups=32 size=1024
__global__ void group_norm(float *x, int groups, int size)
{
	__shared__ float s[128], q[128];
	float *mine = x + (blockIdx.y * groups + blockIdx.x) * size, a = 0, b = 0;
	for (int i = threadIdx.x; i < size; i += 128) {
		a += mine[i];
		b += mine[i] * mine[i];
	}
	s[threadIdx.x] = a;
	q[threadIdx.x] = b;
	__syncthreads();
	for (int k = 64; k > 0; k >>= 1) {
		if (threadIdx.x < k) {
			s[threadIdx.x] += s[threadIdx.x + k];
			q[threadIdx.x] += q[threadIdx.x + k];
		}
		__syncthreads();
	}
	float mean = s[0] / size, inv = rsqrtf(q[0] / size - mean * mean + 1e-5f);
	for (int i = threadIdx.x; i < size; i += 128)
		mine[i] = (mine[i] - mean) * inv;
}

// prove: conv_depthwise race-free --block-dim=32,8 --grid-dim=2,7,256
// pin: conv_depthwise channels=32 h=56 w=56
__global__ void conv_depthwise(float *out, const float *in, const float *k, int channels, int h, int w)
{
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, nc = blockIdx.z, c = nc % channels;
	if (x >= w || y >= h)
		return;
	float sum = 0;
	for (int i = -1; i <= 1; i++)
		for (int j = -1; j <= 1; j++)
			if (y + i >= 0 && y + i < h && x + j >= 0 && x + j < w)
				sum += in[(nc * h + y + i) * w + x + j] * k[c * 9 + (i + 1) * 3 + j + 1];
	out[(nc * h + y) * w + x] = sum;
}

// prove: conv_direct race-free --block-dim=16,16 --grid-dim=4,4,64
// pin: conv_direct cin=64 h=56 w=56 filters=64
__global__ void conv_direct(float *out, const float *in, const float *k, int cin, int h, int w, int filters)
{
	__shared__ float s[18][18];
	int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y, f = blockIdx.z;
	float sum = 0;
	for (int c = 0; c < cin; c++) {
		for (int i = threadIdx.y * 16 + threadIdx.x; i < 18 * 18; i += 256) {
			int yy = blockIdx.y * 16 + i / 18 - 1, xx = blockIdx.x * 16 + i % 18 - 1;
			s[i / 18][i % 18] = yy >= 0 && yy < h && xx >= 0 && xx < w ? in[(c * h + yy) * w + xx] : 0;
		}
		__syncthreads();
		for (int i = 0; i < 3; i++)
			for (int j = 0; j < 3; j++)
				sum += s[threadIdx.y + i][threadIdx.x + j] * k[((f * cin + c) * 3 + i) * 3 + j];
		__syncthreads();
	}
	if (x < w && y < h && f < filters)
		out[(f * h + y) * w + x] = sum;
}

// prove: winograd_input race-free --block-dim=64 --grid-dim=49,4
// pin: winograd_input channels=256 tiles=49
__global__ void winograd_input(float *v, const float *in, int channels, int tiles)
{
	int c = blockIdx.y * 64 + threadIdx.x, tile = blockIdx.x, ty = tile / 7, tx = tile % 7;
	float d[4][4];
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < 4; j++)
			d[i][j] = in[((ty * 2 + i) * 16 + tx * 2 + j) * channels + c];
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < 4; j++)
			v[((i * 4 + j) * tiles + tile) * channels + c] = d[i][j] - d[(i + 2) & 3][j];
}

// prove: average_pool race-free --block-dim=256 --grid-dim=196
// pin: average_pool n=50176 ow=28 oh=28
__global__ void average_pool(float *out, const float *in, int n, int ow, int oh)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
		int x = i % ow, y = i / ow % oh, c = i / (ow * oh);
		float sum = 0;
		for (int k = 0; k < 4; k++)
			sum += in[(c * oh * 2 + y * 2 + k / 2) * ow * 2 + x * 2 + k % 2];
		out[i] = sum * 0.25f;
	}
}

// prove: pool_backward race-free --block-dim=256 --grid-dim=196
// pin: pool_backward n=50176 ow=28 oh=28
__global__ void pool_backward(float *din, const float *dout, int n, int ow, int oh)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	int x = i % ow, y = i / ow % oh, c = i / (ow * oh);
	float *to = din + (c * oh * 2 + y * 2) * ow * 2 + x * 2;
	to[0] = to[1] = to[ow * 2] = to[ow * 2 + 1] = dout[i] * 0.25f;
}

// prove: lstm_cell race-free --block-dim=128 --grid-dim=4,64
// pin: lstm_cell hidden=512
__global__ void lstm_cell(float *h, float *c, const float *gates, int hidden)
{
	int j = blockIdx.x * blockDim.x + threadIdx.x, b = blockIdx.y;
	if (j >= hidden)
		return;
	const float *g = gates + b * 4 * hidden;
	float i = 1 / (1 + __expf(-g[j])), f = 1 / (1 + __expf(-g[j + hidden])), o = 1 / (1 + __expf(-g[j + 3 * hidden]));
	float cell = f * c[b * hidden + j] + i * g[j + 2 * hidden];
	c[b * hidden + j] = cell;
	h[b * hidden + j] = o * cell;
}

// prove: quantize_rows race-free --block-dim=128 --grid-dim=256
// pin: quantize_rows cols=1024
__global__ void quantize_rows(signed char *q, float *scales, const float *x, int cols)
{
	__shared__ float s[128];
	int row = blockIdx.x, t = threadIdx.x;
	float most = 0;
	for (int i = t; i < cols; i += 128)
		most = fmaxf(most, fabsf(x[row * cols + i]));
	s[t] = most;
	__syncthreads();
	for (int k = 64; k > 0; k /= 2) {
		if (t < k)
			s[t] = fmaxf(s[t], s[t + k]);
		__syncthreads();
	}
	float scale = s[0] / 127;
	if (t == 0)
		scales[row] = scale;
	for (int i = t; i < cols; i += 128)
		q[row * cols + i] = (signed char)(x[row * cols + i] / scale);
}

// prove: dequantize4 race-free --block-dim=256 --grid-dim=64
// pin: dequantize4 n=16384 group=64
__global__ void dequantize4(__half *out, const unsigned *packed, const __half *scales, int n, int group)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) {
		unsigned w = packed[i];
		__half s = scales[i * 8 / group];
		for (int k = 0; k < 8; k++)
			out[i * 8 + k] = __hmul(__int2half_rn((int)(w >> (4 * k) & 15) - 8), s);
	}
}

// prove: pack4 race-free --block-dim=256 --grid-dim=64
// pin: pack4 n=16384
__global__ void pack4(unsigned char *out, const unsigned char *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		out[i] = (in[2 * i] & 15) | in[2 * i + 1] << 4;
}

// prove: bias_relu race-free --block-dim=64,4 --grid-dim=16,64
// pin: bias_relu rows=256 cols=1000 ld=1024
__global__ void bias_relu(float *x, const float *bias, int rows, int cols, int ld)
{
	int c = blockIdx.x * 64 + threadIdx.x, r = blockIdx.y * 4 + threadIdx.y;
	if (r < rows && c < cols)
		x[(size_t)r * ld + c] = fmaxf(x[(size_t)r * ld + c] + bias[c], 0);
}

// prove: bias_backward race-free --block-dim=32,8 --grid-dim=32
// pin: bias_backward rows=512 cols=1024
__global__ void bias_backward(float *db, const float *dy, int rows, int cols)
{
	__shared__ float s[256];
	int c = blockIdx.x * 32 + threadIdx.x, at = threadIdx.y * 32 + threadIdx.x;
	float sum = 0;
	for (int r = threadIdx.y; r < rows; r += 8)
		sum += dy[r * cols + c];
	s[at] = sum;
	__syncthreads();
	if (threadIdx.y == 0) {
		for (int k = 1; k < 8; k++)
			sum += s[k * 32 + threadIdx.x];
		db[c] += sum;
	}
}

// prove: norm_backward race-free --block-dim=128 --grid-dim=512
// pin: norm_backward n=768
__global__ void norm_backward(float *dx, float *dweight, const float *dy, const float *x, const float *weight, int n)
{
	__shared__ float a[4], b[4];
	int row = blockIdx.x, t = threadIdx.x;
	float p = 0, q = 0;
	for (int i = t; i < n; i += 128) {
		float d = dy[row * n + i] * weight[i];
		p += d;
		q += d * x[row * n + i];
		atomicAdd(&dweight[i], dy[row * n + i] * x[row * n + i]);
	}
	for (int k = 16; k > 0; k /= 2) {
		p += __shfl_xor_sync(~0u, p, k);
		q += __shfl_xor_sync(~0u, q, k);
	}
	if (t % 32 == 0) {
		a[t / 32] = p;
		b[t / 32] = q;
	}
	__syncthreads();
	p = (a[0] + a[1] + a[2] + a[3]) / n;
	q = (b[0] + b[1] + b[2] + b[3]) / n;
	for (int i = t; i < n; i += 128)
		dx[row * n + i] = dy[row * n + i] * weight[i] - p - x[row * n + i] * q;
}

// prove: split_heads race-free --block-dim=64 --grid-dim=128,12,8
// pin: split_heads seq=128 heads=12 dim=64
__global__ void split_heads(float *out, const float *in, int seq, int heads, int dim)
{
	int s = blockIdx.x, h = blockIdx.y, b = blockIdx.z, d = threadIdx.x;
	out[((b * heads + h) * seq + s) * dim + d] = in[((b * seq + s) * heads + h) * dim + d];
}

// prove: cache_append potential --block-dim=64 --grid-dim=12,8
// pin: cache_append heads=12 most=1024
__global__ void cache_append(float *cache, const float *k, const int *lengths, int heads, int most)
{
	int h = blockIdx.x, b = blockIdx.y, d = threadIdx.x;
	cache[((size_t)(b * heads + h) * most + lengths[b]) * 64 + d] = k[(b * heads + h) * 64 + d];
}

// prove: cache_append_checked race-free --block-dim=64 --grid-dim=12,8
// pin: cache_append_checked heads=12 most=1024
__global__ void cache_append_checked(float *cache, const float *k, const int *lengths, int heads, int most)
{
	int h = blockIdx.x, b = blockIdx.y, d = threadIdx.x, at = lengths[b];
	if (at >= 0 && at < most)
		cache[((size_t)(b * heads + h) * most + at) * 64 + d] = k[(b * heads + h) * 64 + d];
}

// prove: top_two race-free --block-dim=256 --grid-dim=128
// pin: top_two experts=64 tokens=32768
__global__ void top_two(int *which, float *gate, const float *logits, int experts, int tokens)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= tokens)
		return;
	int a = 0, b = -1;
	for (int e = 1; e < experts; e++) {
		float v = logits[i * experts + e];
		if (v > logits[i * experts + a]) {
			b = a;
			a = e;
		} else if (b < 0 || v > logits[i * experts + b]) {
			b = e;
		}
	}
	which[i * 2] = a;
	which[i * 2 + 1] = b;
	gate[i * 2] = logits[i * experts + a];
	gate[i * 2 + 1] = 1 - gate[i * 2];
}

// prove: expert_count race-free --block-dim=256 --grid-dim=32
// pin: expert_count n=8192
__global__ void expert_count(int *counts, const int *which, int n)
{
	__shared__ int s[64];
	if (threadIdx.x < 64)
		s[threadIdx.x] = 0;
	__syncthreads();
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		atomicAdd(&s[which[i] & 63], 1);
	__syncthreads();
	if (threadIdx.x < 64 && s[threadIdx.x])
		atomicAdd(&counts[threadIdx.x], s[threadIdx.x]);
}

// prove: cumulative_rows race-free --block-dim=128 --grid-dim=64
// pin: cumulative_rows cols=1000
__global__ void cumulative_rows(float *out, const float *in, int cols)
{
	__shared__ float s[128];
	float carry = 0;
	int t = threadIdx.x;
	for (int c = 0; c < cols; c += 128) {
		s[t] = c + t < cols ? in[blockIdx.x * cols + c + t] : 0;
		__syncthreads();
		for (int k = 1; k < 128; k *= 2) {
			float v = t >= k ? s[t - k] : 0;
			__syncthreads();
			s[t] += v;
			__syncthreads();
		}
		if (c + t < cols)
			out[blockIdx.x * cols + c + t] = s[t] + carry;
		carry += s[127];
		__syncthreads();
	}
}

// prove: upsample race-free --block-dim=256 --grid-dim=128
// pin: upsample n=32768 w=64 h=64
__global__ void upsample(float *out, const float *in, int n, int w, int h)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) {
		int x = i % (2 * w), y = i / (2 * w) % (2 * h), c = i / (4 * w * h);
		out[i] = in[(c * h + y / 2) * w + x / 2];
	}
}

// prove: pixel_shuffle race-free --block-dim=256 --grid-dim=256
// pin: pixel_shuffle c=4 h=64 w=64 r=2
__global__ void pixel_shuffle(float *out, const float *in, int c, int h, int w, int r)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= c * r * r * h * w)
		return;
	int x = i % w, y = i / w % h, k = i / (w * h) % (r * r), ch = i / (w * h * r * r);
	out[((ch * h + y) * r + k / r) * w * r + x * r + k % r] = in[i];
}

// prove: roi_align race-free --block-dim=49 --grid-dim=256,100
// pin: roi_align channels=256 h=50 w=50
__global__ void roi_align(float *out, const float *in, const float4 *rois, int channels, int h, int w)
{
	int bin = threadIdx.x, c = blockIdx.x, roi = blockIdx.y;
	float4 r = rois[roi];
	int x = min(max((int)(r.x + (bin % 7) * r.z), 0), w - 1), y = min(max((int)(r.y + (bin / 7) * r.w), 0), h - 1);
	out[(roi * channels + c) * 49 + bin] = in[(c * h + y) * w + x];
}

// prove: suppress_mask race-free --block-dim=64 --grid-dim=16,16
// pin: suppress_mask n=1000
__global__ void suppress_mask(unsigned long long *mask, const float4 *boxes, int n, float limit)
{
	__shared__ float4 s[64];
	int row = blockIdx.y, col = blockIdx.x, t = threadIdx.x;
	int rows = min(n - row * 64, 64), cols = min(n - col * 64, 64);
	if (t < cols)
		s[t] = boxes[col * 64 + t];
	__syncthreads();
	if (t < rows) {
		float4 me = boxes[row * 64 + t];
		unsigned long long bits = 0;
		for (int i = row == col ? t + 1 : 0; i < cols; i++)
			if (fminf(me.z, s[i].z) - fmaxf(me.x, s[i].x) > limit)
				bits |= 1ULL << i;
		mask[(row * 64 + t) * 16 + col] = bits;
	}
}

// prove: sgd_momentum race-free --block-dim=256
// pin: sgd_momentum n=100000
__global__ void sgd_momentum(float *w, float *m, const float *g, int n, float lr, float mu)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
		m[i] = mu * m[i] + g[i];
		w[i] -= lr * m[i];
	}
}

// prove: scatter_add race-free --block-dim=64,4 --grid-dim=256
// pin: scatter_add n=1000 d=64
__global__ void scatter_add(float *out, const float *src, const int *index, int n, int d)
{
	int i = blockIdx.x * 4 + threadIdx.y;
	if (i < n && threadIdx.x < d)
		atomicAdd(&out[index[i] * d + threadIdx.x], src[i * d + threadIdx.x]);
}

// prove: attention_scores race-free --block-dim=16,16 --grid-dim=8,8,96
// pin: attention_scores seq=128 dim=64
__global__ void attention_scores(float *out, const float *q, const float *k, int seq, int dim, float scale)
{
	__shared__ float a[16][17], b[16][17];
	int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
	q += blockIdx.z * seq * dim;
	k += blockIdx.z * seq * dim;
	float sum = 0;
	for (int d = 0; d < dim; d += 16) {
		a[threadIdx.y][threadIdx.x] = q[row * dim + d + threadIdx.x];
		b[threadIdx.y][threadIdx.x] = k[(blockIdx.x * 16 + threadIdx.y) * dim + d + threadIdx.x];
		__syncthreads();
		for (int i = 0; i < 16; i++)
			sum += a[threadIdx.y][i] * b[threadIdx.x][i];
		__syncthreads();
	}
	out[(blockIdx.z * seq + row) * seq + col] = col <= row ? sum * scale : -1e30f;
}

// prove: decode_attention race-free --block-dim=128 --grid-dim=96
// pin: decode_attention len=512
__global__ void decode_attention(float *out, const float *q, const float *k, const float *v, int len)
{
	extern __shared__ float score[];
	__shared__ float total;
	int t = threadIdx.x;
	q += blockIdx.x * 128;
	k += (size_t)blockIdx.x * len * 128;
	v += (size_t)blockIdx.x * len * 128;
	for (int i = t; i < len; i += 128) {
		float s = 0;
		for (int d = 0; d < 128; d++)
			s += q[d] * k[i * 128 + d];
		score[i] = __expf(s);
	}
	__syncthreads();
	if (t == 0) {
		float s = 0;
		for (int i = 0; i < len; i++)
			s += score[i];
		total = s;
	}
	__syncthreads();
	float acc = 0;
	for (int i = 0; i < len; i++)
		acc += score[i] * v[i * 128 + t];
	out[blockIdx.x * 128 + t] = acc / total;
}
