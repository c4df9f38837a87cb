/*
 * hooks.c - the driver's functions by which a program names its kernels, launches them and
 * ends its contexts.
 *
 * Each does what the driver does; ours comes before a launch or an end, and after all others.
 */
#include <string.h>

#include "agent/forward/forward.h"
#include "agent/judge/judge.h"

#define DIMS                                                                                       \
	unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,              \
		unsigned shared, CUstream stream
#define DIMS_GIVEN gx, gy, gz, bx, by, bz, shared, stream

static CUresult (*real_library_kernel)(CUkernel *, CUlibrary, const char *);
static CUresult (*real_library_module)(CUmodule *, CUlibrary);
static CUresult (*real_module_function)(CUfunction *, CUmodule, const char *);
static CUresult (*real_kernel_function)(CUfunction *, CUkernel);
/* [1]: functions whose default stream is the calling thread's. */
static CUresult (*real_launch[2])(CUfunction, DIMS, void **, void **);
static CUresult (*real_launch_ex[2])(const CUlaunchConfig *, CUfunction, void **, void **);
static CUresult (*real_cooperative[2])(CUfunction, DIMS, void **);
static CUresult (*real_destroy)(CUcontext);
static CUresult (*real_reset)(CUdevice);
static CUresult (*real_release)(CUdevice);

/* ---- names ----------------------------------------------------------------------- */

static CUresult library_kernel(CUkernel *k, CUlibrary lib, const char *name)
{
	CUresult r = real_library_kernel(k, lib, name);

	if (r == CUDA_SUCCESS)
		judge_function_add(*k, lib, name);
	return r;
}

static CUresult library_module(CUmodule *m, CUlibrary lib)
{
	CUresult r = real_library_module(m, lib);

	if (r == CUDA_SUCCESS)
		judge_module_alias(*m, lib);
	return r;
}

static CUresult module_function(CUfunction *f, CUmodule m, const char *name)
{
	CUresult r = real_module_function(f, m, name);

	if (r == CUDA_SUCCESS)
		judge_function_add(*f, m, name);
	return r;
}

static CUresult kernel_function(CUfunction *f, CUkernel k)
{
	CUresult r = real_kernel_function(f, k);

	if (r == CUDA_SUCCESS)
		judge_function_alias(*f, k);
	return r;
}

/* ---- launches -------------------------------------------------------------------- */

static CUstream own_stream(CUstream s, bool is_per_thread)
{
	if (is_per_thread && !s)
		s = CU_STREAM_PER_THREAD;
	if (s == CU_STREAM_PER_THREAD)
		judge_note_stream();
	return s;
}

static void before(CUfunction f, DIMS, void **params, void **extra, unsigned how)
{
	const struct judge_dims d = {.grid = {gx, gy, gz},
				     .block = {bx, by, bz},
				     .shared = shared,
				     .is_cooperative = (how & 2) != 0,
				     .stream = own_stream(stream, how & 1)};

	judge_before_launch(f, &d, params, extra);
}

static CUresult launch_0(CUfunction f, DIMS, void **params, void **extra)
{
	before(f, DIMS_GIVEN, params, extra, 0);
	return real_launch[0](f, DIMS_GIVEN, params, extra);
}

static CUresult launch_1(CUfunction f, DIMS, void **params, void **extra)
{
	before(f, DIMS_GIVEN, params, extra, 1);
	return real_launch[1](f, DIMS_GIVEN, params, extra);
}

static CUresult cooperative_0(CUfunction f, DIMS, void **params)
{
	before(f, DIMS_GIVEN, params, NULL, 2);
	return real_cooperative[0](f, DIMS_GIVEN, params);
}

static CUresult cooperative_1(CUfunction f, DIMS, void **params)
{
	before(f, DIMS_GIVEN, params, NULL, 3);
	return real_cooperative[1](f, DIMS_GIVEN, params);
}

static void before_ex(const CUlaunchConfig *c, CUfunction f, void **params, void **extra,
		      bool is_per_thread)
{
	struct judge_dims d = {.grid = {c->gridDimX, c->gridDimY, c->gridDimZ},
			       .block = {c->blockDimX, c->blockDimY, c->blockDimZ},
			       .shared = c->sharedMemBytes,
			       .stream = own_stream(c->hStream, is_per_thread)};

	for (unsigned i = 0; c->attrs && i < c->numAttrs; i++) {
		const CUlaunchAttribute *at = &c->attrs[i];
		d.is_opaque |= at->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT ||
			       at->id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
		if (at->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
			d.is_cooperative = at->value.cooperative != 0;
		if (at->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
			d.cluster[0] = at->value.clusterDim.x;
			d.cluster[1] = at->value.clusterDim.y;
			d.cluster[2] = at->value.clusterDim.z;
		}
	}
	judge_before_launch(f, &d, params, extra);
}

static CUresult launch_ex_0(const CUlaunchConfig *c, CUfunction f, void **params, void **extra)
{
	if (c)
		before_ex(c, f, params, extra, false);
	return real_launch_ex[0](c, f, params, extra);
}

static CUresult launch_ex_1(const CUlaunchConfig *c, CUfunction f, void **params, void **extra)
{
	if (c)
		before_ex(c, f, params, extra, true);
	return real_launch_ex[1](c, f, params, extra);
}

/* ---- memory of pools ------------------------------------------------------------ */

static CUresult (*real_free[2])(CUdeviceptr, CUstream);
static CUresult (*real_get[2])(CUdeviceptr *, size_t, CUstream);
static CUresult (*real_get_pool[2])(CUdeviceptr *, size_t, CUmemoryPool, CUstream);

/* Known before the driver has it: another thread may be about to launch. */
static CUresult free_0(CUdeviceptr at, CUstream s)
{
	judge_memory_freed(at);
	return real_free[0](at, s);
}

static CUresult free_1(CUdeviceptr at, CUstream s)
{
	judge_memory_freed(at);
	return real_free[1](at, s);
}

static CUresult got(CUresult r, const CUdeviceptr *at)
{
	if (r == CUDA_SUCCESS)
		judge_memory_got(*at);
	return r;
}

static CUresult get_0(CUdeviceptr *at, size_t n, CUstream s)
{
	return got(real_get[0](at, n, s), at);
}

static CUresult get_1(CUdeviceptr *at, size_t n, CUstream s)
{
	return got(real_get[1](at, n, s), at);
}

static CUresult get_pool_0(CUdeviceptr *at, size_t n, CUmemoryPool pool, CUstream s)
{
	return got(real_get_pool[0](at, n, pool, s), at);
}

static CUresult get_pool_1(CUdeviceptr *at, size_t n, CUmemoryPool pool, CUstream s)
{
	return got(real_get_pool[1](at, n, pool, s), at);
}

/* ---- tensor maps ---------------------------------------------------------------- */

#define MAP_ARGUMENTS                                                                              \
	CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,                \
		const cuuint64_t *dims, const cuuint64_t *strides, const cuuint32_t *box,          \
		const cuuint32_t *element, CUtensorMapInterleave interleave,                       \
		CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2,                             \
		CUtensorMapFloatOOBfill fill

static CUresult (*real_tiled)(MAP_ARGUMENTS);

static CUresult encode_tiled(MAP_ARGUMENTS)
{
	CUresult r = real_tiled(map, type, rank, address, dims, strides, box, element, interleave,
				swizzle, l2, fill);
	struct race_judge_map m = {.type = (uint32_t)type,
				   .rank = rank,
				   .interleave = (uint32_t)interleave,
				   .swizzle = (uint32_t)swizzle,
				   .l2 = (uint32_t)l2,
				   .fill = (uint32_t)fill,
				   .address = (uint64_t)(uintptr_t)address};

	if (r != CUDA_SUCCESS || !rank || rank > 5)
		return r;
	memcpy(m.dims, dims, rank * sizeof(*dims));
	if (rank > 1)
		memcpy(m.strides, strides, (rank - 1) * sizeof(*strides));
	memcpy(m.box, box, rank * sizeof(*box));
	memcpy(m.element_strides, element, rank * sizeof(*element));
	judge_map_add(map, &m);
	return r;
}

/* ---- contexts ------------------------------------------------------------------- */

static CUresult destroy(CUcontext ctx)
{
	judge_wait(ctx);
	return real_destroy(ctx);
}

static CUresult reset(CUdevice device)
{
	judge_wait(NULL);
	judge_rooms_forget(NULL);
	return real_reset(device);
}

static CUresult release(CUdevice device)
{
	judge_wait(NULL);
	judge_rooms_forget(NULL);
	return real_release(device);
}

/* The names as the library exports them. */
const struct forward_hook forward_judge_hooks[] = {
	{"cuLibraryGetKernel", (void *)library_kernel, (void **)&real_library_kernel},
	{"cuLibraryGetModule", (void *)library_module, (void **)&real_library_module},
	{"cuModuleGetFunction", (void *)module_function, (void **)&real_module_function},
	{"cuKernelGetFunction", (void *)kernel_function, (void **)&real_kernel_function},
	{"cuLaunchKernel", (void *)launch_0, (void **)&real_launch[0]},
	{"cuLaunchKernel_ptsz", (void *)launch_1, (void **)&real_launch[1]},
	{"cuLaunchKernelEx", (void *)launch_ex_0, (void **)&real_launch_ex[0]},
	{"cuLaunchKernelEx_ptsz", (void *)launch_ex_1, (void **)&real_launch_ex[1]},
	{"cuLaunchCooperativeKernel", (void *)cooperative_0, (void **)&real_cooperative[0]},
	{"cuLaunchCooperativeKernel_ptsz", (void *)cooperative_1, (void **)&real_cooperative[1]},
	{"cuMemFreeAsync", (void *)free_0, (void **)&real_free[0]},
	{"cuMemFreeAsync_ptsz", (void *)free_1, (void **)&real_free[1]},
	{"cuMemAllocAsync", (void *)get_0, (void **)&real_get[0]},
	{"cuMemAllocAsync_ptsz", (void *)get_1, (void **)&real_get[1]},
	{"cuMemAllocFromPoolAsync", (void *)get_pool_0, (void **)&real_get_pool[0]},
	{"cuMemAllocFromPoolAsync_ptsz", (void *)get_pool_1, (void **)&real_get_pool[1]},
	{"cuTensorMapEncodeTiled", (void *)encode_tiled, (void **)&real_tiled},
	{"cuCtxDestroy_v2", (void *)destroy, (void **)&real_destroy},
	{"cuDevicePrimaryCtxReset_v2", (void *)reset, (void **)&real_reset},
	{"cuDevicePrimaryCtxRelease_v2", (void *)release, (void **)&real_release},
	{NULL, NULL, NULL},
};
