/*
 * rewrite.c - one PTX text: instrumented, assembled on trial, capped, or left unchanged.
 *
 *	scan	  what each function is: bounds, grid barrier, wgmma, calls (scan.c)
 *	original  assembled once, for its register counts (not when every kernel has bounds)
 *	attempt	  instrument with the limits so far, assemble, compare; on failure tighten the
 *		  limits (report without a call, then leave the kernel out) and try again
 *	keep	  the last trial's cubin is the result (keep.c, trial.c)
 *
 * What the limits are is in limits.c.
 *
 * Misses: options that cicc never sees (-Xptxas -O0), file-wide caps of embedded PTX of -rdc
 * objects. Costs: ptxas on the original once; the result is kept for nvcc.
 */
#include "toolchain/toolchain.h"
#include "toolchain/internal.h"
#include "toolchain/rewrite.h"

#include "race/detector.h"
#include "race/record.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define MAX_ATTEMPTS 8
/* From so many kernels with checks by call on, the functions are assembled once (trial.c). */
#define OBJECT_KERNELS 16u
/* ptxas works on all processors (since CUDA 12.1). */
#define SPLIT_NAME "split-compile"
#define SPLIT	   "-" SPLIT_NAME "=0"

/* ---- ptxas on trial -------------------------------------------------------- */

/* Is the text with checks assembled as an object (trial.c)? hirace keeps much across calls, which
 * are rare; what iguard calls is too slow with the tightest cap. Not where functions of the user's
 * would share the cap; nor where wgmma or setmaxnreg is: a call to another section serialises the
 * one, and the other is ignored. */
static bool takes_object(struct tool_work *w)
{
	unsigned slow = race_detectors_with(RACE_HOLDS_REGISTERS);
	bool has_words = (w->io.sanitize & race_detectors_with_words()) && !(w->io.sanitize & slow);

	if ((!has_words && w->stats.by_call < OBJECT_KERNELS) || w->is_whole || w->only ||
	    w->maxreg || w->job->relocatable || w->job->is_debug || w->job->has_maxreg)
		return false;
	for (size_t i = 0; i < w->funcs.n; i++) {
		const struct tool_func *f = &w->funcs.v[i];
		if (!f->is_entry || f->has_wgmma || f->is_specialised)
			return false;
	}
	return tool_can_link(w->job, &w->arena);
}

/* The tightest cap of all kernels. */
static unsigned object_cap(const struct tool_work *w)
{
	unsigned least = REGS_CALLED;
	for (size_t i = 0; i < w->funcs.n; i++) {
		const struct tool_func *f = &w->funcs.v[i];
		unsigned cap = f->maxnreg && f->maxnreg < f->cap ? f->maxnreg : f->cap;
		if (!f->skip && !f->is_left_out && cap < least)
			least = cap;
	}
	return least < REGS_ABI ? REGS_ABI : least;
}

/* Links it; true if every kernel keeps its cap. */
static bool link_object(struct tool_work *w, const char *object, struct tool_reglist *regs)
{
	regs->n = 0;
	if (tool_link_object(w->job, object, w->cubin, &w->arena) != 0 ||
	    tool_cubin_regs(w->cubin, regs, &w->arena) != 0)
		return false;
	for (size_t i = 0; i < w->funcs.n; i++) {
		const struct tool_func *f = &w->funcs.v[i];
		unsigned n = tool_reglist_get(regs, f->name);
		bool is_known = f->before || f->is_bounded;
		/* ptxas may give code that has no checks more registers, too. */
		if (!n || (is_known ? n > f->cap : f->is_left_out))
			return false;
	}
	return true;
}

static bool has_many_kernels(const struct tool_work *w)
{
	unsigned n = 0;

	for (size_t i = 0; i < w->funcs.n; i++)
		n += w->funcs.v[i].is_entry;
	return n > 1;
}

/* ptxas's command line; where a user waits for it, with all processors: the code is the same. */
static void trial_line(struct tool_work *w, bool is_original, const char *in, const char *out,
		       struct tool_strings *argv)
{
	base_vec_push(argv, (char *)(uintptr_t)w->job->ptxas);
	struct tool_strings options = {0};
	tool_trial_options(w->job, is_original ? 0 : w->maxreg, &options, &w->arena);
	for (size_t i = 0; i < options.n; i++)
		base_vec_push(argv, options.v[i]);
	base_vec_free(&options);
	if (w->is_object)
		tool_object_options(object_cap(w), argv, &w->arena);
	if (w->only)
		base_vec_push(argv, base_printf(&w->arena, "--entry=%s", w->only));
	if (w->job->is_waited_for && !w->is_old_ptxas && has_many_kernels(w))
		base_vec_push(argv, base_strdup(&w->arena, SPLIT));
	char *rest[] = {(char *)(uintptr_t)in, base_strdup(&w->arena, "-o"), (char *)(uintptr_t)out,
			NULL};
	for (size_t i = 0; i < BASE_COUNTOF(rest); i++)
		base_vec_push(argv, rest[i]);
}

/* Assembles; true and the register counts, or false and what ptxas said. */
static bool assemble(struct tool_work *w, const char *text, size_t n, struct tool_reglist *regs,
		     char **said)
{
	const char *in = w->in = tool_temp("trial.ptx");
	const char *out = w->cubin = tool_temp("trial.cubin"), *object = tool_temp("trial.o");
	const char *log = tool_temp("trial.log");
	struct tool_strings argv = {0};
	char *messages;
	size_t size;

	*said = base_strdup(&w->arena, "");
	if (!strchr(w->job->arch, '_'))
		return false;
	w->is_cut_off |= !in || !out || !object || !log || base_write_file(in, text, n) != 0;
	if (w->is_cut_off)
		return false;
	bool is_original = text == w->text, is_object = !is_original && takes_object(w);
	w->is_object = is_object;
	trial_line(w, is_original, in, is_object ? object : out, &argv);
	double began = tool_seconds_of(RUSAGE_CHILDREN);
	if (!is_original) {
		tool_slow_say(w->job, &w->sizes);
		tool_wait_say(w->job, &w->sizes);
	}
	int rc = is_original ? tool_run(w->job->ptxas, argv.v, log)
			     : tool_run_shown(w->job, &w->sizes, argv.v, log);
	if (is_original) {
		w->costs.original += tool_seconds_of(RUSAGE_CHILDREN) - began;
	} else {
		w->costs.trial += tool_seconds_of(RUSAGE_CHILDREN) - began;
		w->costs.trials++;
	}
	base_vec_free(&argv);
	w->is_cut_off |= rc >= TOOL_SIGNAL;
	if (base_read_file(log, &messages, &size) == 0) {
		*said = base_strndup(&w->arena, messages, size);
		free(messages);
	}
	regs->n = 0;
	if (rc && !w->is_old_ptxas && strstr(*said, SPLIT_NAME)) {
		w->is_old_ptxas = true;
		return assemble(w, text, n, regs, said);
	}
	if (!is_object)
		return rc == 0 && tool_cubin_regs(out, regs, &w->arena) == 0;
	if (rc == 0 && link_object(w, object, regs))
		return true;
	w->is_whole = true;
	return assemble(w, text, n, regs, said);
}

/* Keeps the trial's result, which nvcc will need, with the messages of ptxas. */
static void keep(struct tool_work *w, const struct base_buf *out, const char *said)
{
	struct tool_strings options = {0};

	if (w->job->has_maxreg)
		return;
	tool_trial_options(w->job, w->maxreg, &options, &w->arena);
	struct tool_kept k = {.ptxas = w->job->ptxas,
			      .text = out->p,
			      .size = out->n,
			      .options = options.v,
			      .noptions = options.n};
	tool_keep(&k, w->cubin, said, w->in);
	base_vec_free(&options);
}

/* ---- attempts ---------------------------------------------------------------- */

static int instrument(struct tool_work *w, struct base_buf *out, struct base_sink *sink)
{
	struct inst_limit *lim = BASE_NEWN(&w->arena, struct inst_limit, w->funcs.n + 1);
	size_t n = 0;

	for (size_t i = 0; i < w->funcs.n; i++) {
		const struct tool_func *f = &w->funcs.v[i];
		if (!f->maxnreg && !f->skip && !f->call_free && !f->has_wgmma)
			continue;
		lim[n++] = (struct inst_limit){.kernel = f->name,
					       .maxnreg = f->maxnreg,
					       .skip = f->skip,
					       .why = f->why,
					       .call_free = f->call_free,
					       /* ptxas serialises wgmma around calls. */
					       .no_calls = f->has_wgmma};
	}
	struct inst_options io = w->io;
	io.call_free |= w->call_free;
	io.limits = lim;
	io.nlimits = n;
	w->sizes.list.n = 0;
	out->n = 0;
	if (w->maxreg)
		base_buf_printf(out, TOOL_MAXREG_COMMENT "%u\n", w->maxreg);
	return inst_text(w->job->name, w->text, w->size, &io, out, &w->stats, sink);
}

/* ptxas names no function in what it said: leaves out the kernels that it refuses alone. */
static bool leave_out_refused(struct tool_work *w, const struct base_buf *out, const char *why)
{
	bool changed = false;

	for (size_t i = 0; i < w->funcs.n; i++) {
		struct tool_func *f = &w->funcs.v[i];
		char *said;
		w->only = f->name;
		if (f->is_entry && !f->skip && !f->is_left_out &&
		    !assemble(w, out->p, out->n, &w->after, &said))
			changed |= tool_tighten(w, f, why);
		w->only = NULL;
	}
	return changed;
}

/* ptxas refused the instrumented text: tighten what it names, or everything once. */
static bool after_refusal(struct tool_work *w, const struct base_buf *out, const char *said)
{
	const char *why = tool_first_error(said, &w->arena);
	unsigned cap = tool_fit_refused(said);
	bool changed = false;

	if (cap && (!w->maxreg || cap < w->maxreg)) {
		tool_cap_file(w, cap);
		return true;
	}
	for (size_t i = 0; i < w->funcs.n; i++) {
		const char *name = w->funcs.v[i].name;
		if (strstr(said, base_printf(&w->arena, "'%s'", name)) ||
		    strstr(said, base_printf(&w->arena, "'" RACE_CALLED_PREFIX "%s'", name)))
			changed |= tool_tighten(w, &w->funcs.v[i], why);
	}
	if (changed)
		return true;
	if (w->call_free || w->job->opt->inst.call_free)
		return leave_out_refused(w, out, why);
	w->call_free = true;
	return true;
}

static const struct tool_func *find(const struct tool_work *w, const char *name)
{
	for (size_t i = 0; i < w->funcs.n; i++) {
		if (!strcmp(w->funcs.v[i].name, name))
			return &w->funcs.v[i];
	}
	return NULL;
}

/* The largest count among the functions that the instrumenter added; a function's variant isn't
 * one of them. */
static unsigned added_regs(const struct tool_work *w)
{
	unsigned most = 0;

	for (size_t i = 0; i < w->after.n; i++) {
		const char *name = w->after.v[i].name, *of = race_called_name(name, strlen(name));
		if (w->after.v[i].count > most && !find(w, of ? of : name))
			most = w->after.v[i].count;
	}
	return most;
}

/* With checks: of the function or its variant. */
static unsigned regs_after(struct tool_work *w, const struct tool_func *f)
{
	const char *variant = base_printf(&w->arena, RACE_CALLED_PREFIX "%s", f->name);
	unsigned own = tool_reglist_get(&w->after, f->name);
	unsigned its = tool_reglist_get(&w->after, variant);

	return own > its ? own : its;
}

/* It assembled: does every function keep its cap? Tightens those that don't; true if all do. */
static bool keeps_caps(struct tool_work *w)
{
	unsigned added = w->job->relocatable ? added_regs(w) : 0, maxreg = 0;
	bool ok = true;

	/* What we add is called by kernels and functions alike: it must suit them all. A cap for it
	 * applies to the whole file, so large functions do better without the calls. */
	bool has_large = tool_has_func(w, true);
	if (added > (has_large ? REGS_CALLED : REGS_SHARED) && !w->call_free) {
		if (has_large) {
			w->call_free = true;
			return false;
		}
		maxreg = added = REGS_SHARED;
	}
	for (size_t i = 0; i < w->funcs.n; i++) {
		struct tool_func *f = &w->funcs.v[i];
		unsigned regs = regs_after(w, f);
		if (f->is_entry && added > regs && !f->call_free && !w->call_free)
			regs = added; /* nvlink adds it up so */
		if (regs <= f->cap || f->skip || f->is_left_out || !f->before)
			continue;
		/* A skipped kernel keeps its size: there is nothing smaller. */
		if (!f->is_entry && w->maxreg != f->cap && (!maxreg || f->cap < maxreg))
			maxreg = f->cap;
		else if (f->is_entry || w->maxreg)
			ok &= !tool_tighten(
				w, f, "its registers would not leave room for every block size");
	}
	if (!maxreg || (w->maxreg && maxreg >= w->maxreg))
		return ok;
	tool_cap_file(w, maxreg);
	return false;
}

static bool attempts(struct tool_work *w, struct base_buf *out, struct base_sink *sink,
		     const char **why)
{
	for (int i = 0; i < MAX_ATTEMPTS; i++) {
		char *said;
		if (instrument(w, out, sink) != 0)
			return false;
		if (w->stats.already || w->stats.too_old || w->stats.idle || w->job->opt->no_fit ||
		    !w->job->arch)
			return true;
		if (tool_skip_slow(w))
			continue;
		if (assemble(w, out->p, out->n, &w->after, &said)) {
			if (tool_skip_refused(w)) {
				*why = "ptxas refuses its kernels alone";
				continue;
			}
			if (w->job->has_maxreg || keeps_caps(w)) {
				keep(w, out, said);
				return true;
			}
			*why = "it would not accept every block size that the original accepts";
		} else {
			*why = base_printf(&w->arena, "ptxas refuses the instrumented text: %s",
					   tool_first_error(said, &w->arena));
			if (!after_refusal(w, out, said))
				return false;
		}
	}
	return false;
}

static enum tool_outcome failed(const struct tool_work *w, const char *why)
{
	base_say("%s: not instrumented: %s", w->job->name, why);
	return w->is_cut_off ? TOOL_FAILED : TOOL_REFUSED;
}

static enum tool_outcome cut_off(struct tool_work *w, const char *why)
{
	w->is_cut_off = true;
	return failed(w, why);
}

/* The first diagnostic with its line in the PTX, or the other reason. */
static const char *reason(struct tool_work *w, const struct base_sink *sink, const char *other)
{
	const struct base_diag *d = sink->diags.v;

	if (!sink->diags.n)
		return other;
	return d->at.line ? base_printf(&w->arena, "PTX line %u: %s", d->at.line, d->text)
			  : d->text;
}

static void say_costs(const struct tool_work *w)
{
	const struct costs *c = &w->costs;
	const char *arch = w->job->arch ? w->job->arch : "any target";

	base_say("%s (%s): %u accesses in %u kernels and %u functions instrumented", w->job->name,
		 arch, w->stats.sites, w->stats.kernels, w->stats.functions);
	base_say("%s (%s): %u groups; %zu lines of PTX, %zu with checks; %.2f s in the pass; ptxas "
		 "%.2f s "
		 "for the original, %.2f s with checks (%u runs)",
		 w->job->name, arch, w->stats.groups, c->lines, c->lines_after, c->pass,
		 c->original, c->trial, c->trials);
	if (w->job->opt->prune)
		base_say("%s (%s): %u accesses proven; %.2f s for proofs", w->job->name, arch,
			 w->stats.pruned, c->proofs);
	tool_sizes_say(w->job, &w->sizes);
}

/* Is no kernel in it asked for? Its functions may be called from another object's. */
static bool is_for_others(const struct tool_work *w)
{
	bool has_entry = false;

	if (!w->job->leaves_others || w->job->relocatable)
		return false;
	for (size_t i = 0; i < w->funcs.n; i++) {
		if (w->funcs.v[i].is_entry && !w->funcs.v[i].is_left_out)
			return false;
		has_entry |= w->funcs.v[i].is_entry;
	}
	return has_entry;
}

static enum tool_outcome rewrite(struct tool_work *w, struct base_buf *out, struct base_sink *sink)
{
	struct tool_reglist before = {0};
	const char *why = "unknown reason";
	char *said;
	double began = tool_seconds_of(RUSAGE_SELF);
	bool has_fit = w->job->arch && !w->job->opt->no_fit;

	if (has_fit && !tool_scan(w, sink))
		return failed(w, reason(w, sink, "not PTX"));
	if ((w->is_idle && !w->funcs.n) || (has_fit && is_for_others(w)))
		return TOOL_LEFT;
	if (has_fit && !w->is_idle && tool_needs_counts(w)) {
		bool ok = w->job->assembled &&
			  tool_cubin_regs(w->job->assembled, &before, &w->arena) == 0 && before.n;
		if (!ok)
			ok = assemble(w, w->text, w->size, &before, &said);
		if (!ok)
			return failed(w, base_printf(&w->arena, "ptxas refuses the original: %s",
						     tool_first_error(said, &w->arena)));
	}
	tool_first_limits(w, &before);
	/* Once without proofs, for the lengths: they say how long proofs may take. */
	if (!w->is_idle && w->job->opt->prune_timed) {
		if (instrument(w, out, sink) != 0)
			return failed(w, reason(w, sink, why));
		(void)tool_skip_slow(w);
	}
	if (!w->is_idle)
		tool_find_prunes(w);
	w->io.prunes = w->prunes.kernels.v;
	w->io.nprunes = w->prunes.kernels.n;
	base_vec_free(&before);
	if (!attempts(w, out, sink, &why))
		return failed(w, reason(w, sink, why));
	if (w->stats.already)
		return TOOL_LEFT;
	if (w->stats.too_old)
		return failed(w, "its target is below sm_70 (--raise-target would raise it)");
	for (size_t i = 0; i < w->funcs.n; i++) {
		if (w->funcs.v[i].skip)
			base_say("%s: %s runs as it was: %s", w->job->name, w->funcs.v[i].name,
				 w->funcs.v[i].why);
	}
	if (w->job->opt->verbose) {
		w->costs.pass = tool_seconds_of(RUSAGE_SELF) - began;
		w->costs.lines = tool_fit_lines(w->text, w->size);
		w->costs.lines_after = tool_fit_lines(out->p, out->n);
		say_costs(w);
	}
	return TOOL_CHANGED;
}

/* ---- the whole, in a process of its own ------------------------------------ */

struct call {
	const struct tool_job *job;
	const char *text;
	size_t size;
	const char *result; /* file for the text */
};

/* May a kernel have its own code once more? Not what is linked: kernels that a device launches
 * would run it whatever goes on beside them. */
static bool can_have_plain(const struct tool_job *job)
{
	return !job->opt->prune_global && !job->opt->inst.prune_alone && !job->relocatable;
}

/* Also for a sample, which takes no proof? In a build only where checks don't thin out within a
 * launch: the others' sample begins after a thousand, and each build would pay for it. */
static bool wants_samples(const struct tool_job *job)
{
	const unsigned others = ~race_detectors_with_words();

	return can_have_plain(job) && (job->opt->samples || !(job->opt->inst.sanitize & others));
}

static int rewrite_call(void *arg)
{
	const struct call *c = arg;
	struct tool_work w = {.job = c->job, .text = c->text, .size = c->size};
	struct base_buf out = {0};
	struct base_sink sink = {0};
	w.sizes.arena = &w.arena;
	w.io = c->job->opt->inst;
	w.io.relocatable = c->job->relocatable;
	w.io.plain = c->job->opt->prune && can_have_plain(c->job);
	w.io.samples = wants_samples(c->job);
	if (c->job->noted_folder)
		w.io.noted = base_hash(c->text, c->size, BASE_FNV_INIT);
	w.io.on_size = tool_sizes_note;
	w.io.on_size_arg = &w.sizes;
	w.io.text_file = c->job->text_file;
	enum tool_outcome got = rewrite(&w, &out, &sink);

	tool_say_late(&w);
	if (got == TOOL_CHANGED && base_write_file(c->result, out.p, out.n) != 0)
		got = cut_off(&w, "no room for the instrumented text");
	/* Nothing is freed: the process ends here. */
	return (int)got;
}

/* A build must survive a crash in here, so a child process does the work. */
enum tool_outcome tool_rewrite(const struct tool_job *job, const char *text, size_t size,
			       struct base_buf *out)
{
	static const char *const names[] = {"trial.ptx", "trial.cubin", "trial.log", "trial.o",
					    "link.log"};
	struct call c = {.job = job, .text = text, .size = size, .result = tool_temp("result.ptx")};
	struct tool_work w = {.job = job, .is_cut_off = true};
	char *result;
	size_t n;

	if (!strncmp(text, TOOL_LEFT_COMMENT, strlen(TOOL_LEFT_COMMENT)) || race_detectors_in(text))
		return TOOL_LEFT;
	for (size_t i = 0; i < BASE_COUNTOF(names); i++)
		if (!tool_temp(names[i]))
			return TOOL_FAILED;
	if (!c.result)
		return TOOL_FAILED;
	int rc = tool_call(rewrite_call, &c);
	if (rc > TOOL_REFUSED)
		return failed(&w, rc > TOOL_SIGNAL ? "the instrumenter crashed: please report this"
						   : "the instrumenter stopped");
	if (rc == TOOL_CHANGED) {
		if (base_read_file(c.result, &result, &n) != 0)
			return failed(&w, "its instrumented text can't be read");
		base_buf_put(out, result, n);
		free(result);
	}
	return (enum tool_outcome)rc;
}
