/*
 * module.c - modules and libraries: device code that a program loads at run time.
 *
 * Both are images of cudart/state/library.c. A module is loaded on its context's device at once, a
 * library at the first use there. Of the options only the log buffers have an effect. Unlike on a
 * GPU, the module of a library is the library itself.
 */
#include <string.h>

#include "cudrv/jit.h"

/* ---- options -------------------------------------------------------------------------- */

CUresult drv_jit_read(struct drv_jit *j, unsigned n, const CUjit_option *options, void **values)
{
	*j = (struct drv_jit){{NULL}, {NULL}, {0}};
	if (n && (!options || !values))
		return drv_bad();
	for (unsigned i = 0; i < n; i++) {
		bool is_error = options[i] == CU_JIT_ERROR_LOG_BUFFER ||
				options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES;
		switch (options[i]) {
		case CU_JIT_INFO_LOG_BUFFER:
		case CU_JIT_ERROR_LOG_BUFFER:
			j->log[is_error] = values[i];
			break;
		case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
		case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
			j->size[is_error] = &values[i];
			j->room[is_error] = (size_t)(uint32_t)(uintptr_t)values[i];
			break;
		default:
			if ((int)options[i] < 0 || options[i] >= CU_JIT_NUM_OPTIONS)
				return drv_bad();
		}
	}
	return CUDA_SUCCESS;
}

void drv_jit_end(const struct drv_jit *j, const char *why)
{
	for (int i = 0; i < 2; i++) {
		size_t n = i ? strlen(why) : 0;
		if (n >= j->room[i])
			n = j->room[i] ? j->room[i] - 1 : 0;
		if (j->log[i] && j->room[i]) {
			memcpy(j->log[i], why, n);
			j->log[i][n] = 0;
		}
		if (j->size[i])
			*j->size[i] = (void *)(uintptr_t)(j->log[i] && n ? n + 1 : 0);
	}
}

/* ---- modules -------------------------------------------------------------------------- */

/* A library that is loaded on the current device. */
static enum rt_error on_device(struct rt_image **im, enum rt_error e)
{
	if (e != RT_OK)
		return e;
	rt_images_lock();
	e = rt_image_load(*im, rt_thread()->device, NULL);
	rt_images_unlock();
	if (e != RT_OK)
		rt_library_unload(*im);
	return e;
}

static CUresult load_data(CUmodule *module, const void *image)
{
	struct rt_image *im;

	DRV_ENTER();
	if (!module || !image)
		return drv_bad();
	enum rt_error e = rt_capture_check();
	if (e == RT_OK)
		e = on_device(&im, rt_library_load(&im, image, SIZE_MAX, NULL));
	if (e == RT_OK)
		*module = (CUmodule)(void *)im;
	return (CUresult)e;
}

CUresult CUDAAPI cuModuleLoad(CUmodule *module, const char *fname)
{
	struct rt_image *im;

	DRV_ENTER();
	if (!module || !fname)
		return drv_bad();
	enum rt_error e = on_device(&im, rt_library_load_file(&im, fname));
	if (e == RT_OK)
		*module = (CUmodule)(void *)im;
	return (CUresult)e;
}

CUresult CUDAAPI cuModuleLoadData(CUmodule *module, const void *image)
{
	return load_data(module, image);
}

CUresult CUDAAPI cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int numOptions,
				    CUjit_option *options, void **optionValues)
{
	struct drv_jit j;
	CUresult r = drv_jit_read(&j, numOptions, options, optionValues);

	if (r != CUDA_SUCCESS)
		return r;
	r = load_data(module, image);
	drv_jit_end(&j, r == CUDA_SUCCESS ? "" : rt_load_log());
	return r;
}

CUresult CUDAAPI cuModuleLoadFatBinary(CUmodule *module, const void *fatCubin)
{
	return load_data(module, fatCubin);
}

CUresult CUDAAPI cuModuleUnload(CUmodule module)
{
	DRV_RETURN(rt_library_unload(module));
}

CUresult CUDAAPI cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
	DRV_ENTER_ANY();
	if (!mode)
		return drv_bad();
	*mode = CU_MODULE_LAZY_LOADING;
	return CUDA_SUCCESS;
}

static CUresult get_kernel(void *out, const void *library, const char *name)
{
	struct rt_kern *k;

	DRV_ENTER();
	if (!out || !name || !*name)
		return drv_bad();
	enum rt_error e = rt_library_kernel(library, name, &k);
	if (e == RT_OK)
		*(struct rt_kern **)out = k;
	return (CUresult)e;
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name)
{
	return get_kernel(hfunc, hmod, name);
}

static CUresult count(unsigned *out, const void *library)
{
	size_t n = 0;

	DRV_ENTER();
	if (!out)
		return drv_bad();
	enum rt_error e = rt_library_kernels(library, NULL, &n);
	if (e == RT_OK)
		*out = (unsigned)n;
	return (CUresult)e;
}

static CUresult enumerate(void *out, unsigned max, const void *library)
{
	size_t n = max;

	DRV_ENTER();
	if (!out || !max)
		return drv_bad();
	return (CUresult)rt_library_kernels(library, out, &n);
}

CUresult CUDAAPI cuModuleGetFunctionCount(unsigned int *n, CUmodule mod)
{
	return count(n, mod);
}

CUresult CUDAAPI cuModuleEnumerateFunctions(CUfunction *functions, unsigned int numFunctions,
					    CUmodule mod)
{
	return enumerate(functions, numFunctions, mod);
}

static CUresult get_variable(CUdeviceptr *dptr, size_t *bytes, const void *library,
			     const char *name)
{
	uint64_t addr, n;

	DRV_ENTER();
	if (!name || (!dptr && !bytes))
		return drv_bad();
	enum rt_error e = rt_library_variable(library, name, &addr, &n);
	if (e == RT_OK && dptr)
		*dptr = addr;
	if (e == RT_OK && bytes)
		*bytes = n;
	return (CUresult)e;
}

CUresult CUDAAPI cuModuleGetGlobal(CUdeviceptr *dptr, size_t *bytes, CUmodule hmod,
				   const char *name)
{
	return get_variable(dptr, bytes, hmod, name);
}

/* ---- libraries ------------------------------------------------------------------------ */

CUresult CUDAAPI cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jitOptions,
				   void **jitOptionsValues, unsigned int numJitOptions,
				   CUlibraryOption *libraryOptions, void **libraryOptionValues,
				   unsigned int numLibraryOptions)
{
	struct drv_jit j;

	(void)libraryOptions, (void)libraryOptionValues, (void)numLibraryOptions;
	DRV_ENTER_ANY();
	if (!library || !code)
		return drv_bad();
	CUresult r = drv_jit_read(&j, numJitOptions, jitOptions, jitOptionsValues);
	if (r != CUDA_SUCCESS)
		return r;
	r = (CUresult)rt_library_load((struct rt_image **)library, code, SIZE_MAX, NULL);
	drv_jit_end(&j, r == CUDA_SUCCESS ? "" : rt_load_log());
	return r;
}

CUresult CUDAAPI cuLibraryLoadFromFile(CUlibrary *library, const char *fileName,
				       CUjit_option *jitOptions, void **jitOptionsValues,
				       unsigned int numJitOptions, CUlibraryOption *libraryOptions,
				       void **libraryOptionValues, unsigned int numLibraryOptions)
{
	struct drv_jit j;

	(void)libraryOptions, (void)libraryOptionValues, (void)numLibraryOptions;
	DRV_ENTER_ANY();
	if (!library || !fileName)
		return drv_bad();
	CUresult r = drv_jit_read(&j, numJitOptions, jitOptions, jitOptionsValues);
	if (r != CUDA_SUCCESS)
		return r;
	r = (CUresult)rt_library_load_file((struct rt_image **)library, fileName);
	drv_jit_end(&j, r == CUDA_SUCCESS ? "" : rt_load_log());
	return r;
}

CUresult CUDAAPI cuLibraryUnload(CUlibrary library)
{
	DRV_ENTER_ANY();
	return (CUresult)rt_library_unload(library);
}

CUresult CUDAAPI cuLibraryGetKernel(CUkernel *pKernel, CUlibrary library, const char *name)
{
	struct rt_kern *k;

	DRV_ENTER_ANY();
	if (!pKernel || !name)
		return drv_bad();
	enum rt_error e = rt_library_kernel(library, name, &k);
	if (e == RT_OK)
		*pKernel = (CUkernel)(void *)k;
	return (CUresult)e;
}

CUresult CUDAAPI cuLibraryGetKernelCount(unsigned int *n, CUlibrary lib)
{
	return count(n, lib);
}

CUresult CUDAAPI cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int numKernels,
					   CUlibrary lib)
{
	return enumerate(kernels, numKernels, lib);
}

CUresult CUDAAPI cuLibraryGetModule(CUmodule *pMod, CUlibrary library)
{
	struct rt_image *im = rt_library_find(library);

	DRV_ENTER();
	if (!pMod)
		return drv_bad();
	if (!im)
		return CUDA_ERROR_INVALID_HANDLE;
	rt_images_lock();
	enum rt_error e = rt_image_load(im, rt_thread()->device, NULL);
	rt_images_unlock();
	if (e == RT_OK)
		*pMod = (CUmodule)(void *)im;
	return (CUresult)e;
}

CUresult CUDAAPI cuLibraryGetGlobal(CUdeviceptr *dptr, size_t *bytes, CUlibrary library,
				    const char *name)
{
	return get_variable(dptr, bytes, library, name);
}

CUresult CUDAAPI cuLibraryGetManaged(CUdeviceptr *dptr, size_t *bytes, CUlibrary library,
				     const char *name)
{
	return get_variable(dptr, bytes, library, name);
}
