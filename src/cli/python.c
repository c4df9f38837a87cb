/*
 * python.c - collider run: compilers of GPU code that Python programs bring, without anything set
 * by hand. On a GPU:
 *
 *	Triton, torch.compile	call our stand-in for ptxas, TRITON_PTXAS_PATH; Triton's own cache
 *				knows it by its version (toolchain/caller.c)
 *	CuPy			compiles to PTX, not to machine code, which the loader replaces
 *	JAX, Numba		by a module that Python reads at its start (agent/python), for which
 *				PYTHONPATH is set: their options aren't variables
 *
 * On the CPU device CuPy, Numba and Triton, by the module.
 *
 * What they keep lies apart from what plain runs keep, and from that of other detectors: Inductor
 * and Numba keep machine code by the source alone.
 *
 * Misses: a Python that is started with -I, -E or -S; what a program sets itself.
 */
#include "cli/cli.h"
#include "image/kept.h"
#include "toolchain/toolchain.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOOK "python/sitecustomize.py"

struct list {
	char **v;
	size_t n, cap;
};

static void put(struct list *l, struct base_arena *a, const char *name, const char *value)
{
	base_vec_push(l, base_printf(a, "%s=%s", name, value));
}

/* The list as an environment, in the arena. */
static char *const *keep(struct list *l, struct base_arena *a)
{
	char **v = BASE_NEWN(a, char *, l->n + 1);

	memcpy(v, l->v, l->n * sizeof(*v));
	v[l->n] = NULL;
	base_vec_free(l);
	return v;
}

/* The folder of the module beside the agent; NULL: it isn't there, or can't be in a list. */
static const char *hook_folder(struct base_arena *a, const char *agent)
{
	const char *slash = agent ? strrchr(agent, '/') : NULL;
	int n = slash ? (int)(slash + 1 - agent) : 0;
	const char *path = base_printf(a, "%.*s" HOOK, n, agent ? agent : "");

	if (!slash || strchr(path, ':') || access(path, R_OK) != 0)
		return NULL;
	return base_strndup(a, path, strlen(path) - strlen(strrchr(path, '/')));
}

static void put_hook(struct list *l, struct base_arena *a, const char *agent)
{
	const char *folder = hook_folder(a, agent), *old = getenv("PYTHONPATH");

	if (folder)
		put(l, a, "PYTHONPATH",
		    old && *old ? base_printf(a, "%s:%s", folder, old) : folder);
}

/* Folders for what is kept, of these options. */
static void put_folders(struct list *l, struct base_arena *a, uint64_t sum)
{
	const char *folder = image_cache_folder(a, "python");

	if (!folder)
		return;
	const char *of_run = base_printf(a, "%s/%016" PRIx64, folder, sum);
	put(l, a, "COLLIDER_PYTHON", of_run);
	put(l, a, "NUMBA_CACHE_DIR", base_printf(a, "%s/numba", of_run));
	put(l, a, "TORCHINDUCTOR_CACHE_DIR", base_printf(a, "%s/inductor", of_run));
	/* Without checks: the loader puts them in. */
	put(l, a, "CUPY_CACHE_DIR", base_printf(a, "%s/cupy", folder));
	put(l, a, "CUPY_COMPILE_WITH_PTX", "1");
}

char *const *cli_python_cpu(struct base_arena *a, const char *cudart)
{
	const char *folder = image_cache_folder(a, "python-cpu");
	const char *slash = cudart ? strrchr(cudart, '/') : NULL;
	struct list l = {0};

	if (!slash)
		return NULL;
	if (folder) {
		put(&l, a, "NUMBA_CACHE_DIR", base_printf(a, "%s/numba", folder));
		put(&l, a, "CUPY_CACHE_DIR", base_printf(a, "%s/cupy", folder));
		put(&l, a, "CUPY_COMPILE_WITH_PTX", "1");
		put(&l, a, "TRITON_CACHE_DIR", base_printf(a, "%s/triton", folder));
	}
	/* Its launchers are linked with it. */
	put(&l, a, "TRITON_LIBCUDA_PATH", base_printf(a, "%.*s", (int)(slash - cudart), cudart));
	/* Beside the folder of the runtime's library. */
	put_hook(&l, a, base_printf(a, "%.*s/../x", (int)(slash - cudart), cudart));
	return keep(&l, a);
}

char *const *cli_python_environment(struct base_arena *a, const char *options, const char *agent)
{
	const char *kit = options ? tool_load_toolkit(a) : NULL;
	struct list l = {0};

	if (!kit)
		return NULL;
	const char *ptxas = base_printf(a, "%s/bin/ptxas", kit);
	put(&l, a, "COLLIDER_TOOL_OPTIONS", options);
	put(&l, a, "COLLIDER_TOOLKIT", kit);
	put(&l, a, "TRITON_PTXAS_PATH", ptxas);
	put(&l, a, "TRITON_PTXAS_BLACKWELL_PATH", ptxas);
	put_folders(&l, a, tool_load_sum(options, a));
	put_hook(&l, a, agent);
	return keep(&l, a);
}
