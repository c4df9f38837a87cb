// mbarriers.cu - mbarriers in turns, rings of stages that bulk copies fill; each with what takes the order away.
typedef unsigned long long u64;

__device__ __forceinline__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void init(u64 *b, unsigned n)
{
	asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(b)), "r"(n) : "memory");
}
__device__ __forceinline__ void arrive(u64 *b)
{
	asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at(b)) : "memory");
}
__device__ __forceinline__ u64 arrive_token(u64 *b)
{
	u64 t;
	asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(t) : "r"(at(b)) : "memory");
	return t;
}
__device__ __forceinline__ void expect(u64 *b, unsigned bytes)
{
	asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(b)), "r"(bytes) : "memory");
}
// As CUTLASS has it.
__device__ __forceinline__ void wait(u64 *b, unsigned parity)
{
	asm volatile("{ .reg .pred p;\nAGAIN:\n"
		     "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
		     "@p bra DONE;\nbra AGAIN;\nDONE:\n}" ::"r"(at(b)), "r"(parity) : "memory");
}
// As cuda::barrier has it.
__device__ __forceinline__ void wait_token(u64 *b, u64 token)
{
	unsigned done;
	do {
		asm volatile("{ .reg .pred p; mbarrier.try_wait.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
			     : "=r"(done) : "r"(at(b)), "l"(token) : "memory");
	} while (!done);
}
__device__ __forceinline__ void fill(void *to, const void *from, unsigned bytes, u64 *b)
{
	asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(at(to)),
		     "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(at(b)) : "memory");
}
__device__ __forceinline__ void set_up(u64 *full, unsigned of_full, u64 *empty, unsigned of_empty, int stages)
{
	if (threadIdx.x == 0) {
		for (int i = 0; i < stages; i++) {
			init(&full[i], of_full);
			init(&empty[i], of_empty);
		}
		asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
	}
	__syncthreads();
}

// ---- one mbarrier for all threads

#define ALL(count, body)                                                                                       \
	__shared__ float s[2][64];                                                                             \
	__shared__ u64 b[1];                                                                                   \
	int t = threadIdx.x;                                                                                   \
	float sum = 0;                                                                                         \
	if (t == 0)                                                                                            \
		init(b, count);                                                                                \
	__syncthreads();                                                                                       \
	_Pragma("unroll 1")                                                                                    \
	for (int k = 0; k < n; k++) {                                                                          \
		body;                                                                                          \
	}                                                                                                      \
	a[blockIdx.x * 64 + t] = sum;

// prove: all_once race-free --block-dim=64
__global__ void all_once(float *a)
{
	__shared__ float s[64];
	__shared__ u64 b;
	int t = threadIdx.x;
	if (t == 0)
		init(&b, 64);
	__syncthreads();
	s[t] = a[blockIdx.x * 64 + t];
	u64 token = arrive_token(&b);
	wait_token(&b, token);
	a[blockIdx.x * 64 + t] = s[63 - t];
}
// prove: all_once_late true racy --block-dim=64
__global__ void all_once_late(float *a)
{
	__shared__ float s[64];
	__shared__ u64 b;
	int t = threadIdx.x;
	if (t == 0)
		init(&b, 64);
	__syncthreads();
	u64 token = arrive_token(&b);
	s[t] = a[blockIdx.x * 64 + t];
	wait_token(&b, token);
	a[blockIdx.x * 64 + t] = s[63 - t];
}
// Some other thread may arrive before the init.
// prove: all_no_barrier potential racy --block-dim=64
__global__ void all_no_barrier(float *a)
{
	__shared__ u64 b;
	if (threadIdx.x == 0)
		init(&b, 64);
	arrive(&b);
	wait(&b, 0);
	a[blockIdx.x * 64 + threadIdx.x] = 1;
}
// prove: all_turns race-free --block-dim=64
__global__ void all_turns(float *a, int n)
{
	ALL(64, s[k & 1][t] = k; u64 x = arrive_token(b); wait_token(b, x); sum += s[k & 1][63 - t])
}
// prove: all_turns_parity race-free --block-dim=64
__global__ void all_turns_parity(float *a, int n)
{
	ALL(64, s[k & 1][t] = k; arrive(b); wait(b, k & 1); sum += s[k & 1][63 - t])
}
// prove: all_one_stage true racy --block-dim=64
__global__ void all_one_stage(float *a, int n)
{
	ALL(64, s[0][t] = k; arrive(b); wait(b, k & 1); sum += s[0][63 - t])
}
// prove: all_other_parity true racy --block-dim=64
__global__ void all_other_parity(float *a, int n)
{
	ALL(64, s[k & 1][t] = k; arrive(b); wait(b, ~k & 1); sum += s[k & 1][63 - t])
}
// prove: all_one_parity true racy --block-dim=64
__global__ void all_one_parity(float *a, int n)
{
	ALL(64, s[k & 1][t] = k; arrive(b); wait(b, 0); sum += s[k & 1][63 - t])
}
// What an odd iteration writes is in none that arrives.
// prove: all_every_other true racy --block-dim=64
__global__ void all_every_other(float *a, int n)
{
	ALL(64, if (k & 1) s[0][t] = k; else arrive(b); wait(b, k & 1); sum += s[0][63 - t])
}
// prove: all_but_last true racy --block-dim=64
__global__ void all_but_last(float *a, int n)
{
	ALL(64, if (k + 1 == n) s[0][t] = k; else arrive(b); wait(b, k & 1); sum += s[0][63 - t])
}
// prove: all_too_few true racy --block-dim=64
__global__ void all_too_few(float *a, int n)
{
	ALL(63, s[k & 1][t] = k; arrive(b); wait(b, k & 1); sum += s[k & 1][63 - t])
}
// prove: all_twice potential free --block-dim=64
__global__ void all_twice(float *a, int n)
{
	ALL(128, s[k & 1][t] = k; arrive(b); arrive(b); wait(b, k & 1); sum += s[k & 1][63 - t])
}
// prove: all_no_loop true racy --block-dim=64
__global__ void all_no_loop(float *a, int n)
{
	ALL(64, s[k & 1][t] = k; arrive(b);
	    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; }" ::"r"(at(b)), "r"(k & 1) : "memory");
	    sum += s[k & 1][63 - t])
}

// ---- one copy

#define ONCE(bytes, first, ready, last)                                                                        \
	__shared__ alignas(16) float s[128];                                                                   \
	__shared__ u64 b[1];                                                                                   \
	int t = threadIdx.x;                                                                                   \
	if (t == 0)                                                                                            \
		init(b, 1);                                                                                    \
	__syncthreads();                                                                                       \
	if (t == 0) {                                                                                          \
		first;                                                                                         \
		expect(b, bytes);                                                                              \
		fill(s, in + blockIdx.x * 128, 512, b);                                                        \
	}                                                                                                      \
	ready;                                                                                                 \
	out[blockIdx.x * 128 + t] = s[127 - t];                                                                \
	last;

// prove: once race-free --block-dim=128
__global__ void once(float *out, const float *in) { ONCE(512, , wait(b, 0), ) }
// prove: once_no_wait true racy --block-dim=128
__global__ void once_no_wait(float *out, const float *in) { ONCE(512, , , ) }
// prove: once_barrier true racy --block-dim=128
__global__ void once_barrier(float *out, const float *in) { ONCE(512, , __syncthreads(), ) }
// prove: once_parity true racy --block-dim=128
__global__ void once_parity(float *out, const float *in) { ONCE(512, , wait(b, 1), ) }
// prove: once_part potential racy --block-dim=128
__global__ void once_part(float *out, const float *in) { ONCE(256, , wait(b, 0), ) }
// prove: once_written unproven racy --block-dim=128
__global__ void once_written(float *out, const float *in) { ONCE(512, s[0] = 1, wait(b, 0), ) }
// prove: once_written_after race-free --block-dim=128
__global__ void once_written_after(float *out, const float *in) { ONCE(512, , wait(b, 0), __syncthreads(); s[t] = 0) }

// ---- a ring between a producer and consumers

#define RING(stages, of_full, of_empty, produce, consume)                                                      \
	__shared__ alignas(16) float s[stages][128];                                                           \
	__shared__ u64 full[stages], empty[stages];                                                            \
	int t = threadIdx.x;                                                                                   \
	set_up(full, of_full, empty, of_empty, stages);                                                        \
	if (t >= 128) {                                                                                        \
		if (t == 128)                                                                                  \
			_Pragma("unroll 1")                                                                    \
			for (int k = 0; k < n; k++) {                                                          \
				produce;                                                                       \
			}                                                                                      \
	} else {                                                                                               \
		float sum = 0;                                                                                 \
		_Pragma("unroll 1")                                                                            \
		for (int k = 0; k < n; k++) {                                                                  \
			consume;                                                                               \
		}                                                                                              \
		out[blockIdx.x * 128 + t] = sum;                                                               \
	}

// prove: ring race-free --block-dim=160
__global__ void ring(float *out, const float *in, int n)
{
	RING(2, 1, 128,
	     wait(&empty[k % 2], (k / 2 & 1) ^ 1); expect(&full[k % 2], 512); fill(s[k % 2], in + k * 128, 512, &full[k % 2]),
	     wait(&full[k % 2], k / 2 & 1); sum += s[k % 2][127 - t]; arrive(&empty[k % 2]))
}
// prove: ring_of_three race-free --block-dim=160
__global__ void ring_of_three(float *out, const float *in, int n)
{
	RING(3, 1, 128,
	     wait(&empty[k % 3], (k / 3 & 1) ^ 1); expect(&full[k % 3], 512); fill(s[k % 3], in + k * 128, 512, &full[k % 3]),
	     wait(&full[k % 3], k / 3 & 1); sum += s[k % 3][127 - t]; arrive(&empty[k % 3]))
}
// prove: ring_late race-free --block-dim=160
__global__ void ring_late(float *out, const float *in, int n)
{
	RING(4, 1, 128,
	     if (k >= 4) wait(&empty[k % 4], (k / 4 - 1) & 1); expect(&full[k % 4], 512); fill(s[k % 4], in + k * 128, 512, &full[k % 4]),
	     wait(&full[k % 4], k / 4 & 1); sum += s[k % 4][127 - t]; arrive(&empty[k % 4]))
}
// prove: ring_two_copies race-free --block-dim=160
__global__ void ring_two_copies(float *out, const float *in, int n)
{
	RING(2, 1, 128,
	     wait(&empty[k % 2], (k / 2 & 1) ^ 1); expect(&full[k % 2], 512); fill(s[k % 2], in + k * 128, 256, &full[k % 2]);
	     fill(s[k % 2] + 64, in + k * 128 + 64, 256, &full[k % 2]),
	     wait(&full[k % 2], k / 2 & 1); sum += s[k % 2][127 - t]; arrive(&empty[k % 2]))
}
// prove: ring_own true racy --block-dim=160
__global__ void ring_own(float *out, const float *in, int n)
{
	RING(2, 1, 128,
	     wait(&empty[k % 2], (k / 2 & 1) ^ 1); expect(&full[k % 2], 512); fill(s[k % 2], in + k * 128, 512, &full[k % 2]),
	     sum += s[k % 2][127 - t]; wait(&full[k % 2], k / 2 & 1); arrive(&empty[k % 2]))
}
// prove: ring_early_arrival true racy --block-dim=160
__global__ void ring_early_arrival(float *out, const float *in, int n)
{
	RING(2, 1, 128,
	     wait(&empty[k % 2], (k / 2 & 1) ^ 1); expect(&full[k % 2], 512); fill(s[k % 2], in + k * 128, 512, &full[k % 2]),
	     wait(&full[k % 2], k / 2 & 1); arrive(&empty[k % 2]); sum += s[k % 2][127 - t])
}
// prove: ring_never_empty true racy --block-dim=160
__global__ void ring_never_empty(float *out, const float *in, int n)
{
	RING(2, 1, 128,
	     expect(&full[k % 2], 512); fill(s[k % 2], in + k * 128, 512, &full[k % 2]),
	     wait(&full[k % 2], k / 2 & 1); sum += s[k % 2][127 - t]; arrive(&empty[k % 2]))
}
// prove: ring_one_too_few true racy --block-dim=160
__global__ void ring_one_too_few(float *out, const float *in, int n)
{
	RING(2, 1, 127,
	     wait(&empty[k % 2], (k / 2 & 1) ^ 1); expect(&full[k % 2], 512); fill(s[k % 2], in + k * 128, 512, &full[k % 2]),
	     wait(&full[k % 2], k / 2 & 1); sum += s[k % 2][127 - t]; arrive(&empty[k % 2]))
}
// All wait for ever.
// prove: ring_wrong_parity potential free --block-dim=160
__global__ void ring_wrong_parity(float *out, const float *in, int n)
{
	RING(2, 1, 128,
	     wait(&empty[k % 2], (k & 1) ^ 1); expect(&full[k % 2], 512); fill(s[k % 2], in + k * 128, 512, &full[k % 2]),
	     wait(&full[k % 2], k / 2 & 1); sum += s[k % 2][127 - t]; arrive(&empty[k % 2]))
}
// prove: ring_wrong_stage true racy --block-dim=160
__global__ void ring_wrong_stage(float *out, const float *in, int n)
{
	RING(2, 1, 128,
	     wait(&empty[k % 2], (k / 2 & 1) ^ 1); expect(&full[k % 2], 512); fill(s[k % 2], in + k * 128, 512, &full[k % 2]),
	     wait(&full[k % 2], k / 2 & 1); sum += s[(k + 1) % 2][127 - t]; arrive(&empty[k % 2]))
}
// prove: ring_too_long true racy --block-dim=160
__global__ void ring_too_long(float *out, const float *in, int n)
{
	RING(3, 1, 128,
	     wait(&empty[k % 3], (k / 3 & 1) ^ 1); expect(&full[k % 3], 528); fill(s[k % 3 == 2 ? 0 : k % 3], in + k * 128, 528, &full[k % 3]),
	     wait(&full[k % 3], k / 3 & 1); sum += s[k % 3][127 - t]; arrive(&empty[k % 3]))
}

// ---- PipelineState of CUTLASS: the stage and the phase are carried around the loop

#define STATE(stages, produce, consume)                                                                        \
	RING(stages, 1, 128, produce; if (++stage == stages) { stage = 0; phase ^= 1; },                       \
	     consume; if (++stage == stages) { stage = 0; phase ^= 1; })

// prove: state race-free --block-dim=160
__global__ void state(float *out, const float *in, int n)
{
	int stage = 0, phase = 0;
	STATE(2,
	     wait(&empty[stage], phase ^ 1); expect(&full[stage], 512); fill(s[stage], in + k * 128, 512, &full[stage]),
	     wait(&full[stage], phase); sum += s[stage][127 - t]; arrive(&empty[stage]))
}
// prove: state_of_four race-free --block-dim=160
__global__ void state_of_four(float *out, const float *in, int n)
{
	int stage = 0, phase = 0;
	STATE(4,
	     wait(&empty[stage], phase ^ 1); expect(&full[stage], 512); fill(s[stage], in + k * 128, 512, &full[stage]),
	     wait(&full[stage], phase); sum += s[stage][127 - t]; arrive(&empty[stage]))
}
// The consumers go first.
// prove: state_reversed race-free --block-dim=160
__global__ void state_reversed(float *out, const float *in, int n)
{
	int stage = 0, phase = 1;
	STATE(2,
	     wait(&empty[stage], phase ^ 1); expect(&full[stage], 512); fill(s[stage], in + k * 128, 512, &full[stage]),
	     wait(&full[stage], phase); sum += s[stage][127 - t]; arrive(&empty[stage]))
}

// ---- one thread of each consumer's warp gives the stage back

#define WARPS(gives)                                                                                           \
	RING(2, 1, 4,                                                                                          \
	     wait(&empty[k % 2], (k / 2 & 1) ^ 1); expect(&full[k % 2], 512); fill(s[k % 2], in + k * 128, 512, &full[k % 2]), \
	     wait(&full[k % 2], k / 2 & 1); sum += s[k % 2][127 - t]; gives; if (t % 32 == 0) arrive(&empty[k % 2]))

// prove: ring_by_warps race-free --block-dim=160
__global__ void ring_by_warps(float *out, const float *in, int n) { WARPS(__syncwarp()) }
// prove: ring_no_warps true racy --block-dim=160
__global__ void ring_no_warps(float *out, const float *in, int n) { WARPS() }

// ---- ordinary stores of a producer's warp

#define STORED(give, take)                                                                                     \
	RING_OF(32, 128, give, take)
#define RING_OF(of_full, of_empty, produce, consume)                                                           \
	__shared__ float s[2][128];                                                                            \
	__shared__ u64 full[2], empty[2];                                                                      \
	int t = threadIdx.x;                                                                                   \
	set_up(full, of_full, empty, of_empty, 2);                                                             \
	if (t >= 128) {                                                                                        \
		_Pragma("unroll 1")                                                                            \
		for (int k = 0; k < n; k++) {                                                                  \
			produce;                                                                               \
		}                                                                                              \
	} else {                                                                                               \
		float sum = 0;                                                                                 \
		_Pragma("unroll 1")                                                                            \
		for (int k = 0; k < n; k++) {                                                                  \
			consume;                                                                               \
		}                                                                                              \
		out[blockIdx.x * 128 + t] = sum;                                                               \
	}

// prove: stored race-free --block-dim=160
__global__ void stored(float *out, const float *in, int n)
{
	STORED(wait(&empty[k % 2], (k / 2 & 1) ^ 1); for (int i = t - 128; i < 128; i += 32) s[k % 2][i] = in[k * 128 + i]; arrive(&full[k % 2]),
	       wait(&full[k % 2], k / 2 & 1); sum += s[k % 2][127 - t]; arrive(&empty[k % 2]))
}
// prove: stored_late true racy --block-dim=160
__global__ void stored_late(float *out, const float *in, int n)
{
	STORED(wait(&empty[k % 2], (k / 2 & 1) ^ 1); arrive(&full[k % 2]); for (int i = t - 128; i < 128; i += 32) s[k % 2][i] = in[k * 128 + i],
	       wait(&full[k % 2], k / 2 & 1); sum += s[k % 2][127 - t]; arrive(&empty[k % 2]))
}

// ---- one loop: each thread consumes, and the first one fills the stage after the next

// prove: one_loop race-free --block-dim=128
__global__ void one_loop(float *out, const float *in, int n)
{
	__shared__ alignas(16) float s[2][128];
	__shared__ u64 full[2], empty[2];
	int t = threadIdx.x;
	float sum = 0;
	set_up(full, 1, empty, 128, 2);
	#pragma unroll 1
	for (int k = 0; k < n; k++) {
		if (t == 0) {
			wait(&empty[k % 2], (k / 2 & 1) ^ 1);
			expect(&full[k % 2], 512);
			fill(s[k % 2], in + k * 128, 512, &full[k % 2]);
		}
		wait(&full[k % 2], k / 2 & 1);
		sum += s[k % 2][127 - t];
		arrive(&empty[k % 2]);
	}
	out[blockIdx.x * 128 + t] = sum;
}
// prove: one_loop_no_empty true racy --block-dim=128
__global__ void one_loop_no_empty(float *out, const float *in, int n)
{
	__shared__ alignas(16) float s[2][128];
	__shared__ u64 full[2], empty[2];
	int t = threadIdx.x;
	float sum = 0;
	set_up(full, 1, empty, 128, 2);
	#pragma unroll 1
	for (int k = 0; k < n; k++) {
		if (t == 0) {
			expect(&full[k % 2], 512);
			fill(s[k % 2], in + k * 128, 512, &full[k % 2]);
		}
		wait(&full[k % 2], k / 2 & 1);
		sum += s[k % 2][127 - t];
	}
	out[blockIdx.x * 128 + t] = sum;
}

// ---- lanes of a warp apart

// 24 lanes complete the phase, each of which arrives twice: before the stores of the other eight, if these are slow.
__device__ __forceinline__ void twice(float *a)
{
	__shared__ float s[32];
	__shared__ u64 b;
	int t = threadIdx.x;
	if (t == 0)
		init(&b, 48);
	__syncthreads();
	if (t < 32) {
		s[t] = a[t];
		arrive(&b);
		arrive(&b);
	} else {
		wait(&b, 0);
		a[blockIdx.x * 64 + t] = s[63 - t];
	}
}

// prove: twice_apart true racy --block-dim=64
__global__ void twice_apart(float *a) { twice(a); }

// prove: twice_in_step potential free --block-dim=64 --warp-lockstep
__global__ void twice_in_step(float *a) { twice(a); }

// ---- stages that are filled in front of the loop, as Triton has it

#define FILLED(front, again)                                                                                   \
	__shared__ alignas(16) float s[3][128];                                                                \
	__shared__ u64 full[3], empty[3];                                                                      \
	int t = threadIdx.x;                                                                                   \
	float sum = 0;                                                                                         \
	set_up(full, 1, empty, 128, 3);                                                                        \
	if (t == 0) {                                                                                          \
		front;                                                                                         \
	}                                                                                                      \
	_Pragma("unroll 1")                                                                                    \
	for (unsigned k = 0; k < n; k++) {                                                                     \
		wait(&full[k % 3], k / 3 & 1);                                                                 \
		sum += s[k % 3][127 - t];                                                                      \
		arrive(&empty[k % 3]);                                                                         \
		if (t == 0 && n - k > 2) {                                                                     \
			unsigned r = (k + 2) % 3;                                                              \
			again;                                                                                 \
		}                                                                                              \
	}                                                                                                      \
	out[blockIdx.x * 128 + t] = sum;
#define PUT(r, k) expect(&full[r], 512); fill(s[r], in + (k) * 128, 512, &full[r])
#define TAKEN wait(&empty[r], ((k + 2) / 3 & 1) ^ 1)

// prove: filled race-free --block-dim=128
__global__ void filled(float *out, const float *in, unsigned n) { FILLED(PUT(0, 0); PUT(1, 1), TAKEN; PUT(r, k + 2)) }
// Of other warps nobody knows whether they have read it.
// prove: filled_untaken true racy --block-dim=128
__global__ void filled_untaken(float *out, const float *in, unsigned n) { FILLED(PUT(0, 0); PUT(1, 1), PUT(r, k + 2)) }
// Two copies in front are for one stage.
// prove: filled_twice potential racy --block-dim=128
__global__ void filled_twice(float *out, const float *in, unsigned n) { FILLED(PUT(0, 0); fill(s[1], in, 512, &full[0]); PUT(1, 1), TAKEN; PUT(r, k + 2)) }
// The second stage is never filled, nor waited for.
// prove: filled_one race-free --block-dim=128
__global__ void filled_one(float *out, const float *in, unsigned n) { FILLED(PUT(0, 0), TAKEN; PUT(r, k + 2)) }
// One stage more than there are: the third is filled again at once.
// prove: filled_all true racy --block-dim=128
__global__ void filled_all(float *out, const float *in, unsigned n) { FILLED(PUT(0, 0); PUT(1, 1); PUT(2, 2), TAKEN; PUT(r, k + 2)) }
