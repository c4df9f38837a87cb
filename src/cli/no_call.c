/*
 * no_call.c - why no CUDA call came from a program: each cause has its own words.
 *
 * What the program's file and the command line show, from the outermost cause to the innermost:
 * Collider couldn't come into the process (set-user-ID, a cleared environment, no address
 * space), what the program calls can't be replaced (the driver, the kernels of a
 * library), or it ended before its first call.
 *
 * Misses: what a script does, and what a program loads while it runs.
 */
#include "cli/cli.h"
#include "agent/spawn.h"
#include "host/host.h"

#include <string.h>
#include <sys/resource.h>

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Does the command start the program without the environment through which we come into it? */
static bool clears_environment(char *const *argv)
{
	const char *name = base_name(argv[0]);

	if (!strcmp(name, "sudo") || !strcmp(name, "su"))
		return true;
	for (size_t i = 1;
	     !strcmp(name, "env") && argv[i] && (*argv[i] == '-' || strchr(argv[i], '=')); i++)
		if (!strcmp(argv[i], "-") || !strcmp(argv[i], "-i") ||
		    !strcmp(argv[i], "--ignore-environment"))
			return true;
	return false;
}

/* What keeps the agent, or the CPU device's library, out of the process; NULL: nothing known. */
static const char *kept_out(struct base_arena *a, char *const *argv, const struct host_program *p)
{
	struct rlimit limit;

	if (clears_environment(argv))
		return base_printf(a,
				   "%s starts the program without the environment through which "
				   "Collider comes into it: write %s ... collider run APP instead",
				   argv[0], argv[0]);
	if (p->is_setuid)
		return "the program is set-user-ID (or set-group-ID), and the system loads nothing "
		       "into such programs: run a copy of it that isn't";
	if (!getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur != RLIM_INFINITY)
		return base_printf(a,
				   "the address space is limited to %llu MiB (ulimit -v), and "
				   "Collider needs more",
				   (unsigned long long)limit.rlim_cur >> 20);
	return NULL;
}

const char *cli_no_kernel(struct base_arena *a, char *const *argv)
{
	struct host_program p;

	host_program_read(argv[0], &p);
	return *p.library ? base_printf(a,
					"the program launched no kernel of its own; those of %s "
					"can't run on the CPU device",
					p.library)
			  : NULL;
}

const char *cli_no_call(struct base_arena *a, char *const *argv, bool is_cpu)
{
	struct host_program p;

	host_program_read(argv[0], &p);
	const char *why = kept_out(a, argv, &p);
	if (why)
		return why;
	if (!p.is_elf)
		return base_printf(a, "no CUDA call came from %s or from what it started", argv[0]);
	if (!is_cpu && p.links_driver && !spawn_has_driver())
		return "the program needs libcuda.so.1, which this machine doesn't have: it could "
		       "not be started";
	if (is_cpu && *p.library && !p.calls_runtime && !p.has_gpu_code)
		return base_printf(a,
				   "what the program runs on the GPU are kernels of %s, which the "
				   "CPU device can't run: they bring a runtime of their own",
				   p.library);
	if (p.links_runtime)
		return "the program ended before its first CUDA call";
	if (p.has_gpu_code || p.links_driver)
		return "the program ended before its first CUDA call";
	return base_printf(a,
			   "%s has no GPU code and isn't linked with CUDA, and nothing that it "
			   "loaded or started made a CUDA call",
			   argv[0]);
}
