/*
 * select.c - which kernels and variables get checks: --kernel-name, --kernel-name-exclude,
 * --variable.
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

/* The parameter's number from 1 as "$N", and its name if the text has DWARF. */
static size_t param_names(struct inst_ctx *cx, struct ptx_str name, const char *names[2])
{
	unsigned at = 0, i = 0;
	size_t n = 0;

	for (const struct ptx_param *p = cx->f->params; p; p = p->next, i++)
		if (ptx_str_eq(p->name, name))
			at = i + 1;
	if (!at)
		return 0;
	names[0] = base_printf(&cx->scratch, "$%u", at);
	const struct ptx_debug_var *v = ptx_debug_vars(cx->m, inst_original(cx), &n);
	for (size_t k = 0; k < n; k++)
		if (v[k].is_param && !--at) {
			names[1] = v[k].name;
			return 2;
		}
	return 1;
}

bool inst_is_chosen(struct inst_ctx *cx, const struct ptx_stmt *s)
{
	struct flow_object o;
	const char *names[5];
	size_t n = 0;

	if (!cx->opt->variable || !flow_address_object(cx->fl, s, &o))
		return true;
	names[n++] = base_strndup(&cx->scratch, o.name.p, o.name.n);
	if (o.is_param) {
		n += param_names(cx, o.name, names + n);
	} else {
		const char *shown = race_demangle(&cx->scratch, names[0]), *last = shown;
		for (const char *p = shown; (p = strstr(p, "::")); p += 2)
			last = p + 2;
		names[n++] = shown;
		names[n++] = last;
	}
	if (race_names_are_listed(cx->opt->variable, names, n))
		return true;
	cx->stats->left_out_accesses++;
	inst_unchecked(cx, PTX_STR("access of another variable"), RACE_WHY_NOT_ASKED, false);
	return false;
}
