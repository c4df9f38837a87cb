/* Kernels compute by their own rounding and keep subnormals, whatever the host's thread is set to. */
#include <cfenv>
#include <xmmintrin.h>

#include "expect.h"

__global__ void compute(float *out, float tiny, float little)
{
	out[2 * blockIdx.x] = tiny * 0.5f;
	out[2 * blockIdx.x + 1] = 1.0f + little;
}

int main()
{
	const int blocks = 64;
	const float tiny = 1.5e-38f, half = tiny * 0.5f;
	volatile float one = 1.0f, little = 1e-10f;
	float *p, *h = (float *)malloc(2 * blocks * sizeof(float));

	OK(cudaMalloc(&p, 2 * blocks * sizeof(float)));
	fesetround(FE_UPWARD);
	_mm_setcsr(_mm_getcsr() | 0x8040); /* flush to zero, subnormals are zeroes */
	compute<<<blocks, 1>>>(p, tiny, 1e-10f);
	OK(cudaDeviceSynchronize());
	THAT(_mm_getcsr() & 0x8000); /* the host's own is as it was */
	THAT(one + little > 1);
	_mm_setcsr(_mm_getcsr() & ~0x8040u);
	fesetround(FE_TONEAREST);
	OK(cudaMemcpy(h, p, 2 * blocks * sizeof(float), cudaMemcpyDefault));
	for (int i = 0; i < blocks; i++) {
		THAT(half != 0 && h[2 * i] == half);
		THAT(h[2 * i + 1] == 1);
	}
	puts("ok");
}
