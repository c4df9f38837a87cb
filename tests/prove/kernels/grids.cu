/*
 * grids.cu - two-dimensional indices, tiles, loops over the grid.
 */

// prove: grid_stride race-free
__global__ void grid_stride(float *y, const float *x, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		y[i] = x[i];
}

// prove: grid_stride_wrong true
__global__ void grid_stride_wrong(float *y, const float *x, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x)
		y[i] = x[i];
}

// prove: block_stride single
__global__ void block_stride(float *y, int n)
{
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		y[i] = 1.0f;
}

// prove: rows race-free --block-dim=16,16 --grid-dim=8,8
__global__ void rows(float *y, const float *x)
{
	int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
	y[row * 128 + col] = x[row * 128 + col];
}

// prove: rows_narrow true --block-dim=16,16 --grid-dim=8,8
__global__ void rows_narrow(float *y, const float *x)
{
	int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
	y[row * 100 + col] = x[row * 128 + col];
}

// prove: pitch race-free
__global__ void pitch(float *y, int w, int h)
{
	int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
	collider_assume(w > 0 && (long long)w * h <= 2147483647);
	if (col < w && row < h)
		y[row * w + col] = 1.0f;
}

// prove: pitch_unguarded true
__global__ void pitch_unguarded(float *y, int w, int h)
{
	int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
	if (row < h)
		y[row * w + col] = 1.0f;
}

// prove: transpose race-free --block-dim=16,16 --grid-dim=8,8
__global__ void transpose(float *o, const float *in)
{
	__shared__ float t[16][17];
	int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
	t[threadIdx.y][threadIdx.x] = in[y * 128 + x];
	__syncthreads();
	x = blockIdx.y * 16 + threadIdx.x;
	y = blockIdx.x * 16 + threadIdx.y;
	o[y * 128 + x] = t[threadIdx.x][threadIdx.y];
}

// prove: transpose_no_barrier true --block-dim=16,16 --grid-dim=8,8
__global__ void transpose_no_barrier(float *o, const float *in)
{
	__shared__ float t[16][17];
	int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
	t[threadIdx.y][threadIdx.x] = in[y * 128 + x];
	x = blockIdx.y * 16 + threadIdx.x;
	y = blockIdx.x * 16 + threadIdx.y;
	o[y * 128 + x] = t[threadIdx.x][threadIdx.y];
}

// prove: matmul race-free --block-dim=16,16 --grid-dim=8,8
__global__ void matmul(float *c, const float *a, const float *b)
{
	__shared__ float as[16][16], bs[16][16];
	int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
	float sum = 0;
	for (int t = 0; t < 8; t++) {
		as[threadIdx.y][threadIdx.x] = a[row * 128 + t * 16 + threadIdx.x];
		bs[threadIdx.y][threadIdx.x] = b[(t * 16 + threadIdx.y) * 128 + col];
		__syncthreads();
		for (int k = 0; k < 16; k++)
			sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
		__syncthreads();
	}
	c[row * 128 + col] = sum;
}

// prove: matmul_one_barrier true --block-dim=16,16 --grid-dim=8,8
__global__ void matmul_one_barrier(float *c, const float *a, const float *b)
{
	__shared__ float as[16][16], bs[16][16];
	int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
	float sum = 0;
	for (int t = 0; t < 8; t++) {
		as[threadIdx.y][threadIdx.x] = a[row * 128 + t * 16 + threadIdx.x];
		bs[threadIdx.y][threadIdx.x] = b[(t * 16 + threadIdx.y) * 128 + col];
		__syncthreads();
		for (int k = 0; k < 16; k++)
			sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
	}
	c[row * 128 + col] = sum;
}

// prove: stencil race-free
__global__ void stencil(float *out, const float *in, int n)
{
	__shared__ float s[1026];
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	s[threadIdx.x + 1] = in[i];
	if (threadIdx.x == 0)
		s[0] = in[i];
	if (threadIdx.x == blockDim.x - 1)
		s[threadIdx.x + 2] = in[i + 1];
	__syncthreads();
	if (i < n)
		out[i] = s[threadIdx.x] + s[threadIdx.x + 1] + s[threadIdx.x + 2];
}

// prove: stencil_in_place true
__global__ void stencil_in_place(float *a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i > 0 && i < n)
		a[i] = a[i - 1] + a[i];
}

// prove: row_per_thread single
__global__ void row_per_thread(float *m, int w)
{
	unsigned row = threadIdx.x;
	collider_assume(w > 0 && w < 65536);
	for (int j = 0; j < w; j++)
		m[row * w + j] = 0;
}

// prove: bitonic single --block-dim=256
__global__ void bitonic(int *g)
{
	__shared__ int s[256];
	unsigned t = threadIdx.x;
	s[t] = g[t];
	__syncthreads();
	for (unsigned k = 2; k <= 256; k *= 2) {
		for (unsigned j = k / 2; j > 0; j /= 2) {
			unsigned other = t ^ j;
			if (other > t) {
				int a = s[t], b = s[other];
				if ((t & k) == 0 ? a > b : a < b) {
					s[t] = b;
					s[other] = a;
				}
			}
			__syncthreads();
		}
	}
	g[t] = s[t];
}

template <int N> __device__ void sum_tail(float *s)
{
	if (N >= 64 && threadIdx.x < 32)
		s[threadIdx.x] += s[threadIdx.x + 32];
}

template <int B> __global__ void template_reduce(float *g)
{
	__shared__ float s[B];
	s[threadIdx.x] = g[threadIdx.x];
	__syncthreads();
	if (B >= 512) {
		if (threadIdx.x < 256)
			s[threadIdx.x] += s[threadIdx.x + 256];
		__syncthreads();
	}
	if (B >= 256) {
		if (threadIdx.x < 128)
			s[threadIdx.x] += s[threadIdx.x + 128];
		__syncthreads();
	}
	if (threadIdx.x == 0)
		g[blockIdx.x] = s[0];
}

// prove: template_reduce true
template __global__ void template_reduce<256>(float *);

// A 64-bit sum that comes around: its steps are no pointer's.
// prove: hash_steps true --block-dim=64
__global__ void hash_steps(float *y, int n)
{
	unsigned long long h = threadIdx.x;
	for (int i = 0; i < n; i++) {
		h += 0x9e3779b97f4a7c15ull;
		y[h & 31] = 1.0f;
	}
}

// prove: guarded_twice single
__global__ void guarded_twice(float *y, int n, int m)
{
	for (int i = threadIdx.x; i < n && i < m; i += blockDim.x)
		y[i] = 1.0f;
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		y[i] += 1.0f;
}
