/*
 * samples.cu - filters, generators, transforms and volumes as the samples of a toolkit have them.
 */

__constant__ float weights[17];

// prove: convolve_rows race-free --block-dim=16,4 --grid-dim=24,192
// pin: convolve_rows w=3072 pitch=3072
__global__ void convolve_rows(float *dst, const float *src, int w, int pitch)
{
	__shared__ float s[4][16 * 10];
	const int x0 = (blockIdx.x * 8 - 1) * 16 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;
	for (int i = 0; i < 10; i++) {
		int x = x0 + i * 16;
		s[threadIdx.y][threadIdx.x + i * 16] = x >= 0 && x < w ? src[y * pitch + x] : 0;
	}
	__syncthreads();
	for (int i = 1; i < 9; i++) {
		float sum = 0;
		for (int j = -8; j <= 8; j++)
			sum += weights[8 - j] * s[threadIdx.y][threadIdx.x + i * 16 + j];
		dst[y * pitch + x0 + i * 16] = sum;
	}
}

// prove: convolve_shared race-free --block-dim=128 --grid-dim=24,512
// pin: convolve_shared w=3000
__global__ void convolve_shared(float *dst, const float *src, int w)
{
	__shared__ float s[8 + 128 + 8];
	int x = blockIdx.x * 128 + threadIdx.x, row = blockIdx.y * w;
	s[threadIdx.x + 8] = x < w ? src[row + x] : 0;
	if (threadIdx.x < 8)
		s[threadIdx.x] = x >= 8 ? src[row + x - 8] : 0;
	if (threadIdx.x >= 120)
		s[threadIdx.x + 16] = x + 8 < w ? src[row + x + 8] : 0;
	__syncthreads();
	if (x < w) {
		float sum = 0;
		for (int k = 0; k < 17; k++)
			sum += weights[k] * s[threadIdx.x + k];
		dst[row + x] = sum;
	}
}

// prove: bilateral race-free --block-dim=16,16 --grid-dim=40,30
// pin: bilateral w=640 h=480 pitch=640 r=5
__global__ void bilateral(unsigned *od, const unsigned *in, int w, int h, int pitch, float e, int r)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x >= w || y >= h)
		return;
	float sum = 0, t = 0;
	float center = in[y * pitch + x] & 255;
	for (int i = -r; i <= r; i++)
		for (int j = -r; j <= r; j++) {
			int xx = min(max(x + j, 0), w - 1), yy = min(max(y + i, 0), h - 1);
			float c = in[yy * pitch + xx] & 255, f = __expf(-(c - center) * (c - center) / e);
			sum += f;
			t += f * c;
		}
	od[y * pitch + x] = (unsigned)(t / sum) << 8 | 255;
}

// prove: means_nlm race-free --block-dim=8,8 --grid-dim=40,30
// pin: means_nlm w=320 h=240
__global__ void means_nlm(uchar4 *dst, const uchar4 *src, int w, int h, float noise)
{
	__shared__ float weight[64];
	const int ix = blockDim.x * blockIdx.x + threadIdx.x, iy = blockDim.y * blockIdx.y + threadIdx.y;
	const int cx = blockDim.x * blockIdx.x + 4, cy = blockDim.y * blockIdx.y + 4;
	float v = 0;
	if (ix < w && iy < h && cx < w && cy < h) {
		uchar4 a = src[iy * w + ix], b = src[cy * w + cx];
		v = (a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y);
	}
	weight[threadIdx.y * 8 + threadIdx.x] = __expf(-v * noise);
	__syncthreads();
	if (ix < w && iy < h) {
		float sum = 0;
		int at = 0;
		for (int i = 0; i < 8; i++)
			for (int j = 0; j < 8; j++)
				sum += weight[at++];
		unsigned char g = (unsigned char)sum;
		dst[w * iy + ix] = make_uchar4(g, g, g, 0);
	}
}

// prove: stereo_sad race-free --block-dim=32,8 --grid-dim=20,60
// pin: stereo_sad w=640 h=480 lo=-16 hi=0
__global__ void stereo_sad(const unsigned *a, const unsigned *b, unsigned *out, int w, int h, int lo, int hi)
{
	__shared__ unsigned diff[8 + 2 * 8][32 + 2 * 8];
	const int tx = blockDim.x * blockIdx.x + threadIdx.x, ty = blockDim.y * blockIdx.y + threadIdx.y;
	const int sx = threadIdx.x + 8, sy = threadIdx.y + 8;
	unsigned best = 9999999, disparity = 0;
	for (int d = lo; d <= hi; d++) {
		for (int i = 0; i < 3; i++) {
			int y = min(max(ty + 8 * (i - 1), 0), h - 1);
			unsigned p = a[y * w + min(tx, w - 1)], q = b[y * w + min(max(tx + d, 0), w - 1)];
			diff[sy + 8 * (i - 1)][sx] = __usad(p, q, 0);
			if (threadIdx.x < 16) {
				int x = min(max((int)threadIdx.x < 8 ? tx - 8 : tx + 24, 0), w - 1);
				int at = threadIdx.x < 8 ? threadIdx.x : threadIdx.x + 32;
				diff[sy + 8 * (i - 1)][at] = __usad(a[y * w + x], b[y * w + x], 0);
			}
		}
		__syncthreads();
		unsigned cost = 0;
		for (int i = -8; i <= 8; i++)
			cost += diff[sy][sx + i];
		if (cost < best) {
			best = cost;
			disparity = d + 8;
		}
		__syncthreads();
	}
	if (ty < h && tx < w)
		out[ty * w + tx] = disparity;
}

// prove: recursive_gauss race-free --block-dim=64 --grid-dim=8
// pin: recursive_gauss w=512 h=512
__global__ void recursive_gauss(float *od, const float *id, int w, int h, float a)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x;
	if (x >= w)
		return;
	id += x;
	od += x;
	float yp = *id;
	for (int y = 0; y < h; y++) {
		float xc = *id, yc = xc + a * (yp - xc);
		*od = yc;
		id += w;
		od += w;
		yp = yc;
	}
	id -= w;
	od -= w;
	yp = *id;
	for (int y = h - 1; y >= 0; y--) {
		float xc = *id, yc = xc + a * (yp - xc);
		*od = *od + yc;
		yp = yc;
		id -= w;
		od -= w;
	}
}

__constant__ unsigned directions[3][31];

// prove: quasirandom race-free --block-dim=128,3 --grid-dim=128
// pin: quasirandom seed=0 n=1048576
__global__ void quasirandom(float *out, unsigned seed, unsigned n)
{
	const unsigned *dir = &directions[threadIdx.y][0];
	unsigned tid = blockDim.x * blockIdx.x + threadIdx.x, threads = blockDim.x * gridDim.x;
	for (unsigned pos = tid; pos < n; pos += threads) {
		unsigned result = 0, data = seed + pos;
		for (int bit = 0; bit < 31; bit++, data >>= 1)
			if (data & 1)
				result ^= dir[bit];
		out[threadIdx.y * n + pos] = (float)(result + 1) * 4.656613e-10f;
	}
}

// prove: inverse_cnd race-free --block-dim=128 --grid-dim=128
// pin: inverse_cnd n=1048576
__global__ void inverse_cnd(float *out, const unsigned *in, unsigned n)
{
	unsigned distance = 0xffffffffu / (n + 1);
	for (unsigned pos = blockDim.x * blockIdx.x + threadIdx.x; pos < n; pos += blockDim.x * gridDim.x) {
		unsigned d = in ? in[pos] : (pos + 1) * distance;
		bool negate = d >= 0x80000000u;
		float x = (negate ? ~d : d) * 2.3e-10f;
		out[pos] = negate ? -x : x * x;
	}
}

// prove: sobol race-free --block-dim=64 --grid-dim=16,100
// pin: sobol vectors=100000
__global__ void sobol(unsigned vectors, const unsigned *dirs, float *out)
{
	__shared__ unsigned v[32];
	dirs += 32 * blockIdx.y;
	out += vectors * blockIdx.y;
	if (threadIdx.x < 32)
		v[threadIdx.x] = dirs[threadIdx.x];
	__syncthreads();
	int i0 = threadIdx.x + blockIdx.x * blockDim.x, stride = gridDim.x * blockDim.x;
	unsigned x = 0, g = i0 ^ (i0 >> 1);
	for (unsigned k = 0; k < 32; k++) {
		x ^= (g & 1) * v[k];
		g >>= 1;
	}
	if (i0 < vectors)
		out[i0] = x * 2.3e-10f;
	for (unsigned i = i0 + stride; i < vectors; i += stride) {
		x ^= v[__ffs(~(i - stride)) & 31];
		out[i] = x * 2.3e-10f;
	}
}

// prove: twister race-free --block-dim=128 --grid-dim=32
// pin: twister per=5860
__global__ void twister(float *random, const uint4 *config, int per)
{
	const int tid = blockDim.x * blockIdx.x + threadIdx.x, rng = blockDim.x * gridDim.x;
	unsigned mt[19];
	uint4 c = config[tid];
	mt[0] = c.x;
	for (int k = 1; k < 19; k++)
		mt[k] = (1812433253u * (mt[k - 1] ^ (mt[k - 1] >> 30)) + k) & 0xffffffffu;
	int state = 0;
	for (int out = 0; out < per; out++) {
		int next = state + 1 >= 19 ? 0 : state + 1, m = state + 9 >= 19 ? state - 10 : state + 9;
		unsigned x = (mt[state] & 0xfffffffe) | (mt[next] & 1);
		x = mt[m] ^ (x >> 1) ^ ((x & 1) ? c.y : 0);
		mt[state] = x;
		state = next;
		x ^= x >> 12;
		x ^= (x << 7) & c.z;
		random[tid + rng * out] = (x + 1.0f) / 4294967296.0f;
	}
}

// prove: box_muller race-free --block-dim=128 --grid-dim=32
// pin: box_muller per=5860
__global__ void box_muller(float *random, int per)
{
	const int tid = blockDim.x * blockIdx.x + threadIdx.x, rng = blockDim.x * gridDim.x;
	for (int out = 0; out < per; out += 2) {
		float &a = random[tid + (out + 0) * rng], &b = random[tid + (out + 1) * rng];
		float r = sqrtf(-2.0f * __logf(a)), phi = 6.2831853f * b;
		a = r * __cosf(phi);
		b = r * __sinf(phi);
	}
}

// prove: walsh_shared race-free --block-dim=512 --grid-dim=128
__global__ void walsh_shared(float *out, const float *in)
{
	extern __shared__ float s[];
	const int n = 2048, base = blockIdx.x << 11;
	for (int pos = threadIdx.x; pos < n; pos += blockDim.x)
		s[pos] = in[base + pos];
	const int pos = threadIdx.x;
	for (int stride = n >> 2; stride > 0; stride >>= 2) {
		int lo = pos & (stride - 1), i0 = ((pos - lo) << 2) + lo, i1 = i0 + stride, i2 = i1 + stride, i3 = i2 + stride;
		__syncthreads();
		float d0 = s[i0], d1 = s[i1], d2 = s[i2], d3 = s[i3], t;
		t = d0;
		d0 = d0 + d2;
		d2 = t - d2;
		t = d1;
		d1 = d1 + d3;
		d3 = t - d3;
		s[i0] = d0 + d1;
		s[i1] = d0 - d1;
		s[i2] = d2 + d3;
		s[i3] = d2 - d3;
	}
	__syncthreads();
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		out[base + i] = s[i];
}

// prove: walsh_global race-free --block-dim=256 --grid-dim=256
// pin: walsh_global stride=2048
__global__ void walsh_global(float *out, const float *in, int stride)
{
	const int pos = blockIdx.x * blockDim.x + threadIdx.x;
	int lo = pos & (stride - 1), i0 = ((pos - lo) << 2) + lo, i1 = i0 + stride, i2 = i1 + stride, i3 = i2 + stride;
	float d0 = in[i0], d1 = in[i1], d2 = in[i2], d3 = in[i3];
	out[i0] = d0 + d1 + d2 + d3;
	out[i1] = d0 - d1 + d2 - d3;
	out[i2] = d0 + d1 - d2 - d3;
	out[i3] = d0 - d1 - d2 + d3;
}

// prove: modulate race-free --block-dim=256 --grid-dim=128
// pin: modulate n=1048576
__global__ void modulate(float *a, const float *b, int n)
{
	int tid = blockIdx.x * blockDim.x + threadIdx.x, threads = blockDim.x * gridDim.x;
	float r = 1.0f / n;
	for (int pos = tid; pos < n; pos += threads)
		a[pos] *= b[pos] * r;
}

// prove: bisect_large race-free --block-dim=256 --grid-dim=2
// pin: bisect_large n=512
__global__ void bisect_large(const float *d, const float *s, int n, float *left, float *right, int *count, float x0)
{
	__shared__ float sd[256], ss[256];
	int tid = threadIdx.x, id = blockIdx.x * blockDim.x + tid;
	float x = x0 + id, delta = 1;
	int c = 0;
	for (int k = 0; k < n; k += blockDim.x) {
		__syncthreads();
		if (k + tid < n) {
			sd[tid] = d[k + tid];
			ss[tid] = s[k + tid];
		}
		__syncthreads();
		for (int i = 0; i < min(n - k, (int)blockDim.x); i++) {
			delta = sd[i] - x - ss[i] * ss[i] / delta;
			c += delta < 0;
		}
	}
	if (id < n) {
		left[id] = x;
		right[id] = x + 1;
		count[id] = c;
	}
}

// prove: classify_voxels race-free --block-dim=128 --grid-dim=256
// pin: classify_voxels n=32768
__global__ void classify_voxels(unsigned *verts, unsigned *occupied, const unsigned char *volume, uint3 size,
				const unsigned *table, int n, float iso)
{
	unsigned i = blockIdx.y * gridDim.x * blockDim.x + blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	unsigned x = i & 31, y = i >> 5 & 31, z = i >> 10, cube = 0;
	for (int c = 0; c < 8; c++) {
		unsigned at = (min(z + (c >> 2), size.z - 1) * size.y + min(y + (c >> 1 & 1), size.y - 1)) * size.x + x;
		cube |= (volume[at] < iso) << c;
	}
	verts[i] = table[cube];
	occupied[i] = table[cube] > 0;
}

// prove: compact_voxels potential --block-dim=128 --grid-dim=256
// pin: compact_voxels n=32768
__global__ void compact_voxels(unsigned *out, const unsigned *occupied, const unsigned *scan, int n)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n && occupied[i])
		out[scan[i]] = i;
}

// prove: volume_slices race-free --block-dim=8,8 --grid-dim=16,16
// pin: volume_slices nx=128 ny=128 nz=128
__global__ void volume_slices(float *out, const float *in, int nx, int ny, int nz)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x >= nx || y >= ny)
		return;
	for (int z = 0; z < nz; z++) {
		float v = in[(z * ny + y) * nx + x];
		out[(z * ny + y) * nx + x] = v > 0.5f ? v : 0;
	}
}

// prove: wave_heights race-free --block-dim=8,8 --grid-dim=32,32
// pin: wave_heights w=256 t=1
__global__ void wave_heights(float4 *pos, int w, int h, float t)
{
	unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	float u = x / (float)w * 2 - 1, v = y / (float)h * 2 - 1;
	pos[y * w + x] = make_float4(u, __sinf(u * 4 + t) * __cosf(v * 4 + t) * 0.5f, v, 1);
}

// prove: advect race-free --block-dim=64,4 --grid-dim=8,32
// pin: advect dx=512 dy=512 pdx=514 lb=4 pitch=4096
__global__ void advect(float2 *v, const float2 *in, float *vx, float *vy, int dx, int dy, int pdx, int lb, size_t pitch)
{
	int gtidx = blockIdx.x * blockDim.x + threadIdx.x, gtidy = blockIdx.y * (lb * blockDim.y) + threadIdx.y * lb;
	if (gtidx < dx) {
		for (int p = 0; p < lb; p++) {
			int fi = gtidy + p;
			if (fi < dy) {
				int fj = fi * pdx + gtidx;
				float2 t = in[(gtidx + fi) % (dx * dy)];
				vx[fj] = t.x;
				vy[fj] = t.y;
				float2 *row = (float2 *)((char *)v + fi * pitch) + gtidx;
				*row = t;
			}
		}
	}
}

// prove: cell_starts potential --block-dim=256 --grid-dim=64
// pin: cell_starts n=16384
__global__ void cell_starts(unsigned *first, unsigned *last, const unsigned *hash, unsigned n)
{
	extern __shared__ unsigned sh[];
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, h = 0;
	if (i < n) {
		h = hash[i];
		sh[threadIdx.x + 1] = h;
		if (i > 0 && threadIdx.x == 0)
			sh[0] = hash[i - 1];
	}
	__syncthreads();
	if (i < n) {
		if (i == 0 || h != sh[threadIdx.x]) {
			first[h] = i;
			if (i > 0)
				last[sh[threadIdx.x]] = i;
		}
		if (i == n - 1)
			last[h] = i + 1;
	}
}

// prove: collide_cells race-free --block-dim=64 --grid-dim=256
// pin: collide_cells n=16384 size=64
__global__ void collide_cells(float4 *velocity, const float4 *pos, const unsigned *index, const unsigned *first,
			      const unsigned *last, unsigned n, int size)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	float4 p = pos[i], f = make_float4(0, 0, 0, 0);
	int gx = (int)p.x & (size - 1), gy = (int)p.y & (size - 1);
	for (int y = -1; y <= 1; y++)
		for (int x = -1; x <= 1; x++) {
			unsigned cell = ((gy + y) & (size - 1)) * size + ((gx + x) & (size - 1));
			unsigned from = first[cell];
			if (from != 0xffffffff)
				for (unsigned j = from; j < last[cell]; j++)
					if (j != i)
						f.x += p.x - pos[j].x;
		}
	velocity[i] = f;
}
