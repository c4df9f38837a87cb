/*
 * boxes.cu - tensor copies (TMA), whose boxes the host's maps say: what mbarriers expect is taken for it.
 */
typedef unsigned long long u64;
typedef unsigned short half16;
#define TILE 4096 // elements of a box, 8192 bytes
struct alignas(64) Map {
	u64 word[16];
};

__device__ __forceinline__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
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
__device__ __forceinline__ void load(void *to, const Map *map, int x, int y, u64 *b)
{
	asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
			     at(to)),
		     "l"(map), "r"(x), "r"(y), "r"(at(b)) : "memory");
}
__device__ __forceinline__ void load_columns(void *to, const Map *map, int x, int y, u64 *b)
{
	asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %3}], [%4], {%5};" ::"r"(
			     at(to)),
		     "l"(map), "r"(x), "r"(y), "r"(at(b)), "h"((short)0) : "memory");
}
__device__ __forceinline__ void store(const Map *map, int x, int y, const void *from)
{
	asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(x), "r"(y),
		     "r"(at(from)) : "memory");
}
__device__ __forceinline__ void proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
#define COMMIT asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define WAIT_READ asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory")

// ---- one box

#define ONCE(bytes, ready, last) ONCE_BY(load, bytes, ready, last)
#define ONCE_BY(load, bytes, ready, last)                                                                               \
	__shared__ alignas(128) half16 s[2 * TILE];                                                            \
	__shared__ u64 b;                                                                                      \
	int t = threadIdx.x;                                                                                   \
	if (t == 0)                                                                                            \
		init(&b, 1);                                                                                   \
	__syncthreads();                                                                                       \
	if (t == 0) {                                                                                          \
		expect(&b, bytes);                                                                             \
		load(s, &map, 0, blockIdx.x, &b);                                                              \
	}                                                                                                      \
	ready;                                                                                                 \
	out[blockIdx.x * 128 + t] = s[127 - t];                                                                \
	last;

// prove: once race-free --block-dim=128
__global__ void once(half16 *out, const __grid_constant__ Map map) { ONCE(8192, wait(&b, 0), ) }
// prove: once_no_wait true racy --block-dim=128
__global__ void once_no_wait(half16 *out, const __grid_constant__ Map map) { ONCE(8192, , ) }
// prove: once_phase true racy --block-dim=128
__global__ void once_phase(half16 *out, const __grid_constant__ Map map) { ONCE(8192, wait(&b, 1), ) }
// prove: once_beside race-free --block-dim=128
__global__ void once_beside(half16 *out, const __grid_constant__ Map map) { ONCE(8192, s[TILE + t] = 1; wait(&b, 0), ) }
// prove: once_within true racy --block-dim=128
__global__ void once_within(half16 *out, const __grid_constant__ Map map) { ONCE(8192, s[TILE + t - 1] = 1; wait(&b, 0), ) }
// Nothing says how many bytes.
// prove: once_any unproven free --block-dim=128
__global__ void once_any(half16 *out, const __grid_constant__ Map map, int bytes) { ONCE(bytes, wait(&b, 0), ) }

// Elements that a map of im2col says are as many in shared memory.
// prove: columns race-free --block-dim=128
__global__ void columns(half16 *out, const __grid_constant__ Map map) { ONCE_BY(load_columns, 8192, s[TILE + t] = 1; wait(&b, 0), ) }
// prove: columns_no_wait true racy --block-dim=128
__global__ void columns_no_wait(half16 *out, const __grid_constant__ Map map) { ONCE_BY(load_columns, 8192, , ) }
// prove: columns_within true racy --block-dim=128
__global__ void columns_within(half16 *out, const __grid_constant__ Map map) { ONCE_BY(load_columns, 8192, s[TILE + t - 1] = 1; wait(&b, 0), ) }

// ---- rings: two boxes for each stage

#define RING(stages, bytes, produce, consume)                                                                  \
	__shared__ alignas(128) half16 s[stages][TILE], w[stages][512];                                        \
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
			for (int k = 0; k < n; k++) {                                                          \
				int i = k % stages, p = k / stages & 1;                                        \
				if (p < 2) {                                                                   \
					produce;                                                               \
				}                                                                              \
				expect(&full[i], bytes);                                                       \
				load(s[i], &map, 64 * k, blockIdx.x, &full[i]);                                \
				load(w[i], &other, 64 * k, 0, &full[i]);                                       \
			}                                                                                      \
	} else {                                                                                               \
		int sum = 0;                                                                                   \
		_Pragma("unroll 1")                                                                            \
		for (int k = 0; k < n; k++) {                                                                  \
			int i = k % stages, p = k / stages & 1;                                                \
			consume;                                                                               \
		}                                                                                              \
		out[blockIdx.x * 128 + t] = sum;                                                               \
	}

// prove: ring race-free --block-dim=160
__global__ void ring(half16 *out, const __grid_constant__ Map map, const __grid_constant__ Map other, int n)
{
	RING(3, 9216, wait(&empty[i], p ^ 1), wait(&full[i], p); sum += s[i][t * 32] + w[i][t]; arrive(&empty[i]))
}
// prove: ring_early true racy --block-dim=160
__global__ void ring_early(half16 *out, const __grid_constant__ Map map, const __grid_constant__ Map other, int n)
{
	RING(3, 9216, wait(&empty[i], p ^ 1), wait(&full[i], p); arrive(&empty[i]); sum += s[i][t * 32] + w[i][t])
}
// prove: ring_never_empty true racy --block-dim=160
__global__ void ring_never_empty(half16 *out, const __grid_constant__ Map map, const __grid_constant__ Map other, int n)
{
	RING(3, 9216, , wait(&full[i], p); sum += s[i][t * 32] + w[i][t]; arrive(&empty[i]))
}
// prove: ring_other_stage true racy --block-dim=160
__global__ void ring_other_stage(half16 *out, const __grid_constant__ Map map, const __grid_constant__ Map other, int n)
{
	RING(3, 9216, wait(&empty[i], p ^ 1), wait(&full[i], p); sum += s[(i + 1) % 3][t * 32] + w[i][t]; arrive(&empty[i]))
}
// How the bytes are shared out isn't known: neither the stages' sizes nor halves.
// prove: ring_part unproven free --block-dim=160
__global__ void ring_part(half16 *out, const __grid_constant__ Map map, const __grid_constant__ Map other, int n)
{
	RING(3, 9000, wait(&empty[i], p ^ 1), wait(&full[i], p); sum += s[i][t * 32] + w[i][t]; arrive(&empty[i]))
}

// ---- stores of a tile

#define STORED(first, second, third, last)                                                                     \
	__shared__ alignas(128) half16 s[2][TILE];                                                             \
	int t = threadIdx.x;                                                                                   \
	_Pragma("unroll 1")                                                                                    \
	for (int k = 0; k < n; k++) {                                                                          \
		s[1][t] = in[k * 128 + t];                                                                     \
		first;                                                                                         \
		second;                                                                                        \
		if (t == 0) {                                                                                  \
			store(&map, 64 * k, blockIdx.x, s[1]);                                                 \
			COMMIT;                                                                                \
			third;                                                                                 \
		}                                                                                              \
		last;                                                                                          \
	}

// prove: stored race-free --block-dim=128
__global__ void stored(const half16 *in, const __grid_constant__ Map map, int n) { STORED(proxy(), __syncthreads(), WAIT_READ, __syncthreads()) }
// prove: stored_no_fence potential racy --block-dim=128
__global__ void stored_no_fence(const half16 *in, const __grid_constant__ Map map, int n) { STORED(, __syncthreads(), WAIT_READ, __syncthreads()) }
// prove: stored_again_early potential racy --block-dim=128
__global__ void stored_again_early(const half16 *in, const __grid_constant__ Map map, int n) { STORED(proxy(), __syncthreads(), WAIT_READ, ) }
// The other half of the array is before the box.
// prove: stored_beside race-free --block-dim=128
__global__ void stored_beside(const half16 *in, const __grid_constant__ Map map, int n) { STORED(proxy(), __syncthreads(), s[0][t] = 1; WAIT_READ, __syncthreads()) }
