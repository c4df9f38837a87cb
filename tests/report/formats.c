/*
 * formats.c - docs/report-format.md, docs/prove.md and the schemas say what the tables of keys say
 * (src/report/keys.h): formats DOCS, or formats DOCS --renew, which writes them.
 *
 * In the texts a table follows a line `<!-- keys of ID -->` and ends with an empty line; an object
 * without a table of its own is explained in the row of its key. The schemas are made whole.
 */
#include "report/keys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OBJECTS_MOST 64

/* The objects that a root leads to, in the order in which they are met. */
struct objects {
	const struct rep_object *v[OBJECTS_MOST];
	const struct rep_names *names[OBJECTS_MOST];
	size_t n, nnames;
};

static void collect(struct objects *all, const struct rep_object *d, bool is_line)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->v[i] == d)
			return;
	if (is_line)
		all->v[all->n++] = d;
	for (size_t i = 0; i < d->n; i++) {
		const struct rep_key *k = &d->keys[i];
		bool has_names = k->form == REP_FORM_NAME || k->form == REP_FORM_BITS;
		size_t at = 0;

		while (has_names && at < all->nnames && all->names[at] != k->names)
			at++;
		if (has_names && at == all->nnames)
			all->names[all->nnames++] = k->names;
		if (k->object)
			collect(all, k->object, k->form != REP_FORM_WITHIN);
	}
}

/* ---- schemas -------------------------------------------------------------------------------- */

static const char *const number = "{\"type\": \"integer\", \"minimum\": 0}";

/* A list of quoted texts within the columns. */
struct wrap {
	struct base_buf *out;
	size_t col;
	bool has_any;
};

static void wrap_put(struct wrap *w, const char *text)
{
	size_t n = strlen(text) + 4;

	base_buf_puts(w->out, w->has_any ? "," : "");
	if (!w->has_any || w->col + n > 98) {
		base_buf_puts(w->out, "\n        ");
		w->col = 8;
	} else {
		base_buf_puts(w->out, " ");
	}
	base_buf_printf(w->out, "\"%s\"", text);
	w->col += n;
	w->has_any = true;
}

static void value_schema(struct base_buf *out, const struct rep_key *k)
{
	switch (k->form) {
	case REP_FORM_CONST:
		base_buf_printf(out, "{\"const\": \"%s\"}", k->shape);
		break;
	case REP_FORM_VERSION:
		base_buf_printf(out, "{\"const\": %d}", REP_SCHEMA_VERSION);
		break;
	case REP_FORM_TEXT:
		base_buf_puts(out, "{\"type\": \"string\"}");
		break;
	case REP_FORM_NUMBER:
		base_buf_puts(out, k->when == REP_OR_NULL ? "{\"type\": [\"integer\", \"null\"]}"
							  : number);
		break;
	case REP_FORM_INT:
		base_buf_puts(out, "{\"type\": \"integer\"}");
		break;
	case REP_FORM_BOOL:
	case REP_FORM_NOT:
	case REP_FORM_FLAG:
		base_buf_puts(out, k->when == REP_IF_SET ? "{\"const\": true}"
							 : "{\"type\": \"boolean\"}");
		break;
	case REP_FORM_PRINT:
		base_buf_puts(out, "{\"type\": \"string\", \"pattern\": \"^[0-9a-f]{16}$\"}");
		break;
	case REP_FORM_HEX:
	case REP_FORM_DIM:
		base_buf_printf(out, "{\"$ref\": \"#/$defs/%s\"}",
				k->form == REP_FORM_HEX ? "hex" : "triple");
		break;
	case REP_FORM_NAME:
		base_buf_printf(out, "{\"$ref\": \"#/$defs/%s%s\"}", k->names->id,
				k->when == REP_OR_NULL ? "_or_null" : "");
		break;
	case REP_FORM_BITS:
		base_buf_printf(out, "{\"type\": \"array\", \"items\": {\"$ref\": \"#/$defs/%s\"}}",
				k->names->id);
		break;
	case REP_FORM_OBJECT:
	case REP_FORM_POINTER:
		base_buf_printf(out, "{\"$ref\": \"#/$defs/%s\"}", k->object->id);
		break;
	case REP_FORM_LIST:
	case REP_FORM_ARRAY:
		base_buf_printf(out, "{\"type\": \"array\", \"items\": {\"$ref\": \"#/$defs/%s\"}",
				k->object->id);
		if (k->form == REP_FORM_ARRAY && k->arg)
			base_buf_printf(out, ", \"minItems\": %u, \"maxItems\": %u", k->arg,
					k->arg);
		base_buf_puts(out, "}");
		break;
	case REP_FORM_TEXTS:
		base_buf_puts(out, "{\"type\": \"array\", \"items\": {\"type\": \"string\"}}");
		break;
	default:
		base_buf_puts(out, k->shape);
	}
}

static void key_schema(struct base_buf *out, const char *name, const char *value, bool *has_any)
{
	base_buf_printf(out, "%s\n        \"%s\": %s", *has_any ? "," : "", name, value);
	*has_any = true;
}

static void counters_schema(struct base_buf *out, unsigned place, bool *has_any, struct wrap *must)
{
	for (unsigned i = 0; i < RACE_COUNTERS_COUNT; i++) {
		const struct race_counter *c = &race_counters[i];
		bool is_flag = c->when == RACE_WHEN_FLAG || c->when == RACE_WHEN_EXACT;

		if ((unsigned)c->place != place)
			continue;
		if (!must)
			key_schema(out, c->json, is_flag ? "{\"type\": \"boolean\"}" : number,
				   has_any);
		else if (c->when != RACE_WHEN_NONZERO && c->when != RACE_WHEN_HOST)
			wrap_put(must, c->json);
	}
}

/* The keys of an object; with `must` those that are always there. */
static void keys_schema(struct base_buf *out, const struct rep_object *d, bool *has_any,
			struct wrap *must)
{
	for (size_t i = 0; i < d->n; i++) {
		const struct rep_key *k = &d->keys[i];
		struct base_buf value = {0};

		if (k->form == REP_FORM_WITHIN) {
			keys_schema(out, k->object, has_any, must);
		} else if (k->form == REP_FORM_COUNTERS) {
			counters_schema(out, k->arg, has_any, must);
		} else if (k->form == REP_FORM_COUNTS) {
			for (unsigned j = 0; j < k->names->n; j++)
				if (must)
					wrap_put(must, rep_name_of(k->names, j));
				else
					key_schema(out, rep_name_of(k->names, j), number, has_any);
		} else if (must) {
			if (k->when == REP_ALWAYS || k->when == REP_OR_NULL)
				wrap_put(must, k->name);
		} else {
			value_schema(&value, k);
			key_schema(out, k->name, value.p, has_any);
			base_buf_free(&value);
		}
	}
}

static void object_schema(struct base_buf *out, const struct rep_object *d)
{
	struct wrap must = {.out = out};
	bool has_any = false;

	base_buf_printf(out, "    \"%s\": {\n      \"type\": \"object\",\n      \"properties\": {",
			d->id);
	keys_schema(out, d, &has_any, NULL);
	base_buf_puts(out, "\n      },\n      \"required\": [");
	keys_schema(out, d, &has_any, &must);
	base_buf_puts(out, "\n      ],\n      \"additionalProperties\": false\n    },\n");
}

static void names_schema(struct base_buf *out, const struct rep_names *names, bool or_null)
{
	struct wrap w = {.out = out};

	base_buf_printf(out, "    \"%s%s\": {\n      \"enum\": [", names->id,
			or_null ? "_or_null" : "");
	for (unsigned i = names->first; i < names->n; i++)
		wrap_put(&w, rep_name_of(names, i));
	base_buf_printf(out, "%s\n      ]\n    },\n", or_null ? ", null" : "");
}

static bool is_nullable(const struct objects *all, const struct rep_names *names)
{
	for (size_t i = 0; i < all->n; i++)
		for (size_t j = 0; j < all->v[i]->n; j++) {
			const struct rep_key *k = &all->v[i]->keys[j];
			if (k->form == REP_FORM_NAME && k->names == names && k->when == REP_OR_NULL)
				return true;
		}
	return false;
}

/* Of the lines of a report, or of one object. */
static void schema(struct base_buf *out, const char *title, const char *about,
		   const struct rep_object *const *roots, size_t n)
{
	struct objects all = {0};

	base_buf_printf(out,
			"{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
			"  \"title\": \"%s\",\n  \"description\": \"%s\",\n",
			title, about);
	if (n == 1) {
		base_buf_printf(out, "  \"$ref\": \"#/$defs/%s\",\n", roots[0]->id);
	} else {
		base_buf_puts(out, "  \"type\": \"object\",\n  \"required\": [\"type\"],\n"
				   "  \"oneOf\": [");
		for (size_t i = 0; i < n; i++)
			base_buf_printf(out, "%s\n    {\"$ref\": \"#/$defs/%s\"}", i ? "," : "",
					roots[i]->id);
		base_buf_puts(out, "\n  ],\n");
	}
	base_buf_puts(out, "  \"$defs\": {\n");
	for (size_t i = 0; i < n; i++)
		collect(&all, roots[i], true);
	for (size_t i = 0; i < all.n; i++)
		object_schema(out, all.v[i]);
	for (size_t i = 0; i < all.nnames; i++)
		names_schema(out, all.names[i], is_nullable(&all, all.names[i]));
	base_buf_puts(out,
		      "    \"hex\": {\"type\": \"string\", \"pattern\": \"^0x[0-9a-f]{1,32}$\"},\n"
		      "    \"triple\": {\n      \"type\": \"array\",\n      \"items\": {\"type\": "
		      "\"integer\", \"minimum\": 0},\n      \"minItems\": 3,\n      \"maxItems\": "
		      "3\n    }\n  }\n}\n");
}

/* ---- tables --------------------------------------------------------------------------------- */

static const struct rep_object *const lines[] = {
	&rep_header_object,    &rep_finding_object, &rep_fault_object,
	&rep_unchecked_object, &rep_kernel_object,  &rep_gap_object,
	&rep_plain_object,     &rep_note_object,    &rep_summary_object};

static const char *type_of(const struct rep_key *k)
{
	switch (k->form) {
	case REP_FORM_NUMBER:
	case REP_FORM_INT:
	case REP_FORM_VERSION:
		return "number";
	case REP_FORM_BOOL:
	case REP_FORM_NOT:
	case REP_FORM_FLAG:
		return "bool";
	case REP_FORM_OBJECT:
	case REP_FORM_POINTER:
		return "object";
	case REP_FORM_DIM:
	case REP_FORM_BITS:
	case REP_FORM_LIST:
	case REP_FORM_ARRAY:
	case REP_FORM_TEXTS:
		return "array";
	case REP_FORM_HEX:
		return "hex";
	case REP_FORM_MADE:
		return strstr(k->shape, "array")     ? "array"
		       : strstr(k->shape, "integer") ? "number"
		       : strstr(k->shape, "boolean") ? "bool"
						     : "string";
	default:
		return "string";
	}
}

/* Kinds of findings by the detector that finds them. */
static void kinds_text(struct base_buf *out)
{
	for (unsigned d = 0; d < RACE_DETECTORS; d++) {
		const char *before = "";

		base_buf_printf(out, "%sof %s%s: ", d ? "; " : "",
				d < RACE_DETECTORS_PUT ? "" : "the ", race_detectors[d].name);
		for (unsigned i = 1; i < RACE_KIND_COUNT; i++) {
			if ((unsigned)race_kinds[i].source != d)
				continue;
			base_buf_printf(out, "%s`%s`", before, race_kinds[i].name);
			before = ", ";
		}
	}
}

static void names_text(struct base_buf *out, const struct rep_names *names)
{
	if (names->is_long)
		return;
	if (!strcmp(names->id, "kinds")) {
		kinds_text(out);
	} else {
		for (unsigned i = names->first; i < names->n; i++) {
			const char *name = rep_name_of(names, i);
			base_buf_printf(out, "%s`%s`", i > names->first ? ", " : "",
					*name ? name : "\"\"");
		}
	}
	base_buf_puts(out, "; ");
}

/* A key as it is explained: of rows that share a text the last one has it. */
struct row {
	const char *name, *type, *means;
	const struct rep_key *key; /* NULL: a counter, or one of several counts */
};

static size_t rows_of(const struct rep_object *d, struct row *out)
{
	size_t n = 0;

	for (size_t i = 0; i < d->n; i++) {
		const struct rep_key *k = &d->keys[i];

		if (k->form == REP_FORM_WITHIN) {
			n += rows_of(k->object, out + n);
		} else if (k->form == REP_FORM_COUNTS) {
			for (unsigned j = 0; j < k->names->n; j++)
				out[n++] =
					(struct row){rep_name_of(k->names, j), "number",
						     j + 1 < k->names->n ? NULL : k->means, NULL};
		} else if (k->form == REP_FORM_COUNTERS) {
			for (unsigned j = 0; j < RACE_COUNTERS_COUNT; j++) {
				const struct race_counter *c = &race_counters[j];
				bool is_flag =
					c->when == RACE_WHEN_FLAG || c->when == RACE_WHEN_EXACT;
				if ((unsigned)c->place == k->arg)
					out[n++] =
						(struct row){c->json, is_flag ? "bool" : "number",
							     c->means, NULL};
			}
		} else {
			out[n++] = (struct row){k->name, type_of(k), k->means, k};
		}
	}
	return n;
}

#define KEYS_MOST 128

static void cell(struct base_buf *out, const struct row *t, const char *doc);

/* An object without a table of its own: "`a`, `b` (what they mean), `c`". */
static void inline_text(struct base_buf *out, const struct rep_object *d, const char *doc)
{
	struct row t[KEYS_MOST];
	size_t n = rows_of(d, t);

	for (size_t i = 0; i < n; i++) {
		base_buf_printf(out, "%s`%s`", i ? ", " : "", t[i].name);
		if (!t[i].means)
			continue;
		base_buf_puts(out, " (");
		cell(out, &t[i], doc);
		base_buf_puts(out, ")");
	}
}

static bool has_table(const char *doc, const struct rep_object *d)
{
	char mark[64];

	snprintf(mark, sizeof(mark), "<!-- keys of %s -->\n", d->id);
	return strstr(doc, mark);
}

static void cell(struct base_buf *out, const struct row *t, const char *doc)
{
	const struct rep_key *k = t->key;

	if (k && k->names)
		names_text(out, k->names);
	base_buf_puts(out, t->means);
	if (k && k->object && !has_table(doc, k->object)) {
		base_buf_puts(out, ": ");
		inline_text(out, k->object, doc);
	}
}

static void table(struct base_buf *out, const struct rep_object *d, const char *doc)
{
	struct row t[KEYS_MOST];
	size_t n = rows_of(d, t);

	base_buf_puts(out, "| key | type | meaning |\n| --- | --- | --- |\n");
	for (size_t i = 0; i < n; i++) {
		bool is_first = !i || t[i - 1].means;

		base_buf_printf(out, "%s`%s`", is_first ? "| " : ", ", t[i].name);
		if (!t[i].means)
			continue;
		base_buf_printf(out, " | %s | ", t[i].type);
		cell(out, &t[i], doc);
		base_buf_puts(out, " |\n");
	}
}

static const struct rep_object *object_find(const struct objects *all, const char *id, size_t n)
{
	for (size_t i = 0; i < all->n; i++)
		if (strlen(all->v[i]->id) == n && !memcmp(all->v[i]->id, id, n))
			return all->v[i];
	return NULL;
}

/* A text with its tables made anew. NULL: it has a table of an unknown object. */
static char *text_renew(const char *doc, const struct objects *all)
{
	static const char mark[] = "<!-- keys of ";
	struct base_buf out = {0};
	const char *p = doc, *at;

	while ((at = strstr(p, mark))) {
		const char *id = at + sizeof(mark) - 1, *end = strstr(id, " -->\n");
		const char *rest = end ? strstr(end, "\n\n") : NULL;
		const struct rep_object *d = end ? object_find(all, id, (size_t)(end - id)) : NULL;

		if (!d || !rest) {
			fprintf(stderr, "no object, or no end: %.40s\n", at);
			return NULL;
		}
		end += 5;
		base_buf_put(&out, p, (size_t)(end - p));
		table(&out, d, doc);
		p = rest + 1;
	}
	base_buf_puts(&out, p);
	return out.p;
}

/* ---- files ---------------------------------------------------------------------------------- */

static const char *docs;
static bool is_renewing;

static char *file_read(const char *name, char *path, size_t room)
{
	char *text;
	size_t n;

	snprintf(path, room, "%s/%s", docs, name);
	int err = base_read_file(path, &text, &n);
	if (err) {
		fprintf(stderr, "%s: %s\n", path, strerror(err));
		exit(2);
	}
	return text;
}

/* Is the file what the tables say? With --renew it is then. */
static bool file_is(const char *name, const char *now)
{
	char path[4096];
	char *text = file_read(name, path, sizeof(path));
	bool is_same = now && !strcmp(text, now);

	free(text);
	if (is_same || !now)
		return is_same;
	if (!is_renewing) {
		fprintf(stderr, "%s is old: build/bin/report_formats docs --renew writes it anew\n",
			path);
		return false;
	}
	FILE *f = fopen(path, "wb");
	bool is_written = f && fputs(now, f) >= 0;
	return f && !fclose(f) && is_written;
}

static bool text_is(const char *name, const struct objects *all)
{
	char path[4096];
	char *text = file_read(name, path, sizeof(path)), *now = text_renew(text, all);
	bool is_same = file_is(name, now);

	free(text);
	free(now);
	return is_same;
}

int main(int argc, char **argv)
{
	const struct rep_object *proof = &rep_proof_object;
	struct base_buf report = {0}, proofs = {0};
	struct objects of_report = {0}, of_proof = {0};
	bool is_same = true;

	if (argc < 2) {
		fprintf(stderr, "usage: formats DOCS [--renew]\n");
		return 2;
	}
	docs = argv[1];
	is_renewing = argc > 2 && !strcmp(argv[2], "--renew");
	for (size_t i = 0; i < BASE_COUNTOF(lines); i++)
		collect(&of_report, lines[i], true);
	collect(&of_proof, proof, true);
	schema(&report, "A line of Collider's report, version 1",
	       "collider run and collider report --format=json write one object per line; each is "
	       "one of these (docs/report-format.md). It says what this version writes. Within a "
	       "version keys and types of lines may be added: a reader passes over what it doesn't "
	       "know.",
	       lines, BASE_COUNTOF(lines));
	schema(&proofs, "What collider prove --format=json writes",
	       "One object (docs/prove.md, JSON). Keys may be added: a reader passes over what it "
	       "doesn't know.",
	       &proof, 1);
	is_same &= file_is("report.schema.json", report.p);
	is_same &= file_is("proof.schema.json", proofs.p);
	is_same &= text_is("report-format.md", &of_report);
	is_same &= text_is("prove.md", &of_proof);
	base_buf_free(&report);
	base_buf_free(&proofs);
	return !is_same;
}
