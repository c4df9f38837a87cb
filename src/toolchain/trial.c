/*
 * trial.c - how ptxas assembles a text on trial: its options, and the way by an object.
 *
 * Of a whole program ptxas makes a copy of every function that a kernel calls for that kernel. In a
 * module with many kernels whose checks are calls, the copies are most of its time. And a copy
 * keeps no register of its caller: with the checks of hirace, which call in rare cases only, the
 * kernel stores and loads at each check what lives across the call. There the text is assembled as
 * an object (--compile-only), in which each function exists once and saves what it uses, and nvlink
 * links that object alone: all symbols stay, local ones included, and each kernel counts the most
 * registers of all that it calls. So the functions get the tightest cap of the kernels.
 *
 * Misses: the code that the driver makes of embedded PTX has the copies. Costs: nvlink takes some
 * hundredths of a second.
 */
#include "toolchain/internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

double tool_seconds_of(int who)
{
	struct rusage u;

	if (getrusage(who, &u) != 0)
		return 0;
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

const char *tool_first_error(const char *said, struct base_arena *a)
{
	const char *at = strstr(said, "error"), *fatal = strstr(said, "fatal");

	/* The last line is "fatal: aborted due to errors". */
	if (fatal && (!at || fatal < at))
		at = fatal;
	if (!at)
		at = said;
	return base_strndup(a, at, strcspn(at, "\n"));
}

void tool_trial_options(const struct tool_job *job, unsigned maxreg, struct tool_strings *o,
			struct base_arena *a)
{
	const char *sm = strchr(job->arch, '_');

	base_vec_push(o, base_printf(a, "-arch=sm%s", sm ? sm : ""));
	base_vec_push(o, base_strdup(a, "-m64"));
	if (job->relocatable)
		base_vec_push(o, base_strdup(a, "--compile-only"));
	if (job->is_debug) {
		base_vec_push(o, base_strdup(a, "-g"));
		base_vec_push(o, base_strdup(a, "--dont-merge-basicblocks"));
		base_vec_push(o, base_strdup(a, "--return-at-end"));
	}
	if (job->has_lineinfo)
		base_vec_push(o, base_strdup(a, "--generate-line-info"));
	if (maxreg)
		base_vec_push(o, base_printf(a, "-maxrregcount=%u", maxreg));
	qsort(o->v, o->n, sizeof(*o->v), tool_by_text);
}

void tool_object_options(unsigned cap, struct tool_strings *o, struct base_arena *a)
{
	base_vec_push(o, base_strdup(a, "--compile-only"));
	base_vec_push(o, base_printf(a, "-func-maxrregcount=%u", cap));
}

/* Beside ptxas. */
static char *linker_of(const struct tool_job *job, struct base_arena *a)
{
	const char *slash = strrchr(job->ptxas, '/');
	int n = slash ? (int)(slash + 1 - job->ptxas) : 0;

	return base_printf(a, "%.*snvlink", n, job->ptxas);
}

bool tool_can_link(const struct tool_job *job, struct base_arena *a)
{
	return access(linker_of(job, a), X_OK) == 0;
}

int tool_link_object(const struct tool_job *job, const char *object, const char *cubin,
		     struct base_arena *a)
{
	const char *sm = strchr(job->arch, '_'), *log = tool_temp("link.log");
	char *argv[] = {linker_of(job, a),	base_printf(a, "-arch=sm%s", sm ? sm : ""),
			base_strdup(a, object), base_strdup(a, "-o"),
			base_strdup(a, cubin),	NULL};

	return log ? tool_run(argv[0], argv, log) : 1;
}
