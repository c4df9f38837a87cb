// stays.cu - races after a numbered barrier of fewer threads: sure only where none waits there for ever. The launch has
// 128 threads in each.
#include <cooperative_groups.h>

#define WAIT(n, threads)   asm volatile("bar.sync " #n ", " #threads ";" ::: "memory")
#define ARRIVE(n, threads) asm volatile("bar.arrive " #n ", " #threads ";" ::: "memory")

// prove: two_warps true --block-dim=128
__global__ void two_warps(int *p)
{
	if (threadIdx.x < 64)
		WAIT(1, 64);
	__syncthreads();
	p[0] = threadIdx.x;
}
// prove: one_warp_stays potential --block-dim=128
__global__ void one_warp_stays(int *p)
{
	if (threadIdx.x < 32)
		WAIT(1, 64);
	__syncthreads();
	p[0] = threadIdx.x;
}
// prove: three_warps_stay potential --block-dim=128
__global__ void three_warps_stay(int *p)
{
	if (threadIdx.x < 96)
		WAIT(1, 64);
	__syncthreads();
	p[0] = threadIdx.x;
}
// prove: two_groups true --block-dim=128
__global__ void two_groups(int *p)
{
	if (threadIdx.x < 64)
		WAIT(1, 64);
	else
		WAIT(2, 64);
	__syncthreads();
	p[0] = threadIdx.x;
}
// prove: crossed_stay potential --block-dim=128
__global__ void crossed_stay(int *p)
{
	if (threadIdx.x < 32) {
		WAIT(1, 64);
		WAIT(2, 64);
	} else if (threadIdx.x < 64) {
		WAIT(2, 64);
		WAIT(1, 64);
	}
	__syncthreads();
	p[0] = threadIdx.x;
}
// prove: across_a_barrier_stays potential --block-dim=128
__global__ void across_a_barrier_stays(int *p)
{
	if (threadIdx.x < 32)
		WAIT(1, 64);
	__syncthreads();
	if (threadIdx.x >= 32 && threadIdx.x < 64)
		WAIT(1, 64);
	p[0] = threadIdx.x;
}
// prove: handed_on true --block-dim=128
__global__ void handed_on(int *p)
{
	if (threadIdx.x < 32)
		ARRIVE(1, 64);
	else if (threadIdx.x < 64)
		WAIT(1, 64);
	__syncthreads();
	p[0] = threadIdx.x;
}
// prove: arrives_twice_stays potential --block-dim=128
__global__ void arrives_twice_stays(int *p)
{
	if (threadIdx.x < 32) {
		ARRIVE(1, 64);
		ARRIVE(1, 64);
	} else if (threadIdx.x < 64) {
		WAIT(1, 64);
		WAIT(1, 64);
	}
	__syncthreads();
	p[0] = threadIdx.x;
}
// prove: in_two_groups true --block-dim=128
__global__ void in_two_groups(int *p)
{
	WAIT(1, 64);
	__syncthreads();
	p[0] = threadIdx.x;
}
// prove: groups_may_stay potential --block-dim=128
__global__ void groups_may_stay(int *p)
{
	WAIT(1, 64);
	WAIT(1, 64);
	__syncthreads();
	p[0] = threadIdx.x;
}
// A count is of arrivals: who has ended without arriving is waited for.
// prove: ended_before_a_count potential --block-dim=64
__global__ void ended_before_a_count(int *p)
{
	if (threadIdx.x < 32) {
		p[threadIdx.x] = 1;
		return;
	}
	WAIT(1, 64);
	p[threadIdx.x - 32] = 2;
}
// Without a count it isn't.
// prove: ended_before_no_count true --block-dim=64
__global__ void ended_before_no_count(int *p)
{
	if (threadIdx.x < 32) {
		p[threadIdx.x] = 1;
		return;
	}
	asm volatile("bar.sync 1;" ::: "memory");
	p[threadIdx.x - 32] = 2;
}
// Thread 0 would arrive for its block.
// prove: block_ended_before_the_grid potential --block-dim=64 --grid-dim=2
__global__ void block_ended_before_the_grid(int *p)
{
	if (blockIdx.x == 0) {
		p[threadIdx.x] = 1;
		return;
	}
	cooperative_groups::this_grid().sync();
	p[threadIdx.x] = 2;
}

// The race is after a loop that takes long to run for 256 threads. That all of them leave it, by the
// same barriers, is in the control flow.
// prove: after_a_long_loop true --block-dim=256 --grid-dim=2
__global__ void after_a_long_loop(float *out, const float *in)
{
	__shared__ float s[256];
	float sum = 0;
	for (int k = 0; k < 64; k++) {
		s[threadIdx.x] = in[k * 256 + threadIdx.x];
		__syncthreads();
		for (int j = 0; j < 256; j++)
			sum += s[j];
		__syncthreads();
	}
	out[(blockIdx.x * 256 + threadIdx.x) / 2] = sum;
}

// prove: after_a_long_loop_twin race-free --block-dim=256 --grid-dim=2
__global__ void after_a_long_loop_twin(float *out, const float *in)
{
	__shared__ float s[256];
	float sum = 0;
	for (int k = 0; k < 64; k++) {
		s[threadIdx.x] = in[k * 256 + threadIdx.x];
		__syncthreads();
		for (int j = 0; j < 256; j++)
			sum += s[j];
		__syncthreads();
	}
	out[blockIdx.x * 256 + threadIdx.x] = sum;
}

// A thread ends the launch before.
// prove: trap_in_a_long_loop potential free --block-dim=256 --grid-dim=2
__global__ void trap_in_a_long_loop(float *out, const float *in)
{
	__shared__ float s[256];
	float sum = 0;
	for (int k = 0; k < 64; k++) {
		s[threadIdx.x] = in[k * 256 + threadIdx.x];
		__syncthreads();
		for (int j = 0; j < 256; j++)
			sum += s[j];
		if (k == 63 && threadIdx.x == 7)
			asm volatile("trap;");
		__syncthreads();
	}
	out[(blockIdx.x * 256 + threadIdx.x) / 2] = sum;
}

// ... or waits for ever, and the others with it.
// prove: wait_before_a_long_loop potential free --block-dim=256 --grid-dim=2
__global__ void wait_before_a_long_loop(float *out, const float *in, const volatile int *flag)
{
	__shared__ float s[256];
	float sum = 0;
	if (threadIdx.x == 7)
		while (*flag != 1)
			;
	for (int k = 0; k < 64; k++) {
		s[threadIdx.x] = in[k * 256 + threadIdx.x];
		__syncthreads();
		for (int j = 0; j < 256; j++)
			sum += s[j];
		__syncthreads();
	}
	out[(blockIdx.x * 256 + threadIdx.x) / 2] = sum;
}
