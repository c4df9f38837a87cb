/*
 * layout.c - where a module's variables lie, and their initial values.
 *
 * .global, .const and managed variables are three blocks of device memory.
 * .shared ones get an offset that is the same in all kernels that reach them,
 * since a device function is decoded once: variables that several kernels reach
 * are placed first, each after all that its kernels have so far, then each
 * kernel's own. So memory may be unused in a kernel that shares functions with kernels that have
 * larger variables. extern .shared x[] begins after the static ones; kernels that share such a
 * function begin it at the same place.
 */
#include <string.h>

#include "cpu/load/load.h"

#define DYNAMIC_ALIGN 16u
#define SHARED_MAX    (CPU_RANK - CPU_SHARED_BASE)
#define BLOCK_MAX     (1ull << 40)

/* ---- .shared ----------------------------------------------------------------------- */

struct reach {
	struct cpu_module *mod;
	uint32_t kernel;
};

static void note_kernel(struct load_func *lf, void *arg)
{
	struct reach *r = arg;

	for (uint32_t i = 0; i < lf->nshared; i++) {
		struct load_var *v = lf->shared[i];
		if (v->nkernels && v->kernels[v->nkernels - 1] == r->kernel)
			continue;
		if (v->nkernels == v->cap) {
			uint32_t cap = v->cap * 2 + 4;
			uint32_t *list = BASE_NEWN(&r->mod->arena, uint32_t, cap);
			if (v->nkernels)
				memcpy(list, v->kernels, v->nkernels * sizeof(*list));
			v->kernels = list;
			v->cap = cap;
		}
		v->kernels[v->nkernels++] = r->kernel;
	}
}

/* A variable that doesn't fit refuses the kernels that reach it. */
static void place_shared(struct cpu_module *mod, struct load_var *v, uint64_t *top)
{
	uint64_t at = CPU_SHARED_BASE;

	for (uint32_t i = 0; i < v->nkernels; i++)
		if (top[v->kernels[i]] > at)
			at = top[v->kernels[i]];
	v->addr = LOAD_ALIGN(at, (uint64_t)v->align);
	if (v->bytes > SHARED_MAX || v->addr + v->bytes > SHARED_MAX) {
		v->addr = CPU_SHARED_BASE;
		for (uint32_t i = 0; i < v->nkernels; i++)
			load_refuse(mod, (struct load_func *)mod->kernels.v[v->kernels[i]]->func,
				    v->decl->line, v->decl->col,
				    "found a .shared variable '%s' of %llu bytes, expected it to "
				    "fit into %u",
				    v->name, (unsigned long long)v->bytes, CPU_SHARED_OPTIN);
		return;
	}
	for (uint32_t i = 0; i < v->nkernels; i++)
		top[v->kernels[i]] = v->addr + v->bytes;
}

/* All dynamic variables of a kernel lie at one address, and each has one address in all. */
static void place_dynamic(struct cpu_module *mod, uint64_t *top)
{
	bool is_changed = true;

	while (is_changed) {
		is_changed = false;
		for (size_t i = 0; i < mod->vars.n; i++) {
			struct load_var *v = mod->vars.v[i];
			uint64_t at = CPU_SHARED_BASE;
			if (!v->is_dynamic)
				continue;
			uint64_t align = v->align > DYNAMIC_ALIGN ? v->align : DYNAMIC_ALIGN;
			for (uint32_t k = 0; k < v->nkernels; k++)
				if (top[v->kernels[k]] > at)
					at = top[v->kernels[k]];
			v->addr = LOAD_ALIGN(at, align);
			for (uint32_t k = 0; k < v->nkernels; k++) {
				is_changed |= top[v->kernels[k]] != v->addr;
				top[v->kernels[k]] = v->addr;
			}
		}
	}
}

void load_place_shared(struct cpu_module *mod)
{
	uint64_t *top = BASE_NEWN(&mod->arena, uint64_t, mod->kernels.n + 1);
	struct reach r = {.mod = mod};

	for (size_t k = 0; k < mod->kernels.n; k++) {
		top[k] = CPU_SHARED_BASE;
		r.kernel = (uint32_t)k;
		load_each_reached(mod, (struct load_func *)mod->kernels.v[k]->func, note_kernel,
				  &r);
	}
	for (int is_single = 0; is_single < 2; is_single++)
		for (size_t i = 0; i < mod->vars.n; i++) {
			struct load_var *v = mod->vars.v[i];
			if (v->decl->space == PTX_SPACE_SHARED && !v->is_dynamic &&
			    (v->nkernels <= 1) == is_single)
				place_shared(mod, v, top);
		}
	place_dynamic(mod, top);
	for (size_t k = 0; k < mod->kernels.n; k++)
		mod->kernels.v[k]->info.shared_static = (uint32_t)(top[k] - CPU_SHARED_BASE);
}

/* ---- .global and .const --------------------------------------------------------------- */

/* INSERTED: what only inserted instructions use is apart from the program's memory (repeat.c). */
enum block { BLOCK_GLOBAL, BLOCK_CONST, BLOCK_MANAGED, BLOCK_INSERTED, BLOCKS };

static int block_of(const struct load_var *v)
{
	bool is_inserted = race_is_inserted_name(v->name, strlen(v->name));

	switch ((enum ptx_space)v->decl->space) {
	case PTX_SPACE_GLOBAL:
	case PTX_SPACE_TEX:
		if (is_inserted)
			return BLOCK_INSERTED;
		return v->decl->is_managed ? BLOCK_MANAGED : BLOCK_GLOBAL;
	case PTX_SPACE_CONST:
		return is_inserted ? BLOCK_INSERTED : BLOCK_CONST;
	default:
		return BLOCKS;
	}
}

struct writer {
	struct cpu_module *mod;
	struct load_var *var;
};

static void ignore_element(const struct ptx_init *in, void *arg)
{
	(void)in, (void)arg;
}

static uint64_t address_of(struct writer *w, const struct ptx_init *in)
{
	struct load_name *nm = load_find(w->mod, w->var->part, in->sym);
	uint64_t a;

	if (nm && nm->func) {
		nm->func->has_pointer = true;
		a = nm->func->f.address;
	} else if (nm && nm->var && block_of(nm->var) != BLOCKS) {
		a = nm->var->addr; /* also the generic address */
	} else {
		load_error(w->mod, w->var->part, w->var->decl->line, w->var->decl->col,
			   "found '%.*s' in the initialiser of '%s', expected a function or a "
			   ".global or .const variable that is defined",
			   (int)in->sym.n, in->sym.p, w->var->name);
		return 0;
	}
	return (a + (uint64_t)in->addend) >> in->shift;
}

static void write_element(const struct ptx_init *in, void *arg)
{
	struct writer *w = arg;
	uint64_t value = in->sym.n ? address_of(w, in) : in->bits;

	if (in->off + in->bytes <= w->var->bytes)
		memcpy((uint8_t *)(uintptr_t)w->var->addr + in->off, &value,
		       in->bytes < 8 ? in->bytes : 8);
}

static void note_pointer(const struct ptx_init *in, void *arg)
{
	if (in->sym.n)
		(void)address_of(arg, in);
}

bool load_note_pointers(struct cpu_module *mod, struct load_var *v)
{
	struct writer w = {mod, v};
	uint64_t bytes;

	return !v->decl->has_init ||
	       ptx_each_init(v->part->m, v->decl, note_pointer, &w, &bytes, mod->sink);
}

bool load_is_placed(const struct load_var *v)
{
	return block_of(v) != BLOCKS;
}

static bool size_blocks(struct cpu_module *mod, uint64_t *sizes)
{
	for (size_t i = 0; i < mod->vars.n; i++) {
		struct load_var *v = mod->vars.v[i];
		int b = block_of(v);
		uint64_t bytes;
		if (b == BLOCKS)
			continue;
		if (v->decl->is_unsized && v->decl->has_init) {
			if (!ptx_each_init(v->part->m, v->decl, ignore_element, NULL, &bytes,
					   mod->sink))
				return false;
			v->bytes = bytes;
		}
		if (v->is_elsewhere)
			continue;
		v->addr = LOAD_ALIGN(sizes[b], (uint64_t)v->align);
		sizes[b] = v->addr + v->bytes;
		if (v->bytes > BLOCK_MAX || sizes[b] > BLOCK_MAX) {
			load_error(mod, v->part, v->decl->line, v->decl->col,
				   "found a variable '%s' of %llu bytes, expected one that fits "
				   "into memory",
				   v->name, (unsigned long long)v->bytes);
			return false;
		}
	}
	return true;
}

bool load_place_globals(struct cpu_module *mod)
{
	uint64_t sizes[BLOCKS] = {0};

	load_place_elsewhere(mod);
	if (!size_blocks(mod, sizes))
		return false;
	mod->const_bytes = sizes[BLOCK_CONST];
	for (int b = 0; b < BLOCKS; b++) {
		if (!sizes[b])
			continue;
		mod->blocks[b] =
			cpu_mem_alloc(mod->m, mod->device, sizes[b],
				      b == BLOCK_MANAGED ? CPU_MEM_MANAGED : CPU_MEM_MODULE);
		if (!mod->blocks[b]) {
			load_error(mod, NULL, 0, 0,
				   "found %llu bytes of variables, expected no more than the "
				   "device's free memory",
				   (unsigned long long)sizes[b]);
			return false;
		}
		memset(mod->blocks[b], 0, sizes[b]);
	}
	for (size_t i = 0; i < mod->vars.n; i++)
		if (block_of(mod->vars.v[i]) != BLOCKS && !mod->vars.v[i]->is_elsewhere)
			mod->vars.v[i]->addr +=
				(uint64_t)(uintptr_t)mod->blocks[block_of(mod->vars.v[i])];
	for (size_t i = 0; i < mod->vars.n; i++) {
		struct writer w = {mod, mod->vars.v[i]};
		uint64_t bytes;
		if (w.var->is_elsewhere && !load_note_pointers(mod, w.var))
			return false;
		if (w.var->decl->has_init && block_of(w.var) != BLOCKS && !w.var->is_elsewhere &&
		    !ptx_each_init(w.var->part->m, w.var->decl, write_element, &w, &bytes,
				   mod->sink))
			return false;
	}
	return !mod->has_failed;
}
