// annotated.cu - the annotations of collider/annotate.h; annotated.py says in which kernels a race is found.
#include <collider/annotate.h>
#include <cuda_runtime.h>

// found: oracle hirace iguard
__global__ void plain(int *p)
{
	if (threadIdx.x == 0)
		p[0] = 1;
	else
		p[threadIdx.x] = p[0];
}

// meant
__global__ void meant_load(int *p)
{
	if (threadIdx.x == 0)
		p[0] = 1;
	else
		p[threadIdx.x] = collider_data_race(p[0]);
}

// meant
__global__ void meant_store(int *p)
{
	if (threadIdx.x == 0)
		collider_data_race(p[0] = 1);
	else
		p[threadIdx.x] = p[0];
}

// meant
__global__ void meant_region(int *p, int n)
{
	collider_data_race_region(for (int i = 0; i < n; i++) p[i]++;);
}

// What a region doesn't hold is no part of it: found: oracle hirace iguard
__global__ void beside(int *p)
{
	p[threadIdx.x + 8] = collider_data_race(p[0]);
	p[1] = (int)threadIdx.x / 32;
}

// found: oracle hirace iguard
__global__ void writer_asserted(int *p)
{
	if (threadIdx.x == 0)
		atomicAdd(p, 1);
	if (threadIdx.x == 32)
		collider_assert_exclusive_writer(*p);
}

// none
__global__ void writer_only_reads(int *p)
{
	p[threadIdx.x + 1] = *p;
	if (threadIdx.x == 32)
		collider_assert_exclusive_writer(*p);
}

// found: oracle hirace iguard
__global__ void access_asserted(int *p)
{
	if (threadIdx.x < 32)
		p[threadIdx.x + 1] = *p;
	if (threadIdx.x == 32)
		collider_assert_exclusive_access(*p);
}

// none
__global__ void access_alone(int *p)
{
	if (threadIdx.x == 0)
		*p = 3;
	__syncthreads();
	if (threadIdx.x == 32)
		collider_assert_exclusive_access(*p);
	__syncthreads();
	p[threadIdx.x + 1] = *p;
}

int main()
{
	int *p;

	cudaMalloc(&p, 65536);
	cudaMemset(p, 0, 65536);
	plain<<<1, 64>>>(p);
	meant_load<<<1, 64>>>(p + 128);
	meant_store<<<1, 64>>>(p + 256);
	meant_region<<<1, 64>>>(p + 384, 3);
	beside<<<1, 64>>>(p + 512);
	writer_asserted<<<1, 64>>>(p + 640);
	writer_only_reads<<<1, 64>>>(p + 768);
	access_asserted<<<1, 64>>>(p + 896);
	access_alone<<<1, 64>>>(p + 1024);
	return cudaDeviceSynchronize() != cudaSuccess;
}
