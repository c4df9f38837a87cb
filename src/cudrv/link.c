/*
 * link.c - cuLink*: PTX texts put together.
 *
 * What comes out is an ELF header with the texts appended to it (RT_APPENDED in
 * cudart/state/link.h), which can be loaded like a cubin. Its parts are parsed and linked when it
 * is complete, so that errors are those of that call.
 * Misses: machine code, objects and NVVM IR as input; a library is taken for libcudadevrt, whose
 * functions are part of the device.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "cudrv/jit.h"
#include "image/fatbin.h"

struct linker {
	struct drv_jit jit;
	struct base_buf out; /* the header, then texts with their NULs */
};

static struct linker *find(CUlinkState state)
{
	rt_lock();
	bool is_good = rt_handle_is(state, RT_LINKER);
	rt_unlock();
	return is_good ? (struct linker *)(void *)state : NULL;
}

CUresult CUDAAPI cuLinkCreate(unsigned int numOptions, CUjit_option *options, void **optionValues,
			      CUlinkState *stateOut)
{
	struct drv_jit j;

	DRV_ENTER();
	if (!stateOut)
		return drv_bad();
	CUresult r = drv_jit_read(&j, numOptions, options, optionValues);
	if (r != CUDA_SUCCESS)
		return r;
	struct linker *l = calloc(1, sizeof(*l));
	if (!l)
		return CUDA_ERROR_OUT_OF_MEMORY;
	Elf64_Ehdr h = {.e_ident = ELFMAG, .e_ehsize = sizeof(h)};
	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	h.e_ident[EI_VERSION] = EV_CURRENT;
	memcpy(h.e_ident + EI_PAD, RT_APPENDED, sizeof(RT_APPENDED) - 1);
	base_buf_put(&l->out, (const char *)&h, sizeof(h));
	l->jit = j;
	rt_lock();
	rt_handle_add(l, RT_LINKER);
	rt_unlock();
	*stateOut = (CUlinkState)(void *)l;
	return CUDA_SUCCESS;
}

static void put_text(struct linker *l, const char *text, size_t n)
{
	base_buf_put(&l->out, text, strnlen(text, n));
	base_buf_put(&l->out, "", 1);
}

static CUresult add_fatbin(struct linker *l, const void *data, size_t size)
{
	struct fatbin_ptx ptx;
	const char *why;

	switch (fatbin_read(data, size, CPU_SM_VERSION, &ptx, &why)) {
	case FATBIN_FOUND:
		put_text(l, ptx.text, ptx.size);
		free(ptx.text);
		return CUDA_SUCCESS;
	case FATBIN_NO_PTX:
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	case FATBIN_DAMAGED:
		break;
	}
	return CUDA_ERROR_INVALID_IMAGE;
}

static CUresult add_code(struct linker *l, const void *data, size_t size)
{
	const char *text = size >= sizeof(Elf64_Ehdr) ? rt_library_appended(data) : NULL;

	if (!text)
		return (CUresult)rt_refuse_use("cuLinkAddData", "machine code");
	for (const char *end = (const char *)data + size; text < end && *text;
	     text += strnlen(text, (size_t)(end - text)) + 1)
		put_text(l, text, (size_t)(end - text));
	return CUDA_SUCCESS;
}

/* Is there a .version, as in all PTX? */
static bool is_ptx(const char *text, size_t size)
{
	static const char version[] = ".version";

	return size && memmem(text, size, version, sizeof(version) - 1) != NULL;
}

/* Wrong text is an error of this call, what is missing in it one of cuLinkComplete. */
static CUresult add_text(struct linker *l, const void *data, size_t size)
{
	struct rt_image *im;
	enum rt_error e = rt_library_load(&im, data, size, "a part of a linked module");

	if (e == RT_OK) {
		rt_library_unload(im);
		put_text(l, data, size);
		return CUDA_SUCCESS;
	}
	drv_jit_end(&l->jit, rt_load_log());
	/* What doesn't begin as PTX is no PTX with an error in it. */
	if (e == RT_ERROR_INVALID_KERNEL_IMAGE && is_ptx(data, size))
		return CUDA_ERROR_INVALID_PTX;
	return (CUresult)e;
}

static CUresult add(struct linker *l, CUjitInputType type, const void *data, size_t size)
{
	switch (type) {
	case CU_JIT_INPUT_PTX:
		return add_text(l, data, size);
	case CU_JIT_INPUT_FATBINARY:
		return add_fatbin(l, data, size);
	case CU_JIT_INPUT_CUBIN:
	case CU_JIT_INPUT_OBJECT:
		return add_code(l, data, size);
	case CU_JIT_INPUT_LIBRARY:
		return CUDA_SUCCESS;
	default:
		return (CUresult)rt_refuse_use("cuLinkAddData", "such input");
	}
}

CUresult CUDAAPI cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size,
			       const char *name, unsigned int numOptions, CUjit_option *options,
			       void **optionValues)
{
	struct linker *l = find(state);

	(void)name, (void)numOptions, (void)options, (void)optionValues;
	DRV_ENTER();
	if (!l)
		return CUDA_ERROR_INVALID_HANDLE;
	return data && size ? add(l, type, data, size) : drv_bad();
}

CUresult CUDAAPI cuLinkAddFile(CUlinkState state, CUjitInputType type, const char *path,
			       unsigned int numOptions, CUjit_option *options, void **optionValues)
{
	struct linker *l = find(state);
	char *data;
	size_t size;

	(void)numOptions, (void)options, (void)optionValues;
	DRV_ENTER();
	if (!l)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!path)
		return drv_bad();
	if (base_read_file(path, &data, &size) != 0)
		return CUDA_ERROR_FILE_NOT_FOUND;
	CUresult r = add(l, type, data, size);
	free(data);
	return r;
}

/* Does it link? The device gets it again when the program loads it. */
static enum rt_error try_it(const struct linker *l)
{
	struct rt_image *im;
	enum rt_error e = rt_library_load(&im, l->out.p, l->out.n, "a linked module");

	if (e != RT_OK)
		return e;
	rt_images_lock();
	e = rt_image_load(im, rt_thread()->device, NULL);
	rt_images_unlock();
	rt_library_unload(im);
	return e;
}

CUresult CUDAAPI cuLinkComplete(CUlinkState state, void **cubinOut, size_t *sizeOut)
{
	struct linker *l = find(state);

	DRV_ENTER();
	if (!l)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!cubinOut)
		return drv_bad();
	base_buf_put(&l->out, "", 1);
	enum rt_error e = try_it(l);
	drv_jit_end(&l->jit, e == RT_OK ? "" : rt_load_log());
	if (e != RT_OK)
		return (CUresult)e;
	*cubinOut = l->out.p;
	if (sizeOut)
		*sizeOut = l->out.n;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLinkDestroy(CUlinkState state)
{
	struct linker *l = find(state);

	DRV_ENTER_ANY();
	if (!l)
		return CUDA_ERROR_INVALID_HANDLE;
	rt_lock();
	rt_handle_remove(l);
	rt_unlock();
	base_buf_free(&l->out);
	free(l);
	return CUDA_SUCCESS;
}
