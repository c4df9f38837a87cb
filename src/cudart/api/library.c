/*
 * library.c - cudaLibrary*: device code that a program loads at run time.
 *
 * Takes PTX text, fat binaries (with or without nvcc's wrapper around them)
 * and files of both. PTX is parsed at once, so that wrong text is an error of the call; loading on
 * a device happens at the first use. cubins contain only machine code and are refused. JIT options
 * are ignored. Unloading waits for the devices: kernels of the library may be running.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "image/fatbin.h"
#include "cudart/state/link.h"

static struct rt_image *library_of(cudaLibrary_t library)
{
	bool is_library;

	rt_lock();
	is_library = rt_handle_is(library, RT_LIBRARY);
	rt_unlock();
	return is_library ? (struct rt_image *)(void *)library : NULL;
}

/* Copies n bytes, with a NUL after them. */
static char *keep(const void *data, size_t n)
{
	char *copy = malloc(n + 1);

	if (copy) {
		memcpy(copy, data, n);
		copy[n] = 0;
	}
	return copy;
}

/* `size`: SIZE_MAX if only the content shows it. */
static cudaError_t fill(struct rt_image *im, const void *code, size_t size)
{
	struct fatbin_wrapper w;

	if (size >= sizeof(w)) {
		memcpy(&w, code, sizeof(w.magic));
		if (w.magic == FATBIN_WRAPPER_MAGIC && size == SIZE_MAX) {
			memcpy(&w, code, sizeof(w));
			code = w.data;
		}
	}
	if (size >= 4 && memcmp(code, "\177ELF", 4) == 0)
		return cudaErrorNoKernelImageForDevice;
	if (fatbin_is(code, size)) {
		size_t n = fatbin_size(code);
		if (n > size)
			return cudaErrorInvalidKernelImage;
		im->data_size = n;
		im->data = im->copy = keep(code, n);
		return im->copy ? cudaSuccess : cudaErrorMemoryAllocation;
	}
	im->data_size = size == SIZE_MAX ? strlen(code) : strnlen(code, size);
	im->text = keep(code, im->data_size);
	return im->text ? cudaSuccess : cudaErrorMemoryAllocation;
}

/* All .entry functions become kernels with handles. */
static void add_kernels(struct rt_image *im)
{
	for (size_t i = 0; i < im->parts.n; i++) {
		ptx_each_item(im->parts.v[i], it)
		{
			if (it->kind != PTX_ITEM_FUNC || !it->func->is_entry || it->func->is_proto)
				continue;
			const struct ptx_str *n = &it->func->name;
			rt_kern_add(im, base_strndup(&im->arena, n->p, n->n), NULL);
		}
	}
}

static cudaError_t load(cudaLibrary_t *library, const void *code, size_t size, const char *where)
{
	cudaError_t e = cudaErrorMemoryAllocation;

	rt_images_lock();
	struct rt_image *im = rt_image_new();
	if (im) {
		im->is_library = true;
		if (where)
			im->where = base_strdup(&im->arena, where);
		e = fill(im, code, size);
	}
	if (im && e == cudaErrorNoKernelImageForDevice)
		rt_say("%s is a cubin: machine code, which the CPU device cannot run; load PTX or "
		       "a "
		       "fat binary with PTX in it",
		       where ? where : "a library loaded at run time");
	if (im && e == cudaSuccess)
		e = rt_image_parse(im);
	if (im && e != cudaSuccess)
		rt_image_free(im);
	if (e == cudaSuccess) {
		add_kernels(im);
		rt_lock();
		rt_handle_add(im, RT_LIBRARY);
		rt_unlock();
		*library = (cudaLibrary_t)(void *)im;
	}
	rt_images_unlock();
	return e;
}

/* ---- entry points ---------------------------------------------------------------------------- */

cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code,
				enum cudaJitOption *jitOptions, void **jitOptionsValues,
				unsigned int numJitOptions, enum cudaLibraryOption *libraryOptions,
				void **libraryOptionValues, unsigned int numLibraryOptions)
{
	RT_ENTER();
	(void)jitOptions, (void)jitOptionsValues, (void)numJitOptions;
	(void)libraryOptions, (void)libraryOptionValues, (void)numLibraryOptions;
	if (!library || !code)
		return rt_fail(cudaErrorInvalidValue);
	return rt_fail(load(library, code, SIZE_MAX, NULL));
}

cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *fileName,
				    enum cudaJitOption *jitOptions, void **jitOptionsValues,
				    unsigned int numJitOptions,
				    enum cudaLibraryOption *libraryOptions,
				    void **libraryOptionValues, unsigned int numLibraryOptions)
{
	char *data;
	size_t size;

	RT_ENTER();
	(void)jitOptions, (void)jitOptionsValues, (void)numJitOptions;
	(void)libraryOptions, (void)libraryOptionValues, (void)numLibraryOptions;
	if (!library || !fileName)
		return rt_fail(cudaErrorInvalidValue);
	if (base_read_file(fileName, &data, &size) != 0)
		return rt_fail(cudaErrorFileNotFound);
	cudaError_t e = load(library, data, size, fileName);
	free(data);
	return rt_fail(e);
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library)
{
	RT_ENTER_UNSAFE();
	struct rt_image *im = library_of(library);

	if (!im)
		return rt_fail(cudaErrorInvalidResourceHandle);
	cpu_wait_idle(rt.m, UINT_MAX);
	rt_lock();
	rt_handle_remove(im);
	rt_unlock();
	rt_images_lock();
	rt_image_free(im);
	rt_images_unlock();
	return cudaSuccess;
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t *pKernel, cudaLibrary_t library, const char *name)
{
	RT_ENTER();
	struct rt_image *im = library_of(library);
	struct rt_kern *k = NULL;

	if (!pKernel || !name)
		return rt_fail(cudaErrorInvalidValue);
	if (!im)
		return rt_fail(cudaErrorInvalidResourceHandle);
	rt_images_lock();
	for (k = im->kerns; k && strcmp(k->name, name) != 0;)
		k = k->next;
	rt_images_unlock();
	*pKernel = (cudaKernel_t)(void *)k;
	return rt_fail(k ? cudaSuccess : cudaErrorSymbolNotFound);
}

/* A variable of the library on the current device. */
static cudaError_t get_variable(void **dptr, size_t *bytes, cudaLibrary_t library, const char *name)
{
	struct rt_image *im = library_of(library);
	struct cpu_module *mod;
	uint64_t addr, n;

	RT_ENTER();
	if (!name || (!dptr && !bytes))
		return rt_fail(cudaErrorInvalidValue);
	if (!im)
		return rt_fail(cudaErrorInvalidResourceHandle);
	rt_images_lock();
	cudaError_t e = rt_image_load(im, rt_thread()->device, &mod);
	if (e == cudaSuccess && !cpu_module_symbol(mod, name, &addr, &n))
		e = cudaErrorSymbolNotFound;
	rt_images_unlock();
	if (e == cudaSuccess && dptr)
		*dptr = (void *)(uintptr_t)addr;
	if (e == cudaSuccess && bytes)
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
	RT_ENTER();
	struct rt_image *im = library_of(lib);
	unsigned n = 0;

	if (!count)
		return rt_fail(cudaErrorInvalidValue);
	if (!im)
		return rt_fail(cudaErrorInvalidResourceHandle);
	for (struct rt_kern *k = im->kerns; k; k = k->next)
		n++;
	*count = n;
	return cudaSuccess;
}

cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t *kernels, unsigned int numKernels,
					cudaLibrary_t lib)
{
	RT_ENTER();
	struct rt_image *im = library_of(lib);
	unsigned n = 0;

	if (!kernels)
		return rt_fail(cudaErrorInvalidValue);
	if (!im)
		return rt_fail(cudaErrorInvalidResourceHandle);
	for (struct rt_kern *k = im->kerns; k && n < numKernels; k = k->next)
		kernels[n++] = (cudaKernel_t)(void *)k;
	return cudaSuccess;
}
