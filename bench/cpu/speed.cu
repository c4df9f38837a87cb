/*
 * speed.cu - three kernels whose speed on the CPU device is followed: where its time goes differs.
 *
 *   speed sgemm|nbody|options [N]     one launch; prints a sum of the results, and on stderr
 *                                     "launches KERNEL s SECONDS", the host's time of it
 *
 * sgemm: tiles of 32 by 32 in shared memory, one thread an element (memory, and a barrier for each
 * tile). nbody: all pairs, bodies by tiles in shared memory (arithmetic, few loads). options:
 * Black-Scholes, 16 rounds an option (arithmetic without memory).
 */
#include <chrono>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TILE 32
#define BODIES 128

__global__ void sgemm(const float *a, const float *b, float *c, int n)
{
	__shared__ float as[TILE][TILE], bs[TILE][TILE];
	int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
	float sum = 0;

	for (int t = 0; t < n; t += TILE) {
		as[threadIdx.y][threadIdx.x] = a[y * n + t + threadIdx.x];
		bs[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + x];
		__syncthreads();
		for (int k = 0; k < TILE; k++)
			sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
		__syncthreads();
	}
	c[y * n + x] = sum;
}

__global__ void nbody(const float4 *p, float4 *out, int n)
{
	__shared__ float4 tile[BODIES];
	int i = blockIdx.x * BODIES + threadIdx.x;
	float4 me = p[i], f = {0, 0, 0, 0};

	for (int t = 0; t < n; t += BODIES) {
		tile[threadIdx.x] = p[t + threadIdx.x];
		__syncthreads();
		for (int k = 0; k < BODIES; k++) {
			float dx = tile[k].x - me.x, dy = tile[k].y - me.y, dz = tile[k].z - me.z;
			float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
			float s = tile[k].w * r * r * r;
			f.x += dx * s;
			f.y += dy * s;
			f.z += dz * s;
		}
		__syncthreads();
	}
	out[i] = f;
}

__device__ float cnd(float d)
{
	float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
	float c = 0.39894228f * __expf(-0.5f * d * d) *
		  (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f +
			k * (-1.821255978f + k * 1.330274429f)))));

	return d > 0 ? 1.0f - c : c;
}

__global__ void options(const float *in, float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float s = in[i], x = in[n + i], t = in[2 * n + i], call = 0, put = 0;

	for (int k = 0; k < 16; k++) {
		float root = sqrtf(t), d1 = (__logf(s / x) + 0.065f * t) / (0.3f * root);
		float d2 = d1 - 0.3f * root, e = __expf(-0.02f * t), n1 = cnd(d1), n2 = cnd(d2);
		call += s * n1 - x * e * n2;
		put += x * e * (1.0f - n2) - s * (1.0f - n1);
		s *= 1.001f;
	}
	out[i] = call + put;
}

static void fill(float *p, int n)
{
	unsigned x = 1;

	for (int i = 0; i < n; i++) {
		x = x * 1664525u + 1013904223u;
		p[i] = 0.5f + (float)(x >> 8) / (1 << 24);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "sgemm";
	bool is_sgemm = !strcmp(what, "sgemm"), is_nbody = !strcmp(what, "nbody");
	int n = argc > 2 ? atoi(argv[2]) : is_sgemm ? 256 : is_nbody ? 2048 : 16384;
	int nin = is_sgemm ? 2 * n * n : is_nbody ? 4 * n : 3 * n;
	int nout = is_sgemm ? n * n : is_nbody ? 4 * n : n;
	float *host = (float *)malloc(sizeof(float) * (nin > nout ? nin : nout)), *in, *out;
	double sum = 0;

	fill(host, nin);
	cudaMalloc(&in, sizeof(float) * nin);
	cudaMalloc(&out, sizeof(float) * nout);
	cudaMemcpy(in, host, sizeof(float) * nin, cudaMemcpyHostToDevice);
	auto start = std::chrono::steady_clock::now();
	if (is_sgemm)
		sgemm<<<dim3(n / TILE, n / TILE), dim3(TILE, TILE)>>>(in, in + n * n, out, n);
	else if (is_nbody)
		nbody<<<n / BODIES, BODIES>>>((float4 *)in, (float4 *)out, n);
	else
		options<<<n / 128, 128>>>(in, out, n);
	cudaDeviceSynchronize();
	std::chrono::duration<double> all = std::chrono::steady_clock::now() - start;
	fprintf(stderr, "launches %s s %.6f\n", what, all.count());
	cudaMemcpy(host, out, sizeof(float) * nout, cudaMemcpyDeviceToHost);
	for (int i = 0; i < nout; i++)
		sum += host[i];
	printf("%s %d: %.9g, %s\n", what, n, sum, cudaGetErrorString(cudaGetLastError()));
	return 0;
}
