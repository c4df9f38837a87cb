/*
 * json.h - writes JSON as it goes, into a buffer: no tree is made of it.
 *
 * The caller opens and closes objects and arrays in the order of the text. A key of NULL is an
 * element of an array, or the value that is a whole text; nothing in a key needs an escape. Nothing
 * here fails (base_buf's memory doesn't).
 */
#ifndef COLLIDER_BASE_JSON_H
#define COLLIDER_BASE_JSON_H

#include "base/base.h"

/* A text that is being written: {.out = buffer} begins one. */
struct base_json {
	struct base_buf *out;
	bool has_any; /* within the innermost object or array: the next one needs a comma */
};

/* Each closes the innermost one that is open. */
void base_json_object(struct base_json *j, const char *key);
void base_json_object_end(struct base_json *j);
void base_json_array(struct base_json *j, const char *key);
void base_json_array_end(struct base_json *j);

/* Escapes what JSON wants escaped; what is no UTF-8 becomes U+FFFD. NULL: neither key nor value. */
void base_json_text(struct base_json *j, const char *key, const char *text);
/* All 64 bits, in decimal. */
void base_json_number(struct base_json *j, const char *key, uint64_t n);
void base_json_int(struct base_json *j, const char *key, int64_t n);
void base_json_bool(struct base_json *j, const char *key, bool is_true);
void base_json_null(struct base_json *j, const char *key);
/* n bytes that are JSON already. */
void base_json_raw(struct base_json *j, const char *key, const char *json, size_t n);

/* The text as a value, with its quotes and without a NUL, into at least base_json_quoted_most
 * bytes; returns how many there are. Allocates nothing. */
size_t base_json_quoted(char *out, const char *text);
size_t base_json_quoted_most(const char *text);

#endif
