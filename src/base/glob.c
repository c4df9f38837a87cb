/*
 * glob.c - the patterns of options and suppressions: one dialect.
 *
 * `*` stands for any text, everything else for itself (C++ names contain brackets and question
 * marks). It backtracks to the last `*` only: linear in practice, quadratic at worst.
 */
#include "base/base.h"

#include <string.h>

/* Matches `text` from its start; to_end: the pattern, up to p_end, must use all of it. */
static bool is_match(const char *p, const char *p_end, const char *text, bool to_end)
{
	const char *star = NULL, *retry = NULL;

	for (;;) {
		if (p < p_end && *p == '*') {
			star = ++p;
			retry = text;
		} else if (p == p_end && (!to_end || !*text)) {
			return true;
		} else if (p < p_end && *text && *p == *text) {
			p++;
			text++;
		} else if (star && *retry) {
			p = star;
			text = ++retry;
		} else {
			return false;
		}
	}
}

bool base_glob(const char *pattern, const char *text)
{
	return is_match(pattern, pattern + strlen(pattern), text, true);
}

bool base_glob_part(const char *pattern, const char *text)
{
	const char *end = pattern + strlen(pattern);
	bool is_start = *pattern == '^', is_end = end > pattern && end[-1] == '$';

	pattern += is_start;
	end -= is_end && end > pattern;
	if (is_start)
		return is_match(pattern, end, text, is_end);
	for (;; text++) {
		if (is_match(pattern, end, text, is_end))
			return true;
		if (!*text)
			return false;
	}
}

bool base_glob_file(const char *pattern, const char *path)
{
	const char *slash = strrchr(path, '/');

	return base_glob(pattern, path) || (slash && base_glob(pattern, slash + 1));
}
