/*
 * dlopen.c - the driver's library opened under another name: `libcuda.so`, or by a path, gets us,
 * as `libcuda.so.1` does anyhow.
 *
 * dlopen looks where its caller's RPATH leads, so the C library's must be called as if by the
 * program: we only look at the name, and jump on. A driver at a path of the program's own is the
 * one that we open then, if we haven't opened one yet.
 *
 * Misses: dlmopen; a second driver's library beside the one that is open already, which the program
 * gets. Costs: a comparison for each dlopen.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/forward/forward.h"

#define DRIVER "libcuda.so"

static char asked[PATH_MAX]; /* a driver's path that the program has asked for first */

/* dlopen itself is in jumps_*.c: it calls forward_dlopen_name, and goes on to the real one: the C
 * library's, or that of a sanitizer's runtime before it. */
__attribute__((visibility("hidden"))) void *(*forward_real_dlopen)(const char *, int);
__attribute__((visibility("hidden"))) const char *forward_dlopen_name(const char *name);

static bool is_driver(const char *name)
{
	const char *slash = strrchr(name, '/');

	name = slash ? slash + 1 : name;
	if (strncmp(name, DRIVER, strlen(DRIVER)) != 0)
		return false;
	name += strlen(DRIVER);
	/* A version may follow: .1, .580.159.04; nothing else. */
	return (!*name || *name == '.') && !name[strspn(name, ".0123456789")];
}

static const char *own_path(void)
{
	Dl_info info;

	return dladdr(forward_table, &info) ? info.dli_fname : NULL;
}

/* A path of a driver's library: may ours take its place? */
static bool takes_place(const char *path)
{
	const char *open = forward_opened();
	char real[PATH_MAX], other[PATH_MAX];

	/* What can't be opened fails as it would without us; a toolkit's stub is no driver. */
	if (access(path, R_OK) != 0 || !realpath(path, real))
		return false;
	if (strstr(real, "/stubs/"))
		return true;
	if (!open && !*asked)
		strcpy(asked, real);
	return !strcmp(open && realpath(open, other) ? other : asked, real);
}

const char *forward_dlopen_name(const char *name)
{
	if (!forward_real_dlopen)
		*(void **)&forward_real_dlopen = dlsym(RTLD_NEXT, "dlopen");
	if (!name || !is_driver(name) || (strchr(name, '/') && !takes_place(name)))
		return name;
	const char *own = own_path();
	return own ? own : name;
}

const char *forward_asked(void)
{
	return *asked ? asked : NULL;
}

void *forward_dlopen(const char *path, int flags)
{
	if (!forward_real_dlopen)
		*(void **)&forward_real_dlopen = dlsym(RTLD_NEXT, "dlopen");
	return forward_real_dlopen ? forward_real_dlopen(path, flags) : NULL;
}
