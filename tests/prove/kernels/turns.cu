// turns.cu - locks whose threads draw numbers and wait for their turn; each with what takes the order away.
#define FENCE	__threadfence()
#define NOW	(*(volatile unsigned *)now)
#define TURN(draw, turn, acquire, what, release, give)                                                         \
	if (threadIdx.x == 0) {                                                                                \
		unsigned mine = draw;                                                                          \
		while (turn != mine)                                                                           \
			;                                                                                      \
		acquire;                                                                                       \
		what;                                                                                          \
		release;                                                                                       \
		give;                                                                                          \
	}
// prove: turn race-free --block-dim=64 --grid-dim=8
__global__ void turn(unsigned *next, unsigned *now, float *sum)
{
	TURN(atomicAdd(next, 1), NOW, FENCE, *sum += 1, FENCE, atomicAdd(now, 1))
}
// prove: turn_put race-free --block-dim=64 --grid-dim=8
__global__ void turn_put(unsigned *next, unsigned *now, float *sum)
{
	TURN(atomicAdd(next, 1), NOW, FENCE, *sum += 1, FENCE, NOW = mine + 1)
}
// prove: turn_exchanged race-free --block-dim=64 --grid-dim=8
__global__ void turn_exchanged(unsigned *next, unsigned *now, float *sum)
{
	TURN(atomicAdd(next, 1), atomicAdd(now, 0), FENCE, *sum += 1, FENCE, atomicExch(now, mine + 1))
}
// prove: turn_no_acquire potential --block-dim=64 --grid-dim=8
__global__ void turn_no_acquire(unsigned *next, unsigned *now, float *sum)
{
	TURN(atomicAdd(next, 1), NOW, , *sum += 1, FENCE, atomicAdd(now, 1))
}
// prove: turn_no_release potential --block-dim=64 --grid-dim=8
__global__ void turn_no_release(unsigned *next, unsigned *now, float *sum)
{
	TURN(atomicAdd(next, 1), NOW, FENCE, *sum += 1, , atomicAdd(now, 1))
}
// prove: turn_near_fence potential --block-dim=64 --grid-dim=8
__global__ void turn_near_fence(unsigned *next, unsigned *now, float *sum)
{
	TURN(atomicAdd(next, 1), NOW, FENCE, *sum += 1, __threadfence_block(), atomicAdd(now, 1))
}
// prove: turn_near_draw true --block-dim=64 --grid-dim=8
__global__ void turn_near_draw(unsigned *next, unsigned *now, float *sum)
{
	TURN(atomicAdd_block(next, 1), NOW, FENCE, *sum += 1, FENCE, atomicAdd(now, 1))
}
// prove: turn_draws_same potential --block-dim=64 --grid-dim=8
__global__ void turn_draws_same(unsigned *next, unsigned *now, float *sum)
{
	TURN(atomicAdd(next, 0), NOW, FENCE, *sum += 1, FENCE, atomicAdd(now, 1))
}
// prove: turn_no_draw potential --block-dim=64 --grid-dim=8
__global__ void turn_no_draw(unsigned *next, unsigned *now, float *sum)
{
	TURN(blockIdx.x / 2, NOW, FENCE, *sum += 1, FENCE, atomicAdd(now, 1))
}
// prove: turn_two_on potential --block-dim=64 --grid-dim=8
__global__ void turn_two_on(unsigned *next, unsigned *now, float *sum)
{
	TURN(atomicAdd(next, 1), NOW, FENCE, *sum += 1, FENCE, atomicAdd(now, 2))
}
// prove: turn_not_on potential --block-dim=64 --grid-dim=8
__global__ void turn_not_on(unsigned *next, unsigned *now, float *sum)
{
	TURN(atomicAdd(next, 1), NOW, FENCE, *sum += 1, FENCE, NOW = mine)
}
// prove: turn_on_twice potential --block-dim=64 --grid-dim=8
__global__ void turn_on_twice(unsigned *next, unsigned *now, float *sum)
{
	TURN(atomicAdd(next, 1), NOW, FENCE, *sum += 1, FENCE, (atomicAdd(now, 1), atomicAdd(now, 1)))
}
// prove: turn_weak_give potential --block-dim=64 --grid-dim=8
__global__ void turn_weak_give(unsigned *next, unsigned *now, float *sum)
{
	TURN(atomicAdd(next, 1), NOW, FENCE, *sum += 1, FENCE, *now = mine + 1)
}
// prove: turn_late potential --block-dim=64 --grid-dim=8
__global__ void turn_late(unsigned *next, unsigned *now, float *sum)
{
	TURN(atomicAdd(next, 1), NOW, FENCE, *sum += 1, FENCE, (atomicAdd(now, 1), *sum += 1))
}
// prove: turn_low_byte potential --block-dim=64 --grid-dim=8
__global__ void turn_low_byte(unsigned *next, unsigned *now, float *sum)
{
	TURN(atomicAdd(next, 1), (unsigned)*(volatile unsigned char *)now, FENCE, *sum += 1, FENCE, atomicAdd(now, 1))
}
// prove: turn_low_bits potential --block-dim=64 --grid-dim=8
__global__ void turn_low_bits(unsigned *next, unsigned *now, float *sum)
{
	TURN(atomicAdd(next, 1) & 1, (NOW & 1), FENCE, *sum += 1, FENCE, atomicAdd(now, 1))
}
// prove: turn_passed_by potential --block-dim=64 --grid-dim=8
__global__ void turn_passed_by(unsigned *next, unsigned *now, float *sum)
{
	TURN(atomicAdd(next, 1), NOW, FENCE, *sum += 1, FENCE, atomicAdd(now, 1))
	else if (threadIdx.x == 5)
		atomicAdd(now, 1);
}
// prove: turn_drawn_back potential --block-dim=64 --grid-dim=8
__global__ void turn_drawn_back(unsigned *next, unsigned *now, float *sum)
{
	TURN(atomicAdd(next, 1), NOW, FENCE, *sum += 1, FENCE, atomicAdd(now, 1))
	if (threadIdx.x == 0 && blockIdx.x == 3)
		*(volatile unsigned *)next = 0;
}
// prove: turn_wide potential --block-dim=64 --grid-dim=8
__global__ void turn_wide(unsigned *next, unsigned *now, float *sum)
{
	TURN(atomicAdd(next, 1), NOW, FENCE, *sum += 1, FENCE, atomicAdd(now, 1))
	if (threadIdx.x == 7)
		*(volatile unsigned long long *)now = 0;
}

// prove: turn_of_one_array race-free --block-dim=64 --grid-dim=8
__global__ void turn_of_one_array(unsigned *next, float *sum)
{
	unsigned *now = next + 1;
	TURN(atomicAdd(next, 1), NOW, FENCE, *sum += 1, FENCE, atomicAdd(now, 1))
}
// prove: turn_of_one_word potential --block-dim=64 --grid-dim=8
__global__ void turn_of_one_word(unsigned *next, float *sum)
{
	unsigned *now = next;
	TURN(atomicAdd(next, 1), NOW, FENCE, *sum += 1, FENCE, atomicAdd(now, 1))
}
// prove: turn_in_loop race-free --block-dim=64 --grid-dim=8
__global__ void turn_in_loop(unsigned *next, unsigned *now, float *sum, int n)
{
	for (int i = 0; i < n; i++)
		TURN(atomicAdd(next, 1), NOW, FENCE, *sum += 1, FENCE, atomicAdd(now, 1))
}
// prove: turn_of_block race-free --block-dim=64 --grid-dim=8
__global__ void turn_of_block(unsigned *next, unsigned *now, float *sum)
{
	TURN(atomicAdd(next, 1), NOW, FENCE, , , )
	__syncthreads();
	sum[threadIdx.x] += 1;
	__syncthreads();
	if (threadIdx.x == 0) {
		FENCE;
		atomicAdd(now, 1);
	}
}
// prove: turn_or_later potential --block-dim=64 --grid-dim=8
__global__ void turn_or_later(unsigned *next, unsigned *now, float *sum)
{
	if (threadIdx.x == 0) {
		unsigned mine = atomicAdd(next, 1);
		while (NOW < mine)
			;
		FENCE;
		*sum += 1;
		FENCE;
		atomicAdd(now, 1);
	}
}
// prove: turn_or_before potential --block-dim=64 --grid-dim=8
__global__ void turn_or_before(unsigned *next, unsigned *now, float *sum)
{
	if (threadIdx.x == 0) {
		unsigned mine = atomicAdd(next, 1);
		while (NOW > mine)
			;
		FENCE;
		*sum += 1;
		FENCE;
		atomicAdd(now, 1);
	}
}
// prove: turn_not_awaited potential --block-dim=64 --grid-dim=8
__global__ void turn_not_awaited(unsigned *next, unsigned *now, float *sum)
{
	if (threadIdx.x == 0) {
		unsigned mine = atomicAdd(next, 1);
		for (int i = 0; i < 100 && NOW != mine; i++)
			;
		FENCE;
		*sum += 1;
		FENCE;
		atomicAdd(now, 1);
	}
}
// prove: turn_early potential --block-dim=64 --grid-dim=8
__global__ void turn_early(unsigned *next, unsigned *now, float *sum)
{
	if (threadIdx.x == 0) {
		unsigned mine = atomicAdd(next, 1);
		*sum += 1;
		while (NOW != mine)
			;
		FENCE;
		FENCE;
		atomicAdd(now, 1);
	}
}
// prove: turn_of_old_number potential --block-dim=64 --grid-dim=8
__global__ void turn_of_old_number(unsigned *next, unsigned *now, float *sum)
{
	unsigned mine = 0;
	for (int i = 0; i < 3 && threadIdx.x == 0; i++) {
		while (NOW < mine)
			;
		FENCE;
		*sum += 1;
		FENCE;
		atomicAdd(now, 1);
		mine = atomicAdd(next, 1);
	}
}
// prove: turn_of_two_counters potential --block-dim=64 --grid-dim=8
__global__ void turn_of_two_counters(unsigned *next, unsigned *now, float *sum)
{
	TURN(atomicAdd(blockIdx.x & 1 ? next : next + 1, 1), NOW, FENCE, *sum += 1, FENCE, atomicAdd(now, 1))
}
// prove: turn_kept_by_some race-free --block-dim=64 --grid-dim=8
__global__ void turn_kept_by_some(unsigned *next, unsigned *now, float *sum, const int *keep)
{
	TURN(atomicAdd(next, 1), NOW, FENCE, *sum += 1, FENCE, if (!keep[blockIdx.x]) atomicAdd(now, 1))
}

// A second look at the turn finds the thread's number again: it begins no section of its own.
// prove: looks_twice_gives potential --block-dim=64 --grid-dim=8
__global__ void looks_twice_gives(unsigned *next, unsigned *now, float *sum)
{
	if (threadIdx.x == 0) {
		unsigned mine = atomicAdd(next, 1);
		while (NOW != mine)
			;
		FENCE;
		while (NOW != mine)
			;
		FENCE;
		atomicAdd(now, 1);
	}
	__syncthreads();
	sum[threadIdx.x] += 1;
}
// prove: looks_twice_in_block potential --block-dim=64 --grid-dim=8
__global__ void looks_twice_in_block(unsigned *next, unsigned *now, float *sum)
{
	if (threadIdx.x == 0) {
		unsigned mine = atomicAdd(next, 1);
		while (NOW != mine)
			;
		FENCE;
		while (NOW != mine)
			;
		FENCE;
	}
	__syncthreads();
	sum[threadIdx.x] += 1;
	if (threadIdx.x == 0) {
		FENCE;
		atomicAdd(now, 1);
	}
}
// prove: looks_twice_no_release potential --block-dim=64 --grid-dim=8
__global__ void looks_twice_no_release(unsigned *next, unsigned *now, float *sum)
{
	if (threadIdx.x == 0) {
		unsigned mine = atomicAdd(next, 1);
		while (NOW != mine)
			;
		FENCE;
		while (NOW != mine)
			;
		FENCE;
		*sum += 1;
		atomicAdd(now, 1);
	}
}
// prove: looks_twice race-free --block-dim=64 --grid-dim=8
__global__ void looks_twice(unsigned *next, unsigned *now, float *sum)
{
	if (threadIdx.x == 0) {
		unsigned mine = atomicAdd(next, 1);
		while (NOW != mine)
			;
		FENCE;
		while (NOW != mine)
			;
		*sum += 1;
		FENCE;
		atomicAdd(now, 1);
	}
}
// prove: looks_and_checks potential --block-dim=64 --grid-dim=8
__global__ void looks_and_checks(unsigned *next, unsigned *now, float *sum)
{
	if (threadIdx.x == 0) {
		unsigned mine = atomicAdd(next, 1);
		while (NOW != mine)
			;
		FENCE;
		if (NOW == mine) {
			FENCE;
			*sum += 1;
			atomicAdd(now, 1);
		}
	}
}
// prove: looks_in_loop potential --block-dim=64 --grid-dim=8
__global__ void looks_in_loop(unsigned *next, unsigned *now, float *sum, int n)
{
	if (threadIdx.x == 0) {
		unsigned mine = atomicAdd(next, 1);
		while (NOW != mine)
			;
		FENCE;
		for (int i = 0; i < n && NOW == mine; i++) {
			FENCE;
			*sum += 1;
		}
		atomicAdd(now, 1);
	}
}
