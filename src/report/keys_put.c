/*
 * keys_put.c - writes an object of JSON by the rows of its table (keys.h).
 */
#include "report/keys.h"

#include <string.h>

const char *rep_name_of(const struct rep_names *names, unsigned i)
{
	return names->of ? names->of(i) : names->list[i];
}

static uint64_t number_at(const void *at, size_t bytes)
{
	if (bytes == sizeof(uint64_t))
		return *(const uint64_t *)at;
	if (bytes == sizeof(uint32_t))
		return *(const uint32_t *)at;
	return bytes == sizeof(uint16_t) ? *(const uint16_t *)at : *(const uint8_t *)at;
}

uint64_t rep_key_number(const struct rep_key *k, const void *s)
{
	return number_at((const char *)s + k->at, k->bytes);
}

const char *rep_key_list(const struct rep_key *k, const void *s, size_t *n)
{
	const char *at = (const char *)s + k->at;

	*n = k->count_bytes ? (size_t)number_at((const char *)s + k->count_at, k->count_bytes) : 1;
	if (k->form == REP_FORM_ARRAY) {
		*n = k->arg ? k->arg : *n;
		return at;
	}
	return *(const char *const *)(const void *)at;
}

#define HEX_MOST 32 /* digits of 128 bits */

/* At least `digits` digits before `end`; where they begin. */
static char *hex_digits(char *end, uint64_t n, unsigned digits)
{
	for (unsigned i = 0; n || i < digits; i++) {
		*--end = "0123456789abcdef"[n & 15];
		n >>= 4;
	}
	return end;
}

static void hex_put(struct base_json *o, const struct rep_key *k, const void *at)
{
	bool is_wide = k->bytes > sizeof(uint64_t);
	uint64_t low = number_at(at, is_wide ? sizeof(uint64_t) : k->bytes);
	uint64_t high = is_wide ? ((const uint64_t *)at)[1] : 0;
	char text[2 + HEX_MOST + 1] = "", *p = text + 2 + HEX_MOST;

	p = hex_digits(p, low, high ? 16 : 1);
	p = hex_digits(p, high, 0);
	*--p = 'x';
	*--p = '0';
	base_json_text(o, k->name, p);
}

static void print_put(struct base_json *o, const char *key, uint64_t print)
{
	char text[16 + 1] = "";

	hex_digits(text + 16, print, 16);
	base_json_text(o, key, text);
}

static void dim_put(struct base_json *o, const char *key, const uint32_t dim[3])
{
	base_json_array(o, key);
	for (unsigned i = 0; i < 3; i++)
		base_json_number(o, NULL, dim[i]);
	base_json_array_end(o);
}

static void bits_put(struct base_json *o, const struct rep_key *k, uint64_t bits)
{
	base_json_array(o, k->name);
	for (unsigned i = 0; i < k->names->n; i++)
		if (bits >> i & 1)
			base_json_text(o, NULL, rep_name_of(k->names, i));
	base_json_array_end(o);
}

static void object_put(struct base_json *o, const char *key, const struct rep_object *d,
		       const void *s)
{
	base_json_object(o, key);
	rep_keys_put(o, d, s);
	base_json_object_end(o);
}

static void list_put(struct base_json *o, const struct rep_key *k, const void *s)
{
	size_t n;
	const char *v = rep_key_list(k, s, &n);

	base_json_array(o, k->name);
	for (size_t i = 0; i < n; i++) {
		if (k->form == REP_FORM_TEXTS)
			base_json_text(o, NULL, ((const char *const *)(const void *)v)[i]);
		else
			object_put(o, NULL, k->object, v + i * k->object->bytes);
	}
	base_json_array_end(o);
}

static void counters_put(struct base_json *o, unsigned place, const struct race_results *r)
{
	for (unsigned i = 0; i < RACE_COUNTERS_COUNT; i++) {
		const struct race_counter *c = &race_counters[i];
		uint64_t n = race_counter_get(r, (enum race_counter_id)i);

		if ((unsigned)c->place != place || (c->when == RACE_WHEN_NONZERO && !n) ||
		    (c->when == RACE_WHEN_HOST && !r->has_host))
			continue;
		if (c->when == RACE_WHEN_FLAG || c->when == RACE_WHEN_EXACT)
			base_json_bool(o, c->json, (n != 0) == (c->when == RACE_WHEN_FLAG));
		else
			base_json_number(o, c->json, n);
	}
}

static bool is_set(const struct rep_key *k, const void *s)
{
	size_t n;

	switch (k->form) {
	case REP_FORM_TEXT: {
		const char *text = *(const char *const *)(const void *)((const char *)s + k->at);
		return text && *text;
	}
	case REP_FORM_LIST:
	case REP_FORM_ARRAY:
	case REP_FORM_TEXTS:
		rep_key_list(k, s, &n);
		return n;
	case REP_FORM_POINTER:
		return *(const void *const *)(const void *)((const char *)s + k->at);
	case REP_FORM_FLAG:
		return rep_key_number(k, s) & k->arg;
	default:
		return rep_key_number(k, s);
	}
}

/* Forms that hold a value of one kind. */
static void plain_put(struct base_json *o, const struct rep_key *k, const void *s)
{
	const void *at = (const char *)s + k->at;

	switch (k->form) {
	case REP_FORM_TEXT: {
		const char *v = *(const char *const *)at;
		base_json_text(o, k->name, v ? v : "");
		break;
	}
	case REP_FORM_NUMBER:
		base_json_number(o, k->name, rep_key_number(k, s));
		break;
	case REP_FORM_INT:
		base_json_int(o, k->name, *(const int32_t *)at);
		break;
	case REP_FORM_BOOL:
	case REP_FORM_NOT:
		base_json_bool(o, k->name, !rep_key_number(k, s) == (k->form == REP_FORM_NOT));
		break;
	case REP_FORM_FLAG:
		base_json_bool(o, k->name, (rep_key_number(k, s) & k->arg) != 0);
		break;
	case REP_FORM_PRINT:
		print_put(o, k->name, *(const uint64_t *)at);
		break;
	case REP_FORM_NAME:
		base_json_text(o, k->name, rep_name_of(k->names, (unsigned)rep_key_number(k, s)));
		break;
	default:
		break;
	}
}

static void key_put(struct base_json *o, const struct rep_key *k, const void *s)
{
	const char *at = (const char *)s + k->at;

	switch (k->form) {
	case REP_FORM_CONST:
		base_json_text(o, k->name, k->shape);
		break;
	case REP_FORM_VERSION:
		base_json_number(o, k->name, REP_SCHEMA_VERSION);
		break;
	case REP_FORM_HEX:
		hex_put(o, k, at);
		break;
	case REP_FORM_DIM:
		dim_put(o, k->name, (const uint32_t *)(const void *)at);
		break;
	case REP_FORM_BITS:
		bits_put(o, k, rep_key_number(k, s));
		break;
	case REP_FORM_OBJECT:
		object_put(o, k->name, k->object, at);
		break;
	case REP_FORM_POINTER:
		at = *(const char *const *)(const void *)at + k->arg * k->object->bytes;
		object_put(o, k->name, k->object, at);
		break;
	case REP_FORM_LIST:
	case REP_FORM_ARRAY:
	case REP_FORM_TEXTS:
		list_put(o, k, s);
		break;
	case REP_FORM_COUNTS:
		for (unsigned i = 0; i < k->names->n; i++)
			base_json_number(o, rep_name_of(k->names, i),
					 ((const uint64_t *)(const void *)at)[i]);
		break;
	case REP_FORM_COUNTERS:
		counters_put(o, k->arg, s);
		break;
	case REP_FORM_WITHIN:
		rep_keys_put(o, k->object, k->bytes ? *(const void *const *)(const void *)at : s);
		break;
	case REP_FORM_MADE:
		k->put(o, k->name, s);
		break;
	default:
		plain_put(o, k, s);
	}
}

void rep_keys_put(struct base_json *o, const struct rep_object *d, const void *s)
{
	for (size_t i = 0; i < d->n; i++) {
		const struct rep_key *k = &d->keys[i];
		bool is_there =
			k->when == REP_ALWAYS || (k->when == REP_IF_SET ? is_set(k, s) : k->has(s));

		if (is_there)
			key_put(o, k, s);
		else if (k->when == REP_OR_NULL)
			base_json_null(o, k->name);
	}
}

void rep_line_put(struct base_buf *out, const struct rep_object *d, const void *s)
{
	struct base_json line = {.out = out};

	object_put(&line, NULL, d, s);
	base_buf_puts(out, "\n");
}
