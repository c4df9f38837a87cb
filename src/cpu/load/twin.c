/*
 * twin.c - a module's text without checks, loaded beside the one with checks.
 *
 * Launches that are left out (race/file/shm_write.h) run this one, without the checks' cost.
 * Both have the same variables at the same addresses: the program's, in the order of
 * their declaration, with those of Collider between them in one of the two. A function has one
 * address, which memory may hold; a grid finds the function of its own text there (cpu_func_at).
 *
 * Costs: a second parse and its code, once a module, when a launch might be left out.
 */
#include <string.h>

#include "cpu/load/load.h"

static size_t part_number(const struct cpu_module *mod, const struct load_part *part)
{
	return (size_t)(part - mod->parts);
}

static bool is_same(const struct cpu_module *mod, const struct load_var *v,
		    const struct load_var *of)
{
	return part_number(mod, v->part) == part_number(mod->of, of->part) &&
	       v->decl->space == of->decl->space && strcmp(v->name, of->name) == 0;
}

bool load_place_as(struct cpu_module *mod)
{
	const struct cpu_module *of = mod->of;
	size_t k = 0;

	mod->const_bytes = of->const_bytes;
	for (size_t i = 0; i < mod->vars.n; i++) {
		struct load_var *v = mod->vars.v[i];
		while (k < of->vars.n && !is_same(mod, v, of->vars.v[k]))
			k++;
		if (k == of->vars.n) {
			load_error(mod, v->part, v->decl->line, v->decl->col,
				   "found a variable '%s', expected those of the text with checks",
				   v->name);
			return false;
		}
		if (!load_is_placed(v))
			continue;
		v->addr = of->vars.v[k]->addr;
		v->bytes = of->vars.v[k]->bytes;
		if (!load_note_pointers(mod, v))
			return false;
	}
	return !mod->has_failed;
}

void load_number_as(struct cpu_module *mod)
{
	const struct cpu_module *of = mod->of;

	mod->code = of->code;
	mod->ncodes = of->ncodes;
	mod->twins = BASE_NEWN(&mod->arena, struct load_func *, of->funcs.n + 1);
	for (size_t i = 0; i < of->funcs.n; i++) {
		const struct load_func *lf = of->funcs.v[i];
		struct load_part *part = &mod->parts[part_number(of, lf->part)];
		struct load_name *nm = load_find(mod, part, lf->f.ptx->name);
		if (!nm || !nm->func)
			continue;
		nm->func->f.address = lf->f.address;
		mod->twins[i] = nm->func;
	}
}
