/*
 * grids.h - planted races between blocks: elements, counters, tables, locks, flags.
 *
 * What blocks share by a flag or a ticket has a place for each turn, and numbers go on from launch
 * to launch. A block waits for one with a lower number at most.
 */
#ifndef COLLIDER_BENCH_GRIDS_H
#define COLLIDER_BENCH_GRIDS_H

#include "planted.h"

/* ---- elements ------------------------------------------------------------------------------ */

PLANTED(element_written) /* two blocks write one element */
{
	p.a[hit ? NEXT : ME] = i;
}

PLANTED(element_read) /* a block reads what its neighbour writes */
{
	sum += p.a[hit ? NEXT : ME];
	pass(p, hit);
	p.a[ME] = sum;
}

PLANTED(other_array) /* ... in an array that this block has finished with */
{
	p.b[ME] = p.a[ME] + i;
	pass(p, hit);
	if (hit)
		sum += p.b[NEXT];
}

PLANTED(byte)
{
	p.bytes[hit ? NEXT : ME] = (unsigned char)i;
}

PLANTED(half)
{
	p.halves[hit ? NEXT : ME] = (unsigned short)i;
}

PLANTED(vector) /* four elements at once, of which one is another thread's */
{
	if (T % 4 == 0)
		*reinterpret_cast<int4 *>(p.a + (hit ? NEXT : ME)) = make_int4(i, i, i, i);
}

PLANTED(off_by_one)
{
	p.a[hit && T == THREADS - 1 ? (ME + 1) % (p.blocks * THREADS) : ME] = sum + i;
}

PLANTED(chunk) /* a block's part begins four elements too early */
{
	p.a[hit ? ME - 4 : ME] = sum + i;
}

PLANTED(stencil) /* the neighbour's rim, in place */
{
	int v = p.a[ME];

	if (hit && T == 0)
		v += p.a[ME - 1];
	pass(p, hit);
	p.a[ME] = v + 1;
}

PLANTED(gather) /* an index from memory is another block's */
{
	p.b[ME] = hit ? NEXT : ME;
	p.a[p.b[ME]] = i;
}

/* ---- counters ------------------------------------------------------------------------------ */

PLANTED(counter) /* a counter without an atomic */
{
	if (T == 0) {
		if (hit)
			*p.count += 1;
		else
			atomicAdd(p.count, 1);
	}
}

PLANTED(block_atomic) /* an atomic of the block where blocks share the element */
{
	if (T == 0) {
		if (hit)
			atomicAdd_block(p.count, 1);
		else
			atomicAdd(p.count, 1);
	}
}

PLANTED(counter_read) /* a counter is read plainly, while others add to it */
{
	if (T == 0) {
		atomicAdd(p.count, 1);
		if (hit)
			sum += *p.count;
	}
}

PLANTED(column) /* sums of columns */
{
	float *f = reinterpret_cast<float *>(p.a);

	if (hit && T == 17)
		f[T] += 1;
	else
		atomicAdd(&f[T], 1.0f);
}

PLANTED(maximum)
{
	if (T == 0) {
		if (!hit)
			atomicMax(p.count, i + B);
		else if (*p.count < i + B)
			*p.count = i + B;
	}
}

PLANTED(bitmap)
{
	if (T % 32 == 0) {
		if (hit)
			p.count[PAIR] |= 1 << (i & 31);
		else
			atomicOr(&p.count[PAIR], 1 << (i & 31));
	}
}

/* ---- tables and frontiers ------------------------------------------------------------------ */

PLANTED(visited) /* a vertex is marked by two blocks */
{
	if (T == 0) {
		if (hit)
			p.a[PAIR] = 1;
		else
			atomicExch(&p.a[PAIR], 1);
	}
}

PLANTED(relax) /* a shorter way is stored without an atomic */
{
	if (T < 4) {
		int d = -1 - p.launch - i;
		if (!hit)
			atomicMin(&p.a[PAIR * 4 + T], d);
		else if (p.a[PAIR * 4 + T] > d)
			p.a[PAIR * 4 + T] = d;
	}
}

PLANTED(hash_insert) /* a slot is looked at and taken, not by compare-and-swap */
{
	if (T == 0) {
		int *slot = &p.a[PAIR * 7], key = 1 + i;
		if (!hit)
			atomicCAS(slot, 0, key);
		else if (*slot == 0 || i)
			*slot = key;
	}
}

PLANTED(hash_value) /* the value of a key that another block inserts */
{
	if (T == 0) {
		p.b[B * THREADS + i] = i;
		if (hit)
			sum += p.b[(B - 1) * THREADS + i];
	}
}

/* ---- locks --------------------------------------------------------------------------------- */

__device__ static void lock(int *at)
{
	while (atomicCAS(at, 0, 1))
		;
	__threadfence();
}

__device__ static void unlock(int *at, bool has_fence)
{
	if (has_fence)
		__threadfence();
	atomicExch(at, 0);
}

PLANTED(lock_missing)
{
	if (T == 0) {
		if (!hit)
			lock(&p.count[PAIR]);
		p.a[PAIR] += i;
		pass(p, hit);
		if (!hit)
			unlock(&p.count[PAIR], true);
	}
}

PLANTED(lock_wrong) /* another lock */
{
	if (T == 0) {
		int *l = &p.count[hit ? p.blocks / 2 + PAIR : PAIR];
		lock(l);
		p.a[PAIR] += i;
		pass(p, hit);
		unlock(l, true);
	}
}

PLANTED(lock_early) /* it is given back before the last access */
{
	if (T == 0) {
		lock(&p.count[PAIR]);
		if (!hit)
			p.a[PAIR] += i;
		unlock(&p.count[PAIR], true);
		if (hit)
			p.a[PAIR] += i;
	}
}

/* ---- flags and tickets --------------------------------------------------------------------- */

/* A flag for each block and turn: a later one would order this turn, too. */
__device__ static int *flag_of(const plan &p, int block, int i)
{
	return &p.a[block * THREADS + i];
}

__device__ static void await(int *flag, int n)
{
	while (atomicAdd(flag, 0) < n)
		;
}

/* A flag as it should be: `block` publishes its word of turn i, and another one takes it. */
__device__ static void publish(const plan &p, int block, int i)
{
	p.b[block * THREADS + i] = i;
	__threadfence();
	atomicExch(flag_of(p, block, i), p.launch + 1);
}

__device__ static int take(const plan &p, int block, int i)
{
	await(flag_of(p, block, i), p.launch + 1);
	__threadfence();
	return p.b[block * THREADS + i];
}

PLANTED(flag_no_fence) /* published without a fence; odd blocks publish */
{
	if (T == 0 && B % 2) {
		p.b[B * THREADS + i] = i;
		if (!hit)
			__threadfence();
		atomicExch(flag_of(p, B, i), p.launch + 1);
	} else if (T == 0 && B) {
		sum += take(p, B - 1, i);
	}
}

PLANTED(flag_narrow) /* ... with a fence of the block */
{
	if (T == 0 && B % 2) {
		p.b[B * THREADS + i] = i;
		if (hit)
			__threadfence_block();
		else
			__threadfence();
		atomicExch(flag_of(p, B, i), p.launch + 1);
	} else if (T == 0 && B) {
		sum += take(p, B - 1, i);
	}
}

PLANTED(flag_weak) /* ... the flag by a plain store */
{
	if (T == 0 && B % 2) {
		p.b[B * THREADS + i] = i;
		__threadfence();
		if (hit)
			*flag_of(p, B, i) = p.launch + 1;
		else
			atomicExch(flag_of(p, B, i), p.launch + 1);
	} else if (T == 0 && B) {
		sum += take(p, B - 1, i);
	}
}

PLANTED(flag_late) /* ... before what it publishes */
{
	if (T == 0 && B % 2) {
		if (!hit)
			p.b[B * THREADS + i] = i;
		__threadfence();
		atomicExch(flag_of(p, B, i), p.launch + 1);
		if (hit)
			p.b[B * THREADS + i] = i;
	} else if (T == 0 && B) {
		sum += take(p, B - 1, i);
	}
}

PLANTED(reader_no_fence) /* the reader has none; odd blocks read */
{
	if (T == 0 && B % 2 == 0) {
		publish(p, B, i);
	} else if (T == 0) {
		await(flag_of(p, B - 1, i), p.launch + 1);
		if (!hit)
			__threadfence();
		sum += p.b[(B - 1) * THREADS + i];
	}
}

PLANTED(reader_early) /* ... doesn't wait */
{
	if (T == 0 && B % 2 == 0) {
		publish(p, B, i);
	} else if (T == 0) {
		if (!hit)
			await(flag_of(p, B - 1, i), p.launch + 1);
		__threadfence();
		sum += p.b[(B - 1) * THREADS + i];
	}
}

PLANTED(others_data) /* what other threads of the publishing block wrote, without its barrier */
{
	if (B % 2) {
		if (T == 40)
			p.b[B * THREADS + i] = i;
		pass(p, hit);
		if (!hit)
			__syncthreads();
		if (T == 0) {
			__threadfence();
			atomicExch(flag_of(p, B, i), p.launch + 1);
		}
	} else if (T == 0 && B) {
		sum += take(p, B - 1, i);
	}
}

PLANTED(last_block) /* the last block sums all, of which one has no fence */
{
	if (T == 0) {
		p.b[B * THREADS + i] = i;
		if (!hit)
			__threadfence();
		if (atomicAdd(&p.count[i], 1) == (p.launch + 1) * p.blocks - 1) {
			__threadfence();
			for (int k = 0; k < p.blocks; k++)
				sum += p.b[k * THREADS + i];
		}
	}
}

#endif
