/*
 * path.c - finds and opens the real driver's library.
 *
 * A path that the program itself has opened counts first (dlopen.c). The loader looks for
 * libcuda.so.1 in the folders of LD_LIBRARY_PATH, then in its cache and the system's folders;
 * asked for it now it would find us. So the folders of that variable, as it was when the process
 * started, come then, and after them what `collider run` has found (a program's child may have
 * another LD_LIBRARY_PATH: a container's compatible driver is in it).
 *
 * Misses: a driver that only the program's own RPATH leads to.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/forward/forward.h"
#include "agent/given.h"

static const char *folders; /* the environment's own text, of the start */

__attribute__((constructor)) static void note_start(void)
{
	folders = getenv("LD_LIBRARY_PATH");
}

/* Opens it unless it is ourselves. */
static void *try_path(const char *path)
{
	struct link_map *map = NULL, *own = NULL;
	Dl_info info;
	void *lib;

	if (access(path, R_OK) != 0 || !(lib = forward_dlopen(path, RTLD_NOW | RTLD_LOCAL)))
		return NULL;
	if (dlinfo(lib, RTLD_DI_LINKMAP, &map) == 0 &&
	    dladdr1(forward_table, &info, (void **)&own, RTLD_DL_LINKMAP) && map != own)
		return lib;
	dlclose(lib);
	return NULL;
}

static void *try_folders(void)
{
	char path[PATH_MAX];
	void *lib = NULL;

	for (const char *p = folders; p && *p && !lib;) {
		size_t n = strcspn(p, ":;");
		int len = n ? snprintf(path, sizeof(path), "%.*s/libcuda.so.1", (int)n, p) : 0;
		if (len > 0 && (size_t)len < sizeof(path))
			lib = try_path(path);
		p += n + (p[n] != 0);
	}
	return lib;
}

void *forward_open(void)
{
	static const char *const usual[] = {"/usr/lib/x86_64-linux-gnu/libcuda.so.1",
					    "/usr/lib64/libcuda.so.1", "/usr/lib/libcuda.so.1",
					    "/usr/lib/wsl/lib/libcuda.so.1"};
	const struct agent_given *given = agent_given();
	void *lib = forward_asked() ? try_path(forward_asked()) : NULL;

	if (!lib)
		lib = try_folders();
	if (!lib && given)
		lib = try_path(given->driver);
	for (size_t i = 0; !lib && i < sizeof(usual) / sizeof(*usual); i++)
		lib = try_path(usual[i]);
	return lib;
}
