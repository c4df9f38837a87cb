/*
 * nvrtc.c - a program that compiles its kernel at run time: nvrtc LIBNVRTC racy|fixed. Reports call
 * the source kernel.cu; the race is between its lines 3 and 5. Exits with 77 without NVRTC.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char source[] =
	"extern \"C\" __global__ void sums(int *out, const int *in, int is_fixed) {\n"
	"	__shared__ int part[64];\n"
	"	part[threadIdx.x] = in[threadIdx.x];\n"
	"	if (is_fixed) __syncthreads();\n"
	"	out[threadIdx.x] = part[threadIdx.x ^ 32];\n"
	"}\n";

#define OK(call)                                                                                   \
	do {                                                                                       \
		int r_ = (int)(call);                                                              \
		if (r_) {                                                                          \
			fprintf(stderr, "%s: error %d\n", #call, r_);                              \
			exit(2);                                                                   \
		}                                                                                  \
	} while (0)

static char *compile(void *nvrtc)
{
	const char *options[] = {"--gpu-architecture=compute_90", "-lineinfo"};
	void *program = NULL;
	size_t n = 0;
	int (*create)(void **, const char *, const char *, int, const char **, const char **);
	int (*run)(void *, int, const char **);
	int (*size)(void *, size_t *);
	int (*get)(void *, char *);

	*(void **)&create = dlsym(nvrtc, "nvrtcCreateProgram");
	*(void **)&run = dlsym(nvrtc, "nvrtcCompileProgram");
	*(void **)&size = dlsym(nvrtc, "nvrtcGetPTXSize");
	*(void **)&get = dlsym(nvrtc, "nvrtcGetPTX");
	OK(create(&program, source, "kernel.cu", 0, NULL, NULL));
	OK(run(program, 2, options));
	OK(size(program, &n));
	char *ptx = malloc(n);
	OK(get(program, ptx));
	return ptx;
}

int main(int argc, char **argv)
{
	void *nvrtc = dlopen(argc > 2 ? argv[1] : "libnvrtc.so", RTLD_NOW);
	int is_fixed = argc > 2 && !strcmp(argv[2], "fixed"), host[64];
	CUdeviceptr in, out;
	CUcontext context;
	CUmodule module;
	CUfunction f;
	void *args[] = {&out, &in, &is_fixed};

	if (!nvrtc)
		return 77;
	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
	char *ptx = compile(nvrtc);
	OK(cuModuleLoadDataEx(&module, ptx, 0, NULL, NULL));
	free(ptx);
	OK(cuModuleGetFunction(&f, module, "sums"));
	OK(cuMemAlloc(&in, sizeof(host)));
	OK(cuMemAlloc(&out, sizeof(host)));
	for (int i = 0; i < 64; i++)
		host[i] = i;
	OK(cuMemcpyHtoD(in, host, sizeof(host)));
	OK(cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, NULL, args, NULL));
	OK(cuMemcpyDtoH(host, out, sizeof(host)));
	for (int i = 0; i < 64 && is_fixed; i++) {
		if (host[i] != (i ^ 32))
			return 1;
	}
	return 0;
}
