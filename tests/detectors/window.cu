/*
 * window.cu - window TURNS FROM PART: which part of a bulk copy is checked, once checks thin out
 *
 * One thread copies 16 KiB to shared memory, TURNS times. From turn FROM on another one writes to the
 * PART of 16 meanwhile: of what is copied with -DRACY, else of memory beside it.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#define SIZE  16384
#define PARTS 16

__device__ __align__(128) unsigned char words[2 * SIZE];

__device__ uint32_t shared(const void *p)
{
	return (uint32_t)__cvta_generic_to_shared(p);
}

__global__ void copies(int turns, int from, int part)
{
	__shared__ __align__(128) unsigned char box[SIZE];
	__shared__ __align__(8) uint64_t bar;
	unsigned char *to = words + part * (SIZE / PARTS);

#ifndef RACY
	to += SIZE;
#endif
	if (threadIdx.x == 0)
		asm volatile("mbarrier.init.shared.b64 [%0], 1;\n\tfence.proxy.async;" ::"r"(shared(&bar))
			     : "memory");
	__syncthreads();
	for (int i = 0; i < turns; i++) {
		if (threadIdx.x == 0) {
			asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared(&bar)),
				     "r"(SIZE)
				     : "memory");
			asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
				     "[%0], [%1], %2, [%3];" ::"r"(shared(box)),
				     "l"(__cvta_generic_to_global(words)), "r"(SIZE), "r"(shared(&bar))
				     : "memory");
		} else if (threadIdx.x == 32 && i >= from) {
			for (int j = 0; j < 8; j++)
				asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(
						     __cvta_generic_to_global(to + 64 * j)),
					     "r"(8 * i + j)
					     : "memory");
		}
		asm volatile("{\n\t.reg .pred p;\n"
			     "WAIT%=:\n\t"
			     "mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n\t"
			     "@!p bra WAIT%=;\n\t}" ::"r"(shared(&bar)),
			     "r"(i & 1)
			     : "memory");
		__syncthreads();
	}
	if (box[threadIdx.x] == 77)
		__trap();
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	copies<<<1, 64>>>(atoi(argv[1]), atoi(argv[2]), atoi(argv[3]));
	puts(cudaGetErrorName(cudaDeviceSynchronize()));
}
