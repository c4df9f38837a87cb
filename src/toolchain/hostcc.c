/*
 * hostcc.c - `collider cc`, `collider c++` and `collider nvcc --host`: checks in host code.
 *
 * The compiler puts calls before each access for its -fsanitize=thread; src/host answers them. Two
 * things must be avoided: the driver must not link ThreadSanitizer, and the program must not
 * notice.
 *
 *   gcc    gets -fsanitize=thread and a -B folder, in which its driver finds an empty libtsan; the
 *          macro that programs ask for is taken away.
 *   clang  gets it after -Xclang, so that only the compiler proper knows.
 *
 * Our own library is passed to the linker by -Wl, which is ignored when nothing is linked, and with
 * it wrappers of the memory functions that the compilers don't instrument. Calls at the entries and
 * exits of functions are turned off; volatile accesses get calls of their own; clang leaves atomics
 * alone.
 *
 * Apart from that the command line is not changed. Each call asks the compiler which one it is (10
 * ms).
 * Misses: gcc with -static (its own error), paths of ours with a comma.
 */
#include "toolchain/toolchain.h"
#include "toolchain/internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOST_FOLDER "lib/collider/host"
#define HOST_LIB    "libcollider_host.a"

struct compiler {
	struct tool_strings words; /* the program, found, and its first arguments ("ccache gcc") */
	bool is_clang;
	unsigned version; /* major */
};

/* ---- which compiler ---------------------------------------------------------------- */

/* The program's path as a shell would find it, or NULL. */
static char *find_program(const char *name, struct base_arena *a)
{
	const char *path = getenv("PATH");

	if (strchr(name, '/'))
		return access(name, X_OK) == 0 ? base_strdup(a, name) : NULL;
	for (const char *p = path ? path : "/usr/bin:/bin"; *p;) {
		size_t n = strcspn(p, ":");
		char *full = base_printf(a, "%.*s/%s", (int)n, p, name);
		if (access(full, X_OK) == 0)
			return full;
		p += n + (p[n] == ':');
	}
	return NULL;
}

static unsigned macro(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? (unsigned)strtoul(at + strlen(name), NULL, 10) : 0;
}

/* Asks the compiler for its macros. Returns 0 or a base_exit code (with a message). */
static int compiler_ask(struct compiler *c, struct base_arena *a)
{
	const char *log = tool_temp("macros");
	struct tool_strings args = {0};
	char *text;
	size_t size;

	if (!log)
		return BASE_EXIT_ENV;
	for (size_t i = 0; i < c->words.n; i++)
		base_vec_push(&args, c->words.v[i]);
	base_vec_push(&args, base_strdup(a, "-dM"));
	base_vec_push(&args, base_strdup(a, "-E"));
	base_vec_push(&args, base_strdup(a, "-xc"));
	base_vec_push(&args, base_strdup(a, "/dev/null"));
	base_vec_push(&args, NULL);
	int rc = tool_run(args.v[0], args.v, log);
	base_vec_free(&args);
	int err = base_read_file(log, &text, &size);
	tool_cleanup();
	if (err || rc) {
		base_say("%s: not a compiler like gcc or clang (-dM -E fails)", c->words.v[0]);
		return BASE_EXIT_ENV;
	}
	c->is_clang = strstr(text, "#define __clang__ ") != NULL;
	c->version = macro(text, c->is_clang ? "#define __clang_major__ " : "#define __GNUC__ ");
	free(text);
	return BASE_EXIT_OK;
}

/* `command` may be several words. */
static int compiler_find(struct compiler *c, const char *command, struct base_arena *a)
{
	memset(c, 0, sizeof(*c));
	tool_split_words(command, &c->words, a);
	char *path = c->words.n ? find_program(c->words.v[0], a) : NULL;
	if (!path) {
		base_say("error: no compiler '%s' was found", command);
		return BASE_EXIT_ENV;
	}
	c->words.v[0] = path;
	return compiler_ask(c, a);
}

/* ---- what it is given ----------------------------------------------------------------- */

/* Our folder beside the program; NULL if it is incomplete or its name can't be passed on (with a
 * message). */
static char *host_folder(struct base_arena *a)
{
	char *self = tool_self(a);

	for (int up = 0; self && up < 2; up++) {
		char *slash = strrchr(self, '/');
		if (slash)
			*slash = 0;
	}
	char *folder = base_printf(a, "%s/" HOST_FOLDER, self ? self : "");
	if (access(base_printf(a, "%s/" HOST_LIB, folder), R_OK) != 0 || strchr(folder, ',')) {
		base_say("error: %s/" HOST_LIB " is not there or has a comma in its path", folder);
		return NULL;
	}
	return folder;
}

/* Adds what makes the compiler insert its calls. */
static void add_compile(struct tool_strings *out, const struct compiler *c)
{
	static char *const clang[] = {"-Xclang", "-fsanitize=thread",
				      "-mllvm",	 "-tsan-distinguish-volatile=1",
				      "-mllvm",	 "-tsan-instrument-func-entry-exit=0",
				      "-mllvm",	 "-tsan-instrument-atomics=0"};
	static char *const gcc[] = {"-fsanitize=thread", "-U__SANITIZE_THREAD__"};
	static char *const gcc11[] = {"--param=tsan-distinguish-volatile=1",
				      "--param=tsan-instrument-func-entry-exit=0"};

	for (size_t i = 0; c->is_clang && i < BASE_COUNTOF(clang); i++)
		base_vec_push(out, clang[i]);
	for (size_t i = 0; !c->is_clang && i < BASE_COUNTOF(gcc); i++)
		base_vec_push(out, gcc[i]);
	for (size_t i = 0; !c->is_clang && c->version >= 11 && i < BASE_COUNTOF(gcc11); i++)
		base_vec_push(out, gcc11[i]);
}

/* For the linker, without -Wl. quote: what nvcc's shell needs around a folder with blanks; else
 * "". */
static const char *link_list(const char *folder, const char *quote, struct base_arena *a)
{
	return base_printf(a,
			   "--wrap=memcpy,--wrap=memmove,--wrap=memset,--wrap=__memcpy_chk,"
			   "--wrap=__memmove_chk,--wrap=__memset_chk,--whole-archive,%s%s/" HOST_LIB
			   "%s,--no-whole-archive",
			   quote, folder, quote);
}

static bool is_debug(const char *arg)
{
	return !strncmp(arg, "-g", 2) && strncmp(arg, "-gcc", 4) != 0;
}

static bool list_has(const char *patterns, const char *file, struct base_arena *a)
{
	for (const char *p = patterns; *p;) {
		size_t n = strcspn(p, ",");
		char *one = base_strndup(a, p, n);
		if (n && base_glob_file(one, file))
			return true;
		p += n + (p[n] == ',');
	}
	return false;
}

static bool is_source(const char *arg)
{
	static const char *const ends[] = {"c",	  "i",	 "cc",	"ii", "cp", "cxx",
					   "cpp", "CPP", "c++", "C",  "cu"};
	const char *dot = strrchr(arg, '.');

	for (size_t i = 0; *arg != '-' && dot && i < BASE_COUNTOF(ends); i++)
		if (!strcmp(dot + 1, ends[i]))
			return true;
	return false;
}

/* Does the filter select one of the source files? Without a filter: always. */
static bool is_filtered(char *const *args, size_t n, const char *filter, struct base_arena *a)
{
	for (size_t i = 1; filter && i < n; i++)
		if (is_source(args[i]) && list_has(filter, args[i], a))
			return true;
	return !filter;
}

#define FILTER "--host-filter="

static int host_tool(const char *env, const char *preset, int argc, char **argv)
{
	static struct base_arena a;	/* lives until the exec */
	static struct tool_strings out; /* likewise */
	const char *command = getenv(env), *filter = NULL, *folder = NULL;
	bool has_debug = false, is_wanted = false;
	struct compiler c;
	int rc = compiler_find(&c, command && *command ? command : preset, &a);

	if (rc)
		return rc;
	for (size_t i = 0; i < c.words.n; i++)
		base_vec_push(&out, c.words.v[i]);
	for (int i = 1; i < argc; i++) {
		if (!strncmp(argv[i], FILTER, strlen(FILTER)))
			filter = argv[i] + strlen(FILTER);
		has_debug |= is_debug(argv[i]);
	}
	is_wanted = is_filtered(argv, (size_t)argc, filter, &a);
	bool is_on = !tool_is_disabled() && argc > 1;
	if (is_on && !(folder = host_folder(&a)))
		return BASE_EXIT_ENV;
	bool is_quiet = is_on && c.is_clang && c.version >= 14;
	if (is_quiet)
		base_vec_push(&out, base_strdup(&a, "--start-no-unused-arguments"));
	if (is_on && is_wanted)
		add_compile(&out, &c);
	if (is_on && is_wanted && !has_debug)
		base_vec_push(&out, base_strdup(&a, "-g1"));
	if (is_on && !c.is_clang)
		base_vec_push(&out, base_printf(&a, "-B%s/", folder));
	if (is_quiet)
		base_vec_push(&out, base_strdup(&a, "--end-no-unused-arguments"));
	for (int i = 1; i < argc; i++)
		if (strncmp(argv[i], FILTER, strlen(FILTER)) != 0)
			base_vec_push(&out, argv[i]);
	if (is_quiet)
		base_vec_push(&out, base_strdup(&a, "--start-no-unused-arguments"));
	if (is_on)
		base_vec_push(&out, base_printf(&a, "-Wl,%s", link_list(folder, "", &a)));
	if (is_quiet)
		base_vec_push(&out, base_strdup(&a, "--end-no-unused-arguments"));
	base_vec_push(&out, NULL);
	return tool_exec(out.v[0], out.v);
}

/* ------------------------------------------------------------------------ */

int tool_cc(int argc, char **argv)
{
	return host_tool("COLLIDER_CC", "cc", argc, argv);
}

int tool_cxx(int argc, char **argv)
{
	return host_tool("COLLIDER_CXX", "c++", argc, argv);
}

/* The host compiler that nvcc will use. */
static const char *nvcc_compiler(const struct tool_strings *args, struct base_arena *a)
{
	static const char *const names[] = {"-ccbin", "--compiler-bindir", "-compiler-bindir"};
	const char *found = getenv("NVCC_CCBIN");

	for (size_t i = 1; i < args->n; i++) {
		for (size_t j = 0; j < BASE_COUNTOF(names); j++) {
			size_t n = strlen(names[j]);
			const char *arg = args->v[i];
			if (strncmp(arg, names[j], n) != 0)
				continue;
			if (arg[n] == '=')
				found = arg + n + 1;
			else if (!arg[n] && i + 1 < args->n)
				found = args->v[i + 1];
		}
	}
	if (!found || !*found)
		return "g++";
	const char *inside = base_printf(a, "%s/g++", found);
	return access(inside, X_OK) == 0 ? inside : found;
}

int tool_host_nvcc(struct tool_strings *args, const char *filter, struct base_arena *a)
{
	struct tool_strings words = {0};
	struct compiler c;
	bool has_debug = false;
	char *folder = host_folder(a);
	int rc = folder ? compiler_find(&c, nvcc_compiler(args, a), a) : BASE_EXIT_ENV;

	if (rc)
		return rc;
	for (size_t i = 1; i < args->n; i++)
		has_debug |= !strcmp(args->v[i], "-g") || !strcmp(args->v[i], "--debug");
	if (is_filtered(args->v, args->n, filter, a)) {
		add_compile(&words, &c);
		if (!has_debug)
			base_vec_push(&words, base_strdup(a, "-g1"));
	}
	if (!c.is_clang)
		base_vec_push(&words, base_printf(a, "-B\"%s/\"", folder));
	for (size_t i = 0; i < words.n; i++) {
		base_vec_push(args, base_strdup(a, "-Xcompiler"));
		base_vec_push(args, words.v[i]);
	}
	base_vec_free(&words);
	base_vec_push(args, base_strdup(a, "-Xlinker"));
	base_vec_push(args, base_strdup(a, link_list(folder, "\"", a)));
	return BASE_EXIT_OK;
}
