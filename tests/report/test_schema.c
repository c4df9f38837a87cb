/*
 * test_schema.c - docs/report.schema.json and docs/proof.schema.json have the names of our tables,
 * and no others.
 */
#include "race/proof/proof.h"
#include "race/race.h"
#include "report/internal.h"

#include <cjson/cJSON.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static cJSON *schema_read(const char *name)
{
	char path[4096], *text;
	FILE *in;
	long n;

	snprintf(path, sizeof(path), "%s/%s", DOCS_DIR, name);
	in = fopen(path, "rb");
	assert_non_null(in);
	assert_int_equal(fseek(in, 0, SEEK_END), 0);
	n = ftell(in);
	rewind(in);
	text = calloc(1, (size_t)n + 1);
	assert_int_equal(fread(text, 1, (size_t)n, in), (size_t)n);
	fclose(in);
	cJSON *o = cJSON_Parse(text);
	assert_non_null(o);
	free(text);
	return o;
}

/* A list of the schema: each name of a table is looked up in it, and crossed out. */
static cJSON *list_of(cJSON *schema, const char *list)
{
	cJSON *defs = cJSON_GetObjectItem(schema, "$defs");
	cJSON *names = cJSON_GetObjectItem(cJSON_GetObjectItem(defs, list), "enum");

	assert_non_null(names);
	return names;
}

static void take(cJSON *names, const char *list, const char *name)
{
	for (int i = 0; i < cJSON_GetArraySize(names); i++)
		if (!strcmp(cJSON_GetArrayItem(names, i)->valuestring, name)) {
			cJSON_DeleteItemFromArray(names, i);
			return;
		}
	fail_msg("%s lacks \"%s\"", list, name);
}

static void is_empty(cJSON *names, const char *list)
{
	if (cJSON_GetArraySize(names))
		fail_msg("%s has \"%s\", which no table has", list,
			 cJSON_GetArrayItem(names, 0)->valuestring);
}

/* Numbers from `first` to below n. */
static void compare(cJSON *schema, const char *list, const char *(*name)(unsigned), unsigned first,
		    unsigned n)
{
	cJSON *names = list_of(schema, list);

	for (unsigned i = first; i < n; i++)
		take(names, list, name(i));
	is_empty(names, list);
}

static const char *ignored(unsigned i)
{
	return race_ignored_name((enum race_ignored)i);
}

static const char *strength(unsigned i)
{
	return rep_strength_name((enum race_strength)i);
}

static const char *scope(unsigned i)
{
	return rep_scope_name((enum race_scope)i);
}

static const char *proxy(unsigned i)
{
	return rep_proxy_name((enum race_proxy)i);
}

static const char *gap(unsigned i)
{
	return race_gap_rows[i].name;
}

static void names_of_reports(void **state)
{
	cJSON *s = schema_read("report.schema.json");

	(void)state;
	compare(s, "kinds", race_kind_name, 1, RACE_KIND_COUNT);
	compare(s, "classes", race_class_name, 1, RACE_CLASS_COUNT);
	compare(s, "accesses", race_access_name, 0, RACE_ACCESS_PRODUCT + 1);
	compare(s, "spaces", race_space_name, 0, RACE_SPACE_REGISTERS + 1);
	compare(s, "whys", race_why_name, 1, RACE_WHY_UNDISTURBED + 1);
	compare(s, "agents", race_agent_name, 0, RACE_AGENT_FAILED + 1);
	compare(s, "memories", race_memory_name, 0, RACE_MEMORY_HEAP + 1);
	compare(s, "updates", race_update_name, 0, RACE_UPDATE_CHECK + 1);
	compare(s, "may_order", race_may_name, 0, RACE_MAY_COUNT);
	compare(s, "missing", race_missing_name, 0, RACE_MISSING_COUNT);
	compare(s, "apart", race_apart_name, 0, RACE_APART_COUNT);
	compare(s, "ignored", ignored, 0, RACE_IGNORED_KNOWN + 1);
	compare(s, "strengths", strength, 0, 6);
	compare(s, "scopes", scope, 0, 5);
	compare(s, "proxies", proxy, 0, 4);
	compare(s, "gaps", gap, 1, RACE_GAPS);
	cJSON_Delete(s);
}

static const char *verdict(unsigned i)
{
	return race_verdict_name((enum race_verdict)i);
}

static const char *level(unsigned i)
{
	return race_level_name((enum race_level)i);
}

static void names_of_proofs(void **state)
{
	cJSON *s = schema_read("proof.schema.json");

	(void)state;
	compare(s, "verdicts", verdict, 0, RACE_VERDICT_COUNT);
	compare(s, "levels", level, RACE_LEVEL_WARP, RACE_LEVEL_GRID + 1);
	compare(s, "classes", race_class_name, 1, RACE_CLASS_COUNT);
	cJSON_Delete(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_reports),
		cmocka_unit_test(names_of_proofs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
