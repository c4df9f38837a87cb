/*
 * tails.cu - rings whose last stages are given back after the loop, or by one lane a turn late, and
 * waits that are tried once before they are repeated, as CUTLASS has them; each with what takes the
 * order away.
 */
#include "mbarrier.cuh"

// CUTLASS' PipelineState.
struct State {
	int stage, phase;
};
__device__ __forceinline__ void next(State &x, int stages)
{
	if (++x.stage == stages) {
		x.stage = 0;
		x.phase ^= 1;
	}
}

// Warp 4's first lane fills the stages, the warps before it read and give them back.
#define RING(stages, of_empty, ready, ...)                                                                     \
	__shared__ alignas(16) float s[stages][128];                                                           \
	__shared__ u64 full[stages], empty[stages];                                                            \
	int t = threadIdx.x;                                                                                   \
	float sum = 0;                                                                                         \
	set_up(full, 1, empty, of_empty, stages);                                                              \
	if (t >= 128) {                                                                                        \
		State w = {0, 1};                                                                              \
		if (t == 128)                                                                                  \
			_Pragma("unroll 1")                                                                    \
			for (int k = 0; k < n; k++) {                                                          \
				ready;                                                                         \
				expect(&full[w.stage], 512);                                                   \
				fill(s[w.stage], in + k * 128, 512, &full[w.stage]);                           \
				next(w, stages);                                                               \
			}                                                                                      \
	} else {                                                                                               \
		State r = {0, 0};                                                                             \
		__VA_ARGS__;                                                                                   \
		out[blockIdx.x * 128 + t] = sum;                                                               \
	}
#define GIVEN wait(&empty[w.stage], w.phase)
#define TAKE wait(&full[r.stage], r.phase); sum += s[r.stage][127 - t]
#define LOOP(first, ...)                                                                                       \
	_Pragma("unroll 1")                                                                                    \
	for (int k = first; k < n; k++) {                                                                      \
		__VA_ARGS__;                                                                                   \
	}

// ---- the first stage is taken in front of the loop, and the last one given back after it

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

// ---- one lane of each warp gives a stage back, a turn late

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

// ---- a wait that is tried once

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
