/*
 * register.c - the functions that nvcc's start-up code in each object calls.
 *
 * Before main, each object (or, under -rdc, the one that the device linker
 * made, for all objects of the program) registers its fat binary, then host
 * functions and variables with their names in it. A kernel's first call asks
 * __cudaGetKernel for a handle; the host's first access to a managed variable calls
 * __cudaInitModule. Only those two start the machine, and nothing fails: errors are reported at the
 * first use.
 *
 * Texture and surface references were removed in CUDA 12; programs of
 * older toolkits can't be linked to this library anyway.
 */
#include <stdlib.h>
#include <string.h>

#include "image/fatbin.h"
#include "cudart/api/api.h"

/* The handle of a fat binary is the address of a pointer to it, as the callers have it. */
static struct rt_image *image_of(void **handle)
{
	return handle ? *handle : NULL;
}

RT_API void **__cudaRegisterFatBinary(void *data);
RT_API void __cudaRegisterFatBinaryEnd(void **handle);
RT_API void __cudaUnregisterFatBinary(void **handle);
RT_API void __cudaRegisterFunction(void **handle, const char *host, char *device_fun,
				   const char *name, int limit, void *tid, void *bid, void *bdim,
				   void *gdim, int *wsize);
RT_API void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext,
			      size_t size, int is_constant, int is_global);
RT_API void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
				     int ext, size_t size, int is_constant, int is_global);
RT_API void __cudaRegisterHostVar(void **handle, const char *name, char *host, size_t size);
RT_API char __cudaInitModule(void **handle);
RT_API cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host);
RT_API void __cudaRegisterUnifiedTable(void **handle, void *table);

void **__cudaRegisterFatBinary(void *data)
{
	struct fatbin_wrapper w = {0};
	void **handle = malloc(sizeof(*handle));

	if (!handle)
		return NULL;
	*handle = NULL;
	if (data)
		memcpy(&w, data, sizeof(w));
	rt_images_lock();
	struct rt_image *im = rt_image_new();
	/* Of another version it isn't known what lies where. */
	if (im && w.magic == FATBIN_WRAPPER_MAGIC && (w.version == 1 || w.version == 2)) {
		im->data = w.data;
		im->relocatable = w.version == 2 ? w.parts : NULL;
	} else if (im) {
		im->data = data; /* reported as damaged when it is used */
	}
	rt_images_unlock();
	*handle = im;
	return handle;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
	(void)handle; /* all names are known now; nothing is read before it is used */
}

void __cudaUnregisterFatBinary(void **handle)
{
	struct rt_image *im = image_of(handle);

	/* A runtime that started before this library was loaded has handles of its own. */
	rt_images_lock();
	bool is_ours = im && rt_image_is(im);
	if (is_ours) {
		*handle = NULL;
		rt_image_retire(im);
	}
	rt_images_unlock();
	if (is_ours)
		free(handle);
}

void __cudaRegisterFunction(void **handle, const char *host, char *device_fun, const char *name,
			    int limit, void *tid, void *bid, void *bdim, void *gdim, int *wsize)
{
	struct rt_image *im = image_of(handle);

	(void)device_fun, (void)limit, (void)tid, (void)bid, (void)bdim, (void)gdim, (void)wsize;
	if (!im || !name)
		return;
	rt_images_lock();
	rt_kern_add(im, name, host);
	rt_images_unlock();
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext,
		       size_t size, int is_constant, int is_global)
{
	struct rt_image *im = image_of(handle);

	(void)device, (void)ext, (void)is_constant, (void)is_global;
	if (!im || !name)
		return;
	rt_images_lock();
	rt_var_add(im, name, host, size, NULL);
	rt_images_unlock();
}

void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int ext,
			      size_t size, int is_constant, int is_global)
{
	struct rt_image *im = image_of(handle);

	(void)device, (void)ext, (void)is_constant, (void)is_global;
	if (!im || !name || !host)
		return;
	rt_images_lock();
	rt_var_add(im, name, host, size, host);
	rt_images_unlock();
}

void __cudaRegisterHostVar(void **handle, const char *name, char *host, size_t size)
{
	(void)handle, (void)host, (void)size;
	rt_refuse_use("__cudaRegisterHostVar", name ? name : "");
}

void __cudaRegisterUnifiedTable(void **handle, void *table)
{
	(void)handle, (void)table;
	rt_refuse("__cudaRegisterUnifiedTable");
}

char __cudaInitModule(void **handle)
{
	struct rt_image *im = image_of(handle);

	if (!im || rt_enter_any() != RT_OK)
		return 0;
	rt_images_lock();
	bool is_loaded = rt_image_load(im, rt_thread()->device, NULL) == RT_OK;
	rt_images_unlock();
	return is_loaded;
}

cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host)
{
	rt_images_lock();
	struct rt_kern *k = rt_kern_find(host);
	rt_images_unlock();
	if (kernel)
		*kernel = (cudaKernel_t)(void *)k;
	return k ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}
