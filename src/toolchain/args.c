/*
 * args.c - reads an nvcc command line as far as Collider must understand it.
 *
 * Three questions: which arguments are ours, will anything be compiled, and does the user ask
 * for line information already. Everything else stays as it is, in its order. An argument after an
 * option that passes it on to another program (-Xcompiler, --ptxas-options ...) is a value and
 * never ours. Response files are read for the same questions; one that holds an option of ours is
 * replaced by its words, every other one stays.
 *
 * Misses: options inside a response file named by another response file.
 */
#include "toolchain/internal.h"

#include <ctype.h>
#include <string.h>

void tool_split_words(const char *text, struct tool_strings *out, struct base_arena *a)
{
	struct base_buf w = {0};

	for (const char *p = text; *p;) {
		if (isspace((unsigned char)*p)) {
			p++;
			continue;
		}
		w.n = 0;
		char quote = 0;
		for (; *p && (quote || !isspace((unsigned char)*p)); p++) {
			if (*p == '\\' && p[1] && quote != '\'')
				base_buf_put(&w, ++p, 1);
			else if (quote ? *p == quote : *p == '"' || *p == '\'')
				quote = quote ? 0 : *p;
			else
				base_buf_put(&w, p, 1);
		}
		base_vec_push(out, base_strndup(a, w.p, w.n));
	}
	base_buf_free(&w);
}

/* The next argument belongs to another program. */
static bool hands_on(const char *arg)
{
	static const char *const names[] = {
		"--compiler-options", "--linker-options", "--archive-options", "--ptxas-options",
		"--nvlink-options",   "--cudafe-options", "--fatbin-options",  "--cicc-options",
	};

	if (!strncmp(arg, "-X", 2))
		return arg[2] && !strchr(arg, '=');
	for (size_t i = 0; i < BASE_COUNTOF(names); i++) {
		if (!strcmp(arg, names[i]))
			return true;
	}
	return false;
}

static bool is_option(const char *arg, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(arg, name, n) && (!arg[n] || arg[n] == '=');
}

static bool ends_with(const char *s, const char *tail)
{
	size_t n = strlen(s), m = strlen(tail);

	return n > m && !strcmp(s + n - m, tail);
}

/* Notes what a single argument says; `before` is the one in front of it, or "". */
static void look_at(struct tool_nvcc_line *l, const char *arg, const char *before)
{
	static const char *const info[] = {
		"-lineinfo", "--lineinfo",     "--generate-line-info", "-generate-line-info",
		"-G",	     "--device-debug", "-device-debug"};
	static const char *const source[] = {".cu", ".ptx", ".cup", ".gpu", ".ii"};

	for (size_t i = 0; i < BASE_COUNTOF(info); i++)
		l->has_lineinfo |= is_option(arg, info[i]);
	if (!strcmp(arg, "-noprof") || !strcmp(arg, "--dont-use-profile"))
		l->has_noprof = true;
	bool after_x = !strcmp(before, "-x") || !strcmp(before, "--x");
	if ((after_x && !strcmp(arg, "cu")) || !strcmp(arg, "-x=cu") || !strcmp(arg, "--x=cu") ||
	    !strcmp(arg, "-xcu"))
		l->has_source = true;
	bool is_output = !strcmp(before, "-o") || !strcmp(before, "--output-file");
	if (*arg == '-' || is_output)
		return;
	for (size_t i = 0; i < BASE_COUNTOF(source); i++)
		l->has_source |= ends_with(arg, source[i]);
}

static int take_words(struct tool_nvcc_line *l, struct tool_options *o,
		      const struct tool_strings *words, struct tool_strings *rest,
		      struct base_arena *a)
{
	bool is_value = false;

	for (size_t i = 0; i < words->n; i++) {
		char *arg = words->v[i];
		int took = is_value ? 0 : tool_options_take(o, arg, a);
		if (took < 0)
			return BASE_EXIT_USAGE;
		if (took)
			continue;
		if (!is_value)
			look_at(l, arg, i ? words->v[i - 1] : "");
		is_value = !is_value && hands_on(arg);
		base_vec_push(rest, arg);
	}
	return BASE_EXIT_OK;
}

/* The file list of a response file option ("--options-file=a,b" or the next argument), or NULL. */
static const char *response_list(const char *arg, const char *next, bool *uses_next)
{
	static const char *const names[] = {"-optf", "--options-file", "-options-file"};

	for (size_t i = 0; i < BASE_COUNTOF(names); i++) {
		if (!is_option(arg, names[i]))
			continue;
		const char *eq = strchr(arg, '=');
		*uses_next = !eq;
		return eq ? eq + 1 : next;
	}
	return NULL;
}

/* Reads the files of a list. 1: `rest` has their words without ours; 0: nothing of ours there
 * (or not readable: nvcc will say so); -1: an option of ours is wrong. */
static int expand_list(struct tool_nvcc_line *l, struct tool_options *o, const char *list,
		       struct tool_strings *rest, struct base_arena *a)
{
	struct tool_strings words = {0};
	int result = 0;

	for (const char *p = list; *p;) {
		size_t n = strcspn(p, ",");
		char *text;
		size_t size;
		if (n && base_read_file(base_strndup(a, p, n), &text, &size) == 0) {
			tool_split_words(text, &words, a);
			base_vec_free_((void **)&text);
		}
		p += n + (p[n] == ',');
	}
	if (take_words(l, o, &words, rest, a) != BASE_EXIT_OK)
		result = -1;
	else if (rest->n != words.n)
		result = 1;
	base_vec_free(&words);
	return result;
}

int tool_nvcc_parse(struct tool_nvcc_line *l, struct tool_options *o, int argc, char **argv,
		    struct base_arena *a)
{
	struct tool_strings words = {0};

	memset(l, 0, sizeof(*l));
	for (int i = 1; i < argc; i++) {
		bool uses_next = false;
		bool is_value = i > 1 && hands_on(argv[i - 1]);
		const char *list =
			is_value ? NULL
				 : response_list(argv[i], i + 1 < argc ? argv[i + 1] : NULL,
						 &uses_next);
		struct tool_strings rest = {0};
		int got = list ? expand_list(l, o, list, &rest, a) : 0;
		if (got < 0) {
			base_vec_free(&rest);
			base_vec_free(&words);
			return BASE_EXIT_USAGE;
		}
		for (size_t j = 0; got && j < rest.n; j++)
			base_vec_push(&words, rest.v[j]);
		base_vec_free(&rest);
		if (!got)
			base_vec_push(&words, argv[i]);
		if (!got && uses_next && list)
			base_vec_push(&words, argv[i + 1]);
		i += uses_next && list;
	}
	base_vec_push(&l->args, argv[0]);
	int rc = take_words(l, o, &words, &l->args, a);
	base_vec_free(&words);
	return rc;
}
