/*
 * hooks.c - the driver's functions that load GPU code, answered by us.
 *
 * Each asks for instrumented code in place of what it was given (ask.c), and calls the driver's
 * function with that; machine code takes the place of a fat binary or a text in every one of them,
 * but for cuModuleLoadFatBinary, which takes no other form. If the driver refuses ours, it gets
 * the program's own.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/forward/forward.h"
#include "agent/judge/judge.h"
#include "agent/load/load.h"
#include "agent/record/record.h"

#define CALLER	     forward_caller(__builtin_return_address(0))
#define LINK_OPTIONS 64u

static CUresult (*real_data)(CUmodule *, const void *);
static CUresult (*real_data_ex)(CUmodule *, const void *, unsigned, CUjit_option *, void **);
static CUresult (*real_fat)(CUmodule *, const void *);
static CUresult (*real_file)(CUmodule *, const char *);

/* What both cuLibrary functions take beside the code. */
#define LIBRARY_REST                                                                               \
	CUjit_option *jit, void **jit_values, unsigned njit, CUlibraryOption *options,             \
		void **values, unsigned noptions
static CUresult (*real_library)(CUlibrary *, const void *, LIBRARY_REST);
static CUresult (*real_library_file)(CUlibrary *, const char *, LIBRARY_REST);

#define LINK_REST unsigned noptions, CUjit_option *options, void **values
static CUresult (*real_link[2])(CUlinkState, CUjitInputType, void *, size_t, const char *,
				LINK_REST);
static CUresult (*real_link_file[2])(CUlinkState, CUjitInputType, const char *, LINK_REST);

/* The caller's cap on registers. */
static unsigned cap_of(unsigned n, const CUjit_option *options, void *const *values)
{
	for (unsigned i = 0; options && values && i < n; i++)
		if (options[i] == CU_JIT_MAX_REGISTERS)
			return (unsigned)(uintptr_t)values[i];
	return 0;
}

/* A file's bytes, followed by a NUL, malloc'd; NULL: it can't be read. */
static char *read_file(const char *path, size_t *size)
{
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	struct stat st;
	char *b = NULL;
	size_t n = 0;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		b = malloc((size_t)st.st_size + 1);
	while (b && n < (size_t)st.st_size) {
		ssize_t got = read(fd, b + n, (size_t)st.st_size - n);
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	if (fd >= 0)
		close(fd);
	if (b)
		b[n] = 0;
	*size = n;
	return b;
}

/* What is to be loaded instead, as load_find_other. The judge gets the program's own image, where
 * its bytes are at hand. */
static bool find_other(struct load_image *im, struct load_other *other)
{
	if (im->data && forward_has_judge() && !load_is_agent(im))
		im->code = judge_loading(im->data, im->size, load_device(im->is_library));
	return load_find_other(im, other);
}

/* --record-launches: the program's own image, where its bytes are at hand. */
static void record(const struct load_image *im, const void *handle)
{
	struct record_image copy;

	if (!im->data || load_is_agent(im))
		return;
	(void)load_piece_copy(im, &copy);
	copy.sm = load_device(im->is_library);
	record_loaded(&copy, handle);
}

/* The driver's answer. The agent hears of the machine code. */
static CUresult loaded(CUresult r, struct load_other *other, const void *const *handle,
		       const struct load_image *im)
{
	if (r == CUDA_SUCCESS)
		forward_loaded(other->code, other->ncode);
	free(other->unpacked);
	other->unpacked = NULL;
	if (r == CUDA_SUCCESS && record_is_on())
		record(im, *handle);
	if (r == CUDA_SUCCESS)
		judge_loaded(im->code, *handle, im->is_library);
	else
		judge_not_loaded(im->code);
	return r;
}

/* ---- modules ------------------------------------------------------------------------------- */

static CUresult hook_data(CUmodule *m, const void *image)
{
	struct load_image im = {.data = image, .caller = CALLER};
	struct load_other other;

	if (find_other(&im, &other)) {
		CUresult r = real_data(m, other.data);
		if (r == CUDA_SUCCESS)
			return loaded(r, &other, (const void *const *)m, &im);
		load_refused((int)r);
	}
	return loaded(real_data(m, image), &other, (const void *const *)m, &im);
}

static CUresult hook_data_ex(CUmodule *m, const void *image, unsigned n, CUjit_option *options,
			     void **values)
{
	struct load_image im = {
		.data = image, .maxreg = cap_of(n, options, values), .caller = CALLER};
	struct load_other other;

	if (find_other(&im, &other)) {
		CUresult r = real_data_ex(m, other.data, n, options, values);
		if (r == CUDA_SUCCESS)
			return loaded(r, &other, (const void *const *)m, &im);
		load_refused((int)r);
	}
	return loaded(real_data_ex(m, image, n, options, values), &other, (const void *const *)m,
		      &im);
}

static CUresult hook_fat(CUmodule *m, const void *image)
{
	struct load_image im = {.data = image, .caller = CALLER};
	struct load_other other = {0};

	if (find_other(&im, &other) && real_data) {
		CUresult r = real_data(m, other.data);
		if (r == CUDA_SUCCESS)
			return loaded(r, &other, (const void *const *)m, &im);
		load_refused((int)r);
	}
	return loaded(real_fat(m, image), &other, (const void *const *)m, &im);
}

static CUresult hook_file(CUmodule *m, const char *path)
{
	struct load_image im = {.caller = CALLER};
	struct load_other other = {0};
	char *bytes = real_data ? read_file(path, &im.size) : NULL;
	bool is_done = false;
	CUresult r = CUDA_SUCCESS;

	im.data = bytes;
	if (bytes && find_other(&im, &other)) {
		r = real_data(m, other.data);
		is_done = r == CUDA_SUCCESS;
		if (!is_done)
			load_refused((int)r);
	}
	r = loaded(is_done ? r : real_file(m, path), &other, (const void *const *)m, &im);
	free(bytes);
	return r;
}

/* ---- libraries ----------------------------------------------------------------------------- */

static CUresult cuda_library(CUlibrary *l, const void *code, LIBRARY_REST)
{
	struct load_image im = {.data = code,
				.maxreg = cap_of(njit, jit, jit_values),
				.is_library = true,
				.caller = CALLER};
	struct load_other other;

	if (find_other(&im, &other)) {
		CUresult r = real_library(l, other.data, jit, jit_values, njit, options, values,
					  noptions);
		if (r == CUDA_SUCCESS)
			return loaded(r, &other, (const void *const *)l, &im);
		load_refused((int)r);
	}
	return loaded(real_library(l, code, jit, jit_values, njit, options, values, noptions),
		      &other, (const void *const *)l, &im);
}

static CUresult cuda_library_file(CUlibrary *l, const char *path, LIBRARY_REST)
{
	struct load_image im = {
		.maxreg = cap_of(njit, jit, jit_values), .is_library = true, .caller = CALLER};
	struct load_other other = {0};
	char *bytes = real_library ? read_file(path, &im.size) : NULL;
	bool is_done = false;
	CUresult r = CUDA_SUCCESS;

	im.data = bytes;
	if (bytes && find_other(&im, &other)) {
		r = real_library(l, other.data, jit, jit_values, njit, options, values, noptions);
		is_done = r == CUDA_SUCCESS;
		if (!is_done)
			load_refused((int)r);
	}
	if (!is_done)
		r = real_library_file(l, path, jit, jit_values, njit, options, values, noptions);
	loaded(r, &other, (const void *const *)l, &im);
	free(bytes);
	return r;
}

/* ---- the linker ---------------------------------------------------------------------------- */

/* What one input is added with. */
struct input {
	CUlinkState state;
	const char *name;
	unsigned noptions;
	CUjit_option *options;
	void **values;
};

static bool is_text_input(CUjitInputType type)
{
	return type == CU_JIT_INPUT_PTX || type == CU_JIT_INPUT_FATBINARY;
}

/* The linker gets text, which it compiles, with the cap that its functions need. False: it doesn't
 * take it. */
static bool link_other(unsigned v, const struct input *in, const struct load_other *other)
{
	CUjit_option options[LINK_OPTIONS + 1];
	void *values[LINK_OPTIONS + 1];
	unsigned n = in->noptions;

	if (n > LINK_OPTIONS)
		return false;
	for (unsigned i = 0; i < n; i++) {
		options[i] = in->options[i];
		values[i] = in->values[i];
	}
	if (other->maxreg && !cap_of(n, options, values)) {
		options[n] = CU_JIT_MAX_REGISTERS;
		values[n] = (void *)(uintptr_t)other->maxreg;
		n++;
	}
	CUresult r = real_link[v](in->state, CU_JIT_INPUT_PTX, (void *)(uintptr_t)other->data,
				  other->size, in->name, n, n ? options : NULL, n ? values : NULL);
	if (r != CUDA_SUCCESS)
		load_refused((int)r);
	return r == CUDA_SUCCESS;
}

static bool link_instead(unsigned v, const struct input *in, const void *data, size_t size,
			 const void *caller)
{
	struct load_image im = {.data = data,
				.size = size,
				.is_linked = true,
				.maxreg = cap_of(in->noptions, in->options, in->values),
				.caller = caller};
	struct load_other other;

	return load_find_other(&im, &other) && link_other(v, in, &other);
}

static CUresult cuda_link(unsigned v, CUjitInputType type, void *data, size_t size,
			  const struct input *in, const void *caller)
{
	if (is_text_input(type) && link_instead(v, in, data, size, caller))
		return CUDA_SUCCESS;
	return real_link[v](in->state, type, data, size, in->name, in->noptions, in->options,
			    in->values);
}

static CUresult cuda_link_file(unsigned v, CUjitInputType type, const char *path,
			       const struct input *in, const void *caller)
{
	size_t size;
	char *bytes = is_text_input(type) && real_link[v] ? read_file(path, &size) : NULL;
	bool is_done = bytes && link_instead(v, in, bytes, size, caller);

	free(bytes);
	if (is_done)
		return CUDA_SUCCESS;
	return real_link_file[v](in->state, type, path, in->noptions, in->options, in->values);
}

static CUresult cuda_link_1(CUlinkState s, CUjitInputType type, void *data, size_t size,
			    const char *name, LINK_REST)
{
	const struct input in = {s, name, noptions, options, values};

	return cuda_link(0, type, data, size, &in, CALLER);
}

static CUresult cuda_link_2(CUlinkState s, CUjitInputType type, void *data, size_t size,
			    const char *name, LINK_REST)
{
	const struct input in = {s, name, noptions, options, values};

	return cuda_link(1, type, data, size, &in, CALLER);
}

static CUresult cuda_link_file_1(CUlinkState s, CUjitInputType type, const char *path, LINK_REST)
{
	const struct input in = {s, path, noptions, options, values};

	return cuda_link_file(0, type, path, &in, CALLER);
}

static CUresult cuda_link_file_2(CUlinkState s, CUjitInputType type, const char *path, LINK_REST)
{
	const struct input in = {s, path, noptions, options, values};

	return cuda_link_file(1, type, path, &in, CALLER);
}

/* The names as the library exports them. */
const struct forward_hook forward_load_hooks[] = {
	{"cuModuleLoadData", (void *)hook_data, (void **)&real_data},
	{"cuModuleLoadDataEx", (void *)hook_data_ex, (void **)&real_data_ex},
	{"cuModuleLoadFatBinary", (void *)hook_fat, (void **)&real_fat},
	{"cuModuleLoad", (void *)hook_file, (void **)&real_file},
	{"cuLibraryLoadData", (void *)cuda_library, (void **)&real_library},
	{"cuLibraryLoadFromFile", (void *)cuda_library_file, (void **)&real_library_file},
	{"cuGetExportTable", (void *)load_hook_table, (void **)&load_real_table},
	{"cuLinkAddData", (void *)cuda_link_1, (void **)&real_link[0]},
	{"cuLinkAddData_v2", (void *)cuda_link_2, (void **)&real_link[1]},
	{"cuLinkAddFile", (void *)cuda_link_file_1, (void **)&real_link_file[0]},
	{"cuLinkAddFile_v2", (void *)cuda_link_file_2, (void **)&real_link_file[1]},
	{NULL, NULL, NULL},
};
