/*
 * control.cu - loops, branches, functions, templates, bytes, unions, tickets.
 */

// prove: chunk_per_thread single
__global__ void chunk_per_thread(float *y, int chunk)
{
	int t = threadIdx.x;
	collider_assume(chunk > 0 && chunk < 100000);
	for (int i = t * chunk; i < (t + 1) * chunk; i++)
		y[i] = 1;
}

// prove: chunk_too_long true
__global__ void chunk_too_long(float *y, int chunk)
{
	int t = threadIdx.x;
	collider_assume(chunk > 0 && chunk < 100000);
	for (int i = t * chunk; i <= (t + 1) * chunk; i++)
		y[i] = 1;
}

// prove: chunk_of_four race-free
__global__ void chunk_of_four(float *y)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
	for (int k = 0; k < 4; k++)
		y[(size_t)i * 4 + k] = k;
}

// prove: count_down single
__global__ void count_down(float *y, int n)
{
	for (int i = n - 1 - (int)threadIdx.x; i >= 0; i -= blockDim.x)
		y[i] = 1;
}

// prove: grid_stride_plane race-free --block-dim=16,16
__global__ void grid_stride_plane(float *m, int w, int h)
{
	collider_assume(w > 0 && w < 32768 && h < 32768);
	for (int y = blockIdx.y * blockDim.y + threadIdx.y; y < h; y += gridDim.y * blockDim.y)
		for (int x = blockIdx.x * blockDim.x + threadIdx.x; x < w; x += gridDim.x * blockDim.x)
			m[y * w + x] = 1;
}

// prove: triangle race-free --block-dim=64
__global__ void triangle(float *m)
{
	int row = blockIdx.x * 64 + threadIdx.x;
	if (row >= 4096)
		return;
	for (int col = 0; col <= row; col++)
		m[row * 4096 + col] = 0;
}

// prove: packed_triangle potential racy --block-dim=64
__global__ void packed_triangle(float *m, const int *start)
{
	int row = threadIdx.x;
	for (int col = 0; col <= row; col++)
		m[start[row] + col] = 0;
}

// prove: powers single
__global__ void powers(float *y)
{
	unsigned t = threadIdx.x;
	if (t == 0)
		for (unsigned i = 1; i < 4096; i *= 2)
			y[i] = 1;
}

// Thread t's powers start at t: 1, 2, 4... and 2, 4, 8 meet.
// prove: powers_meet true
__global__ void powers_meet(float *y)
{
	for (unsigned i = threadIdx.x + 1; i < 4096; i *= 2)
		y[i] = 1;
}

// prove: halves single --block-dim=64
__global__ void halves(float *y)
{
	for (unsigned k = 32; k > 0; k >>= 1)
		if (threadIdx.x >= k && threadIdx.x < 2 * k)
			y[threadIdx.x] = k;
}

// prove: table_of_powers single
__global__ void table_of_powers(float *y)
{
	unsigned slot = 0;
	for (unsigned i = 1; i < 1000; i <<= 1)
		y[threadIdx.x * 10 + slot++] = i;
}

// prove: with_continue single
__global__ void with_continue(float *y, int n)
{
	for (int i = threadIdx.x; i < n; i += blockDim.x) {
		if (i % 3 == 0)
			continue;
		y[i] = 1;
		if (i > 1000)
			break;
		y[i] += 2;
	}
}

// prove: do_while single
__global__ void do_while(float *y, unsigned n)
{
	unsigned i = threadIdx.x;
	collider_assume(n < 1u << 30);
	do {
		y[i] = 1;
		i += blockDim.x;
	} while (i < n);
}

// prove: by_switch single
__global__ void by_switch(float *y, int mode)
{
	unsigned t = threadIdx.x;
	switch (mode) {
	case 0: y[t] = 1; break;
	case 1: y[2 * t] = 1; break;
	case 2: y[t + 1] = 1; break;
	case 3: y[1023 - t] = 1; break;
	case 4: y[t ^ 1] = 1; break;
	default: break;
	}
}

// prove: by_switch_racy true
__global__ void by_switch_racy(float *y, int mode)
{
	unsigned t = threadIdx.x;
	switch (mode) {
	case 0: y[t] = 1; break;
	case 1: y[2 * t] = 1; break;
	case 2: y[t / 2] = 1; break;
	case 3: y[1023 - t] = 1; break;
	default: break;
	}
}

// prove: switch_by_thread true
__global__ void switch_by_thread(float *y)
{
	unsigned t = threadIdx.x;
	switch (t % 4) {
	case 0: y[t] = 1; break;
	case 1: y[t + 1] = 2; break;
	default: y[t] = 3; break;
	}
}

struct adder {
	float amount;
	__device__ void operator()(float *p) const
	{
		*p += amount;
	}
};

template <typename F> __device__ void each(float *y, int n, F f)
{
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		f(y + i);
}

// prove: functor single
__global__ void functor(float *y, int n, float amount)
{
	each(y, n, adder{amount});
}

// prove: lambda race-free
__global__ void lambda(float *y, int n)
{
	auto put = [&](int i, float v) { y[i] = v; };
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		put(i, 2.0f);
}

// prove: lambda_racy true
__global__ void lambda_racy(float *y, int n)
{
	auto put = [&](int i, float v) { y[i >> 1] = v; };
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		put(i, 2.0f);
}

struct rgb {
	unsigned char r, g, b;
};

// prove: pixels race-free
__global__ void pixels(struct rgb *p, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) {
		p[i].r = 1;
		p[i].g = 2;
		p[i].b = 3;
	}
}

// prove: pixels_as_words true
__global__ void pixels_as_words(unsigned char *p)
{
	unsigned i = threadIdx.x;
	p[3 * i] = 1;
	p[3 * i + 1] = 1;
	p[3 * i + 2] = 1;
	p[3 * i + 3] = 0;
}

// prove: byte_of_word race-free
__global__ void byte_of_word(unsigned *words)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	((unsigned char *)words)[i] = i;
}

// prove: bit_of_word true
__global__ void bit_of_word(unsigned *words)
{
	unsigned i = threadIdx.x;
	words[i / 32] |= 1u << i % 32;
}

// prove: nibbles true
__global__ void nibbles(unsigned char *p)
{
	unsigned i = threadIdx.x;
	p[i >> 1] = i & 1 ? 0xf0 : 0x0f;
}

union mixed {
	double d;
	int i[2];
	short s[4];
};

// prove: union_parts race-free
__global__ void union_parts(union mixed *p)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	p[i].d = 0;
	p[i].i[1] = 1;
	p[i].s[0] = 2;
}

// prove: union_next true
__global__ void union_next(union mixed *p)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	p[i].d = 0;
	p[i].s[4] = 1;
}

// prove: carved single --block-dim=128
__global__ void carved(float *y)
{
	extern __shared__ unsigned char raw[];
	float *f = (float *)raw;
	unsigned char *c = raw + 128 * sizeof(float);
	unsigned t = threadIdx.x;
	f[t] = y[t];
	c[t] = t;
	__syncthreads();
	y[t] = f[127 - t] + c[127 - t];
}

// prove: carved_too_small true --block-dim=128
__global__ void carved_too_small(float *y)
{
	extern __shared__ unsigned char raw[];
	float *f = (float *)raw;
	unsigned char *c = raw + 64 * sizeof(float);
	f[threadIdx.x] = y[threadIdx.x];
	c[threadIdx.x] = threadIdx.x;
}

// prove: doubles race-free
__global__ void doubles(double2 *y, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		double2 v = y[i];
		v.x += v.y;
		y[i] = v;
	}
}

// prove: vector_and_part true
__global__ void vector_and_part(float4 *y)
{
	unsigned i = threadIdx.x;
	y[i] = make_float4(0, 0, 0, 0);
	((float *)y)[4 * i + 5] = 1;
}

// prove: return_in_middle race-free
__global__ void return_in_middle(float *y, const int *keep, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	y[i] = 1;
	if (!keep[i])
		return;
	y[i] = 2;
	if (i % 5 == 0)
		return;
	y[i] += 1;
}

// prove: unique_index race-free
__global__ void unique_index(float *out, unsigned *counter, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n && in[i] > 0) {
		unsigned at = atomicAdd(counter, 1u);
		collider_distinct(at);
		out[at] = in[i];
	}
}

// The answers of an atomic counter are different; nothing here says so.
// prove: unique_index_unsaid race-free
__global__ void unique_index_unsaid(float *out, unsigned *counter, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n && in[i] > 0)
		out[atomicAdd(counter, 1u)] = in[i];
}

// The counter is set back, so that its answers come again.
// prove: unique_index_reset potential racy
__global__ void unique_index_reset(float *out, unsigned *counter, const float *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i == 0)
		atomicExch(counter, 0u);
	if (i < n && in[i] > 0)
		out[atomicAdd(counter, 1u)] = in[i];
}

// prove: list_in_block race-free --block-dim=256
__global__ void list_in_block(int *out, const int *in)
{
	__shared__ int list[256];
	__shared__ unsigned count;
	unsigned t = threadIdx.x;
	if (t == 0)
		count = 0;
	__syncthreads();
	if (in[t] > 0) {
		unsigned at = atomicAdd(&count, 1u);
		collider_distinct(at);
		list[at] = t;
	}
	__syncthreads();
	if (t < count)
		out[blockIdx.x * 256 + t] = list[t];
}

// prove: count_not_cleared true --block-dim=256
__global__ void count_not_cleared(int *out)
{
	__shared__ unsigned count;
	unsigned t = threadIdx.x;
	if (t == 0)
		count = 0;
	atomicAdd(&count, 1u);
	__syncthreads();
	if (t < count)
		out[blockIdx.x * 256 + t] = 1;
}

// prove: ticket_lock race-free
__global__ void ticket_lock(unsigned *next, volatile unsigned *serving, int *value)
{
	if (threadIdx.x % 32 == 0) {
		unsigned mine = atomicAdd(next, 1u);
		while (*serving != mine)
			;
		__threadfence();
		*value += 1;
		__threadfence();
		*serving = mine + 1;
	}
}

// prove: lock_no_fence potential racy
__global__ void lock_no_fence(unsigned *lock, int *value)
{
	if (threadIdx.x % 32 == 0) {
		while (atomicCAS(lock, 0u, 1u))
			;
		*value += 1;
		atomicExch(lock, 0u);
	}
}

// prove: swizzle race-free --block-dim=32,8 --assume=gridDim.x<65536
__global__ void swizzle(float *y)
{
	__shared__ float s[8 * 32];
	unsigned x = threadIdx.x, r = threadIdx.y;
	s[r * 32 + (x ^ (r << 2))] = 1;
	__syncthreads();
	y[(blockIdx.x * 8 + r) * 32 + x] = s[r * 32 + x];
}

// prove: padded single --block-dim=256
__global__ void padded(float *y)
{
	__shared__ float s[256 + 8];
	unsigned t = threadIdx.x;
	s[t + (t >> 5)] = y[t];
	__syncthreads();
	y[t] = s[(t ^ 7) + ((t ^ 7) >> 5)];
}

// prove: ring race-free --block-dim=64
__global__ void ring(float *y, int n)
{
	__shared__ float s[64];
	s[threadIdx.x] = 0;
	for (int i = 0; i < n; i++) {
		__syncthreads();
		s[(threadIdx.x + i) % 64] += 1;
	}
	__syncthreads();
	y[blockIdx.x * 64 + threadIdx.x] = s[threadIdx.x];
}

// prove: ring_no_barrier true --block-dim=64
__global__ void ring_no_barrier(float *y, int n)
{
	__shared__ float s[64];
	s[threadIdx.x] = 0;
	for (int i = 0; i < n; i++)
		s[(threadIdx.x + i) % 64] += 1;
	y[blockIdx.x * 64 + threadIdx.x] = s[threadIdx.x];
}

// prove: copy_structure race-free
struct body {
	float x[3], v[3];
	char name[10];
};
__global__ void copy_structure(struct body *to, const struct body *from, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) {
		struct body b = from[i];
		for (int d = 0; d < 3; d++)
			b.x[d] += b.v[d];
		to[i] = b;
	}
}

// prove: memcpy_rows race-free
__global__ void memcpy_rows(char *to, const char *from)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	memcpy(to + 24ull * i, from + 24ull * i, 24);
}

// prove: memcpy_overlap true
__global__ void memcpy_overlap(char *to, const char *from)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	memcpy(to + 20ull * i, from + 24ull * i, 24);
}

// prove: named_barrier_pair single --block-dim=64
__global__ void named_barrier_pair(float *y)
{
	__shared__ float s[64];
	s[threadIdx.x] = 1;
	asm volatile("barrier.sync 1, 64;" ::: "memory");
	y[threadIdx.x] = s[63 - threadIdx.x];
}

// Half of the block is enough to complete this barrier.
// prove: named_barrier_half potential racy --block-dim=128
__global__ void named_barrier_half(float *y)
{
	__shared__ float s[128];
	s[threadIdx.x] = 1;
	asm volatile("barrier.sync 1, 64;" ::: "memory");
	y[threadIdx.x] = s[127 - threadIdx.x];
}

// ---- values that move until they have come to an end, and stay there
#define COLUMNS 48
#define ROWS	50

struct writer {
	int next, end, stride;

	__device__ void open(int x, int y, int stride_)
	{
		bool is_in = x < COLUMNS;
		next = is_in ? x + COLUMNS * y : 0;
		end = is_in ? x + COLUMNS * ROWS : 0;
		stride = is_in ? stride_ : 0;
	}
	__device__ void put(int *out, int v)
	{
		if (next != end) {
			out[next] = v;
			next += stride;
		}
	}
};

__device__ void write_column(int *out, int rows, int stride)
{
	writer w;

	w.open((int)(blockIdx.x * blockDim.x + threadIdx.x), (int)blockIdx.y * rows, stride);
	for (int k = 0; k < 3; k++)
		for (int i = 0; i < 8; i++)
			w.put(out, i);
}

// prove: column race-free --block-dim=32 --grid-dim=2,3
__global__ void column(int *out)
{
	write_column(out, 24, COLUMNS);
}
// Blocks begin before the rows of those above end.
// prove: column_over true racy --block-dim=32 --grid-dim=2,3
__global__ void column_over(int *out)
{
	write_column(out, 16, COLUMNS);
}
// prove: column_askew true racy --block-dim=32 --grid-dim=2,3
__global__ void column_askew(int *out)
{
	write_column(out, 24, COLUMNS - 1);
}
// What has come to the end goes to the first row.
// prove: column_again true racy --block-dim=32 --grid-dim=2,3
__global__ void column_again(int *out)
{
	int x = (int)threadIdx.x, next = x + COLUMNS * 24 * (int)blockIdx.y;

	for (int k = 0; k < 28 && blockIdx.x == 0; k++) {
		out[next] = k;
		next = next != x + COLUMNS * ROWS ? next + COLUMNS : x;
	}
}

// ---- columns that are split by parity
__device__ void halves(int *out, int odd, int next)
{
	__shared__ int s[128];
	int x = (int)threadIdx.x, at = x / 2 + (x & 1) * odd;

	s[at] = x;
	__syncthreads();
	if (x < 31)
		s[odd + x] += s[x] + s[x + next];
	__syncthreads();
	out[x] = s[at];
}
// prove: parity race-free --block-dim=64 --grid-dim=1
__global__ void parity(int *out)
{
	halves(out, 50, 1);
}
// prove: parity_close true racy --block-dim=64 --grid-dim=1
__global__ void parity_close(int *out)
{
	halves(out, 31, 1);
}
// prove: parity_far true racy --block-dim=64 --grid-dim=1
__global__ void parity_far(int *out)
{
	halves(out, 50, 24);
}

// A loop that counts to a number which it only compares with, as nvcc makes of what is left of an unrolled one.
#define COUNTED(START, ENTERS, STEP, END)                                                          \
	unsigned k = START, i = 0, at = 4 * (blockIdx.x * blockDim.x + threadIdx.x);               \
	if (ENTERS)                                                                                \
		do {                                                                               \
			out[at + i++] = k;                                                         \
			k STEP;                                                                    \
		} while (k != END);
#define OF_IN(MASK) in[blockIdx.x * blockDim.x + threadIdx.x] & MASK
// prove: counted_down race-free --block-dim=64 --grid-dim=4
__global__ void counted_down(unsigned *out, const unsigned *in) { COUNTED((OF_IN(3)) + 1, true, --, 0) }
// prove: counted_down_if_any race-free --block-dim=64 --grid-dim=4
__global__ void counted_down_if_any(unsigned *out, const unsigned *in) { COUNTED(OF_IN(3), k, --, 0) }
// prove: counted_up race-free --block-dim=64 --grid-dim=4
__global__ void counted_up(unsigned *out, const unsigned *in) { COUNTED(OF_IN(3), true, ++, 4) }
// prove: counted_down_from_0 potential racy --block-dim=64 --grid-dim=4
__global__ void counted_down_from_0(unsigned *out, const unsigned *in) { COUNTED(OF_IN(3), true, --, 0) }
// prove: counted_down_too_far potential racy --block-dim=64 --grid-dim=4
__global__ void counted_down_too_far(unsigned *out, const unsigned *in) { COUNTED((OF_IN(7)) + 1, true, --, 0) }
// prove: counted_down_past potential racy --block-dim=64 --grid-dim=4
__global__ void counted_down_past(unsigned *out, const unsigned *in) { COUNTED((OF_IN(3)) + 1, true, -= 2, 0) }
// prove: counted_down_past_end potential racy --block-dim=64 --grid-dim=4
__global__ void counted_down_past_end(unsigned *out, const unsigned *in) { COUNTED(OF_IN(3), k, --, 1) }
// prove: counted_up_too_far potential racy --block-dim=64 --grid-dim=4
__global__ void counted_up_too_far(unsigned *out, const unsigned *in) { COUNTED(OF_IN(3), true, ++, 5) }
// prove: counted_up_past potential racy --block-dim=64 --grid-dim=4
__global__ void counted_up_past(unsigned *out, const unsigned *in) { COUNTED((OF_IN(3)) + 1, true, ++, 2) }
// prove: counted_by_two_ends race-free --block-dim=64 --grid-dim=4
__global__ void counted_by_two_ends(unsigned *out, const unsigned *in) { COUNTED((OF_IN(15)) + 1, true, --, 0 && i < 4) }
