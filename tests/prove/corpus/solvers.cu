/*
 * solvers.cu - transforms, sparse products, factorisations, stencils with halo and ping-pong buffers.
 */

// prove: fft_shared race-free --block-dim=256 --grid-dim=64
__global__ void fft_shared(float2 *a)
{
	__shared__ float2 s[512];
	int t = threadIdx.x, base = blockIdx.x * 512;
	s[__brev(t) >> 23] = a[base + t];
	s[__brev(t + 256) >> 23] = a[base + t + 256];
	__syncthreads();
	for (int half = 1; half < 512; half *= 2) {
		int k = t & (half - 1), i = ((t - k) << 1) + k, j = i + half;
		float c = __cosf(3.14159f * k / half), d = __sinf(3.14159f * k / half);
		float2 u = s[i], v = s[j];
		float2 w = make_float2(v.x * c + v.y * d, v.y * c - v.x * d);
		s[i] = make_float2(u.x + w.x, u.y + w.y);
		s[j] = make_float2(u.x - w.x, u.y - w.y);
		__syncthreads();
	}
	a[base + t] = s[t];
	a[base + t + 256] = s[t + 256];
}

// prove: fft_stockham race-free --block-dim=128 --grid-dim=32
// pin: fft_stockham n=8192 ns=64
__global__ void fft_stockham(float2 *out, const float2 *in, int n, int ns)
{
	int j = blockIdx.x * blockDim.x + threadIdx.x;
	if (j >= n / 2)
		return;
	float2 u = in[j], v = in[j + n / 2];
	float angle = -6.2831853f * (j % ns) / (ns * 2), c = __cosf(angle), s = __sinf(angle);
	float2 w = make_float2(v.x * c - v.y * s, v.x * s + v.y * c);
	int at = (j / ns) * ns * 2 + j % ns;
	out[at] = make_float2(u.x + w.x, u.y + w.y);
	out[at + ns] = make_float2(u.x - w.x, u.y - w.y);
}

// prove: fft_digit race-free --block-dim=64 --grid-dim=256
__global__ void fft_digit(float2 *work)
{
	__shared__ float s[8 * 8 * 9];
	int t = threadIdx.x, hi = t >> 3, lo = t & 7;
	work += blockIdx.x * 512 + t;
	float2 a[8];
	for (int i = 0; i < 8; i++)
		a[i] = work[i * 64];
	for (int i = 0; i < 8; i++)
		s[hi * 8 + lo + i * 66] = a[i].x;
	__syncthreads();
	for (int i = 0; i < 8; i++)
		a[i].x = s[lo * 66 + hi + i * 8];
	__syncthreads();
	for (int i = 0; i < 8; i++)
		s[hi * 8 + lo + i * 66] = a[i].y;
	__syncthreads();
	for (int i = 0; i < 8; i++)
		a[i].y = s[lo * 66 + hi + i * 8];
	for (int i = 0; i < 8; i++)
		work[i * 64] = a[i];
}

// prove: spmv_ell race-free --block-dim=128 --grid-dim=80
// pin: spmv_ell rows=10000 width=16
__global__ void spmv_ell(float *y, const float *x, const float *val, const int *col, int rows, int width)
{
	int r = blockIdx.x * blockDim.x + threadIdx.x;
	if (r < rows) {
		float sum = 0;
		for (int k = 0; k < width; k++) {
			int c = col[k * rows + r];
			if (c >= 0)
				sum += val[k * rows + r] * x[c];
		}
		y[r] = sum;
	}
}

// prove: spmv_dia race-free --block-dim=128 --grid-dim=80
// pin: spmv_dia rows=10000 diagonals=7
__global__ void spmv_dia(float *y, const float *x, const float *val, const int *offsets, int rows, int diagonals)
{
	__shared__ int off[32];
	for (int i = threadIdx.x; i < diagonals; i += blockDim.x)
		off[i] = offsets[i];
	__syncthreads();
	for (int r = blockIdx.x * blockDim.x + threadIdx.x; r < rows; r += gridDim.x * blockDim.x) {
		float sum = y[r];
		for (int d = 0; d < diagonals; d++) {
			int c = r + off[d];
			if (c >= 0 && c < rows)
				sum += val[d * rows + r] * x[c];
		}
		y[r] = sum;
	}
}

// prove: spmv_block race-free --block-dim=32,4 --grid-dim=256
// pin: spmv_block rows=1000
__global__ void spmv_block(float *y, const float *x, const float *val, const int *col, const int *start, int rows)
{
	__shared__ float s[4][32];
	int r = blockIdx.x * 4 + threadIdx.y;
	float sum = 0;
	if (r < rows)
		for (int k = start[r] + threadIdx.x; k < start[r + 1]; k += 32)
			sum += val[k] * x[col[k]];
	s[threadIdx.y][threadIdx.x] = sum;
	__syncwarp();
	for (int k = 16; k > 0; k /= 2) {
		if (threadIdx.x < k)
			s[threadIdx.y][threadIdx.x] += s[threadIdx.y][threadIdx.x + k];
		__syncwarp();
	}
	if (threadIdx.x == 0 && r < rows)
		y[r] = s[threadIdx.y][0];
}

// prove: thomas race-free --block-dim=128 --grid-dim=8
// pin: thomas systems=1024 n=64
__global__ void thomas(const float *a, const float *b, float *c, float *d, int systems, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= systems)
		return;
	c[i] /= b[i];
	d[i] /= b[i];
	for (int k = 1; k < n; k++) {
		int at = k * systems + i, up = at - systems;
		float m = 1 / (b[at] - a[at] * c[up]);
		c[at] *= m;
		d[at] = (d[at] - a[at] * d[up]) * m;
	}
	for (int k = n - 2; k >= 0; k--)
		d[k * systems + i] -= c[k * systems + i] * d[(k + 1) * systems + i];
}

// prove: cholesky race-free --block-dim=32 --grid-dim=100
__global__ void cholesky(float *m)
{
	__shared__ float a[32][33];
	int t = threadIdx.x;
	float *mine = m + blockIdx.x * 1024;
	for (int i = 0; i < 32; i++)
		a[i][t] = mine[i * 32 + t];
	__syncthreads();
	for (int k = 0; k < 32; k++) {
		if (t == k)
			a[k][k] = sqrtf(a[k][k]);
		__syncthreads();
		if (t > k)
			a[t][k] /= a[k][k];
		__syncthreads();
		if (t > k)
			for (int j = k + 1; j <= t; j++)
				a[t][j] -= a[t][k] * a[j][k];
		__syncthreads();
	}
	for (int i = 0; i < 32; i++)
		mine[i * 32 + t] = a[i][t];
}

// prove: lu_in_place true --block-dim=16,16 --grid-dim=16,16
// pin: lu_in_place n=256 k=3
// races: lu_in_place
__global__ void lu_in_place(float *a, int n, int k)
{
	int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
	if (x > k && y > k && x < n && y < n) {
		if (x == k + 1)
			a[y * n + k] /= a[k * n + k];
		a[y * n + x] -= a[y * n + k] * a[k * n + x];
	}
}

// prove: gram_row race-free --block-dim=128 --grid-dim=64
// pin: gram_row n=64 k=5
__global__ void gram_row(float *q, float *r, int n, int k)
{
	__shared__ float s[128];
	int j = blockIdx.x, t = threadIdx.x;
	if (j <= k || j >= n)
		return;
	float dot = 0;
	for (int i = t; i < 512; i += blockDim.x)
		dot += q[k * 512 + i] * q[j * 512 + i];
	s[t] = dot;
	__syncthreads();
	for (int h = 64; h > 0; h /= 2) {
		if (t < h)
			s[t] += s[t + h];
		__syncthreads();
	}
	dot = s[0];
	if (t == 0)
		r[k * n + j] = dot;
	for (int i = t; i < 512; i += blockDim.x)
		q[j * 512 + i] -= dot * q[k * 512 + i];
}

// prove: jacobi3d_shared race-free --block-dim=32,4,2 --grid-dim=4,32,64
// pin: jacobi3d_shared nx=128 ny=128 nz=128
__global__ void jacobi3d_shared(float *out, const float *in, int nx, int ny, int nz)
{
	__shared__ float s[4][6][34];
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y, z = blockIdx.z * 2 + threadIdx.z;
	int lx = threadIdx.x + 1, ly = threadIdx.y + 1, lz = threadIdx.z + 1, at = (z * ny + y) * nx + x;
	s[lz][ly][lx] = in[at];
	if (threadIdx.x == 0)
		s[lz][ly][0] = x > 0 ? in[at - 1] : 0;
	if (threadIdx.x == 31)
		s[lz][ly][33] = x < nx - 1 ? in[at + 1] : 0;
	if (threadIdx.y == 0)
		s[lz][0][lx] = y > 0 ? in[at - nx] : 0;
	if (threadIdx.y == 3)
		s[lz][5][lx] = y < ny - 1 ? in[at + nx] : 0;
	if (threadIdx.z == 0)
		s[0][ly][lx] = z > 0 ? in[at - nx * ny] : 0;
	if (threadIdx.z == 1)
		s[3][ly][lx] = z < nz - 1 ? in[at + nx * ny] : 0;
	__syncthreads();
	out[at] = (s[lz][ly][lx - 1] + s[lz][ly][lx + 1] + s[lz][ly - 1][lx] + s[lz][ly + 1][lx] + s[lz - 1][ly][lx] +
		   s[lz + 1][ly][lx]) / 6;
}

// prove: stencil25 race-free --block-dim=16,16 --grid-dim=16,16
// pin: stencil25 nx=264 ny=264 nz=64
__global__ void stencil25(float *out, const float *in, int nx, int ny, int nz)
{
	__shared__ float s[16 + 8][16 + 8];
	int x = blockIdx.x * 16 + threadIdx.x + 4, y = blockIdx.y * 16 + threadIdx.y + 4, plane = nx * ny;
	int tx = threadIdx.x + 4, ty = threadIdx.y + 4, at = y * nx + x;
	float q[9];
	for (int i = 0; i < 9; i++)
		q[i] = in[at + i * plane];
	for (int z = 4; z < nz - 4; z++) {
		__syncthreads();
		if (threadIdx.y < 4) {
			s[threadIdx.y][tx] = in[z * plane + at - 4 * nx];
			s[threadIdx.y + 20][tx] = in[z * plane + at + 16 * nx];
		}
		if (threadIdx.x < 4) {
			s[ty][threadIdx.x] = in[z * plane + at - 4];
			s[ty][threadIdx.x + 20] = in[z * plane + at + 16];
		}
		s[ty][tx] = q[4];
		__syncthreads();
		float sum = q[4];
		for (int i = 1; i <= 4; i++)
			sum += q[4 - i] + q[4 + i] + s[ty - i][tx] + s[ty + i][tx] + s[ty][tx - i] + s[ty][tx + i];
		out[z * plane + at] = sum;
		for (int i = 0; i < 8; i++)
			q[i] = q[i + 1];
		q[8] = in[(z + 5) * plane + at];
	}
}

// prove: gauss_seidel_colour race-free --block-dim=16,16 --grid-dim=8,16
// pin: gauss_seidel_colour n=256 colour=1
__global__ void gauss_seidel_colour(float *u, const float *f, int n, int colour)
{
	int y = blockIdx.y * 16 + threadIdx.y, x = 2 * (blockIdx.x * 16 + threadIdx.x) + ((y + colour) & 1);
	if (x > 0 && x < n - 1 && y > 0 && y < n - 1) {
		int at = y * n + x;
		u[at] = 0.25f * (u[at - 1] + u[at + 1] + u[at - n] + u[at + n] - f[at]);
	}
}

// prove: restrict_grid race-free --block-dim=16,16 --grid-dim=8,8
// pin: restrict_grid nc=128
__global__ void restrict_grid(float *coarse, const float *fine, int nc)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, nf = 2 * nc;
	if (x < nc && y < nc)
		coarse[y * nc + x] = 0.25f * (fine[2 * y * nf + 2 * x] + fine[2 * y * nf + 2 * x + 1] +
					      fine[(2 * y + 1) * nf + 2 * x] + fine[(2 * y + 1) * nf + 2 * x + 1]);
}

// prove: prolong_grid race-free --block-dim=16,16 --grid-dim=8,8
// pin: prolong_grid nc=128
__global__ void prolong_grid(float *fine, const float *coarse, int nc)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, nf = 2 * nc;
	if (x < nc && y < nc) {
		float c = coarse[y * nc + x];
		fine[2 * y * nf + 2 * x] += c;
		fine[2 * y * nf + 2 * x + 1] += c;
		fine[(2 * y + 1) * nf + 2 * x] += c;
		fine[(2 * y + 1) * nf + 2 * x + 1] += c;
	}
}

// prove: lattice_stream race-free --block-dim=64 --grid-dim=8,256
// pin: lattice_stream nx=512 ny=256
__global__ void lattice_stream(float *out, const float *in, int nx, int ny)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y, size = nx * ny;
	int e = (x + 1) % nx, w = (x + nx - 1) % nx, n = (y + 1) % ny, s = (y + ny - 1) % ny;
	out[y * nx + x] = in[y * nx + x];
	out[size + y * nx + e] = in[size + y * nx + x];
	out[2 * size + n * nx + x] = in[2 * size + y * nx + x];
	out[3 * size + y * nx + w] = in[3 * size + y * nx + x];
	out[4 * size + s * nx + x] = in[4 * size + y * nx + x];
	out[5 * size + n * nx + e] = in[5 * size + y * nx + x];
}

// prove: lattice_collide race-free --block-dim=64 --grid-dim=8,256
// pin: lattice_collide nx=512 ny=256
__global__ void lattice_collide(float *f, int nx, int ny, float omega)
{
	int at = blockIdx.y * nx + blockIdx.x * blockDim.x + threadIdx.x, size = nx * ny;
	float v[9], rho = 0;
	for (int k = 0; k < 9; k++)
		rho += v[k] = f[k * size + at];
	for (int k = 0; k < 9; k++)
		f[k * size + at] = v[k] + omega * (rho / 9 - v[k]);
}

// prove: shallow_water race-free --block-dim=32,8 --grid-dim=8,32
// pin: shallow_water nx=256 ny=256
__global__ void shallow_water(float *h, float *u, float *v, int nx, int ny, float dt)
{
	__shared__ float s[10][34];
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
	s[threadIdx.y + 1][threadIdx.x + 1] = x < nx && y < ny ? u[y * nx + x] : 0;
	if (threadIdx.x == 0)
		s[threadIdx.y + 1][0] = 0;
	if (threadIdx.y == 0)
		s[0][threadIdx.x + 1] = 0;
	__syncthreads();
	if (x < nx && y < ny) {
		float d = s[threadIdx.y + 1][threadIdx.x + 1] - s[threadIdx.y + 1][threadIdx.x] - s[threadIdx.y][threadIdx.x + 1];
		h[y * nx + x] -= dt * d;
		v[y * nx + x] += dt * h[y * nx + x];
	}
}

// prove: pingpong_rows race-free --block-dim=256 --grid-dim=32
// pin: pingpong_rows steps=50
__global__ void pingpong_rows(float *a, int steps)
{
	__shared__ float s[2][258];
	int t = threadIdx.x + 1, cur = 0;
	float *row = a + blockIdx.x * 256;
	s[0][t] = row[t - 1];
	if (t == 1)
		s[0][0] = s[1][0] = 0;
	if (t == 256)
		s[0][257] = s[1][257] = 0;
	__syncthreads();
	for (int k = 0; k < steps; k++) {
		s[cur ^ 1][t] = 0.5f * s[cur][t] + 0.25f * (s[cur][t - 1] + s[cur][t + 1]);
		cur ^= 1;
		__syncthreads();
	}
	row[t - 1] = s[cur][t];
}

// prove: matvec_shared race-free --block-dim=128 --grid-dim=32
// pin: matvec_shared n=4096
__global__ void matvec_shared(float *y, const float *m, const float *x, int n)
{
	__shared__ float s[128];
	int row = blockIdx.x * 128 + threadIdx.x;
	float sum = 0;
	for (int k = 0; k < n; k += 128) {
		s[threadIdx.x] = x[k + threadIdx.x];
		__syncthreads();
		for (int j = 0; j < 128; j++)
			sum += m[(k + j) * n + row] * s[j];
		__syncthreads();
	}
	if (row < n)
		y[row] = sum;
}

// prove: matmul_vector race-free --block-dim=16,16 --grid-dim=8,8
// pin: matmul_vector n=512
__global__ void matmul_vector(float *c, const float *a, const float *b, int n)
{
	__shared__ float sa[16][68], sb[16][64];
	int t = threadIdx.y * 16 + threadIdx.x, row = blockIdx.y * 64, col = blockIdx.x * 64;
	float acc[4][4] = {{0}};
	for (int k = 0; k < n; k += 16) {
		for (int i = 0; i < 4; i++) {
			int at = t + i * 256;
			sa[at & 15][at >> 4] = a[(row + (at >> 4)) * n + k + (at & 15)];
			sb[at >> 6][at & 63] = b[(k + (at >> 6)) * n + col + (at & 63)];
		}
		__syncthreads();
		for (int kk = 0; kk < 16; kk++)
			for (int i = 0; i < 4; i++)
				for (int j = 0; j < 4; j++)
					acc[i][j] += sa[kk][threadIdx.y * 4 + i] * sb[kk][threadIdx.x * 4 + j];
		__syncthreads();
	}
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < 4; j++)
			c[(row + threadIdx.y * 4 + i) * n + col + threadIdx.x * 4 + j] = acc[i][j];
}
