/*
 * planted.h - a race that happens at some executions only: what the kernels of bench/detect share.
 *
 * A block's turn of the loop is an execution. PLANTED(name) begins the turn of one kernel: it races
 * in the executions that are `hit`, with the same turn of another block, with another thread of the
 * block, or with the next turn; else it doesn't. A launch has two turns or more, 64 at most.
 */
#ifndef COLLIDER_BENCH_PLANTED_H
#define COLLIDER_BENCH_PLANTED_H

#define THREADS 64
#define TURNS	64

enum grade { GRADE_EACH, GRADE_1024, GRADE_RARE, GRADE_APART, GRADE_LAST, GRADE_BLOCK, GRADES };

struct plan {
	int grade, blocks, turns, launch, is_last, is_fixed;
	int *a, *b, *count; /* blocks * THREADS each; count: blocks + TURNS */
	int *sink;	    /* what a thread has read in all */
	unsigned char *bytes;
	unsigned short *halves;
};

/* Odd blocks are hit: a hit block's neighbours aren't. */
__device__ static bool is_hit(const plan &p, int turn)
{
	int block = blockIdx.x, id = block * p.turns + turn;

	if (p.is_fixed)
		return false;
	switch (p.grade) {
	case GRADE_EACH:
		return block % 2;
	case GRADE_LAST:
		return block % 2 && p.is_last;
	case GRADE_BLOCK:
		return block == p.blocks / 2 + 1;
	case GRADE_RARE:
		return id == (p.blocks / 2 + 1) * p.turns + 5;
	default:
		return id == 533; /* of 1,024: turn 5 of block 33 */
	}
}

/* Time between the two accesses. */
__device__ static void pass(const plan &p, bool hit)
{
	if (p.grade != GRADE_APART || !hit)
		return;
	for (int i = 0; i < 4000; i++)
		asm volatile("");
}

/* Places of the thread, of the one in its block's neighbours, and of the pair of blocks. */
#define T    ((int)threadIdx.x)
#define B    ((int)blockIdx.x)
#define ME   (B * THREADS + T)
#define NEXT ((ME + THREADS) % (p.blocks * THREADS))
#define PAIR (B / 2)

#define PLANTED(name)                                                                              \
	struct name {                                                                              \
		__device__ static void turn(const plan &p, int i, bool hit, int &sum);             \
	};                                                                                         \
	__device__ __forceinline__ void name::turn(const plan &p, int i, bool hit, int &sum)

#endif
