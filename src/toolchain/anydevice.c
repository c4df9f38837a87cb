/*
 * anydevice.c - makes what nvcc builds run on the CPU device as well as on a GPU.
 *
 * Two things are needed of the program: it must call the CUDA runtime through the shared
 * libcudart.so.13, which the CPU device replaces, and it must carry its PTX. nvcc's defaults are
 * the static runtime, and PTX for -arch=sm_90 but not for -gencode arch=...,code=sm_90. So the
 * line gets -cudart shared with a run path to the toolkit's library, and a -gencode for the PTX of
 * one of the virtual architectures that are compiled anyway (no second run of cicc).
 *
 * What the user says about either stays: a program with -cudart static, or with -code=sm_90 on
 * the line, runs on a GPU only. Misses: response files, NVCC_APPEND_FLAGS.
 */
#include "toolchain/internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CPU_DEVICE_SM 90u /* what the CPU device says it is: PTX for more does not run there */

/* The value of option `name` at args[*i], written with '=' or as the next argument; NULL if that is
 * another option. */
static const char *value_of(const struct tool_strings *args, size_t *i, const char *name)
{
	const char *arg = args->v[*i];
	size_t n = strlen(name);

	if (strncmp(arg, name, n) != 0)
		return NULL;
	if (arg[n] == '=')
		return arg + n + 1;
	if (arg[n] || *i + 1 >= args->n)
		return NULL;
	return args->v[++*i];
}

static const char *either(const struct tool_strings *args, size_t *i, const char *name)
{
	const char *v = value_of(args, i, name + 1);

	return v ? v : value_of(args, i, name);
}

/* Does the line say which runtime library to link, or that nothing is linked? */
static bool has_cudart(const struct tool_strings *args)
{
	static const char *const words[] = {"-cudart",	"--cudart",	  "-c",	     "--compile",
					    "-dc",	"--device-c",	  "-ptx",    "--ptx",
					    "-cubin",	"--cubin",	  "-fatbin", "--fatbin",
					    "-dlink",	"--device-link",  "-lib",    "--lib",
					    "-E",	"--preprocess",	  "-M",	     "-MM",
					    "-cuda",	"--cuda",	  "-dw",     "--device-w",
					    "-lcudart", "-lcudart_static"};

	for (size_t i = 1; i < args->n; i++) {
		const char *arg = args->v[i];
		size_t n = strcspn(arg, "=");
		for (size_t j = 0; j < BASE_COUNTOF(words); j++) {
			if (strlen(words[j]) == n && !strncmp(arg, words[j], n))
				return true;
		}
	}
	return false;
}

/* The number in "compute_90a"; 0: there is none. */
static unsigned sm_of(const char *arch)
{
	const char *under = strchr(arch, '_');

	return under ? (unsigned)strtoul(under + 1, NULL, 10) : 0;
}

/* Adds PTX where only -gencode options with real architectures are given. */
static void add_ptx(struct tool_strings *args, struct base_arena *a)
{
	const char *best = NULL;
	unsigned best_sm = 0;

	for (size_t i = 1; i < args->n; i++) {
		const char *v = either(args, &i, "--gencode");
		if (!v)
			v = either(args, &i, "--generate-code");
		if (!v)
			continue;
		const char *code = strstr(v, "code=");
		if (strncmp(v, "arch=", 5) != 0 || !code || strstr(code, "compute_") ||
		    strstr(code, "lto_"))
			return; /* PTX is there already, or nothing is compiled to PTX */
		char *arch = base_strndup(a, v + 5, strcspn(v + 5, ","));
		unsigned sm = sm_of(arch);
		if (sm <= CPU_DEVICE_SM ? sm > best_sm || best_sm > CPU_DEVICE_SM
					: !best || (best_sm > CPU_DEVICE_SM && sm < best_sm)) {
			best = arch;
			best_sm = sm;
		}
	}
	if (!best)
		return;
	base_vec_push(args, base_strdup(a, "-gencode"));
	base_vec_push(args, base_printf(a, "arch=%s,code=%s", best, best));
}

/* The folder with the toolkit's libcudart.so, or NULL. */
static const char *cudart_folder(const struct tool_kit *kit, struct base_arena *a)
{
	static const char *const folders[] = {"lib64", "lib", "targets/x86_64-linux/lib",
					      "targets/sbsa-linux/lib"};

	for (size_t i = 0; i < BASE_COUNTOF(folders); i++) {
		const char *path = base_printf(a, "%s/%s/libcudart.so", kit->root, folders[i]);
		if (access(path, R_OK) == 0)
			return base_printf(a, "%s/%s", kit->root, folders[i]);
	}
	return NULL;
}

void tool_any_device(struct tool_strings *args, const struct tool_kit *kit, struct base_arena *a)
{
	const char *folder = cudart_folder(kit, a);

	add_ptx(args, a);
	if (!folder || has_cudart(args))
		return;
	base_vec_push(args, base_strdup(a, "-cudart=shared"));
	if (strchr(folder, ','))
		return; /* -Xlinker would split it */
	base_vec_push(args, base_strdup(a, "-Xlinker"));
	base_vec_push(args, base_strdup(a, "-rpath"));
	base_vec_push(args, base_strdup(a, "-Xlinker"));
	base_vec_push(args, base_strdup(a, folder));
}
