// sent.cu - order by flags that one block sets for another: look-back, one producer; each with what takes the order away.
#define LOOK_BACK(release, acquire, set, value)                                                                \
	if (threadIdx.x == 0) {                                                                                \
		float sum = 1;                                                                                 \
		if (blockIdx.x) {                                                                              \
			while (*(volatile unsigned *)&flag[blockIdx.x - 1] != value)                           \
				;                                                                              \
			acquire;                                                                               \
			sum += total[blockIdx.x - 1];                                                          \
		}                                                                                              \
		total[blockIdx.x] = sum;                                                                       \
		release;                                                                                       \
		set;                                                                                           \
	}

// prove: look_back race-free --block-dim=64
__global__ void look_back(unsigned *flag, float *total)
{
	LOOK_BACK(__threadfence(), __threadfence(), *(volatile unsigned *)&flag[blockIdx.x] = 1, 1)
}
// prove: look_back_exchange race-free --block-dim=64
__global__ void look_back_exchange(unsigned *flag, float *total)
{
	LOOK_BACK(__threadfence(), __threadfence(), atomicExch(&flag[blockIdx.x], 3), 3)
}
// prove: look_back_no_release potential --block-dim=64
__global__ void look_back_no_release(unsigned *flag, float *total)
{
	LOOK_BACK(, __threadfence(), *(volatile unsigned *)&flag[blockIdx.x] = 1, 1)
}
// prove: look_back_no_acquire potential --block-dim=64
__global__ void look_back_no_acquire(unsigned *flag, float *total)
{
	LOOK_BACK(__threadfence(), , *(volatile unsigned *)&flag[blockIdx.x] = 1, 1)
}
// prove: look_back_weak potential --block-dim=64
__global__ void look_back_weak(unsigned *flag, float *total)
{
	LOOK_BACK(__threadfence(), __threadfence(), flag[blockIdx.x] = 1, 1)
}
// prove: look_back_zero potential --block-dim=64
__global__ void look_back_zero(unsigned *flag, float *total)
{
	LOOK_BACK(__threadfence(), __threadfence(), *(volatile unsigned *)&flag[blockIdx.x] = 0, 0)
}
// prove: look_back_other_value potential --block-dim=64
__global__ void look_back_other_value(unsigned *flag, float *total)
{
	LOOK_BACK(__threadfence(), __threadfence(), *(volatile unsigned *)&flag[blockIdx.x] = 1, 0)
}
// prove: look_back_other_flag potential --block-dim=64 --grid-dim=8
__global__ void look_back_other_flag(unsigned *flag, float *total)
{
	LOOK_BACK(__threadfence(), __threadfence(), *(volatile unsigned *)&flag[blockIdx.x ^ 1] = 1, 1)
}
// prove: look_back_half potential --block-dim=64 --grid-dim=8
__global__ void look_back_half(unsigned *flag, float *total)
{
	LOOK_BACK(__threadfence(), __threadfence(), *(volatile unsigned *)&flag[blockIdx.x / 2] = 1, 1)
}
// prove: look_back_block_scope potential --block-dim=64 --grid-dim=8
__global__ void look_back_block_scope(unsigned *flag, float *total)
{
	LOOK_BACK(__threadfence_block(), __threadfence(), *(volatile unsigned *)&flag[blockIdx.x] = 1, 1)
}

// A sum of its own first, then one over all blocks before: what is found says which one may be read.
#define STATES(seen)                                                                                           \
	if (threadIdx.x)                                                                                       \
		return;                                                                                        \
	own[blockIdx.x] = 1;                                                                                   \
	__threadfence();                                                                                       \
	*(volatile unsigned *)&state[blockIdx.x] = 1;                                                          \
	float sum = 1;                                                                                         \
	for (int p = (int)blockIdx.x - 1; p >= 0; p--) {                                                       \
		unsigned s;                                                                                    \
		do                                                                                             \
			s = *(volatile unsigned *)&state[p];                                                   \
		while (s == 0);                                                                                \
		__threadfence();                                                                               \
		if (seen) {                                                                                    \
			sum += all[p];                                                                         \
			break;                                                                                 \
		}                                                                                              \
		sum += own[p];                                                                                 \
	}                                                                                                      \
	all[blockIdx.x] = sum;                                                                                 \
	__threadfence();                                                                                       \
	*(volatile unsigned *)&state[blockIdx.x] = 2;

// prove: look_far_back race-free --block-dim=32 --grid-dim=16
__global__ void look_far_back(unsigned *state, float *own, float *all)
{
	STATES(s == 2)
}
// prove: look_far_back_early potential --block-dim=32 --grid-dim=16
__global__ void look_far_back_early(unsigned *state, float *own, float *all)
{
	STATES(s >= 1)
}

#define ONE_WRITES(mine, place)                                                                                \
	__shared__ unsigned seen;                                                                              \
	unsigned i = blockIdx.x * 64 + threadIdx.x;                                                            \
	if (mine) {                                                                                            \
		data[threadIdx.x] = threadIdx.x;                                                               \
		__syncthreads();                                                                               \
		if (threadIdx.x == 0) {                                                                        \
			__threadfence();                                                                       \
			atomicExch(flag, 1);                                                                   \
		}                                                                                              \
	} else {                                                                                               \
		if (threadIdx.x == 0) {                                                                        \
			while (atomicAdd(place, 0) == 0)                                                       \
				;                                                                              \
			__threadfence();                                                                       \
			seen = 1;                                                                              \
		}                                                                                              \
		__syncthreads();                                                                               \
		out[i] = data[63 - threadIdx.x] + seen;                                                        \
	}

// prove: one_producer race-free --block-dim=64 --grid-dim=8
__global__ void one_producer(unsigned *flag, float *data, float *out)
{
	ONE_WRITES(blockIdx.x == 0, flag)
}
// prove: two_producers true racy --block-dim=64 --grid-dim=8
__global__ void two_producers(unsigned *flag, float *data, float *out)
{
	ONE_WRITES(blockIdx.x < 2, flag)
}
// prove: producer_beside potential --block-dim=64 --grid-dim=8
__global__ void producer_beside(unsigned *flag, float *data, float *out)
{
	ONE_WRITES(blockIdx.x == 0, flag + 1)
}

// prove: written_after_flag potential --block-dim=64 --grid-dim=8
__global__ void written_after_flag(unsigned *flag, float *total)
{
	if (threadIdx.x)
		return;
	__threadfence();
	*(volatile unsigned *)&flag[blockIdx.x] = 1;
	total[blockIdx.x] = 1;
	if (blockIdx.x) {
		while (!*(volatile unsigned *)&flag[blockIdx.x - 1])
			;
		__threadfence();
		total[blockIdx.x] += total[blockIdx.x - 1];
	}
}
// prove: raised_by_others potential --block-dim=64 --grid-dim=8
__global__ void raised_by_others(unsigned *flag, float *total)
{
	LOOK_BACK(__threadfence(), __threadfence(), *(volatile unsigned *)&flag[blockIdx.x] = 1, 1)
	if (threadIdx.x == 1 && blockIdx.x == 5)
		*(volatile unsigned *)&flag[2] = 1;
}
// prove: flag_in_a_byte potential --block-dim=64 --grid-dim=8
__global__ void flag_in_a_byte(unsigned *flag, float *total)
{
	LOOK_BACK(__threadfence(), __threadfence(), *(volatile unsigned *)&flag[blockIdx.x] = 1, 1)
	if (threadIdx.x == 1 && blockIdx.x == 5)
		((volatile char *)flag)[8] = 1;
}
// prove: read_before_flag true --block-dim=64 --grid-dim=8
__global__ void read_before_flag(unsigned *flag, float *total)
{
	if (threadIdx.x)
		return;
	float early = blockIdx.x ? total[blockIdx.x - 1] : 0;
	total[blockIdx.x] = 1;
	__threadfence();
	*(volatile unsigned *)&flag[blockIdx.x] = 1;
	if (blockIdx.x) {
		while (!*(volatile unsigned *)&flag[blockIdx.x - 1])
			;
		__threadfence();
		total[100 + blockIdx.x] = early;
	}
}
// prove: flag_of_first_turn potential --block-dim=64 --grid-dim=8
__global__ void flag_of_first_turn(unsigned *flag, float *total, int n)
{
	if (threadIdx.x)
		return;
	total[blockIdx.x] = 1;
	__threadfence();
	*(volatile unsigned *)&flag[blockIdx.x] = 1;
	unsigned seen = 0;
	float sum = 0;
	for (int i = 0; i < n; i++) {
		if (i == 0)
			while (!(seen = *(volatile unsigned *)&flag[blockIdx.x ^ 1]))
				;
		__threadfence();
		if (seen)
			sum += total[(blockIdx.x ^ 1) + i];
	}
	total[64 + blockIdx.x] = sum;
}
// prove: flag_by_guard potential --block-dim=64 --grid-dim=8
__global__ void flag_by_guard(unsigned *flag, float *total)
{
	if (threadIdx.x)
		return;
	total[blockIdx.x] = 1;
	__threadfence();
	if (blockIdx.x & 1)
		*(volatile unsigned *)&flag[blockIdx.x / 2] = 1;
	while (!*(volatile unsigned *)&flag[blockIdx.x / 2])
		;
	__threadfence();
	total[64 + blockIdx.x] = total[blockIdx.x ^ 1];
}
// prove: flag_of_thread potential --block-dim=64 --grid-dim=8
__global__ void flag_of_thread(unsigned *flag, float *total)
{
	total[blockIdx.x * 64 + threadIdx.x] = 1;
	if (threadIdx.x == 0) {
		__threadfence();
		*(volatile unsigned *)&flag[blockIdx.x] = 1;
		while (!*(volatile unsigned *)&flag[(blockIdx.x + 1) % 8])
			;
		__threadfence();
		total[512 + blockIdx.x] = total[(blockIdx.x + 1) % 8 * 64 + 1];
	}
}
// prove: flag_exit potential --block-dim=64 --grid-dim=8
__global__ void flag_exit(unsigned *flag, float *total)
{
	if (threadIdx.x == 0) {
		__threadfence();
		*(volatile unsigned *)&flag[blockIdx.x] = 1;
		while (!*(volatile unsigned *)&flag[(blockIdx.x + 1) % 8])
			;
		__threadfence();
		total[512 + blockIdx.x] = total[(blockIdx.x + 1) % 8 * 64 + 1];
		return;
	}
	__syncthreads();
	total[blockIdx.x * 64 + threadIdx.x] = 1;
}
