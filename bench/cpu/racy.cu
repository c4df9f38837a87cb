// racy.cu - kernels with races by the thousand, for bench/cpu/judge.sh: `racy NAME` runs one, `racy` lists them.
//
// Each has the shape of a bug from practice, and runs long enough in plain emulation that the ratio of
// two runs says something (0.03 to 0.3 s).
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

#define N      (1 << 16)
#define BLOCK  256
#define ROUNDS 24
#define AT     (blockIdx.x * BLOCK + threadIdx.x)

typedef unsigned u32;
static __device__ u32 lock_word, ticket;

// All threads and one word.
__global__ void one_store(u32 *p) { for (int k = 0; k < ROUNDS; k++) p[0] = AT + k; }
__global__ void one_update(u32 *p) { for (int k = 0; k < ROUNDS; k++) p[0] += AT; }
__global__ void one_read(u32 *p)
{
	u32 sum = 0;
	for (int k = 0; k < ROUNDS; k++) {
		sum += ((volatile u32 *)p)[0];
		if (AT == k) p[0] = sum;
	}
	p[1 + AT] = sum;
}
__global__ void one_byte(u32 *p) { for (int k = 0; k < ROUNDS; k++) { ((char *)p)[k & 3] = (char)AT; asm volatile("" ::: "memory"); } }
__global__ void one_atomic(u32 *p)
{
	for (int k = 0; k < ROUNDS; k++) atomicAdd(p, 1);
	p[0] = AT;
}
// Each word is written by several blocks.
__global__ void rows(u32 *p) { for (int k = 0; k < ROUNDS; k++) p[(AT + k * BLOCK) % N] = AT; }
__global__ void rows_read(u32 *p)
{
	u32 sum = 0;
	for (int k = 0; k < ROUNDS; k++) sum += p[(AT + k * BLOCK) % N];
	p[AT] = sum;
}
__global__ void wide(u32 *p)
{
	uint4 v = make_uint4(1, 2, 3, AT);
	for (int k = 0; k < ROUNDS; k++) ((uint4 *)p)[(AT + k * BLOCK) % (N / 4)] = v;
}
__global__ void halves(u32 *p) { for (int k = 0; k < ROUNDS; k++) ((unsigned short *)p)[(AT + k * 7) % N] = (unsigned short)AT; }
__global__ void bytes(u32 *p) { for (int k = 0; k < ROUNDS; k++) ((unsigned char *)p)[(AT + k * 5) % N] = (unsigned char)AT; }
__global__ void bytes_words(u32 *p)
{
	for (int k = 0; k < ROUNDS; k++) {
		((unsigned char *)p)[(AT + k * 5) % N] = (unsigned char)AT;
		p[(AT * 3 + k) % (N / 4)] = k;
	}
}
__global__ void column(u32 *p) { for (int k = 0; k < ROUNDS; k++) p[threadIdx.x * 256 + (blockIdx.x + k) % 256] = AT; }
__global__ void scatter(u32 *p) { for (int k = 0; k < ROUNDS; k++) p[AT * 2654435761u >> 16] = k; }
__global__ void gather(u32 *p)
{
	u32 sum = 0;
	for (int k = 0; k < ROUNDS; k++) sum += p[(AT + k) * 2654435761u >> 16];
	p[AT] = sum;
}
__global__ void counts(u32 *p) { for (int k = 0; k < ROUNDS; k++) p[(AT + k) * 2654435761u >> 24]++; }
__global__ void mixed_atomics(u32 *p)
{
	for (int k = 0; k < ROUNDS; k++)
		if (threadIdx.x & 1) atomicAdd(&p[(AT + k) % 64], 1);
		else p[(AT + k) % 64] += 1;
}
__global__ void block_atomics(u32 *p) { for (int k = 0; k < ROUNDS; k++) atomicAdd_block(&p[(AT + k) % 64], 1); }
__global__ void halo(u32 *p)
{
	for (int k = 0; k < ROUNDS; k++)
		p[AT] = p[(AT + N - 1) % N] + p[(AT + 1) % N];
}
__global__ void fenced(u32 *p)
{
	for (int k = 0; k < ROUNDS / 4; k++) {
		p[(AT + k * 31) % N] = AT;
		__threadfence();
		p[(AT + k * 57 + 1) % N] = AT;
	}
}
__global__ void flags(u32 *p)
{
	u32 sum = 0;
	for (int k = 0; k < ROUNDS; k++) {
		p[AT] = k;
		((volatile u32 *)p)[N + AT % 512] = k;
		sum += ((volatile u32 *)p)[N + (AT + 256) % 512] ? p[(AT + 256) % N] : 0;
	}
	p[2 * N + AT] = sum;
}
// A lock without a fence, by one thread of a block.
__global__ void locked(u32 *p)
{
	if (threadIdx.x) return;
	for (int k = 0; k < 4; k++) {
		while (atomicCAS(&lock_word, 0, 1)) ;
		for (int i = 0; i < 32; i++) p[i] += k;
		atomicExch(&lock_word, 0);
	}
}
__global__ void last_block(u32 *p)
{
	__shared__ bool is_last;
	p[AT] = AT;
	__syncthreads();
	if (threadIdx.x == 0) is_last = atomicAdd(&ticket, 1) == gridDim.x - 1;
	__syncthreads();
	u32 sum = 0;
	for (u32 i = threadIdx.x; is_last && i < gridDim.x * BLOCK; i += BLOCK) sum += p[i];
	if (is_last) p[N + threadIdx.x] = sum;
}
// Shared memory.
__global__ void no_barrier(u32 *p)
{
	__shared__ u32 s[BLOCK];
	u32 sum = 0;
	for (int k = 0; k < ROUNDS; k++) {
		s[threadIdx.x] = AT + k;
		sum += s[(threadIdx.x + 33) % BLOCK];
	}
	p[AT] = sum;
}
__global__ void one_barrier(u32 *p)
{
	__shared__ u32 s[BLOCK];
	u32 sum = 0;
	for (int k = 0; k < ROUNDS; k++) {
		s[threadIdx.x] = AT + k;
		__syncthreads();
		sum += s[BLOCK - 1 - threadIdx.x];
	}
	p[AT] = sum;
}
__global__ void sums(u32 *p)
{
	__shared__ u32 s[BLOCK];
	for (int k = 0; k < ROUNDS / 4; k++) {
		s[threadIdx.x] = AT + k;
		__syncthreads();
		for (int d = BLOCK / 2; d; d /= 2)
			if ((int)threadIdx.x < d) ((volatile u32 *)s)[threadIdx.x] += s[threadIdx.x + d];
	}
	p[AT] = s[0];
}
__global__ void shared_counts(u32 *p)
{
	__shared__ u32 s[64];
	for (int k = 0; k < ROUNDS; k++) s[(threadIdx.x + k) % 64]++;
	__syncthreads();
	p[AT] = s[threadIdx.x % 64];
}
__global__ void transposed(u32 *p)
{
	__shared__ u32 s[16][17];
	u32 x = threadIdx.x % 16, y = threadIdx.x / 16, sum = 0;
	for (int k = 0; k < ROUNDS; k++) {
		s[y][x] = AT + k;
		sum += s[x][y];
	}
	p[AT] = sum;
}

static const struct { const char *name; void (*kernel)(u32 *); } kernels[] = {
#define K(x) {#x, x}
	K(one_store), K(one_update), K(one_read), K(one_byte), K(one_atomic), K(rows), K(rows_read),
	K(wide), K(halves), K(bytes), K(bytes_words), K(column), K(scatter), K(gather), K(counts),
	K(mixed_atomics), K(block_atomics), K(halo), K(fenced), K(flags), K(locked), K(last_block),
	K(no_barrier), K(one_barrier), K(sums), K(shared_counts), K(transposed),
};

int main(int argc, char **argv)
{
	u32 *p;

	for (auto &k : kernels) {
		if (argc < 2) puts(k.name);
		if (argc < 2 || strcmp(argv[1], k.name)) continue;
		cudaMalloc(&p, 3 * N * sizeof(u32));
		cudaMemset(p, 0, 3 * N * sizeof(u32));
		for (int i = 0; i < 2; i++) k.kernel<<<N / BLOCK, BLOCK>>>(p);
		return cudaDeviceSynchronize() != cudaSuccess;
	}
	return argc > 1;
}
