/*
 * finding.c - pairs that raced, as the caller sees them.
 *
 * The machine gives a pair while it executes, and counts further sightings in the copy that is kept
 * here. What is new is handed to the callback when the launch has ended, by the thread that
 * launched; race/file/pair_read.c makes a finding of it, the same as of a program's run.
 */
#include "lib/lib.h"

#include <stdlib.h>
#include <string.h>

struct lib_pair {
	size_t bytes;
	_Alignas(16) unsigned char pair[]; /* struct race_pair, and its strings */
};

struct race_pair *lib_keep_pair(void *arg, const struct race_pair *pair, size_t bytes)
{
	struct collider_ptx *d = arg;
	struct lib_pair *p = base_malloc(sizeof(*p) + bytes);

	p->bytes = bytes;
	memcpy(p->pair, pair, bytes);
	base_vec_push(&d->pairs, p);
	return (struct race_pair *)(void *)p->pair;
}

static struct collider_ptx_access access_of(const struct race_side *s)
{
	struct collider_ptx_access a = {.kernel = s->kernel,
					.function = s->func_shown,
					.file = s->file,
					.line = s->line,
					.column = s->col,
					.ptx_line = s->ptx_line,
					.text = s->text,
					.what = race_access_name(s->access),
					.space = race_space_name(s->space),
					.address = s->address,
					.bytes = s->bytes};

	memcpy(a.thread, s->thread, sizeof(a.thread));
	memcpy(a.block, s->block, sizeof(a.block));
	return a;
}

static enum collider_ptx_class class_of(const struct race_finding *f)
{
	if (f->cls == RACE_CLASS_RACE)
		return COLLIDER_PTX_RACE;
	return f->cls == RACE_CLASS_VOLATILE ? COLLIDER_PTX_VOLATILE : COLLIDER_PTX_OTHER;
}

/* "a.cu:9", or the line of the PTX. */
static const char *place(struct base_arena *a, const char *module,
			 const struct collider_ptx_access *s)
{
	if (*s->file && s->line)
		return base_printf(a, "%s:%u", s->file, s->line);
	return base_printf(a, "%s:%u", module, s->ptx_line);
}

static const char *line_of(struct base_arena *a, const char *module, enum collider_ptx_class c,
			   const struct collider_ptx_access *x, const struct collider_ptx_access *y)
{
	const char *verb = c == COLLIDER_PTX_RACE ? "races with" : "is not ordered with";

	return base_printf(a,
			   "%s: %s %s %s: %s, in %s, %s memory, thread (%u,%u,%u) of block "
			   "(%u,%u,%u) and thread (%u,%u,%u) of block (%u,%u,%u)",
			   place(a, module, x), x->what, verb, place(a, module, y), y->what,
			   x->kernel, x->space, x->thread[0], x->thread[1], x->thread[2],
			   x->block[0], x->block[1], x->block[2], y->thread[0], y->thread[1],
			   y->thread[2], y->block[0], y->block[1], y->block[2]);
}

static void report(struct collider_ptx *d, const char *module, const struct race_finding *f,
		   struct base_arena *a)
{
	struct collider_ptx_access x = access_of(&f->sides[0]), y = access_of(&f->sides[1]);
	struct collider_ptx_finding out = {.class_of = class_of(f),
					   .module = module,
					   .object = f->met.name,
					   .address = f->first.address,
					   .count = f->count,
					   .first = &x,
					   .second = &y};

	out.line = line_of(a, module, out.class_of, &x, &y);
	d->races += out.class_of == COLLIDER_PTX_RACE;
	if (d->options.on_finding)
		d->options.on_finding(d->options.arg, &out);
}

void lib_report(struct collider_ptx *d, const char *module)
{
	for (; d->reported < d->pairs.n; d->reported++) {
		const struct lib_pair *p = d->pairs.v[d->reported];
		struct race_results r = {0};
		if (race_pair_read(&r, p->pair, p->bytes, 0) && r.findings.n)
			report(d, module, &r.findings.v[0], &r.arena);
		race_results_free(&r);
	}
}

void lib_pairs_free(struct collider_ptx *d)
{
	for (size_t i = 0; i < d->pairs.n; i++)
		free(d->pairs.v[i]);
	base_vec_free(&d->pairs);
}
