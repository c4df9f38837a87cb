/*
 * ptxas.c - stands in for ptxas: instruments PTX that isn't instrumented yet, then assembles it.
 *
 * An input is an argument that names a readable file starting like PTX (comments, then
 * ".version"). When nvcc is the caller, nearly all of them carry the marker already and pass
 * through; what remains are .ptx inputs of nvcc, and calls by clang, Triton, XLA. Messages about a
 * text that ptxas refuses come from the original, so that file names and lines are the user's.
 *
 * Misses: PTX given by --input-as-string or in a response file (assembled as it is).
 */
#include "toolchain/toolchain.h"
#include "toolchain/internal.h"
#include "image/kept.h"
#include "instrument/instrument.h"

#include <stdlib.h>
#include <string.h>

#define ORIGINS_MOST (256ull << 20) /* bytes of all texts */

struct line {
	const char *arch;
	bool relocatable, has_maxreg, is_debug, has_output;
};

/* The value of an option: after '=', or the next argument; NULL if that is another option. */
static const char *value_of(const char *arg, const char *next, const char *const *names)
{
	for (; *names; names++) {
		size_t n = strlen(*names);
		if (strncmp(arg, *names, n) != 0)
			continue;
		if (arg[n] == '=')
			return arg + n + 1;
		if (!arg[n])
			return next;
	}
	return NULL;
}

static void read_line(struct line *l, int argc, char **argv)
{
	static const char *const arch[] = {"-arch", "--gpu-name", "-gpu-name", "--arch", NULL};
	static const char *const maxreg[] = {"-maxrregcount", "--maxrregcount", NULL};
	static const char *const output[] = {"-o", "--output-file", "-output-file", NULL};

	memset(l, 0, sizeof(*l));
	for (int i = 1; i < argc; i++) {
		const char *s = argv[i], *next = i + 1 < argc ? argv[i + 1] : NULL, *v;
		if ((v = value_of(s, next, arch)))
			l->arch = v;
		l->has_maxreg |= value_of(s, next, maxreg) != NULL;
		l->has_output |= value_of(s, next, output) != NULL;
		l->relocatable |= !strcmp(s, "-c") || !strcmp(s, "--compile-only");
		l->is_debug |= !strcmp(s, "-g") || !strcmp(s, "--device-debug");
	}
}

unsigned tool_asked_maxreg(const char *text)
{
	size_t n = strlen(TOOL_MAXREG_COMMENT);

	return strncmp(text, TOOL_MAXREG_COMMENT, n) ? 0 : (unsigned)strtoul(text + n, NULL, 10);
}

/* Looks at one argument; replaces it by an instrumented copy. Returns 0 or a base_exit code. */
static int take_input(const struct tool_job *job, char **arg, int index, unsigned *maxreg,
		      bool *changed, struct base_arena *a)
{
	struct base_buf b = {0};
	char *text, suffix;
	size_t size;
	unsigned sm;
	int rc = BASE_EXIT_OK;

	if (**arg == '-' || base_read_file(*arg, &text, &size) != 0)
		return BASE_EXIT_OK;
	if (ptx_read_head(text, &sm, &suffix)) {
		struct tool_job mine = *job;
		mine.name = *arg;
		if (getenv("COLLIDER_PYTHON")) /* made by a program that runs */
			mine.text_file = image_keep_text(text, size, a);
		*maxreg = tool_asked_maxreg(text);
		enum tool_outcome got = tool_rewrite(&mine, text, size, &b);
		if (got >= TOOL_FAILED && job->opt->strict)
			rc = BASE_EXIT_INPUT;
		const char *tmp = got == TOOL_CHANGED
					  ? tool_temp(base_printf(a, "input%d.ptx", index))
					  : NULL;
		if (tmp && base_write_file(tmp, b.p, b.n) == 0) {
			base_buf_put(&b, "", 1);
			*maxreg = tool_asked_maxreg(b.p);
			*arg = (char *)tmp;
			*changed = true;
		}
	}
	base_buf_free(&b);
	free(text);
	return rc;
}

/* "-arch=compute_90" as "-arch=sm_90"; other options as they are. */
static char *as_real(char *option, struct base_arena *a)
{
	static const char virtual[] = "-arch=compute_";

	return strncmp(option, virtual, sizeof(virtual) - 1)
		       ? option
		       : base_printf(a, "-arch=sm_%s", option + sizeof(virtual) - 1);
}

/* If the stand-in for cicc has assembled this very text with these options, takes its result. For a
 * virtual target nothing is written, only checked. */
static bool take_kept(const struct tool_kit *kit, const struct tool_strings *args, bool is_real,
		      struct base_arena *a)
{
	struct tool_strings options = {0};
	const char *in = NULL, *out = NULL;
	char *text;
	size_t size;
	bool ok = true;

	for (size_t i = 1; i + 1 < args->n; i++) { /* the last one is NULL */
		char *s = args->v[i];
		if (!strcmp(s, "-o") && args->v[i + 1]) {
			out = args->v[++i];
		} else if (*s != '-') {
			ok &= !in;
			in = s;
		} else {
			base_vec_push(&options, as_real(s, a));
		}
	}
	if (ok && in && is_real == (out != NULL) && base_read_file(in, &text, &size) == 0) {
		qsort(options.v, options.n, sizeof(*options.v), tool_by_text);
		struct tool_kept k = {.ptxas = kit->ptxas,
				      .text = text,
				      .size = size,
				      .options = options.v,
				      .noptions = options.n};
		ok = tool_take(&k, in, out);
		free(text);
	} else {
		ok = false;
	}
	base_vec_free(&options);
	return ok;
}

/* The judge beside a GPU must have the text of what a program assembles while it runs. */
static void keep_origin(const char *text, const char *code, struct base_arena *a)
{
	char *from, *elf;
	size_t nfrom, n;

	if (!text || !code || base_read_file(code, &elf, &n) != 0)
		return;
	const char *path = image_origin(a, elf, n);
	if (path && base_read_file(text, &from, &nfrom) == 0) {
		base_write_file(path, from, nfrom);
		image_kept_trim(base_strndup(a, path, (size_t)(strrchr(path, '/') - path)),
				ORIGINS_MOST);
		free(from);
	}
	free(elf);
}

int tool_ptxas(int argc, char **argv)
{
	static struct base_arena arena; /* lives until the exec */
	struct tool_options opt;
	static struct tool_strings args; /* likewise */
	struct tool_kit kit;
	struct line line;
	bool changed = false;
	const char *text = NULL, *code = NULL;
	unsigned maxreg = 0;
	int rc = tool_begin(&opt, &kit, &arena);

	if (rc)
		return rc;
	if (tool_is_on(&opt) && tool_asks_version(argc, argv))
		return tool_say_version(&kit, argc, argv, &arena);
	read_line(&line, argc, argv);
	struct tool_job job = {.opt = &opt,
			       .arch = line.arch,
			       .ptxas = kit.ptxas,
			       .relocatable = line.relocatable,
			       .has_maxreg = line.has_maxreg,
			       .is_debug = line.is_debug};
	bool is_on = tool_is_on(&opt) && line.arch;
	base_vec_push(&args, kit.ptxas);
	for (int i = 1; i < argc; i++) {
		char *arg = argv[i];
		bool is_output =
			!strcmp(argv[i - 1], "-o") || !strcmp(argv[i - 1], "--output-file");
		bool was_changed = changed;
		if (is_on && !is_output && !rc)
			rc = take_input(&job, &arg, i, &maxreg, &changed, &arena);
		code = is_output ? argv[i] : code;
		text = changed && !was_changed ? argv[i] : text;
		base_vec_push(&args, arg);
	}
	if (rc) {
		tool_cleanup();
		return rc;
	}
	/* For a virtual target ptxas only checks the text, and doesn't know the option. */
	bool is_real = line.arch && !strncmp(line.arch, "sm_", 3);
	if (maxreg && !line.has_maxreg && is_real)
		base_vec_push(&args, base_printf(&arena, "-maxrregcount=%u", maxreg));
	base_vec_push(&args, NULL);
	if (!changed) {
		if (is_on && take_kept(&kit, &args, is_real, &arena)) {
			tool_cleanup();
			return BASE_EXIT_OK;
		}
		return tool_exec(kit.ptxas, args.v);
	}
	rc = tool_run(kit.ptxas, args.v, NULL);
	if (!rc && getenv("COLLIDER_PYTHON"))
		keep_origin(text, code, &arena);
	tool_cleanup();
	return tool_finish(rc);
}
