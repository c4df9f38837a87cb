// sum.cu - a sum of blocks with a missing barrier, and a kernel without accesses
extern "C" __global__ void block_sum(const int *in, int *out)
{
	__shared__ int part[256];
	int t = threadIdx.x;

	part[t] = in[blockIdx.x * 256 + t];
	__syncthreads();
	for (int half = 128; half > 0; half /= 2) {
		if (t < half)
			part[t] += part[t + half]; // race: no barrier between two rounds
	}
	if (t == 0)
		out[blockIdx.x] = part[0];
}

extern "C" __global__ void nothing() {}
