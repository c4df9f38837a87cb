// adverse.cu - pairs that differ in one place, X: what wraps, is cast, leaves early, counts at a barrier or draws a number.
#include <string.h>

#pragma nv_diag_suppress 550 // stored and never read

#define t threadIdx.x
#define b blockIdx.x
#define g (blockIdx.x * blockDim.x + threadIdx.x)

__device__ void fill4(int (&r)[4], int i)
{
	r[0] = i, r[1] = i / 2, r[2] = r[3] = 0;
}
template <int N> struct Bits {
	static __device__ unsigned of(unsigned i)
	{
		return (i & 1) << (N - 1) | Bits<N - 1>::of(i >> 1);
	}
};
template <> struct Bits<0> {
	static __device__ unsigned of(unsigned)
	{
		return 0;
	}
};
__device__ unsigned turned(unsigned a, unsigned c, unsigned n)
{
	unsigned d;
	asm("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(c), "r"(n));
	return d;
}
__device__ __noinline__ void put_and_meet(int *s, int i)
{
	s[i] = i;
	__syncthreads();
}

#define WRAP_BYTE(X)                                                                               \
	__shared__ alignas(16) int s[512];                                                         \
	unsigned char i = t * X;                                                                   \
	s[i] = t;                                                                                  \
	out[g] = s[i];
// prove: wrap_byte race-free --block-dim=64 --grid-dim=4
__global__ void wrap_byte(int *out) { WRAP_BYTE(5) }
// prove: wrap_byte_racy true racy --block-dim=64 --grid-dim=4
__global__ void wrap_byte_racy(int *out) { WRAP_BYTE(8) }

#define WRAP_SIGN(X)                                                                               \
	__shared__ alignas(16) int s[512];                                                         \
	int i = (int)t - 32;                                                                       \
	s[i < 0 ? X : i] = t;                                                                      \
	out[g] = t;
// prove: wrap_sign race-free --block-dim=64 --grid-dim=4
__global__ void wrap_sign(int *out) { WRAP_SIGN(64 + i) }
// prove: wrap_sign_racy true racy --block-dim=64 --grid-dim=4
__global__ void wrap_sign_racy(int *out) { WRAP_SIGN(-i) }

#define MUL_HIGH_DIV(X)                                                                            \
	unsigned q = __umulhi(g, 0xaaaaaaabu) >> 1;                                                \
	out[q * X + (g - q * 3)] = t;
// prove: mul_high_div race-free --block-dim=64 --grid-dim=4
__global__ void mul_high_div(int *out) { MUL_HIGH_DIV(3) }
// prove: mul_high_div_racy true racy --block-dim=64 --grid-dim=4
__global__ void mul_high_div_racy(int *out) { MUL_HIGH_DIV(2) }

#define CAST_SHORTS(X)                                                                             \
	__shared__ alignas(16) int s[512];                                                         \
	((short *)s)[t] = 1;                                                                       \
	s[X + t] = 2;                                                                              \
	out[g] = 1;
// prove: cast_shorts race-free --block-dim=64 --grid-dim=4
__global__ void cast_shorts(int *out) { CAST_SHORTS(32) }
// prove: cast_shorts_racy true racy --block-dim=64 --grid-dim=4
__global__ void cast_shorts_racy(int *out) { CAST_SHORTS(31) }

#define CAST_VECTOR(X)                                                                             \
	__shared__ alignas(16) int s[512];                                                         \
	*(int4 *)&s[t * 4] = make_int4(t, t, t, t);                                                \
	out[g] = s[X];
// prove: cast_vector race-free --block-dim=64 --grid-dim=4
__global__ void cast_vector(int *out) { CAST_VECTOR(t * 4 + 3) }
// prove: cast_vector_racy true racy --block-dim=64 --grid-dim=4
__global__ void cast_vector_racy(int *out) { CAST_VECTOR(t * 4 + 4) }

#define UNION_TAGGED(X)                                                                            \
	__shared__ alignas(16) int s[512];                                                         \
	struct V {                                                                                 \
		int tag;                                                                           \
		union {                                                                            \
			float f;                                                                   \
			int i;                                                                     \
		};                                                                                 \
	};                                                                                         \
	V *a = (V *)s;                                                                             \
	a[t].f = t;                                                                                \
	out[g] = a[X].i;
// prove: union_tagged race-free --block-dim=64 --grid-dim=4
__global__ void union_tagged(int *out) { UNION_TAGGED(t) }
// prove: union_tagged_racy true racy --block-dim=64 --grid-dim=4
__global__ void union_tagged_racy(int *out) { UNION_TAGGED(t ^ 1) }

#define EXIT_APART(X)                                                                              \
	__shared__ alignas(16) int s[512];                                                         \
	if (t >= 48) {                                                                             \
		s[t + X] = 1;                                                                      \
		return;                                                                            \
	}                                                                                          \
	s[t] = t;                                                                                  \
	__syncthreads();                                                                           \
	out[g] = s[63 - t];
// prove: exit_apart race-free --block-dim=64 --grid-dim=4
__global__ void exit_apart(int *out) { EXIT_APART(64) }
// prove: exit_apart_racy true racy --block-dim=64 --grid-dim=4
__global__ void exit_apart_racy(int *out) { EXIT_APART(0) }

#define COUNT_BARRIER(X)                                                                           \
	__shared__ alignas(16) int s[512];                                                         \
	s[t] = in[g];                                                                              \
	int c = X;                                                                                 \
	out[g] = s[63 - t] + c;
// prove: count_barrier race-free --block-dim=64 --grid-dim=4
__global__ void count_barrier(int *out, const int *in) { COUNT_BARRIER(__syncthreads_count(t & 1)) }
// prove: count_barrier_racy true racy --block-dim=64 --grid-dim=4
__global__ void count_barrier_racy(int *out, const int *in) { COUNT_BARRIER(__popc(__activemask())) }

#define COUNT_GUARD(X)                                                                             \
	int c = __syncthreads_count(in[g] > 0);                                                    \
	if (t X c)                                                                                 \
		out[b] = c;
// prove: count_guard race-free --block-dim=64 --grid-dim=4
__global__ void count_guard(int *out, const int *in) { COUNT_GUARD(==) }
// prove: count_guard_racy potential racy --block-dim=64 --grid-dim=4
__global__ void count_guard_racy(int *out, const int *in) { COUNT_GUARD(<=) }

#define COUNT_CARRIED(X)                                                                           \
	__shared__ alignas(16) int s[512];                                                         \
	int c = 0;                                                                                 \
	for (int k = 0; k < n; k++) {                                                              \
		if (t == c)                                                                        \
			s[0] = k;                                                                  \
		c = __syncthreads_count(in[g + k]);                                                \
		if (t == X)                                                                        \
			s[0] = k + 1;                                                              \
	}                                                                                          \
	out[g] = 1;
// prove: count_carried race-free --block-dim=64 --grid-dim=4
__global__ void count_carried(int *out, const int *in, int n) { COUNT_CARRIED(c) }
// prove: count_carried_racy potential racy --block-dim=64 --grid-dim=4
__global__ void count_carried_racy(int *out, const int *in, int n) { COUNT_CARRIED(63 - c) }

#define OR_LOOP(X)                                                                                 \
	__shared__ alignas(16) int s[512];                                                         \
	int v = in[g], more;                                                                       \
	s[t] = v;                                                                                  \
	do {                                                                                       \
		__syncthreads();                                                                   \
		int w = s[63 - t];                                                                 \
		more = w > v;                                                                      \
		v = max(v, w);                                                                     \
		X();                                                                               \
		s[t] = v;                                                                          \
	} while (__syncthreads_or(more));                                                          \
	out[g] = v;
// prove: or_loop race-free --block-dim=64 --grid-dim=4
__global__ void or_loop(int *out, const int *in) { OR_LOOP(__syncthreads) }
// prove: or_loop_racy true racy --block-dim=64 --grid-dim=4
__global__ void or_loop_racy(int *out, const int *in) { OR_LOOP(__syncwarp) }

#define TICKET_SHARED(X)                                                                           \
	__shared__ alignas(16) int s[512];                                                         \
	__shared__ int c;                                                                          \
	if (t == 0)                                                                                \
		c = 0;                                                                             \
	X();                                                                                       \
	if (in[g] > 0)                                                                             \
		s[atomicAdd(&c, 1)] = t;                                                           \
	out[g] = 1;
// prove: ticket_shared race-free --block-dim=64 --grid-dim=4
__global__ void ticket_shared(int *out, const int *in) { TICKET_SHARED(__syncthreads) }
// prove: ticket_shared_racy potential racy --block-dim=64 --grid-dim=4
__global__ void ticket_shared_racy(int *out, const int *in) { TICKET_SHARED(__syncwarp) }

#define TICKET_TWICE(X)                                                                            \
	__shared__ alignas(16) int s[512];                                                         \
	__shared__ int c;                                                                          \
	if (t == 0)                                                                                \
		c = 0;                                                                             \
	__syncthreads();                                                                           \
	s[atomicAdd(&c, 1)] = t;                                                                   \
	__syncthreads();                                                                           \
	if (t == 0)                                                                                \
		c = 0;                                                                             \
	X();                                                                                       \
	s[atomicAdd(&c, 1)] = t;                                                                   \
	out[g] = 1;
// prove: ticket_twice race-free --block-dim=64 --grid-dim=4
__global__ void ticket_twice(int *out) { TICKET_TWICE(__syncthreads) }
// prove: ticket_twice_racy potential racy --block-dim=64 --grid-dim=4
__global__ void ticket_twice_racy(int *out) { TICKET_TWICE(__syncwarp) }

#define TICKET_LEFT(X)                                                                             \
	__shared__ alignas(16) int s[512];                                                         \
	__shared__ int c;                                                                          \
	if (t >= 32) {                                                                             \
		X = 0;                                                                             \
		return;                                                                            \
	}                                                                                          \
	if (t == 0)                                                                                \
		c = 0;                                                                             \
	__syncthreads();                                                                           \
	s[atomicAdd(&c, 1)] = t;                                                                   \
	out[g] = 1;
// prove: ticket_left race-free --block-dim=64 --grid-dim=4
__global__ void ticket_left(int *out) { TICKET_LEFT(out[g]) }
// prove: ticket_left_racy true racy --block-dim=64 --grid-dim=4
__global__ void ticket_left_racy(int *out) { TICKET_LEFT(c) }

#define TICKET_BYTES(X)                                                                            \
	__shared__ alignas(16) int s[512];                                                         \
	__shared__ int c;                                                                          \
	if (t == 0)                                                                                \
		c = 0;                                                                             \
	__syncthreads();                                                                           \
	s[atomicAdd(&c, 1)] = t;                                                                   \
	X();                                                                                       \
	if (t == 1)                                                                                \
		((unsigned char *)&c)[1] = 0;                                                      \
	out[g] = 1;
// prove: ticket_bytes race-free --block-dim=64 --grid-dim=4
__global__ void ticket_bytes(int *out) { TICKET_BYTES(__syncthreads) }
// prove: ticket_bytes_racy potential racy --block-dim=64 --grid-dim=4
__global__ void ticket_bytes_racy(int *out) { TICKET_BYTES(__syncwarp) }

#define TICKET_OF_TWO(X)                                                                           \
	__shared__ alignas(16) int s[512];                                                         \
	__shared__ int c[2];                                                                       \
	if (t < 2)                                                                                 \
		c[t] = 0;                                                                          \
	__syncthreads();                                                                           \
	s[atomicAdd(&c[X], 1)] = t;                                                                \
	out[g] = 1;
// prove: ticket_of_two race-free --block-dim=64 --grid-dim=4
__global__ void ticket_of_two(int *out) { TICKET_OF_TWO(b & 1) }
// prove: ticket_of_two_racy potential racy --block-dim=64 --grid-dim=4
__global__ void ticket_of_two_racy(int *out) { TICKET_OF_TWO(t & 1) }

#define TICKET_STRIDE(X)                                                                           \
	__shared__ alignas(16) int s[512];                                                         \
	__shared__ int c;                                                                          \
	if (t == 0)                                                                                \
		c = 0;                                                                             \
	__syncthreads();                                                                           \
	for (int i = t; i < n; i += 64)                                                            \
		if (in[i] > 3) {                                                                   \
			int at = atomicAdd(&c, X);                                                 \
			if (at < 512)                                                              \
				s[at] = i;                                                         \
		}                                                                                  \
	out[g] = 1;
// prove: ticket_stride race-free --block-dim=64 --grid-dim=4
__global__ void ticket_stride(int *out, const int *in, int n) { TICKET_STRIDE(1) }
// prove: ticket_stride_racy potential racy --block-dim=64 --grid-dim=4
__global__ void ticket_stride_racy(int *out, const int *in, int n) { TICKET_STRIDE(0) }

#define RESTRICT_PARTS(X)                                                                          \
	int *__restrict__ p = a, *__restrict__ q = a + X;                                          \
	p[t] = 1;                                                                                  \
	q[t] = 2;
// prove: restrict_parts race-free --block-dim=64 --grid-dim=1
__global__ void restrict_parts(int *a) { RESTRICT_PARTS(64) }
// prove: restrict_parts_racy true racy --block-dim=64 --grid-dim=1
__global__ void restrict_parts_racy(int *a) { RESTRICT_PARTS(63) }

#define NEGATIVE_POINTER(X)                                                                        \
	int *p = out + 1024 + g;                                                                   \
	for (int k = 0; k < 4; k++, p -= X)                                                        \
		*p = k;
// prove: negative_pointer race-free --block-dim=64 --grid-dim=4
__global__ void negative_pointer(int *out) { NEGATIVE_POINTER(256) }
// prove: negative_pointer_racy true racy --block-dim=64 --grid-dim=4
__global__ void negative_pointer_racy(int *out) { NEGATIVE_POINTER(255) }

#define BREAKS(X)                                                                                  \
	for (int i = 0; i < 8; i++) {                                                              \
		if (in[g * 8 + i] == 3)                                                            \
			break;                                                                     \
		out[g * X + i] = i;                                                                \
	}
// prove: breaks race-free --block-dim=64 --grid-dim=4
__global__ void breaks(int *out, const int *in) { BREAKS(8) }
// prove: breaks_racy potential racy --block-dim=64 --grid-dim=4
__global__ void breaks_racy(int *out, const int *in) { BREAKS(7) }

#define DO_TWO_BUFFERS(X)                                                                          \
	__shared__ alignas(16) int s[512];                                                         \
	int k = 0, x = 0, cur = 0;                                                                 \
	do {                                                                                       \
		s[cur * 64 + t] = k;                                                               \
		__syncthreads();                                                                   \
		x += s[cur * 64 + ((t + 1) & 63)];                                                 \
		cur ^= X;                                                                          \
	} while (++k < n);                                                                         \
	out[g] = x;
// prove: do_two_buffers race-free --block-dim=64 --grid-dim=4
__global__ void do_two_buffers(int *out, int n) { DO_TWO_BUFFERS(1) }
// prove: do_two_buffers_racy true racy --block-dim=64 --grid-dim=4
__global__ void do_two_buffers_racy(int *out, int n) { DO_TWO_BUFFERS(0) }

#define BIT_FIELD(X)                                                                               \
	__shared__ alignas(16) int s[512];                                                         \
	struct F {                                                                                 \
		unsigned lo : 4, hi : 4, rest : 24;                                                \
	};                                                                                         \
	F *f = (F *)s;                                                                             \
	if (t & 1)                                                                                 \
		f[X].lo = 1;                                                                       \
	else                                                                                       \
		f[X].hi = 2;                                                                       \
	out[g] = 1;
// prove: bit_field race-free --block-dim=64 --grid-dim=4
__global__ void bit_field(int *out) { BIT_FIELD(t) }
// prove: bit_field_racy true racy --block-dim=64 --grid-dim=4
__global__ void bit_field_racy(int *out) { BIT_FIELD(t / 2) }

#define STRUCT_CHARS(X)                                                                            \
	__shared__ alignas(16) int s[512];                                                         \
	struct S {                                                                                 \
		char v[3];                                                                         \
	};                                                                                         \
	S x;                                                                                       \
	x.v[0] = x.v[1] = x.v[2] = t;                                                              \
	((S *)s)[t] = x;                                                                           \
	out[g] = ((char *)s)[3 * t + X];
// prove: struct_chars race-free --block-dim=64 --grid-dim=4
__global__ void struct_chars(int *out) { STRUCT_CHARS(2) }
// prove: struct_chars_racy true racy --block-dim=64 --grid-dim=4
__global__ void struct_chars_racy(int *out) { STRUCT_CHARS(3) }

#define COPIED(X)                                                                                  \
	__shared__ alignas(16) int s[512];                                                         \
	memcpy(&s[t * 4], &in[g * 4], X);                                                          \
	out[g] = 1;
// prove: copied race-free --block-dim=64 --grid-dim=4
__global__ void copied(int *out, const int *in) { COPIED(16) }
// prove: copied_racy true racy --block-dim=64 --grid-dim=4
__global__ void copied_racy(int *out, const int *in) { COPIED(20) }

#define BY_REFERENCE(X)                                                                            \
	int r[4];                                                                                  \
	fill4(r, g);                                                                               \
	out[r[X]] = 1;
// prove: by_reference race-free --block-dim=64 --grid-dim=4
__global__ void by_reference(int *out) { BY_REFERENCE(0) }
// prove: by_reference_racy true racy --block-dim=64 --grid-dim=4
__global__ void by_reference_racy(int *out) { BY_REFERENCE(1) }

#define TEMPLATE_BITS(X)                                                                           \
	__shared__ alignas(16) int s[512];                                                         \
	s[Bits<X>::of(t)] = 1;                                                                     \
	out[g] = 1;
// prove: template_bits race-free --block-dim=64 --grid-dim=4
__global__ void template_bits(int *out) { TEMPLATE_BITS(6) }
// prove: template_bits_racy true racy --block-dim=64 --grid-dim=4
__global__ void template_bits_racy(int *out) { TEMPLATE_BITS(5) }

#define LAMBDA_CAPTURE(X)                                                                          \
	int m = 2;                                                                                 \
	auto at = [&](int i) { return i * m; };                                                    \
	m = X;                                                                                     \
	out[at(g)] = 1;
// prove: lambda_capture race-free --block-dim=64 --grid-dim=4
__global__ void lambda_capture(int *out, int n) { LAMBDA_CAPTURE(4) }
// prove: lambda_capture_racy true racy --block-dim=64 --grid-dim=4
__global__ void lambda_capture_racy(int *out, int n) { LAMBDA_CAPTURE(0) }

#define FALLS_THROUGH(X)                                                                           \
	__shared__ alignas(16) int s[512];                                                         \
	int i = t & ~3;                                                                            \
	switch (t & 3) {                                                                           \
	case 3:                                                                                    \
		i++;                                                                               \
	case 2:                                                                                    \
		i++;                                                                               \
	case 1:                                                                                    \
		i++;                                                                               \
		X case 0:;                                                                         \
	}                                                                                          \
	s[i] = 1;                                                                                  \
	out[g] = 1;
// prove: falls_through race-free --block-dim=64 --grid-dim=4
__global__ void falls_through(int *out) { FALLS_THROUGH() }
// prove: falls_through_racy true racy --block-dim=64 --grid-dim=4
__global__ void falls_through_racy(int *out) { FALLS_THROUGH(i--;) }

#define BYTES_MOVED(X)                                                                             \
	__shared__ alignas(16) int s[512];                                                         \
	s[__byte_perm(t, 0, X)] = 1;                                                               \
	out[g] = 1;
// prove: bytes_moved race-free --block-dim=64 --grid-dim=4
__global__ void bytes_moved(int *out) { BYTES_MOVED(0x4440) }
// prove: bytes_moved_racy true racy --block-dim=64 --grid-dim=4
__global__ void bytes_moved_racy(int *out) { BYTES_MOVED(0x4441) }

#define BFI(X)                                                                                     \
	__shared__ alignas(16) int s[512];                                                         \
	unsigned i;                                                                                \
	asm("bfi.b32 %0, %1, %2, 0, %3;" : "=r"(i) : "r"(t), "r"(0), "n"(X));                               \
	s[i] = 1;                                                                                  \
	out[g] = 1;
// prove: bfi race-free --block-dim=64 --grid-dim=4
__global__ void bfi(int *out) { BFI(6) }
// prove: bfi_racy true racy --block-dim=64 --grid-dim=4
__global__ void bfi_racy(int *out) { BFI(5) }

#define FUNNEL(X)                                                                                  \
	__shared__ alignas(16) int s[512];                                                         \
	s[turned(t << 26, 0, X)] = 1;                                                              \
	out[g] = 1;
// prove: funnel race-free --block-dim=64 --grid-dim=4
__global__ void funnel(int *out) { FUNNEL(6) }
// prove: funnel_racy true racy --block-dim=64 --grid-dim=4
__global__ void funnel_racy(int *out) { FUNNEL(5) }

#define HALF_WARP_SYNC(X)                                                                          \
	__shared__ alignas(16) int s[512];                                                         \
	s[t] = t;                                                                                  \
	__syncwarp(t < 16 ? 0xffffu : 0xffff0000u);                                                \
	out[g] = s[t ^ X];
// prove: half_warp_sync race-free --block-dim=32 --grid-dim=4
__global__ void half_warp_sync(int *out) { HALF_WARP_SYNC(8) }
// prove: half_warp_sync_racy potential racy --block-dim=32 --grid-dim=4
__global__ void half_warp_sync_racy(int *out) { HALF_WARP_SYNC(16) }

#define IN_NESTED(X)                                                                               \
	__shared__ alignas(16) int s[512];                                                         \
	int x = 0;                                                                                 \
	for (int i = 0; i < n; i++) {                                                              \
		s[t] = i;                                                                          \
		for (int j = 0; j <= (i & 1); j++)                                                 \
			__syncthreads();                                                           \
		x += s[63 - t];                                                                    \
		for (int j = 0; j < X; j++)                                                        \
			__syncthreads();                                                           \
	}                                                                                          \
	out[g] = x;
// prove: in_nested race-free --block-dim=64 --grid-dim=4
__global__ void in_nested(int *out, int n) { IN_NESTED(1 + (i & 1)) }
// prove: in_nested_racy true racy --block-dim=64 --grid-dim=4
__global__ void in_nested_racy(int *out, int n) { IN_NESTED((i & 1)) }

// A value that is set anew from a counter of 64 bits in each iteration, as PyTorch's loops do.
#define TWIN_LOW(X)                                                                                \
	long long k = g;                                                                           \
	for (int i = k; k < n; k += X, i = k)                                                      \
		out[i] = i;
// prove: twin_low race-free --block-dim=64 --grid-dim=4 --param=n=2000
__global__ void twin_low(int *out, int n) { TWIN_LOW(256) }
// prove: twin_low_racy true racy --block-dim=64 --grid-dim=4 --param=n=2000
__global__ void twin_low_racy(int *out, int n) { TWIN_LOW(64) }

#define TWIN_OF_TWO(X)                                                                             \
	int k = g, m = g, i = g;                                                                   \
	while (k < n) {                                                                            \
		out[i] = k;                                                                        \
		k += 256;                                                                          \
		m += 64;                                                                           \
		i = X;                                                                             \
	}
// prove: twin_of_two race-free --block-dim=64 --grid-dim=4 --param=n=2000
__global__ void twin_of_two(int *out, int n) { TWIN_OF_TWO(k) }
// prove: twin_of_two_racy true racy --block-dim=64 --grid-dim=4 --param=n=2000
__global__ void twin_of_two_racy(int *out, int n) { TWIN_OF_TWO(m) }

#define LOW_DIGITS(X)                                                                              \
	for (long long k = g; k < 1372; k += 256) {                                                \
		int i = k;                                                                         \
		out[i / 14 / 7 * 98 + i / 14 % 7 * 14 + i % (X)] = i;                              \
	}
// prove: low_digits race-free --block-dim=64 --grid-dim=4
__global__ void low_digits(int *out, int n) { LOW_DIGITS(14) }
// prove: low_digits_racy true racy --block-dim=64 --grid-dim=4
__global__ void low_digits_racy(int *out, int n) { LOW_DIGITS(13) }

// A number divided by 0 is any number (PTX ISA: unspecified), where it is so in the code, and for n == 0.
// prove: rest_of_none potential racy --block-dim=64
__global__ void rest_of_none(int *a)
{
	int i = 0;
	if ((int)threadIdx.x % (2 * i) != 0)
		a[threadIdx.x / 2] = 1;
}
// prove: rest_of_one race-free free --block-dim=64
__global__ void rest_of_one(int *a)
{
	int i = 0;
	if ((int)threadIdx.x % (2 * i + 1) != 0)
		a[threadIdx.x / 2] = 1;
}
// prove: part_of_none potential racy --block-dim=64
__global__ void part_of_none(int *a, unsigned n)
{
	if (n <= 5 && threadIdx.x / n > 1023)
		a[threadIdx.x / 2] = 1;
}
// prove: part_of_some race-free free --block-dim=64
__global__ void part_of_some(int *a, unsigned n)
{
	if (n <= 5 && n > 0 && threadIdx.x / n > 1023)
		a[threadIdx.x / 2] = 1;
}
