/*
 * tails.cu - rings whose first stage is taken in front of the loop, and the last ones given back
 * after it, as CUTLASS has them; each with what takes the order away.
 */
#include "ring.cuh"

// prove: tail race-free --block-dim=160
__global__ void tail(float *out, const float *in, int n)
{
	State g = {0, 0};
	RING(3, 128, GIVEN, TAKE; next(r, 3); LOOP(1, TAKE; next(r, 3); arrive(&empty[g.stage]); next(g, 3)) arrive(&empty[g.stage]))
}
// prove: tail_of_two race-free --block-dim=160
__global__ void tail_of_two(float *out, const float *in, int n)
{
	State g = {0, 0};
	RING(2, 128, GIVEN, TAKE; next(r, 2); LOOP(1, TAKE; next(r, 2); arrive(&empty[g.stage]); next(g, 2)) arrive(&empty[g.stage]))
}
// prove: tail_of_four race-free --block-dim=160
__global__ void tail_of_four(float *out, const float *in, int n)
{
	State g = {0, 0};
	RING(4, 128, GIVEN, TAKE; next(r, 4); LOOP(1, TAKE; next(r, 4); arrive(&empty[g.stage]); next(g, 4)) if (n > 0) arrive(&empty[g.stage]))
}
// By the number of iterations.
// prove: tail_by_number race-free --block-dim=160
__global__ void tail_by_number(float *out, const float *in, int n)
{
	RING(3, 128, GIVEN, TAKE; next(r, 3); LOOP(1, TAKE; next(r, 3); arrive(&empty[(k - 1) % 3])) if (n > 0) arrive(&empty[(n - 1) % 3]))
}
// Never given back, as no producer waits for it.
// prove: tail_left_out race-free --block-dim=160
__global__ void tail_left_out(float *out, const float *in, int n)
{
	State g = {0, 0};
	RING(3, 128, GIVEN, TAKE; next(r, 3); LOOP(1, TAKE; next(r, 3); arrive(&empty[g.stage]); next(g, 3)))
}
// The first stage is read once more, which may be filled for the last turn meanwhile.
// prove: tail_read_again true racy --block-dim=160
__global__ void tail_read_again(float *out, const float *in, int n)
{
	RING(3, 128, GIVEN, LOOP(1, TAKE; arrive(&empty[r.stage]); next(r, 3)) sum += s[0][127 - t])
}
// In the loop the stage is given back that is to be read: only that the producer's waits come one
// after another keeps it.
// prove: tail_too_early potential free --block-dim=160
__global__ void tail_too_early(float *out, const float *in, int n)
{
	State g = {0, 0};
	RING(2, 128, GIVEN, TAKE; next(r, 2); next(g, 2); LOOP(1, arrive(&empty[g.stage]); next(g, 2); TAKE; next(r, 2)) arrive(&empty[0]))
}
// The first stage is given back twice, the second time after the loop: too few others need arrive.
// prove: tail_twice potential free --block-dim=160
__global__ void tail_twice(float *out, const float *in, int n)
{
	RING(3, 128, GIVEN, LOOP(0, TAKE; arrive(&empty[r.stage]); next(r, 3)) arrive(&empty[r.stage]); arrive(&empty[r.stage]))
}
// Nobody has waited for the first stage.
// prove: tail_no_first true racy --block-dim=160
__global__ void tail_no_first(float *out, const float *in, int n)
{
	State g = {0, 0};
	RING(3, 128, GIVEN, sum += s[0][127 - t]; next(r, 3); LOOP(1, TAKE; next(r, 3); arrive(&empty[g.stage]); next(g, 3)) arrive(&empty[g.stage]))
}
// Half of the threads arrive, as many as are counted, before the others have read.
// prove: tail_of_half true racy --block-dim=160
__global__ void tail_of_half(float *out, const float *in, int n)
{
	State g = {0, 0};
	RING(3, 64, GIVEN, TAKE; next(r, 3); LOOP(1, TAKE; next(r, 3); if (t < 64) arrive(&empty[g.stage]); next(g, 3)) if (t < 64) arrive(&empty[g.stage]))
}
