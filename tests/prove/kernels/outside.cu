/*
 * outside.cu - accesses that can't be within their array, which the contract takes for granted: of
 * such a kernel nothing is proven. Each has a twin that stays within.
 */

// Each thread is outside, in the array beside it.
// prove: shifted unproven racy --block-dim=32
__global__ void shifted(float *out, const float *in)
{
	__shared__ float s[32];
	__shared__ float beside[32];
	s[threadIdx.x + 32] = in[threadIdx.x];
	beside[31 - threadIdx.x % 32] = in[threadIdx.x];
	__syncthreads();
	out[blockIdx.x * blockDim.x + threadIdx.x] = beside[threadIdx.x % 32];
}

// prove: shifted_twin race-free --block-dim=32
__global__ void shifted_twin(float *out, const float *in)
{
	__shared__ float s[64];
	__shared__ float beside[32];
	s[threadIdx.x + 32] = in[threadIdx.x];
	beside[31 - threadIdx.x % 32] = in[threadIdx.x];
	__syncthreads();
	out[blockIdx.x * blockDim.x + threadIdx.x] = beside[threadIdx.x % 32] + s[63];
}

// The last thread of each block is outside.
// prove: next unproven free --block-dim=32
__global__ void next(float *out, const float *in)
{
	__shared__ float s[32];
	s[threadIdx.x] = in[threadIdx.x];
	__syncthreads();
	out[blockIdx.x * 32 + threadIdx.x] = s[threadIdx.x + 1];
}

// prove: next_twin race-free --block-dim=32
// prove: next_twin race-free
__global__ void next_twin(float *out, const float *in)
{
	__shared__ float s[32];
	s[threadIdx.x] = in[threadIdx.x];
	__syncthreads();
	if (threadIdx.x < 31)
		out[blockIdx.x * blockDim.x + threadIdx.x] = s[threadIdx.x + 1];
}

// In a loop: 32 rows of 32 where there are 31.
// prove: rows unproven free --block-dim=32
__global__ void rows(float *out, const float *in)
{
	__shared__ float s[31 * 32];
	for (int i = 0; i < 32; i++)
		s[i * 32 + threadIdx.x] = in[i];
	__syncthreads();
	out[blockIdx.x * 32 + threadIdx.x] = s[threadIdx.x];
}

// prove: rows_twin race-free --block-dim=32
__global__ void rows_twin(float *out, const float *in)
{
	__shared__ float s[31 * 32];
	for (int i = 0; i < 31; i++)
		s[i * 32 + threadIdx.x] = in[i];
	__syncthreads();
	out[blockIdx.x * 32 + threadIdx.x] = s[threadIdx.x];
}

// Only launches of blocks of one thread are within: the second thread isn't.
// prove: second unproven free
__global__ void second(float *out, const float *in)
{
	__shared__ float s[64];
	s[threadIdx.x + 63] = in[threadIdx.x];
	out[blockIdx.x * blockDim.x + threadIdx.x] = in[threadIdx.x];
}

// prove: second_twin race-free
__global__ void second_twin(float *out, const float *in)
{
	__shared__ float s[64];
	s[threadIdx.x + 62] = in[threadIdx.x];
	out[blockIdx.x * blockDim.x + threadIdx.x] = in[threadIdx.x];
}

// A variable in global memory; what the caller gives, n, decides whether the other is inside.
__device__ int table[16];

// prove: variable unproven racy --block-dim=16 --grid-dim=1
__global__ void variable(int n)
{
	table[threadIdx.x + 16] = n;
}

// prove: variable_twin race-free --block-dim=16 --grid-dim=1
__global__ void variable_twin(int n)
{
	table[threadIdx.x + n] = n;
}

// A number of the caller's that makes each launch leave the array.
// prove: given unproven free --block-dim=16 --grid-dim=1 --param=1=16
// prove: given race-free --block-dim=16 --grid-dim=1 --param=1=0
__global__ void given(int n)
{
	table[threadIdx.x + n] = n;
}

// No thread comes to what is outside.
// prove: unreached race-free --block-dim=32
__global__ void unreached(float *out)
{
	__shared__ float s[32];
	s[threadIdx.x] = 0;
	if (threadIdx.x >= 32)
		s[threadIdx.x + 32] = 1;
	out[blockIdx.x * 32 + threadIdx.x] = s[threadIdx.x];
}

// Memory decides who comes to it, but whoever does is outside.
// prove: chosen unproven racy --block-dim=32
__global__ void chosen(float *out, const int *in)
{
	__shared__ float s[32];
	s[threadIdx.x] = 0;
	if (in[threadIdx.x] > 5)
		s[threadIdx.x + 32] = 1;
	out[blockIdx.x * 32 + threadIdx.x] = s[threadIdx.x];
}

// prove: chosen_twin race-free --block-dim=32
__global__ void chosen_twin(float *out, const int *in)
{
	__shared__ float s[64];
	s[threadIdx.x] = 0;
	if (in[threadIdx.x] > 5)
		s[threadIdx.x + 32] = 1;
	out[blockIdx.x * 32 + threadIdx.x] = s[threadIdx.x];
}

// The thread's own array: the last place is behind it, which may be anything.
// prove: own unproven free --block-dim=32
__global__ void own(float *out, const float *in)
{
	float a[8];
	for (int i = 0; i < 8; i++)
		a[i] = in[i];
	out[blockIdx.x * 32 + threadIdx.x] = a[threadIdx.x / 2];
}

// prove: own_twin race-free --block-dim=32
__global__ void own_twin(float *out, const float *in)
{
	float a[8];
	for (int i = 0; i < 8; i++)
		a[i] = in[i];
	out[blockIdx.x * 32 + threadIdx.x] = a[threadIdx.x / 4];
}

// Where each thread that writes is outside: to a place that memory decides.
// prove: own_written unproven free --block-dim=32
__global__ void own_written(int *out, const int *in)
{
	int a[4] = {0, 1, 2, 3};
	int k = in[threadIdx.x];
	if (k >= 256 && k < 1000)
		a[k] = 1;
	out[blockIdx.x * 32 + threadIdx.x] = a[in[0] & 3];
}

// prove: own_written_twin race-free --block-dim=32
__global__ void own_written_twin(int *out, const int *in)
{
	int a[4] = {0, 1, 2, 3};
	int k = in[threadIdx.x];
	if (k >= 0 && k < 1000)
		a[k & 3] = 1;
	out[blockIdx.x * 32 + threadIdx.x] = a[in[0] & 3];
}

// A loop that counts down until it is at 0, where thread and block decide about the rest.
// prove: countdown race-free --block-dim=32
__global__ void countdown(int *out)
{
	int a[64], t = (int)threadIdx.x, n = (63 / (t + 1) + 1) & ~3, k = 0, sum = 0;
	for (int i = 0; i < 64; i++)
		a[i] = i * t;
	if (n) {
		do {
			sum += a[k] + a[k + t + 1];
			k += 4 * (t + 1);
			n -= 4;
		} while (n != 0);
	}
	out[blockIdx.x * 32 + t] = sum;
}

// For large angles sine and cosine index an array of the thread's own, which no angle of this launch
// comes to: 0.5f.
// prove: turned race-free --param=width=512 --param=angle=0x3f000000
__global__ void turned(float *out, int width, float angle)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x;
	out[x] = (float)x / width * cosf(angle) - sinf(angle);
}

// More than 16 threads would race, and the last of them be outside of the tile: no such launch.
// prove: columns race-free --block-dim=16
// prove: columns potential free
__global__ void columns(float *m)
{
	float *at = m + blockIdx.x * 16384ll;
	__shared__ float s[16][16];
	for (int i = 0; i < 16; i++)
		s[i][threadIdx.x] = at[i * 1024 + threadIdx.x];
	__syncthreads();
	for (int i = 1; i < 16; i++)
		at[i * 1024 + threadIdx.x] = s[i][threadIdx.x];
}

// Room for all threads that a block may have: rows of 16 overlap.
// prove: columns_twin true
__global__ void columns_twin(float *m)
{
	float *at = m + blockIdx.x * 16384ll;
	__shared__ float s[16 * 16 + 1024];
	for (int i = 0; i < 16; i++)
		s[i * 16 + threadIdx.x] = at[i * 1024 + threadIdx.x];
	__syncthreads();
	for (int i = 1; i < 16; i++)
		at[i * 1024 + threadIdx.x] = s[i * 16 + threadIdx.x];
}

// A tree without its guard: what the loop carries takes the last thread of a given block outside. In
// small blocks it stays within, and races.
// prove: tree unproven racy --block-dim=64
// prove: tree true
__global__ void tree(float *out, const float *in)
{
	__shared__ float s[64];
	s[threadIdx.x] = in[threadIdx.x];
	__syncthreads();
	for (unsigned k = blockDim.x / 2; k > 0; k >>= 1) {
		s[threadIdx.x] += s[threadIdx.x + k];
		__syncthreads();
	}
	if (threadIdx.x == 0)
		out[blockIdx.x] = s[0];
}

// prove: tree_twin true --block-dim=64
__global__ void tree_twin(float *out, const float *in)
{
	__shared__ float s[96];
	s[threadIdx.x] = s[threadIdx.x + 32] = in[threadIdx.x];
	__syncthreads();
	for (unsigned k = blockDim.x / 2; k > 0; k >>= 1) {
		s[threadIdx.x] += s[threadIdx.x + k];
		__syncthreads();
	}
	if (threadIdx.x == 0)
		out[blockIdx.x] = s[0];
}

// prove: tree_guarded race-free --block-dim=64
__global__ void tree_guarded(float *out, const float *in)
{
	__shared__ float s[64];
	s[threadIdx.x] = in[threadIdx.x];
	__syncthreads();
	for (unsigned k = blockDim.x / 2; k > 0; k >>= 1) {
		if (threadIdx.x < k)
			s[threadIdx.x] += s[threadIdx.x + k];
		__syncthreads();
	}
	if (threadIdx.x == 0)
		out[blockIdx.x] = s[0];
}

// Only launches with n > 1 leave the array, so that others are left.
// prove: some potential free --block-dim=64
// prove: some unproven free --block-dim=64 --param=n=2
// prove: some race-free --block-dim=64 --param=n=1
__global__ void some(float *out, int n)
{
	__shared__ float s[64];
	for (int i = 0; i < n; i++)
		s[threadIdx.x + i] = i;
	__syncthreads();
	out[blockIdx.x * 64 + threadIdx.x] = s[threadIdx.x];
}

// ... or with an array that the host may leave out.
// prove: optional potential free --block-dim=64
__global__ void optional(float *out, const float *more)
{
	__shared__ float s[64];
	int n = more ? 2 : 1;
	for (int i = 0; i < n; i++)
		s[threadIdx.x + i] = i;
	__syncthreads();
	out[blockIdx.x * 64 + threadIdx.x] = s[threadIdx.x];
}
