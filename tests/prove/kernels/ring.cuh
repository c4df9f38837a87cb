/*
 * ring.cuh - a ring of stages that one lane of warp 4 fills and four warps read, by two mbarriers
 * for each stage (tails.cu, late.cu, tried.cu).
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
