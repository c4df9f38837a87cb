/*
 * json_get.h - private to src/report: a saved report that is read back, and what an object of it
 * has under a key: 0 or "" where the key is missing or its value of another type.
 */
#ifndef COLLIDER_REPORT_JSON_GET_H
#define COLLIDER_REPORT_JSON_GET_H

#include <cjson/cJSON.h>
#include <string.h>

#include "report/internal.h"

struct saved {
	const char *path;
	struct race_results *r;
	struct base_sink *sink;
	uint32_t line;
	bool has_header, has_summary;
};

static inline const char *str_get(struct saved *s, const cJSON *o, const char *key)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);

	return cJSON_IsString(v) ? race_text(&s->r->arena, v->valuestring, strlen(v->valuestring))
				 : "";
}

static inline uint64_t count_get(const cJSON *o, const char *key)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
	double d = cJSON_IsNumber(v) ? v->valuedouble : 0;

	/* The bound is 2^64 as a double; NaN compares false. */
	return d > 0 && d < 18446744073709551616.0 ? (uint64_t)d : 0;
}

static inline uint32_t small_get(const cJSON *o, const char *key)
{
	uint64_t n = count_get(o, key);

	return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static inline bool bool_get(const cJSON *o, const char *key)
{
	return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, key));
}

/* "0x..." of up to 32 digits. */
static inline void hex_get(const cJSON *o, const char *key, uint64_t *high, uint64_t *low)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
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

static inline uint64_t hex_get64(const cJSON *o, const char *key)
{
	uint64_t high, low;

	hex_get(o, key, &high, &low);
	return low;
}

static inline void dim_get(const cJSON *o, const char *key, uint32_t dim[3])
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);

	for (int i = 0; i < 3; i++) {
		const cJSON *e = cJSON_GetArrayItem(v, i);
		double d = cJSON_IsNumber(e) ? e->valuedouble : 0;
		dim[i] = d > 0 && d <= UINT32_MAX ? (uint32_t)d : 0;
	}
}

static inline void context_get(struct saved *s, const cJSON *o, struct race_context *c)
{
	const cJSON *device = cJSON_GetObjectItemCaseSensitive(o, "device");

	c->pid = small_get(o, "pid");
	c->context = small_get(o, "context");
	c->device = cJSON_IsNumber(device) ? device->valueint : 0;
	c->device_name = str_get(s, o, "device_name");
}

/* json_finding.c: a line of a finding, into s->r. False: it isn't one. */
bool rep_json_finding(struct saved *s, const cJSON *o);

#endif
