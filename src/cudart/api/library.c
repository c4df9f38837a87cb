/*
 * library.c - entry points of cudaLibrary*. JIT options are ignored.
 */
#include "cudart/api/api.h"

cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code,
				enum cudaJitOption *jitOptions, void **jitOptionsValues,
				unsigned int numJitOptions, enum cudaLibraryOption *libraryOptions,
				void **libraryOptionValues, unsigned int numLibraryOptions)
{
	RT_ENTER();
	(void)jitOptions, (void)jitOptionsValues, (void)numJitOptions;
	(void)libraryOptions, (void)libraryOptionValues, (void)numLibraryOptions;
	if (!library || !code)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	return rt_fail(rt_library_load((struct rt_image **)library, code, SIZE_MAX, NULL));
}

cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *fileName,
				    enum cudaJitOption *jitOptions, void **jitOptionsValues,
				    unsigned int numJitOptions,
				    enum cudaLibraryOption *libraryOptions,
				    void **libraryOptionValues, unsigned int numLibraryOptions)
{
	RT_ENTER();
	(void)jitOptions, (void)jitOptionsValues, (void)numJitOptions;
	(void)libraryOptions, (void)libraryOptionValues, (void)numLibraryOptions;
	if (!library || !fileName)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	return rt_fail(rt_library_load_file((struct rt_image **)library, fileName));
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library)
{
	RT_RETURN(rt_library_unload(library));
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t *pKernel, cudaLibrary_t library, const char *name)
{
	RT_ENTER();
	if (!pKernel || !name)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	return rt_fail(rt_library_kernel(library, name, (struct rt_kern **)pKernel));
}

/* A variable of the library on the current device. */
static cudaError_t get_variable(void **dptr, size_t *bytes, cudaLibrary_t library, const char *name)
{
	uint64_t addr, n;

	RT_ENTER();
	if (!name || (!dptr && !bytes))
		return rt_fail(RT_ERROR_INVALID_VALUE);
	enum rt_error e = rt_library_variable(library, name, &addr, &n);
	if (e == RT_OK && dptr)
		*dptr = (void *)(uintptr_t)addr;
	if (e == RT_OK && bytes)
		*bytes = n;
	return rt_fail(e);
}

cudaError_t cudaLibraryGetGlobal(void **dptr, size_t *bytes, cudaLibrary_t library,
				 const char *name)
{
	return get_variable(dptr, bytes, library, name);
}

cudaError_t cudaLibraryGetManaged(void **dptr, size_t *bytes, cudaLibrary_t library,
				  const char *name)
{
	return get_variable(dptr, bytes, library, name);
}

cudaError_t cudaLibraryGetUnifiedFunction(void **fptr, cudaLibrary_t library, const char *symbol)
{
	(void)fptr, (void)library, (void)symbol;
	return rt_fail(rt_refuse("cudaLibraryGetUnifiedFunction"));
}

cudaError_t cudaLibraryGetKernelCount(unsigned int *count, cudaLibrary_t lib)
{
	size_t n = 0;

	RT_ENTER();
	if (!count)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	enum rt_error e = rt_library_kernels(lib, NULL, &n);
	if (e == RT_OK)
		*count = (unsigned)n;
	return rt_fail(e);
}

cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t *kernels, unsigned int numKernels,
					cudaLibrary_t lib)
{
	size_t n = numKernels;

	RT_ENTER();
	if (!kernels)
		return rt_fail(RT_ERROR_INVALID_VALUE);
	return rt_fail(rt_library_kernels(lib, (struct rt_kern **)kernels, &n));
}
