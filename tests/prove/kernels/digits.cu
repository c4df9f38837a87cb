// Indices put together from quotients and remainders, loops of few iterations looked at one by one,
// and threads that branch on memory before they race; each with its twin.

// prove: upsample race-free --block-dim=256 --grid-dim=49
__global__ void upsample(float *out, const float *in)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= 12544)
		return;
	int x = i % 28, y = i / 28 % 28, c = i / 784;
	float *to = out + (c * 56 + y * 2) * 56 + x * 2;
	to[0] = to[1] = to[56] = to[57] = in[i];
}

// Planes of 55 rows for 28 pairs of them: the last row is the next plane's first.
// prove: upsample_short true --block-dim=256 --grid-dim=49
__global__ void upsample_short(float *out, const float *in)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= 12544)
		return;
	int x = i % 28, y = i / 28 % 28, c = i / 784;
	float *to = out + (c * 55 + y * 2) * 56 + x * 2;
	to[0] = to[1] = to[56] = to[57] = in[i];
}

// A digit is left out: rows of one plane come together.
// prove: upsample_plane true --block-dim=256 --grid-dim=49
__global__ void upsample_plane(float *out, const float *in)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < 12544)
		out[i / 784 * 28 + i % 28] = in[i];
}

// prove: reversed race-free --block-dim=128 --grid-dim=1
__global__ void reversed(float *out, const float *in)
{
	__shared__ float s[128];
	s[__brev(threadIdx.x) >> 25] = in[threadIdx.x];
	__syncthreads();
	out[threadIdx.x] = s[threadIdx.x];
}

// One bit too few of seven.
// prove: reversed_short true --block-dim=128
__global__ void reversed_short(float *out, const float *in)
{
	__shared__ float s[128];
	s[__brev(threadIdx.x) >> 26] = in[threadIdx.x];
	__syncthreads();
	out[threadIdx.x] = s[threadIdx.x];
}

// prove: reduce_by_rounds race-free --block-dim=64 --grid-dim=1
__global__ void reduce_by_rounds(float *out, const float *in)
{
	__shared__ float s[128];
	int t = threadIdx.x, stride = 1, n = 64;
	s[t] = in[t];
	s[t + 64] = in[t + 64];
	for (int j = 0; j < 6; j++) {
		__syncthreads();
		stride *= 2;
		if (t < n) {
			int i = stride * t + stride - 1;
			s[i] += s[i - stride / 2];
		}
		n /= 2;
	}
	__syncthreads();
	out[t] = s[t];
}

// The count of threads isn't halved: from the second round on they leave the array's order.
// prove: reduce_too_many true --block-dim=64
__global__ void reduce_too_many(float *out, const float *in)
{
	__shared__ float s[128];
	int t = threadIdx.x, stride = 1;
	s[t] = in[t];
	s[t + 64] = in[t + 64];
	for (int j = 0; j < 6; j++) {
		__syncthreads();
		stride *= 2;
		int i = (stride * t + stride - 1) & 127;
		s[i] += s[i - stride / 2];
	}
	__syncthreads();
	out[t] = s[t];
}

// prove: search_then_race true --block-dim=64
__global__ void search_then_race(int *out, const int *in)
{
	int best = 0, at[4] = {0};
	for (int i = 0; in[i] > 0; i++)
		if (in[i] > best) {
			best = in[i];
			at[i & 3] = i;
		}
	out[threadIdx.x / 2] = best + at[0];
}

// What is found decides where the thread writes.
// prove: search_for_place potential racy --block-dim=64
__global__ void search_for_place(int *out, const int *in)
{
	int at = 0;
	for (int i = 0; i < 8; i++)
		if (in[threadIdx.x * 8 + i] > in[at])
			at = i;
	out[threadIdx.x + at] = 1;
}

// It waits for another thread, which nobody can skip.
// prove: wait_then_race potential racy --block-dim=64
__global__ void wait_then_race(int *out, volatile int *flag)
{
	while (*flag == 0)
		;
	out[threadIdx.x / 2] = 1;
}

// Some of the threads may be gone.
// prove: leave_then_race potential racy --block-dim=64
__global__ void leave_then_race(int *out, const int *in)
{
	if (in[threadIdx.x] > 5)
		return;
	out[threadIdx.x / 2] = 1;
}

// A digit is all of a number only where both threads say so: warps that write and read one row.
// prove: row_of_warps true --block-dim=64 --grid-dim=2
__global__ void row_of_warps(float *a, float *b)
{
	unsigned lane = threadIdx.x % 32;
	if (threadIdx.x < 32)
		a[blockIdx.x * 32 + lane] = 1;
	else
		b[blockIdx.x * 64 + threadIdx.x] = a[blockIdx.x * 32 + lane];
}
// prove: row_of_warps_barrier race-free --block-dim=64 --grid-dim=2
__global__ void row_of_warps_barrier(float *a, float *b)
{
	unsigned lane = threadIdx.x % 32;
	if (threadIdx.x < 32)
		a[blockIdx.x * 32 + lane] = 1;
	__syncthreads();
	if (threadIdx.x >= 32)
		b[blockIdx.x * 64 + threadIdx.x] = a[blockIdx.x * 32 + lane];
}

// Blocks along diagonals: each column has another row in each block of a line.
// prove: diagonal race-free --block-dim=32 --grid-dim=16,16
__global__ void diagonal(int *out)
{
	int by = blockIdx.x, bx = (blockIdx.x + blockIdx.y) % gridDim.x;
	out[bx * 512 + by * 32 + threadIdx.x] = by;
}

// Half of them: two blocks of a line have one.
// prove: diagonal_half true --block-dim=32 --grid-dim=16,16
__global__ void diagonal_half(int *out)
{
	int by = blockIdx.x, bx = (blockIdx.x + blockIdx.y) % (gridDim.x / 2);
	out[bx * 512 + by * 32 + threadIdx.x] = by;
}

// The line isn't part of the place.
// prove: diagonal_only true --block-dim=32 --grid-dim=16,16
__global__ void diagonal_only(int *out)
{
	int bx = (blockIdx.x + blockIdx.y) % gridDim.x;
	out[bx * 32 + threadIdx.x] = blockIdx.x;
}

// The thread's number comes up in v and in what v is taken from, and goes: all have the same places.
// prove: counted_away true --block-dim=4 --grid-dim=3
__global__ void counted_away(int *out)
{
	for (int v = threadIdx.x; v < 3; v++)
		out[blockIdx.x * 8 + threadIdx.x + 4 - v] = 1;
}

// prove: counted_away_by_two race-free --block-dim=4 --grid-dim=3
__global__ void counted_away_by_two(int *out)
{
	for (int v = threadIdx.x; v < 3; v += 4)
		out[blockIdx.x * 8 + 2 * threadIdx.x + 4 - v] = 1;
}

// What is read is up to 2^63, so that a quotient by 2^40 is any number below 2^23.
// prove: far_quotient potential racy --block-dim=512 --grid-dim=1
__global__ void far_quotient(char *out, const long long *in)
{
	long long v = in[threadIdx.x];
	if (v >= 0)
		out[(v >> 40) * 1000 + threadIdx.x] = 1;
	out[4096 * 1000 + (threadIdx.x ^ 1)] = 2;
}

// prove: near_quotient race-free --block-dim=512 --grid-dim=1
__global__ void near_quotient(char *out, const long long *in)
{
	long long v = in[threadIdx.x];
	if (v >= 0 && v < 4096ll << 37)
		out[(v >> 40) * 1000 + threadIdx.x] = 1;
	out[4096 * 1000 + (threadIdx.x ^ 1)] = 2;
}
