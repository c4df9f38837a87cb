// rings.cu - buffers that producers fill and consumers empty, over and over.
#include "ordered.h"

#define SLOTS 2

/* Between two blocks: how many slots were filled, how many were freed. */
PROGRAM(ring_of_two_blocks)
{
	if (blockIdx.x > 1)
		return;
	for (unsigned k = 0; k < 5; k++) {
		unsigned *slot = &m->data[k % SLOTS * THREADS];
		if (blockIdx.x == 0) {
			if (LEADS && k >= SLOTS)
				while (load_acquire(&m->head[0]) < k - SLOTS + 1)
					__nanosleep(20);
			__syncthreads();
			slot[threadIdx.x] = k * 100 + threadIdx.x;
			__syncthreads();
			if (LEADS)
				store_release(&m->tail[0], k + 1);
		} else {
			if (LEADS)
				while (load_acquire(&m->tail[0]) < k + 1)
					__nanosleep(20);
			__syncthreads();
			unsigned other = THREADS - 1 - threadIdx.x;
			expect(m, slot[other] == k * 100 + other);
			__syncthreads();
			if (LEADS)
				store_release(&m->head[0], k + 1);
		}
	}
}

/* The same with fences, as before there were acquire and release. */
PROGRAM(ring_with_fences)
{
	if (!LEADS || blockIdx.x > 1)
		return;
	for (unsigned k = 0; k < 5; k++) {
		if (blockIdx.x == 0) {
			while (seen(&m->tail[0]) - seen(&m->head[0]) == SLOTS)
				__nanosleep(20);
			__threadfence();
			m->data[k % SLOTS] = k * k;
			signal(&m->tail[0], k + 1);
		} else {
			while (seen(&m->tail[0]) == k)
				__nanosleep(20);
			__threadfence();
			expect(m, m->data[k % SLOTS] == k * k);
			signal(&m->head[0], k + 1);
		}
	}
}

/* A flag for each slot: full or empty. */
PROGRAM(ring_of_full_flags)
{
	if (!LEADS || blockIdx.x > 1)
		return;
	for (unsigned k = 0; k < 6; k++) {
		unsigned s = k % SLOTS;
		if (blockIdx.x == 0) {
			wait_for(&m->flag[s], 0);
			m->data[s] = k + 5;
			signal(&m->flag[s], 1);
		} else {
			wait_for(&m->flag[s], 1);
			expect(m, m->data[s] == k + 5);
			signal(&m->flag[s], 0);
		}
	}
}

/* Many producers, one consumer: a slot has the number of the turn in which it may be used. */
PROGRAM(bounded_queue)
{
	if (!LEADS)
		return;
	if (blockIdx.x) {
		for (unsigned k = 0; k < 3; k++) {
			unsigned at = atomicAdd(&m->tail[0], 1), s = at % 4;
			while (load_acquire(&m->flag[s]) != at / 4 * 2)
				__nanosleep(20);
			m->data[s] = blockIdx.x;
			store_release(&m->flag[s], at / 4 * 2 + 1);
		}
		return;
	}
	unsigned sum = 0;
	for (unsigned at = 0; at < 3 * (BLOCKS - 1); at++) {
		while (load_acquire(&m->flag[at % 4]) != at / 4 * 2 + 1)
			__nanosleep(20);
		sum += m->data[at % 4];
		store_release(&m->flag[at % 4], at / 4 * 2 + 2);
	}
	expect(m, sum == 3 * (BLOCKS * (BLOCKS - 1) / 2));
}

/* A tile in shared memory, refilled between two barriers. */
PROGRAM(tile_between_barriers)
{
	__shared__ unsigned tile[THREADS];
	unsigned sum = 0;

	for (unsigned k = 0; k < 4; k++) {
		tile[threadIdx.x] = m->data[k * THREADS + threadIdx.x] + k;
		__syncthreads();
		for (int i = 0; i < 8; i++)
			sum += tile[(threadIdx.x * 5 + i) % THREADS];
		__syncthreads();
	}
	m->out[ME] = sum;
	expect(m, sum == 8 * 6);
}

/* Two tiles: the next is filled while this one is read; one barrier a step. */
PROGRAM(double_buffer)
{
	__shared__ unsigned tile[2][THREADS];
	unsigned sum = 0;

	tile[0][threadIdx.x] = 1;
	__syncthreads();
	for (unsigned k = 0; k < 4; k++) {
		if (k + 1 < 4)
			tile[(k + 1) % 2][threadIdx.x] = k + 2;
		for (int i = 0; i < 4; i++)
			sum += tile[k % 2][(threadIdx.x + i) % THREADS];
		__syncthreads();
	}
	m->out[ME] = sum;
	expect(m, sum == 4 * 10);
}

/* Filled by asynchronous copies, waited for by groups. */
PROGRAM(double_buffer_of_copies)
{
	__shared__ unsigned tile[2][THREADS];
	unsigned sum = 0;

	for (unsigned k = 0; k <= 4; k++) {
		if (k < 4) {
			unsigned to = (unsigned)__cvta_generic_to_shared(&tile[k % 2][threadIdx.x]);
			asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to),
				     "l"(&m->data[k * THREADS + threadIdx.x]) : "memory");
		}
		asm volatile("cp.async.commit_group;" ::: "memory");
		if (k) {
			asm volatile("cp.async.wait_group 1;" ::: "memory");
			__syncthreads();
			sum += tile[(k - 1) % 2][THREADS - 1 - threadIdx.x];
			__syncthreads();
		}
	}
	expect(m, sum == 0);
}

/* A warp fills, the other one reads; full and empty are named barriers. */
PROGRAM(warp_specialised_named_barriers)
{
	__shared__ unsigned tile[2][32];

	for (unsigned k = 0; k < 4; k++) {
		unsigned s = k % 2;
		if (WARP == 0) {
			asm volatile("bar.sync %0, 64;" ::"r"(3 + s) : "memory");
			tile[s][LANE] = k * 32 + LANE;
			asm volatile("bar.arrive %0, 64;" ::"r"(1 + s) : "memory");
		} else {
			if (k < 2)
				asm volatile("bar.arrive %0, 64;" ::"r"(3 + s) : "memory");
			asm volatile("bar.sync %0, 64;" ::"r"(1 + s) : "memory");
			expect(m, tile[s][31 - LANE] == k * 32 + 31 - LANE);
			if (k < 2)
				asm volatile("bar.arrive %0, 64;" ::"r"(3 + s) : "memory");
		}
	}
}

static __device__ __forceinline__ void mbarrier_wait(unsigned bar, unsigned parity)
{
	unsigned is = 0;

	while (!is)
		asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; "
			     "selp.u32 %0, 1, 0, p; }" : "=r"(is) : "r"(bar), "r"(parity) : "memory");
}

static __device__ __forceinline__ void mbarrier_arrive(unsigned bar)
{
	asm volatile("{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0]; }" ::"r"(bar) : "memory");
}

/* The same with mbarriers. */
PROGRAM(warp_specialised_mbarriers)
{
	__shared__ unsigned long long full[2], empty[2];
	__shared__ unsigned tile[2][32];

	if (LEADS)
		for (int s = 0; s < 2; s++) {
			unsigned f = (unsigned)__cvta_generic_to_shared(&full[s]);
			unsigned e = (unsigned)__cvta_generic_to_shared(&empty[s]);
			asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(f) : "memory");
			asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(e) : "memory");
		}
	__syncthreads();
	for (unsigned k = 0; k < 4; k++) {
		unsigned s = k % 2, turn = k / 2;
		unsigned f = (unsigned)__cvta_generic_to_shared(&full[s]);
		unsigned e = (unsigned)__cvta_generic_to_shared(&empty[s]);
		if (WARP == 0) {
			if (turn)
				mbarrier_wait(e, (turn - 1) % 2);
			tile[s][LANE] = k * 32 + LANE;
			mbarrier_arrive(f);
		} else {
			mbarrier_wait(f, turn % 2);
			expect(m, tile[s][31 - LANE] == k * 32 + 31 - LANE);
			mbarrier_arrive(e);
		}
	}
}

/* A ring of a warp's own, between its lanes. */
PROGRAM(ring_of_a_warp)
{
	__shared__ unsigned ring[WARPS][2];

	for (unsigned k = 0; k < 6; k++) {
		if (LANE == k % 32)
			ring[WARP][k % 2] = k + WARP;
		__syncwarp();
		expect(m, ring[WARP][k % 2] == k + WARP);
	}
	__syncwarp();
}

/* A ring in shared memory that one warp polls. */
PROGRAM(polled_ring_in_shared_memory)
{
	__shared__ volatile unsigned head, tail;
	__shared__ unsigned ring[2];

	if (LEADS)
		head = tail = 0;
	__syncthreads();
	if (LANE)
		return;
	for (unsigned k = 0; k < 5; k++) {
		if (WARP == 0) {
			while (k - head == 2)
				;
			__threadfence_block();
			ring[k % 2] = k * 7;
			__threadfence_block();
			tail = k + 1;
		} else {
			while (tail == k)
				;
			__threadfence_block();
			expect(m, ring[k % 2] == k * 7);
			__threadfence_block();
			head = k + 1;
		}
	}
}

/* Halos: each block reads its neighbours' edges of the last step. */
PROGRAM(halo_exchange)
{
	for (unsigned k = 0; k < 3; k++) {
		unsigned *now = k % 2 ? m->more : m->data;
		if (threadIdx.x < 2)
			now[blockIdx.x * 2 + threadIdx.x] = k * 10 + blockIdx.x;
		__syncthreads();
		if (LEADS)
			store_release(&m->flag[blockIdx.x], k + 1);
		if (threadIdx.x < 2) {
			unsigned other = (blockIdx.x + (threadIdx.x ? 1 : BLOCKS - 1)) % BLOCKS;
			while (load_acquire(&m->flag[other]) < k + 1)
				__nanosleep(20);
			expect(m, now[other * 2 + !threadIdx.x] == k * 10 + other);
		}
		__syncthreads();
	}
}

static const struct row rows[] = {
	ROW(ring_of_two_blocks) ROW(ring_with_fences) ROW(ring_of_full_flags) ROW(bounded_queue)
	ROW(tile_between_barriers) ROW(double_buffer) ROW(double_buffer_of_copies)
	ROW(warp_specialised_named_barriers) ROW(warp_specialised_mbarriers) ROW(ring_of_a_warp)
	ROW(polled_ring_in_shared_memory) ROW(halo_exchange)
};
MAIN
