/*
 * order.c - programs for the judge beside a GPU, of which only the API's order is right or wrong:
 * order FILE.ptx CASE[.fixed]; without CASE it prints the cases. order FILE.ptx chance SEED: some
 * calls by chance. Ends with 3.
 *
 * Each is a way to let two operations of streams meet in memory, and its twin orders them. Those
 * with a twin only are right in ways that a judge could overlook.
 */
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(x)                                                                                   \
	do {                                                                                       \
		CUresult r_ = (x);                                                                 \
		if (r_ != CUDA_SUCCESS) {                                                          \
			fprintf(stderr, "%s: %d\n", #x, (int)r_);                                  \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

#define WORDS 2048u
#define BYTES (WORDS * sizeof(int))

static CUfunction fill, take, give, await, indexed, follow, texels, paint;
static CUstream one, two, plain; /* plain: ordered with the legacy stream */
static CUevent event, early;
static CUdeviceptr p, q, flag;
static int *host;
static const char *file;

static void launch(CUfunction f, CUdeviceptr at, CUdeviceptr other, CUstream s)
{
	int n = 7;
	void *args[] = {&at, &other, &n};

	CHECK(cuLaunchKernel(f, 8, 1, 1, 256, 1, 1, 0, s, args, NULL));
}

/* So that what was launched has its memory: what a kernel after it writes is looked at, which
 * orders nothing. */
static void look_for_end(CUstream s)
{
	const volatile int *seen = host;

	launch(fill, (CUdeviceptr)(uintptr_t)host, q, s);
	while (seen[0] != 7)
		usleep(1000);
}

static void order(CUstream before, CUstream after)
{
	CHECK(cuEventRecord(event, before));
	CHECK(cuStreamWaitEvent(after, event, 0));
}

static void two_kernels(int is_fixed)
{
	launch(fill, p, q, one);
	if (is_fixed)
		order(one, two);
	launch(take, p, q, two);
}

static void wrong_event(int is_fixed)
{
	CHECK(cuEventRecord(early, one));
	launch(fill, p, q, one);
	if (is_fixed)
		CHECK(cuEventRecord(early, one));
	CHECK(cuStreamWaitEvent(two, early, 0));
	launch(fill, p, q, two);
}

/* A wait for an event that nothing has recorded yet is none. */
static void not_recorded(int is_fixed)
{
	launch(fill, p, q, one);
	if (is_fixed)
		CHECK(cuEventRecord(early, one));
	CHECK(cuStreamWaitEvent(two, early, 0));
	launch(take, p, q, two);
}

static void destroyed(int is_fixed)
{
	CUstream last;

	CHECK(cuStreamCreate(&last, CU_STREAM_NON_BLOCKING));
	launch(fill, p, q, last);
	if (is_fixed)
		order(last, two);
	CHECK(cuStreamDestroy(last));
	launch(take, p, q, two);
}

static void copy_out(int is_fixed)
{
	launch(fill, p, q, one);
	if (is_fixed)
		order(one, two);
	CHECK(cuMemcpyDtoHAsync(host, p, BYTES, two));
}

static void copy_in(int is_fixed)
{
	CHECK(cuMemcpyHtoDAsync(p, host, BYTES, one));
	if (is_fixed)
		CHECK(cuStreamSynchronize(one));
	launch(take, p, q, two);
}

static void copy_part(int is_fixed)
{
	/* The copy's bytes end where the kernel's begin. */
	size_t bytes = is_fixed ? BYTES : BYTES + 4;

	launch(fill, p + BYTES, q, one);
	CHECK(cuMemcpyDtoDAsync(q + BYTES, p, bytes, two));
}

static void legacy_set(int is_fixed)
{
	launch(fill, p, q, is_fixed ? plain : one);
	CHECK(cuMemsetD32Async(p, 1, WORDS, NULL));
}

static void set_before(int is_fixed)
{
	/* The host doesn't wait for it. */
	CHECK(cuMemsetD32(p, 1, WORDS));
	if (is_fixed)
		CHECK(cuStreamSynchronize(NULL));
	launch(take, p, q, one);
}

static void legacy_between(int is_fixed)
{
	/* The legacy stream's set comes after the first and before the second. */
	launch(fill, p, q, plain);
	CHECK(cuMemsetD32Async(q + BYTES, 1, 1, NULL));
	if (!is_fixed)
		launch(fill, p, q, one);
	else
		launch(fill, p, q, CU_STREAM_PER_THREAD);
}

static void wrong_free(int is_fixed)
{
	CUdeviceptr own;

	CHECK(cuMemAllocAsync(&own, BYTES, one));
	launch(fill, own, q, one);
	if (is_fixed)
		order(one, two);
	look_for_end(one);
	CHECK(cuMemFreeAsync(own, two));
}

static void queried(int is_fixed)
{
	launch(fill, p, q, one);
	CHECK(cuEventRecord(event, one));
	while (is_fixed && cuEventQuery(event) == CUDA_ERROR_NOT_READY)
		;
	launch(fill, p, q, two);
}

static void by_flag(int is_fixed)
{
	/* In memory, which is right; the API knows nothing of it. */
	launch(give, p, flag, one);
	launch(await, p, flag, two);
	(void)is_fixed;
}

static void reused(int is_fixed)
{
	CUdeviceptr first, second;

	CHECK(cuMemAllocAsync(&first, BYTES, one));
	launch(fill, first, q, one);
	CHECK(cuMemFreeAsync(first, one));
	order(one, two);
	CHECK(cuMemAllocAsync(&second, BYTES, two));
	launch(fill, second, q, two);
	CHECK(cuMemFreeAsync(second, two));
	(void)is_fixed;
}

static void CUDA_CB call(void *arg)
{
	*(volatile int *)arg = 1;
}

static void by_host(int is_fixed)
{
	static volatile int is_done;

	launch(fill, p, q, one);
	CHECK(cuLaunchHostFunc(one, call, (void *)&is_done));
	while (!is_done)
		;
	launch(fill, p, q, two);
	(void)is_fixed;
}

static void waited(int is_fixed)
{
	launch(fill, p, q, one);
	CHECK(cuMemcpyHtoD(flag, &is_fixed, sizeof(int))); /* orders nothing in `one` */
	CHECK(cuCtxSynchronize());
	launch(fill, p, q, two);
	CHECK(cuStreamSynchronize(two));
	CHECK(cuMemcpyDtoH(host, p, BYTES));
	launch(take, p, q, one);
}

/* Two devices write into memory of the first, in their default streams or others. */
static void on_peers(int is_fixed, int is_default)
{
	CUcontext here, there;
	CUstream first = is_default ? NULL : one, other;
	CUfunction f;
	CUdevice dev;
	CUmodule m;

	CHECK(cuCtxGetCurrent(&here));
	CHECK(cuDeviceGet(&dev, 1));
	CHECK(cuDevicePrimaryCtxRetain(&there, dev));
	CHECK(cuCtxSetCurrent(there));
	CHECK(cuCtxEnablePeerAccess(here, 0));
	CHECK(cuModuleLoad(&m, file));
	CHECK(cuModuleGetFunction(&f, m, "fill"));
	CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	if (is_default)
		other = NULL;
	CHECK(cuCtxSetCurrent(here));
	launch(fill, p, q, first);
	CHECK(cuEventRecord(event, first));
	CHECK(cuCtxSetCurrent(there));
	if (is_fixed)
		CHECK(cuStreamWaitEvent(other, event, 0));
	launch(f, p, q, other);
	CHECK(cuCtxSynchronize());
	CHECK(cuCtxSetCurrent(here));
}

static void peers(int is_fixed)
{
	on_peers(is_fixed, 0);
}

static void peers_default(int is_fixed)
{
	on_peers(is_fixed, 1);
}

/* A programmatic launch, which may begin early, and waits or doesn't. */
static void early_launch_of(int waits)
{
	CUlaunchAttribute at = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
				.value = {.programmaticStreamSerializationAllowed = 1}};
	const CUlaunchConfig c = {.gridDimX = 8,
				  .gridDimY = 1,
				  .gridDimZ = 1,
				  .blockDimX = 256,
				  .blockDimY = 1,
				  .blockDimZ = 1,
				  .hStream = one,
				  .attrs = &at,
				  .numAttrs = 1};
	void *args[] = {&p, &q, &waits};

	CHECK(cuLaunchKernelEx(&c, follow, args, NULL));
}

static void early_launch(int is_fixed)
{
	launch(fill, p, q, one);
	early_launch_of(is_fixed);
}

/* It is early beside the launch before it only, of which the judge has seen enough. */
static void early_after_others(int is_fixed)
{
	for (int i = 0; i < 5; i++)
		launch(take, q, p + BYTES, one);
	launch(fill, p, q, one);
	for (int i = 0; i < 5; i++)
		launch(take, q, p + BYTES, one);
	early_launch_of(0);
	(void)is_fixed;
}

/* Several dimensions: columns of rows, which lie between one another. */
static void columns(int is_fixed)
{
	const CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
				 .srcDevice = q,
				 .srcPitch = 64,
				 .dstMemoryType = CU_MEMORYTYPE_DEVICE,
				 .dstDevice = p,
				 .dstPitch = 64,
				 .dstXInBytes = is_fixed ? 32 : 28,
				 .WidthInBytes = 32,
				 .Height = 16};

	CHECK(cuMemsetD2D32Async(p, 64, 5, 8, 16, one));
	CHECK(cuMemcpy2DAsync(&c, two));
}

static void two_copies(int is_fixed)
{
	CHECK(cuMemcpyDtoDAsync(p, q, BYTES, one));
	if (is_fixed)
		order(one, two);
	CHECK(cuMemcpyDtoHAsync(host, p, BYTES, two));
}

static void slices(int is_fixed)
{
	CUDA_MEMCPY3D c = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
			   .srcDevice = q,
			   .srcPitch = 64,
			   .srcHeight = 4,
			   .dstMemoryType = CU_MEMORYTYPE_HOST,
			   .dstHost = host,
			   .dstPitch = 64,
			   .dstHeight = 4,
			   .WidthInBytes = 64,
			   .Height = 4,
			   .Depth = 8};

	launch(fill, q, p, one);
	if (is_fixed)
		c.srcDevice = q + BYTES;
	CHECK(cuMemcpy3DAsync(&c, two));
}

/* ---- arrays: a launch reads one as a texture or writes it as a surface ---- */

#define WIDTH  64u
#define HEIGHT (WORDS / WIDTH)
#define ROW    (WIDTH * sizeof(int))

static CUarray array;

/* A kernel's parameter is 64 bits, whatever they name. */
static CUdeviceptr object(int is_surface)
{
	const CUDA_ARRAY3D_DESCRIPTOR d = {.Width = WIDTH,
					   .Height = HEIGHT,
					   .Format = CU_AD_FORMAT_SIGNED_INT32,
					   .NumChannels = 1,
					   .Flags = CUDA_ARRAY3D_SURFACE_LDST};
	const CUDA_TEXTURE_DESC t = {.flags = CU_TRSF_READ_AS_INTEGER};
	CUDA_RESOURCE_DESC r = {.resType = CU_RESOURCE_TYPE_ARRAY};
	unsigned long long out;

	CHECK(cuArray3DCreate(&array, &d));
	r.res.array.hArray = array;
	if (is_surface)
		CHECK(cuSurfObjectCreate(&out, &r));
	else
		CHECK(cuTexObjectCreate(&out, &r, &t, NULL));
	CHECK(cuMemcpyHtoA(array, 0, host, BYTES));
	return out;
}

static CUDA_MEMCPY2D rows(int is_to_array)
{
	CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_HOST,
			   .srcHost = host,
			   .dstMemoryType = CU_MEMORYTYPE_ARRAY,
			   .dstArray = array,
			   .WidthInBytes = ROW,
			   .Height = HEIGHT};

	if (!is_to_array)
		c = (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_ARRAY,
				    .srcArray = array,
				    .dstMemoryType = CU_MEMORYTYPE_HOST,
				    .dstHost = host,
				    .WidthInBytes = ROW,
				    .Height = HEIGHT};
	return c;
}

/* The copy of the case comes after it. */
static void read_by_texture(int is_fixed)
{
	launch(texels, object(0), q, two);
	if (is_fixed)
		CHECK(cuStreamSynchronize(two));
}

static void write_by_surface(int is_fixed)
{
	launch(paint, object(1), q, two);
	if (is_fixed)
		CHECK(cuStreamSynchronize(two));
}

static void rows_to_array(int is_fixed)
{
	read_by_texture(is_fixed);
	/* To be asked for its sizes, as CUDA's runtime does, orders nothing. */
	CUDA_ARRAY3D_DESCRIPTOR d;
	CHECK(cuArray3DGetDescriptor(&d, array));
	const CUDA_MEMCPY2D c = rows(1);
	CHECK(cuMemcpy2DAsync(&c, one));
}

static void rows_from_array(int is_fixed)
{
	write_by_surface(is_fixed);
	const CUDA_MEMCPY2D c = rows(0);
	CHECK(cuMemcpy2DUnaligned(&c));
}

static void host_to_array(int is_fixed)
{
	read_by_texture(is_fixed);
	CHECK(cuMemcpyHtoAAsync(array, ROW, host, ROW, one));
}

static void host_to_array_waited(int is_fixed)
{
	read_by_texture(is_fixed);
	CHECK(cuMemcpyHtoA(array, ROW, host, ROW));
}

static void array_to_host(int is_fixed)
{
	write_by_surface(is_fixed);
	CHECK(cuMemcpyAtoHAsync(host, array, BYTES - 4, 4, one));
}

static void array_to_host_waited(int is_fixed)
{
	write_by_surface(is_fixed);
	CHECK(cuMemcpyAtoH(host, array, BYTES - 4, 4));
}

static void device_to_array(int is_fixed)
{
	read_by_texture(is_fixed);
	CHECK(cuMemcpyDtoA(array, 0, p, BYTES));
}

static void array_to_device(int is_fixed)
{
	write_by_surface(is_fixed);
	CHECK(cuMemcpyAtoD(p, array, 0, BYTES));
}

/* To the array that is read, or from it, which is right. */
static void array_to_array(int is_fixed)
{
	CUarray other;

	object(0);
	other = array;
	read_by_texture(0);
	CHECK(cuStreamSynchronize(NULL));
	if (is_fixed)
		CHECK(cuMemcpyAtoA(other, 0, array, 0, BYTES));
	else
		CHECK(cuMemcpyAtoA(array, 0, other, 0, BYTES));
}

static void array_to_peer(int is_fixed)
{
	CUcontext here;

	write_by_surface(is_fixed);
	CHECK(cuCtxGetCurrent(&here));
	const CUDA_MEMCPY3D_PEER c = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
				      .srcArray = array,
				      .srcContext = here,
				      .dstMemoryType = CU_MEMORYTYPE_DEVICE,
				      .dstDevice = p,
				      .dstContext = here,
				      .dstPitch = ROW,
				      .dstHeight = HEIGHT,
				      .WidthInBytes = ROW,
				      .Height = HEIGHT,
				      .Depth = 1};
	CHECK(cuMemcpy3DPeerAsync(&c, one));
}

/* A handle that the driver gives again is another array. */
static void array_again(int is_fixed)
{
	read_by_texture(0);
	CHECK(cuStreamSynchronize(two));
	CHECK(cuArrayDestroy(array));
	host_to_array(is_fixed);
}

/* ---- graphs ---- */

static CUgraphNode kernel(CUgraph g, CUfunction f, CUdeviceptr at, CUgraphNode after)
{
	int n = 7;
	void *args[] = {&at, &q, &n};
	const CUDA_KERNEL_NODE_PARAMS k = {.func = f,
					   .gridDimX = 8,
					   .gridDimY = 1,
					   .gridDimZ = 1,
					   .blockDimX = 256,
					   .blockDimY = 1,
					   .blockDimZ = 1,
					   .kernelParams = args};
	CUgraphNode node;

	CHECK(cuGraphAddKernelNode(&node, g, &after, after ? 1 : 0, &k));
	return node;
}

static CUgraphNode set(CUgraph g, CUdeviceptr at, CUgraphNode after)
{
	const CUDA_MEMSET_NODE_PARAMS m = {
		.dst = at, .value = 1, .elementSize = 4, .width = WORDS, .height = 1};
	CUgraphNode node;
	CUcontext ctx;

	CHECK(cuCtxGetCurrent(&ctx));
	CHECK(cuGraphAddMemsetNode(&node, g, &after, after ? 1 : 0, &m, ctx));
	return node;
}

static CUgraphNode copied(CUgraph g, CUdeviceptr from, CUdeviceptr to)
{
	const CUDA_MEMCPY3D c = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
				 .srcDevice = from,
				 .dstMemoryType = CU_MEMORYTYPE_DEVICE,
				 .dstDevice = to,
				 .WidthInBytes = BYTES,
				 .Height = 1,
				 .Depth = 1};
	CUgraphNode node;
	CUcontext ctx;

	CHECK(cuCtxGetCurrent(&ctx));
	CHECK(cuGraphAddMemcpyNode(&node, g, NULL, 0, &c, ctx));
	return node;
}

static CUgraphExec made(CUgraph g)
{
	CUgraphExec x;

	CHECK(cuGraphInstantiate(&x, g, 0));
	CHECK(cuGraphDestroy(g));
	return x;
}

static CUgraph graph(void)
{
	CUgraph g;

	CHECK(cuGraphCreate(&g, 0));
	return g;
}

static void branches(int is_fixed)
{
	CUgraph g = graph();
	CUgraphNode first = set(g, p, NULL), other = kernel(g, fill, p, first);

	kernel(g, take, p, is_fixed ? other : first);
	CHECK(cuGraphLaunch(made(g), one));
}

static void set_beside(int is_fixed)
{
	CUgraph g = graph();
	CUgraphNode first = kernel(g, fill, p, NULL);

	set(g, p, is_fixed ? first : NULL);
	CHECK(cuGraphLaunch(made(g), one));
}

static void graph_beside(int is_fixed)
{
	CUgraph g = graph();

	kernel(g, take, p, set(g, p + BYTES, NULL));
	CHECK(cuGraphLaunch(made(g), one));
	if (is_fixed)
		order(one, two);
	launch(fill, p, q, two);
}

static void graph_after(int is_fixed)
{
	CUgraph g = graph();

	launch(fill, p, q, two);
	if (is_fixed)
		order(two, one);
	kernel(g, take, p, NULL);
	CHECK(cuGraphLaunch(made(g), one));
}

/* What a node has is what it was given last. */
static void changed(int is_fixed)
{
	CUdeviceptr at = is_fixed ? p + BYTES : p;
	CUgraph g = graph();
	CUgraphExec x;
	CUgraphNode n;
	int v = 7;
	void *args[] = {&at, &q, &v};
	CUDA_KERNEL_NODE_PARAMS k;

	kernel(g, fill, p, NULL);
	n = kernel(g, fill, p + BYTES, NULL);
	CHECK(cuGraphKernelNodeGetParams(n, &k));
	CHECK(cuGraphInstantiate(&x, g, 0));
	k.kernelParams = args;
	CHECK(cuGraphExecKernelNodeSetParams(x, n, &k));
	CHECK(cuGraphLaunch(x, one));
}

static void updated(int is_fixed)
{
	CUgraph g = graph(), h = graph();
	CUgraphExecUpdateResultInfo how;
	CUgraphExec x;

	kernel(g, fill, p, NULL);
	kernel(g, fill, p + BYTES, NULL);
	x = made(g);
	kernel(h, fill, p, NULL);
	kernel(h, fill, is_fixed ? p + BYTES : p, NULL);
	CHECK(cuGraphExecUpdate(x, h, &how));
	CHECK(cuGraphLaunch(x, one));
}

static void child(int is_fixed)
{
	CUgraph g = graph(), c = graph();
	CUgraphNode inner;

	kernel(c, fill, p, set(c, p, NULL));
	CHECK(cuGraphAddChildGraphNode(&inner, g, NULL, 0, c));
	kernel(g, take, p, is_fixed ? inner : NULL);
	CHECK(cuGraphLaunch(made(g), one));
}

/* One branch waits for the other in memory, which is right. */
static void by_flag_in_graph(int is_fixed)
{
	CUgraph g = graph();

	CHECK(cuMemsetD32(q, 0, 1));
	CHECK(cuCtxSynchronize());
	kernel(g, give, p, kernel(g, fill, p, NULL));
	kernel(g, take, p, kernel(g, await, p + BYTES, NULL));
	CHECK(cuGraphLaunch(made(g), one));
	(void)is_fixed;
}

static void captured(int is_fixed)
{
	CUgraph g;

	CHECK(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_GLOBAL));
	if (!is_fixed)
		order(one, two);
	launch(fill, p, q, one);
	if (is_fixed)
		order(one, two);
	launch(take, p, q, two);
	order(two, one);
	CHECK(cuStreamEndCapture(one, &g));
	CHECK(cuGraphLaunch(made(g), one));
}

/* Launches of one graph come one after the other, of two they don't. */
static void twice(int is_fixed)
{
	CUgraph g = graph();
	CUgraphExec x, y;

	kernel(g, fill, p, NULL);
	CHECK(cuGraphInstantiate(&x, g, 0));
	CHECK(cuGraphInstantiate(&y, g, 0));
	CHECK(cuGraphLaunch(x, one));
	CHECK(cuGraphLaunch(is_fixed ? x : y, two));
}

/* A kernel that isn't the first has its memory as the others have left it: elements say where it
 * writes, all to one place or each to its own. */
static void later(int is_fixed)
{
	CUdeviceptr at = p;
	int n = 1;
	void *args[] = {&at, &n};
	CUDA_KERNEL_NODE_PARAMS k = {.func = indexed,
				     .gridDimX = 8,
				     .gridDimY = 1,
				     .gridDimZ = 1,
				     .blockDimX = 256,
				     .blockDimY = 1,
				     .blockDimZ = 1,
				     .kernelParams = args};
	CUdeviceptr ramp = is_fixed ? q : p;
	CUgraph g = graph();
	CUgraphNode first, last;
	int v[WORDS];

	for (unsigned i = 0; i < WORDS; i++)
		v[i] = (int)i;
	CHECK(cuMemcpyHtoD(ramp, v, BYTES));
	CHECK(cuMemsetD32(is_fixed ? p : q, 0, WORDS));
	CHECK(cuCtxSynchronize());
	first = copied(g, q, p);
	CHECK(cuGraphAddKernelNode(&last, g, &first, 1, &k));
	CHECK(cuGraphLaunch(made(g), one));
}

static int devices(void)
{
	int n = 0;

	CHECK(cuInit(0));
	CHECK(cuDeviceGetCount(&n));
	return n;
}

/* A few calls by chance, which are right as often as not. */
static uint64_t chance;

static unsigned pick(unsigned n)
{
	chance = chance * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(chance >> 33) % n;
}

static void some_graph(CUstream s)
{
	CUgraph g = graph();
	CUgraphNode n[3];

	for (unsigned i = 0; i < 3; i++) {
		CUgraphNode after = i && pick(2) ? n[pick(i)] : NULL;
		CUdeviceptr at = pick(3) ? p : p + BYTES;
		n[i] = pick(3) ? kernel(g, pick(2) ? fill : take, at, after) : set(g, at, after);
	}
	CHECK(cuGraphLaunch(made(g), s));
}

static void work(CUstream s)
{
	CUdeviceptr at = pick(2) ? p : q, to = at == p ? q : p;

	switch (pick(9)) {
	case 7:
	case 8:
		some_graph(s);
		break;
	case 0:
	case 1:
		launch(fill, at, to, s);
		break;
	case 2:
		launch(take, at, to, s);
		break;
	case 3:
		CHECK(cuMemsetD32Async(at, 1, WORDS, s));
		break;
	case 4:
		CHECK(cuMemcpyDtoHAsync(host, at, BYTES, s));
		break;
	case 5:
		CHECK(cuMemcpyDtoDAsync(at, to, BYTES / 2, s));
		break;
	default:
		CHECK(cuMemcpyDtoH(host, at, BYTES));
	}
}

/* From one stream to another, mostly in order. */
static void hop(CUstream from, CUstream to)
{
	CUevent e = pick(2) ? event : early;

	switch (pick(9)) {
	case 0:
		break;
	case 1:
		CHECK(cuStreamSynchronize(from));
		break;
	case 2:
		CHECK(cuEventRecord(e, from));
		CHECK(cuEventSynchronize(e));
		break;
	case 3:
		CHECK(cuEventRecord(e, from));
		while (cuEventQuery(e) == CUDA_ERROR_NOT_READY)
			;
		break;
	case 4:
		CHECK(cuEventRecord(e, from));
		CHECK(cuStreamWaitEvent(NULL, e, 0));
		break;
	default:
		CHECK(cuEventRecord(e, from));
		CHECK(cuStreamWaitEvent(to, e, 0));
	}
}

static void by_chance(void)
{
	const CUstream streams[] = {one, two, plain, NULL, CU_STREAM_PER_THREAD};
	CUstream s = streams[pick(5)];

	for (unsigned i = 0; i < 6; i++) {
		CUstream to = streams[pick(5)];
		work(s);
		hop(s, to);
		s = to;
	}
}

static const struct {
	const char *name;
	void (*run)(int is_fixed);
	int is_right; /* only the twin */
	int devices;
} cases[] = {
	{"peers", peers, 0, 2},
	{"peers_default", peers_default, 0, 2},
	{"two_kernels", two_kernels, 0, 1},
	{"wrong_event", wrong_event, 0, 1},
	{"not_recorded", not_recorded, 0, 1},
	{"destroyed", destroyed, 0, 1},
	{"copy_out", copy_out, 0, 1},
	{"copy_in", copy_in, 0, 1},
	{"copy_part", copy_part, 0, 1},
	{"legacy_set", legacy_set, 0, 1},
	{"set_before", set_before, 0, 1},
	{"legacy_between", legacy_between, 0, 1},
	{"wrong_free", wrong_free, 0, 1},
	{"queried", queried, 0, 1},
	{"by_flag", by_flag, 1, 1},
	{"reused", reused, 1, 1},
	{"by_host", by_host, 1, 1},
	{"waited", waited, 1, 1},
	{"two_copies", two_copies, 0, 1},
	{"early_launch", early_launch, 0, 1},
	{"early_after_others", early_after_others, 1, 1},
	{"columns", columns, 0, 1},
	{"slices", slices, 0, 1},
	{"rows_to_array", rows_to_array, 0, 1},
	{"rows_from_array", rows_from_array, 0, 1},
	{"host_to_array", host_to_array, 0, 1},
	{"host_to_array_waited", host_to_array_waited, 0, 1},
	{"array_to_host", array_to_host, 0, 1},
	{"array_to_host_waited", array_to_host_waited, 0, 1},
	{"device_to_array", device_to_array, 0, 1},
	{"array_to_device", array_to_device, 0, 1},
	{"array_to_array", array_to_array, 0, 1},
	{"array_to_peer", array_to_peer, 0, 1},
	{"array_again", array_again, 0, 1},
	{"branches", branches, 0, 1},
	{"set_beside", set_beside, 0, 1},
	{"graph_beside", graph_beside, 0, 1},
	{"graph_after", graph_after, 0, 1},
	{"changed", changed, 0, 1},
	{"updated", updated, 0, 1},
	{"child", child, 0, 1},
	{"captured", captured, 0, 1},
	{"twice", twice, 0, 1},
	{"later", later, 0, 1},
	{"by_flag_in_graph", by_flag_in_graph, 1, 1},
};
#define CASES (sizeof(cases) / sizeof(*cases))

static void start(const char *ptx)
{
	CUcontext ctx;
	CUdevice dev;
	CUmodule m;

	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&dev, 0));
	CHECK(cuDevicePrimaryCtxRetain(&ctx, dev));
	CHECK(cuCtxSetCurrent(ctx));
	/* Before any code is there, the judge isn't. */
	CHECK(cuMemAlloc(&flag, 256));
	CHECK(cuMemsetD32(flag, 0, 1));
	CHECK(cuModuleLoad(&m, ptx));
	CHECK(cuModuleGetFunction(&fill, m, "fill"));
	CHECK(cuModuleGetFunction(&take, m, "take"));
	CHECK(cuModuleGetFunction(&give, m, "give"));
	CHECK(cuModuleGetFunction(&await, m, "await"));
	CHECK(cuModuleGetFunction(&indexed, m, "indexed"));
	CHECK(cuModuleGetFunction(&follow, m, "follow"));
	CHECK(cuModuleGetFunction(&texels, m, "texels"));
	CHECK(cuModuleGetFunction(&paint, m, "paint"));
	CHECK(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
	CHECK(cuStreamCreateWithPriority(&two, CU_STREAM_NON_BLOCKING, 0));
	CHECK(cuStreamCreate(&plain, CU_STREAM_DEFAULT));
	CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	CHECK(cuEventCreate(&early, CU_EVENT_DISABLE_TIMING));
	CHECK(cuMemAlloc(&p, 2 * BYTES));
	CHECK(cuMemAlloc(&q, 4 * BYTES));
	CHECK(cuMemAllocHost((void **)&host, BYTES));
	memset(host, 0, BYTES);
	CHECK(cuMemsetD32(p, 0, 2 * WORDS));
	CHECK(cuCtxSynchronize());
}

int main(int argc, char **argv)
{
	const char *dot = argc > 2 ? strchr(argv[2], '.') : NULL;
	int n_devices = argc < 3 ? devices() : 0;
	size_t n = dot ? (size_t)(dot - argv[2]) : argc > 2 ? strlen(argv[2]) : 0;

	if (argc < 2)
		return 2;
	file = argv[1];
	if (argc > 3) {
		chance = strtoull(argv[3], NULL, 10);
		start(file);
		by_chance();
		CHECK(cuCtxSynchronize());
		return 3;
	}
	for (size_t i = 0; i < CASES; i++) {
		if (argc < 3 && n_devices < cases[i].devices)
			continue;
		if (argc < 3 && !cases[i].is_right)
			puts(cases[i].name);
		if (argc < 3)
			printf("%s.fixed\n", cases[i].name);
		else if (strlen(cases[i].name) == n && !strncmp(cases[i].name, argv[2], n)) {
			start(argv[1]);
			cases[i].run(dot != NULL);
			CHECK(cuCtxSynchronize());
			return 3;
		}
	}
	return argc < 3 ? 0 : 2;
}
