/*
 * stencils.cu - neighbours in one, two and three dimensions; matrices.
 */

// prove: five_points race-free --block-dim=128
__global__ void five_points(float *out, const float *in, int n)
{
	__shared__ float s[128 + 4];
	int t = threadIdx.x, i = blockIdx.x * 128 + t;
	s[t + 2] = i < n ? in[i] : 0;
	if (t < 2) {
		s[t] = i >= 2 ? in[i - 2] : 0;
		s[t + 130] = i + 128 < n ? in[i + 128] : 0;
	}
	__syncthreads();
	if (i < n)
		out[i] = s[t] + s[t + 1] + s[t + 2] + s[t + 3] + s[t + 4];
}

// The halo overlaps what other threads store.
// prove: five_points_overlap true --block-dim=128
__global__ void five_points_overlap(float *out, const float *in, int n)
{
	__shared__ float s[128 + 4];
	int t = threadIdx.x, i = blockIdx.x * 128 + t;
	s[t + 2] = i < n ? in[i] : 0;
	if (t < 2) {
		s[t] = i >= 2 ? in[i - 2] : 0;
		s[t + 129] = i + 128 < n ? in[i + 128] : 0;
	}
	__syncthreads();
	if (i < n)
		out[i] = s[t] + s[t + 1] + s[t + 2] + s[t + 3] + s[t + 4];
}

// prove: plane race-free --block-dim=16,16
__global__ void plane(float *out, const float *in, int w, int h)
{
	int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
	collider_assume(w > 0 && h > 0 && (long long)w * h <= 2147483647);
	if (x > 0 && y > 0 && x < w - 1 && y < h - 1)
		out[y * w + x] = in[y * w + x - 1] + in[y * w + x + 1] + in[(y - 1) * w + x] +
				 in[(y + 1) * w + x];
}

// prove: plane_in_place true --block-dim=16,16
__global__ void plane_in_place(float *a, int w, int h)
{
	int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
	if (x > 0 && y > 0 && x < w - 1 && y < h - 1)
		a[y * w + x] = a[y * w + x - 1] + a[(y - 1) * w + x];
}

// prove: tile_halo race-free --block-dim=16,16
__global__ void tile_halo(float *out, const float *in)
{
	__shared__ float s[18][18];
	int tx = threadIdx.x, ty = threadIdx.y;
	int x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty;
	s[ty + 1][tx + 1] = in[y * 1024 + x];
	if (tx == 0)
		s[ty + 1][0] = x > 0 ? in[y * 1024 + x - 1] : 0;
	if (tx == 15)
		s[ty + 1][17] = in[y * 1024 + x + 1];
	if (ty == 0)
		s[0][tx + 1] = y > 0 ? in[(y - 1) * 1024 + x] : 0;
	if (ty == 15)
		s[17][tx + 1] = in[(y + 1) * 1024 + x];
	__syncthreads();
	if (x < 1024)
		out[y * 1024 + x] = s[ty][tx + 1] + s[ty + 2][tx + 1] + s[ty + 1][tx] + s[ty + 1][tx + 2];
}

// prove: tile_halo_no_barrier true --block-dim=16,16
__global__ void tile_halo_no_barrier(float *out, const float *in)
{
	__shared__ float s[18][18];
	int tx = threadIdx.x, ty = threadIdx.y;
	int x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty;
	s[ty + 1][tx + 1] = in[y * 1024 + x];
	if (x < 1024)
		out[y * 1024 + x] = s[ty][tx + 1] + s[ty + 2][tx + 1] + s[ty + 1][tx] + s[ty + 1][tx + 2];
}

// prove: cube race-free --block-dim=8,8,4
__global__ void cube(float *out, const float *in)
{
	int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y,
	    z = blockIdx.z * 4 + threadIdx.z;
	if (x < 64 && y < 64 && z < 64) {
		int i = (z * 64 + y) * 64 + x;
		out[i] = in[i] * 6 - in[i - 1] - in[i + 1] - in[i - 64] - in[i + 64] - in[i - 4096] -
			 in[i + 4096];
	}
}

// prove: cube_not_guarded true --block-dim=8,8,4
__global__ void cube_not_guarded(float *out, const float *in)
{
	int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y,
	    z = blockIdx.z * 4 + threadIdx.z;
	out[(z * 64 + y) * 64 + x] = in[x];
}

// prove: march race-free --block-dim=16,16 --grid-dim=8,8
__global__ void march(float *out, const float *in, int depth)
{
	__shared__ float s[16][16];
	int tx = threadIdx.x, ty = threadIdx.y;
	int at = (blockIdx.y * 16 + ty) * 128 + blockIdx.x * 16 + tx;
	collider_assume(depth < 100000);
	for (int z = 0; z < depth; z++) {
		s[ty][tx] = in[at];
		__syncthreads();
		out[at] = s[ty][(tx + 1) % 16] + s[(ty + 1) % 16][tx];
		__syncthreads();
		at += 128 * 128;
	}
}

// prove: march_one_barrier true --block-dim=16,16 --grid-dim=8,8
__global__ void march_one_barrier(float *out, const float *in, int depth)
{
	__shared__ float s[16][16];
	int tx = threadIdx.x, ty = threadIdx.y;
	int at = (blockIdx.y * 16 + ty) * 128 + blockIdx.x * 16 + tx;
	for (int z = 0; z < depth; z++) {
		s[ty][tx] = in[at];
		__syncthreads();
		out[at] = s[ty][(tx + 1) % 16] + s[(ty + 1) % 16][tx];
		at += 128 * 128;
	}
}

// prove: red_black race-free --block-dim=16,16
__global__ void red_black(float *a, int colour)
{
	int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
	if (x < 1 || x > 510 || y < 1 || y > 510 || (x + y) % 2 != (colour & 1))
		return;
	a[y * 512 + x] = a[y * 512 + x - 1] + a[y * 512 + x + 1] + a[(y - 1) * 512 + x] +
			 a[(y + 1) * 512 + x];
}

// prove: red_black_rows true --block-dim=16,16
__global__ void red_black_rows(float *a, int colour)
{
	int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
	if (x < 1 || x > 510 || y < 1 || y > 510 || y % 2 != (colour & 1))
		return;
	a[y * 512 + x] = a[y * 512 + x - 1] + a[(y - 1) * 512 + x] + a[(y + 1) * 512 + x];
}

// prove: life race-free --block-dim=32,8
__global__ void life(unsigned char *out, const unsigned char *in)
{
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, n = 0;
	if (x >= 256 || y >= 256)
		return;
	for (int dy = -1; dy <= 1; dy++)
		for (int dx = -1; dx <= 1; dx++)
			n += in[(y + dy & 255) * 256 + (x + dx & 255)];
	out[y * 256 + x] = n == 3;
}

// prove: life_in_place true --block-dim=32,8
__global__ void life_in_place(unsigned char *a)
{
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, n = 0;
	if (x >= 256 || y >= 256)
		return;
	for (int dx = -1; dx <= 1; dx++)
		n += a[y * 256 + (x + dx & 255)];
	a[y * 256 + x] = n == 3;
}

// prove: matmul_simple race-free --block-dim=16,16
__global__ void matmul_simple(float *c, const float *a, const float *b, int n)
{
	int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
	float sum = 0;
	collider_assume(n > 0 && n < 32768);
	if (row >= n || col >= n)
		return;
	for (int k = 0; k < n; k++)
		sum += a[row * n + k] * b[k * n + col];
	c[row * n + col] = sum;
}

template <int T> __device__ void product(float *c, const float *a, const float *b, int n)
{
	__shared__ float as[T][T], bs[T][T + 1];
	int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
	float sum = 0;
	for (int m = 0; m < (n + T - 1) / T; m++) {
		as[ty][tx] = row < n && m * T + tx < n ? a[row * n + m * T + tx] : 0;
		bs[ty][tx] = col < n && m * T + ty < n ? b[(m * T + ty) * n + col] : 0;
		__syncthreads();
#pragma unroll
		for (int k = 0; k < T; k++)
			sum += as[ty][k] * bs[k][tx];
		__syncthreads();
	}
	if (row < n && col < n)
		c[row * n + col] = sum;
}

// prove: matmul_tiles race-free --block-dim=16,16
__global__ void matmul_tiles(float *c, const float *a, const float *b, int n)
{
	collider_assume(n > 0 && n < 32768);
	product<16>(c, a, b, n);
}

// prove: matmul_buffers race-free --block-dim=16,16 --grid-dim=8,8
__global__ void matmul_buffers(float *c, const float *a, const float *b)
{
	__shared__ float as[2][16][16], bs[2][16][16];
	int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
	float sum = 0;
	for (int m = 0; m < 8; m++) {
		as[m & 1][ty][tx] = a[row * 128 + m * 16 + tx];
		bs[m & 1][ty][tx] = b[(m * 16 + ty) * 128 + col];
		__syncthreads();
		for (int k = 0; k < 16; k++)
			sum += as[m & 1][ty][k] * bs[m & 1][k][tx];
	}
	c[row * 128 + col] = sum;
}

// prove: matmul_one_buffer true --block-dim=16,16 --grid-dim=8,8
__global__ void matmul_one_buffer(float *c, const float *a, const float *b)
{
	__shared__ float as[2][16][16], bs[2][16][16];
	int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
	float sum = 0;
	for (int m = 0; m < 8; m++) {
		as[m & 2][ty][tx] = a[row * 128 + m * 16 + tx];
		bs[0][ty][tx] = b[(m * 16 + ty) * 128 + col];
		__syncthreads();
		for (int k = 0; k < 16; k++)
			sum += as[m & 2][ty][k] * bs[0][k][tx];
	}
	c[row * 128 + col] = sum;
}

// prove: transpose_rows race-free --block-dim=32,8
__global__ void transpose_rows(float *out, const float *in)
{
	__shared__ float s[32][33];
	int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 32 + tx, y = blockIdx.y * 32 + ty;
	if (gridDim.x > 32 || gridDim.y > 32)
		return;
	for (int j = 0; j < 32; j += 8)
		s[ty + j][tx] = in[(y + j) * 1024 + x];
	__syncthreads();
	x = blockIdx.y * 32 + tx;
	y = blockIdx.x * 32 + ty;
	for (int j = 0; j < 32; j += 8)
		out[(y + j) * 1024 + x] = s[tx][ty + j];
}

// prove: transpose_rows_no_barrier true --block-dim=32,8
__global__ void transpose_rows_no_barrier(float *out, const float *in)
{
	__shared__ float s[32][33];
	int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 32 + tx, y = blockIdx.y * 32 + ty;
	if (gridDim.x > 32 || gridDim.y > 32)
		return;
	for (int j = 0; j < 32; j += 8)
		s[ty + j][tx] = in[(y + j) * 1024 + x];
	x = blockIdx.y * 32 + tx;
	y = blockIdx.x * 32 + ty;
	for (int j = 0; j < 32; j += 8)
		out[(y + j) * 1024 + x] = s[tx][ty + j];
}

// prove: transpose_in_place race-free --block-dim=16,16
__global__ void transpose_in_place(float *a)
{
	int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
	if (x < y && y < 512) {
		float v = a[y * 512 + x];
		a[y * 512 + x] = a[x * 512 + y];
		a[x * 512 + y] = v;
	}
}

// prove: transpose_in_place_twice true --block-dim=16,16
__global__ void transpose_in_place_twice(float *a)
{
	int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
	if (x < 512 && y < 512) {
		float v = a[y * 512 + x];
		a[y * 512 + x] = a[x * 512 + y];
		a[x * 512 + y] = v;
	}
}

// prove: pitched race-free --block-dim=16,16
__global__ void pitched(char *p, size_t pitch, unsigned w, unsigned h)
{
	unsigned x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
	collider_assume(pitch >= 4ull * w && pitch < 1ull << 32);
	if (x < w && y < h)
		((float *)(p + y * pitch))[x] = 1;
}

// prove: pitched_narrow true --block-dim=16,16
__global__ void pitched_narrow(char *p, size_t pitch, unsigned w, unsigned h)
{
	unsigned x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
	if (x < w && y < h)
		((float *)(p + y * pitch))[x] = 1;
}

// prove: outer_product race-free
__global__ void outer_product(float *m, const float *u, const float *v, int w)
{
	collider_assume(w > 0 && w < 32768 && gridDim.x < 65536);
	for (int j = threadIdx.x; j < w; j += blockDim.x)
		m[(size_t)blockIdx.x * w + j] = u[blockIdx.x] * v[j];
}

// prove: symmetric race-free --block-dim=16,16
__global__ void symmetric(float *a)
{
	int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
	if (x < 256 && y < 256 && x < y)
		a[x * 256 + y] = a[y * 256 + x];
}

// prove: matvec race-free
__global__ void matvec(float *y, const float *a, const float *x, int n)
{
	int row = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0;
	if (row < n) {
		for (int k = 0; k < n; k++)
			sum += a[row * n + k] * x[k];
		y[row] = sum;
	}
}

// prove: elimination_step true --block-dim=16,16
__global__ void elimination_step(float *a, int k)
{
	int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
	collider_assume(k >= 0 && k < 255);
	if (x >= k && x < 256 && y > k && y < 256)
		a[y * 256 + x] -= a[y * 256 + k] * a[k * 256 + x];
}

// prove: elimination_step_right race-free --block-dim=16,16
__global__ void elimination_step_right(float *a, int k)
{
	int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
	collider_assume(k >= 0 && k < 255);
	if (x > k && x < 256 && y > k && y < 256)
		a[y * 256 + x] -= a[y * 256 + k] * a[k * 256 + x];
}
