/*
 * select.c - which kernels and variables get checks: --kernel-name, --kernel-name-exclude,
 * --variable; and that tables of CUDA's math functions get none.
 *
 * Each is a list of patterns (race/names/demangle.c). The first list is about kernels only:
 * functions that they call keep their checks. The second leaves out functions, too.
 *
 * A variable is a __device__, __managed__ or __shared__ one, or a pointer that the kernel was
 * given: $N is its Nth parameter, which has its name only in code built with -G. An access whose
 * address can't be traced back to one object keeps its check.
 *
 * Misses: what nvcc has inlined has no name here. Costs: a demangled name per function, and with
 * --variable one for each access.
 */
#include "instrument/launches.h"
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

bool inst_is_chosen(struct inst_ctx *cx, const struct ptx_stmt *s)
{
	const char *names[FLOW_OBJECT_NAMES];
	struct flow_object o;

	if (inst_is_meant(cx, s) || inst_is_table_read(cx, s))
		return false;
	if (!cx->opt->variable || !flow_address_object(cx->fl, s, &o))
		return true;
	size_t n = flow_object_names(&cx->scratch, cx->m, inst_original(cx), &o, names);
	uint64_t patterns = race_variable_patterns(cx->opt->variable, names, n);
	cx->stats->patterns |= patterns;
	if (patterns)
		return true;
	cx->stats->left_out_accesses++;
	inst_unchecked(cx, PTX_STR("access of another variable"), RACE_WHY_NOT_ASKED, false);
	return false;
}
