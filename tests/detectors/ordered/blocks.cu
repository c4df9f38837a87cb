// blocks.cu - last blocks, barriers of the grid, semaphores, work that blocks take.
#include "ordered.h"

static __device__ unsigned sum_of_block(unsigned v)
{
	__shared__ unsigned part[WARPS], all;

	for (int d = 16; d; d /= 2)
		v += __shfl_down_sync(~0u, v, d);
	if (LANE == 0)
		part[WARP] = v;
	__syncthreads();
	if (LEADS) {
		all = 0;
		for (int w = 0; w < WARPS; w++)
			all += part[w];
	}
	__syncthreads();
	v = all;
	__syncthreads();
	return v;
}

/* threadFenceReduction of the CUDA samples. */
PROGRAM(last_block_by_inc)
{
	__shared__ bool is_last;
	unsigned v = sum_of_block(ME);

	if (LEADS) {
		m->data[blockIdx.x] = v;
		__threadfence();
		is_last = atomicInc(&m->count[0], BLOCKS) == BLOCKS - 1;
	}
	__syncthreads();
	if (!is_last)
		return;
	__threadfence();
	v = sum_of_block(threadIdx.x < BLOCKS ? m->data[threadIdx.x] : 0);
	if (LEADS)
		m->out[0] = v;
	expect(m, v == BLOCKS * THREADS * (BLOCKS * THREADS - 1) / 2);
}

PROGRAM(last_block_by_acq_rel)
{
	unsigned v = sum_of_block(1);
	int is_last = 0;

	if (LEADS) {
		m->data[blockIdx.x] = v;
		is_last = add_acq_rel(&m->count[0], 1) == BLOCKS - 1;
	}
	if (!__syncthreads_or(is_last))
		return;
	v = sum_of_block(threadIdx.x < BLOCKS ? m->data[threadIdx.x] : 0);
	expect(m, v == BLOCKS * THREADS);
}

/* Each thread has written a part, and fences for itself. */
PROGRAM(last_block_of_all_threads)
{
	__shared__ unsigned place;

	m->data[ME] = ME + 1;
	__threadfence();
	__syncthreads();
	if (LEADS)
		place = atomicAdd(&m->count[0], 1);
	__syncthreads();
	if (place != BLOCKS - 1)
		return;
	__threadfence();
	unsigned v = 0;
	for (unsigned b = 0; b < BLOCKS; b++)
		v += m->data[b * THREADS + threadIdx.x];
	m->out[threadIdx.x] = v;
	expect(m, v == BLOCKS * (threadIdx.x + 1) + THREADS * BLOCKS * (BLOCKS - 1) / 2);
}

PROGRAM(last_warp)
{
	m->data[ME] = ME;
	__threadfence();
	__syncwarp();
	unsigned place = 0;
	if (LANE == 0)
		place = atomicAdd(&m->count[0], 1);
	place = __shfl_sync(~0u, place, 0);
	__syncwarp(); /* a shuffle orders nothing */
	if (place != BLOCKS * WARPS - 1)
		return;
	__threadfence();
	for (unsigned i = LANE; i < BLOCKS * THREADS; i += 32)
		expect(m, m->data[i] == i);
}

PROGRAM(grid_barrier_by_generation)
{
	for (unsigned k = 0; k < 3; k++) {
		m->data[ME] = ME + k;
		grid_barrier(&m->count[0], &m->count[1]);
		unsigned other = (ME + THREADS) % (BLOCKS * THREADS);
		expect(m, m->data[other] == other + k);
		grid_barrier(&m->count[0], &m->count[1]);
	}
}

/* The counter only grows. */
PROGRAM(grid_barrier_that_counts_up)
{
	for (unsigned k = 1; k <= 2; k++) {
		m->data[k * BLOCKS * THREADS + ME] = ME * k;
		__syncthreads();
		if (LEADS) {
			add_release(&m->count[0], 1);
			while (load_acquire(&m->count[0]) < k * BLOCKS)
				__nanosleep(20);
		}
		__syncthreads();
		unsigned other = BLOCKS * THREADS - 1 - ME;
		expect(m, m->data[k * BLOCKS * THREADS + other] == other * k);
	}
}

/* As cooperative groups does it: the first block's arrival flips the sign. */
PROGRAM(grid_barrier_by_sign)
{
	m->data[ME] = ME;
	__syncthreads();
	if (LEADS) {
		unsigned nb = blockIdx.x == 0 ? 0x80000000u - (BLOCKS - 1) : 1;
		__threadfence();
		unsigned old = atomicAdd(&m->count[0], nb);
		while (((old ^ seen(&m->count[0])) & 0x80000000u) == 0)
			__nanosleep(20);
		__threadfence();
	}
	__syncthreads();
	unsigned other = BLOCKS * THREADS - 1 - ME;
	expect(m, m->data[other] == other);
}

/* Two levels: a barrier of pairs of blocks, then of the pairs' leaders. */
PROGRAM(tree_barrier)
{
	m->data[ME] = ME;
	__syncthreads();
	if (LEADS) {
		unsigned p = blockIdx.x / 2;
		__threadfence();
		if (atomicAdd(&m->count[p], 1) == 1) {
			__threadfence();
			if (atomicAdd(&m->count[8], 1) == BLOCKS / 2 - 1) {
				__threadfence();
				atomicExch(&m->flag[0], 1);
			}
		}
		wait_for(&m->flag[0], 1);
	}
	__syncthreads();
	unsigned other = (ME + 2 * THREADS) % (BLOCKS * THREADS);
	expect(m, m->data[other] == other);
}

/* Split-K: blocks add to one tile, in the order of a semaphore. */
PROGRAM(semaphore_of_split_k)
{
	if (LEADS)
		while (load_acquire(&m->flag[0]) != blockIdx.x)
			__nanosleep(20);
	__syncthreads();
	m->data[threadIdx.x] = m->data[threadIdx.x] * 2 + blockIdx.x;
	__syncthreads();
	if (LEADS)
		store_release(&m->flag[0], blockIdx.x + 1);
}

/* Stream-K: helpers leave partial tiles, the owner waits for each and adds them up. */
PROGRAM(fix_up_of_stream_k)
{
	if (blockIdx.x) {
		m->data[ME] = ME;
		__threadfence();
		__syncthreads();
		if (LEADS)
			atomicExch(&m->flag[blockIdx.x], 1);
		return;
	}
	unsigned v = threadIdx.x;
	for (unsigned b = 1; b < BLOCKS; b++) {
		if (LEADS)
			while (atomicAdd(&m->flag[b], 0) == 0)
				__nanosleep(20);
		__syncthreads();
		__threadfence();
		v += m->data[b * THREADS + threadIdx.x];
	}
	m->out[threadIdx.x] = v;
}

/* Blocks take tiles until there are none. */
PROGRAM(dynamic_tiles)
{
	__shared__ unsigned tile;

	for (;;) {
		if (LEADS)
			tile = atomicAdd(&m->count[0], 1);
		__syncthreads();
		unsigned t = tile;
		__syncthreads();
		if (t >= 10)
			break;
		m->data[t * THREADS + threadIdx.x] = t;
	}
}

/* Items that workers put back, until the count of those that are open is 0. */
PROGRAM(work_queue)
{
	if (!LEADS)
		return;
	if (blockIdx.x == 0) {
		m->data[0] = 3;
		__threadfence();
		atomicAdd(&m->count[0], 1); /* open */
		atomicExch(&m->flag[0], 1);
		atomicAdd(&m->tail[0], 1);
	}
	while (seen(&m->count[0]) == 0)
		__nanosleep(20);
	while (seen(&m->count[0]) != 0) {
		unsigned at = seen(&m->head[0]);
		if (at >= seen(&m->tail[0]) || atomicCAS(&m->head[0], at, at + 1) != at)
			continue;
		while (seen(&m->flag[at]) == 0)
			;
		__threadfence();
		unsigned depth = m->data[at];
		for (unsigned k = 0; depth && k < 2; k++) {
			atomicAdd(&m->count[0], 1);
			unsigned to = atomicAdd(&m->tail[0], 1);
			m->data[to] = depth - 1;
			__threadfence();
			atomicExch(&m->flag[to], 1);
		}
		atomicSub(&m->count[0], 1);
	}
}

/* The blocks are numbered in the order in which they come, and each waits for those before it. */
PROGRAM(dynamic_block_numbers)
{
	__shared__ unsigned number;

	if (LEADS) {
		number = atomicAdd(&m->count[0], 1);
		if (number)
			while (load_acquire(&m->flag[number - 1]) == 0)
				__nanosleep(20);
		expect(m, m->data[0] == number);
		m->data[0] = number + 1;
		store_release(&m->flag[number], 1);
	}
	__syncthreads();
	m->out[number * THREADS + threadIdx.x] = number;
}

static const struct row rows[] = {
	ROW(last_block_by_inc) ROW(last_block_by_acq_rel) ROW(last_block_of_all_threads) ROW(last_warp)
	ROW(grid_barrier_by_generation) ROW(grid_barrier_that_counts_up) ROW(grid_barrier_by_sign)
	ROW(tree_barrier) ROW(semaphore_of_split_k) ROW(fix_up_of_stream_k) ROW(dynamic_tiles)
	ROW(work_queue) ROW(dynamic_block_numbers)
};
MAIN
