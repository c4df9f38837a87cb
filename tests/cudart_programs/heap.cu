/* The heap of malloc in kernels has the size that cudaDeviceSetLimit asked for, as long as no kernel that
 * uses it has been launched; cudaDeviceReset empties it. */
#include "expect.h"

static const size_t PIECE = 64 << 10, MIB = 1 << 20;
static const int MOST = 4096;

__device__ void *pieces[MOST];

/* Takes pieces until there is none; each holds what was written to it. */
__global__ void take(size_t piece, int *n)
{
	int i;

	for (i = 0; i < MOST && (pieces[i] = malloc(piece)); i++)
		*(volatile int *)pieces[i] = i;
	for (int k = 0; k < i; k++)
		if (*(volatile int *)pieces[k] != k)
			*n = -1;
	if (*n != -1)
		*n = i;
}

__global__ void give_back(int n)
{
	for (int i = 0; i < n; i++)
		free(pieces[i]);
}

__global__ void no_heap(int *n)
{
	*n = 7;
}

/* Between three quarters of what would fit without any bookkeeping, and all of that. */
static void expect_fits(int n, size_t heap, size_t piece)
{
	THAT(n > 0 && n * piece <= heap && n * piece >= heap / 4 * 3);
}

static int *n;

static int taken()
{
	*n = 0;
	take<<<1, 1>>>(PIECE, n);
	OK(cudaDeviceSynchronize());
	return *n;
}

static void expect_limit(size_t bytes)
{
	size_t v;

	OK(cudaDeviceGetLimit(&v, cudaLimitMallocHeapSize));
	THAT(v == bytes);
}

int main()
{
	expect_limit(8 * MIB);
	OK(cudaMallocManaged(&n, sizeof(*n)));
	no_heap<<<1, 1>>>(n);
	OK(cudaDeviceSynchronize());
	OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 64 * MIB));
	OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 24 * MIB));
	int first = taken();
	expect_fits(first, 24 * MIB, PIECE);
	/* Full, and no larger any more; what is given back can be had again. */
	THAT(taken() == 0);
	EXPECT(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 128 * MIB), cudaErrorInvalidValue);
	expect_limit(24 * MIB);
	OK(cudaDeviceSetLimit(cudaLimitStackSize, 2048));
	OK(cudaDeviceReset());

	/* The heap is new, and that of the default size. */
	expect_limit(8 * MIB);
	OK(cudaMallocManaged(&n, sizeof(*n)));
	first = taken();
	expect_fits(first, 8 * MIB, PIECE);
	give_back<<<1, 1>>>(first);
	THAT(taken() == first);
	OK(cudaDeviceReset());

	/* The launch is what counts, though the kernel takes nothing. */
	OK(cudaMallocManaged(&n, sizeof(*n)));
	OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1 * MIB));
	give_back<<<1, 1>>>(0);
	EXPECT(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 2 * MIB), cudaErrorInvalidValue);
	expect_fits(taken(), 1 * MIB, PIECE);
	puts("ok");
}
