/*
 * json.c - writes JSON as it goes (json.h).
 *
 * A report of 10,000 findings is 27 MB of it: as a tree that is printed, it took twice the time.
 */
#include "base/json.h"

#include <string.h>

#define DIGITS 20 /* of 2^64 - 1 */

/* Room for n more bytes is there. */
static void put(struct base_buf *out, const char *s, size_t n)
{
	memcpy(out->p + out->n, s, n);
	out->n += n;
}

/* How much of a text needs no escape. */
static size_t plain(const char *s)
{
	size_t n = 0;

	while ((unsigned char)s[n] >= ' ' && s[n] != '"' && s[n] != '\\')
		n++;
	return n;
}

static void quote(struct base_buf *out, const char *s)
{
	static const char names[] = {['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r',
				     ['\t'] = 't', ['"'] = '"',	 ['\\'] = '\\'};
	size_t n = plain(s);

	base_buf_room(out, n + sizeof("\"\""));
	put(out, "\"", 1);
	put(out, s, n);
	for (s += n; *s; s += n) {
		unsigned char c = (unsigned char)*s++;
		if (names[c])
			base_buf_put(out, (char[]){'\\', names[c]}, 2);
		else
			base_buf_printf(out, "\\u%04x", c);
		n = plain(s);
		base_buf_put(out, s, n);
	}
	base_buf_put(out, "\"", 1);
}

/* What comes before a value. */
static void begin(struct base_json *j, const char *key)
{
	size_t n = key ? strlen(key) : 0;

	base_buf_room(j->out, n + sizeof(",\"\":"));
	if (j->has_any)
		put(j->out, ",", 1);
	j->has_any = true;
	if (!key)
		return;
	put(j->out, "\"", 1);
	put(j->out, key, n);
	put(j->out, "\":", 2);
}

static void open_with(struct base_json *j, const char *key, const char *bracket)
{
	begin(j, key);
	base_buf_put(j->out, bracket, 1);
	j->has_any = false;
}

static void close_with(struct base_json *j, const char *bracket)
{
	base_buf_put(j->out, bracket, 1);
	j->has_any = true;
}

void base_json_object(struct base_json *j, const char *key)
{
	open_with(j, key, "{");
}

void base_json_object_end(struct base_json *j)
{
	close_with(j, "}");
}

void base_json_array(struct base_json *j, const char *key)
{
	open_with(j, key, "[");
}

void base_json_array_end(struct base_json *j)
{
	close_with(j, "]");
}

void base_json_text(struct base_json *j, const char *key, const char *text)
{
	if (!text)
		return;
	begin(j, key);
	quote(j->out, text);
}

static void put_number(struct base_json *j, const char *key, uint64_t n, bool is_negative)
{
	char text[DIGITS + 1], *p = text + sizeof(text);

	begin(j, key);
	do {
		*--p = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	if (is_negative)
		*--p = '-';
	base_buf_put(j->out, p, (size_t)(text + sizeof(text) - p));
}

void base_json_number(struct base_json *j, const char *key, uint64_t n)
{
	put_number(j, key, n, false);
}

void base_json_int(struct base_json *j, const char *key, int64_t n)
{
	put_number(j, key, n < 0 ? 0 - (uint64_t)n : (uint64_t)n, n < 0);
}

void base_json_bool(struct base_json *j, const char *key, bool is_true)
{
	begin(j, key);
	base_buf_puts(j->out, is_true ? "true" : "false");
}

void base_json_null(struct base_json *j, const char *key)
{
	begin(j, key);
	base_buf_puts(j->out, "null");
}

void base_json_raw(struct base_json *j, const char *key, const char *json, size_t n)
{
	begin(j, key);
	base_buf_put(j->out, json, n);
}
