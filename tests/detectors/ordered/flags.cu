// flags.cu - messages that flags, pointers and version numbers hand over.
#include "ordered.h"

/* The flag of the CUDA guide. */
PROGRAM(message_behind_a_flag)
{
	if (!LEADS || blockIdx.x > 1)
		return;
	if (blockIdx.x == 0) {
		m->data[0] = 42;
		m->data[1] = 43;
		signal(&m->flag[0], 1);
	} else {
		wait_for(&m->flag[0], 1);
		expect(m, m->data[0] == 42 && m->data[1] == 43);
	}
}

PROGRAM(message_by_release_and_acquire)
{
	if (!LEADS || blockIdx.x > 1)
		return;
	if (blockIdx.x == 0) {
		m->data[0] = 42;
		store_release(&m->flag[0], 1);
	} else {
		while (load_acquire(&m->flag[0]) == 0)
			__nanosleep(20);
		expect(m, m->data[0] == 42);
	}
}

/* Polled by an atomic, as code does that doesn't trust volatile. */
PROGRAM(message_polled_by_atomics)
{
	if (!LEADS || blockIdx.x > 1)
		return;
	if (blockIdx.x == 0) {
		m->data[0] = 42;
		__threadfence();
		atomicExch(&m->flag[0], 1);
	} else {
		while (atomicAdd(&m->flag[0], 0) == 0)
			__nanosleep(20);
		__threadfence();
		expect(m, m->data[0] == 42);
	}
}

/* A whole tile of a block, for a whole block. */
PROGRAM(tile_from_block_to_block)
{
	if (blockIdx.x == 0) {
		m->data[threadIdx.x] = threadIdx.x * 3;
		__threadfence();
		__syncthreads();
		if (LEADS)
			atomicExch(&m->flag[0], 1);
	} else if (blockIdx.x == 1) {
		if (LEADS)
			while (atomicAdd(&m->flag[0], 0) == 0)
				__nanosleep(20);
		__syncthreads();
		__threadfence();
		unsigned other = THREADS - 1 - threadIdx.x;
		expect(m, m->data[other] == other * 3);
	}
}

/* Every thread signals for itself: a counter. */
PROGRAM(counted_flag)
{
	if (blockIdx.x == 0) {
		m->data[threadIdx.x] = threadIdx.x + 1;
		__threadfence();
		atomicAdd(&m->count[0], 1);
	} else if (blockIdx.x == 1 && LEADS) {
		while (seen(&m->count[0]) != THREADS)
			__nanosleep(20);
		__threadfence();
		unsigned sum = 0;
		for (int i = 0; i < THREADS; i++)
			sum += m->data[i];
		expect(m, sum == THREADS * (THREADS + 1) / 2);
	}
}

/* There and back, several times. */
PROGRAM(ping_pong)
{
	if (!LEADS || blockIdx.x > 1)
		return;
	for (unsigned k = 0; k < 4; k++) {
		if (blockIdx.x == 0) {
			m->data[0] = k;
			signal(&m->flag[0], k + 1);
			wait_for(&m->flag[1], k + 1);
			expect(m, m->data[1] == k + 100);
		} else {
			wait_for(&m->flag[0], k + 1);
			m->data[1] = m->data[0] + 100;
			signal(&m->flag[1], k + 1);
		}
	}
}

/* From block to block, through all: what the first wrote, the last reads. */
PROGRAM(relay)
{
	if (!LEADS)
		return;
	if (blockIdx.x == 0)
		m->data[0] = 7;
	else
		wait_for(&m->flag[blockIdx.x], 1);
	expect(m, m->data[0] == 7);
	signal(&m->flag[blockIdx.x + 1], 1);
}

/* The prefix of each block comes from its predecessor. */
PROGRAM(chained_scan)
{
	__shared__ unsigned prefix;
	unsigned sum = 0;

	if (LEADS) {
		if (blockIdx.x)
			while (load_acquire(&m->flag[blockIdx.x - 1]) == 0)
				__nanosleep(20);
		sum = blockIdx.x ? m->data[blockIdx.x - 1] : 0;
		prefix = sum;
		m->data[blockIdx.x] = sum + THREADS;
		store_release(&m->flag[blockIdx.x], 1);
	}
	__syncthreads();
	m->out[ME] = prefix + threadIdx.x;
	expect(m, m->out[ME] == ME);
}

/* Aggregates and inclusive prefixes beside their status, as decoupled look-back keeps them. */
PROGRAM(look_back)
{
	__shared__ unsigned prefix;

	if (LEADS) {
		unsigned b = blockIdx.x, sum = 0;
		m->data[b] = THREADS;
		if (!b)
			m->more[b] = THREADS;
		signal(&m->flag[b], b ? 1 : 2);
		for (unsigned i = b; i-- > 0;) {
			unsigned is;
			while ((is = seen(&m->flag[i])) == 0)
				__nanosleep(20);
			__threadfence();
			if (is == 2) {
				sum += m->more[i];
				break;
			}
			sum += m->data[i];
		}
		if (b) {
			m->more[b] = sum + THREADS;
			signal(&m->flag[b], 2);
		}
		prefix = sum;
	}
	__syncthreads();
	m->out[ME] = prefix + threadIdx.x;
	expect(m, m->out[ME] == ME);
}

/* Status and value in one word of 64 bits: no fence is needed. */
PROGRAM(look_back_in_one_word)
{
	__shared__ unsigned prefix;

	if (LEADS) {
		unsigned b = blockIdx.x, sum = 0;
		atomicExch(&m->pair[b], (b ? 1ull : 2ull) << 32 | THREADS);
		for (unsigned i = b; i-- > 0;) {
			unsigned long long is;
			while (((is = *(volatile unsigned long long *)&m->pair[i]) >> 32) == 0)
				__nanosleep(20);
			sum += (unsigned)is;
			if (is >> 32 == 2)
				break;
		}
		if (b)
			atomicExch(&m->pair[b], 2ull << 32 | (sum + THREADS));
		prefix = sum;
	}
	__syncthreads();
	m->out[ME] = prefix + threadIdx.x;
	expect(m, m->out[ME] == ME);
}

/* A reader that comes in between tries again; the data is read by relaxed loads. */
PROGRAM(sequence_lock)
{
	if (!LEADS)
		return;
	if (blockIdx.x == 0) {
		for (unsigned k = 0; k < 3; k++) {
			store_relaxed(&m->count[0], 2 * k + 1);
			__threadfence();
			store_relaxed(&m->data[0], k);
			store_relaxed(&m->data[1], k + 10);
			store_release(&m->count[0], 2 * k + 2);
		}
		return;
	}
	for (;;) {
		unsigned before = load_acquire(&m->count[0]);
		unsigned a = load_relaxed(&m->data[0]), b = load_relaxed(&m->data[1]);
		__threadfence();
		if (load_relaxed(&m->count[0]) != before || before & 1)
			continue;
		expect(m, before == 0 || b == a + 10);
		break;
	}
}

/* A new version is made aside and published by its pointer; old ones stay. */
PROGRAM(read_copy_update)
{
	if (!LEADS)
		return;
	if (blockIdx.x == 0) {
		for (unsigned k = 0; k < 4; k++) {
			unsigned *p = &m->data[k * 16];
			for (unsigned i = 0; i < 4; i++)
				p[i] = k + i;
			__threadfence();
			atomicExch((unsigned long long *)&m->pointer[0], (unsigned long long)p);
		}
		return;
	}
	const unsigned *p;
	while ((p = *(unsigned *volatile *)&m->pointer[0]) == NULL)
		__nanosleep(20);
	__threadfence();
	expect(m, p[3] == p[0] + 3);
}

/* The old version is used again after all readers of it have gone. */
PROGRAM(hand_over_with_grace_period)
{
	if (!LEADS)
		return;
	if (blockIdx.x == 0) {
		m->data[0] = 1;
		signal(&m->flag[0], 1);
		while (seen(&m->count[0]) != BLOCKS - 1)
			__nanosleep(20);
		__threadfence();
		m->data[0] = 2;
	} else {
		wait_for(&m->flag[0], 1);
		expect(m, m->data[0] == 1);
		__threadfence();
		atomicAdd(&m->count[0], 1);
	}
}

/* Each tile waits for the one above it and the one to the left. */
PROGRAM(wavefront)
{
	for (unsigned row = 0; row < 3; row++) {
		unsigned at = row * BLOCKS + blockIdx.x, v = 1;
		if (LEADS) {
			if (blockIdx.x)
				while (load_acquire(&m->flag[at - 1]) == 0)
					__nanosleep(20);
			if (row)
				while (load_acquire(&m->flag[at - BLOCKS]) == 0)
					__nanosleep(20);
		}
		__syncthreads();
		v += blockIdx.x ? m->data[(at - 1) * THREADS + threadIdx.x] : 0;
		v += row ? m->data[(at - BLOCKS) * THREADS + threadIdx.x] : 0;
		m->data[at * THREADS + threadIdx.x] = v;
		__syncthreads();
		if (LEADS)
			store_release(&m->flag[at], 1);
	}
}

/* A flag of the block, between its warps. */
PROGRAM(flag_in_shared_memory)
{
	__shared__ unsigned flag, value[32];

	if (LEADS)
		flag = 0;
	__syncthreads();
	if (WARP == 0) {
		value[LANE] = LANE * LANE;
		__syncwarp();
		if (LANE == 0) {
			__threadfence_block();
			*(volatile unsigned *)&flag = 1;
		}
	} else {
		while (*(volatile unsigned *)&flag == 0)
			;
		__threadfence_block();
		expect(m, value[31 - LANE] == (31 - LANE) * (31 - LANE));
	}
}

/* How far the producer has come: consumers follow it. */
PROGRAM(progress)
{
	if (!LEADS)
		return;
	if (blockIdx.x == 0) {
		for (unsigned i = 0; i < 8; i++) {
			m->data[i] = i * i;
			store_release(&m->tail[0], i + 1);
		}
		return;
	}
	for (unsigned i = 0, end = 0; i < 8; i++) {
		while (i >= end)
			end = load_acquire(&m->tail[0]);
		expect(m, m->data[i] == i * i);
	}
}

static const struct row rows[] = {
	ROW(message_behind_a_flag) ROW(message_by_release_and_acquire) ROW(message_polled_by_atomics)
	ROW(tile_from_block_to_block) ROW(counted_flag) ROW(ping_pong) ROW(relay) ROW(chained_scan)
	ROW(look_back) ROW(look_back_in_one_word) ROW(sequence_lock) ROW(read_copy_update)
	ROW(hand_over_with_grace_period) ROW(wavefront) ROW(flag_in_shared_memory) ROW(progress)
};
MAIN
