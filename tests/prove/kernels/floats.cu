/*
 * floats.cu - lengths and indices that are calculated in floating point.
 */

// A block keeps the rows that it will scale; how many and how long they are is rounded outwards.
#define SCALED(NAME, STRIDE)                                                                       \
	__global__ void NAME(const float *in, float *out, int from, int to)                        \
	{                                                                                          \
		extern __shared__ float tile[];                                                    \
		float ratio = (float)from / to;                                                    \
		int first = floorf(blockIdx.x * 16 * ratio), end = ceilf((blockIdx.x * 16 + 16) * ratio); \
		int rows = ceilf(16 * ratio), length = end - first;                                \
		for (int y = threadIdx.y; y < rows; y += 16)                                       \
			for (int x = threadIdx.x; x < length; x += 16)                             \
				tile[y * (STRIDE) + x] = in[y * from + first + x];                 \
		__syncthreads();                                                                   \
		out[threadIdx.y * 256 + blockIdx.x * 16 + threadIdx.x] = tile[threadIdx.y + threadIdx.x]; \
	}
// prove: scaled race-free --block-dim=16,16 --grid-dim=15 --param=from=96 --param=to=240
SCALED(scaled, length)
// prove: scaled_racy potential racy --block-dim=16,16 --grid-dim=15 --param=from=96 --param=to=240
SCALED(scaled_racy, length - 1)

// A place among those of the block.
// prove: within race-free --block-dim=64 --grid-dim=16
__global__ void within(int *out, float at)
{
	float place = fminf(fmaxf(at * blockIdx.x, 0.0f), 63.0f);
	if (threadIdx.x == 0)
		out[blockIdx.x * 64 + (int)place] = blockIdx.x;
	out[1024 + blockIdx.x * 64 + threadIdx.x] = 1;
}

// prove: within_racy potential racy --block-dim=64 --grid-dim=16
__global__ void within_racy(int *out, float at)
{
	float place = fminf(fmaxf(at * blockIdx.x, 0.0f), 64.5f);
	if (threadIdx.x == 0)
		out[blockIdx.x * 64 + (int)place] = blockIdx.x;
	out[1024 + blockIdx.x * 64 + threadIdx.x] = 1;
}

// What inline code has is read as a number of 64 bits, and used as one of 32.
#define LITERAL(NAME, NUMBER)                                                                      \
	__global__ void NAME(int *out)                                                             \
	{                                                                                          \
		float held, place;                                                                 \
		asm("mov.f32 %0, " #NUMBER ";" : "=f"(held));                                      \
		asm("mul.f32 %0, %1, " #NUMBER ";" : "=f"(place) : "f"(64.0f));                    \
		if (threadIdx.x == 0) {                                                            \
			out[blockIdx.x * 64 + (int)place] = 1;                                     \
			out[blockIdx.x * 64 + (int)(held * 64)] = 1;                               \
			out[blockIdx.x * 64 + 32] = 1;                                             \
		}                                                                                  \
	}
// prove: literal race-free --block-dim=64 --grid-dim=16
LITERAL(literal, 0.5)
// prove: literal_racy potential racy --block-dim=64 --grid-dim=16
LITERAL(literal_racy, 1.5)

// prove: literal_bits true racy --block-dim=64 --grid-dim=16
__global__ void literal_bits(int *out)
{
	float held;
	asm("mov.f32 %0, 1.5;" : "=f"(held)); /* 0x3fc00000 */
	if (threadIdx.x == 0) {
		out[blockIdx.x * 0x3fc0] = 1;
		out[blockIdx.x * 0x3fc0 + (__float_as_int(held) >> 16)] = 2;
	}
}
