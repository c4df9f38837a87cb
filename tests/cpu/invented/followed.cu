/*
 * followed.cu - a barrier is missing between writing a tile and reading it, and what is read is kept in some way.
 *
 * With `used` each kernel keeps the value: it ends, under a condition, in what the thread stores, passes on or
 * branches on, and the race is certain. With `kept` the kernels that have a twin discard it (keep is 0): then the
 * race is possible at most. What keeps it stands after the reads, so that nvcc at -O3 makes loads of them whose
 * use isn't certain. The names of the kernels that were launched are printed.
 */
#include <cstdio>
#include <cstring>

#define T 64

// Thread t writes element t; element OTHER is of the other warp.
#define OTHER ((t + 33) % T)
#define K(name) __global__ void name(float *out, const float *in, int *word, int n, int keep)
#define BEGIN \
	const int t = threadIdx.x; \
	(void)word; \
	(void)in; \
	(void)n;

struct sums {
	float a, b, c, d;
};

// With -DPART=1 to 9 only one of these is compiled: all of them are too much for ptxas, with the checks of some
// detectors in them.
#ifdef PART
#define HAS(n) (PART == (n))
#else
#define HAS(n) 1
#endif
#if HAS(1)
#include "followed/guards.h"
#else
#define GUARDS
#endif
#if HAS(2)
#include "followed/sums.h"
#else
#define SUMS
#endif
#if HAS(3)
#include "followed/structs.h"
#else
#define STRUCTS
#endif
#if HAS(4)
#include "followed/vectors.h"
#else
#define VECTORS
#endif
#if HAS(5)
#include "followed/unrolled.h"
#else
#define UNROLLED
#endif
#if HAS(6)
#include "followed/waits.h"
#else
#define WAITS
#endif
#if HAS(7)
#include "followed/exits.h"
#else
#define EXITS
#endif
#if HAS(8)
#include "followed/masks.h"
#else
#define MASKS
#endif
#if HAS(9)
#include "followed/dead.h"
#else
#define DEAD
#endif

/* ======================================================================== */

struct kernel {
	const char *name;
	void (*fn)(float *, const float *, int *, int, int);
	bool has_twin;
};

#define ONE(name)  {#name, name, false}
#define TWIN(name) {#name, name, true}

static const kernel kernels[] = {
	GUARDS SUMS STRUCTS VECTORS UNROLLED WAITS EXITS MASKS DEAD
};

int main(int argc, char **argv)
{
	const bool is_used = argc > 1 && !strcmp(argv[1], "used");
	float host[8 * T], *out, *in;
	int *word, seven = 7;

	for (int i = 0; i < 8 * T; i++)
		host[i] = (float)i;
	for (const auto &k : kernels) {
		if (argc < 2 || (!is_used && !k.has_twin) || (argc > 2 && strcmp(argv[2], k.name)))
			continue;
		cudaMalloc(&out, sizeof(host));
		cudaMalloc(&in, sizeof(host));
		cudaMalloc(&word, 4096);
		cudaMemset(word, 0, 4096);
		cudaMemcpy(word + 200, &seven, sizeof(seven), cudaMemcpyHostToDevice);
		cudaMemcpy(in, host, sizeof(host), cudaMemcpyHostToDevice);
		k.fn<<<1, T>>>(out, in, word, 3, is_used);
		if (cudaDeviceSynchronize() != cudaSuccess)
			return 1;
		puts(k.name);
		cudaFree(out);
		cudaFree(in);
		cudaFree(word);
	}
	return 0;
}
