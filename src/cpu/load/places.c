/*
 * places.c - a module as another machine has loaded it: its addresses there, asked and shown.
 *
 * Memory that comes from the other machine holds pointers to variables and functions. So these get
 * the addresses that they have there (struct cpu_places). Variables of one name in one text, static
 * ones of several functions, are counted in the order of the text, which both have.
 *
 * Misses: a GPU's addresses of functions, which only its own code knows, unless the caller finds
 * them in initialised variables.
 */
#include <stdlib.h>
#include <string.h>

#include "cpu/load/load.h"

static unsigned part_number(const struct cpu_module *mod, const struct load_part *part)
{
	return (unsigned)(part - mod->parts);
}

/* Has the other machine a place for it? What is inserted is this machine's own. */
static bool is_shared_with_other(const struct load_var *v)
{
	return load_is_placed(v) && !race_is_inserted_name(v->name, strlen(v->name));
}

static unsigned nth_of(const struct cpu_module *mod, size_t at)
{
	const struct load_var *v = mod->vars.v[at];
	unsigned n = 0;

	for (size_t i = 0; i < at; i++) {
		const struct load_var *o = mod->vars.v[i];
		n += o->part == v->part && is_shared_with_other(o) && !strcmp(o->name, v->name);
	}
	return n;
}

void load_place_elsewhere(struct cpu_module *mod)
{
	const struct cpu_places *p = mod->places;

	for (size_t i = 0; p && p->variable && i < mod->vars.n; i++) {
		struct load_var *v = mod->vars.v[i];
		if (!is_shared_with_other(v))
			continue;
		uint64_t addr = p->variable(p->arg, part_number(mod, v->part), v->name,
					    nth_of(mod, i), v->bytes);
		v->is_elsewhere = addr != 0;
		v->addr = addr;
	}
}

/* ---- functions ----------------------------------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
	const struct load_func *x = *(struct load_func *const *)a;
	const struct load_func *y = *(struct load_func *const *)b;

	return x->f.address < y->f.address ? -1 : x->f.address > y->f.address;
}

static bool is_called_by_address(const struct load_func *lf)
{
	return !lf->f.ptx->is_entry && !lf->is_inserted;
}

void load_number_placed(struct cpu_module *mod)
{
	const struct cpu_places *p = mod->places;

	if (!p || !p->function)
		return;
	mod->by_address = BASE_NEWN(&mod->arena, struct load_func *, mod->funcs.n + 1);
	for (size_t i = 0; i < mod->funcs.n; i++) {
		struct load_func *lf = mod->funcs.v[i];
		uint64_t addr =
			is_called_by_address(lf)
				? p->function(p->arg, part_number(mod, lf->part), lf->f.name)
				: 0;
		if (!addr)
			continue;
		lf->f.address = addr;
		mod->by_address[mod->nby_address++] = lf;
	}
	qsort(mod->by_address, mod->nby_address, sizeof(struct load_func *), by_address);
}

struct load_func *load_func_placed(const struct cpu_module *mod, uint64_t address)
{
	uint32_t lo = 0, hi = mod->nby_address;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (mod->by_address[mid]->f.address < address)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < mod->nby_address && mod->by_address[lo]->f.address == address
		       ? mod->by_address[lo]
		       : NULL;
}

/* ======================================================================== */

void cpu_module_each_place(struct cpu_module *mod, void (*fn)(void *arg, const struct cpu_placed *),
			   void *arg)
{
	struct cpu_placed p;

	for (size_t i = 0; i < mod->vars.n; i++) {
		const struct load_var *v = mod->vars.v[i];
		if (!is_shared_with_other(v) || !v->bytes)
			continue;
		p = (struct cpu_placed){.part = part_number(mod, v->part),
					.nth = nth_of(mod, i),
					.name = v->name,
					.addr = v->addr,
					.bytes = v->bytes};
		fn(arg, &p);
	}
	for (size_t i = 0; i < mod->funcs.n; i++) {
		const struct load_func *lf = mod->funcs.v[i];
		if (!lf->has_pointer || !is_called_by_address(lf))
			continue;
		p = (struct cpu_placed){.part = part_number(mod, lf->part),
					.name = lf->f.name,
					.addr = lf->f.address};
		fn(arg, &p);
	}
}
