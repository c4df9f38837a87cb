/*
 * pipelines.cu - copies in several stages as CUTLASS (sm_80, sm_90), cuda::pipeline and Triton have
 * them, and bulk stores; each with twins that lose one thing.
 */
#include <cuda/pipeline>
typedef unsigned long long u64;

__device__ __forceinline__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void copy16(void *to, const void *from)
{
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at(to)), "l"(from) : "memory");
}
// As Triton has it: 0 bytes are read where a mask says so, and the rest is filled with zeros.
__device__ __forceinline__ void copy_masked(void *to, const void *from, bool is_in)
{
	asm volatile("cp.async.cg.shared.global [%0 + 0], [%1 + 0], 0x10, %2;" ::"r"(at(to)), "l"(from), "r"(is_in ? 16 : 0) : "memory");
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> __device__ __forceinline__ void wait_group() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }

// ---- CUTLASS' multistage main loop of sm_80: one barrier for each tile

template <int STAGES, int BEHIND, bool BARRIER, int AHEAD, bool ALWAYS>
__device__ __forceinline__ void multistage(float *out, const float4 *in, int n)
{
	__shared__ alignas(16) float4 s[STAGES][128];
	int t = threadIdx.x, read = 0, write = AHEAD;
	float sum = 0;
	for (int i = 0; i < STAGES - 1; i++) {
		if (i < n)
			copy16(&s[i][t], in + i * 128 + t);
		commit();
	}
#pragma unroll 1
	for (int k = 0; k < n; k++) {
		wait_group<BEHIND>();
		if (BARRIER)
			__syncthreads();
		sum += s[read][127 - t].x;
		if (k + STAGES - 1 < n) {
			copy16(&s[write][t], in + (k + STAGES - 1) * 128 + t);
			if (!ALWAYS)
				commit();
		}
		if (ALWAYS)
			commit();
		read = read + 1 == STAGES ? 0 : read + 1;
		write = write + 1 == STAGES ? 0 : write + 1;
	}
	wait_group<0>();
	out[blockIdx.x * 128 + t] = sum;
}

// prove: multi_three race-free --block-dim=128
__global__ void multi_three(float *out, const float4 *in, int n) { multistage<3, 1, true, 2, true>(out, in, n); }
// prove: multi_four race-free --block-dim=128
__global__ void multi_four(float *out, const float4 *in, int n) { multistage<4, 2, true, 3, true>(out, in, n); }
// One group too many may be under way.
// prove: multi_late true racy --block-dim=128
__global__ void multi_late(float *out, const float4 *in, int n) { multistage<3, 2, true, 2, true>(out, in, n); }
// prove: multi_no_barrier true racy --block-dim=128
__global__ void multi_no_barrier(float *out, const float4 *in, int n) { multistage<3, 1, false, 2, true>(out, in, n); }
// Where others still read.
// prove: multi_same_stage true racy --block-dim=128
__global__ void multi_same_stage(float *out, const float4 *in, int n) { multistage<3, 1, true, 0, true>(out, in, n); }
// The last tiles have no groups after them, so that one group behind is theirs.
// prove: multi_last_groups true racy --block-dim=128
__global__ void multi_last_groups(float *out, const float4 *in, int n) { multistage<3, 1, true, 2, false>(out, in, n); }

// ---- Triton's loop: masked copies, wait for the tile that comes next, barrier

template <int BEHIND, bool BARRIER> __device__ __forceinline__ void triton(float *out, const float4 *in, int n)
{
	__shared__ alignas(16) float4 s[3][128];
	int t = threadIdx.x, put = 1, get = -1;
	float sum = 0;
	copy_masked(&s[0][t], in + t, n > 0);
	commit();
	copy_masked(&s[1][t], in + 128 + t, n > 1);
	commit();
#pragma unroll 1
	for (int k = 0; k < n; k++) {
		get = get + 1 < 3 ? get + 1 : 0;
		wait_group<BEHIND>();
		if (BARRIER)
			__syncthreads();
		sum += s[get][t ^ 64].x;
		put = put + 1 < 3 ? put + 1 : 0;
		copy_masked(&s[put][t], in + (k + 2) * 128 + t, k + 2 < n);
		commit();
	}
	wait_group<0>();
	__syncthreads();
	out[blockIdx.x * 128 + t] = sum;
}

// prove: masked race-free --block-dim=128
__global__ void masked(float *out, const float4 *in, int n) { triton<1, true>(out, in, n); }
// prove: masked_late true racy --block-dim=128
__global__ void masked_late(float *out, const float4 *in, int n) { triton<2, true>(out, in, n); }
// prove: masked_no_barrier true racy --block-dim=128
__global__ void masked_no_barrier(float *out, const float4 *in, int n) { triton<1, false>(out, in, n); }

// ---- cuda::pipeline of a thread

template <int BEHIND, bool BARRIER> __device__ __forceinline__ void piped(float *out, const float *in, int n)
{
	__shared__ float s[2][128];
	int t = threadIdx.x;
	float sum = 0;
	cuda::pipeline<cuda::thread_scope_thread> p = cuda::make_pipeline();
	p.producer_acquire();
	cuda::memcpy_async(&s[0][t], in + t, sizeof(float), p);
	p.producer_commit();
	for (int k = 1; k < n; k++) {
		p.producer_acquire();
		cuda::memcpy_async(&s[k & 1][t], in + k * 128 + t, sizeof(float), p);
		p.producer_commit();
		cuda::pipeline_consumer_wait_prior<BEHIND>(p);
		__syncthreads();
		sum += s[(k - 1) & 1][127 - t];
		p.consumer_release();
		if (BARRIER)
			__syncthreads();
	}
	cuda::pipeline_consumer_wait_prior<0>(p);
	__syncthreads();
	sum += s[(n - 1) & 1][127 - t];
	out[blockIdx.x * 128 + t] = sum;
}

// prove: piped_twice race-free --block-dim=128
__global__ void piped_twice(float *out, const float *in, int n) { piped<1, true>(out, in, n); }
// prove: piped_late true racy --block-dim=128
__global__ void piped_late(float *out, const float *in, int n) { piped<2, true>(out, in, n); }
// prove: piped_one_barrier true racy --block-dim=128
__global__ void piped_one_barrier(float *out, const float *in, int n) { piped<1, false>(out, in, n); }

// ---- a producer's warp of sm_90 with cp.async, which arrives when its copies are done

__device__ __forceinline__ void init(u64 *b, unsigned n)
{
	asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(b)), "r"(n) : "memory");
}
__device__ __forceinline__ void arrive(u64 *b)
{
	asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at(b)) : "memory");
}
__device__ __forceinline__ void arrive_copied(u64 *b)
{
	asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(at(b)) : "memory");
}
__device__ __forceinline__ void wait(u64 *b, unsigned parity)
{
	asm volatile("{ .reg .pred p;\nAGAIN:\n"
		     "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
		     "@p bra DONE;\nbra AGAIN;\nDONE:\n}" ::"r"(at(b)), "r"(parity) : "memory");
}

#define PRODUCER(of_full, produce, consume)                                                                    \
	__shared__ alignas(16) float4 s[2][32];                                                                \
	__shared__ u64 full[2], empty[2];                                                                      \
	int t = threadIdx.x;                                                                                   \
	float sum = 0;                                                                                         \
	if (t == 0)                                                                                            \
		for (int i = 0; i < 2; i++) {                                                                  \
			init(&full[i], of_full);                                                               \
			init(&empty[i], 128);                                                                  \
		}                                                                                              \
	__syncthreads();                                                                                       \
	if (t >= 128) {                                                                                        \
		_Pragma("unroll 1") for (int k = 0; k < n; k++) { produce; }                                   \
	} else {                                                                                               \
		_Pragma("unroll 1") for (int k = 0; k < n; k++) { consume; }                                   \
		out[blockIdx.x * 128 + t] = sum;                                                               \
	}
#define COPY copy16(&s[k % 2][t - 128], in + k * 32 + t - 128)
#define GIVEN wait(&empty[k % 2], (k / 2 & 1) ^ 1)
#define TAKE wait(&full[k % 2], k / 2 & 1); sum += s[k % 2][t / 4].x; arrive(&empty[k % 2])

// prove: produced race-free --block-dim=160
__global__ void produced(float *out, const float4 *in, int n) { PRODUCER(32, GIVEN; COPY; arrive_copied(&full[k % 2]), TAKE) }
// An ordinary arrival doesn't wait for copies.
// prove: produced_early true racy --block-dim=160
__global__ void produced_early(float *out, const float4 *in, int n) { PRODUCER(32, GIVEN; COPY; arrive(&full[k % 2]), TAKE) }
// prove: produced_after true racy --block-dim=160
__global__ void produced_after(float *out, const float4 *in, int n) { PRODUCER(32, GIVEN; arrive_copied(&full[k % 2]); COPY, TAKE) }
// prove: produced_not_given true racy --block-dim=160
__global__ void produced_not_given(float *out, const float4 *in, int n) { PRODUCER(32, COPY; arrive_copied(&full[k % 2]), TAKE) }
// prove: produced_too_few true racy --block-dim=160
__global__ void produced_too_few(float *out, const float4 *in, int n) { PRODUCER(31, GIVEN; COPY; arrive_copied(&full[k % 2]), TAKE) }
// What the thread stores itself isn't released by the arrival.
// prove: produced_stored potential racy --block-dim=160
__global__ void produced_stored(float *out, const float4 *in, int n)
{
	PRODUCER(32, GIVEN; s[k % 2][t - 128] = in[k * 32 + t - 128]; arrive_copied(&full[k % 2]), TAKE)
}

// ---- bulk stores

__device__ __forceinline__ void proxy_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ __forceinline__ void give(float *to, const float *from)
{
	asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 512;" ::"l"(__cvta_generic_to_global(to)), "r"(at(from)) : "memory");
	asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
__device__ __forceinline__ void wait_given() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
__device__ __forceinline__ void wait_taken() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }

#define STORE(before, first, behind, last)                                                                     \
	__shared__ alignas(16) float s[128];                                                                   \
	int t = threadIdx.x;                                                                                   \
	s[t] = in[blockIdx.x * 128 + t];                                                                       \
	before;                                                                                                \
	if (t == 0) {                                                                                          \
		first;                                                                                         \
		give(out + blockIdx.x * 128, s);                                                               \
		behind;                                                                                        \
	}                                                                                                      \
	last;

// prove: given race-free --block-dim=128
__global__ void given(float *out, const float *in) { STORE(proxy_fence(); __syncthreads(), , wait_taken(), __syncthreads(); s[t] = 0) }
// prove: given_fence_by_one race-free --block-dim=128
__global__ void given_fence_by_one(float *out, const float *in) { STORE(__syncthreads(), proxy_fence(), wait_taken(), __syncthreads(); s[t] = 0) }
// prove: given_read_back race-free --block-dim=128
__global__ void given_read_back(float *out, const float *in)
{
	STORE(proxy_fence(); __syncthreads(), , wait_given(), __syncthreads(); out[blockIdx.x * 128 + t] += 1)
}
// prove: given_no_fence potential racy --block-dim=128
__global__ void given_no_fence(float *out, const float *in) { STORE(__syncthreads(), , wait_taken(), ) }
// The fence is before the write of others.
// prove: given_fence_too_soon potential racy --block-dim=128
__global__ void given_fence_too_soon(float *out, const float *in) { STORE(proxy_fence(); s[t] += 1; __syncthreads(), , wait_taken(), ) }
// prove: given_no_barrier true racy --block-dim=128
__global__ void given_no_barrier(float *out, const float *in) { STORE(proxy_fence(), , wait_taken(), ) }
// prove: given_no_wait true racy --block-dim=128
__global__ void given_no_wait(float *out, const float *in) { STORE(proxy_fence(); __syncthreads(), , , __syncthreads(); s[t] = 0; __syncthreads(); if (t == 0) wait_taken()) }
// What is read of shared memory is not yet written to global memory.
// prove: given_only_taken true racy --block-dim=128
__global__ void given_only_taken(float *out, const float *in)
{
	STORE(proxy_fence(); __syncthreads(), , wait_taken(), __syncthreads(); out[blockIdx.x * 128 + t] += 1)
}
// prove: given_own true racy --block-dim=128
__global__ void given_own(float *out, const float *in) { STORE(proxy_fence(); __syncthreads(), , s[0] = 0; wait_taken(), ) }
