/*
 * vacuous.cu - assumptions that no launch keeps prove nothing; each has a twin whose assumptions
 * can be kept.
 */

// prove: two_values vacuous
__global__ void two_values(float *y, int n)
{
	collider_assume(n == 1);
	collider_assume(n == 2);
	y[threadIdx.x / n] = 1.0f;
}

// prove: two_bounds single
__global__ void two_bounds(float *y, int n)
{
	collider_assume(n < 2);
	collider_assume(n > 0);
	y[threadIdx.x / n] = 1.0f;
}

// prove: never vacuous
__global__ void never(float *y)
{
	collider_assume(0);
	y[0] = 1.0f;
}

// prove: always true
__global__ void always(float *y)
{
	collider_assume(1);
	y[threadIdx.x / 2] = 1.0f;
}

// prove: param_against vacuous --param=2=2
// prove: param_against single --param=2=1
__global__ void param_against(float *y, int n)
{
	collider_assume(n == 1);
	y[threadIdx.x / n] = 1.0f;
}

// prove: two_params vacuous --param=2=1,2=2
// prove: two_params single --param=2=1,2=1
// prove: two_params vacuous --param=2=4294967297
// prove: two_params single --param=2=0x1
__global__ void two_params(float *y, int n)
{
	y[threadIdx.x / n] = 1.0f;
}

// prove: dim_against vacuous --block-dim=64
// prove: dim_against race-free --block-dim=32 --grid-dim=1
__global__ void dim_against(float *y)
{
	collider_assume(blockDim.x == 32);
	y[threadIdx.x % 32] = 1.0f;
}

// The first thread keeps to it, the last can't.
// prove: one_thread vacuous --block-dim=64
// prove: one_thread race-free --block-dim=1 --grid-dim=1
__global__ void one_thread(float *y)
{
	collider_assume(threadIdx.x == 0);
	y[0] = 1.0f;
}

// One thread in the middle can't keep to it.
// prove: middle vacuous --block-dim=64 --grid-dim=1
// prove: middle race-free --block-dim=32 --grid-dim=1
__global__ void middle(float *y)
{
	collider_assume(threadIdx.x != 37);
	y[threadIdx.x] = 1.0f;
}

// prove: too_wide vacuous --block-dim=2048
// prove: too_wide vacuous --block-dim=64,32
// prove: too_wide vacuous --block-dim=1024 --grid-dim=2147483647
// prove: too_wide race-free --block-dim=1024 --grid-dim=2097151
__global__ void too_wide(float *y)
{
	y[blockIdx.x * blockDim.x + threadIdx.x] = 1.0f;
}

// prove: bounded vacuous --block-dim=256
// prove: bounded race-free --block-dim=128 --grid-dim=1
__global__ void __launch_bounds__(128) bounded(float *y)
{
	y[threadIdx.x] = 1.0f;
}

// prove: block_too_big vacuous
__global__ void block_too_big(float *y)
{
	collider_assume(blockDim.x * blockDim.y >= 1025);
	y[threadIdx.x + threadIdx.y] = 1.0f;
}

// prove: block_largest race-free --grid-dim=1
__global__ void block_largest(float *y)
{
	collider_assume(blockDim.x * blockDim.y >= 1024);
	y[threadIdx.y * blockDim.x + threadIdx.x] = 1.0f;
}

// No square is 2 in 32 bits; one is 1.
// prove: no_square vacuous
__global__ void no_square(float *y, unsigned n)
{
	collider_assume(n * n == 2);
	y[0] = 1.0f;
}

// prove: square race-free --grid-dim=1
__global__ void square(float *y, unsigned n)
{
	collider_assume(n * n == 1);
	y[threadIdx.x] = 1.0f;
}

// On a path: the two never meet there, and the rest has no race.
// prove: on_path vacuous
__global__ void on_path(float *y, int n)
{
	if (n > 5) {
		collider_assume(n < 3);
		y[0] = 1.0f;
	}
}

// prove: on_path_kept true
__global__ void on_path_kept(float *y, int n)
{
	if (n > 5) {
		collider_assume(n < 7);
		y[threadIdx.x / n] = 1.0f;
	}
}

// A race elsewhere stays true.
// prove: on_path_racy true
__global__ void on_path_racy(float *y, int n)
{
	y[threadIdx.x / 2] = 1.0f;
	if (n > 5) {
		collider_assume(n < 3);
		y[0] = 1.0f;
	}
}

// prove: two_branches vacuous --block-dim=64
// prove: two_branches race-free --block-dim=32 --grid-dim=1
__global__ void two_branches(float *y, int n)
{
	if (threadIdx.x < 32)
		collider_assume(n == 1);
	else
		collider_assume(n == 2);
	y[threadIdx.x * n] = 1.0f;
}

// prove: in_loop vacuous
__global__ void in_loop(float *y, int n)
{
	for (int i = 0; i < n; i++) {
		collider_assume(i < 0);
		y[0] = 1.0f;
	}
}

// prove: in_loop_kept race-free --grid-dim=1
__global__ void in_loop_kept(float *y, int n)
{
	for (int i = 0; i < n; i++) {
		collider_assume(i < 4);
		y[threadIdx.x * 4 + i] = 1.0f;
	}
}

// The access is out of reach by the assumption alone: reported, and the rest is proven.
// prove: out_of_reach race-free excludes=1 --grid-dim=1
__global__ void out_of_reach(float *y, int n)
{
	collider_assume(n == 0);
	y[threadIdx.x] = 1.0f;
	if (n > 0)
		y[0] = 2.0f;
}

// prove: in_reach true excludes=0 --grid-dim=1
__global__ void in_reach(float *y, int n)
{
	collider_assume(n >= 0);
	y[threadIdx.x] = 1.0f;
	if (n > 0)
		y[0] = 2.0f;
}

// Out of reach by itself: nothing to report.
// prove: dead race-free excludes=0 --grid-dim=1
__global__ void dead(float *y, int n)
{
	collider_assume(n > 0);
	y[threadIdx.x] = 1.0f;
	if (n * 2 % 2 == 1)
		y[0] = 2.0f;
}

// prove: distinct_in_a_block vacuous --block-dim=64 --grid-dim=2
__global__ void distinct_in_a_block(float *y)
{
	unsigned i = threadIdx.x;
	collider_distinct(i);
	y[i] = 1.0f;
}

// prove: distinct_in_the_grid race-free --block-dim=64 --grid-dim=2
__global__ void distinct_in_the_grid(float *y)
{
	unsigned i = blockIdx.x * 64 + threadIdx.x;
	collider_distinct(i);
	y[i] = 1.0f;
}

// prove: apart_in_a_block vacuous --block-dim=64 --grid-dim=2
__global__ void apart_in_a_block(float *y)
{
	unsigned i = 4 * threadIdx.x;
	collider_apart(i, 4);
	y[i] = y[i + 3] = 1.0f;
}

// prove: apart_in_a_row vacuous --block-dim=16,4 --grid-dim=1
__global__ void apart_in_a_row(float *y)
{
	unsigned i = 4 * threadIdx.x + 64 * (threadIdx.y / 2);
	collider_apart(i, 4);
	y[i] = 1.0f;
}

// prove: apart_in_the_grid race-free --block-dim=64 --grid-dim=2
__global__ void apart_in_the_grid(float *y)
{
	unsigned i = 4 * (blockIdx.x * 64 + threadIdx.x);
	collider_apart(i, 4);
	y[i] = y[i + 3] = 1.0f;
}

// No two threads are given one number: an assumption that names it holds in no launch that has two there.
// prove: first_number vacuous --block-dim=64 --grid-dim=2
__global__ void first_number(int *count, int *y)
{
	int at = atomicAdd(count, 1);
	__requires(at == 0);
	y[0] = 1;
}

// prove: first_number_of_blocks vacuous --block-dim=64 --grid-dim=2
__global__ void first_number_of_blocks(int *count, int *y)
{
	if (threadIdx.x == 0) {
		int at = atomicAdd(count, 1);
		__requires(at == 0);
		y[0] = 1;
	}
}

// prove: first_number_of_one race-free --block-dim=64 --grid-dim=2
__global__ void first_number_of_one(int *count, int *y)
{
	if (threadIdx.x == 0 && blockIdx.x == 0) {
		int at = atomicAdd(count, 1);
		__requires(at == 0);
		y[0] = 1;
	}
}

// prove: number_below race-free --block-dim=64 --grid-dim=2
__global__ void number_below(int *count, int *y, int n)
{
	int at = atomicAdd(count, 1);
	__requires(at >= 0 && at < n);
	y[at] = 1;
}

// prove: all_take_it vacuous --block-dim=64 --grid-dim=2
__global__ void all_take_it(int *owner, int *y)
{
	int was = atomicCAS(owner, 0, 1);
	__requires(was == 0);
	y[0] = 1;
}
