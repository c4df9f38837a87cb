/*
 * planted.cu - races that happen at some executions only: planted PATTERN GRADE [fixed]
 *
 * A block's turn of the loop is an execution. Each of the PATTERNS races at an execution that is hit,
 * and at no other; GRADE says which are: all of every second block (0), one of 1,024 (1), one of 25,600
 * (2), one of 1,024 with 4,000 turns of an empty loop between what races (3), in the last of 100
 * launches all of every second block (4). fixed: none.
 */
#include <cstdio>
#include <cstdlib>

#define BLOCKS	 64
#define THREADS	 64
#define PATTERNS 12

struct plan {
	int grade, iters, is_last, is_fixed;
	int *a, *b, *count;
	unsigned char *bytes;
};

__device__ static bool is_hit(const plan &p, int turn)
{
	int id = blockIdx.x * p.iters + turn;

	/* Where all blocks took their neighbour's element, it would be another's no longer. */
	if (p.grade == 0 || p.grade == 4)
		return !p.is_fixed && blockIdx.x % 2 && (p.grade == 0 || p.is_last);
	return !p.is_fixed && id == (p.grade == 2 ? 12517 : 517);
}

/* Time between the two accesses. */
__device__ static void pass(const plan &p, bool hit)
{
	if (p.grade != 3 || !hit)
		return;
	for (int i = 0; i < 4000; i++)
		asm volatile("");
}

template <int P> __global__ void planted(plan p)
{
	__shared__ int s[2][THREADS];
	int t = threadIdx.x, me = blockIdx.x * THREADS + t, next = (me + THREADS) % (BLOCKS * THREADS), sum = 0;

	s[0][t] = s[1][t] = t;
	__syncthreads();
	for (int i = 0; i < p.iters; i++) {
		bool hit = is_hit(p, i);
		switch (P) {
		case 0: /* the barrier after a tile was read */
			s[0][t] = sum + i;
			__syncthreads();
			sum += s[0][t ^ 32];
			if (!hit)
				__syncthreads();
			pass(p, hit);
			break;
		case 1: /* the barrier before it is read */
			s[0][t] = sum + i;
			pass(p, hit);
			if (!hit)
				__syncthreads();
			sum += s[0][t ^ 32];
			__syncthreads();
			break;
		case 2: /* two blocks write one element */
			p.a[hit ? next : me] = i;
			break;
		case 3: /* a block reads what its neighbour writes */
			sum += p.a[hit ? next : me];
			pass(p, hit);
			p.a[me] = sum;
			break;
		case 4: /* a counter without an atomic */
			if (t == 0) {
				if (hit)
					*p.count += 1;
				else
					atomicAdd(p.count, 1);
			}
			break;
		case 5: /* lanes exchange values without __syncwarp() */
			s[0][t] = sum + i;
			pass(p, hit);
			if (!hit)
				__syncwarp();
			sum += s[0][t ^ 1];
			__syncwarp();
			break;
		case 6: /* bytes: one of another thread */
			p.bytes[hit ? next : me] = (unsigned char)i;
			break;
		case 7: /* four elements at once, of which one is another thread's */
			if ((t & 3) == 0) {
				int at = hit ? next : me;
				*reinterpret_cast<int4 *>(p.a + at) = make_int4(i, i, i, i);
			}
			break;
		case 8: /* a step of a reduction */
			s[0][t] = t + i;
			__syncthreads();
			if (t < 32)
				s[0][t] += s[0][t + 32];
			pass(p, hit);
			if (!hit)
				__syncthreads();
			if (t >= 32)
				sum += s[0][t - 32];
			__syncthreads();
			break;
		case 9: /* an atomic of the block where blocks share the element */
			if (t == 0) {
				if (hit)
					atomicAdd_block(p.count, 1);
				else
					atomicAdd(p.count, 1);
			}
			break;
		case 10: /* the wrong one of two buffers */
			s[i & 1][t] = sum + i;
			pass(p, hit);
			sum += s[(i & 1) ^ !hit][t ^ 32];
			__syncthreads();
			break;
		case 11: /* the host's array while another block still writes it */
			p.b[me] = p.a[me] + i;
			pass(p, hit);
			if (hit)
				sum += p.b[next];
			break;
		}
	}
	p.a[me] += sum;
}

template <int P> static void launch(int pattern, const plan &p)
{
	if (pattern == P)
		planted<P><<<BLOCKS, THREADS>>>(p);
	else if constexpr (P + 1 < PATTERNS)
		launch<P + 1>(pattern, p);
}

int main(int argc, char **argv)
{
	plan p = {};
	int pattern = argc > 1 ? atoi(argv[1]) : 0, launches;

	p.grade = argc > 2 ? atoi(argv[2]) : 0;
	p.is_fixed = argc > 3;
	p.iters = p.grade == 2 ? 400 : p.grade == 4 ? 2 : 16;
	launches = p.grade == 4 ? 100 : 1;
	cudaMalloc(&p.a, BLOCKS * THREADS * sizeof(int));
	cudaMalloc(&p.b, BLOCKS * THREADS * sizeof(int));
	cudaMalloc(&p.bytes, BLOCKS * THREADS);
	cudaMalloc(&p.count, sizeof(int));
	cudaMemset(p.a, 0, BLOCKS * THREADS * sizeof(int));
	cudaMemset(p.b, 0, BLOCKS * THREADS * sizeof(int));
	cudaMemset(p.bytes, 0, BLOCKS * THREADS);
	cudaMemset(p.count, 0, sizeof(int));
	for (int i = 0; i < launches; i++) {
		p.is_last = i == launches - 1;
		launch<0>(pattern, p);
	}
	printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
