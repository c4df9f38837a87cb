/*
 * library.c - device code that a program loads at run time: libraries, and the driver's modules.
 *
 * Takes PTX text, fat binaries (with or without nvcc's wrapper around them)
 * and files of both. PTX is parsed at once, so that wrong text is an error of the call; loading on
 * a device happens at the first use. cubins contain only machine code and are refused,
 * unless PTX is appended to them (RT_APPENDED).
 * Unloading waits for the devices: kernels of the library may be running.
 */
#include <elf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "image/fatbin.h"
#include "cudart/state/link.h"

struct rt_image *rt_library_find(const void *library)
{
	bool is_library;

	rt_lock();
	is_library = rt_handle_is(library, RT_LIBRARY);
	rt_unlock();
	return is_library ? (struct rt_image *)(uintptr_t)library : NULL;
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

const char *rt_library_appended(const void *code)
{
	Elf64_Ehdr h;

	memcpy(&h, code, sizeof(h));
	if (memcmp(h.e_ident + EI_PAD, RT_APPENDED, sizeof(RT_APPENDED) - 1) != 0)
		return NULL;
	uint64_t sections = h.e_shoff + (uint64_t)h.e_shnum * h.e_shentsize;
	uint64_t segments = h.e_phoff + (uint64_t)h.e_phnum * h.e_phentsize;
	uint64_t end = sections > segments ? sections : segments;
	return (const char *)code + (end > sizeof(h) ? end : sizeof(h));
}

/* Machine code: what is appended to it is the program. */
static enum rt_error fill_code(struct rt_image *im, const void *code, size_t size)
{
	const char *text = size >= sizeof(Elf64_Ehdr) ? rt_library_appended(code) : NULL;
	size_t left =
		text && size != SIZE_MAX ? size - (size_t)(text - (const char *)code) : SIZE_MAX;
	size_t n = 0;

	if (!text || left > size)
		return RT_ERROR_NO_KERNEL_IMAGE_FOR_DEVICE;
	while (n < left && text[n])
		n += strnlen(text + n, left - n) + 1;
	im->data_size = n;
	im->text = keep(text, n < left ? n : left);
	return im->text ? RT_OK : RT_ERROR_MEMORY_ALLOCATION;
}

/* `size`: SIZE_MAX if only the content shows it. */
static enum rt_error fill(struct rt_image *im, const void *code, size_t size)
{
	struct fatbin_wrapper w;

	if (size >= sizeof(w)) {
		memcpy(&w, code, sizeof(w.magic));
		if (w.magic == FATBIN_WRAPPER_MAGIC && size == SIZE_MAX) {
			memcpy(&w, code, sizeof(w));
			code = w.data;
		}
	}
	if (size >= 4 && memcmp(code, ELFMAG, SELFMAG) == 0)
		return fill_code(im, code, size);
	if (fatbin_is(code, size)) {
		size_t n = fatbin_size(code);
		if (n > size)
			return RT_ERROR_INVALID_KERNEL_IMAGE;
		im->data_size = n;
		im->data = im->copy = keep(code, n);
		return im->copy ? RT_OK : RT_ERROR_MEMORY_ALLOCATION;
	}
	im->data_size = size == SIZE_MAX ? strlen(code) : strnlen(code, size);
	im->text = keep(code, im->data_size);
	return im->text ? RT_OK : RT_ERROR_MEMORY_ALLOCATION;
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

enum rt_error rt_library_load(struct rt_image **library, const void *code, size_t size,
			      const char *where)
{
	enum rt_error e = RT_ERROR_MEMORY_ALLOCATION;

	rt_images_lock();
	struct rt_image *im = rt_image_new();
	if (im) {
		im->is_library = true;
		if (where)
			im->where = base_strdup(&im->arena, where);
		e = fill(im, code, size);
	}
	if (im && e == RT_ERROR_NO_KERNEL_IMAGE_FOR_DEVICE)
		rt_say("%s is a cubin: machine code, which the CPU device cannot run; load PTX or "
		       "a "
		       "fat binary with PTX in it",
		       where ? where : "a library loaded at run time");
	if (im && e == RT_OK)
		e = rt_image_parse(im);
	if (im && e != RT_OK)
		rt_image_free(im);
	if (e == RT_OK) {
		add_kernels(im);
		rt_lock();
		rt_handle_add(im, RT_LIBRARY);
		rt_unlock();
		*library = im;
	}
	rt_images_unlock();
	return e;
}

enum rt_error rt_library_load_file(struct rt_image **library, const char *path)
{
	char *data;
	size_t size;

	if (base_read_file(path, &data, &size) != 0)
		return RT_ERROR_FILE_NOT_FOUND;
	enum rt_error e = rt_library_load(library, data, size, path);
	free(data);
	return e;
}

enum rt_error rt_library_unload(const void *library)
{
	RT_UNSAFE();
	struct rt_image *im = rt_library_find(library);

	if (!im)
		return RT_ERROR_INVALID_RESOURCE_HANDLE;
	cpu_wait_idle(rt.m, UINT_MAX);
	rt_lock();
	rt_handle_remove(im);
	rt_unlock();
	rt_images_lock();
	rt_image_free(im);
	rt_images_unlock();
	return RT_OK;
}

/* ---- what is in it ----------------------------------------------------------------------- */

enum rt_error rt_library_kernel(const void *library, const char *name, struct rt_kern **out)
{
	struct rt_image *im = rt_library_find(library);
	struct rt_kern *k = NULL;

	*out = NULL;
	if (!im)
		return RT_ERROR_INVALID_RESOURCE_HANDLE;
	rt_images_lock();
	for (k = im->kerns; k && strcmp(k->name, name) != 0;)
		k = k->next;
	rt_images_unlock();
	*out = k;
	return k ? RT_OK : RT_ERROR_SYMBOL_NOT_FOUND;
}

enum rt_error rt_library_variable(const void *library, const char *name, uint64_t *addr,
				  uint64_t *bytes)
{
	struct rt_image *im = rt_library_find(library);
	struct cpu_module *mod;

	if (!im)
		return RT_ERROR_INVALID_RESOURCE_HANDLE;
	rt_images_lock();
	enum rt_error e = rt_image_load(im, rt_thread()->device, &mod);
	if (e == RT_OK && !cpu_module_symbol(mod, name, addr, bytes))
		e = RT_ERROR_SYMBOL_NOT_FOUND;
	rt_images_unlock();
	return e;
}

enum rt_error rt_library_kernels(const void *library, struct rt_kern **out, size_t *n)
{
	const struct rt_image *im = rt_library_find(library);
	size_t all = 0;

	if (!im)
		return RT_ERROR_INVALID_RESOURCE_HANDLE;
	for (struct rt_kern *k = im->kerns; k; k = k->next, all++) {
		if (out && all < *n)
			out[all] = k;
	}
	*n = all;
	return RT_OK;
}
