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

	while ((unsigned char)s[n] >= ' ' && (unsigned char)s[n] < 0x80 && s[n] != '"' &&
	       s[n] != '\\')
		n++;
	return n;
}

/* Writes what stands for the character at s; returns how many bytes that is. *taken: of s. */
static size_t escape(char *out, const char *s, size_t *taken)
{
	static const char digits[] = "0123456789abcdef";
	static const char names[] = {['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r',
				     ['\t'] = 't', ['"'] = '"',	 ['\\'] = '\\'};
	unsigned char c = (unsigned char)*s;

	*taken = 1;
	if (c >= 0x80) {
		size_t n = base_utf8_length((const unsigned char *)s, strnlen(s, 4));
		if (!n) {
			memcpy(out, "\\ufffd", 6);
			return 6;
		}
		memcpy(out, s, n);
		*taken = n;
		return n;
	}
	out[0] = '\\';
	if (names[c]) {
		out[1] = names[c];
		return 2;
	}
	memcpy(out + 1, "u00", 3);
	out[4] = digits[c >> 4];
	out[5] = digits[c & 15];
	return 6;
}

size_t base_json_quoted_most(const char *text)
{
	return 6 * strlen(text) + 2;
}

size_t base_json_quoted(char *out, const char *text)
{
	char *p = out;
	size_t n;

	*p++ = '"';
	for (const char *s = text;; s += n) {
		n = plain(s);
		memcpy(p, s, n);
		p += n;
		s += n;
		if (!*s)
			break;
		p += escape(p, s, &n);
	}
	*p++ = '"';
	return (size_t)(p - out);
}

static void quote(struct base_buf *out, const char *s)
{
	base_buf_room(out, base_json_quoted_most(s) + 1);
	out->n += base_json_quoted(out->p + out->n, s);
	out->p[out->n] = 0;
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
