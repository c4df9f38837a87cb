/*
 * protocol.c - the access protocols of a kernel as text (--protocol).
 *
 * A line for each access: what, where in the source, at which byte, under which condition, as far
 * as
 * names go; "..." stands for what gets too long or isn't modelled. The paper's section 2.2.
 */
#include "prove/check.h"

#include <string.h>

static void write_access(struct check *c, const struct ev_access *a)
{
	static const char *const kinds[] = {
		[RACE_OP_READ] = "read", [RACE_OP_WRITE] = "write", [RACE_OP_RMW] = "update"};
	struct names_var vars[RACE_ALARM_VARS];
	uint32_t n = names_at(&c->names, a->index, a->block, vars, RACE_ALARM_VARS), line;
	const char *file, *at = names_write(&c->names, a->off, vars, n), *when, *text;

	alarm_place(c, a->step->at, &file, &line);
	when = a->guard->op == EX_CONST ? NULL : names_write(&c->names, a->guard, vars, n);
	text = base_printf(c->arena, "%s: %s %u at %s%s%s%s (line %u)", alarm_object(c, a),
			   kinds[a->mem->kind], a->mem->bytes, *at ? at : "...",
			   a->off->is_approx ? " [approximated]" : "", when ? " if " : "",
			   !when   ? ""
			   : *when ? when
				   : "...",
			   line ? line : a->step->at->line);
	base_vec_push(&c->k->protocol, text);
}

void protocol_write(struct check *c)
{
	const struct ev *e = c->e;

	/* array by array, in the order of their first accesses */
	for (size_t i = 0; i < e->accesses.n; i++) {
		bool is_first = true;
		for (size_t k = 0; k < i; k++)
			is_first &= !ev_same_root(&e->accesses.v[k].root, &e->accesses.v[i].root);
		for (size_t k = i; k < e->accesses.n && is_first; k++)
			if (ev_same_root(&e->accesses.v[k].root, &e->accesses.v[i].root))
				write_access(c, &e->accesses.v[k]);
	}
}
