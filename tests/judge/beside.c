/*
 * beside.c - a program for the judge beside a GPU: beside FILE.ptx KERNEL [WORD...]
 *
 * It launches the kernel by the driver's API, three times unless a word is a number. Other words:
 * then=KERNEL: that one is launched as often, afterwards; chain: the parameter is a pointer to a
 * pointer (far: to memory of 65 MiB); ramp: memory holds rising numbers, otherwise zeros; pool:
 * its memory is a pool's, and freed at the end, when the kernel is launched once more with a
 * size of its own; map: a tensor map of it is the parameter (with columns: an im2col one, with
 * wide: of im2col::w), and right: n is 0; wait: after each launch it gives up its context once
 * more, for which the judge is waited; abort: it ends so; child: a forked child ends first;
 * late: its memory is cleared at the end, and it is launched once more with a size of its own;
 * reset: the device is reset by the name that CUDA's runtime uses; loads: the module is loaded
 * three times, and the second one is used; range: the first kernel is launched in the NVTX range
 * "step". Otherwise it ends with 3.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../cudart_programs/nvtx.h"

typedef int push_fn(const char *);
typedef int pop_fn(void);

#define CHECK(x)                                                                                   \
	do {                                                                                       \
		CUresult r_ = (x);                                                                 \
		if (r_ != CUDA_SUCCESS) {                                                          \
			fprintf(stderr, "%s: %d\n", #x, (int)r_);                                  \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static int words;
static char **word;

static int has(const char *what)
{
	for (int i = 3; i < words; i++)
		if (!strcmp(word[i], what))
			return 1;
	return 0;
}

/* What follows it in a word; NULL: no word begins so. */
static const char *after(const char *what)
{
	size_t n = strlen(what);

	for (int i = 3; i < words; i++)
		if (!strncmp(word[i], what, n))
			return word[i] + n;
	return NULL;
}

static int count(void)
{
	for (int i = 3; i < words; i++)
		if (atoi(word[i]))
			return atoi(word[i]);
	return 3;
}

/* Of 64 columns; boxes of 32 by 8. */
static CUtensorMap make_map(CUdeviceptr p)
{
	const cuuint64_t dims[] = {64, 128}, stride = 256;
	const cuuint32_t box[] = {32, 8}, each[] = {1, 1};
	CUtensorMap map;

	CHECK(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, (void *)p, dims,
				     &stride, box, each, CU_TENSOR_MAP_INTERLEAVE_NONE,
				     CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
				     CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
	return map;
}

/* Of 128 pixels with 32 channels; columns of 8 pixels. */
static CUtensorMap make_columns(CUdeviceptr p)
{
	const cuuint64_t dims[] = {32, 128, 2}, strides[] = {128, 16384};
	const cuuint32_t each[] = {1, 1, 1};
	const int lower = -1, upper = -1;
	CUtensorMap map;

	CHECK(cuTensorMapEncodeIm2col(
		&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 3, (void *)p, dims, strides, &lower, &upper,
		32, 8, each, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
		CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
	return map;
}

/* The same, along W; 7 pixels and one of a halo. */
static CUtensorMap make_wide(CUdeviceptr p)
{
	const cuuint64_t dims[] = {32, 128, 2}, strides[] = {128, 16384};
	const cuuint32_t each[] = {1, 1, 1};
	CUtensorMap map;

	CHECK(cuTensorMapEncodeIm2colWide(
		&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 3, (void *)p, dims, strides, -1, -1, 32, 7,
		each, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_IM2COL_WIDE_MODE_W,
		CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
		CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
	return map;
}

int main(int argc, char **argv)
{
	static int ramp[8192];
	CUdeviceptr p, q;
	CUcontext ctx, again;
	CUfunction f;
	CUdevice dev;
	CUmodule m, more;
	CUtensorMap map;
	int n = 1;

	words = argc;
	word = argv;
	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&dev, 0));
	CHECK(cuDevicePrimaryCtxRetain(&ctx, dev));
	CHECK(cuCtxSetCurrent(ctx));
	CHECK(cuModuleLoad(&m, argv[1]));
	if (has("loads")) {
		CHECK(cuModuleLoad(&m, argv[1]));
		CHECK(cuModuleLoad(&more, argv[1]));
	}
	CHECK(cuModuleGetFunction(&f, m, argv[2]));
	if (has("pool"))
		CHECK(cuMemAllocAsync(&p, sizeof(ramp), 0));
	else
		CHECK(cuMemAlloc(&p, sizeof(ramp)));
	CHECK(cuMemAlloc(&q, has("far") ? 65u << 20 : sizeof(ramp)));
	for (int i = 0; i < 8192 && has("ramp"); i++)
		ramp[i] = i;
	CHECK(cuMemcpyHtoD(p, ramp, sizeof(ramp)));
	if (has("chain"))
		CHECK(cuMemcpyHtoD(p, &q, sizeof(q)));
	if (has("map"))
		map = has("wide") ? make_wide(p) : has("columns") ? make_columns(p) : make_map(p);
	if (has("right"))
		n = 0;
	if (has("child") && !fork())
		exit(0);
	if (has("child"))
		wait(NULL);
	if (has("range"))
		NVTX_CALL(push_fn, nvtx_core, 9, "step");
	for (int i = 0; i < count(); i++) {
		void *args[] = {&p, &n}, *with_map[] = {&map, &q, &n};
		CHECK(cuLaunchKernel(f, 32, 1, 1, 256, 1, 1, 0, 0, has("map") ? with_map : args,
				     0));
		CHECK(cuCtxSynchronize());
		if (has("wait")) {
			CHECK(cuDevicePrimaryCtxRetain(&again, dev));
			CHECK(cuDevicePrimaryCtxRelease(dev));
		}
	}
	if (has("range"))
		NVTX_CALL(pop_fn, nvtx_core, 11);
	if (after("then=")) {
		void *args[] = {&p, &n};
		CHECK(cuModuleGetFunction(&f, m, after("then=")));
		for (int i = 0; i < count(); i++)
			CHECK(cuLaunchKernel(f, 32, 1, 1, 256, 1, 1, 0, 0, args, 0));
		CHECK(cuCtxSynchronize());
	}
	if (has("pool")) {
		void *args[] = {&q, &n, &p};
		CHECK(cuMemFreeAsync(p, 0));
		CHECK(cuLaunchKernel(f, 16, 1, 1, 256, 1, 1, 0, 0, args, 0));
		CHECK(cuCtxSynchronize());
	}
	if (has("late")) {
		void *args[] = {&p, &n};
		CHECK(cuMemsetD32(p, 0, 8192));
		CHECK(cuLaunchKernel(f, 16, 1, 1, 256, 1, 1, 0, 0, args, 0));
		CHECK(cuCtxSynchronize());
	}
	if (has("reset"))
		CHECK(cuDevicePrimaryCtxReset(dev));
	if (has("reset")) {
		CUresult (*reset)(CUdevice) = NULL;
		*(void **)&reset = dlsym(RTLD_DEFAULT, "cuDevicePrimaryCtxReset");
		CHECK(reset ? reset(dev) : CUDA_ERROR_NOT_FOUND);
	}
	if (has("abort"))
		abort();
	puts("done");
	return 3;
}
