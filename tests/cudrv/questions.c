/*
 * questions.c - what the driver answers: errors, contexts, modules, memory, streams, graphs.
 *
 * Each has the answer that an H100's driver (580.159.04) gave. Runs on both: on a GPU with
 * KEEP_GOING=1, which lists all that differ.
 */
#include <dlfcn.h>

#include "ask.h"

static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
			  ".visible .global .align 4 .u32 bias = 5;\n"
			  ".visible .entry add(.param .u64 out, .param .u32 n)\n{\n"
			  ".reg .b32 %r<5>; .reg .b64 %rd<3>;\n"
			  "ld.param.u64 %rd1, [out];\nld.param.u32 %r1, [n];\n"
			  "cvta.to.global.u64 %rd2, %rd1;\n"
			  "atom.global.add.u32 %r3, [%rd2], %r1;\nret;\n}\n"
			  ".visible .entry none() .maxntid 64, 1, 1\n{\nret;\n}\n";

static bool is_cpu;

static void test_start(void)
{
	CUdevice d;
	CUcontext c;
	const char *text = NULL;
	int n = 0;

	IS(cuDeviceGetCount(&n), CUDA_ERROR_NOT_INITIALIZED);
	IS(cuCtxGetCurrent(&c), CUDA_ERROR_NOT_INITIALIZED);
	IS(cuInit(1), CUDA_ERROR_INVALID_VALUE);
	OK(cuDriverGetVersion(&n));
	THAT(n >= 13000);
	OK(cuInit(0));
	OK(cuDeviceGetCount(&n));
	IS(cuDeviceGet(&d, n), CUDA_ERROR_INVALID_DEVICE);
	IS(cuDeviceGet(&d, -1), CUDA_ERROR_INVALID_DEVICE);
	IS(cuDeviceGet(NULL, 0), CUDA_ERROR_INVALID_VALUE);
	OK(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text));
	THAT(text && !strcmp(text, "CUDA_ERROR_OUT_OF_MEMORY"));
	OK(cuGetErrorString(CUDA_ERROR_INVALID_CONTEXT, &text));
	THAT(text && !strcmp(text, "invalid device context"));
	IS(cuGetErrorName((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);
	THAT(!text);
}

static void test_device(CUdevice d)
{
	int v = 0, major = 0;
	char name[64] = "";
	size_t bytes = 0;

	OK(cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_WARP_SIZE, d));
	IS(v, 32);
	OK(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, d));
	IS(major, 9);
	IS(cuDeviceGetAttribute(&v, (CUdevice_attribute)9999, d), CUDA_ERROR_INVALID_VALUE);
	IS(cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 99), CUDA_ERROR_INVALID_DEVICE);
	OK(cuDeviceGetName(name, sizeof(name), d));
	THAT(*name);
	OK(cuDeviceTotalMem(&bytes, d));
	THAT(bytes > 1 << 30);
}

static void test_contexts(CUdevice d)
{
	CUcontext a, b, c = NULL, primary;
	CUdeviceptr p;
	unsigned flags;
	int active;

	OK(cuCtxGetCurrent(&c));
	THAT(!c);
	IS(cuMemAlloc(&p, 4), CUDA_ERROR_INVALID_CONTEXT);
	IS(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
	IS(cuCtxPopCurrent(&c), CUDA_ERROR_INVALID_CONTEXT);
	OK(cuDevicePrimaryCtxGetState(d, &flags, &active));
	IS(active, 0);
	IS(cuDevicePrimaryCtxRelease(d), CUDA_ERROR_INVALID_CONTEXT);
	OK(cuDevicePrimaryCtxRetain(&primary, d));
	OK(cuDevicePrimaryCtxGetState(d, &flags, &active));
	IS(active, 1);
	OK(cuCtxGetCurrent(&c)); /* retaining makes it not current */
	THAT(!c);
	OK(cuCtxCreate(&a, NULL, 0, d));
	OK(cuCtxGetCurrent(&c));
	THAT(c == a);
	OK(cuCtxCreate(&b, NULL, 0, d));
	OK(cuCtxPopCurrent(&c));
	THAT(c == b);
	OK(cuCtxGetCurrent(&c));
	THAT(c == a);
	OK(cuCtxPushCurrent(b));
	OK(cuCtxDestroy(b));
	OK(cuCtxGetCurrent(&c));
	THAT(c == a);
	IS(cuCtxPushCurrent(NULL), CUDA_ERROR_INVALID_VALUE);
	OK(cuCtxSetCurrent(NULL));
	OK(cuCtxGetCurrent(&c));
	THAT(!c);
	OK(cuCtxDestroy(a));
	OK(cuCtxSetCurrent(primary));
	IS(cuCtxDestroy(primary), CUDA_ERROR_INVALID_CONTEXT);
}

static CUfunction test_modules(CUmodule *m)
{
	char log[200] = "";
	CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[] = {log, (void *)sizeof(log)};
	CUmodule bad;
	CUfunction f, other;
	CUdeviceptr p;
	const char *name = NULL;
	size_t n = 0, at = 9;
	unsigned count = 0;
	int v = -1;

	IS(cuModuleLoadData(&bad, "no PTX"), CUDA_ERROR_INVALID_IMAGE);
	IS(cuModuleLoadDataEx(&bad, ".version 8.0\n.target sm_80\n.address_size 64\nnonsense\n", 2,
			      options, values),
	   CUDA_ERROR_INVALID_PTX);
	THAT(*log && (size_t)values[1] > 0);
	IS(cuModuleLoad(&bad, "/no/such/file"), CUDA_ERROR_FILE_NOT_FOUND);
	OK(cuModuleLoadData(m, ptx));
	IS(cuModuleGetFunction(&f, *m, "sub"), CUDA_ERROR_NOT_FOUND);
	OK(cuModuleGetFunction(&f, *m, "add"));
	OK(cuModuleGetFunction(&other, *m, "none"));
	OK(cuModuleGetFunctionCount(&count, *m));
	IS(count, 2);
	OK(cuModuleGetGlobal(&p, &n, *m, "bias"));
	IS(n, 4);
	IS(cuModuleGetGlobal(&p, &n, *m, "nosuch"), CUDA_ERROR_NOT_FOUND);
	OK(cuFuncGetName(&name, f));
	THAT(name && !strcmp(name, "add"));
	OK(cuFuncGetParamInfo(f, 1, &at, &n));
	IS(at, 8);
	IS(n, 4);
	IS(cuFuncGetParamInfo(f, 2, &at, &n), CUDA_ERROR_INVALID_VALUE);
	OK(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, other));
	IS(v, 64);
	OK(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_PTX_VERSION, f));
	IS(v, 80);
	IS(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_NUM_REGS, 9), CUDA_ERROR_INVALID_VALUE);
	OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100 << 10));
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&v, f, 128, 0));
	THAT(v > 0);
	return f;
}

static void test_memory(void)
{
	CUdeviceptr p, base = 0;
	CUmemorytype type = 0;
	unsigned host[4] = {1, 2, 3, 4}, back[4] = {0};
	void *pinned;
	size_t n = 0, pitch = 0;

	IS(cuMemAlloc(&p, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemAlloc(&p, (size_t)1 << 50), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuMemAlloc(&p, 64));
	OK(cuMemGetAddressRange(&base, &n, p + 8));
	THAT(base == p && n == 64);
	OK(cuMemcpyHtoD(p, host, sizeof(host)));
	OK(cuMemcpyDtoD(p + 16, p, sizeof(host)));
	OK(cuMemsetD32(p, 7, 2));
	OK(cuMemcpyDtoH(back, p, sizeof(back)));
	THAT(back[0] == 7 && back[1] == 7 && back[2] == 3);
	OK(cuMemcpyDtoH(back, p + 16, sizeof(back)));
	THAT(back[0] == 1 && back[3] == 4);
	IS(cuMemcpyHtoD(p + 60, host, 16), CUDA_ERROR_INVALID_VALUE);
	OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
	IS(type, CU_MEMORYTYPE_DEVICE);
	IS(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)host),
	   CUDA_ERROR_INVALID_VALUE);
	OK(cuMemHostAlloc(&pinned, 64, CU_MEMHOSTALLOC_DEVICEMAP));
	OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)pinned));
	IS(type, CU_MEMORYTYPE_HOST);
	OK(cuMemFreeHost(pinned));
	OK(cuMemFree(p));
	IS(cuMemFree(p), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemFree(0));
	OK(cuMemAllocPitch(&p, &pitch, 100, 4, 4));
	THAT(pitch >= 100);
	IS(cuMemAllocPitch(&base, &n, 100, 4, 3), CUDA_ERROR_INVALID_VALUE);
	CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_HOST,
			   .srcHost = host,
			   .srcPitch = 8,
			   .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			   .dstDevice = p,
			   .dstPitch = pitch,
			   .WidthInBytes = 8,
			   .Height = 2};
	OK(cuMemcpy2D(&c));
	OK(cuMemcpyDtoH(back, p + pitch, 8));
	THAT(back[0] == 3 && back[1] == 4);
	OK(cuMemFree(p));
}

static void test_launch(CUfunction f)
{
	CUdeviceptr p;
	unsigned n = 3, sum = 0;
	CUstream s;
	CUevent e;
	void *args[] = {&p, &n};
	char buffer[16];
	size_t bytes = 12;
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE,
			 &bytes, CU_LAUNCH_PARAM_END};

	OK(cuMemAlloc(&p, 4));
	OK(cuMemsetD32(p, 0, 1));
	OK(cuStreamCreate(&s, CU_STREAM_DEFAULT));
	OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	OK(cuLaunchKernel(f, 2, 1, 1, 32, 1, 1, 0, s, args, NULL));
	memcpy(buffer, &p, 8);
	memcpy(buffer + 8, &n, 4);
	OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, s, NULL, extra));
	OK(cuEventRecord(e, s));
	OK(cuEventSynchronize(e));
	OK(cuMemcpyDtoH(&sum, p, 4));
	IS(sum, 96 * 3);
	IS(cuLaunchKernel(f, 0, 1, 1, 32, 1, 1, 0, s, args, NULL), CUDA_ERROR_INVALID_VALUE);
	IS(cuLaunchKernel(f, 1, 1, 1, 2048, 1, 1, 0, s, args, NULL), CUDA_ERROR_INVALID_VALUE);
	IS(cuLaunchKernel(NULL, 1, 1, 1, 32, 1, 1, 0, s, args, NULL), CUDA_ERROR_INVALID_HANDLE);
	IS(cuStreamQuery(s), CUDA_SUCCESS);
	OK(cuStreamDestroy(s));
	OK(cuEventDestroy(e));
	OK(cuMemFree(p));
}

static void count_up(void *n)
{
	++*(int *)n;
}

static void test_graph(CUfunction f)
{
	CUdeviceptr p;
	unsigned n = 2, sum = 0;
	void *args[] = {&p, &n};
	CUgraph g;
	CUgraphExec x;
	CUgraphNode a, b, host;
	CUgraphNodeType type;
	CUstream s;
	CUstreamCaptureStatus status;
	size_t count = 0;
	int calls = 0;

	OK(cuMemAlloc(&p, 4));
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuGraphCreate(&g, 0));
	CUDA_MEMSET_NODE_PARAMS fill = {.dst = p, .elementSize = 4, .width = 1, .height = 1};
	CUDA_KERNEL_NODE_PARAMS k = {.func = f,
				     .gridDimX = 1,
				     .gridDimY = 1,
				     .gridDimZ = 1,
				     .blockDimX = 32,
				     .blockDimY = 1,
				     .blockDimZ = 1,
				     .kernelParams = args};
	CUDA_HOST_NODE_PARAMS h = {.fn = count_up, .userData = &calls};
	CUcontext c;
	OK(cuCtxGetCurrent(&c));
	OK(cuGraphAddMemsetNode(&a, g, NULL, 0, &fill, c));
	OK(cuGraphAddKernelNode(&b, g, &a, 1, &k));
	OK(cuGraphAddHostNode(&host, g, &b, 1, &h));
	OK(cuGraphNodeGetType(b, &type));
	IS(type, CU_GRAPH_NODE_TYPE_KERNEL);
	OK(cuGraphGetNodes(g, NULL, &count));
	IS(count, 3);
	OK(cuGraphInstantiate(&x, g, 0));
	OK(cuGraphLaunch(x, s));
	OK(cuGraphLaunch(x, s));
	OK(cuStreamSynchronize(s));
	OK(cuMemcpyDtoH(&sum, p, 4));
	IS(sum, 64);
	IS(calls, 2);
	OK(cuGraphExecDestroy(x));
	OK(cuGraphDestroy(g));

	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, s, args, NULL));
	OK(cuStreamIsCapturing(s, &status));
	IS(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
	OK(cuStreamEndCapture(s, &g));
	OK(cuGraphGetNodes(g, NULL, &count));
	IS(count, 1);
	OK(cuGraphDestroy(g));
	IS(cuStreamEndCapture(s, &g), CUDA_ERROR_ILLEGAL_STATE);
	OK(cuStreamDestroy(s));
	OK(cuMemFree(p));
}

static void test_streams(CUfunction f)
{
	CUdeviceptr p;
	unsigned n = 1, flags = 9;
	void *args[] = {&p, &n};
	int priority = 9;
	CUstream s;
	CUevent a, b;
	CUcontext c = NULL, own;
	CUgraph g = NULL;
	float ms;

	OK(cuMemAlloc(&p, 64));
	IS(cuStreamCreate(NULL, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuStreamCreate(&s, 8), CUDA_ERROR_INVALID_VALUE);
	OK(cuStreamCreateWithPriority(&s, CU_STREAM_NON_BLOCKING, 0));
	OK(cuStreamGetFlags(s, &flags));
	IS(flags, CU_STREAM_NON_BLOCKING);
	OK(cuStreamGetPriority(s, &priority));
	IS(priority, 0);
	OK(cuStreamGetCtx(s, &c));
	OK(cuCtxGetCurrent(&own));
	THAT(c == own);
	OK(cuEventCreate(&a, CU_EVENT_DEFAULT));
	OK(cuEventCreate(&b, CU_EVENT_DISABLE_TIMING));
	IS(cuEventCreate(&b, 64), CUDA_ERROR_INVALID_VALUE);
	OK(cuEventQuery(a));
	OK(cuEventSynchronize(a));
	IS(cuEventElapsedTime(&ms, a, a), CUDA_ERROR_INVALID_HANDLE);
	OK(cuEventRecord(a, s));
	OK(cuEventRecord(b, s));
	OK(cuStreamWaitEvent(NULL, a, 0));
	IS(cuStreamWaitEvent(NULL, a, 8), CUDA_ERROR_INVALID_VALUE);
	OK(cuStreamSynchronize(NULL));
	IS(cuEventElapsedTime(&ms, a, b), CUDA_ERROR_INVALID_HANDLE);
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	IS(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_ERROR_ILLEGAL_STATE);
	OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, s, args, NULL));
	IS(cuStreamSynchronize(s), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	IS(cuStreamEndCapture(s, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	CUdeviceptr other = 0;
	IS(cuMemAlloc(&other, 64), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	IS(cuStreamEndCapture(s, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	IS(cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL),
	   CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	OK(cuEventDestroy(a));
	OK(cuEventDestroy(b));
	OK(cuStreamDestroy(s));
	OK(cuMemFree(p));
}

static void test_host_memory(void)
{
	static char own[8192] __attribute__((aligned(4096)));
	CUpointer_attribute attrs[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
				       CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
				       CU_POINTER_ATTRIBUTE_IS_MANAGED};
	unsigned type = 9, managed = 9, flags = 0;
	int device = 9;
	void *data[] = {&type, &device, &managed}, *pinned;
	CUdeviceptr p = 0;

	OK(cuMemHostRegister(own, 4096, 0));
	IS(cuMemHostRegister(own, 4096, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	OK(cuMemHostGetDevicePointer(&p, own, 0));
	THAT(p == (CUdeviceptr)own);
	OK(cuMemHostUnregister(own));
	IS(cuMemHostUnregister(own), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	IS(cuMemHostGetDevicePointer(&p, own + 4096, 0), CUDA_ERROR_INVALID_VALUE);
	OK(cuPointerGetAttributes(3, attrs, data, (CUdeviceptr)own));
	IS(type, 0);
	IS(device, -2);
	IS(managed, 0);
	OK(cuMemAllocHost(&pinned, 0));
	OK(cuMemAllocHost(&pinned, 64));
	OK(cuMemHostGetFlags(&flags, pinned));
	IS(flags, CU_MEMHOSTALLOC_DEVICEMAP);
	OK(cuPointerGetAttributes(3, attrs, data, (CUdeviceptr)pinned));
	IS(type, CU_MEMORYTYPE_HOST);
	IS(device, 0);
	OK(cuMemFreeHost(pinned));
	IS(cuMemFreeHost(own), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemAllocManaged(&p, 64, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemAllocManaged(&p, 0, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemAllocManaged(&p, 64, CU_MEM_ATTACH_GLOBAL));
	OK(cuPointerGetAttributes(3, attrs, data, p));
	IS(type, CU_MEMORYTYPE_DEVICE);
	IS(managed, 1);
	*(int *)p = 5;
	OK(cuMemFree(p));
}

static void test_pools(CUdevice d)
{
	CUmemoryPool pool = NULL, same = NULL, own;
	CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = d}};
	cuuint64_t value = 7;
	CUdeviceptr p;

	OK(cuDeviceGetDefaultMemPool(&pool, d));
	OK(cuDeviceGetMemPool(&same, d));
	THAT(pool == same);
	OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value));
	IS(value, 0);
	IS(cuMemPoolDestroy(pool), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemPoolCreate(&own, &props));
	value = 1 << 20;
	OK(cuMemPoolSetAttribute(own, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value));
	OK(cuMemAllocFromPoolAsync(&p, 256, own, NULL));
	OK(cuMemPoolGetAttribute(own, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value));
	THAT(value >= 256);
	OK(cuMemFreeAsync(p, NULL));
	OK(cuStreamSynchronize(NULL));
	OK(cuMemPoolTrimTo(own, 0));
	OK(cuMemPoolDestroy(own));
	OK(cuMemAllocAsync(&p, 256, NULL));
	OK(cuMemFree(p));
	OK(cuMemFreeAsync(0, NULL));
	OK(cuMemAllocAsync(&p, 0, NULL));
}

static void test_library(void)
{
	CUlibrary l;
	CUkernel k = NULL;
	CUfunction f = NULL;
	CUmodule m = NULL;
	CUdeviceptr p;
	CUlinkState state;
	const char *name = NULL;
	void *code = NULL;
	size_t n = 0;
	unsigned count = 0;
	int v = 0;

	IS(cuLibraryLoadData(&l, NULL, NULL, NULL, 0, NULL, NULL, 0), CUDA_ERROR_INVALID_VALUE);
	OK(cuLibraryLoadData(&l, ptx, NULL, NULL, 0, NULL, NULL, 0));
	OK(cuLibraryGetKernelCount(&count, l));
	IS(count, 2);
	IS(cuLibraryGetKernel(&k, l, "sub"), CUDA_ERROR_NOT_FOUND);
	OK(cuLibraryGetKernel(&k, l, "add"));
	OK(cuKernelGetName(&name, k));
	THAT(name && !strcmp(name, "add"));
	OK(cuKernelGetFunction(&f, k));
	OK(cuKernelGetAttribute(&v, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, k, 0));
	IS(v, 1024);
	OK(cuLibraryGetModule(&m, l));
	OK(cuModuleGetFunction(&f, m, "none"));
	OK(cuLibraryGetGlobal(&p, &n, l, "bias"));
	IS(n, 4);
	IS(cuLibraryGetGlobal(&p, &n, l, "nosuch"), CUDA_ERROR_NOT_FOUND);
	OK(cuLibraryUnload(l));
	OK(cuLinkCreate(0, NULL, NULL, &state));
	OK(cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)ptx, sizeof(ptx), "a", 0, NULL, NULL));
	OK(cuLinkComplete(state, &code, &n));
	THAT(code && n);
	OK(cuModuleLoadData(&m, code));
	OK(cuLinkDestroy(state));
	OK(cuModuleGetFunction(&f, m, "add"));
	OK(cuModuleUnload(m));
	OK(cuLinkCreate(0, NULL, NULL, &state));
	IS(cuLinkAddData(state, CU_JIT_INPUT_PTX, "nonsense", 9, "a", 0, NULL, NULL),
	   CUDA_ERROR_INVALID_IMAGE);
	OK(cuLinkDestroy(state));
}

static void test_limits(CUfunction f)
{
	unsigned n = 1;
	CUdeviceptr p = 0;
	void *args[] = {&p, &n};
	CUlaunchAttribute cluster = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
				     .value.clusterDim = {2, 1, 1}};
	CUlaunchConfig config = {.gridDimX = 3,
				 .gridDimY = 1,
				 .gridDimZ = 1,
				 .blockDimX = 32,
				 .blockDimY = 1,
				 .blockDimZ = 1,
				 .attrs = &cluster,
				 .numAttrs = 1};
	size_t value = 0;
	int blocks = 0, grid = 0;

	IS(cuLaunchKernelEx(NULL, f, args, NULL), CUDA_ERROR_INVALID_VALUE);
	IS(cuLaunchKernelEx(&config, f, args, NULL), CUDA_ERROR_INVALID_CLUSTER_SIZE);
	IS(cuLaunchCooperativeKernel(f, 1 << 20, 1, 1, 32, 1, 1, 0, NULL, args),
	   CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
	IS(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 200 << 10, NULL, args, NULL),
	   CUDA_ERROR_INVALID_VALUE);
	OK(cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
	IS(value, 1024);
	OK(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 2 << 20));
	IS(cuCtxGetLimit(&value, (CUlimit)77), CUDA_ERROR_INVALID_VALUE);
	IS(cuCtxSetLimit((CUlimit)77, 1), CUDA_ERROR_INVALID_VALUE);
	IS(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 0, 0), CUDA_ERROR_INVALID_VALUE);
	OK(cuOccupancyMaxPotentialBlockSize(&grid, &blocks, f, NULL, 0, 0));
	IS(blocks, 1024);
	IS(cuFuncGetAttribute(&blocks, (CUfunction_attribute)99, f), CUDA_ERROR_INVALID_VALUE);
	IS(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 20),
	   CUDA_ERROR_INVALID_VALUE);
	IS(cuModuleGetFunction(&f, NULL, "add"), CUDA_ERROR_INVALID_HANDLE);
	IS(cuMemsetD2D8(0, 4, 0, 8, 2), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemsetD32(1, 0, 1), CUDA_ERROR_INVALID_VALUE);
}

static void test_update(CUfunction f)
{
	CUdeviceptr p;
	unsigned n = 1;
	void *args[] = {&p, &n};
	CUgraph g, h;
	CUgraphExec x;
	CUgraphNode node, two;
	CUgraphExecUpdateResultInfo info;
	CUDA_KERNEL_NODE_PARAMS k = {.func = f,
				     .gridDimX = 1,
				     .gridDimY = 1,
				     .gridDimZ = 1,
				     .blockDimX = 32,
				     .blockDimY = 1,
				     .blockDimZ = 1,
				     .kernelParams = args},
				got;
	CUkernelNodeAttrValue v = {0};

	OK(cuMemAlloc(&p, 64));
	OK(cuMemsetD32(p, 0, 1));
	OK(cuGraphCreate(&g, 0));
	OK(cuGraphAddKernelNode(&node, g, NULL, 0, &k));
	OK(cuGraphKernelNodeGetParams(node, &got));
	IS(got.blockDimX, 32);
	v.cooperative = 1;
	OK(cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &v));
	v.cooperative = 0;
	OK(cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &v));
	IS(v.cooperative, 1);
	OK(cuGraphInstantiate(&x, g, 0));
	n = 4;
	OK(cuGraphExecKernelNodeSetParams(x, node, &k));
	OK(cuGraphLaunch(x, NULL));
	OK(cuMemcpyDtoH(&n, p, 4));
	IS(n, 128);
	OK(cuGraphClone(&h, g));
	OK(cuGraphExecUpdate(x, h, &info));
	IS(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
	OK(cuGraphAddKernelNode(&two, h, NULL, 0, &k));
	IS(cuGraphExecUpdate(x, h, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	IS(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
	OK(cuGraphExecDestroy(x));
	OK(cuGraphDestroy(h));
	OK(cuGraphDestroy(g));
	OK(cuMemFree(p));
}

static void test_names(void)
{
	CUdriverProcAddressQueryResult found;
	CUipcMemHandle handle;
	void *fn = NULL, *library = dlopen("libcuda.so.1", RTLD_NOW);

	THAT(library);
	OK(cuGetProcAddress("cuMemAlloc", &fn, 12000, 0, &found));
	THAT(fn && !found);
	THAT(is_cpu || fn == dlsym(library, "cuMemAlloc_v2"));
	OK(cuGetProcAddress("cuCtxCreate", &fn, 12000, 0, &found));
	THAT(fn && (is_cpu || fn == dlsym(library, "cuCtxCreate_v3")));
	OK(cuGetProcAddress("cuLaunchKernel", &fn, 12000,
			    CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &found));
	THAT(fn && (is_cpu || fn == dlsym(library, "cuLaunchKernel_ptsz")));
	OK(cuGetProcAddress("cuNoSuchName", &fn, 12000, 0, &found));
	THAT(!fn && found == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	OK(cuGetProcAddress("cuNoSuchName", &fn, 12000, 0, NULL));
	OK(cuGetProcAddress("cuTensorMapEncodeTiled", &fn, 11000, 0, &found));
	THAT(found == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
	for (int i = 0; i < 2 && is_cpu; i++)
		IS(cuIpcGetMemHandle(&handle, 0), CUDA_ERROR_NOT_SUPPORTED);
}

int main(void)
{
	CUdevice d = 0;
	CUmodule m;
	char name[64] = "";

	test_start();
	OK(cuDeviceGet(&d, 0));
	OK(cuDeviceGetName(name, sizeof(name), d));
	is_cpu = !strncmp(name, "Collider", 8);
	test_device(d);
	test_contexts(d);
	CUfunction f = test_modules(&m);
	test_memory();
	test_launch(f);
	test_graph(f);
	test_streams(f);
	test_host_memory();
	test_pools(d);
	test_library();
	test_limits(f);
	test_update(f);
	test_names();
	OK(cuModuleUnload(m));
	IS(cuModuleUnload(m), CUDA_ERROR_INVALID_HANDLE);
	OK(cuDevicePrimaryCtxRelease(d));
	IS(cuDevicePrimaryCtxRelease(d), CUDA_ERROR_INVALID_CONTEXT);
	printf("%u questions, %u answered in another way\n", asked, wrong);
	return wrong ? 1 : 0;
}
