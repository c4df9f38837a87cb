/*
 * coverage.c - the file that says which sites were ever checked, over runs (--coverage).
 *
 * JSON, one object: "runs" and, for each site table (named by its content hash, so that a changed
 * source is a new one), two strings of one character per site: is it the first of its group, was it
 * checked. Merging is an or; tables of modules that are no longer built stay until the file is
 * deleted. Misses: a group whose place in the map is shared by another chosen group.
 */
#include "report/internal.h"
#include "race/site/sample.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool is_bits(const char *s, size_t n)
{
	return s && strlen(s) == n && strspn(s, "01") == n;
}

static const char *text_of(const cJSON *o, const char *key)
{
	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, key));
}

static bool read_table(struct rep_coverage *c, const cJSON *o)
{
	const char *name = text_of(o, "table"), *module = text_of(o, "module");
	const char *leads = text_of(o, "leads"), *checked = text_of(o, "checked");
	const char *target = text_of(o, "target");
	size_t n = leads ? strlen(leads) : 0;
	struct race_coverage t = {0};
	char *end;

	if (!name || n > RACE_WHAT_SITES || !is_bits(leads, n) || !is_bits(checked, n))
		return false;
	t.table = strtoull(name, &end, 16);
	if (*end)
		return false;
	t.module = base_strdup(&c->arena, module ? module : "");
	t.target = base_strdup(&c->arena, target ? target : "");
	t.nsites = (uint32_t)n;
	t.leads = base_alloc(&c->arena, n + 1);
	t.checked = base_alloc(&c->arena, n + 1);
	for (size_t i = 0; i < n; i++) {
		t.leads[i] = leads[i] == '1';
		t.checked[i] = checked[i] == '1';
	}
	base_vec_push(&c->tables, t);
	return true;
}

int rep_coverage_read(struct rep_coverage *c, const char *path, struct base_sink *sink)
{
	char *text = NULL;
	size_t size = 0;
	int err = base_read_file(path, &text, &size);

	if (err == ENOENT)
		return 0;
	cJSON *root = err ? NULL : cJSON_ParseWithLength(text, size);
	const cJSON *runs = cJSON_GetObjectItemCaseSensitive(root, "runs"), *o;
	const cJSON *tables = cJSON_GetObjectItemCaseSensitive(root, "tables");
	bool is_good = cJSON_IsNumber(runs) && cJSON_IsArray(tables);

	if (is_good)
		c->runs = (uint32_t)runs->valuedouble;
	cJSON_ArrayForEach(o, tables) is_good = is_good && read_table(c, o);
	cJSON_Delete(root);
	free(text);
	if (is_good)
		return 0;
	base_report(sink, BASE_ERROR, path, (struct base_span){0, 0},
		    err ? "%s" : "found something else, expected a file that --coverage wrote",
		    err ? base_file_error(err) : "");
	return BASE_EXIT_INPUT;
}

void rep_coverage_add(struct rep_coverage *c, const struct race_results *r)
{
	for (size_t i = 0; i < r->coverage.n; i++) {
		const struct race_coverage *n = &r->coverage.v[i];
		struct race_coverage *t = NULL;
		for (size_t k = 0; k < c->tables.n && !t; k++)
			if (c->tables.v[k].table == n->table && c->tables.v[k].nsites == n->nsites)
				t = &c->tables.v[k];
		if (!t) {
			base_vec_push(&c->tables, *n);
			continue;
		}
		for (uint32_t s = 0; s < n->nsites; s++)
			t->checked[s] |= n->checked[s];
	}
	c->runs++;
}

static void put_bits(cJSON *o, const char *key, const unsigned char *bits, uint32_t n)
{
	char *s = malloc(n + 1u);

	for (uint32_t i = 0; s && i < n; i++)
		s[i] = bits[i] ? '1' : '0';
	if (s)
		s[n] = 0;
	cJSON_AddStringToObject(o, key, s ? s : "");
	free(s);
}

int rep_coverage_write(const struct rep_coverage *c, const char *path)
{
	cJSON *root = cJSON_CreateObject(), *tables;
	char name[24];

	cJSON_AddNumberToObject(root, "runs", c->runs);
	tables = cJSON_AddArrayToObject(root, "tables");
	for (size_t i = 0; i < c->tables.n; i++) {
		const struct race_coverage *t = &c->tables.v[i];
		cJSON *o = cJSON_CreateObject();
		snprintf(name, sizeof(name), "%016" PRIx64, t->table);
		cJSON_AddStringToObject(o, "table", name);
		cJSON_AddStringToObject(o, "module", t->module);
		cJSON_AddStringToObject(o, "target", t->target);
		put_bits(o, "leads", t->leads, t->nsites);
		put_bits(o, "checked", t->checked, t->nsites);
		cJSON_AddItemToArray(tables, o);
	}
	char *text = cJSON_Print(root);
	int err = text ? base_write_file(path, text, strlen(text)) : ENOMEM;
	cJSON_free(text);
	cJSON_Delete(root);
	return err;
}

static uint32_t count_checked(const struct race_coverage *t)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->nsites; i++)
		n += t->checked[i];
	return n;
}

void rep_coverage_say(const struct rep_coverage *c, bool has_modules, struct base_buf *out)
{
	uint64_t checked = 0, all = 0;

	for (size_t i = 0; i < c->tables.n; i++) {
		const struct race_coverage *t = &c->tables.v[i];
		uint32_t n = count_checked(t);
		checked += n;
		all += t->nsites;
		if (has_modules)
			base_buf_printf(out, "  %u of %u in %s (%s)\n", n, t->nsites,
					*t->module ? t->module : "?", t->target);
	}
	struct base_arena a = {0};
	base_buf_printf(out, "checked %" PRIu64 " of %" PRIu64 " %s in %" PRIu32 " %s\n", checked,
			all, rep_noun(&a, all, "site"), c->runs, rep_noun(&a, c->runs, "run"));
	base_arena_free(&a);
}

uint32_t rep_coverage_limit(const struct rep_coverage *c, uint32_t sites, uint32_t seed)
{
	struct race_sample s = {0};

	for (size_t i = 0; i < c->tables.n; i++)
		race_sample_add(&s, c->tables.v[i].table, c->tables.v[i].leads,
				c->tables.v[i].nsites, seed);
	uint32_t limit = s.n ? race_sample_limit(&s, sites) : 0;
	race_sample_free(&s);
	return limit;
}

void rep_coverage_free(struct rep_coverage *c)
{
	base_vec_free(&c->tables);
	base_arena_free(&c->arena);
}
