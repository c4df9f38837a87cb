/*
 * keys_get.c - reads an object of JSON by the rows of its table (keys.h).
 */
#include "report/keys.h"

#include <stdlib.h>
#include <string.h>

uint64_t rep_number_get(const cJSON *v)
{
	double d = cJSON_IsNumber(v) ? v->valuedouble : 0;

	/* The bound is 2^64 as a double; NaN compares false. */
	return d > 0 && d < 18446744073709551616.0 ? (uint64_t)d : 0;
}

static const char *text_get(struct base_arena *a, const cJSON *v)
{
	return cJSON_IsString(v) ? race_text(a, v->valuestring, strlen(v->valuestring)) : "";
}

/* What doesn't fit is the largest that does. */
static void number_set(void *at, size_t bytes, uint64_t n)
{
	if (bytes == sizeof(uint64_t))
		*(uint64_t *)at = n;
	else if (bytes == sizeof(uint32_t))
		*(uint32_t *)at = n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
	else if (bytes == sizeof(uint16_t))
		*(uint16_t *)at = n > UINT16_MAX ? UINT16_MAX : (uint16_t)n;
	else
		*(uint8_t *)at = n > UINT8_MAX ? UINT8_MAX : (uint8_t)n;
}

/* "0x..." of up to 32 digits. */
static void hex_get(const cJSON *v, uint64_t *high, uint64_t *low)
{
	const char *p = cJSON_IsString(v) ? v->valuestring : "";

	*high = *low = 0;
	if (strncmp(p, "0x", 2))
		return;
	for (p += 2; *p; p++) {
		unsigned c = (unsigned char)*p, digit;
		if (c >= '0' && c <= '9')
			digit = c - '0';
		else if (c >= 'a' && c <= 'f')
			digit = c - 'a' + 10;
		else
			return;
		*high = *high << 4 | *low >> 60;
		*low = *low << 4 | digit;
	}
}

static void dim_get(const cJSON *v, uint32_t dim[3])
{
	for (int i = 0; i < 3; i++) {
		const cJSON *e = cJSON_GetArrayItem(v, i);
		double d = cJSON_IsNumber(e) ? e->valuedouble : 0;
		dim[i] = d > 0 && d <= UINT32_MAX ? (uint32_t)d : 0;
	}
}

/* The number of a name; 0: there is none. */
static unsigned name_find(const struct rep_names *names, const char *name)
{
	for (unsigned i = names->first; i < names->n; i++)
		if (!strcmp(name, rep_name_of(names, i)))
			return i;
	return 0;
}

static uint64_t bits_get(const struct rep_names *names, const cJSON *v)
{
	const cJSON *e;
	uint64_t bits = 0;

	cJSON_ArrayForEach(e, v)
	{
		for (unsigned i = 0; cJSON_IsString(e) && i < names->n; i++)
			if (!strcmp(e->valuestring, rep_name_of(names, i)))
				bits |= 1ull << i;
	}
	return bits;
}

/* Room as for arrays that grow by one: a power of two. */
static size_t room_of(size_t n)
{
	size_t room = 1;

	while (room < n)
		room *= 2;
	return room;
}

static void list_get(struct base_arena *a, const struct rep_key *k, const cJSON *v, void *s)
{
	size_t n = v ? (size_t)cJSON_GetArraySize(v) : 0, i = 0;
	size_t bytes = k->form == REP_FORM_TEXTS ? sizeof(const char *) : k->object->bytes;
	char *all = n ? base_zalloc(a, room_of(n) * bytes) : NULL;
	const cJSON *e;

	cJSON_ArrayForEach(e, v)
	{
		char *at = all + bytes * i++;
		if (k->form == REP_FORM_TEXTS)
			*(const char **)(void *)at = text_get(a, e);
		else
			rep_keys_get(a, e, k->object, at);
	}
	*(char **)(void *)((char *)s + k->at) = all;
	number_set((char *)s + k->count_at, k->count_bytes, n);
}

static void counters_get(const cJSON *o, unsigned place, struct race_results *r)
{
	for (unsigned i = 0; i < RACE_COUNTERS_COUNT; i++) {
		const struct race_counter *c = &race_counters[i];
		const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, c->json);
		uint64_t n = rep_number_get(v);

		if ((unsigned)c->place != place)
			continue;
		if (c->when == RACE_WHEN_EXACT)
			n = (c->missing && !cJSON_IsTrue(v)) || (!c->missing && cJSON_IsFalse(v));
		else if (c->when == RACE_WHEN_FLAG)
			n = cJSON_IsTrue(v) != 0;
		else if (c->bytes == sizeof(uint32_t) && n > UINT32_MAX)
			n = UINT32_MAX;
		race_counter_add(r, (enum race_counter_id)i, n);
	}
}

static void pointer_get(struct base_arena *a, const struct rep_key *k, const cJSON *v, void *s)
{
	char **at = (char **)(void *)((char *)s + k->at);

	if (k->when == REP_IF_SET && !cJSON_IsObject(v))
		return;
	/* Elements of one array are rows of their own, the first one first. */
	if (!k->arg)
		*at = base_zalloc(a, 2 * k->object->bytes);
	if (*at)
		rep_keys_get(a, v, k->object, *at + k->arg * k->object->bytes);
}

static void key_get(struct base_arena *a, const struct rep_key *k, const cJSON *o, const cJSON *v,
		    void *s)
{
	char *at = (char *)s + k->at;
	uint64_t high, low;

	switch (k->form) {
	case REP_FORM_TEXT:
		*(const char **)(void *)at =
			k->when == REP_IF_SET && !cJSON_IsString(v) ? NULL : text_get(a, v);
		break;
	case REP_FORM_NUMBER:
		number_set(at, k->bytes, rep_number_get(v));
		break;
	case REP_FORM_INT:
		*(int32_t *)(void *)at = cJSON_IsNumber(v) ? v->valueint : 0;
		break;
	case REP_FORM_BOOL:
	case REP_FORM_NOT:
		number_set(at, k->bytes,
			   (k->form == REP_FORM_NOT ? cJSON_IsFalse(v) : cJSON_IsTrue(v)) != 0);
		break;
	case REP_FORM_FLAG:
		number_set(at, k->bytes, rep_key_number(k, s) | (cJSON_IsTrue(v) ? k->arg : 0));
		break;
	case REP_FORM_HEX:
		hex_get(v, &high, &low);
		if (k->bytes > sizeof(low)) {
			((uint64_t *)(void *)at)[0] = low;
			((uint64_t *)(void *)at)[1] = high;
		} else {
			number_set(at, k->bytes, low);
		}
		break;
	case REP_FORM_PRINT:
		*(uint64_t *)(void *)at =
			cJSON_IsString(v) ? strtoull(v->valuestring, NULL, 16) : 0;
		break;
	case REP_FORM_DIM:
		dim_get(v, (uint32_t *)(void *)at);
		break;
	case REP_FORM_NAME:
		number_set(at, k->bytes,
			   cJSON_IsString(v) ? name_find(k->names, v->valuestring) : 0);
		break;
	case REP_FORM_BITS:
		number_set(at, k->bytes, bits_get(k->names, v));
		break;
	case REP_FORM_OBJECT:
		rep_keys_get(a, v, k->object, at);
		break;
	case REP_FORM_POINTER:
		pointer_get(a, k, v, s);
		break;
	case REP_FORM_LIST:
	case REP_FORM_TEXTS:
		list_get(a, k, v, s);
		break;
	case REP_FORM_COUNTS:
		for (unsigned i = 0; i < k->names->n; i++)
			((uint64_t *)(void *)at)[i] = rep_number_get(
				cJSON_GetObjectItemCaseSensitive(o, rep_name_of(k->names, i)));
		break;
	case REP_FORM_COUNTERS:
		counters_get(o, k->arg, s);
		break;
	case REP_FORM_MADE:
		if (k->get)
			k->get(a, v, s);
		break;
	default: /* the schema's own; nothing that is read back has arrays within a struct */
		break;
	}
}

/* The key's value. It is mostly the next one, as what we write has the order of the table. */
static const cJSON *find_from(const cJSON *o, const cJSON *next, const char *name)
{
	return next && next->string && !strcmp(next->string, name)
		       ? next
		       : cJSON_GetObjectItemCaseSensitive(o, name);
}

void rep_keys_get(struct base_arena *a, const cJSON *o, const struct rep_object *d, void *s)
{
	const cJSON *next = cJSON_IsObject(o) ? o->child : NULL;

	for (size_t i = 0; i < d->n; i++) {
		const struct rep_key *k = &d->keys[i];
		const cJSON *v = k->name ? find_from(o, next, k->name) : NULL;

		next = v ? v->next : next;
		key_get(a, k, o, v, s);
	}
}
