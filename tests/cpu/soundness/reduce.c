/*
 * reduce.c - checks a program, and makes a failing one smaller.
 *
 * Launches and statements are taken out, blocks and threads, then what makes a statement special; a
 * step stays if the program still fails in the same way with one of a few seeds, because a change
 * of the program is a change of the schedule. Ends when no step helps.
 * Misses: a failure that few seeds show may stay larger than needed.
 */
#include "reduce.h"

#include <stdlib.h>

#define SEEDS 4u

static unsigned char *expect(const struct gen_program *k, const struct program *p)
{
	unsigned char *mem;

	if (p->is_racy)
		return NULL;
	mem = malloc(program_memory(p));
	if (!mem)
		abort();
	program_initial(p, mem);
	gen_expect(k, p, mem);
	return mem;
}

struct run_result reduce_rerun(const struct program *p, const struct reduce_case *c,
			       const unsigned char *expected)
{
	struct run_config run = {.model = c->model, .seed = c->seed};
	struct base_buf text = {0};

	if (!c->is_plain) {
		run_instrument(p, c->damage, &text);
		run.checked = &text;
	}
	struct run_result r = run_program(p, &run, expected, NULL);
	base_buf_free(&text);
	return r;
}

struct run_result reduce_run(const struct gen_program *k, const struct reduce_case *c)
{
	struct program p = {0};

	gen_print(k, &p);
	unsigned char *expected = expect(k, &p);
	struct run_result r = reduce_rerun(&p, c, expected);
	free(expected);
	program_free(&p);
	return r;
}

struct run_result reduce_check(const struct program *p, const struct reduce_case *start,
			       unsigned seeds, const unsigned char *expected, struct reduce_case *c,
			       reduce_done_fn *done)
{
	struct run_config run = {.seed = start->seed};
	unsigned char *plain = malloc(program_memory(p));
	struct base_buf text = {0};
	struct run_result r;

	if (!plain)
		abort();
	r = run_program(p, &run, expected, plain);
	if (done)
		done(p, &run, &r);
	run_instrument(p, start->damage, &text);
	for (unsigned i = 0; i < seeds * (CPU_MODEL_A1 + 1) && r.verdict == RUN_FINE; i++) {
		run = (struct run_config){.model = (enum cpu_model)(i / seeds),
					  .seed = start->seed + i % seeds,
					  .checked = &text};
		r = run_program(p, &run, p->is_racy ? NULL : plain, NULL);
		if (done)
			done(p, &run, &r);
	}
	*c = (struct reduce_case){.model = run.model,
				  .seed = run.seed,
				  .damage = start->damage,
				  .is_plain = !run.checked};
	base_buf_free(&text);
	free(plain);
	return r;
}

/* ---- smaller ----------------------------------------------------------------------------- */

unsigned reduce_size(const struct gen_program *k)
{
	unsigned n = 0;

	for (unsigned i = 0; i < k->n; i++)
		n += !k->stmt[i].is_removed && !k->launch[k->stmt[i].launch].is_removed;
	return n;
}

static bool fails(const struct gen_program *k, struct reduce_case *c, enum run_verdict verdict)
{
	struct reduce_case x = *c;

	for (unsigned i = 0; i < SEEDS; i++) {
		x.seed = c->seed + i;
		if (reduce_run(k, &x).verdict != verdict)
			continue;
		*c = x;
		return true;
	}
	return false;
}

/* Step `n` for a launch or a statement; false: it changes nothing. */
static bool change_launch(struct gen_launch *l, unsigned n)
{
	struct gen_launch was = *l;

	if (n == 0)
		l->is_removed = true;
	else if (n == 1)
		l->blocks = l->blocks > 1 ? l->blocks - 1 : 1;
	else if (n == 2)
		l->threads = l->threads > 32 ? l->threads - 32 : 32;
	else if (n == 3)
		l->after = GEN_AFTER_NONE;
	else
		l->order = l->order ? GEN_ORDER_DIRECT : GEN_ORDER_NONE;
	if (l->cluster)
		l->cluster = l->blocks;
	if (n == 2)
		l->wide = l->threads;
	if (l->broken == 2 && l->after == GEN_AFTER_NONE)
		l->broken = 0;
	return l->is_removed != was.is_removed || l->blocks != was.blocks ||
	       l->threads != was.threads || l->after != was.after || l->order != was.order;
}

static bool change_stmt(struct gen_stmt *s, unsigned n)
{
	struct gen_stmt was = *s;

	if (n == 0)
		s->is_removed = true;
	else if (n == 1)
		s->guard = s->trips = 0;
	else if (n == 2)
		s->is_generic = false;
	else if (n == 3)
		s->form = s->form2 = 0;
	else {
		s->width = 4;
		s->vec = 1;
		s->type = 'u';
		s->offset = 0;
	}
	return s->is_removed != was.is_removed || s->guard != was.guard || s->trips != was.trips ||
	       s->is_generic != was.is_generic || s->form != was.form || s->form2 != was.form2 ||
	       s->width != was.width || s->vec != was.vec || s->type != was.type ||
	       s->offset != was.offset;
}

static bool try_launch(struct gen_program *k, unsigned i, unsigned n, struct reduce_case *c,
		       enum run_verdict verdict)
{
	struct gen_program x = *k;
	unsigned left = 0;

	if (k->launch[i].is_removed || !change_launch(&x.launch[i], n))
		return false;
	for (unsigned j = 0; j < x.nlaunches; j++)
		left += !x.launch[j].is_removed;
	if (!left || !fails(&x, c, verdict))
		return false;
	*k = x;
	return true;
}

static bool try_stmt(struct gen_program *k, unsigned i, unsigned n, struct reduce_case *c,
		     enum run_verdict verdict)
{
	struct gen_program x = *k;

	if (k->stmt[i].is_removed || k->launch[k->stmt[i].launch].is_removed ||
	    !change_stmt(&x.stmt[i], n) || !fails(&x, c, verdict))
		return false;
	*k = x;
	return true;
}

void reduce_program(struct gen_program *k, struct reduce_case *c, enum run_verdict verdict)
{
	bool is_smaller = true;

	while (is_smaller) {
		is_smaller = false;
		for (unsigned n = 0; n < 5; n++) {
			for (unsigned i = 0; i < k->nlaunches; i++)
				is_smaller |= try_launch(k, i, n, c, verdict);
			for (unsigned i = 0; i < k->n; i++)
				is_smaller |= try_stmt(k, i, n, c, verdict);
		}
	}
}
