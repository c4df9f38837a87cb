// annotated.cu - the annotations of collider/annotate.h; annotated.py says in which kernels a race is found.
#include <collider/annotate.h>
#include <cuda_runtime.h>
#include <sm_32_intrinsics.h>

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

// A lock without fences, and no word that it is one: found: oracle
__global__ void lock_bare(int *p)
{
	if (threadIdx.x)
		return;
	while (atomicCAS(p, 0, 1))
		__nanosleep(20);
	p[1]++;
	atomicExch(p, 0);
}

// none
__global__ void lock_known(int *p)
{
	if (threadIdx.x)
		return;
	while (atomicCAS(p, 0, 1))
		__nanosleep(20);
	collider_lock_acquired(p);
	p[1]++;
	collider_lock_released(p);
	atomicExch(p, 0);
}

// Each block has a lock of its own for the same word: found: oracle
__global__ void lock_wrong(int *p)
{
	if (threadIdx.x)
		return;
	while (atomicCAS(p + 8 + blockIdx.x, 0, 1))
		__nanosleep(20);
	collider_lock_acquired(p + 8 + blockIdx.x);
	p[1]++;
	collider_lock_released(p + 8 + blockIdx.x);
	atomicExch(p + 8 + blockIdx.x, 0);
}

// What one of them does after it has given the lock back: found: oracle
__global__ void lock_left(int *p)
{
	if (threadIdx.x)
		return;
	while (atomicCAS(p, 0, 1))
		__nanosleep(20);
	collider_lock_acquired(p);
	p[1]++;
	collider_lock_released(p);
	atomicExch(p, 0);
	if (blockIdx.x == 1)
		p[1]++;
}

// meant
__global__ void lock_of_weak_stores(int *p)
{
	if (threadIdx.x)
		return;
	while (collider_data_race(__ldcg(p)) != blockIdx.x)
		__nanosleep(20);
	collider_lock_acquired(p);
	p[1]++;
	collider_lock_released(p);
	collider_data_race(__stcg(p, blockIdx.x + 1));
}

// none
__global__ void lock_in_shared(int *p)
{
	__shared__ int lock;
	if (threadIdx.x == 0)
		lock = 0;
	__syncthreads();
	if (threadIdx.x % 32)
		return;
	while (atomicCAS(&lock, 0, 1))
		__nanosleep(20);
	collider_lock_acquired(&lock);
	p[blockIdx.x]++;
	collider_lock_released(&lock);
	atomicExch(&lock, 0);
}

// Two blocks' locks at one address: found: oracle
__global__ void lock_of_another_block(int *p)
{
	__shared__ int lock;
	if (threadIdx.x == 0)
		lock = 0;
	__syncthreads();
	if (threadIdx.x % 32)
		return;
	while (atomicCAS(&lock, 0, 1))
		__nanosleep(20);
	collider_lock_acquired(&lock);
	p[0]++;
	collider_lock_released(&lock);
	atomicExch(&lock, 0);
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
	lock_bare<<<4, 32>>>(p + 1152);
	lock_known<<<4, 32>>>(p + 1280);
	lock_wrong<<<4, 32>>>(p + 1408);
	lock_left<<<4, 32>>>(p + 1536);
	lock_of_weak_stores<<<4, 32>>>(p + 1664);
	lock_in_shared<<<2, 64>>>(p + 1792);
	lock_of_another_block<<<2, 64>>>(p + 1920);
	return cudaDeviceSynchronize() != cudaSuccess;
}
