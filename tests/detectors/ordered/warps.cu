// warps.cu - lanes that work together, queues that a warp or a block adds to at once, tables.
#include "ordered.h"

/* A warp reserves room for all of its lanes by one atomic. */
PROGRAM(warp_aggregated_queue)
{
	bool is_wanted = ME % 3 == 0;
	unsigned wanted = __ballot_sync(~0u, is_wanted), base = 0;

	if (LANE == 0)
		base = atomicAdd(&m->tail[0], __popc(wanted));
	base = __shfl_sync(~0u, base, 0);
	if (is_wanted)
		m->data[base + __popc(wanted & ((1u << LANE) - 1))] = ME;
}

/* In a branch, among the lanes that are there. */
PROGRAM(aggregated_in_a_branch)
{
	if (ME % 5 < 2) {
		unsigned active = __activemask(), leader = __ffs(active) - 1, base = 0;
		if (LANE == leader)
			base = atomicAdd(&m->tail[0], __popc(active));
		base = __shfl_sync(active, base, leader);
		m->data[base + __popc(active & ((1u << LANE) - 1))] = ME;
	}
}

/* A queue of the block first, then room in the global one. */
PROGRAM(block_queue)
{
	__shared__ unsigned queue[THREADS], n, base;

	if (LEADS)
		n = 0;
	__syncthreads();
	if (threadIdx.x % 2)
		queue[atomicAdd(&n, 1)] = ME;
	__syncthreads();
	if (LEADS)
		base = atomicAdd(&m->tail[0], n);
	__syncthreads();
	if (threadIdx.x < n)
		m->data[base + threadIdx.x] = queue[threadIdx.x];
}

/* Lanes with the same key: one of them adds for all. */
PROGRAM(aggregated_by_key)
{
	unsigned key = ME * 7 % 5;
	unsigned same = __match_any_sync(~0u, key);

	if (LANE == (unsigned)__ffs(same) - 1)
		atomicAdd(&m->count[key], __popc(same));
}

PROGRAM(reduction_over_shuffles)
{
	__shared__ unsigned part[WARPS];
	unsigned v = ME;

	for (int d = 16; d; d /= 2)
		v += __shfl_xor_sync(~0u, v, d);
	if (LANE == 0)
		part[WARP] = v;
	__syncthreads();
	if (WARP == 0) {
		v = LANE < WARPS ? part[LANE] : 0;
		for (int d = 16; d; d /= 2)
			v += __shfl_xor_sync(~0u, v, d);
		if (LANE == 0)
			atomicAdd(&m->out[0], v);
	}
}

/* The last levels within a warp, each between two __syncwarp()s. */
PROGRAM(reduction_with_syncwarp)
{
	__shared__ unsigned part[THREADS];

	part[threadIdx.x] = 1;
	__syncthreads();
	if (WARP == 0) {
		for (unsigned half = THREADS / 2; half; half /= 2) {
			unsigned v = LANE < half ? part[LANE + half] : 0;
			__syncwarp();
			if (LANE < half)
				part[LANE] += v;
			__syncwarp();
		}
	}
	__syncthreads();
	expect(m, part[0] == THREADS);
}

PROGRAM(transposed_in_a_warp)
{
	__shared__ unsigned tile[WARPS][32][5];

	for (unsigned i = 0; i < 4; i++)
		tile[WARP][LANE][i] = LANE * 4 + i;
	__syncwarp();
	unsigned sum = 0;
	for (unsigned i = 0; i < 4; i++)
		sum += tile[WARP][(LANE + i) % 32][i] != ((LANE + i) % 32) * 4 + i;
	expect(m, sum == 0);
}

/* One lane prepares for the others. */
PROGRAM(leader_prepares)
{
	__shared__ unsigned first[WARPS];

	for (unsigned k = 0; k < 3; k++) {
		if (LANE == k)
			first[WARP] = k * 10 + WARP;
		__syncwarp();
		unsigned v = first[WARP];
		__syncwarp();
		expect(m, v == k * 10 + WARP);
	}
}

PROGRAM(scan_of_a_block)
{
	__shared__ unsigned sums[WARPS];
	unsigned v = 1;

	for (unsigned d = 1; d < 32; d *= 2) {
		unsigned up = __shfl_up_sync(~0u, v, d);
		v += LANE >= d ? up : 0;
	}
	if (LANE == 31)
		sums[WARP] = v;
	__syncthreads();
	for (unsigned w = 0; w < WARP; w++)
		v += sums[w];
	m->out[ME] = v;
	expect(m, v == threadIdx.x + 1);
}

/* Bins of the block, then added to the global ones. */
PROGRAM(histogram)
{
	__shared__ unsigned bins[16];

	if (threadIdx.x < 16)
		bins[threadIdx.x] = 0;
	__syncthreads();
	for (unsigned k = 0; k < 4; k++)
		atomicAdd(&bins[(ME * 3 + k) % 16], 1);
	__syncthreads();
	if (threadIdx.x < 16)
		atomicAdd(&m->count[threadIdx.x], bins[threadIdx.x]);
}

/* Bins of each warp, added up after a barrier. */
PROGRAM(histogram_by_warps)
{
	__shared__ unsigned bins[WARPS][32];

	bins[WARP][LANE] = 0;
	__syncwarp();
	atomicAdd(&bins[WARP][ME * 5 % 32], 1);
	__syncthreads();
	if (threadIdx.x < 32) {
		unsigned sum = 0;
		for (int w = 0; w < WARPS; w++)
			sum += bins[w][threadIdx.x];
		m->out[blockIdx.x * 32 + threadIdx.x] = sum;
		expect(m, sum == WARPS);
	}
}

/* Open addressing: a key is claimed by compare-and-swap, the value follows with a release. */
PROGRAM(hash_table)
{
	unsigned key = ME % 40 + 1, at = key * 11 % 64;

	if (LANE >= 8)
		return;
	for (;; at = (at + 1) % 64) {
		unsigned was = atomicCAS(&m->next[at], 0, key);
		if (was == 0) {
			m->data[at] = key * 2;
			store_release(&m->flag[at], 1);
			break;
		}
		if (was == key) {
			while (load_acquire(&m->flag[at]) == 0)
				__nanosleep(20);
			expect(m, m->data[at] == key * 2);
			break;
		}
	}
}

/* A stack that only grows: nodes of each thread's own, put before the head. */
PROGRAM(pushed_list)
{
	unsigned mine = ME + 1, head = seen(&m->head[0]), was;

	if (LANE >= 4)
		return;
	do {
		was = head;
		m->next[ME] = was;
		m->data[ME] = ME * 3;
		__threadfence();
		head = atomicCAS(&m->head[0], was, mine);
	} while (head != was);
	__threadfence();
	for (unsigned at = was, n = 0; at && n < 4; at = m->next[at - 1], n++)
		expect(m, m->data[at - 1] == (at - 1) * 3);
}

/* Claimed by the bits of a word; who sets a bit owns the place. */
PROGRAM(bitmap_of_places)
{
	if (LANE >= 4)
		return;
	for (unsigned k = ME * 7;; k++) {
		unsigned bit = 1u << k % 32, word = k / 32 % 4;
		if (atomicOr(&m->flag[word], bit) & bit)
			continue;
		__threadfence();
		m->data[word * 32 + k % 32] = ME;
		break;
	}
}

/* A place is given back and taken again, by whoever comes. */
PROGRAM(pool_of_buffers)
{
	unsigned at = blockIdx.x % 2;

	if (!LEADS)
		return;
	for (unsigned k = 0; k < 3; k++) {
		while (atomicCAS(&m->flag[at], 0, 1) != 0)
			at = (at + 1) % 2;
		__threadfence();
		for (unsigned i = 0; i < 4; i++)
			m->data[at * 4 + i] = blockIdx.x * 10 + k + i;
		unsigned sum = 0;
		for (unsigned i = 0; i < 4; i++)
			sum += m->data[at * 4 + i];
		expect(m, sum == 4 * (blockIdx.x * 10 + k) + 6);
		__threadfence();
		atomicExch(&m->flag[at], 0);
	}
}

/* The smallest distance wins; whether it changed decides who goes on. */
PROGRAM(relaxed_edges)
{
	for (unsigned k = 0; k < 3; k++) {
		unsigned to = (ME * 5 + k) % 32, d = (ME * 13 + k) % 97;
		if (atomicMin(&m->count[to], d) > d)
			atomicAdd(&m->out[to], 1);
	}
}

/* The value and its place in one word of 64 bits. */
PROGRAM(largest_and_where)
{
	unsigned long long mine = (unsigned long long)(ME * 37 % 101) << 32 | ME;
	unsigned long long was = m->pair[8] /* never written */;

	while (was < mine) {
		unsigned long long now = atomicCAS(&m->pair[0], was, mine);
		if (now == was)
			break;
		was = now;
	}
}

/* Sets joined under their smaller root. */
PROGRAM(union_find)
{
	unsigned a = ME, b = (ME + 17) % 256;

	if (LANE >= 8)
		return;
	for (;;) {
		unsigned up;
		while ((up = load_relaxed(&m->next[a])) != 0)
			a = up - 1;
		while ((up = load_relaxed(&m->next[b])) != 0)
			b = up - 1;
		if (a == b)
			break;
		unsigned low = a < b ? a : b, high = a < b ? b : a;
		if (atomicCAS(&m->next[high], 0, low + 1) == 0)
			break;
	}
}

static const struct row rows[] = {
	ROW(warp_aggregated_queue) ROW(aggregated_in_a_branch) ROW(block_queue) ROW(aggregated_by_key)
	ROW(reduction_over_shuffles) ROW(reduction_with_syncwarp) ROW(transposed_in_a_warp)
	ROW(leader_prepares) ROW(scan_of_a_block) ROW(histogram) ROW(histogram_by_warps)
	ROW(hash_table) ROW(pushed_list) ROW(bitmap_of_places) ROW(pool_of_buffers)
	ROW(relaxed_edges) ROW(largest_and_where) ROW(union_find)
};
MAIN
