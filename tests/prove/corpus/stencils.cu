/*
 * stencils.cu - grids in two and three dimensions with halo, and solvers that go to and fro.
 */
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

// prove: heat2d race-free --block-dim=32,8 --grid-dim=16,64
// pin: heat2d nx=512 ny=512
__global__ void heat2d(float *out, const float *in, int nx, int ny)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x > 0 && x < nx - 1 && y > 0 && y < ny - 1) {
		int i = y * nx + x;
		out[i] = in[i] + 0.1f * (in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx] - 4 * in[i]);
	}
}

// prove: heat3d race-free --block-dim=32,4,2 --grid-dim=4,32,64
// pin: heat3d nx=128 ny=128 nz=128
__global__ void heat3d(float *out, const float *in, int nx, int ny, int nz)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
	    z = blockIdx.z * blockDim.z + threadIdx.z;
	if (x > 0 && y > 0 && z > 0 && x < nx - 1 && y < ny - 1 && z < nz - 1) {
		int i = (z * ny + y) * nx + x;
		out[i] = in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx] + in[i - nx * ny] + in[i + nx * ny];
	}
}

// prove: march_z race-free --block-dim=32,8 --grid-dim=4,16
// pin: march_z nx=128 ny=128 nz=64
__global__ void march_z(float *out, const float *in, int nx, int ny, int nz)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1)
		return;
	int at = y * nx + x, plane = nx * ny;
	float below = in[at], here = in[at + plane];
	for (int z = 1; z < nz - 1; z++) {
		float above = in[(z + 1) * plane + at];
		out[z * plane + at] = below + above - 2 * here;
		below = here;
		here = above;
	}
}

// prove: fdtd3d race-free --block-dim=32,16 --grid-dim=12,24
// pin: fdtd3d dimx=376 dimy=376 dimz=376
__global__ void fdtd3d(float *output, const float *input, int dimx, int dimy, int dimz)
{
	__shared__ float tile[16 + 2 * 4][32 + 2 * 4];
	bool valid = true;
	const int gx = blockIdx.x * blockDim.x + threadIdx.x, gy = blockIdx.y * blockDim.y + threadIdx.y;
	const int ltx = threadIdx.x, lty = threadIdx.y, tx = ltx + 4, ty = lty + 4;
	const int stride_y = dimx + 2 * 4, stride_z = stride_y * (dimy + 2 * 4);
	int in_i = 0, out_i;
	in_i += 4 * stride_y + 4;
	in_i += gy * stride_y + gx;
	float infront[4], behind[4], current;
	if (gx >= dimx + 4 || gy >= dimy + 4)
		valid = false;
	bool writes = gx < dimx && gy < dimy;
	for (int i = 2; i >= 0; i--) {
		if (valid)
			behind[i] = input[in_i];
		in_i += stride_z;
	}
	if (valid)
		current = input[in_i];
	out_i = in_i;
	in_i += stride_z;
	for (int i = 0; i < 4; i++) {
		if (valid)
			infront[i] = input[in_i];
		in_i += stride_z;
	}
	for (int iz = 0; iz < dimz; iz++) {
		for (int i = 3; i > 0; i--)
			behind[i] = behind[i - 1];
		behind[0] = current;
		current = infront[0];
		for (int i = 0; i < 3; i++)
			infront[i] = infront[i + 1];
		if (valid)
			infront[3] = input[in_i];
		in_i += stride_z;
		out_i += stride_z;
		__syncthreads();
		if (lty < 4) {
			tile[lty][tx] = input[out_i - 4 * stride_y];
			tile[lty + 16 + 4][tx] = input[out_i + 16 * stride_y];
		}
		if (ltx < 4) {
			tile[ty][ltx] = input[out_i - 4];
			tile[ty][ltx + 32 + 4] = input[out_i + 32];
		}
		tile[ty][tx] = current;
		__syncthreads();
		float value = current;
		for (int i = 1; i <= 4; i++)
			value += infront[i - 1] + behind[i - 1] + tile[ty - i][tx] + tile[ty + i][tx] +
				 tile[ty][tx - i] + tile[ty][tx + i];
		if (writes)
			output[out_i] = value;
	}
}

#define BS 16
// prove: hotspot race-free --block-dim=16,16 --grid-dim=43,43
// pin: hotspot iterations=2 cols=512 rows=512 bcols=2 brows=2
__global__ void hotspot(int iterations, const float *power, const float *src, float *dst, int cols, int rows, int bcols, int brows)
{
	__shared__ float on[BS][BS], pow_on[BS][BS], next[BS][BS];
	int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
	int small_rows = BS - iterations * 2, small_cols = BS - iterations * 2;
	int y0 = small_rows * by - brows, x0 = small_cols * bx - bcols, y1 = y0 + BS - 1, x1 = x0 + BS - 1;
	int yi = y0 + ty, xi = x0 + tx, index = cols * yi + xi;
	if (yi >= 0 && yi <= rows - 1 && xi >= 0 && xi <= cols - 1) {
		on[ty][tx] = src[index];
		pow_on[ty][tx] = power[index];
	}
	__syncthreads();
	int vy0 = y0 < 0 ? -y0 : 0, vy1 = y1 > rows - 1 ? BS - 1 - (y1 - rows + 1) : BS - 1;
	int vx0 = x0 < 0 ? -x0 : 0, vx1 = x1 > cols - 1 ? BS - 1 - (x1 - cols + 1) : BS - 1;
	int n = max(ty - 1, vy0), s = min(ty + 1, vy1), w = max(tx - 1, vx0), e = min(tx + 1, vx1);
	bool computed;
	for (int i = 0; i < iterations; i++) {
		computed = false;
		if (tx >= i + 1 && tx <= BS - i - 2 && ty >= i + 1 && ty <= BS - i - 2 && tx >= vx0 && tx <= vx1 &&
		    ty >= vy0 && ty <= vy1) {
			computed = true;
			next[ty][tx] = on[ty][tx] + pow_on[ty][tx] + on[s][tx] + on[n][tx] + on[ty][e] + on[ty][w];
		}
		__syncthreads();
		if (i == iterations - 1)
			break;
		if (computed)
			on[ty][tx] = next[ty][tx];
		__syncthreads();
	}
	if (computed)
		dst[index] = next[ty][tx];
}

// prove: pathfinder race-free --block-dim=256 --grid-dim=463
// pin: pathfinder iteration=20 cols=100000 start=0 border=20
__global__ void pathfinder(int iteration, const int *wall, const int *src, int *results, int cols, int rows, int start, int border)
{
	__shared__ int prev[256], result[256];
	int bx = blockIdx.x, tx = threadIdx.x;
	int small = 256 - iteration * 2, x0 = small * bx - border, x1 = x0 + 255, xi = x0 + tx;
	int vx0 = x0 < 0 ? -x0 : 0, vx1 = x1 > cols - 1 ? 255 - (x1 - cols + 1) : 255;
	int w = max(tx - 1, vx0), e = min(tx + 1, vx1);
	bool valid = tx >= vx0 && tx <= vx1;
	if (xi >= 0 && xi <= cols - 1)
		prev[tx] = src[xi];
	__syncthreads();
	bool computed;
	for (int i = 0; i < iteration; i++) {
		computed = false;
		if (tx >= i + 1 && tx <= 256 - i - 2 && valid) {
			computed = true;
			int shortest = min(prev[w], min(prev[tx], prev[e]));
			result[tx] = shortest + wall[cols * (start + i) + xi];
		}
		__syncthreads();
		if (i == iteration - 1)
			break;
		if (computed)
			prev[tx] = result[tx];
		__syncthreads();
	}
	if (computed)
		results[xi] = result[tx];
}

// prove: jacobi_pair race-free --block-dim=256 --grid-dim=1
// pin: jacobi_pair n=256 steps=100
__global__ void jacobi_pair(float *x, int n, int steps)
{
	__shared__ float s[2][258];
	int t = threadIdx.x, from = 0;
	s[0][t + 1] = t < n ? x[t] : 0;
	if (t < 2)
		s[0][t * 257] = s[1][t * 257] = 0;
	__syncthreads();
	for (int k = 0; k < steps; k++) {
		s[1 - from][t + 1] = 0.5f * (s[from][t] + s[from][t + 2]);
		from = 1 - from;
		__syncthreads();
	}
	if (t < n)
		x[t] = s[from][t + 1];
}

// prove: swap_pointers race-free --block-dim=128 --grid-dim=64
// pin: swap_pointers steps=10
__global__ void swap_pointers(float *x, int steps)
{
	__shared__ float one[130], two[130];
	float *a = one, *b = two;
	int t = threadIdx.x;
	a[t + 1] = x[blockIdx.x * 128 + t];
	if (t < 2)
		a[t * 129] = b[t * 129] = 0;
	__syncthreads();
	for (int k = 0; k < steps; k++) {
		b[t + 1] = a[t] + a[t + 2];
		__syncthreads();
		float *tmp = a;
		a = b;
		b = tmp;
	}
	x[blockIdx.x * 128 + t] = a[t + 1];
}

// prove: cyclic_reduction race-free --block-dim=64 --grid-dim=16
// pin: cyclic_reduction iterations=6
__global__ void cyclic_reduction(float *ga, float *gb, float *gc, float *gd, float *gx, int iterations)
{
	__shared__ float a[128], b[128], c[128], d[128], x[128];
	int t = threadIdx.x, base = blockIdx.x * 128, stride = 1, delta = 1, n = 64;
	a[t] = ga[base + t];
	a[t + 64] = ga[base + t + 64];
	b[t] = gb[base + t];
	b[t + 64] = gb[base + t + 64];
	c[t] = gc[base + t];
	c[t + 64] = gc[base + t + 64];
	d[t] = gd[base + t];
	d[t + 64] = gd[base + t + 64];
	__syncthreads();
	for (int j = 0; j < iterations; j++) {
		__syncthreads();
		stride *= 2;
		delta = stride / 2;
		if (t < n) {
			int i = stride * t + stride - 1, left = i - delta, right = i + delta;
			if (i == 127) {
				float k = a[i] / b[left];
				b[i] -= c[left] * k;
				d[i] -= d[left] * k;
				a[i] = -a[left] * k;
				c[i] = 0;
			} else {
				float k = a[i] / b[left], m = c[i] / b[right];
				b[i] = b[i] - c[left] * k - a[right] * m;
				d[i] = d[i] - d[left] * k - d[right] * m;
				a[i] = -a[left] * k;
				c[i] = -c[right] * m;
			}
		}
		n /= 2;
	}
	__syncthreads();
	x[t] = d[t] / b[t];
	x[t + 64] = d[t + 64] / b[t + 64];
	__syncthreads();
	gx[base + t] = x[t];
	gx[base + t + 64] = x[t + 64];
}

// prove: parallel_cyclic race-free --block-dim=128 --grid-dim=16
// pin: parallel_cyclic iterations=7
__global__ void parallel_cyclic(float *ga, float *gd, int iterations)
{
	__shared__ float a[128], d[128];
	int t = threadIdx.x, delta = 1;
	a[t] = ga[blockIdx.x * 128 + t];
	d[t] = gd[blockIdx.x * 128 + t];
	__syncthreads();
	for (int j = 0; j < iterations; j++) {
		int right = t + delta, left = t - delta;
		right &= 127;
		if (left < 0)
			left = 0;
		float k = a[t] / a[left], m = a[t] / a[right];
		float na = a[t] * k + m, nd = d[t] - d[left] * k - d[right] * m;
		__syncthreads();
		a[t] = na;
		d[t] = nd;
		delta *= 2;
		__syncthreads();
	}
	gd[blockIdx.x * 128 + t] = d[t] / a[t];
}

// prove: red_black race-free --block-dim=16,16 --grid-dim=32,32 --level=block
// pin: red_black nx=512 ny=512 colour=0
__global__ void red_black(float *u, const float *f, int nx, int ny, int colour)
{
	int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
	if (x > 0 && y > 0 && x < nx - 1 && y < ny - 1 && ((x + y) & 1) == colour)
		u[y * nx + x] = 0.25f * (u[y * nx + x - 1] + u[y * nx + x + 1] + u[(y - 1) * nx + x] +
					 u[(y + 1) * nx + x] - f[y * nx + x]);
}

// prove: lud_diagonal race-free --block-dim=16 --grid-dim=1
// pin: lud_diagonal dim=256 offset=0
__global__ void lud_diagonal(float *m, int dim, int offset)
{
	__shared__ float s[16][16];
	int at = offset * dim + offset, t = threadIdx.x;
	for (int i = 0; i < 16; i++) {
		s[i][t] = m[at + t];
		at += dim;
	}
	__syncthreads();
	for (int i = 0; i < 15; i++) {
		if (t > i) {
			for (int j = 0; j < i; j++)
				s[t][i] -= s[t][j] * s[j][i];
			s[t][i] /= s[i][i];
		}
		__syncthreads();
		if (t > i) {
			for (int j = 0; j < i + 1; j++)
				s[i + 1][t] -= s[i + 1][j] * s[j][t];
		}
		__syncthreads();
	}
	at = (offset + 1) * dim + offset;
	for (int i = 1; i < 16; i++) {
		m[at + t] = s[i][t];
		at += dim;
	}
}

// prove: lud_internal race-free --block-dim=16,16 --grid-dim=15,15
// pin: lud_internal dim=256 offset=0
__global__ void lud_internal(float *m, int dim, int offset)
{
	__shared__ float row[16][16], col[16][16];
	int gr = offset + (blockIdx.y + 1) * 16, gc = offset + (blockIdx.x + 1) * 16;
	row[threadIdx.y][threadIdx.x] = m[(offset + threadIdx.y) * dim + gc + threadIdx.x];
	col[threadIdx.y][threadIdx.x] = m[(gr + threadIdx.y) * dim + offset + threadIdx.x];
	__syncthreads();
	float sum = 0;
	for (int i = 0; i < 16; i++)
		sum += col[threadIdx.y][i] * row[i][threadIdx.x];
	m[(gr + threadIdx.y) * dim + gc + threadIdx.x] -= sum;
}

// prove: gauss_columns race-free --block-dim=16,16 --grid-dim=16,16
// pin: gauss_columns size=256 t=3
__global__ void gauss_columns(const float *m, float *a, float *b, int size, int j1, int t)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x >= size - 1 - t || y >= size - t)
		return;
	a[size * (x + 1 + t) + (y + t)] -= m[size * (x + 1 + t) + t] * a[size * t + (y + t)];
	if (y == 0)
		b[x + 1 + t] -= m[size * (x + 1 + t) + (y + t)] * b[t];
}

// prove: conjugate race-free --block-dim=256 --grid-dim=8
// pin: conjugate n=100000
__global__ void conjugate(float *x, float *r, float *p, const float *ax, float *dot, float alpha, float beta, int n)
{
	cg::grid_group grid = cg::this_grid();
	for (int i = grid.thread_rank(); i < n; i += grid.size())
		x[i] = alpha * p[i] + x[i];
	grid.sync();
	for (int i = grid.thread_rank(); i < n; i += grid.size())
		r[i] -= alpha * ax[i];
	grid.sync();
	for (int i = grid.thread_rank(); i < n; i += grid.size())
		p[i] = r[i] + beta * p[i];
	if (grid.thread_rank() == 0)
		*dot = 0;
}

// prove: wave_ring race-free --block-dim=256 --grid-dim=4
// pin: wave_ring n=1024 steps=50
__global__ void wave_ring(float *buf, int n, int steps)
{
	cg::grid_group grid = cg::this_grid();
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float *from = buf, *to = buf + n;
	for (int k = 0; k < steps; k++) {
		if (i > 0 && i < n - 1)
			to[i] = from[i - 1] + from[i + 1];
		grid.sync();
		float *t = from;
		from = to;
		to = t;
	}
}
