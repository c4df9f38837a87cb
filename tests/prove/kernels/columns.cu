// columns.cu - rows whose columns a guard bounds, where the grid's blocks reach beyond them: the
// thread's number says less of a column than its guard does. Many stores, and little time for each.

// As nvcc leaves a row that each thread comes back to: 24 stores.
#define AGAIN(I, ROW)                                                                              \
	float v = 1;                                                                               \
	for (int i = 0; i < 11; i++) {                                                             \
		float *at = out + (I);                                                             \
		*at = v;                                                                           \
		_Pragma("unroll") for (int k = 0; k < 11; k++) if (i != k)                         \
			at[ROW * k] = v = v * (x[0] - x[k]) / (x[i] - x[k]);                       \
	}
#define COLUMN                                                                                     \
	int j = blockIdx.x * blockDim.x + threadIdx.x;                                             \
	if (j >= 1000000)                                                                          \
		return;

// prove: many_rows race-free --block-dim=256 --grid-dim=3907 --prove-timeout=1
__global__ void many_rows(float *out, const float *__restrict__ x)
{
	COLUMN AGAIN(i * 1000000 + j, 0)
}
// prove: many_rows_ahead race-free --block-dim=256 --grid-dim=3907 --prove-timeout=1
__global__ void many_rows_ahead(float *out, const float *__restrict__ x)
{
	COLUMN AGAIN(i * 1000000 + j, 1000000)
}
// The rows are a column too short.
// prove: short_rows true racy --block-dim=256 --grid-dim=3907
__global__ void short_rows(float *out, const float *__restrict__ x)
{
	COLUMN AGAIN(i * 999999 + j, 0)
}
// The guard lets one column more.
// prove: one_more true racy --block-dim=256 --grid-dim=3907
__global__ void one_more(float *out, const float *__restrict__ x)
{
	int j = blockIdx.x * blockDim.x + threadIdx.x;
	if (j > 1000000)
		return;
	AGAIN(i * 1000000 + j, 0)
}
// Of the two accesses one alone has the guard.
// prove: half_guarded true racy --block-dim=256 --grid-dim=4
__global__ void half_guarded(float *out, const float *__restrict__ x)
{
	int j = blockIdx.x * blockDim.x + threadIdx.x;
	for (int i = 0; i < 2; i++) {
		if (j < 1000)
			out[i * 1000 + j] = x[i];
		out[2000 + i * 1000 + j] = 1;
	}
}
// prove: both_guarded race-free --block-dim=256 --grid-dim=4
__global__ void both_guarded(float *out, const float *__restrict__ x)
{
	int j = blockIdx.x * blockDim.x + threadIdx.x;
	for (int i = 0; i < 2; i++) {
		if (j < 1000)
			out[i * 1000 + j] = x[i];
		out[2000 + i * 1024 + j] = 1;
	}
}

// What is bounded is a part of the sum, two dimensions of a plane.
#define PLANE                                                                                      \
	int i = blockIdx.x * 16 + threadIdx.x, j = blockIdx.y * 16 + threadIdx.y;
// prove: planes race-free --block-dim=16,16 --grid-dim=7,5
__global__ void planes(float *out)
{
	PLANE if (i < 100 && j < 70) for (int k = 0; k < 9; k++) out[(k * 70 + j) * 100 + i] = k;
}
// prove: planes_low true racy --block-dim=16,16 --grid-dim=7,5
__global__ void planes_low(float *out)
{
	PLANE if (i < 100 && j < 71) for (int k = 0; k < 9; k++) out[(k * 70 + j) * 100 + i] = k;
}
// prove: planes_narrow true racy --block-dim=16,16 --grid-dim=7,5
__global__ void planes_narrow(float *out)
{
	PLANE if (i < 101 && j < 70) for (int k = 0; k < 9; k++) out[(k * 70 + j) * 100 + i] = k;
}
// What the guard bounds isn't what is added: the mirror of the column.
// prove: mirrored race-free --block-dim=16,16 --grid-dim=7,5
__global__ void mirrored(float *out)
{
	PLANE if (i < 100 && j < 70) for (int k = 0; k < 9; k++) out[(k * 70 + j) * 100 + 99 - i] = k;
}
// prove: mirrored_far true racy --block-dim=16,16 --grid-dim=7,5
__global__ void mirrored_far(float *out)
{
	PLANE if (i < 112 && j < 70) for (int k = 0; k < 9; k++) out[(k * 70 + j) * 100 + 99 - i] = k;
}
// The bounded sum is the same in two threads.
// prove: of_sums true racy --block-dim=16,16 --grid-dim=7,5
__global__ void of_sums(float *out)
{
	PLANE if (i + j < 100) for (int k = 0; k < 9; k++) out[k * 100 + i + j] = k;
}
// A sum that wraps in 32 bits is bounded, and the threads of it are many.
// prove: wraps true racy --block-dim=256 --grid-dim=3907
__global__ void wraps(float *out)
{
	unsigned j = (blockIdx.x * blockDim.x + threadIdx.x) * (1u << 14);
	if (j < 1000)
		for (int i = 0; i < 4; i++)
			out[i * 1000 + j] = i;
}
