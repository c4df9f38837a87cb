// surfaces.cu - surfaces that a launch writes and reads: what it has written its own loads may not see.
#include <cooperative_groups.h>
#include <surface_indirect_functions.h>
#define t threadIdx.x
#define g (blockIdx.x * blockDim.x + threadIdx.x)
#define ARGS cudaSurfaceObject_t s, int *out, int *flag, int n
#define PUT(x) surf1Dwrite(7, s, (int)(x) * 4)
#define GET(x) surf1Dread<int>(s, (int)(x) * 4)

// prove: in_place race-free --block-dim=64 --grid-dim=4
__global__ void in_place(ARGS) { surf1Dwrite(GET(g) + 1, s, g * 4); }
// prove: read_back potential racy --block-dim=64 --grid-dim=4
__global__ void read_back(ARGS)
{
	PUT(g);
	out[g] = GET(g);
}
// prove: read_another race-free --block-dim=64 --grid-dim=4
__global__ void read_another(ARGS)
{
	PUT(g);
	out[g] = GET(g + 256);
}
// prove: read_neighbour potential racy --block-dim=64 --grid-dim=4
__global__ void read_neighbour(ARGS)
{
	PUT(g);
	__syncthreads();
	out[g] = GET(g ^ 1);
}
// prove: read_neighbour_first race-free --block-dim=64 --grid-dim=4
__global__ void read_neighbour_first(ARGS)
{
	int v = GET(g ^ 1);
	__syncthreads();
	surf1Dwrite(v, s, g * 4);
}
// prove: read_if_written potential racy --block-dim=64 --grid-dim=4
__global__ void read_if_written(ARGS)
{
	if (t < 32)
		PUT(g);
	__syncthreads();
	if (t >= 32)
		out[g] = GET(g - 32);
}
// prove: read_if_not_written race-free --block-dim=64 --grid-dim=4
__global__ void read_if_not_written(ARGS)
{
	if (t < 32)
		PUT(g);
	else
		out[g] = GET(g);
}
// prove: stride_in_place race-free --block-dim=64 --grid-dim=4
__global__ void stride_in_place(ARGS)
{
	for (int i = g; i < 100000; i += 256)
		surf1Dwrite(GET(i) + 1, s, i * 4);
}
// prove: stride_again potential racy --block-dim=64 --grid-dim=4
__global__ void stride_again(ARGS)
{
	for (int k = 0; k < 3; k++)
		for (int i = g; i < 100000; i += 256)
			surf1Dwrite(GET(i) + 1, s, i * 4);
}
// prove: steps_in_place race-free --block-dim=64 --grid-dim=4
__global__ void steps_in_place(ARGS)
{
	for (int k = 0; k < n; k++)
		surf2Dwrite(surf2Dread<int>(s, g * 4, k) + 1, s, g * 4, k);
}
// prove: steps_from_last potential racy --block-dim=64 --grid-dim=4
__global__ void steps_from_last(ARGS)
{
	for (int k = 1; k < n; k++)
		surf2Dwrite(surf2Dread<int>(s, g * 4, k - 1) + 1, s, g * 4, k);
}
// prove: handed_on potential racy --block-dim=64 --grid-dim=2
__global__ void handed_on(ARGS)
{
	if (blockIdx.x == 0) {
		PUT(t);
		__syncthreads();
		if (t == 0) {
			__threadfence();
			*(volatile int *)flag = 1;
		}
	} else {
		if (t == 0) {
			while (*(volatile int *)flag == 0)
				;
			__threadfence();
		}
		__syncthreads();
		out[t] = GET(t);
	}
}
// prove: handed_on_by_memory race-free --block-dim=64 --grid-dim=2
__global__ void handed_on_by_memory(ARGS)
{
	if (blockIdx.x == 0) {
		out[t] = 7;
		__syncthreads();
		if (t == 0) {
			__threadfence();
			*(volatile int *)flag = 1;
		}
	} else {
		if (t == 0) {
			while (*(volatile int *)flag == 0)
				;
			__threadfence();
		}
		__syncthreads();
		surf1Dwrite(out[t], s, t * 4);
	}
}
// prove: by_grid potential racy --block-dim=64 --grid-dim=4
__global__ void by_grid(ARGS)
{
	PUT(g);
	cooperative_groups::this_grid().sync();
	out[g] = GET(255 - g);
}
// prove: by_grid_in_place race-free --block-dim=64 --grid-dim=4
__global__ void by_grid_in_place(ARGS)
{
	int v = GET(255 - g);
	cooperative_groups::this_grid().sync();
	surf1Dwrite(v, s, g * 4);
}
