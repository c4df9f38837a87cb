/*
 * prove_launches.c - reads the launches that collider run --record-launches wrote (prove.h).
 *
 * A line for each launch: {"kernel":...,"block":[x,y,z],"grid":[x,y,z],"params":[{"offset":...,
 * "bytes":...,"value":...}]}, a pointer with "array" (its number in this launch), "at", "size" and,
 * of elements of 4 and of 8 bytes, what the array holds (race/contents.h); and {"ptx":...} for each
 * text that kernels come from.
 */
#include "cli/prove.h"
#include "ptx/ptx.h"

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

/* Could the word be an address in none of the first `n` arrays? */
static bool is_other(const struct prove_word *w, uint32_t n)
{
	return w->bytes == 8 && (!w->array || w->array > n) && w->value >> 32 && !(w->value >> 57);
}

/* Pointers into no array that the recorder knew: just past the end of one, or equal to each other.
 * A recording of before has no arrays: there equal numbers are one. */
static void find_others(struct prove_word *w, const uint64_t *end, uint32_t n, bool has_arrays)
{
	uint32_t last = 0;

	for (uint32_t i = 0; i < n; i++)
		last = w[i].array > last ? w[i].array : last;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < n && is_other(&w[i], last); k++)
			if (end[k] == w[i].value) {
				w[i].array = w[k].array;
				w[i].at = w[i].value - (w[k].value - w[k].at);
			}
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < i; k++)
			if (w[i].bytes == 8 && w[k].bytes == 8 && w[i].value &&
			    w[i].value == w[k].value &&
			    (!has_arrays || (is_other(&w[i], last) && is_other(&w[k], last)))) {
				w[i].array = w[k].array = last + k + 1;
				break;
			}
}

/* So many elements, by their sizes: those that there are, or fewer. */
static void read_elements(const cJSON *a, uint64_t left, uint64_t *to)
{
	for (int s = 0; s < RACE_CONTENTS_SIZES; s++) {
		const cJSON *n = cJSON_GetArrayItem(a, s);
		uint64_t all = left / race_contents_bytes((enum race_contents_size)s);
		if (!cJSON_IsNumber(n) || n->valuedouble < 1)
			continue;
		to[s] = n->valuedouble < (double)all ? (uint64_t)n->valuedouble
						     : PROVE_ALL_ELEMENTS;
	}
}

/* Bounds of elements. cJSON's numbers are doubles: of 8 bytes those are taken that they hold. */
static bool read_bounds(const cJSON *p, int s, struct race_contents *to)
{
	const cJSON *least = cJSON_GetArrayItem(cJSON_GetObjectItem(p, "least"), s);
	const cJSON *most = cJSON_GetArrayItem(cJSON_GetObjectItem(p, "most"), s);
	const double whole = 9007199254740992.0; /* 2^53 */

	if (!cJSON_IsNumber(least) || !cJSON_IsNumber(most) || least->valuedouble <= -whole ||
	    most->valuedouble >= whole || most->valuedouble < least->valuedouble)
		return false;
	to->least[s] = (int64_t)least->valuedouble;
	to->most[s] = (int64_t)most->valuedouble;
	return true;
}

static void read_contents(const cJSON *p, struct prove_word *to)
{
	const cJSON *size = cJSON_GetObjectItem(p, "size");
	double left = cJSON_IsNumber(size) ? size->valuedouble - (double)to->at : 0;

	if (left < 1)
		return;
	read_elements(cJSON_GetObjectItem(p, "sorted"), (uint64_t)left, to->holds.sorted);
	read_elements(cJSON_GetObjectItem(p, "injective"), (uint64_t)left, to->holds.injective);
	read_elements(cJSON_GetObjectItem(p, "within"), (uint64_t)left, to->holds.within);
	for (int s = 0; s < RACE_CONTENTS_SIZES; s++)
		if (!read_bounds(p, s, &to->holds))
			to->holds.within[s] = 0;
}

static bool read_words(const char *line, const cJSON *params, struct prove_launch *l,
		       struct base_arena *a)
{
	struct prove_word *w = BASE_NEWN(a, struct prove_word, cJSON_GetArraySize(params) + 1);
	uint64_t *end = BASE_NEWN(a, uint64_t, cJSON_GetArraySize(params) + 1);
	bool has_arrays = false;
	const cJSON *p;

	cJSON_ArrayForEach(p, params)
	{
		const cJSON *off = cJSON_GetObjectItem(p, "offset");
		const cJSON *bytes = cJSON_GetObjectItem(p, "bytes");
		const cJSON *array = cJSON_GetObjectItem(p, "array");
		const cJSON *at = cJSON_GetObjectItem(p, "at");
		const cJSON *size = cJSON_GetObjectItem(p, "size");
		if (!cJSON_IsNumber(off) || !cJSON_IsNumber(bytes) || off->valuedouble < 0 ||
		    bytes->valuedouble > 8 || bytes->valuedouble < 1)
			return false;
		struct prove_word *to = &w[l->nwords];
		to->off = (uint64_t)off->valuedouble;
		to->bytes = (uint64_t)bytes->valuedouble;
		to->value = whole(line, "\"value\":", l->nwords++);
		if (!cJSON_IsNumber(array) || array->valuedouble < 1)
			continue;
		to->array = (uint32_t)array->valuedouble;
		to->at = cJSON_IsNumber(at) ? (uint64_t)at->valuedouble : 0;
		read_contents(p, to);
		if (cJSON_IsNumber(size))
			end[l->nwords - 1] = to->value - to->at + (uint64_t)size->valuedouble;
		has_arrays = true;
	}
	find_others(w, end, l->nwords, has_arrays);
	l->word = w;
	return true;
}

static bool read_launch(const char *line, const cJSON *o, struct prove_launch *l,
			struct base_arena *a)
{
	const cJSON *kernel = cJSON_GetObjectItem(o, "kernel");
	const cJSON *params = cJSON_GetObjectItem(o, "params");

	if (!cJSON_IsString(kernel) || !cJSON_IsArray(params) ||
	    !read_three(cJSON_GetObjectItem(o, "block"), l->dim) ||
	    !read_three(cJSON_GetObjectItem(o, "grid"), l->dim + 3))
		return false;
	l->kernel = base_strdup(a, kernel->valuestring);
	return read_words(line, params, l, a);
}

int prove_read_launches(const char *path, struct prove_options *o, struct prove_texts *texts,
			struct base_arena *a)
{
	BASE_VEC(struct prove_launch) v = {0};
	char *text, *rest;
	size_t size, line_no = 0;
	int err = base_read_file(path, &text, &size), rc = 0;

	if (err) {
		base_say("error: --launches: %s: %s", path, base_file_error(err));
		return BASE_EXIT_INPUT;
	}
	rest = text;
	for (char *line = strsep(&rest, "\n"); line && !rc; line = strsep(&rest, "\n")) {
		struct prove_launch l = {0};
		line_no++;
		if (!*line)
			continue;
		cJSON *json = cJSON_Parse(line);
		const cJSON *ptx = cJSON_GetObjectItem(json, "ptx");
		if (cJSON_IsString(ptx)) {
			if (texts)
				base_vec_push(texts, base_strdup(a, ptx->valuestring));
		} else if (read_launch(line, json, &l, a)) {
			base_vec_push(&v, l);
		} else {
			base_say("error: %s:%zu: expected a launch as collider run "
				 "--record-launches writes it",
				 path, line_no);
			rc = BASE_EXIT_INPUT;
		}
		cJSON_Delete(json);
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

/* ---- kernels of one name --------------------------------------------------------------------- */

static bool is_defined_at(const char *text, const char *name)
{
	static const char directive[] = "entry";
	size_t n = strlen(directive);

	while (name > text && (name[-1] == ' ' || name[-1] == '\t'))
		name--;
	return (size_t)(name - text) > n && !memcmp(name - n, directive, n);
}

/* The kernel's definition from its name on; empty: the text has none. */
static struct ptx_str body_of(const char *text, const char *kernel)
{
	size_t n = strlen(kernel);

	for (const char *p = text; (p = strstr(p, kernel)) != NULL; p += n) {
		if (!is_defined_at(text, p) || !strchr("( \t\n", p[n]))
			continue;
		const char *end = strstr(p, "\n}");
		return (struct ptx_str){p, end ? (uint32_t)(end - p) : (uint32_t)strlen(p)};
	}
	return (struct ptx_str){NULL, 0};
}

/* Takes the next line that isn't empty, a comment or a .loc: files have other numbers elsewhere. */
static struct ptx_str next_line(struct ptx_str *s)
{
	while (s->n) {
		const char *end = memchr(s->p, '\n', s->n);
		struct ptx_str line = {s->p, end ? (uint32_t)(end - s->p) : s->n};
		s->n -= line.n + (end != NULL);
		s->p += line.n + (end != NULL);
		while (line.n && (*line.p == ' ' || *line.p == '\t'))
			line = (struct ptx_str){line.p + 1, line.n - 1};
		if (line.n && strncmp(line.p, "//", 2) != 0 && strncmp(line.p, ".loc", 4) != 0)
			return line;
	}
	return (struct ptx_str){NULL, 0};
}

static bool is_same_body(struct ptx_str a, struct ptx_str b)
{
	struct ptx_str x, y;

	do {
		x = next_line(&a);
		y = next_line(&b);
	} while (x.n && x.n == y.n && !memcmp(x.p, y.p, x.n));
	return !x.n && !y.n;
}

bool prove_has_namesake(const struct prove_texts *texts, const char *kernel)
{
	struct ptx_str first = {NULL, 0};

	for (size_t i = 0; i < texts->n; i++) {
		struct ptx_str body = body_of(texts->v[i], kernel);
		if (body.n && first.n && !is_same_body(first, body))
			return true;
		first = first.n ? first : body;
	}
	return false;
}
