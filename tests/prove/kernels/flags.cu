// flags.cu - order by a counter of blocks: the last ticket, barriers made by hand; each with what takes the order away.
#define LAST(release, add, is_it, acquire)                                                                     \
	__shared__ bool last;                                                                                  \
	if (threadIdx.x == 0) {                                                                                \
		part[blockIdx.x] = blockIdx.x;                                                                 \
		release;                                                                                       \
		unsigned before = add;                                                                         \
		acquire;                                                                                       \
		last = is_it;                                                                                  \
	}                                                                                                      \
	__syncthreads();                                                                                       \
	if (last)                                                                                              \
		out[threadIdx.x] = part[threadIdx.x % gridDim.x];

// prove: last_add race-free --block-dim=64 --grid-dim=8
__global__ void last_add(unsigned *count, float *part, float *out)
{
	LAST(__threadfence(), atomicAdd(count, 1), before == gridDim.x - 1, __threadfence())
}
// prove: last_inc race-free --block-dim=64
__global__ void last_inc(unsigned *count, float *part, float *out)
{
	LAST(__threadfence(), atomicInc(count, gridDim.x - 1), before + 1 >= gridDim.x, __threadfence())
}
// prove: last_no_release potential --block-dim=64 --grid-dim=8
__global__ void last_no_release(unsigned *count, float *part, float *out)
{
	LAST(, atomicAdd(count, 1), before == gridDim.x - 1, __threadfence())
}
// prove: last_no_acquire potential --block-dim=64 --grid-dim=8
__global__ void last_no_acquire(unsigned *count, float *part, float *out)
{
	LAST(__threadfence(), atomicAdd(count, 1), before == gridDim.x - 1, )
}
// prove: last_near_fence potential --block-dim=64 --grid-dim=8
__global__ void last_near_fence(unsigned *count, float *part, float *out)
{
	LAST(__threadfence_block(), atomicAdd(count, 1), before == gridDim.x - 1, __threadfence())
}
// prove: last_near_add potential --block-dim=64 --grid-dim=8
__global__ void last_near_add(unsigned *count, float *part, float *out)
{
	LAST(__threadfence(), atomicAdd_block(count, 1), before == gridDim.x - 1, __threadfence())
}
// prove: last_but_one potential --block-dim=64 --grid-dim=8
__global__ void last_but_one(unsigned *count, float *part, float *out)
{
	LAST(__threadfence(), atomicAdd(count, 1), before == gridDim.x - 2, __threadfence())
}
// prove: last_by_two potential --block-dim=64 --grid-dim=8
__global__ void last_by_two(unsigned *count, float *part, float *out)
{
	LAST(__threadfence(), atomicAdd(count, 2), before >= gridDim.x - 1, __threadfence())
}
// prove: last_low_bound potential --block-dim=64 --grid-dim=8
__global__ void last_low_bound(unsigned *count, float *part, float *out)
{
	LAST(__threadfence(), atomicInc(count, gridDim.x / 2), before == gridDim.x / 2, __threadfence())
}
#define PLANE(blocks, reset)                                                                                   \
	unsigned b = blockIdx.y * gridDim.x + blockIdx.x;                                                      \
	part[b * 64 + threadIdx.x] = 1;                                                                        \
	__syncthreads();                                                                                       \
	if (threadIdx.x)                                                                                       \
		return;                                                                                        \
	__threadfence();                                                                                       \
	unsigned before = atomicAdd(count, 1);                                                                 \
	__threadfence();                                                                                       \
	if (before < (blocks) - 1)                                                                             \
		return;                                                                                        \
	float sum = 0;                                                                                         \
	for (unsigned i = 0; i < gridDim.x * gridDim.y * 64; i++)                                              \
		sum += part[i];                                                                                \
	*out = sum;                                                                                            \
	reset;

// prove: last_of_plane race-free --block-dim=64 --grid-dim=4,2
__global__ void last_of_plane(unsigned *count, float *part, float *out)
{
	PLANE(gridDim.x * gridDim.y, *count = 0)
}
// prove: last_of_row potential --block-dim=64 --grid-dim=4,2
__global__ void last_of_row(unsigned *count, float *part, float *out)
{
	PLANE(gridDim.x, )
}
// prove: last_of_row_reset potential --block-dim=64 --grid-dim=4,2
__global__ void last_of_row_reset(unsigned *count, float *part, float *out)
{
	PLANE(gridDim.x, *count = 0)
}

// prove: last_all_add potential --block-dim=64 --grid-dim=8
__global__ void last_all_add(unsigned *count, float *part, float *out)
{
	part[blockIdx.x * 64 + threadIdx.x] = 1;
	__threadfence();
	unsigned before = atomicAdd(count, 1);
	__threadfence();
	if (before == gridDim.x - 1)
		*out = part[0] + part[511];
}

// prove: last_reset_early potential --block-dim=64 --grid-dim=8
__global__ void last_reset_early(unsigned *count, float *part, float *out)
{
	if (threadIdx.x)
		return;
	part[blockIdx.x] = 1;
	if (blockIdx.x == 3)
		*count = 5;
	__threadfence();
	unsigned before = atomicAdd(count, 1);
	__threadfence();
	if (before == gridDim.x - 1)
		*out = part[0] + part[7];
}

// prove: last_written_late potential --block-dim=64 --grid-dim=8
__global__ void last_written_late(unsigned *count, float *part, float *out)
{
	if (threadIdx.x)
		return;
	__threadfence();
	unsigned before = atomicAdd(count, 1);
	__threadfence();
	part[blockIdx.x] = 1;
	if (before == gridDim.x - 1)
		*out = part[0] + part[7];
}

// prove: last_no_barrier potential --block-dim=64 --grid-dim=8
__global__ void last_no_barrier(unsigned *count, float *part, float *out)
{
	part[blockIdx.x * 64 + threadIdx.x] = 1;
	if (threadIdx.x)
		return;
	__threadfence();
	unsigned before = atomicAdd(count, 1);
	__threadfence();
	if (before == gridDim.x - 1)
		*out = part[0] + part[511];
}

#define BARRIER(arrive, seen, goal, behind)                                                                    \
	unsigned i = blockIdx.x * 64 + threadIdx.x;                                                            \
	a[i] = i;                                                                                              \
	__syncthreads();                                                                                       \
	if (threadIdx.x == 0) {                                                                                \
		__threadfence();                                                                               \
		arrive;                                                                                        \
		while (seen < goal)                                                                            \
			;                                                                                      \
		behind;                                                                                        \
	}                                                                                                      \
	__syncthreads();                                                                                       \
	b[i] = a[511 - i];

// prove: barrier_volatile race-free --block-dim=64 --grid-dim=8
__global__ void barrier_volatile(unsigned *count, float *a, float *b)
{
	BARRIER(atomicAdd(count, 1), *(volatile unsigned *)count, gridDim.x, __threadfence())
}
// prove: barrier_atomic race-free --block-dim=64 --grid-dim=8
__global__ void barrier_atomic(unsigned *count, float *a, float *b)
{
	BARRIER(atomicAdd(count, 1), atomicAdd(count, 0), gridDim.x, __threadfence())
}
// prove: barrier_weak potential --block-dim=64 --grid-dim=8
__global__ void barrier_weak(unsigned *count, float *a, float *b)
{
	BARRIER(atomicAdd(count, 1), *count, gridDim.x, __threadfence())
}
// prove: barrier_no_acquire potential --block-dim=64 --grid-dim=8
__global__ void barrier_no_acquire(unsigned *count, float *a, float *b)
{
	BARRIER(atomicAdd(count, 1), *(volatile unsigned *)count, gridDim.x, )
}
// prove: barrier_one_short potential --block-dim=64 --grid-dim=8
__global__ void barrier_one_short(unsigned *count, float *a, float *b)
{
	BARRIER(atomicAdd(count, 1), *(volatile unsigned *)count, gridDim.x - 1, __threadfence())
}
// prove: barrier_other potential --block-dim=64 --grid-dim=8
__global__ void barrier_other(unsigned *count, float *a, float *b)
{
	BARRIER(atomicAdd(count, 1), *(volatile unsigned *)(count + 1), gridDim.x, __threadfence())
}
// prove: barrier_twice potential --block-dim=64 --grid-dim=8
__global__ void barrier_twice(unsigned *count, float *a, float *b)
{
	BARRIER((atomicAdd(count, 1), atomicAdd(count, 1)), *(volatile unsigned *)count, gridDim.x, __threadfence())
}
