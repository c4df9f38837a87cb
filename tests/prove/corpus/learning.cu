/*
 * learning.cu - layers, losses, optimisers and attention.
 */
#include <mma.h>
#include <cuda_fp16.h>
using namespace nvcuda;

// prove: softmax race-free --block-dim=256 --grid-dim=1024
// pin: softmax d=1000
__global__ void softmax(float *out, const float *in, int d)
{
	__shared__ float s[8];
	const float *x = in + (size_t)blockIdx.x * d;
	float *y = out + (size_t)blockIdx.x * d, m = -1e30f, sum = 0;
	for (int i = threadIdx.x; i < d; i += 256)
		m = fmaxf(m, x[i]);
	for (int k = 16; k; k /= 2)
		m = fmaxf(m, __shfl_xor_sync(~0u, m, k));
	if (threadIdx.x % 32 == 0)
		s[threadIdx.x / 32] = m;
	__syncthreads();
	for (int k = 0; k < 8; k++)
		m = fmaxf(m, s[k]);
	__syncthreads();
	for (int i = threadIdx.x; i < d; i += 256) {
		y[i] = __expf(x[i] - m);
		sum += y[i];
	}
	for (int k = 16; k; k /= 2)
		sum += __shfl_xor_sync(~0u, sum, k);
	if (threadIdx.x % 32 == 0)
		s[threadIdx.x / 32] = sum;
	__syncthreads();
	sum = 0;
	for (int k = 0; k < 8; k++)
		sum += s[k];
	for (int i = threadIdx.x; i < d; i += 256)
		y[i] /= sum;
}

// prove: layer_norm race-free --block-dim=32,4 --grid-dim=256
// pin: layer_norm rows=1024 d=768
__global__ void layer_norm(float *out, float *mean, const float *in, const float *g, const float *b, int rows, int d)
{
	int row = blockIdx.x * 4 + threadIdx.y;
	if (row >= rows)
		return;
	const float *x = in + (size_t)row * d;
	float s = 0, q = 0;
	for (int i = threadIdx.x; i < d; i += 32) {
		s += x[i];
		q += x[i] * x[i];
	}
	for (int k = 16; k; k >>= 1) {
		s += __shfl_xor_sync(~0u, s, k);
		q += __shfl_xor_sync(~0u, q, k);
	}
	float m = s / d, r = rsqrtf(q / d - m * m + 1e-5f);
	for (int i = threadIdx.x; i < d; i += 32)
		out[(size_t)row * d + i] = (x[i] - m) * r * g[i] + b[i];
	if (threadIdx.x == 0)
		mean[row] = m;
}

// prove: gelu race-free --block-dim=256 --grid-dim=4096
// pin: gelu n=1000000
__global__ void gelu(float *y, const float *x, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
		y[i] = 0.5f * x[i] * (1 + tanhf(0.79788f * (x[i] + 0.044715f * x[i] * x[i] * x[i])));
}

// prove: gelu_half2 race-free --block-dim=256 --grid-dim=4096
// pin: gelu_half2 n=1000000
__global__ void gelu_half2(__half2 *y, const __half2 *x, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) {
		float2 v = __half22float2(x[i]);
		v.x *= normcdff(v.x);
		v.y *= normcdff(v.y);
		y[i] = __float22half2_rn(v);
	}
}

struct Tensors {
	float *p[4], *g[4], *m[4];
	int n[4];
};

// prove: adam_lists race-free --block-dim=256 --grid-dim=64,4
__global__ void adam_lists(Tensors t, float lr, float b1, int chunk)
{
	int k = blockIdx.y, n = t.n[k];
	float *p = t.p[k], *g = t.g[k], *m = t.m[k];
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		m[i] = b1 * m[i] + (1 - b1) * g[i];
		p[i] -= lr * m[i];
	}
}

struct Chunks {
	void *address[2][110];
	int sizes[110];
	unsigned char block_to_tensor[320];
	int block_to_chunk[320];
};

// Right where no two blocks have one chunk, which nothing says here.
// prove: scale_chunks potential --block-dim=512 --grid-dim=320
// pin: scale_chunks chunk=65536
__global__ void scale_chunks(Chunks tl, int chunk, float scale, int *noop)
{
	int tensor = tl.block_to_tensor[blockIdx.x], idx = tl.block_to_chunk[blockIdx.x], n = tl.sizes[tensor];
	float *in = (float *)tl.address[0][tensor] + idx * chunk;
	float *out = (float *)tl.address[1][tensor] + idx * chunk;
	n -= idx * chunk;
	for (int i0 = 0; i0 < n && i0 < chunk; i0 += blockDim.x)
		if (i0 + threadIdx.x < n && i0 + threadIdx.x < chunk)
			out[i0 + threadIdx.x] = in[i0 + threadIdx.x] * scale;
}

// prove: embedding race-free --block-dim=128 --grid-dim=512
// pin: embedding d=768
__global__ void embedding(float *out, const float *table, const int *ids, int d)
{
	int row = blockIdx.x, id = ids[row];
	for (int i = threadIdx.x; i < d; i += blockDim.x)
		out[row * d + i] = table[(size_t)id * d + i];
}

// prove: embedding_grad race-free --block-dim=128 --grid-dim=512
// pin: embedding_grad d=768
__global__ void embedding_grad(float *grad, const float *out, const int *ids, int d)
{
	int row = blockIdx.x, id = ids[row];
	for (int i = threadIdx.x; i < d; i += blockDim.x)
		atomicAdd(&grad[(size_t)id * d + i], out[row * d + i]);
}

// prove: rope race-free --block-dim=64 --grid-dim=128,16
// pin: rope heads=16 dim=128
__global__ void rope(float *q, const float *cs, const float *sn, int heads, int dim)
{
	int token = blockIdx.x, head = blockIdx.y, half = dim / 2;
	float *v = q + (token * heads + head) * dim;
	for (int i = threadIdx.x; i < half; i += blockDim.x) {
		float c = cs[token * half + i], s = sn[token * half + i], a = v[i], b = v[i + half];
		v[i] = a * c - b * s;
		v[i + half] = a * s + b * c;
	}
}

// prove: matmul_tiled race-free --block-dim=32,32 --grid-dim=20,10
// pin: matmul_tiled wa=320 wb=640
__global__ void matmul_tiled(float *c, const float *a, const float *b, int wa, int wb)
{
	int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
	int a_begin = wa * 32 * by, a_end = a_begin + wa - 1, b_begin = 32 * bx, b_step = 32 * wb;
	float sum = 0;
	for (int i = a_begin, j = b_begin; i <= a_end; i += 32, j += b_step) {
		__shared__ float as[32][32], bs[32][32];
		as[ty][tx] = a[i + wa * ty + tx];
		bs[ty][tx] = b[j + wb * ty + tx];
		__syncthreads();
#pragma unroll
		for (int k = 0; k < 32; k++)
			sum += as[ty][k] * bs[k][tx];
		__syncthreads();
	}
	c[wb * 32 * by + 32 * bx + wb * ty + tx] = sum;
}

// prove: matmul_guarded race-free --block-dim=16,16 --grid-dim=63,63
// pin: matmul_guarded m=1000 n=1000 k=1000
__global__ void matmul_guarded(float *c, const float *a, const float *b, int m, int n, int k)
{
	__shared__ float as[16][16], bs[16][17];
	int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
	float sum = 0;
	for (int t = 0; t < (k + 15) / 16; t++) {
		as[threadIdx.y][threadIdx.x] = row < m && t * 16 + threadIdx.x < k ? a[row * k + t * 16 + threadIdx.x] : 0;
		bs[threadIdx.y][threadIdx.x] = col < n && t * 16 + threadIdx.y < k ? b[(t * 16 + threadIdx.y) * n + col] : 0;
		__syncthreads();
		for (int i = 0; i < 16; i++)
			sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
		__syncthreads();
	}
	if (row < m && col < n)
		c[row * n + col] = sum;
}

// prove: matmul_registers race-free --block-dim=256 --grid-dim=8,8
// pin: matmul_registers n=1024 k=1024
__global__ void matmul_registers(float *c, const float *a, const float *b, int n, int k)
{
	__shared__ float as[8 * 128], bs[8 * 128];
	const int tr = threadIdx.x / 16, tc = threadIdx.x % 16;
	const int ar = threadIdx.x / 2, ac = threadIdx.x % 2, br = threadIdx.x / 32, bc = threadIdx.x % 32;
	float r[8][8] = {{0}};
	a += blockIdx.y * 128 * k;
	b += blockIdx.x * 128;
	c += blockIdx.y * 128 * n + blockIdx.x * 128;
	for (int t = 0; t < k; t += 8) {
		float4 v = *(const float4 *)&a[ar * k + ac * 4];
		as[(ac * 4 + 0) * 128 + ar] = v.x;
		as[(ac * 4 + 1) * 128 + ar] = v.y;
		as[(ac * 4 + 2) * 128 + ar] = v.z;
		as[(ac * 4 + 3) * 128 + ar] = v.w;
		*(float4 *)&bs[br * 128 + bc * 4] = *(const float4 *)&b[br * n + bc * 4];
		__syncthreads();
		a += 8;
		b += 8 * n;
		for (int d = 0; d < 8; d++)
			for (int i = 0; i < 8; i++)
				for (int j = 0; j < 8; j++)
					r[i][j] += as[d * 128 + tr * 8 + i] * bs[d * 128 + tc * 8 + j];
		__syncthreads();
	}
	for (int i = 0; i < 8; i++)
		for (int j = 0; j < 8; j++)
			c[(tr * 8 + i) * n + tc * 8 + j] = r[i][j];
}

// prove: wmma_tile race-free --block-dim=128 --grid-dim=16,32
// pin: wmma_tile m=512 n=1024 k=256
__global__ void wmma_tile(float *c, const half *a, const half *b, int m, int n, int k)
{
	wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
	int warp = threadIdx.x / 32, row = blockIdx.y * 16, col = (blockIdx.x * 4 + warp) * 16;
	if (row >= m || col >= n)
		return;
	wmma::fill_fragment(fc, 0.0f);
	for (int i = 0; i < k; i += 16) {
		wmma::load_matrix_sync(fa, a + row * k + i, k);
		wmma::load_matrix_sync(fb, b + col * k + i, k);
		wmma::mma_sync(fc, fa, fb, fc);
	}
	wmma::store_matrix_sync(c + row * n + col, fc, n, wmma::mem_row_major);
}

// prove: wmma_shared race-free --block-dim=32,4 --grid-dim=16,16
// pin: wmma_shared ld=1024
__global__ void wmma_shared(half *out, const half *in, int ld)
{
	__shared__ half s[4][16 * 16];
	wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
	wmma::fragment<wmma::accumulator, 16, 16, 16, half> fc;
	int w = threadIdx.y;
	for (int i = threadIdx.x; i < 256; i += 32)
		s[w][i] = in[(blockIdx.y * 16 + i / 16) * ld + (blockIdx.x * 4 + w) * 16 + i % 16];
	__syncthreads();
	wmma::load_matrix_sync(fa, s[w], 16);
	wmma::load_matrix_sync(fb, s[(w + 1) % 4], 16);
	wmma::fill_fragment(fc, __float2half(0));
	wmma::mma_sync(fc, fa, fb, fc);
	__syncthreads();
	wmma::store_matrix_sync(s[w], fc, 16, wmma::mem_row_major);
	__syncthreads();
	for (int i = threadIdx.x; i < 256; i += 32)
		out[(blockIdx.y * 16 + i / 16) * ld + (blockIdx.x * 4 + w) * 16 + i % 16] = s[w][i];
}

// prove: flash race-free --block-dim=32 --grid-dim=4,8
// pin: flash n=64 d=64
__global__ void flash(float *o, const float *q, const float *k, const float *v, float *l, float *m, int n, int d, int tc, int tr, int bc, int br, float scale)
{
	extern __shared__ float sram[];
	int tx = threadIdx.x, bx = blockIdx.x, by = blockIdx.y;
	int qkv = (bx * gridDim.y * n * d) + (by * n * d), lm = (bx * gridDim.y * n) + (by * n);
	int tile = 32 * 64;
	float *qi = sram, *kj = &sram[tile], *vj = &sram[tile * 2], *s = &sram[tile * 3];
	collider_assume(d == 64 && n == 64 && tc == 2 && tr == 2);
	for (int j = 0; j < tc; j++) {
		for (int x = 0; x < 64; x++) {
			kj[tx * 64 + x] = k[qkv + tile * j + tx * 64 + x];
			vj[tx * 64 + x] = v[qkv + tile * j + tx * 64 + x];
		}
		__syncthreads();
		for (int i = 0; i < tr; i++) {
			for (int x = 0; x < 64; x++)
				qi[tx * 64 + x] = q[qkv + tile * i + tx * 64 + x];
			float row = -1e30f;
			for (int y = 0; y < 32; y++) {
				float sum = 0;
				for (int x = 0; x < 64; x++)
					sum += qi[tx * 64 + x] * kj[y * 64 + x];
				s[32 * tx + y] = sum * scale;
				row = fmaxf(row, sum);
			}
			for (int x = 0; x < 64; x++) {
				float pv = 0;
				for (int y = 0; y < 32; y++)
					pv += s[32 * tx + y] * vj[y * 64 + x];
				o[qkv + tile * i + tx * 64 + x] += pv;
			}
			m[lm + 32 * i + tx] = row;
		}
		__syncthreads();
	}
}

// prove: cross_entropy race-free --block-dim=256 --grid-dim=64
// pin: cross_entropy n=16384 classes=10
__global__ void cross_entropy(float *loss, float *grad, const float *logits, const int *label, int n, int classes)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	float sum = 0;
	for (int c = 0; c < classes; c++)
		sum += __expf(logits[i * classes + c]);
	for (int c = 0; c < classes; c++)
		grad[i * classes + c] = __expf(logits[i * classes + c]) / sum - (c == label[i]);
	loss[i] = __logf(sum) - logits[i * classes + label[i]];
}

// prove: max_pool race-free --block-dim=16,16 --grid-dim=7,7,64
// pin: max_pool w=224 h=224 ow=112 oh=112
__global__ void max_pool(float *out, int *arg, const float *in, int w, int h, int ow, int oh)
{
	int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y, c = blockIdx.z;
	if (x >= ow || y >= oh)
		return;
	float best = -1e30f;
	int at = 0;
	for (int dy = 0; dy < 2; dy++)
		for (int dx = 0; dx < 2; dx++) {
			int i = (c * h + 2 * y + dy) * w + 2 * x + dx;
			if (in[i] > best) {
				best = in[i];
				at = i;
			}
		}
	out[(c * oh + y) * ow + x] = best;
	arg[(c * oh + y) * ow + x] = at;
}

// prove: conv3 race-free --block-dim=16,16 --grid-dim=14,14,32
// pin: conv3 w=224 h=224 cin=3
__global__ void conv3(float *out, const float *in, const float *weight, int w, int h, int cin)
{
	__shared__ float s[18][18];
	int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty, co = blockIdx.z;
	float sum = 0;
	for (int ci = 0; ci < cin; ci++) {
		for (int i = ty * 16 + tx; i < 324; i += 256) {
			int ix = blockIdx.x * 16 + i % 18 - 1, iy = blockIdx.y * 16 + i / 18 - 1;
			s[i / 18][i % 18] = ix >= 0 && iy >= 0 && ix < w && iy < h ? in[(ci * h + iy) * w + ix] : 0;
		}
		__syncthreads();
		for (int dy = 0; dy < 3; dy++)
			for (int dx = 0; dx < 3; dx++)
				sum += s[ty + dy][tx + dx] * weight[((co * cin + ci) * 3 + dy) * 3 + dx];
		__syncthreads();
	}
	if (x < w && y < h)
		out[(co * h + y) * w + x] = sum;
}

// prove: im2col race-free --block-dim=256 --grid-dim=512
// pin: im2col n=131072 h=64 w=64 oh=64 ow=64
__global__ void im2col(float *col, const float *im, int n, int h, int w, int oh, int ow)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
		int wo = i % ow, t = i / ow, ho = t % oh, c = t / oh, out = c * 9;
		float *p = col + (out * oh + ho) * ow + wo;
		const float *q = im + (c * h + ho - 1) * w + wo - 1;
		for (int a = 0; a < 3; a++)
			for (int b = 0; b < 3; b++) {
				int y = ho - 1 + a, x = wo - 1 + b;
				*p = y >= 0 && x >= 0 && y < h && x < w ? q[a * w + b] : 0;
				p += oh * ow;
			}
	}
}

// prove: batch_norm race-free --block-dim=256 --grid-dim=64
// pin: batch_norm batch=32 channels=64 plane=3136
__global__ void batch_norm(float *out, const float *in, const float *gamma, int batch, int channels, int plane)
{
	__shared__ float s[256], q[256];
	int c = blockIdx.x, t = threadIdx.x;
	float a = 0, b = 0;
	for (int n = 0; n < batch; n++)
		for (int i = t; i < plane; i += 256) {
			float v = in[(n * channels + c) * plane + i];
			a += v;
			b += v * v;
		}
	s[t] = a;
	q[t] = b;
	__syncthreads();
	for (int d = 128; d > 0; d >>= 1) {
		if (t < d) {
			s[t] += s[t + d];
			q[t] += q[t + d];
		}
		__syncthreads();
	}
	float mean = s[0] / (batch * plane), inv = rsqrtf(q[0] + 1e-5f) * gamma[c];
	for (int n = 0; n < batch; n++)
		for (int i = t; i < plane; i += 256)
			out[(n * channels + c) * plane + i] = (in[(n * channels + c) * plane + i] - mean) * inv;
}

// prove: backprop_forward race-free --block-dim=16,16 --grid-dim=1,4096
// pin: backprop_forward in=65536 hid=16
__global__ void backprop_forward(const float *input, float *hidden, const float *weights, float *partial, int in, int hid)
{
	int by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
	int index = (hid + 1) * 16 * by + (hid + 1) * ty + tx + 1 + (hid + 1), index_in = 16 * by + ty + 1;
	__shared__ float node[16], w[16][16];
	if (tx == 0)
		node[ty] = input[index_in];
	__syncthreads();
	w[ty][tx] = weights[index];
	__syncthreads();
	w[ty][tx] *= node[ty];
	__syncthreads();
	for (int i = 1; i <= 4; i++) {
		int p = 1 << i;
		if (ty % p == 0)
			w[ty][tx] += w[ty + p / 2][tx];
		__syncthreads();
	}
	hidden[index] = w[ty][tx];
	if (tx == 0)
		partial[by * hid + ty] = w[tx][ty];
}
