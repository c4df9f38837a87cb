// shared.cu - shared memory that has no table of its own for detector hirace; cases.py runs and judges.
//
// The ends of names are those of cases.cu. Dynamic memory, static beside which no table fits, bytes
// there; more blocks than run at once, so that units are given back and taken again with other blocks'
// words in them.
#include <cuda_runtime.h>
#include <string.h>

#define BLOCK 256
#define MOST  4096

__device__ unsigned int sink[MOST * BLOCK];
extern __shared__ __align__(16) unsigned int dynamic[];

__device__ __forceinline__ unsigned int me() { return blockIdx.x * BLOCK + threadIdx.x; }

__global__ void dynamic_own_element_clean()
{
	dynamic[threadIdx.x] = me();
	sink[me()] = dynamic[threadIdx.x];
}
__global__ void dynamic_neighbour_race()
{
	dynamic[threadIdx.x] = me();
	sink[me()] = dynamic[(threadIdx.x + 33) % BLOCK];
}
__global__ void dynamic_neighbour_clean()
{
	dynamic[threadIdx.x] = me();
	__syncthreads();
	sink[me()] = dynamic[(threadIdx.x + 33) % BLOCK];
}
__global__ void dynamic_last_element_race() { dynamic[511] = 1; }
__global__ void dynamic_last_element_clean()
{
	if (threadIdx.x == 255)
		dynamic[511] = 1;
}
__global__ void dynamic_same_value_race() { dynamic[threadIdx.x / 2] = 1; }
__global__ void dynamic_warp_race()
{
	dynamic[threadIdx.x] = me();
	sink[me()] = dynamic[threadIdx.x ^ 1];
}
__global__ void dynamic_warp_clean()
{
	dynamic[threadIdx.x] = me();
	__syncwarp();
	sink[me()] = dynamic[threadIdx.x ^ 1];
}
__global__ void dynamic_reduction_race() // the barrier of the loop is missing
{
	dynamic[threadIdx.x] = me();
	__syncthreads();
	for (int n = BLOCK / 2; n > 0; n /= 2)
		if (threadIdx.x < n)
			dynamic[threadIdx.x] += dynamic[threadIdx.x + n];
	sink[me()] = dynamic[0];
}
__global__ void dynamic_reduction_clean()
{
	dynamic[threadIdx.x] = me();
	__syncthreads();
	for (int n = BLOCK / 2; n > 0; n /= 2) {
		if (threadIdx.x < n)
			dynamic[threadIdx.x] += dynamic[threadIdx.x + n];
		__syncthreads();
	}
	sink[me()] = dynamic[0];
}
__global__ void dynamic_counter_clean()
{
	if (threadIdx.x == 0)
		dynamic[5] = 0;
	__syncthreads();
	atomicAdd(&dynamic[5], 1);
}
__global__ void dynamic_counter_race() // not set to 0 before the others count
{
	if (threadIdx.x == 0)
		dynamic[5] = 0;
	atomicAdd(&dynamic[5], 1);
}
__global__ void dynamic_vector_race()
{
	if (threadIdx.x == 3)
		*(uint4 *)&dynamic[8] = make_uint4(1, 2, 3, 4);
	else if (threadIdx.x == 40)
		sink[me()] = dynamic[11];
}
__global__ void dynamic_vector_clean()
{
	if (threadIdx.x == 3)
		*(uint4 *)&dynamic[8] = make_uint4(1, 2, 3, 4);
	else if (threadIdx.x == 40)
		sink[me()] = dynamic[12];
}
__global__ void dynamic_generic_race()
{
	volatile unsigned int *const at = threadIdx.x % 2 ? &sink[me()] : &dynamic[0];

	*(unsigned int *)at = me();
}
__global__ void dynamic_bytes_clean()
{
	unsigned char *bytes = (unsigned char *)dynamic;

	bytes[threadIdx.x] = (unsigned char)me();
	__syncthreads();
	sink[me()] = bytes[BLOCK - 1 - threadIdx.x];
}
__global__ void dynamic_bytes_race()
{
	unsigned char *bytes = (unsigned char *)dynamic;

	bytes[threadIdx.x] = (unsigned char)me();
	sink[me()] = bytes[BLOCK - 1 - threadIdx.x];
}
__global__ void dynamic_byte_in_word_race()
{
	if (threadIdx.x == 0)
		dynamic[1] = 1;
	else if (threadIdx.x == 40)
		((unsigned char *)dynamic)[6] = 2;
}
__global__ void early_leavers_clean()
{
	if (threadIdx.x % 3 == 0)
		return;
	dynamic[threadIdx.x] = me();
	if (threadIdx.x % 3 == 1)
		return;
	sink[me()] = dynamic[threadIdx.x];
}
__global__ void static_32k_race()
{
	__shared__ unsigned int large[8192];

	large[threadIdx.x + 7900] = me();
	sink[me()] = large[8155 - threadIdx.x];
}
__global__ void static_32k_clean()
{
	__shared__ unsigned int large[8192];

	large[threadIdx.x + 7900] = me();
	__syncthreads();
	sink[me()] = large[8155 - threadIdx.x];
}
__global__ void static_and_dynamic_race()
{
	__shared__ unsigned int own[BLOCK];

	own[threadIdx.x] = me();
	dynamic[threadIdx.x] = own[threadIdx.x];
	sink[me()] = own[threadIdx.x] + dynamic[(threadIdx.x + 32) % BLOCK];
}
__global__ void static_and_dynamic_clean()
{
	__shared__ unsigned int own[BLOCK];

	own[threadIdx.x] = me();
	dynamic[threadIdx.x] = own[threadIdx.x];
	__syncthreads();
	sink[me()] = own[(threadIdx.x + 32) % BLOCK] + dynamic[(threadIdx.x + 32) % BLOCK];
}
__global__ void static_bytes_24k_race() // more than 64 units, which lie in both words of an SM
{
	__shared__ unsigned char bytes[24576];

	bytes[24000 + threadIdx.x] = (unsigned char)me();
	sink[me()] = bytes[24255 - threadIdx.x];
}
__global__ void static_bytes_24k_clean()
{
	__shared__ unsigned char bytes[24576];

	bytes[24000 + threadIdx.x] = (unsigned char)me();
	__syncthreads();
	sink[me()] = bytes[24255 - threadIdx.x];
}

// Where there is dynamic memory, 2 KiB, and more blocks than run at once.
#define LAUNCH(f)                                                                                     \
	if (strstr(#f, "dynamic") || strstr(#f, "leavers"))                                           \
		f<<<blocks, BLOCK, 2048>>>();                                                         \
	else                                                                                          \
		f<<<2, BLOCK>>>();                                                                    \
	if (cudaGetLastError() != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess)              \
		return 1;

int main()
{
	int blocks, sms = 0;

	cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
	blocks = 9 * sms < MOST ? 9 * sms : MOST;
#include "launches.h"
	return 0;
}
