// main.h - runs the kernels of the including file, which launches.h (written by cases.py) lists:
// all, or the one that is named. It comes behind the kernels and before run().
static int run(const char *name, void (*kernel)(), const char *only);

// What a kernel has come to: 0, or 1 and a line.
static int end_of(const char *name)
{
	cudaError_t e = cudaGetLastError(); // a launch that is refused
	e = e == cudaSuccess ? cudaDeviceSynchronize() : e;
	if (e != cudaSuccess)
		printf("%s: %s\n", name, cudaGetErrorString(e));
	return e != cudaSuccess;
}

int main(int argc, char **argv)
{
	const char *only = argc > 1 ? argv[1] : NULL;
	int bad = 0;

#define LAUNCH(kernel) bad |= run(#kernel, kernel, only);
#include "launches.h"
	return bad;
}
