// The three ways in which nvcc -O3 reads what the program doesn't, and for each a
// twin in which the same value is really read. Checked by flow_cases --loads.

__device__ int flag, other;
struct alignas(16) quad {
	float x, y, z, w;
};

extern "C" {
// if (c) v = flag: an unconditional load and selp.
// expect select_flag: select never sure
__global__ void select_flag(int *out, int c)
{
	int v = 5;
	if (c)
		v = flag;
	out[threadIdx.x] = v;
}

// expect select_flag_twin: sure never select never maybe
__global__ void select_flag_twin(int *out, int c)
{
	out[threadIdx.x] = flag + (c ? 5 : 6);
}

// c && flag: an unconditional load, and or.pred of both conditions.
// expect and_flag: select never sure
__global__ void and_flag(int *out, int c)
{
	if (c > 3 && flag)
		out[threadIdx.x] = 1;
}

// expect and_flag_twin: sure never select never maybe
__global__ void and_flag_twin(int *out, int c)
{
	if (flag)
		out[threadIdx.x] = c;
}

// !flag && !other: both loads, and one test of (flag | other).
// expect both_zero: maybe never sure
__global__ void both_zero(int *out)
{
	if (flag == 0 && other == 0)
		out[threadIdx.x] = 1;
}

// expect both_zero_twin: sure never maybe
__global__ void both_zero_twin(int *out)
{
	out[threadIdx.x] = flag ^ other;
}

// if (c & 1) s += flag: an unconditional load under a mask made of the bit.
// expect masked: maybe never sure
__global__ void masked(int *out, int c)
{
	int s = 0;
	if (c & 1)
		s += flag;
	if (c & 2)
		s += other;
	out[threadIdx.x] = s;
}

// The same with a mask of the program's own: the text says nothing of that.
// expect masked_alike: maybe never sure
__global__ void masked_alike(int *out, int c)
{
	out[threadIdx.x] = (flag & c) + (other & c);
}

// expect masked_twin: sure never maybe
__global__ void masked_twin(int *out)
{
	out[threadIdx.x] = flag & 255;
	out[threadIdx.x + 1] = other & 255;
}

// A loop-invariant load moves in front of the loop, above its condition.
// expect hoist_flag: maybe
__global__ void hoist_flag(int *__restrict__ out, const int *in, int n)
{
	for (int i = 0; i < n; i++)
		if (in[i])
			out[i] = flag;
}

// expect hoist_flag_twin: sure never maybe never select
__global__ void hoist_flag_twin(int *out, int n)
{
	int v = flag;
	for (int i = 0; i < n; i++)
		v = v * 3 + 1;
	out[threadIdx.x] = v;
}

// Three members read as v4: the fourth is dead.
// expect three: sure dead never maybe
__global__ void three(float *out, const quad *in)
{
	const quad *p = in + threadIdx.x;
	out[threadIdx.x] = p->x + p->y + p->z;
}

// expect three_twin: sure never dead never maybe
__global__ void three_twin(float *out, const quad *in)
{
	const quad *p = in + threadIdx.x;
	out[threadIdx.x] = p->x + p->y + p->z + p->w;
}
}
