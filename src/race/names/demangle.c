/*
 * demangle.c - C++ names as the programmer wrote them.
 *
 * Uses __cxa_demangle of the C++ ABI (Itanium C++ ABI, 3.4). The runtime library
 * is opened at the first mangled name, so that neither the tools nor the agent need it to start;
 * without it names are shown unchanged, as are internal names of nvcc (`_INTERNAL_...`,
 * `__nv_static_...`) that it can't read.
 */
#include "race/race.h"

#include <dlfcn.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

typedef char *(*demangle_fn)(const char *, char *, size_t *, int *);

static demangle_fn demangle_find(void)
{
	static const char *const libraries[] = {"libstdc++.so.6", "libc++abi.so.1"};
	static demangle_fn found;
	static bool is_known;

	if (is_known)
		return found;
	for (size_t i = 0; i < BASE_COUNTOF(libraries) && !found; i++) {
		void *lib = dlopen(libraries[i], RTLD_LAZY | RTLD_LOCAL);
		void *sym = lib ? dlsym(lib, "__cxa_demangle") : NULL;
		/* ISO C has no cast from an object to a function pointer; POSIX promises it. */
		if (sym)
			memcpy(&found, &sym, sizeof(found));
	}
	is_known = true;
	return found;
}

const char *race_demangle(struct base_arena *a, const char *name)
{
	/* Only mangled names: __cxa_demangle would read the kernel name "f" as the type float. */
	if (strncmp(name, "_Z", 2))
		return name;
	demangle_fn fn = demangle_find();
	if (!fn)
		return name;
	int status = 0;
	char *text = fn(name, NULL, NULL, &status);
	const char *out = text && status == 0 ? race_text(a, text, strlen(text)) : name;
	free(text);
	return out;
}

/*
 * ---- lists of kernels' names: --kernel-name and --kernel-name-exclude, at build and at run ----
 *
 * Patterns are joined by commas; a comma within brackets belongs to a pattern ("sort<int, 4>"). A
 * pattern matches a whole name: the one in the PTX, the programmer's, or that without its
 * parameters. After "regex:" it is a regular expression, found anywhere in one of these.
 */

#define REGEX "regex:"

/* The end of a list's first pattern. */
static const char *pattern_end(const char *p)
{
	int depth = 0;

	for (; *p && (*p != ',' || depth > 0); p++)
		depth += (*p == '<' || *p == '(') - (*p == '>' || *p == ')');
	return p;
}

char *race_bare_name(struct base_arena *a, const char *shown)
{
	const char *begin = shown, *p = shown;
	int depth = 0;

	for (; *p && (*p != '(' || depth > 0); p++) {
		depth += (*p == '<') - (*p == '>');
		if (*p == ' ' && !depth)
			begin = p + 1;
	}
	return base_strndup(a, begin, (size_t)(p - begin));
}

/* The expression of a pattern, or NULL: it is none. */
static const char *regex_of(const char *pattern)
{
	return strncmp(pattern, REGEX, strlen(REGEX)) ? NULL : pattern + strlen(REGEX);
}

static bool is_found(const char *expr, const char *const *names, size_t n)
{
	bool is = false;
	regex_t re;

	if (regcomp(&re, expr, REG_EXTENDED | REG_NOSUB))
		return false; /* race_name_check has refused it */
	for (size_t i = 0; i < n && !is; i++)
		is = !regexec(&re, names[i], 0, NULL, 0);
	regfree(&re);
	return is;
}

const char *race_name_next(struct base_arena *a, const char **list)
{
	const char *end = pattern_end(*list), *at = *list;

	*list = end + (*end == ',');
	return end > at ? base_strndup(a, at, (size_t)(end - at))
	       : *end	? race_name_next(a, list)
			: NULL;
}

static bool is_match(const char *pattern, const char *const *names, size_t n)
{
	const char *expr = regex_of(pattern);
	bool is = expr && is_found(expr, names, n);

	for (size_t i = 0; i < n && !expr && !is; i++)
		is = base_glob(pattern, names[i]);
	return is;
}

bool race_names_are_listed(const char *list, const char *const *names, size_t n)
{
	struct base_arena a = {0};
	const char *pattern;
	bool is = false;

	while (!is && (pattern = race_name_next(&a, &list)) != NULL)
		is = is_match(pattern, names, n);
	base_arena_free(&a);
	return is;
}

uint64_t race_variable_patterns(const char *list, const char *const *names, size_t n)
{
	const char *all[8], *pattern;
	struct base_arena a = {0};
	uint64_t bits = 0, bit = 1;

	for (size_t i = 0; i < n; i++)
		all[i] = names[i];
	if (n == 1) { /* no parameter */
		const char *shown = race_demangle(&a, names[0]), *last = shown;
		for (const char *p = shown; (p = strstr(p, "::")); p += 2)
			last = p + 2;
		all[n++] = shown;
		all[n++] = last;
	}
	while ((pattern = race_name_next(&a, &list)) != NULL) {
		bits |= is_match(pattern, all, n) ? bit : 0;
		bit = bit << 1 ? bit << 1 : bit;
	}
	base_arena_free(&a);
	return bits;
}

bool race_name_is_listed(const char *list, const char *name)
{
	struct base_arena a = {0};
	const char *shown = race_demangle(&a, name);
	const char *names[] = {name, shown, race_bare_name(&a, shown)};
	bool is = race_names_are_listed(list, names, BASE_COUNTOF(names));

	base_arena_free(&a);
	return is;
}

const char *race_name_check(const char *list, char *why, size_t n)
{
	struct base_arena a = {0};
	bool is_bad = false;

	while (*list && !is_bad) {
		const char *end = pattern_end(list);
		char *pattern = base_strndup(&a, list, (size_t)(end - list));
		const char *expr = regex_of(pattern);
		regex_t re;
		int err = expr ? regcomp(&re, expr, REG_EXTENDED | REG_NOSUB) : 0;
		char what[128];
		if (err) {
			regerror(err, &re, what, sizeof(what));
			snprintf(why, n, "found '%s' (%s), expected a regular expression", expr,
				 what);
			is_bad = true;
		} else if (expr) {
			regfree(&re);
		}
		list = end + (*end == ',');
	}
	base_arena_free(&a);
	return is_bad ? why : NULL;
}
