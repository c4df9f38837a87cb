/* rdc.h - what the two objects of the -rdc program share. */
extern __device__ int counter;
__device__ int there_function(int x);
__global__ void there(int *p);
void launch_private(int *p);
