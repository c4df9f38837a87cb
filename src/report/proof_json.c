/*
 * proof_json.c - what collider prove found, as one JSON object (docs/prove.md, "JSON").
 */
#include "report/report.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>

/* Numbers digit by digit: cJSON's are doubles. */
static void number(cJSON *o, const char *key, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, n);
	if (key)
		cJSON_AddRawToObject(o, key, text);
	else
		cJSON_AddItemToArray(o, cJSON_CreateRaw(text));
}

static void triple(cJSON *o, const char *key, const uint32_t v[3])
{
	cJSON *a = cJSON_AddArrayToObject(o, key);

	for (unsigned d = 0; d < 3; d++)
		number(a, NULL, v[d]);
}

static cJSON *item(cJSON *array)
{
	cJSON *o = cJSON_CreateObject();

	cJSON_AddItemToArray(array, o);
	return o;
}

static void put_side(cJSON *o, const struct race_alarm_side *s)
{
	static const char *const names[] = {
		[RACE_OP_READ] = "load", [RACE_OP_WRITE] = "store", [RACE_OP_RMW] = "atomic"};

	cJSON_AddStringToObject(o, "access", names[s->kind]);
	cJSON_AddStringToObject(o, "file", s->file);
	cJSON_AddStringToObject(o, "ptx", s->text);
	cJSON_AddStringToObject(o, "index", s->index);
	number(o, "line", s->line);
	number(o, "column", s->col);
	number(o, "ptx_line", s->ptx_line);
	number(o, "bytes", s->bytes);
	cJSON_AddBoolToObject(o, "exact_index", !s->is_approx_index);
	cJSON_AddBoolToObject(o, "reachable", !s->is_approx_path);
	triple(o, "thread", s->tid);
	triple(o, "block", s->ctaid);
	number(o, "offset", s->offset);
	number(o, "phase", s->phase);
}

static void put_value(cJSON *o, const char *key, const struct race_alarm_var *v, unsigned side)
{
	char text[24];

	if (!v->is_known[side]) {
		cJSON_AddNullToObject(o, key);
		return;
	}
	snprintf(text, sizeof(text), v->is_signed ? "%" PRId64 : "%" PRIu64, v->value[side]);
	cJSON_AddRawToObject(o, key, text);
}

static void put_var(cJSON *o, const struct race_alarm_var *v)
{
	cJSON_AddStringToObject(o, "name", v->name);
	cJSON_AddBoolToObject(o, "global", v->is_global);
	cJSON_AddBoolToObject(o, "approximated", v->is_approx[0] || v->is_approx[1]);
	cJSON_AddBoolToObject(o, "control", v->is_control);
	cJSON_AddBoolToObject(o, "data", v->is_data);
	put_value(o, "a", v, 0);
	put_value(o, "b", v, 1);
}

static void put_launch(cJSON *o, const struct race_alarm *a)
{
	triple(o, "blockDim", a->ntid);
	triple(o, "gridDim", a->nctaid);
	cJSON *list = cJSON_AddArrayToObject(o, "params");
	for (uint32_t i = 0; i < a->nparams; i++) {
		cJSON *p = item(list);
		cJSON_AddStringToObject(p, "name", a->param[i].name);
		number(p, "offset", a->param[i].off);
		number(p, "bytes", a->param[i].bytes);
		number(p, "value", a->param[i].value);
	}
}

static void put_contents(cJSON *o, const struct race_alarm *a)
{
	cJSON *list = cJSON_AddArrayToObject(o, "contents");

	for (uint32_t i = 0; i < a->ncontents; i++) {
		cJSON *c = item(list);
		cJSON_AddStringToObject(c, "array", a->content[i].name);
		number(c, "param_offset", a->content[i].param);
		number(c, "offset", a->content[i].at);
		number(c, "bytes", a->content[i].bytes);
		number(c, "value", a->content[i].value);
	}
}

/* What arrays held when it was confirmed, and in which schedule. */
static void put_filled(cJSON *o, const struct race_alarm *a)
{
	static const char *const words[] = {[RACE_FILLED_ZEROS] = "zeros",
					    [RACE_FILLED_CONTENTS] = "contents",
					    [RACE_FILLED_MIXED] = "mixed"};

	if (a->confirmed != RACE_CONFIRMED) {
		cJSON_AddNullToObject(o, "filled");
		cJSON_AddNullToObject(o, "seed");
		return;
	}
	cJSON_AddStringToObject(o, "filled", words[a->filled]);
	number(o, "seed", a->seed);
}

static void put_alarm(cJSON *o, const struct race_alarm *a)
{
	static const char *const words[] = {[RACE_NOT_TRIED] = "not-tried",
					    [RACE_CONFIRMED] = "confirmed",
					    [RACE_NOT_CONFIRMED] = "not-confirmed"};

	cJSON_AddBoolToObject(o, "true", a->is_true);
	cJSON_AddBoolToObject(o, "benign", a->is_benign);
	cJSON_AddStringToObject(o, "level", race_level_name(a->level));
	cJSON_AddBoolToObject(o, "exited", a->is_exited);
	cJSON_AddStringToObject(o, "class", race_class_name(a->cls));
	number(o, "stands_for", a->stands_for);
	cJSON_AddStringToObject(o, "approximation", race_alarm_class(a));
	cJSON_AddStringToObject(o, "object", a->object);
	cJSON_AddStringToObject(o, "reason", a->reason);
	cJSON_AddStringToObject(o, "order", a->order);
	cJSON_AddStringToObject(o, "confirmed", words[a->confirmed]);
	put_filled(o, a);
	if (*a->reproducer)
		cJSON_AddStringToObject(o, "reproducer", a->reproducer);
	if (a->has_launch) {
		put_launch(o, a);
		put_contents(o, a);
	}
	cJSON *sides = cJSON_AddArrayToObject(o, "sides");
	for (unsigned i = 0; i < 2; i++)
		put_side(item(sides), &a->side[i]);
	cJSON *vars = cJSON_AddArrayToObject(o, "variables");
	for (uint32_t i = 0; i < a->nvars; i++)
		put_var(item(vars), &a->var[i]);
}

static void put_problem(cJSON *o, const struct race_problem *p)
{
	static const char *const names[] = {[RACE_PROBLEM_UNPROVEN] = "unproven",
					    [RACE_PROBLEM_VACUOUS] = "vacuous",
					    [RACE_PROBLEM_EXCLUDED] = "excluded",
					    [RACE_PROBLEM_SINGLE] = "single",
					    [RACE_PROBLEM_BARRIER] = "barrier"};

	cJSON_AddStringToObject(o, "kind", names[p->kind]);
	cJSON_AddStringToObject(o, "text", p->text);
	cJSON_AddStringToObject(o, "file", p->file);
	number(o, "line", p->line);
	number(o, "ptx_line", p->ptx_line);
}

/* Of the launches that were recorded, and others. */
static void put_launches(cJSON *o, const struct race_proof *k)
{
	cJSON *list = cJSON_AddArrayToObject(o, "launches");

	for (size_t i = 0; i < k->launches.n; i++) {
		const struct race_proof_launch *l = &k->launches.v[i];
		cJSON *x = item(list);
		triple(x, "blockDim", l->ntid);
		triple(x, "gridDim", l->nctaid);
		number(x, "count", l->n);
		cJSON_AddStringToObject(x, "scalars", l->scalars);
		cJSON_AddStringToObject(x, "verdict", race_verdict_name(l->verdict));
	}
	if (k->others)
		cJSON_AddStringToObject(o, "other_launches", k->others);
}

static void put_counts(cJSON *o, const struct race_proof *k)
{
	const struct race_proof_counts *c = &k->counts;

	number(o, "accesses", c->accesses);
	number(o, "pairs", c->pairs);
	number(o, "cases", c->cases);
	number(o, "quick", c->quick);
	number(o, "by_trying", c->by_trying);
	number(o, "queries", c->queries);
	number(o, "recalled", c->recalled);
	number(o, "gave_up", c->gave_up);
	number(o, "replays", c->replays);
	number(o, "failed_replays", c->failed_replays);
	number(o, "memory_kb", c->memory_kb);
	number(o, "ms", k->ms);
	cJSON_AddBoolToObject(o, "cached", k->is_cached);
}

static void put_kernel(cJSON *o, const struct race_proof *k)
{
	static const char *const dims[] = {"blockDim.x", "blockDim.y", "blockDim.z",
					   "gridDim.x",	 "gridDim.y",  "gridDim.z"};

	cJSON_AddStringToObject(o, "name", k->name_shown);
	cJSON_AddStringToObject(o, "mangled", k->name);
	cJSON_AddStringToObject(o, "verdict", race_verdict_name(k->verdict));
	cJSON_AddStringToObject(o, "approximation", race_proof_class(k));
	cJSON *list = cJSON_AddArrayToObject(o, "alarms");
	for (size_t i = 0; i < k->alarms.n; i++)
		put_alarm(item(list), &k->alarms.v[i]);
	list = cJSON_AddArrayToObject(o, "free");
	for (unsigned d = 0; d < BASE_COUNTOF(dims); d++)
		if (k->free_dims >> d & 1)
			cJSON_AddItemToArray(list, cJSON_CreateString(dims[d]));
	list = cJSON_AddArrayToObject(o, "problems");
	for (size_t i = 0; i < k->problems.n; i++)
		put_problem(item(list), &k->problems.v[i]);
	list = cJSON_AddArrayToObject(o, "contract");
	for (size_t i = 0; i < k->contract.n; i++)
		cJSON_AddStringToObject(item(list), "text", k->contract.v[i]);
	list = cJSON_AddArrayToObject(o, "remedies");
	for (size_t i = 0; i < k->remedies.n; i++) {
		cJSON *r = item(list);
		cJSON_AddStringToObject(r, "assume", k->remedies.v[i].assume);
		number(r, "alarms", k->remedies.v[i].alarms);
		cJSON_AddBoolToObject(r, "all", k->remedies.v[i].is_all);
		if (k->remedies.v[i].seen >= 0)
			cJSON_AddBoolToObject(r, "holds_in_recorded_launches",
					      k->remedies.v[i].seen);
	}
	if (k->protocol.n)
		list = cJSON_AddArrayToObject(o, "protocol");
	for (size_t i = 0; i < k->protocol.n; i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(k->protocol.v[i]));
	if (k->launches.n)
		put_launches(o, k);
	put_counts(o, k);
}

void rep_proof_json(const struct race_proofs *r, const struct rep_options *opt,
		    struct base_buf *out)
{
	(void)opt;
	cJSON *o = cJSON_CreateObject();
	cJSON_AddStringToObject(o, "file", r->file);
	cJSON *list = cJSON_AddArrayToObject(o, "kernels");

	for (size_t i = 0; i < r->kernels.n; i++)
		put_kernel(item(list), &r->kernels.v[i]);
	char *text = cJSON_PrintUnformatted(o);
	if (text)
		base_buf_printf(out, "%s\n", text);
	cJSON_free(text);
	cJSON_Delete(o);
}
