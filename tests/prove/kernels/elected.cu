/*
 * elected.cu - one lane of a warp that elect.sync chooses: stores, copies and arrivals by it, as
 * CUTLASS and Triton have them; each with what takes the order away.
 */
typedef unsigned long long u64;

__device__ __forceinline__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ bool elected(unsigned mask = 0xffffffffu)
{
	unsigned is_it;
	asm volatile("{ .reg .pred p; .reg .b32 r; elect.sync r|p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(is_it) : "r"(mask));
	return is_it;
}
__device__ __forceinline__ unsigned leader()
{
	unsigned lane;
	asm volatile("{ .reg .pred p; elect.sync %0|p, 0xffffffff; }" : "=r"(lane));
	return lane;
}
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

// ---- stores

// prove: elected_store race-free --block-dim=64
__global__ void elected_store(float *out, const float *in)
{
	__shared__ float s;
	if (threadIdx.x < 32 && elected())
		s = in[blockIdx.x];
	__syncthreads();
	out[blockIdx.x * 64 + threadIdx.x] = s;
}
// One of each warp.
// prove: elected_twice potential racy --block-dim=64
__global__ void elected_twice(float *out, const float *in)
{
	__shared__ float s;
	if (elected())
		s = in[threadIdx.x];
	__syncthreads();
	out[blockIdx.x * 64 + threadIdx.x] = s;
}
// One of each half.
// prove: elected_halves potential racy --block-dim=32
__global__ void elected_halves(float *out, const float *in)
{
	__shared__ float s;
	bool is_it = threadIdx.x < 16 ? elected(0xffff) : elected(0xffff0000u);
	if (is_it)
		s = in[threadIdx.x];
	__syncthreads();
	out[blockIdx.x * 32 + threadIdx.x] = s;
}
// The same lane again.
// prove: elected_again race-free --block-dim=64
__global__ void elected_again(float *out, const float *in)
{
	__shared__ float s;
	if (threadIdx.x < 32 && elected())
		s = in[blockIdx.x];
	if (threadIdx.x < 32 && elected())
		out[blockIdx.x] = s;
}
// prove: elected_other_warp potential racy --block-dim=64
__global__ void elected_other_warp(float *out, const float *in)
{
	__shared__ float s;
	if (threadIdx.x < 32 && elected())
		s = in[blockIdx.x];
	if (threadIdx.x >= 32 && elected())
		out[blockIdx.x] = s;
}
// All lanes know who it is.
// prove: elected_leader race-free --block-dim=32
__global__ void elected_leader(float *out, const float *in)
{
	__shared__ float s[32];
	unsigned lane = leader();
	if (threadIdx.x == lane)
		s[0] = in[blockIdx.x];
	else
		s[threadIdx.x > lane ? threadIdx.x : threadIdx.x + 1] = 1;
	__syncwarp();
	out[blockIdx.x * 32 + threadIdx.x] = s[threadIdx.x];
}
// prove: elected_neighbour potential racy --block-dim=32
__global__ void elected_neighbour(float *out, const float *in)
{
	__shared__ float s[33];
	unsigned lane = leader();
	if (threadIdx.x == lane || threadIdx.x == (lane ^ 1))
		s[0] = in[threadIdx.x];
	__syncwarp();
	out[blockIdx.x * 32 + threadIdx.x] = s[threadIdx.x];
}

// ---- a ring: an elected lane copies, an elected lane of each warp gives the stage back

template <int STAGES, bool TOGETHER, bool BEFORE>
__device__ __forceinline__ void ring(float *out, const float *in, int n)
{
	__shared__ alignas(16) float s[STAGES][64];
	__shared__ u64 full[STAGES], empty[STAGES];
	int t = threadIdx.x;
	if (t == 0)
		for (int i = 0; i < STAGES; i++) {
			init(&full[i], 1);
			init(&empty[i], 2);
		}
	__syncthreads();
	if (t >= 64) {
		if (elected()) {
#pragma unroll 1
			for (int k = 0; k < n; k++) {
				wait(&empty[k % STAGES], (k / STAGES & 1) ^ 1);
				expect(&full[k % STAGES], 256);
				fill(s[k % STAGES], in + k * 64, 256, &full[k % STAGES]);
			}
		}
		return;
	}
	float sum = 0;
#pragma unroll 1
	for (int k = 0; k < n; k++) {
		wait(&full[k % STAGES], k / STAGES & 1);
		if (!BEFORE)
			sum += s[k % STAGES][63 - t];
		if (TOGETHER)
			__syncwarp();
		if (elected())
			arrive(&empty[k % STAGES]);
		if (BEFORE)
			sum += s[k % STAGES][63 - t];
	}
	out[blockIdx.x * 64 + t] = sum;
}

// prove: ring_elected race-free --block-dim=96
__global__ void ring_elected(float *out, const float *in, int n) { ring<3, true, false>(out, in, n); }
// prove: ring_elected_apart potential racy --block-dim=96
__global__ void ring_elected_apart(float *out, const float *in, int n) { ring<3, false, false>(out, in, n); }
// prove: ring_elected_early potential racy --block-dim=96
__global__ void ring_elected_early(float *out, const float *in, int n) { ring<3, true, true>(out, in, n); }
// Two warps whose elected lanes both copy.
// prove: ring_elected_crowd potential racy --block-dim=128
__global__ void ring_elected_crowd(float *out, const float *in, int n) { ring<3, true, false>(out, in, n); }
