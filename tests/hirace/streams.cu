// streams.cu - a random program of 3 to 8 launches in three streams, with waits for events: streams SEED
//
// Each launch is one thread of a kernel of its own, kernelLAUNCH<what it does>: it writes or reads a word, plainly or
// strongly, and hands on what it knows by a flag, or by the word, to whoever looks in time. By macros, and without
// functions: what is found is one finding by lines, so each launch has its own.
#include <cstdlib>
#include <cuda_runtime.h>

#define LAUNCHES 8
#define LOAD(to, p)	asm volatile("ld.relaxed.gpu.b32 %0, [%1];" : "=r"(to) : "l"(p) : "memory")
#define STORE(p, v)	asm volatile("st.relaxed.gpu.b32 [%0], %1;" ::"l"(p), "r"(v) : "memory")
#define ADD(p)		asm volatile("red.relaxed.gpu.add.u32 [%0], 1;" ::"l"(p) : "memory")
#define FENCE		asm volatile("fence.acq_rel.gpu;" ::: "memory")
#define AWAIT(p)                                                                                     \
	for (int n = 0, v = 0; !v && n < 300; n++)                                                    \
		LOAD(v, p);

__device__ int sink[LAUNCHES];

#define KERNEL(L)                                                                                    \
	template <int WHAT> __global__ void kernel##L(int *word, int *flag)                           \
	{                                                                                             \
		if (WHAT == 3 || WHAT == 7)                                                           \
			AWAIT(flag)                                                                   \
		if (WHAT == 5 || WHAT == 8)                                                           \
			AWAIT(word)                                                                   \
		if (WHAT == 3 || WHAT == 7)                                                           \
			FENCE;                                                                        \
		if (WHAT == 4)                                                                        \
			ADD(word);                                                                    \
		if (WHAT == 10)                                                                       \
			STORE(word, L);                                                               \
		if (WHAT == 0 || WHAT == 2 || WHAT == 9)                                              \
			*word = L;                                                                    \
		if (WHAT == 1 || WHAT == 7)                                                           \
			sink[L] = *word;                                                              \
		if (WHAT == 2 || WHAT == 6 || WHAT == 8)                                              \
			FENCE;                                                                        \
		if (WHAT == 2 || WHAT == 6 || WHAT == 8 || WHAT == 9)                                 \
			STORE(flag, 1);                                                               \
	}
KERNEL(0)
KERNEL(1)
KERNEL(2)
KERNEL(3)
KERNEL(4)
KERNEL(5)
KERNEL(6)
KERNEL(7)

#define OF(L)                                                                                        \
	{kernel##L<0>, kernel##L<1>, kernel##L<2>, kernel##L<3>, kernel##L<4>, kernel##L<5>,           \
	 kernel##L<6>, kernel##L<7>, kernel##L<8>, kernel##L<9>, kernel##L<10>}
static void (*const kernels[LAUNCHES][11])(int *, int *) = {OF(0), OF(1), OF(2), OF(3),
							     OF(4), OF(5), OF(6), OF(7)};
static unsigned long long rng;

static unsigned draw(unsigned n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (unsigned)((rng >> 33) % n);
}

int main(int argc, char **argv)
{
	cudaStream_t stream[3];
	cudaEvent_t after[LAUNCHES];
	int *words;

	rng = (argc > 1 ? strtoull(argv[1], nullptr, 10) : 0) * 0x9e3779b97f4a7c15ull + 1;
	for (int i = 0; i < 9; i++)
		draw(2);
	cudaMalloc(&words, 128 * sizeof(int));
	cudaMemset(words, 0, 128 * sizeof(int));
	cudaDeviceSynchronize();
	for (auto &s : stream)
		cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
	for (int i = 0, n = 3 + draw(6); i < n; i++) {
		cudaStream_t to = stream[draw(3)];

		if (i && draw(3) == 0)
			cudaStreamWaitEvent(to, after[draw(i)], 0);
		kernels[i][draw(11)]<<<1, 1, 0, to>>>(words + draw(2), words + 64 + draw(2));
		cudaEventCreateWithFlags(&after[i], cudaEventDisableTiming);
		cudaEventRecord(after[i], to);
		if (draw(12) == 0)
			cudaStreamSynchronize(stream[draw(3)]);
	}
	return cudaDeviceSynchronize() == cudaSuccess ? EXIT_SUCCESS : EXIT_FAILURE;
}
