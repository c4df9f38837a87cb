/*
 * ignore.c - everything that is left out of a report, in one place.
 *
 * None of these rules says that a race is safe; each is the user's decision, and
 * the report says how many findings each of them hid. The rules: the program's own
 * collider_data_race() (include/collider/annotate.h), lines of a
 * suppressions file (in the style of ThreadSanitizer), --same-value=ignore, the
 * class "possible" where it isn't wanted, and "undecided", which is shown on request only.
 *
 * A pattern is matched against part of a text (base_glob_part); a path with `:123` after it
 * matches that line only, so that "a.cu:1" doesn't hide line 12. Misses: a line number goes stale
 * when the source is edited; rules that matched nothing are listed.
 */
#include "race/race.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Does the rule match this file and, if it names a line, this line? */
static bool place_match(const struct race_rule *r, const char *file, uint32_t line)
{
	if (!*file || (r->line && r->line != line))
		return false;
	if (!r->line)
		return base_glob_part(r->pattern, file);
	/* "src/a.cu:7" means a whole name at the end of the path: xa.cu is another file. */
	size_t n = strlen(r->pattern), have = strlen(file);
	if (strpbrk(r->pattern, "*^$"))
		return base_glob_part(r->pattern, file);
	return have >= n && !strcmp(file + have - n, r->pattern) &&
	       (have == n || file[have - n - 1] == '/');
}

static bool rule_match(const struct race_rule *r, const struct race_finding *f)
{
	if (r->kind && r->kind != (unsigned)f->kind)
		return false;
	if (!*r->pattern)
		return true;
	if (place_match(r, f->file, f->line))
		return true;
	for (size_t i = 0; i < f->ninlined; i++)
		if (place_match(r, f->inlined[i].file, f->inlined[i].line))
			return true;
	if (r->line)
		return false;
	if (base_glob_part(r->pattern, f->func) || base_glob_part(r->pattern, f->func_shown))
		return true;
	for (size_t i = 0; i < f->ninlined; i++)
		if (base_glob_part(r->pattern, f->inlined[i].func) ||
		    base_glob_part(r->pattern, f->inlined[i].func_shown))
			return true;
	return false;
}

/* ---- reading a suppressions file ------------------------------------------------ */

static bool rule_fail(struct race_ignore *ig, struct base_sink *sink, uint32_t at, uint32_t col,
		      const char *found, const char *expected)
{
	base_report(sink, BASE_ERROR, ig->path, (struct base_span){at, col},
		    "found '%s', expected %s", found, expected);
	return false;
}

/* Parses one line, without its comment and surrounding spaces. */
static bool rule_parse(struct race_ignore *ig, char *s, uint32_t at, uint32_t col,
		       struct base_sink *sink)
{
	struct race_rule r = {.at = at, .text = base_strdup(&ig->arena, s)};
	char *colon = strchr(s, ':');

	if (!colon)
		return rule_fail(ig, sink, at, col, s, "race:PATTERN, KIND:PATTERN or kind:KIND");
	*colon = 0;
	char *arg = colon + 1;
	uint32_t arg_col = col + (uint32_t)(arg - s);
	if (!strcmp(s, "kind")) {
		r.kind = race_kind_parse(arg);
		r.pattern = "";
		if (!r.kind)
			return rule_fail(ig, sink, at, arg_col, arg,
					 "a kind (clobbered-read, lost-update, intra-warp, ...)");
		base_vec_push(&ig->rules, r);
		return true;
	}
	r.kind = race_kind_parse(s);
	if (!r.kind && strcmp(s, "race"))
		return rule_fail(ig, sink, at, col, s, "race, kind or the name of a kind");
	if (!*arg)
		return rule_fail(ig, sink, at, arg_col, arg,
				 "a pattern (to leave out a whole kind, write kind:KIND)");
	/* Digits after the last colon are a line; a C++ name never ends like that. */
	char *last = strrchr(arg, ':');
	if (last && last > arg && last[1] && strspn(last + 1, "0123456789") == strlen(last + 1)) {
		unsigned long line = strtoul(last + 1, NULL, 10);
		if (!line || line > UINT32_MAX)
			return rule_fail(ig, sink, at, arg_col + (uint32_t)(last + 1 - arg),
					 last + 1, "a line number from 1");
		r.line = (uint32_t)line;
		*last = 0;
	}
	r.pattern = base_strdup(&ig->arena, arg);
	base_vec_push(&ig->rules, r);
	return true;
}

bool race_ignore_parse(struct race_ignore *ig, const char *path, const char *text, size_t n,
		       struct base_sink *sink)
{
	const char *end = text + n;
	bool is_ok = true;

	ig->path = base_strdup(&ig->arena, path);
	for (uint32_t at = 1; text < end; at++) {
		const char *nl = memchr(text, '\n', (size_t)(end - text));
		const char *begin = text, *start = text, *stop = nl ? nl : end;
		text = nl ? nl + 1 : end;
		while (start < stop && (*start == ' ' || *start == '\t'))
			start++;
		while (stop > start && (unsigned char)stop[-1] <= ' ')
			stop--;
		if (start == stop || *start == '#')
			continue;
		char *line = base_strndup(&ig->arena, start, (size_t)(stop - start));
		if (!rule_parse(ig, line, at, (uint32_t)(start - begin) + 1, sink))
			is_ok = false;
	}
	return is_ok;
}

bool race_ignore_read(struct race_ignore *ig, const char *path, struct base_sink *sink)
{
	char *text;
	size_t n;
	int err = base_read_file(path, &text, &n);

	if (err) {
		base_report(sink, BASE_ERROR, path, (struct base_span){0, 0},
			    "the suppressions can't be read: %s", base_file_error(err));
		return false;
	}
	bool is_ok = race_ignore_parse(ig, path, text, n, sink);
	free(text);
	return is_ok;
}

void race_ignore_free(struct race_ignore *ig)
{
	base_vec_free(&ig->rules);
	base_arena_free(&ig->arena);
	memset(ig, 0, sizeof(*ig));
}

/* ---- annotations ----------------------------------------------------------------- */

static bool is_annotated(const char *func, const struct race_inlined *inlined, size_t n)
{
	if (func && strstr(func, RACE_ANNOTATION))
		return true;
	for (size_t i = 0; i < n; i++)
		if (strstr(inlined[i].func, RACE_ANNOTATION))
			return true;
	return false;
}

static bool has_annotation(const struct race_finding *f)
{
	if (is_annotated(f->func, f->inlined, f->ninlined))
		return true;
	for (unsigned i = 0; f->sides && i < 2; i++)
		if (is_annotated(f->sides[i].func, f->sides[i].inlined, f->sides[i].ninlined))
			return true;
	return false;
}

/* ---- the decision ---------------------------------------------------------------- */

enum race_ignored race_ignore_test(const struct race_ignore *ig, const struct race_finding *f,
				   size_t *rule)
{
	*rule = SIZE_MAX;
	if (has_annotation(f))
		return RACE_IGNORED_ANNOTATED;
	if (!ig)
		return RACE_IGNORED_NOT;
	for (size_t i = 0; i < ig->rules.n; i++) {
		if (rule_match(&ig->rules.v[i], f)) {
			*rule = i;
			return RACE_IGNORED_SUPPRESSED;
		}
	}
	if (ig->same_value && (f->kind == RACE_KIND_INTRA_WARP_SAME || f->is_same_value))
		return RACE_IGNORED_SAME_VALUE;
	if (ig->possible && f->cls == RACE_CLASS_POSSIBLE)
		return RACE_IGNORED_POSSIBLE;
	if (ig->undecided && f->cls == RACE_CLASS_UNDECIDED)
		return RACE_IGNORED_UNDECIDED;
	return RACE_IGNORED_NOT;
}

const char *race_ignored_name(enum race_ignored why)
{
	static const char *const names[] = {
		[RACE_IGNORED_NOT] = "",
		[RACE_IGNORED_SUPPRESSED] = "suppressed",
		[RACE_IGNORED_SAME_VALUE] = "same-value",
		[RACE_IGNORED_POSSIBLE] = "possible",
		[RACE_IGNORED_UNDECIDED] = "undecided",
		[RACE_IGNORED_KNOWN] = "known",
		[RACE_IGNORED_ANNOTATED] = "annotated",
	};

	return names[why];
}
