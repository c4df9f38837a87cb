/*
 * short.c - names of kernels and functions for lines of text.
 *
 * Names in template libraries have up to two thousand characters. Long lists of template arguments
 * and parameters become "...", and namespaces that only say a library's version go. Mangled names
 * that no demangler has read are cut at their first template argument.
 *
 * Misses: names that differ in what is left out look the same.
 */
#include "race/race.h"

#include <ctype.h>
#include <string.h>

#define NAME_COLS      72u /* longer names lose their arguments */
#define ARGUMENTS_COLS 16u /* such lists of arguments stay */

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

const char *race_short_name(struct base_arena *a, const char *name)
{
	if (!strncmp(name, "_Z", 2))
		name = strlen(name) > NAME_COLS ? names_of_mangled(a, name) : name;
	name = without_versions(a, name);
	if (strlen(name) <= NAME_COLS)
		return name;
	return without_arguments(a, name);
}
