// large.cu - kernels with more blocks times bytes of private memory than there was room for when
// each block had all of them for itself (src/prove/value/cells.c): 4,096 bytes, some 5,000 blocks.

#define STEP(k)      if (n > (k)) kept[(k) % 512] += n
#define STEPS_4(k)   STEP(k); STEP(k + 1); STEP(k + 2); STEP(k + 3)
#define STEPS_16(k)  STEPS_4(k); STEPS_4(k + 4); STEPS_4(k + 8); STEPS_4(k + 12)
#define STEPS_64(k)  STEPS_16(k); STEPS_16(k + 16); STEPS_16(k + 32); STEPS_16(k + 48)
#define STEPS_256(k) STEPS_64(k); STEPS_64(k + 64); STEPS_64(k + 128); STEPS_64(k + 192)

// prove: many_blocks race-free --block-dim=64 --grid-dim=8
__global__ void many_blocks(double *out, int n)
{
	double kept[512] = {};

	STEPS_256(0);
	STEPS_256(256);
	STEPS_256(512);
	STEPS_256(768);
	out[blockIdx.x * blockDim.x + threadIdx.x] = kept[0];
}

// prove: many_blocks_race true --block-dim=64 --grid-dim=8
__global__ void many_blocks_race(double *out, int n)
{
	double kept[512] = {};

	STEPS_256(0);
	STEPS_256(256);
	STEPS_256(512);
	STEPS_256(768);
	out[blockIdx.x * (blockDim.x - 1) + threadIdx.x] = kept[0];
}
