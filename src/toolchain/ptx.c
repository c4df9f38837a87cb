/*
 * ptx.c - the PTX of one CUDA source, for analysis: unoptimised, with all names and lines.
 *
 * nvcc's optimiser removes races and invents reads, so nvcc is called with -G: cicc then runs at
 * -O0 and emits DWARF with the names. Nothing is instrumented, and no other compiler is run.
 *
 * Misses: a source that only compiles with the options of its project; those are given after "--".
 */
#include "toolchain/toolchain.h"
#include "toolchain/internal.h"
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

static void add(struct tool_strings *args, const char *s, struct base_arena *a)
{
	char *copy = base_strdup(a, s);

	base_vec_push(args, copy);
}

static bool says_target(char *const *extra, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strncmp(extra[i], "-arch", 5) ||
		    !strncmp(extra[i], "--gpu-architecture", 18) ||
		    !strncmp(extra[i], "-gencode", 8))
			return true;
	return false;
}

static bool has_option(char *const *extra, size_t n, const char *prefix)
{
	for (size_t i = 0; i < n; i++)
		if (!strncmp(extra[i], prefix, strlen(prefix)))
			return true;
	return false;
}

const char *tool_ptx_adds(char *const *extra, size_t nextra)
{
	bool is_chosen = has_option(extra, nextra, "-O") || has_option(extra, nextra, "-G");

	if (says_target(extra, nextra))
		return is_chosen ? "" : "-G";
	return is_chosen ? "-arch=sm_90" : "-G -arch=sm_90";
}

int tool_ptx(const char *source, char *const *extra, size_t nextra, char **text, size_t *size)
{
	struct base_arena arena = {0};
	struct tool_strings args = {0};
	struct tool_kit kit;
	int rc = tool_kit_find(&kit, NULL, &arena);
	const char *to = rc ? NULL : tool_temp("prove.ptx");

	if (!rc && !to)
		rc = BASE_EXIT_ENV;
	if (!rc) {
		const char *self = tool_self(&arena);
		const char *slash = self ? strrchr(self, '/') : NULL;
		char *dir =
			base_strndup(&arena, self ? self : "", slash ? (size_t)(slash - self) : 0);
		add(&args, kit.nvcc, &arena);
		add(&args, "-ptx", &arena);
		const char *adds = tool_ptx_adds(extra, nextra);
		for (const char *end; *adds; adds = end + (*end == ' ')) {
			end = adds + strcspn(adds, " ");
			base_vec_push(&args, base_strndup(&arena, adds, (size_t)(end - adds)));
		}
		add(&args, "-D__COLLIDER_PROVE__=1", &arena);
		add(&args, base_printf(&arena, "-I%s/../include", dir), &arena);
		add(&args, "-include", &arena);
		add(&args, "collider/assume.h", &arena);
		for (size_t i = 0; i < nextra; i++)
			add(&args, extra[i], &arena);
		add(&args, "-o", &arena);
		add(&args, to, &arena);
		add(&args, source, &arena);
		base_vec_push(&args, NULL);
		rc = tool_run(kit.nvcc, args.v, NULL) ? BASE_EXIT_INPUT : 0;
	}
	if (!rc && base_read_file(to, text, size))
		rc = BASE_EXIT_INPUT;
	tool_cleanup();
	base_vec_free(&args);
	base_arena_free(&arena);
	return rc;
}
