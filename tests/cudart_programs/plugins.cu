/* Two shared libraries, each with a fat binary of its own; one is closed and opened again. */
#include <dlfcn.h>

#include "expect.h"

static int run(void *lib, int *p)
{
	auto fn = (void (*)(int *))dlsym(lib, "plugin_run");

	THAT(fn);
	fn(p);
	OK(cudaGetLastError());
	OK(cudaDeviceSynchronize());
	return *p;
}

int main(int, char **argv)
{
	void *one = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	void *two = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
	int *p;

	THAT(one && two);
	OK(cudaMallocManaged(&p, sizeof(*p)));
	THAT(run(one, p) == 1);
	THAT(run(two, p) == 2);
	dlclose(one);
	THAT(run(two, p) == 2);
	one = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	THAT(one);
	THAT(run(one, p) == 1);
	puts("ok");
}
