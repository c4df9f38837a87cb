/*
 * prove_launches.c - reads the launches that collider run --record-launches wrote (prove.h).
 *
 * A line for each launch: {"kernel":...,"block":[x,y,z],"grid":[x,y,z],"params":[{"offset":...,
 * "bytes":...,"value":...}]}.
 */
#include "cli/prove.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool read_three(const cJSON *a, uint32_t *to)
{
	for (int d = 0; d < 3; d++) {
		const cJSON *n = cJSON_GetArrayItem(a, d);
		if (!cJSON_IsNumber(n) || n->valuedouble < 1 || n->valuedouble > INT32_MAX)
			return false;
		to[d] = (uint32_t)n->valuedouble;
	}
	return true;
}

/* The digits themselves: cJSON's numbers are doubles. */
static uint64_t whole(const char *line, const char *from, unsigned nth)
{
	const char *p = line;

	for (unsigned i = 0; p && i <= nth; i++) {
		p = strstr(p, from);
		p = p ? p + strlen(from) : NULL;
	}
	return p ? strtoull(p, NULL, 10) : 0;
}

static bool read_launch(const char *line, struct prove_launch *l, struct base_arena *a)
{
	cJSON *o = cJSON_Parse(line);
	const cJSON *kernel = cJSON_GetObjectItem(o, "kernel");
	const cJSON *params = cJSON_GetObjectItem(o, "params"), *p;
	bool ok = cJSON_IsString(kernel) && cJSON_IsArray(params) &&
		  read_three(cJSON_GetObjectItem(o, "block"), l->dim) &&
		  read_three(cJSON_GetObjectItem(o, "grid"), l->dim + 3);

	if (ok)
		l->kernel = base_strdup(a, kernel->valuestring);
	cJSON_ArrayForEach(p, params)
	{
		const cJSON *off = cJSON_GetObjectItem(p, "offset");
		const cJSON *bytes = cJSON_GetObjectItem(p, "bytes");
		ok = ok && cJSON_IsNumber(off) && cJSON_IsNumber(bytes) &&
		     bytes->valuedouble <= 8 && bytes->valuedouble >= 1 && off->valuedouble >= 0;
		if (!ok || l->nparams == BASE_COUNTOF(l->param))
			break;
		struct race_alarm_param *to = &l->param[l->nparams];
		to->off = (uint64_t)off->valuedouble;
		to->bytes = (uint32_t)bytes->valuedouble;
		to->value = whole(line, "\"value\":", l->nparams++);
	}
	cJSON_Delete(o);
	return ok;
}

int prove_read_launches(const char *path, struct prove_options *o, struct base_arena *a)
{
	BASE_VEC(struct prove_launch) v = {0};
	char *text, *rest;
	size_t size, line_no = 0;
	int err = base_read_file(path, &text, &size), rc = 0;

	if (err) {
		base_say("error: --launches: %s: %s", path, strerror(err));
		return BASE_EXIT_INPUT;
	}
	rest = text;
	for (char *line = strsep(&rest, "\n"); line && !rc; line = strsep(&rest, "\n")) {
		struct prove_launch l = {0};
		line_no++;
		if (!*line)
			continue;
		if (read_launch(line, &l, a)) {
			base_vec_push(&v, l);
		} else {
			base_say("error: %s:%zu: expected a launch as collider run "
				 "--record-launches writes it",
				 path, line_no);
			rc = BASE_EXIT_INPUT;
		}
	}
	struct prove_launch *out = base_alloc(a, (v.n + 1) * sizeof(*out));
	if (v.n)
		memcpy(out, v.v, v.n * sizeof(*out));
	o->launches = out;
	o->nlaunches = v.n;
	base_vec_free(&v);
	free(text);
	return rc;
}
