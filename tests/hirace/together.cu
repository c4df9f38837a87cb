// together.cu - a kernel that asks which lanes of its warp run together, and one that doesn't.
//
// Each warp reads elements that another kernel has left in two states, so its lanes take two ways through the
// checks. PTX doesn't promise that they come together again.
#include <cstdio>
#include <cuda_runtime.h>

#define N 1024u

__global__ void leave(unsigned *a)
{
	unsigned t = threadIdx.x + blockIdx.x * blockDim.x;

	if (t % 3 == 1)
		a[t] = t;
}

__global__ void asks(const unsigned *a, unsigned *out)
{
	unsigned t = threadIdx.x + blockIdx.x * blockDim.x, v = a[t * 2 % N];

	out[t] = __popc(__activemask()) + v;
}

__global__ void names_them(const unsigned *a, unsigned *out)
{
	unsigned t = threadIdx.x + blockIdx.x * blockDim.x, v = a[t * 2 % N];

	out[t] = __popc(__ballot_sync(0xffffffffu, v < N));
}

int main()
{
	unsigned *a, *out, last[N], wrong = 0;

	cudaMalloc(&a, N * sizeof(*a));
	cudaMalloc(&out, N * sizeof(*out));
	cudaMemset(a, 0, N * sizeof(*a));
	leave<<<N / 256, 256>>>(a);
	asks<<<N / 256, 256>>>(a, out);
	names_them<<<N / 256, 256>>>(a, out);
	cudaMemcpy(last, out, sizeof(last), cudaMemcpyDeviceToHost);
	for (unsigned i = 0; i < N; i++)
		wrong += last[i] != 32;
	printf("%u wrong\n", wrong);
	return wrong != 0;
}
