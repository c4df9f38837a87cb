/*
 * line.c - which instructions are of one source line: those that races by the million count as one.
 *
 * An unrolled loop has a store for each round, and all pairs of them race. A finding is about two
 * lines, so for the oracle the first instruction of a line, in the same inlined call, represents
 * all. What it misses: calls that are inlined in several places at the second level and further out
 * are not distinguished. Costs: each function's instructions are sorted once by their lines.
 */
#include "cpu/load/load.h"
#include "cpu/events/internal.h"

#include <stdlib.h>
#include <string.h>

struct line {
	const struct ptx_loc *loc; /* NULL: not known */
	uint32_t pc;
};

static int by_text(const struct ptx_str *a, const struct ptx_str *b)
{
	if (a->n != b->n)
		return a->n < b->n ? -1 : 1;
	return a->n ? memcmp(a->p, b->p, a->n) : 0;
}

static int by_place(const struct ptx_loc *a, const struct ptx_loc *b)
{
	const uint32_t v[2][6] = {
		{a->file, a->line, a->in_file, a->in_line, a->in_col, a->func_off},
		{b->file, b->line, b->in_file, b->in_line, b->in_col, b->func_off}};

	for (unsigned i = 0; i < 6; i++)
		if (v[0][i] != v[1][i])
			return v[0][i] < v[1][i] ? -1 : 1;
	return by_text(&a->func_sym, &b->func_sym);
}

static int by_line(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	int order = 0;

	if (x->loc && y->loc)
		order = by_place(x->loc, y->loc);
	else if (x->loc || y->loc)
		order = x->loc ? -1 : 1;
	return order ? order : (x->pc > y->pc) - (x->pc < y->pc);
}

static void lines_make(struct cpu_events *x, struct cpu_func *f)
{
	struct line *v = base_calloc(f->ninsts + 1, sizeof(*v));

	f->first_of_line = base_alloc(&x->arena, (f->ninsts + 1) * sizeof(*f->first_of_line));
	for (uint32_t i = 0; i < f->ninsts; i++)
		v[i] = (struct line){f->stmts[i] ? f->stmts[i]->loc : NULL, i};
	qsort(v, f->ninsts, sizeof(*v), by_line);
	for (uint32_t i = 0, first = 0; i < f->ninsts; i++) {
		if (!v[i].loc || !v[i].loc->line || by_place(v[i].loc, v[first].loc))
			first = i;
		f->first_of_line[v[i].pc] = v[first].pc;
	}
	free(v);
}

const void *events_line_of(void *arg, const void *site)
{
	const struct cpu_site *s = site;
	struct cpu_func *f = (struct cpu_func *)(uintptr_t)s->func;

	if (!f || s->is_host || s->is_host_code || !f->sites)
		return s;
	if (!f->first_of_line)
		lines_make(arg, f);
	return events_site_new(arg, f, f->first_of_line[s->pc]);
}
