/*
 * launches.c - launches the kernels k0, k1, ... of a PTX file, each in a process of its own.
 *
 *   prune_launches FILE.ptx COUNT SEED
 *
 * A kernel has the parameters of tests/prove/random_kernels.py: an array, a number, an array that
 * it only reads. It is launched twice: on one stream or on two, with the same array or another one,
 * with an event between the two or without, as the seed and its number say.
 */
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES (1u << 16)

static uint64_t state;

static uint32_t draw(uint32_t n)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(state >> 33) % n;
}

static void check(CUresult e)
{
	if (e != CUDA_SUCCESS)
		_exit(1);
}

static void run(const char *path, unsigned number)
{
	static const uint32_t blocks[] = {1, 2, 4, 32, 64, 96}, ns[] = {0, 1, 2, 3, 5, 64};
	char name[24];
	CUcontext context;
	CUmodule module;
	CUfunction f;
	CUstream s[2];
	CUevent done;
	CUdeviceptr p[2], q;
	int32_t fill[64];

	snprintf(name, sizeof(name), "k%u", number);
	check(cuInit(0));
	check(cuDevicePrimaryCtxRetain(&context, 0));
	check(cuCtxSetCurrent(context));
	check(cuModuleLoad(&module, path));
	if (cuModuleGetFunction(&f, module, name) != CUDA_SUCCESS)
		_exit(2);
	check(cuMemAlloc(&p[0], BYTES));
	check(cuMemAlloc(&p[1], BYTES));
	check(cuMemAlloc(&q, BYTES));
	check(cuMemsetD8(p[0], 0, BYTES));
	check(cuMemsetD8(p[1], 0, BYTES));
	uint32_t way = draw(3);
	for (unsigned i = 0; i < 64; i++)
		fill[i] = (int32_t)(way == 0 ? 0 : way == 1 ? i & 3 : (7 * i + 1) >> 1 & 3);
	check(cuMemcpyHtoD(q, fill, sizeof(fill)));
	for (unsigned i = 0; i < 2; i++)
		check(cuStreamCreate(&s[i], CU_STREAM_NON_BLOCKING));
	check(cuEventCreate(&done, 0));
	uint32_t block = blocks[draw(6)], grid = 1 + draw(3), n = ns[draw(6)];
	bool is_one_stream = draw(3) == 0, is_one_array = draw(2), is_ordered = draw(3) == 0;
	bool has_other_n = draw(3) == 0;
	for (unsigned i = 0; i < 2; i++) {
		CUdeviceptr *to = &p[is_one_array ? 0 : i];
		uint32_t m = n + (i && has_other_n);
		void *args[] = {to, &m, &q};
		check(cuLaunchKernel(f, grid, 1, 1, block, 1, 1, 0, s[is_one_stream ? 0 : i], args,
				     NULL));
		if (!i && is_ordered) {
			check(cuEventRecord(done, s[0]));
			check(cuStreamWaitEvent(s[1], done, 0));
		}
	}
	_exit(cuCtxSynchronize() != CUDA_SUCCESS);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	for (unsigned i = 0; i < (unsigned)atoi(argv[2]); i++) {
		pid_t pid = fork();
		state = (uint64_t)atoi(argv[3]) * 1000003u + i;
		for (unsigned k = 0; k < 8; k++)
			draw(2);
		if (!pid)
			run(argv[1], i);
		waitpid(pid, NULL, 0);
	}
	return 0;
}
