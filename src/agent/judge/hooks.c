/*
 * hooks.c - the driver's functions by which a program names its kernels and launches them, and the
 * ends of its contexts.
 *
 * Each does what the driver does; ours comes before a launch or an end, and after all others.
 */
#include <string.h>

#include "agent/forward/forward.h"
#include "agent/judge/judge.h"
#include "agent/judge/rest.h"

#define DIMS                                                                                       \
	unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,              \
		unsigned shared, CUstream stream
#define DIMS_GIVEN gx, gy, gz, bx, by, bz, shared, stream
#define DIMS_REST  ((struct judge_rest_dims){gx, gy, gz, bx, by, bz, shared})

static CUresult (*real_library_kernel)(CUkernel *, CUlibrary, const char *);
static CUresult (*real_library_module)(CUmodule *, CUlibrary);
static CUresult (*real_module_function)(CUfunction *, CUmodule, const char *);
static CUresult (*real_kernel_function)(CUfunction *, CUkernel);
/* [1]: functions whose default stream is the calling thread's. */
static CUresult (*real_launch[2])(CUfunction, DIMS, void **, void **);
static CUresult (*real_launch_ex[2])(const CUlaunchConfig *, CUfunction, void **, void **);
static CUresult (*real_cooperative[2])(CUfunction, DIMS, void **);

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
	return is_per_thread && !s ? CU_STREAM_PER_THREAD : s;
}

static void before(CUfunction f, DIMS, void **params, void **extra, bool is_cooperative)
{
	const struct judge_dims d = {.grid = {gx, gy, gz},
				     .block = {bx, by, bz},
				     .shared = shared,
				     .is_cooperative = is_cooperative,
				     .stream = stream};

	if (!judge_is_at_rest(f, &d))
		judge_before_launch(f, &d, params, extra);
}

/* Nothing but the look and two jumps is on the way of a launch that has no effect: so that this is
 * so, what it doesn't need is in functions of their own. */
#define LAUNCH(v)                                                                                  \
	static __attribute__((noinline))                                                           \
	CUresult long_##v(CUfunction f, DIMS, void **params, void **extra)                         \
	{                                                                                          \
		before(f, gx, gy, gz, bx, by, bz, shared, own_stream(stream, v), params, extra,    \
		       false);                                                                     \
		return real_launch[v](f, DIMS_GIVEN, params, extra);                               \
	}                                                                                          \
	static CUresult launch_##v(CUfunction f, DIMS, void **params, void **extra)                \
	{                                                                                          \
		struct judge_rest *r = judge_rest_find(f, own_stream(stream, v), DIMS_REST);       \
                                                                                                   \
		if (!r || r->effect)                                                               \
			return long_##v(f, DIMS_GIVEN, params, extra);                             \
		r->n++;                                                                            \
		return real_launch[v](f, DIMS_GIVEN, params, extra);                               \
	}                                                                                          \
	static CUresult cooperative_##v(CUfunction f, DIMS, void **params)                         \
	{                                                                                          \
		before(f, gx, gy, gz, bx, by, bz, shared, own_stream(stream, v), params, NULL,     \
		       true);                                                                      \
		return real_cooperative[v](f, DIMS_GIVEN, params);                                 \
	}
LAUNCH(0)
LAUNCH(1)

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
		if (at->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
			d.is_early = at->value.programmaticStreamSerializationAllowed != 0;
		if (at->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
			d.is_cooperative = at->value.cooperative != 0;
		if (at->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
			d.cluster[0] = at->value.clusterDim.x;
			d.cluster[1] = at->value.clusterDim.y;
			d.cluster[2] = at->value.clusterDim.z;
		}
	}
	if (d.is_opaque || !judge_is_at_rest(f, &d))
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

/* ---- memory --------------------------------------------------------------------- */

static CUresult (*real_alloc)(CUdeviceptr *, size_t);
static CUresult (*real_alloc_rows)(CUdeviceptr *, size_t *, size_t, size_t, unsigned);

static CUresult alloc(CUdeviceptr *at, size_t n)
{
	CUresult r = real_alloc(at, n);

	if (r == CUDA_SUCCESS)
		judge_allocated(*at, n);
	return r;
}

static CUresult alloc_rows(CUdeviceptr *at, size_t *pitch, size_t width, size_t height,
			   unsigned element)
{
	CUresult r = real_alloc_rows(at, pitch, width, height, element);

	if (r == CUDA_SUCCESS)
		judge_allocated(*at, *pitch * height);
	return r;
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

static CUresult got(CUresult r, const CUdeviceptr *at, size_t n)
{
	if (r != CUDA_SUCCESS)
		return r;
	judge_memory_got(*at);
	judge_allocated(*at, n);
	return r;
}

static CUresult get_0(CUdeviceptr *at, size_t n, CUstream s)
{
	return got(real_get[0](at, n, s), at, n);
}

static CUresult get_1(CUdeviceptr *at, size_t n, CUstream s)
{
	return got(real_get[1](at, n, s), at, n);
}

static CUresult get_pool_0(CUdeviceptr *at, size_t n, CUmemoryPool pool, CUstream s)
{
	return got(real_get_pool[0](at, n, pool, s), at, n);
}

static CUresult get_pool_1(CUdeviceptr *at, size_t n, CUmemoryPool pool, CUstream s)
{
	return got(real_get_pool[1](at, n, pool, s), at, n);
}

/* ---- tensor maps ---------------------------------------------------------------- */

/* What tiled and im2col maps have in common. */
#define MAP_FIRST                                                                                  \
	CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,                \
		const cuuint64_t *dims, const cuuint64_t *strides
#define MAP_LAST                                                                                   \
	const cuuint32_t *element, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,   \
		CUtensorMapL2promotion l2, CUtensorMapFloatOOBfill fill
#define MAP_LAST_GIVEN element, interleave, swizzle, l2, fill

static CUresult (*real_tiled)(MAP_FIRST, const cuuint32_t *, MAP_LAST);
static CUresult (*real_im2col)(MAP_FIRST, const int *, const int *, cuuint32_t, cuuint32_t,
			       MAP_LAST);

/* The driver took it, so what it was given is there. */
static void describe_map(struct race_judge_map *m, CUtensorMapDataType type, cuuint32_t rank,
			 const void *address, const cuuint64_t *dims, const cuuint64_t *strides,
			 MAP_LAST)
{
	*m = (struct race_judge_map){.type = (uint32_t)type,
				     .rank = rank,
				     .interleave = (uint32_t)interleave,
				     .swizzle = (uint32_t)swizzle,
				     .l2 = (uint32_t)l2,
				     .fill = (uint32_t)fill,
				     .address = (uint64_t)(uintptr_t)address};
	memcpy(m->dims, dims, rank * sizeof(*dims));
	if (rank > 1)
		memcpy(m->strides, strides, (rank - 1) * sizeof(*strides));
	memcpy(m->element_strides, element, rank * sizeof(*element));
}

static CUresult encode_tiled(MAP_FIRST, const cuuint32_t *box, MAP_LAST)
{
	CUresult r = real_tiled(map, type, rank, address, dims, strides, box, MAP_LAST_GIVEN);
	struct race_judge_map m;

	if (r != CUDA_SUCCESS || !rank || rank > 5)
		return r;
	describe_map(&m, type, rank, address, dims, strides, MAP_LAST_GIVEN);
	memcpy(m.box, box, rank * sizeof(*box));
	judge_map_add(map, &m);
	return r;
}

static CUresult encode_im2col(MAP_FIRST, const int *lower, const int *upper, cuuint32_t channels,
			      cuuint32_t pixels, MAP_LAST)
{
	CUresult r = real_im2col(map, type, rank, address, dims, strides, lower, upper, channels,
				 pixels, MAP_LAST_GIVEN);
	struct race_judge_map m;

	if (r != CUDA_SUCCESS || rank < 3 || rank > 5)
		return r;
	describe_map(&m, type, rank, address, dims, strides, MAP_LAST_GIVEN);
	m.is_im2col = 1;
	memcpy(m.lower, lower, (rank - 2) * sizeof(*lower));
	memcpy(m.upper, upper, (rank - 2) * sizeof(*upper));
	m.channels = channels;
	m.pixels = pixels;
	judge_map_add(map, &m);
	return r;
}

/* As MAP_LAST; the mode stands between. */
#define MAP_LAST_WIDE                                                                              \
	const cuuint32_t *element, CUtensorMapInterleave interleave,                               \
		CUtensorMapIm2ColWideMode mode, CUtensorMapSwizzle swizzle,                        \
		CUtensorMapL2promotion l2, CUtensorMapFloatOOBfill fill

static CUresult (*real_wide)(MAP_FIRST, int, int, cuuint32_t, cuuint32_t, MAP_LAST_WIDE);

static CUresult encode_wide(MAP_FIRST, int lower, int upper, cuuint32_t channels, cuuint32_t pixels,
			    MAP_LAST_WIDE)
{
	CUresult r = real_wide(map, type, rank, address, dims, strides, lower, upper, channels,
			       pixels, element, interleave, mode, swizzle, l2, fill);
	struct race_judge_map m;

	if (r != CUDA_SUCCESS || rank < 3 || rank > 5)
		return r;
	describe_map(&m, type, rank, address, dims, strides, MAP_LAST_GIVEN);
	m.is_im2col = 1;
	m.wide = (uint32_t)mode + 1;
	m.lower[0] = lower;
	m.upper[0] = upper;
	m.channels = channels;
	m.pixels = pixels;
	judge_map_add(map, &m);
	return r;
}

/* ---- textures and surfaces ------------------------------------------------------- */

static CUresult (*real_tex)(CUtexObject *, const CUDA_RESOURCE_DESC *, const CUDA_TEXTURE_DESC *,
			    const CUDA_RESOURCE_VIEW_DESC *);
static CUresult (*real_tex_end)(CUtexObject);
static CUresult (*real_surf)(CUsurfObject *, const CUDA_RESOURCE_DESC *);
static CUresult (*real_surf_end)(CUsurfObject);
static CUresult (*real_array_end)(CUarray);

static CUresult make_tex(CUtexObject *out, const CUDA_RESOURCE_DESC *res,
			 const CUDA_TEXTURE_DESC *tex, const CUDA_RESOURCE_VIEW_DESC *view)
{
	CUresult r = real_tex(out, res, tex, view);

	if (r == CUDA_SUCCESS)
		judge_texture_add(*out, res, tex, !view);
	return r;
}

static CUresult make_surf(CUsurfObject *out, const CUDA_RESOURCE_DESC *res)
{
	CUresult r = real_surf(out, res);

	if (r == CUDA_SUCCESS)
		judge_texture_add(*out, res, NULL, true);
	return r;
}

/* Known before the driver has it: another thread may get the number. */
static CUresult end_tex(CUtexObject x)
{
	judge_texture_remove(x, false);
	return real_tex_end(x);
}

static CUresult end_surf(CUsurfObject x)
{
	judge_texture_remove(x, true);
	return real_surf_end(x);
}

static CUresult end_array(CUarray a)
{
	judge_array_remove(a);
	return real_array_end(a);
}

/* ---- graphs --------------------------------------------------------------------- */

#define MADE_ARGUMENTS CUgraphExec *x, CUgraph g, CUgraphNode *error, char *log, size_t n

static CUresult (*real_make[2])(MADE_ARGUMENTS); /* [1]: _v2 */
static CUresult (*real_make_flags)(CUgraphExec *, CUgraph, unsigned long long);
static CUresult (*real_make_params[2])(CUgraphExec *, CUgraph, CUDA_GRAPH_INSTANTIATE_PARAMS *);
static CUresult (*real_unmake)(CUgraphExec);
static CUresult (*real_graph[2])(CUgraphExec, CUstream);
static CUresult (*real_kernel_1)(CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS_v1 *);
static CUresult (*real_kernel_2)(CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS *);
static CUresult (*real_copy)(CUgraphExec, CUgraphNode, const CUDA_MEMCPY3D *, CUcontext);
static CUresult (*real_set)(CUgraphExec, CUgraphNode, const CUDA_MEMSET_NODE_PARAMS *, CUcontext);
static CUresult (*real_update_1)(CUgraphExec, CUgraph, CUgraphNode *, CUgraphExecUpdateResult *);
static CUresult (*real_update_2)(CUgraphExec, CUgraph, CUgraphExecUpdateResultInfo *);
static CUresult (*real_child)(CUgraphExec, CUgraphNode, CUgraph);
static CUresult (*real_node)(CUgraphExec, CUgraphNode, CUgraphNodeParams *);
static CUresult (*real_enable)(CUgraphExec, CUgraphNode, unsigned);

/* Graphs that kernels launch have flags; ours would lack them. */
static CUresult made(CUresult r, const CUgraphExec *x, CUgraph g, unsigned long long flags)
{
	if (r == CUDA_SUCCESS)
		judge_graph_made(*x, g);
	if (r == CUDA_SUCCESS && flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
		judge_graph_lost(*x);
	return r;
}

static CUresult make_1(MADE_ARGUMENTS)
{
	return made(real_make[0](x, g, error, log, n), x, g, 0);
}

static CUresult make_2(MADE_ARGUMENTS)
{
	return made(real_make[1](x, g, error, log, n), x, g, 0);
}

static CUresult make_flags(CUgraphExec *x, CUgraph g, unsigned long long flags)
{
	return made(real_make_flags(x, g, flags), x, g, flags);
}

static CUresult make_params_0(CUgraphExec *x, CUgraph g, CUDA_GRAPH_INSTANTIATE_PARAMS *p)
{
	return made(real_make_params[0](x, g, p), x, g, p ? p->flags : 0);
}

static CUresult make_params_1(CUgraphExec *x, CUgraph g, CUDA_GRAPH_INSTANTIATE_PARAMS *p)
{
	return made(real_make_params[1](x, g, p), x, g, p ? p->flags : 0);
}

static CUresult unmake(CUgraphExec x)
{
	judge_graph_gone(x);
	return real_unmake(x);
}

static CUresult graph_0(CUgraphExec x, CUstream s)
{
	CUresult r;

	return judge_graph_launch(x, own_stream(s, false), real_graph[0], &r) ? r
									      : real_graph[0](x, s);
}

static CUresult graph_1(CUgraphExec x, CUstream s)
{
	CUresult r;

	return judge_graph_launch(x, own_stream(s, true), real_graph[1], &r) ? r
									     : real_graph[1](x, s);
}

static CUresult kernel_1(CUgraphExec x, CUgraphNode n, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	CUresult r = real_kernel_1(x, n, p);
	CUDA_KERNEL_NODE_PARAMS now = {0};

	if (r != CUDA_SUCCESS)
		return r;
	memcpy(&now, p, sizeof(*p)); /* the longer one begins like it */
	judge_graph_kernel(x, n, &now);
	return r;
}

static CUresult kernel_2(CUgraphExec x, CUgraphNode n, const CUDA_KERNEL_NODE_PARAMS *p)
{
	CUresult r = real_kernel_2(x, n, p);

	if (r == CUDA_SUCCESS)
		judge_graph_kernel(x, n, p);
	return r;
}

static CUresult copy_node(CUgraphExec x, CUgraphNode n, const CUDA_MEMCPY3D *p, CUcontext c)
{
	CUresult r = real_copy(x, n, p, c);

	if (r == CUDA_SUCCESS)
		judge_graph_copy(x, n, p);
	return r;
}

static CUresult set_node(CUgraphExec x, CUgraphNode n, const CUDA_MEMSET_NODE_PARAMS *p,
			 CUcontext c)
{
	CUresult r = real_set(x, n, p, c);

	if (r == CUDA_SUCCESS)
		judge_graph_set(x, n, p);
	return r;
}

static CUresult update_1(CUgraphExec x, CUgraph g, CUgraphNode *n, CUgraphExecUpdateResult *how)
{
	CUresult r = real_update_1(x, g, n, how);

	if (r == CUDA_SUCCESS)
		judge_graph_updated(x, g);
	return r;
}

static CUresult update_2(CUgraphExec x, CUgraph g, CUgraphExecUpdateResultInfo *how)
{
	CUresult r = real_update_2(x, g, how);

	if (r == CUDA_SUCCESS)
		judge_graph_updated(x, g);
	return r;
}

static CUresult child(CUgraphExec x, CUgraphNode n, CUgraph g)
{
	judge_graph_lost(x);
	return real_child(x, n, g);
}

static CUresult node_params(CUgraphExec x, CUgraphNode n, CUgraphNodeParams *p)
{
	CUresult r = real_node(x, n, p);

	if (r == CUDA_SUCCESS && p->type == CU_GRAPH_NODE_TYPE_KERNEL) {
		CUDA_KERNEL_NODE_PARAMS now = {0};
		memcpy(&now, &p->kernel, sizeof(now)); /* they begin alike */
		judge_graph_kernel(x, n, &now);
	} else {
		judge_graph_lost(x);
	}
	return r;
}

static CUresult enable(CUgraphExec x, CUgraphNode n, unsigned is_on)
{
	judge_graph_lost(x);
	return real_enable(x, n, is_on);
}

/* ---- contexts ------------------------------------------------------------------- */

void forward_judge_ends(CUcontext ctx)
{
	judge_wait(ctx);
	judge_textures_forget(ctx);
}

/* The next primary context may have the handle of one that is gone. */
void forward_judge_gone(void)
{
	judge_rooms_forget(NULL);
	judge_textures_forget(NULL);
	judge_ways_forget();
	judge_codes_forget();
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
	{"cuMemAlloc_v2", (void *)alloc, (void **)&real_alloc},
	{"cuMemAllocPitch_v2", (void *)alloc_rows, (void **)&real_alloc_rows},
	{"cuMemFreeAsync", (void *)free_0, (void **)&real_free[0]},
	{"cuMemFreeAsync_ptsz", (void *)free_1, (void **)&real_free[1]},
	{"cuMemAllocAsync", (void *)get_0, (void **)&real_get[0]},
	{"cuMemAllocAsync_ptsz", (void *)get_1, (void **)&real_get[1]},
	{"cuMemAllocFromPoolAsync", (void *)get_pool_0, (void **)&real_get_pool[0]},
	{"cuMemAllocFromPoolAsync_ptsz", (void *)get_pool_1, (void **)&real_get_pool[1]},
	{"cuTensorMapEncodeTiled", (void *)encode_tiled, (void **)&real_tiled},
	{"cuTensorMapEncodeIm2col", (void *)encode_im2col, (void **)&real_im2col},
	{"cuTensorMapEncodeIm2colWide", (void *)encode_wide, (void **)&real_wide},
	{"cuTexObjectCreate", (void *)make_tex, (void **)&real_tex},
	{"cuTexObjectDestroy", (void *)end_tex, (void **)&real_tex_end},
	{"cuSurfObjectCreate", (void *)make_surf, (void **)&real_surf},
	{"cuSurfObjectDestroy", (void *)end_surf, (void **)&real_surf_end},
	{"cuArrayDestroy", (void *)end_array, (void **)&real_array_end},
	{"cuGraphInstantiate", (void *)make_1, (void **)&real_make[0]},
	{"cuGraphInstantiate_v2", (void *)make_2, (void **)&real_make[1]},
	{"cuGraphInstantiateWithFlags", (void *)make_flags, (void **)&real_make_flags},
	{"cuGraphInstantiateWithParams", (void *)make_params_0, (void **)&real_make_params[0]},
	{"cuGraphInstantiateWithParams_ptsz", (void *)make_params_1, (void **)&real_make_params[1]},
	{"cuGraphExecDestroy", (void *)unmake, (void **)&real_unmake},
	{"cuGraphLaunch", (void *)graph_0, (void **)&real_graph[0]},
	{"cuGraphLaunch_ptsz", (void *)graph_1, (void **)&real_graph[1]},
	{"cuGraphExecKernelNodeSetParams", (void *)kernel_1, (void **)&real_kernel_1},
	{"cuGraphExecKernelNodeSetParams_v2", (void *)kernel_2, (void **)&real_kernel_2},
	{"cuGraphExecMemcpyNodeSetParams", (void *)copy_node, (void **)&real_copy},
	{"cuGraphExecMemsetNodeSetParams", (void *)set_node, (void **)&real_set},
	{"cuGraphExecUpdate", (void *)update_1, (void **)&real_update_1},
	{"cuGraphExecUpdate_v2", (void *)update_2, (void **)&real_update_2},
	{"cuGraphExecChildGraphNodeSetParams", (void *)child, (void **)&real_child},
	{"cuGraphExecNodeSetParams", (void *)node_params, (void **)&real_node},
	{"cuGraphNodeSetEnabled", (void *)enable, (void **)&real_enable},
	{NULL, NULL, NULL},
};
