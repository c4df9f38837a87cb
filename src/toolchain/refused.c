/*
 * refused.c - kernels that ptxas assembles as a part of an object only.
 *
 * Of CUB's onesweep kernel with the checks of hirace or iguard ptxas 13.0 says C7600, "register
 * allocation failed", in whatever form they are. As an object (--compile-only: -rdc, or trial.c) it
 * assembles it all the same, and on an H200 that code computed wrong ranks: data races that were
 * none, then an illegal address. So a large kernel with such checks must assemble alone, too, or it
 * runs as it was.
 *
 * Misses: small kernels, and such as call functions of other objects, which can't be assembled
 * alone. Costs: ptxas once more for each large kernel.
 */
#include "toolchain/rewrite.h"

#include <stdlib.h>
#include <string.h>

#define LINES_LARGE 5000u /* of PTX with checks; the onesweep kernel has 16,000 */

static bool is_refused(const struct tool_work *w, const char *kernel, struct base_arena *a)
{
	struct tool_job job = *w->job;
	struct tool_strings argv = {0};
	const char *log = tool_temp("trial.log"), *out = tool_temp("trial.o");
	char *said;
	size_t size;
	bool is = false;

	if (!log || !out)
		return false;
	job.relocatable = false;
	tool_trial_options(&job, w->maxreg, &argv, a);
	base_vec_push(&argv, base_printf(a, "--entry=%s", kernel));
	base_vec_push(&argv, base_strdup(a, w->in));
	base_vec_push(&argv, base_strdup(a, "-o"));
	base_vec_push(&argv, base_strdup(a, out));
	base_vec_push(&argv, NULL);
	base_vec_push(&argv, NULL); /* room for the program's name */
	memmove(argv.v + 1, argv.v, (argv.n - 2) * sizeof(*argv.v));
	argv.v[0] = base_strdup(a, job.ptxas);
	if (tool_run(job.ptxas, argv.v, log) && !base_read_file(log, &said, &size)) {
		is = strstr(said, "C7600") != NULL;
		free(said);
	}
	base_vec_free(&argv);
	return is;
}

static bool is_large(const struct tool_work *w, const char *name)
{
	for (size_t i = 0; i < w->sizes.list.n; i++)
		if (!strcmp(w->sizes.list.v[i].name, name))
			return w->sizes.list.v[i].lines_after >= LINES_LARGE;
	return false;
}

bool tool_skip_refused(struct tool_work *w)
{
	bool is_changed = false;

	if (w->is_refused_known || !(w->io.sanitize & race_detectors_with_words()) ||
	    !(w->job->relocatable || w->is_object))
		return false;
	w->is_refused_known = true;
	for (size_t i = 0; i < w->funcs.n; i++) {
		struct tool_func *f = &w->funcs.v[i];
		if (!f->is_entry || f->skip || f->is_left_out || !is_large(w, f->name) ||
		    !is_refused(w, f->name, &w->arena))
			continue;
		f->skip = is_changed = true;
		f->maxnreg = 0;
		f->why = "ptxas fails to allocate its registers (C7600)";
	}
	return is_changed;
}
