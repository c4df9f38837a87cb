/*
 * standin.c - stands in for the driver's library under our forwarded one: answers success, keeps
 * what it is handed.
 *
 * STANDIN_LOG names a file that gets a line for each image: the function, its kind, a number. The
 * image itself goes to STANDIN_LOG.NUMBER. STANDIN_SM is the device's version (90), STANDIN_SECOND
 * that of a second one, if there is one; with
 * STANDIN_REFUSES=1 machine code is refused, as by an older driver. It exports a function that no
 * toolkit knows, and lacks most that it does.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image/fatbin.h"

/* As cuda.h has them; it renames functions, which a driver must not. */
typedef int CUresult;
typedef void *handle;

#define SUCCESS	      0
#define NOT_FOUND     500
#define BAD_IMAGE     200
#define MAJOR	      75
#define MINOR	      76
#define MAX_REGISTERS 0

static int made[4096];
static unsigned nmade;

static handle new_handle(void)
{
	return &made[nmade++];
}

static size_t elf_size(const char *p)
{
	Elf64_Ehdr e;

	memcpy(&e, p, sizeof(e));
	size_t sections = e.e_shoff + (size_t)e.e_shnum * e.e_shentsize;
	size_t programs = e.e_phoff + (size_t)e.e_phnum * e.e_phentsize;
	return sections > programs ? sections : programs;
}

static bool is_code(const void *image)
{
	return !memcmp(image, ELFMAG, SELFMAG);
}

/* What kind it is, and where its bytes are. */
static const char *kind_of(const void **image, size_t *size)
{
	struct fatbin_wrapper w;

	memcpy(&w.magic, *image, sizeof(w.magic));
	if (w.magic == FATBIN_WRAPPER_MAGIC) {
		memcpy(&w, *image, sizeof(w));
		*image = w.data;
		*size = fatbin_size(*image);
		return "wrapper";
	}
	if (w.magic == FATBIN_MAGIC) {
		*size = fatbin_size(*image);
		return "fatbin";
	}
	if (is_code(*image)) {
		*size = elf_size(*image);
		return "code";
	}
	*size = strlen(*image);
	return "text";
}

static void note(const char *function, const void *image, const char *more)
{
	const char *log = getenv("STANDIN_LOG");
	static int number;
	char path[4096];
	size_t size;

	if (!log)
		return;
	const char *kind = kind_of(&image, &size);
	FILE *f = fopen(log, "a");
	if (f) {
		fprintf(f, "%s %s %d%s\n", function, kind, number, more);
		fclose(f);
	}
	snprintf(path, sizeof(path), "%s.%d", log, number++);
	f = fopen(path, "w");
	if (f) {
		fwrite(image, 1, size, f);
		fclose(f);
	}
}

static CUresult take(const char *function, handle *out, const void *image)
{
	const char *refuses = getenv("STANDIN_REFUSES");

	if (refuses && is_code(image)) {
		note(function, image, " refused");
		return BAD_IMAGE;
	}
	note(function, image, "");
	*out = new_handle();
	return SUCCESS;
}

static CUresult take_file(const char *function, handle *out, const char *path)
{
	static char bytes[1 << 20];
	FILE *f = fopen(path, "r");

	if (!f)
		return NOT_FOUND;
	bytes[fread(bytes, 1, sizeof(bytes) - 1, f)] = 0;
	fclose(f);
	return take(function, out, bytes);
}

static const char *caps(char *room, size_t size, unsigned n, const int *options, void **values)
{
	room[0] = 0;
	for (unsigned i = 0; i < n; i++)
		if (options[i] == MAX_REGISTERS)
			snprintf(room, size, " cap %u", (unsigned)(uintptr_t)values[i]);
	return room;
}

/* ---- the driver ---------------------------------------------------------------------------- */

CUresult cuInit(unsigned flags);
CUresult cuInit(unsigned flags)
{
	(void)flags;
	return SUCCESS;
}

CUresult cuDeviceGetCount(int *n);
CUresult cuDeviceGetCount(int *n)
{
	const char *second = getenv("STANDIN_SECOND");

	*n = second ? 2 : 1;
	return SUCCESS;
}

CUresult cuCtxGetDevice(int *device);
CUresult cuCtxGetDevice(int *device)
{
	*device = 0;
	return SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, int which, int device);
CUresult cuDeviceGetAttribute(int *value, int which, int device)
{
	const char *env = getenv(device ? "STANDIN_SECOND" : "STANDIN_SM");
	int sm = env ? atoi(env) : 90;

	*value = which == MAJOR ? sm / 10 : which == MINOR ? sm % 10 : 1;
	return SUCCESS;
}

CUresult cuModuleLoadData(handle *m, const void *image);
CUresult cuModuleLoadData(handle *m, const void *image)
{
	return take("cuModuleLoadData", m, image);
}

CUresult cuModuleLoadDataEx(handle *m, const void *image, unsigned n, int *options, void **values);
CUresult cuModuleLoadDataEx(handle *m, const void *image, unsigned n, int *options, void **values)
{
	(void)n, (void)options, (void)values;
	return take("cuModuleLoadDataEx", m, image);
}

CUresult cuModuleLoadFatBinary(handle *m, const void *image);
CUresult cuModuleLoadFatBinary(handle *m, const void *image)
{
	return take("cuModuleLoadFatBinary", m, image);
}

CUresult cuModuleLoad(handle *m, const char *path);
CUresult cuModuleLoad(handle *m, const char *path)
{
	return take_file("cuModuleLoad", m, path);
}

#define LIBRARY_REST int *jit, void **values, unsigned n, int *options, void **others, unsigned m

CUresult cuLibraryLoadData(handle *l, const void *code, LIBRARY_REST);
CUresult cuLibraryLoadData(handle *l, const void *code, LIBRARY_REST)
{
	(void)jit, (void)values, (void)n, (void)options, (void)others, (void)m;
	return take("cuLibraryLoadData", l, code);
}

CUresult cuLibraryLoadFromFile(handle *l, const char *path, LIBRARY_REST);
CUresult cuLibraryLoadFromFile(handle *l, const char *path, LIBRARY_REST)
{
	(void)jit, (void)values, (void)n, (void)options, (void)others, (void)m;
	return take_file("cuLibraryLoadFromFile", l, path);
}

CUresult cuLinkCreate_v2(unsigned n, int *options, void **values, handle *state);
CUresult cuLinkCreate_v2(unsigned n, int *options, void **values, handle *state)
{
	(void)n, (void)options, (void)values;
	*state = new_handle();
	return SUCCESS;
}

CUresult cuLinkAddData_v2(handle s, int type, void *data, size_t size, const char *name, unsigned n,
			  int *options, void **values);
CUresult cuLinkAddData_v2(handle s, int type, void *data, size_t size, const char *name, unsigned n,
			  int *options, void **values)
{
	char room[32];

	(void)s, (void)type, (void)size, (void)name;
	note("cuLinkAddData_v2", data, caps(room, sizeof(room), n, options, values));
	return SUCCESS;
}

CUresult cuLinkAddFile_v2(handle s, int type, const char *path, unsigned n, int *options,
			  void **values);
CUresult cuLinkAddFile_v2(handle s, int type, const char *path, unsigned n, int *options,
			  void **values)
{
	handle unused;

	(void)s, (void)type, (void)n, (void)options, (void)values;
	return take_file("cuLinkAddFile_v2", &unused, path);
}

CUresult cuGetExportTable(const void **table, const void *id);
CUresult cuGetExportTable(const void **table, const void *id)
{
	static const size_t empty[1] = {sizeof(empty)};

	(void)id;
	*table = empty;
	return SUCCESS;
}

/* Of later drivers than any toolkit that we know. */
CUresult cuStandinPrivate(int *value, double factor);
CUresult cuStandinPrivate(int *value, double factor)
{
	*value = (int)(21 * factor);
	return SUCCESS;
}

static void *find_own(const char *name)
{
	Dl_info info;
	void *own = dladdr((void *)find_own, &info) ? dlopen(info.dli_fname, RTLD_LAZY) : NULL;
	char longer[256];

	snprintf(longer, sizeof(longer), "%s_v2", name);
	void *p = own ? dlsym(own, longer) : NULL;
	return p || !own ? p : dlsym(own, name);
}

CUresult cuGetProcAddress_v2(const char *name, void **answer, int version, uint64_t flags,
			     int *status);
CUresult cuGetProcAddress_v2(const char *name, void **answer, int version, uint64_t flags,
			     int *status)
{
	(void)version, (void)flags;
	*answer = find_own(name);
	if (status)
		*status = *answer ? 0 : 1;
	return *answer ? SUCCESS : NOT_FOUND;
}
