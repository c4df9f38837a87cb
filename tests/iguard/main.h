// main.h - launches the kernels of the including file, which LAUNCHES (written by cases.py) lists.
#define LAUNCH(f)                                                                                  \
	cudaMemset(at, 0, sizeof(struct cells));                                                   \
	f<<<2, BLOCK>>>();                                                                         \
	if (cudaDeviceSynchronize() != cudaSuccess)                                                \
		return 1;

int main()
{
	void *at;

	cudaGetSymbolAddress(&at, c);
#include LAUNCHES
	return 0;
}
