/*
 * thinning.cu - thinning loop N | race N | late | launches N: how collide's checks thin out
 *
 * loop: one warp reads one word N times. race: two warps each read a word N times and write one, with
 * -DRACY that which the other reads. late: the first warp of each of 1,280 blocks of 32 reads once.
 * launches: N times one warp reads four words.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>

#ifdef RACY
#define WRITTEN (!warp)
#else
#define WRITTEN (2 + warp)
#endif

__device__ unsigned words[4];

/* A value that isn't used needs no check. */
__device__ void use(unsigned v)
{
	if (v == 0x5eed5eedu)
		__trap();
}

__device__ unsigned read(const unsigned *p)
{
	unsigned v;

	asm volatile("ld.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
	return v;
}

__global__ void loop(int n)
{
	for (int i = 0; i < n; i++)
		use(read(words));
}

__global__ void race(int n)
{
	unsigned warp = threadIdx.x / 32, sum = 0;

	for (int i = 0; i < n; i++) {
		sum += read(words + warp);
		if (threadIdx.x % 32 == 0)
			asm volatile("st.global.u32 [%0], %1;" ::"l"(words + WRITTEN), "r"(sum + i) : "memory");
	}
	use(sum);
}

__global__ void late()
{
	if (threadIdx.x < 32)
		use(read(words));
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	int n = argc > 2 ? atoi(argv[2]) : 0;

	if (!strcmp(mode, "loop"))
		loop<<<1, 32>>>(n);
	else if (!strcmp(mode, "race"))
		race<<<1, 64>>>(n);
	else if (!strcmp(mode, "launches"))
		for (int i = 0; i < n; i++)
			loop<<<1, 32>>>(4);
	else
		late<<<1280, 1024>>>();
	puts(cudaGetErrorName(cudaDeviceSynchronize()));
}
