/*
 * watcher.c - a library of a user's that watches the driver's functions, as tracers do: it comes
 * before the driver, and calls the next function of the name.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <stdio.h>

int cuModuleLoadData(void **module, const void *image);

int cuModuleLoadData(void **module, const void *image)
{
	int (*next)(void **, const void *) = NULL;

	*(void **)&next = dlsym(RTLD_NEXT, "cuModuleLoadData");
	printf("watched\n");
	return next ? next(module, image) : 1;
}
