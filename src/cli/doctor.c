/*
 * doctor.c - collider doctor: what of toolkit, driver, CUPTI and our own files was found, and which
 * command installs what is missing.
 *
 * One line for each, then what the machine can do: check programs on a GPU, on the CPU device,
 * build them, prove kernels. The driver and CUPTI are tried in a child process, which may die.
 *
 * Misses: what a program needs beyond these (cuDNN and the like).
 */
#include "cli/cli.h"
#include "agent/spawn.h"
#include "toolchain/toolchain.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

struct doctor {
	struct base_arena arena;
	struct base_buf out;
	bool is_complete; /* nothing that a first try needs is missing */
	bool has_cudart, has_agent, has_toolkit, has_gpu, has_cupti;
};

/* state: "ok", "missing", or "-" for what isn't needed everywhere */
static void line_put(struct doctor *d, const char *state, const char *what, const char *found)
{
	base_buf_printf(&d->out, "  %-8s %-18s %s\n", state, what, found);
}

static void help_put(struct doctor *d, const char *text)
{
	base_buf_printf(&d->out, "           %-18s -> %s\n", "", text);
}

/* ---- the system ------------------------------------------------------------------------- */

/* A package of the system by its names on the two kinds of distributions that we know. */
static const char *install_of(struct doctor *d, const char *package)
{
	static const struct {
		const char *tool, *command;
	} managers[] = {
		{"/usr/bin/apt-get", "sudo apt-get install %s"},
		{"/usr/bin/dnf", "sudo dnf install %s"},
		{"/usr/bin/zypper", "sudo zypper install %s"},
		{"/usr/bin/pacman", "sudo pacman -S %s"},
	};

	for (size_t i = 0; i < BASE_COUNTOF(managers); i++)
		if (!access(managers[i].tool, X_OK)) {
			const char *p = managers[i].command;
			return base_printf(&d->arena, "%.*s%s", (int)(strlen(p) - 2), p, package);
		}
	return base_printf(&d->arena, "install %s", package);
}

/* The first of these programs on PATH. */
static const char *program_find(struct doctor *d, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *p = getenv("PATH");
		while (p && *p) {
			size_t len = strcspn(p, ":");
			char *path = base_printf(&d->arena, "%.*s/%s", (int)len, p, names[i]);
			if (len && !access(path, X_OK))
				return path;
			p += len + (p[len] == ':');
		}
	}
	return NULL;
}

static void check_system(struct doctor *d)
{
	static const char *const compilers[] = {"c++", "g++", "clang++"};
	struct utsname u = {0};

	uname(&u);
	line_put(d, "ok", "system",
		 base_printf(&d->arena, "%s %s, %s", u.sysname, u.release, u.machine));
	const char *cc = program_find(d, compilers, BASE_COUNTOF(compilers));
	line_put(d, cc ? "ok" : "missing", "host compiler",
		 cc ? cc : "no c++, g++ or clang++ on PATH");
	if (!cc)
		help_put(d, install_of(d, "g++"));
	d->is_complete &= cc != NULL;
}

/* ---- our files ------------------------------------------------------------------------------ */

static bool check_file(struct doctor *d, const char *what, const char *path, struct base_sink *sink)
{
	if (path)
		line_put(d, "ok", what, path);
	else
		line_put(d, "missing", what,
			 sink->diags.n ? sink->diags.v[sink->diags.n - 1].text : "");
	if (!path)
		help_put(d, "install Collider again, all of it: cmake --install build");
	base_sink_free(sink);
	d->is_complete &= path != NULL;
	return path != NULL;
}

static void check_own(struct doctor *d)
{
	struct base_sink sink = {0};

	d->has_cudart = check_file(d, "CPU device", spawn_find_cudart(&d->arena, &sink), &sink);
	d->has_agent = check_file(d, "agent for GPUs", spawn_find_agent(&d->arena, &sink), &sink);
}

/* ---- CUDA ----------------------------------------------------------------------------------- */

static void check_toolkit(struct doctor *d)
{
	const char *root, *version;

	d->has_toolkit = tool_kit_show(&d->arena, &root, &version);
	if (d->has_toolkit) {
		line_put(d, "ok", "CUDA toolkit",
			 base_printf(&d->arena, "%s in %s", version, root));
		if (atoi(version) < 13)
			help_put(d, "Collider is made for CUDA 13: older ones may do, but aren't "
				    "tested");
		return;
	}
	line_put(d, "missing", "CUDA toolkit",
		 "no nvcc in CUDA_HOME, CUDA_PATH, on PATH or in /usr/local/cuda");
	help_put(d, "python3 -m pip install nvidia-cuda-nvcc nvidia-cuda-runtime nvidia-cuda-crt");
	help_put(d,
		 "or NVIDIA's packages (developer.nvidia.com/cuda-downloads), then set CUDA_HOME");
	d->is_complete = false;
}

static void check_gpu(struct doctor *d)
{
	struct spawn_driver s;

	spawn_driver_look(&s);
	d->has_gpu = s.ngpus > 0;
	d->has_cupti = s.has_cupti;
	if (!s.has_library)
		line_put(d, "-", "CUDA driver", "no libcuda.so.1: programs run on the CPU device");
	else if (!s.version)
		line_put(d, "-", "CUDA driver",
			 "libcuda.so.1 is there, but doesn't start: no GPU?");
	else
		line_put(d, "ok", "CUDA driver",
			 base_printf(&d->arena, "for CUDA %d.%d", s.version / 1000,
				     s.version % 1000 / 10));
	for (int i = 0; i < s.ngpus && i < SPAWN_GPUS; i++)
		line_put(d, "ok", base_printf(&d->arena, "GPU %d", i),
			 base_printf(&d->arena, "%s, sm_%d", s.name[i], s.sm[i]));
	if (!d->has_gpu && s.has_library)
		help_put(d, "nvidia-smi shows whether the system sees a GPU");
	line_put(d,
		 s.has_cupti  ? "ok"
		 : d->has_gpu ? "missing"
			      : "-",
		 "CUPTI",
		 s.has_cupti ? "libcupti was found"
			     : "no libcupti.so.13 (or .12): needed on a GPU only");
	if (!s.has_cupti && d->has_gpu)
		help_put(d, "python3 -m pip install nvidia-cuda-cupti, then "
			    "COLLIDER_CUPTI=.../libcupti.so.13");
	d->is_complete &= s.has_cupti || !d->has_gpu;
}

/* ---- places to write to --------------------------------------------------------------------- */

static void check_folder(struct doctor *d, const char *what, const char *path, const char *variable)
{
	struct stat st;

	/* A folder that isn't there yet is made in the nearest one that is. */
	char *at = base_strdup(&d->arena, path);
	while (stat(at, &st) && strrchr(at, '/') && strrchr(at, '/') != at)
		*strrchr(at, '/') = 0;
	bool is_ok = !stat(at, &st) && S_ISDIR(st.st_mode) && !access(at, W_OK | X_OK);
	line_put(d, is_ok ? "ok" : "missing", what,
		 is_ok ? path : base_printf(&d->arena, "%s can't be written to", path));
	if (!is_ok)
		help_put(d, base_printf(&d->arena, "set %s to a folder of your own", variable));
	d->is_complete &= is_ok;
}

static void check_folders(struct doctor *d)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME"),
		   *tmp = getenv("TMPDIR");

	if (!cache || !*cache)
		cache = base_printf(&d->arena, "%s/.cache", home && *home ? home : "");
	check_folder(d, "cache", base_printf(&d->arena, "%s/collider", cache), "XDG_CACHE_HOME");
	check_folder(d, "temporary files", tmp && *tmp ? tmp : "/tmp", "TMPDIR");
}

/* ---- what it comes to ----------------------------------------------------------------------- */

static void conclude(struct doctor *d)
{
	base_buf_puts(&d->out, "\nThis machine can\n");
	if (d->has_cudart)
		base_buf_puts(
			&d->out,
			"  check programs without a GPU   collider run --device=cpu -- ./app\n");
	if (d->has_gpu && d->has_cupti && d->has_agent)
		base_buf_puts(&d->out, "  check programs on its GPU      collider run -- ./app\n");
	if (d->has_toolkit) {
		base_buf_puts(&d->out,
			      "  build programs with checks     collider nvcc -o app app.cu\n");
		base_buf_puts(&d->out, "  prove kernels in sources       collider prove app.cu\n");
	} else {
		base_buf_puts(&d->out, "  prove kernels in PTX           collider prove app.ptx\n");
	}
}

int cli_doctor(struct option_set *set)
{
	struct doctor d = {.is_complete = true};

	if (set->args.n) {
		base_say("error: doctor takes no arguments, found '%s'", set->args.v[0]);
		return BASE_EXIT_USAGE;
	}
	base_buf_puts(&d.out, "collider " COLLIDER_VERSION "\n");
	check_system(&d);
	check_own(&d);
	check_toolkit(&d);
	check_gpu(&d);
	check_folders(&d);
	conclude(&d);
	int rc = cli_print(&d.out);
	if (!rc && !d.is_complete)
		rc = BASE_EXIT_ENV;
	base_buf_free(&d.out);
	base_arena_free(&d.arena);
	return rc;
}
