/*
 * hooks.c - the driver's functions by which a program names its kernels and launches them.
 *
 * Each does what the driver does, and is heard of afterwards, where it succeeded. A kernel node
 * that is given to a graph counts as a launch; those that are captured are launches anyway.
 */
#include "agent/forward/forward.h"
#include "agent/record/record.h"

#define DIMS                                                                                       \
	unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,              \
		unsigned shared, CUstream stream
#define DIMS_GIVEN gx, gy, gz, bx, by, bz, shared, stream
/* Of a configuration or a node's parameters: all such structs name them alike. */
#define DIMS_OF(p)                                                                                 \
	(&(struct record_dims){{(p)->gridDimX, (p)->gridDimY, (p)->gridDimZ},                      \
			       {(p)->blockDimX, (p)->blockDimY, (p)->blockDimZ}})

static CUresult (*real_library_kernel)(CUkernel *, CUlibrary, const char *);
static CUresult (*real_library_kernels)(CUkernel *, unsigned, CUlibrary);
static CUresult (*real_library_module)(CUmodule *, CUlibrary);
static CUresult (*real_module_function)(CUfunction *, CUmodule, const char *);
static CUresult (*real_module_functions)(CUfunction *, unsigned, CUmodule);
static CUresult (*real_module_unload)(CUmodule);
static CUresult (*real_library_unload)(CUlibrary);
static CUresult (*real_kernel_function)(CUfunction *, CUkernel);
/* [1]: functions whose default stream is the calling thread's. */
static CUresult (*real_launch[2])(CUfunction, DIMS, void **, void **);
static CUresult (*real_launch_ex[2])(const CUlaunchConfig *, CUfunction, void **, void **);
static CUresult (*real_cooperative[2])(CUfunction, DIMS, void **);
static CUresult (*real_devices)(CUDA_LAUNCH_PARAMS *, unsigned, unsigned);
static CUresult (*real_old)(CUfunction);
static CUresult (*real_old_grid)(CUfunction, int, int);
static CUresult (*real_old_async)(CUfunction, int, int, CUstream);

/* ---- names ----------------------------------------------------------------------------------- */

static CUresult library_kernel(CUkernel *k, CUlibrary lib, const char *name)
{
	CUresult r = real_library_kernel(k, lib, name);

	if (r == CUDA_SUCCESS)
		record_kernel_add(*k, lib, name, false);
	return r;
}

static CUresult library_kernels(CUkernel *k, unsigned n, CUlibrary lib)
{
	CUresult r = real_library_kernels(k, n, lib);

	for (unsigned i = 0; i < n && r == CUDA_SUCCESS; i++)
		if (k[i])
			record_kernel_add(k[i], lib, NULL, false);
	return r;
}

static CUresult library_module(CUmodule *m, CUlibrary lib)
{
	CUresult r = real_library_module(m, lib);

	if (r == CUDA_SUCCESS)
		record_module_alias(*m, lib);
	return r;
}

static CUresult module_function(CUfunction *f, CUmodule m, const char *name)
{
	CUresult r = real_module_function(f, m, name);

	if (r == CUDA_SUCCESS)
		record_kernel_add(*f, m, name, true);
	return r;
}

static CUresult module_functions(CUfunction *f, unsigned n, CUmodule m)
{
	CUresult r = real_module_functions(f, n, m);

	for (unsigned i = 0; i < n && r == CUDA_SUCCESS; i++)
		if (f[i])
			record_kernel_add(f[i], m, NULL, true);
	return r;
}

/* Afterwards another load may have got the handle. */
static CUresult module_unload(CUmodule m)
{
	struct record_code *c = record_code_of(m);
	CUresult r = real_module_unload(m);

	record_unloaded(r == CUDA_SUCCESS ? c : NULL);
	return r;
}

static CUresult library_unload(CUlibrary lib)
{
	struct record_code *c = record_code_of(lib);
	CUresult r = real_library_unload(lib);

	record_unloaded(r == CUDA_SUCCESS ? c : NULL);
	return r;
}

static CUresult kernel_function(CUfunction *f, CUkernel k)
{
	CUresult r = real_kernel_function(f, k);

	if (r == CUDA_SUCCESS)
		record_kernel_alias(*f, k);
	return r;
}

/* ---- launches -------------------------------------------------------------------------------- */

static CUresult launched(CUresult r, const void *f, const struct record_dims *d, void **params,
			 void **extra)
{
	if (r == CUDA_SUCCESS)
		record_launch(f, d, params, extra);
	return r;
}

static CUresult launched_ex(CUresult r, const CUlaunchConfig *c, CUfunction f, void **params,
			    void **extra)
{
	if (r != CUDA_SUCCESS)
		return r;
	return launched(r, f, DIMS_OF(c), params, extra);
}

#define LAUNCH(v)                                                                                  \
	static CUresult launch_##v(CUfunction f, DIMS, void **params, void **extra)                \
	{                                                                                          \
		return launched(real_launch[v](f, DIMS_GIVEN, params, extra), f,                   \
				&(struct record_dims){{gx, gy, gz}, {bx, by, bz}}, params, extra); \
	}                                                                                          \
	static CUresult cooperative_##v(CUfunction f, DIMS, void **params)                         \
	{                                                                                          \
		return launched(real_cooperative[v](f, DIMS_GIVEN, params), f,                     \
				&(struct record_dims){{gx, gy, gz}, {bx, by, bz}}, params, NULL);  \
	}                                                                                          \
	static CUresult launch_ex_##v(const CUlaunchConfig *c, CUfunction f, void **params,        \
				      void **extra)                                                \
	{                                                                                          \
		return launched_ex(real_launch_ex[v](c, f, params, extra), c, f, params, extra);   \
	}
LAUNCH(0)
LAUNCH(1)

/* How a launch of several devices, or one in parts, is made. */
static CUresult unnoted(CUresult r, enum race_unnoted why)
{
	if (r == CUDA_SUCCESS)
		record_count(why);
	return r;
}

static CUresult devices(CUDA_LAUNCH_PARAMS *p, unsigned n, unsigned flags)
{
	return unnoted(real_devices(p, n, flags), RACE_UNNOTED_DEVICES);
}

static CUresult old(CUfunction f)
{
	return unnoted(real_old(f), RACE_UNNOTED_OLD);
}

static CUresult old_grid(CUfunction f, int w, int h)
{
	return unnoted(real_old_grid(f, w, h), RACE_UNNOTED_OLD);
}

static CUresult old_async(CUfunction f, int w, int h, CUstream s)
{
	return unnoted(real_old_async(f, w, h, s), RACE_UNNOTED_OLD);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

typedef CUDA_KERNEL_NODE_PARAMS_v1 params_1; /* the newer one begins like it */
typedef CUDA_KERNEL_NODE_PARAMS params_2;

static CUresult (*real_add_1)(CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
			      const params_1 *);
static CUresult (*real_add_2)(CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
			      const params_2 *);
static CUresult (*real_add)(CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
			    CUgraphNodeParams *);
static CUresult (*real_add_edges)(CUgraphNode *, CUgraph, const CUgraphNode *, const void *, size_t,
				  CUgraphNodeParams *);
static CUresult (*real_set_1)(CUgraphNode, const params_1 *);
static CUresult (*real_set_2)(CUgraphNode, const params_2 *);
static CUresult (*real_set)(CUgraphNode, CUgraphNodeParams *);
static CUresult (*real_exec_1)(CUgraphExec, CUgraphNode, const params_1 *);
static CUresult (*real_exec_2)(CUgraphExec, CUgraphNode, const params_2 *);
static CUresult (*real_exec)(CUgraphExec, CUgraphNode, CUgraphNodeParams *);

static CUresult node_1(CUresult r, const params_1 *p)
{
	if (r != CUDA_SUCCESS)
		return r;
	return launched(r, p->func, DIMS_OF(p), p->kernelParams, p->extra);
}

static CUresult node_2(CUresult r, const params_2 *p)
{
	if (r != CUDA_SUCCESS)
		return r;
	return launched(r, p->func ? (const void *)p->func : (const void *)p->kern, DIMS_OF(p),
			p->kernelParams, p->extra);
}

static CUresult node(CUresult r, const CUgraphNodeParams *p)
{
	const CUDA_KERNEL_NODE_PARAMS_v3 *k = &p->kernel;

	if (r != CUDA_SUCCESS || p->type != CU_GRAPH_NODE_TYPE_KERNEL)
		return r;
	return launched(r, k->func ? (const void *)k->func : (const void *)k->kern, DIMS_OF(k),
			k->kernelParams, k->extra);
}

static CUresult add_1(CUgraphNode *out, CUgraph g, const CUgraphNode *d, size_t n,
		      const params_1 *p)
{
	return node_1(real_add_1(out, g, d, n, p), p);
}

static CUresult add_2(CUgraphNode *out, CUgraph g, const CUgraphNode *d, size_t n,
		      const params_2 *p)
{
	return node_2(real_add_2(out, g, d, n, p), p);
}

static CUresult add(CUgraphNode *out, CUgraph g, const CUgraphNode *d, size_t n,
		    CUgraphNodeParams *p)
{
	return node(real_add(out, g, d, n, p), p);
}

static CUresult add_edges(CUgraphNode *out, CUgraph g, const CUgraphNode *d, const void *edges,
			  size_t n, CUgraphNodeParams *p)
{
	return node(real_add_edges(out, g, d, edges, n, p), p);
}

static CUresult set_1(CUgraphNode n, const params_1 *p)
{
	return node_1(real_set_1(n, p), p);
}

static CUresult set_2(CUgraphNode n, const params_2 *p)
{
	return node_2(real_set_2(n, p), p);
}

static CUresult set(CUgraphNode n, CUgraphNodeParams *p)
{
	return node(real_set(n, p), p);
}

static CUresult exec_1(CUgraphExec x, CUgraphNode n, const params_1 *p)
{
	return node_1(real_exec_1(x, n, p), p);
}

static CUresult exec_2(CUgraphExec x, CUgraphNode n, const params_2 *p)
{
	return node_2(real_exec_2(x, n, p), p);
}

static CUresult exec(CUgraphExec x, CUgraphNode n, CUgraphNodeParams *p)
{
	return node(real_exec(x, n, p), p);
}

bool forward_has_record(void)
{
	return record_is_on();
}

/* The names as the library exports them. */
const struct forward_hook forward_record_hooks[] = {
	{"cuLibraryGetKernel", (void *)library_kernel, (void **)&real_library_kernel},
	{"cuLibraryEnumerateKernels", (void *)library_kernels, (void **)&real_library_kernels},
	{"cuLibraryGetModule", (void *)library_module, (void **)&real_library_module},
	{"cuModuleGetFunction", (void *)module_function, (void **)&real_module_function},
	{"cuModuleEnumerateFunctions", (void *)module_functions, (void **)&real_module_functions},
	{"cuModuleUnload", (void *)module_unload, (void **)&real_module_unload},
	{"cuLibraryUnload", (void *)library_unload, (void **)&real_library_unload},
	{"cuKernelGetFunction", (void *)kernel_function, (void **)&real_kernel_function},
	{"cuLaunchKernel", (void *)launch_0, (void **)&real_launch[0]},
	{"cuLaunchKernel_ptsz", (void *)launch_1, (void **)&real_launch[1]},
	{"cuLaunchKernelEx", (void *)launch_ex_0, (void **)&real_launch_ex[0]},
	{"cuLaunchKernelEx_ptsz", (void *)launch_ex_1, (void **)&real_launch_ex[1]},
	{"cuLaunchCooperativeKernel", (void *)cooperative_0, (void **)&real_cooperative[0]},
	{"cuLaunchCooperativeKernel_ptsz", (void *)cooperative_1, (void **)&real_cooperative[1]},
	{"cuLaunchCooperativeKernelMultiDevice", (void *)devices, (void **)&real_devices},
	{"cuLaunch", (void *)old, (void **)&real_old},
	{"cuLaunchGrid", (void *)old_grid, (void **)&real_old_grid},
	{"cuLaunchGridAsync", (void *)old_async, (void **)&real_old_async},
	{"cuGraphAddKernelNode", (void *)add_1, (void **)&real_add_1},
	{"cuGraphAddKernelNode_v2", (void *)add_2, (void **)&real_add_2},
	{"cuGraphAddNode", (void *)add, (void **)&real_add},
	{"cuGraphAddNode_v2", (void *)add_edges, (void **)&real_add_edges},
	{"cuGraphKernelNodeSetParams", (void *)set_1, (void **)&real_set_1},
	{"cuGraphKernelNodeSetParams_v2", (void *)set_2, (void **)&real_set_2},
	{"cuGraphNodeSetParams", (void *)set, (void **)&real_set},
	{"cuGraphExecKernelNodeSetParams", (void *)exec_1, (void **)&real_exec_1},
	{"cuGraphExecKernelNodeSetParams_v2", (void *)exec_2, (void **)&real_exec_2},
	{"cuGraphExecNodeSetParams", (void *)exec, (void **)&real_exec},
	{NULL, NULL, NULL},
};
