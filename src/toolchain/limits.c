/*
 * limits.c - how many registers each function of a text may have with its checks (rewrite.c).
 *
 * A kernel with .maxntid, .reqntid or .maxnreg needs no cap: ptxas obeys those. A kernel with a
 * grid barrier may not lose occupancy, so its cap is its own count. Under -rdc nvlink gives a
 * kernel the most registers of all that it calls, and refuses when that is more than a .maxnreg
 * of the kernel, so a kernel that calls other objects gets none; its device functions are capped
 * for the whole file by a comment that tool_ptxas turns into -maxrregcount.
 */
#include "toolchain/toolchain.h"
#include "toolchain/internal.h"
#include "toolchain/rewrite.h"

#include "race/detector.h"

bool tool_needs_counts(const struct tool_work *w)
{
	if (w->job->has_maxreg)
		return false;
	for (size_t i = 0; i < w->funcs.n; i++) {
		const struct tool_func *f = &w->funcs.v[i];
		if (f->is_left_out)
			continue;
		if (!f->is_entry ? w->job->relocatable : !f->is_bounded || f->has_grid_sync)
			return true;
	}
	return false;
}

/* Does the file have device functions that need more than REGS_SHARED (is_large), or some that need
 * no more? (With checks they need about a dozen more.) */
bool tool_has_func(const struct tool_work *w, bool is_large)
{
	for (size_t i = 0; i < w->funcs.n; i++) {
		const struct tool_func *f = &w->funcs.v[i];
		if (!f->is_entry && (f->before > REGS_SHARED) == is_large &&
		    (is_large || f->has_access))
			return true;
	}
	return false;
}

/* Should a cap for the whole file be tried first? With small functions in it the search would end
 * there anyway. */
static bool wants_file_cap(const struct tool_work *w)
{
	return !tool_has_func(w, true) || tool_has_func(w, false);
}

static void set_entry_cap(const struct tool_work *w, struct tool_func *f)
{
	if (f->has_grid_sync && !f->has_maxnreg) {
		f->cap = (f->before + 7) / 8 * 8;
		if (f->cap < REGS_ABI)
			f->cap = REGS_ABI;
		f->maxnreg = f->cap;
		f->call_free = w->job->relocatable && (f->cap < REGS_SHARED || !wants_file_cap(w));
		return;
	}
	if (f->is_bounded) {
		f->cap = f->bound;
		return;
	}
	/* What launches need is mandatory (cap); what only speed needs is worth no more than a
	 * directive, and nothing where checks hold registers across calls. */
	bool holds = (w->io.sanitize & race_detectors_with(RACE_HOLDS_REGISTERS)) != 0;
	unsigned fast = holds ? TOOL_REGS_MAX : tool_fit_occupancy(f->before);
	f->cap = tool_fit_cap(f->before);
	bool is_open = w->job->relocatable && w->has_proto && f->has_call;
	if ((f->cap < fast ? f->cap : fast) < TOOL_REGS_MAX && !is_open)
		f->maxnreg = f->cap < fast ? f->cap : fast;
}

/* What a device function may use under -rdc. Kernels of other objects may call it, with bounds that
 * are unknown here. REGS_SHARED fits all bounds in use; where the original needs more, its own
 * count was linked before. */
static void set_func_cap(struct tool_func *f)
{
	f->cap = (f->before + 7) / 8 * 8;
	if (f->cap < REGS_SHARED)
		f->cap = REGS_SHARED;
}

/* Caps the whole file. The cap would count as the kernels' own; kernels that call other objects may
 * have to take more than that, and an explicit directive outranks the file's. */
void tool_cap_file(struct tool_work *w, unsigned maxreg)
{
	w->maxreg = maxreg;
	for (size_t i = 0; i < w->funcs.n; i++) {
		struct tool_func *f = &w->funcs.v[i];
		if (f->is_entry && !f->is_bounded && !f->maxnreg)
			f->maxnreg = TOOL_REGS_MAX;
	}
}

/*
 * Under -rdc the functions that we add count in each kernel that calls them, by the ABI's rules:
 * ptxas gives them up to REGS_CALLED registers where nothing caps them, and 32 under a cap for the
 * file. A function without room for that would have to report without calls, which takes several
 * times the code. If the cap would affect only large functions of the user's, kernels give up what
 * was only for speed instead, and only what must be small has no calls.
 */
static void limit_called(struct tool_work *w)
{
	if (wants_file_cap(w)) {
		tool_cap_file(w, REGS_SHARED);
		return;
	}
	for (size_t i = 0; i < w->funcs.n; i++) {
		struct tool_func *f = &w->funcs.v[i];
		if (f->cap < REGS_CALLED)
			f->call_free = true;
		else if (f->maxnreg && f->maxnreg < REGS_CALLED)
			f->maxnreg = f->cap < TOOL_REGS_MAX ? f->cap : 0;
	}
}

void tool_first_limits(struct tool_work *w, const struct tool_reglist *before)
{
	for (size_t i = 0; i < w->funcs.n && before; i++)
		w->funcs.v[i].before = tool_reglist_get(before, w->funcs.v[i].name);
	for (size_t i = 0; i < w->funcs.n; i++) {
		struct tool_func *f = &w->funcs.v[i];
		if (f->has_wgmma && w->job->relocatable)
			f->call_free = true;
		if (f->is_left_out && f->is_entry)
			f->cap = f->is_bounded ? f->bound : tool_fit_cap(f->before);
		if (!f->before || f->is_left_out || w->job->has_maxreg)
			continue;
		if (f->is_entry)
			set_entry_cap(w, f);
		else if (w->job->relocatable)
			set_func_cap(f);
	}
	if (w->job->relocatable && !w->job->has_maxreg && !w->job->opt->inst.call_free)
		limit_called(w);
}

/* One step tighter for one function; false when there is no step left. */
bool tool_tighten(struct tool_work *w, struct tool_func *f, const char *why)
{
	if (w->job->opt->verbose)
		base_say("%s: %s %s: %s", w->job->name, f->name,
			 f->call_free || w->call_free ? "is left out" : "reports without calls",
			 why);
	if (!f->call_free && !w->call_free) {
		f->call_free = true;
		return true;
	}
	if (f->skip)
		return false;
	f->skip = true;
	f->maxnreg = 0;
	f->why = why;
	return true;
}
