/*
 * dwarf.c - the programmer's variables: names, types and places, from the DWARF of -G (ptx.h).
 *
 * PTX carries DWARF as lists of numbers and label names in .section blocks. A section is read into
 * bytes, with the names apart (libdw requires an object file and there is none, so only its
 * constants are used). Then the tree of .debug_info is walked once: functions, their parameters,
 * the variables of their blocks. A variable's place is a register (DW_OP_regx with the register's
 * name in place of its number), a parameter, or bytes of the stack, for a range of lines of the PTX
 * text (DWARF 2 to 4, sections 2.5, 2.6, 7.5).
 *
 * Misses: values made by an expression, parts of registers, and what nvcc gives no place.
 * Costs: linear in the sections for each function queried; the answer is kept for the next time.
 */
#include "ptx/ptx.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 64

/* A name that stands for a number: at byte `at` of its section. */
struct reloc {
	size_t at;
	struct ptx_str sym;
	uint64_t off;
};

struct section {
	struct base_buf bytes;
	BASE_VEC(struct reloc) relocs;
};

struct attr {
	uint32_t name;
	uint64_t value;		/* a number, or where a block lies: its bytes may contain names */
	uint64_t nblock;	/* bytes of a block */
	const unsigned char *p; /* of a string */
	struct ptx_str sym;	/* a name in its place */
	bool is_block, is_string, is_there;
};

struct die {
	uint32_t tag;
	bool has_children;
	struct attr name, linkage, location, type, low, high, bytes, encoding;
};

struct reader {
	struct ptx_module *m;
	const struct ptx_func *f;
	struct section info, abbrev, loc;
	size_t at, unit; /* in info; where its unit begins */
	size_t abbrevs;	 /* of the unit */
	unsigned version, address;
	bool is_bad;
	BASE_VEC(struct ptx_debug_var) vars;
};

/* ---- sections ------------------------------------------------------------------------ */

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$' || c == '.' || c == '%';
}

static void put_number(struct section *s, uint64_t v, unsigned bytes)
{
	unsigned char le[8];

	for (unsigned i = 0; i < 8; i++)
		le[i] = (unsigned char)(v >> (8 * i));
	base_buf_put(&s->bytes, le, bytes);
}

/* One element of a list after .b8 to .b64: a number, or name[+number]. */
static const char *read_element(struct section *s, const char *p, const char *end, unsigned bytes)
{
	char *next;

	if ((*p >= '0' && *p <= '9') || *p == '-') {
		put_number(s, (uint64_t)strtoll(p, &next, 0), bytes);
		return next;
	}
	const char *from = p;
	while (p < end && is_name(*p))
		p++;
	struct reloc r = {.at = s->bytes.n, .sym = {from, (uint32_t)(p - from)}};
	if (p < end && *p == '+') {
		r.off = strtoull(p + 1, &next, 0);
		p = next;
	}
	base_vec_push(&s->relocs, r);
	put_number(s, r.off, bytes);
	return p > from ? p : p + 1;
}

static void read_section(struct section *s, struct ptx_str text)
{
	const char *p = memchr(text.p, '{', text.n), *end = text.p + text.n;
	unsigned bytes = 0;

	while (p && p < end) {
		if (end - p > 3 && p[0] == '.' && p[1] == 'b' && p[2] >= '1' && p[2] <= '8') {
			bytes = (unsigned)strtoul(p + 2, NULL, 10) / 8;
			for (p += 2; p < end && *p >= '0' && *p <= '9';)
				p++;
		} else if (*p == '\n') {
			bytes = 0;
			p++;
		} else if (bytes && bytes <= 8 && (is_name(*p) || *p == '-')) {
			p = read_element(s, p, end, bytes);
		} else {
			p++;
		}
	}
}

static bool is_section(struct ptx_str text, const char *name)
{
	const char *p = text.p + sizeof(".section") - 1, *end = text.p + text.n;
	size_t n = strlen(name);

	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	return p + n < end && !memcmp(p, name, n) && !is_name(p[n]);
}

static const struct reloc *reloc_at(const struct section *s, size_t at)
{
	size_t lo = 0, hi = s->relocs.n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (s->relocs.v[mid].at < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < s->relocs.n && s->relocs.v[lo].at == at ? &s->relocs.v[lo] : NULL;
}

static uint64_t fixed(struct reader *r, const struct section *s, size_t *at, unsigned bytes)
{
	uint64_t v = 0;

	if (*at + bytes > s->bytes.n || *at + bytes < *at) {
		r->is_bad = true;
		return 0;
	}
	for (unsigned i = 0; i < bytes && i < 8; i++)
		v |= (uint64_t)(unsigned char)s->bytes.p[*at + i] << (8 * i);
	*at += bytes;
	return v;
}

static uint64_t leb(struct reader *r, const struct section *s, size_t *at)
{
	uint64_t v = 0;

	for (unsigned shift = 0;; shift += 7) {
		uint64_t b = fixed(r, s, at, 1);
		v |= shift < 64 ? (b & 127) << shift : 0;
		if (!(b & 128) || r->is_bad)
			return v;
	}
}

/* ---- the tree ------------------------------------------------------------------------- */

static void read_text(struct reader *r, struct attr *a)
{
	const char *p = r->info.bytes.p + r->at;
	size_t left = r->info.bytes.n - r->at, n = strnlen(p, left);

	a->p = (const unsigned char *)p;
	a->is_string = true;
	r->is_bad |= n == left;
	r->at += n + 1;
}

static void read_block(struct reader *r, struct attr *a, uint64_t n)
{
	a->value = r->at;
	a->nblock = n;
	a->is_block = true;
	if (n > r->info.bytes.n - r->at)
		r->is_bad = true;
	else
		r->at += n;
}

static void read_form(struct reader *r, uint32_t form, struct attr *a)
{
	const struct reloc *sym = reloc_at(&r->info, r->at);
	const struct section *s = &r->info;

	a->is_there = true;
	if (sym)
		a->sym = sym->sym;
	switch (form) {
	case DW_FORM_addr:
		a->value = fixed(r, s, &r->at, r->address);
		return;
	case DW_FORM_string:
		read_text(r, a);
		return;
	case DW_FORM_strp: {
		uint64_t off = fixed(r, s, &r->at, 4);
		struct ptx_str t = ptx_debug_string(r->m, sym ? sym->sym : PTX_STR(".debug_str"),
						    (uint32_t)off);
		a->p = (const unsigned char *)t.p;
		a->is_string = true;
		return;
	}
	case DW_FORM_block1:
		read_block(r, a, fixed(r, s, &r->at, 1));
		return;
	case DW_FORM_block2:
		read_block(r, a, fixed(r, s, &r->at, 2));
		return;
	case DW_FORM_block4:
		read_block(r, a, fixed(r, s, &r->at, 4));
		return;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		read_block(r, a, leb(r, s, &r->at));
		return;
	case DW_FORM_data1:
	case DW_FORM_flag:
	case DW_FORM_ref1:
		a->value = fixed(r, s, &r->at, 1);
		return;
	case DW_FORM_data2:
	case DW_FORM_ref2:
		a->value = fixed(r, s, &r->at, 2);
		return;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_sec_offset:
		a->value = fixed(r, s, &r->at, 4);
		return;
	case DW_FORM_data8:
	case DW_FORM_ref8:
		a->value = fixed(r, s, &r->at, 8);
		return;
	case DW_FORM_sdata:
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
		a->value = leb(r, s, &r->at);
		return;
	case DW_FORM_flag_present:
		return;
	default:
		r->is_bad = true;
	}
}

static struct attr *slot_of(struct die *d, uint64_t name, struct attr *none)
{
	switch (name) {
	case DW_AT_name:
		return &d->name;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		return &d->linkage;
	case DW_AT_location:
		return &d->location;
	case DW_AT_type:
		return &d->type;
	case DW_AT_low_pc:
		return &d->low;
	case DW_AT_high_pc:
		return &d->high;
	case DW_AT_byte_size:
		return &d->bytes;
	case DW_AT_encoding:
		return &d->encoding;
	default:
		return none;
	}
}

/* The entry at r->at. False: the end of a list of children. */
static bool read_die(struct reader *r, struct die *d)
{
	uint64_t code = leb(r, &r->info, &r->at), found;
	size_t at = r->abbrevs;

	memset(d, 0, sizeof(*d));
	if (!code || r->is_bad)
		return false;
	for (;;) {
		found = leb(r, &r->abbrev, &at);
		if (!found || r->is_bad) {
			r->is_bad = true;
			return false;
		}
		d->tag = (uint32_t)leb(r, &r->abbrev, &at);
		d->has_children = fixed(r, &r->abbrev, &at, 1);
		for (;;) {
			uint64_t name = leb(r, &r->abbrev, &at), form = leb(r, &r->abbrev, &at);
			struct attr ignored = {0}, *a = slot_of(d, name, &ignored);
			if ((!name && !form) || r->is_bad)
				break;
			if (found == code)
				read_form(r, (uint32_t)form, a);
		}
		if (found == code)
			return !r->is_bad;
	}
}

static void read_type(struct reader *r, const struct attr *a, struct ptx_debug_var *v)
{
	size_t back = r->at;
	struct attr next = *a;

	for (unsigned i = 0; next.is_there && i < 16 && !r->is_bad; i++) {
		struct die d;
		r->at = r->unit + next.value;
		if (r->at >= r->info.bytes.n || !read_die(r, &d))
			break;
		if (d.tag == DW_TAG_pointer_type || d.tag == DW_TAG_reference_type ||
		    d.tag == DW_TAG_rvalue_reference_type) {
			v->is_pointer = true;
			v->bytes = 8;
			break;
		}
		if (d.tag == DW_TAG_base_type || d.tag == DW_TAG_enumeration_type) {
			v->bytes = d.bytes.value <= 8 ? (uint8_t)d.bytes.value : 0;
			v->is_signed = d.encoding.value == DW_ATE_signed ||
				       d.encoding.value == DW_ATE_signed_char ||
				       d.tag == DW_TAG_enumeration_type;
			v->is_float = d.encoding.value == DW_ATE_float;
			break;
		}
		if (d.tag != DW_TAG_typedef && d.tag != DW_TAG_const_type &&
		    d.tag != DW_TAG_volatile_type)
			break;
		next = d.type;
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
static bool read_place(struct reader *r, const struct section *s, size_t at, size_t n,
		       struct ptx_debug_place *p)
{
	size_t end = at + n;
	uint64_t op = n ? fixed(r, s, &at, 1) : 0;

	if (op == DW_OP_regx) {
		p->kind = PTX_DEBUG_REG;
		return find_register(r->f, leb(r, s, &at), &p->reg) && at == end;
	}
	if (op != DW_OP_addr)
		return false;
	const struct reloc *sym = reloc_at(s, at);
	p->off = fixed(r, s, &at, r->address);
	if (!sym)
		return false;
	p->kind = PTX_DEBUG_OBJECT;
	p->sym = sym->sym;
	if (at < end && fixed(r, s, &at, 1) == DW_OP_plus_uconst)
		p->off += leb(r, s, &at);
	return at == end;
}

static void add_place(struct reader *r, struct ptx_debug_var *v, struct ptx_debug_place p)
{
	struct ptx_debug_place *n =
		base_alloc(r->m->arena, (v->nplaces + 1) * sizeof(struct ptx_debug_place));

	if (v->nplaces)
		memcpy(n, v->places, v->nplaces * sizeof(*n));
	n[v->nplaces++] = p;
	v->places = n;
}

/* A list of .debug_loc: ranges with a place each. */
static void read_list(struct reader *r, size_t at, struct ptx_debug_var *v)
{
	for (unsigned i = 0; i < 1000 && !r->is_bad; i++) {
		struct ptx_debug_place p = {0};
		const struct reloc *lo = reloc_at(&r->loc, at), *hi;
		fixed(r, &r->loc, &at, r->address);
		hi = reloc_at(&r->loc, at);
		fixed(r, &r->loc, &at, r->address);
		if (!lo || !hi)
			return;
		size_t n = fixed(r, &r->loc, &at, 2);
		p.from = line_of(r->f, lo->sym, 0);
		p.to = line_of(r->f, hi->sym, UINT32_MAX);
		if (read_place(r, &r->loc, at, n, &p))
			add_place(r, v, p);
		at += n;
	}
}

static void add_var(struct reader *r, const struct die *d, uint32_t from, uint32_t to)
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
static void walk(struct reader *r, bool is_inside, uint32_t from, uint32_t to, unsigned depth)
{
	struct die d;

	while (!r->is_bad && r->at < r->info.bytes.n && read_die(r, &d)) {
		bool is_in = is_inside;
		uint32_t lo = from, hi = to;
		if (d.tag == DW_TAG_subprogram) {
			const struct attr *n = d.linkage.is_string ? &d.linkage : &d.name;
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

static void read_units(struct reader *r)
{
	while (!r->is_bad && r->at + 11 < r->info.bytes.n) {
		size_t start = r->at;
		r->unit = start;
		size_t n = fixed(r, &r->info, &r->at, 4), end = r->at + n;
		r->version = (unsigned)fixed(r, &r->info, &r->at, 2);
		r->abbrevs = fixed(r, &r->info, &r->at, 4);
		r->address = (unsigned)fixed(r, &r->info, &r->at, 1);
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
	struct reader r = {.m = m, .f = f};
	struct ptx_debug_var *out;

	ptx_each_item(m, it)
	{
		if (it->kind != PTX_ITEM_SECTION)
			continue;
		if (is_section(it->text, ".debug_info"))
			read_section(&r.info, it->text);
		else if (is_section(it->text, ".debug_abbrev"))
			read_section(&r.abbrev, it->text);
		else if (is_section(it->text, ".debug_loc"))
			read_section(&r.loc, it->text);
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
