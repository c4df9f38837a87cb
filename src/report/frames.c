/*
 * frames.c - the chain of inlined calls of an access, as its reader needs it.
 *
 * An access in a template library comes with tens of frames and names of up to two thousand
 * characters, of which the reader's own line is the one that counts. Library frames are those in
 * headers below folders with known names. The first frame that is not a library's is shown with its
 * source; runs of library frames become a line that counts them; template arguments and
 * parameter lists that are long become "...". --full-frames shows everything as it is.
 *
 * Misses: a library that is not in the table (its frames are shown like the program's own).
 */
#include "report/internal.h"

#include <ctype.h>
#include <string.h>

#define NAME_COLS      72u /* longer names lose their arguments */
#define ARGUMENTS_COLS 16u /* such lists of arguments stay */

/* ---- names ------------------------------------------------------------------------- */

/* The length of a namespace that a library uses for its version only: "CUB_300001_SM_900::"; or of
 * nvcc's for what is static in a file: "_INTERNAL_c3a9_7_main_cu_2f1e::". */
static size_t version_length(const char *s)
{
	static const char *const starts[] = {"CUB_", "THRUST_", "_V_"};
	size_t n = strcspn(s, "<>()&*, ");
	const char *end = strstr(s, "::");

	if (!end || (size_t)(end - s) > n)
		return 0;
	n = (size_t)(end - s) + 2;
	if (!strncmp(s, "__4::", 5) || !strncmp(s, "_INTERNAL_", 10))
		return n;
	for (size_t i = 0; i < BASE_COUNTOF(starts); i++) {
		size_t m = strlen(starts[i]);
		if (!strncmp(s, starts[i], m) && isdigit((unsigned char)s[m]))
			return n;
	}
	return 0;
}

static const char *text_of(struct base_arena *a, struct base_buf *b)
{
	const char *text = base_strndup(a, b->n ? b->p : "", b->n);

	base_buf_free(b);
	return text;
}

static const char *without_versions(struct base_arena *a, const char *name)
{
	struct base_buf out = {0};
	bool is_start = true;

	for (const char *p = name; *p; p++) {
		size_t n = is_start ? version_length(p) : 0;
		if (n) {
			p += n - 1;
			continue;
		}
		is_start = !isalnum((unsigned char)*p) && *p != '_';
		base_buf_put(&out, p, 1);
	}
	return text_of(a, &out);
}

/* The end of the list that begins with the bracket at s; NULL: it has none. */
static const char *list_end(const char *s)
{
	unsigned depth = 0;

	for (const char *p = s; *p; p++) {
		if (*p == '<' || *p == '(')
			depth++;
		else if (*p == '>' && p > s && p[-1] == '-')
			continue;
		else if ((*p == '>' || *p == ')') && --depth == 0)
			return p;
	}
	return NULL;
}

static bool is_operator(const char *name, const char *at)
{
	static const char word[] = "operator";
	size_t n = sizeof(word) - 1;

	while (at > name && strchr("<>(-=", at[-1]))
		at--;
	return (size_t)(at - name) >= n && !memcmp(at - n, word, n);
}

static const char *without_arguments(struct base_arena *a, const char *name)
{
	struct base_buf out = {0};

	for (const char *p = name; *p; p++) {
		const char *end =
			(*p == '<' || *p == '(') && !is_operator(name, p) ? list_end(p) : NULL;
		if (!end || (size_t)(end - p) <= ARGUMENTS_COLS || !strncmp(p, "(anonymous", 10)) {
			base_buf_put(&out, p, 1);
			continue;
		}
		base_buf_puts(&out, *p == '<' ? "<...>" : "(...)");
		p = end;
	}
	return text_of(a, &out);
}

/*
 * The names in a mangled name that no demangler takes (nvcc's lambdas in templates), up to the
 * first template argument: "cub::detail::transform_kernel<...>".
 */
static const char *names_of_mangled(struct base_arena *a, const char *mangled)
{
	struct base_buf out = {0};
	const char *p = mangled + 2, *end = mangled + strlen(mangled);

	while (*p && strchr("ZNKL", *p))
		p++;
	while (isdigit((unsigned char)*p)) {
		size_t n = 0;
		while (isdigit((unsigned char)*p) && n < 100000)
			n = n * 10 + (size_t)(*p++ - '0');
		if (n > (size_t)(end - p))
			break;
		base_buf_printf(&out, "%s%.*s", out.n ? "::" : "", (int)n, p);
		p += n;
	}
	if (!out.n)
		return mangled;
	base_buf_puts(&out, *p == 'I' ? "<...>(...)" : "(...)");
	return text_of(a, &out);
}

const char *rep_name(struct rep_view *v, const char *name)
{
	struct base_arena *a = &v->arena;

	if (v->opt->full_frames)
		return name;
	if (!strncmp(name, "_Z", 2))
		name = strlen(name) > NAME_COLS ? names_of_mangled(a, name) : name;
	name = without_versions(a, name);
	if (strlen(name) <= NAME_COLS)
		return name;
	return without_arguments(a, name);
}

/* ---- chains ------------------------------------------------------------------------- */

struct rep_frame *rep_chain(struct base_arena *a, const struct race_finding *f)
{
	struct rep_frame *chain = BASE_NEWN(a, struct rep_frame, f->ninlined + 1);

	for (size_t i = 0; i <= f->ninlined; i++) {
		const struct race_inlined *in = i ? &f->inlined[i - 1] : NULL;
		chain[i].file = in ? in->file : f->file;
		chain[i].line = in ? in->line : f->line;
		chain[i].col = in ? in->col : f->col;
		chain[i].func = i < f->ninlined ? f->inlined[i].func_shown : f->func_shown;
		chain[i].library = race_library(chain[i].file);
	}
	return chain;
}

size_t rep_own_frame(const struct rep_frame *chain, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (chain[i].line && !chain[i].library)
			return i;
	return 0;
}

/* "CUB and Thrust" */
static const char *libraries_of(struct base_arena *a, const struct rep_frame *chain, size_t n)
{
	const char *text = "";

	for (size_t i = 0; i < n; i++) {
		const char *name = chain[i].library;
		bool is_new = true;
		for (size_t k = 0; k < i; k++)
			is_new = is_new && strcmp(chain[k].library, name);
		if (is_new)
			text = *text ? base_printf(a, "%s and %s", text, name) : name;
	}
	return text;
}

const char *rep_fold(struct rep_view *v, const struct rep_frame *chain, size_t n)
{
	struct base_arena *a = &v->arena;

	return base_printf(a, "%zu frame%s of %s", n, n == 1 ? "" : "s", libraries_of(a, chain, n));
}
