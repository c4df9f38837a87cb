// counters.cu - what might wrongly count as order by a counter of blocks: each of these kernels races.
// prove: exit_before potential --block-dim=64 --grid-dim=8
__global__ void exit_before(unsigned *count, float *part, float *out)
{
	if (threadIdx.x == 0) {
		__threadfence();
		unsigned t = atomicAdd(count, 1);
		__threadfence();
		if (t == gridDim.x - 1)
			*out = part[1] + part[511];
		return;
	}
	__syncthreads();
	part[blockIdx.x * 64 + threadIdx.x] = 1;
}
// prove: exit_writes potential --block-dim=64 --grid-dim=8
__global__ void exit_writes(unsigned *count, float *part, float *out)
{
	__shared__ bool last;
	if (threadIdx.x > 31) {
		part[blockIdx.x * 64 + threadIdx.x] = 1;
		return;
	}
	__syncthreads();
	if (threadIdx.x == 0) {
		__threadfence();
		unsigned t = atomicAdd(count, 1);
		__threadfence();
		last = t == gridDim.x - 1;
	}
	__syncthreads();
	if (last)
		out[threadIdx.x] = part[threadIdx.x * 16 + 8];
}
// prove: exit_reads true --block-dim=64 --grid-dim=8
__global__ void exit_reads(unsigned *count, float *part, float *out)
{
	if (threadIdx.x > 31) {
		out[blockIdx.x * 64 + threadIdx.x] = part[(blockIdx.x * 64 + threadIdx.x) % 8];
		return;
	}
	if (threadIdx.x == 0) {
		part[blockIdx.x] = 1;
		__threadfence();
		atomicAdd(count, 1);
		while (*(volatile unsigned *)count < gridDim.x)
			;
		__threadfence();
	}
	__syncthreads();
	out[blockIdx.x * 64 + threadIdx.x] = part[(blockIdx.x + 1) % 8];
}
// prove: wrong_var potential --block-dim=64 --grid-dim=8
__global__ void wrong_var(unsigned *count, float *part, float *out)
{
	__shared__ bool other;
	if (threadIdx.x == 0) {
		part[blockIdx.x] = blockIdx.x;
		__threadfence();
		unsigned t = atomicAdd(count, 1);
		__threadfence();
		other = t != gridDim.x - 1;
	}
	__syncthreads();
	if (other)
		out[threadIdx.x] = part[threadIdx.x % gridDim.x];
}
union u {
	unsigned n;
	unsigned char b[4];
};
// prove: over_a_byte potential --block-dim=64 --grid-dim=8
__global__ void over_a_byte(union u *count, float *part, float *out)
{
	if (threadIdx.x)
		return;
	part[blockIdx.x] = blockIdx.x;
	if (blockIdx.x == 5)
		count->b[0] = 7;
	__threadfence();
	unsigned t = atomicAdd(&count->n, 1);
	__threadfence();
	if (t == gridDim.x - 1)
		*out = part[0] + part[7];
}
// prove: alias_cast potential --block-dim=64 --grid-dim=8
__global__ void alias_cast(float *part, float *out)
{
	unsigned *count = (unsigned *)part + 3;
	if (threadIdx.x)
		return;
	part[blockIdx.x] = blockIdx.x;
	__threadfence();
	unsigned t = atomicAdd(count, 1);
	__threadfence();
	if (t == gridDim.x - 1)
		*out = part[0] + part[7];
}
// prove: wrap_goal potential --block-dim=64 --grid-dim=8
__global__ void wrap_goal(unsigned *count, float *part, float *out)
{
	if (threadIdx.x)
		return;
	part[blockIdx.x] = blockIdx.x;
	__threadfence();
	unsigned t = atomicAdd(count, 1);
	__threadfence();
	if ((unsigned char)(t * 37) == (unsigned char)(7 * 37 + 37 * 256) || t == 3)
		*out = part[0] + part[7];
}
// prove: two_adders potential --block-dim=64 --grid-dim=8
__global__ void two_adders(unsigned *count, float *part, float *out)
{
	if (threadIdx.x % 63)
		return;
	part[blockIdx.x * 64 + threadIdx.x] = blockIdx.x;
	__threadfence();
	unsigned t = atomicAdd(count, 1);
	__threadfence();
	if (t >= gridDim.x - 1)
		*out = part[0] + part[511 - 63];
}
// prove: dead_barrier potential --block-dim=64 --grid-dim=8
__global__ void dead_barrier(unsigned *count, float *part, float *out)
{
	part[blockIdx.x * 64 + threadIdx.x] = 1;
	if (blockDim.x == 65)
		__syncthreads();
	if (threadIdx.x)
		return;
	__threadfence();
	unsigned t = atomicAdd(count, 1);
	__threadfence();
	if (t == gridDim.x - 1)
		*out = part[1] + part[511];
}
// prove: fence_branch potential --block-dim=64 --grid-dim=8
__global__ void fence_branch(unsigned *count, float *part, float *out)
{
	if (threadIdx.x)
		return;
	part[blockIdx.x] = 1;
	if (blockIdx.x & 1)
		__threadfence();
	unsigned t = atomicAdd(count, 1);
	__threadfence();
	if (t == gridDim.x - 1)
		*out = part[0] + part[7];
}
// prove: write_after_loop potential --block-dim=64 --grid-dim=8
__global__ void write_after_loop(unsigned *count, float *part, float *out, int n)
{
	if (threadIdx.x)
		return;
	for (int i = 0; i < n; i++) {
		part[blockIdx.x] = i;
		if (i == 2) {
			__threadfence();
			unsigned t = atomicAdd(count, 1);
			__threadfence();
			if (t == gridDim.x - 1)
				*out = part[0] + part[7];
		}
	}
}
// prove: stale_poll potential --block-dim=64 --grid-dim=8
__global__ void stale_poll(unsigned *count, float *part, float *out)
{
	if (threadIdx.x)
		return;
	part[blockIdx.x] = 1;
	__threadfence();
	atomicAdd(count, 1);
	unsigned seen = 0;
	for (int i = 0; i < 100; i++) {
		unsigned now = *(volatile unsigned *)count;
		seen = now > seen ? now : seen;
	}
	__threadfence();
	if (seen + 1 >= gridDim.x)
		out[blockIdx.x] = part[0] + part[7];
}
// prove: dec_some potential --block-dim=64 --grid-dim=8
__global__ void dec_some(unsigned *count, float *part, float *out)
{
	if (threadIdx.x)
		return;
	part[blockIdx.x] = 1;
	__threadfence();
	unsigned t = atomicAdd(count, 1);
	if (blockIdx.x == 0)
		atomicSub(count, 0xffffffffu);
	__threadfence();
	if (t == gridDim.x - 1)
		out[blockIdx.x] = part[0] + part[7];
}
// prove: second_dim potential --block-dim=64 --grid-dim=4,2
__global__ void second_dim(unsigned *count, float *part, float *out)
{
	if (threadIdx.x)
		return;
	part[blockIdx.x + 4 * blockIdx.y] = 1;
	__threadfence();
	unsigned t = atomicAdd(count + blockIdx.y, 1);
	__threadfence();
	if (t == gridDim.x - 1)
		out[blockIdx.y] = part[0] + part[7];
}
// prove: two_last potential --block-dim=64 --grid-dim=8
__global__ void two_last(unsigned *count, float *part, float *out)
{
	if (threadIdx.x)
		return;
	part[blockIdx.x] = 1;
	__threadfence();
	unsigned t = atomicInc(count, gridDim.x / 2 - 1);
	__threadfence();
	if (t >= gridDim.x / 2 - 1)
		*out = part[0] + part[7];
}
// prove: shared_flag_raced potential --block-dim=64 --grid-dim=8
__global__ void shared_flag_raced(unsigned *count, float *part, float *out)
{
	__shared__ int last;
	if (threadIdx.x == 0) {
		part[blockIdx.x] = 1;
		__threadfence();
		unsigned t = atomicAdd(count, 1);
		__threadfence();
		last = t == gridDim.x - 1;
	}
	__syncthreads();
	char *p = (char *)&last;
	if (threadIdx.x == 33)
		p[1] = 1;
	__syncthreads();
	if (last)
		out[threadIdx.x] = part[threadIdx.x % 8];
}
// prove: cond_uniform potential --block-dim=64 --grid-dim=8
__global__ void cond_uniform(unsigned *count, float *part, float *out, int k)
{
	__shared__ bool last;
	if (k) {
		part[blockIdx.x * 64 + threadIdx.x] = 1;
		__syncthreads();
	}
	if (threadIdx.x == 0) {
		__threadfence();
		unsigned t = atomicAdd(count, 1);
		__threadfence();
		last = t == gridDim.x - 1;
	}
	__syncthreads();
	if (!k)
		part[blockIdx.x * 64 + threadIdx.x] = 1;
	if (last)
		out[threadIdx.x] = part[threadIdx.x * 8];
}
// prove: first_ticket potential --block-dim=64 --grid-dim=8
__global__ void first_ticket(unsigned *count, float *part, float *out)
{
	if (threadIdx.x)
		return;
	part[blockIdx.x] = 1;
	__threadfence();
	unsigned t = atomicAdd(count, 1);
	__threadfence();
	if (t - gridDim.x >= 0u - gridDim.x && t < 2)
		*out = part[0] + part[7];
}
// prove: signed_goal potential --block-dim=64 --grid-dim=8
__global__ void signed_goal(int *count, float *part, float *out, int n)
{
	if (threadIdx.x)
		return;
	part[blockIdx.x] = 1;
	__threadfence();
	int t = atomicAdd(count, 1);
	__threadfence();
	if (t >= n)
		*out = part[0] + part[7];
}
// prove: volatile_write potential --block-dim=64 --grid-dim=8
__global__ void volatile_write(volatile unsigned *count, float *part, float *out)
{
	if (threadIdx.x)
		return;
	part[blockIdx.x] = 1;
	__threadfence();
	*count = *count + 1;
	while (*count < gridDim.x)
		;
	__threadfence();
	out[blockIdx.x] = part[0] + part[7];
}
