/*
 * science.cu - particles, graphs, sparse matrices, finance and random numbers.
 */
#include <curand_kernel.h>

// prove: csr_spmv race-free --block-dim=256 --grid-dim=400
// pin: csr_spmv rows=100000
__global__ void csr_spmv(float *y, const int *ptr, const int *col, const float *val, const float *x, int rows)
{
	int r = blockIdx.x * blockDim.x + threadIdx.x;
	if (r < rows) {
		float sum = 0;
		for (int i = ptr[r]; i < ptr[r + 1]; i++)
			sum += val[i] * x[col[i]];
		y[r] = sum;
	}
}

// prove: csr_vector race-free --block-dim=128 --grid-dim=1000
// pin: csr_vector rows=4000
__global__ void csr_vector(float *y, const int *ptr, const int *col, const float *val, const float *x, int rows)
{
	__shared__ volatile float part[128];
	int t = threadIdx.x, lane = t & 31, r = (blockIdx.x * 128 + t) / 32;
	if (r >= rows)
		return;
	float sum = 0;
	for (int i = ptr[r] + lane; i < ptr[r + 1]; i += 32)
		sum += val[i] * x[col[i]];
	for (int d = 16; d > 0; d /= 2)
		sum += __shfl_down_sync(~0u, sum, d);
	if (lane == 0)
		y[r] = sum;
}

// Right where the rows' starts are sorted, which nothing says here.
// prove: csr_scale potential --block-dim=256 --grid-dim=400
// pin: csr_scale rows=100000
__global__ void csr_scale(float *val, const int *ptr, const float *d, int rows)
{
	int r = blockIdx.x * blockDim.x + threadIdx.x;
	if (r < rows)
		for (int i = ptr[r]; i < ptr[r + 1]; i++)
			val[i] *= d[r];
}

// prove: bfs_level race-free --block-dim=512 --grid-dim=128
// pin: bfs_level n=65536
__global__ void bfs_level(const int *start, const int *count, const int *edges, char *mask, char *updating, char *visited, int *cost, int n, int level)
{
	int t = blockIdx.x * 512 + threadIdx.x;
	if (t < n && mask[t]) {
		mask[t] = 0;
		for (int i = start[t]; i < start[t] + count[t]; i++) {
			int id = edges[i];
			if (!visited[id])
				atomicExch(&cost[id], level);
		}
	}
}

// prove: bfs_update race-free --block-dim=512 --grid-dim=128
// pin: bfs_update n=65536
__global__ void bfs_update(char *mask, char *updating, char *visited, int n)
{
	int t = blockIdx.x * 512 + threadIdx.x;
	if (t < n && updating[t]) {
		mask[t] = 1;
		visited[t] = 1;
		updating[t] = 0;
	}
}

// prove: pagerank race-free --block-dim=256 --grid-dim=256
// pin: pagerank n=65536
__global__ void pagerank(float *next, const float *rank, const int *ptr, const int *in, const int *degree, int n)
{
	int v = blockIdx.x * blockDim.x + threadIdx.x;
	if (v >= n)
		return;
	float sum = 0;
	for (int e = ptr[v]; e < ptr[v + 1]; e++)
		sum += rank[in[e]] / degree[in[e]];
	next[v] = 0.15f / n + 0.85f * sum;
}

// prove: degree_count race-free --block-dim=256 --grid-dim=256
// pin: degree_count m=1000000
__global__ void degree_count(int *degree, const int2 *edge, int m)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < m) {
		atomicAdd(&degree[edge[i].x], 1);
		atomicAdd(&degree[edge[i].y], 1);
	}
}

// prove: scatter race-free --block-dim=256 --grid-dim=256
// pin: scatter n=65536
__global__ void scatter(float *out, const float *in, const int *where, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	collider_injective(where, n);
	if (i < n)
		out[where[i]] = in[i];
}

// prove: gather race-free --block-dim=256 --grid-dim=256
// pin: gather n=65536
__global__ void gather(float4 *out, const float4 *in, const int *from, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		out[i] = in[from[i]];
}

// prove: compact race-free --block-dim=256 --grid-dim=256
// pin: compact n=65536
__global__ void compact(int *out, const int *in, const int *pos, const int *flag, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	collider_injective(pos, n);
	if (i < n && flag[i])
		out[pos[i]] = in[i];
}

// prove: nbody race-free --block-dim=256 --grid-dim=64
// pin: nbody tiles=64
__global__ void nbody(float4 *npos, const float4 *pos, float4 *vel, int n, float dt, int tiles)
{
	__shared__ float4 s[256];
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float4 p = pos[i];
	float3 a = {0, 0, 0};
	for (int tile = 0; tile < tiles; tile++) {
		s[threadIdx.x] = pos[tile * blockDim.x + threadIdx.x];
		__syncthreads();
		for (int k = 0; k < blockDim.x; k++) {
			float dx = s[k].x - p.x, dy = s[k].y - p.y, dz = s[k].z - p.z;
			float inv = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
			float f = s[k].w * inv * inv * inv;
			a.x += dx * f;
			a.y += dy * f;
			a.z += dz * f;
		}
		__syncthreads();
	}
	float4 v = vel[i];
	v.x += a.x * dt;
	v.y += a.y * dt;
	v.z += a.z * dt;
	npos[i] = make_float4(p.x + v.x * dt, p.y + v.y * dt, p.z + v.z * dt, p.w);
	vel[i] = v;
}

// prove: md_forces race-free --block-dim=64 --grid-dim=60
// pin: md_forces atoms=30720 padded=30720
__global__ void md_forces(unsigned long long *force, const float4 *posq, const int2 *pairs, int npairs, int atoms, int padded)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < npairs; i += blockDim.x * gridDim.x) {
		int2 p = pairs[i];
		float4 a = posq[p.x], b = posq[p.y];
		float dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z, r2 = dx * dx + dy * dy + dz * dz;
		float f = r2 < 1 ? a.w * b.w / (r2 * sqrtf(r2)) : 0;
		atomicAdd(&force[p.x], (unsigned long long)(long long)(dx * f * 0x100000000));
		atomicAdd(&force[p.x + padded], (unsigned long long)(long long)(dy * f * 0x100000000));
		atomicAdd(&force[p.x + 2 * padded], (unsigned long long)(long long)(dz * f * 0x100000000));
		atomicAdd(&force[p.y], (unsigned long long)(long long)(-dx * f * 0x100000000));
	}
}

// prove: md_integrate race-free --block-dim=64 --grid-dim=60
// pin: md_integrate atoms=30720 padded=30720
__global__ void md_integrate(int atoms, int padded, float2 *dt, float4 *velm, const long long *force, float4 *delta)
{
	float step = dt[0].y, f = step / (float)0x100000000;
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < atoms; i += blockDim.x * gridDim.x) {
		float4 v = velm[i];
		if (v.w != 0) {
			v.x += f * force[i] * v.w;
			v.y += f * force[i + padded] * v.w;
			v.z += f * force[i + padded * 2] * v.w;
			velm[i] = v;
			delta[i] = make_float4(v.x * step, v.y * step, v.z * step, 0);
		}
	}
}

// prove: md_energy race-free --block-dim=64 --grid-dim=60
// pin: md_energy size=3840 work=64
__global__ void md_energy(const double *buffer, double *result, int size, int work)
{
	__shared__ double temp[64];
	const unsigned t = threadIdx.x;
	double sum = 0;
	for (unsigned i = blockIdx.x * blockDim.x + t; i < size; i += blockDim.x * gridDim.x)
		sum += buffer[i];
	temp[t] = sum;
	for (int i = 1; i < 64; i *= 2) {
		__syncthreads();
		if (t % (i * 2) == 0 && t + i < 64)
			temp[t] += temp[t + i];
	}
	if (t == 0)
		result[blockIdx.x] = temp[0];
}

// Right where no atom is in two groups, which nothing says here.
// prove: md_settle potential --block-dim=64 --grid-dim=60
// pin: md_settle groups=10000
__global__ void md_settle(float4 *pos, const int4 *group, int groups)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < groups; i += blockDim.x * gridDim.x) {
		int4 g = group[i];
		float4 a = pos[g.x], b = pos[g.y];
		a.x += b.x;
		pos[g.x] = a;
		pos[g.y] = b;
	}
}

// prove: lava race-free --block-dim=128 --grid-dim=1000
// pin: lava boxes=1000
struct Box {
	int x, y, z, number;
	long offset;
	int nn;
	int nei[26];
};
__global__ void lava(const Box *box, const float4 *rv, const float *qv, float4 *fv, int boxes)
{
	__shared__ float4 ra[100], rb[100];
	__shared__ float qb[100];
	int bx = blockIdx.x, tx = threadIdx.x;
	if (bx >= boxes)
		return;
	int first = bx * 100;
	for (int w = tx; w < 100; w += 128)
		ra[w] = rv[first + w];
	__syncthreads();
	for (int k = 0; k < 1 + box[bx].nn; k++) {
		int p = k == 0 ? bx : box[bx].nei[k - 1];
		for (int w = tx; w < 100; w += 128) {
			rb[w] = rv[p * 100 + w];
			qb[w] = qv[p * 100 + w];
		}
		__syncthreads();
		for (int w = tx; w < 100; w += 128)
			for (int j = 0; j < 100; j++) {
				float r2 = ra[w].x * rb[j].x + ra[w].y * rb[j].y;
				fv[first + w].x += qb[j] * r2;
				fv[first + w].y += qb[j] * r2 * r2;
			}
		__syncthreads();
	}
}

// prove: black_scholes race-free --block-dim=128 --grid-dim=31250
// pin: black_scholes n=4000000
__global__ void black_scholes(float2 *call, float2 *put, const float2 *price, const float2 *strike, const float2 *years, float r, float v, int n)
{
	const int i = blockDim.x * blockIdx.x + threadIdx.x;
	if (i < n / 2) {
		float a = __logf(price[i].x / strike[i].x) + r * years[i].x, b = __expf(-r * years[i].y);
		call[i] = make_float2(a * normcdff(a), b);
		put[i] = make_float2(b - a, a * v);
	}
}

// prove: setup_states race-free --block-dim=64 --grid-dim=64
// pin: setup_states seed=1234
__global__ void setup_states(curandState *state, unsigned long long seed)
{
	int id = threadIdx.x + blockIdx.x * blockDim.x;
	curand_init(seed, id, 0, &state[id]);
}

// prove: estimate_pi race-free --block-dim=128 --grid-dim=64
// pin: estimate_pi sims=100000
__global__ void estimate_pi(unsigned *out, curandState *state, int sims)
{
	__shared__ unsigned s[128];
	int t = threadIdx.x, id = blockIdx.x * blockDim.x + t;
	curandState local = state[id];
	unsigned in = 0;
	for (int i = id; i < sims; i += gridDim.x * blockDim.x) {
		float x = curand_uniform(&local), y = curand_uniform(&local);
		in += x * x + y * y < 1;
	}
	state[id] = local;
	s[t] = in;
	__syncthreads();
	for (int d = 64; d > 0; d >>= 1) {
		if (t < d)
			s[t] += s[t + d];
		__syncthreads();
	}
	if (t == 0)
		out[blockIdx.x] = s[0];
}

// prove: philox_dropout race-free --block-dim=256 --grid-dim=1024
// pin: philox_dropout n=1000000
__global__ void philox_dropout(float *out, unsigned char *keep, const float *in, int n, float p, unsigned long long seed)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	curandStatePhilox4_32_10_t s;
	curand_init(seed, i, 0, &s);
	float4 r = curand_uniform4(&s);
	int at = i * 4;
	if (at + 3 < n) {
		keep[at] = r.x > p;
		keep[at + 1] = r.y > p;
		keep[at + 2] = r.z > p;
		keep[at + 3] = r.w > p;
		out[at] = in[at] * keep[at];
		out[at + 1] = in[at + 1] * keep[at + 1];
		out[at + 2] = in[at + 2] * keep[at + 2];
		out[at + 3] = in[at + 3] * keep[at + 3];
	}
}

// prove: binomial race-free --block-dim=128 --grid-dim=1024
__global__ void binomial(float *out, const float *s0, const float *x0)
{
	__shared__ float call[129];
	const int t = threadIdx.x;
	float c[17];
	for (int i = 0; i < 16; i++)
		c[i] = fmaxf(s0[blockIdx.x] * (t * 16 + i) - x0[blockIdx.x], 0);
	if (t == 0)
		call[128] = s0[blockIdx.x];
	int final_it = max(0, t * 16 - 1);
	for (int i = 2048; i > 0; i--) {
		call[t] = c[0];
		__syncthreads();
		c[16] = call[t + 1];
		__syncthreads();
		if (i > final_it) {
			for (int j = 0; j < 16; j++)
				c[j] = 0.5f * c[j + 1] + 0.5f * c[j];
		}
	}
	if (t == 0)
		out[blockIdx.x] = c[0];
}

// prove: monte_carlo race-free --block-dim=256 --grid-dim=512
// pin: monte_carlo paths=262144
__global__ void monte_carlo(double2 *result, const float *samples, int paths)
{
	__shared__ double s1[256], s2[256];
	double a = 0, b = 0;
	for (int i = threadIdx.x; i < paths; i += blockDim.x) {
		double v = samples[i] * (blockIdx.x + 1);
		a += v;
		b += v * v;
	}
	s1[threadIdx.x] = a;
	s2[threadIdx.x] = b;
	__syncthreads();
	for (int d = 128; d > 0; d >>= 1) {
		if (threadIdx.x < d) {
			s1[threadIdx.x] += s1[threadIdx.x + d];
			s2[threadIdx.x] += s2[threadIdx.x + d];
		}
		__syncthreads();
	}
	if (threadIdx.x == 0) {
		double2 t = {s1[0], s2[0]};
		result[blockIdx.x] = t;
	}
}

// prove: kmeans_assign race-free --block-dim=256 --grid-dim=400
// pin: kmeans_assign n=100000 k=5 dims=34
__global__ void kmeans_assign(int *member, const float *feature, const float *centre, int n, int k, int dims)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, best = -1;
	if (i >= n)
		return;
	float low = 1e30f;
	for (int c = 0; c < k; c++) {
		float d = 0;
		for (int f = 0; f < dims; f++) {
			float x = feature[f * n + i] - centre[c * dims + f];
			d += x * x;
		}
		if (d < low) {
			low = d;
			best = c;
		}
	}
	member[i] = best;
}

// prove: kmeans_transpose race-free --block-dim=256 --grid-dim=400
// pin: kmeans_transpose n=100000 dims=34
__global__ void kmeans_transpose(float *out, const float *in, int n, int dims)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		for (int f = 0; f < dims; f++)
			out[n * f + i] = in[i * dims + f];
}

// prove: nw_block race-free --block-dim=16 --grid-dim=64
// pin: nw_block cols=2049 penalty=10 i=64 width=128
__global__ void nw_block(const int *ref, int *items, int cols, int penalty, int i, int width)
{
	int bx = blockIdx.x, tx = threadIdx.x, bi = bx, bj = i - 1 - bx;
	int index = cols * 16 * bj + 16 * bi + tx + (cols + 1), index_n = cols * 16 * bj + 16 * bi + tx + 1;
	int index_w = cols * 16 * bj + 16 * bi + cols, index_nw = cols * 16 * bj + 16 * bi;
	__shared__ int temp[17][17], r[16][16];
	if (tx == 0)
		temp[tx][0] = items[index_nw];
	for (int ty = 0; ty < 16; ty++)
		r[ty][tx] = ref[index + cols * ty];
	__syncthreads();
	temp[tx + 1][0] = items[index_w + cols * tx];
	__syncthreads();
	temp[0][tx + 1] = items[index_n];
	__syncthreads();
	for (int m = 0; m < 16; m++) {
		if (tx <= m) {
			int x = tx + 1, y = m - tx + 1;
			temp[y][x] = max(max(temp[y - 1][x - 1] + r[y - 1][x - 1], temp[y][x - 1] - penalty), temp[y - 1][x] - penalty);
		}
		__syncthreads();
	}
	for (int m = 14; m >= 0; m--) {
		if (tx <= m) {
			int x = tx + 16 - m, y = 16 - tx;
			temp[y][x] = max(max(temp[y - 1][x - 1] + r[y - 1][x - 1], temp[y][x - 1] - penalty), temp[y - 1][x] - penalty);
		}
		__syncthreads();
	}
	for (int ty = 0; ty < 16; ty++)
		items[index + ty * cols] = temp[ty + 1][tx + 1];
}

// prove: floyd race-free --block-dim=16,16 --grid-dim=16,16 --level=block
// pin: floyd n=256 k=3
__global__ void floyd(int *out, const int *in, int n, int k)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x < n && y < n)
		out[y * n + x] = min(in[y * n + x], in[y * n + k] + in[k * n + x]);
}
