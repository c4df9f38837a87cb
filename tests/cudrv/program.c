/*
 * program.c - a program of the driver's API: program WAY KERNEL.
 *
 * WAY is how it gets at the driver's functions: `linked` (libcuda is needed by it), `dlopen`,
 * `proc` (cuGetProcAddress alone), `ex` (cuLaunchKernelEx), `library` (cuLibrary*), `linker`
 * (cuLink*), `graph`, `mixed` (memory and stream of the runtime). KERNEL is `racy`, or `fixed`,
 * where each thread has a place of its own. Exits with 1 when a result is wrong.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 64u

/* The first parameter is the array, the second what threads are multiplied by: 0 or 1. */
static const char ptx[] = ".version 8.0\n"
			  ".target sm_80\n"
			  ".address_size 64\n"
			  ".visible .global .align 4 .u32 bias = 5;\n"
			  ".visible .entry fill(.param .u64 out, .param .u32 step)\n"
			  "{\n"
			  "	.reg .b32 %r<8>;\n"
			  "	.reg .b64 %rd<5>;\n"
			  "	ld.param.u64 %rd1, [out];\n"
			  "	ld.param.u32 %r1, [step];\n"
			  "	cvta.to.global.u64 %rd2, %rd1;\n"
			  "	mov.u32 %r2, %tid.x;\n"
			  "	mul.lo.u32 %r3, %r2, %r1;\n"
			  "	mul.wide.u32 %rd3, %r3, 4;\n"
			  "	add.s64 %rd4, %rd2, %rd3;\n"
			  "	ld.global.u32 %r4, [bias];\n"
			  "	add.u32 %r5, %r2, %r4;\n"
			  "	st.global.u32 [%rd4], %r5;\n"
			  "	ret;\n"
			  "}\n";

static const char second[] = ".version 8.0\n"
			     ".target sm_80\n"
			     ".address_size 64\n"
			     ".visible .func (.param .b32 r) twice (.param .b32 v)\n"
			     "{\n"
			     "	.reg .b32 %r<3>;\n"
			     "	ld.param.u32 %r1, [v];\n"
			     "	add.u32 %r2, %r1, %r1;\n"
			     "	st.param.b32 [r], %r2;\n"
			     "	ret;\n"
			     "}\n";

static void *library; /* of dlopen; NULL: the functions that this program is linked with */
static bool by_proc;

#define OK(call)                                                                                   \
	do {                                                                                       \
		CUresult r_ = (call);                                                              \
		if (r_ != CUDA_SUCCESS) {                                                          \
			fprintf(stderr, "%s: error %d\n", #call, (int)r_);                         \
			exit(2);                                                                   \
		}                                                                                  \
	} while (0)

static void *look_up(const char *name, const char *symbol, void *linked)
{
	__typeof__(&cuGetProcAddress) get;
	CUdriverProcAddressQueryResult found;
	void *p = NULL;

	if (!library)
		return linked;
	if (!by_proc)
		return dlsym(library, symbol);
	*(void **)&get = dlsym(library, "cuGetProcAddress_v2");
	OK(get(name, &p, 12000, 0, &found));
	return p;
}

#define STRING(x)  #x
#define SYMBOL(fn) STRING(fn)
/* A function by the way that was asked for. */
#define CU(fn) ((__typeof__(&fn))look_up(#fn, SYMBOL(fn), (void *)fn))

static CUfunction from_linker(void)
{
	char log[256] = "";
	CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[] = {log, (void *)sizeof(log)}, *code;
	CUlinkState state;
	CUfunction f;
	CUmodule m;
	size_t bytes;

	OK(CU(cuLinkCreate)(2, options, values, &state));
	OK(CU(cuLinkAddData)(state, CU_JIT_INPUT_PTX, (void *)ptx, sizeof(ptx), "a", 0, NULL,
			     NULL));
	OK(CU(cuLinkAddData)(state, CU_JIT_INPUT_PTX, (void *)second, sizeof(second), "b", 0, NULL,
			     NULL));
	OK(CU(cuLinkComplete)(state, &code, &bytes));
	OK(CU(cuModuleLoadData)(&m, code));
	OK(CU(cuLinkDestroy)(state));
	OK(CU(cuModuleGetFunction)(&f, m, "fill"));
	return f;
}

static CUfunction from_library(void)
{
	CUlibrary l;
	CUkernel k;
	CUfunction f;

	OK(CU(cuLibraryLoadData)(&l, ptx, NULL, NULL, 0, NULL, NULL, 0));
	OK(CU(cuLibraryGetKernel)(&k, l, "fill"));
	OK(CU(cuKernelGetFunction)(&f, k));
	return f;
}

static CUfunction from_module(void)
{
	CUdeviceptr bias;
	CUfunction f;
	CUmodule m;
	size_t bytes;

	OK(CU(cuModuleLoadData)(&m, ptx));
	OK(CU(cuModuleGetFunction)(&f, m, "fill"));
	OK(CU(cuModuleGetGlobal)(&bias, &bytes, m, "bias"));
	if (bytes != sizeof(unsigned))
		exit(1);
	return f;
}

static void launch(const char *way, CUfunction f, void **args, CUstream stream)
{
	CUlaunchConfig config = {.gridDimX = 1,
				 .gridDimY = 1,
				 .gridDimZ = 1,
				 .blockDimX = THREADS,
				 .blockDimY = 1,
				 .blockDimZ = 1,
				 .hStream = stream};
	CUgraphExec exec;
	CUgraph graph;

	if (!strcmp(way, "ex")) {
		OK(CU(cuLaunchKernelEx)(&config, f, args, NULL));
		return;
	}
	if (!strcmp(way, "graph"))
		OK(CU(cuStreamBeginCapture)(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(CU(cuLaunchKernel)(f, 1, 1, 1, THREADS, 1, 1, 0, stream, args, NULL));
	if (strcmp(way, "graph"))
		return;
	OK(CU(cuStreamEndCapture)(stream, &graph));
	OK(CU(cuGraphInstantiateWithFlags)(&exec, graph, 0));
	OK(CU(cuGraphLaunch)(exec, stream));
}

static void check(const unsigned *host, unsigned step)
{
	for (unsigned i = 0; step && i < THREADS; i++) {
		if (host[i] != i + 5) {
			printf("place %u holds %u\n", i, host[i]);
			exit(1);
		}
	}
}

int main(int argc, char **argv)
{
	const char *way = argc > 2 ? argv[1] : "linked";
	unsigned step = argc > 2 && !strcmp(argv[2], "fixed"), host[THREADS] = {0};
	bool is_mixed = !strcmp(way, "mixed");
	CUstream stream = NULL;
	CUdeviceptr p = 0;
	CUcontext context;
	CUdevice device;
	void *args[] = {&p, &step};

	by_proc = !strcmp(way, "proc");
	if (by_proc || !strcmp(way, "dlopen"))
		library = dlopen("libcuda.so.1", RTLD_NOW);
	OK(CU(cuInit)(0));
	OK(CU(cuDeviceGet)(&device, 0));
	if (is_mixed && (cudaMalloc((void **)&p, sizeof(host)) || cudaStreamCreate(&stream)))
		exit(2);
	if (!is_mixed) {
		OK(CU(cuDevicePrimaryCtxRetain)(&context, device));
		OK(CU(cuCtxSetCurrent)(context));
		OK(CU(cuMemAlloc)(&p, sizeof(host)));
		OK(CU(cuStreamCreate)(&stream, CU_STREAM_DEFAULT));
	}
	OK(CU(cuMemsetD32)(p, 0, THREADS));
	CUfunction f = !strcmp(way, "linker")	 ? from_linker()
		       : !strcmp(way, "library") ? from_library()
						 : from_module();
	launch(way, f, args, stream);
	OK(CU(cuStreamSynchronize)(stream));
	if (is_mixed && cudaMemcpy(host, (void *)p, sizeof(host), cudaMemcpyDefault))
		exit(2);
	if (!is_mixed)
		OK(CU(cuMemcpyDtoH)(host, p, sizeof(host)));
	check(host, step);
	return 0;
}
