// common.cu - what all threads of a block read in one place, while nobody writes there.
#pragma nv_diag_suppress 177,550 // not all kernels use all variables
#define t threadIdx.x
#define b blockIdx.x
#define g (blockIdx.x * blockDim.x + threadIdx.x)

// A loop with barriers that goes on as long as a number in shared memory says.
#define STEPS(FIRST, DOWN, BEHIND)                                                                 \
	__shared__ int left, row[256];                                                             \
	if (t == 0)                                                                                \
		left = in[b];                                                                      \
	FIRST;                                                                                     \
	while (left > 0) {                                                                         \
		row[t] = in[g];                                                                    \
		__syncthreads();                                                                   \
		out[g] += row[t ^ 1];                                                              \
		DOWN;                                                                              \
		BEHIND;                                                                            \
	}
// prove: steps race-free --block-dim=256
__global__ void steps(int *out, const int *in)
{
	STEPS(__syncthreads(), if (t == 0) left--, __syncthreads())
}
// prove: steps_by_all potential racy --block-dim=256
__global__ void steps_by_all(int *out, const int *in)
{
	STEPS(__syncthreads(), left = left - 1, __syncthreads())
}
// prove: steps_begin_early true racy --block-dim=256
__global__ void steps_begin_early(int *out, const int *in)
{
	STEPS(, if (t == 0) left--, __syncthreads())
}
// prove: steps_no_barrier potential racy --block-dim=256
__global__ void steps_no_barrier(int *out, const int *in)
{
	STEPS(__syncthreads(), if (t == 0) left--, )
}
// prove: steps_elsewhere potential racy --block-dim=256
__global__ void steps_elsewhere(int *out, const int *in)
{
	STEPS(__syncthreads(), (&left)[in[g]] = 1, __syncthreads())
}
// Whether anything has changed, as a solver asks in each turn.
#define UNTIL(READ, MIDDLE, AGAIN)                                                                 \
	__shared__ int changed, row[256];                                                          \
	row[t] = in[g];                                                                            \
	for (;;) {                                                                                 \
		__syncthreads();                                                                   \
		if (t == 0)                                                                        \
			changed = 0;                                                               \
		__syncthreads();                                                                   \
		int v = row[(t + 1) & 255];                                                        \
		MIDDLE;                                                                            \
		if (v > row[t]) {                                                                  \
			row[t] = v;                                                                \
			atomicExch(&changed, 1);                                                   \
		}                                                                                  \
		AGAIN;                                                                             \
		if (READ)                                                                          \
			break;                                                                     \
	}                                                                                          \
	out[g] = row[t];
// prove: until race-free --block-dim=256
__global__ void until(int *out, const int *in) { UNTIL(!changed, __syncthreads(), __syncthreads()) }
// prove: until_read_early unproven racy --block-dim=256
__global__ void until_read_early(int *out, const int *in) { UNTIL(!changed, __syncthreads(), ) }
// prove: until_other_cell unproven racy --block-dim=256
__global__ void until_other_cell(int *out, const int *in)
{
	UNTIL(row[t & 1] == 0, __syncthreads(), __syncthreads())
}
// A bound that one thread looked up, in an early return before a barrier.
#define BOUND(WHO, READ, LATER)                                                                    \
	__shared__ int n, row[256];                                                                \
	if (WHO)                                                                                   \
		n = in[b + (t >> 1)];                                                              \
	__syncthreads();                                                                           \
	int m = READ;                                                                              \
	LATER;                                                                                     \
	if (m == 0)                                                                                \
		return;                                                                            \
	row[t] = g;                                                                                \
	__syncthreads();                                                                           \
	out[g] = row[t ^ 1];
// prove: bound race-free --block-dim=256
__global__ void bound(int *out, const int *in) { BOUND(t == 0, n, ) }
// prove: bound_added race-free --block-dim=256
__global__ void bound_added(int *out, const int *in) { BOUND(t == 0, n + (int)(t & 2), ) }
// prove: bound_changed true racy --block-dim=256
__global__ void bound_changed(int *out, const int *in) { BOUND(t == 0, n, if (t == 9) n = 0) }
// prove: bound_of_two true racy --block-dim=256
__global__ void bound_of_two(int *out, const int *in) { BOUND(t < 4, n, ) }

// A pointer that the first thread puts there, for all.
#define POINTER(WHAT, BARRIER, AT)                                                                 \
	__shared__ int *p, row[256];                                                               \
	row[t] = 0;                                                                                \
	if (t == 0)                                                                                \
		p = WHAT;                                                                          \
	BARRIER;                                                                                   \
	p[AT] = g;
// prove: pointer race-free --block-dim=256
__global__ void pointer(int *out, int n) { POINTER(out + b * 256, __syncthreads(), t) }
// prove: pointer_to_shared race-free --block-dim=256
__global__ void pointer_to_shared(int *out, int n) { POINTER(row, __syncthreads(), t) }
// prove: pointer_early true racy --block-dim=256
__global__ void pointer_early(int *out, int n) { POINTER(out + b * 256, , t) }
// prove: pointer_of_grid potential racy --block-dim=256 --grid-dim=2
__global__ void pointer_of_grid(int *out, int n) { POINTER(out, __syncthreads(), t) }
// prove: pointer_overlap potential racy --block-dim=256
__global__ void pointer_overlap(int *out, int n) { POINTER(out + b * 256, __syncthreads(), t / 2) }
// Set again in another place, later.
// prove: pointer_twice race-free --block-dim=256 --param=n=7
__global__ void pointer_twice(int *out, int *other, int n)
{
	__shared__ int *p;
	if (t == 0)
		p = out;
	__syncthreads();
	p[g] = 1;
	__syncthreads();
	if (t == 0)
		p = other;
	__syncthreads();
	p[g] = 2;
}
// Which one it is isn't known, but each block has one.
// prove: pointer_chosen race-free --block-dim=256 --grid-dim=1
__global__ void pointer_chosen(int **table, const int *in)
{
	__shared__ int *p;
	if (t == 0)
		p = table[in[b]];
	__syncthreads();
	p[t] = g;
}
// prove: pointer_chosen_overlap true --block-dim=256 --grid-dim=1
__global__ void pointer_chosen_overlap(int **table, const int *in)
{
	__shared__ int *p;
	if (t == 0)
		p = table[in[b]];
	__syncthreads();
	p[t / 2] = g;
}
// prove: pointer_chosen_by_blocks potential racy --block-dim=256 --grid-dim=2
__global__ void pointer_chosen_by_blocks(int **table, const int *in)
{
	__shared__ int *p;
	if (t == 0)
		p = table[in[b]];
	__syncthreads();
	p[t] = g;
}

// Who ends without the barrier may store at any time.
// prove: stored_and_ended true racy --block-dim=256
__global__ void stored_and_ended(int *out, const int *in)
{
	__shared__ int n, row[256];
	if (t == 0)
		n = in[b];
	if (t == 9) {
		n = 1;
		return;
	}
	__syncthreads();
	for (int i = 0; i < n; i++) {
		row[t] = i;
		__syncthreads();
		out[g] += row[(t + 1) & 255];
		__syncthreads();
	}
}
// Strong stores don't race, whichever comes last.
#define LAST_STORED(BEHIND, STORE)                                                                 \
	__shared__ int n;                                                                          \
	if (t == 32)                                                                               \
		atomicExch(&n, 5);                                                                 \
	BEHIND;                                                                                    \
	if (t == 0)                                                                                \
		STORE = 7;                                                                         \
	__syncthreads();                                                                           \
	if (n == 5)                                                                                \
		out[b] = t;
// prove: stored_last race-free --block-dim=256
__global__ void stored_last(int *out)
{
	LAST_STORED(__syncthreads(), n)
}
// prove: stored_by_two potential racy --block-dim=256
__global__ void stored_by_two(int *out)
{
	LAST_STORED(, *(volatile int *)&n)
}
// Nor do they with loads of a later phase, where who stores ends without a barrier.
#define ENDED(END)                                                                                 \
	__shared__ int n;                                                                          \
	if (t == 0)                                                                                \
		n = 7;                                                                             \
	__syncthreads();                                                                           \
	if (t >= 128) {                                                                            \
		END;                                                                               \
		return;                                                                            \
	}                                                                                          \
	__syncthreads();                                                                           \
	if (*(volatile int *)&n == 5)                                                              \
		out[b] = t;
// prove: ended race-free --block-dim=256
__global__ void ended(int *out)
{
	ENDED()
}
// prove: ended_with_a_store potential racy --block-dim=256
__global__ void ended_with_a_store(int *out)
{
	ENDED(atomicExch(&n, 5))
}
// A word that the host may change meanwhile.
// prove: polled race-free --block-dim=256
__global__ void polled(int *out, const volatile int *go_on)
{
	__shared__ int row[256];
	while (*go_on) {
		row[t] = g;
		__syncthreads();
		out[g] += row[t ^ 1];
		__syncthreads();
	}
}
// A word that one block stores, with no barrier of the grid.
// prove: of_the_grid true racy --block-dim=256 --grid-dim=4
__global__ void of_the_grid(int *out, int *left)
{
	__shared__ int row[256];
	if (g == 0)
		*left = out[0];
	__syncthreads();
	while (*left > 0) {
		row[t] = g;
		__syncthreads();
		out[g] += row[t ^ 1];
		__syncthreads();
	}
}
