/* The second object of the -rdc program. */
#include "rdc.h"

static __device__ int own = 2; /* not the other object's */

__device__ int there_function(int x)
{
	counter++;
	return x + 1000;
}
__global__ void there(int *p) { p[2] = ++counter; }
static __global__ void private_kernel(int *p) { p[3] = own; }
void launch_private(int *p) { private_kernel<<<1, 1>>>(p); }
