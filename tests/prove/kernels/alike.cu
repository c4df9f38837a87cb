// alike.cu - several instructions that add to one counter, as loops that nvcc unrolls have them:
// the answers of all differ.
#define g (blockIdx.x * blockDim.x + threadIdx.x)

// Two errors, each noted by who finds it first.
#define FIRST(A, B, C, D)                                                                          \
	if (in[g] > 7)                                                                             \
		if (atomicAdd(A, B) == 0)                                                          \
			out[0] = g;                                                                \
	if (in[g] < -7)                                                                            \
		if (atomicAdd(C, D) == 0)                                                          \
			out[0] = g;
// prove: first race-free --block-dim=64 --grid-dim=4
__global__ void first(int *count, int *out, const int *in) { FIRST(count, 1, count, 1) }
// prove: first_of_two potential racy --block-dim=64 --grid-dim=4
__global__ void first_of_two(int *count, int *out, const int *in) { FIRST(count, 1, count + 1, 1) }
// A larger step goes past 0, and comes to it again.
// prove: first_of_steps potential racy --block-dim=64 --grid-dim=4
__global__ void first_of_steps(int *count, int *out, const int *in) { FIRST(count, 1, count, -1) }
// prove: first_of_none potential racy --block-dim=64 --grid-dim=4
__global__ void first_of_none(int *count, int *out, const int *in) { FIRST(count, 1, count, 0) }
// prove: first_set_again potential racy --block-dim=64 --grid-dim=4
__global__ void first_set_again(int *count, int *out, const int *in)
{
	FIRST(count, 1, count, 1)
	if (g == 0)
		atomicExch(count, 0);
}
// prove: first_and_second potential racy --block-dim=64 --grid-dim=4
__global__ void first_and_second(int *count, int *out, const int *in)
{
	if (in[g] > 7)
		if (atomicAdd(count, 1) == 0)
			out[0] = g;
	if (in[g] < -7)
		if (atomicAdd(count, 1) == 1)
			out[0] = g;
}
// prove: first_of_block potential racy --block-dim=64 --grid-dim=4
__global__ void first_of_block(int *count, int *out, const int *in)
{
	if (in[g] > 7)
		if (atomicAdd(count, 1) == 0)
			out[0] = g;
	if (in[g] < -7)
		if (atomicAdd_block(count, 1) == 0)
			out[0] = g;
}

// What is noted lies beside the counter, or in it.
#define BESIDE(I)                                                                                  \
	if (in[g] > 7)                                                                             \
		if (atomicAdd(count, 1) == 0)                                                      \
			count[I] = g;
// prove: beside race-free --block-dim=64 --grid-dim=4
__global__ void beside(int *count, int *out, const int *in) { BESIDE(1) }
// prove: beside_in_it potential racy --block-dim=64 --grid-dim=4
__global__ void beside_in_it(int *count, int *out, const int *in) { BESIDE(0) }
// prove: beside_anywhere potential racy --block-dim=64 --grid-dim=4
__global__ void beside_anywhere(int *count, int *out, const int *in) { BESIDE(in[g]) }

// Places in an array, of what is found in several steps.
#define PLACES(A, B)                                                                               \
	for (int i = g; i < n; i += 2 * 256) {                                                     \
		if (in[i] > 0)                                                                     \
			out[atomicAdd(count, 1)] = i;                                              \
		if (in[i + 256] > 0)                                                               \
			out[atomicAdd(A, 1) B] = i;                                                \
	}
// prove: places race-free --block-dim=64 --grid-dim=4
__global__ void places(int *count, int *out, const int *in, int n) { PLACES(count, ) }
// prove: places_unsigned race-free --block-dim=64 --grid-dim=4 --prove-timeout=2
__global__ void places_unsigned(unsigned *count, int *out, const int *in, int n)
{
	for (int i = g; i < n; i += 4 * 256) {
		_Pragma("unroll") for (int k = 0; k < 4; k++) if (in[i + 256 * k] > 0)
		{
			unsigned at = atomicAdd(count, 1u);
			out[at] = i;
		}
	}
}
// prove: places_double potential racy --block-dim=64 --grid-dim=4
__global__ void places_double(unsigned *count, int *out, const int *in, int n)
{
	for (int i = g; i < n; i += 4 * 256) {
		_Pragma("unroll") for (int k = 0; k < 4; k++) if (in[i + 256 * k] > 0)
			out[atomicAdd(count, 1u) / 2] = i;
	}
}
// prove: places_of_two potential racy --block-dim=64 --grid-dim=4
__global__ void places_of_two(int *count, int *out, const int *in, int n) { PLACES(count + 1, ) }
// prove: places_next potential racy --block-dim=64 --grid-dim=4
__global__ void places_next(int *count, int *out, const int *in, int n) { PLACES(count, +1) }

// A counter of the block that is set between the two.
#define OF_BLOCK(BETWEEN)                                                                          \
	__shared__ int count;                                                                      \
	if (threadIdx.x == 0)                                                                      \
		count = 0;                                                                         \
	__syncthreads();                                                                           \
	int x = atomicAdd(&count, 1), y = 0;                                                       \
	BETWEEN;                                                                                   \
	y = atomicAdd(&count, 1);                                                                  \
	if (x == 3)                                                                                \
		out[blockIdx.x] = x;                                                               \
	if (y == 3)                                                                                \
		out[blockIdx.x] = y;
// prove: of_block potential free --block-dim=64 --grid-dim=4
__global__ void of_block(int *out) { OF_BLOCK(__syncthreads()) }
// prove: of_block_set potential racy --block-dim=64 --grid-dim=4
__global__ void of_block_set(int *out)
{
	OF_BLOCK(__syncthreads(); if (threadIdx.x == 0) count = 0; __syncthreads())
}

// What a loop adds, too, may bring the counter around: only the contract says that it doesn't.
// prove: and_looped race-free --block-dim=64 --grid-dim=4
// prove: and_looped potential --block-dim=64 --grid-dim=4 --all-launches
__global__ void and_looped(unsigned *count, int *out, long n)
{
	unsigned t = atomicAdd(count, 1u);
	for (long i = 0; i < n; i++)
		atomicAdd(count, 1u);
	out[t] = g;
}
// prove: and_once race-free --block-dim=64 --grid-dim=4
// prove: and_once race-free --block-dim=64 --grid-dim=4 --all-launches
__global__ void and_once(unsigned *count, int *out, long n)
{
	unsigned t = atomicAdd(count, 1u);
	if (n > 0)
		atomicAdd(count, 1u);
	out[t] = g;
}
