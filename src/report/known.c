/*
 * known.c - which findings an earlier report has already: --new-since=REPORT.
 *
 * Findings are compared by their prints (form.c), which stay when lines move. What the earlier
 * report itself left out (suppressions, undecided pairs) counts as known, too. A view gives the
 * known ones the ignored state `known`, so that every form, count and exit code treats them
 * alike. Misses: a finding whose line was edited, or that another detector finds with a second
 * side, is new.
 */
#include "report/internal.h"

#include "base/table.h"

#include <stdlib.h>

struct known_print {
	UT_hash_handle hh;
	uint64_t print;
};

struct rep_known {
	struct base_arena arena;
	struct known_print *all;
};

static struct known_print *find(const struct rep_known *k, uint64_t print)
{
	struct known_print *p = NULL;

	HASH_FIND(hh, k->all, &print, sizeof(print), p);
	return p;
}

static void add(struct rep_known *k, uint64_t print)
{
	struct known_print *p;

	if (find(k, print))
		return;
	p = BASE_NEW(&k->arena, struct known_print);
	p->print = print;
	HASH_ADD(hh, k->all, print, sizeof(print), p);
}

struct rep_known *rep_known_read(const char *path, struct base_sink *sink)
{
	struct base_arena arena = {0};
	struct rep_known *k = BASE_NEW(&arena, struct rep_known);
	struct race_results r = {0};

	k->arena = arena;
	bool is_ok = rep_json_read(path, &r, sink) == 0;

	for (size_t i = 0; is_ok && i < r.findings.n; i++) {
		is_ok = r.findings.v[i].print != 0;
		if (is_ok)
			add(k, r.findings.v[i].print);
		else
			base_report(sink, BASE_ERROR, path, (struct base_span){0, 0},
				    "found a finding without a fingerprint, expected a report of "
				    "this version");
	}
	race_results_free(&r);
	if (is_ok)
		return k;
	rep_known_free(k);
	return NULL;
}

void rep_known_free(struct rep_known *k)
{
	if (!k)
		return;
	HASH_CLEAR(hh, k->all);
	struct base_arena arena = k->arena; /* k is in it */
	base_arena_free(&arena);
}

void rep_known_mark(struct rep_view *v)
{
	const struct rep_known *k = v->opt->known;

	if (!k || !v->entries.n)
		return;
	rep_prints_make(v);
	for (size_t i = 0; i < v->entries.n; i++)
		if (!v->entries.v[i].ignored && find(k, v->entries.v[i].f.print))
			v->entries.v[i].ignored = RACE_IGNORED_KNOWN;
	qsort(v->entries.v, v->entries.n, sizeof(*v->entries.v), rep_entry_compare);
}
