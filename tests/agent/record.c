/*
 * record.c - a program whose launches are recorded: record FILE WORD...
 *
 * It launches the kernels of record.cu by the driver's API, in each way that a word names: plain;
 * extra: parameters as one buffer; ex: cuLaunchKernelEx; cooperative; stream; handle: a library's
 * kernel, launched as it is; listed: functions found by enumerating them; capture: into a graph;
 * node: a kernel node made and changed by hand; apart: the same with other allocations at the same
 * places, and pointers into one; wide: more words than there is room for; refused: a block that no
 * GPU has; idle: the file is loaded once more, and nothing of it launched; reload: it is loaded and
 * unloaded often, too; child: a forked child ends first; many: 70,000 launches that differ. It
 * prints what the kernels left, and ends with 3.
 */
#include <cuda.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(x)                                                                                   \
	do {                                                                                       \
		CUresult r_ = (x);                                                                 \
		if (r_ != CUDA_SUCCESS) {                                                          \
			fprintf(stderr, "%s: %d\n", #x, (int)r_);                                  \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

#define N 256

struct shape {
	int w, h;
	CUdeviceptr row;
	char tail[3];
};

struct many {
	int v[300];
	CUdeviceptr p;
};

static CUdeviceptr a, b;
static CUmodule module;
static const char *file;

static CUfunction get(const char *name)
{
	CUfunction f;

	CHECK(cuModuleGetFunction(&f, module, name));
	return f;
}

static void launch(CUfunction f, unsigned grid, unsigned block, void **params)
{
	CHECK(cuLaunchKernel(f, grid, 1, 1, block, 1, 1, 0, 0, params, NULL));
}

static void plain(void)
{
	int n = N;
	double f = 0.5;
	char c = 3;
	struct shape s;

	memset(&s, 0, sizeof(s)); /* what lies between its members, too */
	s.w = 16;
	s.h = 4;
	s.row = b;
	memcpy(s.tail, (char[]){1, 2, 3}, 3);
	launch(get("scale"), 4, 64, (void *[]){&a, &n});
	launch(get("scale"), 4, 64, (void *[]){&a, &n}); /* as before */
	n = 100;
	launch(get("scale"), 4, 64, (void *[]){&a, &n});
	launch(get("scale"), 2, 128, (void *[]){&b, &n});
	launch(get("pair"), 4, 64, (void *[]){&a, &b, &n, &f});
	launch(get("pair"), 4, 64, (void *[]){&a, &a, &n, &f});
	launch(get("by_struct"), 1, 64, (void *[]){&c, &s, &a});
	launch(get("nothing"), 1, 1, NULL);
}

static void extra(void)
{
	struct {
		CUdeviceptr p, q;
		int n;
		double f;
	} all = {b, a, 77, 2};
	size_t size = sizeof(all);
	void *how[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &all, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
		       CU_LAUNCH_PARAM_END};

	CHECK(cuLaunchKernel(get("pair"), 2, 1, 1, 64, 1, 1, 0, 0, NULL, how));
}

static void ex(void)
{
	CUlaunchConfig c = {.gridDimX = 3,
			    .gridDimY = 1,
			    .gridDimZ = 1,
			    .blockDimX = 32,
			    .blockDimY = 2,
			    .blockDimZ = 1};
	int n = 50;

	CHECK(cuLaunchKernelEx(&c, get("scale"), (void *[]){&a, &n}, NULL));
}

static void cooperative(void)
{
	int n = 51;

	CHECK(cuLaunchCooperativeKernel(get("scale"), 2, 1, 1, 64, 1, 1, 0, 0, (void *[]){&a, &n}));
}

static void stream(void)
{
	CUstream s;
	int n = 52;

	CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CHECK(cuLaunchKernel(get("scale"), 1, 1, 1, 64, 1, 1, 0, s, (void *[]){&a, &n}, NULL));
	CHECK(cuStreamSynchronize(s));
}

static void handle(void)
{
	CUlibrary lib;
	CUkernel k;
	CUfunction f;
	int n = 53;

	CHECK(cuLibraryLoadFromFile(&lib, file, NULL, NULL, 0, NULL, NULL, 0));
	CHECK(cuLibraryGetKernel(&k, lib, "scale"));
	launch((CUfunction)(void *)k, 1, 32, (void *[]){&a, &n});
	n = 54;
	CHECK(cuKernelGetFunction(&f, k));
	launch(f, 1, 32, (void *[]){&a, &n});
}

static void listed(void)
{
	CUfunction f[8];
	unsigned n = 0;
	const char *name;
	int size = 55;

	CHECK(cuModuleGetFunctionCount(&n, module));
	CHECK(cuModuleEnumerateFunctions(f, n < 8 ? n : 8, module));
	for (unsigned i = 0; i < n; i++) {
		CHECK(cuFuncGetName(&name, f[i]));
		if (!strcmp(name, "scale"))
			launch(f[i], 1, 32, (void *[]){&a, &size});
	}
}

static void capture(void)
{
	CUstream s;
	CUgraph g;
	CUgraphExec x;
	int n = 56;

	CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	CHECK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	CHECK(cuLaunchKernel(get("scale"), 1, 1, 1, 64, 1, 1, 0, s, (void *[]){&b, &n}, NULL));
	CHECK(cuStreamEndCapture(s, &g));
	CHECK(cuGraphInstantiate(&x, g, 0));
	CHECK(cuGraphLaunch(x, s));
	CHECK(cuStreamSynchronize(s));
}

static void node(void)
{
	CUDA_KERNEL_NODE_PARAMS p = {.gridDimX = 2,
				     .gridDimY = 1,
				     .gridDimZ = 1,
				     .blockDimX = 16,
				     .blockDimY = 1,
				     .blockDimZ = 1};
	CUgraph g;
	CUgraphNode made;
	CUgraphExec x;
	int n = 57;
	void *params[] = {&b, &n};

	p.func = get("scale");
	p.kernelParams = params;
	CHECK(cuGraphCreate(&g, 0));
	CHECK(cuGraphAddKernelNode(&made, g, NULL, 0, &p));
	n = 58;
	CHECK(cuGraphKernelNodeSetParams(made, &p));
	CHECK(cuGraphInstantiate(&x, g, 0));
	n = 59;
	CHECK(cuGraphExecKernelNodeSetParams(x, made, &p));
	CHECK(cuGraphLaunch(x, 0));
}

static void apart(void)
{
	CUdeviceptr x, y, inner;
	int n = 60;
	double f = 1;

	CHECK(cuMemAlloc(&x, 1000));
	CHECK(cuMemFree(x));
	CHECK(cuMemAlloc(&y, 600));
	inner = y + 64;
	launch(get("pair"), 1, 64, (void *[]){&y, &inner, &n, &f});
	launch(get("pair"), 1, 64, (void *[]){&inner, &y, &n, &f});
}

static void wide(void)
{
	struct many m = {.v = {1, 2, 3}, .p = a};

	launch(get("wide"), 1, 64, (void *[]){&m});
}

static void refused(void)
{
	int n = 61;

	if (cuLaunchKernel(get("scale"), 1, 1, 1, 2048, 1, 1, 0, 0, (void *[]){&a, &n}, NULL) ==
	    CUDA_SUCCESS)
		exit(1);
}

static void idle(void)
{
	CUmodule other;
	CUfunction f;

	CHECK(cuModuleLoad(&other, file));
	CHECK(cuModuleGetFunction(&f, other, "scale"));
}

/* Images of a megabyte, each of which is unloaded with no kernel launched: they must not stay. */
static void reload(void)
{
	char *text = calloc(1, 2 << 20);
	FILE *f = fopen(file, "r");
	size_t n = text && f ? fread(text, 1, 1 << 20, f) : 0;

	memset(text + n, '\n', 1 << 20);
	for (int i = 0; i < 64; i++) {
		CUmodule m;
		CHECK(cuModuleLoadData(&m, text));
		CHECK(cuModuleUnload(m));
	}
	struct mallinfo2 now = mallinfo2();
	if (now.uordblks + now.hblkhd > 32u << 20)
		exit(1);
	fclose(f);
	free(text);
}

static void child(void)
{
	if (!fork())
		_exit(0);
	wait(NULL);
}

static void many(void)
{
	CUfunction f = get("scale");

	for (int n = 1000; n < 71000; n++) {
		int none = -n;
		launch(f, 1, 1, (void *[]){&a, &none});
	}
}

static const struct way {
	const char *name;
	void (*go)(void);
} ways[] = {
	{"plain", plain},   {"extra", extra},	{"ex", ex},	    {"cooperative", cooperative},
	{"stream", stream}, {"handle", handle}, {"listed", listed}, {"capture", capture},
	{"node", node},	    {"apart", apart},	{"wide", wide},	    {"refused", refused},
	{"idle", idle},	    {"reload", reload}, {"child", child},   {"many", many}};

int main(int argc, char **argv)
{
	static float left[2 * N];
	CUcontext ctx;
	CUdevice dev;
	double sum = 0;

	file = argv[1];
	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&dev, 0));
	CHECK(cuDevicePrimaryCtxRetain(&ctx, dev));
	CHECK(cuCtxSetCurrent(ctx));
	CHECK(cuModuleLoad(&module, file));
	CHECK(cuMemAlloc(&a, N * sizeof(float)));
	CHECK(cuMemAlloc(&b, N * sizeof(float)));
	for (int i = 0; i < 2 * N; i++)
		left[i] = (float)i;
	CHECK(cuMemcpyHtoD(a, left, N * sizeof(float)));
	CHECK(cuMemcpyHtoD(b, left + N, N * sizeof(float)));
	for (int i = 2; i < argc; i++)
		for (size_t k = 0; k < sizeof(ways) / sizeof(*ways); k++)
			if (!strcmp(argv[i], ways[k].name)) {
				ways[k].go();
				/* The next one may use a stream that waits for no other. */
				CHECK(cuCtxSynchronize());
			}
	CHECK(cuMemcpyDtoH(left, a, N * sizeof(float)));
	CHECK(cuMemcpyDtoH(left + N, b, N * sizeof(float)));
	for (int i = 0; i < 2 * N; i++)
		sum += (double)left[i] * (i % 7);
	printf("%g\n", sum);
	return 3;
}
