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

template <bool waits> static void run(const char *name)
{
	unsigned *d, h[BLOCKS], wrong = 0;

	cudaMalloc(&d, sizeof(h));
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
