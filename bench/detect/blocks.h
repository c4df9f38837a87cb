/*
 * blocks.h - planted races between the threads of a block: a barrier that is missing.
 *
 * Forms of tiles, reductions, scans, stencils, sorts, transposes, histograms, queues, pipelines.
 */
#ifndef COLLIDER_BENCH_BLOCKS_H
#define COLLIDER_BENCH_BLOCKS_H

#include "planted.h"

PLANTED(tile_kept) /* the barrier after a tile was read */
{
	__shared__ int s[THREADS];

	s[T] = sum + i;
	__syncthreads();
	sum += s[T ^ 32];
	if (!hit)
		__syncthreads();
	pass(p, hit);
}

PLANTED(tile_early) /* the barrier before it is read */
{
	__shared__ int s[THREADS];

	s[T] = sum + i;
	pass(p, hit);
	if (!hit)
		__syncthreads();
	sum += s[T ^ 32];
	__syncthreads();
}

PLANTED(lanes) /* lanes exchange values without __syncwarp() */
{
	__shared__ int s[THREADS];

	s[T] = sum + i;
	pass(p, hit);
	if (!hit)
		__syncwarp();
	sum += s[T ^ 1];
	__syncwarp();
}

PLANTED(reduction_step)
{
	__shared__ int s[THREADS];

	s[T] = T + i;
	__syncthreads();
	if (T < 32)
		s[T] += s[T + 32];
	pass(p, hit);
	if (!hit)
		__syncthreads();
	if (T >= 32)
		sum += s[T - 32];
	__syncthreads();
}

PLANTED(wrong_buffer) /* the wrong one of two buffers */
{
	__shared__ int s[2][THREADS];

	if (!i) {
		s[0][T] = s[1][T] = T;
		__syncthreads();
	}
	s[i & 1][T] = sum + i;
	pass(p, hit);
	sum += s[(i & 1) ^ !hit][T ^ 32];
	__syncthreads();
}

PLANTED(tree) /* a tree reduction: the barrier after its first step */
{
	__shared__ int s[THREADS];

	s[T] = T + i;
	__syncthreads();
	for (int d = THREADS / 2; d > 0; d /= 2) {
		if (T < d)
			s[T] += s[T + d];
		if (!hit || d != THREADS / 2)
			__syncthreads();
		else
			pass(p, hit);
	}
	sum += s[0];
	__syncthreads();
}

PLANTED(warp_tail) /* the last warp of a reduction takes itself for lockstep */
{
	__shared__ int s[THREADS];

	s[T] = T + i;
	__syncthreads();
	if (T < 32) {
		for (int d = 16; d > 0; d /= 2) {
			int other = T < d ? s[T + d] : 0;
			if (!hit)
				__syncwarp();
			pass(p, hit && d == 16);
			s[T] += other;
			if (!hit)
				__syncwarp();
		}
	}
	__syncthreads();
	sum += s[0];
	__syncthreads();
}

PLANTED(scan) /* a scan in place, that reads what is added to */
{
	__shared__ int s[THREADS];

	s[T] = T + i;
	__syncthreads();
	int v = T >= 32 ? s[T - 32] : 0;
	pass(p, hit);
	if (!hit)
		__syncthreads();
	s[T] += v + 1;
	__syncthreads();
	sum += s[T];
}

PLANTED(scan_totals) /* the totals of warps */
{
	__shared__ int total[THREADS / 32];

	int v = __reduce_add_sync(~0u, T + i);
	if (T % 32 == 31)
		total[T / 32] = v;
	pass(p, hit);
	if (!hit)
		__syncthreads();
	sum += total[!(T / 32)];
	__syncthreads();
}

PLANTED(transpose)
{
	__shared__ int s[8][9];

	s[T / 8][T % 8] = T + i;
	pass(p, hit);
	if (!hit)
		__syncthreads();
	sum += s[T % 8][T / 8];
	__syncthreads();
}

PLANTED(gemm) /* tiles that are loaded again while others multiply them */
{
	__shared__ float x[8][8], y[8][8];

	x[T / 8][T % 8] = (float)(T + i);
	y[T / 8][T % 8] = (float)(T - i);
	__syncthreads();
	float v = 0;
	for (int k = 0; k < 8; k++)
		v += x[T / 8][k] * y[k][T % 8];
	sum += (int)v;
	pass(p, hit);
	if (!hit)
		__syncthreads();
}

PLANTED(halo) /* the tile's rim is loaded by other threads */
{
	__shared__ int s[THREADS + 2];

	s[T + 1] = T + i;
	if (T < 2)
		s[T ? THREADS + 1 : 0] = i;
	pass(p, hit);
	if (!hit)
		__syncthreads();
	sum += s[T] + s[T + 2];
	__syncthreads();
}

PLANTED(in_place) /* a stencil's step in place */
{
	__shared__ int s[THREADS];

	s[T] = T + i;
	__syncthreads();
	int v = s[(T + 1) % THREADS] + s[(T + THREADS - 1) % THREADS];
	pass(p, hit);
	if (!hit)
		__syncthreads();
	s[T] = v;
	__syncthreads();
	sum += s[T ^ 1];
	__syncthreads();
}

PLANTED(path) /* a row of dynamic programming, whose source is written too early */
{
	__shared__ int now[THREADS], then[THREADS];

	now[T] = sum + i;
	__syncthreads();
	then[T] = min(now[max(T - 1, 0)], now[min(T + 1, THREADS - 1)]);
	pass(p, hit);
	if (!hit)
		__syncthreads();
	now[T] = then[T];
	__syncthreads();
	sum += now[T ^ 32];
	__syncthreads();
}

PLANTED(wavefront) /* diagonals of an alignment */
{
	__shared__ int s[9][9];

	for (int k = T; k < 81; k += THREADS)
		s[k / 9][k % 9] = i;
	__syncthreads();
	for (int d = 0; d < 8; d++) {
		if (T <= d)
			s[T + 1][d - T + 1] = max(s[T][d - T + 1], s[T + 1][d - T]) + 1;
		if (!hit || d != 4)
			__syncthreads();
		else
			pass(p, hit);
	}
	sum += s[T / 8 + 1][T % 8 + 1];
	__syncthreads();
}

PLANTED(bins) /* a bin without an atomic */
{
	__shared__ int bin[8];

	if (T < 8)
		bin[T] = 0;
	__syncthreads();
	if (hit)
		bin[T % 8]++;
	else
		atomicAdd(&bin[T % 8], 1);
	__syncthreads();
	sum += bin[T % 8];
	__syncthreads();
}

PLANTED(bins_cleared) /* bins that are counted in before they are cleared */
{
	__shared__ int bin[8];

	if (T < 8)
		bin[T] = 0;
	pass(p, hit);
	if (!hit)
		__syncthreads();
	atomicAdd(&bin[(T + i) % 8], 1);
	__syncthreads();
	sum += bin[T % 8];
	__syncthreads();
}

PLANTED(bins_read) /* bins that are read while others still count */
{
	__shared__ int bin[8];

	if (T < 8)
		bin[T] = 0;
	__syncthreads();
	atomicAdd(&bin[(T + i) % 8], 1);
	pass(p, hit);
	if (!hit)
		__syncthreads();
	if (T < 8)
		sum += bin[T];
	__syncthreads();
}

__device__ static void exchange(int *s, int a, int b)
{
	if (s[a] > s[b]) {
		int v = s[a];
		s[a] = s[b];
		s[b] = v;
	}
}

PLANTED(bitonic) /* a step of a sorting network */
{
	__shared__ int s[THREADS];

	s[T] = (T * 37 + i) % THREADS;
	__syncthreads();
	for (int d = 32; d > 0; d /= 2) {
		if ((T ^ d) > T)
			exchange(s, T, T ^ d);
		if (!hit || d != 32)
			__syncthreads();
		else
			pass(p, hit);
	}
	sum += s[T];
	__syncthreads();
}

PLANTED(odd_even) /* a sort by neighbours, of which the second step comes too early */
{
	__shared__ int s[2 * THREADS];

	s[T] = (T * 37 + i) % THREADS;
	s[T + THREADS] = T;
	__syncthreads();
	exchange(s, 2 * T, 2 * T + 1);
	pass(p, hit);
	if (!hit)
		__syncthreads();
	if (T < THREADS - 1)
		exchange(s, 2 * T + 1, 2 * T + 2);
	__syncthreads();
	sum += s[T];
	__syncthreads();
}

PLANTED(votes) /* each warp's count, read by the others */
{
	__shared__ int votes[THREADS / 32];

	unsigned mask = __ballot_sync(~0u, (T + i) % 3 == 0);
	if (T % 32 == 0)
		votes[T / 32] = __popc(mask);
	pass(p, hit);
	if (!hit)
		__syncthreads();
	sum += votes[0] + votes[1];
	__syncthreads();
}

PLANTED(broadcast) /* one thread's value for all */
{
	__shared__ int v;

	if (T == 0)
		v = sum + i;
	pass(p, hit);
	if (!hit)
		__syncthreads();
	sum += v;
	__syncthreads();
}

PLANTED(done) /* "has anyone changed something?", asked again too early */
{
	__shared__ int changed;

	if (T == 0)
		changed = 0;
	__syncthreads();
	if (T == 40)
		changed = i + 1;
	__syncthreads();
	sum += changed;
	pass(p, hit);
	if (!hit)
		__syncthreads();
}

PLANTED(queue) /* entries of a block's queue, read before they are there */
{
	__shared__ int n, entry[THREADS];

	if (T == 0)
		n = 0;
	__syncthreads();
	entry[atomicAdd(&n, 1)] = T + i;
	pass(p, hit);
	if (!hit)
		__syncthreads();
	sum += entry[THREADS - 1 - T];
	__syncthreads();
}

PLANTED(queue_end) /* two threads move a queue's end without an atomic */
{
	__shared__ int n;

	if (T == 0)
		n = i;
	__syncthreads();
	if (T % 32 == 7) {
		if (hit)
			n++;
		else
			atomicAdd(&n, 1);
	}
	__syncthreads();
	sum += n;
	__syncthreads();
}

PLANTED(compact) /* kept elements are moved together */
{
	__shared__ int kept[THREADS], base[2];

	bool keeps = (T + i) % 2;
	unsigned mask = __ballot_sync(~0u, keeps);
	if (T % 32 == 0)
		base[T / 32] = T / 32 * 16;
	__syncthreads();
	if (keeps)
		kept[base[T / 32] + __popc(mask & ((1u << T % 32) - 1))] = T + i;
	pass(p, hit);
	if (!hit)
		__syncthreads();
	sum += kept[(T + 16) % 32];
	__syncthreads();
}

PLANTED(pivot) /* elimination by a row that is still scaled */
{
	__shared__ float m[8][8];

	m[T / 8][T % 8] = (float)(T + i + 1);
	__syncthreads();
	if (T < 8)
		m[0][T] *= 0.5f;
	pass(p, hit);
	if (!hit)
		__syncthreads();
	if (T >= 8)
		m[T / 8][T % 8] -= m[0][T % 8];
	__syncthreads();
	sum += (int)m[T % 8][T / 8];
	__syncthreads();
}

PLANTED(dot) /* one thread sums what the others have not yet stored */
{
	__shared__ float part[THREADS];

	part[T] = (float)(T * i);
	pass(p, hit);
	if (!hit)
		__syncthreads();
	if (T == 0)
		for (int k = 0; k < THREADS; k++)
			sum += (int)part[k];
	__syncthreads();
}

PLANTED(scratch) /* another warp's scratch memory */
{
	__shared__ int s[THREADS / 32][32];

	s[(T / 32) ^ (hit && T >= 32)][T % 32] = sum + i;
	__syncwarp();
	sum += s[(T / 32) ^ (hit && T >= 32)][(T + 1) % 32];
	__syncwarp();
	pass(p, hit);
}

PLANTED(named) /* half of the block waits for the other by a numbered barrier */
{
	__shared__ int s[32];

	if (T < 32)
		s[T] = sum + i;
	pass(p, hit);
	if (!hit)
		asm volatile("bar.sync 1, 64;" ::: "memory");
	if (T >= 32)
		sum += s[T - 32];
	__syncthreads();
}

__device__ static void copy_async(int *to, const int *from)
{
	asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(
			     (unsigned)__cvta_generic_to_shared(to)),
		     "l"(from)
		     : "memory");
}

PLANTED(async_early) /* an asynchronous copy that isn't waited for */
{
	__shared__ int s[THREADS];

	copy_async(&s[T], &p.b[ME]);
	if (!hit)
		asm volatile("cp.async.wait_all;" ::: "memory");
	__syncthreads();
	sum += s[T ^ 32];
	asm volatile("cp.async.wait_all;" ::: "memory");
	__syncthreads();
}

PLANTED(async_reuse) /* ... into what others still read */
{
	__shared__ int s[THREADS];

	copy_async(&s[T], &p.b[ME]);
	asm volatile("cp.async.wait_all;" ::: "memory");
	__syncthreads();
	sum += s[T ^ 32];
	pass(p, hit);
	if (!hit)
		__syncthreads();
}

PLANTED(reverse) /* a block turns its part of an array around */
{
	int v = p.a[B * THREADS + THREADS - 1 - T];

	pass(p, hit);
	if (!hit)
		__syncthreads();
	p.a[ME] = v + 1;
	__syncthreads();
}

PLANTED(shift) /* ... moves it on by one */
{
	int v = p.a[B * THREADS + (T + 1) % THREADS];

	pass(p, hit);
	if (!hit)
		__syncthreads();
	p.a[ME] = v + i;
	__syncthreads();
}

PLANTED(exchange_global) /* threads of a block exchange values through global memory */
{
	p.a[ME] = sum + i;
	pass(p, hit);
	if (!hit)
		__syncthreads();
	sum += p.a[ME ^ 32];
	__syncthreads();
}

#endif
