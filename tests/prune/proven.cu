/*
 * proven.cu - launches that are proven, and what may race with them all the same: proven.sh runs
 * each case, whose name says which, with proofs and without.
 */
#include <collider/assume.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define N    4096
#define TILE 16

static cudaStream_t one, two;
static int *a, *b;

__global__ void add(int *out, const int *in, int by)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = in[i] + by;
}

/* The text has a loop in a loop, and so much to do as it seems. */
__global__ void turns(int *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, v = out[i];

	for (int x = 0; x < n; x++)
		for (int y = 0; y < n; y++)
			v = v * 3 + (x ^ y);
	out[i] = v;
}

static void turns_twice()
{
	const int n = 1 << 18;
	int *p;

	cudaMalloc(&p, n * sizeof(int));
	for (int i = 0; i < 2; i++) {
		turns<<<n / 256, 256>>>(p, 8);
		cudaDeviceSynchronize();
	}
}

/* Every other element. */
__global__ void half(int *out, const int *in, int from)
{
	int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x) + from;

	out[i] = in[i] + 1;
}

/* Proven for any `by`, as the arrays are apart; with one that reaches the other array it races. */
__global__ void far(int *out, int *in, long by)
{
	int i = threadIdx.x;

	out[i + by] = in[255 - i];
}

/* The same, after it has written; what it leaves is counted. */
__global__ void written(int *out, int *in, long by)
{
	int i = threadIdx.x;

	out[i] += 1;
	out[i + by] = in[255 - i];
}

__global__ void apart(int *out, int *in, long by)
{
	int i = threadIdx.x;

	out[i + by] = in[i];
}

/* Each array by itself is proven; with an offset of 64 the threads meet in the second one. */
__global__ void slip(int *out, int off)
{
	__shared__ int x[64], y[64];
	int t = threadIdx.x;

	y[t] = t;
	x[63 - t + off] = 2 * t;
	__syncthreads();
	out[t] = y[t] + (off ? 0 : x[t]);
}

__device__ int module[256];

/* Proven, as a variable of the module is no array that it is given; unless it is given just that. */
__global__ void beside(int *out)
{
	int i = threadIdx.x;

	module[i] = i;
	out[255 - i] = 2 * i;
}

/* One instruction for two arrays: the first one's offset may lead to where the second one's does. */
__global__ void either(int *x, int *y, long by)
{
	int i = threadIdx.x;
	int *p = i & 1 ? x : y;

	p[i & 1 ? i + by : i] = i;
}

__global__ void tiles(const float *x, const float *y, float *z, int n)
{
	__shared__ float xs[TILE][TILE], ys[TILE][TILE];
	int tx = threadIdx.x, ty = threadIdx.y;
	int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
	float sum = 0;

	for (int k = 0; k < n; k += TILE) {
		xs[ty][tx] = x[row * n + k + tx];
		ys[ty][tx] = y[(k + ty) * n + col];
		__syncthreads();
		for (int i = 0; i < TILE; i++)
			sum += xs[ty][i] * ys[i][tx];
		__syncthreads();
	}
	z[row * n + col] = sum;
}

/* Proven only by what it assumes itself, which nothing tests. */
__global__ void scatter(int *out, const int *index)
{
	int i = threadIdx.x;

	collider_distinct(index[i]);
	out[index[i]] = i;
}

/* A load of 16 bytes, of which no path uses the last 4. */
__global__ void three(int *out, const int4 *in)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	int4 v = in[i];

	out[i] = v.x + v.y + v.z;
}

/* Element `at` of each 4. */
__global__ void fourth(int *out, int at)
{
	out[4 * (blockIdx.x * blockDim.x + threadIdx.x) + at] = at;
}

/* The atomic keeps it from being proven; `turned` races unless it is kept. */
__global__ void sums(int *out, const int *in, int is_kept)
{
	__shared__ int part[256], turned[256];
	int t = threadIdx.x;

	part[t] = in[t];
	for (int d = 128; d > 0; d /= 2) {
		__syncthreads();
		if (t < d)
			part[t] += part[t + d];
	}
	if (t == 0)
		atomicAdd(out, part[0]);
	turned[255 - t] = t;
	if (is_kept)
		__syncthreads();
	out[1 + t] = turned[t];
}

/* A queue: which places the threads take, and whether these are within it, only the counter knows. */
__global__ void places(int *out, int is_kept)
{
	__shared__ int n, entry[256], part[256];
	int t = threadIdx.x;

	if (t == 0)
		n = 0;
	part[t] = t;
	__syncthreads();
	entry[atomicAdd(&n, 1)] = t;
	if (is_kept)
		__syncthreads();
	out[t] = entry[t] + part[255 - t];
}

/* A counter of 32 bits that comes around: from the 16th turn on it is where it began. */
__global__ void around(int *out, unsigned step, int turns)
{
	unsigned at = threadIdx.x;

	for (int i = 0; i < turns; i++, at += step)
		if (at < 256u)
			out[at] = i;
}

/* Two launches, on two streams that nothing orders. */
static void streams(bool is_apart)
{
	if (is_apart) {
		half<<<N / 512, 256, 0, one>>>(a, b, 0);
		half<<<N / 512, 256, 0, two>>>(a, b, 1);
	} else {
		add<<<N / 256, 256, 0, one>>>(a, b, 1);
		add<<<N / 256, 256, 0, two>>>(a, b, 2);
	}
}

/* What isn't used is only perhaps read. */
static void unused(bool is_racy)
{
	three<<<N / 1024, 256, 0, one>>>(b, (const int4 *)a);
	fourth<<<N / 1024, 256, 0, two>>>(a, is_racy ? 2 : 3);
}

/* Memory that is freed while a launch may use it, and is handed out again. */
static void reuse(bool is_ordered)
{
	cudaEvent_t done;
	int *p, *q;

	cudaEventCreate(&done);
	cudaMallocAsync((void **)&p, N * sizeof(int), one);
	add<<<N / 256, 256, 0, one>>>(p, b, 1);
	cudaEventRecord(done, one);
	if (!is_ordered)
		cudaMallocAsync((void **)&q, N * sizeof(int), two);
	if (is_ordered)
		cudaStreamWaitEvent(two, done, 0);
	cudaFreeAsync(p, two);
	if (is_ordered)
		cudaMallocAsync((void **)&q, N * sizeof(int), two);
	add<<<N / 256, 256, 0, two>>>(q, b, 2);
}

static void host(bool is_ordered)
{
	int *m;

	cudaMallocManaged(&m, N * sizeof(int));
	for (int i = 0; i < N; i++)
		m[i] = i;
	add<<<N / 256, 256>>>(a, m, 1);
	if (is_ordered)
		cudaDeviceSynchronize();
	m[7] = 7;
}

static void copy(bool is_ordered)
{
	static int to[N];

	add<<<N / 256, 256, 0, one>>>(a, b, 1);
	cudaMemcpyAsync(to, a, sizeof(to), cudaMemcpyDeviceToHost, is_ordered ? one : two);
}

static void overlap(bool is_apart)
{
	apart<<<1, 256>>>(a, a + 256, is_apart ? 0 : 255);
}

static void multiply(bool is_racy)
{
	float *x = (float *)a, *y = (float *)b, *z;

	cudaMalloc(&z, N * sizeof(float));
	tiles<<<dim3(4, 4), dim3(TILE, TILE)>>>(x, y, z, 64);
	if (is_racy)
		tiles<<<dim3(4, 4), dim3(TILE, TILE), 0, one>>>(x, y, z, 64);
}

static void given(bool is_apart)
{
	int *p;

	cudaGetSymbolAddress((void **)&p, module);
	beside<<<1, 256>>>(is_apart ? a : p);
}

static void undo(bool is_apart)
{
	static int left[256];

	written<<<1, 256>>>(a, b, is_apart ? 512 : b - a);
	cudaMemcpy(left, a, sizeof(left), cudaMemcpyDeviceToHost);
	for (int i = 0; i < 256; i++)
		if (left[i] != 1)
			printf("a[%d] is %d\n", i, left[i]);
}

/* What races is known from the input alone. */
static void input()
{
	int is_racy = 0;

	if (scanf("%d", &is_racy) == 1)
		far<<<1, 256>>>(a, b, is_racy ? b - a : 0);
}

static void index(bool is_racy)
{
	static int at[256];

	for (int i = 0; i < 256; i++)
		at[i] = is_racy ? i / 2 : i;
	cudaMemcpy(b, at, sizeof(at), cudaMemcpyHostToDevice);
	scatter<<<1, 256>>>(a, b);
}

int main(int argc, char **argv)
{
	const char *k = argc > 1 ? argv[1] : "";
	bool is_racy = argc > 2 && !strcmp(argv[2], "racy");

	if (argc > 3) {
		FILE *f = fopen(argv[3], "a");
		fprintf(f, "a run\n");
		fclose(f);
	}

	cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
	cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
	cudaMalloc(&a, N * sizeof(int));
	cudaMalloc(&b, N * sizeof(int));
	cudaMemset(a, 0, N * sizeof(int));
	cudaMemset(b, 0, N * sizeof(int));
	cudaDeviceSynchronize();
	if (!strcmp(k, "streams"))
		streams(!is_racy);
	if (!strcmp(k, "reuse"))
		reuse(!is_racy);
	if (!strcmp(k, "host"))
		host(!is_racy);
	if (!strcmp(k, "unused"))
		unused(is_racy);
	if (!strcmp(k, "copy"))
		copy(!is_racy);
	if (!strcmp(k, "overlap"))
		overlap(!is_racy);
	if (!strcmp(k, "tiles"))
		multiply(is_racy);
	if (!strcmp(k, "index"))
		index(is_racy);
	if (!strcmp(k, "slip"))
		slip<<<1, 64>>>(a, is_racy ? 64 : 0);
	if (!strcmp(k, "far"))
		far<<<1, 256>>>(a, b, is_racy ? b - a : 0);
	if (!strcmp(k, "undo"))
		undo(!is_racy);
	if (!strcmp(k, "given"))
		given(!is_racy);
	if (!strcmp(k, "either"))
		either<<<1, 256>>>(a, b, is_racy ? b - a + 1 : 0);
	if (!strcmp(k, "partly"))
		sums<<<1, 256>>>(a, b, !is_racy);
	if (!strcmp(k, "places"))
		places<<<1, 256>>>(a, !is_racy);
	if (!strcmp(k, "wraps"))
		around<<<1, 256>>>(a, 0x10000000u + is_racy, 32);
	if (!strcmp(k, "turns"))
		turns_twice();
	if (!strcmp(k, "input"))
		input();
	if (!strcmp(k, "scalars"))
		for (int i = 0; i < 6; i++)
			add<<<N / 256, 256>>>(a, b, i);
	printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
	return 0;
}
