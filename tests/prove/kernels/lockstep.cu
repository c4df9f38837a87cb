/*
 * lockstep.cu - code from before sm_70, whose warps were in step: a finding of its own.
 */

template <bool IS_SYNCED> __device__ void last_warp(volatile int *s, unsigned t)
{
	for (unsigned k = 32; k > 0; k /= 2) {
		s[t] = s[t] + s[t + k];
		if (IS_SYNCED)
			__syncwarp();
	}
}

// prove: reduce_volatile potential racy class=needs-lockstep --block-dim=128 --grid-dim=64
// prove: reduce_volatile race-free --warp-lockstep --block-dim=128 --grid-dim=64
__global__ void reduce_volatile(int *out, const int *in)
{
	__shared__ int s[128];
	unsigned t = threadIdx.x;
	s[t] = in[blockIdx.x * 128 + t];
	__syncthreads();
	if (t < 64)
		s[t] += s[t + 64];
	__syncthreads();
	if (t < 32) {
		volatile int *v = s;
		v[t] = v[t] + v[t + 32];
		v[t] = v[t] + v[t + 16];
		v[t] = v[t] + v[t + 8];
		v[t] = v[t] + v[t + 4];
		v[t] = v[t] + v[t + 2];
		v[t] = v[t] + v[t + 1];
	}
	if (t == 0)
		out[blockIdx.x] = s[0];
}

// prove: reduce_plain true class=needs-lockstep --block-dim=128 --grid-dim=64
// prove: reduce_plain race-free --warp-lockstep --block-dim=128 --grid-dim=64
__global__ void reduce_plain(int *out, const int *in)
{
	__shared__ int s[128];
	unsigned t = threadIdx.x;
	s[t] = in[blockIdx.x * 128 + t];
	__syncthreads();
	if (t < 32) {
		s[t] += s[t + 32];
		s[t] += s[t + 16];
		s[t] += s[t + 8];
	}
	if (t == 0)
		out[blockIdx.x] = s[0];
}

// Two warps: no lockstep orders those.
// prove: reduce_two_warps true class=data-race --block-dim=128 --grid-dim=64
// prove: reduce_two_warps true --warp-lockstep --block-dim=128 --grid-dim=64
__global__ void reduce_two_warps(int *out, const int *in)
{
	__shared__ int s[128];
	unsigned t = threadIdx.x;
	s[t] = in[blockIdx.x * 128 + t];
	__syncthreads();
	if (t < 64)
		s[t] += s[t + 32];
	if (t < 64)
		s[t] += s[t + 16];
	out[blockIdx.x * 128 + t] = s[t];
}

// Two lanes store to one word in one instruction: in step or not.
// prove: same_word true class=data-race --block-dim=32 --grid-dim=64
__global__ void same_word(int *out)
{
	out[blockIdx.x] = threadIdx.x;
}
