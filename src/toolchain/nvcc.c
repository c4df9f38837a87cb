/*
 * nvcc.c - `collider nvcc`: the real nvcc, started from the mirror.
 *
 * None of nvcc's work is repeated here. The process becomes nvcc, so its output, signals and exit
 * code are nvcc's own; Collider's options are passed on in the environment.
 */
#include "toolchain/toolchain.h"
#include "toolchain/internal.h"
#include "instrument/instrument.h"

#include <stdlib.h>
#include <string.h>

/* NVCC_PREPEND_FLAGS and NVCC_APPEND_FLAGS may ask for line information, too. */
static bool flags_have_lineinfo(struct base_arena *a)
{
	static const char *const vars[] = {"NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"};
	bool has = false;

	for (size_t i = 0; i < BASE_COUNTOF(vars); i++) {
		const char *v = getenv(vars[i]);
		struct tool_strings words = {0};
		struct tool_options unused = {0};
		struct tool_nvcc_line line;
		if (!v)
			continue;
		base_vec_push(&words, base_strdup(a, "nvcc"));
		tool_split_words(v, &words, a);
		if (tool_nvcc_parse(&line, &unused, (int)words.n, words.v, a) == 0)
			has |= line.has_lineinfo;
		base_vec_free(&line.args);
		base_vec_free(&words);
	}
	return has;
}

static bool asks_for_help(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return true;
	return false;
}

int tool_nvcc(int argc, char **argv)
{
	static struct base_arena arena; /* lives until the exec */
	struct tool_options opt;
	static struct tool_nvcc_line line; /* likewise */
	static struct tool_strings out;	   /* likewise */
	struct tool_kit kit;
	int rc = tool_options_init(&opt, &arena);

	if (!rc)
		rc = tool_nvcc_parse(&line, &opt, argc, argv, &arena);
	if (!rc)
		rc = tool_kit_find(&kit, opt.root, &arena);
	if (rc)
		return rc;
	bool is_plain = !tool_is_on(&opt);
	char *nvcc = kit.nvcc;
	if (!tool_is_disabled()) {
		char *mirror = tool_mirror_get(&kit, &arena);
		if (!mirror)
			return BASE_EXIT_ENV;
		nvcc = base_printf(&arena, "%s/bin/nvcc", mirror);
		opt.root = kit.root;
		setenv(TOOL_ENV_OPTIONS, tool_options_encode(&opt, &arena), 1);
	}
	if (asks_for_help(argc, argv))
		base_say("its own options: collider help nvcc; what follows is nvcc's help");
	if (line.has_noprof && !is_plain)
		base_say("-noprof: nvcc won't find Collider's cicc; nothing is instrumented");
	base_vec_push(&out, nvcc);
	if (!is_plain && !opt.no_lineinfo && line.has_source && !line.has_lineinfo &&
	    !flags_have_lineinfo(&arena))
		base_vec_push(&out, base_strdup(&arena, "-lineinfo"));
	if (!is_plain && line.has_source) /* for collider/annotate.h */
		base_vec_push(&out, base_strdup(&arena, "-D__COLLIDER__=1"));
	for (size_t i = 1; i < line.args.n; i++)
		base_vec_push(&out, line.args.v[i]);
	if (!tool_is_disabled() && !opt.gpu_only && line.args.n > 1)
		tool_any_device(&out, &kit, &arena);
	if (!tool_is_disabled() && opt.host && line.args.n > 1)
		rc = tool_host_nvcc(&out, opt.host_filter, &arena);
	if (rc)
		return rc;
	base_vec_push(&out, NULL);
	return tool_exec(nvcc, out.v);
}

tool_main *tool_by_name(const char *argv0)
{
	static const struct {
		const char *name;
		tool_main *run;
	} tools[] = {
		{"collider-nvcc", tool_nvcc}, {"collider-cc", tool_cc},
		{"collider-c++", tool_cxx},   {"cicc", tool_cicc},
		{"ptxas", tool_ptxas},	      {"collider-ptxas", tool_ptxas},
		{"collider-load", tool_load},
	};
	const char *slash = strrchr(argv0, '/');
	const char *name = slash ? slash + 1 : argv0;

	for (size_t i = 0; i < BASE_COUNTOF(tools); i++) {
		if (!strcmp(tools[i].name, name))
			return tools[i].run;
	}
	return NULL;
}
