/*
 * tried.cu - rings with waits that are tried once before they are repeated, as CUTLASS has them;
 * each with what takes the order away.
 */
#include "ring.cuh"

#define TRIED(b, phase) if (!try_wait(b, phase)) wait(b, phase)

// prove: tried race-free --block-dim=160
__global__ void tried(float *out, const float *in, int n)
{
	RING(3, 128, TRIED(&empty[w.stage], w.phase),
	     LOOP(0, TRIED(&full[r.stage], r.phase); sum += s[r.stage][127 - t]; arrive(&empty[r.stage]); next(r, 3)))
}
// prove: tried_tail race-free --block-dim=160
__global__ void tried_tail(float *out, const float *in, int n)
{
	State g = {0, 0};
	RING(2, 128, TRIED(&empty[w.stage], w.phase),
	     TRIED(&full[0], 0); sum += s[0][127 - t]; next(r, 2);
	     LOOP(1, TRIED(&full[r.stage], r.phase); sum += s[r.stage][127 - t]; next(r, 2); arrive(&empty[g.stage]); next(g, 2))
	     arrive(&empty[g.stage]))
}
// It waits where it needn't.
// prove: tried_reversed true racy --block-dim=160
__global__ void tried_reversed(float *out, const float *in, int n)
{
	RING(3, 128, GIVEN,
	     LOOP(0, if (try_wait(&full[r.stage], r.phase)) wait(&full[r.stage], r.phase); sum += s[r.stage][127 - t]; arrive(&empty[r.stage]); next(r, 3)))
}
// It is tried and never repeated.
// prove: tried_once true racy --block-dim=160
__global__ void tried_once(float *out, const float *in, int n)
{
	RING(3, 128, GIVEN, LOOP(0, try_wait(&full[r.stage], r.phase); sum += s[r.stage][127 - t]; arrive(&empty[r.stage]); next(r, 3)))
}
// What it tries is over sooner than what it waits for.
// prove: tried_other_phase true racy --block-dim=160
__global__ void tried_other_phase(float *out, const float *in, int n)
{
	RING(3, 128, GIVEN,
	     LOOP(0, if (!try_wait(&full[r.stage], r.phase ^ 1)) wait(&full[r.stage], r.phase); sum += s[r.stage][127 - t]; arrive(&empty[r.stage]); next(r, 3)))
}
// prove: tried_other_stage true racy --block-dim=160
__global__ void tried_other_stage(float *out, const float *in, int n)
{
	RING(3, 128, GIVEN,
	     LOOP(0, if (!try_wait(&full[0], r.phase)) wait(&full[r.stage], r.phase); sum += s[r.stage][127 - t]; arrive(&empty[r.stage]); next(r, 3)))
}
// Some threads go on when the first try fails.
// prove: tried_by_some true racy --block-dim=160
__global__ void tried_by_some(float *out, const float *in, int n)
{
	RING(3, 128, GIVEN,
	     LOOP(0, if (!try_wait(&full[r.stage], r.phase) && t != 5) wait(&full[r.stage], r.phase); sum += s[r.stage][127 - t]; arrive(&empty[r.stage]); next(r, 3)))
}
