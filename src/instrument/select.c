/*
 * select.c - which kernels get checks: --kernel-name and --kernel-name-exclude.
 *
 * Each is a list of patterns, `*` for any text, joined by commas; a comma within brackets belongs
 * to a pattern ("sort<int, 4>"). A pattern matches a whole name: the one in the PTX, the
 * programmer's, or that without its parameters. The first list is about kernels only: functions
 * that they call keep their checks. The second leaves out functions, too.
 *
 * Misses: what nvcc has inlined has no name here. Costs: a demangled name per function.
 */
#include "instrument/internal.h"
#include "race/race.h"

#include <ctype.h>
#include <string.h>

/* The end of a list's first pattern. */
static const char *pattern_end(const char *p)
{
	int depth = 0;

	for (; *p && (*p != ',' || depth > 0); p++)
		depth += (*p == '<' || *p == '(') - (*p == '>' || *p == ')');
	return p;
}

/* The programmer's name without what it returns ("void f<int>(int*)") and its parameters. */
static char *bare_name(struct base_arena *a, const char *shown)
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

static bool is_listed(struct base_arena *a, const char *list, const char *const *names, size_t n)
{
	while (*list) {
		const char *end = pattern_end(list);
		char *pattern = base_strndup(a, list, (size_t)(end - list));
		for (size_t i = 0; i < n; i++)
			if (*pattern && base_glob(pattern, names[i]))
				return true;
		list = end + (*end == ',');
	}
	return false;
}

const char *inst_left_out(const struct inst_options *opt, const char *name, bool is_entry)
{
	struct base_arena a = {0};
	const char *by = NULL;

	if ((opt->kernel_name && is_entry) || opt->kernel_name_exclude) {
		const char *shown = race_demangle(&a, name);
		const char *names[] = {name, shown, bare_name(&a, shown)};
		if (opt->kernel_name_exclude &&
		    is_listed(&a, opt->kernel_name_exclude, names, BASE_COUNTOF(names)))
			by = "--kernel-name-exclude";
		else if (opt->kernel_name && is_entry &&
			 !is_listed(&a, opt->kernel_name, names, BASE_COUNTOF(names)))
			by = "--kernel-name";
	}
	base_arena_free(&a);
	return by;
}

char *inst_pattern_of(struct base_arena *a, const char *name)
{
	char *bare = bare_name(a, race_demangle(a, name)), *p = bare;

	while (isalnum((unsigned char)*p) || *p == '_' || *p == ':')
		p++;
	/* What a shell or the list would take apart is said by the name in the PTX. */
	return *p ? base_strdup(a, name) : bare;
}
