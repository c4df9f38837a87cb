/*
 * nearly.cu - kernels that are right but for one number, place or wait, each beside its right twin:
 * rings, groups of copies, numbered barriers, values that are known only later, parts of one array.
 */
#include "mbarrier.cuh"

// ---- rings: number n is of stage n % S; its turn of the stage is n / S

// Warp 4's first lane fills, the warps before it read.
#define RING(stages, count, give, take)                                                                        \
	__shared__ alignas(16) float s[stages][128];                                                           \
	__shared__ u64 full[stages], empty[stages];                                                            \
	int t = threadIdx.x;                                                                                   \
	float sum = 0;                                                                                         \
	set_up(full, 1, empty, count, stages);                                                                 \
	if (t >= 128) {                                                                                        \
		if (t == 128)                                                                                  \
			_Pragma("unroll 1")                                                                    \
			for (unsigned k = 0; k < n; k++) {                                                     \
				give;                                                                          \
			}                                                                                      \
	} else {                                                                                               \
		_Pragma("unroll 1")                                                                            \
		for (unsigned k = 0; k < n; k++) {                                                             \
			take;                                                                                  \
		}                                                                                              \
		out[blockIdx.x * 128 + t] = sum;                                                               \
	}
#define FILL(stages) expect(&full[k % stages], 512); fill(s[k % stages], in + k * 128, 512, &full[k % stages])
#define GIVE(stages) wait(&empty[k % stages], (k / stages & 1) ^ 1); FILL(stages)
#define READ(stages) sum += s[k % stages][127 - t]
#define TAKE(stages) wait(&full[k % stages], k / stages & 1); READ(stages)
#define BACK(stages) arrive(&empty[k % stages])

// prove: three race-free --block-dim=160
__global__ void three(float *out, const float *in, unsigned n) { RING(3, 128, GIVE(3), TAKE(3); BACK(3)) }
// The copy goes one stage further than its mbarrier.
// prove: three_shifted true racy --block-dim=160
__global__ void three_shifted(float *out, const float *in, unsigned n)
{
	RING(3, 128, wait(&empty[k % 3], (k / 3 & 1) ^ 1); expect(&full[k % 3], 512); fill(s[(k + 1) % 3], in + k * 128, 512, &full[k % 3]), TAKE(3); BACK(3))
}
// A stage is given back that the first turns haven't read: only that the producer's waits come one
// after another keeps it.
// prove: three_back_shifted potential free --block-dim=160
__global__ void three_back_shifted(float *out, const float *in, unsigned n) { RING(3, 128, GIVE(3), TAKE(3); arrive(&empty[(k + 1) % 3])) }
// The reader's parity is of four stages.
// prove: three_parity_of_four true racy --block-dim=160
__global__ void three_parity_of_four(float *out, const float *in, unsigned n)
{
	RING(3, 128, GIVE(3), wait(&full[k % 3], k / 4 & 1); READ(3); BACK(3))
}
// After the first turn the parity is the other one: the wait is over at once.
// prove: three_reversed true racy --block-dim=160
__global__ void three_reversed(float *out, const float *in, unsigned n)
{
	RING(3, 128, GIVE(3), wait(&full[k % 3], k < 3 ? 0 : (k / 3 & 1) ^ 1); READ(3); BACK(3))
}
// The last turn isn't waited for.
// prove: three_last_unwaited true racy --block-dim=160
__global__ void three_last_unwaited(float *out, const float *in, unsigned n)
{
	RING(3, 128, GIVE(3), if (k + 1 < n) wait(&full[k % 3], k / 3 & 1); READ(3); BACK(3))
}
// Nobody needs the last turn's stage again.
// prove: three_last_kept race-free --block-dim=160
__global__ void three_last_kept(float *out, const float *in, unsigned n) { RING(3, 128, GIVE(3), TAKE(3); if (k + 1 < n) BACK(3)) }
// The first turn isn't waited for.
// prove: three_first_unwaited potential racy --block-dim=160
__global__ void three_first_unwaited(float *out, const float *in, unsigned n)
{
	RING(3, 128, GIVE(3), if (k) wait(&full[k % 3], k / 3 & 1); READ(3); BACK(3))
}
// Of two stages, whose mbarriers are two: the third place is another's.
// prove: two_of_three true racy --block-dim=160
__global__ void two_of_three(float *out, const float *in, unsigned n)
{
	RING(3, 128, wait(&empty[k % 3], (k / 3 & 1) ^ 1); expect(&full[k % 3], 512); fill(s[k % 2], in + k * 128, 512, &full[k % 3]),
	     wait(&full[k % 3], k / 3 & 1); sum += s[k % 2][127 - t]; BACK(3))
}
// Two warps of four arrive, and 64 are counted: they may be ahead of the others.
// prove: three_half true racy --block-dim=160
__global__ void three_half(float *out, const float *in, unsigned n) { RING(3, 64, GIVE(3), TAKE(3); if (t < 64) BACK(3)) }
// prove: three_half_twin race-free --block-dim=160
__global__ void three_half_twin(float *out, const float *in, unsigned n)
{
	RING(3, 64, GIVE(3), wait(&full[k % 3], k / 3 & 1); if (t < 64) { READ(3); BACK(3); })
}
// The reader looks for its stage by a number that is one too small.
// prove: three_read_before true racy --block-dim=160
__global__ void three_read_before(float *out, const float *in, unsigned n)
{
	RING(3, 128, GIVE(3), wait(&full[k % 3], k / 3 & 1); sum += s[(k + 2) % 3][127 - t]; BACK(3))
}

// ---- groups of copies

__device__ __forceinline__ void copy16(void *to, const void *from)
{
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at(to)), "l"(from) : "memory");
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> __device__ __forceinline__ void wait_group() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }

#define COPIES(ahead, take, again)                                                                             \
	__shared__ alignas(16) float4 s[3][128];                                                               \
	int t = threadIdx.x;                                                                                   \
	float sum = 0;                                                                                         \
	for (int i = 0; i < ahead; i++) {                                                                      \
		copy16(&s[i][t], in + i * 128 + t);                                                            \
		commit();                                                                                      \
	}                                                                                                      \
	_Pragma("unroll 1")                                                                                    \
	for (int k = 0; k < n; k++) {                                                                          \
		take;                                                                                          \
		sum += s[k % 3][127 - t].x;                                                                    \
		again;                                                                                         \
	}                                                                                                      \
	wait_group<0>();                                                                                       \
	out[blockIdx.x * 128 + t] = sum;
#define AGAIN(ahead) if (k + ahead < n) copy16(&s[(k + ahead) % 3][t], in + (k + ahead) * 128 + t); commit()

// prove: groups race-free --block-dim=128
__global__ void groups(float *out, const float4 *in, int n) { COPIES(2, wait_group<1>(); __syncthreads(), AGAIN(2)) }
// One stage too few is filled in front of the loop.
// prove: groups_one_too_few true racy --block-dim=128
__global__ void groups_one_too_few(float *out, const float4 *in, int n) { COPIES(1, wait_group<1>(); __syncthreads(), AGAIN(2)) }
// The barrier comes before the wait.
// prove: groups_barrier_first true racy --block-dim=128
__global__ void groups_barrier_first(float *out, const float4 *in, int n) { COPIES(2, __syncthreads(); wait_group<1>(), AGAIN(2)) }
// What is filled is being read.
// prove: groups_one_too_far true racy --block-dim=128
__global__ void groups_one_too_far(float *out, const float4 *in, int n) { COPIES(2, wait_group<0>(); __syncthreads(), AGAIN(3)) }
// Two groups a turn: the wait for all but one is enough.
// prove: groups_twice race-free --block-dim=128
__global__ void groups_twice(float *out, const float4 *in, int n) { COPIES(2, wait_group<0>(); __syncthreads(), commit(); AGAIN(2)) }
// A group that is made under a uniform condition, and the other wait where it isn't.
// prove: groups_where_needed race-free --block-dim=128
__global__ void groups_where_needed(float *out, const float4 *in, int n)
{
	COPIES(1, if (k + 1 < n) { copy16(&s[(k + 1) % 3][t], in + (k + 1) * 128 + t); commit(); wait_group<1>(); } else wait_group<0>(); __syncthreads(), )
}
// ... and the same wait there, too.
// prove: groups_last_unwaited true racy --block-dim=128
__global__ void groups_last_unwaited(float *out, const float4 *in, int n)
{
	COPIES(1, if (k + 1 < n) { copy16(&s[(k + 1) % 3][t], in + (k + 1) * 128 + t); commit(); } wait_group<1>(); __syncthreads(), )
}

// ---- a numbered barrier between the halves of a block

#define HALVES(first, second)                                                                                  \
	__shared__ float s[2][64];                                                                             \
	int t = threadIdx.x;                                                                                   \
	if (t < 64) {                                                                                          \
		first;                                                                                         \
	} else {                                                                                               \
		second;                                                                                        \
	}
#define PUT(i) s[i][t] = in[t]
#define GET(i) out[blockIdx.x * 64 + t - 64] = s[i][127 - t]
#define ARRIVE(b, n) asm volatile("bar.arrive %0, %1;" ::"n"(b), "n"(n) : "memory")
#define SYNC(b, n) asm volatile("bar.sync %0, %1;" ::"n"(b), "n"(n) : "memory")

// prove: halves race-free --block-dim=128
__global__ void halves(float *out, const float *in) { HALVES(PUT(0); ARRIVE(1, 128), SYNC(1, 128); GET(0)) }
// prove: halves_after potential racy --block-dim=128
__global__ void halves_after(float *out, const float *in) { HALVES(ARRIVE(1, 128); PUT(0), SYNC(1, 128); GET(0)) }
// Each waits at a barrier of its own.
// prove: halves_own potential racy --block-dim=128
__global__ void halves_own(float *out, const float *in) { HALVES(PUT(0); SYNC(1, 64), SYNC(2, 64); GET(0)) }
// The second half completes the barrier by itself.
// prove: halves_counted potential racy --block-dim=128
__global__ void halves_counted(float *out, const float *in) { HALVES(PUT(0); ARRIVE(1, 64), SYNC(1, 64); GET(0)) }

// ---- values that blocks reach only later, or that come around

// prove: later_twin race-free --block-dim=64 --grid-dim=4
__global__ void later_twin(float *out, int n)
{
	for (int k = 0; k < n; k++)
		out[(blockIdx.x * 64 + threadIdx.x) * 4 + k % 4] = k;
}
// From the fourth turn on the place is the neighbour's.
// prove: later true racy --block-dim=64 --grid-dim=4
__global__ void later(float *out, int n)
{
	for (int k = 0; k < n && k < 8; k++)
		out[(blockIdx.x * 64 + threadIdx.x) * 4 + k] = k;
}
// prove: swapped_twin race-free --block-dim=64
__global__ void swapped_twin(float *out, const float *in, int n)
{
	__shared__ float s[2][64];
	int at = 0;
	s[0][threadIdx.x] = in[threadIdx.x];
	__syncthreads();
	for (int k = 0; k < n; k++) {
		s[at ^ 1][threadIdx.x] = s[at][63 - threadIdx.x];
		at ^= 1;
		__syncthreads();
	}
	out[blockIdx.x * 64 + threadIdx.x] = s[at][threadIdx.x];
}
// It is swapped but every other time.
// prove: swapped true racy --block-dim=64
__global__ void swapped(float *out, const float *in, int n)
{
	__shared__ float s[2][64];
	int at = 0;
	s[0][threadIdx.x] = in[threadIdx.x];
	__syncthreads();
	for (int k = 0; k < n; k++) {
		s[at ^ 1][threadIdx.x] = s[at ^ (k & 1)][63 - threadIdx.x];
		if (k & 1)
			at ^= 1;
		__syncthreads();
	}
	out[blockIdx.x * 64 + threadIdx.x] = s[at][threadIdx.x];
}
// The stride ends at 1: one turn more would be the thread's own place.
// prove: halved_twin race-free --block-dim=64
__global__ void halved_twin(float *out, const float *in)
{
	__shared__ float s[64];
	s[threadIdx.x] = in[threadIdx.x];
	for (int d = 32; d > 0; d >>= 1) {
		__syncthreads();
		if (threadIdx.x < d)
			s[threadIdx.x] += s[threadIdx.x + d];
	}
	if (threadIdx.x == 0)
		out[blockIdx.x] = s[0];
}
// At the second turn the threads are as many as at the first.
// prove: halved true racy --block-dim=64
__global__ void halved(float *out, const float *in)
{
	__shared__ float s[96];
	s[threadIdx.x] = in[threadIdx.x];
	for (int d = 32; d > 0; d >>= 1) {
		__syncthreads();
		if (threadIdx.x < 32)
			s[threadIdx.x] += s[threadIdx.x + d];
	}
	if (threadIdx.x == 0)
		out[blockIdx.x] = s[0];
}

// ---- parts of one array: unions, dynamic shared memory, narrow types

// prove: parts_twin race-free --block-dim=64
__global__ void parts_twin(float *out, const float *in)
{
	extern __shared__ float whole[];
	float *low = whole, *high = whole + 64;
	low[threadIdx.x] = in[threadIdx.x];
	high[63 - threadIdx.x] = in[threadIdx.x];
	__syncthreads();
	out[blockIdx.x * 64 + threadIdx.x] = low[threadIdx.x] + high[threadIdx.x];
}
// The parts have two places in common.
// prove: parts true racy --block-dim=64
__global__ void parts(float *out, const float *in)
{
	extern __shared__ float whole[];
	float *low = whole, *high = whole + 62;
	low[threadIdx.x] = in[threadIdx.x];
	high[63 - threadIdx.x] = in[threadIdx.x];
	__syncthreads();
	out[blockIdx.x * 64 + threadIdx.x] = low[threadIdx.x] + high[threadIdx.x];
}
union both {
	float f[64];
	struct {
		short low[64], high[64];
	} h;
};
// prove: union_twin race-free --block-dim=64
__global__ void union_twin(float *out, const float *in)
{
	__shared__ union both s;
	s.h.low[threadIdx.x] = (short)in[threadIdx.x];
	s.h.high[63 - threadIdx.x] = 1;
	__syncthreads();
	float x = s.h.low[threadIdx.x] + s.h.high[threadIdx.x];
	__syncthreads();
	s.f[threadIdx.x] = x;
	out[blockIdx.x * 64 + threadIdx.x] = s.f[threadIdx.x];
}
// Half of a float is another thread's.
// prove: union_at_once true racy --block-dim=64
__global__ void union_at_once(float *out, const float *in)
{
	__shared__ union both s;
	s.h.low[threadIdx.x] = (short)in[threadIdx.x];
	s.h.high[63 - threadIdx.x] = 1;
	__syncthreads();
	s.f[threadIdx.x] = s.h.low[threadIdx.x] + s.h.high[threadIdx.x];
	out[blockIdx.x * 64 + threadIdx.x] = s.f[threadIdx.x];
}
// prove: narrow_twin race-free --block-dim=256
__global__ void narrow_twin(int *out)
{
	__shared__ int s[256];
	unsigned char i = threadIdx.x;
	s[i] = i;
	__syncthreads();
	out[blockIdx.x * 256 + threadIdx.x] = s[255 - i];
}
// The number is cut to a byte.
// prove: narrow true racy --block-dim=512
__global__ void narrow(int *out)
{
	__shared__ int s[256];
	unsigned char i = threadIdx.x;
	s[i] = threadIdx.x;
	__syncthreads();
	out[blockIdx.x * 512 + threadIdx.x] = s[255 - i];
}
// prove: signed_twin race-free --block-dim=128
__global__ void signed_twin(int *out)
{
	__shared__ int s[256];
	signed char i = threadIdx.x;
	s[i + 128] = i;
	__syncthreads();
	out[blockIdx.x * 128 + threadIdx.x] = s[128 + i];
}
// From 128 on the number is less than 0.
// prove: signed_around true racy --block-dim=256
__global__ void signed_around(int *out)
{
	__shared__ int s[256];
	signed char i = threadIdx.x;
	s[i < 0 ? -i : i] = i;
	__syncthreads();
	out[blockIdx.x * 256 + threadIdx.x] = s[threadIdx.x];
}
