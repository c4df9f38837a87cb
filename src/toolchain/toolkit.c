/*
 * toolkit.c - finds the real CUDA toolkit.
 *
 * Tried in this order: the root that tool_nvcc handed down, CUDA_HOME, CUDA_PATH, every nvcc on
 * PATH that isn't this executable, /usr/local/cuda, the toolkit Collider was built with. An nvcc
 * that is a script or a compiler cache has no nvvm/ beside it; it is asked for its folder with
 * --dryrun (the line "#$ _HERE_="), which costs a process start.
 */
#include "toolchain/internal.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where installers put it. Tests that need a machine without a toolkit set another place. */
#ifndef COLLIDER_USUAL_CUDA
#define COLLIDER_USUAL_CUDA "/usr/local/cuda"
#endif

/* Set while an nvcc is asked for its folder: tool_nvcc must then not ask again itself. */
#define ENV_PROBE "COLLIDER_TOOL_PROBE"

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

char *tool_self(struct base_arena *a)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	return n > 0 ? base_strndup(a, path, (size_t)n) : NULL;
}

static char *parent(const char *path, struct base_arena *a)
{
	const char *slash = strrchr(path, '/');

	return slash && slash != path ? base_strndup(a, path, (size_t)(slash - path)) : NULL;
}

/* Fills `k` from the folder of nvcc; false when something of the toolkit is missing. */
static bool take_bin(struct tool_kit *k, const char *bin, struct base_arena *a)
{
	const char *self = tool_self(a);

	k->bin = base_strdup(a, bin);
	k->root = parent(bin, a);
	if (!k->root)
		return false;
	k->nvcc = base_printf(a, "%s/nvcc", bin);
	k->ptxas = base_printf(a, "%s/ptxas", bin);
	k->cicc = base_printf(a, "%s/nvvm/bin/cicc", k->root);
	if (!is_program(k->cicc))
		k->cicc = base_printf(a, "%s/cicc", bin);
	char *cicc = realpath(k->cicc, NULL);
	bool is_self = cicc && self && !strcmp(cicc, self);
	free(cicc);
	return !is_self && is_program(k->nvcc) && is_program(k->ptxas) && is_program(k->cicc);
}

/* Asks an nvcc for its folder. */
static char *ask_nvcc(const char *nvcc, struct base_arena *a)
{
	char *argv[] = {(char *)nvcc, "--dryrun", "-x", "cu", "-c", "/dev/null", NULL};
	const char *log = tool_temp("dryrun");
	char *text, *here = NULL;
	size_t size;

	if (!log)
		return NULL;
	setenv(ENV_PROBE, "1", 1);
	int rc = tool_run(nvcc, argv, log);
	unsetenv(ENV_PROBE);
	int err = base_read_file(log, &text, &size);
	tool_cleanup();
	if (err)
		return NULL;
	const char *at = strstr(text, "_HERE_=");
	if (at && rc == 0) {
		at += strlen("_HERE_=");
		here = base_strndup(a, at, strcspn(at, "\r\n"));
	}
	free(text);
	return here;
}

static bool take_nvcc(struct tool_kit *k, const char *nvcc, struct base_arena *a)
{
	char *self = tool_self(a);
	char real[PATH_MAX];

	if (!is_program(nvcc) || !realpath(nvcc, real) || (self && !strcmp(real, self)))
		return false;
	char *bin = parent(real, a);
	if (bin && !strcmp(strrchr(real, '/'), "/nvcc") && take_bin(k, bin, a))
		return true;
	char *here = ask_nvcc(nvcc, a);
	return here && realpath(here, real) && take_bin(k, real, a);
}

static bool take_path(struct tool_kit *k, struct base_arena *a)
{
	const char *p = getenv("PATH");

	while (p && *p) {
		size_t n = strcspn(p, ":");
		if (n && take_nvcc(k, base_printf(a, "%.*s/nvcc", (int)n, p), a))
			return true;
		p += n + (p[n] == ':');
	}
	return false;
}

static bool kit_look(struct tool_kit *k, const char *root, struct base_arena *a)
{
	const char *const first[] = {root, getenv("CUDA_HOME"), getenv("CUDA_PATH")};
	const char *const last[] = {COLLIDER_USUAL_CUDA, COLLIDER_BUILD_CUDA};

	if (getenv(ENV_PROBE))
		return false;
	for (size_t i = 0; i < BASE_COUNTOF(first); i++) {
		if (first[i] && *first[i] &&
		    take_nvcc(k, base_printf(a, "%s/bin/nvcc", first[i]), a))
			return true;
	}
	if (take_path(k, a))
		return true;
	for (size_t i = 0; i < BASE_COUNTOF(last); i++) {
		if (take_nvcc(k, base_printf(a, "%s/bin/nvcc", last[i]), a))
			return true;
	}
	return false;
}

int tool_kit_find(struct tool_kit *k, const char *root, struct base_arena *a)
{
	if (kit_look(k, root, a))
		return BASE_EXIT_OK;
	if (getenv(ENV_PROBE))
		return BASE_EXIT_ENV;
	base_say("no CUDA toolkit found: looked at CUDA_HOME, CUDA_PATH, nvcc on PATH, %s and %s",
		 COLLIDER_USUAL_CUDA, COLLIDER_BUILD_CUDA);
	return BASE_EXIT_ENV;
}

int tool_begin(struct tool_options *o, struct tool_kit *k, struct base_arena *a)
{
	int rc = tool_options_init(o, a);

	return rc ? rc : tool_kit_find(k, o->root, a);
}

bool tool_kit_show(struct base_arena *a, const char **root, const char **version)
{
	char *argv[] = {"nvcc", "--version", NULL};
	const char *log = tool_temp("version");
	struct tool_kit k = {0};
	char *text;
	size_t size;

	if (!log || !kit_look(&k, NULL, a))
		return false;
	*root = k.root;
	*version = "0 (nvcc --version doesn't say it)";
	if (tool_run(k.nvcc, argv, log) == 0 && !base_read_file(log, &text, &size)) {
		const char *at = strstr(text, ", V");
		if (at)
			*version = base_strndup(a, at + 3, strcspn(at + 3, "\r\n"));
		free(text);
	}
	tool_cleanup();
	return true;
}
