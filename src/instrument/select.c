/*
 * select.c - which kernels get checks: --kernel-name and --kernel-name-exclude.
 *
 * Each is a list of patterns (race/names.c). The first list is about kernels only: functions that
 * they call keep their checks. The second leaves out functions, too.
 *
 * Misses: what nvcc has inlined has no name here. Costs: a demangled name per function.
 */
#include "instrument/internal.h"
#include "race/race.h"

#include <ctype.h>
#include <string.h>

const char *inst_left_out(const struct inst_options *opt, const char *name, bool is_entry)
{
	if (opt->kernel_name_exclude && race_name_is_listed(opt->kernel_name_exclude, name))
		return "--kernel-name-exclude";
	if (opt->kernel_name && is_entry && !race_name_is_listed(opt->kernel_name, name))
		return "--kernel-name";
	return NULL;
}

char *inst_pattern_of(struct base_arena *a, const char *name)
{
	char *bare = race_bare_name(a, race_demangle(a, name)), *p = bare;

	while (isalnum((unsigned char)*p) || *p == '_' || *p == ':')
		p++;
	/* What a shell or the list would take apart is said by the name in the PTX. */
	return *p ? base_strdup(a, name) : bare;
}
