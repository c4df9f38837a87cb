// A program that brings a CUDA runtime of its own (nvcc's default), and libraries that do.
// Compiled three ways: the program; -DLIBRARY, linked with the program; -DPLUGIN, opened by it.
#include <cstdio>
#include <dlfcn.h>

#ifdef PLUGIN
#define STEP plugin_step
#else
#define STEP library_step
#endif

#if defined(LIBRARY) || defined(PLUGIN)
__device__ int bias = 5;

__global__ void add(int *p, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		p[i] += bias;
}

// The caller's memory, its stream, and an error that both see: there is one runtime.
extern "C" int STEP(int *p, int n, cudaStream_t stream)
{
	add<<<2, n / 2, 0, stream>>>(p, n);
	return cudaSetDevice(99);
}
#else
extern "C" int library_step(int *, int, cudaStream_t);

__global__ void fill(int *p, int n)
{
	int i = threadIdx.x;
	p[i] = i;
#ifdef RACE
	if (i)
		p[i - 1] = p[i];
#endif
}

static int is_wrong(const int *p, int n, int plus)
{
	int h[65];
	cudaMemcpy(h, p, sizeof(int) * n, cudaMemcpyDeviceToHost);
	for (int i = 0; i < n; i++)
		if (h[i] != i + plus)
			return printf("element %d: %d, not %d\n", i, h[i], i + plus);
	return 0;
}

typedef int (*step)(int *, int, cudaStream_t);

// The plug-in is opened, closed and opened again: its kernels are registered anew.
static int run_plugin(const char *path, int *p, int n, cudaStream_t s)
{
	for (int i = 0; i < 2; i++) {
		void *lib = dlopen(path, i ? RTLD_NOW | RTLD_GLOBAL : RTLD_LAZY | RTLD_LOCAL);
		if (!lib)
			return printf("%s\n", dlerror());
		int e = ((step)dlsym(lib, "plugin_step"))(p, n, s);
		if (e != cudaErrorInvalidDevice)
			return printf("plug-in: %d\n", e);
		if (cudaGetLastError() != e)
			return printf("the plug-in has a runtime of its own\n");
		cudaStreamSynchronize(s);
		if (!i)
			dlclose(lib);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const int n = 64;
	int *p, version = 0;
	cudaStream_t s;

	if (cudaRuntimeGetVersion(&version) || version < 13000)
		return printf("version %d\n", version), 1;
	if (cudaMalloc(&p, sizeof(int) * (n + 1)) || cudaStreamCreate(&s))
		return printf("no memory, or no stream\n"), 1;
	fill<<<1, n, 0, s>>>(p, n);
	cudaStreamSynchronize(s);
	int e = library_step(p, n, s);
	if (cudaGetLastError() != e || !e)
		return printf("the library has a runtime of its own\n"), 1;
	cudaStreamSynchronize(s);
#ifndef RACE
	if (is_wrong(p, n, 5))
		return 1;
#endif
	for (int i = 1; i < argc; i++)
		if (run_plugin(argv[i], p, n, s) || (is_wrong(p, n, 15)))
			return 1;
	printf("done\n");
	return 0;
}
#endif
