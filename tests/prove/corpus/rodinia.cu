/*
 * rodinia.cu - what the Rodinia programs compute: alignment, particle filters, trees, flow, heart.
 */

#define B 16

// prove: nw_forward race-free --block-dim=16 --grid-dim=8
// pin: nw_forward cols=129 penalty=10 i=8
__global__ void nw_forward(const int *reference, int *matrix, int cols, int penalty, int i)
{
	int bx = blockIdx.x, t = threadIdx.x, bi = bx, bj = i - 1 - bx;
	int base = cols * B * bj + B * bi;
	int nw = base, n = base + t + 1, w = base + cols, at = base + t + cols + 1;
	__shared__ int temp[B + 1][B + 1], ref[B][B];
	if (t == 0)
		temp[t][0] = matrix[nw];
	for (int k = 0; k < B; k++)
		ref[k][t] = reference[at + cols * k];
	__syncthreads();
	temp[t + 1][0] = matrix[w + cols * t];
	__syncthreads();
	temp[0][t + 1] = matrix[n];
	__syncthreads();
	for (int m = 0; m < B; m++) {
		if (t <= m) {
			int x = t + 1, y = m - t + 1;
			temp[y][x] = max(temp[y - 1][x - 1] + ref[y - 1][x - 1],
					 max(temp[y][x - 1] - penalty, temp[y - 1][x] - penalty));
		}
		__syncthreads();
	}
	for (int m = B - 2; m >= 0; m--) {
		if (t <= m) {
			int x = t + B - m, y = B - t;
			temp[y][x] = max(temp[y - 1][x - 1] + ref[y - 1][x - 1],
					 max(temp[y][x - 1] - penalty, temp[y - 1][x] - penalty));
		}
		__syncthreads();
	}
	for (int k = 0; k < B; k++)
		matrix[at + k * cols] = temp[k + 1][t + 1];
}

// prove: lud_perimeter race-free --block-dim=32 --grid-dim=15
// pin: lud_perimeter dim=256 at=0
__global__ void lud_perimeter(float *m, int dim, int at)
{
	__shared__ float dia[B][B], row[B][B], col[B][B];
	int idx;
	if (threadIdx.x < B) {
		idx = threadIdx.x;
		int base = at * dim + at;
		for (int i = 0; i < B / 2; i++) {
			dia[i][idx] = m[base + idx];
			base += dim;
		}
		base = at * dim + at;
		for (int i = 0; i < B; i++) {
			row[i][idx] = m[base + (blockIdx.x + 1) * B + idx];
			base += dim;
		}
	} else {
		idx = threadIdx.x - B;
		int base = (at + B / 2) * dim + at;
		for (int i = B / 2; i < B; i++) {
			dia[i][idx] = m[base + idx];
			base += dim;
		}
		base = (at + (blockIdx.x + 1) * B) * dim + at;
		for (int i = 0; i < B; i++) {
			col[i][idx] = m[base + idx];
			base += dim;
		}
	}
	__syncthreads();
	if (threadIdx.x < B) {
		idx = threadIdx.x;
		for (int i = 1; i < B; i++)
			for (int j = 0; j < i; j++)
				row[i][idx] -= dia[i][j] * row[j][idx];
	} else {
		idx = threadIdx.x - B;
		for (int i = 0; i < B; i++) {
			for (int j = 0; j < i; j++)
				col[idx][i] -= col[idx][j] * dia[j][i];
			col[idx][i] /= dia[i][i];
		}
	}
	__syncthreads();
	if (threadIdx.x < B) {
		idx = threadIdx.x;
		int base = (at + 1) * dim + at;
		for (int i = 1; i < B; i++) {
			m[base + (blockIdx.x + 1) * B + idx] = row[i][idx];
			base += dim;
		}
	} else {
		idx = threadIdx.x - B;
		int base = (at + (blockIdx.x + 1) * B) * dim + at;
		for (int i = 0; i < B; i++) {
			m[base + idx] = col[i][idx];
			base += dim;
		}
	}
}

// prove: fan1 race-free --block-dim=512 --grid-dim=2
// pin: fan1 size=1000 t=3
__global__ void fan1(float *m, const float *a, int size, int t)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= size - 1 - t)
		return;
	m[size * (i + t + 1) + t] = a[size * (i + t + 1) + t] / a[size * t + t];
}

// prove: fan2 race-free --block-dim=4,4 --grid-dim=250,250
// pin: fan2 size=1000 t=3
__global__ void fan2(const float *m, float *a, float *b, int size, int t)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x >= size - 1 - t || y >= size - t)
		return;
	a[size * (x + 1 + t) + y + t] -= m[size * (x + 1 + t) + t] * a[size * t + y + t];
	if (y == 0)
		b[x + 1 + t] -= m[size * (x + 1 + t) + t] * b[t];
}

// prove: adjust_weights race-free --block-dim=16,16 --grid-dim=1,64
// pin: adjust_weights hid=16
__global__ void adjust_weights(const float *delta, int hid, const float *ly, float *w, float *old)
{
	int by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
	int at = (hid + 1) * 16 * by + (hid + 1) * ty + tx + 1 + hid + 1;
	int y = 16 * by + ty + 1, x = tx + 1;
	w[at] += 0.3f * delta[x] * ly[y] + 0.3f * old[at];
	old[at] = 0.3f * delta[x] * ly[y] + 0.3f * old[at];
	__syncthreads();
	if (ty == 0 && by == 0) {
		w[x] += 0.3f * delta[x] + 0.3f * old[x];
		old[x] = 0.3f * delta[x] + 0.3f * old[x];
	}
}

// prove: hotspot_columns race-free --block-dim=64,4 --grid-dim=8,128
// pin: hotspot_columns nx=512 ny=512 nz=8
__global__ void hotspot_columns(const float *p, const float *in, float *out, int nx, int ny, int nz)
{
	int i = blockDim.x * blockIdx.x + threadIdx.x, j = blockDim.y * blockIdx.y + threadIdx.y;
	int c = i + j * nx, xy = nx * ny;
	int w = i == 0 ? c : c - 1, e = i == nx - 1 ? c : c + 1, n = j == 0 ? c : c - nx, s = j == ny - 1 ? c : c + nx;
	float below = in[c], at = below, above = in[c + xy];
	out[c] = at * 0.4f + in[w] + in[e] + in[s] + in[n] + below + above + p[c];
	c += xy;
	w += xy;
	e += xy;
	n += xy;
	s += xy;
	for (int k = 1; k < nz - 1; ++k) {
		below = at;
		at = above;
		above = in[c + xy];
		out[c] = at * 0.4f + in[w] + in[e] + in[s] + in[n] + below + above + p[c];
		c += xy;
		w += xy;
		e += xy;
		n += xy;
		s += xy;
	}
	out[c] = above + in[w] + in[e] + in[s] + in[n] + p[c];
}

// prove: srad_prepare race-free --block-dim=512 --grid-dim=450
// pin: srad_prepare ne=229916
__global__ void srad_prepare(int ne, const float *image, float *sums, float *squares)
{
	int ei = blockIdx.x * 512 + threadIdx.x;
	if (ei < ne) {
		sums[ei] = image[ei];
		squares[ei] = image[ei] * image[ei];
	}
}

// prove: srad_reduce race-free --block-dim=512 --grid-dim=450
// pin: srad_reduce no=230400 mul=1
__global__ void srad_reduce(int no, int mul, float *sums, float *squares)
{
	__shared__ float a[512], b[512];
	int t = threadIdx.x, ei = blockIdx.x * 512 + t;
	if (ei < no) {
		a[t] = sums[ei * mul];
		b[t] = squares[ei * mul];
	}
	__syncthreads();
	for (int i = 2; i <= 512; i = 2 * i) {
		if ((t + 1) % i == 0) {
			a[t] += a[t - i / 2];
			b[t] += b[t - i / 2];
		}
		__syncthreads();
	}
	if (t == 511) {
		sums[blockIdx.x * mul * 512] = a[t];
		squares[blockIdx.x * mul * 512] = b[t];
	}
}

// prove: srad_first race-free --block-dim=512 --grid-dim=450
// pin: srad_first rows=502 ne=229916
__global__ void srad_first(int rows, int ne, const int *no, const int *so, const int *we, const int *ea, float *dn,
			   float *ds, float *c, const float *image, float q)
{
	int ei = blockIdx.x * 512 + threadIdx.x, row = (ei + 1) % rows - 1, col = (ei + 1) / rows;
	if ((ei + 1) % rows == 0) {
		row = rows - 1;
		col--;
	}
	if (ei < ne) {
		float jc = image[ei], n = image[no[row] + rows * col] - jc, s = image[so[row] + rows * col] - jc;
		float w = image[row + rows * we[col]] - jc, e = image[row + rows * ea[col]] - jc;
		float g = (n * n + s * s + w * w + e * e) / (jc * jc) - q;
		dn[ei] = n;
		ds[ei] = s;
		c[ei] = g < 0 ? 0 : g > 1 ? 1 : g;
	}
}

// prove: kernel_points race-free --block-dim=256 --grid-dim=1936
// pin: kernel_points npoints=494020 nclusters=5 nfeatures=34
__global__ void kernel_points(const float *features, int nfeatures, int npoints, int nclusters, int *membership,
			      const float *clusters)
{
	unsigned block = gridDim.x * blockIdx.y + blockIdx.x, id = block * blockDim.x + threadIdx.x;
	int best = -1;
	if (id < npoints) {
		float least = 3e38f;
		for (int i = 0; i < nclusters; i++) {
			float d = 0;
			for (int j = 0; j < nfeatures; j++) {
				float diff = features[id + j * npoints] - clusters[i * nfeatures + j];
				d += diff * diff;
			}
			if (d < least) {
				least = d;
				best = i;
			}
		}
		membership[id] = best;
	}
}

// prove: stream_gain potential --block-dim=512 --grid-dim=128
// pin: stream_gain num=65536 dim=256 k=20
__global__ void stream_gain(int num, int dim, long x, const float *weight, const int *assign, const float *cost,
			    const float *coord, const int *table, float *work, int k, bool *change)
{
	extern __shared__ float xs[];
	const int tid = blockDim.x * blockIdx.x + threadIdx.x;
	if (threadIdx.x == 0)
		for (int i = 0; i < dim; i++)
			xs[i] = coord[i * num + x];
	__syncthreads();
	if (tid < num) {
		float *lower = &work[tid * (k + 1)], d = 0;
		for (int i = 0; i < dim; i++) {
			float t = coord[i * num + tid] - xs[i];
			d += t * t;
		}
		d *= weight[tid];
		if (d < cost[tid]) {
			change[tid] = true;
			lower[k] += d - cost[tid];
		} else {
			lower[table[assign[tid]]] += cost[tid] - d;
		}
	}
}

struct Node {
	int keys[257], indices[257];
	bool is_leaf;
	int n;
};

// prove: find_k potential --block-dim=256 --grid-dim=1000
// pin: find_k height=3 elements=10000
__global__ void find_k(long height, const Node *knodes, long elements, const int *records, long *curr, long *offset,
		       const int *keys, int *ans)
{
	int t = threadIdx.x, b = blockIdx.x;
	for (int i = 0; i < height; i++) {
		if (knodes[curr[b]].keys[t] <= keys[b] && knodes[curr[b]].keys[t + 1] > keys[b])
			if (knodes[offset[b]].indices[t] < elements)
				offset[b] = knodes[offset[b]].indices[t];
		__syncthreads();
		if (t == 0)
			curr[b] = offset[b];
		__syncthreads();
	}
	if (knodes[curr[b]].keys[t] == keys[b])
		ans[b] = records[knodes[curr[b]].indices[t]];
}

// prove: cfd_step race-free --block-dim=192 --grid-dim=506
// pin: cfd_step nelr=97152
__global__ void cfd_step(int nelr, const float *variables, const float *areas, float *step)
{
	const int i = blockDim.x * blockIdx.x + threadIdx.x;
	float density = variables[i], e = variables[i + 4 * nelr];
	float mx = variables[i + 1 * nelr], my = variables[i + 2 * nelr], mz = variables[i + 3 * nelr];
	float speed = (mx * mx + my * my + mz * mz) / density, pressure = 0.4f * (e - 0.5f * density * speed);
	step[i] = 0.5f / (sqrtf(areas[i]) * (sqrtf(speed) + sqrtf(1.4f * pressure / density)));
}

// prove: cfd_flux race-free --block-dim=192 --grid-dim=506
// pin: cfd_flux nelr=97152
__global__ void cfd_flux(int nelr, const int *around, const float *normals, const float *v, float *flux)
{
	const int i = blockDim.x * blockIdx.x + threadIdx.x;
	float d = v[i], e = v[i + 4 * nelr], fd = 0, fe = 0, fx = 0;
#pragma unroll
	for (int j = 0; j < 4; j++) {
		int nb = around[i + j * nelr];
		float nx = normals[i + (j + 0 * 4) * nelr], ny = normals[i + (j + 1 * 4) * nelr];
		if (nb >= 0) {
			fd += nx * (v[nb] + d);
			fe += ny * (v[nb + 4 * nelr] + e);
			fx += nx * v[nb + nelr];
		} else if (nb == -1) {
			fx += ny * d;
		}
	}
	flux[i] = fd;
	flux[i + 1 * nelr] = fx;
	flux[i + 4 * nelr] = fe;
}

// prove: cfd_time race-free --block-dim=192 --grid-dim=506
// pin: cfd_time nelr=97152 j=1
__global__ void cfd_time(int j, int nelr, const float *old, float *v, const float *step, const float *flux)
{
	const int i = blockDim.x * blockIdx.x + threadIdx.x;
	float factor = step[i] / (4 - j);
	v[i] = old[i] + factor * flux[i];
	v[i + 4 * nelr] = old[i + 4 * nelr] + factor * flux[i + 4 * nelr];
	v[i + 1 * nelr] = old[i + 1 * nelr] + factor * flux[i + 1 * nelr];
}

// prove: particle_likelihood race-free --block-dim=128 --grid-dim=79
// pin: particle_likelihood particles=10000 ones=69
__global__ void particle_likelihood(float *x, float *y, const float *xj, const float *yj, const int *ox, const int *oy,
				    float *ind, float *weights, float *partial, int particles, int ones)
{
	__shared__ float buffer[512];
	int i = blockDim.x * blockIdx.x + threadIdx.x;
	if (i < particles) {
		x[i] = xj[i];
		y[i] = yj[i];
		weights[i] = 1.0f / particles;
	}
	buffer[threadIdx.x] = 0;
	__syncthreads();
	if (i < particles) {
		float sum = 0;
		for (int k = 0; k < ones; k++) {
			ind[i * ones + k] = x[i] + ox[k] + y[i] * oy[k];
			sum += ind[i * ones + k];
		}
		weights[i] *= sum;
		buffer[threadIdx.x] = weights[i];
	}
	__syncthreads();
	for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
		if (threadIdx.x < s)
			buffer[threadIdx.x] += buffer[threadIdx.x + s];
		__syncthreads();
	}
	if (threadIdx.x == 0)
		partial[blockIdx.x] = buffer[0];
}

// prove: particle_normalize race-free --block-dim=128 --grid-dim=79
// pin: particle_normalize particles=10000
__global__ void particle_normalize(float *weights, int particles, const float *partial, const float *cdf, float *u,
				   float u1)
{
	__shared__ float first, sum;
	int i = blockDim.x * blockIdx.x + threadIdx.x;
	if (threadIdx.x == 0)
		sum = partial[0];
	__syncthreads();
	if (i < particles)
		weights[i] /= sum;
	__syncthreads();
	if (threadIdx.x == 0)
		first = u1 + cdf[0];
	__syncthreads();
	if (i < particles)
		u[i] = first + i / (float)particles;
}

// prove: particle_find race-free --block-dim=128 --grid-dim=79
// pin: particle_find particles=10000
__global__ void particle_find(const float *x, const float *y, const float *cdf, const float *u, float *xj, float *yj,
			      int particles)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < particles) {
		int index = -1;
		for (int k = 0; k < particles; k++)
			if (cdf[k] >= u[i]) {
				index = k;
				break;
			}
		if (index == -1)
			index = particles - 1;
		xj[i] = x[index];
		yj[i] = y[index];
	}
	__syncthreads();
}

// prove: gicov race-free --block-dim=192 --grid-dim=560
// pin: gicov grad_m=219
__global__ void gicov(int grad_m, const float *gx, const float *gy, float *out, const float *sn, const int *tx)
{
	int i = blockIdx.x + 20 + 2, j = threadIdx.x + 20 + 2;
	float best = 0;
	for (int k = 0; k < 7; k++) {
		float sum = 0, m2 = 0, mean = 0;
		for (int n = 0; n < 150; n++) {
			int y = j + tx[k * 150 + n], x = i + tx[n];
			int at = x * grad_m + y;
			float p = gx[at] * sn[n] + gy[at];
			sum += p;
			float d = p - mean;
			mean += d / (n + 1);
			m2 += d * (p - mean);
		}
		mean = sum / 150;
		if (mean * mean / m2 > best)
			best = mean * mean / m2;
	}
	out[i * grad_m + j] = best;
}

// prove: dilate race-free --block-dim=176 --grid-dim=797
// pin: dilate m=219 n=640 se=25
__global__ void dilate(int m, int n, int se, const float *strel, const float *in, float *out)
{
	int half = se / 2, thread = blockIdx.x * blockDim.x + threadIdx.x;
	int i = thread % m, j = thread / m;
	if (j >= n)
		return;
	float most = 0;
	for (int a = 0; a < se; a++) {
		int y = i - half + a;
		if (y >= 0 && y < m)
			for (int b = 0; b < se; b++) {
				int x = j - half + b;
				if (x >= 0 && x < n && strel[a * se + b] != 0)
					most = fmaxf(most, in[x * m + y]);
			}
	}
	out[i * n + j] = most;
}

// prove: near_distances race-free --block-dim=256 --grid-dim=168
// pin: near_distances n=42764
__global__ void near_distances(const float2 *places, float *d, int n, float lat, float lng)
{
	int id = blockDim.x * (gridDim.x * blockIdx.y + blockIdx.x) + threadIdx.x;
	if (id < n) {
		float2 p = places[id];
		d[id] = sqrtf((lat - p.x) * (lat - p.x) + (lng - p.y) * (lng - p.y));
	}
}

// prove: bucket_count race-free --block-dim=32 --grid-dim=40
// pin: bucket_count size=100000
__global__ void bucket_count(const float *in, int *indices, unsigned *prefix, int size)
{
	__shared__ unsigned offsets[1024];
	const int per = blockIdx.x * 1024, threads = blockDim.x * gridDim.x;
	int tid = blockIdx.x * blockDim.x + threadIdx.x;
	for (int i = threadIdx.x; i < 1024; i += blockDim.x)
		offsets[i] = 0;
	__syncthreads();
	for (; tid < size; tid += threads) {
		int b = (int)(in[tid] * 1023) & 1023;
		indices[tid] = b + (atomicAdd(&offsets[b], 1) << 10);
	}
	__syncthreads();
	for (int i = threadIdx.x; i < 1024; i += blockDim.x)
		prefix[per + i] = offsets[i] & 0x7ffffff;
}

// prove: dwt_split race-free --block-dim=256 --grid-dim=400
// pin: dwt_split size=102400
__global__ void dwt_split(int *r, int *g, int *b, const unsigned char *src, int size)
{
	__shared__ unsigned char data[256 * 3];
	int x = threadIdx.x, at = blockIdx.x * 256 * 3;
	data[x] = src[at + x];
	data[x + 256] = src[at + x + 256];
	data[x + 512] = src[at + x + 512];
	__syncthreads();
	int to = blockIdx.x * 256 + x;
	if (to < size) {
		r[to] = data[x * 3] - 128;
		g[to] = data[x * 3 + 1] - 128;
		b[to] = data[x * 3 + 2] - 128;
	}
}

// prove: lava_box race-free --block-dim=128 --grid-dim=1000
// pin: lava_box boxes=1000
__global__ void lava_box(const int *nn, const int *number, const float4 *rv, const float *qv, float4 *fv, int boxes)
{
	__shared__ float4 ra[100], rb[100];
	__shared__ float qb[100];
	int bx = blockIdx.x, t = threadIdx.x;
	if (bx < boxes) {
		int first = bx * 100;
		for (int i = t; i < 100; i += 128)
			ra[i] = rv[first + i];
		__syncthreads();
		for (int k = 0; k < 1 + nn[bx]; k++) {
			int other = k == 0 ? first : number[bx * 26 + k - 1] * 100;
			for (int i = t; i < 100; i += 128) {
				rb[i] = rv[other + i];
				qb[i] = qv[other + i];
			}
			__syncthreads();
			for (int i = t; i < 100; i += 128)
				for (int j = 0; j < 100; j++) {
					float r = ra[i].w + rb[j].w - ra[i].x * rb[j].x;
					fv[first + i].x += qb[j] * r;
					fv[first + i].w += qb[j];
				}
			__syncthreads();
		}
	}
}

// prove: pathfinder_step race-free --block-dim=256 --grid-dim=463
// pin: pathfinder_step iteration=20 cols=100000 start=0 border=20
__global__ void pathfinder_step(int iteration, const int *wall, const int *src, int *results, int cols, int start,
				int border)
{
	__shared__ int prev[256], result[256];
	int bx = blockIdx.x, tx = threadIdx.x, small = 256 - iteration * 2;
	int x0 = small * bx - border, x1 = x0 + 255, xi = x0 + tx;
	int lo = x0 < 0 ? -x0 : 0, hi = x1 > cols - 1 ? 255 - (x1 - cols + 1) : 255;
	int w = max(tx - 1, lo), e = min(tx + 1, hi);
	bool is_valid = tx >= lo && tx <= hi, computed = false;
	if (xi >= 0 && xi <= cols - 1)
		prev[tx] = src[xi];
	__syncthreads();
	for (int i = 0; i < iteration; i++) {
		computed = false;
		if (tx >= i + 1 && tx <= 256 - i - 2 && is_valid) {
			computed = true;
			int least = min(min(prev[w], prev[tx]), prev[e]);
			result[tx] = least + wall[cols * (start + i) + xi];
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

// prove: myocyte_cells race-free --block-dim=32 --grid-dim=4
// pin: myocyte_cells cells=100 eq=91 par=16
__global__ void myocyte_cells(int cells, int eq, int par, const float *y, float *d, const float *params)
{
	int id = blockIdx.x * blockDim.x + threadIdx.x;
	if (id >= cells)
		return;
	const float *mine = y + id * eq, *p = params + id * par;
	float *out = d + id * eq;
	float m = mine[0], h = mine[1], v = mine[38];
	out[0] = (1 - m) * (v + 47.13f) - m * p[0];
	out[1] = (1 - h) * p[1] - h * __expf(v);
	for (int k = 2; k < 38; k++)
		out[k] = mine[k] * p[k % 16];
	out[38] = -(out[0] + out[1]) * p[15];
	for (int k = 39; k < eq; k++)
		out[k] = mine[k] - mine[k - 1];
}
