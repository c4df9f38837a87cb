// lockstep.cu - what code that counts on lockstep computes, and its twin with __syncwarp(); run by
// lockstep.sh. Prints how many of the blocks' results are wrong: "counts N", "waits N".
#include <cstdio>
#include <cuda_runtime.h>

#define BLOCKS 32

template <bool waits> __device__ void order()
{
	if (waits)
		__syncwarp();
}

/* The tail of a reduction, and a shift by neighbours. */
template <bool waits> __global__ void sum(unsigned *out)
{
	__shared__ volatile unsigned s[64];
	unsigned t = threadIdx.x;

	s[t] = t + 1;
	s[t + 32] = 0;
	__syncwarp();
	for (unsigned d = 16; d; d /= 2) {
		unsigned v = s[t + d];
		order<waits>();
		s[t] = s[t] + v;
		order<waits>();
	}
	unsigned up = s[t + 1];
	order<waits>();
	s[t] = up + 1;
	__syncwarp();
	if (t == 0)
		out[blockIdx.x] = s[0];
}

/* A polled flag is no finding, nor is what is read behind it. */
__global__ void polls(unsigned *out)
{
	__shared__ volatile unsigned flag, data;
	unsigned t = threadIdx.x;

	if (t == 0)
		flag = data = 0;
	__syncthreads();
	if (t == 0) {
		data = 7;
		flag = 1;
	} else if (t == 1) {
		while (!flag)
			;
		out[blockIdx.x] = data;
	}
}

/* A barrier of the block orders lanes as well. */
__global__ void meets(unsigned *out)
{
	__shared__ volatile unsigned s[33];
	unsigned t = threadIdx.x;

	s[t] = t;
	__syncthreads();
	unsigned v = s[(t + 1) % 32];
	__syncthreads();
	s[t] = v;
	__syncthreads();
	if (t == 0)
		out[blockIdx.x] = s[3];
}

template <bool waits> static void run(const char *name)
{
	unsigned *d, h[BLOCKS], wrong = 0;

	cudaMalloc(&d, sizeof(h));
	polls<<<BLOCKS, 32>>>(d);
	meets<<<BLOCKS, 32>>>(d);
	sum<waits><<<BLOCKS, 32>>>(d);
	cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
	cudaFree(d);
	for (unsigned b = 0; b < BLOCKS; b++)
		wrong += h[b] != h[0];
	printf("%s %u\n", name, wrong);
}

int main()
{
	run<false>("counts");
	run<true>("waits");
	return 0;
}
