/*
 * edit.c - changing a parsed module: new registers, labels, statements, items.
 *
 * Nodes come from the module's arena and are linked into the lists the parser
 * made. New names use the prefix "%collider_" (registers) and "$collider_"
 * (labels), which front ends don't produce. A register's full name is built on demand: most belong
 * to families, and most passes only need numbers.
 */
#include "ptx/parse.h"

/* ---- registers ------------------------------------------------------------ */

uint32_t ptx_regs_room(struct base_arena *a, struct ptx_func *f, uint32_t n, enum ptx_type t)
{
	uint32_t first = f->nregs;

	if (n > f->reg_cap - f->nregs) {
		uint64_t cap = (uint64_t)f->reg_cap * 2 + 64;

		if (cap < (uint64_t)first + n)
			cap = (uint64_t)first + n;
		uint8_t *types = base_alloc(a, cap);
		if (first)
			memcpy(types, f->reg_type, first);
		f->reg_type = types;
		f->reg_cap = (uint32_t)cap;
	}
	if (n)
		memset(f->reg_type + first, (int)t, n);
	f->nregs += n;
	return first;
}

void ptx_regnames_add(struct ptx_module *m, struct ptx_func *f, struct ptx_regdecl *d)
{
	if (!f->names) {
		f->names = BASE_NEW(m->arena, struct ptx_regnames);
		f->names->arena = m->arena;
	}
	struct ptx_regnames *rn = f->names;

	if (rn->n == rn->cap) {
		uint32_t cap = rn->cap * 2 + 16;
		struct ptx_regdecl **decls = BASE_NEWN(m->arena, struct ptx_regdecl *, cap);

		if (rn->n)
			memcpy(decls, rn->decls, rn->n * sizeof(*decls));
		rn->decls = decls;
		rn->cap = cap;
	}
	rn->decls[rn->n++] = d;
}

/* The declaration that register `reg` belongs to: the last one that starts at or before it and is
 * not empty. */
static const struct ptx_regdecl *find_decl(const struct ptx_regnames *rn, uint32_t reg)
{
	uint32_t lo = 0, hi = rn->n;

	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (rn->decls[mid]->first <= reg)
			lo = mid;
		else
			hi = mid;
	}
	return rn->decls[lo];
}

static void grow_cache(struct ptx_regnames *rn, uint32_t want)
{
	uint32_t cap = want + want / 2 + 16;
	struct ptx_str *cache = BASE_NEWN(rn->arena, struct ptx_str, cap);

	if (rn->cache_cap)
		memcpy(cache, rn->cache, rn->cache_cap * sizeof(*cache));
	rn->cache = cache;
	rn->cache_cap = cap;
}

/* "%r" and 5: "%r5". */
static struct ptx_str number_name(struct base_arena *a, struct ptx_str prefix, uint32_t v)
{
	char *p = base_alloc(a, (size_t)prefix.n + 10), digits[10];
	uint32_t n = prefix.n, k = 0;

	memcpy(p, prefix.p, n);
	do
		digits[k++] = (char)('0' + v % 10);
	while (v /= 10);
	while (k)
		p[n++] = digits[--k];
	return (struct ptx_str){p, n};
}

struct ptx_str ptx_reg_name(const struct ptx_func *f, uint32_t reg)
{
	struct ptx_regnames *rn = f->names;
	const struct ptx_regdecl *d;

	if (!rn || reg >= f->nregs)
		return PTX_STR("?");
	if (reg < rn->cache_cap && rn->cache[reg].n)
		return rn->cache[reg];
	d = find_decl(rn, reg);
	if (!d->is_family)
		return d->name;
	if (reg >= rn->cache_cap)
		grow_cache(rn, reg + 1);
	rn->cache[reg] = number_name(rn->arena, d->name, reg - d->first);
	return rn->cache[reg];
}

uint32_t ptx_new_reg(struct ptx_module *m, struct ptx_func *f, enum ptx_type t)
{
	struct ptx_regdecl *d = BASE_NEW(m->arena, struct ptx_regdecl);

	d->first = ptx_regs_room(m->arena, f, 1, t);
	d->name = number_name(m->arena, PTX_STR("%collider_"), d->first);
	d->type = (uint8_t)t;
	d->vec = 1;
	d->count = 1;
	d->is_new = true;
	ptx_regnames_add(m, f, d);
	return d->first;
}

void ptx_declare_new_regs(struct ptx_module *m, struct ptx_func *f)
{
	struct ptx_regdecl *lists[PTX_TYPE_COUNT] = {0}, **tails[PTX_TYPE_COUNT];
	struct ptx_regnames *rn = f->names;
	struct ptx_stmt *at = f->first;

	if (!rn)
		return;
	for (uint32_t i = 0; i < PTX_TYPE_COUNT; i++)
		tails[i] = &lists[i];
	for (uint32_t i = rn->declared; i < rn->n; i++) {
		struct ptx_regdecl *d = rn->decls[i];

		if (!d->is_new)
			continue;
		d->is_new = false;
		*tails[d->type] = d;
		tails[d->type] = &d->next;
	}
	rn->declared = rn->n;
	for (uint32_t i = 0; i < PTX_TYPE_COUNT; i++) {
		if (!lists[i])
			continue;
		struct ptx_stmt *s = ptx_new_stmt(m, PTX_STMT_REG);

		s->regs = lists[i];
		ptx_insert_before(f, at, s);
	}
}

/* ---- labels and statements -------------------------------------------------- */

struct ptx_label *ptx_new_label(struct ptx_module *m, struct ptx_func *f)
{
	struct ptx_label *l = BASE_NEW(m->arena, struct ptx_label);

	l->name = number_name(m->arena, PTX_STR("$collider_"), f->nlabels);
	l->id = f->nlabels++;
	return l;
}

struct ptx_stmt *ptx_new_stmt(struct ptx_module *m, enum ptx_stmt_kind kind)
{
	struct ptx_stmt *s = BASE_NEW(m->arena, struct ptx_stmt);

	s->kind = (uint8_t)kind;
	s->inserted = true;
	if (kind == PTX_STMT_INST)
		s->pred = PTX_NO_REG;
	return s;
}

static void link_stmt(struct ptx_func *f, struct ptx_stmt *prev, struct ptx_stmt *s,
		      struct ptx_stmt *next)
{
	s->prev = prev;
	s->next = next;
	if (prev)
		prev->next = s;
	else
		f->first = s;
	if (next)
		next->prev = s;
	else
		f->last = s;
	if (s->kind == PTX_STMT_LABEL && s->label)
		s->label->at = s;
	if (s->kind == PTX_STMT_INST)
		f->ninsts++;
}

void ptx_insert_before(struct ptx_func *f, struct ptx_stmt *at, struct ptx_stmt *s)
{
	link_stmt(f, at ? at->prev : f->last, s, at);
}

void ptx_insert_after(struct ptx_func *f, struct ptx_stmt *at, struct ptx_stmt *s)
{
	link_stmt(f, at, s, at ? at->next : f->first);
}

void ptx_remove(struct ptx_func *f, struct ptx_stmt *s)
{
	if (s->prev)
		s->prev->next = s->next;
	else
		f->first = s->next;
	if (s->next)
		s->next->prev = s->prev;
	else
		f->last = s->prev;
	if (s->kind == PTX_STMT_LABEL && s->label && s->label->at == s)
		s->label->at = NULL;
	if (s->kind == PTX_STMT_INST)
		f->ninsts--;
	s->prev = s->next = NULL;
}

struct ptx_item *ptx_new_item(struct ptx_module *m, enum ptx_item_kind kind)
{
	struct ptx_item *it = BASE_NEW(m->arena, struct ptx_item);

	it->kind = (uint8_t)kind;
	it->inserted = true;
	return it;
}

void ptx_remove_item(struct ptx_module *m, struct ptx_item *it)
{
	if (it->prev)
		it->prev->next = it->next;
	else
		m->first = it->next;
	if (it->next)
		it->next->prev = it->prev;
	else
		m->last = it->prev;
}

void ptx_insert_item(struct ptx_module *m, struct ptx_item *at, struct ptx_item *it)
{
	it->next = at;
	it->prev = at ? at->prev : m->last;
	if (it->prev)
		it->prev->next = it;
	else
		m->first = it;
	if (at)
		at->prev = it;
	else
		m->last = it;
}

/* ---- operands ---------------------------------------------------------------- */

struct ptx_opnd ptx_opnd_reg(const struct ptx_func *f, uint32_t reg)
{
	return (struct ptx_opnd){.kind = PTX_OPND_REG, .text = ptx_reg_name(f, reg), .reg = reg};
}

struct ptx_opnd ptx_opnd_int(struct ptx_module *m, int64_t value)
{
	struct ptx_opnd o = {.kind = PTX_OPND_INT, .imm = value};
	uint64_t abs = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
	char *p = base_printf(m->arena, "%llu", (unsigned long long)abs);

	if (value < 0)
		o.flags = PTX_OPND_NEG;
	o.text = (struct ptx_str){p, (uint32_t)strlen(p)};
	return o;
}

struct ptx_opnd ptx_opnd_sym(struct ptx_str name)
{
	return (struct ptx_opnd){.kind = PTX_OPND_SYM, .text = name};
}

struct ptx_opnd ptx_opnd_label(struct ptx_label *l)
{
	return (struct ptx_opnd){
		.kind = PTX_OPND_SYM, .flags = PTX_OPND_LABEL, .text = l->name, .label = l};
}

void ptx_set_target(struct ptx_module *m, unsigned sm)
{
	const char *text = base_printf(m->arena, "sm_%u%s", sm, m->debug ? ", debug" : "");

	m->sm = sm;
	m->sm_suffix = 0;
	m->target_text = (struct ptx_str){text, (uint32_t)strlen(text)};
}

void ptx_raise_version(struct ptx_module *m, unsigned major, unsigned minor)
{
	if (m->ver_major > major || (m->ver_major == major && m->ver_minor >= minor))
		return;
	m->ver_major = major;
	m->ver_minor = minor;
}
