/*
 * followed.cu - a barrier is missing between writing a tile and reading it, and what is read is kept in some way.
 *
 * With `used` each kernel keeps the value: it ends, under a condition, in what the thread stores, passes on or
 * branches on, and the race is certain. With `kept` the kernels that have a twin discard it (keep is 0): then the
 * race is possible at most. What keeps it stands after the reads, so that nvcc at -O3 makes loads of them whose
 * use isn't certain. The names of the kernels that were launched are printed.
 */
#include <cstdio>
#include <cstring>

#define T 64

// Thread t writes element t; element OTHER is of the other warp.
#define OTHER ((t + 33) % T)
#define K(name) __global__ void name(float *out, const float *in, int *word, int n, int keep)
#define BEGIN \
	const int t = threadIdx.x; \
	(void)word; \
	(void)in; \
	(void)n;

struct sums {
	float a, b, c, d;
};

/* ---- guards at the end --------------------------------------------------------------------- */

K(guard_plain)
{
	__shared__ float s[T];
	BEGIN
	s[t] = in[t];
	float v = s[OTHER];
	if (t < keep * n)
		out[t] = v;
}

K(guard_sum)
{
	__shared__ float s[T];
	BEGIN
	float acc = 0;
	for (int k = 0; k < n; k++) {
		s[t] = in[t] + k;
		__syncthreads();
		acc += s[OTHER];
	}
	if (t < keep * 40)
		out[t] = acc;
}

K(guard_product)
{
	__shared__ float a[8][8], b[8][8];
	BEGIN
	float acc = 0;
	const int x = t % 8, y = t / 8;
	for (int k = 0; k < n; k++) {
		a[y][x] = in[t] + k;
		b[y][x] = in[t] - k;
		__syncthreads();
		for (int q = 0; q < 8; q++)
			acc += a[y][q] * b[q][x];
	}
	if (x < keep * 7 && y < 7)
		out[t] = acc;
}

K(guard_nested)
{
	__shared__ float s[T];
	BEGIN
	s[t] = in[t];
	float v = s[OTHER] * 2;
	if (keep)
		if (t < 50)
			if (n > 1)
				out[t] = v + 1;
}

K(guard_leave)
{
	__shared__ float s[T];
	BEGIN
	s[t] = in[t];
	float v = s[OTHER] + s[T - 1 - t];
	if (t >= keep * n)
		return;
	out[t] = v;
}

K(guard_choice)
{
	__shared__ float s[T];
	BEGIN
	s[t] = in[t];
	float v = s[OTHER];
	out[t] = keep ? v : 1;
}

K(guard_atomic)
{
	__shared__ float s[T];
	BEGIN
	s[t] = in[t];
	float v = s[OTHER];
	if (t < keep * n)
		atomicAdd(out, v);
}

K(guard_shuffle)
{
	__shared__ float s[T];
	BEGIN
	s[t] = in[t];
	float v = s[OTHER];
	if (keep) {
		v = __shfl_down_sync(~0u, v, 1);
		if (t == 0)
			out[0] = v;
	}
}

K(guard_vote)
{
	__shared__ float s[T];
	BEGIN
	s[t] = in[t];
	float v = s[OTHER];
	if (keep) {
		unsigned all = __ballot_sync(~0u, v > 3);
		if (t % 32 == 0)
			word[t / 32] = all;
	}
}

K(guard_place)
{
	__shared__ int s[T];
	BEGIN
	s[t] = t & 31;
	int v = s[OTHER];
	if (keep)
		out[v & 31] = 1;
}

K(guard_double)
{
	__shared__ double s[T];
	BEGIN
	double acc = 1;
	for (int k = 0; k < n; k++) {
		s[t] = in[t];
		__syncthreads();
		acc = acc * 0.5 + s[OTHER];
	}
	if (t < keep * 33)
		out[t] = (float)acc;
}

K(guard_two_stores)
{
	__shared__ float s[T];
	BEGIN
	s[t] = in[t];
	float v = s[OTHER];
	if (t < keep * 10)
		out[t] = v;
	else if (t >= 64 - keep * 10)
		out[t] = -v;
}

/* ---- accumulators ---------------------------------------------------------------------------- */

K(sum_int)
{
	__shared__ int s[T];
	BEGIN
	int acc = 0;
	for (int k = 0; k < n; k++) {
		s[t] = k + t;
		__syncthreads();
		acc += s[OTHER];
	}
	if (keep)
		word[t] = acc;
}

K(sum_xor)
{
	__shared__ int s[T];
	BEGIN
	int acc = 0;
	for (int k = 0; k < n; k++) {
		s[t] = k ^ t;
		__syncthreads();
		acc ^= s[OTHER] << k;
	}
	if (t < 20 * keep)
		word[t] = acc;
}

K(sum_max)
{
	__shared__ float s[T];
	BEGIN
	float most = -1;
	for (int k = 0; k < n; k++) {
		s[t] = in[t] + k;
		__syncthreads();
		most = fmaxf(most, s[OTHER]);
	}
	if (t < 20 * keep)
		out[t] = most;
}

K(sum_two)
{
	__shared__ float s[T];
	BEGIN
	float even = 0, odd = 0;
	for (int k = 0; k < n; k++) {
		s[t] = in[t] + k;
		__syncthreads();
		if (k & 1)
			odd += s[OTHER];
		else
			even += s[OTHER];
	}
	if (t < 20 * keep)
		out[t] = even - odd;
}

K(sum_swapped)
{
	__shared__ float s[T];
	BEGIN
	float a = 0, b = 1;
	for (int k = 0; k < n; k++) {
		s[t] = in[t] + k;
		__syncthreads();
		float c = a + s[OTHER];
		a = b;
		b = c;
	}
	if (keep)
		out[t] = t & 1 ? a : b;
}

K(sum_of_products)
{
	__shared__ float s[T];
	BEGIN
	float acc = 0;
	for (int k = 0; k < n; k++) {
		s[t] = in[t] + k;
		__syncthreads();
		acc = fmaf(s[OTHER], s[T - 1 - t], acc);
	}
	if (t < 60 * keep)
		out[t] = sqrtf(acc);
}

K(sum_64)
{
	__shared__ unsigned long long s[T];
	BEGIN
	unsigned long long acc = 0;
	for (int k = 0; k < n; k++) {
		s[t] = (unsigned long long)t << 32 | k;
		__syncthreads();
		acc += s[OTHER];
	}
	if (keep)
		word[t] = (int)(acc >> 32);
}

K(sum_polynomial)
{
	__shared__ int s[T];
	BEGIN
	int acc = 1;
	for (int k = 0; k < n; k++) {
		s[t] = k + t;
		__syncthreads();
		acc = acc * 31 + s[OTHER];
	}
	if (keep)
		atomicXor(word, acc);
}

K(sum_of_one_round)
{
	__shared__ float s[T];
	BEGIN
	float one = 0;
	for (int k = 0; k < n; k++) {
		s[t] = in[t] + k;
		__syncthreads();
		one = k == 1 ? s[OTHER] : one;
	}
	if (keep)
		out[t] = one;
}

K(sum_flags)
{
	__shared__ int s[T];
	BEGIN
	bool all = true;
	for (int k = 0; k < n; k++) {
		s[t] = k + t;
		__syncthreads();
		all = all & (s[OTHER] >= k);
	}
	if (keep)
		word[t] = all;
}

K(sum_condition)
{
	__shared__ float s[T];
	BEGIN
	float acc = 0;
	for (int k = 0; k < n; k++) {
		s[t] = in[t] + k;
		__syncthreads();
		if ((t + k) % 3)
			acc += s[OTHER];
	}
	if (keep)
		out[t] = acc;
}

K(sum_global)
{
	BEGIN
	float acc = 0;
	for (int k = 0; k < n; k++) {
		out[T + t] = in[t] + k;
		__syncthreads();
		acc += out[T + OTHER];
	}
	if (t < 33 * keep)
		out[t] = acc;
}

/* ---- structs, arrays ------------------------------------------------------------------------- */

K(struct_of_sums)
{
	__shared__ float s[T];
	BEGIN
	sums v = {0, 0, 0, 0};
	for (int k = 0; k < n; k++) {
		s[t] = in[t] + k;
		__syncthreads();
		v.a += s[OTHER];
		v.b -= s[(OTHER + 1) % T];
		v.c *= s[(OTHER + 2) % T];
		v.d += v.a * v.b;
	}
	if (t < 30 * keep)
		*(sums *)(out + 4 * t) = v;
}

K(struct_copied)
{
	__shared__ sums s[T];
	BEGIN
	s[t] = sums{in[t], 1, 2, 3};
	sums v = s[OTHER];
	if (t < 30 * keep)
		*(sums *)(out + 4 * t) = v;
}

K(struct_complex)
{
	__shared__ float2 s[T];
	BEGIN
	float2 v = make_float2(1, 0);
	for (int k = 0; k < n; k++) {
		s[t] = make_float2(in[t], k);
		__syncthreads();
		float2 u = s[OTHER];
		v = make_float2(v.x * u.x - v.y * u.y, v.x * u.y + v.y * u.x);
	}
	if (keep)
		out[t] = v.x + v.y;
}

K(array_of_sums)
{
	__shared__ float s[T];
	BEGIN
	float v[8] = {0};
	for (int k = 0; k < n; k++) {
		s[t] = in[t] + k;
		__syncthreads();
#pragma unroll
		for (int q = 0; q < 8; q++)
			v[q] += s[(OTHER + 4 * q) % T];
	}
	for (int q = 0; q < 8; q++)
		if (q < keep * n)
			out[8 * t + q] = v[q];
}

K(array_many_registers)
{
	__shared__ float s[T];
	BEGIN
	float v[48];
#pragma unroll
	for (int q = 0; q < 48; q++)
		v[q] = q;
	for (int k = 0; k < n; k++) {
		s[t] = in[t] + k;
		__syncthreads();
#pragma unroll
		for (int q = 0; q < 48; q++)
			v[q] = v[q] * 2 + s[(OTHER + q) % T];
	}
#pragma unroll
	for (int q = 0; q < 48; q++)
		if (t < keep * (q + 1))
			out[q] = v[q];
}

K(array_window)
{
	__shared__ float s[T];
	BEGIN
	float w0 = 0, w1 = 0, w2 = 0;
	for (int k = 0; k < n; k++) {
		s[t] = in[t] + k;
		__syncthreads();
		w0 = w1;
		w1 = w2;
		w2 = s[OTHER];
	}
	if (keep)
		out[t] = w0 + 2 * w1 + w2;
}

/* ---- vectors --------------------------------------------------------------------------------- */

K(vector_four)
{
	__shared__ float4 s[T];
	BEGIN
	s[t] = make_float4(in[t], 1, 2, 3);
	float4 v = s[OTHER];
	float w = t & 1 ? v.x : t & 2 ? v.y : t & 4 ? v.z : v.w;
	if (keep)
		out[t] = w;
}

K(vector_widened)
{
	__shared__ __align__(16) int s[4];
	BEGIN
	int base = 0;
	for (int k = 0; k < n; k++) {
		if (t % 32 == 0) {
			s[t / 32] = t + k;
			s[2 + t / 32] = k;
		}
		__syncthreads();
		int a = s[0], b = a + s[1], c = b + s[2], d = c + s[3];
		int before = t < 16 ? 0 : t < 32 ? a : t < 48 ? b : c;
		if (keep)
			word[t] = base + before;
		base += d;
	}
}

K(vector_bytes)
{
	__shared__ uchar4 s[T];
	BEGIN
	s[t] = make_uchar4(t, 1, 2, 3);
	uchar4 v = s[OTHER];
	if (keep)
		word[t] = v.x + v.y + v.z + v.w;
}

K(vector_two_doubles)
{
	__shared__ double2 s[T];
	BEGIN
	s[t] = make_double2(in[t], t);
	double2 v = s[OTHER];
	if (t < 7 * keep)
		out[t] = (float)(v.x / v.y);
}

K(vector_dot)
{
	__shared__ float4 s[T];
	BEGIN
	float acc = 0;
	for (int k = 0; k < n; k++) {
		s[t] = make_float4(in[t], k, 2, 3);
		__syncthreads();
		float4 v = s[OTHER];
		acc += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
	}
	if (t < 7 * keep)
		out[t] = acc;
}

/* ---- unrolled loops -------------------------------------------------------------------------- */

K(unrolled_sum)
{
	__shared__ float s[T];
	BEGIN
	s[t] = in[t];
	float acc = 0;
#pragma unroll 16
	for (int q = 0; q < T; q++)
		acc += s[q];
	if (t < keep * 20)
		out[t] = acc;
}

K(unrolled_pair)
{
	__shared__ float s[T];
	BEGIN
	float acc = 0;
#pragma unroll 2
	for (int k = 0; k < 2 * n; k++) {
		s[t] = in[t] + k;
		__syncthreads();
		acc += s[OTHER];
	}
	if (t < keep * 20)
		out[t] = acc;
}

K(unrolled_tree)
{
	__shared__ float s[2 * T];
	BEGIN
	s[t] = in[t];
	s[t + T] = 0;
	float v = s[t];
#pragma unroll
	for (int d = 32; d >= 4; d /= 2)
		v += s[t + d];
	if (t == 64 - keep * 60)
		out[0] = v;
}

K(unrolled_rows)
{
	__shared__ float s[8][9];
	BEGIN
	s[t / 8][t % 8] = in[t];
	float acc = 0;
#pragma unroll
	for (int q = 0; q < 8; q++)
		acc += s[q][t % 8] * q;
	if (keep)
		out[t] = acc;
}

K(unrolled_guarded)
{
	__shared__ float s[T];
	BEGIN
	s[t] = in[t];
	float acc = 0;
#pragma unroll 4
	for (int q = 0; q < 8; q++)
		if (t + 8 * q < n * 20)
			acc += s[(t + 8 * q + 32) % T];
	if (keep)
		out[t] = acc;
}

/* ---- waits inside ---------------------------------------------------------------------------- */

K(wait_volatile)
{
	__shared__ float s[T];
	BEGIN
	float acc = 0;
#pragma unroll 1
	for (int k = 0; k < n; k++) {
		s[t] = in[t] + k;
		acc += s[OTHER];
		while (((volatile int *)word)[200] != 7)
			;
	}
	if (t < keep * 33)
		out[t] = acc;
}

K(wait_atomic)
{
	__shared__ float s[T];
	BEGIN
	float acc = 0;
#pragma unroll 1
	for (int k = 0; k < n; k++) {
		s[t] = in[t] + k;
		acc += s[OTHER];
		while (atomicAdd(word + 200, 0) != 7)
			;
	}
	out[t] = acc;
}

K(wait_barrier)
{
	__shared__ float s[T];
	BEGIN
	s[t] = in[t];
	float v = s[OTHER];
	__syncthreads();
	__threadfence();
	__syncthreads();
	if (keep)
		out[t] = v;
}

K(wait_inner_loop)
{
	__shared__ float s[T];
	BEGIN
	float acc = 0;
#pragma unroll 1
	for (int k = 0; k < n; k++) {
		s[t] = in[t] + k;
		float v = s[OTHER];
		int left = t % 4;
#pragma unroll 1
		while (left-- > 0)
			acc += 1;
		acc += v;
	}
	if (t < keep * 33)
		out[t] = acc;
}

K(wait_others)
{
	__shared__ float s[T];
	BEGIN
	s[t] = in[t];
	float v = s[OTHER];
	__syncwarp();
	__nanosleep(10);
	unsigned who = __ballot_sync(~0u, t > 5);
	if (who >> (t % 32) & keep)
		out[t] = v;
}

/* ---- early exits, branches ------------------------------------------------------------------- */

K(exit_negative)
{
	__shared__ float s[T];
	BEGIN
	float acc = 0;
	for (int k = 0; k < n; k++) {
		s[t] = in[t] + k;
		float v = s[OTHER];
		if (v < 0)
			break;
		acc += 1;
	}
	out[t] = acc;
}

K(exit_return)
{
	__shared__ float s[T];
	BEGIN
	s[t] = in[t];
	if (t < n && s[OTHER] > 1e9f)
		return;
	out[t] = keep;
}

K(exit_continue)
{
	__shared__ int s[T];
	BEGIN
	int found = 0;
	for (int k = 0; k < n; k++) {
		s[t] = t + k;
		if (s[OTHER] & 1)
			continue;
		found += k;
	}
	word[t] = found;
}

K(exit_both)
{
	__shared__ int s[T];
	BEGIN
	s[t] = t;
	if (s[OTHER] < 0 || s[T - 1 - t] < 0)
		out[t] = 1;
}

K(exit_search)
{
	__shared__ int s[T];
	BEGIN
	s[t] = t;
	int q = 0;
	while (q < T && s[q] != t)
		q++;
	word[t] = q;
}

K(exit_switch)
{
	__shared__ int s[T];
	BEGIN
	s[t] = t % 5;
	switch (s[OTHER]) {
	case 0: out[t] = 1; break;
	case 1: out[t] = 7; break;
	case 2: out[t] = n; break;
	case 3: word[t] = n; break;
	default: break;
	}
}

/* ---- values that a condition takes or masks ---------------------------------------------------- */

K(mask_and)
{
	__shared__ int s[T];
	BEGIN
	s[t] = t | 1;
	int v = s[OTHER];
	word[t] = v & -keep;
}

K(mask_multiply)
{
	__shared__ int s[T];
	BEGIN
	s[t] = t | 1;
	int v = s[OTHER];
	word[t] = v * keep + n;
}

K(mask_shift)
{
	__shared__ unsigned s[T];
	BEGIN
	s[t] = t | 1;
	unsigned v = s[OTHER], by = keep ? 3 : 32, w;
	asm("shl.b32 %0, %1, %2;" : "=r"(w) : "r"(v), "r"(by));
	word[t] = w;
}

K(mask_lop3)
{
	__shared__ unsigned s[T];
	BEGIN
	s[t] = t | 1;
	unsigned v = s[OTHER], w;
	asm("lop3.b32 %0, %1, %2, %3, 0x80;" : "=r"(w) : "r"(v), "r"(-keep), "r"(n | 0xff));
	word[t] = w;
}

K(mask_prmt)
{
	__shared__ unsigned s[T];
	BEGIN
	s[t] = t | 0x1010101;
	unsigned v = s[OTHER];
	word[t] = __byte_perm(v, n, keep ? 0x3210 : 0x7654);
}

K(mask_reset)
{
	__shared__ float s[T];
	BEGIN
	float acc = 0;
	for (int k = 0; k < n; k++) {
		s[t] = in[t] + k;
		__syncthreads();
		acc += s[OTHER];
	}
	if (!keep)
		acc = 0;
	out[t] = acc;
}

K(mask_some)
{
	__shared__ float s[T];
	BEGIN
	s[t] = in[t];
	float v = 0;
	// The others' elements are 32 to 63 for the first warp: with keep 0 each takes its own.
	for (int q = 0; q < T; q++) {
		float w = s[q];
		v = q == (keep ? OTHER : t) ? w : v;
	}
	out[t] = v;
}

K(mask_dead_elements)
{
	__shared__ float4 s[T / 4];
	BEGIN
	((float *)s)[t] = in[t];
	// With keep 0 each takes its own element.
	float4 v = s[keep ? OTHER / 4 : t / 4];
	float w = t % 4 == 0 ? v.x : t % 4 == 1 ? v.y : t % 4 == 2 ? v.z : v.w;
	out[t] = w;
}

K(mask_both)
{
	__shared__ int s[T];
	BEGIN
	s[t] = t | 1;
	int v = s[OTHER];
	if (keep && v > 0)
		out[t] = 1;
}

K(mask_mad)
{
	__shared__ int s[T];
	BEGIN
	s[t] = t | 1;
	int v = s[OTHER], w;
	asm("mad.lo.s32 %0, %1, %2, %3;" : "=r"(w) : "r"(v), "r"(keep), "r"(n));
	word[t] = w;
}

K(mask_wide)
{
	__shared__ int s[T];
	BEGIN
	s[t] = t | 1;
	long long v = (long long)s[OTHER] * keep;
	word[t] = (int)(v >> 3);
}

K(mask_bfi)
{
	__shared__ unsigned s[T];
	BEGIN
	s[t] = t | 0x1010101;
	unsigned v = s[OTHER], w;
	// Of no length nothing is inserted.
	asm("bfi.b32 %0, %1, %2, 4, %3;" : "=r"(w) : "r"(v), "r"(n), "r"(8 * keep));
	word[t] = w;
}

K(mask_bfi_over)
{
	__shared__ unsigned s[T];
	BEGIN
	s[t] = t | 0x1010101;
	unsigned v = s[OTHER], w;
	// Into it: with the full length nothing of it is left.
	asm("bfi.b32 %0, %1, %2, %3, 32;" : "=r"(w) : "r"(n), "r"(v), "r"(keep ? 8 : 0));
	word[t] = w;
}

K(mask_bfe)
{
	__shared__ unsigned s[T];
	BEGIN
	s[t] = t | 0x1010101;
	unsigned v = s[OTHER], w;
	asm("bfe.u32 %0, %1, 2, %2;" : "=r"(w) : "r"(v), "r"(8 * keep));
	word[t] = w;
}

K(mask_or)
{
	__shared__ unsigned s[T];
	BEGIN
	s[t] = t;
	unsigned v = s[OTHER];
	word[t] = v | (keep - 1u);
}

K(mask_twice)
{
	__shared__ unsigned s[T];
	BEGIN
	s[t] = t | 1;
	unsigned v = s[OTHER];
	word[t] = ((v | n) * keep) >> (n - 2);
}

K(mask_remainder)
{
	__shared__ unsigned s[T];
	BEGIN
	s[t] = t | 1;
	unsigned v = s[OTHER];
	word[t] = v % (1 + 6 * keep);
}

K(mask_min)
{
	__shared__ unsigned s[T];
	BEGIN
	s[t] = t | 1;
	bool v = s[OTHER] > 5;
	word[t] = min((int)v, keep);
}

K(mask_max)
{
	__shared__ unsigned s[T];
	BEGIN
	s[t] = t | 1;
	bool v = s[OTHER] > 5;
	word[t] = max((int)v, 1 - keep);
}

K(mask_byte)
{
	__shared__ unsigned s[T];
	BEGIN
	s[t] = t | 0x1010101;
	unsigned v = s[OTHER], w;
	// Three bytes of another word, and one of this or that.
	asm("prmt.b32 %0, %1, %2, %3;" : "=r"(w) : "r"(n), "r"(v), "r"(keep ? 0x3214 : 0x3210));
	word[t] = w;
}

K(mask_selects)
{
	__shared__ int s[T];
	BEGIN
	s[t] = t;
	int v = s[OTHER], w;
	w = n > 1 ? v : 3;
	w = keep ? w : t;
	w = n > 2 ? w : 5;
	word[t] = w;
}

K(mask_equal)
{
	__shared__ int s[T];
	BEGIN
	s[t] = t;
	int v = s[OTHER], w;
	// Where both operands are equal, the predicate decides nothing.
	asm("{ .reg .pred p; setp.gt.s32 p, %1, 5; selp.b32 %0, %2, %3, p; }"
	    : "=r"(w)
	    : "r"(v), "r"(n), "r"(n + keep));
	word[t] = w;
}

K(mask_reset_often)
{
	__shared__ float s[T];
	BEGIN
	float acc = 0, last = 0;
	for (int k = 0; k < n; k++) {
		s[t] = in[t] + k;
		__syncthreads();
		acc += s[OTHER];
		last = k == (keep ? 1 : n) ? acc : last;
		acc = k & 1 ? acc : 0;
	}
	out[t] = last;
}

K(mask_dead_tail)
{
	__shared__ int4 s[T];
	BEGIN
	s[t].x = t;
	s[(t + 33) % T].w = t;
	int4 v = s[t];
	word[t] = v.x + (keep ? v.w : 0);
}

K(mask_dead_half)
{
	__shared__ unsigned long long s[T];
	BEGIN
	// Each thread's own half; the other one is another warp's.
	((unsigned *)s)[2 * t] = t;
	((unsigned *)s)[2 * OTHER + 1] = t;
	unsigned long long v = s[t];
	unsigned low, high;
	asm("mov.b64 {%0, %1}, %2;" : "=r"(low), "=r"(high) : "l"(v));
	word[t] = low + high * keep;
}

K(mask_dead_half_moved)
{
	__shared__ unsigned long long s[T];
	BEGIN
	unsigned long long v = 0;
	for (int k = 0; k < n; k++) {
		((unsigned *)s)[2 * t + 1] = t + k;
		((unsigned *)s)[2 * OTHER] = t;
		v = k == n - 1 ? s[t] : v;
		__syncthreads();
	}
	unsigned low, high;
	asm("{ .reg .b64 h; shr.u64 h, %2, 32; cvt.u32.u64 %1, h; cvt.u32.u64 %0, %2; }"
	    : "=r"(low), "=r"(high)
	    : "l"(v));
	word[t] = high;
	if (t < keep * n)
		word[t + T] = low;
}

K(mask_dead_halves_of_vector)
{
	__shared__ ulonglong2 s[T];
	BEGIN
	((unsigned *)s)[4 * t] = t;
	((unsigned *)s)[4 * t + 3] = t;
	((unsigned *)s)[4 * OTHER + 1] = t;
	((unsigned *)s)[4 * OTHER + 2] = t;
	ulonglong2 v = s[t];
	unsigned a, b, c, d;
	asm("mov.b64 {%0, %1}, %2;" : "=r"(a), "=r"(b) : "l"(v.x));
	asm("mov.b64 {%0, %1}, %2;" : "=r"(c), "=r"(d) : "l"(v.y));
	word[t] = a + d;
	if (keep)
		word[t] = b * c;
}

K(mask_dead_short)
{
	__shared__ unsigned s[T];
	BEGIN
	((unsigned short *)s)[2 * t] = t;
	((unsigned short *)s)[2 * OTHER + 1] = t;
	unsigned v = s[t];
	unsigned short low, high;
	asm("mov.b32 {%0, %1}, %2;" : "=h"(low), "=h"(high) : "r"(v));
	word[t] = low + high * keep;
}

K(mask_dead_byte)
{
	__shared__ unsigned s[T];
	BEGIN
	unsigned char *c = (unsigned char *)s;
	c[4 * t] = t;
	c[4 * t + 1] = t;
	c[4 * OTHER + 3] = t;
	unsigned v = s[t], low, high;
	asm("bfe.u32 %0, %2, 0, 16; bfe.u32 %1, %2, 24, 8;" : "=r"(low), "=r"(high) : "r"(v));
	word[t] = low;
	if (t < keep * 40)
		word[t] = high;
}

/* ======================================================================== */

struct kernel {
	const char *name;
	void (*fn)(float *, const float *, int *, int, int);
	bool has_twin;
};

#define ONE(name)  {#name, name, false}
#define TWIN(name) {#name, name, true}

static const kernel kernels[] = {
	TWIN(guard_plain), TWIN(guard_sum), TWIN(guard_product), TWIN(guard_nested), TWIN(guard_leave),
	TWIN(guard_choice), TWIN(guard_atomic), TWIN(guard_shuffle), TWIN(guard_vote), TWIN(guard_place),
	TWIN(guard_double), TWIN(guard_two_stores), TWIN(sum_int), TWIN(sum_xor), TWIN(sum_max),
	TWIN(sum_two), TWIN(sum_swapped), TWIN(sum_of_products), TWIN(sum_64), TWIN(sum_polynomial),
	TWIN(sum_of_one_round), TWIN(sum_flags), TWIN(sum_condition), TWIN(sum_global), TWIN(struct_of_sums),
	TWIN(struct_copied), TWIN(struct_complex), TWIN(array_of_sums), TWIN(array_many_registers),
	TWIN(array_window), TWIN(vector_four), TWIN(vector_widened), TWIN(vector_bytes),
	TWIN(vector_two_doubles), TWIN(vector_dot), TWIN(unrolled_sum), TWIN(unrolled_pair),
	TWIN(unrolled_tree), TWIN(unrolled_rows), TWIN(unrolled_guarded), TWIN(wait_volatile),
	ONE(wait_atomic), TWIN(wait_barrier), TWIN(wait_inner_loop), TWIN(wait_others), ONE(exit_negative),
	ONE(exit_return), ONE(exit_continue), ONE(exit_both), ONE(exit_search), ONE(exit_switch),
	TWIN(mask_and), TWIN(mask_multiply), TWIN(mask_shift), TWIN(mask_lop3), TWIN(mask_prmt),
	TWIN(mask_reset), TWIN(mask_some), TWIN(mask_dead_elements), TWIN(mask_both),
	TWIN(mask_mad), TWIN(mask_wide), TWIN(mask_bfi), TWIN(mask_bfi_over), TWIN(mask_bfe),
	TWIN(mask_or), TWIN(mask_twice), TWIN(mask_remainder), TWIN(mask_min), TWIN(mask_max),
	TWIN(mask_byte), TWIN(mask_selects), TWIN(mask_equal), TWIN(mask_reset_often),
	TWIN(mask_dead_tail), TWIN(mask_dead_half), TWIN(mask_dead_half_moved),
	TWIN(mask_dead_halves_of_vector), TWIN(mask_dead_short), TWIN(mask_dead_byte),
};

int main(int argc, char **argv)
{
	const bool is_used = argc > 1 && !strcmp(argv[1], "used");
	float host[8 * T], *out, *in;
	int *word, seven = 7;

	for (int i = 0; i < 8 * T; i++)
		host[i] = (float)i;
	for (const auto &k : kernels) {
		if (argc < 2 || (!is_used && !k.has_twin) || (argc > 2 && strcmp(argv[2], k.name)))
			continue;
		cudaMalloc(&out, sizeof(host));
		cudaMalloc(&in, sizeof(host));
		cudaMalloc(&word, 4096);
		cudaMemset(word, 0, 4096);
		cudaMemcpy(word + 200, &seven, sizeof(seven), cudaMemcpyHostToDevice);
		cudaMemcpy(in, host, sizeof(host), cudaMemcpyHostToDevice);
		k.fn<<<1, T>>>(out, in, word, 3, is_used);
		if (cudaDeviceSynchronize() != cudaSuccess)
			return 1;
		puts(k.name);
		cudaFree(out);
		cudaFree(in);
		cudaFree(word);
	}
	return 0;
}
