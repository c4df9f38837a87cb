/*
 * load.c - links parsed PTX modules into one that the device can run.
 *
 * Names without linkage belong to their part; .visible, .weak and .common ones
 * are one name for all: a strong definition takes precedence over weak ones, of several weak ones
 * the first is taken, of common ones the largest (PTX ISA 9.0, section 5.4 and 11.6). A part's own
 * names come first, then those of all, then the device's system calls. Function bodies are only
 * scanned here (scan.c); they are decoded when a kernel that needs them is launched (kernel.c).
 *
 * Costs: linear in the text of all parts.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/jit.h"
#include "cpu/load/load.h"
#include "cpu/events.h"

void load_error(struct cpu_module *mod, const struct load_part *part, uint32_t line, uint32_t col,
		const char *fmt, ...)
{
	struct base_buf text = {0};
	va_list ap;

	va_start(ap, fmt);
	base_buf_vprintf(&text, fmt, ap);
	va_end(ap);
	base_report(mod->sink, BASE_ERROR, part ? part->m->file : NULL,
		    (struct base_span){line, col}, "%.*s", (int)text.n, text.p);
	base_buf_free(&text);
	mod->has_failed = true;
}

void load_refuse(struct cpu_module *mod, struct load_func *lf, uint32_t line, uint32_t col,
		 const char *fmt, ...)
{
	struct base_buf text = {0};
	va_list ap;

	if (lf->why)
		return;
	va_start(ap, fmt);
	base_buf_vprintf(&text, fmt, ap);
	va_end(ap);
	lf->why = base_printf(&mod->arena, "%s:%u:%u: %.*s", lf->part->m->file, line, col,
			      (int)text.n, text.p);
	base_buf_free(&text);
	mod->has_refused = true;
}

static uint32_t sane_align(uint32_t align, uint32_t natural)
{
	if (align && (align & (align - 1)) == 0)
		return align;
	return natural ? natural : 1;
}

uint32_t load_param_align(const struct ptx_param *p)
{
	return sane_align(p->align, ptx_type_bytes((enum ptx_type)p->type));
}

uint32_t load_var_align(const struct ptx_var *v)
{
	uint32_t vec = v->vec ? v->vec : 1u, bytes = ptx_type_bytes((enum ptx_type)v->type);

	return sane_align(v->align, bytes ? bytes * vec : 8u); /* opaque: an 8-byte handle */
}

/* ---- names ---------------------------------------------------------------------- */

static struct load_name *find_in(struct load_name *names, struct ptx_str name)
{
	struct load_name *nm;

	HASH_FIND(hh, names, name.p, name.n, nm);
	return nm;
}

static struct load_name *add_name(struct cpu_module *mod, struct load_name **names,
				  struct ptx_str name)
{
	struct load_name *nm = BASE_NEW(&mod->arena, struct load_name);

	nm->text = (struct ptx_str){base_strndup(&mod->arena, name.p, name.n), name.n};
	HASH_ADD_KEYPTR(hh, *names, nm->text.p, nm->text.n, nm);
	return nm;
}

struct load_name *load_find(struct cpu_module *mod, struct load_part *part, struct ptx_str name)
{
	struct load_name *nm = part ? find_in(part->names, name) : NULL;

	return nm ? nm : find_in(mod->names, name);
}

struct load_var *load_var_of(struct cpu_module *mod, const struct ptx_var *decl)
{
	struct load_ref *r;

	HASH_FIND_PTR(mod->refs, &decl, r);
	return r ? r->var : NULL;
}

static void add_ref(struct cpu_module *mod, const struct ptx_var *decl, struct load_var *var)
{
	struct load_ref *r = BASE_NEW(&mod->arena, struct load_ref);

	r->decl = decl;
	r->var = var;
	HASH_ADD_PTR(mod->refs, decl, r);
}

/* The entry for a definition of this linkage; NULL: another definition keeps the name. */
static struct load_name *define(struct cpu_module *mod, struct load_part *part, struct ptx_str name,
				unsigned linkage, uint32_t line, uint32_t col)
{
	const unsigned global = PTX_LINK_VISIBLE | PTX_LINK_WEAK | PTX_LINK_COMMON;
	bool is_weak = (linkage & (PTX_LINK_WEAK | PTX_LINK_COMMON)) != 0;
	struct load_name **table = linkage & global ? &mod->names : &part->names;
	struct load_name *nm = find_in(*table, name);

	if (!nm) {
		nm = add_name(mod, table, name);
		nm->is_weak = is_weak;
		return nm;
	}
	if (is_weak)
		return NULL;
	if (!nm->is_weak) {
		load_error(mod, part, line, col,
			   "found a second definition of '%.*s', expected one", (int)name.n,
			   name.p);
		return NULL;
	}
	nm->is_weak = false;
	nm->func = NULL;
	nm->var = NULL;
	return nm;
}

/* ---- functions and variables ------------------------------------------------------- */

static void place_params(struct cpu_func *f)
{
	const struct ptx_param *lists[2] = {f->ptx->params, f->ptx->rets};
	uint32_t at = 0;

	for (int i = 0; i < 2 && !f->ptx->is_entry; i++) {
		for (const struct ptx_param *p = lists[i]; p; p = p->next)
			at = LOAD_ALIGN(at, load_param_align(p)) + (uint32_t)p->bytes;
		at = LOAD_ALIGN(at, 16u);
		if (i == 0)
			f->rets = at;
		else
			f->own = at;
	}
}

static bool has_sane_params(const struct ptx_func *f)
{
	uint64_t sum = 0;

	for (const struct ptx_param *p = f->params; p; p = p->next)
		sum += p->bytes > CPU_PARAM_MAX ? CPU_PARAM_MAX : p->bytes + load_param_align(p);
	for (const struct ptx_param *p = f->rets; p; p = p->next)
		sum += p->bytes > CPU_PARAM_MAX ? CPU_PARAM_MAX : p->bytes + load_param_align(p);
	return sum < CPU_PARAM_MAX;
}

static void define_func(struct cpu_module *mod, struct load_part *part, struct ptx_func *pf)
{
	struct load_name *nm = define(mod, part, pf->name, pf->linkage, pf->line, pf->col);
	struct load_func *lf;

	if (!nm)
		return;
	if (!has_sane_params(pf)) {
		load_error(mod, part, pf->line, pf->col,
			   "found more bytes of parameters than %u, expected fewer", CPU_PARAM_MAX);
		return;
	}
	lf = BASE_NEW(&mod->arena, struct load_func);
	lf->part = part;
	const char *called = race_called_name(pf->name.p, pf->name.n);
	lf->f.name = called ? base_strndup(&mod->arena, called,
					   (size_t)(pf->name.p + pf->name.n - called))
			    : nm->text.p;
	lf->f.ptx = pf;
	lf->f.part = part->m;
	lf->f.mod = mod;
	lf->is_inserted = !called && load_is_inserted_name(pf->name);
	place_params(&lf->f);
	nm->func = lf;
	base_vec_push(&mod->funcs, lf);
}

static struct load_var *new_var(struct cpu_module *mod, struct load_part *part, struct ptx_var *v,
				const char *name)
{
	struct load_var *lv = BASE_NEW(&mod->arena, struct load_var);

	lv->decl = v;
	lv->part = part;
	lv->name = name;
	lv->align = load_var_align(v);
	lv->bytes = v->bytes;
	if (!ptx_type_bytes((enum ptx_type)v->type) || v->space == PTX_SPACE_TEX)
		lv->bytes = 8;
	base_vec_push(&mod->vars, lv);
	return lv;
}

static bool is_dynamic(const struct ptx_var *v)
{
	return v->space == PTX_SPACE_SHARED && v->is_unsized && (v->linkage & PTX_LINK_EXTERN);
}

static void define_var(struct cpu_module *mod, struct load_part *part, struct ptx_var *v)
{
	struct load_name *nm;

	if (is_dynamic(v)) {
		nm = find_in(part->names, v->name);
		if (nm)
			return;
		nm = add_name(mod, &part->names, v->name);
		nm->var = new_var(mod, part, v, nm->text.p);
		nm->var->is_dynamic = true;
		nm->var->bytes = 0;
		return;
	}
	if (v->linkage & PTX_LINK_EXTERN)
		return;
	nm = define(mod, part, v->name, v->linkage, v->line, v->col);
	if (nm) {
		nm->var = new_var(mod, part, v, nm->text.p);
		nm->var->is_module = true;
		return;
	}
	nm = load_find(mod, part, v->name);
	if (nm && nm->var && (v->linkage & PTX_LINK_COMMON) && v->bytes > nm->var->bytes)
		nm->var->bytes = v->bytes;
}

/* Static variables in a function's body. */
static void define_body_vars(struct cpu_module *mod, struct load_func *lf)
{
	ptx_each_stmt(lf->f.ptx, s)
	{
		struct ptx_var *v = s->kind == PTX_STMT_VAR ? s->var : NULL;
		if (!v || v->space == PTX_SPACE_LOCAL || v->space == PTX_SPACE_PARAM ||
		    v->space == PTX_SPACE_REG)
			continue;
		const char *name = base_strndup(&mod->arena, v->name.p, v->name.n);
		struct load_var *lv = new_var(mod, lf->part, v, name);
		lv->is_dynamic = is_dynamic(v);
		add_ref(mod, v, lv);
	}
}

static void add_alias(struct cpu_module *mod, struct load_part *part, const struct ptx_item *it)
{
	struct ptx_str alias, of;
	struct load_name *nm, *to;

	if (!ptx_read_alias(it, &alias, &of)) {
		load_error(mod, part, it->line, it->col,
			   "found a .alias that names no two functions, expected '.alias a, b;'");
		return;
	}
	to = load_find(mod, part, of);
	if (!to || !to->func) {
		load_error(mod, part, it->line, it->col,
			   "found an alias of '%.*s', expected a function that is defined",
			   (int)of.n, of.p);
		return;
	}
	nm = find_in(mod->names, alias);
	if (!nm)
		nm = add_name(mod, &mod->names, alias);
	if (!nm->func)
		nm->func = to->func;
}

static void define_all(struct cpu_module *mod, struct load_part *part)
{
	ptx_each_item(part->m, it)
	{
		if (it->kind == PTX_ITEM_FUNC && !it->func->is_proto)
			define_func(mod, part, it->func);
		else if (it->kind == PTX_ITEM_VAR)
			define_var(mod, part, it->var);
	}
}

/* Declarations get the definition of their name, prototypes a system call. */
static void resolve_all(struct cpu_module *mod, struct load_part *part)
{
	uint32_t args, rets;

	ptx_each_item(part->m, it)
	{
		struct load_name *nm;
		if (it->kind == PTX_ITEM_ALIAS) {
			add_alias(mod, part, it);
		} else if (it->kind == PTX_ITEM_VAR) {
			nm = load_find(mod, part, it->var->name);
			if (nm && nm->var)
				add_ref(mod, it->var, nm->var);
		} else if (it->kind == PTX_ITEM_FUNC && it->func->is_proto &&
			   !load_find(mod, part, it->func->name)) {
			char *name = base_strndup(&mod->arena, it->func->name.p, it->func->name.n);
			cpu_syscall *sc = cpu_syscall_find(name, &args, &rets);
			if (sc)
				add_name(mod, &mod->names, it->func->name)->syscall = sc;
		}
	}
}

/* Addresses of functions; ranges of modules never overlap. */
static void number_funcs(struct cpu_module *mod)
{
	static _Atomic uint32_t next = 1;

	mod->ncodes = (uint32_t)mod->funcs.n;
	mod->code =
		CPU_WIN_CODE + (uint64_t)atomic_fetch_add(&next, mod->ncodes + 1) * LOAD_CODE_STEP;
	for (size_t i = 0; i < mod->funcs.n; i++)
		mod->funcs.v[i]->f.address = mod->code + i * LOAD_CODE_STEP;
}

static void clear_names(struct load_name **names)
{
	HASH_CLEAR(hh, *names);
}

/* ======================================================================== */

/* What it is loaded beside: the same text with checks, or as another machine has it. */
struct beside {
	struct cpu_module *of;
	const struct cpu_places *places;
};

static struct cpu_module *load(struct cpu_machine *m, unsigned device, struct beside beside,
			       struct ptx_module *const *parts, unsigned n, struct base_sink *sink)
{
	struct cpu_module *of = beside.of;
	struct cpu_module *mod = calloc(1, sizeof(*mod));

	if (!mod)
		return NULL;
	mod->m = m;
	mod->device = device;
	mod->of = of;
	mod->places = beside.places;
	mod->sink = sink;
	mod->nparts = n;
	mod->parts = BASE_NEWN(&mod->arena, struct load_part, n + 1u);
	for (unsigned i = 0; i < n; i++) {
		mod->parts[i].m = parts[i];
		define_all(mod, &mod->parts[i]);
	}
	for (unsigned i = 0; i < n; i++)
		resolve_all(mod, &mod->parts[i]);
	for (size_t i = 0; i < mod->funcs.n; i++)
		define_body_vars(mod, mod->funcs.v[i]);
	if (of)
		load_number_as(mod);
	else
		number_funcs(mod);
	load_number_placed(mod);
	if (!mod->has_failed && load_scan(mod)) {
		load_make_kernels(mod);
		/* initialisers first: they say which functions are called by address */
		if (of ? load_place_as(mod) : load_place_globals(mod)) {
			load_place_shared(mod);
			mod->sink = NULL;
			mod->places = NULL;
			if (!of)
				cpu_event_module(mod);
			return mod;
		}
	}
	cpu_module_unload(mod);
	return NULL;
}

struct cpu_module *cpu_module_load(struct cpu_machine *m, unsigned device,
				   struct ptx_module *const *parts, unsigned n,
				   struct base_sink *sink)
{
	return load(m, device, (struct beside){0}, parts, n, sink);
}

struct cpu_module *cpu_module_load_at(struct cpu_machine *m, unsigned device,
				      struct ptx_module *const *parts, unsigned n,
				      const struct cpu_places *places, struct base_sink *sink)
{
	return load(m, device, (struct beside){.places = places}, parts, n, sink);
}

struct cpu_module *cpu_module_load_plain(struct cpu_module *of, struct ptx_module *const *parts,
					 unsigned n, struct base_sink *sink)
{
	return n == of->nparts ? load(of->m, of->device, (struct beside){.of = of}, parts, n, sink)
			       : NULL;
}

void cpu_module_unload(struct cpu_module *mod)
{
	if (!mod)
		return;
	cpu_engine_forget(mod->m, mod);
	cpu_site_unload(mod);
	for (size_t i = 0; i < mod->funcs.n; i++) {
		cpu_jit_free(&mod->funcs.v[i]->f);
		free(atomic_load(&mod->funcs.v[i]->f.ranked));
	}
	for (size_t i = 0; i < BASE_COUNTOF(mod->blocks); i++)
		if (mod->blocks[i])
			cpu_mem_free(mod->m, mod->blocks[i]);
	for (unsigned i = 0; i < mod->nparts; i++)
		clear_names(&mod->parts[i].names);
	clear_names(&mod->names);
	clear_names(&mod->kernel_names);
	HASH_CLEAR(hh, mod->refs);
	base_vec_free(&mod->funcs);
	base_vec_free(&mod->vars);
	base_vec_free(&mod->kernels);
	base_arena_free(&mod->arena);
	free(mod);
}

void cpu_module_share_managed(struct cpu_module *mod, const struct cpu_module *of)
{
	/* The same parts give the same variables, in the same order. */
	for (size_t i = 0; i < mod->vars.n && i < of->vars.n; i++) {
		if (mod->vars.v[i]->decl->is_managed)
			mod->vars.v[i]->addr = of->vars.v[i]->addr;
	}
}

static bool is_symbol(const struct load_var *v)
{
	return v->is_module &&
	       (v->decl->space == PTX_SPACE_GLOBAL || v->decl->space == PTX_SPACE_CONST ||
		v->decl->space == PTX_SPACE_TEX);
}

bool cpu_module_symbol(struct cpu_module *mod, const char *name, uint64_t *addr, uint64_t *bytes)
{
	struct ptx_str key = {name, (uint32_t)strlen(name)};
	struct load_name *nm = find_in(mod->names, key);

	for (unsigned i = 0; i < mod->nparts && !(nm && nm->var); i++)
		nm = find_in(mod->parts[i].names, key);
	if (!nm || !nm->var || !is_symbol(nm->var))
		return false;
	if (addr)
		*addr = nm->var->addr;
	if (bytes)
		*bytes = nm->var->bytes;
	return true;
}

void cpu_module_each_symbol(struct cpu_module *mod,
			    void (*fn)(const char *name, uint64_t addr, uint64_t bytes, void *arg),
			    void *arg)
{
	for (size_t i = 0; i < mod->vars.n; i++) {
		const struct load_var *v = mod->vars.v[i];
		if (is_symbol(v))
			fn(v->name, v->addr, v->bytes, arg);
	}
}

struct cpu_func *cpu_func_at(struct cpu_module *mod, uint64_t address)
{
	uint64_t off = address - mod->code;
	struct load_func *lf = load_func_placed(mod, address);

	if (!lf &&
	    (address < mod->code || off % LOAD_CODE_STEP || off / LOAD_CODE_STEP >= mod->ncodes))
		return NULL;
	if (!lf)
		lf = mod->of ? mod->twins[off / LOAD_CODE_STEP]
			     : mod->funcs.v[off / LOAD_CODE_STEP];
	return lf && (lf->is_ready || lf->why) && !lf->f.ptx->is_entry ? &lf->f : NULL;
}

const char *cpu_func_refused(const struct cpu_func *f)
{
	const char *why = ((const struct load_func *)(const void *)f)->why;

	return why ? why : "it has no code";
}
