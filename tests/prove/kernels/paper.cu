/*
 * paper.cu - the four alarms of the FaialAA paper (section 2), written from its text.
 */

// prove: alarm1 true
__global__ void alarm1(float *out)
{
	__shared__ float sdata[256];
	float sum = out[threadIdx.x];
	sdata[threadIdx.x] = sum;
	__syncthreads();
	if (threadIdx.x < 32)
		sdata[threadIdx.x] = sum = sum + sdata[threadIdx.x + 16];
}

// As in the original the array is volatile: strong accesses, a conflict of its own class.
// prove: alarm1_volatile potential volatile
__global__ void alarm1_volatile(float *out)
{
	__shared__ volatile float sdata[256];
	float sum = out[threadIdx.x];
	if (threadIdx.x < 32)
		sdata[threadIdx.x] = sum = sum + sdata[threadIdx.x + 16];
}

// prove: alarm1_fixed race-free
__global__ void alarm1_fixed(float *out)
{
	__shared__ float sdata[256];
	float sum = out[threadIdx.x];
	sdata[threadIdx.x] = sum;
	__syncthreads();
	if (threadIdx.x < 32)
		sum = sum + sdata[threadIdx.x + 16];
	__syncthreads();
	if (threadIdx.x < 32)
		sdata[threadIdx.x] = sum;
}

// prove: alarm2 potential racy CDDI
__global__ void alarm2(unsigned *P, unsigned pass)
{
	unsigned connected = P[0];
	if (connected != 0)
		P[threadIdx.x] = pass * 8 + 2;
}

// prove: alarm3 potential racy CIDD
__global__ void alarm3(float *newVel, const unsigned *gridParticleIndex)
{
	unsigned index = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned orig = gridParticleIndex[index];
	newVel[orig] = 1.0f;
}

// prove: alarm4 potential free CIDD
__global__ void alarm4(int *M)
{
	M[threadIdx.x] = threadIdx.x;
	int x = M[threadIdx.x];
	M[x] = threadIdx.x * 2;
}
