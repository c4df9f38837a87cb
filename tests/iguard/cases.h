// cases.h - what the small kernels of tests/iguard have in common; cases.py runs and judges them.
//
// The end of a kernel's name is what must be reported of it, in every run:
//	_race		a data race; the line "says:" above it names the kinds of which it must be
//	_possible	a possible race, and no data race
//	_quiet		no data race; what a lock or flag orders may be possible
//	_clean		nothing
// The oracle must find a race in each _race and each _possible, and none in the others. A _race has
// a twin that doesn't race; some share one. Each is launched with two blocks of two warps; values
// are read into `sink`, so that no load is dead. They are in four files: ptxas takes long for one.
#ifndef COLLIDER_TESTS_IGUARD_CASES_H
#define COLLIDER_TESTS_IGUARD_CASES_H

#include <cuda_runtime.h>
#include <stdio.h>

#define BLOCK 64

struct cells {
	unsigned int word[256];
	__align__(16) unsigned int flag[8];
	unsigned int count[8], lock[64];
	unsigned long long tail;
	unsigned char byte[256];
};
__device__ struct cells c;
__device__ unsigned int sink[4096];

__device__ __forceinline__ unsigned int me()
{
	return blockIdx.x * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ bool leads()
{
	return threadIdx.x == 0;
}
__device__ __forceinline__ unsigned int seen(unsigned int *p)
{
	return *(volatile unsigned int *)p;
}

#define FENCE __threadfence()

#endif
