// ranks.cu - places that the threads of a block work out together: scans, votes, counters; X is what differs.
#pragma nv_diag_suppress 177,550 // not all kernels use all variables
#define ALL 0xffffffffu
#define t threadIdx.x
#define lane (threadIdx.x % 32)
#define b blockIdx.x
#define g (blockIdx.x * blockDim.x + threadIdx.x)
#define below ((1u << lane) - 1)

__device__ unsigned lanes_below()
{
	unsigned m;
	asm("mov.u32 %0, %%lanemask_lt;" : "=r"(m));
	return m;
}

// By shuffles in each warp, sums of warps in shared memory, a counter of all.
#define BY_SHUFFLES(UP, WHEN, AT, LAST)                                                            \
	__shared__ unsigned sums[32];                                                              \
	unsigned test = in[g] > 0, sum = test;                                                     \
	for (int c = 1; c < 32; c *= 2) {                                                          \
		unsigned up = __shfl_up_sync(ALL, sum, c);                                         \
		if (lane UP c)                                                                     \
			sum += up;                                                                 \
	}                                                                                          \
	if (lane == 31)                                                                            \
		sums[t / 32] = sum;                                                                \
	__syncthreads();                                                                           \
	if (t < 32) {                                                                              \
		unsigned of_warps = sums[lane];                                                    \
		for (int c = 1; c < 4; c *= 2) {                                                   \
			unsigned up = __shfl_up_sync(ALL, of_warps, c);                            \
			if (lane >= c)                                                             \
				of_warps += up;                                                    \
		}                                                                                  \
		sums[lane] = of_warps;                                                             \
	}                                                                                          \
	__syncthreads();                                                                           \
	if (t >= 32)                                                                               \
		sum += sums[t / 32 - 1];                                                           \
	if (t == LAST && sum)                                                                      \
		sums[31] = atomicAdd(count, sum);                                                  \
	__syncthreads();                                                                           \
	if (WHEN)                                                                                  \
		out[sum + sums[31] - AT] = g;
// prove: by_shuffles race-free --block-dim=128 --grid-dim=6
__global__ void by_shuffles(unsigned *out, unsigned *count, const int *in) { BY_SHUFFLES(>=, test, 1, 127) }
// prove: by_shuffles_skips potential racy --block-dim=128 --grid-dim=6
__global__ void by_shuffles_skips(unsigned *out, unsigned *count, const int *in) { BY_SHUFFLES(>, test, 1, 127) }
// prove: by_shuffles_all potential racy --block-dim=128 --grid-dim=6
__global__ void by_shuffles_all(unsigned *out, unsigned *count, const int *in) { BY_SHUFFLES(>=, g < 999, 1, 127) }
// prove: by_shuffles_shifted potential racy --block-dim=128 --grid-dim=6
__global__ void by_shuffles_shifted(unsigned *out, unsigned *count, const int *in) { BY_SHUFFLES(>=, test, 2, 127) }
// prove: by_shuffles_early potential racy --block-dim=128 --grid-dim=6
__global__ void by_shuffles_early(unsigned *out, unsigned *count, const int *in) { BY_SHUFFLES(>=, test, 1, 126) }

// A ticket for each warp, by votes.
#define BY_VOTES(P, WHEN, MASK, FROM, COUNT)                                                       \
	unsigned base = 0, votes = __ballot_sync(ALL, P);                                          \
	if (lane == 0)                                                                             \
		base = atomicAdd(count, COUNT);                                                    \
	base = __shfl_sync(ALL, base, FROM);                                                       \
	if (WHEN)                                                                                  \
		out[base + __popc(votes & (MASK))] = g;
// prove: by_votes race-free --block-dim=128 --grid-dim=6
__global__ void by_votes(unsigned *out, unsigned *count, const int *in, int n)
{
	BY_VOTES(g < n && in[g] > 0, g < n && in[g] > 0, below, 0, __popc(votes))
}
// prove: by_votes_partial race-free --block-dim=40 --grid-dim=6
__global__ void by_votes_partial(unsigned *out, unsigned *count, const int *in)
{
	int v = in[g];
	BY_VOTES(v > 0, v > 0, lanes_below(), 0, __popc(votes))
}
// prove: by_votes_not race-free --block-dim=64 --grid-dim=6
__global__ void by_votes_not(unsigned *out, unsigned *count, const int *in)
{
	unsigned base = 0, votes = __ballot_sync(ALL, in[g] > 0);
	if (lane == 0)
		base = atomicAdd(count, 32 - __popc(votes));
	base = __shfl_sync(ALL, base, 0);
	if (!(in[g] > 0))
		out[base + __popc(~votes & below)] = g;
}
// prove: by_votes_other potential racy --block-dim=128 --grid-dim=6
__global__ void by_votes_other(unsigned *out, unsigned *count, const int *in)
{
	int v = in[g];
	BY_VOTES(v > 0, v >= 0, below, 0, __popc(votes))
}
// prove: by_votes_with_own potential racy --block-dim=128 --grid-dim=6
__global__ void by_votes_with_own(unsigned *out, unsigned *count, const int *in)
{
	int v = in[g];
	BY_VOTES(v > 0, v > 0, 2 * below + 1, 0, __popc(votes))
}
// prove: by_votes_above race-free --block-dim=128 --grid-dim=6
__global__ void by_votes_above(unsigned *out, unsigned *count, const int *in)
{
	int v = in[g];
	BY_VOTES(v > 0, v > 0, ~(2 * below + 1), 0, __popc(votes))
}
// prove: by_votes_half potential racy --block-dim=128 --grid-dim=6
__global__ void by_votes_half(unsigned *out, unsigned *count, const int *in)
{
	int v = in[g];
	BY_VOTES(v > 0, v > 0, below & 0xffff, 0, __popc(votes))
}
// prove: by_votes_less potential racy --block-dim=128 --grid-dim=6
__global__ void by_votes_less(unsigned *out, unsigned *count, const int *in)
{
	int v = in[g];
	BY_VOTES(v > 0, v > 0, below, 0, __popc(votes) - 1)
}
// prove: by_votes_lane_1 potential racy --block-dim=128 --grid-dim=6
__global__ void by_votes_lane_1(unsigned *out, unsigned *count, const int *in)
{
	int v = in[g];
	BY_VOTES(v > 0, v > 0, below, 1, __popc(votes))
}
// prove: by_votes_reset potential racy --block-dim=128 --grid-dim=6
__global__ void by_votes_reset(unsigned *out, unsigned *count, const int *in)
{
	int v = in[g];
	BY_VOTES(v > 0, v > 0, below, 0, __popc(votes))
	if (v == 12345)
		atomicExch(count, 0);
}
// prove: by_votes_given_back potential racy --block-dim=128 --grid-dim=6
__global__ void by_votes_given_back(unsigned *out, unsigned *count, const int *in)
{
	int v = in[g];
	BY_VOTES(v > 0, v > 0, below, 0, __popc(votes))
	if (v < 0)
		atomicSub(count, 1);
}
// prove: by_votes_of_block potential racy --block-dim=128 --grid-dim=6
__global__ void by_votes_of_block(unsigned *out, unsigned *count, const int *in)
{
	count += b; // a counter for each block
	int v = in[g];
	BY_VOTES(v > 0, v > 0, below, 0, __popc(votes))
}
// prove: by_votes_ended race-free --block-dim=128 --grid-dim=6
__global__ void by_votes_ended(unsigned *out, const int *in, int n)
{
	if (g >= n)
		return;
	int v = in[g];
	unsigned votes = __ballot_sync(ALL, v > 0);
	if (v > 0)
		out[g / 32 * 32 + __popc(votes & below)] = g;
}
// prove: by_votes_byte race-free --block-dim=128 --grid-dim=1
__global__ void by_votes_byte(unsigned char *out, const int *in)
{
	int v = in[g];
	unsigned votes = __ballot_sync(ALL, v > 0);
	if (v > 0)
		out[t / 32 * 32 + __popc(votes & below)] = g;
}
// prove: by_votes_short_rows potential racy --block-dim=128 --grid-dim=1
__global__ void by_votes_short_rows(unsigned char *out, const int *in)
{
	int v = in[g];
	unsigned votes = __ballot_sync(ALL, v > 0);
	if (v > 0)
		out[t / 32 * 31 + __popc(votes & below)] = g;
}

// One bit of a radix sort: zeros first; the scan is in shared memory.
#define SPLIT(ONE, ZERO, STEP)                                                                     \
	__shared__ unsigned s[64], k[128];                                                         \
	unsigned key = keys[b * 64 + t], one = key >> bit & 1;                                     \
	s[t] = !one;                                                                               \
	__syncthreads();                                                                           \
	for (int d = 1; d < 64; d *= STEP) {                                                       \
		unsigned x = t >= d ? s[t - d] : 0;                                                \
		__syncthreads();                                                                   \
		s[t] += x;                                                                         \
		__syncthreads();                                                                   \
	}                                                                                          \
	unsigned before = s[t] - !one, all = s[63];                                                \
	k[one ? ONE : ZERO] = key;                                                                 \
	__syncthreads();                                                                           \
	keys[b * 64 + t] = k[t];
// prove: split race-free --block-dim=64 --grid-dim=6
__global__ void split(unsigned *keys, int bit) { SPLIT(all + t - before, before, 2) }
// prove: split_down race-free --block-dim=64 --grid-dim=6
__global__ void split_down(unsigned *keys, int bit) { SPLIT(63 - t + before, before, 2) }
// prove: split_over potential racy --block-dim=64 --grid-dim=6
__global__ void split_over(unsigned *keys, int bit) { SPLIT(all - 1 + t - before, before, 2) }
// prove: split_short potential racy --block-dim=64 --grid-dim=6
__global__ void split_short(unsigned *keys, int bit) { SPLIT(all + t - before, before, 4) }
// prove: split_apart potential racy --block-dim=64 --grid-dim=6
__global__ void split_apart(unsigned *keys, int bit) { SPLIT(t - before, before, 2) }

// Blelloch's scan, two flags a thread, into rows of a block.
#define BLELLOCH(ROW, SECOND, TWO)                                                                 \
	__shared__ unsigned s[128];                                                                \
	bool p = in[b * 128 + 2 * t] > 0, q = in[b * 128 + 2 * t + 1] > 0;                         \
	s[2 * t] = p;                                                                              \
	s[2 * t + 1] = TWO;                                                                        \
	int step = 1;                                                                              \
	for (int d = 64; d > 0; d >>= 1, step *= 2) {                                              \
		__syncthreads();                                                                   \
		if (t < d)                                                                         \
			s[step * (2 * t + 2) - 1] += s[step * (2 * t + 1) - 1];                    \
	}                                                                                          \
	if (t == 0)                                                                                \
		s[127] = 0;                                                                        \
	for (int d = 1; d < 128; d *= 2) {                                                         \
		step /= 2;                                                                         \
		__syncthreads();                                                                   \
		if (t < d) {                                                                       \
			unsigned x = s[step * (2 * t + 1) - 1];                                    \
			s[step * (2 * t + 1) - 1] = s[step * (2 * t + 2) - 1];                     \
			s[step * (2 * t + 2) - 1] += x;                                            \
		}                                                                                  \
	}                                                                                          \
	__syncthreads();                                                                           \
	if (p)                                                                                     \
		out[b * ROW + s[2 * t]] = 2 * t;                                                   \
	if (q)                                                                                     \
		out[b * ROW + SECOND] = 2 * t + 1;
// prove: blelloch race-free --block-dim=64 --grid-dim=6
__global__ void blelloch(unsigned *out, const int *in) { BLELLOCH(128, s[2 * t + 1], q) }
// prove: blelloch_plus race-free --block-dim=64 --grid-dim=6
__global__ void blelloch_plus(unsigned *out, const int *in) { BLELLOCH(128, s[2 * t] + p, q) }
// prove: blelloch_row potential racy --block-dim=64 --grid-dim=6
__global__ void blelloch_row(unsigned *out, const int *in) { BLELLOCH(127, s[2 * t + 1], q) }
// prove: blelloch_one potential racy --block-dim=64 --grid-dim=6
__global__ void blelloch_one(unsigned *out, const int *in) { BLELLOCH(128, s[2 * t] + 1, q) }
// prove: blelloch_untrue potential racy --block-dim=64 --grid-dim=6
__global__ void blelloch_untrue(unsigned *out, const int *in) { BLELLOCH(128, s[2 * t + 1], p) }

// Ranks that are cut to so many bits.
#define CUT(TYPE)                                                                                  \
	__shared__ unsigned s[512];                                                                \
	bool p = in[g] > 0;                                                                        \
	s[t] = p;                                                                                  \
	for (int d = 1; d < blockDim.x; d *= 2) {                                                  \
		__syncthreads();                                                                   \
		unsigned x = t >= d ? s[t - d] : 0;                                                \
		__syncthreads();                                                                   \
		s[t] += x;                                                                         \
	}                                                                                          \
	TYPE at = s[t] - 1;                                                                        \
	if (p)                                                                                     \
		out[b * 512 + at] = t;
// prove: cut_byte race-free --block-dim=256 --grid-dim=2
__global__ void cut_byte(unsigned *out, const int *in) { CUT(unsigned char) }
// prove: cut_short race-free --block-dim=512 --grid-dim=2
__global__ void cut_short(unsigned *out, const int *in) { CUT(unsigned short) }
// prove: cut_away potential racy --block-dim=512 --grid-dim=2
__global__ void cut_away(unsigned *out, const int *in) { CUT(unsigned char) }

// A thread that counts down gives places back that others have, even if it stores nothing itself.
#define COUNTS(STEP)                                                                               \
	unsigned at = atomicAdd(count, t == 5 ? STEP : 1u);                                        \
	if (t != 5)                                                                                \
		out[at] = t;
// prove: counts_up race-free --block-dim=64 --grid-dim=2
__global__ void counts_up(unsigned *out, unsigned *count) { COUNTS(3u) }
// prove: counts_down potential racy --block-dim=64 --grid-dim=2
__global__ void counts_down(unsigned *out, unsigned *count) { COUNTS(-1u) }

// A counter that is read while a thread changes it is no one number.
#define READS_COUNTER(BETWEEN)                                                                     \
	__shared__ unsigned c;                                                                     \
	if (t == 0)                                                                                \
		c = 0;                                                                             \
	__syncthreads();                                                                           \
	atomicAdd(&c, 1);                                                                          \
	__syncthreads();                                                                           \
	if (t == 0 || t == 33)                                                                     \
		out[*(volatile unsigned *)&c + t % 2] = t;                                         \
	BETWEEN;                                                                                   \
	if (t == 64)                                                                               \
		atomicSub(&c, 1);
// prove: counter_is_over race-free --block-dim=96 --grid-dim=1
__global__ void counter_is_over(unsigned *out) { READS_COUNTER(__syncthreads()) }
// prove: counter_goes_on potential racy --block-dim=96 --grid-dim=1
__global__ void counter_goes_on(unsigned *out) { READS_COUNTER() }

// A store by one pointer of several, which may lead to the flag.
#define BY_POINTER(OTHER)                                                                          \
	bool p = in[g] > 0;                                                                        \
	unsigned flag = p, y = 0, *to[2] = {&y, OTHER};                                            \
	*to[in[g] / 2 & 1] = 0;                                                                    \
	unsigned m = __ballot_sync(ALL, flag);                                                     \
	if (p)                                                                                     \
		out[t / 32 * 32 + __popc(m & below)] = t;
// prove: pointer_beside race-free --block-dim=64 --grid-dim=1
__global__ void pointer_beside(unsigned *out, const int *in) { BY_POINTER(&y) }
// prove: pointer_to_flag potential racy --block-dim=64 --grid-dim=1
__global__ void pointer_to_flag(unsigned *out, const int *in) { BY_POINTER(&flag) }

// A relaxed store, and an exchange somewhere in the same phase: either may be the later one.
#define EXCHANGES(ARRAY)                                                                           \
	__shared__ unsigned s[64], other[64];                                                      \
	s[t] = other[t] = 0;                                                                       \
	__syncthreads();                                                                           \
	if (t < 32)                                                                                \
		atomicExch(&ARRAY[in[t] & 63], 0);                                                 \
	else                                                                                       \
		asm volatile("st.relaxed.cta.shared.u32 [%0], %1;" ::"r"(                          \
				     (unsigned)__cvta_generic_to_shared(&s[t])),                   \
			     "r"(t)                                                                \
			     : "memory");                                                          \
	__syncthreads();                                                                           \
	if (t >= 32)                                                                               \
		out[s[t]] = t;
// prove: exchange_elsewhere race-free --block-dim=64 --grid-dim=1
__global__ void exchange_elsewhere(unsigned *out, const int *in) { EXCHANGES(other) }
// prove: exchange_here potential racy --block-dim=64 --grid-dim=1
__global__ void exchange_here(unsigned *out, const int *in) { EXCHANGES(s) }
