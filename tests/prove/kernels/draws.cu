// draws.cu - places that a block draws from a counter of its own, on top of one addition to the grid's.
#pragma nv_diag_suppress 177,550 // not all kernels use all variables
#define t threadIdx.x
#define g (blockIdx.x * blockDim.x + threadIdx.x)
#define ARGS int *out, int *count, const int *in, int n
#define FIRST (t == 0)
#define LAST (t == blockDim.x - 1)
#define SYNC __syncthreads();

// One round: set, draw, add, use. The total's word holds the base afterwards.
#define ONE(SET, S1, DRAW, S2, LEADER, ADD, S3, AT)                                                \
	__shared__ int c;                                                                          \
	int i = g, at, v;                                                                          \
	SET;                                                                                       \
	S1;                                                                                        \
	if (i < n) {                                                                               \
		v = in[i];                                                                         \
		if (v > 0)                                                                         \
			at = DRAW;                                                                 \
	}                                                                                          \
	S2;                                                                                        \
	if (LEADER)                                                                                \
		c = ADD;                                                                           \
	S3;                                                                                        \
	if (i < n && v > 0)                                                                        \
		out[AT] = v;
#define ZERO if (FIRST) c = 0
#define BY_1 atomicAdd(&c, 1)
#define TOTAL atomicAdd(count, c)
// prove: one race-free
__global__ void one(ARGS) { ONE(ZERO, SYNC, BY_1, SYNC, FIRST, TOTAL, SYNC, at + c) }
// prove: one_last race-free
__global__ void one_last(ARGS) { ONE(ZERO, SYNC, BY_1, SYNC, LAST, TOTAL, SYNC, c + at) }
// prove: one_twice race-free
__global__ void one_twice(ARGS) { ONE(ZERO, SYNC, BY_1, SYNC, FIRST, TOTAL, SYNC, 2ll * (at + c)] = out[2ll * (at + c) + 1) }
// prove: one_of_32 race-free --block-dim=32 --grid-dim=4
__global__ void one_of_32(ARGS) { ONE(ZERO, SYNC, BY_1, SYNC, FIRST, TOTAL, SYNC, at + c) }
// prove: one_not_drawn potential racy
__global__ void one_not_drawn(ARGS) { ONE(ZERO, SYNC, BY_1, , FIRST, TOTAL, SYNC, at + c) }
// prove: one_not_based potential racy
__global__ void one_not_based(ARGS) { ONE(ZERO, SYNC, BY_1, SYNC, FIRST, TOTAL, , at + c) }
// prove: one_not_set potential racy
__global__ void one_not_set(ARGS) { ONE(, , BY_1, SYNC, FIRST, TOTAL, SYNC, at + c) }
// prove: one_set_late potential racy
__global__ void one_set_late(ARGS) { ONE(ZERO, , BY_1, SYNC, FIRST, TOTAL, SYNC, at + c) }
// prove: one_set_by_second potential racy
__global__ void one_set_by_second(ARGS) { ONE(if (t == 1) c = 0, SYNC, BY_1, SYNC, FIRST, TOTAL, SYNC, at + c) }
// prove: one_set_to_minus_1 potential racy
__global__ void one_set_to_minus_1(ARGS) { ONE(if (FIRST) c = -1, SYNC, BY_1, SYNC, FIRST, TOTAL, SYNC, at + c) }
// prove: one_set_to_any potential racy
__global__ void one_set_to_any(ARGS) { ONE(if (FIRST) c = n, SYNC, BY_1, SYNC, FIRST, TOTAL, SYNC, at + c) }
// prove: one_adds_less potential racy
__global__ void one_adds_less(ARGS) { ONE(ZERO, SYNC, BY_1, SYNC, FIRST, atomicAdd(count, c - 1), SYNC, at + c) }
// prove: one_adds_1 potential racy
__global__ void one_adds_1(ARGS) { ONE(ZERO, SYNC, BY_1, SYNC, FIRST, atomicAdd(count, 1), SYNC, at + c) }
// prove: one_adds_byte potential racy
__global__ void one_adds_byte(ARGS) { ONE(ZERO, SYNC, BY_1, SYNC, FIRST, atomicAdd(count, c & 255), SYNC, at + c) }
// prove: one_of_block true
__global__ void one_of_block(ARGS) { ONE(ZERO, SYNC, BY_1, SYNC, FIRST, atomicAdd_block(count, c), SYNC, at + c) }
// prove: one_of_its_own potential racy
__global__ void one_of_its_own(ARGS) { ONE(ZERO, SYNC, BY_1, SYNC, FIRST, atomicAdd(count + blockIdx.x, c), SYNC, at + c) }
// prove: one_all_add potential racy
__global__ void one_all_add(ARGS) { ONE(ZERO, SYNC, BY_1, SYNC, true, TOTAL, SYNC, at + c) }
// prove: one_some_add potential racy
__global__ void one_some_add(ARGS) { ONE(ZERO, SYNC, BY_1, SYNC, FIRST && in[blockIdx.x] > 0, TOTAL, SYNC, at + c) }
// prove: one_two_add potential racy
__global__ void one_two_add(ARGS) { ONE(ZERO, SYNC, BY_1, SYNC, t < 2, TOTAL, SYNC, at + c) }
// prove: one_max potential racy
__global__ void one_max(ARGS) { ONE(ZERO, SYNC, BY_1, SYNC, FIRST, atomicMax(count, c), SYNC, at + c) }
// prove: one_no_base potential racy
__global__ void one_no_base(ARGS) { ONE(ZERO, SYNC, BY_1, SYNC, FIRST, TOTAL, SYNC, at) }
// prove: one_base_only potential racy
__global__ void one_base_only(ARGS) { ONE(ZERO, SYNC, BY_1, SYNC, FIRST, TOTAL, SYNC, c) }
// prove: one_halved potential racy
__global__ void one_halved(ARGS) { ONE(ZERO, SYNC, BY_1, SYNC, FIRST, TOTAL, SYNC, (at + c) / 2) }
// prove: one_neighbour potential racy
__global__ void one_neighbour(ARGS) { ONE(ZERO, SYNC, BY_1, SYNC, FIRST, TOTAL, SYNC, at + c] = out[at + c + 1) }
// prove: one_minus potential racy
__global__ void one_minus(ARGS) { ONE(ZERO, SYNC, BY_1, SYNC, FIRST, TOTAL, SYNC, c - at) }
// prove: one_drawn_back potential racy
__global__ void one_drawn_back(ARGS) { ONE(ZERO, SYNC, (atomicAdd(&c, 1), atomicSub(&c, 1)), SYNC, FIRST, TOTAL, SYNC, at + c) }
// prove: one_exchanged potential racy
__global__ void one_exchanged(ARGS) { ONE(ZERO, SYNC, (atomicAdd(&c, 1), atomicExch(&c, 3)), SYNC, FIRST, TOTAL, SYNC, at + c) }
// prove: one_drawn_max potential racy
__global__ void one_drawn_max(ARGS) { ONE(ZERO, SYNC, atomicMax(&c, t), SYNC, FIRST, TOTAL, SYNC, at + c) }
// prove: one_by_0 potential racy
__global__ void one_by_0(ARGS) { ONE(ZERO, SYNC, atomicAdd(&c, 0), SYNC, FIRST, TOTAL, SYNC, at + c) }
// prove: one_by_minus_1 potential racy
__global__ void one_by_minus_1(ARGS) { ONE(ZERO, SYNC, atomicAdd(&c, -1), SYNC, FIRST, TOTAL, SYNC, at + c) }
// Drawn again after the leader has read it.
// prove: one_drawn_again potential racy
__global__ void one_drawn_again(ARGS)
{
	ONE(ZERO, SYNC, BY_1, SYNC; if (i < n && v > 0 && v < 9) at = BY_1, FIRST, TOTAL, SYNC, at + c)
}
// prove: one_base_moves potential racy
__global__ void one_base_moves(ARGS) { ONE(ZERO, SYNC, BY_1, SYNC, FIRST, TOTAL, SYNC if (i < n && v > 9) atomicAdd(&c, 1); SYNC, at + c) }
// prove: one_counter_set true
__global__ void one_counter_set(ARGS) { ONE(ZERO; if (g == 0) *count = 0, SYNC, BY_1, SYNC, FIRST, TOTAL, SYNC, at + c) }
// prove: one_byte_set potential racy
__global__ void one_byte_set(ARGS) { ONE(ZERO; if (FIRST) ((char *)&c)[3] = -1, SYNC, BY_1, SYNC, FIRST, TOTAL, SYNC, at + c) }
// prove: one_more_syncs race-free
__global__ void one_more_syncs(ARGS)
{
	ONE(ZERO, SYNC, BY_1, SYNC SYNC, FIRST, TOTAL, SYNC SYNC, at + c)
}

// The base has a word of its own.
#define TWO(SET, S1, DRAW, S2, LEADER, TO, ADD, AFTER, S3, AT)                                     \
	__shared__ int c, base;                                                                    \
	int i = g, at, v;                                                                          \
	SET;                                                                                       \
	S1;                                                                                        \
	if (i < n) {                                                                               \
		v = in[i];                                                                         \
		if (v > 0)                                                                         \
			at = DRAW;                                                                 \
	}                                                                                          \
	S2;                                                                                        \
	if (LEADER) {                                                                              \
		TO = ADD;                                                                          \
		AFTER;                                                                             \
	}                                                                                          \
	S3;                                                                                        \
	if (i < n && v > 0)                                                                        \
		out[AT] = v;
// prove: two race-free
__global__ void two(ARGS) { TWO(ZERO, SYNC, BY_1, SYNC, FIRST, base, TOTAL, , SYNC, base + at) }
// prove: two_then_set race-free
__global__ void two_then_set(ARGS) { TWO(ZERO, SYNC, BY_1, SYNC, FIRST, base, TOTAL, c = 0, SYNC, base + at) }
// prove: two_other_word potential racy
__global__ void two_other_word(ARGS) { TWO(ZERO, SYNC, BY_1, SYNC, FIRST, base, TOTAL, , SYNC, c + at) }
// prove: two_base_set potential racy
__global__ void two_base_set(ARGS) { TWO(ZERO, SYNC, BY_1, SYNC, FIRST, base, TOTAL, base = 0, SYNC, base + at) }
// prove: two_base_set_later potential racy
__global__ void two_base_set_later(ARGS) { TWO(ZERO, SYNC, BY_1, SYNC, FIRST, base, TOTAL, , SYNC if (LAST) base = 5; SYNC, base + at) }
// prove: two_set_before potential racy
__global__ void two_set_before(ARGS) { TWO(ZERO, SYNC, BY_1, SYNC if (FIRST) c = 0; SYNC, FIRST, base, TOTAL, , SYNC, base + at) }
// prove: two_total_twice potential racy
__global__ void two_total_twice(ARGS) { TWO(ZERO, SYNC, BY_1, SYNC, FIRST, c = 0; base, TOTAL, , SYNC, base + at) }
// prove: two_some_return potential racy
__global__ void two_some_return(ARGS)
{
	TWO(ZERO, SYNC, BY_1, if (i < n && v > 7) return; SYNC, FIRST, base, TOTAL, , SYNC, base + at)
}
// prove: two_read_early potential racy
__global__ void two_read_early(ARGS)
{
	TWO(int total; ZERO, SYNC total = c;, BY_1, SYNC, FIRST, base, atomicAdd(count, total), , SYNC, base + at)
}
// prove: two_total_of_all race-free
__global__ void two_total_of_all(ARGS)
{
	TWO(int total; ZERO, SYNC, BY_1, SYNC total = c;, FIRST, base, atomicAdd(count, total), , SYNC, base + at)
}
// prove: two_total_waits race-free
__global__ void two_total_waits(ARGS)
{
	TWO(int total; ZERO, SYNC, BY_1, SYNC total = c; SYNC, FIRST, base, atomicAdd(count, total), , SYNC, base + at)
}
// prove: two_return race-free
__global__ void two_return(ARGS)
{
	__shared__ int c, base;
	if (FIRST)
		c = 0;
	SYNC
	int v = g < n ? in[g] : 0, at = 0;
	if (v > 0)
		at = atomicAdd(&c, 1);
	SYNC
	if (FIRST)
		base = atomicAdd(count, c);
	SYNC
	if (v <= 0)
		return;
	out[base + at] = v;
}

// Each round of a loop over tiles has its own.
#define TILES(START, SET, S1, DRAW, S2, LEADER, ADD, S3, AT, S4)                                   \
	__shared__ int c, base;                                                                    \
	START;                                                                                     \
	for (int tile = blockIdx.x; tile * blockDim.x < n; tile += gridDim.x) {                    \
		int i = tile * blockDim.x + t, at = 0;                                             \
		SET;                                                                               \
		S1;                                                                                \
		bool is = i < n && in[i] > 0;                                                      \
		if (is)                                                                            \
			at = DRAW;                                                                 \
		S2;                                                                                \
		if (LEADER) {                                                                     \
			ADD;                                                                       \
		}                                                                                  \
		S3;                                                                                \
		if (is)                                                                            \
			out[AT] = i;                                                               \
		S4;                                                                                \
	}
#define TO_BASE base = TOTAL
#define AND_ZERO                                                                                   \
	{                                                                                          \
		TO_BASE;                                                                           \
		c = 0;                                                                             \
	}
// prove: tiles race-free
__global__ void tiles(ARGS) { TILES(, ZERO, SYNC, BY_1, SYNC, FIRST, TO_BASE, SYNC, base + at, SYNC) }
// prove: tiles_one_word race-free
__global__ void tiles_one_word(ARGS) { TILES(, ZERO, SYNC, BY_1, SYNC, FIRST, c = TOTAL, SYNC, c + at, SYNC) }
// prove: tiles_set_back race-free
__global__ void tiles_set_back(ARGS) { TILES(ZERO; SYNC, , , BY_1, SYNC, FIRST, AND_ZERO, SYNC, base + at, SYNC) }
// prove: tiles_last race-free
__global__ void tiles_last(ARGS) { TILES(, ZERO, SYNC, BY_1, SYNC, LAST, TO_BASE, SYNC, base + at, SYNC) }
// The set of the next round is in the same phase as the use; the base's word isn't touched there.
// prove: tiles_no_sync race-free
__global__ void tiles_no_sync(ARGS) { TILES(, ZERO, SYNC, BY_1, SYNC, FIRST, TO_BASE, SYNC, base + at, ) }
// prove: tiles_one_word_no_sync potential racy
__global__ void tiles_one_word_no_sync(ARGS) { TILES(, ZERO, SYNC, BY_1, SYNC, FIRST, c = TOTAL, SYNC, c + at, ) }
// Never set again, the counter goes on: places that aren't used are left out.
// prove: tiles_goes_on race-free
__global__ void tiles_goes_on(ARGS) { TILES(ZERO; SYNC, , , BY_1, SYNC, FIRST, TO_BASE, SYNC, base + at, SYNC) }
// prove: tiles_not_set potential racy
__global__ void tiles_not_set(ARGS) { TILES(, , , BY_1, SYNC, FIRST, TO_BASE, SYNC, base + at, SYNC) }
// prove: tiles_one_word_goes_on potential free
__global__ void tiles_one_word_goes_on(ARGS) { TILES(ZERO; SYNC, , , BY_1, SYNC, FIRST, c = TOTAL, SYNC, c + at, SYNC) }
// prove: tiles_set_late potential racy
__global__ void tiles_set_late(ARGS) { TILES(, ZERO, , BY_1, SYNC, FIRST, TO_BASE, SYNC, base + at, SYNC) }
// prove: tiles_set_at_use potential racy
__global__ void tiles_set_at_use(ARGS) { TILES(ZERO; SYNC, , , BY_1, SYNC, FIRST, TO_BASE, SYNC ZERO;, base + at, ) }
// prove: tiles_first_only potential racy
__global__ void tiles_first_only(ARGS) { TILES(, ZERO, SYNC, BY_1, SYNC, FIRST && tile == blockIdx.x, TO_BASE, SYNC, base + at, SYNC) }
// prove: tiles_first_base potential racy
__global__ void tiles_first_base(ARGS)
{
	TILES(int b0 = -1, ZERO, SYNC, BY_1, SYNC, FIRST, TO_BASE, SYNC if (b0 < 0) b0 = base;, b0 + at, SYNC)
}
// prove: tiles_base_before potential racy
__global__ void tiles_base_before(ARGS)
{
	TILES(int b0 = 0, ZERO, SYNC, BY_1, SYNC, FIRST, TO_BASE, SYNC int b1 = b0; b0 = base;, b1 + at, SYNC)
}
// prove: tiles_draw_before potential racy
__global__ void tiles_draw_before(ARGS)
{
	TILES(int a0 = 0, ZERO, SYNC, BY_1, SYNC, FIRST, TO_BASE, SYNC int a1 = a0; a0 = at;, base + a1, SYNC)
}
// prove: tiles_not_drawn potential racy
__global__ void tiles_not_drawn(ARGS) { TILES(, ZERO, SYNC, BY_1, , FIRST, TO_BASE, SYNC, base + at, SYNC) }
// prove: tiles_not_based potential racy
__global__ void tiles_not_based(ARGS) { TILES(, ZERO, SYNC, BY_1, SYNC, FIRST, TO_BASE, , base + at, SYNC) }
// prove: tiles_no_base potential racy
__global__ void tiles_no_base(ARGS) { TILES(, ZERO, SYNC, BY_1, SYNC, FIRST, TO_BASE, SYNC, at, SYNC) }
// prove: tiles_set_twice potential racy
__global__ void tiles_set_twice(ARGS) { TILES(, ZERO, SYNC, BY_1, SYNC if (LAST) c = 1; SYNC, FIRST, TO_BASE, SYNC, base + at, SYNC) }
// The leader's number is of the round before.
// prove: tiles_total_before potential racy
__global__ void tiles_total_before(ARGS)
{
	TILES(int sum = 0, ZERO, SYNC, BY_1, SYNC, FIRST, int s = sum; sum = c; base = atomicAdd(count, s), SYNC, base + at, SYNC)
}

// Several places at once.
#define WEIGHTS(DRAW, ADD, FOR, AT)                                                                \
	__shared__ int c, base;                                                                    \
	int i = g, at = 0, w = i < n ? in[i] : 0;                                                  \
	ZERO;                                                                                      \
	SYNC                                                                                       \
	if (w > 0)                                                                                 \
		at = DRAW;                                                                         \
	SYNC                                                                                       \
	if (FIRST)                                                                                 \
		base = ADD;                                                                        \
	SYNC                                                                                       \
	if (w > 0)                                                                                 \
		FOR                                                                                \
			out[AT] = i;
// prove: weights race-free
__global__ void weights(ARGS) { WEIGHTS(atomicAdd(&c, w), TOTAL, for (int j = 0; j < w; j++), base + at + j) }
// prove: weights_3 race-free
__global__ void weights_3(ARGS) { WEIGHTS(atomicAdd(&c, 3), TOTAL, for (int j = 0; j < 3; j++), base + at + j) }
// prove: weights_fewer race-free
__global__ void weights_fewer(ARGS) { WEIGHTS(atomicAdd(&c, w), TOTAL, for (int j = 0; j < w && j < 7; j++), base + at + j) }
// prove: weights_one_more potential racy
__global__ void weights_one_more(ARGS) { WEIGHTS(atomicAdd(&c, w), TOTAL, for (int j = 0; j <= w; j++), base + at + j) }
// prove: weights_4_of_3 potential racy
__global__ void weights_4_of_3(ARGS) { WEIGHTS(atomicAdd(&c, 3), TOTAL, for (int j = 0; j < 4; j++), base + at + j) }
// prove: weights_from_before potential racy
__global__ void weights_from_before(ARGS) { WEIGHTS(atomicAdd(&c, w), TOTAL, for (int j = -1; j < w; j++), base + at + j) }
// prove: weights_of_other potential racy
__global__ void weights_of_other(ARGS) { WEIGHTS(atomicAdd(&c, w), TOTAL, for (int j = 0; j < in[i + n]; j++), base + at + j) }
// prove: weights_negative potential racy
__global__ void weights_negative(ARGS) { WEIGHTS(atomicAdd(&c, in[i] - 5), TOTAL, for (int j = 0; j < in[i] - 5; j++), base + at + j) }
// prove: weights_given_back potential racy
__global__ void weights_given_back(ARGS)
{
	WEIGHTS(atomicAdd(&c, t == 3 ? -2 : w), TOTAL, if (t != 3) for (int j = 0; j < w; j++), base + at + j)
}
// prove: weights_halved potential racy
__global__ void weights_halved(ARGS) { WEIGHTS(atomicAdd(&c, w / 2), TOTAL, for (int j = 0; j < w; j++), base + at + j) }
// prove: weights_spread potential racy
__global__ void weights_spread(ARGS) { WEIGHTS(atomicAdd(&c, w), TOTAL, for (int j = 0; j < w; j++), base + at + 2 * j) }
// prove: weights_or_none potential racy
__global__ void weights_or_none(ARGS) { WEIGHTS(atomicAdd(&c, w & 1), TOTAL, , base + at) }

// A counter of 64 bits, of the block or of the grid only.
#define LONG(TYPE, ADD, AT)                                                                        \
	__shared__ TYPE c;                                                                         \
	__shared__ unsigned long long base;                                                        \
	TYPE at = 0;                                                                               \
	int v = g < n ? in[g] : 0;                                                                 \
	ZERO;                                                                                      \
	SYNC                                                                                       \
	if (v > 0)                                                                                 \
		at = atomicAdd(&c, 1);                                                             \
	SYNC                                                                                       \
	if (FIRST)                                                                                 \
		base = ADD;                                                                        \
	SYNC                                                                                       \
	if (v > 0)                                                                                 \
		out[AT] = v;
#define LONG_ARGS int *out, unsigned long long *count, const int *in, int n
// prove: long_both race-free
__global__ void long_both(LONG_ARGS) { LONG(unsigned long long, atomicAdd(count, c), base + at) }
// prove: long_grid race-free
__global__ void long_grid(LONG_ARGS) { LONG(unsigned, atomicAdd(count, c), base + at) }
// prove: long_grid_signed race-free
__global__ void long_grid_signed(LONG_ARGS) { LONG(int, atomicAdd(count, c), base + at) }
// prove: long_byte potential racy
__global__ void long_byte(LONG_ARGS) { LONG(unsigned, atomicAdd(count, (unsigned char)c), base + at) }
// prove: long_byte_at potential racy
__global__ void long_byte_at(LONG_ARGS) { LONG(unsigned, atomicAdd(count, c), base + (unsigned char)at) }
// prove: long_of_two potential racy
__global__ void long_of_two(LONG_ARGS) { LONG(unsigned, atomicAdd(count, c), (unsigned char)base + at) }

// A queue of the block, which is copied out as a whole.
#define QUEUE(WHEN, LEN, S, ADD, COUNT, FROM, AT)                                                  \
	__shared__ int q[1024];                                                                    \
	__shared__ int c, base;                                                                    \
	ZERO;                                                                                      \
	SYNC                                                                                       \
	for (int i = g; i < n; i += gridDim.x * blockDim.x)                                        \
		if (WHEN) {                                                                        \
			int at = atomicAdd(&c, 1);                                                 \
			if (at < LEN)                                                              \
				q[at] = in[i];                                                     \
		}                                                                                  \
	S;                                                                                         \
	if (FIRST)                                                                                 \
		base = ADD;                                                                        \
	SYNC                                                                                       \
	for (int i = FROM; i < COUNT; i += blockDim.x)                                             \
		out[AT] = q[i];
// prove: queue race-free
__global__ void queue(ARGS) { QUEUE(in[i] > 0, 1024, SYNC, TOTAL, c, t, base + i) }
// prove: queue_no_sync potential racy
__global__ void queue_no_sync(ARGS) { QUEUE(in[i] > 0, 1024, , TOTAL, c, t, base + i) }
// prove: queue_no_base potential racy
__global__ void queue_no_base(ARGS) { QUEUE(in[i] > 0, 1024, SYNC, TOTAL, c, t, i) }
// prove: queue_one_more potential racy
__global__ void queue_one_more(ARGS) { QUEUE(in[i] > 0, 1024, SYNC, TOTAL, c + 1, t, base + i) }
// prove: queue_adds_less potential racy
__global__ void queue_adds_less(ARGS) { QUEUE(in[i] > 0, 1024, SYNC, atomicAdd(count, c / 2), c, t, base + i) }
// A block without any takes one back.
// prove: queue_less_one potential racy
__global__ void queue_less_one(ARGS) { QUEUE(in[i] > 0, 1024, SYNC, atomicAdd(count, c - 1), c - 1, t, base + i) }
// prove: queue_not_set potential racy
__global__ void queue_not_set(ARGS)
{
	__shared__ int c, base;
	if (FIRST)
		base = TOTAL;
	SYNC
	for (int i = t; i < c; i += blockDim.x)
		out[base + i] = g;
}
// prove: queue_all_copy potential racy
__global__ void queue_all_copy(ARGS) { QUEUE(in[i] > 0, 1024, SYNC, TOTAL, c, 0, base + i) }
// prove: queue_from_1 race-free
__global__ void queue_from_1(ARGS) { QUEUE(in[i] > 0, 1024, SYNC, TOTAL, c, t + 1, base + i) }

// Emptied in each round, or when it is full.
#define ROUNDS(S0, S1, S2, S3, TEST, RESET)                                                        \
	__shared__ int q[256];                                                                     \
	__shared__ int c, base;                                                                    \
	ZERO;                                                                                      \
	SYNC                                                                                       \
	for (int from = blockIdx.x * 128; from < n; from += gridDim.x * 128) {                     \
		int i = from + t;                                                                  \
		if (i < n && in[i] > 0)                                                            \
			q[atomicAdd(&c, 1)] = in[i];                                               \
		S0;                                                                                \
		int k = c;                                                                         \
		if (TEST) {                                                                        \
			S1;                                                                        \
			if (FIRST) {                                                               \
				base = atomicAdd(count, k);                                        \
				RESET;                                                             \
			}                                                                          \
			S2;                                                                        \
			for (int j = t; j < k; j += 128)                                           \
				out[base + j] = q[j];                                              \
		}                                                                                  \
		S3;                                                                                \
	}
// prove: rounds race-free --block-dim=128
__global__ void rounds(ARGS) { ROUNDS(SYNC, SYNC, SYNC, SYNC, true, c = 0) }
// prove: rounds_full race-free --block-dim=128
__global__ void rounds_full(ARGS) { ROUNDS(SYNC, SYNC, SYNC, SYNC, k >= 128, c = 0) }
// prove: rounds_no_first_sync potential racy --block-dim=128
__global__ void rounds_no_first_sync(ARGS) { ROUNDS(, SYNC, SYNC, SYNC, true, c = 0) }
// prove: rounds_no_second_sync potential racy --block-dim=128
__global__ void rounds_no_second_sync(ARGS) { ROUNDS(SYNC, , SYNC, SYNC, true, c = 0) }
// prove: rounds_no_third_sync potential racy --block-dim=128
__global__ void rounds_no_third_sync(ARGS) { ROUNDS(SYNC, SYNC, , SYNC, true, c = 0) }
// prove: rounds_no_last_sync potential racy --block-dim=128
__global__ void rounds_no_last_sync(ARGS) { ROUNDS(SYNC, SYNC, SYNC, , true, c = 0) }

// What a block, or a thread, adds to the grid's counter at once is its own.
#define CHUNK(N, S, ADD, AT)                                                                       \
	__shared__ int base;                                                                       \
	if (FIRST)                                                                                 \
		base = ADD;                                                                        \
	S;                                                                                         \
	out[AT] = g;
// prove: chunk race-free
__global__ void chunk(ARGS) { CHUNK(, SYNC, atomicAdd(count, blockDim.x), base + t) }
// prove: chunk_of_twice race-free
__global__ void chunk_of_twice(ARGS) { CHUNK(, SYNC, atomicAdd(count, 2 * blockDim.x), base + t] = out[base + t + blockDim.x) }
// prove: chunk_of_256 race-free --block-dim=256
__global__ void chunk_of_256(ARGS) { CHUNK(, SYNC, atomicAdd(count, 256), base + t) }
// prove: chunk_of_255 potential racy --block-dim=256
__global__ void chunk_of_255(ARGS) { CHUNK(, SYNC, atomicAdd(count, 255), base + t) }
// prove: chunk_no_sync potential racy
__global__ void chunk_no_sync(ARGS) { CHUNK(, , atomicAdd(count, blockDim.x), base + t) }
// prove: chunk_up potential racy
__global__ void chunk_up(ARGS) { CHUNK(, SYNC, atomicAdd(count, blockDim.x), base + t + 1] = out[base + t) }
#define OWN(W, N, LAST_OF)                                                                         \
	int w = W;                                                                                 \
	int at = atomicAdd(count, N);                                                              \
	for (int j = 0; j LAST_OF; j++)                                                            \
		out[at + j] = g;
// prove: own race-free
__global__ void own(ARGS) { OWN(in[g] & 255, w, < w) }
// prove: own_negative potential racy
__global__ void own_negative(ARGS) { OWN(in[g], w, < w) }
// prove: own_one_less potential racy
__global__ void own_one_less(ARGS) { OWN(in[g] & 255, w - 1, < w - 1) }
// prove: own_2 race-free
__global__ void own_2(ARGS) { OWN(2, 2, < 2) }
// prove: own_of_2 potential racy
__global__ void own_of_2(ARGS) { OWN(2, 2, < 3) }
// prove: own_too_many potential racy
__global__ void own_too_many(ARGS) { OWN(in[g], w, <= w) }
// prove: own_if_any race-free
__global__ void own_if_any(ARGS)
{
	for (int i = g; i < n; i += gridDim.x * blockDim.x) {
		int w = in[i];
		if (w <= 0)
			continue;
		int at = atomicAdd(count, w);
		for (int j = 0; j < w; j++)
			out[at + j] = i;
	}
}

// prove: in_a_round race-free
__global__ void in_a_round(ARGS)
{
	__shared__ int c, q[1024];
	for (int r = 0; r < n; r++) {
		if (FIRST)
			c = 0;
		SYNC
		if (in[r * blockDim.x + t] > 0)
			q[atomicAdd(&c, 1)] = t;
		SYNC
		out[g] += q[t];
		SYNC
	}
}
// prove: in_a_round_set potential racy
__global__ void in_a_round_set(ARGS)
{
	__shared__ int c, q[1024];
	for (int r = 0; r < n; r++) {
		if (FIRST)
			atomicExch(&c, 0);
		if (in[r * blockDim.x + t] > 0)
			q[atomicAdd(&c, 1)] = t;
		SYNC
		out[g] += q[t];
		SYNC
	}
}
// prove: in_a_round_no_sync race-free
__global__ void in_a_round_no_sync(ARGS)
{
	__shared__ int c, q[1024];
	for (int r = 0; r < n; r++) {
		if (FIRST)
			c = 0;
		SYNC
		if (in[r * blockDim.x + t] > 0)
			q[atomicAdd(&c, 1)] = t;
		SYNC
		out[g] += q[t];
	}
}

// More is added than the counter holds, in each launch: no proof rests on that it doesn't come around.
// prove: around potential racy --block-dim=512 --grid-dim=2
__global__ void around(ARGS) { out[(unsigned)atomicAdd(count, 1 << 24) >> 24] = t; }
// prove: not_around race-free --block-dim=128 --grid-dim=2
__global__ void not_around(ARGS) { out[(unsigned)atomicAdd(count, 1 << 24) >> 24] = t; }
// prove: around_in_rounds potential racy --block-dim=64 --grid-dim=2
__global__ void around_in_rounds(ARGS)
{
	for (int i = 0; i < 4; i++)
		out[(unsigned)atomicAdd(count, 1 << 27) >> 27] = t;
}
// prove: around_in_block potential racy --block-dim=512 --grid-dim=1
__global__ void around_in_block(ARGS)
{
	__shared__ int c;
	if (FIRST)
		c = 0;
	__syncthreads();
	out[(unsigned)atomicAdd(&c, 1 << 24) >> 24] = t;
}
// prove: not_around_in_block race-free --block-dim=256 --grid-dim=1
__global__ void not_around_in_block(ARGS)
{
	__shared__ int c;
	if (FIRST)
		c = 0;
	__syncthreads();
	out[(unsigned)atomicAdd(&c, 1 << 24) >> 24] = t;
}
// prove: around_by_many potential racy --block-dim=64 --grid-dim=2
__global__ void around_by_many(ARGS)
{
	int at = atomicAdd(count, 1 << 26);
	for (int i = 0; i < 32; i++)
		out[at + i] = t;
}
