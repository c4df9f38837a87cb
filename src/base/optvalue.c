/*
 * optvalue.c - what an option's value says: numbers, times, sizes, words, as options.def has them.
 */
#include "base/optvalue.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_truth(const char *text, int64_t *num)
{
	static const char *const words[2][4] = {{"0", "no", "false", "off"},
						{"1", "yes", "true", "on"}};

	for (int v = 0; v < 2; v++)
		for (int i = 0; i < 4; i++)
			if (!strcmp(text, words[v][i])) {
				*num = v;
				return true;
			}
	return false;
}

static bool read_int(const char *text, int64_t *num)
{
	char *end;

	if (!isdigit((unsigned char)text[0]) && text[0] != '-')
		return false;
	errno = 0;
	/* Base 0 would read 010 as eight. */
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	*num = strtoll(text, &end, hex ? 16 : 10);
	return !errno && end != text && !*end;
}

static bool read_seconds(const char *text, int64_t *ms)
{
	char *end;
	double scale;

	if (!isdigit((unsigned char)text[0]) && text[0] != '.')
		return false;
	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		return false;
	double v = strtod(text, &end);
	if (end == text)
		return false;
	if (!*end || !strcmp(end, "s"))
		scale = 1000;
	else if (!strcmp(end, "ms"))
		scale = 1;
	else if (!strcmp(end, "m"))
		scale = 60 * 1000;
	else if (!strcmp(end, "h"))
		scale = 3600 * 1000;
	else
		return false;
	v *= scale;
	if (v > 1e15)
		return false;
	*ms = (int64_t)v;
	/* 0.0001 must not become "never". */
	if (v > 0 && *ms == 0)
		*ms = 1;
	return true;
}

static bool read_bytes(const char *text, int64_t *num)
{
	static const char units[] = "KMG";
	size_t n = strlen(text);
	const char *unit = n ? strchr(units, toupper((unsigned char)text[n - 1])) : NULL;
	unsigned shift = unit && *unit ? 10 * (unsigned)(unit - units + 1) : 0;
	char digits[32];

	n -= shift != 0;
	if (!n || n >= sizeof(digits))
		return false;
	memcpy(digits, text, n);
	digits[n] = 0;
	if (!read_int(digits, num) || *num < 0 || *num > INT64_MAX >> shift)
		return false;
	*num <<= shift;
	return true;
}

/* The index of a word of `len` bytes among the words of "a|b|c" or "a,b,c", or -1. */
static int64_t find_word(const char *choices, const char *text, size_t len)
{
	int64_t at = 0;

	for (const char *p = choices;; at++) {
		size_t n = strcspn(p, "|,");

		if (n == len && !memcmp(p, text, n))
			return at;
		if (!p[n])
			return -1;
		p += n + 1;
	}
}

int64_t option_find_choice(const char *choices, const char *text)
{
	return find_word(choices, text, strlen(text));
}

/* Words joined by commas as bits; "none" alone as 0. */
static bool read_list(const char *choices, const char *text, int64_t *num)
{
	*num = 0;
	if (!strcmp(text, "none"))
		return true;
	for (const char *p = text;; p++) {
		size_t n = strcspn(p, ",");
		int64_t at = find_word(choices, p, n);

		if (at < 0 || (n == 4 && !memcmp(p, "none", n)))
			return false;
		*num |= (int64_t)1 << at;
		p += n;
		if (!*p)
			return true;
	}
}

bool option_read_value(struct option_set *s, const struct option_row *row, const char *text,
		       int64_t *num, const char **expected)
{
	switch (row->type) {
	case OPTION_TYPE_FLAG:
		*num = 1;
		*expected = "yes or no";
		return !text || is_truth(text, num);
	case OPTION_TYPE_INT:
		*expected = base_printf(&s->arena, "a whole number from %lld to %lld",
					(long long)row->lo, (long long)row->hi);
		return read_int(text, num) && *num >= row->lo && *num <= row->hi;
	case OPTION_TYPE_ENUM:
		*expected = base_printf(&s->arena, "%s%s", strchr(row->arg, '|') ? "one of " : "",
					row->arg);
		*num = option_find_choice(row->arg, text);
		return *num >= 0;
	case OPTION_TYPE_LIST:
		*expected = base_printf(&s->arena, "a list of %s", row->arg);
		return read_list(row->arg, text, num);
	case OPTION_TYPE_BYTES:
		*expected = base_printf(&s->arena, "%lld to %lld bytes, with K, M or G after it",
					(long long)row->lo, (long long)row->hi);
		return read_bytes(text, num) && *num >= row->lo && *num <= row->hi;
	case OPTION_TYPE_SECONDS:
		*expected = "a time such as 10, 1.5, 500ms, 2m or 1h";
		return read_seconds(text, num) && *num >= row->lo && *num <= row->hi;
	case OPTION_TYPE_PATH:
		*expected = "a file name";
		return *text != 0;
	case OPTION_TYPE_STRING:
		return true;
	}
	return false;
}
