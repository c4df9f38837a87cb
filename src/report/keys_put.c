/*
 * keys_put.c - writes an object of JSON by the rows of its table (keys.h).
 *
 * cJSON's numbers are doubles and print as such: numbers are written digit by digit.
 */
#include "report/keys.h"

#include <inttypes.h>
#include <string.h>

void rep_number_put(cJSON *o, const char *key, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, n);
	cJSON_AddRawToObject(o, key, text);
}

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

static void hex_put(cJSON *o, const struct rep_key *k, const void *at)
{
	bool is_wide = k->bytes > sizeof(uint64_t);
	uint64_t low = number_at(at, is_wide ? sizeof(uint64_t) : k->bytes);
	uint64_t high = is_wide ? ((const uint64_t *)at)[1] : 0;
	char text[40];

	if (high)
		snprintf(text, sizeof(text), "0x%" PRIx64 "%016" PRIx64, high, low);
	else
		snprintf(text, sizeof(text), "0x%" PRIx64, low);
	cJSON_AddStringToObject(o, k->name, text);
}

static void dim_put(cJSON *o, const char *key, const uint32_t dim[3])
{
	char text[48];

	snprintf(text, sizeof(text), "[%" PRIu32 ",%" PRIu32 ",%" PRIu32 "]", dim[0], dim[1],
		 dim[2]);
	cJSON_AddRawToObject(o, key, text);
}

static void bits_put(cJSON *o, const struct rep_key *k, uint64_t bits)
{
	cJSON *v = cJSON_AddArrayToObject(o, k->name);

	for (unsigned i = 0; i < k->names->n; i++)
		if (bits >> i & 1)
			cJSON_AddItemToArray(v, cJSON_CreateString(rep_name_of(k->names, i)));
}

static void list_put(cJSON *o, const struct rep_key *k, const void *s)
{
	cJSON *all = cJSON_AddArrayToObject(o, k->name);
	size_t n;
	const char *v = rep_key_list(k, s, &n);

	for (size_t i = 0; i < n; i++) {
		if (k->form == REP_FORM_TEXTS) {
			const char *text = ((const char *const *)(const void *)v)[i];
			cJSON_AddItemToArray(all, cJSON_CreateString(text));
			continue;
		}
		cJSON *e = cJSON_CreateObject();
		rep_keys_put(e, k->object, v + i * k->object->bytes);
		cJSON_AddItemToArray(all, e);
	}
}

static void counters_put(cJSON *o, unsigned place, const struct race_results *r)
{
	for (unsigned i = 0; i < RACE_COUNTERS_COUNT; i++) {
		const struct race_counter *c = &race_counters[i];
		uint64_t n = race_counter_get(r, (enum race_counter_id)i);

		if ((unsigned)c->place != place || (c->when == RACE_WHEN_NONZERO && !n) ||
		    (c->when == RACE_WHEN_HOST && !r->has_host))
			continue;
		if (c->when == RACE_WHEN_FLAG || c->when == RACE_WHEN_EXACT)
			cJSON_AddBoolToObject(o, c->json, (n != 0) == (c->when == RACE_WHEN_FLAG));
		else
			rep_number_put(o, c->json, n);
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
static void plain_put(cJSON *o, const struct rep_key *k, const void *s)
{
	const void *at = (const char *)s + k->at;
	char text[24];

	switch (k->form) {
	case REP_FORM_TEXT: {
		const char *v = *(const char *const *)at;
		cJSON_AddStringToObject(o, k->name, v ? v : "");
		break;
	}
	case REP_FORM_NUMBER:
		rep_number_put(o, k->name, rep_key_number(k, s));
		break;
	case REP_FORM_INT:
		snprintf(text, sizeof(text), "%" PRId32, *(const int32_t *)at);
		cJSON_AddRawToObject(o, k->name, text);
		break;
	case REP_FORM_BOOL:
	case REP_FORM_NOT:
		cJSON_AddBoolToObject(o, k->name,
				      !rep_key_number(k, s) == (k->form == REP_FORM_NOT));
		break;
	case REP_FORM_FLAG:
		cJSON_AddBoolToObject(o, k->name, (rep_key_number(k, s) & k->arg) != 0);
		break;
	case REP_FORM_PRINT:
		snprintf(text, sizeof(text), "%016" PRIx64, *(const uint64_t *)at);
		cJSON_AddStringToObject(o, k->name, text);
		break;
	case REP_FORM_NAME:
		cJSON_AddStringToObject(o, k->name,
					rep_name_of(k->names, (unsigned)rep_key_number(k, s)));
		break;
	default:
		break;
	}
}

static void key_put(cJSON *o, const struct rep_key *k, const void *s)
{
	const char *at = (const char *)s + k->at;

	switch (k->form) {
	case REP_FORM_CONST:
		cJSON_AddStringToObject(o, k->name, k->shape);
		break;
	case REP_FORM_VERSION:
		rep_number_put(o, k->name, REP_SCHEMA_VERSION);
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
		rep_keys_put(cJSON_AddObjectToObject(o, k->name), k->object, at);
		break;
	case REP_FORM_POINTER:
		at = *(const char *const *)(const void *)at + k->arg * k->object->bytes;
		rep_keys_put(cJSON_AddObjectToObject(o, k->name), k->object, at);
		break;
	case REP_FORM_LIST:
	case REP_FORM_ARRAY:
	case REP_FORM_TEXTS:
		list_put(o, k, s);
		break;
	case REP_FORM_COUNTS:
		for (unsigned i = 0; i < k->names->n; i++)
			rep_number_put(o, rep_name_of(k->names, i),
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

void rep_keys_put(cJSON *o, const struct rep_object *d, const void *s)
{
	for (size_t i = 0; i < d->n; i++) {
		const struct rep_key *k = &d->keys[i];
		bool is_there =
			k->when == REP_ALWAYS || (k->when == REP_IF_SET ? is_set(k, s) : k->has(s));

		if (is_there)
			key_put(o, k, s);
		else if (k->when == REP_OR_NULL)
			cJSON_AddNullToObject(o, k->name);
	}
}

#define LINE 4096 /* bytes of most lines, at most */

void rep_line_put(struct base_buf *out, const struct rep_object *d, const void *s)
{
	cJSON *o = cJSON_CreateObject();

	rep_keys_put(o, d, s);
	char *text = cJSON_PrintBuffered(o, LINE, false);
	if (text) {
		base_buf_puts(out, text);
		base_buf_puts(out, "\n");
	}
	cJSON_free(text);
	rep_trees_drop(o);
}
