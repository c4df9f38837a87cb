/*
 * prune.c - --prune: the prover that finds the accesses that need no check (toolchain.h).
 *
 * Unless all proofs are asked for, code gets what is proven in a part of the time that ptxas will
 * need for the text with checks, by the estimate of slow.c; the rest is checked. Of a program that
 * loads its code (load.c) it is proven later (later.c), in LATER_MS, where it takes an assumption
 * for what the launches had in common so far (race/noted.h). What was proven is kept by the
 * prover, and the code that was made by load.c.
 */
#include "base/clock.h"
#include "toolchain/rewrite.h"
#include "toolchain/toolchain.h"

#include <string.h>

/* After the load. The process that proves then lives so long and ptxas's time after the program, or
 * what it has made is lost (later.c). */
#define LATER_MS 40000
/* Of ptxas's time, and at least so long: starting ptxas alone takes a good part of that. */
#define TIMED_PART  0.15
#define TIMED_LEAST 0.1

static tool_prover *prover;

void tool_set_prover(tool_prover *fn)
{
	prover = fn;
}

static unsigned wall_ms(const struct tool_work *w)
{
	if (!w->job->opt->prune_timed)
		return w->job->is_later ? LATER_MS : 0;
	double s = TIMED_PART * tool_sizes_wall(&w->sizes);

	return (unsigned)(1e3 * (s < TIMED_LEAST ? TIMED_LEAST : s));
}

void tool_find_prunes(struct tool_work *w)
{
	const struct tool_options *o = w->job->opt;
	struct tool_prover_job j = {.name = w->job->name,
				    .text = w->text,
				    .size = w->size,
				    .wants_global = o->prune_global || o->inst.prune_alone,
				    .wants_whole = w->io.plain,
				    .wall_ms = wall_ms(w),
				    .noted_folder = w->job->is_later ? w->job->noted_folder : NULL,
				    .noted = w->io.noted};
	BASE_VEC(const char *) names = {0};

	/* The accesses to shared memory of a text that declares none are its callers'. */
	if (!o->prune || !prover ||
	    (!j.wants_global && !j.wants_whole && !strstr(w->text, ".shared")))
		return;
	for (size_t i = 0; i < w->funcs.n; i++)
		if (w->funcs.v[i].is_entry && !w->funcs.v[i].is_left_out && !w->funcs.v[i].skip)
			base_vec_push(&names, w->funcs.v[i].name);
	j.kernels = names.v;
	j.nkernels = names.n;
	uint64_t began = base_now_ns();
	prover(&j, &w->prunes);
	w->costs.proofs = 1e-9 * (double)(base_now_ns() - began);
	base_vec_free(&names);
}

void tool_say_late(const struct tool_work *w)
{
	/* A program that has just loaded the code has no launches yet. */
	bool lacks_notes = w->stats.noted && (!w->job->is_later || w->prunes.lacks_notes);

	if (w->job->late_file && (w->prunes.is_late || lacks_notes))
		(void)base_write_file(w->job->late_file, "", 0);
}
