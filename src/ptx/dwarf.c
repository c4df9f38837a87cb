/*
 * dwarf.c - the programmer's variables: names, types and places, from the DWARF of -G (debug.h).
 *
 * The tree of .debug_info (dwarf_read.c) is walked once: functions, their parameters with the
 * members of structures, the variables of their blocks. A variable's place is a register
 * (DW_OP_regx with the register's name in place of its number), a parameter, or bytes of the stack,
 * for a range of lines of the PTX text (DWARF 2 to 4, sections 2.5, 2.6, 7.5).
 *
 * Misses: values made by an expression, parts of registers, and what nvcc gives no place; arrays
 * of more than one dimension in structures, bit-fields.
 * Costs: linear in the sections for each function queried; the answer is kept for the next time.
 */
#include "ptx/dwarf_impl.h"

#include <dwarf.h>
#include <string.h>

#define MAX_DEPTH 64

/* ---- types -------------------------------------------------------------------------------- */

/* The entry of a type without its other names, const and volatile; its children follow at r->at. */
static bool find_type(struct dwarf_reader *r, const struct dwarf_attr *a, struct dwarf_die *d)
{
	struct dwarf_attr next = *a;

	for (unsigned i = 0; next.is_there && i < 16 && !r->is_bad; i++) {
		r->at = r->unit + next.value;
		if (r->at >= r->info.bytes.n || !dwarf_read_die(r, d))
			return false;
		if (d->tag != DW_TAG_typedef && d->tag != DW_TAG_const_type &&
		    d->tag != DW_TAG_volatile_type)
			return true;
		next = d->type;
	}
	return false;
}

/* What a type's entry says of a value; false: it is no scalar. */
static bool is_scalar(const struct dwarf_die *d, struct ptx_debug_type *t)
{
	if (d->tag == DW_TAG_pointer_type || d->tag == DW_TAG_reference_type ||
	    d->tag == DW_TAG_rvalue_reference_type) {
		t->is_pointer = true;
		t->bytes = 8;
		return true;
	}
	if (d->tag != DW_TAG_base_type && d->tag != DW_TAG_enumeration_type)
		return false;
	t->bytes = d->bytes.value <= 8 ? (uint8_t)d->bytes.value : 0;
	t->is_signed = d->encoding.value == DW_ATE_signed ||
		       d->encoding.value == DW_ATE_signed_char || d->tag == DW_TAG_enumeration_type;
	t->is_float = d->encoding.value == DW_ATE_float;
	return true;
}

/* The same; of a pointer also what it leads to. Then r->at is anywhere. */
static bool take_scalar(struct dwarf_reader *r, const struct dwarf_die *d, struct ptx_debug_type *t)
{
	struct ptx_debug_type to = {0};
	struct dwarf_die pointee;

	if (!is_scalar(d, t))
		return false;
	if (t->is_pointer && find_type(r, &d->type, &pointee) && is_scalar(&pointee, &to) &&
	    to.is_signed)
		t->signed_bytes = to.bytes;
	return true;
}

static void skip_children(struct dwarf_reader *r, unsigned depth)
{
	struct dwarf_die d;

	while (!r->is_bad && dwarf_read_die(r, &d)) {
		if (d.has_children && depth == MAX_DEPTH)
			r->is_bad = true;
		else if (d.has_children)
			skip_children(r, depth + 1);
	}
}

/* Of a structure given by value so many scalars, so deep in others. */
#define MAX_MEMBERS 256
#define MAX_NESTED  8

struct members {
	BASE_VEC(struct ptx_debug_member) found;
};

static void read_members(struct dwarf_reader *r, const struct dwarf_attr *type, const char *name,
			 uint64_t off, unsigned depth, struct members *out);

/* Its elements; of arrays of one dimension. */
static void read_elements(struct dwarf_reader *r, const struct dwarf_die *array, const char *name,
			  uint64_t off, unsigned depth, struct members *out)
{
	struct dwarf_die range = {0}, d;
	struct ptx_debug_type t = {0};

	if (!array->has_children || !dwarf_read_die(r, &range) || !range.count.is_there ||
	    dwarf_read_die(r, &d) || !find_type(r, &array->type, &d))
		return;
	uint64_t bytes = is_scalar(&d, &t) ? t.bytes : d.bytes.value;
	for (uint64_t i = 0; i < range.count.value && out->found.n < MAX_MEMBERS && bytes; i++)
		read_members(r, &array->type,
			     base_printf(r->m->arena, "%s[%llu]", name, (unsigned long long)i),
			     off + i * bytes, depth + 1, out);
}

/* Where a member lies: a number, or one to add (DW_OP_plus_uconst). */
static uint64_t member_offset(struct dwarf_reader *r, const struct dwarf_die *d)
{
	size_t at = d->member.value + 1;

	return d->member.is_block ? dwarf_leb(r, &r->info, &at) : d->member.value;
}

/* The scalars in a value of that type: itself ("name"), members ("name.member"), elements. A base's
 * members are its heir's own (the front end names it __b_). r->at is anywhere then. */
static void read_members(struct dwarf_reader *r, const struct dwarf_attr *type, const char *name,
			 uint64_t off, unsigned depth, struct members *out)
{
	struct ptx_debug_member m = {.name = name, .off = off};
	struct dwarf_die d, sub;

	if (depth > MAX_NESTED || out->found.n >= MAX_MEMBERS || !find_type(r, type, &d))
		return;
	if (take_scalar(r, &d, &m.type)) {
		base_vec_push(&out->found, m);
		return;
	}
	if (d.tag == DW_TAG_array_type)
		read_elements(r, &d, name, off, depth, out);
	if ((d.tag != DW_TAG_structure_type && d.tag != DW_TAG_class_type &&
	     d.tag != DW_TAG_union_type) ||
	    !d.has_children)
		return;
	while (!r->is_bad && dwarf_read_die(r, &sub)) {
		if (sub.has_children)
			skip_children(r, 0);
		size_t back = r->at;
		bool is_base = sub.tag == DW_TAG_inheritance;
		const char *own = sub.name.is_string ? (const char *)sub.name.p : "";
		if (sub.bit_size.is_there || (!is_base && (sub.tag != DW_TAG_member || !*own)))
			continue;
		is_base |= !strncmp(own, "__b_", 4);
		read_members(r, &sub.type,
			     is_base ? name : base_printf(r->m->arena, "%s.%s", name, own),
			     off + member_offset(r, &sub), depth + 1, out);
		r->at = back;
	}
}

static void read_type(struct dwarf_reader *r, const struct dwarf_attr *a, struct ptx_debug_var *v)
{
	struct members all = {0};
	size_t back = r->at;
	struct dwarf_die d;

	if (find_type(r, a, &d) && !take_scalar(r, &d, &v->type) && v->is_param && r->f->is_entry) {
		read_members(r, a, v->name, 0, 0, &all);
		v->nmembers = all.found.n;
		v->members = BASE_NEWN(r->m->arena, struct ptx_debug_member, all.found.n + 1);
		if (all.found.n)
			memcpy(v->members, all.found.v, all.found.n * sizeof(*all.found.v));
		base_vec_free(&all.found);
	}
	r->at = back;
}

static uint32_t line_of(const struct ptx_func *f, struct ptx_str label, uint32_t none)
{
	if (label.n)
		ptx_each_stmt(f, s) if (s->kind == PTX_STMT_LABEL &&
					ptx_str_eq(s->label->name, label)) return s->line;
	return none;
}

/* ---- places ------------------------------------------------------------------------------ */

static bool find_register(const struct ptx_func *f, uint64_t packed, uint32_t *reg)
{
	char name[9] = {0};
	unsigned n = 0;

	for (int i = 7; i >= 0; i--)
		if (packed >> (8 * i) & 255)
			name[n++] = (char)(packed >> (8 * i) & 255);
	for (uint32_t i = 0; i < f->nregs; i++) {
		if (ptx_str_is(ptx_reg_name(f, i), name)) {
			*reg = i;
			return true;
		}
	}
	return false;
}

/* An expression of n bytes; false: not one of the simple places. */
static bool read_place(struct dwarf_reader *r, const struct dwarf_section *s, size_t at, size_t n,
		       struct ptx_debug_place *p)
{
	size_t end = at + n;
	uint64_t op = n ? dwarf_fixed(r, s, &at, 1) : 0;

	if (op == DW_OP_regx) {
		p->kind = PTX_DEBUG_REG;
		return find_register(r->f, dwarf_leb(r, s, &at), &p->reg) && at == end;
	}
	if (op != DW_OP_addr)
		return false;
	const struct dwarf_reloc *sym = dwarf_reloc_at(s, at);
	p->off = dwarf_fixed(r, s, &at, r->address);
	if (!sym)
		return false;
	p->kind = PTX_DEBUG_OBJECT;
	p->sym = sym->sym;
	if (at < end && dwarf_fixed(r, s, &at, 1) == DW_OP_plus_uconst)
		p->off += dwarf_leb(r, s, &at);
	return at == end;
}

static void add_place(struct dwarf_reader *r, struct ptx_debug_var *v, struct ptx_debug_place p)
{
	struct ptx_debug_place *n =
		base_alloc(r->m->arena, (v->nplaces + 1) * sizeof(struct ptx_debug_place));

	if (v->nplaces)
		memcpy(n, v->places, v->nplaces * sizeof(*n));
	n[v->nplaces++] = p;
	v->places = n;
}

/* A list of .debug_loc: ranges with a place each. */
static void read_list(struct dwarf_reader *r, size_t at, struct ptx_debug_var *v)
{
	for (unsigned i = 0; i < 1000 && !r->is_bad; i++) {
		struct ptx_debug_place p = {0};
		const struct dwarf_reloc *lo = dwarf_reloc_at(&r->loc, at), *hi;
		dwarf_fixed(r, &r->loc, &at, r->address);
		hi = dwarf_reloc_at(&r->loc, at);
		dwarf_fixed(r, &r->loc, &at, r->address);
		if (!lo || !hi)
			return;
		size_t n = dwarf_fixed(r, &r->loc, &at, 2);
		p.from = line_of(r->f, lo->sym, 0);
		p.to = line_of(r->f, hi->sym, UINT32_MAX);
		if (read_place(r, &r->loc, at, n, &p))
			add_place(r, v, p);
		at += n;
	}
}

static void add_var(struct dwarf_reader *r, const struct dwarf_die *d, uint32_t from, uint32_t to)
{
	struct ptx_debug_var v = {
		.is_param = d->tag == DW_TAG_formal_parameter, .from = from, .to = to};
	struct ptx_debug_place p = {.from = from, .to = to};

	if (!d->name.is_string || !d->location.is_there)
		return;
	v.name = base_strdup(r->m->arena, (const char *)d->name.p);
	read_type(r, &d->type, &v);
	if (!d->location.is_block)
		read_list(r, d->location.value, &v);
	else if (read_place(r, &r->info, d->location.value, d->location.nblock, &p))
		add_place(r, &v, p);
	if (v.nplaces)
		base_vec_push(&r->vars, v);
}

/* Walks the children of an entry; keeps what belongs to the function. */
static void walk(struct dwarf_reader *r, bool is_inside, uint32_t from, uint32_t to, unsigned depth)
{
	struct dwarf_die d;

	while (!r->is_bad && r->at < r->info.bytes.n && dwarf_read_die(r, &d)) {
		bool is_in = is_inside;
		uint32_t lo = from, hi = to;
		if (d.tag == DW_TAG_subprogram) {
			const struct dwarf_attr *n = d.linkage.is_string ? &d.linkage : &d.name;
			is_in = n->is_string && ptx_str_is(r->f->name, (const char *)n->p) &&
				d.low.sym.n;
		} else if (is_in && d.tag == DW_TAG_lexical_block) {
			lo = line_of(r->f, d.low.sym, from);
			hi = line_of(r->f, d.high.sym, to);
		} else if (is_in &&
			   (d.tag == DW_TAG_formal_parameter || d.tag == DW_TAG_variable)) {
			add_var(r, &d, from, to);
		}
		if (d.has_children) {
			if (depth == MAX_DEPTH)
				r->is_bad = true;
			else
				walk(r, is_in, lo, hi, depth + 1);
		}
	}
}

static void read_units(struct dwarf_reader *r)
{
	while (!r->is_bad && r->at + 11 < r->info.bytes.n) {
		size_t start = r->at;
		r->unit = start;
		size_t n = dwarf_fixed(r, &r->info, &r->at, 4), end = r->at + n;
		r->version = (unsigned)dwarf_fixed(r, &r->info, &r->at, 2);
		r->abbrevs = dwarf_fixed(r, &r->info, &r->at, 4);
		r->address = (unsigned)dwarf_fixed(r, &r->info, &r->at, 1);
		if (r->version < 2 || r->version > 4 || r->address > 8 || end <= start)
			return;
		walk(r, false, 0, UINT32_MAX, 0);
		r->at = end;
	}
}

/* The variables of a function that was asked about. */
struct ptx_debug_known {
	const struct ptx_func *f;
	const struct ptx_debug_var *v;
	size_t n;
	struct ptx_debug_known *next;
};

static const struct ptx_debug_var *read_vars(struct ptx_module *m, const struct ptx_func *f,
					     size_t *n)
{
	struct dwarf_reader r = {.m = m, .f = f};
	struct ptx_debug_var *out;

	ptx_each_item(m, it)
	{
		if (it->kind != PTX_ITEM_SECTION)
			continue;
		if (dwarf_is_section(it->text, ".debug_info"))
			dwarf_read_section(&r.info, it->text);
		else if (dwarf_is_section(it->text, ".debug_abbrev"))
			dwarf_read_section(&r.abbrev, it->text);
		else if (dwarf_is_section(it->text, ".debug_loc"))
			dwarf_read_section(&r.loc, it->text);
	}
	if (r.info.bytes.n && r.abbrev.bytes.n)
		read_units(&r);
	out = base_alloc(m->arena, r.vars.n * sizeof(*out) + 1);
	if (r.vars.n)
		memcpy(out, r.vars.v, r.vars.n * sizeof(*out));
	*n = r.vars.n;
	base_vec_free(&r.vars);
	base_buf_free(&r.info.bytes);
	base_buf_free(&r.abbrev.bytes);
	base_buf_free(&r.loc.bytes);
	base_vec_free(&r.info.relocs);
	base_vec_free(&r.abbrev.relocs);
	base_vec_free(&r.loc.relocs);
	return out;
}

const struct ptx_debug_var *ptx_debug_vars(struct ptx_module *m, const struct ptx_func *f,
					   size_t *n)
{
	struct ptx_debug_known *k = m->debug_vars;

	while (k && k->f != f)
		k = k->next;
	if (!k) {
		k = base_alloc(m->arena, sizeof(*k));
		*k = (struct ptx_debug_known){.f = f, .next = m->debug_vars};
		k->v = read_vars(m, f, &k->n);
		m->debug_vars = k;
	}
	*n = k->n;
	return k->v;
}
