/*
 * json_finding.c - reads a saved finding back (json_read.c).
 */
#include "report/json_get.h"

#include <stdlib.h>
#include <string.h>

static void first_get(const cJSON *o, struct race_first *f)
{
	dim_get(o, "thread", f->thread);
	dim_get(o, "block", f->block);
	f->address = hex_get64(o, "address");
	f->is_generic = bool_get(o, "address_is_generic");
	f->width = small_get(o, "width");
	hex_get(o, "was", &f->was[1], &f->was[0]);
	hex_get(o, "now", &f->now[1], &f->now[0]);
	f->lanes = (uint32_t)hex_get64(o, "lanes");
	f->grid = count_get(o, "grid");
	f->sm = small_get(o, "sm");
}

/* Returns the chain; its length goes to *count. */
static struct race_inlined *inlined_get(struct saved *s, const cJSON *list, size_t *count)
{
	int n = cJSON_GetArraySize(list);
	struct race_inlined *all = BASE_NEWN(&s->r->arena, struct race_inlined, n);
	const cJSON *o;

	*count = 0;
	cJSON_ArrayForEach(o, list)
	{
		struct race_inlined *in = &all[(*count)++];
		in->func = str_get(s, o, "function_mangled");
		in->func_shown = str_get(s, o, "function");
		in->file = str_get(s, o, "file");
		in->line = small_get(o, "line");
		in->col = small_get(o, "column");
		in->is_unsure = bool_get(o, "unsure");
	}
	return all;
}

/* The functions that have the finding; NULL: its own alone. */
static const char **functions_get(struct saved *s, const cJSON *list, size_t *count)
{
	int n = cJSON_GetArraySize(list);
	const char **all = n ? BASE_NEWN(&s->r->arena, const char *, n) : NULL;
	const cJSON *o;

	*count = 0;
	cJSON_ArrayForEach(o, list)
	{
		const char *name = cJSON_IsString(o) ? o->valuestring : "";
		all[(*count)++] = race_text(&s->r->arena, name, strlen(name));
	}
	return all;
}

/* The number of a name that `name_of` gives; 0 for others. */
static unsigned name_get(struct saved *s, const cJSON *o, const char *key,
			 const char *(*name_of)(unsigned), unsigned n)
{
	const char *name = str_get(s, o, key);

	for (unsigned i = 0; i < n; i++)
		if (!strcmp(name, name_of(i)))
			return i;
	return 0;
}

static const char *strength_name(unsigned i)
{
	return rep_strength_name((enum race_strength)i);
}

static const char *scope_name(unsigned i)
{
	return rep_scope_name((enum race_scope)i);
}

static const char *proxy_name(unsigned i)
{
	return rep_proxy_name((enum race_proxy)i);
}

static void call_get(struct saved *s, const cJSON *o, struct race_line *l)
{
	*l = (struct race_line){.func = str_get(s, o, "function_mangled"),
				.file = str_get(s, o, "file"),
				.line = small_get(o, "line"),
				.col = small_get(o, "column")};
}

static void side_get(struct saved *s, const cJSON *o, struct race_side *d)
{
	static const struct {
		const char *key;
		unsigned flag;
	} flags[] = {{"reads", RACE_SIDE_READS},       {"writes", RACE_SIDE_WRITES},
		     {"volatile", RACE_SIDE_VOLATILE}, {"async", RACE_SIDE_ASYNC},
		     {"some_thread", RACE_SIDE_SOME},  {"host", RACE_SIDE_HOST},
		     {"mbarrier", RACE_SIDE_MBARRIER}, {"graph", RACE_SIDE_GRAPH},
		     {"frees", RACE_SIDE_FREES}};
	const cJSON *device = cJSON_GetObjectItemCaseSensitive(o, "device");

	d->func = str_get(s, o, "function_mangled");
	d->func_shown = str_get(s, o, "function");
	d->file = str_get(s, o, "file");
	d->line = small_get(o, "line");
	d->col = small_get(o, "column");
	d->inlined =
		inlined_get(s, cJSON_GetObjectItemCaseSensitive(o, "inlined_at"), &d->ninlined);
	d->kernel = str_get(s, o, "kernel");
	const cJSON *at = cJSON_GetObjectItemCaseSensitive(o, "launched");
	call_get(s, at, &d->launched);
	d->launched_shown = str_get(s, at, "function");
	d->access = (enum race_access)race_access_parse(str_get(s, o, "access"));
	d->space = (enum race_space)race_space_parse(str_get(s, o, "space"));
	d->width = small_get(o, "width");
	d->vec = small_get(o, "vector");
	d->bytes = small_get(o, "bytes");
	d->strength = (enum race_strength)name_get(s, o, "strength", strength_name, RACE_SC + 1u);
	d->scope = (enum race_scope)name_get(s, o, "scope", scope_name, RACE_SCOPE_SYS + 1u);
	d->proxy = (enum race_proxy)name_get(s, o, "proxy", proxy_name, RACE_PROXY_TEXTURE + 1u);
	for (size_t i = 0; i < BASE_COUNTOF(flags); i++)
		d->flags |= bool_get(o, flags[i].key) ? flags[i].flag : 0;
	dim_get(o, "thread", d->thread);
	dim_get(o, "block", d->block);
	d->address = hex_get64(o, "address");
	d->device = cJSON_IsNumber(device) ? device->valueint : 0;
	d->grid = count_get(o, "grid");
	d->cluster = small_get(o, "cluster");
	d->warp = small_get(o, "warp");
	d->update = (enum race_update)race_update_parse(str_get(s, o, "update"));
	if (cJSON_GetObjectItemCaseSensitive(o, "stream"))
		d->stream = small_get(o, "stream") + 1u;
	d->is_near = bool_get(o, "line_is_near");
	d->text = str_get(s, o, "ptx");
	d->ptx_line = small_get(o, "ptx_line");
}

static void object_get(struct saved *s, const cJSON *o, struct race_object *d)
{
	d->memory = (enum race_memory)race_memory_parse(str_get(s, o, "kind"));
	d->name = str_get(s, o, "name");
	d->base = hex_get64(o, "base");
	d->bytes = count_get(o, "bytes");
	dim_get(o, "block", d->owner);
}

static struct race_transfer_op *transfer_get(struct saved *s, const cJSON *o)
{
	struct race_transfer_op *h;

	if (!cJSON_IsObject(o))
		return NULL;
	h = BASE_NEW(&s->r->arena, struct race_transfer_op);
	h->api = str_get(s, o, "api");
	h->module = str_get(s, o, "module");
	h->offset = hex_get64(o, "offset");
	h->stream = hex_get64(o, "stream");
	h->bytes = count_get(o, "bytes");
	h->at = count_get(o, "at");
	h->origin = small_get(o, "origin");
	return h;
}

static uint32_t bits_get(const cJSON *o, const char *key, uint32_t (*bit)(const char *name))
{
	const cJSON *e;
	uint32_t bits = 0;

	cJSON_ArrayForEach(e, cJSON_GetObjectItemCaseSensitive(o, key))
	{
		bits |= cJSON_IsString(e) ? bit(e->valuestring) : 0;
	}
	return bits;
}

bool rep_json_finding(struct saved *s, const cJSON *o)
{
	struct race_finding f = {0};
	const cJSON *e;

	f.kind = (enum race_kind)race_kind_parse(str_get(s, o, "kind"));
	f.cls = (enum race_class)race_class_parse(str_get(s, o, "class"));
	if (!f.kind || !f.cls) {
		base_report(s->sink, BASE_ERROR, s->path, (struct base_span){s->line, 1},
			    "found a finding of kind '%s' and class '%s', expected ones of "
			    "version %d",
			    str_get(s, o, "kind"), str_get(s, o, "class"), REP_SCHEMA_VERSION);
		return false;
	}
	f.func = str_get(s, o, "function_mangled");
	f.func_shown = str_get(s, o, "function");
	f.file = str_get(s, o, "file");
	f.line = small_get(o, "line");
	f.col = small_get(o, "column");
	f.inlined = inlined_get(s, cJSON_GetObjectItemCaseSensitive(o, "inlined_at"), &f.ninlined);
	f.functions =
		functions_get(s, cJSON_GetObjectItemCaseSensitive(o, "functions"), &f.nfunctions);
	const cJSON *calls = cJSON_GetObjectItemCaseSensitive(o, "launched");
	f.launched = BASE_NEWN(&s->r->arena, struct race_line, cJSON_GetArraySize(calls) + 1);
	cJSON_ArrayForEach(e, calls)
	{
		call_get(s, e, &f.launched[f.nlaunched++]);
	}
	f.access = (enum race_access)race_access_parse(str_get(s, o, "access"));
	f.space = (enum race_space)race_space_parse(str_get(s, o, "space"));
	f.width = small_get(o, "width");
	f.vec = small_get(o, "vector");
	f.is_volatile = bool_get(o, "volatile");
	f.is_near = bool_get(o, "line_is_near");
	f.update = (enum race_update)race_update_parse(str_get(s, o, "update"));
	f.is_same_value = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, "same_value"));
	f.judged = *str_get(s, o, "judged") ? str_get(s, o, "judged") : NULL;
	if (cJSON_HasObjectItem(o, "may_order"))
		f.may = (enum race_may)race_may_parse(str_get(s, o, "may_order"));
	f.module = str_get(s, o, "module");
	f.target = str_get(s, o, "target");
	f.count = count_get(o, "count");
	f.print = strtoull(str_get(s, o, "fingerprint"), NULL, 16);
	const cJSON *also = cJSON_GetObjectItemCaseSensitive(o, "also");
	f.also = BASE_NEWN(&s->r->arena, struct race_also, cJSON_GetArraySize(also) + 1);
	cJSON_ArrayForEach(e, also)
	{
		f.also[f.nalso].kind = (enum race_kind)race_kind_parse(str_get(s, e, "kind"));
		f.also[f.nalso++].count = count_get(e, "count");
	}
	f.missing = bits_get(o, "missing", race_missing_bit);
	f.apart = bits_get(o, "apart", race_apart_bit);
	f.is_muted = bool_get(o, "count_is_lower_bound");
	first_get(cJSON_GetObjectItemCaseSensitive(o, "first"), &f.first);
	if (race_has_two_sides(f.kind)) {
		f.sides = BASE_NEWN(&s->r->arena, struct race_side, 2);
		object_get(s, cJSON_GetObjectItemCaseSensitive(o, "memory"), &f.met);
		side_get(s, cJSON_GetObjectItemCaseSensitive(o, "side"), &f.sides[0]);
		side_get(s, cJSON_GetObjectItemCaseSensitive(o, "second"), &f.sides[1]);
	}
	f.transfer = transfer_get(s, cJSON_GetObjectItemCaseSensitive(o, "transfer"));
	cJSON_ArrayForEach(e, cJSON_GetObjectItemCaseSensitive(o, "sites"))
	{
		struct race_finding_site site = {.table = hex_get64(e, "table"),
						 .site = small_get(e, "site"),
						 .ptx_line = small_get(e, "ptx_line"),
						 .text = str_get(s, e, "ptx"),
						 .count = count_get(e, "count")};
		race_site_count(&s->r->arena, &f, &site);
	}
	cJSON_ArrayForEach(e, cJSON_GetObjectItemCaseSensitive(o, "seen"))
	{
		struct race_context c;
		context_get(s, e, &c);
		race_seen_add(&s->r->arena, &f, &c);
	}
	base_vec_push(&s->r->findings, f);
	return true;
}
