// locks.cu - critical sections, under locks of many kinds.
#include "ordered.h"

/* The CUDA guide's way: one thread of each block. */
PROGRAM(cas_lock)
{
	if (!LEADS)
		return;
	for (int k = 0; k < 3; k++) {
		lock(&m->lock[0]);
		m->data[0] += blockIdx.x + 1;
		m->data[1]++;
		unlock(&m->lock[0]);
	}
}

PROGRAM(cas_lock_acquire_release)
{
	if (LANE)
		return;
	while (cas_acquire(&m->lock[0], 0, 1) != 0)
		__nanosleep(20);
	m->data[0] = m->data[0] * 2 + WARP;
	store_release(&m->lock[0], 0);
}

/* Looks before it tries. */
PROGRAM(test_and_test_and_set)
{
	if (LANE)
		return;
	for (;;) {
		while (seen(&m->lock[0]))
			__nanosleep(20);
		if (atomicExch(&m->lock[0], 1) == 0)
			break;
	}
	__threadfence();
	m->data[m->data[0] % 8 + 1] = ME;
	m->data[0]++;
	__threadfence();
	atomicExch(&m->lock[0], 0);
}

PROGRAM(ticket_lock)
{
	if (!LEADS)
		return;
	unsigned mine = atomicAdd(&m->head[0], 1);
	while (seen(&m->tail[0]) != mine)
		__nanosleep(20);
	__threadfence();
	expect(m, m->data[0] == mine);
	m->data[0] = mine + 1;
	__threadfence();
	atomicAdd(&m->tail[0], 1);
}

/* Each waiter has a word of its own in an array. */
PROGRAM(array_lock)
{
	if (!LEADS)
		return;
	unsigned mine = atomicAdd(&m->head[0], 1);
	while (mine && load_acquire(&m->flag[mine]) == 0)
		__nanosleep(20);
	m->data[0] += mine;
	m->data[1] = mine;
	store_release(&m->flag[mine + 1], 1);
}

/* A list of waiters: each waits at its own node, for the one before it. */
PROGRAM(queue_lock)
{
	if (!LEADS)
		return;
	unsigned mine = blockIdx.x + 1;
	store_relaxed(&m->flag[mine], 1);
	store_relaxed(&m->next[mine], 0);
	__threadfence();
	unsigned before = atomicExch(&m->tail[0], mine);
	if (before) {
		store_relaxed(&m->next[before], mine);
		while (load_acquire(&m->flag[mine]))
			__nanosleep(20);
	}
	__threadfence();
	m->data[0]++;
	m->data[1] = m->data[0] * 3;
	__threadfence();
	if (atomicCAS(&m->tail[0], mine, 0) != mine) {
		unsigned after;
		while ((after = load_relaxed(&m->next[mine])) == 0)
			__nanosleep(20);
		store_release(&m->flag[after], 0);
	}
}

/* Many locks, each over a part of the data. */
PROGRAM(lock_for_each_bucket)
{
	if (LANE)
		return;
	for (unsigned k = 0; k < 4; k++) {
		unsigned b = (WARP + blockIdx.x + k) % 4;
		lock(&m->lock[b]);
		unsigned n = m->count[b];
		m->data[b * 64 + n] = ME;
		m->count[b] = n + 1;
		unlock(&m->lock[b]);
	}
}

/* Two locks, always in the same order. */
PROGRAM(transfer_under_two_locks)
{
	if (!LEADS)
		return;
	unsigned from = blockIdx.x % 3, to = (blockIdx.x + 1) % 3;
	unsigned low = from < to ? from : to, high = from < to ? to : from;
	lock(&m->lock[low]);
	lock(&m->lock[high]);
	m->data[from] -= 5;
	m->data[to] += 5;
	unlock(&m->lock[high]);
	unlock(&m->lock[low]);
}

/* All threads of a block work under the lock that one of them takes. */
PROGRAM(lock_of_a_block)
{
	if (LEADS)
		lock(&m->lock[0]);
	__syncthreads();
	m->data[threadIdx.x] += blockIdx.x;
	__syncthreads();
	if (LEADS)
		unlock(&m->lock[0]);
}

PROGRAM(lock_of_a_warp)
{
	if (LANE == 0)
		lock(&m->lock[0]);
	__syncwarp();
	m->data[LANE] = m->data[LANE] + WARP + 1;
	__syncwarp();
	if (LANE == 0)
		unlock(&m->lock[0]);
}

/* The loop in which a lane that has the lock comes to its end. */
PROGRAM(lock_by_each_lane)
{
	bool is_done = LANE >= 4;
	while (!is_done) {
		if (atomicCAS(&m->lock[0], 0, 1) == 0) {
			__threadfence();
			m->data[0] += ME;
			__threadfence();
			atomicExch(&m->lock[0], 0);
			is_done = true;
		}
	}
}

PROGRAM(lock_in_shared_memory)
{
	__shared__ unsigned mutex, sum, n;

	if (LEADS)
		mutex = sum = n = 0;
	__syncthreads();
	if (LANE == 0) {
		while (atomicCAS(&mutex, 0, 1) != 0)
			;
		__threadfence_block();
		sum += WARP + 7;
		n++;
		__threadfence_block();
		atomicExch(&mutex, 0);
	}
	__syncthreads();
	if (LEADS)
		expect(m, n == WARPS && sum == 15);
}

/* Readers share, a writer is alone. */
PROGRAM(readers_and_a_writer)
{
	if (!LEADS)
		return;
	for (unsigned k = 0; k < 3; k++) {
		if (blockIdx.x == k % BLOCKS) {
			while (atomicCAS(&m->lock[0], 0, 0x80000000u) != 0)
				__nanosleep(20);
			__threadfence();
			m->data[0]++;
			m->data[1] = m->data[0];
			__threadfence();
			atomicSub(&m->lock[0], 0x80000000u);
		} else {
			while (atomicAdd(&m->lock[0], 1) & 0x80000000u) {
				atomicSub(&m->lock[0], 1);
				__nanosleep(20);
			}
			__threadfence();
			expect(m, m->data[0] == m->data[1]);
			__threadfence();
			atomicSub(&m->lock[0], 1);
		}
	}
}

/* What can't be had at once is put off. */
PROGRAM(try_lock)
{
	unsigned done = 0;

	if (!LEADS)
		return;
	while (done != 3) {
		for (unsigned b = 0; b < 2; b++) {
			if (done >> b & 1 || atomicCAS(&m->lock[b], 0, 1) != 0)
				continue;
			__threadfence();
			m->data[b] += b + 1;
			unlock(&m->lock[b]);
			done |= 1u << b;
		}
	}
}

/* The first to come initialises, the others look at a flag. */
PROGRAM(once)
{
	if (!LEADS)
		return;
	if (load_acquire(&m->flag[0]) == 0) {
		lock(&m->lock[0]);
		if (load_relaxed(&m->flag[0]) == 0) {
			for (int i = 0; i < 8; i++)
				m->data[i] = i + 1;
			store_release(&m->flag[0], 1);
		}
		unlock(&m->lock[0]);
	}
	unsigned sum = 0;
	for (int i = 0; i < 8; i++)
		sum += m->data[i];
	expect(m, sum == 36);
}

static const struct row rows[] = {
	ROW(cas_lock) ROW(cas_lock_acquire_release) ROW(test_and_test_and_set) ROW(ticket_lock)
	ROW(array_lock) ROW(queue_lock) ROW(lock_for_each_bucket) ROW(transfer_under_two_locks)
	ROW(lock_of_a_block) ROW(lock_of_a_warp) ROW(lock_by_each_lane) ROW(lock_in_shared_memory)
	ROW(readers_and_a_writer) ROW(try_lock) ROW(once)
};
MAIN
