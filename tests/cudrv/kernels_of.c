/*
 * kernels_of.c - a library that asks the driver what a runtime linked into it would ask, and, with
 * MAIN, a program that loads the libraries which it is given.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>

#ifdef MAIN
int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		void *library = dlopen(argv[i], RTLD_NOW);
		int (*create)(void) = library ? (int (*)(void))dlsym(library, "create") : NULL;
		if (!create) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		printf("%d\n", create());
	}
	return 0;
}
#else
int create(void);

int create(void)
{
	CUuuid id = {{1}};
	const void *table = NULL;
	CUresult r = cuInit(0);

	if (!r)
		r = cuGetExportTable(&table, &id);
	return (int)r;
}
#endif
