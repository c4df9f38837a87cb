// main.h - launches the kernels of the including file, which LAUNCHES (written by cases.py) lists.
#include <string.h>

// odd_: blocks whose size is neither a power of two nor whole warps.
#define LAUNCH(f)                                                                                  \
	cudaMemset(at, 0, sizeof(struct cells));                                                   \
	f<<<2, strncmp(#f, "odd_", 4) ? BLOCK : BLOCK + 20>>>();                                   \
	if (cudaDeviceSynchronize() != cudaSuccess)                                                \
		return 1;

int main()
{
	void *at;

	cudaGetSymbolAddress(&at, c);
#include LAUNCHES
	return 0;
}
