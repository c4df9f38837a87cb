/*
 * images.cu - pictures and volumes in rows with a pitch: filters, transposes, wavelets.
 */

#define INSIDE(x, y) ((x) < w && (y) < h)

// prove: invert race-free --block-dim=16,16 --grid-dim=64,48
// pin: invert w=1000 h=760 pitch=1024

__global__ void invert(unsigned char *p, int w, int h, int pitch)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	if (INSIDE(x, y) && w <= pitch)
		p[y * pitch + x] = 255 - p[y * pitch + x];
}

// prove: grey race-free --block-dim=32,8 --grid-dim=40,90
// pin: grey w=1280 h=720
__global__ void grey(float *out, const uchar4 *in, int w, int h)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	if (INSIDE(x, y)) {
		uchar4 c = in[y * w + x];
		out[y * w + x] = 0.3f * c.x + 0.59f * c.y + 0.11f * c.z;
	}
}

#define R 4
__constant__ float taps[2 * R + 1];

// prove: blur_rows race-free --block-dim=16,4 --grid-dim=24,192
// pin: blur_rows pitch=3072
__global__ void blur_rows(float *out, const float *in, int pitch)
{
	__shared__ float s[4][(8 + 2) * 16];
	const int bx = (blockIdx.x * 8 - 1) * 16 + threadIdx.x, by = blockIdx.y * 4 + threadIdx.y;
	in += by * pitch + bx;
	out += by * pitch + bx;
#pragma unroll
	for (int i = 1; i < 9; i++)
		s[threadIdx.y][threadIdx.x + i * 16] = in[i * 16];
	s[threadIdx.y][threadIdx.x] = bx >= 0 ? in[0] : 0;
	s[threadIdx.y][threadIdx.x + 9 * 16] = pitch - bx > 9 * 16 ? in[9 * 16] : 0;
	__syncthreads();
#pragma unroll
	for (int i = 1; i < 9; i++) {
		float sum = 0;
#pragma unroll
		for (int j = -R; j <= R; j++)
			sum += taps[R - j] * s[threadIdx.y][threadIdx.x + i * 16 + j];
		out[i * 16] = sum;
	}
}

// prove: blur_columns race-free --block-dim=16,8 --grid-dim=192,48
// pin: blur_columns h=3072 pitch=3072
__global__ void blur_columns(float *out, const float *in, int h, int pitch)
{
	__shared__ float s[16][10 * 8 + 1];
	const int x = blockIdx.x * 16 + threadIdx.x, y0 = (blockIdx.y * 8 - 1) * 8 + threadIdx.y;
	in += y0 * pitch + x;
	out += y0 * pitch + x;
	for (int i = 0; i < 10; i++) {
		int y = y0 + i * 8;
		s[threadIdx.x][threadIdx.y + i * 8] = y >= 0 && y < h ? in[i * 8 * pitch] : 0;
	}
	__syncthreads();
	for (int i = 1; i < 9; i++) {
		float sum = 0;
		for (int j = -R; j <= R; j++)
			sum += taps[R - j] * s[threadIdx.x][threadIdx.y + i * 8 + j];
		out[i * 8 * pitch] = sum;
	}
}

#define T 32
#define ROWS 8

// prove: transpose_padded race-free --block-dim=32,8 --grid-dim=32,32
// pin: transpose_padded w=1024 h=1024
__global__ void transpose_padded(float *out, const float *in, int w, int h)
{
	__shared__ float s[T][T + 1];
	int x = blockIdx.x * T + threadIdx.x, y = blockIdx.y * T + threadIdx.y;
	for (int j = 0; j < T; j += ROWS)
		if (INSIDE(x, y + j))
			s[threadIdx.y + j][threadIdx.x] = in[(y + j) * w + x];
	__syncthreads();
	x = blockIdx.y * T + threadIdx.x;
	y = blockIdx.x * T + threadIdx.y;
	for (int j = 0; j < T; j += ROWS)
		if (x < h && y + j < w)
			out[(y + j) * h + x] = s[threadIdx.x][threadIdx.y + j];
}

// prove: transpose_diagonal race-free --block-dim=32,8 --grid-dim=32,32
// pin: transpose_diagonal w=1024 h=1024
__global__ void transpose_diagonal(float *out, const float *in, int w, int h)
{
	__shared__ float s[T][T + 1];
	int by = blockIdx.x, bx = (blockIdx.x + blockIdx.y) % gridDim.x;
	int x = bx * T + threadIdx.x, y = by * T + threadIdx.y;
	int from = x + y * w;
	x = by * T + threadIdx.x;
	y = bx * T + threadIdx.y;
	int to = x + y * h;
	for (int i = 0; i < T; i += ROWS)
		s[threadIdx.y + i][threadIdx.x] = in[from + i * w];
	__syncthreads();
	for (int i = 0; i < T; i += ROWS)
		out[to + i * h] = s[threadIdx.x][threadIdx.y + i];
}

// prove: copy_tile race-free --block-dim=32,8 --grid-dim=32,32
// pin: copy_tile w=1024
__global__ void copy_tile(float *out, const float *in, int w)
{
	__shared__ float s[T * T];
	int x = blockIdx.x * T + threadIdx.x, y = blockIdx.y * T + threadIdx.y;
	for (int j = 0; j < T; j += ROWS)
		s[(threadIdx.y + j) * T + threadIdx.x] = in[(y + j) * w + x];
	__syncthreads();
	for (int j = 0; j < T; j += ROWS)
		out[(y + j) * w + x] = s[(threadIdx.y + j) * T + threadIdx.x];
}

// prove: sobel race-free --block-dim=16,16 --grid-dim=32,32
// pin: sobel w=512 h=512
__global__ void sobel(unsigned char *out, const unsigned char *in, int w, int h)
{
	__shared__ unsigned char s[18][18];
	int tx = threadIdx.x, ty = threadIdx.y, x0 = blockIdx.x * 16 - 1, y0 = blockIdx.y * 16 - 1;
	for (int i = ty * 16 + tx; i < 18 * 18; i += 256) {
		int x = min(max(x0 + i % 18, 0), w - 1), y = min(max(y0 + i / 18, 0), h - 1);
		s[i / 18][i % 18] = in[y * w + x];
	}
	__syncthreads();
	int gx = s[ty][tx + 2] + 2 * s[ty + 1][tx + 2] + s[ty + 2][tx + 2] - s[ty][tx] -
		 2 * s[ty + 1][tx] - s[ty + 2][tx];
	int gy = s[ty + 2][tx] + 2 * s[ty + 2][tx + 1] + s[ty + 2][tx + 2] - s[ty][tx] -
		 2 * s[ty][tx + 1] - s[ty][tx + 2];
	int x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty;
	if (INSIDE(x, y))
		out[y * w + x] = min(abs(gx) + abs(gy), 255);
}

// prove: box_rows race-free --block-dim=64 --grid-dim=16
// pin: box_rows w=1024 h=1024 r=8
__global__ void box_rows(float *out, const float *in, int w, int h, int r)
{
	int y = blockIdx.x * blockDim.x + threadIdx.x;
	if (y >= h)
		return;
	const float *row = in + y * w;
	float *o = out + y * w, t = row[0] * r, scale = 1.0f / (2 * r + 1);
	for (int x = 0; x < r + 1; x++)
		t += row[x];
	o[0] = t * scale;
	for (int x = 1; x < r + 1; x++) {
		t += row[x + r] - row[0];
		o[x] = t * scale;
	}
	for (int x = r + 1; x < w - r; x++) {
		t += row[x + r] - row[x - r - 1];
		o[x] = t * scale;
	}
	for (int x = w - r; x < w; x++) {
		t += row[w - 1] - row[x - r - 1];
		o[x] = t * scale;
	}
}

// prove: box_columns race-free --block-dim=64 --grid-dim=16
// pin: box_columns w=1024 h=1024 r=8
__global__ void box_columns(float *out, const float *in, int w, int h, int r)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x;
	if (x >= w)
		return;
	const float *col = in + x;
	float *o = out + x, t = col[0] * r;
	for (int y = 0; y < r + 1; y++)
		t += col[y * w];
	o[0] = t;
	for (int y = 1; y < r + 1; y++) {
		t += col[(y + r) * w] - col[0];
		o[y * w] = t;
	}
	for (int y = r + 1; y < h - r; y++) {
		t += col[(y + r) * w] - col[(y * w) - r * w - w];
		o[y * w] = t;
	}
}

// prove: haar race-free --block-dim=256 --grid-dim=4
// pin: haar levels=9 slots=1024
__global__ void haar(float *detail, float *approx, const float *in, int levels, int slots)
{
	__shared__ float s[512];
	int t = threadIdx.x, b = blockIdx.x;
	s[t] = in[b * 512 + t];
	s[t + 256] = in[b * 512 + t + 256];
	__syncthreads();
	float a0 = s[2 * t], a1 = s[2 * t + 1];
	__syncthreads();
	detail[t + b * 256 + slots] = (a0 - a1) * 0.7071f;
	s[t] = (a0 + a1) * 0.7071f;
	__syncthreads();
	int n = 128;
	for (int l = 1; l < levels; l++) {
		float x = 0, y = 0;
		if (t < n) {
			x = s[2 * t];
			y = s[2 * t + 1];
		}
		__syncthreads();
		if (t < n)
			s[t] = (x + y) * 0.7071f;
		n >>= 1;
		__syncthreads();
	}
	if (t == 0)
		approx[b] = s[0];
}

// prove: dct8 race-free --block-dim=8,4,2 --grid-dim=8,8
// pin: dct8 stride=512
__global__ void dct8(float *out, const float *in, int stride)
{
	__shared__ float s[16][33];
	int ox = threadIdx.y * 8 + threadIdx.x, oy = threadIdx.z * 8;
	in += (blockIdx.y * 16 + oy) * stride + blockIdx.x * 32 + ox;
	out += (blockIdx.y * 16 + oy) * stride + blockIdx.x * 32 + ox;
	for (int i = 0; i < 8; i++)
		s[oy + i][ox] = in[i * stride];
	__syncthreads();
	float r[8];
	for (int i = 0; i < 8; i++)
		r[i] = s[oy + threadIdx.x][threadIdx.y * 8 + i];
	for (int i = 0; i < 8; i++)
		s[oy + threadIdx.x][threadIdx.y * 8 + i] = r[i] + r[7 - i];
	__syncthreads();
	for (int i = 0; i < 8; i++)
		out[i * stride] = s[oy + i][ox];
}

// prove: dct8_in_place race-free --block-dim=8,8 --grid-dim=64,64
// pin: dct8_in_place w=512
__global__ void dct8_in_place(float *a, int w)
{
	__shared__ float s[8 * 8], t[8 * 8];
	int tx = threadIdx.x, ty = threadIdx.y, at = (blockIdx.y * 8 + ty) * w + blockIdx.x * 8 + tx;
	s[ty * 8 + tx] = a[at];
	__syncthreads();
	float v = 0;
	for (int i = 0; i < 8; i++)
		v += s[ty * 8 + i] * taps[i];
	t[ty * 8 + tx] = v;
	__syncthreads();
	v = 0;
	for (int i = 0; i < 8; i++)
		v += t[i * 8 + tx] * taps[i];
	a[at] = v;
}

// prove: mandelbrot race-free --block-dim=16,16 --grid-dim=50,38
// pin: mandelbrot w=800 h=600
__global__ void mandelbrot(uchar4 *out, int w, int h, float x0, float y0, float scale, int crunch)
{
	const int ix = blockDim.x * blockIdx.x + threadIdx.x, iy = blockDim.y * blockIdx.y + threadIdx.y;
	if (ix < w && iy < h) {
		float cx = x0 + ix * scale, cy = y0 + iy * scale, x = 0, y = 0;
		int m = 0;
		while (m < crunch && x * x + y * y < 4) {
			float t = x * x - y * y + cx;
			y = 2 * x * y + cy;
			x = t;
			m++;
		}
		int pixel = w * iy + ix;
		uchar4 c = {(unsigned char)m, (unsigned char)(m * 3), (unsigned char)(m * 5), 0};
		out[pixel] = c;
	}
}

// prove: srad race-free --block-dim=16,16 --grid-dim=32,32
// pin: srad cols=512 rows=512
__global__ void srad(float *e, float *w, float *n, float *so, const float *j, float *c, int cols, int rows, float q0)
{
	int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
	int index = cols * 16 * by + 16 * bx + cols * ty + tx;
	int index_n = cols * 16 * by + 16 * bx + tx - cols;
	int index_s = cols * 16 * by + 16 * bx + cols * 16 + tx;
	int index_w = cols * 16 * by + 16 * bx + cols * ty - 1;
	int index_e = cols * 16 * by + 16 * bx + cols * ty + 16;
	__shared__ float temp[16][16], result[16][16], north[16][16], south[16][16], east[16][16], west[16][16];
	north[ty][tx] = by == 0 ? j[16 * bx + tx] : j[index_n];
	south[ty][tx] = by == gridDim.y - 1 ? j[cols * 16 * (gridDim.y - 1) + 16 * bx + cols * 15 + tx] : j[index_s];
	__syncthreads();
	west[ty][tx] = bx == 0 ? j[cols * 16 * by + cols * ty] : j[index_w];
	east[ty][tx] = bx == gridDim.x - 1 ? j[cols * 16 * by + 16 * (gridDim.x - 1) + cols * ty + 15] : j[index_e];
	__syncthreads();
	temp[ty][tx] = j[index];
	__syncthreads();
	float jc = temp[ty][tx];
	float dn = (ty == 0 ? north[ty][tx] : temp[ty - 1][tx]) - jc;
	float ds = (ty == 15 ? south[ty][tx] : temp[ty + 1][tx]) - jc;
	float dw = (tx == 0 ? west[ty][tx] : temp[ty][tx - 1]) - jc;
	float de = (tx == 15 ? east[ty][tx] : temp[ty][tx + 1]) - jc;
	result[ty][tx] = 1.0f / (1.0f + (dn * dn + ds * ds + dw * dw + de * de) / q0);
	__syncthreads();
	c[index] = result[ty][tx];
	e[index] = de;
	w[index] = dw;
	so[index] = ds;
	n[index] = dn;
}
