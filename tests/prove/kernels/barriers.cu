/*
 * barriers.cu - phases of shared memory.
 */

// prove: neighbour single
__global__ void neighbour(float *out)
{
	__shared__ float s[1024];
	s[threadIdx.x] = out[threadIdx.x];
	__syncthreads();
	out[threadIdx.x] = s[(threadIdx.x + 1) % blockDim.x];
}

// prove: neighbour_no_barrier true
__global__ void neighbour_no_barrier(float *out)
{
	__shared__ float s[1024];
	s[threadIdx.x] = out[threadIdx.x];
	out[threadIdx.x] = s[(threadIdx.x + 1) % blockDim.x];
}

// prove: reduce race-free
__global__ void reduce(float *g, const float *in, int n)
{
	__shared__ float s[1024];
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	s[threadIdx.x] = i < n ? in[i] : 0.0f;
	__syncthreads();
	for (int k = blockDim.x / 2; k > 0; k >>= 1) {
		if (threadIdx.x < k)
			s[threadIdx.x] += s[threadIdx.x + k];
		__syncthreads();
	}
	if (threadIdx.x == 0)
		g[blockIdx.x] = s[0];
}

// prove: reduce_no_barrier true
__global__ void reduce_no_barrier(float *g, const float *in, int n)
{
	__shared__ float s[1024];
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	s[threadIdx.x] = i < n ? in[i] : 0.0f;
	__syncthreads();
	for (int k = blockDim.x / 2; k > 0; k >>= 1)
		if (threadIdx.x < k)
			s[threadIdx.x] += s[threadIdx.x + k];
	if (threadIdx.x == 0)
		g[blockIdx.x] = s[0];
}

// prove: reduce_no_guard true
__global__ void reduce_no_guard(float *g, const float *in)
{
	__shared__ float s[2048];
	s[threadIdx.x] = in[threadIdx.x];
	__syncthreads();
	for (int k = blockDim.x / 2; k > 0; k >>= 1) {
		s[threadIdx.x] += s[threadIdx.x + k];
		__syncthreads();
	}
	if (threadIdx.x == 0)
		g[0] = s[0];
}

// prove: reduce_interleaved race-free
__global__ void reduce_interleaved(float *g, const float *in)
{
	__shared__ float s[1024];
	s[threadIdx.x] = in[threadIdx.x];
	__syncthreads();
	for (unsigned k = 1; k < blockDim.x; k *= 2) {
		unsigned index = 2 * k * threadIdx.x;
		if (index < blockDim.x)
			s[index] += s[index + k];
		__syncthreads();
	}
	if (threadIdx.x == 0)
		g[blockIdx.x] = s[0];
}

// prove: reduce_modulo race-free
__global__ void reduce_modulo(float *g, const float *in)
{
	__shared__ float s[1024];
	s[threadIdx.x] = in[threadIdx.x];
	__syncthreads();
	for (unsigned k = 1; k < blockDim.x; k *= 2) {
		if (threadIdx.x % (2 * k) == 0)
			s[threadIdx.x] += s[threadIdx.x + k];
		__syncthreads();
	}
	if (threadIdx.x == 0)
		g[blockIdx.x] = s[0];
}

// prove: scan_two_barriers single
__global__ void scan_two_barriers(float *g)
{
	__shared__ float s[1024];
	s[threadIdx.x] = g[threadIdx.x];
	__syncthreads();
	for (unsigned d = 1; d < blockDim.x; d *= 2) {
		float v = threadIdx.x >= d ? s[threadIdx.x - d] : 0;
		__syncthreads();
		s[threadIdx.x] += v;
		__syncthreads();
	}
	g[threadIdx.x] = s[threadIdx.x];
}

// prove: scan_one_barrier true
__global__ void scan_one_barrier(float *g)
{
	__shared__ float s[1024];
	s[threadIdx.x] = g[threadIdx.x];
	__syncthreads();
	for (unsigned d = 1; d < blockDim.x; d *= 2) {
		float v = threadIdx.x >= d ? s[threadIdx.x - d] : 0;
		__syncthreads();
		s[threadIdx.x] += v;
	}
	g[threadIdx.x] = s[threadIdx.x];
}

// prove: scan_double_buffer single --block-dim=256
__global__ void scan_double_buffer(float *g)
{
	__shared__ float s[512];
	int in = 1, out = 0;
	s[threadIdx.x] = g[threadIdx.x];
	__syncthreads();
	for (int d = 1; d < 256; d *= 2) {
		out = 1 - out;
		in = 1 - out;
		float v = s[in * 256 + threadIdx.x];
		if (threadIdx.x >= d)
			v += s[in * 256 + threadIdx.x - d];
		s[out * 256 + threadIdx.x] = v;
		__syncthreads();
	}
	g[threadIdx.x] = s[out * 256 + threadIdx.x];
}

// prove: early_return race-free
__global__ void early_return(float *g, int n)
{
	__shared__ float s[1024];
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	s[threadIdx.x] = g[i];
	__syncthreads();
	g[i] = s[threadIdx.x] + 1;
}

// A thread that has ended is not ordered by later barriers.
// prove: ended_thread true --block-dim=32
__global__ void ended_thread(float *g, int n)
{
	__shared__ float s[32];
	s[(threadIdx.x + n) & 31] = g[threadIdx.x];
	if (threadIdx.x == 7)
		return;
	__syncthreads();
	g[threadIdx.x] = s[threadIdx.x & 31];
}

// prove: divergent unproven divergent
__global__ void divergent(float *g)
{
	__shared__ float s[1024];
	s[threadIdx.x] = g[threadIdx.x];
	if (threadIdx.x < 16)
		__syncthreads();
	g[threadIdx.x] = s[threadIdx.x];
}

// prove: uniform_barrier single
__global__ void uniform_barrier(float *g, int n)
{
	__shared__ float s[1024];
	s[threadIdx.x] = g[threadIdx.x];
	if (n > 5)
		__syncthreads();
	else
		return;
	g[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}

// prove: barrier_not_always true
__global__ void barrier_not_always(float *g, int n)
{
	__shared__ float s[1024];
	s[threadIdx.x] = g[threadIdx.x];
	if (n > 5)
		__syncthreads();
	g[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}

// prove: loop_carried true
__global__ void loop_carried(float *g, int n)
{
	__shared__ float s[1024];
	s[threadIdx.x] = 0;
	for (int i = 0; i < n; i++) {
		__syncthreads();
		s[threadIdx.x] += s[(threadIdx.x + 1) % blockDim.x];
	}
	g[threadIdx.x] = s[threadIdx.x];
}

// prove: ping single
__global__ void ping(float *g, int n)
{
	__shared__ float s[1024];
	float v = 0;
	for (int i = 0; i < n; i++) {
		s[threadIdx.x] = v;
		__syncthreads();
		v += s[(threadIdx.x + i) % blockDim.x];
		__syncthreads();
	}
	g[threadIdx.x] = v;
}

// prove: broadcast single
__global__ void broadcast(float *g)
{
	__shared__ float head;
	if (threadIdx.x == 0)
		head = g[0];
	__syncthreads();
	g[threadIdx.x + 1] = head;
}

// prove: blocks_not_ordered true
__global__ void blocks_not_ordered(float *g)
{
	if (blockIdx.x == 0)
		g[threadIdx.x] = 1;
	__syncthreads();
	if (blockIdx.x == 1)
		g[threadIdx.x] = 2;
}

// Barriers behind a condition that all threads answer alike.
// prove: cond_first single
__global__ void cond_first(int *p, int n)
{
	__shared__ int s[1024];
	for (int i = 0; i < n; i++) {
		if (i > 0)
			__syncthreads();
		s[threadIdx.x] = i;
		__syncthreads();
		p[threadIdx.x] += s[(threadIdx.x + 1) % blockDim.x];
	}
}

// prove: cond_first_late true
__global__ void cond_first_late(int *p, int n)
{
	__shared__ int s[1024];
	for (int i = 0; i < n; i++) {
		if (i > 1)
			__syncthreads();
		s[threadIdx.x] = i;
		__syncthreads();
		p[threadIdx.x] += s[(threadIdx.x + 1) % blockDim.x];
	}
}

// prove: cond_last single
__global__ void cond_last(int *p, int n)
{
	__shared__ int s[1024];
	for (int i = 0; i < n; i++) {
		s[threadIdx.x] = i;
		__syncthreads();
		p[threadIdx.x] = s[(threadIdx.x + 1) % blockDim.x];
		if (i + 1 < n)
			__syncthreads();
	}
}

// prove: cond_last_early true
__global__ void cond_last_early(int *p, int n)
{
	__shared__ int s[1024];
	for (int i = 0; i < n; i++) {
		s[threadIdx.x] = i;
		__syncthreads();
		p[threadIdx.x] = s[(threadIdx.x + 1) % blockDim.x];
		if (i + 2 < n)
			__syncthreads();
	}
}

// prove: cond_between single
__global__ void cond_between(int *p, int n)
{
	__shared__ int s[1024];
	s[threadIdx.x] = n;
	if (n > 3)
		__syncthreads();
	if (n > 4)
		p[threadIdx.x] = s[(threadIdx.x + 1) % blockDim.x];
}

// prove: cond_between_not true
__global__ void cond_between_not(int *p, int n)
{
	__shared__ int s[1024];
	s[threadIdx.x] = n;
	if (n > 4)
		__syncthreads();
	if (n > 3)
		p[threadIdx.x] = s[(threadIdx.x + 1) % blockDim.x];
}

// Buffers that are exchanged.
// prove: exchange single
__global__ void exchange(int *p, int n)
{
	__shared__ int s[2][1024];
	int *a = s[0], *b = s[1];
	a[threadIdx.x] = p[threadIdx.x];
	__syncthreads();
	for (int k = 0; k < n; k++) {
		b[threadIdx.x] = a[(threadIdx.x + 1) % blockDim.x];
		__syncthreads();
		int *t = a;
		a = b;
		b = t;
	}
	p[threadIdx.x] = a[threadIdx.x];
}

// prove: exchange_neighbour true --block-dim=64
__global__ void exchange_neighbour(int *p, int n)
{
	__shared__ int s[2][1024];
	int *a = s[0], *b = s[1];
	a[threadIdx.x] = p[threadIdx.x];
	for (int k = 0; k < n; k++) {
		b[threadIdx.x] = a[(threadIdx.x + 1) % blockDim.x];
		__syncthreads();
		int *t = a;
		a = b;
		b = t;
	}
	p[threadIdx.x] = a[threadIdx.x];
}

// prove: exchange_three single --block-dim=64
__global__ void exchange_three(int *p, int n)
{
	__shared__ int one[64], two[64], three[64];
	int *a = one, *b = two, *c = three;
	for (int k = 0; k < n; k++) {
		c[threadIdx.x] = k;
		__syncthreads();
		p[threadIdx.x] += c[63 - threadIdx.x];
		int *t = a;
		a = b;
		b = c;
		c = t;
	}
}

// An exchange that may not happen: nothing is proven, though it races.
// prove: exchange_two_of_three potential racy --block-dim=64
__global__ void exchange_two_of_three(int *p, int n)
{
	__shared__ int one[64], two[64], three[64];
	int *a = one, *b = two, *c = three;
	for (int k = 0; k < n; k++) {
		c[threadIdx.x] = k;
		__syncthreads();
		p[threadIdx.x] += c[63 - threadIdx.x];
		if (n != 3) {
			int *t = a;
			a = b;
			b = c;
			c = t;
		}
	}
}

// prove: stages single --block-dim=64
__global__ void stages(int *p, int n)
{
	__shared__ int s[3][64];
	int at = 0;
	for (int k = 0; k < n; k++) {
		s[at][threadIdx.x] = k;
		__syncthreads();
		p[threadIdx.x] += s[at][63 - threadIdx.x];
		if (++at == 3)
			at = 0;
	}
}

// prove: stages_one true --block-dim=64
__global__ void stages_one(int *p, int n)
{
	__shared__ int s[3][64];
	int at = 0;
	for (int k = 0; k < n; k++) {
		s[at][threadIdx.x] = k;
		__syncthreads();
		p[threadIdx.x] += s[at][63 - threadIdx.x];
		if (++at == 1)
			at = 0;
	}
}

/*
 * A loop with barriers that begins at the thread's number and ends so much later: all threads make
 * as many rounds, though each of its branches has the thread's number in it.
 */
// prove: walks_along race-free --block-dim=64 --grid-dim=8 --param=n=2048
__global__ void walks_along(float *out, const float *in, int n)
{
	__shared__ float s[64];
	int t0 = blockIdx.x * n + threadIdx.x;
	for (int t = t0; t < n + t0; t += 64) {
		__syncthreads();
		s[threadIdx.x] = in[t];
		__syncthreads();
		out[t] = s[63 - threadIdx.x];
	}
}
// prove: walks_along_one_barrier true --block-dim=64 --grid-dim=8 --param=n=2048
__global__ void walks_along_one_barrier(float *out, const float *in, int n)
{
	__shared__ float s[64];
	int t0 = blockIdx.x * n + threadIdx.x;
	for (int t = t0; t < n + t0; t += 64) {
		s[threadIdx.x] = in[t];
		__syncthreads();
		out[t] = s[63 - threadIdx.x];
	}
}
// Some threads make a round more.
// prove: walks_to_one_end true --block-dim=64 --grid-dim=8 --param=n=2000
__global__ void walks_to_one_end(float *out, const float *in, int n)
{
	__shared__ float s[64];
	int t0 = blockIdx.x * n;
	for (int t = t0 + threadIdx.x; t < n + t0; t += 64) {
		__syncthreads();
		s[threadIdx.x] = in[t];
		__syncthreads();
		out[t] = s[63 - threadIdx.x];
	}
}
// ... or have longer steps,
// prove: walks_in_other_steps true --block-dim=64 --grid-dim=8 --param=n=2048
__global__ void walks_in_other_steps(float *out, const float *in, int n)
{
	__shared__ float s[64];
	int t0 = blockIdx.x * n + threadIdx.x;
	for (int t = t0; t < n + t0; t += 64 + threadIdx.x) {
		__syncthreads();
		s[threadIdx.x] = in[t];
		__syncthreads();
		out[blockIdx.x * n + threadIdx.x] = s[63 - threadIdx.x];
	}
}
// leave early by what they read,
// prove: walks_and_leaves potential racy --block-dim=64 --grid-dim=8 --param=n=2048
__global__ void walks_and_leaves(float *out, const float *in, int n)
{
	__shared__ float s[64];
	int t0 = blockIdx.x * n + threadIdx.x;
	for (int t = t0; t < n + t0; t += 64) {
		__syncthreads();
		s[threadIdx.x] = in[t];
		if (in[t] < 0)
			break;
		__syncthreads();
		out[t] = s[63 - threadIdx.x];
	}
}
// make none, as the start wraps below 0,
// prove: walks_from_below potential racy --block-dim=64 --grid-dim=8 --param=n=2048
__global__ void walks_from_below(float *out, const float *in, unsigned n)
{
	__shared__ float s[64];
	for (unsigned t = threadIdx.x - 8; t < n + threadIdx.x - 8; t += 64) {
		__syncthreads();
		s[threadIdx.x] = in[t];
		__syncthreads();
		out[blockIdx.x * n + threadIdx.x] = s[63 - threadIdx.x];
	}
}
// or walk more often.
// prove: walks_more_often true --block-dim=64 --grid-dim=8 --param=n=2048
__global__ void walks_more_often(float *out, const float *in, int n)
{
	__shared__ float s[64];
	int t0 = blockIdx.x * n + threadIdx.x;
	for (int k = 0; k <= (threadIdx.x & 1); k++)
		for (int t = t0; t < n + t0; t += 64) {
			__syncthreads();
			s[threadIdx.x] = in[t];
			__syncthreads();
			out[t] = s[63 - threadIdx.x];
		}
}
