// named.cu - order by numbered barriers at which some warps wait and others arrive; each with what takes the order away.
#define WAIT(n, threads)   asm volatile("bar.sync " #n ", " #threads ";" ::: "memory")
#define ARRIVE(n, threads) asm volatile("bar.arrive " #n ", " #threads ";" ::: "memory")

#define HAND_ON(writers, readers, before, behind)                                                              \
	__shared__ float tile[32];                                                                             \
	if (writers) {                                                                                         \
		tile[threadIdx.x % 32] = threadIdx.x;                                                          \
		before;                                                                                        \
	} else if (readers) {                                                                                  \
		behind;                                                                                        \
		out[blockIdx.x * 32 + threadIdx.x % 32] = tile[31 - threadIdx.x % 32];                         \
	}

// prove: hand_on race-free --block-dim=64
__global__ void hand_on(float *out)
{
	HAND_ON(threadIdx.x < 32, true, ARRIVE(1, 64), WAIT(1, 64))
}
// prove: hand_on_both_wait race-free --block-dim=128
__global__ void hand_on_both_wait(float *out)
{
	HAND_ON(threadIdx.x < 32, threadIdx.x < 64, WAIT(1, 64), WAIT(1, 64))
}
// prove: hand_on_last_warps race-free --block-dim=128
__global__ void hand_on_last_warps(float *out)
{
	HAND_ON(threadIdx.x >= 96, threadIdx.x >= 64, ARRIVE(3, 64), WAIT(3, 64))
}
// prove: hand_on_arrive_only potential --block-dim=64
__global__ void hand_on_arrive_only(float *out)
{
	HAND_ON(threadIdx.x < 32, true, WAIT(1, 64), ARRIVE(1, 64))
}
// prove: hand_on_other_number potential --block-dim=64
__global__ void hand_on_other_number(float *out)
{
	HAND_ON(threadIdx.x < 32, true, ARRIVE(1, 64), WAIT(2, 32))
}
// prove: hand_on_too_few potential --block-dim=64
__global__ void hand_on_too_few(float *out)
{
	HAND_ON(threadIdx.x < 32, true, ARRIVE(1, 32), WAIT(1, 32))
}
// prove: hand_on_three_warps potential --block-dim=96
__global__ void hand_on_three_warps(float *out)
{
	__shared__ float tile[32];
	if (threadIdx.x < 32) {
		tile[threadIdx.x] = threadIdx.x;
		ARRIVE(1, 64);
	} else {
		WAIT(1, 64);
		if (threadIdx.x < 64)
			out[blockIdx.x * 32 + threadIdx.x % 32] = tile[31 - threadIdx.x % 32];
	}
}
// prove: hand_on_twice potential --block-dim=64
__global__ void hand_on_twice(float *out)
{
	__shared__ float tile[32];
	if (threadIdx.x < 32) {
		ARRIVE(1, 64);
		tile[threadIdx.x] = threadIdx.x;
		ARRIVE(1, 64);
	} else {
		WAIT(1, 64);
		out[blockIdx.x * 32 + threadIdx.x % 32] = tile[31 - threadIdx.x % 32];
		WAIT(1, 64);
	}
}
// prove: hand_on_late potential --block-dim=64
__global__ void hand_on_late(float *out)
{
	HAND_ON(threadIdx.x < 32, true, (void)0, WAIT(1, 64))
	if (threadIdx.x < 32) {
		ARRIVE(1, 64);
		tile[threadIdx.x] = 2;
	}
}
// prove: hand_on_in_loop potential --block-dim=64
__global__ void hand_on_in_loop(float *out, int n)
{
	__shared__ float tile[32];
	if (threadIdx.x < 32)
		for (int i = 0; i < n; i++) {
			tile[threadIdx.x] = i;
			ARRIVE(1, 64);
		}
	else {
		WAIT(1, 64);
		out[blockIdx.x * 32 + threadIdx.x % 32] = tile[31 - threadIdx.x % 32];
	}
}
// prove: hand_on_half_warp potential --block-dim=64
__global__ void hand_on_half_warp(float *out)
{
	HAND_ON(threadIdx.x < 16, threadIdx.x >= 32, ARRIVE(1, 64), WAIT(1, 64))
}

// There and back: the tile is filled again when it was read.
#define AND_BACK(number)                                                                                       \
	__shared__ float tile[32];                                                                             \
	unsigned lane = threadIdx.x % 32;                                                                      \
	if (threadIdx.x < 32) {                                                                                \
		tile[lane] = lane;                                                                             \
		ARRIVE(1, 64);                                                                                 \
		WAIT(2, 64);                                                                                   \
		tile[lane] = 2 * lane;                                                                         \
		ARRIVE(number, 64);                                                                            \
	} else {                                                                                               \
		WAIT(1, 64);                                                                                   \
		float x = tile[31 - lane];                                                                     \
		ARRIVE(2, 64);                                                                                 \
		WAIT(number, 64);                                                                              \
		out[blockIdx.x * 32 + lane] = x + tile[lane ^ 1];                                              \
	}

// prove: and_back race-free --block-dim=64
__global__ void and_back(float *out)
{
	AND_BACK(3)
}
// prove: and_back_again potential --block-dim=64
__global__ void and_back_again(float *out)
{
	AND_BACK(1)
}
