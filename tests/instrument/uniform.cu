/*
 * uniform.cu - a warp's lanes part in front of a check, and another uniform value comes after it.
 * From an example in bench/detect: the kernel ended with an illegal address on an H200 (uniform.sh).
 */
__global__ void check(int *out, int turns, int skips)
{
	__shared__ int votes[2];
	int t = (int)threadIdx.x, sum = 0;

	for (int i = 0; i < turns; i++) {
		unsigned mask = __ballot_sync(~0u, (t + i) % 3 == 0);
		if (t % 32 == 0)
			votes[t / 32] = __popc(mask);
		if (!skips)
			__syncthreads();
		sum += votes[0] + votes[1];
		__syncthreads();
	}
	out[blockIdx.x * 64 + threadIdx.x] = sum;
}
