/*
 * reduce_steer.c - collider reduce: which threads a finding needs, and which schedule.
 *
 * Where the two sides' threads, their warps or their blocks alone show it, the others are left out
 * (--only). Then the schedule: nothing is drawn (--random-turns=0); with that one of the threads or
 * blocks waits (--delay); else the least number of turns that must be drawn is searched by halves.
 * At last the thread that writes waits before its line, where it needn't: the other one comes first
 * then, which is what goes wrong.
 *
 * Misses: schedules in which two threads must wait at different lines; the number of drawn turns
 * isn't the least where fewer of them show it and more don't. Findings without a thread: copies,
 * and collide alone.
 */
#include "cli/reduce.h"
#include "race/file/pair.h"
#include "report/report.h"

#include <string.h>

/* A side's thread, as the last run that showed the finding had it. */
struct thread {
	char block[40], thread[40]; /* "2", "2:1:0" */
	const char *file;	    /* in x->s.arena */
	uint32_t warp, line;
	bool writes, reads;
};

struct threads {
	struct thread v[2];
	unsigned n;
};

static void put_numbers(char *to, size_t n, const uint32_t v[3])
{
	if (v[1] || v[2])
		snprintf(to, n, "%u:%u:%u", v[0], v[1], v[2]);
	else
		snprintf(to, n, "%u", v[0]);
}

static void take_thread(struct base_arena *a, struct threads *t, const struct race_side *side)
{
	struct thread *to = &t->v[t->n];

	if (side->device < 0 || side->flags & (RACE_SIDE_HOST | RACE_SIDE_SOME) || !*side->kernel)
		return;
	put_numbers(to->block, sizeof(to->block), side->block);
	put_numbers(to->thread, sizeof(to->thread), side->thread);
	const char *slash = strrchr(side->file, '/');
	to->file = base_strdup(a, slash ? slash + 1 : side->file);
	to->warp = side->warp;
	to->line = side->line;
	to->writes = side->flags & RACE_SIDE_WRITES;
	to->reads = side->flags & RACE_SIDE_READS;
	t->n++;
}

/* Makes a run. False: it doesn't show the finding, or that has no thread. */
static bool look(struct reduce *x, struct threads *t)
{
	struct race_results r = {0};
	struct base_sink sink = {0};
	struct base_arena a = {0};
	struct rep_brief *all;

	t->n = 0;
	if (!reduce_has_run(x) || !reduce_shows(x))
		return false;
	if (!rep_json_read(sweep_again(&x->s), &r, &sink))
		rep_briefs(&a, &r, &all); /* makes the fingerprints */
	for (size_t i = 0; i < r.findings.n && !t->n; i++) {
		const struct race_finding *f = &r.findings.v[i];
		if (f->print != x->print || !f->sides)
			continue;
		take_thread(&x->s.arena, t, &f->sides[0]);
		take_thread(&x->s.arena, t, &f->sides[1]);
	}
	base_sink_free(&sink);
	base_arena_free(&a);
	race_results_free(&r);
	return t->n > 0;
}

/* ---- threads ------------------------------------------------------------------------------ */

enum size { THREADS, WARPS, BLOCKS, SIZES };

static void put_place(struct base_buf *b, const struct thread *t, enum size size)
{
	base_buf_printf(b, "%s", t->block);
	if (size == THREADS)
		base_buf_printf(b, ".%s", t->thread);
	else if (size == WARPS)
		base_buf_printf(b, ".%u-%u", t->warp * 32, t->warp * 32 + 31);
}

static bool adds_only(struct reduce *x, const struct threads *t, enum size size)
{
	struct base_buf one = {0}, two = {0};

	put_place(&one, &t->v[0], size);
	put_place(&two, &t->v[t->n - 1], size);
	bool is_one = !strcmp(one.p, two.p);
	bool is = reduce_adds(x, base_printf(&x->s.arena, "--only=%s%s%s", one.p, is_one ? "" : ",",
					     is_one ? "" : two.p));
	base_buf_free(&one);
	base_buf_free(&two);
	return is;
}

/* ---- the schedule ------------------------------------------------------------------------ */

static bool adds_turns(struct reduce *x, uint64_t n)
{
	return reduce_adds(x,
			   base_printf(&x->s.arena, "--random-turns=%llu", (unsigned long long)n));
}

/* Nothing is drawn, and one of these waits. */
static bool adds_delay(struct reduce *x, const struct threads *t)
{
	struct base_arena *a = &x->s.arena;

	base_vec_push(&x->s.passed, base_strdup(a, "--random-turns=0"));
	for (unsigned i = 0; i < t->n; i++) {
		const struct thread *d = &t->v[i];
		if (reduce_adds(x,
				base_printf(a, "--delay=%s.%s@%u", d->block, d->thread, d->line)) ||
		    reduce_adds(x, base_printf(a, "--delay=%s.%s", d->block, d->thread)) ||
		    reduce_adds(x, base_printf(a, "--delay=%s", d->block)))
			return true;
	}
	x->s.passed.n--;
	return false;
}

/* The least number of turns that are drawn by the seed. */
static void find_turns(struct reduce *x)
{
	uint64_t low = 1, high = 1, least = 0;

	while (reduce_has_run(x) && high < 1u << 24 && !least) {
		if (adds_turns(x, high)) {
			x->s.passed.n--;
			least = high;
		} else {
			low = high + 1;
			high *= 4;
		}
	}
	for (high = least; low < high && reduce_has_run(x);) {
		uint64_t mid = low + (high - low) / 2;
		if (adds_turns(x, mid)) {
			x->s.passed.n--;
			least = high = mid;
		} else {
			low = mid + 1;
		}
	}
	if (least)
		base_vec_push(&x->s.passed, base_printf(&x->s.arena, "--random-turns=%llu",
							(unsigned long long)least));
}

static void drop_seed(struct reduce *x)
{
	for (size_t i = x->s.passed.n; i-- > 0 && reduce_has_run(x);)
		if (!strncmp(x->s.passed.v[i], "--seed=", strlen("--seed=")))
			reduce_drops(x, i);
}

/* ---- what a delay does ------------------------------------------------------------------- */

/* "thread 37 of block 2", "thread 37" where both are of one block. */
static const char *name(struct base_arena *a, const struct threads *t, unsigned i)
{
	return strcmp(t->v[0].block, t->v[1].block)
		       ? base_printf(a, "thread %s of block %s", t->v[i].thread, t->v[i].block)
		       : base_printf(a, "thread %s", t->v[i].thread);
}

/* "line 88", with its file where that isn't the same for both. */
static const char *line(struct base_arena *a, const struct threads *t, unsigned i)
{
	return strcmp(t->v[0].file, t->v[1].file)
		       ? base_printf(a, "line %u of %s", t->v[i].line, t->v[i].file)
		       : base_printf(a, "line %u", t->v[i].line);
}

/* The one that writes waits before its line: the other one comes first then. */
static void say_delay(struct reduce *x, const struct threads *t)
{
	unsigned w = t->v[0].writes && !t->v[0].reads ? 0 : 1;
	struct base_arena *a = &x->s.arena;

	/* (A thread and its own copy: it would wait for itself.) */
	if (t->n < 2 || !t->v[w].writes || !t->v[w].line || !reduce_has_run(x) ||
	    (!strcmp(t->v[0].thread, t->v[1].thread) && !strcmp(t->v[0].block, t->v[1].block)))
		return;
	const struct thread *late = &t->v[w];
	const char *option =
		base_printf(a, "--delay=%s.%s@%u", late->block, late->thread, late->line);
	if (!reduce_adds(x, base_strdup(a, option)))
		return;
	x->s.passed.n--;
	x->delayed = base_printf(a, "with %s only %s waits, before %s, and %s at %s %s", option,
				 name(a, t, w), line(a, t, w), name(a, t, !w), line(a, t, !w),
				 t->v[!w].writes ? "writes first: its value is overwritten"
						 : "reads the old value");
}

void reduce_steer(struct reduce *x)
{
	struct threads t;
	bool is_calm;

	if (!look(x, &t))
		return;
	for (enum size i = THREADS; i < SIZES && !adds_only(x, &t, i); i++)
		;
	is_calm = adds_turns(x, 0) || adds_delay(x, &t);
	if (!is_calm)
		find_turns(x);
	else
		drop_seed(x);
	if (is_calm && !strstr(x->s.passed.v[x->s.passed.n - 1], "--delay") && look(x, &t))
		say_delay(x, &t);
}
