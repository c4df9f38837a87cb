/*
 * cases.c - executes launches of a PTX file of tests/cpu/cases by the driver's API.
 *
 *   gpu_cases FILE.ptx N [RUNS]   executes the Nth launch that the file's comments name (from 1)
 *                                 alone, RUNS times (1), each time from the memory that the
 *                                 comments say; prints a hash of all buffers, and another one
 *                                 whenever a run leaves other values than the run before it
 *   gpu_cases FILE.ptx N values   executes it once and prints the buffers
 *
 * A kernel that reads a tensor map gets one in global memory. Exit code 77: the launch needs what
 * is no plain memory (textures, multicast), or a form of tensor map that only later GPUs have.
 *
 * The same program runs on a GPU and, under collider, on the CPU device: run_cases.sh compares.
 */
#include <cuda.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case.h"

#define CHECK(x)                                                                                   \
	do {                                                                                       \
		CUresult r_ = (x);                                                                 \
		const char *name_ = "unknown";                                                     \
		if (r_ != CUDA_SUCCESS) {                                                          \
			cuGetErrorName(r_, &name_);                                                \
			fprintf(stderr, "%s: %s\n", #x, name_);                                    \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

#define SKIPPED	    77
#define ARG_BYTES   128
#define SHARED_FREE 49152 /* bytes a launch gets unasked */

static CUdeviceptr device_of(const struct buffer *b)
{
	return (CUdeviceptr)(uintptr_t)b->mem;
}

static bool is_map(const struct test *t, const struct buffer *b)
{
	for (unsigned i = 0; i < t->nmaps; i++)
		if (t->maps[i].map == b)
			return true;
	return false;
}

static void make_map(const struct tensormap *m)
{
	CUtensorMap map;
	cuuint64_t size[3] = {m->size[0], m->size[1], m->size[2]};
	cuuint64_t strides[2] = {m->size[0] * 4u, m->size[0] * m->size[1] * 4u};
	cuuint32_t steps[3] = {1, 1, 1}, box[2] = {m->box[0], m->box[1]};
	int lower = 0, upper = 0;
	void *at = (void *)m->of->mem;

	if (m->wide || m->swizzle > CU_TENSOR_MAP_SWIZZLE_128B)
		exit(SKIPPED);
	if (m->is_pixels)
		CHECK(cuTensorMapEncodeIm2col(
			&map, CU_TENSOR_MAP_DATA_TYPE_UINT32, 3, at, size, strides, &lower, &upper,
			m->box[0], m->box[1], steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
			(CUtensorMapSwizzle)m->swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE,
			CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
	else
		CHECK(cuTensorMapEncodeTiled(
			&map, CU_TENSOR_MAP_DATA_TYPE_UINT32, 2, at, size, strides, box, steps,
			CU_TENSOR_MAP_INTERLEAVE_NONE, (CUtensorMapSwizzle)m->swizzle,
			CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
	CHECK(cuMemcpyHtoD(device_of(m->map), &map, sizeof(map)));
}

static void fill(struct test *t)
{
	for (unsigned i = 0; i < t->nbuffers; i++) {
		struct buffer *b = &t->buffers[i];
		CUdeviceptr p;
		if (!b->mem) {
			CHECK(cuMemAlloc(&p, b->size + !b->size));
			b->mem = (unsigned char *)(uintptr_t)p;
		}
		CHECK(cuMemcpyHtoD(device_of(b), b->init, b->size));
	}
	for (unsigned i = 0; i < t->nmaps; i++)
		make_map(&t->maps[i]);
}

static void put_arg(struct test *t, const struct launch *l, const char *text, unsigned char *to)
{
	const char *colon = strchr(text, ':'), *plus = strchr(text, '+');
	struct buffer *b = case_buffer(t, text, plus ? (size_t)(plus - text) : strlen(text));

	memset(to, 0, ARG_BYTES);
	if (b) {
		CUdeviceptr at = device_of(b) + (plus ? strtoull(plus + 1, NULL, 0) : 0);
		memcpy(to, &at, sizeof(at));
	} else if (colon && case_type_size(colon + 1)) {
		case_put_value(to, colon + 1, text);
	} else {
		case_bad(t, l->line, "expected a buffer or VALUE:TYPE", text);
	}
}

static void launch(struct test *t, const struct launch *l, CUfunction f)
{
	static unsigned char args[MAX_NAMED][ARG_BYTES];
	void *at[MAX_NAMED];
	CUlaunchAttribute attribute[2];
	CUlaunchConfig how = {.gridDimX = l->grid[0],
			      .gridDimY = l->grid[1],
			      .gridDimZ = l->grid[2],
			      .blockDimX = l->block[0],
			      .blockDimY = l->block[1],
			      .blockDimZ = l->block[2],
			      .sharedMemBytes = (unsigned)l->shared,
			      .attrs = attribute};

	for (unsigned i = 0; i < l->nargs; i++) {
		put_arg(t, l, l->args[i], args[i]);
		at[i] = args[i];
	}
	if (l->cluster[0]) {
		attribute[how.numAttrs].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
		attribute[how.numAttrs].value.clusterDim.x = l->cluster[0];
		attribute[how.numAttrs].value.clusterDim.y = l->cluster[1];
		attribute[how.numAttrs++].value.clusterDim.z = l->cluster[2];
	}
	if (l->is_cooperative) {
		attribute[how.numAttrs].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
		attribute[how.numAttrs++].value.cooperative = 1;
	}
	if (l->shared > SHARED_FREE)
		CHECK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
					 (int)l->shared));
	CHECK(cuLaunchKernelEx(&how, f, at, NULL));
	CHECK(cuCtxSynchronize());
}

/* A hash of all buffers but tensor maps, which hold what only the device knows; or prints them. */
static uint64_t result(struct test *t, bool is_printed)
{
	uint64_t hash = BASE_FNV_INIT;

	for (unsigned i = 0; i < t->nbuffers; i++) {
		const struct buffer *b = &t->buffers[i];
		unsigned char *copy = malloc(b->size + 1);
		if (!copy)
			exit(1);
		CHECK(cuMemcpyDtoH(copy, device_of(b), b->size));
		if (!is_map(t, b))
			hash = base_hash(copy, b->size, hash);
		if (is_printed && !is_map(t, b)) {
			printf("%s:", b->name);
			for (size_t j = 0; j < b->count; j++)
				case_print_value(copy + j * case_type_size(b->type), b->type);
			printf("\n");
		}
		free(copy);
	}
	return hash;
}

static CUmodule load(const char *text)
{
	static char said[4096];
	CUjit_option option[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *value[] = {said, (void *)sizeof(said)};
	CUdevice device;
	CUcontext context;
	CUmodule module;

	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cuCtxSetCurrent(context));
	if (cuModuleLoadDataEx(&module, text, 2, option, value) != CUDA_SUCCESS) {
		fprintf(stderr, "%s\n", said[0] ? said : "the module is refused");
		exit(1);
	}
	return module;
}

static void run(struct test *t, const struct launch *l, const char *text, const char *how)
{
	unsigned long runs = how ? strtoul(how, NULL, 10) : 1;
	CUfunction f;
	uint64_t last = 0;

	for (unsigned i = 0; i < t->nbuffers; i++)
		if (t->buffers[i].of[0])
			exit(SKIPPED);
	if (t->ntextures)
		exit(SKIPPED);
	CHECK(cuModuleGetFunction(&f, load(text), l->kernel));
	for (unsigned long i = 0; i < runs || !i; i++) {
		fill(t);
		launch(t, l, f);
		uint64_t hash = result(t, !runs);
		if (runs && (!i || hash != last))
			printf("%016" PRIx64 "\n", hash);
		last = hash;
	}
}

int main(int argc, char **argv)
{
	static struct test t;
	char *text;
	size_t size;

	if (argc < 3 || argc > 4) {
		fprintf(stderr, "usage: gpu_cases FILE.ptx N [RUNS | values]\n");
		return 2;
	}
	t.file = argv[1];
	if (base_read_file(t.file, &text, &size)) {
		fprintf(stderr, "%s: cannot be read\n", t.file);
		return 2;
	}
	case_parse(&t, text);
	unsigned long n = strtoul(argv[2], NULL, 10);
	if (n < 1 || n > t.nlaunches) {
		fprintf(stderr, "%s: no launch %s\n", t.file, argv[2]);
		return 2;
	}
	run(&t, &t.launches[n - 1], text, argc > 3 ? argv[3] : NULL);
	base_arena_free(&t.arena);
	free(text);
	return 0;
}
