/* A managed variable is one for all devices and the host: two, or as many as there are. */
#include "expect.h"

__managed__ int value = 3;
__device__ int own = 3;
__global__ void add(int n) { own = value += n; }

int main()
{
	int n, devices;

	OK(cudaGetDeviceCount(&devices));
	THAT(devices == 2 || !is_cpu_device()); /* COLLIDER_CPU says so */
	for (int d = 0; d < devices && d < 2; d++) {
		OK(cudaSetDevice(d));
		add<<<1, 1>>>(10);
		OK(cudaDeviceSynchronize());
		THAT(value == 13 + 10 * d);
		OK(cudaMemcpyFromSymbol(&n, own, sizeof(n)));
		THAT(n == value);
	}
	OK(cudaSetDevice(0));
	OK(cudaMemcpyFromSymbol(&n, own, sizeof(n)));
	THAT(n == 13); /* the other device has its own */
	puts("ok");
}
