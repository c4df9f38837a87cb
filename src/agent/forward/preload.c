/*
 * preload.c - for `collider run`: the library that stands in for the driver's, ready to be
 * preloaded.
 *
 * A copy of it with the functions of this machine's driver (forward/complete.c) lies in the user's
 * folder of caches, under a sum of both files' names, sizes and times, so a new driver gets a new
 * one. It stays there: what the program has started may outlive this run.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "agent/spawn.h"
#include "agent/forward/complete.h"
#include "agent/given.h"
#include "image/kept.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define FORWARD_ENV  "COLLIDER_GPU"
#define FORWARD_FILE "lib/collider/gpu/libcuda.so.1"

const char *spawn_find_driver(struct base_arena *a)
{
	const char *above = getenv(AGENT_GIVEN_ENV);
	struct link_map *map = NULL;

	/* Started by a program that we have started: the loader would find our own. */
	if (above && *above)
		return base_strndup(a, above, strcspn(above, "\n"));
	void *lib = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
	if (!lib)
		return NULL;
	const char *path = dlinfo(lib, RTLD_DI_LINKMAP, &map) == 0 && map && *map->l_name == '/'
				   ? base_strdup(a, map->l_name)
				   : NULL;
	dlclose(lib);
	return path;
}

static const char *find_ours(struct base_arena *a)
{
	const char *path = getenv(FORWARD_ENV);
	char exe[PATH_MAX];

	if (path && *path)
		return access(path, R_OK) == 0 ? path : NULL;
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	if (n < 0)
		return NULL;
	exe[n] = 0;
	for (int up = 0; up < 2; up++) {
		char *slash = strrchr(exe, '/');
		if (slash)
			*slash = 0;
	}
	path = base_printf(a, "%s/" FORWARD_FILE, exe);
	return access(path, R_OK) == 0 ? path : NULL;
}

static bool add_file(const char *path, uint64_t *h)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return false;
	const long long facts[] = {st.st_size, st.st_mtim.tv_sec, st.st_mtim.tv_nsec,
				   (long long)st.st_ino};
	*h = image_sum(path, strlen(path), *h);
	*h = image_sum(facts, sizeof(facts), *h);
	return true;
}

const char *spawn_find_forward(struct base_arena *a, const char *driver, const char **why)
{
	const char *ours = find_ours(a);
	uint64_t h = 1;

	*why = "the library that stands in for the driver's isn't where it was installed";
	if (!ours || !add_file(ours, &h) || !add_file(driver, &h))
		return NULL;
	*why = "there is no folder for caches (XDG_CACHE_HOME, HOME, TMPDIR)";
	const char *folder =
		image_cache_folder(a, base_printf(a, "gpu-%016llx", (unsigned long long)h));
	if (!folder)
		return NULL;
	const char *path = base_printf(a, "%s/libcuda.so.1", folder);
	*why = access(path, R_OK) == 0 ? NULL : forward_complete(ours, driver, path);
	return *why ? NULL : path;
}

static bool file_has_rights(const char *path)
{
	struct stat st;

	if (access(path, X_OK) != 0 || stat(path, &st) != 0 || !S_ISREG(st.st_mode))
		return false;
	if ((st.st_mode & S_ISUID && st.st_uid != geteuid()) ||
	    (st.st_mode & S_ISGID && st.st_mode & S_IXGRP && st.st_gid != getegid()))
		return true;
	return getxattr(path, "security.capability", NULL, 0) > 0;
}

bool spawn_has_rights(const char *program)
{
	const char *p = getenv("PATH");
	char path[PATH_MAX];

	if (strchr(program, '/'))
		return file_has_rights(program);
	while (p && *p) {
		size_t n = strcspn(p, ":");
		snprintf(path, sizeof(path), "%.*s/%s", (int)n, p, program);
		if (access(path, X_OK) == 0)
			return file_has_rights(path);
		p += n + (p[n] == ':');
	}
	return false;
}
