/*
 * late.cu - rings of which one lane of each warp gives a stage back, a turn late, as CUTLASS has
 * them; each with what takes the order away.
 */
#include "ring.cuh"

// prove: lanes_late race-free --block-dim=160
__global__ void lanes_late(float *out, const float *in, int n)
{
	RING(3, 4, GIVEN, LOOP(0, TAKE; __syncwarp(); if (k > 0 && t % 32 == 0) arrive(&empty[(k - 1) % 3]); next(r, 3)))
}
// The lanes meet between the reads of the turn before and the lane's arrival for them.
// prove: lanes_late_first race-free --block-dim=160
__global__ void lanes_late_first(float *out, const float *in, int n)
{
	RING(3, 4, GIVEN, LOOP(0, __syncwarp(); if (k > 0 && t % 32 == 0) arrive(&empty[(k - 1) % 3]); TAKE; next(r, 3)))
}
// prove: lanes_tail race-free --block-dim=160
__global__ void lanes_tail(float *out, const float *in, int n)
{
	RING(3, 4, GIVEN, LOOP(0, TAKE; __syncwarp(); if (k > 0 && t % 32 == 0) arrive(&empty[(k - 1) % 3]); next(r, 3))
	     __syncwarp(); if (n > 0 && t % 32 == 0) arrive(&empty[(n - 1) % 3]))
}
// prove: lanes_apart true racy --block-dim=160
__global__ void lanes_apart(float *out, const float *in, int n)
{
	RING(3, 4, GIVEN, LOOP(0, TAKE; if (k > 0 && t % 32 == 0) arrive(&empty[(k - 1) % 3]); next(r, 3)))
}
// Only half of each warp's lanes wait for one another.
// prove: lanes_half true racy --block-dim=160
__global__ void lanes_half(float *out, const float *in, int n)
{
	RING(3, 4, GIVEN, LOOP(0, TAKE; if (t % 32 < 16) __syncwarp(0xffff); if (k > 0 && t % 32 == 0) arrive(&empty[(k - 1) % 3]); next(r, 3)))
}
// The lanes meet, and then read.
// prove: lanes_read_later true racy --block-dim=160
__global__ void lanes_read_later(float *out, const float *in, int n)
{
	RING(3, 4, GIVEN, LOOP(0, __syncwarp(); TAKE; if (t % 32 == 0) arrive(&empty[k % 3]); next(r, 3)))
}
