// rows.h - 128 bytes that a warp accesses as a whole, lane i the word i, before and after other
// accesses of them: the kernels of rows.cu here and in tests/iguard, whose cases.py read names and
// "says:" here.
//
// The includer has BLOCK, FENCE, FLAG (the address of a flag that is 0), sink, me(), leads() and
// seen().
__device__ __align__(128) unsigned int r[256];

__device__ __forceinline__ unsigned int lane()
{
	return threadIdx.x % 32;
}
// Stores before and after it are two.
#define KEEP asm volatile("" ::: "memory")
// Of this block: two rows.
__device__ __forceinline__ unsigned int *mine()
{
	return r + blockIdx.x * BLOCK;
}

// ---- a row, then one of its words; a word, then its row

// says: intra-block
__global__ void row_then_word_race()
{
	mine()[threadIdx.x] = me();
	if (threadIdx.x == 33)
		sink[me()] = mine()[5];
}
__global__ void row_then_word_clean()
{
	mine()[threadIdx.x] = me();
	__syncthreads();
	if (threadIdx.x == 33)
		sink[me()] = mine()[5];
}
// says: intra-block
__global__ void word_then_row_race()
{
	if (threadIdx.x == 0)
		mine()[40] = 1;
	mine()[threadIdx.x] = 2;
}
__global__ void word_then_row_clean()
{
	if (threadIdx.x == 0)
		mine()[40] = 1;
	__syncthreads();
	mine()[threadIdx.x] = 2;
}
// says: its
__global__ void row_then_word_of_warp_race()
{
	mine()[threadIdx.x] = me();
	if (lane() == 3)
		sink[me()] = mine()[threadIdx.x + 1];
}
// Each word has its own thread's access: another one's in its place would race.
__global__ void row_then_own_word_clean()
{
	mine()[threadIdx.x] = me();
	KEEP;
	if (lane() % 3 == 1)
		mine()[threadIdx.x] = 1;
	KEEP;
	sink[me()] = mine()[threadIdx.x];
}
__global__ void row_read_then_own_word_clean()
{
	sink[me()] = mine()[threadIdx.x];
	if (lane() % 3 == 1)
		mine()[threadIdx.x] = 1;
	KEEP;
	mine()[threadIdx.x] = 2;
}
// says: inter-block
__global__ void row_then_word_of_grid_race()
{
	mine()[threadIdx.x] = me();
	if (leads())
		sink[me()] = r[(blockIdx.x ^ 1) * BLOCK + 9];
}

// ---- rows

// says: intra-block
__global__ void rows_of_warps_race()
{
	if (threadIdx.x < 32)
		mine()[lane()] = me();
	else
		sink[me()] = mine()[lane()];
}
__global__ void rows_of_warps_clean()
{
	if (threadIdx.x < 32)
		mine()[lane()] = me();
	__syncthreads();
	if (threadIdx.x >= 32)
		sink[me()] = mine()[lane()];
}
// says: inter-block
__global__ void rows_of_blocks_race()
{
	if (blockIdx.x == 0)
		r[threadIdx.x] = me();
	else
		sink[me()] = r[threadIdx.x];
}
__global__ void rows_of_blocks_clean()
{
	if (blockIdx.x == 0)
		r[threadIdx.x] = me();
	else
		sink[me()] = r[BLOCK + threadIdx.x];
}
// says: inter-block intra-block
__global__ void rows_read_then_written_race()
{
	sink[me()] = r[lane()];
	if (me() >= 96)
		r[lane()] = 1;
}
__global__ void rows_read_then_written_clean()
{
	sink[me()] = r[lane()] + r[32 + lane()];
	if (me() >= 96)
		r[64 + lane()] = 1;
}
__global__ void rows_by_barriers_clean()
{
	for (int i = 0; i < 4; i++) {
		mine()[threadIdx.x] += 1;
		__syncthreads();
		sink[me()] += mine()[threadIdx.x ^ 32];
		__syncthreads();
	}
}
// says: intra-block
__global__ void rows_by_barriers_race()
{
	for (int i = 0; i < 4; i++) {
		mine()[threadIdx.x] += 1;
		__syncthreads();
		sink[me()] += mine()[threadIdx.x ^ 32];
	}
}
// says: release-missing
__global__ void rows_by_flag_race()
{
	if (blockIdx.x == 0) {
		r[threadIdx.x] = me();
		__syncthreads();
		if (leads())
			atomicExch(FLAG, 1);
	} else {
		if (leads())
			while (!seen(FLAG))
				;
		FENCE;
		__syncthreads();
		sink[me()] = r[threadIdx.x];
	}
}
__global__ void rows_by_flag_quiet()
{
	if (blockIdx.x == 0) {
		r[threadIdx.x] = me();
		FENCE;
		__syncthreads();
		if (leads())
			atomicExch(FLAG, 1);
	} else {
		if (leads())
			while (!seen(FLAG))
				;
		FENCE;
		__syncthreads();
		sink[me()] = r[threadIdx.x];
	}
}

// ---- what is nearly a row

// says: intra-block
__global__ void lane_absent_race()
{
	if (lane() != 7)
		mine()[threadIdx.x] = me();
	sink[me()] = mine()[threadIdx.x ^ 32];
}
__global__ void lane_absent_clean()
{
	if (lane() != 7)
		mine()[threadIdx.x] = me();
	else
		mine()[threadIdx.x ^ 32] = me();
}
// says: its
__global__ void misaligned_race()
{
	mine()[(threadIdx.x + 1) % BLOCK] = me();
	sink[me()] = mine()[threadIdx.x];
}
__global__ void misaligned_clean()
{
	mine()[(threadIdx.x + 1) % BLOCK] = me();
	__syncthreads();
	mine()[threadIdx.x] += 1;
	__syncthreads();
	mine()[(threadIdx.x + 3) % BLOCK] += 1;
}
// says: its
__global__ void reversed_race()
{
	mine()[threadIdx.x ^ 31] = me();
	mine()[threadIdx.x] = me();
}
__global__ void reversed_clean()
{
	mine()[threadIdx.x ^ 31] = me();
	__syncthreads();
	mine()[threadIdx.x] = me();
}
// says: intra-block
__global__ void row_then_vector_race()
{
	mine()[threadIdx.x] = me();
	if (threadIdx.x < 8) {
		uint4 v = ((uint4 *)(mine() + 32))[threadIdx.x];
		sink[me()] = v.x + v.y + v.z + v.w;
	}
}
__global__ void row_then_vector_clean()
{
	mine()[threadIdx.x] = me();
	__syncthreads();
	if (threadIdx.x < 8) {
		uint4 v = ((uint4 *)(mine() + 32))[threadIdx.x];
		sink[me()] = v.x + v.y + v.z + v.w;
	}
}
// says: intra-block
__global__ void row_then_byte_race()
{
	mine()[threadIdx.x] = me();
	if (threadIdx.x == 40)
		sink[me()] = ((unsigned char *)mine())[17];
}
__global__ void row_then_byte_clean()
{
	mine()[threadIdx.x] = me();
	__syncthreads();
	if (threadIdx.x == 40)
		sink[me()] = ((unsigned char *)mine())[17];
}

// ---- atomics

// says: mixed-strength
__global__ void row_then_atomics_race()
{
	mine()[threadIdx.x] = me();
	atomicAdd(&mine()[threadIdx.x ^ 32], 1);
}
__global__ void row_then_atomics_clean()
{
	mine()[threadIdx.x] = me();
	__syncthreads();
	atomicAdd(&mine()[threadIdx.x ^ 32], 1);
	atomicAdd_block(&mine()[threadIdx.x], 1);
}
__global__ void row_of_atomics_clean()
{
	atomicAdd(&r[threadIdx.x], 1);
}
// says: atomic-scope
__global__ void row_of_atomics_race()
{
	atomicAdd_block(&r[threadIdx.x], 1);
}
// says: mixed-strength
__global__ void atomics_then_row_race()
{
	atomicAdd(&mine()[threadIdx.x ^ 32], 1);
	sink[me()] = mine()[threadIdx.x];
}
__global__ void atomics_then_row_clean()
{
	atomicAdd(&mine()[threadIdx.x ^ 32], 1);
	__syncthreads();
	sink[me()] = mine()[threadIdx.x];
	mine()[threadIdx.x] = 0;
}
