// bands.cu - what only threads below a bound move on in a loop: trees whose bound the loop halves.
#pragma nv_diag_suppress 177,550 // not all kernels use all variables
#define t threadIdx.x
#define b blockIdx.x

// Each step's part of the output begins where the row of the next one ends.
#define TREE(BOUND, HALF, BEGIN, ROW)                                                              \
	__shared__ float s[2 * 128];                                                               \
	unsigned active = 64, apart = 1, from = 2 * t;                                             \
	s[t] = in[b * 256 + t];                                                                    \
	s[t + 128] = in[b * 256 + t + 128];                                                        \
	__syncthreads();                                                                           \
	for (unsigned i = 0; i < 7; i++) {                                                         \
		if (t < BOUND) {                                                                   \
			float x = s[from], y = s[from + apart];                                    \
			out[BEGIN * gridDim.x + b * ROW + t] = x - y;                              \
			s[from] = x + y;                                                           \
			active = HALF;                                                             \
			apart *= 2;                                                                \
			from *= 2;                                                                 \
		}                                                                                  \
		__syncthreads();                                                                   \
	}
// prove: tree race-free --block-dim=128 --grid-dim=32
__global__ void tree(float *out, const float *in) { TREE(active, active / 2, active, active) }
// prove: tree_wide true racy --block-dim=128 --grid-dim=32
__global__ void tree_wide(float *out, const float *in) { TREE(2 * active, active / 2, active, active) }
// prove: tree_close race-free --block-dim=128 --grid-dim=32
__global__ void tree_close(float *out, const float *in) { TREE(active, active / 2, (active - 1), active) }
// prove: tree_before true racy --block-dim=128 --grid-dim=32
__global__ void tree_before(float *out, const float *in) { TREE(active, active / 2, (active / 4 * 3), active) }
// prove: tree_narrow true racy --block-dim=128 --grid-dim=32
__global__ void tree_narrow(float *out, const float *in) { TREE(active, active / 2, active, (active - 1)) }
// prove: tree_stays potential racy --block-dim=128 --grid-dim=32
__global__ void tree_stays(float *out, const float *in) { TREE(active, active - 16, active, active) }
// prove: tree_flat true racy --block-dim=128 --grid-dim=32
__global__ void tree_flat(float *out, const float *in) { TREE(active, active / 2, 64, active) }
// prove: tree_to_all potential racy --block-dim=128 --grid-dim=32
__global__ void tree_to_all(float *out, const float *in) { TREE(active || t == 127, active / 2, active, active) }

// What a thread that has stopped has is still its last number.
#define STOPS(WHEN, AT)                                                                            \
	unsigned mine = 1;                                                                         \
	for (unsigned i = 0; i < 5; i++)                                                           \
		if (WHEN)                                                                          \
			mine *= 2;                                                                 \
	out[AT] = t;
// prove: stops race-free --block-dim=64 --grid-dim=1
__global__ void stops(unsigned *out) { STOPS(t < mine, (mine - 1) * 64 + t) }
// prove: stops_shared true racy --block-dim=64 --grid-dim=1
__global__ void stops_shared(unsigned *out) { STOPS(t < mine, mine + t) }

// From the thread's position or the end on, whichever is less, as often as somebody says.
#define LEAST(END, STEP)                                                                           \
	unsigned all = gridDim.x * blockDim.x, start = b * blockDim.x + t, end = start + 4 * all;  \
	start = start > END ? END : start;                                                         \
	end = end > n ? n : end;                                                                   \
	for (unsigned k = 0; k < often; k++)                                                       \
		for (unsigned i = start; i < end; i += STEP)                                       \
			a[i] += k;
// prove: least race-free --block-dim=256 --grid-dim=64 --param=n=8192
__global__ void least(unsigned *a, unsigned n, unsigned often) { LEAST(n, all) }
// prove: least_short true racy --block-dim=256 --grid-dim=64 --param=n=8192
__global__ void least_short(unsigned *a, unsigned n, unsigned often) { LEAST(n, all / 64) }
// prove: least_within true racy --block-dim=256 --grid-dim=64 --param=n=8192
__global__ void least_within(unsigned *a, unsigned n, unsigned often) { LEAST(n - 1, all) }
