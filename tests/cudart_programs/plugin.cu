/* Compiled twice, as two shared libraries with a kernel of the same name each. */
__device__ int value = PLUGIN;
static __global__ void kernel(int *p) { *p = value; }
extern "C" void plugin_run(int *p) { kernel<<<1, 1>>>(p); }
