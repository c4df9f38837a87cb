/*
 * products.cu - matrix products of warpgroups (wgmma): what fills the tiles, and who may fill them again.
 *
 * A tile is 64 rows of 64 f16, 128 bytes each, swizzled by 128: a product reads 32 bytes of each row.
 */
typedef unsigned long long u64;
#define TILE 4096 // elements

__device__ __forceinline__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
// Rows of 128 bytes, groups of eight 1024 bytes apart.
__device__ __forceinline__ u64 matrix(const void *p)
{
	return (u64)((at(p) & 0x3ffff) >> 4) | (u64)1 << 16 | (u64)(1024 >> 4) << 32 | (u64)1 << 62;
}
__device__ __forceinline__ void mma(float c[4], u64 a, u64 b)
{
	asm volatile("{ .reg .pred p;\nsetp.eq.u32 p, 0, 0;\n"
		     "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0; }"
		     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "l"(a), "l"(b));
}
__device__ __forceinline__ void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
#define WAIT(n) asm volatile("wgmma.wait_group.sync.aligned " #n ";" ::: "memory")
// The four products of a tile.
__device__ __forceinline__ void multiply(float c[4], const void *a, const void *b)
{
	u64 x = matrix(a), y = matrix(b);
	fence();
#pragma unroll
	for (int k = 0; k < 4; k++)
		mma(c, x + 2 * k, y + 2 * k);
	commit();
}
__device__ __forceinline__ void proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
typedef unsigned short half16;

// ---- stores fill the tiles

#define STORED(first, second, third, last)                                                                      \
	__shared__ alignas(1024) half16 a[TILE], b[512];                                                       \
	int t = threadIdx.x;                                                                                   \
	float c[4] = {0, 0, 0, 0};                                                                             \
	*(int4 *)&a[t * 32] = *(const int4 *)&in[t * 32];                                                      \
	b[t] = in[t];                                                                                          \
	first;                                                                                                 \
	second;                                                                                                \
	multiply(c, a, b);                                                                                     \
	third;                                                                                                 \
	last;                                                                                                  \
	out[blockIdx.x * 128 + t] = c[0] + c[1] + c[2] + c[3];

// prove: stored race-free --block-dim=128
__global__ void stored(float *out, const half16 *in) { STORED(proxy(), __syncthreads(), WAIT(0), ) }
// The fence is in the threads that multiply, which are all.
// prove: stored_then_fenced race-free --block-dim=128
__global__ void stored_then_fenced(float *out, const half16 *in) { STORED(__syncthreads(), proxy(), WAIT(0), ) }
// prove: stored_no_fence potential racy --block-dim=128
__global__ void stored_no_fence(float *out, const half16 *in) { STORED(, __syncthreads(), WAIT(0), ) }
// As Triton has it: the fence is behind a barrier, and another one before the product.
// prove: stored_fence_between race-free --block-dim=128
__global__ void stored_fence_between(float *out, const half16 *in) { STORED(__syncthreads(); proxy(), __syncthreads(), WAIT(0), ) }
// prove: stored_fence_of_some potential racy --block-dim=128
__global__ void stored_fence_of_some(float *out, const half16 *in) { STORED(__syncthreads(); if (t < 32) proxy(), __syncthreads(), WAIT(0), ) }
// prove: stored_after_fence potential racy --block-dim=128
__global__ void stored_after_fence(float *out, const half16 *in) { STORED(__syncthreads(); proxy(); a[t] = in[t], __syncthreads(), WAIT(0), ) }
// prove: stored_no_barrier true racy --block-dim=128
__global__ void stored_no_barrier(float *out, const half16 *in) { STORED(proxy(), , WAIT(0), ) }
// prove: stored_again race-free --block-dim=128
__global__ void stored_again(float *out, const half16 *in) { STORED(proxy(), __syncthreads(), WAIT(0), __syncthreads(); a[t] = 0) }
// Other warps may still multiply: who waits knows of all four.
// prove: stored_again_early true racy --block-dim=128
__global__ void stored_again_early(float *out, const half16 *in) { STORED(proxy(), __syncthreads(), a[t] = 0, WAIT(0)) }
// prove: stored_again_no_wait true racy --block-dim=128
__global__ void stored_again_no_wait(float *out, const half16 *in) { STORED(proxy(), __syncthreads(), , __syncthreads(); a[t] = 0) }
// prove: stored_again_unfinished true racy --block-dim=128
__global__ void stored_again_unfinished(float *out, const half16 *in) { STORED(proxy(), __syncthreads(), WAIT(1), __syncthreads(); a[t] = 0; WAIT(0)) }
// prove: stored_beside race-free --block-dim=128
__global__ void stored_beside(float *out, const half16 *in)
{
	__shared__ half16 other[128];
	STORED(proxy(), __syncthreads(), other[t] = 1, WAIT(0); c[0] += other[t])
}

// ---- two stages in turns

#define TURNS(stage, first, last)                                                                              \
	__shared__ alignas(1024) half16 a[2][TILE], b[2][512];                                                 \
	int t = threadIdx.x;                                                                                   \
	float c[4] = {0, 0, 0, 0};                                                                             \
	_Pragma("unroll 1")                                                                                    \
	for (int k = 0; k < n; k++) {                                                                          \
		*(int4 *)&a[stage][t * 16] = *(const int4 *)&in[k * TILE + t * 16];                            \
		b[stage][t] = in[k * 512 + t];                                                                 \
		proxy();                                                                                       \
		__syncthreads();                                                                               \
		first;                                                                                         \
		multiply(c, a[stage], b[stage]);                                                               \
		last;                                                                                          \
	}                                                                                                      \
	WAIT(0);                                                                                               \
	out[blockIdx.x * blockDim.x + t] = c[0] + c[1] + c[2] + c[3];

// prove: turns race-free --block-dim=128
__global__ void turns(float *out, const half16 *in, int n) { TURNS(k & 1, , WAIT(0)) }
// One group is under way while the other stage is filled; it is over before its own is.
// prove: turns_behind race-free --block-dim=128
__global__ void turns_behind(float *out, const half16 *in, int n) { TURNS(k & 1, WAIT(0), ) }
// Of two groups the one before is over.
// prove: turns_one_behind race-free --block-dim=128
__global__ void turns_one_behind(float *out, const half16 *in, int n) { TURNS(k & 1, , WAIT(1)) }
// prove: turns_too_late true racy --block-dim=128
__global__ void turns_too_late(float *out, const half16 *in, int n) { TURNS(k & 1, , WAIT(2)) }
// One wait is for the shares of all warps.
// prove: turns_one_stage race-free --block-dim=128
__global__ void turns_one_stage(float *out, const half16 *in, int n) { TURNS(0, , WAIT(0)) }
// prove: turns_of_two true racy --block-dim=256
__global__ void turns_of_two(float *out, const half16 *in, int n) { TURNS(0, , WAIT(0)) }
// prove: turns_of_two_barrier race-free --block-dim=256
__global__ void turns_of_two_barrier(float *out, const half16 *in, int n) { TURNS(0, , WAIT(0); __syncthreads()) }

// ---- descriptors

// A product reads rows of 128 bytes: the other half of the array is free.
// prove: half race-free --block-dim=128
__global__ void half(float *out, const half16 *in)
{
	__shared__ alignas(1024) half16 a[2 * TILE], b[512];
	int t = threadIdx.x;
	float c[4] = {0, 0, 0, 0};
	multiply(c, a, b);
	a[TILE + t] = in[t];
	WAIT(0);
	out[blockIdx.x * 128 + t] = c[0] + a[TILE + t];
}
// prove: half_and_one true racy --block-dim=128
__global__ void half_and_one(float *out, const half16 *in)
{
	__shared__ alignas(1024) half16 a[2 * TILE], b[512];
	int t = threadIdx.x;
	float c[4] = {0, 0, 0, 0};
	multiply(c, a, b);
	a[TILE + t - 1] = in[t];
	WAIT(0);
	out[blockIdx.x * 128 + t] = c[0] + a[TILE + t - 1];
}
// The stride is no known number.
// prove: strided unproven free --block-dim=128
__global__ void strided(float *out, int stride)
{
	__shared__ alignas(1024) half16 a[TILE], b[512];
	float c[4] = {0, 0, 0, 0};
	fence();
	mma(c, (u64)((at(a) & 0x3ffff) >> 4) | (u64)stride << 32, matrix(b));
	commit();
	WAIT(0);
	out[blockIdx.x * 128 + threadIdx.x] = c[0];
}

// The start's field holds 2^18 bytes: what is added comes back, to the half before.
#define TURNED(more)                                                                                           \
	__shared__ alignas(1024) half16 a[2 * TILE], b[512];                                                   \
	int t = threadIdx.x;                                                                                   \
	float c[4] = {0, 0, 0, 0};                                                                             \
	fence();                                                                                               \
	mma(c, (matrix(a + TILE) & ~0x3fffull) | ((matrix(a + TILE) + (more)) & 0x3fff), matrix(b));           \
	commit();                                                                                              \
	a[t] = in[t];                                                                                          \
	WAIT(0);                                                                                               \
	out[blockIdx.x * 128 + t] = c[0];
// prove: turned unproven racy --block-dim=128
__global__ void turned(float *out, const half16 *in) { TURNED(0x3e00) }
// prove: turned_none race-free --block-dim=128
__global__ void turned_none(float *out, const half16 *in) { TURNED(0) }
// A sign that is extended sets the swizzle: rows are 128 bytes apart.
#define SIGNED_HALF(sign)                                                                                      \
	__shared__ alignas(1024) half16 a[TILE], b[1024];                                                      \
	int t = threadIdx.x;                                                                                   \
	float c[4] = {0, 0, 0, 0};                                                                             \
	fence();                                                                                               \
	mma(c, matrix(a), (u64)(long long)(int)(((at(b) & 0x3ffff) >> 4) | (sign)));                           \
	commit();                                                                                              \
	b[64 + t] = in[t];                                                                                     \
	WAIT(0);                                                                                               \
	out[blockIdx.x * 128 + t] = c[0];
// prove: with_sign true racy --block-dim=128
__global__ void with_sign(float *out, const half16 *in) { SIGNED_HALF(1u << 31) }
// prove: without_sign race-free --block-dim=128
__global__ void without_sign(float *out, const half16 *in) { SIGNED_HALF(0) }

// ---- bulk copies fill the tiles, and say so by mbarriers

__device__ __forceinline__ void init(u64 *b, unsigned n)
{
	asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(b)), "r"(n) : "memory");
}
__device__ __forceinline__ void arrive(u64 *b)
{
	asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at(b)) : "memory");
}
__device__ __forceinline__ void expect(u64 *b, unsigned bytes)
{
	asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(b)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void wait(u64 *b, unsigned parity)
{
	asm volatile("{ .reg .pred p;\nAGAIN:\n"
		     "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
		     "@p bra DONE;\nbra AGAIN;\nDONE:\n}" ::"r"(at(b)), "r"(parity) : "memory");
}
__device__ __forceinline__ void fill(void *to, const void *from, unsigned bytes, u64 *b)
{
	asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(at(to)),
		     "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(at(b)) : "memory");
}

#define COPIED(ready, last)                                                                                    \
	__shared__ alignas(1024) half16 a[TILE], b[512];                                                       \
	__shared__ u64 full;                                                                                   \
	int t = threadIdx.x;                                                                                   \
	float c[4] = {0, 0, 0, 0};                                                                             \
	if (t == 0)                                                                                            \
		init(&full, 1);                                                                                \
	__syncthreads();                                                                                       \
	if (t == 0) {                                                                                          \
		expect(&full, 9216);                                                                           \
		fill(a, in, 8192, &full);                                                                      \
		fill(b, in + TILE, 1024, &full);                                                               \
	}                                                                                                      \
	ready;                                                                                                 \
	multiply(c, a, b);                                                                                     \
	WAIT(0);                                                                                               \
	last;                                                                                                  \
	out[blockIdx.x * 128 + t] = c[0] + c[1] + c[2] + c[3];

// prove: copied race-free --block-dim=128
__global__ void copied(float *out, const half16 *in) { COPIED(wait(&full, 0), ) }
// prove: copied_no_wait true racy --block-dim=128
__global__ void copied_no_wait(float *out, const half16 *in) { COPIED(, ) }
// prove: copied_wrong_phase true racy --block-dim=128
__global__ void copied_wrong_phase(float *out, const half16 *in) { COPIED(wait(&full, 1), ) }
// prove: copied_over race-free --block-dim=128
__global__ void copied_over(float *out, const half16 *in) { COPIED(wait(&full, 0), a[t] = 0) }

// A producer's warp, and a warpgroup that multiplies.
#define RING(stages, of_empty, produce, consume)                                                               \
	__shared__ alignas(1024) half16 a[stages][TILE], b[stages][512];                                       \
	__shared__ u64 full[stages], empty[stages];                                                            \
	int t = threadIdx.x;                                                                                   \
	if (t == 0)                                                                                            \
		for (int i = 0; i < stages; i++) {                                                             \
			init(&full[i], 1);                                                                     \
			init(&empty[i], of_empty);                                                             \
		}                                                                                              \
	__syncthreads();                                                                                       \
	if (t >= 128) {                                                                                        \
		if (t == 128)                                                                                  \
			_Pragma("unroll 1")                                                                    \
			for (int k = 0; k < n; k++) {                                                          \
				int s = k % stages, p = k / stages & 1;                                        \
				produce;                                                                       \
			}                                                                                      \
	} else {                                                                                               \
		float c[4] = {0, 0, 0, 0};                                                                     \
		_Pragma("unroll 1")                                                                            \
		for (int k = 0; k < n; k++) {                                                                  \
			int s = k % stages, p = k / stages & 1;                                                \
			consume;                                                                               \
		}                                                                                              \
		WAIT(0);                                                                                       \
		out[blockIdx.x * 128 + t] = c[0] + c[1] + c[2] + c[3];                                         \
	}
#define FILL                                                                                                   \
	expect(&full[s], 9216);                                                                                \
	fill(a[s], in + k * TILE, 8192, &full[s]);                                                             \
	fill(b[s], in + k * 512, 1024, &full[s])

// prove: ring race-free --block-dim=160
__global__ void ring(float *out, const half16 *in, int n)
{
	RING(2, 128, wait(&empty[s], p ^ 1); FILL, wait(&full[s], p); multiply(c, a[s], b[s]); WAIT(0); arrive(&empty[s]))
}
// One thread of each warp gives the stage back: its wait is one of all lanes.
// prove: ring_by_warps race-free --block-dim=160
__global__ void ring_by_warps(float *out, const half16 *in, int n)
{
	RING(3, 4, wait(&empty[s], p ^ 1); FILL, wait(&full[s], p); multiply(c, a[s], b[s]); WAIT(0); if (t % 32 == 0) arrive(&empty[s]))
}
// One thread does, of the warpgroup.
// prove: ring_by_one race-free --block-dim=160
__global__ void ring_by_one(float *out, const half16 *in, int n)
{
	RING(3, 1, wait(&empty[s], p ^ 1); FILL, wait(&full[s], p); multiply(c, a[s], b[s]); WAIT(0); if (t == 0) arrive(&empty[s]))
}
// prove: ring_no_wait true racy --block-dim=160
__global__ void ring_no_wait(float *out, const half16 *in, int n)
{
	RING(2, 128, wait(&empty[s], p ^ 1); FILL, wait(&full[s], p); multiply(c, a[s], b[s]); arrive(&empty[s]))
}
// prove: ring_early true racy --block-dim=160
__global__ void ring_early(float *out, const half16 *in, int n)
{
	RING(2, 128, wait(&empty[s], p ^ 1); FILL, wait(&full[s], p); multiply(c, a[s], b[s]); arrive(&empty[s]); WAIT(0))
}
// prove: ring_unfinished true racy --block-dim=160
__global__ void ring_unfinished(float *out, const half16 *in, int n)
{
	RING(2, 128, wait(&empty[s], p ^ 1); FILL, wait(&full[s], p); multiply(c, a[s], b[s]); WAIT(1); arrive(&empty[s]))
}
// prove: ring_never_empty true racy --block-dim=160
__global__ void ring_never_empty(float *out, const half16 *in, int n)
{
	RING(2, 128, if (p > 1) return; FILL, wait(&full[s], p); multiply(c, a[s], b[s]); WAIT(0); arrive(&empty[s]))
}
// prove: ring_other_stage true racy --block-dim=160
__global__ void ring_other_stage(float *out, const half16 *in, int n)
{
	RING(2, 128, wait(&empty[s], p ^ 1); FILL, wait(&full[s], p); multiply(c, a[1 - s], b[s]); WAIT(0); arrive(&empty[s]))
}
// prove: ring_part true racy --block-dim=160
__global__ void ring_part(float *out, const half16 *in, int n)
{
	RING(2, 128, wait(&empty[s], p ^ 1); expect(&full[s], 8192); fill(a[s], in + k * TILE, 8192, &full[s]);
	     fill(b[s], in + k * 512, 1024, &full[s]),
	     wait(&full[s], p); multiply(c, a[s], b[s]); WAIT(0); arrive(&empty[s]))
}

// All threads multiply, and the first one fills the stage after the next.
#define ONE_LOOP(first, last)                                                                                  \
	__shared__ alignas(1024) half16 a[2][TILE], b[2][512];                                                 \
	__shared__ u64 full[2], empty[2];                                                                      \
	int t = threadIdx.x;                                                                                   \
	float c[4] = {0, 0, 0, 0};                                                                             \
	if (t == 0)                                                                                            \
		for (int i = 0; i < 2; i++) {                                                                  \
			init(&full[i], 1);                                                                     \
			init(&empty[i], 128);                                                                  \
		}                                                                                              \
	__syncthreads();                                                                                       \
	_Pragma("unroll 1")                                                                                    \
	for (int k = 0; k < n; k++) {                                                                          \
		int s = k % 2, p = k / 2 & 1;                                                                  \
		if (t == 0) {                                                                                  \
			first;                                                                                 \
			FILL;                                                                                  \
		}                                                                                              \
		wait(&full[s], p);                                                                             \
		multiply(c, a[s], b[s]);                                                                       \
		last;                                                                                          \
	}                                                                                                      \
	WAIT(0);                                                                                               \
	out[blockIdx.x * blockDim.x + t] = c[0] + c[1] + c[2] + c[3];

// prove: one_loop race-free --block-dim=128
__global__ void one_loop(float *out, const half16 *in, int n) { ONE_LOOP(wait(&empty[s], p ^ 1), WAIT(0); arrive(&empty[s])) }
// Who fills has waited for his warpgroup by then.
// prove: one_loop_early race-free --block-dim=128
__global__ void one_loop_early(float *out, const half16 *in, int n) { ONE_LOOP(wait(&empty[s], p ^ 1), arrive(&empty[s]); WAIT(0)) }
// prove: one_loop_no_empty race-free --block-dim=128
__global__ void one_loop_no_empty(float *out, const half16 *in, int n) { ONE_LOOP(, WAIT(0)) }
// prove: one_loop_unfinished true racy --block-dim=128
__global__ void one_loop_unfinished(float *out, const half16 *in, int n) { ONE_LOOP(wait(&empty[s], p ^ 1), arrive(&empty[s]); WAIT(2)) }
// prove: one_loop_barrier race-free --block-dim=128
__global__ void one_loop_barrier(float *out, const half16 *in, int n) { ONE_LOOP(, WAIT(0); __syncthreads()) }
// prove: one_loop_barrier_early true racy --block-dim=128
__global__ void one_loop_barrier_early(float *out, const half16 *in, int n) { ONE_LOOP(, __syncthreads(); WAIT(2)) }
// Two warpgroups multiply: who fills has waited for his own alone.
// prove: one_loop_of_two true racy --block-dim=256
__global__ void one_loop_of_two(float *out, const half16 *in, int n) { ONE_LOOP(, WAIT(0)) }
// prove: one_loop_of_two_barrier race-free --block-dim=256
__global__ void one_loop_of_two_barrier(float *out, const half16 *in, int n) { ONE_LOOP(, WAIT(0); __syncthreads()) }

// ---- stages that are given back late, as CUTLASS has it

// The first product is in front of the loop, which waits for the stage after, and gives the stage
// before back once its product is over.
#define AHEAD(stages, front, consume)                                                                          \
	__shared__ alignas(1024) half16 a[stages][TILE], b[stages][512];                                       \
	__shared__ u64 full[stages], empty[stages];                                                            \
	int t = threadIdx.x;                                                                                   \
	if (t == 0)                                                                                            \
		for (int i = 0; i < stages; i++) {                                                             \
			init(&full[i], 1);                                                                     \
			init(&empty[i], 128);                                                                  \
		}                                                                                              \
	__syncthreads();                                                                                       \
	if (t >= 128) {                                                                                        \
		if (t == 128)                                                                                  \
			_Pragma("unroll 1")                                                                    \
			for (unsigned k = 0; k < n; k++) {                                                     \
				unsigned s = k % stages, p = k / stages & 1;                                   \
				wait(&empty[s], p ^ 1);                                                        \
				FILL;                                                                          \
			}                                                                                      \
	} else {                                                                                               \
		float c[4] = {0, 0, 0, 0};                                                                     \
		front;                                                                                         \
		_Pragma("unroll 1")                                                                            \
		for (unsigned k = 0; k + 1 < n; k++) {                                                         \
			unsigned s = (k + 1) % stages, p = (k + 1) / stages & 1, r = k % stages;               \
			consume;                                                                               \
		}                                                                                              \
		WAIT(0);                                                                                       \
		out[blockIdx.x * 128 + t] = c[0] + c[1] + c[2] + c[3];                                         \
	}
#define FIRST wait(&full[0], 0); multiply(c, a[0], b[0])

// prove: ahead race-free --block-dim=160
__global__ void ahead(float *out, const half16 *in, unsigned n)
{
	AHEAD(3, FIRST, wait(&full[s], p); multiply(c, a[s], b[s]); WAIT(1); arrive(&empty[r]))
}
// prove: ahead_of_two race-free --block-dim=160
__global__ void ahead_of_two(float *out, const half16 *in, unsigned n)
{
	AHEAD(2, FIRST, wait(&full[s], p); multiply(c, a[s], b[s]); WAIT(1); arrive(&empty[r]))
}
// Two products are under way where the stage of the first is given back.
// prove: ahead_unfinished true racy --block-dim=160
__global__ void ahead_unfinished(float *out, const half16 *in, unsigned n)
{
	AHEAD(3, FIRST, wait(&full[s], p); multiply(c, a[s], b[s]); WAIT(2); arrive(&empty[r]))
}
// The stage that is being read is given back.
// prove: ahead_too_early potential racy --block-dim=160
__global__ void ahead_too_early(float *out, const half16 *in, unsigned n)
{
	AHEAD(3, FIRST, wait(&full[s], p); multiply(c, a[s], b[s]); WAIT(1); arrive(&empty[s + 0 * r]))
}
// Nobody has waited for the first stage.
// prove: ahead_no_first true racy --block-dim=160
__global__ void ahead_no_first(float *out, const half16 *in, unsigned n)
{
	AHEAD(3, multiply(c, a[0], b[0]), wait(&full[s], p); multiply(c, a[s], b[s]); WAIT(1); arrive(&empty[r]))
}
// Without it in front, the wait for the same mbarrier's second phase ends at once.
// prove: ahead_skips potential racy --block-dim=160
__global__ void ahead_skips(float *out, const half16 *in, unsigned n)
{
	AHEAD(2, , wait(&full[s], p); multiply(c, a[s], b[s]); WAIT(1); arrive(&empty[r]))
}
// prove: ahead_other_first true racy --block-dim=160
__global__ void ahead_other_first(float *out, const half16 *in, unsigned n)
{
	AHEAD(3, wait(&full[1], 0); multiply(c, a[0], b[0]), wait(&full[s], p); multiply(c, a[s], b[s]); WAIT(1); arrive(&empty[r]))
}

// One loop whose first iteration gives nothing back.
// prove: behind race-free --block-dim=160
__global__ void behind(float *out, const half16 *in, int n)
{
	RING(3, 128, wait(&empty[s], p ^ 1); FILL,
	     wait(&full[s], p); multiply(c, a[s], b[s]); WAIT(1); if (k > 0) arrive(&empty[(k - 1) % 3]))
}
// prove: behind_of_two race-free --block-dim=160
__global__ void behind_of_two(float *out, const half16 *in, int n)
{
	RING(2, 128, wait(&empty[s], p ^ 1); FILL,
	     wait(&full[s], p); multiply(c, a[s], b[s]); WAIT(1); if (k > 0) arrive(&empty[(k + 1) & 1]))
}
// prove: behind_unfinished true racy --block-dim=160
__global__ void behind_unfinished(float *out, const half16 *in, int n)
{
	RING(3, 128, wait(&empty[s], p ^ 1); FILL,
	     wait(&full[s], p); multiply(c, a[s], b[s]); WAIT(2); if (k > 0) arrive(&empty[(k - 1) % 3]))
}
// The first iteration gives back what it hasn't read: the last stage, one too early for ever.
// prove: behind_always true racy --block-dim=160
__global__ void behind_always(float *out, const half16 *in, int n)
{
	RING(3, 128, wait(&empty[s], p ^ 1); FILL,
	     wait(&full[s], p); multiply(c, a[s], b[s]); WAIT(1); arrive(&empty[(k + 2) % 3]))
}
