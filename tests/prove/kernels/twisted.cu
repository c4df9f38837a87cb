// twisted.cu - kernels that look ordered or apart and race: locks left on one path, wrong slots, casts, wraps, dead branches.
#define FENCE	 __threadfence()
#define FLAG(i)	 (((volatile unsigned *)flag)[i])
#define TAKE(at)                                                                                               \
	while (atomicCAS(at, 0, 1))                                                                            \
		;                                                                                              \
	FENCE

// The lock is given before the access on one path.
// prove: given_first_by_some potential --block-dim=64 --grid-dim=8
__global__ void given_first_by_some(unsigned *lock, float *sum, const int *is_early)
{
	if (threadIdx.x)
		return;
	TAKE(lock);
	if (is_early[blockIdx.x]) {
		atomicExch(lock, 0);
		*sum += 1;
		return;
	}
	*sum += 1;
	FENCE;
	atomicExch(lock, 0);
}
// prove: gives_up potential --block-dim=64 --grid-dim=8
__global__ void gives_up(unsigned *lock, float *sum)
{
	if (threadIdx.x)
		return;
	for (int i = 0; i < 1000 && atomicCAS(lock, 0, 1); i++)
		;
	FENCE;
	*sum += 1;
	FENCE;
	atomicExch(lock, 0);
}
// prove: lock_of_parity potential --block-dim=64 --grid-dim=8
__global__ void lock_of_parity(unsigned *lock, float *sum)
{
	unsigned *mine = blockIdx.x & 1 ? lock : lock + 1;
	if (threadIdx.x)
		return;
	TAKE(mine);
	sum[blockIdx.x & 2] += 1;
	FENCE;
	atomicExch(mine, 0);
}
// The lock's number is cut to a byte, the element's isn't.
// prove: lock_wraps potential --block-dim=64 --grid-dim=2048
__global__ void lock_wraps(unsigned *lock, float *sum)
{
	unsigned char k = (unsigned char)blockIdx.x;
	if (threadIdx.x)
		return;
	TAKE(lock + k);
	sum[blockIdx.x % 100] += 1;
	FENCE;
	atomicExch(lock + k, 0);
}
// prove: locked_half potential --block-dim=64 --grid-dim=8
__global__ void locked_half(unsigned *lock, float *sum)
{
	unsigned k = blockIdx.x % 8;
	if (threadIdx.x)
		return;
	TAKE(lock + k);
	*(double *)(sum + (k & ~1u)) += 1;
	FENCE;
	atomicExch(lock + k, 0);
}
// Hand over hand: the first lock is given before the fence.
// prove: hand_over_hand potential --block-dim=64 --grid-dim=8
__global__ void hand_over_hand(unsigned *lock, float *sum)
{
	if (threadIdx.x)
		return;
	TAKE(lock);
	sum[0] += 1;
	while (atomicCAS(lock + 1, 0, 1))
		;
	atomicExch(lock, 0);
	FENCE;
	sum[1] += 1;
	FENCE;
	atomicExch(lock + 1, 0);
}
// prove: lock_of_turn potential --block-dim=64 --grid-dim=8
__global__ void lock_of_turn(unsigned *lock, float *sum, int n)
{
	for (int i = 0; i < n && !threadIdx.x; i++) {
		TAKE(lock + i);
		sum[i / 2] += 1;
		FENCE;
		atomicExch(lock + i, 0);
	}
}

#define LOOK_BACK(before, mine)                                                                                \
	unsigned b = blockIdx.x;                                                                               \
	if (threadIdx.x)                                                                                       \
		return;                                                                                        \
	if (b) {                                                                                               \
		while (FLAG(before) == 0)                                                                      \
			;                                                                                      \
		FENCE;                                                                                         \
		x[b] = x[b - 1] + 1;                                                                           \
	} else {                                                                                               \
		x[0] = 1;                                                                                      \
	}                                                                                                      \
	FENCE;                                                                                                 \
	FLAG(mine) = 1;

// prove: slot_of_half potential --block-dim=64 --grid-dim=8
__global__ void slot_of_half(unsigned *flag, float *x)
{
	LOOK_BACK((b - 1) / 2, b)
}
// prove: slot_shared potential --block-dim=64 --grid-dim=8
__global__ void slot_shared(unsigned *flag, float *x)
{
	LOOK_BACK((b - 1) % 4, b % 4)
}
// The flag is put a second time, after what the first reader hasn't waited for.
// prove: flag_put_twice potential --block-dim=64 --grid-dim=8
__global__ void flag_put_twice(unsigned *flag, float *x)
{
	if (threadIdx.x)
		return;
	if (blockIdx.x == 0) {
		x[0] = 1;
		FENCE;
		FLAG(0) = 1;
		while (FLAG(1) == 0)
			;
		FENCE;
		x[1] = 2;
		FENCE;
		FLAG(0) = 2;
	} else if (blockIdx.x == 1) {
		while (FLAG(0) == 0)
			;
		FENCE;
		x[0] += x[1];
		FENCE;
		FLAG(1) = 1;
	}
}
// A byte of the flag is put by another block.
// prove: flag_in_parts potential --block-dim=64 --grid-dim=8
__global__ void flag_in_parts(unsigned *flag, float *x)
{
	if (threadIdx.x)
		return;
	if (blockIdx.x == 0) {
		x[0] = 1;
		FENCE;
		FLAG(0) = 256;
	} else if (blockIdx.x == 1) {
		((volatile unsigned char *)flag)[1] = 1;
	} else if (blockIdx.x == 2) {
		while (FLAG(0) == 0)
			;
		FENCE;
		x[0] += 1;
	}
}
// prove: flag_of_sign potential --block-dim=64 --grid-dim=8
__global__ void flag_of_sign(unsigned *flag, float *x)
{
	if (threadIdx.x == 0 && blockIdx.x == 0) {
		x[0] = 1;
		FENCE;
		FLAG(0) = 1;
	}
	if (threadIdx.x == 0 && blockIdx.x == 2) {
		while ((int)FLAG(0) < 0)
			;
		FENCE;
		x[0] += 1;
	}
}
// prove: flag_before_data potential --block-dim=64 --grid-dim=8
__global__ void flag_before_data(unsigned *flag, float *x)
{
	if (threadIdx.x == 0 && blockIdx.x == 0) {
		FLAG(0) = 256;
		x[0] = 1;
		FENCE;
		FLAG(0) = 1;
	}
	if (threadIdx.x == 0 && blockIdx.x == 2) {
		while (FLAG(0) == 0)
			;
		FENCE;
		x[0] += 1;
	}
}

// Barriers to which no thread comes.
// prove: dead_numbers true --block-dim=64
__global__ void dead_numbers(float *x)
{
	__shared__ float s[64];
	if (threadIdx.x < 32) {
		s[threadIdx.x] = 1;
		if (threadIdx.x > 64)
			asm volatile("bar.arrive 1, 64;" ::: "memory");
	} else {
		if (threadIdx.x > 90)
			asm volatile("bar.sync 1, 64;" ::: "memory");
		x[blockIdx.x * 64 + threadIdx.x] = s[threadIdx.x - 32];
	}
}
// Each warp arrives before what the other waits for.
// prove: arrives_too_soon potential --block-dim=64
__global__ void arrives_too_soon(float *x)
{
	__shared__ float s[32];
	unsigned lane = threadIdx.x % 32;
	if (threadIdx.x < 32) {
		s[lane] = 1;
		asm volatile("bar.arrive 1, 64; bar.sync 2, 64;" ::: "memory");
		s[lane] = 2;
	} else {
		asm volatile("bar.arrive 2, 64; bar.sync 1, 64;" ::: "memory");
		x[blockIdx.x * 32 + lane] = s[lane];
	}
}
// prove: added_after potential --block-dim=64 --grid-dim=8
__global__ void added_after(unsigned *count, float *x, float *y)
{
	__shared__ bool is_last;
	x[blockIdx.x * 64 + threadIdx.x] = 1;
	FENCE;
	__syncthreads();
	if (threadIdx.x == 0)
		is_last = atomicAdd(count, 1) == gridDim.x - 1;
	if (threadIdx.x == 40)
		x[blockIdx.x * 64] = 3;
	__syncthreads();
	if (is_last) {
		FENCE;
		y[threadIdx.x] = x[threadIdx.x];
	}
}
// prove: cut_to_short true --block-dim=64 --grid-dim=2048
__global__ void cut_to_short(float *x, unsigned n)
{
	unsigned short i = (unsigned short)(blockIdx.x * blockDim.x + threadIdx.x);
	if (i < n)
		x[i] = 1;
}
// prove: shifted_out true --block-dim=64 --grid-dim=2048
__global__ void shifted_out(unsigned *x)
{
	unsigned i = (blockIdx.x * blockDim.x + threadIdx.x) * 8u << 20;
	x[i >> 3] = 1;
}
// Division rounds towards 0, so that two threads have quotient 0.
// prove: towards_zero true --block-dim=64
__global__ void towards_zero(float *x)
{
	int i = (int)threadIdx.x * 2 - 1;
	x[blockIdx.x * 128 + i / 2 + 64] = 1;
}
